"""Unified diffs as models write them, put on files: all of one, or nothing."""

from pathlib import Path

import pytest

from parley.agents.tools.patch import PatchError, apply

APP = "def a():\n    return 1\n\n\ndef b():\n    return 2\n\n\ndef c():\n    return 3\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


def diff(*hunks: str, old: str = "a/app.py", new: str = "b/app.py") -> str:
    return f"--- {old}\n+++ {new}\n" + "".join(hunks)


FIRST = "@@ -1,2 +1,2 @@\n def a():\n-    return 1\n+    return 10\n"
LAST = "@@ -9,2 +9,3 @@\n def c():\n-    return 3\n+    x = 3\n+    return x\n"


def test_several_hunks_change_one_file(root: Path) -> None:
    assert apply(root, diff(FIRST, LAST)) == ["app.py: 2 hunks changed"]
    assert (root / "app.py").read_text() == APP.replace("return 1\n", "return 10\n").replace(
        "    return 3\n", "    x = 3\n    return x\n"
    )


def test_lines_that_are_miscounted_are_found_where_they_stand(root: Path) -> None:
    apply(root, diff(LAST.replace("@@ -9,2 +9,3 @@", "@@ -40,7 +41,2 @@")))
    assert "    x = 3\n" in (root / "app.py").read_text()


def test_of_equal_places_the_nearest_is_changed(root: Path) -> None:
    (root / "app.py").write_text("x\ny\n" * 5)
    apply(root, diff("@@ -7,2 +7,2 @@\n x\n-y\n+z\n"))
    assert (root / "app.py").read_text() == "x\ny\n" * 3 + "x\nz\n" + "x\ny\n"


def test_a_hunk_that_does_not_fit_is_named_and_nothing_is_changed(root: Path) -> None:
    with pytest.raises(PatchError, match=r"app.py: hunk 2 does not fit: its lines, of which the first is 'def d\(\):'"):
        apply(root, diff(FIRST, "@@ -9,2 +9,2 @@\n def d():\n-    return 3\n+    return 4\n"))
    assert (root / "app.py").read_text() == APP


def test_files_are_created_and_deleted(root: Path) -> None:
    text = diff("@@ -0,0 +1,2 @@\n+one\n+two\n", old="/dev/null", new="b/new/x.txt")
    text += diff("@@ -1,10 +0,0 @@\n" + "".join(f"-{row}\n" for row in APP.splitlines()), new="/dev/null")
    assert apply(root, text) == ["new/x.txt: created", "app.py: deleted"]
    assert (root / "new" / "x.txt").read_text() == "one\ntwo\n" and not (root / "app.py").exists()


def test_lines_keep_their_ends(root: Path) -> None:
    (root / "app.py").write_bytes(b"one\r\ntwo\r\n")
    apply(root, diff("@@ -1,2 +1,2 @@\n one\n-two\n+three\n"))
    assert (root / "app.py").read_bytes() == b"one\r\nthree\r\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no diff at all", "the patch holds no change"),
        (diff(), "no hunk follows"),
        (diff(FIRST, old="a/none.py", new="b/none.py"), "none.py: there is no such file"),
        (diff(FIRST, old="a/../app.py", new="b/../app.py"), "leads out of the task's folder"),
        (diff("@@ -0,0 +1 @@\n+x\n", old="/dev/null"), "creates it, and it is there"),
        (diff("@@ -0,0 +1 @@\n+x\n", old="/dev/null", new="b/.git/hooks/pre-commit"), "repository"),
        ("x" * 400_001, "the limit is 400,000"),
    ],
)
def test_what_cannot_be_applied_is_said(root: Path, text: str, why: str) -> None:
    with pytest.raises(PatchError, match=why):
        apply(root, text)
    assert [p.name for p in root.iterdir()] == ["app.py"] and (root / "app.py").read_text() == APP
