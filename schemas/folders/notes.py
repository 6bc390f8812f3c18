"""What is remembered of an accepted task: short notes, each with the file or the command that bears it out.

They lie in the result of their session and in its row, and a person may change them after its end. So they go where
the session goes: whoever may not read it sees none of them, and with it they are erased.
"""

import re
from hashlib import sha256
from typing import Annotated, Literal

import msgspec

from parley.schemas.wire import Json, at_most, chars, decode_or_none, few, in_range, items, not_empty

MOST_NOTES = 8
"""Of one session."""
MOST_RECALLED = 24
"""That one session is opened with."""
MOST_TEXT = 300
MOST_PLACE = 400
"""Characters of a note, and of the file or the command that bears it out."""
PROJECT = re.compile(r"[\w.:@/+-]{1,80}")
"""What the name of a project may be."""
_SECRET = re.compile(
    r"-----BEGIN|\b(?:sk|pk|rk|key|gsk|xai|glm|gh[pousr]|github_pat|xox[abp])[-_][\w*.-]{6,}|\bAIza[\w*-]{8,}|\bAKIA\w{8,}"
    r"|\bBearer\s+\S{8,}|\beyJ[\w-]{8,}\.[\w.-]+|://[^\s/:@]+:[^\s/@]+@"
    r"|\b\w*(?:pass(?:word|wd|phrase)?|secret|token|api[_-]?key)\w*[\"']?(?:\s*[:=]\s*|\s+is\s+(?=\S*\d))[\"'`]?[^\s\"'(){}<>]{6,}"
    r"|(?:^|[/\s`])(?:\.env\b(?!\.example)|\.netrc|\.pgpass|id_(?:rsa|dsa|ecdsa|ed25519)\b|[\w.-]+\.(?:pem|pfx|p12|jks)\b)"
    r"|\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9+/_-]{40,}",
    re.I,
)


Kind = Literal["decision", "convention", "pitfall"]


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is remembered."""

    n: int
    """Its number in its session, from 1: it keeps it."""
    kind: Kind
    text: Annotated[str, chars(MOST_TEXT, least=1)]
    file: Annotated[str, chars(MOST_PLACE)] = ""
    """In the task's folder: without it the note is not used."""
    command: Annotated[str, chars(MOST_PLACE)] = ""
    line: str = ""
    """The digest of a line of the file: while the file has none such, the note is not used. Empty: the file is
    enough."""
    by: str = ""
    """The expert, or the person, whose words they are."""
    session: str = ""
    """Where it comes from, as another session is told it."""
    at_ns: int = 0
    """When that session ended."""

    def __post_init__(self) -> None:
        in_range("note.n", self.n, 1, MOST_NOTES)
        not_empty("note.text", self.text, MOST_TEXT)
        for name in ("file", "command", "line", "by", "session"):
            at_most(f"note.{name}", getattr(self, name), MOST_PLACE)

    @property
    def id(self) -> str:
        """As a person names it."""
        return f"{self.session}.{self.n}"

    @property
    def place(self) -> str:
        """The file or the command that bears it out."""
        return self.file or self.command


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of one session."""

    project: str
    """The folder that it is about (parley.client.learned.memory)."""
    notes: Annotated[tuple[Note, ...], items(MOST_NOTES)] = ()
    changed_ns: int = 0
    """When a person last changed them; 0: nobody did."""

    def __post_init__(self) -> None:
        few("memory.notes", self.notes, MOST_NOTES)


def line_mark(line: str) -> str:
    """The digest by which a note knows a line of a file."""
    return sha256(line.strip().encode(errors="replace")).hexdigest()[:16]


def may_be_secret(*texts: str) -> bool:
    """Whether a text names what may be a secret: it is not remembered."""
    return any(_SECRET.search(text) for text in texts)


class _Outcome(msgspec.Struct, frozen=True):
    memory: Memory | None = None


class _Result(msgspec.Struct, frozen=True):
    outcome: _Outcome = _Outcome()


def memory_of(result: Json) -> Memory | None:
    """What a session's result says is to be remembered of it; None: nothing, or nothing that this release reads."""
    found = decode_or_none(result, _Result)
    return None if found is None else found.outcome.memory


def note_words(note: Note) -> str:
    """`pitfall, app.py (session 7f3c): It leaks.`"""
    place = f", {note.file or f'`{note.command}`'}" if note.place else ""
    return f"{note.kind}{place}{f' (session {note.session})' if note.session else ''}: {note.text}"
