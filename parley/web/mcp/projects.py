"""A project's folder as documents: only under the roots that the operator allows, nothing ignored."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from parley.client import task_folder
from parley.client.errors import BadInput
from parley.client.evidence import ReadEvidence, SentFile, read
from parley.client.text import count
from parley.schemas.folders.archive import unpack_archive
from parley.schemas.session import EVERYBODY, MAX_EVIDENCE

FIELD = "projectPath"
_NAMED = 20


def under(roots: Sequence[Path], path: str) -> Path:
    """The folder that is named, where it lies under a root. Raises BadInput: no root is allowed, the folder is under
    none, or there is no such folder. A path outside of all roots is refused with the same words whether it exists or
    not."""
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


def load_project(folder: Path) -> ReadEvidence:
    """The files of a folder as texts, in the order of their names, as many as one session takes. What version control
    ignores, and what may be a secret, stays out. Raises BadInput where nothing is left."""
    sent = task_folder.read_folder(folder)
    left_out = [f"{file.path}: {file.why}" for file in sent.left_out if file.why]
    files = [SentFile(name, data) for name, (data, _) in sorted(unpack_archive(sent.data).items())]
    try:
        found = read(files, most=MAX_EVIDENCE // 2)
    except BadInput as error:
        raise BadInput(FIELD, f"{folder}: {error.why}") from error
    documents = tuple(msgspec.structs.replace(d, holders=(EVERYBODY,)) for d in found.documents)
    left_out += found.left_out
    more = len(left_out) - _NAMED
    return ReadEvidence(documents, (*left_out[:_NAMED], *([f"and {count(more, 'more file')}"] if more > 0 else ())))
