"""How a session of the madp protocol is shown."""

from collections.abc import Iterable

from client.protocols.face import Face
from client.protocols.madp import trace
from client.protocols.madp.presenter import MadpPresenter
from client.protocols.madp.setup import SETUP
from client.protocols.madp.story import body_of
from schemas import log
from schemas.post import Post
from schemas.protocols.madp.trace import CoordinationTrace


class MadpFace(Face):
    """The face of a task that experts take."""

    traces = True

    def knows(self, post: Post) -> bool:
        """Whether its body is of one of a task's types."""
        return body_of(post) is not None

    def trace(self, session: str, entries: Iterable[log.Entry]) -> CoordinationTrace:
        """The coordination trace. Raises NoTrace."""
        return trace.trace(session, entries)


FACE = MadpFace(setup=SETUP, presenter=MadpPresenter)
