"""Finds who would lead a task and who would support, with the protocol's own machine, in this process and without a
bus.

The protocol's own machine runs (parley.coordinator.protocols.madp.protocol): the helper's match is asked and answered,
every expert hears what is posted and speaks for itself as its process would (parley.agents.protocols.madp.reactions),
and it ends where who leads is agreed. Claims are as specifications declare them; no model is asked. On a bus an expert
that the matcher did not name claims in time or not; here it always does: all are heard.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

import msgspec

from parley.agents.encoders import EncoderError
from parley.agents.expert_matching.expert_scores import Matcher, matching_encoder
from parley.agents.expert_matching.keyword_baseline import match
from parley.agents.protocols.madp.reactions import make_hear
from parley.client.errors import BadInput
from parley.client.setup.expert_choice import ExpertPart, MatchedExpert, Route, Routing, SkippedExpert
from parley.client.text import clean
from parley.coordinator.admission import admit, refuse_controls
from parley.coordinator.machine import begin, step
from parley.coordinator.protocols.madp.protocol import PROTOCOL as MADP
from parley.coordinator.protocols.madp.state import HELPER, PUBLIC, State
from parley.coordinator.table import Illegal, Inadmissible, Session
from parley.schemas.expert import ExpertSpec, Known, pin, queue_of
from parley.schemas.log import Event, Replied, Spoke, TimerFired
from parley.schemas.past_sessions.learned import Learned
from parley.schemas.post import Post
from parley.schemas.presence import Announcement
from parley.schemas.protocols.madp.messages import Consensus, Settings
from parley.schemas.routing import Matched, Task
from parley.schemas.session import MAX_QUESTION, OpenSession
from parley.schemas.turn import Speak
from parley.schemas.wire import InvalidValue, decode, not_empty, raw

Hear = Callable[[Post], Speak | None]
_AT_NS = 1
"""The machine's clock stands still: nobody is late."""


def task_of(prompt: str, files: tuple[str, ...] = ()) -> Task:
    """A prompt as it is matched. Raises InvalidValue: names the field, the value and the limit."""
    not_empty("prompt", prompt, MAX_QUESTION)
    for field, texts in (("prompt", (prompt,)), ("files", files)):
        for text in texts:
            if not (text.isascii() and text.isprintable()):
                _printable(field, text)
    if files:
        try:
            Settings(files_mentioned=files)
        except InvalidValue as error:
            raise InvalidValue("files", error.value, error.limit) from error
    return Task(prompt=prompt, files_mentioned=files)


def _printable(field: str, text: str) -> None:
    try:
        refuse_controls(field, text)
    except Inadmissible as error:
        what = str(error).removeprefix(f"{field}: ")
        raise InvalidValue(field, clean(text), what) from error


class RoutingPreview:
    """Routes tasks among the same experts.

    Parameters
    ----------
    keyword
        As coordination does in its degraded mode (seeds/madp.md 9.2): triggers that stand in the prompt as bare strings
        choose, and nobody claims.
    words
        The better matcher without its encoder.
    """

    def __init__(self, specs: Sequence[ExpertSpec], *, keyword: bool = False, words: bool = False) -> None:
        self._specs = tuple(sorted(specs, key=lambda s: s.id))
        self._keyword = keyword
        self._matcher = Matcher(None if keyword or words else _encoder())
        self._hears: dict[str, Hear] = {s.id: make_hear(s) for s in self._specs}
        helper = Announcement(instance=HELPER, queue=HELPER, roles=(HELPER,), model="", family="")
        request = OpenSession(question="-", protocol=MADP.name, settings={"wording": "never"})
        self._opened = admit(
            MADP,
            request,
            (helper,),
            0,
            "",
            known={"degraded": keyword},
            experts=tuple(Known(id=s.id, pin=pin(s), general=s.general, category=s.category) for s in self._specs),
        )
        self._numbers = count(1)

    async def ready(self) -> None:
        """Load what is loaded once, so that no task's duration has it. Raises BadInput."""
        await self._matched((Task(prompt="begin"),))

    async def route_all(self, tasks: Sequence[Task]) -> list[Route]:
        """What each comes to, in their order. Raises BadInput: the encoder cannot be had here."""
        started = time.perf_counter()
        matched = await self._matched(tasks)
        each = (time.perf_counter() - started) / max(1, len(tasks))
        return [self.routed(task, m, each) for task, m in zip(tasks, matched, strict=True)]

    async def _matched(self, tasks: Sequence[Task]) -> list[Matched]:
        if self._keyword:
            return [match(task, self._specs, name="keyword") for task in tasks]
        try:
            return await self._matcher.match_all(tasks, self._specs)
        except EncoderError as error:
            raise _no_encoder(error) from error

    def routed(self, task: Task, matched: Matched, seconds: float = 0.0, *, learned: Learned | None = None) -> Route:
        """What a task comes to that has been matched, which took so many seconds. `learned`: what past tasks say."""
        started = time.perf_counter()
        session = self.coordinated(task, matched, learned)
        consensus = decode(next(p.body for p in session.posts if p.kind == "consensus"), Consensus)
        route = _route(task, session.inner, consensus)
        took = (seconds + time.perf_counter() - started) * 1e3
        return msgspec.structs.replace(route, duration_ms=round(took, 3))

    def coordinated(self, task: Task, matched: Matched, learned: Learned | None = None) -> Session:
        """The session up to its consensus."""
        settings = {**self._opened.settings, "files_mentioned": task.files_mentioned}
        opened = msgspec.structs.replace(
            self._opened, question=task.prompt, settings=settings, learned=learned or msgspec.UNSET
        )
        session, _ = begin(MADP, f"route-{next(self._numbers)}", opened, _AT_NS)
        event: Event = Replied(turn=next(iter(session.turns)), body=raw(matched))
        session, _ = step(MADP, session, event, _AT_NS)
        candidates = {c.expert for c in session.inner.candidates}
        order = sorted(self._hears, key=lambda x: (x in candidates, x))
        heard = 0
        while session.inner.consensus is None:
            if heard == len(session.posts):  # somebody is silent: the window ends
                assert session.timer_ns is not None, "a session that is open has a timer"
                session, _ = step(MADP, session, TimerFired(), session.timer_ns)
            for post in session.posts[heard:]:
                heard += 1
                session = self._speak(session, post, order)
        return session

    def _speak(self, session: Session, post: Post, order: Iterable[str]) -> Session:
        """Every expert hears a post, as experts' processes do."""
        if post.channel != PUBLIC:
            return session
        for expert in order:
            said = self._hears[expert](post)
            if said is None:
                continue
            event = Spoke(author=queue_of(expert), channel=PUBLIC, window=said.window, kind=said.kind, body=said.body)
            try:
                session, _ = step(MADP, session, event, session.at_ns)
            except Illegal:  # as on a bus: refused, and the others go on
                continue
        return session


def _encoder() -> Any:
    try:
        return matching_encoder()
    except EncoderError as error:
        raise _no_encoder(error) from error


def _no_encoder(error: EncoderError) -> BadInput:
    return BadInput("encoder", f"{error}; --keyword needs none")


def _route(task: Task, state: State, decision: Consensus) -> Route:
    lead = decision.outcome.lead
    why = [decision.rationale, *(n for n in decision.notes if n != decision.rationale)]
    if decision.how == "general":
        why += [f"{lead.agent_id}, the general-purpose expert, would take it, with a warning"] if lead else []
        lead = None
    if decision.conflict and decision.conflict not in why:
        why.append(f"in doubt, a human would be asked: {decision.conflict}")
    assert state.factors is not None, "it was matched"
    return Route(
        task=task.prompt,
        depth=state.depth or "instant",
        factors=state.factors,
        candidates=tuple(
            MatchedExpert(expert=c.expert, relevance=c.relevance, confidence=c.confidence) for c in state.candidates
        ),
        lead=ExpertPart(expert=lead.agent_id, responsibility=lead.responsibility) if lead else None,
        support=tuple(ExpertPart(expert=a.agent_id, responsibility=a.responsibility) for a in decision.outcome.support),
        excluded=tuple(SkippedExpert(expert=x.agent_id, reason=x.reason) for x in decision.outcome.excluded),
        rationale="; ".join(why),
        token_cost=decision.token_cost,
        duration_ms=0.0,
    )


ROUTING = Routing(router=RoutingPreview, task=task_of, ask_below=Settings().ask_below)
