"""`parley route`: which experts would take a task, and how deep its coordination goes; in this process, without a bus.

The protocol's own machine runs (coordinator.protocols.madp.protocol): the helper's match is asked and answered, every
expert hears what is posted and speaks for itself as its process would (agents.protocols.madp.reactions), and it ends
where who leads is agreed. Claims are as specifications declare them; no model is asked. On a bus an expert that the
matcher did not name claims in time or not; here it always does: it speaks before the candidates, whose last one closes
the window."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from agents.encoders import EncoderError
from agents.experts import ExpertError, builtin, read_all
from agents.matching import Matcher, match
from agents.matching.subject_model import make_readers
from agents.protocols.madp.reactions import make_hear
from client.errors import BadInput
from client.protocols.maci.signals_file import loaded, struct_of
from client.text import clean, line
from coordinator.admission import admit, refuse_controls
from coordinator.machine import begin, step
from coordinator.protocols.madp.protocol import PROTOCOL as MADP
from coordinator.protocols.madp.state import HELPER, PUBLIC, State
from coordinator.table import Illegal, Inadmissible, Session
from schemas.expert import ExpertSpec, Known, pin, queue_of
from schemas.log import Event, Replied, Spoke, TimerFired
from schemas.post import Post
from schemas.presence import Announcement
from schemas.protocols.madp.messages import Consensus, Settings
from schemas.routing import Depth, Factors, Matched, Task
from schemas.session import MAX_QUESTION, OpenSession
from schemas.turn import Speak
from schemas.wire import InvalidValue, decode, not_empty, raw

Hear = Callable[[Post], Speak | None]
MAX_BYTES = 256_000_000
"""Of a file of prompts."""
_CHUNK = 16
"""Prompts that are matched together."""
_AT_NS = 1
"""The machine's clock stands still: nobody is late."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a file of prompts."""

    prompt: str
    files: tuple[str, ...] = ()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One that the matcher found, 0 to 1."""

    expert: str
    relevance: float
    confidence: float


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Who does what."""

    expert: str
    responsibility: str


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """Who does nothing, and why."""

    expert: str
    reason: str


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """What a task would come to."""

    task: str
    depth: Depth
    candidates: tuple[Candidate, ...]
    factors: Factors
    lead: Part | None
    """None: no expert takes it. Where a general-purpose expert is among them, the rationale says that it would."""
    support: tuple[Part, ...]
    excluded: tuple[Left, ...]
    rationale: str
    token_cost: int
    """Tokens of models: declared claims take none."""
    duration_ms: float
    """Wall time, from the task to who leads; of several that are matched together, each has its share of that."""


def task_of(wanted: Wanted) -> Task:
    """A prompt as it is matched.

    Raises
    ------
    InvalidValue
        Names the field, the value and the limit.
    """
    not_empty("prompt", wanted.prompt, MAX_QUESTION)
    for field, texts in (("prompt", (wanted.prompt,)), ("files", wanted.files)):
        for text in texts:
            if not (text.isascii() and text.isprintable()):
                _printable(field, text)
    if wanted.files:
        try:
            Settings(files_mentioned=wanted.files)
        except InvalidValue as error:
            raise InvalidValue("files", error.value, error.limit) from error
    return Task(prompt=wanted.prompt, files_mentioned=wanted.files)


def _printable(field: str, text: str) -> None:
    try:
        refuse_controls(field, text)
    except Inadmissible as error:
        what = str(error).removeprefix(f"{field}: ")
        raise InvalidValue(field, clean(text), what) from error


def specs_of(folder: Path | None) -> tuple[ExpertSpec, ...]:
    """The specifications of a folder; of none, the shipped ones. Raises BadInput."""
    try:
        return builtin() if folder is None else read_all(folder)
    except ExpertError as error:
        raise BadInput("experts", str(error)) from error


# ---------------------------------------------------------------- one process


class Router:
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
        self._matcher = Matcher(None if keyword or words else _reader())
        self._hears: dict[str, Hear] = {s.id: make_hear(s, metered=False) for s in self._specs}
        helper = Announcement(instance=HELPER, queue=HELPER, roles=(HELPER,), model="", family="")
        request = OpenSession(question="-", protocol=MADP.name, settings={"wording": "never"})
        self._opened = admit(
            MADP, request, (helper,), 0, "", known={"degraded": keyword},
            experts=tuple(Known(id=s.id, pin=pin(s), general=s.general) for s in self._specs),
        )  # fmt: skip
        self._numbers = count(1)

    async def ready(self) -> None:
        """Load what is loaded once, so that no task's duration has it. Raises BadInput."""
        await self._matched((Task(prompt="begin"),))

    async def route_all(self, tasks: Sequence[Task]) -> list[Route]:
        """What each comes to, in their order.

        Raises
        ------
        BadInput
            The reader cannot be had here.
        """
        started = time.perf_counter()
        found = await self._matched(tasks)
        each = (time.perf_counter() - started) / max(1, len(tasks))
        return [self.routed(task, m, each) for task, m in zip(tasks, found, strict=True)]

    async def _matched(self, tasks: Sequence[Task]) -> list[Matched]:
        if self._keyword:
            return [match(task, self._specs, keyword=True) for task in tasks]
        try:
            return await self._matcher.match_all(tasks, self._specs)
        except EncoderError as error:
            raise _no_encoder(error) from error

    def routed(self, task: Task, found: Matched, seconds: float = 0.0) -> Route:
        """What a task comes to that has been matched, which took so many seconds."""
        started = time.perf_counter()
        session = self._coordinated(task, found)
        consensus = decode(next(p.body for p in session.posts if p.kind == "consensus"), Consensus)
        route = _route(task, session.inner, consensus)
        took = (seconds + time.perf_counter() - started) * 1e3
        return msgspec.structs.replace(route, duration_ms=round(took, 3))

    def _coordinated(self, task: Task, found: Matched) -> Session:
        """The session up to its consensus."""
        settings = {**self._opened.settings, "files_mentioned": task.files_mentioned}
        opened = msgspec.structs.replace(self._opened, question=task.prompt, settings=settings)
        session, _ = begin(MADP, f"route-{next(self._numbers)}", opened, _AT_NS)
        event: Event = Replied(turn=next(iter(session.turns)), body=raw(found))
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
            event = Spoke(
                author=queue_of(expert), channel=PUBLIC, window=said.window, kind=said.kind, body=said.body
            )  # fmt: skip
            try:
                session, _ = step(MADP, session, event, session.at_ns)
            except Illegal:  # as on a bus: refused, and the others go on
                continue
        return session


def _reader() -> Any:
    try:
        return make_readers()
    except EncoderError as error:
        raise _no_encoder(error) from error


def _no_encoder(error: EncoderError) -> BadInput:
    return BadInput("encoder", f"{error}; --keyword needs none")


def _route(task: Task, state: State, found: Consensus) -> Route:
    lead = found.outcome.lead
    why = [found.rationale, *(n for n in found.notes if n != found.rationale)]
    if found.how == "general":
        why += [f"{lead.agent_id}, the general-purpose expert, would take it, with a warning"] if lead else []
        lead = None
    if found.conflict and found.conflict not in why:
        why.append(f"in doubt, a human would be asked: {found.conflict}")
    assert state.factors is not None, "it was matched"
    return Route(
        task=task.prompt, depth=state.depth or "instant", factors=state.factors,
        candidates=tuple(
            Candidate(expert=c.expert, relevance=c.relevance, confidence=c.confidence) for c in state.candidates
        ),
        lead=Part(expert=lead.agent_id, responsibility=lead.responsibility) if lead else None,
        support=tuple(Part(expert=a.agent_id, responsibility=a.responsibility) for a in found.outcome.support),
        excluded=tuple(Left(expert=x.agent_id, reason=x.reason) for x in found.outcome.excluded),
        rationale="; ".join(why), token_cost=found.token_cost, duration_ms=0.0,
    )  # fmt: skip


async def route_one(task: Task, specs: Sequence[ExpertSpec], *, keyword: bool = False) -> Route:
    """Where one task goes. Raises BadInput, as Router does."""
    router = Router(specs, keyword=keyword)
    await router.ready()
    return (await router.route_all((task,)))[0]


def chunks(tasks: Sequence[Task]) -> Iterator[Sequence[Task]]:
    """So many at once as are matched together."""
    return (tasks[i : i + _CHUNK] for i in range(0, len(tasks), _CHUNK))


# ---------------------------------------------------------------- a file of prompts


def read_prompts(path: str) -> list[Task]:
    """The prompts of a file of JSON lines (`-`: standard input), all checked before any is routed; blank lines are
    passed over.

    Raises
    ------
    BadInput
        Names the file, the line's number, the field, the value and what is allowed.
    """
    name = "standard input" if path == "-" else path
    found = []
    for number, text in enumerate(_bytes(path, name).split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            found.append(task_of(_line(text)))
        except InvalidValue as error:
            raise BadInput("file", f"{name}, line {number}: {error}") from error
    if not found:
        raise BadInput("file", f"{name}: there is no prompt in it")
    return found


def _bytes(path: str, name: str) -> bytes:
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput("file", f"{path}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise BadInput("file", f"{name}: it is too large, allowed are at most {MAX_BYTES:,} bytes")
    return data.removeprefix(b"\xef\xbb\xbf")


def _line(text: bytes) -> Wanted:
    return struct_of(loaded(text, "the line"), Wanted, "", "the line")


# ---------------------------------------------------------------- as text


def words(route: Route) -> Iterator[str]:
    """A few lines for people."""
    confidence = {c.expert: c.confidence for c in route.candidates}
    if route.lead is None:
        yield "nobody takes it"
    else:
        sure = f", {confidence[route.lead.expert]:.0%} sure" if route.lead.expert in confidence else ""
        yield f"{route.lead.expert} leads ({route.depth}{sure})"
        yield f"  {line(route.lead.responsibility, 200)}"
    yield f"why: {line(route.rationale, 400)}"
    for part in route.support:
        yield f"support: {part.expert}: {line(part.responsibility, 160)}"
    for left in route.excluded:
        yield f"left out: {left.expert}: {line(left.reason, 160)}"
