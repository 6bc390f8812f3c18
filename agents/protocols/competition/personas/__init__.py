"""Personalities of debaters: those that come with Parley, and files of one's own.

    quiet:
      name: Quiet
      characteristics: You say little, and only what nobody has said.

A file maps names to personalities; a name is what a seat's style refers to. What stands in it is shown to models as
data.
"""

import difflib
import re
import unicodedata
from pathlib import Path
from typing import Any

import msgspec

from parley.agents import strict_yaml
from parley.bus.files.plain import NotText, plain_text
from parley.schemas.protocols.competition.messages import Personality
from parley.schemas.wire import SchemaError

BUILTIN = Path(__file__).parent / "personalities.yaml"
MOST = 50
"""Personalities of one file."""
MAX_BYTES = 200_000
"""Of one file."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_FIELDS = ("name", "characteristics")


class PersonalityError(ValueError):
    """A file of personalities that cannot be used: names file, field and what is wrong. The operator's fault."""

    def __init__(self, source: str, field: str, why: str) -> None:
        self.source = source
        self.field = field
        self.why = why
        super().__init__(f"{source}: {field}: {why}" if field else f"{source}: {why}")


def load(path: Path = BUILTIN) -> dict[str, Personality]:
    """Personalities by name, from a YAML file. Raises PersonalityError: the file cannot be read, is not UTF-8 or YAML,
    names a personality twice, or has one with a field that is missing, unknown, empty or too long."""
    source = str(path)
    try:
        text = plain_text(path, MAX_BYTES)
    except NotText as error:
        raise PersonalityError(source, "", error.why) from error
    return parse(text, source)


def parse(text: str, source: str = "personalities") -> dict[str, Personality]:
    """Personalities by name, from YAML; errors as of `load`."""
    try:
        data = strict_yaml.load(text)
    except strict_yaml.BadYaml as error:
        raise PersonalityError(source, "", error.why) from error
    if not isinstance(data, dict) or not data:
        raise PersonalityError(source, "", "expected a mapping of names to personalities")
    if len(data) > MOST:
        raise PersonalityError(source, "", f"has {len(data)} personalities, the limit is {MOST}")
    return {_name(key, source): _personality(key, value, source) for key, value in data.items()}


def _name(key: object, source: str) -> str:
    if not isinstance(key, str) or not _NAME.fullmatch(key):
        why = "a name has 1 to 40 small letters, digits, _ and -, and begins with a letter or digit"
        raise PersonalityError(source, str(key)[:80], why)
    return key


def _personality(key: str, value: Any, source: str) -> Personality:
    if not isinstance(value, dict):
        raise PersonalityError(source, key, "expected a mapping with name and characteristics")
    for field in value:
        if field not in _FIELDS:
            near = difflib.get_close_matches(str(field), _FIELDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(_FIELDS)}"
            raise PersonalityError(source, f"{key}.{field}", f"no such field; {hint}")
    texts = {}
    for field in _FIELDS:
        if field not in value:
            raise PersonalityError(source, f"{key}.{field}", "it is missing")
        text = value[field]
        if not isinstance(text, str):
            raise PersonalityError(source, f"{key}.{field}", f"got {text!r}, expected a text")
        bad = next((c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cs")), "")
        if bad:
            raise PersonalityError(source, f"{key}.{field}", f"control character U+{ord(bad):04X}; none is allowed")
        texts[field] = " ".join(text.split())
    try:
        return msgspec.convert(texts, Personality)
    except (msgspec.ValidationError, SchemaError) as error:
        why = str(error).partition(": ")[2] or str(error)
        name = "name" if "personalities.name" in str(error) else "characteristics"
        raise PersonalityError(source, f"{key}.{name}", why) from error
