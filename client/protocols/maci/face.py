"""How a session of the maci protocol is shown."""

from client.protocols.face import Face
from client.protocols.maci.presenter import MaciPresenter
from client.protocols.maci.setup import SETUP
from client.protocols.maci.story import body_of
from schemas.post import Post


class MaciFace(Face):
    """The face of a measured debate."""

    def knows(self, post: Post) -> bool:
        """Whether its body is of one of MACI's types."""
        return body_of(post) is not None


FACE = MaciFace(setup=SETUP, presenter=MaciPresenter)
