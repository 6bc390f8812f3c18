"""`parley schema`: JSON Schemas of the messages."""

from collections.abc import Mapping
from typing import Any

from client.errors import BadInput
from schemas.export import modules, name_of, schema_of


def schema(name: str | None) -> Mapping[str, Any]:
    """JSON Schemas of all messages, or of one module's."""
    found = {name_of(m): m for m in modules()}
    if name is None:
        return {key: schema_of(module) for key, module in found.items()}
    if name not in found:
        raise BadInput("schema", f"got {name!r}, known: {', '.join(sorted(found))}")
    return schema_of(found[name])
