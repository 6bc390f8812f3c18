"""What is fuzzed: good inputs, how they are changed, who reads them, and what a reader says that it raises.

Each input is made of the run's seed, its kind and its number alone, so that one that failed can be made again.
"""

import contextlib
import json
import random
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from parley.agents import experts, strict_yaml
from parley.agents.endpoint.bounds import BadBody, ReplyLimits
from parley.agents.endpoint.completion import Reading
from parley.agents.experts import ExpertError
from parley.agents.openai import reply_schema
from parley.agents.tools.folder import archive
from parley.client import strict_files
from parley.client.errors import BadInput
from parley.client.protocols.maci import signals_file
from parley.client.records import Altered, parse_record, result_of
from parley.client.rendering import documents, terminal
from parley.client.view.fold import fold_of
from parley.schemas import export, log
from parley.schemas.folders.archive import FolderError, unpack_archive
from parley.schemas.wire import InvalidValue, SchemaError, Undecodable, compact, decode, encode, nested_too_deep
from tests.fuzz.mutate import WORDS, mutated
from tests.protocols.maci.test_signals_file import DEBATE
from tests.security import test_archives as archives

ROOT = Path(__file__).parents[2]
RECORDS = sorted((ROOT / "tests" / "old_logs" / "1").glob("*.jsonl"))
_SHORT = 12_000
"""Bytes of a seed: of long ones little is changed."""


@dataclass(frozen=True)
class Reader:
    """One kind of input."""

    make: Callable[[random.Random], bytes]
    read: Callable[[bytes], bool]
    """Reads it in every way: whether it was taken. Raises AssertionError where what came out is wrong, and what may not
    be raised."""
    share: int
    """Of a hundred inputs of a run: PyYAML is slow."""


# ---------------------------------------------------------------- messages


@cache
def _entries() -> tuple[bytes, ...]:
    return tuple(
        line for file in RECORDS for line in file.read_bytes().split(b"\n")[1:] if 0 < len(line) <= _SHORT
    )  # fmt: skip


def _parts(value: Any) -> Iterator[Any]:
    """The objects within a value, the value among them."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _parts(part)


@cache
def _messages() -> tuple[tuple[type[Any], tuple[bytes, ...]], ...]:
    """Every type of message, with texts that are one, as far as recorded sessions have them."""
    texts = dict.fromkeys(msgspec.json.encode(part) for entry in _entries() for part in _parts(json.loads(entry)))
    pool = [t for t in texts if 20 < len(t) <= 2_000]
    pool = random.Random(1).sample(pool, min(len(pool), 400))
    found = []
    for kind in (kind for module in export.modules() for kind in export.messages(module)):
        good = []
        for text in pool:
            try:
                decode(text, kind)
            except SchemaError:
                continue
            good.append(text)
        found.append((kind, tuple(good[:20]) or tuple(pool[:20])))
    return (*found, (log.Entry, _entries()))


def _make_message(rng: random.Random) -> bytes:
    kind = rng.randrange(len(_messages()))
    return kind.to_bytes(2, "big") + mutated(rng, _messages()[kind][1])


def _read_message(data: bytes) -> bool:
    kind = _messages()[int.from_bytes(data[:2], "big")][0]
    try:
        found = decode(data[2:], kind)
    except (Undecodable, InvalidValue):
        return False
    again = encode(found)
    assert decode(again, kind) == found and encode(decode(again, kind)) == again, "it is written as it was read"
    with contextlib.suppress(Undecodable):
        compact(msgspec.Raw(data[2:]))
    return True


# ---------------------------------------------------------------- models' replies


_LIMITS = ReplyLimits()
_PROSE = (b"Here is my answer:\n```json\n%s\n```\nI hope that it helps.", b"<think>{}</think> %s", b"%s", b"{ %s } %s")


@cache
def _replies() -> tuple[tuple[type[Any], tuple[bytes, ...]], ...]:
    return tuple(
        (kind, tuple(p.replace(b"%s", t) for t in texts[:8] for p in _PROSE))
        for kind, texts in _messages()
        if kind.__name__ != "Settings" and _strict(kind)
    )


def _strict(kind: type[Any]) -> bool:
    """Whether it may be the type of a reply."""
    try:
        return bool(reply_schema.strict_schema.__wrapped__(kind))
    except (AssertionError, TypeError):
        return False


def _make_reply(rng: random.Random) -> bytes:
    kind = rng.randrange(len(_replies()))
    text = mutated(rng, _replies()[kind][1])
    if rng.random() < 0.5:
        body = {"choices": [{"message": {"content": text.decode(errors="replace")}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 7, "cost": 0.1}}  # fmt: skip
        text = mutated(rng, (json.dumps(body).encode(), b'{"error": {"message": "busy"}}'))
    return kind.to_bytes(2, "big") + text


def _read_reply(data: bytes) -> bool:
    kind, text = _replies()[int.from_bytes(data[:2], "big")][0], data[2:]
    reading = Reading(_LIMITS, None)
    try:
        reading.take(text, "the answer")
        said = reading.done().text
    except BadBody as error:
        assert len(str(error)) < 2_000
        said = ""
    taken = False
    for one in (text.decode("utf-8", "replace"), said):
        try:
            found, _ = reply_schema.parse(one, kind)
        except reply_schema.Unusable:
            continue
        encode(found)
        taken = True
    return taken


# ---------------------------------------------------------------- YAML


_TAGS = (
    b"!!bool x", b"!!int ''", b"!!timestamp x", b"!!binary =", b"!!set {a}", b"!!omap [a]", b"!!pairs [1]",
    b"!!float ''", b"&a ", b"*a", b"<<: *a", b"<<: [*a, *a]", b"? ", b"- ", b": ", b"\n  ", b"\n", b"|\n ", b"'",
    b"---\n", b"%YAML 9.9\n",
    b"0x" + b"f" * 5_000, b"1:59:59", b"2024-99-99", b"2024-01-01T00:00:00+99:99", b".nan", b".inf", b'"\\ud800"',
    b'"\\U00110000"',
    b"!!python/object:os.system x", b"! x", b"!<tag:x> y", b"#", b"\t",
)  # fmt: skip


@cache
def _yamls() -> tuple[bytes, ...]:
    shipped = [p.read_bytes() for p in sorted((ROOT / "agents" / "experts").glob("*.yaml"))[:4]]
    shipped += [p.read_bytes() for p in sorted((ROOT / "schemas" / "formats").glob("*.yaml"))[:2]]
    small = (b"a: &a {b: 1, c: [x, y]}\nd: {<<: *a, e: 2024-01-01}\n", b"- 1\n- [a, b]\n")
    return (*(text[:1_500] for text in shipped), *small)


def _make_yaml(rng: random.Random) -> bytes:
    return mutated(rng, _yamls(), (*WORDS, *_TAGS, *_TAGS))


def _read_yaml(data: bytes) -> bool:
    text = data.decode("utf-8", "replace")
    try:
        found = strict_yaml.load(text)
    except strict_yaml.BadYaml as error:
        str(error).encode()
        return False
    repr(found).encode()
    try:
        experts.read_text(text)
    except ExpertError as error:
        str(error).encode()
    return True


# ---------------------------------------------------------------- archives


def _make_archive(rng: random.Random) -> bytes:
    return archives.mutated(rng, rng.choice(archives.SEEDS))


def _read_archive(data: bytes) -> bool:
    try:
        files = unpack_archive(data)
    except FolderError as error:
        assert len(str(error)) < 1_000
        return False
    assert files == archives.as_tarfile_reads(data), "two readers, one folder"
    assert sum(len(content) for content, _ in files.values()) <= len(data)
    assert unpack_archive(archive(files)) == files
    return True


# ---------------------------------------------------------------- records, and JSON that people write


@cache
def _records() -> tuple[bytes, ...]:
    """Beginnings of recorded sessions, as long as they are short, and a debate for `parley signals`."""
    found = []
    for file in RECORDS:
        lines = file.read_bytes().split(b"\n")
        few = [line for line in lines[1:] if len(line) <= 6_000][:4]
        found.append(b"\n".join([*lines[:1], *([lines[1]] if len(lines[1]) <= _SHORT else []), *few, *lines[-3:]]))
    return (*(f for f in found if len(f) <= 3 * _SHORT), json.dumps(DEBATE).encode())


def _make_record(rng: random.Random) -> bytes:
    return mutated(rng, _records())


def _read_record(data: bytes) -> bool:
    try:
        signals_file.run(*signals_file._parsed(strict_files.load_json(data)))
    except InvalidValue as error:
        str(error).encode()
    try:
        record = parse_record(data, "file")
        fold = fold_of(record)
        result_of(record)
    except (BadInput, Altered) as error:
        str(error).encode()
        return False
    assert not nested_too_deep(data)
    "\n".join((*terminal.show(fold), *documents.jsonl(fold))).encode()
    with contextlib.suppress(Altered):
        msgspec.json.encode(documents.document(fold))
    return True


READERS = {
    "messages": Reader(_make_message, _read_message, 40),
    "replies": Reader(_make_reply, _read_reply, 15),
    "yaml": Reader(_make_yaml, _read_yaml, 5),
    "archives": Reader(_make_archive, _read_archive, 20),
    "records": Reader(_make_record, _read_record, 20),
}


class Failed(Exception):
    """A reader raised what it does not say that it raises. `data`: the input; `kind`, `number`: which one it is."""

    def __init__(self, kind: str, number: int, data: bytes, why: str) -> None:
        self.kind = kind
        self.number = number
        self.data = data
        self.why = why
        super().__init__(f"{kind}, input {number:,}: {why}")

    def save(self, folder: Path) -> Path:
        """Write the input, and what was raised beside it."""
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.kind}-{self.number}.bin"
        file.write_bytes(self.data)
        file.with_suffix(".txt").write_text("".join(traceback.format_exception(self.__cause__)), errors="replace")
        return file


def made(kind: str, seed: int, number: int) -> bytes:
    """One input."""
    return READERS[kind].make(random.Random(f"{seed}-{kind}-{number}"))


def fuzz(kind: str, inputs: int, seed: int) -> int:
    """So many inputs of a kind; how many of them were taken. Raises Failed at the first that raises what it should
    not."""
    taken = 0
    for number in range(inputs):
        data = made(kind, seed, number)
        try:
            taken += READERS[kind].read(data)
        except Exception as error:
            raise Failed(kind, number, data, f"{type(error).__name__}: {error!s:.300}") from error
    return taken
