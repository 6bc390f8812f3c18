"""The errors of the Python API and the command line.

ParleyError
├── BadInput          the caller's: a field, what is wrong with it, and what is allowed       exit status 2
│   └── NotAllowed    the same for other credentials would be done: theirs do not allow it
├── UnknownSession    there is no such session, or it was refused                             exit status 2
├── Refusal           a moderator refused the session, and why                                exit status 2
├── Unreachable       the environment's: no bus, no moderator, wrong credentials              exit status 2
│   └── Unanswered    what became of an opening is not known: the session may still run
├── Interrupted       the user's wish: what was under way is over, or goes on                 exit status 130
└── StackFailed       the environment's: the embedded stack did not come up, or went away     exit status 1
"""

from collections.abc import Iterator
from contextlib import contextmanager

from parley.bus import errors as bus
from parley.schemas.wire import InvalidValue


class ParleyError(Exception):
    """The base of all errors that this package raises."""

    exit_code = 1


class BadInput(ParleyError):
    """An argument cannot be used. Names the field. The caller's fault."""

    exit_code = 2

    def __init__(self, field: str, why: str) -> None:
        self.field = field
        self.why = why
        super().__init__(why if why.startswith(field) else f"{field}: {why}")


@contextmanager
def bad_input(field: str = "", *kinds: type[Exception], what: str = "") -> Iterator[None]:
    """Errors of these kinds (InvalidValue, if none is given) are the caller's: BadInput of this field, else of the one
    that the error names. `what` goes before the reason: "cannot read FILE"."""
    caught = kinds or (InvalidValue,)
    try:
        yield
    except caught as error:
        why = str(error)
        if isinstance(error, UnicodeDecodeError):
            why = f"it is not UTF-8 text (byte {error.start})"
        elif isinstance(error, OSError):
            why = error.strerror or why
            what = what or str(error.filename or "")
        raise BadInput(field or getattr(error, "field", ""), f"{what}: {why}" if what else why) from error


class NotAllowed(BadInput):
    """These credentials do not allow it; others may. Names the field. The caller's fault."""


class UnknownSession(bus.UnknownSession, ParleyError):
    """There is no such session, or it was refused (`why`). The caller's fault."""

    exit_code = 2
    field = "session"


class Refusal(ParleyError):
    """A moderator refused a submission. Names the field if one is the reason. The caller's fault."""

    exit_code = 2

    def __init__(self, field: str, why: str, retry_s: float = 0.0) -> None:
        """`retry_s`: a limit was met, and another try may succeed after so long; 0: it would be refused again."""
        self.field = field
        self.why = why
        self.retry_s = retry_s
        super().__init__(why if not field or field in why else f"{field}: {why}")


class Unreachable(ParleyError):
    """The bus, or a moderator on it, does not answer. The environment's fault."""

    exit_code = 2
    field = "nats"

    def __init__(self, why: str) -> None:
        super().__init__(why)


class Unanswered(Unreachable):
    """Nobody said what became of an opening. Names the session, and until when a moderator may still begin it."""

    def __init__(self, sid: str, why: str, left_s: float) -> None:
        self.sid = sid
        what = f"it may still be, if a moderator comes within {max(1.0, left_s):.0f} s"
        super().__init__(f"{why}; it is not known whether session {sid} was opened; {what}")


class Interrupted(ParleyError):
    """The user stopped it; says what became of the session."""

    exit_code = 130
    field = "interrupted"


class StackFailed(ParleyError):
    """The embedded stack did not come up, or went away. The environment's fault."""

    field = "stack"
