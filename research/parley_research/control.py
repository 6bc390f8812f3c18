"""The controller's parameters by name, whether they are settings of a session or constants."""

from collections.abc import Mapping
from typing import Any

import msgspec

from parley.schemas.control import Constants, Tuned

_CONSTANTS = frozenset(field.encode_name for field in msgspec.structs.fields(Constants))


def tuned(values: Mapping[str, Any]) -> Tuned:
    """Parameters with these in place of the defaults."""
    return changed(Tuned(), values)


def changed(control: Tuned, values: Mapping[str, Any]) -> Tuned:
    """These parameters with others in their place."""
    before = msgspec.to_builtins(control)
    constants = {name: value for name, value in values.items() if name in _CONSTANTS}
    settings = {name: value for name, value in values.items() if name not in _CONSTANTS}
    return msgspec.convert({**before, **settings, "constants": {**before["constants"], **constants}}, Tuned)
