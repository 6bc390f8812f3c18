"""Files that nobody sane writes, given to the command line: each ends with an error in words, none with a traceback."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from parley.agents import strict_yaml
from parley.bus.errors import NoRoom
from parley.bus.storage import disk
from parley.client.errors import BadInput
from parley.client.records import read_record, record_of
from parley.schemas.post import SessionRow
from parley.schemas.wire import MAX_DEPTH, nested_too_deep
from parley.sessions import why_no_record
from parley.settings import Settings
from parley.web.principals import cookie_key
from tests.support.forks import run as command

RECORD = Path(__file__).parents[1] / "old_logs" / "1" / "consensus.jsonl"
LINES = RECORD.read_text().split("\n")
SHOWN = (
    ("replay", "--set", "consensus.threshold=70"), ("explain", "--json"), ("sessions", "show"), ("sessions", "export"),
    ("sessions", "export", "--format", "html"),
)  # fmt: skip


def refused(*arguments: str, said: bytes = b"") -> str:
    """What a command says that ends with an error in words."""
    code, _, err = command(*arguments, said=said)
    assert code == 2 and "Traceback" not in err and err.startswith("parley: "), err[-500:]
    return err


def record(to: Path, line: int, text: str) -> str:
    """The recorded session with one line replaced."""
    file = to / "session.jsonl"
    file.write_text("\n".join([*LINES[:line], text, *LINES[line + 1 :]]))
    return str(file)


def deep(levels: int) -> str:
    """An entry with a value within so many lists and objects, the event and the entry among them."""
    before, event, after = LINES[1].partition('"event":{')
    pairs, odd = divmod(levels - 2, 2)
    return f'{before}{event}"zz":{"[" * odd}{_OPEN * pairs}1{_CLOSE * pairs}{"]" * odd},{after}'


_OPEN, _CLOSE = '[{"x":', "}]"


# ---------------------------------------------------------------- records


SURROGATE = json.dumps({"parley": "session", "session": "\ud800", "version": 1})
RECORDS = {
    "no header": (0, "[" * 5_000, "{} is no exported session"),
    "a header with half a character": (0, SURROGATE, "{} is no exported session"),
    "an entry that is too deep": (
        1, deep(MAX_DEPTH + 1), "{}, line 2: lists and objects are nested too deep, allowed are 800 levels",
    ),
}  # fmt: skip
"""The line that is another one, and what is said of the file."""


@pytest.mark.parametrize("case", RECORDS)
@pytest.mark.parametrize("shown", SHOWN, ids=" ".join)
def test_a_record_that_cannot_be_read_is_named(shown: tuple[str, ...], case: str, tmp_path: Path) -> None:
    line, text, why = RECORDS[case]
    file = record(tmp_path, line, text)
    assert why.format(file) in refused(*shown, file)


ENTRIES = {
    "half a character": ('"event":{', '"event":{"zz":"\\ud800",', "entry {}: not a Entry: JSON is malformed"),
    "a long number": ('"event":{', f'"event":{{"zz":{"9" * 5_000},', "a number has more digits than are read, 4,300"),
    "caps below nothing": (
        '"output_tokens":1500',
        '"output_tokens":-1500',
        "entry {}: not a Entry: caps.output_tokens: got -1500",
    ),
}
"""What stands in an entry, what is put in its place, and what is said of it."""


@pytest.mark.parametrize("case", ENTRIES)
def test_an_entry_that_is_none_is_named(case: str, tmp_path: Path) -> None:
    before, after, why = ENTRIES[case]
    line = next(n for n, text in enumerate(LINES) if before in text)
    file = record(tmp_path, line, LINES[line].replace(before, after, 1))
    code, _, err = command("sessions", "show", "--json", file)
    assert code == 1 and why.format(line) in err and "Traceback" not in err, err[-300:]


def test_what_is_of_another_version_or_on_a_bus_is_read_by_the_same_rules(tmp_path: Path) -> None:
    for what, why in (({"parley": "session", "version": 2}, "has version 2"), ({"parley": "posts"}, "what was posted")):
        other = record(tmp_path, 0, json.dumps({"session": "s", "version": 1, **what}))
        with pytest.raises(BadInput, match=why):
            read_record(Path(other))
    with pytest.raises(BadInput, match="session s, entry 2: lists and objects are nested too deep, allowed are 800"):
        record_of("s", (LINES[1], deep(MAX_DEPTH + 1)))
    assert len(record_of("s", (LINES[1], "", deep(MAX_DEPTH))).entries) == 2


def test_brackets_in_texts_are_no_nesting() -> None:
    text = json.dumps(["[{" * 2_000 + '"\\' * 9, "]" * 5_000])
    assert not nested_too_deep(text.encode())
    assert not nested_too_deep(b"[" + b"[],{}," * 2_000 + b"1]")
    assert nested_too_deep(b'["\\"",' + b"[" * MAX_DEPTH)
    assert not nested_too_deep(b"[" * MAX_DEPTH) and nested_too_deep(b'{"":' * (MAX_DEPTH + 1))
    assert nested_too_deep(b"[" * 900 + b'"' + b'\\"' * 300_000)  # in an instant, though no text ends


# ---------------------------------------------------------------- YAML and JSON that people write

ENDLESS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{c}: &{c} [{','.join([f'*{chr(ord(c) - 1)}'] * 9)}]\n" for c in "bcdefg"
)
YAMLS = {
    "half a character": ('a: ["\\ud800"]', r"'\\ud800' holds half a character"),
    "no date": ("a: !!timestamp x", "a value is not what it says it is"),
    "no truth": ("a: !!bool x", "a value is not what it says it is"),
    "no number": ("a: !!int ''", "a value is not what it says it is"),
    "a character beyond all": ('a: "\\UFFFFFFFF"', "a value is not what it says it is"),
    "the same half twice": ('"\\ud800": 1\n"\\ud800": 2', "the key '.ud800' stands here again"),
    "a long number": ("a: 0x" + "f" * 5_000, "a number has more than 1,024 bits"),
    "within itself": ("a: &x [*x]", "nested more than 50 deep"),
    "within itself, by a merge": ("a: &x\n  b: *x", "nested more than 50 deep"),
    "deep": ("a: " + "[" * 51 + "]" * 51, "nested more than 50 deep"),
    "a few lines that are millions": (ENDLESS, "more than 200,000 values"),
}


@pytest.mark.parametrize("case", YAMLS)
def test_yaml_that_is_no_plain_value_is_refused(case: str) -> None:
    text, why = YAMLS[case]
    with pytest.raises(strict_yaml.BadYaml, match=why) as error:
        strict_yaml.load(text)
    assert len(str(error.value)) < 300 and str(error.value).isascii()
    assert strict_yaml.load("a: &x {b: é}\nc: *x\nd: 2024-01-01\n") is not None
    assert strict_yaml.load("a: " + "[" * 49 + "]" * 49) is not None
    assert strict_yaml.load(f"a: {2**1_000}") == {"a": 2**1_000}


FILES = {
    "half a character": b'"\\ud800": "\\ud800"\n', "not UTF-8": b"\xff\xfea: 1\n", "no truth": b"a: !!bool x\n",
    "within itself": b"&x [*x]\n", "a long number": b"? 0x" + b"f" * 5_000 + b"\n: 1\n",
}  # fmt: skip
READERS = (
    ("doctor", "--config"), ("ask", "q", "--dry-run", "--panel-file"),
    ("ask", "q", "--protocol", "competition", "--dry-run", "--format"),
    ("ask", "q", "--protocol", "competition", "--dry-run", "--style", "pro_1=a", "--personalities"),
    ("experts", "check"), ("agent",),
)  # fmt: skip


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("reader", READERS, ids=lambda r: " ".join(r)[-24:])
def test_every_file_of_yaml_ends_in_words(reader: tuple[str, ...], case: str, tmp_path: Path) -> None:
    file = tmp_path / "given.yaml"
    file.write_bytes(FILES[case])
    code, out, err = command(*reader, str(file))
    assert code == 2 and "Traceback" not in err and "given.yaml" in out + err


@pytest.mark.parametrize(
    "text", [b'{"prompt": "\\ud800"}', b'{"prompt": "\xff"}', b"[" * 5_000, b'{"prompt": ' + b"9" * 5_000 + b"}"]
)
@pytest.mark.parametrize(
    "reader",
    [("signals",), ("eval", "routing", "--golden"), ("ask", "q", "--dry-run", "--conversation"), ("replay",)],
    ids=lambda r: r[0],
)
def test_every_file_of_json_ends_in_words(reader: tuple[str, ...], text: bytes, tmp_path: Path) -> None:
    file = tmp_path / "given.json"
    file.write_bytes(text)
    assert "given.json" in refused(*reader, str(file))


# ---------------------------------------------------------------- what is pasted


NAMED = (
    ("ask", "q", "--config", "{}"), ("ask", "q", "--panel-file", "{}"), ("ask", "q", "--set", "tools={}"),
    ("ask", "q", "--protocol", "madp", "--snippet", "{}"), ("ask", "q", "--protocol", "madp", "--conversation", "{}"),
    ("sessions", "list", "--nats", "nats://127.0.0.1:1", "--creds", "{}"),
)  # fmt: skip
"""Options that name a file of configuration."""


@pytest.mark.parametrize("words", NAMED, ids=lambda words: words[-2])
@pytest.mark.parametrize("kind", ["a link to itself", "a pipe that nobody writes to"])
def test_a_file_that_cannot_be_read_is_named_and_not_waited_for(
    words: tuple[str, ...], kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "odd.yaml"
    if kind == "a link to itself":
        path.symlink_to(path)
    else:
        os.mkfifo(path)
    said = refused(*(word.format(path) for word in words))
    assert str(path) in said and ("Too many levels" in said or "it is a pipe, and nobody writes to it" in said)


def test_a_disk_without_inodes_is_told_in_figures(tmp_path: Path) -> None:
    usage = os.statvfs(tmp_path)
    if not usage.f_files:
        pytest.skip("NOT CHECKED: this file system has no table of files")
    with pytest.raises(NoRoom, match=r"needs \d+ free inodes \(files\) on its disk to start, and has [\d,]+"):
        disk.check(tmp_path, least_files=usage.f_favail + 1_000_000_000)


def test_a_lost_record_is_not_called_a_refusal() -> None:
    row = SessionRow(
        session="s1", seq=1, protocol="consensus", question="q", status="finished", reason="threshold", opened_ns=1,
        closed_ns=2,
    )  # fmt: skip
    said = str(why_no_record("s1", row, Settings()))
    assert said.startswith("session: its record is lost: session s1 ended (threshold), and the bus has nothing of")
    refusal = str(why_no_record("s1", msgspec.structs.replace(row, status="refused", reason="no seat"), Settings()))
    assert refusal.endswith("session s1 was refused: no seat")


def test_a_question_snippets_and_a_conversation_are_cleaned_and_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_BASE_URL", "http://127.0.0.1:9/v1")  # a task needs a model, and a dry run asks none
    monkeypatch.setenv("LLM_MODEL", "m")
    (tmp_path / "a.log").write_bytes(b"\x1b[31mred\x1b[0m\r\nb\0\n")
    (tmp_path / "said.jsonl").write_bytes(b'{"role": "user", "text": "a\\u0007b"}\r\n')
    code, out, err = command(
        "ask", "-", "--dry-run", "--json", "--protocol", "madp", "--snippet", str(tmp_path / "a.log"),
        "--conversation", str(tmp_path / "said.jsonl"), "--state", str(tmp_path / "state"), said=b"why\x1b[2J?\r\n",
    )  # fmt: skip
    assert code == 0, err
    notes = [
        "question: 1 terminal sequence removed", "question: 1 line end made a line feed",
        "code_snippets[0]: 2 terminal sequences removed", "code_snippets[0]: 1 line end made a line feed",
        "code_snippets[0]: 1 control character removed (U+0000)",
        "prior_conversation[0].text: 1 control character removed (U+0007)",
    ]  # fmt: skip
    assert json.loads(out)["cleaned"] == notes
    assert [text.removeprefix("parley: ") for text in err.splitlines()][: len(notes)] == notes


def test_a_cookie_key_that_cannot_be_kept_names_its_own_path(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none/web.key", "No such file"), (tmp_path / "odd.key", "it is no key in hex")):
        if path.parent.is_dir():
            path.write_text("zz")
        with pytest.raises(BadInput) as caught:
            cookie_key(path)
        assert str(caught.value).startswith(f"cookie-key: {path}: {why}")
