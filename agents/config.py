"""Which model an agent uses: variables of its seat over those of its role over global ones over its file.

    LLM_PROVIDER=zhipu               for everybody
    PANELIST_LLM_MODEL=glm-4.6       for every panelist
    PANELIST_2_LLM_PROVIDER=deepseek for the seat (the queue) panelist_2
    WISH_STRONG_LLM_MODEL=glm-5      for every expert whose specification wishes the model `strong`

The prefix is a name in capitals: of the seat (`PANELIST_2_`, `PRO_1_`, `EXPERT_SRE_`), of the seat without its number
(`PANELIST_`, `PRO_`), of an expert's wish (`WISH_STRONG_`), of the role (`DEBATER_`). A file `.env` in the working
folder is read below the environment.
`LLM_API_KEY_FILE` and the like name a file that holds the secret.

A key and an address belong to a provider: where a nearer level names another provider, or another address, the key of a
farther level is not taken over, and so never sent to a host that it is not for.
"""

import io
import math
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from dotenv.parser import parse_stream

from parley.agents.model.base import ModelMisconfigured
from parley.agents.openai.providers import PRESETS, provider
from parley.agents.secrets import Secret, as_key, key_from, variable
from parley.agents.specs import AgentSpec
from parley.bus.files.plain import NotText, is_named, plain_text

WITHOUT_A_SERVER = ("extractive", "recorded", "command")
"""What `LLM_PROVIDER` may name beside providers."""

_TEXTS = {
    "LLM_STRUCTURED": "structured",
    "LLM_PRICES": "prices",
    "LLM_STATE": "state",
    "LLM_FAMILY": "family",
    "LLM_RECORD": "record",
    "LLM_COMMAND": "command",
}
_NUMBERS = {
    "LLM_TEMPERATURE": "temperature",
    "LLM_CONCURRENCY": "concurrency",
    "LLM_SILENCE_S": "silence_s",
    "LLM_REPLY_S": "reply_s",
    "LLM_REPLY_BYTES": "reply_bytes",
    "LLM_REASONING_TOKENS": "reasoning_tokens",
    "LLM_USD_PER_MILLION_INPUT": "usd_per_million_input",
    "LLM_USD_PER_MILLION_OUTPUT": "usd_per_million_output",
    "LLM_USD_PER_MILLION_CACHED": "usd_per_million_cached",
}
VARIABLES = ("LLM_PROVIDER", "LLM_MODEL", "LLM_API_KEY", "LLM_API_KEY_FILE", "LLM_BASE_URL", *_TEXTS, *_NUMBERS)
"""Every variable, without a prefix."""
_OF_A_PROVIDER = tuple(
    name
    for name in VARIABLES
    if name.startswith(("LLM_MODEL", "LLM_API_KEY", "LLM_BASE_URL", "LLM_FAMILY", "LLM_STRUCTURED", "LLM_USD"))
)


def environment(folder: Path = Path(), environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment over the file `.env` in a folder.

    Where the environment names another provider than the file does for the same prefix, what the file says of its own
    provider (model, key, address) is not taken over. Raises ModelMisconfigured: the file cannot be read, is not UTF-8,
    or has a line that is no assignment: its number, and never what stands there, which may be a key.
    """
    variables = dict(os.environ if environ is None else environ)
    path = folder / ".env"
    if not is_named(path):
        return variables
    values = _dotenv(path)
    for name in (n for n in variables if n.endswith("LLM_PROVIDER") and variables[n].strip()):
        wanted, current = variables[name].strip().lower(), values.get(name, "").strip().lower()
        if wanted != current and (current or wanted in WITHOUT_A_SERVER):
            for belongs in _OF_A_PROVIDER:
                values.pop(name.removesuffix("LLM_PROVIDER") + belongs, None)
    return {**values, **variables}


def _dotenv(path: Path) -> dict[str, str]:
    try:
        text = plain_text(path)
    except NotText as error:
        raise ModelMisconfigured(f"{path} {error.why}") from None
    values = {}
    for binding in parse_stream(io.StringIO(text)):
        statement = binding.original.string
        if binding.error or (binding.key is not None and binding.value is None):
            blank = statement[: len(statement) - len(statement.lstrip())].count("\n")
            number = binding.original.line + blank
            raise ModelMisconfigured(
                f"{path}, line {number}: this is no assignment, expected NAME=value or # a comment"
            )
        if binding.key is not None:
            values[binding.key] = binding.value or ""
    return values


def prefixes(queue: str, roles: tuple[str, ...], wish: str = "") -> tuple[str, ...]:
    """Prefixes of variables for an agent, the nearest first; the last is empty, for everybody. `wish`: the model that
    an expert's specification wishes.

    >>> prefixes("pro_2", ("debater",))
    ('PRO_2_', 'PRO_', 'DEBATER_', '')
    >>> prefixes("expert_sre", ("expert",), "gpt-5.1")
    ('EXPERT_SRE_', 'WISH_GPT_5_1_', 'EXPERT_', '')
    """
    names = (queue, re.sub(r"_\d+\Z", "", queue), *((f"wish_{wish}",) if wish else ()), *roles)
    upper_names = (_capitals(name) + "_" for name in names)
    return (*dict.fromkeys(upper_names), "")


def unmet_wish(spec: AgentSpec, environ: Mapping[str, str]) -> str:
    """The variable that would say which model an expert's wish means, where none does and none of its seat names a
    model; empty: there is no such wish."""
    wish = _wish(spec)
    if not wish or "model" in spec.model_fields_set:
        return ""
    levels, of_wish = _levels(spec), prefixes("", (), wish)[1]
    near = levels[: levels.index(of_wish) + 1]
    named = any(environ.get(f"{level}{name}", "").strip() for level in near for name in _CHOOSING)
    return "" if named else f"{of_wish}LLM_MODEL"


def _wish(spec: AgentSpec) -> str:
    return "" if spec.expert is None else spec.expert.model


def _levels(spec: AgentSpec) -> tuple[str, ...]:
    return prefixes(spec.queue, spec.roles, _wish(spec))


def _capitals(name: str) -> str:
    return re.sub(r"\W", "_", name).upper()


def resolve(spec: AgentSpec, environ: Mapping[str, str]) -> AgentSpec:
    """The spec with the model that the environment and the spec itself give together.

    A spec that names no model takes what the environment names, else `extractive`. One that names `openai` is completed
    and overridden. One that names another model keeps it, unless a variable of its seat or role says otherwise. A
    helper with an encoder of its own compares with that, unless such a variable names a model. A key in the result is a
    Secret. Raises ModelMisconfigured: names the variable: a provider that nobody knows, a number that is none, a
    missing key or address, two settings that contradict each other.
    """
    resolved = _with_model(spec, environ)
    return (
        _with_encoder(resolved, environ) if resolved.model == "extractive" and "helper" in resolved.roles else resolved
    )


def variables_of(spec: AgentSpec, environ: Mapping[str, str]) -> tuple[AgentSpec, dict[str, str]]:
    """The spec as `resolve` has it, and the variables that it goes by: with these alone it finds the same. Of the keys
    that are set, only those that the agent uses are among them.

    A model of the operator's own (`module:attribute`) gets what begins with the agent's prefixes, and what its option
    `key_variable` names. Raises ModelMisconfigured: as `resolve`.
    """
    read = _Read(environ)
    resolved = resolve(spec, read)
    names = set(read.names)
    if ":" in resolved.model:
        prefixes = tuple(prefix for prefix in _levels(spec) if prefix)
        names |= {name for name in environ if name.startswith(prefixes)}
        named = str(resolved.options.get("key_variable") or "")
        names |= {named, f"{named}_FILE"}
    if resolved.model == "command":
        listed = resolved.options.get("variables")
        names |= {str(name) for name in listed} if isinstance(listed, list | tuple) else set()
    key = resolved.options.get("api_key")
    own = key.reveal() if isinstance(key, Secret) else None

    def is_for(name: str) -> bool:
        plain = name.removesuffix("_FILE")
        return not plain.endswith("LLM_API_KEY") or variable(plain, environ) == own

    return resolved, {name: environ[name] for name in names if name in environ and is_for(name)}


class _Read(dict[str, str]):
    """Variables that remember which of them were looked at."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(environ)
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


def _with_model(spec: AgentSpec, environ: Mapping[str, str]) -> AgentSpec:
    levels = tuple(reversed(_levels(spec)))
    names_one = "model" in spec.model_fields_set
    near = tuple(level for level in levels if level)
    if names_one and spec.model != "openai":
        levels = near
    elif _computes_alone(spec, environ) and not _names_any(near, environ):
        levels = near  # one that is named takes the rest from those for everybody
    if not _names_any(levels, environ) and not (names_one and spec.model == "openai"):
        return spec
    chosen = _Chosen(spec.options if spec.model == "openai" else {})
    for level in levels:
        chosen.take(level, environ)
    if chosen.provider in WITHOUT_A_SERVER:
        return spec.model_copy(update={"model": chosen.provider, "options": chosen.options_without_a_server()})
    return spec.model_copy(update={"model": "openai", "options": chosen.options(environ)})


def _computes_alone(spec: AgentSpec, environ: Mapping[str, str]) -> bool:
    """Whether a model for everybody is not for it: it runs checks, or is a helper with an encoder of its own."""
    encoders = [environ.get(f"{level}ENCODER", "").strip() for level in _levels(spec)]
    own = "encoder" in spec.options or not {*encoders} <= {"", "embedded"}
    return "check" in spec.roles or (own and "helper" in spec.roles)


def _names_any(levels: tuple[str, ...], environ: Mapping[str, str]) -> bool:
    return any([environ.get(f"{level}{name}", "").strip() for level in levels for name in _CHOOSING])


def _with_encoder(spec: AgentSpec, environ: Mapping[str, str]) -> AgentSpec:
    """With the encoder that the nearest variable names, over that of its file."""
    name = next((found for level in _levels(spec) if (found := environ.get(f"{level}ENCODER", "").strip())), "")
    return spec.model_copy(update={"options": {**spec.options, "encoder": name}}) if name else spec


_OTHERS_KEY = "; LLM_API_KEY is set, and it is for another provider"
_SAYS = {"LLM_MODEL": "model to choose", "LLM_BASE_URL": "address"}
_CHOOSING = ("LLM_PROVIDER", "LLM_MODEL", "LLM_BASE_URL")


class _Chosen:
    """What the levels taken so far come to."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = dict(options)
        self._level = ""
        """The prefix of the variables that named the provider."""
        if self._options:
            self._options.setdefault("provider", "openai_compatible" if options.get("base_url") else "openai")
            self._options["provider"] = provider(self.provider)

    @property
    def provider(self) -> str:
        """The provider's name; empty: none was named."""
        return str(self._options.get("provider", ""))

    def take(self, level: str, environ: Mapping[str, str]) -> None:
        """Put one level over those before."""

        def get(name: str) -> str:
            return environ.get(level + name, "").strip()

        new_provider, new_url = get("LLM_PROVIDER"), get("LLM_BASE_URL").rstrip("/")
        if new_provider in WITHOUT_A_SERVER:
            for name in ("LLM_MODEL", "LLM_BASE_URL"):
                if get(name):
                    raise ModelMisconfigured(
                        f"{level}LLM_PROVIDER is {new_provider}, which has no {_SAYS[name]}, and {level}{name} names"
                        " one: unset one of the two"
                    )
        if new_provider or new_url:
            self._level = level
        if new_provider:
            self._set_provider(f"{level}LLM_PROVIDER", new_provider)
        if new_url and new_url != self._options.get("base_url"):
            self._drop("api_key", "key_variable")
            self._options["base_url"] = new_url
            if not new_provider and (self.provider not in PRESETS or not PRESETS[self.provider].local):
                self._options["provider"] = "openai_compatible"  # whose key would it be, else?
        if model := get("LLM_MODEL"):
            self._options["model"] = model
        if key := variable(f"{level}LLM_API_KEY", environ):
            self._drop("key_variable")
            self._options["api_key"] = as_key(f"{level}LLM_API_KEY", key)
        for name, option in _TEXTS.items():
            if value := get(name):
                self._options[option] = _words(f"{level}{name}", value) if option == "command" else value
        for name, option in _NUMBERS.items():
            if value := get(name):
                self._options[option] = _number(f"{level}{name}", value)

    def _set_provider(self, name: str, wanted: str) -> None:
        try:
            chosen = wanted if wanted in WITHOUT_A_SERVER else provider(wanted)
        except ModelMisconfigured as error:
            raise ModelMisconfigured(f"{name}: {error.why}") from error
        if chosen != self.provider:
            # What belongs to the other provider is not for this one.
            self._drop("base_url", "api_key", "key_variable", "model", "family", "extra", "structured")
            self._drop("usd_per_million_input", "usd_per_million_output", "usd_per_million_cached")
        self._options["provider"] = chosen

    def _drop(self, *names: str) -> None:
        for name in names:
            self._options.pop(name, None)

    def options_without_a_server(self) -> dict[str, Any]:
        """Options for a model that has no server: `recorded` plays the file that another run recorded, `command` runs a
        program."""
        if self.provider == "command":
            if not self._options.get("command"):
                raise ModelMisconfigured("provider command needs the program: set LLM_COMMAND")
            from parley.agents.command.model import OPTIONS  # prompts: for who names such a model alone

            return {name: value for name, value in self._options.items() if name in OPTIONS}
        if self.provider != "recorded":
            return {}
        if not self._options.get("record"):
            raise ModelMisconfigured("provider recorded needs the file of its replies: set LLM_RECORD")
        return {"path": self._options["record"]}

    def options(self, environ: Mapping[str, str]) -> dict[str, Any]:
        """Options for the model `openai`, the key among them."""
        self._options.setdefault("provider", "openai_compatible" if self._options.get("base_url") else "openai")
        self._drop("command")
        name = self.provider
        preset = PRESETS[provider(name)]
        if not self._options.get("model") and not preset.model:
            raise ModelMisconfigured(
                f"provider {name} is set, but no model: set LLM_MODEL, with its prefix if it has one"
            )
        if name == "openai_compatible" and not self._options.get("base_url"):
            raise ModelMisconfigured("provider openai_compatible needs an address: set LLM_BASE_URL")
        if "api_key" not in self._options:
            named = self._options.get("key_variable")
            key = key_from((named,) if named else preset.keys, environ)
            if key is None and (named or preset.keys):
                wanted = str(named) if named else f"{preset.keys[0]} or {self._level}LLM_API_KEY"
                other = self._level and variable("LLM_API_KEY", environ)
                why = f" (or the same with _FILE and the name of a file){_OTHERS_KEY if other else ''}"
                raise ModelMisconfigured(f"provider {name} needs a key: set {wanted}{why}")
            if key is not None:
                self._options["api_key"] = key
        return self._options


def _words(name: str, text: str) -> list[str]:
    """A program and its arguments: a list in JSON, or as a shell would part it. No shell sees it."""
    try:
        return list(msgspec.json.decode(text, type=list[str])) if text.startswith("[") else shlex.split(text)
    except (msgspec.DecodeError, ValueError) as error:
        raise ModelMisconfigured(f"{name}: {error}") from None


def _number(name: str, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        raise ModelMisconfigured(f"{name}: got {text!r}, expected a number") from None
    if not math.isfinite(value):
        raise ModelMisconfigured(f"{name}: got {text!r}, expected a finite number")
    if "USD_PER_MILLION_" in name and value < 0:
        raise ModelMisconfigured(f"{name}: got {value:g}, a price is not negative")
    return int(value) if value == int(value) and abs(value) < 1e15 else value
