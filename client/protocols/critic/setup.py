"""How a session of the critic protocol is set up."""

from collections.abc import Mapping
from typing import Any

from client.protocols.setup import ROUND_LIMIT, Setup

_LIMITS = {"min_rounds", "round_limit"}


class CriticSetup(Setup):
    """One seat of each role."""

    def contradiction(self, settings: Mapping[str, Any]) -> tuple[str, str] | None:
        """More rounds at least than at most."""
        if not settings.keys() >= _LIMITS:
            return None
        from coordinator.protocols.critic.seats import contradiction

        why = contradiction(settings)
        return ("min_rounds", why) if why else None


SETUP = CriticSetup(
    name="critic",
    opening_only=("stream",),
    rank=2,
    others=("answerer", "critic", "judge", "helper"),
    options=ROUND_LIMIT,
)
