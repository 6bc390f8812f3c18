"""The interface of everything that answers turns.

Errors, by whose fault it is:

    ModelError                    base; its text goes to `Reply.error`, so it holds no key and no address
    ├─ ModelMisconfigured         the operator's: an unknown model, an option that it does not know
    ├─ ModelUnavailable           the environment's: not there, overloaded, too slow
    ├─ ModelRefused               the peer's: what it said is not what was asked, after every repair
    └─ NotRecorded                the recording's: it holds no reply for this turn
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from parley.agents.context import RawReply, Shown
from parley.schemas.tools import LookUpResult
from parley.schemas.turn import Usage
from parley.schemas.wire import Json, raw

Emit = Callable[[str], None]
"""Takes live text. The runtime passes one that drops it in rounds that nobody may read yet. One that has an attribute
`retrying`, a function of one text, is told there why a call is made again: a state, shown in blind rounds too. One that
has `failed`, a function of a text and the seconds until the next try, is told there where the call failed. One that has
`called` is told there of each call of a tool, in a line."""


def tell_retrying(emit: Emit, why: str, again_s: float | None = None, *, failed: bool = True) -> None:
    """Tell whoever wants to know that the call is made again. `why` holds no key and no address.

    Parameters
    ----------
    again_s
        Seconds until then; None: now.
    failed
        Whether the call failed; else the model needs more than it was given.
    """
    if (report := getattr(emit, "retrying", None)) is not None:
        report(why if again_s is None else f"{why}; next try in {again_s:.1f} s")
    if failed and (report := getattr(emit, "failed", None)) is not None:
        report(why, again_s or 0.0)


def tell_called(emit: Emit, what: str) -> None:
    """Tell whoever watches of a call of a tool, in a line; as live text where nobody takes it otherwise."""
    report = getattr(emit, "called", None)
    if report is not None:
        report(what)
    else:
        emit(f"\n{what}\n")


@dataclass(slots=True)
class LiveEmitter:
    """What a worker gives a model to speak into: `tell` takes a state and a text, live text only where it is shown;
    `failed` takes why the first call that failed did so, and the seconds until the next; `retried` hears of each."""

    _tell: Callable[[str, str], None]
    _stream: bool
    _failed: Callable[[str, float], None] | None = None
    _retried: Callable[[], None] | None = None

    def __call__(self, text: str) -> None:
        if self._stream:
            self._tell("text", text)

    def retrying(self, why: str) -> None:
        """Say that the call is made again."""
        self._tell("retrying", why)

    def failed(self, why: str, again_s: float) -> None:
        """Say that a call failed, and is made again; moderators hear of the first one alone."""
        if self._retried is not None:
            self._retried()
        report, self._failed = self._failed, None
        if report is not None:
            report(why, again_s)

    def called(self, what: str) -> None:
        """Say that a tool was called. This is shown also where live text is not."""
        self._tell("tool", what)


class ModelError(Exception):
    """Base: the model gave no reply. `usage` is what it spent on trying."""

    def __init__(self, why: str, usage: Usage | None = None) -> None:
        self.why = why
        self.usage = usage or Usage()
        super().__init__(why)


class ModelMisconfigured(ModelError):
    """The operator's: an unknown model, an option that it does not know."""


class ModelUnavailable(ModelError):
    """The environment's: not there, overloaded, too slow."""


class ModelRefused(ModelError):
    """The peer's: what it said is not what was asked, after every repair."""


class NotRecorded(ModelError):
    """A recording holds no reply for this turn."""


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """What a model answered."""

    body: Any
    """A message of the type that `Shown.reply` names, or raw JSON (the moderator checks it either way)."""
    usage: Usage = Usage()
    flags: tuple[str, ...] = ()
    """What the transcript shows beside it: `repaired`, `extracted`, `estimated`, `unpriced`, `cut`, `injection`."""
    raw: RawReply | None = None
    """What it said word for word, if the turn may go on after it."""
    found: tuple[LookUpResult, ...] = ()
    """What it looked up before it answered."""

    def json(self) -> Json:
        """The body as it goes into `Reply.body`."""
        return self.body if isinstance(self.body, msgspec.Raw) else raw(self.body)


class AroundModel:
    """A model around another: what it does not have itself is the other's."""

    def __init__(self, model: "Model") -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


class Model(Protocol):
    """Answers turns. Safe for several turns at once on one event loop; cancelling `reply` ends the call behind it."""

    @property
    def name(self) -> str:
        """The model's name, in announcements and beside each reply."""

    @property
    def family(self) -> str:
        """Whose model it is: two models of one family are not independent witnesses."""

    @property
    def metered(self) -> bool:
        """Whether it counts tokens. A model that does not reserves none, and costs nothing."""

    @property
    def usd_per_million_input(self) -> float:
        """US dollars for a million input tokens."""

    @property
    def usd_per_million_output(self) -> float:
        """US dollars for a million output tokens."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Answer one turn. Raises ModelError: no reply can be had; the text says why and may be shown to anybody."""
