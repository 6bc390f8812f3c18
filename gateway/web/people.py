"""What people do with running sessions: cancel, answer what waits for them, see who is there."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from client.errors import BadInput, NotAllowed
from client.people import inbox as questions
from client.people import sitting
from gateway.app import client_of, principal_of
from gateway.asking import acted_on
from gateway.errors import JsonResponse
from gateway.web.asked import Agents, Cancel, Decide, Done, Expert, Inbox, Model, SeatReply, SitDown, Worker
from gateway.web.asking import body_of, hub_of, may_take, seats_of, sid_of
from gateway.web.shapes import OpenItem
from schemas.presence import Announcement, Workers

MOST_REASON = 2_000


async def cancel(request: Request) -> Response:
    """End a session before its protocol does."""
    asked, sid = await body_of(request, Cancel), sid_of(request)
    if len(asked.reason) > MOST_REASON:
        raise BadInput("reason", f"{len(asked.reason):,} characters, allowed are {MOST_REASON:,}")
    client = await client_of(request)
    await acted_on(client, sid)
    await client.cancel(sid, asked.reason or "ended on the web page")
    return JsonResponse(Done(message="the session is being ended"))


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
    seat = request.path_params["seat"]
    await seats_of(request).leave(principal_of(request), sid_of(request), seat)
    return JsonResponse(Done(message=f"you have left {seat}"))


async def reply(request: Request) -> Response:
    """Say something in the turn that waits."""
    asked, sid, seat = await body_of(request, SeatReply), sid_of(request), request.path_params["seat"]
    seats_of(request).says(principal_of(request), sid, seat, asked.turn, asked.body)
    return JsonResponse(Done(message="sent"))


async def inbox(request: Request) -> Response:
    """Everything that waits for a human."""
    found = await questions.waiting(await client_of(request))
    items = tuple(
        OpenItem(
            session=w.session, task=w.task, item=w.item, kind=w.kind, question=w.question, choices=w.choices,
            default=w.default, deadline_ms=w.deadline_ns // 1_000_000,
        )
        for w in found
    )  # fmt: skip
    return JsonResponse(Inbox(items=items))


async def agents(request: Request) -> Response:
    """Who is there. Raises NotAllowed where no owner asks."""
    if not principal_of(request).operates:
        raise NotAllowed("creds", "who is there is told to owners")
    there = await (await client_of(request)).workers()
    return JsonResponse(seen(there))


def seen(there: Workers) -> Agents:
    """Workers, experts and models, as a moderator has heard of them."""
    workers = tuple(_worker(w) for w in there.workers)
    experts = tuple(Expert(id=e.id, name=e.name, version=e.version, general=e.general) for e in there.experts)
    return Agents(heard=there.heard, workers=workers, experts=experts, models=models(there.workers))


def _worker(w: Announcement) -> Worker:
    return Worker(
        queue=w.queue, role=w.roles[0], model=w.model, family=w.family, copies=w.copies or 1, room=w.room,
        metered=w.metered,
    )  # fmt: skip


def models(workers: Sequence[Announcement]) -> tuple[Model, ...]:
    """Models by name, and which queues each answers for. One that is announced answers: its worker is alive."""
    by_name: dict[tuple[str, str], list[Announcement]] = {}
    for w in workers:
        by_name.setdefault((w.model, w.family), []).append(w)
    return tuple(
        Model(
            model=name, family=family, queues=tuple(dict.fromkeys(w.queue for w in those)),
            health="warning" if all(w.draining for w in those) else "ok", words=_words(those),
        )
        for (name, family), those in by_name.items()
    )  # fmt: skip


def _words(those: Sequence[Announcement]) -> str:
    parts = ["no language model: answers from documents" if not those[0].metered else "announced by its worker"]
    tools = next((w.no_tools for w in those if isinstance(w.no_tools, str) and w.no_tools), "")
    if tools:
        parts.append(f"tools that do not start: {tools}")
    if all(w.draining for w in those):
        parts.append("its workers are ending")
    return "; ".join(parts)
