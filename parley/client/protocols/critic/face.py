"""How a session of the critic protocol is shown."""

from parley.client.faces.face import Face
from parley.client.protocols.critic.presenter import CriticPresenter
from parley.client.protocols.critic.setup import SETUP
from parley.client.protocols.critic.transcript import POSTS
from parley.schemas.post import Post


class CriticFace(Face):
    """The face of an answer and its critic."""

    def knows(self, post: Post) -> bool:
        """Whether its kind is one of this protocol's."""
        return post.kind in POSTS


FACE = CriticFace(setup=SETUP, presenter=CriticPresenter)
