"""`parley schema`: JSON Schemas of the messages."""

from collections.abc import Mapping
from typing import Any

from parley.client.errors import BadInput
from parley.schemas.export import modules, name_of, schema_of


def schema(name: str | None) -> Mapping[str, Any]:
    """JSON Schemas of all messages, or of one module's."""
    by_name = {name_of(m): m for m in modules()}
    if name is None:
        return {key: schema_of(module) for key, module in by_name.items()}
    if name not in by_name:
        raise BadInput("schema", f"got {name!r}, known: {', '.join(sorted(by_name))}")
    return schema_of(by_name[name])
