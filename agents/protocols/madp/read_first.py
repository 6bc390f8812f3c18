"""The files that an expert is shown before it asks: the rules of the project, what its specification names as its
`context`, and of a reviewer what is near."""

import re
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase

import msgspec

from parley.agents.tools.folder import TaskFolder
from parley.schemas.expert import ExpertSpec
from parley.schemas.folders.paths import RULES
from parley.schemas.protocols.madp.work import Checked
from parley.schemas.session import Document

MOST = 20_000
"""Characters of them all: who reads first is to have room left for the task."""
MOST_RULES = 8_000
"""Characters of one file of rules: what goes beyond is cut."""
_MOST_SPOKEN = 20
_MOST_NEAR = 4_000
"""Characters that a reviewer is shown unasked: less than one more call would take."""
_README = re.compile(r"(?i)readme(\.\w+)?")
_WORD = re.compile(r"[\w./-]+")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)+|[\w-]+\.\w+")
_CUT = "\n[cut here: {:,} characters in all; read the rest where you need it]"


def read_first(
    spec: ExpertSpec | None, folder: TaskFolder, task: str = "", mentioned: Collection[str] = ()
) -> tuple[Document, ...]:
    """Text files of the task's folder: rules of the project first, then those of the specification, whole, in the order
    in which it names them, by path or pattern. What goes beyond MOST is left out."""
    documents: list[Document] = []
    room = MOST
    for document in folder.files(dict.fromkeys(_rules(folder, {*mentioned, *_PATH.findall(task)}))):
        text = document.text
        if len(text) > MOST_RULES:
            text = text[:MOST_RULES] + _CUT.format(len(text))
        if len(text) <= room and all(text != other.text for other in documents):
            documents.append(msgspec.structs.replace(document, text=text))
            room -= len(text)
    context = spec.context if spec is not None else ()
    named = dict.fromkeys(p for pattern in context for p in folder.paths if fnmatchcase(p, pattern))
    for document in folder.files(named):
        if len(document.text) <= room and document not in documents:
            documents.append(document)
            room -= len(document.text)
    return tuple(documents)


def near(folder: TaskFolder, checks: Iterable[Checked]) -> tuple[Document, ...]:
    """What a reviewer would look at first: a small folder whole; of another the README, and files that checks name."""
    named = {word for run in checks for text in (run.command, *run.failed) for word in _WORD.findall(text)}
    few = [path for path in folder.paths if path in named or _README.fullmatch(path)]
    for paths in (folder.paths, few):
        found = folder.files(paths)
        if sum(len(document.text) for document in found) <= _MOST_NEAR:
            return found
    return ()


def _rules(folder: TaskFolder, mentioned: Collection[str]) -> Iterator[str]:
    """Files of rules, of each kind the nearest to each file that the task speaks of: a rule beside it comes before the
    same kind of rule further up. Where it speaks of none, those at the top."""
    paths = folder.paths
    spoken = [p for p in paths if any(p == name or p.endswith(f"/{name}") for name in mentioned)]
    for kind in RULES:
        for path in spoken[:_MOST_SPOKEN] or [""]:
            above = path.split("/")[:-1]
            for depth in range(len(above), -1, -1):
                base = "/".join([*above[:depth], kind])
                if found := [p for p in paths if fnmatchcase(p, base)]:
                    yield from found
                    break
