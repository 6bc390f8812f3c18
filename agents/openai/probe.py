"""What Parley has learned about an endpoint and a model: which rung it takes, what it refuses, how much it thinks. Kept
for the process, and in a file if a folder is given, so that a restart need not learn it again. It is forgotten after a
week, and by another version of Parley."""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.openai.providers import Rung

KEPT_S = 7 * 24 * 3600.0
"""So long what was learned counts: servers get better."""
BOUNDS = "bounds of the schema"
"""Name of a lesson: the endpoint refuses schemas with ranges and lengths."""
SYSTEM = "system message"
"""Name of a lesson: the endpoint takes no system message."""


@cache
def _own_version() -> str:
    return metadata.version("parley")


class LearnedLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one model at one endpoint beyond its preset. Nothing here is a secret."""

    rung: Rung | None = None
    """The highest that it takes; None: not known."""
    dropped: tuple[str, ...] = ()
    """Request fields that it refused."""
    tokens_field: str = ""
    reasoning_tokens: int | None = None
    """What its hidden reasoning is given in one call; 0: it was seen to answer without; None: not known."""
    window: int | None = None
    """Tokens of a prompt and its reply together."""
    output: int | None = None
    """The most tokens of output that a request may ask for."""
    prompt: int | None = None
    """Tokens of a prompt, by estimate, that were taken after more were refused."""
    stream: bool | None = None
    """Whether every request is for a stream, or none; None: as the turn wants it."""
    input_s: float | None = None
    """Tokens a second of a prompt, as measured."""
    output_s: float | None = None
    """Tokens a second of a reply."""
    turn_s: float | None = None
    """The median of the seconds that turns took."""
    at_s: float = 0.0
    """Unix time of the last lesson."""
    version: str = ""
    """Of Parley, when it was learned."""


def with_lesson(old: LearnedLimits, *, rung: Rung | None = None, drop: str = "", **lessons: Any) -> LearnedLimits:
    """A lesson beside what is known; others than these two replace what stands in their field."""
    dropped = old.dropped if not drop or drop in old.dropped else (*old.dropped, drop)
    lower = old.rung if rung is None or (old.rung is not None and old.rung < rung) else rung
    return msgspec.structs.replace(old, rung=lower, dropped=dropped, **lessons)


_KNOWN: dict[tuple[str, str], LearnedLimits] = {}
_DOUBTED: dict[tuple[tuple[str, str], Any], dict[str, Any]] = {}
"""What seemed to be ignored in the last reply that could tell: the lesson that it would be."""


class Memory:
    """Lessons about one (base URL, model); all instances of a process share them. `version`: Parley's own if empty."""

    def __init__(
        self,
        base_url: str,
        model: str,
        folder: Path | None = None,
        now: Callable[[], float] = time.time,
        version: str = "",
    ) -> None:
        self._key = (base_url, model)
        self._now = now
        self._version = version or _own_version()
        name = hashlib.sha256("\n".join(self._key).encode()).hexdigest()[:24]
        self._path = folder / f"{name}.json" if folder is not None else None

    def get(self) -> LearnedLimits:
        """What is known and not too old."""
        if self._key not in _KNOWN and self._path is not None:
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                _KNOWN[self._key] = msgspec.json.decode(self._path.read_bytes(), type=LearnedLimits)
        learned = _KNOWN.get(self._key, LearnedLimits())
        counts = self._now() - learned.at_s < KEPT_S and learned.version == self._version
        return learned if counts else LearnedLimits()

    def ignored(self, what: Any, **lesson: Any) -> bool:
        """A reply looked as if the server ignored this. Once may be the model's slip: it is a lesson where the reply
        before it looked the same. Whether it is one."""
        again = _DOUBTED.pop((self._key, what), None) == lesson
        if again:
            self.learn(**lesson)
        else:
            _DOUBTED[self._key, what] = lesson
        return again

    def heeded(self, what: Any) -> None:
        """A reply was in the form that was asked for."""
        _DOUBTED.pop((self._key, what), None)

    def learn(self, **lessons: Any) -> None:
        """Keep lessons beside what is known (`with_lesson`). A file that cannot be written is no harm: it is learned
        again."""
        new = with_lesson(self.get(), **lessons, at_s=self._now(), version=self._version)
        _KNOWN[self._key] = new
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.parent.mkdir(parents=True, exist_ok=True)
                draft = self._path.with_name(f"{self._path.name}.{os.getpid()}")
                draft.write_bytes(msgspec.json.encode(new))
                draft.replace(self._path)


def forget() -> None:
    """Drop what this process learned; files stay."""
    _KNOWN.clear()
    _DOUBTED.clear()
