"""Every JSON document of the web page, and every event of its streams. The page's scripts are written against these.

Pages: `GET /`, `/new`, `/inbox`, `/agents`, `/compare`, `/s/{sid}`, `/s/{sid}/documents/{number}` all answer
with the same shell (static/index.html).

| route | takes | gives |
|---|---|---|
| GET /api/me | | Me |
| GET /api/limits | | LimitsUsed |
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
| GET /api/inbox | | Inbox |
| GET /api/bus | | Bus |
| GET /api/agents | owners only | Agents |
| POST /api/sessions/{sid}/seats/{seat}/sit | SitDown | Done |
| POST /api/sessions/{sid}/seats/{seat}/leave | | Done |
| POST /api/sessions/{sid}/seats/{seat}/reply | SeatReply | Done |
| POST /api/sessions/{sid}/feedback | GiveFeedback: of a closed session, right or wrong | Done |
| POST /api/sessions/{sid}/fork | Fork: of a closed session of one's own | `session`: its id, 201 |

The documents that a page sends, and the answers to them, stand in `asked.py`, those of a session, of lists and of
streams here.

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
    fields: tuple["HumanField", ...] = ()
    """What is to be filled in, in this order."""
    error: str = ""
    """Why the last attempt was not accepted."""


class HumanField(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a reply."""

    name: str
    label: str
    kind: Literal["text", "long", "integer", "number", "switch", "choice", "list", "pairs", "group", "rows"]
    """`list`: one value a line; `pairs`: `name = value` a line; `group`: an object; `rows`: a list of objects."""
    item: Literal["text", "integer", "number"] = "text"
    """What a value of a choice, a list or of pairs is."""
    required: bool = True
    default: Any = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """The choices as they are read, in their order."""
    suggested: tuple[str, ...] = ()
    """What may be meant, beside anything else."""
    least: float | None = None
    most: float | None = None
    help: str = ""
    fields: tuple["HumanField", ...] = ()
    """Of a group, and of each row."""


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
