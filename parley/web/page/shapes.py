"""Every JSON document of the web page, and every event of its streams. The page's scripts are written against these.

Pages: `GET /`, `/new`, `/inbox`, `/agents`, `/compare`, `/s/{sid}`, `/s/{sid}/documents/{number}` all answer
with the same shell (static/index.html).

| route | takes | gives |
|---|---|---|
| GET /api/me | | Me |
| GET /api/limits | | `limits`: LimitUse of each; none where who asks opens no sessions |
| GET /api/sessions | `q`, `ended`, `protocol`, `sure`, `usd`, `since` (ms), `before`, `limit` | SessionList |
| POST /api/sessions | multipart: `request` (JSON), any number of files `evidence` | `session`: its id, 201 |
| POST /api/estimate | the same | Estimated |
| GET /api/sessions/{sid} | `everything=1`: every channel, owners only | Session |
| GET /api/sessions/{sid}/events | `from` or the header Last-Event-ID: a position; `everything=1` | a stream |
| GET /api/events | `session=a,b` (at most 32), `everything=1` | one stream of what is known of several sessions |
| GET /api/sessions/{sid}/documents/{number} | number: as a quotation's `file` has it; owners only | DocumentView |
| POST /api/sessions/{sid}/cancel | Cancel | Done |
| POST /api/sessions/{sid}/answer-now | - | Done |
| POST /api/sessions/{sid}/what-if | WhatIfAsked | WhatIf |
| GET /api/sessions/{sid}/export/{form} | form: `record`, `html`, `json`; `everything=1` | a file |
| POST /api/sessions/{sid}/decide | Decide: an open item, or an override such as the lead | Done |
| GET /api/inbox | | `items`: what waits for a human, the most urgent first |
| GET /api/bus | | `lacking`: what its servers lack, so that nothing is stored; empty: nothing that is known of |
| GET /api/agents | owners only | Agents |
| POST /api/sessions/{sid}/seats/{seat}/sit | SitDown | Done |
| POST /api/sessions/{sid}/seats/{seat}/leave | | Done |
| POST /api/sessions/{sid}/seats/{seat}/reply | SeatReply | Done |
| POST /api/sessions/{sid}/feedback | GiveFeedback: of a closed session, right or wrong | Done |
| POST /api/sessions/{sid}/fork | Fork: of a closed session of one's own | `session`: its id, 201 |

An error is `{"error": {"field", "message"}}` (parley.web.errors).

**A position** says how many posts of each channel were taken: `control:3,public:12`. `PageSession.position` is one;
the page begins its stream with `?from=` it. An empty position is the beginning.

**A stream** is SSE. Its events carry JSON:

| event | data | id | |
|---|---|---|---|
| post | PostEvent | the position after it | each post once, whatever was cut |
| live | Live (parley/schemas/post.py) | none | what a seat is at; lost when the stream is cut |
| view | `session`, and the fields of the SessionView that changed, all but `rounds` | none | what is known now |
| turn | TurnEvent | none | a turn of a seat that this principal sits on, or that it is over |
| trouble | TroubleEvent | none | the bus went away, or is back; the stream goes on by itself |
| end | EndEvent | none | nothing more comes of this session |

The stream of several has no `post` and no `live`: a list of running sessions needs their views alone.

All but `post` and `live` tell a whole state that replaces the one before: `view` of each of its fields. A stream begins
with all that is known. After the last session's `end` the server closes: close the EventSource at `end`, or it asks
again. A viewer that reads too slowly is cut, and goes on from its last id.

Cards, chips, quotes, parts and series are those of parley/client/show/card.py, the card of a result that of
parley/client/show/answer.py, the rest of a session's view that of parley/client/view/shapes.py.

Texts are data: whoever shows them sets textContent. Control characters are in them as they were said.
"""

from typing import Any, Literal

import msgspec

from parley.client.show.session_list import SessionLine
from parley.client.view.passages import Passage
from parley.client.view.shapes import PostCard, SessionView
from parley.coordinator.estimate import Amount
from parley.schemas.presence import Announcement
from parley.web.health import Lack


class SessionList(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions, those that changed last first: feedback is a change, too."""

    sessions: tuple[SessionLine, ...]
    before: int | None = None
    """For the next page; None: there is none."""
    searched: int
    """Rows that were looked at."""
    whole: bool = True
    """False: sessions may be missing until the index is rebuilt."""


class DocumentView(msgspec.Struct, frozen=True, kw_only=True):
    """One document with what posts quote of it."""

    session: str
    question: str
    round_name: str
    name: str
    characters: int
    holders: tuple[str, ...] = ()
    passages: tuple[Passage, ...]
    """Together they are the text."""
    missing: tuple[str, ...] = ()
    """Quotations that do not stand in it word for word."""
    posts: dict[str, tuple[str, int]] = {}
    """Quotation -> seat and round of its post."""


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """What a human may decide unasked: sent as Decide with this item."""

    item: str
    about: str


class HumanTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that waits for the person who asks."""

    seat: str
    turn: str
    """Sent back with the reply."""
    kind: str
    round: int
    deadline_ms: int
    asked: str
    """What is wanted, in a sentence."""
    question: str
    """The session's."""
    prompt: str
    """All that the seat is shown, as the terminal shows it."""
    fields: tuple["FormField", ...] = ()
    """What is to be filled in, in this order."""
    error: str = ""
    """Why the last attempt was not accepted."""


class FormField(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a form: a setting of a protocol, or a part of a reply."""

    name: str
    label: str = ""
    """Empty: its name in words."""
    kind: Literal["text", "long", "integer", "number", "switch", "choice", "list", "pairs", "group", "rows"]
    """`list`: one value a line; `pairs`: `name = value` a line; `group`: an object; `rows`: a list of objects."""
    item: Literal["text", "integer", "number"] = "text"
    """What a value of a choice, a list or of pairs is."""
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """The choices as they are read, in their order."""
    suggested: tuple[str, ...] = ()
    """What may be meant, beside anything else."""
    least: float | None = None
    most: float | None = None
    help: str = ""
    fields: tuple["FormField", ...] = ()
    """Of a group, and of each row."""
    common: bool = False
    """A setting that has an option of its own on the command line: the form of a new session has these alone."""
    replayable: bool = True
    """False: a setting that acts before the first event, so no what-if changes with it."""


class PageSession(SessionView, kw_only=True):
    """One session, whole, as far as who asks may see it, with what who asks may do."""

    position: str
    """Where this snapshot ends: a stream from here misses and repeats nothing."""
    overrides: tuple[Override, ...] = ()
    sits: tuple[str, ...] = ()
    """Seats on which who asks sits now."""
    turns: tuple[HumanTurn, ...] = ()
    """Turns that wait there."""
    may: tuple[str, ...] = ()
    """Of: cancel, decide, what-if, everything, export, sit, feedback, fork."""


class PostEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`post`."""

    session: str
    post: PostCard
    round_title: str = ""
    """`Round 2`"""
    round_note: str = ""
    """As that of a round of the view (parley.client.view.shapes.RoundView)."""


class TurnEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`turn`: what the person on this seat is asked now; None: nothing."""

    session: str
    seat: str
    turn: HumanTurn | None
    message: str = ""


class TroubleEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`trouble`."""

    away: bool
    """False: it is back."""
    message: str
    session: str


class EndEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`end`."""

    session: str
    why: str = ""
    """Empty: the session is closed; else why nothing more comes."""


# -- what a page asks and sends, and what it is answered
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
    settings: tuple["FormField", ...] = ()


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
    options: tuple["FormField", ...] = ()
    """What a session of any protocol takes besides."""
    seats: tuple[SeatToTake, ...] = ()
    packages: tuple[str, ...] = ()
    """How names of packages' seats begin; people read what comes behind that."""
    limits: dict[str, int] = {}
    """question (characters), document (characters), evidence (characters), upload (bytes)."""


class Estimated(msgspec.Struct, frozen=True, kw_only=True):
    """What a session may come to."""

    words: tuple[str, ...]
    """The same in lines."""
    likely: Amount
    most: Amount | None
    """None: not known before the task has chosen its experts."""
    rounds: int
    unpriced: bool = False
    """Of some of the models no price is known: they are counted as free."""
    shortfall: str = ""
    """Why the budget does not hold one round; empty: it does."""


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
    workers: tuple[Announcement, ...] = ()
    waiting: dict[str, int] | None = None
    """Queue -> turns that no worker has yet; None: not known."""
    experts: tuple[Expert, ...] = ()
    models: tuple[Model, ...] = ()
    missing: tuple[Lack, ...] = ()
    """What `parley doctor` says is missing on the machine of the gateway."""
    looked: bool = False
    """Whether the models' health is what `parley doctor` finds; else it is what their workers announce."""
