"""The tools: functions over whoever asks. Each checks what it can, calls the client, and gives back a model."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
from mcp.types import InputRequiredResult
from pydantic import Field

from parley.agents.experts import ExpertError, builtin
from parley.client import records, what_if
from parley.client.api import Parley
from parley.client.errors import BadInput, NotAllowed, Refusal, bad_input
from parley.client.evidence import ReadEvidence
from parley.client.opening import without_files
from parley.client.protocols import task_setup
from parley.client.records import Record, record_of
from parley.client.rendering import documents as rendered
from parley.client.rendering import explain
from parley.client.text import hung
from parley.client.untrusted import cleaned
from parley.schemas.session import OpenSession
from parley.schemas.wire import InvalidValue
from parley.web import program_sessions, verdicts
from parley.web.mcp import projects
from parley.web.mcp.following import Asking, errors, run
from parley.web.mcp.options import PANEL
from parley.web.mcp.results import (
    Debate,
    Expert,
    Explanation,
    PostText,
    Routed,
    SessionVerdict,
    Started,
    Stopped,
    WaitingItem,
    WhatIf,
    transcript_uri,
    verdict_of,
)
from parley.web.offered_models import Offers

Who = Callable[[Asking], Awaitable[Parley]]
"""Whoever asks: its connection, in its own name. Raises ParleyError."""
Sid = Annotated[str, Field(description="The session's id.", min_length=1, max_length=64)]
_WIDE = 2_000
MOST_ITERATIONS = 50
"""As the protocol allows."""
_CONTEXT = "context.md"


class Tools:
    """All tools.

    Parameters
    ----------
    who
        Whoever asks.
    offers
        What may be asked for by name.
    roots
        Folders under which `projectPath` may lie.
    """

    def __init__(self, who: Who, offers: Offers, roots: Sequence[Path] = ()) -> None:
        self._who, self._offers, self._roots = who, offers, tuple(roots)

    # -- sessions
    async def iterative_debate(self, options: Mapping[str, Any], ctx: Asking) -> SessionVerdict | InputRequiredResult:
        """A panel answers independently, sees all answers, and revises them round by round, until it agrees or the
        rounds are over. Waits for the result; progress tells what is said."""
        given = dict(options)
        with errors():
            settings = settings_of(given.pop("maxIterations", None), given.pop("consensusThreshold", None))
        return await self.ask({**given, "protocol": PANEL, "settings": settings}, ctx)

    async def ask(self, options: Mapping[str, Any], ctx: Asking) -> SessionVerdict | InputRequiredResult:
        """One question by any protocol. Waits for the result; progress tells what is said."""
        with errors():
            parley = await self._who(ctx)
            opening = await self._asked(parley, options)
            result = await run(parley.client, opening, ctx)
        return result if isinstance(result, InputRequiredResult) else verdict_of(result, opening.left_out or ())

    async def start_debate(self, options: Mapping[str, Any], ctx: Asking) -> Started:
        """Start a session and come back at once. get_debate says how far it is, stop_debate ends it."""
        with errors():
            parley = await self._who(ctx)
            opening = await self._asked(parley, options)
            sid = await program_sessions.opened(parley.client, opening, "mcp")
        left_out = list(opening.left_out or ())
        return Started(session=sid, protocol=opening.protocol, transcript=transcript_uri(sid), left_out=left_out)

    async def get_debate(
        self,
        session: Sid,
        ctx: Asking,
        since: Annotated[int, Field(description="Only posts from this number on.", ge=0)] = 0,
    ) -> Debate:
        """What was said in a session so far, what waits for a person, and what it came to."""
        with errors():
            client = (await self._who(ctx)).client
            view = await program_sessions.so_far(client, session)
            shown = [
                PostText(n=card.n, round=card.round, seat=card.seat, kind=card.kind, text=text)
                for card in view.cards
                if card.n >= since and (text := verdicts.text_of(card))
            ]
            result = view.result
            now = time.time()
            waiting = [
                WaitingItem(
                    id=i.item,
                    question=i.question,
                    choices=list(i.choices),
                    default=i.default,
                    seconds_left=round(max(0.0, i.deadline_ns / 1e9 - now), 1),
                )
                for i in view.open_items()
            ]
            last = max((post.n + 1 for post in view.posts), default=0)
            return Debate(
                session=session,
                open=result is None,
                round=max((p.round for p in view.posts), default=0),
                posts=shown,
                next=max(last, since),
                waiting=waiting,
                result=None if result is None else verdict_of(result),
            )

    async def stop_debate(
        self,
        session: Sid,
        ctx: Asking,
        reason: Annotated[str, Field(description="The reason, which the record keeps.", max_length=2_000)] = "",
        answer: Annotated[
            bool, Field(description="End it with the answer that it has come to by now, instead of cancelling it.")
        ] = False,
    ) -> Stopped:
        """End a session before its protocol does. What it has used so far stays used."""
        with errors():
            client = (await self._who(ctx)).client
            result = (await program_sessions.so_far(client, session)).result
            if result is None:
                await program_sessions.acted_on(client, session)
                try:
                    await (client.answer_now(session) if answer else client.cancel(session, reason))
                except Refusal:  # it ended meanwhile
                    pass
                result = await client.result(session)
        ours = result.status == "cancelled" or (answer and result.stop.reason == "answered_now")
        before = "" if ours else "it had ended before: "
        return Stopped(session=session, status=result.status, words=f"{before}{verdicts.stop_words(result)}")

    # -- what is known of them
    async def explain(self, session: Sid, ctx: Asking) -> Explanation:
        """Why a session stopped, in words and figures."""
        with errors():
            client = (await self._who(ctx)).client
            view = await program_sessions.so_far(client, session)
            record = record_of(session, await client.log(session)) if client.owner else view
            figures = rendered.document(record, posts=False)
            return Explanation(
                session=session, words=list(map(hung, explain.explanation_lines(record))), figures=figures
            )

    async def replay_what_if(
        self,
        session: Sid,
        settings: Annotated[
            dict[str, Any], Field(description='Settings of its protocol, such as {"threshold": 70}.', min_length=1)
        ],
        ctx: Asking,
    ) -> WhatIf:
        """What a finished session would have come to under other settings, from its recorded events. No model is asked;
        it says where the recorded events no longer carry it."""
        with errors():
            client = (await self._who(ctx)).client
            if not client.owner:
                raise NotAllowed("session", "a replay reads the session's log, which takes an owner's credentials")
            record = await _record(client, session)
            protocol = records.opening(record).protocol
            without_files(protocol, settings)
            comparison = await anyio.to_thread.run_sync(what_if.compare, record, {protocol: settings})
        return WhatIf(
            session=session,
            settings=settings,
            words=list(map(hung, what_if.comparison_words(comparison))),
            parts_at=comparison["n"],
            stop=comparison["stop"] or "",
            carried=comparison["carried"],
        )

    async def route(
        self,
        task: Annotated[str, Field(description="The task.", min_length=1, max_length=20_000)],
        files: Annotated[list[str] | None, Field(description="Files that it is about.")] = None,
    ) -> Routed:
        """Which of the experts that come with Parley would lead a task, and who would support. Nothing is worked on."""
        with errors():
            routing = task_setup().routing()
            assert routing is not None, "the protocol of tasks routes them"
            with bad_input("experts", ExpertError):
                asked = routing.task(cleaned(task).text, tuple(files or ()))
                router = await anyio.to_thread.run_sync(lambda: routing.router(builtin()))
            routed = (await router.route_all((asked,)))[0]
        confidences = {c.expert: c.confidence for c in routed.candidates}
        lead = routed.lead
        return Routed(
            lead=None if lead is None else Expert(expert=lead.expert, responsibility=lead.responsibility),
            support=[Expert(expert=p.expert, responsibility=p.responsibility) for p in routed.support],
            depth=routed.depth,
            rationale=routed.rationale,
            confidence=None if lead is None else confidences.get(lead.expert),
        )

    # -- opening
    async def _asked(self, parley: Parley, options: Mapping[str, Any]) -> OpenSession:
        """A session as it is asked for. Raises BadInput."""
        given = dict(options)
        question, path, context = (given.pop(name, None) for name in ("question", "projectPath", "context"))
        documents = ReadEvidence()
        if path:  # models fill an optional text with an empty one
            documents = await anyio.to_thread.run_sync(projects.load_project, projects.under(self._roots, path))
        with bad_input("context", InvalidValue):
            if context and context.strip():
                documents = documents.plus(program_sessions.document(_CONTEXT, context))
        return await program_sessions.asked(
            parley.client, self._offers, question or "", given, "mcp", lambda _: documents,
            documents=bool(documents.documents),
        )  # fmt: skip


def settings_of(iterations: int | None, threshold: float | None) -> dict[str, Any]:
    """The source's parameters as the protocol's settings. Raises BadInput."""
    settings: dict[str, Any] = {}
    if iterations is not None:
        if not 1 <= iterations <= MOST_ITERATIONS:
            raise BadInput("maxIterations", f"got {iterations}, allowed are 1 to {MOST_ITERATIONS}")
        settings["round_limit"] = iterations
    if threshold is not None:
        if not 0 < threshold <= 100:
            raise BadInput("consensusThreshold", f"got {threshold:g}, allowed is above 0 to 100")
        settings["threshold"] = threshold if threshold >= 2 else threshold / 100  # of 1 or less it reads a share
    return settings


async def _record(client: Any, sid: str) -> Record:
    """A session's log, for owners. Raises UnknownSession."""
    await program_sessions.so_far(client, sid)
    return record_of(sid, await client.log(sid))
