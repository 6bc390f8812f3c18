"""Answers that are known to be right or wrong, from a file: one JSON object a line.

`{"question": "...", "model": "gpt-x", "right": true}`, and where it is known `seat`, `kind`, and `at` (Unix seconds).
"""

from pathlib import Path

import msgspec

from parley.bus.files.plain import read_plain
from parley.client.errors import BadInput
from parley.client.learned.verdicts import KnownOutcome, MemberAnswer, question_hash

MAX_FILE = 100_000_000
"""Bytes of such a file."""


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    question: str
    right: bool
    model: str = ""
    seat: str = ""
    kind: str = ""
    at: float | None = None


def read_known(path: Path, now_ns: int) -> list[KnownOutcome]:
    """A verdict a line. `now_ns`: of lines that say no time.

    Raises
    ------
    BadInput
        Names the file, the line and what is wrong there.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise BadInput("known", f"{path} has {path.stat().st_size:,} bytes, allowed are at most {MAX_FILE:,}")
        lines = read_plain(path).splitlines()
    except OSError as error:
        raise BadInput("known", f"cannot read {path}: {error.strerror}") from error
    verdicts = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = msgspec.json.decode(text, type=_Line)
        except msgspec.DecodeError as error:
            raise BadInput("known", f"{path}, line {number}: {error}") from error
        if not (line.model or line.seat):
            raise BadInput("known", f"{path}, line {number}: expected a model or a seat")
        verdicts.append(
            KnownOutcome(
                session=f"{path.name}:{number}",
                question=question_hash(line.question),
                kind=line.kind,
                at_ns=now_ns if line.at is None else round(line.at * 1e9),
                members=(MemberAnswer(seat=line.seat, model=line.model, right=line.right),),
            )
        )
    return verdicts
