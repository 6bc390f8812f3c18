"""What pages read: lists, snapshots, streams, exports, and the same events under other rules."""

import asyncio
import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from parley.bus.accounts import VIEWER
from parley.bus.errors import UnknownSession
from parley.client.errors import BadInput, NotAllowed
from parley.client.listing import ListFilter, Listing
from parley.client.protocols import setup_of
from parley.client.records import record_of
from parley.client.rendering import documents
from parley.client.show.words import reason_words
from parley.client.view.fold import Fold
from parley.client.what_if import compare, comparison_words
from parley.schemas import log
from parley.schemas.wire import decode
from parley.web.app import client_of, principal_of, shared_of
from parley.web.errors import JsonResponse
from parley.web.page import snapshot as snapshots
from parley.web.page.reading_requests import (
    body_of,
    everything_of,
    hub_of,
    known_id,
    may_take,
    seats_of,
    sid_of,
    whole_number,
)
from parley.web.page.shapes import SessionList, WhatIf, WhatIfAsked
from parley.web.page.stream import EventStream, FeedPosition, parse_position

CAN = ("export",)
"""What this gateway can do with a session, beside what needs more than its record."""
MOST_LISTED = 200
MOST_STREAMED = 32
"""Sessions of one stream."""
_DIGITS = 6
_FORMS = {
    "record": ("jsonl", "application/x-ndjson"),
    "html": ("html", "text/html"),
    "json": ("json", "application/json"),
}
"""Form of an export -> ending, media type."""
MOST_ENTRIES = 20_000
"""Entries of a record that is replayed here."""
PATIENCE_S = 30.0
_AT_ONCE = asyncio.Semaphore(2)
"""Replays that run at the same time."""
LISTING = Listing()


def can(request: Request) -> tuple[str, ...]:
    """What who asks can do here beside reading."""
    acts = ("act", "feedback", "fork") if principal_of(request).credentials.kind != VIEWER else ()
    owns = ("what-if",) if principal_of(request).operates else ()
    return (*CAN, *owns, *acts, *(("sit",) if may_take(request) else ()))


async def listed(request: Request) -> Response:
    """A page of the list."""
    asked = request.query_params
    limit = whole_number(request, "limit", 50, MOST_LISTED) or 50
    before = whole_number(request, "before", None, 2**53)
    wanted = ListFilter(
        words=asked.get("q", "")[:500],
        ended=asked.get("ended", ""),
        protocol=asked.get("protocol", ""),
        sure=_figure(request, "sure") or 0.0,
        usd=_figure(request, "usd"),
        since_ns=(whole_number(request, "since", 0, 2**53) or 0) * 1_000_000,
    )
    found = await LISTING.find(await client_of(request), wanted, limit=limit, before=before)
    rows = tuple(found.sessions)
    return JsonResponse(SessionList(sessions=rows, before=found.before, searched=found.searched, whole=found.whole))


def _figure(request: Request, name: str) -> float | None:
    """A number of 0 or more; None: it is not given. Raises BadInput."""
    text = request.query_params.get(name, "")
    try:
        value = float(text) if text else None
    except ValueError:
        raise BadInput(name, f"{text[:80]!r} is no number") from None
    if value is not None and not 0 <= value < math.inf:
        raise BadInput(name, f"{text[:80]!r}, wanted is 0 or more")
    return value


async def snapshot(request: Request) -> Response:
    """One session, whole."""
    sid, everything = sid_of(request), everything_of(request)
    principal, hub = principal_of(request), hub_of(request)
    try:
        feed = await hub.feed(principal, sid, everything=everything)
    except UnknownSession:
        row = await hub.row(principal, sid)
        if row is None:
            raise
        return JsonResponse(snapshots.session(Fold(sid, row), owner=False, can=()))
    fold = await feed.newest()
    sits, turns = seats_of(request).turns(principal, sid)
    shown = snapshots.session(
        fold, owner=principal.operates, user=principal.credentials.user, can=can(request), sits=sits, turns=turns
    )
    return JsonResponse(shown)


async def stream(request: Request) -> Response:
    """What happens in one session from a position on, or what is known of several."""
    alone = request.path_params.get("sid")
    named = [alone] if alone else request.query_params.get("session", "").split(",")
    sids = [known_id(sid) for sid in dict.fromkeys(named)]
    if len(sids) > MOST_STREAMED:
        raise BadInput("session", f"{len(sids)} sessions, allowed in one stream are {MOST_STREAMED}")
    everything = everything_of(request)
    text = request.headers.get("last-event-id") or request.query_params.get("from", "")
    position = parse_position(text) if alone else {}
    hub, principal = hub_of(request), principal_of(request)
    most = shared_of(request).config.streams
    if sum(of == principal.name for of in hub.streams.values()) >= most:
        raise HTTPException(429, f"{most} streams are open already", {"Retry-After": "10"})
    if request.method == "HEAD":  # it has no body: nothing is heard for it
        return Response(media_type=EventStream.media_type)
    place = object()
    hub.streams[place] = principal.name  # before anything is awaited: others ask at the same time
    try:
        feeds = [await hub.feed(principal, sid, everything=everything) for sid in sids]
        for feed in feeds:
            await feed.ready()
            seats_of(request).attach(principal, feed)
        views = [FeedPosition(feed, position, hub.metrics, brief=not alone) for feed in feeds]
    except BaseException:
        del hub.streams[place]
        raise
    return EventStream(views, hub.metrics, hub.streams, place)


async def export(request: Request) -> Response:
    """A session as a file."""
    form = request.path_params["form"]
    if form not in _FORMS:
        raise BadInput("form", f"got {form[:40]!r}, allowed are {', '.join(_FORMS)}")
    fold = await _fold(request)
    data = await asyncio.to_thread(lambda: "\n".join(_exported(fold, form)).encode() + b"\n")
    ending, media = _FORMS[form]
    name = f'attachment; filename="parley-{fold.sid}.{ending}"'
    return Response(data, media_type=media, headers={"content-disposition": name})


def _exported(fold: Fold, form: str) -> Iterator[str]:
    if form == "record":
        return documents.jsonl(fold)
    if form == "html":
        from parley.client.rendering import html

        return html.html(fold)
    return iter([msgspec.json.format(msgspec.json.encode(documents.document(fold)), indent=2).decode()])


async def document(request: Request) -> Response:
    """One document of a session, in pieces, with what was quoted of it."""
    text, fold = request.path_params["number"], await _fold(request)
    is_number = text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    view = await asyncio.to_thread(snapshots.document, fold, int(text)) if is_number else None
    if view is None:
        raise HTTPException(404, f"there is no document {text[:20]!r} of this session that you may read")
    return JsonResponse(view)


async def what_if(request: Request) -> Response:
    """The recorded events under other settings: no call is made."""
    asked = await body_of(request, WhatIfAsked)
    fold = await _fold(request)
    if not fold.texts:
        raise NotAllowed("session", "its events are replayed from its log, which an owner's credentials read")
    return JsonResponse(await replayed(fold, asked.settings))


async def _fold(request: Request) -> Fold:
    feed = await hub_of(request).feed(principal_of(request), sid_of(request), everything=everything_of(request))
    return await feed.newest()


# -- the same events under other settings
async def replayed(fold: Fold, settings: Mapping[str, Any]) -> WhatIf:
    """The session under these settings of its protocol. Raises BadInput, Altered."""
    if not settings:
        raise BadInput("settings", "name at least one setting to change")
    setup_of(fold.protocol).refuse_local_files(settings)
    if len(fold.texts) > MOST_ENTRIES:
        raise BadInput("session", f"{len(fold.texts):,} entries, replayed here are at most {MOST_ENTRIES:,}")
    record = record_of(fold.sid, tuple(fold.texts))
    async with _AT_ONCE:
        try:
            async with asyncio.timeout(PATIENCE_S):
                comparison = await asyncio.to_thread(compare, record, {fold.protocol: dict(settings)})
        except TimeoutError:
            raise BadInput("session", f"the replay took longer than {PATIENCE_S:g} s") from None
    return _told(fold, settings, comparison)


def _told(fold: Fold, settings: Mapping[str, Any], comparison: dict[str, Any]) -> WhatIf:
    at, stop = comparison["n"], comparison["stop"] or ""
    tokens, cost = _after(fold, at) if at is not None and stop else (None, None)
    result = comparison["result"] or {}
    answer = (result.get("outcome") or {}).get("answer")
    converged = bool((result.get("stop") or {}).get("converged", True))
    return WhatIf(
        settings=dict(settings),
        parts_at=at,
        round=_round(fold, at) if at is not None else None,
        how=comparison["how"],
        stop=stop,
        stop_words=reason_words(stop, converged) if stop else "",
        answer=answer if isinstance(answer, str) else "",
        saved_tokens=tokens,
        saved_cost_usd=cost,
        words=tuple(comparison_words(comparison)),
    )


def _after(fold: Fold, at: int) -> tuple[int, float]:
    """What the recorded run used behind a transition, without the turns that word its end: the other run has such
    turns, too."""
    tokens, cost, ends = 0, 0.0, set[str]()
    for text in fold.texts:
        entry = decode(text.encode(), log.Entry)
        asks = ((i, c) for i, c in enumerate(entry.commands) if isinstance(c, log.Ask))
        ends |= {f"{entry.n}-{i}" for i, ask in asks if ask.final}
        event = entry.event
        if entry.n > at and isinstance(event, log.Replied) and event.turn not in ends:
            tokens += event.usage.input_tokens + event.usage.output_tokens
            cost += event.usage.cost_usd
    return tokens, cost


def _round(fold: Fold, at: int) -> int | None:
    return max((post.round for post in fold.posts if post.transition <= at), default=None)
