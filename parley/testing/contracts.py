"""What Parley expects of an agent, a model and a protocol. Each check raises AssertionError with what is wrong."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Model, ModelError
from parley.agents.models import PARTS
from parley.agents.models.function import Agent
from parley.client.protocols import panel_setup
from parley.coordinator.machine import Protocol, record
from parley.coordinator.packages.checked import check_protocol as check_table
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay, replayed
from parley.schemas import log
from parley.schemas.registry import ALLOWED, everything, normal
from parley.schemas.stops import STOPS
from parley.testing.in_memory import Played, model_of, play
from parley.testing.scripts import Silent
from parley.testing.turns import Documents

TEXTS = {"notes.md": "A canary can be undone within a minute. A blue-green switch needs twice the machines."}
QUESTION = "Canary or blue-green?"


class _Watched:
    """A model behind which it is counted what it was asked and what it said."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.replies: list[tuple[Shown, Completion]] = []
        for part in PARTS[:-1]:
            setattr(self, part, getattr(model, part))

    async def reply(self, shown: Shown, emit: Any) -> Completion:
        try:
            completion = await self._model.reply(shown, emit)
        except ModelError as error:
            raise AssertionError(f"{shown.kind}, round {shown.round}: {error}") from error
        assert isinstance(completion, Completion), f"{shown.kind}: it returned {type(completion).__name__}"
        assert isinstance(completion.body, shown.reply), f"{shown.kind}: its body is no {shown.reply.__name__}"
        metered = self._model.metered and not completion.usage.calls
        assert not metered, f"{shown.kind}: a metered model says what it used (usage: calls and tokens)"
        self.replies.append((shown, completion))
        return completion


def check_agent(
    agent: Agent, *, protocol: str = "", question: str = QUESTION, documents: Documents = (), seats: Any = None
) -> Played:
    """An agent in every seat of its role, in a whole session of a protocol that has this role.

    Every reply is taken at the first attempt, with documents and without. The session so played is returned.

    Parameters
    ----------
    protocol
        Empty: the one of a panel, if it has the role, else the first that has it.
    documents
        Of the session; nothing: two sentences of a file.
    seats
        Who sits elsewhere, as `play` takes it.
    """
    having = [n for n, p in PROTOCOLS.items() if agent.role in [r.name for r in p.roles]]
    panel = panel_setup().name
    name = protocol or (panel if panel in having else next(iter(having), ""))
    assert name, f"no protocol has the role {agent.role}"
    return _check(model_of(agent), agent.role, name, question, documents or TEXTS, dict(seats or {}))


def check_model(
    model: Model,
    *,
    protocol: str = "",
    role: str = "",
    question: str = QUESTION,
    documents: Documents = (),
    seats: Any = None,
) -> Played:
    """A model in every seat of a role: it has what a model has, its replies are taken, it can be cancelled, and it
    says what it used if it is metered. `protocol`: empty: the one of a panel."""
    if lacking := [part for part in PARTS if not hasattr(model, part)]:
        raise AssertionError(f"it has no {', '.join(lacking)}")
    for part, kind in zip(PARTS[:-1], (str, str, bool, int | float, int | float), strict=True):
        value = getattr(model, part)
        assert isinstance(value, kind), f"{part}: got {value!r}, expected {getattr(kind, '__name__', kind)}"
    protocol = protocol or panel_setup().name
    role = role or PROTOCOLS[protocol].roles[0].name
    ended = _check(model, role, protocol, question, documents or TEXTS, dict(seats or {}))
    asyncio.run(_can_be_cancelled(model, ended.shown[0]))
    return ended


def _check(model: Model, role: str, protocol: str, question: str, documents: Documents, seats: Any) -> Played:
    ended = Played()
    for texts in ((), documents):
        watched = _Watched(model)
        ended = play(protocol, question, {**seats, role: watched}, documents=texts)
        assert watched.replies, f"nobody of the role {role} was asked anything"
        again = [(s.seat, s.kind, s.error) for s, _ in watched.replies if s.attempt > 1]
        assert not again, f"{again[0][0]}, {again[0][1]}: its reply was refused: {again[0][2]}"
        assert ended.result.stop.reason != "protocol_fault", ended.result.stop.certificate["why"]
    return ended


async def _can_be_cancelled(model: Model, shown: Shown) -> None:
    task = asyncio.ensure_future(model.reply(shown, lambda text: None))
    await asyncio.sleep(0)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=2.0)
    assert done, "a call that is cancelled ends within 2 s"
    if not task.cancelled() and (error := task.exception()) is not None:
        raise AssertionError(f"a cancelled call raised {type(error).__name__}: {error}") from error


class _Absent:
    """Never answers."""

    name = family = "absent"
    metered = False
    usd_per_million_input = usd_per_million_output = 0.0

    async def reply(self, shown: Shown, emit: Any) -> Completion:
        raise Silent


def check_protocol(
    protocol: str | Protocol,
    seats: Mapping[str, Any] | None = None,
    *,
    question: str = QUESTION,
    documents: Documents = (),
    settings: Mapping[str, Any] | None = None,
    default: Any = None,
) -> Played:
    """A protocol's table, by a session of it, which is returned.

    Its parts are known. The session ends without a fault, for a reason that it declares. Its log is recomputed to the
    same bytes. It can be cancelled after each of its events. It ends where every seat is silent, and without calling
    that agreement.
    """
    known = PROTOCOLS[protocol] if isinstance(protocol, str) else protocol
    try:
        check_table(known, known.name, "")
    except ValueError as error:
        raise AssertionError(str(error)) from error
    asked: dict[str, Any] = {"documents": documents or TEXTS, "settings": settings}
    ended = play(known, question, seats, default=default, **asked)
    _true(known, ended)
    again = replay(lambda name: known, "s", ended.log)
    assert again.session.closed, "its log, recomputed, does not end"
    for session, entry in replayed(lambda name: known, "s", ended.log):
        if not session.closed:
            cancelled = log.Cancelled(author="test", reason="")
            after, _ = record(known, session, entry.digest, cancelled, session.at_ns + 1, "in:0")
            assert after.closed, f"after entry {entry.n} a cancel does not end it"
    silent = play(known, question, default=_Absent(), **asked)
    _true(known, silent)
    assert not silent.result.stop.converged, "where nobody answers, nobody agrees"
    return ended


def _true(protocol: Protocol, ended: Played) -> None:
    stop = ended.result.stop
    if stop.reason == "protocol_fault":
        raise AssertionError(str(stop.certificate["why"]))
    assert stop.reason in STOPS and stop.reason in protocol.stops, (
        f"it ended by {stop.reason}, which it does not declare"
    )
    row = STOPS[stop.reason]
    assert ended.result.status == row.status, f"{stop.reason}: status {ended.result.status}, its row says {row.status}"
    if row.converged:
        assert "unsigned" not in stop.certificate, f"{stop.reason} claims convergence: {stop.certificate['unsigned']}"


def allow(*packages: str) -> None:
    """Allow packages in this process and in those that it starts, beside those that are allowed already. Raises
    ValueError: a package is not installed, or something that it brings has a fault: with the words of `parley
    doctor`."""
    before = os.environ.get(ALLOWED, "")
    os.environ[ALLOWED] = ",".join(filter(None, (before, *packages)))
    wanted = {normal(package) for package in packages}
    for part in everything():
        if part.fault and normal(part.package.partition(" ")[0]) in wanted:
            raise ValueError(f"{part.group} {part.name} of {part.package} ({part.value}): {part.fault}")
