"""Parameters of the controller and of sessions by name, whether they are settings or constants."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Protocol
from parley.schemas.control import Tuned
from parley.schemas.protocols.maci.settings import SessionConstants, TunedSettings

_CONSTANTS = frozenset(field.encode_name for field in msgspec.structs.fields(SessionConstants))


def apart(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the constants among them put together as `constants`, where there are any."""
    constants = {name: value for name, value in values.items() if name in _CONSTANTS}
    settings = {name: value for name, value in values.items() if name not in _CONSTANTS}
    return {**settings, "constants": constants} if constants else settings


def control(**values: Any) -> Tuned:
    """Parameters of the controller, with these in place of the defaults."""
    return msgspec.convert(apart(values), Tuned)


TUNED = dataclasses.replace(PROTOCOLS["maci"], settings=TunedSettings)
"""maci as a recorded session is computed again with constants of one's own."""


def protocol_for(values: Mapping[str, Any]) -> Protocol:
    """maci, or TUNED where constants are among these values."""
    return TUNED if "constants" in apart(values) else PROTOCOLS["maci"]
