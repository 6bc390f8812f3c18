"""The protocols, by name. None imports another."""

from coordinator.protocols.breaker import BREAKER
from coordinator.protocols.competition import COMPETITION
from coordinator.protocols.consensus import CONSENSUS
from coordinator.protocols.critic import CRITIC_PROTOCOL
from coordinator.protocols.maci import MACI
from coordinator.protocols.madp import MADP
from coordinator.table import Protocol

__all__ = ["PROTOCOLS", "STANDING", "register"]

PROTOCOLS: dict[str, Protocol] = {}
STANDING: dict[str, Protocol] = {"madp-breaker": BREAKER}
"""Well-known sessions that moderators open by themselves, one each on a bus."""


def register(protocol: Protocol) -> Protocol:
    """Make a protocol known by its name.

    Raises
    ------
    ValueError
        Another protocol has this name.
    """
    if PROTOCOLS.setdefault(protocol.name, protocol) is not protocol:
        raise ValueError(f"two protocols are named {protocol.name}")
    return protocol


register(BREAKER)
register(COMPETITION)
register(CONSENSUS)
register(CRITIC_PROTOCOL)
register(MACI)
register(MADP)
