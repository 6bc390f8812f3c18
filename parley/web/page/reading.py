"""What pages read: lists, snapshots, streams, exports, and the same events under other rules."""

import asyncio
from collections.abc import Iterator

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from parley.bus.accounts import VIEWER
from parley.bus.errors import UnknownSession
from parley.client.errors import BadInput, NotAllowed
from parley.client.rendering import documents
from parley.client.show.session_list import has_words
from parley.client.view.fold import Fold
from parley.coordinator.protocols import STANDING
from parley.schemas.post import SessionRow
from parley.schemas.stops import STOPS
from parley.web.app import client_of, principal_of, shared_of
from parley.web.errors import JsonResponse
from parley.web.page import snapshot as snapshots
from parley.web.page.asked import WhatIfAsked
from parley.web.page.asking import (
    body_of,
    everything_of,
    hub_of,
    known_id,
    may_take,
    resumed,
    seats_of,
    sid_of,
    whole_number,
)
from parley.web.page.positions import parse_positions
from parley.web.page.shadow import Shadows
from parley.web.page.shapes import Row, SessionList
from parley.web.page.stream import EventStream, View
from parley.web.page.turns import tickets

CAN = ("export",)
"""What this gateway can do with a session, beside what needs more than its record."""
MOST_LISTED = 200
MOST_SEARCHED = 2_000
"""Rows that one search looks at."""
MOST_STREAMED = 32
"""Sessions of one stream."""
_PAGE = 200
_DIGITS = 6
_FORMS = {
    "record": ("jsonl", "application/x-ndjson"),
    "html": ("html", "text/html"),
    "json": ("json", "application/json"),
}
"""Form of an export -> ending, media type."""
SHADOWS = Shadows()


def can(request: Request) -> tuple[str, ...]:
    """What who asks can do here beside reading."""
    acts = ("act", "feedback", "fork") if principal_of(request).credentials.kind != VIEWER else ()
    owns = ("what-if",) if principal_of(request).operates else ()
    return (*CAN, *owns, *acts, *(("sit",) if may_take(request) else ()))


async def listed(request: Request) -> Response:
    """A page of the list."""
    limit = whole_number(request, "limit", 50, MOST_LISTED) or 50
    before = whole_number(request, "before", None, 2**53)
    query, status = request.query_params.get("q", "")[:500], request.query_params.get("status", "")
    protocol = request.query_params.get("protocol", "")
    client = await client_of(request)
    matching: list[SessionRow] = []
    searched, more, whole = 0, True, True
    while more and len(matching) < limit and searched < MOST_SEARCHED:
        page = await client.listed(_PAGE, only_open=status == "open", before=before)
        more, whole = len(page.rows) == _PAGE, whole and page.whole
        for row in page.rows:
            before, searched = row.seq, searched + 1
            if _wanted(row, query, status, protocol):
                matching.append(row)
                if len(matching) == limit:
                    more = more or row is not page.rows[-1]
                    break
    rows = tuple(_row(row) for row in matching)
    return JsonResponse(SessionList(sessions=rows, before=before if more else None, searched=searched, whole=whole))


def _wanted(row: SessionRow, query: str, status: str, protocol: str) -> bool:
    if row.session in STANDING or (status and row.status != status) or (protocol and row.protocol != protocol):
        return False
    return not query or row.session.startswith(query.strip()) or has_words([query], row.question)


def _row(row: SessionRow) -> Row:
    known = STOPS.get(row.reason) if row.status == "finished" else None
    sure = known is not None and (not known.converged or not known.unless)
    return Row(
        session=row.session, question=row.question, protocol=row.protocol, status=row.status, reason=row.reason,
        converged=known.converged if known is not None and sure else None, opened_ms=row.opened_ns // 1_000_000,
        closed_ms=row.closed_ns // 1_000_000 if row.closed_ns else None, owner=row.owner, feedback=row.feedback,
    )  # fmt: skip


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
        return JsonResponse(snapshots.of_row(row))
    fold = await feed.caught_up()
    over = await resumed(request, sid)
    sits, turns = seats_of(request).turns(principal, sid)
    shown = snapshots.session(
        fold, owner=principal.operates, user=principal.credentials.user, can=can(request), sits=sits, turns=turns
    )
    response = JsonResponse(shown)
    tickets.take(request, response, over)
    return response


async def stream(request: Request) -> Response:
    """What happens in one session, or several, from a position on."""
    alone = request.path_params.get("sid")
    named = [alone] if alone else request.query_params.get("session", "").split(",")
    sids = [known_id(sid) for sid in dict.fromkeys(named)]
    if len(sids) > MOST_STREAMED:
        raise BadInput("session", f"{len(sids)} sessions, allowed in one stream are {MOST_STREAMED}")
    everything = everything_of(request)
    text = request.headers.get("last-event-id") or request.query_params.get("from", "")
    positions = parse_positions(text, sids)
    brief = request.query_params.get("brief", "") in ("1", "true")
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
            await resumed(request, feed.sid)
            seats_of(request).attach(principal, feed)
        views = [View(feed, positions[feed.sid], hub.metrics, brief=brief) for feed in feeds]
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
    fold = await _record(request)
    return JsonResponse(await SHADOWS.what_if(fold, asked.settings))


async def shadow(request: Request) -> Response:
    """Where other rules would have ended it."""
    return JsonResponse(await SHADOWS.shadow(await _record(request)))


async def _record(request: Request) -> Fold:
    """A session whose log may be read. Raises NotAllowed."""
    fold = await _fold(request)
    if not fold.texts:
        raise NotAllowed("session", "its events are replayed from its log, which an owner's credentials read")
    return fold


async def _fold(request: Request) -> Fold:
    feed = await hub_of(request).feed(principal_of(request), sid_of(request), everything=everything_of(request))
    return await feed.caught_up()
