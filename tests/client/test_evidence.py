"""Evidence: what is read, to whom it goes, what is refused and how it is named."""

import hashlib
import os
from pathlib import Path

import pytest

from parley.client.errors import BadInput
from parley.client.evidence import read_documents
from parley.schemas.session import MAX_DOCUMENT, MAX_EVIDENCE

ROLES = ("panelist", "analyst")


def write(folder: Path, name: str, text: str = "a text") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_texts_of_any_suffix_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.txt", "a.md", "sub/c.csv", "d.json", ".hidden", ".git/x"):
        write(tmp_path, name, f"text of {name}")
    found = read_documents(tmp_path, ROLES)
    assert [d.name for d in found] == ["a.md", "b.txt", "d.json", "sub/c.csv"]
    assert found[0].text == "text of a.md"
    assert found[0].id == hashlib.sha256(b"text of a.md").hexdigest()


def test_a_folder_named_like_a_seat_holds_that_seats_documents(tmp_path: Path) -> None:
    write(tmp_path, "panelist_2/x/one.md")
    write(tmp_path, "panelists/two.md")
    write(tmp_path, "three.md")
    assert {d.name: d.holders for d in read_documents(tmp_path, ROLES)} == {
        "panelist_2/x/one.md": ("panelist_2",),
        "panelists/two.md": (),
        "three.md": (),
    }


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbftext")
    assert read_documents(tmp_path)[0].text == "text"


def refusal(folder: Path) -> str:
    with pytest.raises(BadInput) as caught:
        read_documents(folder, ROLES)
    assert caught.value.field == "evidence"
    return str(caught.value)


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "nowhere does not exist" in refusal(tmp_path / "nowhere")
    assert f"no file is named like {tmp_path}/*.txt" in refusal(tmp_path / "*.txt")
    assert f"{tmp_path}/blank.md holds no readable document" in refusal(write(tmp_path, "blank.md", " \n"))


def test_folders_files_and_patterns_together(tmp_path: Path) -> None:
    for name in ("docs/a.md", "docs/panelist_1/b.md", "notes/2.md", "notes/deep/1.md", "notes/x.txt", "one[1].md"):
        write(tmp_path, name, f"text of {name}")
    write(tmp_path, "other/a.md", "another a")
    sources = ["docs", "notes/**/*.md", "one[1].md", "docs/a.md", "other/a.md"]
    found = read_documents([tmp_path / s if s == "docs" else str(tmp_path / s) for s in sources], ROLES)
    assert [(d.name, d.holders) for d in found] == [
        ("a.md", ()),
        ("panelist_1/b.md", ("panelist_1",)),
        ("2.md", ()),
        ("1.md", ()),
        ("one[1].md", ()),
        ("other/a.md", ()),
    ]


def test_a_file_that_is_named_is_held_to_the_same_limits(tmp_path: Path) -> None:
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(50_000_000)
    assert "huge.txt is 50.0 MB, allowed are 1,000,000 characters" in refusal(tmp_path / "huge.txt")
    with (tmp_path / "huge.pdf").open("wb") as file:
        file.truncate(50_000_000)
    assert "huge.pdf is 50.0 MB, allowed are 40 MB" in refusal(tmp_path / "huge.pdf")


def test_nothing_readable_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "empty.md", "  \n")
    write(tmp_path, ".hidden", "text")
    assert "holds no readable document" in refusal(tmp_path)


@pytest.mark.parametrize(("data", "why"), [(b"a\0b", "NUL byte"), (b"\xff\xfe", "not UTF-8 text (byte 0)")])
def test_a_binary_is_refused_by_name(tmp_path: Path, data: bytes, why: str) -> None:
    write(tmp_path, "good.md")
    (tmp_path / "bad.md").write_bytes(data)
    said = refusal(tmp_path)
    assert "bad.md" in said
    assert why in said


def test_a_large_file_is_refused_by_its_size_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(50_000_000)  # a hole: reading it would show NUL bytes first
    said = refusal(tmp_path)
    assert "huge.txt" in said
    assert "50.0 MB" in said
    assert f"{MAX_DOCUMENT:,}" in said


def test_a_document_may_have_exactly_so_many_characters(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "ž" * MAX_DOCUMENT)
    assert len(read_documents(tmp_path)[0].text) == MAX_DOCUMENT
    write(tmp_path, "a.md", "ž" * (MAX_DOCUMENT + 1))
    assert f"a.md has {MAX_DOCUMENT + 1:,} characters" in refusal(tmp_path)


def test_all_of_it_together_has_a_limit(tmp_path: Path) -> None:
    for i in range(MAX_EVIDENCE // MAX_DOCUMENT + 1):
        write(tmp_path, f"{i}.md", "x" * MAX_DOCUMENT)
    assert f"allowed are {MAX_EVIDENCE:,}" in refusal(tmp_path)


def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    secret = write(tmp_path, "secret.txt", "secret")
    inside = tmp_path / "evidence"
    write(inside, "a.md")
    (inside / "link.md").symlink_to(secret)
    assert "link.md is a link out of the folder" in refusal(inside)
    (inside / "link.md").unlink()
    (inside / "within.md").symlink_to(inside / "a.md")
    assert [d.name for d in read_documents(inside)] == ["a.md", "within.md"]
    (inside / "up").symlink_to(tmp_path)
    assert "link to a folder" in refusal(inside)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    assert "pipe.md is not a plain file" in refusal(tmp_path)
