"""What people do with sessions: cancel, answer what waits for them, sit down, give feedback, fork; see who is there."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal

from starlette.requests import Request
from starlette.responses import Response

from parley.agents.experts import builtin
from parley.client.errors import BadInput, NotAllowed
from parley.client.opening import limits_of, without_files
from parley.client.people import inbox as questions
from parley.client.people import sitting
from parley.client.what_if import wanted
from parley.observability import caller
from parley.schemas.expert import queue_of
from parley.schemas.presence import Announcement, Workers
from parley.schemas.session import ForkSession
from parley.web.app import client_of, principal_of, shared_of
from parley.web.errors import JsonResponse
from parley.web.health import Health, ModelHealth
from parley.web.page.reading_requests import body_of, hub_of, may_take, seats_of, sid_of
from parley.web.page.shapes import (
    Agents,
    Cancel,
    Decide,
    Done,
    Expert,
    Fork,
    GiveFeedback,
    Model,
    SeatReply,
    SitDown,
)
from parley.web.program_sessions import acted_on

MOST_REASON = 2_000
Health_ = Literal["ok", "warning", "failed", "unknown"]


async def cancel(request: Request) -> Response:
    """End a session before its protocol does."""
    asked, sid = await body_of(request, Cancel), sid_of(request)
    if len(asked.reason) > MOST_REASON:
        raise BadInput("reason", f"{len(asked.reason):,} characters, allowed are {MOST_REASON:,}")
    client = await client_of(request)
    await acted_on(client, sid)
    await client.cancel(sid, asked.reason or "ended on the web page")
    return JsonResponse(Done(message="the session is being ended"))


async def answer_now(request: Request) -> Response:
    """End a session with what it has come to by now."""
    client, sid = await client_of(request), sid_of(request)
    await acted_on(client, sid)
    await client.answer_now(sid)
    return JsonResponse(Done(message="the session ends with the answer that there is"))


async def decide(request: Request) -> Response:
    """Answer an open item, or override who leads."""
    asked = await body_of(request, Decide)
    client, sid = await client_of(request), sid_of(request)
    await acted_on(client, sid)
    await questions.answer(client, sid, asked.item, asked.choice, asked.note)
    return JsonResponse(Done(message=f"{asked.item} is answered with {asked.choice[:200]}"))


async def sit(request: Request) -> Response:
    """Take a seat."""
    asked, sid, seat = await body_of(request, SitDown), sid_of(request), request.path_params["seat"]
    order = sitting.order_of(seat, asked.seconds, asked.then)
    principal = principal_of(request)
    feed = await hub_of(request).feed(principal, sid)  # raises where the session may not be read
    await seats_of(request).sit(principal, sid, order, may_take(request))
    seats_of(request).attach(principal, feed)
    return JsonResponse(Done(message=f"you sit on {seat}"))


async def leave(request: Request) -> Response:
    """Give a seat back to its agent."""
    sid, seat = sid_of(request), request.path_params["seat"]
    await seats_of(request).leave(principal_of(request), sid, seat)
    return JsonResponse(Done(message=f"you have left {seat}"))


async def reply(request: Request) -> Response:
    """Say something in the turn that waits."""
    asked, sid, seat = await body_of(request, SeatReply), sid_of(request), request.path_params["seat"]
    seats_of(request).says(principal_of(request), sid, seat, asked.turn, asked.body)
    return JsonResponse(Done(message="sent"))


async def feedback(request: Request) -> Response:
    """Keep what somebody says of a result."""
    asked, sid = await body_of(request, GiveFeedback), sid_of(request)
    client = await client_of(request)
    await acted_on(client, sid)
    await client.feedback(sid, right=asked.right, answer=asked.answer, note=asked.note)
    return JsonResponse(Done(message=f"its result is {'right' if asked.right else 'wrong'}, as you say"))


async def fork(request: Request) -> Response:
    """Open a session that carries the record of another one on."""
    asked, sid = await body_of(request, Fork), sid_of(request)
    client = await client_of(request)
    row = await acted_on(client, sid, own=True)
    without_files(row.protocol, asked.settings)
    changed = wanted(row.protocol, {row.protocol: asked.settings})
    opening = ForkSession(of=sid, round=asked.round, settings=changed, budget=limits_of(asked.budget, "page"))
    with caller.root("parley gateway"):
        opened = await client.fork(opening)
    return JsonResponse({"session": opened}, 201)


async def inbox(request: Request) -> Response:
    """Everything that waits for a human."""
    return JsonResponse({"items": await questions.waiting(await client_of(request))})


async def bus(request: Request) -> Response:
    """What the servers lack just now. Nobody is asked for it: the connection knows."""
    return JsonResponse({"lacking": (await client_of(request)).connection.nc.lacking})


async def agents(request: Request) -> Response:
    """Who is there. Raises NotAllowed where no owner asks."""
    if not principal_of(request).operates:
        raise NotAllowed("creds", "who is there is told to owners")
    presence, health = await asyncio.gather((await client_of(request)).workers(), shared_of(request).looks.last())
    return JsonResponse(seen(presence, health))


def seen(presence: Workers, health: Health | None) -> Agents:
    """Workers, experts and models, as a moderator has heard of them. `health`: what was found where it was looked."""
    found = health or Health()
    shipped = {spec.id: spec.deliberation.claim for spec in builtin()}
    experts = (
        Expert(id=e.id, name=e.name, version=e.version, general=e.general, about=shipped.get(e.id, e.category),
               queue=queue_of(e.id))
        for e in presence.experts
    )  # fmt: skip
    return Agents(
        heard=presence.heard,
        workers=tuple(presence.workers),
        waiting=found.waiting,
        experts=tuple(experts),
        models=models(presence.workers, found.models),
        missing=found.missing,
        looked=health is not None,
    )


def models(workers: Sequence[Announcement], health_of: Mapping[str, ModelHealth]) -> tuple[Model, ...]:
    """Models by name, which queues each answers for, and its health: as it was found, else as its workers announce."""
    by_name: dict[tuple[str, str], list[Announcement]] = {}
    for w in workers:
        by_name.setdefault((w.model, w.family), []).append(w)
    made = []
    for (name, family), announcements in by_name.items():
        health, words = _health([health_of[w.queue] for w in announcements if w.queue in health_of], announcements)
        queues = tuple(dict.fromkeys(w.queue for w in announcements))
        made.append(Model(model=name, family=family, queues=queues, health=health, words=words))
    return tuple(made)


def _health(looks: Sequence[ModelHealth], announcements: Sequence[Announcement]) -> tuple[Health_, str]:
    if away := next((w.no_server for w in announcements if w.no_server), ""):
        return "failed", away
    status = {look.status for look in looks}
    if "missing" in status:
        return "failed", "it does not answer"
    health: Health_ = "warning" if all(w.draining for w in announcements) else "ok"
    seconds = [look.seconds for look in looks if look.seconds is not None]
    if not announcements[0].metered:
        parts = ["no language model: answers from documents"]
    elif seconds:
        parts = [f"answered a tiny question in {max(seconds):.1f} s"]
    elif "configured" in status:
        health, parts = "unknown", ["configured, and not asked: that is paid for (parley doctor --probe asks)"]
    else:
        parts = ["announced by its worker, and not asked"]
    tools = next((w.no_tools for w in announcements if isinstance(w.no_tools, str) and w.no_tools), "")
    if tools:
        parts.append(f"tools that do not start: {tools}")
    if all(w.draining for w in announcements):
        parts.append("its workers are ending")
    return health, "; ".join(parts)
