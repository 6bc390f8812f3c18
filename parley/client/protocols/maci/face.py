"""How a session of the maci protocol is shown."""

from parley.client.faces.face import Face
from parley.client.protocols.maci.presenter import MaciPresenter
from parley.client.protocols.maci.setup import SETUP
from parley.client.protocols.maci.story import body_of
from parley.schemas.post import Post
from parley.schemas.result import Result


class MaciFace(Face):
    """The face of a measured debate."""

    def knows(self, post: Post) -> bool:
        """Whether its body is of one of MACI's types."""
        return body_of(post) is not None

    def alone(self, result: Result) -> dict[str, tuple[str, ...]]:
        """Of the blind round: the outcome that a debater held most probable, where that is one."""
        held: dict[str, tuple[str, ...]] = {}
        beliefs = result.rounds[0].get("beliefs", {}) if result.rounds else {}
        for seat, shares in beliefs.items():
            most = max((share["p"] for share in shares), default=0.0)
            first = [share["outcome"] for share in shares if share["p"] == most]
            if len(first) == 1:
                held[seat] = (first[0],)
        return held


FACE = MaciFace(setup=SETUP, presenter=MaciPresenter)
