"""YAML as people write it. Refused is a key that stands twice in a mapping, and what is no plain value: half a
character, a value inside itself, one nested too deep."""

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from parley.bus.files.plain import NotText, plain_text
from parley.schemas.wire import model_fault

if TYPE_CHECKING:
    from pydantic import BaseModel

MAX_DEPTH = 50
"""Lists and mappings within each other."""
MAX_VALUES = 200_000
"""Of a file, with what its aliases repeat."""
_MAX_BITS = 1_024
"""Of a number."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_SLOT = re.compile(r"\{([A-Za-z_]\w*)\}")
M = TypeVar("M", bound="BaseModel")
Fault = Callable[[str, str, str], Exception]
"""(file, field, why) -> the error."""


class BadYaml(ValueError):
    """A text that cannot be used. `why` begins with `is not YAML` or with the line of a key that stands twice."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class _Twice(Exception):
    pass


class _Loader(yaml.SafeLoader):
    """Looks at keys as they are read, before merged ones (`<<`) come to them, which a mapping may override. What is
    nested too deep is not read on: each level would take longer than the one before."""

    def fetch_flow_collection_start(self, token: Any) -> None:
        if self.flow_level > MAX_DEPTH:
            raise BadYaml(_DEEP)
        super().fetch_flow_collection_start(token)

    def add_indent(self, column: int) -> bool:
        if len(self.indents) > MAX_DEPTH:
            raise BadYaml(_DEEP)
        return bool(super().add_indent(column))

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        first: dict[Any, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag.endswith(":merge"):
                continue
            name, line = self.construct_object(key), key.start_mark.line + 1
            if name in first:
                shown = name if str(name).isprintable() else ascii(name)
                raise _Twice(f"line {line}: the key {shown} stands here again, first in line {first[name]}")
            first[name] = line
        return node


def load(text: str) -> Any:
    """What a YAML text says, as plain values. Raises BadYaml: not YAML, or a key twice in one mapping: names the line
    and the key. A text with half a character, values that are nested too deep or are too many."""
    try:
        value = yaml.load(text, _Loader)
        _plain(value)
    except _Twice as error:
        raise BadYaml(str(error)) from None
    except RecursionError as error:
        raise BadYaml(_DEEP) from error
    except BadYaml:
        raise
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2024-99-99
        raise BadYaml(f"is not YAML: {' '.join(str(error).split())}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        # "\UFFFFFFFF", `!!timestamp x`, `!!bool x`, `!!int ''`
        raise BadYaml("is not YAML: a value is not what it says it is") from error
    return value


_DEEP = f"is not YAML: its lists and mappings are nested more than {MAX_DEPTH} deep"


def _plain(document: Any) -> None:
    """Refuse what is no plain value, or more of it than anybody writes. Aliases make a few lines endless."""
    count, level = 0, [document]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += value
                below += value.values()
            elif isinstance(value, list | tuple | set):
                below += value
            elif isinstance(value, str) and not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
                why = "half a character (a lone surrogate), expected text"
                raise BadYaml(f"is not YAML: {value[:40]!a} holds {why}")
            elif isinstance(value, int) and value.bit_length() > _MAX_BITS:
                raise BadYaml(f"is not YAML: a number has more than {_MAX_BITS:,} bits")
            if count + len(below) > MAX_VALUES:
                raise BadYaml(f"is not YAML: with its aliases it has more than {MAX_VALUES:,} values")
        if not below:
            return
        count, level = count + len(below), below
    raise BadYaml(_DEEP)


def read(path: Path) -> Any:
    """What a YAML file says, as `load` has it. Raises BadYaml, also where it cannot be read as text."""
    try:
        return load(plain_text(path))
    except NotText as error:
        raise BadYaml(error.why) from error


def load_as(path: Path, model: type[M], fault: Fault) -> M:
    """The list in a file. Raises what `fault` makes: it cannot be read, is not YAML, or has an unknown key or a value
    that is not allowed."""
    try:
        return parse_as(read(path), str(path), model, fault)
    except BadYaml as error:
        raise fault(str(path), "", error.why) from None


def parse_as(value: object, source: str, model: type[M], fault: Fault) -> M:
    """The list in plain values. Raises what `fault` makes."""
    from pydantic import ValidationError  # for whoever reads such a list alone

    if not isinstance(value, dict):
        raise fault(source, "", f"expected a mapping with the key {next(iter(model.model_fields))}")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise fault(source, *model_fault(error.errors()[0])) from None


def check_slots(text: str, known: Collection[str]) -> None:
    """Raise ValueError where a text has a zero byte, or a slot (`{name}`) that is not known."""
    if "\x00" in text:
        raise ValueError("a zero byte stands in it")
    for name in _SLOT.findall(text):
        if name not in known:
            raise ValueError(f"{{{name}}} is not known; known: {', '.join(sorted(known))}")


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its slots filled; what is put in is not looked at."""
    return _SLOT.sub(lambda slot: values[slot[1]], text)


def check_environment(env: Mapping[str, str], taken: Collection[str], slots: Collection[str]) -> None:
    """Raise ValueError where a program's environment in such a list has what is no variable, one that is not for the
    list (`taken`, and what the loader reads), or a value with a slot that is not known."""
    for name, value in env.items():
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"{name!r} is no variable's name")
        if name in taken or name.startswith("LD_"):
            raise ValueError(f"{name} is not for this list")
        check_slots(value, slots)
