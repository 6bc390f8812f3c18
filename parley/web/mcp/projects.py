"""A project's folder as documents: only under the roots that the operator allows, only texts, nothing ignored."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from parley.client import task_folder
from parley.client.errors import BadInput
from parley.client.text import count
from parley.schemas.folders.archive import unpacked
from parley.schemas.session import MAX_DOCUMENT, MAX_EVIDENCE, Document
from parley.web import asking

FIELD = "projectPath"
LARGEST = 200_000
"""Characters of a file that is taken."""
_NAMED = 20


class Project(NamedTuple):
    """A folder as documents."""

    documents: tuple[Document, ...]
    left_out: tuple[str, ...]
    """What was not taken, and why, in words."""


def under(roots: Sequence[Path], path: str) -> Path:
    """The folder that is named, where it lies under a root.

    Raises
    ------
    BadInput
        No root is allowed, the folder is under none, or there is no such folder. A path outside of all roots is refused
        with the same words whether it exists or not.
    """
    if not roots:
        raise BadInput(FIELD, f"got {path!r}, and no folder may be read: the server was started without --root DIR")
    project = Path(path)
    if not project.is_absolute() and len(roots) == 1:
        project = roots[0] / project
    try:
        folder = project.resolve()
        inside = any(folder.is_relative_to(root.resolve()) for root in roots)
    except (OSError, ValueError, RuntimeError):
        inside = False
        folder = project
    if not inside:
        raise BadInput(FIELD, f"got {path!r}, allowed are folders under {', '.join(map(str, roots))}")
    if not folder.is_dir():
        raise BadInput(FIELD, f"got {path!r}, which is not a folder")
    return folder


def load_project(folder: Path) -> Project:
    """The texts of a folder, in the order of their names, as many as one session takes. What version control ignores,
    what may be a secret, and what is no text stays out. Raises BadInput where nothing is left."""
    sent = task_folder.read_folder(folder)
    documents: list[Document] = []
    left_out = [f"{file.path}: {file.why}" for file in sent.left_out if file.why]
    size = 0
    for name, (data, _) in sorted(unpacked(sent.data).items()):
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            left_out.append(f"{name}: no text")
            continue
        if not text.strip() or "\0" in text:
            left_out.append(f"{name}: no text")
        elif len(text) > min(LARGEST, MAX_DOCUMENT):
            left_out.append(f"{name}: {len(text):,} characters, taken are at most {LARGEST:,}")
        elif size + len(text) > MAX_EVIDENCE // 2:
            left_out.append(f"{name}: the files before it fill what a session takes ({MAX_EVIDENCE // 2:,} characters)")
        else:
            size += len(text)
            documents.append(asking.document(name, text))
    if not documents:
        raise BadInput(FIELD, f"{folder} holds no text that can be read ({'; '.join(left_out[:3]) or 'it is empty'})")
    more = len(left_out) - _NAMED
    if more > 0:
        left_out = [*left_out[:_NAMED], f"and {count(more, 'more file')}"]
    return Project(tuple(documents), tuple(left_out))
