"""Keys: held so that no repr, log line, error or message shows them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from parley.agents.model.base import ModelMisconfigured
from parley.bus.files.plain import read_plain

_LOOKS_LIKE_A_KEY = re.compile(
    r"\b(?:sk|pk|rk|key|gsk|xai|glm)-[\w*.-]{4,}|\bAIza[\w*-]{8,}|\bBearer\s+\S+|\beyJ[\w-]+\.[\w.-]+", re.I
)
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+", re.I)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LEAST = 8
"""Characters from which on a key is masked."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class Secret:
    """A text that is shown as `***`, compared by identity, and not to be pickled, copied into JSON or formatted."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text, for the one place that sends it."""
        return self._text

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not to be pickled")

    def __deepcopy__(self, memo: Any) -> "Secret":
        return self


def mask_keys(text: str, *secrets: Secret | None) -> str:
    """A text without these keys, also where JSON escaped a `/` in them. One that is shorter than `LEAST` is a word like
    any other: hiding it would blank texts and guard nothing."""
    for secret in secrets:
        if secret is not None and len(key := secret.reveal()) >= LEAST:
            text = text.replace(key, "***").replace(key.replace("/", "\\/"), "***")
    return text


class Stream:
    """Masks a key in a text that comes in pieces: the start of a key waits for what follows it."""

    def __init__(self, secret: Secret | None) -> None:
        self._secret = secret
        self._key = secret.reveal() if secret is not None and len(secret.reveal()) >= LEAST else ""
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        text = mask_keys(self._held + piece, self._secret)
        lengths = range(min(len(self._key) - 1, len(text)), 0, -1)
        held = next((n for n in lengths if text.endswith(self._key[:n])), 0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def rest(self) -> str:
        """What was held back at the end."""
        held, self._held = self._held, ""
        return held


def scrub(text: str, *secrets: Secret | None, most: int = 200) -> str:
    """A foreign text on one line, without keys and addresses, cut to `most` characters."""
    text = mask_keys(text, *secrets)
    text = _LOOKS_LIKE_A_KEY.sub("***", _ADDRESS.sub("(address)", text))
    text = " ".join(_UNPRINTABLE.sub(" ", text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def variable(name: str, environ: Mapping[str, str]) -> str:
    """A variable's value, or the text of the file that `<name>_FILE` names; empty: neither is set. Raises
    ModelMisconfigured: both are set, or the file cannot be read or is empty. Names the variable, never the value."""
    value, path = environ.get(name, "").strip(), environ.get(f"{name}_FILE", "").strip()
    if not path:
        return value
    if value:
        raise ModelMisconfigured(f"{name} and {name}_FILE are both set: unset one")
    try:
        text = read_plain(path).decode().strip()
    except OSError as error:
        raise ModelMisconfigured(f"{name}_FILE: the file that it names cannot be read: {error.strerror}") from None
    except ValueError:  # no UTF-8, or a path that can be none
        raise ModelMisconfigured(f"{name}_FILE: the file that it names cannot be read as UTF-8 text") from None
    if not text:
        raise ModelMisconfigured(f"{name}_FILE: the file that it names is empty")
    return text


def as_key(name: str, value: str) -> Secret:
    """A variable's value as a key. Raises ModelMisconfigured where no header could carry it; the value is not shown."""
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise ModelMisconfigured(f"{name}: a key has printable ASCII characters and no spaces; this has others")
    return Secret(value)


def key_from(names: Iterable[str], environ: Mapping[str, str]) -> Secret | None:
    """The first of the variables that is set, as a key. Raises ModelMisconfigured: what stands there can be no key, or
    no variable's name: what was given is not repeated."""
    for name in names:
        if not _VARIABLE.fullmatch(name):
            raise ModelMisconfigured("key_variable: the name of a variable is wanted, and not the key itself")
        if value := variable(name, environ):
            return as_key(name, value)
    return None
