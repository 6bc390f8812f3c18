"""What several protocols do alike: cap turns, fill roles, and see whether quotations stand in documents."""

from collections.abc import Iterable
from typing import Any

from parley.coordinator.commands import AskSeat, SayOn
from parley.coordinator.table import Inadmissible, View
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession, Seat
from parley.schemas.text import Citation, stands_in
from parley.schemas.turn import Caps
from parley.schemas.wire import raw


def say(kind: str, round_: int, body: object, seat: str = "", channel: str = "public") -> SayOn:
    """A post."""
    return SayOn(channel=channel, kind=kind, round=round_, body=raw(body), seat=seat)


def seat_of(v: View, role: str) -> str:
    """The one seat of a role."""
    return v.seats(role)[0].seat


def caps(v: View, output: int | None = None) -> Caps:
    """Tokens that one turn may take by the session's settings; `output`: at most so many of its reply."""
    most = v.settings.max_output_tokens
    return Caps(input_tokens=v.settings.max_input_tokens, output_tokens=min(most, output or most))


def ask(v: View, seat: str, kind: str, round_: int, brief: object, **more: Any) -> AskSeat:
    """A turn of a seat that may take what the settings say; `more`: other fields of the turn, `caps` among them."""
    return AskSeat(seat=seat, kind=kind, round=round_, brief=raw(brief), **{"caps": caps(v), **more})


def unquoted(citations: Iterable[Citation], v: View, field: str = "citations", seat: str = "") -> str:
    """The first quotation that does not stand in the document that it names, white space aside, with the way out.

    Empty: all do. `seat`: of documents that it holds alone."""
    held = [d for d in v.opened.evidence if not seat or seat in d.holders]
    names = ", ".join(repr(d.name) for d in held[:5])
    other = f"name one that you hold ({names}), or leave it out" if names else "there are none: leave it empty"
    for c in citations:
        document = next((d for d in held if d.name == c.document), None)
        if document is None:
            return f"{field}: there is no document {c.document!r}; {other}"
        if not stands_in(c.quote, document.text):
            wrong = f"{field}: this does not stand in {c.document}, quote it word for word: {c.quote[:200]!r}"
            return f"{wrong}; or leave it out"
    return ""


def refuse_other_roles(request: OpenSession, *roles: str) -> None:
    """Raise Inadmissible for a seat that the request names in none of these roles."""
    for s in request.seats:
        if s.role not in roles:
            raise Inadmissible(f"seats.{s.seat}", f"seat {s.seat}: no role {s.role}; roles are {', '.join(roles)}")


def queues_alive(role: str, workers: Iterable[Announcement], least: int = 1, hint: str = "") -> list[str]:
    """Queues that are served in a role, by name. Raises Inadmissible where they are fewer than `least`, with what to
    start."""
    queues = sorted({w.queue for w in workers if role in w.roles and not w.draining})
    if len(queues) < least:
        names = [f"{role}_{i}" for i in range(1, least + 1)] if least > 1 else [role]
        free = [name for name in names if name not in queues][: least - len(queues)]
        start = f"{len(free)} missing, start " if least > 1 else "start one: "
        start += ", ".join(f"parley agent {name}" for name in free)
        raise Inadmissible("seats", f"role {role}: {least} needed, {len(queues)} alive; {start}{hint}")
    return queues


def only_seat(role: str, request: OpenSession, workers: Iterable[Announcement]) -> Seat:
    """The one seat of a role: that which the request names, else the first queue alive, in a seat of the role's name.
    Raises Inadmissible where it names two, or nobody is alive."""
    named = [s for s in request.seats if s.role == role]
    if len(named) > 1:
        raise Inadmissible("seats", f"role {role}: got {len(named)}, allowed is 1")
    return named[0] if named else Seat(seat=role, role=role, queue=queues_alive(role, workers)[0])
