"""The protocols, by name. None imports another."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from coordinator.protocols.breaker.protocol import BREAKER
from coordinator.table import Protocol

__all__ = ["DEFAULT", "PROTOCOLS", "STANDING", "register"]


class _Protocols(Mapping[str, Protocol]):
    """Protocols by name, each read in when it is first asked for: most commands need one, and what MACI counts with
    takes longer than they do."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules
        self._made: dict[str, Protocol] = {}

    def __getitem__(self, name: str) -> Protocol:
        if name not in self._made:
            module, _, attribute = self._modules[name].partition(":")
            self._made[name] = getattr(import_module(f"{__name__}.{module}"), attribute)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._modules, **self._made})

    def __len__(self) -> int:
        return len({**self._modules, **self._made})

    def __contains__(self, name: object) -> bool:
        return name in self._modules or name in self._made

    def add(self, protocol: Protocol) -> None:
        """Of its own name, which no other may have."""
        if self.get(protocol.name, protocol) is not protocol:
            raise ValueError(f"two protocols are named {protocol.name}")
        self._made[protocol.name] = protocol


_KNOWN = _Protocols({
    "breaker": "breaker.protocol:BREAKER",
    "competition": "competition.protocol:COMPETITION",
    "consensus": "consensus.protocol:CONSENSUS",
    "critic": "critic.protocol:CRITIC_PROTOCOL",
    "maci": "maci.protocol:MACI",
    "madp": "madp.protocol:MADP",
})  # fmt: skip
PROTOCOLS: Mapping[str, Protocol] = _KNOWN
DEFAULT = "madp"
"""The protocol where none is named: whoever a task calls for."""
STANDING: dict[str, Protocol] = {"madp-breaker": BREAKER}
"""Well-known sessions that moderators open by themselves, one each on a bus."""


def register(protocol: Protocol) -> Protocol:
    """Make a protocol known by its name.

    Raises
    ------
    ValueError
        Another protocol has this name.
    """
    _KNOWN.add(protocol)
    return protocol
