"""The stop rule that the operator has sessions opened with."""

import os

import msgspec

from parley.coordinator.table import Inadmissible, Protocol
from parley.coordinator.transition_builder import STOP_RULES
from parley.schemas import log, registry

VARIABLE = "PARLEY_STOP_RULE"
"""Names a rule of an allowed package (parley.coordinator.table.StopRule), for sessions of protocols that end rounds."""


def with_rule(opened: log.Opened, protocol: Protocol) -> log.Opened:
    """The opening, with the rule where the operator named one. Raises Inadmissible where it cannot be loaded."""
    name = os.environ.get(VARIABLE, "").strip()
    if not name or protocol.ends_round is Protocol.ends_round:
        return opened
    try:
        registry.load(STOP_RULES, name)
    except registry.NotUsable as error:
        raise Inadmissible(VARIABLE, f"{VARIABLE}: {error}") from error
    except KeyError:
        known = ", ".join(registry.entries(STOP_RULES)) or "none"
        raise Inadmissible(VARIABLE, f"{VARIABLE}: got {name!r}, known: {known}") from None
    return msgspec.structs.replace(opened, stop_rule=name)
