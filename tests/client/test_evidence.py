"""What goes with a question or a task: evidence that is read, left out and named; programs of checks."""

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import parley
from parley.agents.tools.folder import archive
from parley.client.errors import BadInput
from parley.client.evidence import ReadEvidence, SentFile, read
from parley.client.evidence.sources import Source
from parley.client.opening import check_types
from parley.client.protocols import SETUPS, setup_of
from parley.schemas.session import MAX_DOCUMENT, MAX_EVIDENCE, Document

ROLES = ("panelist", "analyst")


def write(folder: Path, name: str, text: str = "a text") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def named(evidence: ReadEvidence) -> list[str]:
    return [d.name for d in evidence.documents]


def refusal(folder: Path) -> str:
    with pytest.raises(BadInput) as caught:
        read(folder, ROLES)
    assert caught.value.field == "evidence"
    return str(caught.value)


def test_texts_of_any_suffix_in_the_order_of_their_names_and_a_folder_named_like_a_seat_is_that_seats(
    tmp_path: Path,
) -> None:
    for name in ("b.txt", "a.md", "sub/c.csv", "d.json", ".hidden", ".git/x", "panelist_2/x/one.md", "panelists/2.md"):
        write(tmp_path, name, f"text of {name}")
    found = read(tmp_path, ROLES).documents
    assert {d.name: d.holders for d in found} == {
        "a.md": (), "b.txt": (), "d.json": (), "panelist_2/x/one.md": ("panelist_2",), "panelists/2.md": (),
        "sub/c.csv": (),
    }  # fmt: skip
    assert [d.name for d in found] == sorted(d.name for d in found)
    assert found[0] == Document(id=hashlib.sha256(b"text of a.md").hexdigest(), name="a.md", text="text of a.md")


def test_what_is_not_there_is_refused_and_so_is_a_source_of_which_nothing_is_left(tmp_path: Path) -> None:
    assert "nowhere does not exist" in refusal(tmp_path / "nowhere")
    assert f"no file is named like {tmp_path}/*.txt" in refusal(tmp_path / "*.txt")
    assert "can be read: there is no file" in refusal(tmp_path)
    assert "blank.md can be read: blank.md is empty" in refusal(write(tmp_path, "blank.md", " \n"))
    with pytest.raises(BadInput, match="named twice"):
        read(["-", "-"])


def test_folders_files_patterns_and_bytes_together(tmp_path: Path) -> None:
    for name in ("docs/a.md", "docs/panelist_1/b.md", "notes/2.md", "notes/deep/1.md", "notes/x.txt", "one[1].md"):
        write(tmp_path, name, f"text of {name}")
    write(tmp_path, "other/a.md", "another a")
    sources = ["docs", "notes/**/*.md", "one[1].md", "docs/a.md", "other/a.md"]
    paths = [tmp_path / s if s == "docs" else str(tmp_path / s) for s in sources]
    found = read([*paths, SentFile("sent.md", b"\xef\xbb\xbfsent"), SentFile("sent.md", b"again")], ROLES).documents
    names = ["a.md", "panelist_1/b.md", "2.md", "1.md", "one[1].md", "other/a.md", "sent.md", "sent.md (2)"]
    assert [d.name for d in found] == names and found[1].holders == ("panelist_1",)
    assert [d.text for d in found[-2:]] == ["sent", "again"]


def hole(path: Path) -> None:
    """A file of 50 MB that takes no room."""
    with path.open("wb") as file:
        file.truncate(50_000_000)


LEFT_OUT: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe.md": (os.mkfifo, "pipe.md is no plain file"),
    "self.md": (lambda p: p.symlink_to(p), "self.md cannot be opened"),
    "out.md": (lambda p: p.symlink_to("/etc/hostname"), "out.md is a link out of the folder"),
    "zero.md": (lambda p: p.symlink_to("/dev/zero"), "zero.md is a link out of the folder"),
    "up": (lambda p: p.symlink_to(p.parent), "up is a link to a folder"),
    "huge.txt": (hole, "huge.txt is 50.0 MB, more than 40 MB, the most that is read into memory at once: split it"),
    "bad.md": (lambda p: p.write_bytes(b"a\0b"), "bad.md is no text: it is a binary file"),
    os.fsdecode(b"n\xff.md"): (lambda p: p.write_bytes(b"x"), "has a name that is no UTF-8: rename it"),
}


def test_what_cannot_be_read_is_left_out_and_named_and_nothing_hangs(tmp_path: Path) -> None:
    write(tmp_path, "good.md")
    for name, (make, _) in LEFT_OUT.items():
        make(tmp_path / name)
    found = read(tmp_path)
    assert named(found) == ["good.md"] and len(found.left_out) == len(LEFT_OUT)
    for _, why in LEFT_OUT.values():
        assert any(why in line for line in found.left_out), why
    device = read([tmp_path / "good.md", "/dev/zero", tmp_path / "pipe.md"])
    assert named(device) == ["good.md"] and len(device.left_out) == 2


def test_the_limits_say_what_they_are_for_and_what_is_within_them_is_taken(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "ž" * MAX_DOCUMENT)
    write(tmp_path, "b.md", "ž" * (MAX_DOCUMENT + 1))
    found = read(tmp_path)
    assert named(found) == ["a.md"]
    assert f"b.md has {MAX_DOCUMENT + 1:,} characters, allowed are {MAX_DOCUMENT:,}" in found.left_out[0]
    assert "in one message" in found.left_out[0]
    for i in range(MAX_EVIDENCE // MAX_DOCUMENT + 1):
        write(tmp_path / "many", f"{i}.md", "x" * MAX_DOCUMENT)
    found = read(tmp_path / "many")
    assert len(found.documents) == MAX_EVIDENCE // MAX_DOCUMENT
    assert f"more than {MAX_EVIDENCE:,} characters" in found.left_out[0]


FILES = archive({"test.sh": (b"true\n", True), "tools/run": (b"true\n", True)})


@pytest.mark.parametrize(
    ("command", "told"),
    [
        *((taken, "") for taken in ("sh test.sh", f"{sys.executable} -m x", "./test.sh -q", "tools/run", "")),
        ("nosuchprogram --x", "--check 'nosuchprogram --x': no program 'nosuchprogram' is found on PATH"),
        ("/no/such/program", "no program '/no/such/program' is found on PATH"),
        ("test.sh", "the folder has a file of that name: ./test.sh"),
        ("./tset.sh", "no program './tset.sh' is found in the folder; if the task makes the program, run it by"),
        ("../test.sh", "no program '../test.sh' is found in the folder"),
        ("sh 'test.sh", "cannot be read as a command: No closing quotation"),
        ("  ", "names no program; --check off runs none"),
    ],
)
def test_a_check_that_is_nowhere_is_refused_with_what_there_is(command: str, told: str) -> None:
    with pytest.raises(BadInput, match="check") if told else nullcontext() as refused:
        setup_of("madp").check_here(FILES, {"check": command})
    assert refused is None or told in str(refused.value)


def test_who_names_no_check_is_not_refused() -> None:
    for name in SETUPS:
        setup_of(name).check_here(FILES, {})


# -- what a program or a notebook brings

TEXT = "The Suez Canal opened in 1869 for ships."
NAMED = parley.Document(name="canal.md", text=TEXT, holders=("panelist_2",))


def test_documents_texts_and_bytes_stand_beside_paths(tmp_path: Path) -> None:
    (tmp_path / "on-disk.md").write_text("A file.")
    pages: dict[str, str | bytes] = {"page.html": "<p>A <b>page</b></p>", "raw.csv": b"a,b\n1,2"}
    sources: list[Source] = [
        NAMED, parley.Document(name="canal.md", text="Another."), pages, tmp_path / "on-disk.md",
    ]  # fmt: skip
    found = read(sources)
    assert [d.name for d in found.documents] == ["canal.md", "canal.md (2)", "page.html", "raw.csv", "on-disk.md"]
    assert found.documents[0].holders == NAMED.holders and len(found.documents[0].id) == 64
    assert "<b>" not in found.documents[2].text and not found.left_out
    assert read(NAMED).documents[0].text == read({"canal.md": TEXT}).documents[0].text == TEXT


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (b"abc", r'got 3 bytes without a name; .*\{"notes.md": text\}'),
        ([NAMED, 5], "item 2 is 5; allowed are paths, documents"),
        ([NAMED, "A long text\nand no path"], "item 2 is a text of 23 characters, and no path; name it"),
        ({"a.md": 5}, "item 1: a.md holds int, allowed are a text and bytes"),
        ({"a.pdf": bytes(40_000_001)}, "a.pdf has more than 40 MB"),
        (parley.Document(name="a", text="\ud800"), "a has half of a character"),
    ],
)
def test_an_error_names_the_item_and_the_limit(evidence: Any, told: str) -> None:
    with pytest.raises(parley.BadInput, match=f"^evidence: .*{told}"):
        read(evidence)


@pytest.mark.parametrize(
    ("question", "options", "told"),
    [
        (5, {}, "^question: got 5, expected a text"),
        ("When?", {"continues": 5}, "^continues: got 5, expected text"),
        ("When?", {"seats": ["a"]}, r"^seats: got \['a'\], expected a list of parley.Seat"),
    ],
)
def test_what_cannot_be_is_named_as_it_was_written(question: Any, options: Mapping[str, Any], told: str) -> None:
    with pytest.raises(parley.BadInput, match=told):
        check_types(question, options)
