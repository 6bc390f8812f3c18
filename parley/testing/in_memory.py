"""A session of any protocol in one process, without a bus: the machine, the builder of turns, and a model in each seat.

What a moderator does with an event is done here by its own code (parley.coordinator.sessions.group), so a protocol
whose code fails ends its session here as there. Time passes only where nobody has anything to say: then the session's
timer fires.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, ModelError
from parley.agents.models import Model, make_model
from parley.agents.models.function import Agent
from parley.agents.show_turn import show
from parley.agents.specs import builtin
from parley.client.protocols import setup_of
from parley.coordinator.admission import admit
from parley.coordinator.briefing import Sending, build
from parley.coordinator.machine import Protocol, Session, record_opening
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.group import PendingSubmission, fold
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.presence import Announcement
from parley.schemas.result import Result
from parley.schemas.session import Budget, OpenSession
from parley.schemas.wire import decode, encode, raw
from parley.testing.scripts import Silent
from parley.testing.turns import Documents, documents_of

_KEY = b"k" * 32
_MOST_EVENTS = 5_000


@dataclass
class Played:
    """What a session in memory came to."""

    posts: tuple[Post, ...] = ()
    """All, of every channel."""
    entries: list[log.Entry] = field(default_factory=list)
    """Its log."""
    shown: list[Shown] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    """One for each of `shown`."""

    @property
    def result(self) -> Result:
        """As a client gets it."""
        return decode(self.posts[-1].body, Result)

    @property
    def outcome(self) -> Any:
        """What the protocol made of it."""
        return self.result.outcome

    @property
    def log(self) -> list[bytes]:
        """As stored."""
        return [encode(e) for e in self.entries]

    def said(self, kind: str) -> list[Any]:
        """Bodies of the posts of this kind, in order, as plain values."""
        return [msgspec.json.decode(p.body) for p in self.posts if p.kind == kind]


S = TypeVar("S", bound=Played)


class _Moderator:
    """One session, and what waits to be answered."""

    def __init__(self, protocol: Protocol, opened: log.Opened) -> None:
        self._protocol = protocol
        self.session, entry = record_opening(protocol, "s", opened, 1, "in:1")
        self.entries = [entry]
        self.waiting = self._build(self.session, entry)

    def take(self, event: log.Event, cause: str, at_ns: int | None = None) -> None:
        """One event, as a moderator takes it. What may come too late is dropped."""
        before = self.entries[-1]
        waiting = [PendingSubmission(cause, event, lambda outcome: None)]
        at_ns = before.at_ns + 1 if at_ns is None else max(before.at_ns, at_ns)
        found = fold(self._protocol, self.session, before.digest, {}, waiting, at_ns, self._build)
        for _, error in found.failed:
            raise error
        for _, step in found.taken:
            self.session = step.after
            self.entries.append(step.entry)
            self.waiting += step.sendings

    @staticmethod
    def _build(session: Session, entry: log.Entry) -> list[Sending]:
        return build(session, entry.n, entry.commands, key=_KEY, lane="any", decided_ns=1)


async def played_out(
    ended: S, request: OpenSession, workers: Mapping[str, str], models: Mapping[str, Model] | None = None, *,
    default: Model | None = None, seed: int = 1, protocol: Protocol | None = None, stop_rule: str = "",
) -> S:  # fmt: skip
    """Play an opening to its end. `workers`: queue -> role; a seat without a model of its own has the default, which is
    extractive if none is given."""
    protocol, usual = protocol or PROTOCOLS[request.protocol], default or make_model("extractive")
    held: dict[str, Model] = {queue: (models or {}).get(queue, usual) for queue in workers}
    there = tuple(
        Announcement(instance=q, queue=q, roles=(role,), model="m", family=held[q].family, metered=held[q].metered)
        for q, role in workers.items()
    )
    opened = admit(protocol, request, there, seed, "test")
    if stop_rule:
        opened = msgspec.structs.replace(opened, stop_rule=stop_rule)
    moderator = _Moderator(protocol, opened)
    ended.entries = moderator.entries
    while not moderator.session.closed and len(moderator.entries) < _MOST_EVENTS:
        if not moderator.waiting:
            timer_ns = moderator.session.timer_ns
            assert timer_ns is not None, "an open session waits for its timer"
            moderator.take(log.TimerFired(), f"in:{len(moderator.entries)}", timer_ns)
            continue
        sending = moderator.waiting.pop(0)
        for turn in sending.work.turns:
            if turn.id not in moderator.session.turns:
                continue  # it was withdrawn meanwhile
            documents = [d for d in moderator.session.opened.documents if turn.seat in d.holders]
            shown = show(sending.work, turn, documents)
            model: Any = (models or {}).get(turn.seat, usual)
            try:
                completion = await model.reply(shown, lambda text: None)
            except Silent:
                continue
            except ModelError as error:
                failed = log.Replied(turn=turn.id, body=raw(None), usage=error.usage, error=str(error))
                moderator.take(failed, f"turn:{turn.id}")
                continue
            ended.shown.append(shown)
            ended.completions.append(completion)
            replied = log.Replied(turn=turn.id, body=completion.json(), usage=completion.usage, flags=completion.flags)
            moderator.take(replied, f"turn:{turn.id}")
    assert moderator.session.closed, f"the session goes on after {_MOST_EVENTS} events"
    ended.posts = moderator.session.posts
    return ended


async def play_async(
    protocol: str | Protocol, question: str, seats: Mapping[str, Any] | None = None, *, documents: Documents = (),
    settings: Mapping[str, Any] | None = None, budget: Budget | None = None, default: Any = None, seed: int = 1,
    stop_rule: str = "",
) -> Played:  # fmt: skip
    """`play`, inside an event loop."""
    known = PROTOCOLS[protocol] if isinstance(protocol, str) else protocol
    known_roles = [role.name for role in known.roles]
    given, chosen = dict(settings or {}), dict(seats or {})
    queues = dict.fromkeys(
        (*setup_of(known.name).queues(given), *(s for s in chosen if s not in known_roles and builtin(s)))
    )
    roles = {queue: spec.roles[0] for queue in queues if (spec := builtin(queue)) is not None}
    models = {q: model_of(chosen.get(q, chosen.get(role))) for q, role in roles.items() if {q, role} & chosen.keys()}
    if unknown := sorted(chosen.keys() - {*roles, *roles.values()}):
        raise ValueError(f"seats: got {unknown[0]!r}, expected a seat or a role of {', '.join(roles)}")
    request = OpenSession(
        question=question,
        protocol=known.name,
        settings=given,
        documents=documents_of(documents),
        budget=budget or Budget(),
    )
    usual = None if default is None else model_of(default)
    return await played_out(
        Played(), request, roles, models, default=usual, seed=seed, protocol=known, stop_rule=stop_rule
    )


def play(
    protocol: str | Protocol, question: str, seats: Mapping[str, Any] | None = None, *, documents: Documents = (),
    settings: Mapping[str, Any] | None = None, budget: Budget | None = None, default: Any = None, seed: int = 1,
    stop_rule: str = "",
) -> Played:  # fmt: skip
    """Play a session to its end, in memory.

    Parameters
    ----------
    protocol
        Its name, or the PROTOCOL itself, if its kit can be found by its name.
    seats
        Seat or role -> an agent (`@parley.agent`), a model, or `scripted(...)`.
    documents
        Name -> text, or texts.
    settings
        The protocol's settings; what is absent has its default.
    default
        Who sits in the other seats; None: the extractive model.
    stop_rule
        The rule of a package that may end it early; empty: none.

    Raises
    ------
    Inadmissible
        The session cannot be opened.
    """
    asked = play_async(
        protocol, question, seats, documents=documents, settings=settings, budget=budget, default=default, seed=seed,
        stop_rule=stop_rule,
    )  # fmt: skip
    return asyncio.run(asked)


def model_of(seat: Any) -> Model:
    """What answers for a seat."""
    model: Model = seat.model() if isinstance(seat, Agent) else seat
    return model
