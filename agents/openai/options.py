"""Options of the model `openai`: checked before anything is opened."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from agents.models.base import ModelMisconfigured
from agents.openai import prices
from agents.openai.bounds import Limits
from agents.openai.prices import Price
from agents.openai.providers import RUNGS, Preset, Rung, preset_of, provider
from agents.secrets import Secret, key_from

NAMES = (
    "provider", "model", "base_url", "api_key", "key_variable", "temperature", "concurrency", "silence_s", "reply_s",
    "reply_bytes", "structured", "prices", "usd_per_million_input", "usd_per_million_output", "usd_per_million_cached",
    "family", "extra", "state", "record", "reasoning_tokens",
)  # fmt: skip


REASONING_TOKENS = 8_000
"""An endpoint counts what a model thinks among its output, so the request's limit is the answer's cap and this."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a model is made with."""

    provider: str
    preset: Preset
    model: str
    base_url: str
    api_key: Secret | None = None
    key_names: tuple[str, ...] = ()
    """Variables that the key may come from, for messages."""
    temperature: float | None = None
    concurrency: int = 8
    """Requests at once at this endpoint, for all models of the process."""
    silence_s: float = 120.0
    """So long a server may say nothing."""
    limits: Limits = Limits()
    """What is taken of one reply: options `reply_s` and `reply_bytes`."""
    highest_rung: Rung = Rung.SCHEMA
    reasoning_tokens: int = REASONING_TOKENS
    """What hidden reasoning may take in one call, beside the answer's cap. At most twice as much once it ran out."""
    price: Price | None = None
    """None: not known."""
    family: str = ""
    extra: dict[str, Any] = {}
    """Goes into every request as it is."""
    state: Path | None = None
    """Folder in which lessons about endpoints are kept."""
    record: Path | None = None
    """File that every reply is appended to (agents/models/recorded.py)."""

    @property
    def effective_price(self) -> Price:
        """The price, 0 where it is not known."""
        return self.price or Price()


def parse(given: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Options:
    """Options from a mapping as it stands in an agent file.

    Parameters
    ----------
    environ
        Where a key is looked for if `api_key` does not bring one; None: the process's environment.

    Raises
    ------
    ModelMisconfigured
        Names the option, the value (never a key's) and what is allowed.
    """
    for name in given:
        if name not in NAMES:
            near = difflib.get_close_matches(str(name), NAMES, 1)
            hint = f"did you mean {near[0]}?" if near else "known: " + ", ".join(NAMES)
            raise ModelMisconfigured(f"options.{name}: no such option; {hint}")
    chosen = provider(_text(given, "provider") or ("openai_compatible" if given.get("base_url") else "openai"))
    base_url = _base_url(_text(given, "base_url"), chosen)
    preset = preset_of(chosen, base_url)
    model = _text(given, "model")
    if not model:
        raise ModelMisconfigured("options.model: which model? Name one here or in LLM_MODEL")
    structured = _text(given, "structured")
    if structured and structured not in RUNGS:
        raise ModelMisconfigured(f"options.structured: got {structured!r}, allowed are {', '.join(RUNGS)}")
    extra = given.get("extra", {})
    if not isinstance(extra, dict):
        raise ModelMisconfigured("options.extra: expected a mapping")
    key, names = _key(given, chosen, os.environ if environ is None else environ)
    state, record = _text(given, "state"), _text(given, "record")
    return Options(
        provider=chosen,
        preset=preset,
        model=model,
        base_url=base_url,
        api_key=key,
        key_names=names,
        temperature=_number(given, "temperature", 0.0, preset.highest_temperature),
        concurrency=int(_number(given, "concurrency", 1, 10_000) or 8),
        silence_s=_number(given, "silence_s", 0.05, 86_400) or 120.0,
        limits=_limits(given),
        highest_rung=RUNGS[structured] if structured else preset.rung,
        reasoning_tokens=_reasoning(given),
        price=_price(given, model, preset),
        family=_text(given, "family"),
        extra=extra,
        state=Path(state) if state else None,
        record=Path(record) if record else None,
    )


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name, "")
    if isinstance(value, Path):
        return str(value)
    if not isinstance(value, str):
        raise ModelMisconfigured(f"options.{name}: got {value!r}, expected a text")
    return value.strip()


def _number(given: Mapping[str, Any], name: str, low: float, high: float) -> float | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ModelMisconfigured(f"options.{name}: got {value!r}, allowed is {low:g} to {high:g}")
    return float(value)


def _limits(given: Mapping[str, Any]) -> Limits:
    usual = Limits()
    return Limits(
        reply_s=_number(given, "reply_s", 0.05, 86_400) or usual.reply_s,
        reply_bytes=int(_number(given, "reply_bytes", 10_000, 1_000_000_000) or usual.reply_bytes),
    )


def _reasoning(given: Mapping[str, Any]) -> int:
    number = _number(given, "reasoning_tokens", 0, 1_000_000)
    return REASONING_TOKENS if number is None else int(number)


def _base_url(given: str, chosen: str) -> str:
    url = given or preset_of(chosen).base_url
    if not url:
        raise ModelMisconfigured(
            f"options.base_url: provider {chosen} needs an address; set it here or in LLM_BASE_URL"
        )
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        raise ModelMisconfigured("options.base_url: not an address") from None
    if parts.username is not None or parts.password is not None or parts.query:
        raise ModelMisconfigured("options.base_url: keys do not belong in an address; set LLM_API_KEY")
    if not usable:
        raise ModelMisconfigured(f"options.base_url: got {url!r}, expected an address such as http://127.0.0.1:8000/v1")
    return url.rstrip("/")


def _key(given: Mapping[str, Any], chosen: str, environ: Mapping[str, str]) -> tuple[Secret | None, tuple[str, ...]]:
    """The key, and the variables that it may come from."""
    key = given.get("api_key")
    if key is not None and not isinstance(key, Secret):
        raise ModelMisconfigured(
            "options.api_key: keys do not belong in agent files; set LLM_API_KEY, or name a variable in key_variable"
        )
    named = _text(given, "key_variable")
    names = (named,) if named else (*preset_of(chosen).keys, "LLM_API_KEY")
    if key is None:
        key = key_from(names, environ)
    if key is None and (named or preset_of(chosen).keys):
        needs = f"set {' or '.join(names)}" + (", or the same with _FILE and the name of a file")
        raise ModelMisconfigured(f"provider {chosen} needs a key: {needs}")
    return key, names


def _price(given: Mapping[str, Any], model: str, preset: Preset) -> Price | None:
    """The price given, else the one of the table; a model on a machine of one's own costs nothing."""
    fields = {"input": "usd_per_million_input", "output": "usd_per_million_output"}
    both = {
        short: prices.check(f"options.{name}", given[name])
        for short, name in fields.items()
        if given.get(name) is not None
    }
    cached = given.get("usd_per_million_cached")
    own = None if cached is None else prices.check("options.usd_per_million_cached", cached)
    table = prices.load(Path(_text(given, "prices"))) if given.get("prices") else prices.load()
    if len(both) == 1:
        missing = next(name for short, name in fields.items() if short not in both)
        raise ModelMisconfigured(f"options.{missing}: a price is two numbers, only the other one is given")
    price = Price(**both) if both else prices.price_of(model, table)
    if price is None:
        price = Price() if preset.local else None
    return price if price is None or own is None else msgspec.structs.replace(price, cached=own)
