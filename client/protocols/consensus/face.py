"""How a session of the consensus protocol is shown."""

from client.protocols.consensus.presenter import POSTS, ConsensusPresenter
from client.protocols.consensus.setup import SETUP
from client.protocols.face import Face
from schemas.post import Post


class ConsensusFace(Face):
    """The face of a panel."""

    def knows(self, post: Post) -> bool:
        """Whether its kind is one of a panel's."""
        return post.kind in POSTS


FACE = ConsensusFace(setup=SETUP, presenter=ConsensusPresenter)
