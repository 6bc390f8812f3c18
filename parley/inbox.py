"""Questions of sessions to a human, as the command line lists and answers them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from parley.bus.errors import UnknownSession
from parley.client.errors import Refusal
from parley.client.people.inbox import InboxItem, answer, waiting
from parley.client.rendering.terminal import bare
from parley.client.show.open_items import item_lines
from parley.client.text import line
from parley.planned.access import on_last_stack
from parley.sessions import NoSession

if TYPE_CHECKING:
    from parley.settings import Settings


def of(settings: "Settings", session: str) -> list[InboxItem]:
    """Open items of all sessions, or of one; none where no stack ever ran. Raises as `waiting`; NoSession."""

    with _known(settings, session):
        return on_last_stack(settings, lambda parley: waiting(parley.client, session), [])


def decide(settings: "Settings", sid: str, item: str, choice: str, note: str) -> None:
    """Answer an item, or change who leads. Raises as `answer`; NoSession."""

    with _known(settings, sid):
        on_last_stack(settings, lambda p: answer(p.client, sid, item, choice, note), NoSession(sid, settings))


@contextmanager
def _known(settings: "Settings", sid: str) -> Iterator[None]:
    try:
        yield
    except UnknownSession as error:
        if error.why:
            raise Refusal("session", str(error)) from error
        raise NoSession(sid, settings) from None


def inbox_lines(waiting: Sequence[InboxItem], where: str = "") -> Iterator[str]:
    """Each with how it is answered. `where`: options that name the bus."""
    if not waiting:
        yield "nothing waits for a human"
    for w in waiting:
        if w.task:
            yield f"{line(w.session)}: {line(w.task, 160)}"
        at_ns = w.deadline_ns - int(w.seconds_left * 1e9)
        yield from bare(item_lines(w.session, w, at_ns, where))
