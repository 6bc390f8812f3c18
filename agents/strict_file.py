"""A list of the operator's in a YAML file, as a model of pydantic: what is wrong is said by file, field and what is
allowed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from parley.agents import strict_yaml
from parley.bus.files.plain import read_plain

_OF_TYPES = re.compile(r"function-|Hand$|literal\[")
"""Parts of a place that pydantic adds for kinds of values."""
M = TypeVar("M", bound=BaseModel)
Fault = Callable[[str, str, str], Exception]
"""(file, field, why) -> the error."""


def load(path: Path, model: type[M], fault: Fault) -> M:
    """The list in a file. Raises what `fault` makes: it cannot be read, is not YAML, or has an unknown key or a value
    that is not allowed."""
    try:
        value = strict_yaml.load(read_plain(path).decode())
    except OSError as error:
        raise fault(str(path), "", f"it cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise fault(str(path), "", f"it is not UTF-8 text (byte {error.start})") from None
    except strict_yaml.BadYaml as error:
        raise fault(str(path), "", error.why) from None
    return parse(value, str(path), model, fault)


def parse(value: object, source: str, model: type[M], fault: Fault) -> M:
    """The list in plain values. Raises what `fault` makes."""
    if not isinstance(value, dict):
        raise fault(source, "", f"expected a mapping with the key {next(iter(model.model_fields))}")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(x) for x in first["loc"] if not _OF_TYPES.match(str(x)))
        got = f" (got {first['input']!r})" if isinstance(first["input"], bool | int | float) else ""
        raise fault(source, field, first["msg"].removeprefix("Value error, ") + got) from None
