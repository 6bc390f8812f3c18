"""How a session of the madp protocol is shown."""

from collections.abc import Iterable

from parley.client.faces.face import Face
from parley.client.protocols.madp import trace
from parley.client.protocols.madp.presenter import MadpPresenter
from parley.client.protocols.madp.setup import SETUP
from parley.client.protocols.madp.story import body_of
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.protocols.madp.trace import CoordinationTrace


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
