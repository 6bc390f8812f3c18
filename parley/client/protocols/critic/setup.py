"""How a session of the critic protocol is set up."""

from collections.abc import Mapping
from typing import Any

from parley.client.faces.setup import ROUND_LIMIT, Setup


class CriticSetup(Setup):
    """One seat of each role."""

    def contradiction(self, settings: Mapping[str, Any]) -> tuple[str, str] | None:
        """More rounds at least than at most."""
        if not settings:
            return None
        from parley.coordinator.protocols.critic.seats import contradiction

        return contradiction(settings)


SETUP = CriticSetup(
    name="critic",
    about="One seat answers and a critic objects. A judge says when the answer has met the objections.",
    rank=2,
    others=("answerer", "critic", "judge"),
    options=(ROUND_LIMIT,),
)
