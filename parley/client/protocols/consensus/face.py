"""How a session of the consensus protocol is shown."""

from parley.client.faces.face import Face
from parley.client.protocols.consensus.presenter import POSTS, ConsensusPresenter
from parley.client.protocols.consensus.setup import SETUP
from parley.client.untrusted import object_of
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.result import Result


class ConsensusFace(Face):
    """The face of a panel."""

    def knows(self, post: Post) -> bool:
        """Whether its kind is one of a panel's."""
        return post.kind in POSTS

    def alone(self, result: Result) -> dict[str, tuple[str, ...]]:
        """Of the first round: what the analyst called a seat's answer, and its own words."""
        positions = result.rounds[0].get("positions", {}) if result.rounds else {}
        return {
            seat: tuple(name for name in (p.get("label"), p["answer"]) if name)
            for seat, p in positions.items()
            if not p["abstains"]
        }

    def answered(self, result: Result) -> tuple[str, ...]:
        """What the analyst called the answer, and its words."""
        return tuple(name for name in (result.outcome.get("label"), result.outcome.get("answer")) if name)

    def tells_why(self, say: log.Say) -> str:
        """A seat that gave no form to sign: its post says why."""
        gave_none = say.kind == "signature" and object_of(say.body).get("states") == "none"
        return say.seat if gave_none else ""


FACE = ConsensusFace(setup=SETUP, presenter=ConsensusPresenter)
