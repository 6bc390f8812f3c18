"""What the page is made of: modules without a build step, texts as text alone, nothing that the policy forbids."""

import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
STATIC = ROOT / "parley" / "web" / "static"
SCRIPTS = sorted((STATIC / "js").rglob("*.js"))
PAGES = sorted(STATIC.glob("*.html"))
FORBIDDEN = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|setHTML\w*|parseFromString|createContextualFragment|document\.write"
    r"|eval|Function|srcdoc|javascript:|cssText|importScripts)\b|set(?:Timeout|Interval)\(\s*[\"'`]"
)
"""What makes markup or code of a text."""
VENDORED = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}
"""SHA-256 of the files of uPlot 1.6.32, as its package has them."""


def test_no_script_makes_markup_or_code_of_a_text_and_no_page_has_one_of_its_own() -> None:
    assert all(FORBIDDEN.search(text) for text in ("node.innerHTML = said", "eval(said)", 'setTimeout("said")'))
    assert not [line for script in SCRIPTS for line in script.read_text().splitlines() if FORBIDDEN.search(line)]
    own = re.compile(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)")
    assert not [page for page in PAGES if own.search(page.read_text())]


def test_every_script_is_reached_from_the_first_one() -> None:
    reached, todo = set(), [STATIC / "js" / "app.js"]
    while todo:
        script = todo.pop().resolve()
        if script not in reached:
            reached.add(script)
            todo += [script.parent / name for name in re.findall(r'"(\.[^"]+\.js)"', script.read_text())]
    assert {s.resolve() for s in SCRIPTS} == reached


def test_what_others_wrote_is_as_they_published_it_with_its_licence() -> None:
    folder = STATIC / "vendor" / "uplot"
    assert {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in VENDORED} == VENDORED
    assert "MIT License" in (folder / "LICENSE").read_text()
    assert "1.6.32" in (folder.parent / "README.md").read_text()


def test_the_pictures_of_the_page_are_there_and_small() -> None:
    """`make screens` takes them."""
    shown = re.findall(r"\]\(web/([\w-]+\.webp)\)", (DOCS / "web.md").read_text())
    there = {path.name: path.stat().st_size for path in (DOCS / "web").iterdir()}
    assert sorted(shown) == sorted(there), "each picture is shown once, and none is left over"
    assert max(there.values()) < 50_000, "the repository is a folder of tasks itself, with a limit"
