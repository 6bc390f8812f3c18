"""Encoder `openai`: embeddings of any server that speaks OpenAI's `/embeddings`.

Blocking, in the caller's thread, with a deadline of its own over all attempts; the client's own retries are off. Status
200 is not believed: vectors are counted, put in order, measured and checked.
"""

import logging
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec
import numpy as np
import openai

from agents.encoders.base import EncoderMisconfigured, EncoderUnavailable, Vectors, unit
from agents.llm.base import ModelMisconfigured
from agents.llm.limits import backoff_s, retry_after_s
from agents.llm.secrets import Secret, key_from, scrub

HOME = "https://api.openai.com/v1"
BATCH = 64
"""Texts in a request."""
CONNECT_S = 5.0
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
NAMES = ("model", "base_url", "api_key", "key_variable", "dimensions", "deadline_s")
logging.getLogger("httpx2").setLevel(logging.WARNING)  # it would log every address


class _Row(msgspec.Struct):
    embedding: list[float]
    index: int


class _Answer(msgspec.Struct):
    data: list[_Row]


class OpenAIEncoder:
    """One model at one endpoint."""

    def __init__(
        self, model: str, base_url: str, key: Secret | None, *, dimensions: int = 0, deadline_s: float = 20.0
    ) -> None:
        self.name = model
        self.dimension = dimensions
        self._asked = {"dimensions": dimensions} if dimensions else {}
        self._key = key
        self._deadline_s = deadline_s
        timeout = httpx2.Timeout(deadline_s, connect=CONNECT_S)
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=key.reveal() if key is not None else "none",
            max_retries=0,
            timeout=timeout,
            http_client=openai.DefaultHttpxClient(timeout=timeout, follow_redirects=False),
        )
        left_out = ["OpenAI-Organization", "OpenAI-Project", *(["Authorization"] if key is None else [])]
        self._headers: dict[str, str | openai.Omit] = {name: openai.Omit() for name in left_out}

    def __repr__(self) -> str:
        return f"OpenAIEncoder({self.name})"

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Encoder. An empty text is sent as a blank, since servers refuse it.

        Raises
        ------
        EncoderUnavailable
            No usable answer within the deadline, which holds for all requests of the call together.
        """
        until = time.monotonic() + self._deadline_s
        parts = [self._request(texts[at : at + BATCH], until) for at in range(0, len(texts), BATCH)]
        if not parts:
            return np.zeros((0, self.dimension), np.float32)
        widths = {part.shape[1] for part in parts} | ({self.dimension} if self.dimension else set())
        if len(widths) > 1:
            raise EncoderUnavailable(f"the server's vectors differ in length: {sorted(widths)}")
        self.dimension = parts[0].shape[1]
        return np.concatenate(parts)

    def _request(self, texts: Sequence[str], until: float) -> Vectors:
        body = {"model": self.name, "input": [t or " " for t in texts], "encoding_format": "float", **self._asked}
        rejections = 0
        while True:
            left = until - time.monotonic()
            try:
                response: Any = self._client.post(
                    "/embeddings", cast_to=httpx2.Response, content=msgspec.json.encode(body),
                    options={"headers": self._headers, "timeout": httpx2.Timeout(max(0.01, left), connect=CONNECT_S)},
                )  # fmt: skip
                return _read(response.content, len(texts))
            except openai.APIStatusError as error:
                why = f"HTTP {error.status_code}, {scrub(error.response.text[:500], self._key)}"
                if error.status_code not in _AGAIN:
                    raise EncoderUnavailable(why) from None
                wait = retry_after_s(error.response.headers)
            except (openai.APIConnectionError, httpx2.HTTPError, OSError) as error:
                why, wait = f"no answer from the server ({type(error).__name__})", None
            rejections += 1
            pause = backoff_s(rejections, random.random) if wait is None else wait
            if time.monotonic() + pause >= until:
                raise EncoderUnavailable(why)
            time.sleep(pause)


def _read(data: bytes, count: int) -> Vectors:
    try:
        rows = sorted(msgspec.json.decode(data, type=_Answer).data, key=lambda row: row.index)
    except (msgspec.MsgspecError, RecursionError):
        raise EncoderUnavailable("the server's answer holds no embeddings") from None
    if [row.index for row in rows] != list(range(count)):
        raise EncoderUnavailable(f"the server answered with {len(rows)} vectors, wanted is one for each of {count}")
    if len({len(row.embedding) for row in rows}) != 1:
        raise EncoderUnavailable("the server's vectors differ in length")
    return unit(np.array([row.embedding for row in rows], dtype=np.float64), count)


def make(options: Mapping[str, Any], environ: Mapping[str, str]) -> OpenAIEncoder:
    """The encoder; options `model`, `base_url`, `key_variable`, `dimensions`, `deadline_s`; `api_key` is a Secret.

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
            raise EncoderMisconfigured(f"encoder.{name}: got {value!r}, a text is wanted")
    base_url = (texts["base_url"].strip() or HOME).rstrip("/")
    _check_address(base_url)
    if not texts["model"].strip():
        raise EncoderMisconfigured("encoder.model: which model? Name one here or in ENCODER_MODEL")
    return OpenAIEncoder(
        texts["model"].strip(), base_url, find_key(options, environ),
        dimensions=int(_number(options, "dimensions", 0, 1, 100_000)),
        deadline_s=_number(options, "deadline_s", 20.0, 0.05, 600.0),
    )  # fmt: skip


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
            f"encoder.base_url: got {base_url!r}, an address such as http://127.0.0.1:8000/v1 is wanted"
        )


def find_key(options: Mapping[str, Any], environ: Mapping[str, str]) -> Secret | None:
    """The key that the options bring or name, or OpenAI's own for OpenAI; None: none is set, and none is needed.

    ENCODER_API_KEY is not looked at here: agents.encoders.settings knows which address it is for.

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
        found: Secret | None = key or key_from(names, environ)
    except ModelMisconfigured as error:
        raise EncoderMisconfigured(error.why) from None
    if found is None and (named or at_home):
        wanted = named or "OPENAI_API_KEY or ENCODER_API_KEY"
        raise EncoderMisconfigured(f"encoder openai needs a key: set {wanted} (or the same with _FILE)")
    return found


def _number(options: Mapping[str, Any], name: str, default: float, low: float, high: float) -> float:
    value = options.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EncoderMisconfigured(f"encoder.{name}: got {value!r}, a number is wanted")
    if name in options and not low <= value <= high:
        raise EncoderMisconfigured(f"encoder.{name}: got {value:g}, allowed is {low:g} to {high:g}")
    return float(value)
