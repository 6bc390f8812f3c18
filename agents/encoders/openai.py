"""Encoder `openai`: embeddings of any server that speaks OpenAI's `/embeddings`.

With a deadline of its own over all attempts; the client's own retries are off. Status 200 is not believed: vectors are
counted, put in order, measured and checked. What the server says that it used is counted, else an estimate.
"""

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np

from parley.agents.encoders.base import EncoderMisconfigured, EncoderUnavailable, Spent, Vectors, unit
from parley.agents.endpoint import prices
from parley.agents.endpoint.bounds import BadBody
from parley.agents.endpoint.completion import decode
from parley.agents.endpoint.endpoint import Broken, Endpoint, Rejected
from parley.agents.endpoint.limits import backoff_s
from parley.agents.model.base import ModelMisconfigured
from parley.agents.secrets import Secret, key_from
from parley.agents.text.tokens import estimate

HOME = "https://api.openai.com/v1"
BATCH = 64
"""Texts in a request."""
UNREACHED = 3
"""So often nobody listens there before it gives up, whatever time is left."""
MOST_DIMENSIONS = 16_384
"""Numbers in a vector, unless `dimensions` asks for more."""
_OBJECTS = 16
"""Of a text, and of the answer around them: one each is usual."""
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_CONNECTIONS = 8
NAMES = ("model", "base_url", "api_key", "key_variable", "dimensions", "deadline_s", "usd_per_million")


class _Row(msgspec.Struct):
    embedding: msgspec.Raw
    index: int


class _Answer(msgspec.Struct):
    data: list[_Row]


class _Used(msgspec.Struct):
    prompt_tokens: int


class _Counted(msgspec.Struct):
    usage: _Used


class OpenAIEncoder:
    """One model at one endpoint."""

    metered = True

    def __init__(
        self,
        model: str,
        base_url: str,
        key: Secret | None,
        *,
        dimensions: int = 0,
        deadline_s: float = 20.0,
        usd_per_million: float | None = None,
    ) -> None:
        self.name = model
        self.base_url = base_url
        self.dimension = dimensions
        self.usd_per_million = usd_per_million
        self._extra_fields = {"dimensions": dimensions} if dimensions else {}
        self._key = key
        self._deadline_s = deadline_s
        self._loop: asyncio.AbstractEventLoop | None = None
        self._endpoint: Endpoint | None = None

    def __repr__(self) -> str:
        return f"OpenAIEncoder({self.name})"

    async def aclose(self) -> None:
        """Close all connections."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()

    def _open(self) -> Endpoint:
        """Connections, made on first use on the event loop that uses them."""
        loop = asyncio.get_running_loop()
        if self._endpoint is None or self._loop is not loop:
            self._loop = loop
            self._endpoint = Endpoint(self.base_url, self._key, connections=_CONNECTIONS, silence_s=self._deadline_s)
        return self._endpoint

    async def encode(self, texts: Sequence[str], spent: Spent | None = None) -> Vectors:
        """See Encoder. An empty text is sent as a blank, since servers refuse it.

        Raises
        ------
        EncoderUnavailable
            No usable answer within the deadline, which holds for all requests of the call together, or within what may
            be spent.
        """
        spent = Spent() if spent is None else spent
        until = time.monotonic() + self._deadline_s
        parts = [await self._request(texts[at : at + BATCH], until, spent) for at in range(0, len(texts), BATCH)]
        if not parts:
            return np.zeros((0, self.dimension), np.float32)
        widths = {part.shape[1] for part in parts} | ({self.dimension} if self.dimension else set())
        if len(widths) > 1:
            raise EncoderUnavailable(f"the server's vectors differ in length: {sorted(widths)}")
        self.dimension = parts[0].shape[1]
        return np.concatenate(parts)

    async def _request(self, texts: Sequence[str], until: float, spent: Spent) -> Vectors:
        body = {
            "model": self.name,
            "input": [t or " " for t in texts],
            "encoding_format": "float",
            **self._extra_fields,
        }
        most = sum(estimate(t or " ") for t in texts)
        rejections = unreached = 0
        while True:
            _check_limits(spent, most)
            wait = None
            try:
                left_s = max(0.01, until - time.monotonic())
                async with asyncio.timeout(left_s):
                    data = await self._open().embeddings(body, left_s)
                _count(spent, data, most)
                return await _decode_vectors(data, len(texts), max(MOST_DIMENSIONS, self.dimension))
            except Rejected as error:
                why, wait = error.why, error.retry_after_s
                if error.status not in _AGAIN:
                    raise EncoderUnavailable(why) from None
            except (Broken, TimeoutError) as error:
                why, paid = (error.why, error.paid) if isinstance(error, Broken) else ("the server fell silent", True)
                if paid:
                    _count(spent, b"", most)
                unreached += not paid
                if unreached == UNREACHED:
                    raise EncoderUnavailable(why) from None
            rejections += 1
            pause = backoff_s(rejections, random.random) if wait is None else wait
            if time.monotonic() + pause >= until:
                raise EncoderUnavailable(why)
            await asyncio.sleep(pause)


def _check_limits(spent: Spent, more: int) -> None:
    """Raise EncoderUnavailable where a request of so many tokens might pass what may be spent."""
    if spent.most_tokens is not None and spent.tokens + more > spent.most_tokens:
        raise EncoderUnavailable(
            f"the texts may take {spent.tokens + more:,} tokens, the turn may use {spent.most_tokens:,}"
        )
    if spent.most_calls is not None and spent.calls >= spent.most_calls:
        raise EncoderUnavailable(f"the turn may make {spent.most_calls:,} calls, and has made them")


def _count(spent: Spent, data: bytes | bytearray, most: int) -> None:
    """Book a request that is, or may be, paid: by what the answer says, else at the estimate."""
    spent.calls += 1
    try:
        tokens = msgspec.json.decode(data, type=_Counted).usage.prompt_tokens
    except (msgspec.MsgspecError, RecursionError):
        tokens = -1
    spent.estimated |= not 0 < tokens < 1e9
    spent.tokens += tokens if 0 < tokens < 1e9 else most


async def _decode_vectors(data: bytearray, count: int, most: int) -> Vectors:
    """The vectors, decoded one by one: a long answer does not hold up the event loop."""
    if data.count(b"{") > _OBJECTS + count * _OBJECTS:
        raise EncoderUnavailable(f"the server's answer has more than {_OBJECTS} objects for each of {count} texts")
    if data.count(b",") > (count + 1) * most:
        raise EncoderUnavailable(f"the server's vectors have more than {most:,} numbers each")
    try:
        rows = sorted(decode(data, _Answer, "the server's answer").data, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(count)):
            raise EncoderUnavailable(f"the server answered with {len(rows)} vectors, expected one for each of {count}")
        vectors = []
        for row in rows:
            values = decode(row.embedding, list[float], "the server's answer")
            if len(values) > most:
                raise EncoderUnavailable(f"the server's vectors have more than {most:,} numbers each")
            vectors.append(np.array(values, dtype=np.float64))
            await asyncio.sleep(0)
    except BadBody as error:
        raise EncoderUnavailable(f"the server's answer holds no embeddings: {error.why}") from None
    except msgspec.ValidationError:
        raise EncoderUnavailable("the server's answer holds no embeddings") from None
    if len({len(vector) for vector in vectors}) != 1:
        raise EncoderUnavailable("the server's vectors differ in length")
    return unit(np.stack(vectors), count)


def make(options: Mapping[str, Any], environ: Mapping[str, str]) -> OpenAIEncoder:
    """The encoder; options `model`, `base_url`, `key_variable`, `dimensions`, `deadline_s`, `usd_per_million`;
    `api_key` is a Secret.

    OpenAI's key may come from OPENAI_API_KEY, which goes nowhere else. Another server may need none.

    Raises
    ------
    EncoderMisconfigured
        Names the option, its value (never a key's) and what is allowed.
    """
    for name in options:
        if name not in NAMES:
            raise EncoderMisconfigured(f"encoder.{name}: no such option; openai takes {', '.join(NAMES)}")
    texts = {name: options.get(name, "") for name in ("model", "base_url", "key_variable")}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise EncoderMisconfigured(f"encoder.{name}: got {value!r}, expected a text")
    base_url = (texts["base_url"].strip() or HOME).rstrip("/")
    _check_address(base_url)
    if not texts["model"].strip():
        raise EncoderMisconfigured("encoder.model: which model? Name one here or in ENCODER_MODEL")
    return OpenAIEncoder(
        texts["model"].strip(),
        base_url,
        find_key(options, environ),
        dimensions=int(_number(options, "dimensions", 0, 1, 100_000)),
        deadline_s=_number(options, "deadline_s", 20.0, 0.05, 600.0),
        usd_per_million=_price(options, texts["model"].strip(), base_url),
    )


def is_local(base_url: str) -> bool:
    """Whether an address is on this machine: what is asked there costs nothing."""
    host = urlsplit(base_url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _price(options: Mapping[str, Any], model: str, base_url: str) -> float | None:
    """The price given, else the table's; on this machine it is free; None: not known."""
    try:
        if options.get("usd_per_million") is not None:
            return prices.check("encoder.usd_per_million", options["usd_per_million"])
        price = prices.price_of(model, prices.shipped())
    except ModelMisconfigured as error:
        raise EncoderMisconfigured(error.why) from None
    if price is not None:
        return price.input
    return 0.0 if is_local(base_url) else None


def _check_address(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        secret = parts.username is not None or parts.password is not None or bool(parts.query)
    except ValueError:
        usable, secret = False, True
    if secret:
        raise EncoderMisconfigured("encoder.base_url: not an address; keys do not belong in one, set ENCODER_API_KEY")
    if not usable:
        raise EncoderMisconfigured(
            f"encoder.base_url: got {base_url!r}, expected an address such as http://127.0.0.1:8000/v1"
        )


def find_key(options: Mapping[str, Any], environ: Mapping[str, str]) -> Secret | None:
    """The key that the options bring or name, or OpenAI's own for OpenAI; None: none is set, and none is needed.

    ENCODER_API_KEY is not looked at here: parley.agents.encoders.settings knows which address it is for.

    Raises
    ------
    EncoderMisconfigured
        A key as plain text, or one that is needed and not there.
    """
    key, named = options.get("api_key"), options.get("key_variable", "")
    if key is not None and not isinstance(key, Secret):
        raise EncoderMisconfigured("encoder.api_key: keys do not belong in agent files; set ENCODER_API_KEY")
    at_home = str(options.get("base_url", "") or HOME).rstrip("/") == HOME
    names = (named,) if named else ("OPENAI_API_KEY",) if at_home else ()
    try:
        secret: Secret | None = key or key_from(names, environ)
    except ModelMisconfigured as error:
        raise EncoderMisconfigured(error.why) from None
    if secret is None and (named or at_home):
        wanted = named or "OPENAI_API_KEY or ENCODER_API_KEY"
        raise EncoderMisconfigured(f"encoder openai needs a key: set {wanted} (or the same with _FILE)")
    return secret


def _number(options: Mapping[str, Any], name: str, default: float, low: float, high: float) -> float:
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EncoderMisconfigured(f"encoder.{name}: got {value!r}, expected a number")
    if name in options and not low <= value <= high:
        raise EncoderMisconfigured(f"encoder.{name}: got {value:g}, allowed is {low:g} to {high:g}")
    return float(value)
