"""Chooses the protocol of what was asked, where nobody names one.

A question, a claim or a motion goes to a panel; a change of a folder goes to experts. Documents alone never make a
task, and what needs a folder is refused by that, before anything starts. Nothing is read here but the text: every door
tells the rest.
"""

import re
import shlex
from collections.abc import Collection, Container, Mapping
from typing import Any, NamedTuple

import msgspec

from parley.client.errors import BadInput
from parley.client.opening import names_of
from parley.client.protocols import all_setups, panel_setup, task_setup
from parley.client.setup.options import PANEL
from parley.client.text import line
from parley.schemas.folders.request_kind import asked_for

_SHOWN = 60
_URL = re.compile(r"\bhttps?://[^\s<>\"'，。？）)]+")


class Spelled(NamedTuple):
    """What a door calls what may be missing."""

    evidence: str
    folder: str
    protocol: str


COMMAND_LINE = Spelled("--evidence PATH", "--folder . lets experts with a language model work on a copy", "--protocol ")
ELSEWHERE = Spelled(
    "documents", "on the command line, --folder . lets experts with a language model work on a copy", "protocol "
)
"""A page, or another program."""
PYTHON = Spelled("evidence=PATH", "folder=DIR lets experts with a language model work on a copy", "protocol=")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The protocol that what was asked goes to."""

    protocol: str = ""
    why: str = ""
    """In words; empty: it was named, or it follows from the session before."""
    opens_none: str = ""
    """The address in the question, which nobody opens; empty: there is none."""

    def words(self) -> list[str]:
        """One line that says what was chosen and how to choose otherwise, and one on an address in it."""
        if not self.why:
            return []
        others = "|".join(s.name for s in all_setups() if s.name != self.protocol)
        told = [f"{self.why}: {self.protocol} ({COMMAND_LINE.protocol}{others} for another way)"]
        if self.opens_none:
            told.append(f"{self.opens_none} is not opened: save the page, and give it as {COMMAND_LINE.evidence}")
        return told

    def told(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {"chosen": {"protocol": self.protocol, "why": self.why}} if self.why else {}


NAMED = Choice()
"""Nothing was chosen."""


def takers(given: Mapping[str, Any], flags: Container[str] = (), *, changes: bool = False) -> frozenset[str]:
    """The protocols that take all options which were given; none: every protocol does, or no single one.

    Parameters
    ----------
    given, flags
        As parley.client.opening takes them.
    changes
        The result is to be written into a folder.
    """
    setups = {setup.name: setup for setup in all_setups()}
    takes = set(setups)
    for name in given.get("settings") or ():
        of, dot, setting = name.partition(".")
        takes = {p for p in takes if (setting if dot else name) in names_of(p) and (not dot or p == of)}
    if given.get(PANEL.name) is not None:
        takes = {p for p in takes if setups[p].several}
    for setup in setups.values():
        if any(o.name in flags for o in setup.options if o.gives == "question"):
            takes &= {setup.name}
    if changes:
        takes &= {task_setup().name}
    return frozenset(takes if len(takes) < len(setups) else ())


def choose(
    question: str,
    *,
    folder: bool = False,
    documents: bool = False,
    allowed: Collection[str] = (),
    is_file: bool = False,
    follows: str = "",
    had_folder: bool = False,
    spelled: Spelled = COMMAND_LINE,
) -> Choice:
    """The protocol for a question where nobody named one.

    Parameters
    ----------
    folder
        A folder comes with it, of which a copy may be changed.
    documents
        Documents come with it, or settings that bring something to read.
    allowed
        Protocols that take every option which was given; none: no option belongs to some alone.
    is_file
        The question is the name of a file.
    follows
        The protocol of the session that it goes on from; empty: none.
    had_folder
        That one began with a folder.

    Raises
    ------
    BadInput
        It needs a folder, which is not there; it is a file's name or an address alone.
    """
    kind, panel, task = asked_for(question), panel_setup().name, task_setup().name
    if is_file:
        name, shown = shlex.quote(question.strip()), line(question, _SHOWN)
        why = f'{shown} is a file. To ask what is in it: parley ask "$(cat {name})"; to ask about it: --evidence {name}'
        raise BadInput("question", why)
    if follows:
        if folder and kind != "question":
            follows = task
        elif had_folder and not folder:
            if kind != "question":
                what = "the session before changed a folder, and this one takes it as it is now"
                raise BadInput("folder", f"{what}: {spelled.folder}")
            follows = panel
        return Choice(protocol=follows)
    address = _URL.search(question)
    url = line(address.group(), _SHOWN) if address and not documents and not folder else ""
    if url and _URL.sub("", question).strip() == "":
        raise BadInput("question", f"{url} is not opened: save the page, and ask about it with {spelled.evidence}")
    if allowed and not {panel, task} & set(allowed):
        name = next(s.name for s in all_setups() if s.name in allowed)
        return Choice(protocol=name, why="the options given are of one protocol", opens_none=url)
    changes = kind == "change" or (folder and kind in ("statement", "text"))
    if allowed and (panel not in allowed or (task not in allowed and not folder)):
        changes = panel not in allowed
    if not changes:
        why = "this is a question about the folder, so a panel reads it" if folder else "this goes to a panel"
        return Choice(protocol=panel, why=why, opens_none=url)
    if not folder and not allowed:
        read = "documents are read, and not changed" if documents else "no folder is named"
        why = f"this asks for a change, but {read}: {spelled.folder}"
        raise BadInput("folder", f"{why}. If it is a question: {spelled.protocol}{panel}")
    return Choice(protocol=task, why="this asks for a change of the folder, so experts do it")
