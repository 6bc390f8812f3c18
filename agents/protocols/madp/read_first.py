"""The files that an expert reads before anything else: what its specification names as its `context`."""

from fnmatch import fnmatchcase

from parley.agents.tools.folder import TaskFolder
from parley.schemas.expert import ExpertSpec
from parley.schemas.session import Document

MOST = 20_000
"""Characters of them all: who reads first is to have room left for the task."""


def read_first(spec: ExpertSpec | None, folder: TaskFolder) -> tuple[Document, ...]:
    """Text files of the task's folder, whole, in the order in which the specification names them, by path or pattern.
    What goes beyond MOST is left out."""
    if spec is None or not spec.context:
        return ()
    named = dict.fromkeys(p for pattern in spec.context for p in folder.paths if fnmatchcase(p, pattern))
    documents, room = [], MOST
    for document in folder.files(named):
        if len(document.text) <= room:
            documents.append(document)
            room -= len(document.text)
    return tuple(documents)
