"""What stands in a message or in plain values, at any depth."""

from collections.abc import Iterator
from typing import Any

import msgspec


def plain_values(value: Any) -> Iterator[Any]:
    """Every mapping, key, list, text and number in it."""
    stack = [msgspec.to_builtins(value)]
    while stack:
        item = stack.pop()
        yield item
        if isinstance(item, dict):
            stack += [*item, *item.values()]
        elif isinstance(item, list | tuple):  # to_builtins leaves tuples
            stack += item


def texts(value: Any) -> Iterator[str]:
    """Every text in it, keys too."""
    return (item for item in plain_values(value) if isinstance(item, str))
