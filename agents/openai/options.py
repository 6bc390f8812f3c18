"""Options of the model `openai`: checked before anything is opened."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from parley.agents.endpoint import prices
from parley.agents.endpoint.bounds import ReplyLimits
from parley.agents.endpoint.prices import Price
from parley.agents.model.base import ModelMisconfigured
from parley.agents.openai.providers import RUNGS, Preset, Rung, preset_of, provider
from parley.agents.secrets import Secret, key_from

NAMES = (
    "provider",
    "model",
    "base_url",
    "api_key",
    "key_variable",
    "temperature",
    "concurrency",
    "silence_s",
    "reply_s",
    "reply_bytes",
    "structured",
    "prices",
    "usd_per_million_input",
    "usd_per_million_output",
    "usd_per_million_cached",
    "family",
    "extra",
    "state",
    "record",
    "reasoning_tokens",
)


REASONING_TOKENS = 8_000
"""An endpoint counts what a model thinks among its output, so the request's limit is the answer's cap and this."""


class EndpointOptions(msgspec.Struct, frozen=True, kw_only=True):
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
    limits: ReplyLimits = ReplyLimits()
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


def parse(options: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> EndpointOptions:
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
    for name in options:
        if name not in NAMES:
            near = difflib.get_close_matches(str(name), NAMES, 1)
            hint = f"did you mean {near[0]}?" if near else "known: " + ", ".join(NAMES)
            raise ModelMisconfigured(f"options.{name}: no such option; {hint}")
    chosen = provider(text(options, "provider") or ("openai_compatible" if options.get("base_url") else "openai"))
    base_url = _base_url(text(options, "base_url"), chosen)
    preset = preset_of(chosen, base_url)
    model = text(options, "model") or preset.model
    if not model:
        raise ModelMisconfigured("options.model: which model? Name one here or in LLM_MODEL")
    structured = text(options, "structured")
    if structured and structured not in RUNGS:
        raise ModelMisconfigured(f"options.structured: got {structured!r}, allowed are {', '.join(RUNGS)}")
    extra = options.get("extra", {})
    if not isinstance(extra, dict):
        raise ModelMisconfigured("options.extra: expected a mapping")
    usual, reasoning = ReplyLimits(), number(options, "reasoning_tokens", 0, 1_000_000)
    key, names = _key(options, chosen, os.environ if environ is None else environ)
    state, record = text(options, "state"), text(options, "record")
    return EndpointOptions(
        provider=chosen,
        preset=preset,
        model=model,
        base_url=base_url,
        api_key=key,
        key_names=names,
        temperature=number(options, "temperature", 0.0, preset.highest_temperature),
        concurrency=int(number(options, "concurrency", 1, 10_000) or 8),
        silence_s=number(options, "silence_s", 0.05, 86_400) or 120.0,
        limits=ReplyLimits(
            reply_s=number(options, "reply_s", 0.05, 86_400) or usual.reply_s,
            reply_bytes=int(number(options, "reply_bytes", 10_000, 1_000_000_000) or usual.reply_bytes),
        ),
        highest_rung=RUNGS[structured] if structured else preset.rung,
        reasoning_tokens=REASONING_TOKENS if reasoning is None else int(reasoning),
        price=_price(options, model, preset),
        family=text(options, "family"),
        extra=extra,
        state=Path(state) if state else None,
        record=Path(record) if record else None,
    )


def text(options: Mapping[str, Any], name: str) -> str:
    """A text among options; empty: it is not there. Raises ModelMisconfigured where it is none."""
    value = options.get(name, "")
    if isinstance(value, Path):
        return str(value)
    if not isinstance(value, str):
        raise ModelMisconfigured(f"options.{name}: got {value!r}, expected a text")
    return value.strip()


def number(options: Mapping[str, Any], name: str, low: float, high: float) -> float | None:
    """A number among options; None: it is not there. Raises ModelMisconfigured outside of `low` to `high`."""
    value = options.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ModelMisconfigured(f"options.{name}: got {value!r}, allowed is {low:g} to {high:g}")
    return float(value)


def _base_url(address: str, chosen: str) -> str:
    url = address or preset_of(chosen).base_url
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
        like = "expected an address such as http://127.0.0.1:8000/v1; LLM_BASE_URL sets it"
        raise ModelMisconfigured(f"options.base_url: got {url!r}, {like}")
    return url.rstrip("/")


def _key(options: Mapping[str, Any], chosen: str, environ: Mapping[str, str]) -> tuple[Secret | None, tuple[str, ...]]:
    """The key, and the variables that it may come from."""
    key = options.get("api_key")
    if key is not None and not isinstance(key, Secret):
        raise ModelMisconfigured(
            "options.api_key: keys do not belong in agent files; set LLM_API_KEY, or name a variable in key_variable"
        )
    named = text(options, "key_variable")
    names = (named,) if named else (*preset_of(chosen).keys, "LLM_API_KEY")
    if key is None:
        key = key_from(names, environ)
    if key is None and (named or preset_of(chosen).keys):
        needs = f"set {' or '.join(names)}" + (", or the same with _FILE and the name of a file")
        raise ModelMisconfigured(f"provider {chosen} needs a key: {needs}")
    return key, names


def given_price(options: Mapping[str, Any]) -> Price | None:
    """The price among options; None: there is none. Raises ModelMisconfigured where it is no price, or half of one."""
    names = ("usd_per_million_input", "usd_per_million_output")
    given = [prices.check(f"options.{name}", options[name]) for name in names if options.get(name) is not None]
    if len(given) == 1:
        missing = next(name for name in names if options.get(name) is None)
        raise ModelMisconfigured(f"options.{missing}: a price is two numbers, only the other one is given")
    return Price(input=given[0], output=given[1]) if given else None


def _price(options: Mapping[str, Any], model: str, preset: Preset) -> Price | None:
    """The price given, else the one of the table; a model on a machine of one's own costs nothing."""
    cached = options.get("usd_per_million_cached")
    own = None if cached is None else prices.check("options.usd_per_million_cached", cached)
    table = prices.load(Path(text(options, "prices"))) if options.get("prices") else prices.shipped()
    price = given_price(options) or prices.price_of(model, table) or (Price() if preset.local else None)
    return price if price is None or own is None else msgspec.structs.replace(price, cached=own)
