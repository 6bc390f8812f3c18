"""Logs: one line each, JSON for services, with session and trace ids; secrets and terminal escapes never pass.

    setup_logging("INFO", json=True)
    with session("8f3a"):
        log.info("turn taken", extra={"turn": "3-1"})
    {"at": "2026-01-01T00:00:00.000Z", "level": "info", "message": "turn taken", "session": "8f3a", ...}

Modules use `logging.getLogger(__name__)` and know nothing of this one, except where they say which session they serve.
"""

import json
import logging
import re
import sys
import time
from contextvars import ContextVar
from typing import IO, Any

from parley.observability import tracing

_session: ContextVar[str] = ContextVar("parley_session", default="")

HIDDEN = "[hidden]"

_SECRETS = re.compile(
    r"""
      \bS[UAOCNX][A-Z2-7]{56}\b                                  # an nkey seed
    | \b(?:sk|pk|rk)-[A-Za-z0-9_-]{12,}                          # keys of model providers
    | \bAIza[0-9A-Za-z_-]{30,}
    | \b(?:ghp|gho|hf|xox[abp])[_-][A-Za-z0-9-]{16,}
    | \b[0-9a-f]{32}\.[A-Za-z0-9]{16}\b
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*  # a JSON web token
    | (?<=://)[^/\s:@]*:[^/\s@]+(?=@)                            # user:password in an address
    | (?i:\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}
    | (?i:\b(?:[a-z0-9]+[_-])*(?:api[_-]?key|password|passwd|secret|token|authorization)["']?\s*[:=]\s*["']?)
      (?!(?i:bearer)\b)[^\s"',;&}]{6,}
    """,
    re.VERBOSE,
)
_SECRET_NAME = re.compile(r"(?i)(?:^|[_-])(?:api[_-]?key|password|passwd|secret|token|seed|authorization)$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_STANDARD = frozenset(vars(logging.LogRecord("", 0, "", 0, "", None, None))) | {"message", "asctime", "taskName"}


def redact(text: str) -> str:
    """The text with everything that looks like a key, a seed, a token or a password hidden."""
    return _SECRETS.sub(HIDDEN, text)


def make_printable(text: str) -> str:
    """The text on one line with control characters, terminal escapes and direction marks written out (`\\x1b`)."""
    return _CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


class session:
    """Lines logged inside, in this task and those it starts, carry the session's id."""

    __slots__ = ("_sid", "_token")

    def __init__(self, sid: str) -> None:
        self._sid = sid

    def __enter__(self) -> None:
        self._token = _session.set(self._sid)

    def __exit__(self, *_: object) -> None:
        _session.reset(self._token)


def _clean(value: Any, name: str = "") -> Any:
    """A value fit for JSON, without secrets: strings cut at 8,192 characters, what is not JSON as its text."""
    if name and _SECRET_NAME.search(name):
        return HIDDEN
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, dict):
        return {str(k): _clean(v, str(k)) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(v) for v in value]
    text = redact(str(value))
    return text if len(text) <= 8_192 else f"{text[:8_192]}… ({len(text):,} characters)"


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """What is known beside the message: session, trace, and the caller's `extra`."""
    out: dict[str, Any] = {}
    sid = _session.get()
    if sid:
        out["session"] = sid
    ids = tracing.ids()
    if ids is not None:
        out["trace_id"], out["span_id"] = ids
    out.update({k: _clean(v, k) for k, v in vars(record).items() if k not in _STANDARD})
    return out


def _message(record: logging.LogRecord) -> str:
    try:
        return str(_clean(record.getMessage()))
    except Exception as error:  # a wrong format string must not lose the line
        return str(_clean(f"{record.msg!r} % {record.args!r} ({error})"))


class JsonFormatter(logging.Formatter):
    """One JSON object a line, ASCII only."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "at": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        for key, value in _fields(record).items():
            line.setdefault(key, value)
        if record.exc_info:
            line["error"] = _clean(self.formatException(record.exc_info))
        return json.dumps(line, default=str).replace("\x7f", "\\u007f")


class PlainFormatter(logging.Formatter):
    """One readable line, no colour; for a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        extra = " ".join(f"{k}={v}" for k, v in _fields(record).items())
        parts = [record.levelname.lower(), f"{record.name}:", _message(record), extra]
        if record.exc_info:
            parts.append(str(_clean(self.formatException(record.exc_info))))
        return make_printable(" ".join(p for p in parts if p))


def setup_logging(level: str | int = "INFO", json: bool = True, stream: IO[str] | None = None) -> None:
    """Send every log line of this process to `stream` (stderr by default), in place of any earlier set-up. Raises
    ValueError: unknown level."""
    if isinstance(level, str):
        level = level.upper()
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter() if json else PlainFormatter())
    root = logging.getLogger()
    root.setLevel(level)
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    logging.captureWarnings(True)
