"""YAML as people write it, where a key that stands twice in a mapping is refused."""

from typing import Any

import yaml


class BadYaml(ValueError):
    """A text that cannot be used. `why` begins with `is not YAML` or with the line of a key that stands twice."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class _Twice(Exception):
    pass


class _Loader(yaml.SafeLoader):
    """Looks at keys as they are read, before merged ones (`<<`) come to them, which a mapping may override."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        first: dict[Any, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag.endswith(":merge"):
                continue
            name, line = self.construct_object(key), key.start_mark.line + 1
            if name in first:
                raise _Twice(f"line {line}: the key {name} stands here again, first in line {first[name]}")
            first[name] = line
        return node


def read(text: str) -> Any:
    """What a YAML text says, as plain values.

    Raises
    ------
    BadYaml
        Not YAML, or a key twice in one mapping: names the line and the key.
    """
    try:
        return yaml.load(text, _Loader)
    except _Twice as error:
        raise BadYaml(str(error)) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: a date such as 2024-99-99
        raise BadYaml(f"is not YAML: {' '.join(str(error).split())}") from error
