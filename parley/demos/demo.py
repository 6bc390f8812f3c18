"""One recorded session: what is asked, on which files, and the reply of each seat at each turn.

A file `NAME.yaml` holds one. Its replies are found by seat, kind of turn, round, attempt and number of the turn, and
never by the prompt, so that a prompt may change.
"""

import datetime
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.models.recorded import RecordedReply
from parley.client.errors import BadInput
from parley.client.strict_files import read_yaml
from parley.schemas.turn import Usage
from parley.schemas.wire import encode, raw
from parley.settings import nearest

FOLDER = Path(__file__).parent
ENDING = ".yaml"


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reply of a seat at a turn, or at one step of it."""

    seat: str
    kind: str
    round: int = 1
    attempt: int = 1
    nth: int = 1
    step: int = 1
    reply: dict[str, Any]


class Demo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file."""

    about: str
    """What there is to see, in a line."""
    written: datetime.date
    """When a language model wrote the replies."""
    protocol: str
    question: str
    ask: tuple[str, ...]
    """What stands behind the question on the command line. Paths are of `files`."""
    ends: str
    """Its stop reason."""
    answer: str
    """How its answer begins; of two teams, who wins."""
    files: dict[str, str] = {}
    """Path -> text."""
    replies: tuple[Said, ...]

    @property
    def command(self) -> tuple[str, ...]:
        """What `parley` is given."""
        return "ask", self.question, "--protocol", self.protocol, *self.ask

    def write_files(self, folder: Path) -> None:
        """Write its files into a folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def recording(self, pace_s: float = 0.0) -> bytes:
        """What the model `recorded` plays. `pace_s`: seconds from one reply of a round to the next."""
        lines: list[bytes] = []
        place: dict[tuple[str, int, int, int], int] = {}
        for said in self.replies:
            together = (said.kind, said.round, said.nth, said.step)
            place[together] = place.get(together, 0) + 1
            record = RecordedReply(
                key=(self.protocol, said.kind, said.seat, said.round, said.attempt),
                nth=said.nth,
                step=said.step,
                language=True,
                body=raw(said.reply),
                usage=Usage(calls=1),
                after_s=pace_s * place[together],
            )
            lines.append(encode(record))
        return b"\n".join(lines)


def names() -> tuple[str, ...]:
    """Of all demos, in the order of the list."""
    return tuple(sorted(path.stem for path in FOLDER.glob(f"*{ENDING}")))


def read(name: str) -> Demo:
    """The demo of a name. Raises BadInput where there is none."""
    if name not in names():
        raise BadInput("demo", f"there is no demo {name!r}; {nearest(name, names())}")
    return read_demo(FOLDER / f"{name}{ENDING}")


def read_demo(path: Path) -> Demo:
    """The demo of a file."""
    return msgspec.convert(read_yaml(path), Demo)


def rows() -> list[dict[str, Any]]:
    """The list of all demos, as JSON values."""
    shown = ("protocol", "about", "question", "written")
    return [{"name": name, **{field: getattr(read(name), field) for field in shown}} for name in names()]
