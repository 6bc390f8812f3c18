"""`parley experts import`: agent files of coding assistants as specifications of experts. No bus, nothing is run."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parley.agents import experts
from parley.agents.experts import draft
from parley.agents.experts.drafting import Draft
from parley.bus_admin.expert_files import row
from parley.client.errors import BadInput
from parley.client.text import line

MOST_FILES = 1_000


def import_all(folder: Path, out: Path | None) -> dict[str, Any]:
    """What became of each Markdown file in a folder, and below it; with `out` written there, one file an expert.

    Links are not followed, and a file that is there is not written over.
    """
    if not folder.is_dir():
        raise BadInput(str(folder), "is not a folder")
    if out is not None and out.resolve() == folder.resolve():
        raise BadInput("--out", f"{out} is the folder that is read; name another one")
    paths = sorted(p for p in folder.rglob("*.md*") if p.suffix in experts.MARKDOWN and p.stem.upper() != "README")
    if len(paths) > MOST_FILES:
        raise BadInput(str(folder), f"has {len(paths):,} Markdown files, the limit is {MOST_FILES:,}")
    if not paths:
        raise BadInput(str(folder), "has no Markdown file")
    rows: list[dict[str, Any]] = []
    taken: dict[str, Path] = {}
    for path in paths:
        found = _drafted(path)
        spec, notes, target = found.spec, list(found.notes), None
        if spec is not None and spec.id in taken:
            notes = [f"id: got {spec.id!r}, which {taken[spec.id]} has already: rename one of them"]
            spec = None
        if spec is not None:
            taken[spec.id] = path
            if out is not None:
                target, why = _written(out, spec.id, found.text)
                notes += [why] if why else []
        entry = {"file": str(path), "ok": spec is not None and (out is None or target is not None), "notes": notes}
        rows.append(entry | ({"expert": row(spec)} if spec else {}) | ({"written": str(target)} if target else {}))
    return {"ok": all(r["ok"] for r in rows), "files": rows}


def import_words(report: dict[str, Any]) -> Iterator[str]:
    """A line for each file, and one for each note."""
    for entry in report["files"]:
        became = entry["expert"]["id"] if "expert" in entry else "not taken"
        yield f"{became:24} {line(entry['file'])}" + (f" -> {line(entry['written'])}" if "written" in entry else "")
        yield from (f"    {line(note, 400)}" for note in entry["notes"])
    good = sum(r["ok"] for r in report["files"])
    yield f"{good} of {len(report['files'])} files became experts"


def _drafted(path: Path) -> Draft:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return Draft(notes=("it is a link, or no plain file",))
        with path.open("rb") as file:
            data = file.read(experts.MAX_BYTES + 1)
        if len(data) > experts.MAX_BYTES:
            return Draft(notes=(f"it is too large, the limit is {experts.MAX_BYTES:,} bytes",))
        return draft(data.decode("utf-8-sig"), path.stem)
    except OSError as error:
        return Draft(notes=(f"it cannot be read: {error.strerror}",))
    except UnicodeDecodeError as error:
        return Draft(notes=(f"it is not UTF-8 text (byte {error.start})",))


def _written(out: Path, name: str, text: str) -> tuple[Path | None, str]:
    target = out / f"{name}.md"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return None, f"{target} is there already, and is left as it is"
    except OSError as error:
        return None, f"{target} cannot be written: {error.strerror}"
    return target, ""
