"""What a page asks and sends, and what it is answered (routes: parley/web/page/shapes.py)."""

from typing import Any, Literal

import msgspec

from parley.client.people.inbox import InboxItem
from parley.schemas.post import LimitUse
from parley.web.health import Lack


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting of a protocol, for a form."""

    name: str
    kind: Literal["integer", "number", "switch", "choice", "text", "list", "pairs"]
    """`list`: one value a line; `pairs`: `name = value` a line."""
    item: Literal["text", "integer", "number"] = "text"
    """What a value of a list or of pairs is."""
    common: bool = False
    """It has an option of its own on the command line: the form of a new session has these alone."""
    default: Any = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    help: str = ""
    replayable: bool = True
    """False: it acts before the first event, so no what-if changes with it."""


class ProtocolOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A protocol that may be started."""

    name: str
    about: str
    """How its sessions go, in a sentence or two."""
    roles: tuple[str, ...] = ()
    """Of its seats: a person may take those."""
    readers: tuple[str, ...] = ()
    """Roles whose seats get the evidence."""
    dealt: str = ""
    """Who gets which document, in a sentence."""
    panel: str = ""
    """The setting that says how many argue; empty: the protocol has none."""
    panel_size: int = 0
    """How many where nothing is said."""
    round_name: str = "Round"
    settings: tuple[Setting, ...] = ()


class SeatToTake(msgspec.Struct, frozen=True, kw_only=True):
    """A seat that this principal may sit on."""

    seat: str
    role: str


class Me(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and what it may do."""

    name: str
    user: str
    """Of the bus."""
    operates: bool
    """It sees all sessions of the tenant, their logs and the agents."""
    can: tuple[str, ...] = ()
    """Of: act (open, cancel, decide), feedback, fork, sit, export, what-if."""
    default_protocol: str
    protocols: tuple[ProtocolOffer, ...]
    options: tuple[Setting, ...] = ()
    """What a session of any protocol takes besides."""
    seats: tuple[SeatToTake, ...] = ()
    packages: tuple[str, ...] = ()
    """How names of packages' seats begin; people read what comes behind that."""
    limits: dict[str, int] = {}
    """question (characters), document (characters), evidence (characters), upload (bytes)."""


class EstimateAmount(msgspec.Struct, frozen=True, kw_only=True):
    """What may be used."""

    turns: int
    calls: int
    tokens: int
    cost_usd: float


class Estimated(msgspec.Struct, frozen=True, kw_only=True):
    """What a session may come to."""

    words: tuple[str, ...]
    """The same in lines."""
    likely: EstimateAmount
    most: EstimateAmount | None
    """None: not known before the task has chosen its experts."""
    rounds: int
    unpriced: bool = False
    """Of some of the models no price is known: they are counted as free."""
    shortfall: str = ""
    """Why the budget does not hold one round; empty: it does."""


class LimitsUsed(msgspec.Struct, frozen=True, kw_only=True):
    """What is used of the limits of who asks."""

    limits: tuple[LimitUse, ...]
    """Empty: there are none, or who asks opens no sessions."""


class Cancel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """End it before its protocol does."""

    reason: str = ""


class Decide(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Answer an open item, or decide what may be decided unasked."""

    item: str
    choice: str
    note: str = ""


class GiveFeedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a closed session's result is right."""

    right: bool
    answer: str = ""
    """What would have been right."""
    note: str = ""


class Fork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A new session that carries the record of a closed one on."""

    round: int | None = None
    """The round after which it goes on by itself; None: the last whole one."""
    settings: dict[str, Any] = {}
    """Those of its protocol that are to change."""
    budget: dict[str, float | None] = {}
    """For what it does itself; empty: the limits of the record's session, anew."""


class SitDown(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Take a seat."""

    seconds: float = 300.0
    then: Literal["agent", "miss", "wait"] = "agent"
    """When the time of a turn is over."""


class SeatReply(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person says in a turn."""

    turn: str
    body: dict[str, Any]


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """It was done."""

    ok: bool = True
    message: str = ""


class WhatIfAsked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The session's own settings, changed."""

    settings: dict[str, Any]


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded events under other settings."""

    settings: dict[str, Any]
    parts_at: int | None
    """The transition at which the runs part; None: they never do, within the record."""
    round: int | None = None
    """The round in which they part."""
    how: str
    stop: str = ""
    """The stop reason that this run reaches; empty: none within the record."""
    stop_words: str = ""
    answer: str = ""
    """What it would have answered, where the record carries it."""
    saved_tokens: int | None = None
    """None: it does not end earlier."""
    saved_cost_usd: float | None = None
    words: tuple[str, ...] = ()


class Inbox(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for a human, the most urgent first."""

    items: tuple[InboxItem, ...]


class Bus(msgspec.Struct, frozen=True, kw_only=True):
    """The servers behind the gateway."""

    lacking: str
    """What they lack, so that nothing is stored; empty: nothing that is known of."""


class Expert(msgspec.Struct, frozen=True, kw_only=True):
    """An expert that was announced."""

    id: str
    name: str = ""
    version: str = ""
    general: bool = False
    """It takes what nobody else does."""
    about: str = ""
    """What it is for, in a sentence."""
    queue: str = ""
    """That its workers serve."""


class LiveWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker that is alive."""

    queue: str
    role: str
    model: str = ""
    family: str = ""
    copies: int = 1
    room: int = 0
    """Turns at once."""
    waiting: int | None = None
    """Turns in its queue that no worker has yet; None: not known."""
    metered: bool = False


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A model that answers for queues."""

    model: str
    family: str = ""
    queues: tuple[str, ...] = ()
    health: Literal["ok", "warning", "failed", "unknown"] = "unknown"
    words: str = ""


class Agents(msgspec.Struct, frozen=True, kw_only=True):
    """Who is there."""

    heard: bool
    """A moderator has listened for long enough to know all."""
    workers: tuple[LiveWorker, ...] = ()
    experts: tuple[Expert, ...] = ()
    models: tuple[Model, ...] = ()
    missing: tuple[Lack, ...] = ()
    """What `parley doctor` says is missing on the machine of the gateway."""
    looked: bool = False
    """Whether the models' health is what `parley doctor` finds; else it is what their workers announce."""
