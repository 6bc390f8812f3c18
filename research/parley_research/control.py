"""The controller's parameters by name, whether they are settings of a session or constants."""

from collections.abc import Mapping
from typing import Any

import msgspec

from parley.schemas.control import Constants, Tuned

_CONSTANTS = frozenset(field.encode_name for field in msgspec.structs.fields(Constants))


def tuned(values: Mapping[str, Any]) -> Tuned:
    """Parameters with these in place of the defaults."""
    constants = {name: value for name, value in values.items() if name in _CONSTANTS}
    settings = {name: value for name, value in values.items() if name not in _CONSTANTS}
    return msgspec.convert({**settings, "constants": constants}, Tuned)
