"""Archives: whatever the validator takes creates nothing outside, and no repository whose settings run a program."""

import bz2
import gzip
import io
import lzma
import os
import random
import stat
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from parley.agents.tools.folder import TaskFolder, archive
from parley.client import task_folder
from parley.client.task_folder import NotApplied, SentFolder
from parley.schemas.folders.archive import BadArchive, FolderError, TooLarge, unpack_archive
from parley.schemas.folders.archive import Files as Archived

Files = dict[str, tuple[bytes, bool]]


def bare(folder: str, program: Path, *, without: str = "") -> Files:
    """A bare repository as plain files, whose settings name a program that `git status` runs."""
    settings = f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = {program}\n"
    found: Files = {
        "HEAD": (b"ref: refs/heads/main\n", False),
        "config": (settings.encode(), False),
        "objects/info/x": (b"", False),
        "refs/heads/.keep": (b"", False),
    }
    return {f"{folder}/{name}": content for name, content in found.items() if name.partition("/")[0] != without}


def status(folder: Path) -> None:
    """`git status` as a user types it, with nothing of this machine's settings."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "status"], cwd=folder, env=environment, capture_output=True, check=False, timeout=30)


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """Exists once the program ran."""
    return tmp_path / "ran"


@pytest.fixture
def program(tmp_path: Path, ran: Path) -> Path:
    file = tmp_path / "program"
    file.write_text(f"#!/bin/sh\ntouch {ran}\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def sent(tmp_path: Path) -> SentFolder:
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "index.md").write_text("hello\n")
    return task_folder.read_folder(root)


def written(root: Path, files: Files) -> None:
    for path, (data, _) in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)


def test_git_runs_what_the_files_name(tmp_path: Path, program: Path, ran: Path) -> None:
    """The attack is one: the same files, laid there by hand."""
    written(tmp_path, bare("docs", program))
    status(tmp_path / "docs")
    assert ran.exists()


@pytest.mark.parametrize("there", ["", "objects", "refs"])
def test_an_archive_that_makes_a_bare_repository_is_not_written(
    sent: SentFolder, program: Path, ran: Path, there: str
) -> None:
    """Also with a folder that stands there already: an empty one is in no archive, and counts for git."""
    if there:
        (sent.folder / "docs" / there).mkdir()
    data = archive({"docs/index.md": (b"hello\n", False), **bare("docs", program, without=there)})
    before = sorted((sent.folder / "docs").iterdir())
    with pytest.raises(NotApplied, match="it makes a repository"):
        task_folder.write(sent, data)
    status(sent.folder / "docs")
    assert not ran.exists() and sorted((sent.folder / "docs").iterdir()) == before


@pytest.mark.parametrize("name", ["hooks/post-commit", "config.worktree", "objects/info/alternates", "new"])
def test_a_bare_repository_in_the_users_folder_is_neither_sent_nor_changed(sent: SentFolder, name: str) -> None:
    inner = sent.folder / "fixtures" / "kept.git"
    inner.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", "."], cwd=inner, check=True)
    (sent.folder / "fixtures" / "read.me").write_text("x")
    before = {p: p.read_bytes() for p in inner.rglob("*") if p.is_file()}
    again = task_folder.read_folder(sent.folder)
    assert "'fixtures/kept.git'" in "".join(again.words())
    kept: Files = {"docs/index.md": (b"hello\n", False), "fixtures/read.me": (b"x", False)}
    assert again.data == archive(kept), "the rest is sent"
    with pytest.raises(NotApplied, match="repository"):
        task_folder.write(again, archive({**kept, f"fixtures/kept.git/{name}": (b"#!/bin/sh\n", True)}))
    assert {p: p.read_bytes() for p in inner.rglob("*") if p.is_file()} == before
    assert task_folder.write(again, archive({**kept, "docs/more.md": (b"x", False)})) == ["docs/more.md"]


PARTS = (
    "a", "b", "HEAD", "head", "Head ", "HEAD.", "objects", "Objects", "refs", "REFS.", "config", "commondir", "gitdir",
    "hooks", "packed-refs", "worktrees", "x.git", ".git", ".GIT", ".git.", "git~1", ".g\u200cit", "\uff0egit", ".hg",
    "..", ".", "", "a\u0301", "\u00e1", "\ufb01", "fi", "\u212a", "k", "aux.c", "C:", "x" * 300, "a\x00b", "a\nb",
    "\u202e", "~", ".gitmodules",
)  # fmt: skip
LIKELY = ("a", "b", "HEAD", "objects", "refs", "config", "commondir", "x.git", "hooks", "worktrees", "\ufb01")
CONTENT = (b"", b"ref: refs/heads/main\n", b"0" * 40 + b"\n", b"gitdir: ../b\n", b"../b\n", b"[core]\n\tbare = true\n")
KINDS = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE,
         tarfile.CHRTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE)  # fmt: skip
ENTRY = st.tuples(
    st.lists(st.sampled_from(LIKELY), min_size=1, max_size=4).map("/".join)
    | st.lists(st.sampled_from(PARTS), min_size=1, max_size=5).map("/".join),
    st.sampled_from([tarfile.REGTYPE] * 8 + [tarfile.DIRTYPE] * 4 + list(KINDS)),
    st.sampled_from(CONTENT),
    st.sampled_from((0o644, 0o755, 0o4755)),
)
FORMAT = st.sampled_from((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT))
NO_SETTINGS = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def packed(entries: list[tuple[str, bytes, bytes, int]], form: int = tarfile.PAX_FORMAT) -> bytes:
    """Entries (name, type, data, mode) as a tar, whatever they are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for name, kind, data, mode in entries:
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = kind, mode
            if kind in (tarfile.REGTYPE, tarfile.AREGTYPE):
                entry.size = len(data)
            elif kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                entry.linkname = "../b"
            try:
                tar.addfile(entry, io.BytesIO(data))
            except ValueError:  # no such name in this format
                continue
    return buffer.getvalue()


def as_tarfile_reads(data: bytes) -> Archived:
    """What another reader finds."""
    found: Archived = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
        for entry in tar:
            if entry.isdir():
                continue
            file = tar.extractfile(entry)
            assert file is not None and entry.isfile() and entry.name not in found
            found[entry.name] = (file.read(), bool(entry.mode & 0o100))
    return found


def repository(folder: Path, **variables: str) -> bool:
    """Whether git takes a folder as a repository, or as of one."""
    command = ["git", "-C", str(folder), "rev-parse", "--git-dir"]
    return not subprocess.run(command, env=NO_SETTINGS | variables, capture_output=True, timeout=30).returncode


@given(st.lists(ENTRY, min_size=1, max_size=7), FORMAT)
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_outside_and_no_repository(entries: list[tuple[str, bytes, bytes, int]], form: int) -> None:
    data = packed(entries, form)
    try:
        files = unpack_archive(data)
    except FolderError as error:
        event(f"refused: {str(error).rpartition(': ')[2][:40]}")
        return
    event("taken")
    assert files == as_tarfile_reads(data), "two readers, one folder"
    assert unpack_archive(archive(files)) == files
    with TaskFolder(data) as folder:
        assert os.listdir(folder.root.parent) in (["task", "home"], ["home", "task"])
        assert os.listdir(folder.home) == []
        for at, folders, names in os.walk(folder.root):
            for name in (*folders, *names):
                mode = Path(at, name).lstat().st_mode
                assert stat.S_ISDIR(mode) if name in folders else stat.S_ISREG(mode)
                assert mode & 0o7000 == 0
            if "HEAD" in names:  # also with a variable that git sets for its hooks, which stands for `objects`
                assert not repository(Path(at)) and not repository(Path(at), GIT_OBJECT_DIRECTORY=str(folder.home))
        assert folder.look() == files and folder.clean() == []


REPOSITORY = r"repository|one name to some file systems"
REPOSITORIES = (
    ("d/HEAD", "d/objects/a", "d/refs/a"), ("d/HEAD", "d/refs/a"), ("HEAD", "objects/a"), ("d/HEAD", "d/commondir"),
    ("d/objects/a", "D/HEAD"), ("d/head", "d/Objects/a"), ("d/HEAD ", "d/refs."), ("d/\uff28EAD", "d/refs"),
    ("x.git/worktrees/a/HEAD", "x.git/worktrees/a/commondir"), ("d/.git",), ("d/.GIT/config",), ("GIT~1/hooks/x",),
    (".g\u200cit",), ("\uff0egit/config",), (".\u017fvn/x",), (".git::$INDEX_ALLOCATION/x",), (".hg/hgrc",),
    ("_darcs/prefs/defaults",), (".jj/repo/x",),
)  # fmt: skip
WRONG: list[tuple[tuple[str, ...], str]] = [
    *((names, REPOSITORY) for given in REPOSITORIES for names in (given, given[::-1])),
    (("a", "A"), "one name"), (("d/x", "D/y"), "one name"), (("\u00e1", "a\u0301"), "one name"),
    (("\ufb01", "fi"), "one name"), (("a", "a."), "one name"), (("a", "a "), "one name"),
    (("a", "a/b"), "'a' is a file"), (("a/b", "a"), "as a folder too"), (("a", "a"), "twice"),
    (("con",), "a device"), (("d/NUL.txt",), "a device"), (("lpt1",), "a device"), (("C:x",), "a drive"),
    (("x:$DATA",), "a stream"), (("\u202e\x85",), "control"), (("x/" * 100 + "x",), "100 parts"),
    (("x" * 256,), "255 bytes"), (("\u4e00" * 86,), "255 bytes"), ((("\u4e00" * 70 + "/") * 15 + "x",), "3,000 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "why"), WRONG)
def test_names_that_may_not_stand_there_or_make_a_repository(names: tuple[str, ...], why: str) -> None:
    with pytest.raises(BadArchive, match=why):
        unpack_archive(packed([(name, tarfile.REGTYPE, b"x", 0o644) for name in names]))


@pytest.mark.parametrize(
    "names",
    [("HEAD", "a"), ("HEAD/a", "objects/a", "refs/a"), ("objects/a", "refs/a", "config"), (".gitmodules", ".gitignore"),
     (".github/x", ".gitattributes"), ("a/HEAD", "b/objects/x", "refs/y"), ("...", "a b", "é", "x~1", "aux-1/x")],
)  # fmt: skip
def test_names_that_make_none(names: tuple[str, ...]) -> None:
    assert set(unpack_archive(archive({name: (b"x", False) for name in names}))) == set(names)


def test_nothing_grows_while_it_is_unpacked() -> None:
    big = archive({"zeros": (bytes(3_000_000), False)})
    for shrunk in (gzip.compress(big), bz2.compress(big), lzma.compress(big)):
        with pytest.raises(BadArchive, match="it is no tar"):
            unpack_archive(shrunk)
    for key, value in (("size", "4000000000"), ("GNU.sparse.realsize", "4000000000"), ("linkpath", "/etc/passwd")):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            entry = tarfile.TarInfo("a")
            entry.pax_headers = {key: value}
            tar.addfile(entry)
        with pytest.raises(BadArchive, match=f"a record '{key}' is not taken"):
            unpack_archive(buffer.getvalue())
    entry = tarfile.TarInfo("a")
    entry.size = 8 * 10**9
    with pytest.raises(BadArchive, match="an entry is cut"):
        unpack_archive(entry.tobuf(tarfile.USTAR_FORMAT) + bytes(1_024))
    entry.size = 10**12
    with pytest.raises(BadArchive, match="a number is none"):
        unpack_archive(entry.tobuf(tarfile.GNU_FORMAT) + bytes(1_024))


def test_one_that_is_long_is_compressed_and_what_it_may_become_is_bounded() -> None:
    files = {"zeros": (bytes(6_000_000), False), "a": (b"a", True)}
    data = archive(files)
    assert len(data) < 100_000 and unpack_archive(data) == files == as_tarfile_reads(gzip.decompress(data))
    assert archive(files) == data, "the same files, the same bytes"
    with pytest.raises(TooLarge, match="more than 20,000,000 bytes when it is unpacked"):
        unpack_archive(gzip.compress(bytes(4_000_000_000 // 100)))
    for wrong in (data + b"x", data + data, data[:-4], gzip.compress(data), data[:40] + b"\xff" + data[41:]):
        with pytest.raises(BadArchive, match="no tar"):
            unpack_archive(wrong)
    deep = "/".join("d" for _ in range(95))  # of 512 bytes a file: without a limit 4 MB would be 300,000 folders
    with pytest.raises(TooLarge, match="4,000 files in 4,000 folders"):
        unpack_archive(archive({f"{i}/{deep}": (b"", False) for i in range(100)}))
    one = archive({"a": (b"a", False)})
    with pytest.raises(BadArchive, match="something stands at its end"):
        unpack_archive(one + archive({".git/config": (b"x", False)}))
    with pytest.raises(BadArchive, match="its end is missing"):
        unpack_archive(one.rstrip(b"\x00") + bytes(511 - len(one.rstrip(b"\x00")) % 512))


SEEDS = (
    archive({}),
    archive({"a": (b"a", False), "d/run.sh": (b"#!/bin/sh\n", True), "d/\u00fc": (b"\xff", False)}),
    archive({"/".join(["x" * 50] * 6): (b"x" * 600, False), "b": (b"", False)}),
    packed([("d", tarfile.DIRTYPE, b"", 0o755), ("d/" + "y" * 120, tarfile.REGTYPE, b"y", 0o644)], tarfile.GNU_FORMAT),
    packed([(name, kind, b"x", 0o644) for name, kind in zip(PARTS, KINDS * 9, strict=False) if "\x00" not in name]),
)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """Some bytes, fields or blocks of an archive changed; often with a checksum that is right again."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(found) or 1)
        block = at - at % 512
        match rng.randrange(7):
            case 0 if found:
                found[at] = rng.randrange(256)
            case 1:
                found[at:at] = rng.randbytes(rng.choice((1, 511, 512)))
            case 2:
                del found[at : at + rng.choice((1, 100, 512))]
            case 3:
                found[block : block + 512] = found[rng.randrange(len(found) or 1) :][:512]
            case 4:
                field, size = rng.choice(((0, 100), (100, 8), (124, 12), (156, 1), (157, 100), (257, 8), (345, 155)))
                found[block + field : block + field + size] = rng.choice(
                    (rng.randbytes(size), b"7" * size, b"\xff" * size, bytes(size), b"x" * size, b"../" * size)
                )[:size]
            case 5:
                found[block + 156 : block + 157] = rng.choice((b"x", b"g", b"L", b"K", b"S", b"2", b"5", b"0"))
            case _:
                del found[at:]
        if rng.random() < 0.7 and len(found) >= block + 512:
            found[block + 148 : block + 156] = b" " * 8
            found[block + 148 : block + 156] = b"%06o\0 " % sum(found[block : block + 512])
    return bytes(found)
