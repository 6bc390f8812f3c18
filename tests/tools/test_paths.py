"""What is held inside a folder, and what is none of its paths."""

import os
from pathlib import Path

import pytest

from parley.agents.tools.paths import Outside, inside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "task"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("x")
    (folder / ".git").mkdir()
    (tmp_path / "secret").write_text("s")
    (tmp_path / "task2").mkdir()
    os.symlink("src", folder / "within")
    os.symlink("..", folder / "up")
    os.symlink(tmp_path / "secret", folder / "leak")
    os.link(tmp_path / "secret", folder / "hard")
    os.mkfifo(folder / "pipe")
    return Path(os.path.realpath(folder))


@pytest.mark.parametrize(
    "given", [".", "src/app.py", "src/../src/app.py", "new/deep/file", "within/app.py", "src//app.py"]
)
def test_what_is_inside_is_found(root: Path, given: str) -> None:
    found = inside(root, given)
    assert found == root or root in found.parents
    assert ".." not in found.parts and "within" not in found.parts


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("../secret", "leads out"),
        ("src/../../secret", "leads out"),
        ("../task2/x", "leads out"),
        ("/etc/passwd", "leads out"),
        ("up/secret", "leads out"),
        ("leak", "leads out"),
        ("up/task2/new", "leads out"),
        ("hard", "second name"),
        ("pipe", "neither a file nor a folder"),
        ("~/x", "begins with ~"),
        ("a\x00b", "zero byte"),
        (".git/hooks/pre-commit", "repository"),
        (".git./x", "repository"),
        (".git . /x", "repository"),
        ("git~1/hooks/x", "repository"),
        ("src/GIT~1/x", "repository"),
        (".g\u200cit/x", "repository"),
        (".git::$INDEX_ALLOCATION/x", "repository"),
        ("src/.GIT/config", "repository"),
        ("a\nb", "control character"),
        ("x" * 300, "bytes a part"),
        ("x/" * 3_000, "characters"),
    ],
)
def test_what_leads_out_is_refused_with_its_name_and_why(root: Path, given: str, why: str) -> None:
    with pytest.raises(Outside, match=why) as caught:
        inside(root, given)
    assert caught.value.path == given and len(str(caught.value)) < 500


def test_an_absolute_path_inside_is_inside(root: Path) -> None:
    assert inside(root, str(root / "src" / "app.py")) == root / "src" / "app.py"
