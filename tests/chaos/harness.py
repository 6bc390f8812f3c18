"""The real embedded stack, sessions played on it with a live follower each, and what was gathered of them."""

import asyncio
import base64
import contextlib
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import msgspec

from parley.agents.models import make_model
from parley.bus import streams, subjects
from parley.bus.accounts import load_credentials
from parley.bus.channels import CLIENTS, readable_by
from parley.bus.connection import Connection, connect
from parley.bus.errors import ApiError, BusError
from parley.bus.log import waiting
from parley.bus.storage.packs import unpack
from parley.client.client import Client
from parley.client.errors import ParleyError, Refusal
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.session import OpenSession, Seat
from parley.stack.lease import OWNER, Lease, Stack
from parley.stack.rows import AgentRow
from tests.chaos.verify import (
    Evidence,
    Findings,
    Stored,
    Text,
    check,
    disturbed,
    missed,
    neglected,
    started,
    transcript,
)
from tests.protocols.critic.simulate import ROLES
from tests.protocols.critic.simulate import example as archive
from tests.protocols.critic.simulate import run as alone
from tests.protocols.maci.turns import example
from tests.support.crash import CRASH, CRASH_DIR
from tests.support.model import Call, read_journal

MODEL = "tests.chaos.model:make"
SCORES = (40.0, 50.0, 95.0)
TURNS = 13
"""Three rounds of three positions, a score of the first and of the last, since nobody moves in the second, and two
signatures."""
PANEL = ("panelist_1", "panelist_2", "panelist_3")
DEBATE = ("debater_1", "debater_2", "judge", "helper")
QUEUES = (*PANEL, *DEBATE, "analyst")
"""Of both protocols."""
SEEDS = 8
TURN_TIMEOUT_S = 40.0
"""Beyond all that a few restarts can cost a turn: no turn of these runs may be missed."""
REFUSED_S = 1.0
"""After an opening that was refused since a worker was missing: the next one is tried so much later."""
CALLED_NS = 25_000_000
"""A model call that is younger has no answer: the models of the kill tests take 50 ms or longer."""


class Play(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions of one kind: what they are opened with, and how many turns one takes undisturbed."""

    request: OpenSession
    turns: int
    queues: tuple[str, ...]
    seeds: int = SEEDS
    label: str = ""
    beneath: int = 0
    """Turns of the session that is started beneath each of these; 0: none is."""
    others: int = 1
    """Transitions that are no reply, of all sessions that one of these leads to: its opening, and what is heard and
    told."""
    experts: int = 0
    """How many a session is opened with, undisturbed."""

    @property
    def name(self) -> str:
        return self.label or self.request.protocol


CONSENSUS = Play(
    request=OpenSession(question="What is the answer?", protocol="consensus", turn_timeout_s=TURN_TIMEOUT_S),
    turns=TURNS,
    queues=(*PANEL, "analyst"),
)


def maci() -> Play:
    """Two rounds of two debaters, with the stack's one judge: arguments of both are admitted and refused."""
    question, documents, outcomes = example("off-topic")
    settings = {"outcomes": outcomes, "round_limit": 2}
    request = OpenSession(
        question=question, protocol="maci", documents=documents, settings=settings, turn_timeout_s=TURN_TIMEOUT_S
    )
    return Play(request=request, turns=1 + 2 + 2 * (2 + 1 + 1) + 1, queues=(*DEBATE, "analyst"), seeds=3)


@lru_cache
def critic() -> Play:
    """A question that is answered, criticised and judged until no objection is left; its models need as many turns
    without a bus."""
    question, documents = archive("critic-archive")
    models = dict.fromkeys(ROLES, make_model(MODEL))
    turns = sum(isinstance(e.event, log.Replied) for e in alone(question, documents, models).entries)
    request = OpenSession(question=question, protocol="critic", documents=documents, turn_timeout_s=TURN_TIMEOUT_S)
    return Play(request=request, turns=turns, queues=ROLES, seeds=2)


def calm_arrivals(point: str, plays: Iterable[Play] = (CONSENSUS,)) -> int:
    """How often the undisturbed sessions come to a named point: once a turn, to all but the first with the rest too."""
    return sum(p.seeds * (p.turns + p.beneath + p.others * (point != "replied")) for p in plays)


async def pause(seconds: float) -> None:
    """Let time pass: between the faults that are injected, never to wait for what they lead to."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), seconds)


def make_stack(
    folder: Path,
    *,
    moderators: int = 1,
    copies: int = 1,
    latency_s: float = 0.02,
    crash: str = "",
    ack_wait_s: float = 8.0,
    queues: Iterable[str] = CONSENSUS.queues,
    agents: tuple[AgentRow, ...] = (),
    options: dict[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    imports: tuple[str, ...] = (),
) -> Stack:
    """Queues (a panel of three and an analyst) with the tests' model, which keeps its journal in `folder`."""
    crashes = folder / "crashes"
    crashes.mkdir(parents=True, exist_ok=True)
    given = {
        "journal": str(folder / "journal"),
        "latency_s": latency_s,
        "scores": SCORES,
        "agree_from": 3,
        "fingerprint": True,
    }
    given |= options or {}
    rows = agents or tuple(AgentRow(queue=q, copies=copies, room=16) for q in queues)
    return Stack(
        agents=tuple(
            AgentRow(queue=r.queue, copies=r.copies, room=r.room, model=MODEL, options={**given, **r.options})
            for r in rows
        ),
        moderators=moderators,
        ack_wait_s=ack_wait_s,
        imports=imports,
        checkpoint="tests.support.crash:checkpoint",
        env={CRASH: crash, CRASH_DIR: str(crashes), **(env or {})},
    )


class Rig:
    """A stack with a client on it; plays sessions of some kinds, and gathers what became of them.

    An async context manager. `folder` keeps the journal, and state and logs unless `state` names a folder for them.
    """

    def __init__(
        self, folder: Path, stack: Stack, plays: tuple[Play, ...] = (CONSENSUS,), state: Path | None = None
    ) -> None:
        self.folder = folder
        self.crashes = folder / "crashes"
        self.journal = folder / "journal"
        self.stack = stack
        self.lease = Lease(stack, state or folder / "state", wait_ready=True)
        self.followed: dict[str, tuple[Post, ...]] = {}
        self.plays = plays
        self.played: dict[str, tuple[Play, int]] = {}
        """Session -> its kind and its seed."""
        self.expected: dict[tuple[str, int], list[Text]] = {}
        self.failed: dict[str, str] = {}
        """Session -> why it did not end in its time (`attempt`)."""
        self.refused: dict[str, str] = {}
        """Session -> why it was refused: a worker was missing just then. Its user was told, and it is none of those
        that were played."""
        self.keep: Path | None = None
        """Where the logs of sessions of which something is wrong are written, the journal, and the services' logs."""
        self._exit = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opening:
            await opening.enter_async_context(self.lease)
            owner = await self._connect(OWNER, opening)
            self.client = Client(owner, OWNER, patience_s=60.0)
            self.bus = await self._connect("moderator-1", opening)
            self._exit = opening.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.keep is not None:
            shutil.copytree(self.lease.state / "logs", self.keep / "logs", dirs_exist_ok=True)
            shutil.copy(self.journal, self.keep)
        await self._exit.aclose()

    async def _connect(self, user: str, exits: AsyncExitStack) -> Connection:
        credentials = load_credentials(self.lease.credentials(user))
        return await exits.enter_async_context(await connect(self.lease.url, credentials, name=f"chaos-{user}"))

    # -- playing
    async def play(
        self, sid: str, seed: int, play: Play | None = None, seats: tuple[Seat, ...] = (),
        settings: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """One session from its opening to its last post, followed live."""
        play = play or self.plays[0]
        self.played[sid] = play, seed
        given = {**play.request.settings, **(settings or {})}
        try:
            await self.client.open(msgspec.structs.replace(play.request, seed=seed, seats=seats, settings=given), sid)
        except Refusal as error:
            if error.field.startswith("seats"):
                del self.played[sid]
                self.refused[sid] = str(error)
            raise

        heard = []
        async for post in self.client.posts(sid):
            self.hears(sid, post)
            heard.append(post)
        self.followed[sid] = tuple(heard)

    async def attempt(self, sid: str, seed: int, play: Play, limit_s: float, tell: Callable[[str], None]) -> bool:
        """One session within so many seconds: whether it ended. After one that was refused, some time passes."""
        try:
            async with asyncio.timeout(limit_s):
                await self.play(sid, seed, play)
            return True
        except Refusal as error:
            if sid not in self.refused:
                self.failed[sid] = f"{play.name}: {error}"
            tell(f"{sid}: {error}")
            await pause(REFUSED_S)
        except (TimeoutError, BusError, ParleyError) as error:
            self.failed[sid] = f"{play.name}: {type(error).__name__}: {error}"
            tell(f"{sid}: {self.failed[sid]}")
        return False

    def hears(self, sid: str, post: Post) -> None:
        """A follower of this session hears a post."""

    async def play_all(self, sids: Iterable[str], at_once: int, **more: Any) -> None:
        """Sessions of all kinds in turn, with the seeds 0, 1, ... in turn."""
        room = asyncio.Semaphore(at_once)

        async def one(i: int, sid: str) -> None:
            n, kind = divmod(i, len(self.plays))
            play = self.plays[kind]
            async with room:
                await self.play(sid, n % play.seeds, play, **more)

        async with asyncio.TaskGroup() as group:
            for i, sid in enumerate(sids):
                group.create_task(one(i, sid))

    async def learn(self, **more: Any) -> None:
        """What undisturbed runs say, one of each kind and seed."""
        calm = {f"calm-{p.name}-{seed}": (p, seed) for p in self.plays for seed in range(p.seeds)}
        async with asyncio.TaskGroup() as group:
            for sid, (play, seed) in calm.items():
                group.create_task(self.play(sid, seed, play, **more))
        for sid, (play, seed) in calm.items():
            self.expected[play.name, seed] = transcript(await self.history(sid))

    # -- gathering
    async def quiet(self, timeout_s: float = 30.0, timers_s: float = 3.0) -> int:
        """Wait until WORK and IN are empty and no timer is left; timers that outlived their sessions by `timers_s`."""
        deadline = time.monotonic() + timeout_s
        while True:
            with contextlib.suppress(BusError):
                left = await self.left()
                if not left[streams.WORK] and not left[streams.IN]:
                    break
            assert time.monotonic() < deadline, f"WORK and IN are not empty: {await self._waiting()}"
            await pause(0.02)
        deadline = time.monotonic() + timers_s
        while left["timers"] and time.monotonic() < deadline:
            await pause(0.05)
            with contextlib.suppress(BusError):
                left = await self.left()
        return left["timers"]

    async def left(self) -> dict[str, int]:
        """Messages in WORK and IN, and armed timers."""
        found = {s: (await self._info(s))["state"]["messages"] for s in (streams.WORK, streams.IN)}
        timers = await self._info(streams.TIMER, {"subjects_filter": subjects.timer.each})
        return {**found, "timers": len(timers["state"].get("subjects") or {})}

    async def _waiting(self) -> list[str]:
        return [x for stream in (streams.WORK, streams.IN) for x in await waiting(self.bus, stream, ">")][:20]

    async def _info(self, stream: str, body: object = None) -> dict[str, Any]:
        return await self.bus.api(f"STREAM.INFO.{stream}", body)

    async def stored(self, sid: str) -> tuple[Stored, ...]:
        """The session's transitions with the server's times."""
        found: list[Stored] = []
        seq = 0
        while True:
            ask = {"seq": seq + 1, "next_by_subj": subjects.log_of(sid)}
            try:
                message = (await self.bus.api("STREAM.MSG.GET.LOG", ask))["message"]
            except ApiError as error:
                if error.err_code == 10037:  # no message found
                    return tuple(found)
                raise
            seq = message["seq"]
            if subjects.log.parse(message["subject"])[1] != subjects.REFUSED:
                at_ns = _unix_ns(message["time"])
                found += [Stored(entry, at_ns) for entry in unpack(base64.b64decode(message["data"]))]

    async def history(self, sid: str) -> dict[str, tuple[Post, ...]]:
        """Channel -> posts, as a client is given them."""
        return {c: await self.client._reader.history(sid, c) for c in readable_by(CLIENTS)}

    async def evidence(self, sid: str) -> Evidence:
        """All that there is of one session."""
        return Evidence(
            sid=sid, stored=await self.stored(sid), asked=tuple(await self.client.log(sid)),
            history=await self.history(sid), followed=self.followed.get(sid, ()),
        )  # fmt: skip

    async def findings(self, quiet_s: float = 30.0) -> Findings:
        """Every session that was played, checked, once WORK and IN are empty."""
        late_timers = await self.quiet(quiet_s)
        calls: dict[str, list[Call]] = {}
        journal = read_journal(self.journal)
        for call in journal:
            calls.setdefault(call.session, []).append(call)
        found = Findings(late_timers=late_timers, lost=[f"{sid}: {why}" for sid, why in self.failed.items()])
        for sid, (play, seed) in self.played.items():
            if sid in self.failed:
                continue
            about, expected = await self.evidence(sid), self.expected[play.name, seed]
            before = len(found.violations)
            without = missed(about)
            found.missed += len(without)
            found.lost += [
                f"{sid}: turn {t.key[0]} was missed: {why}" for t in without if (why := neglected(t, journal))
            ]
            if without:
                check(found, about, calls.get(sid, ()), None, None, without)
            elif disturbed(about, play.experts, expected):
                found.disturbed += 1
                check(found, about, calls.get(sid, ()), None, None)
            else:
                check(found, about, calls.get(sid, ()), expected, play.turns)
            if play.beneath:
                await self._beneath(found, about, calls, play.beneath)
            if len(found.violations) > before:
                self._keep(about)
        for sid, why in self.refused.items():
            if await self.stored(sid):
                found.wrong.append(f"{sid}: its user was told that it was refused, and it began: {why}")
        return found

    def _keep(self, about: Evidence) -> None:
        """Write down what somebody needs who looks for the cause."""
        if self.keep is None:
            return
        self.keep.mkdir(parents=True, exist_ok=True)
        (self.keep / f"{about.sid}.jsonl").write_bytes(b"\n".join(s.data for s in about.stored) + b"\n")

    async def _beneath(self, found: Findings, above: Evidence, calls: Mapping[str, list[Call]], turns: int) -> None:
        """Sessions that one started, all of which are over: as an owner sees them."""
        for sid in started(above):
            stored, asked = await self.stored(sid), tuple(await self.client.log(sid))
            history = await self.history(sid)
            followed = tuple(p for posts in history.values() for p in posts)
            about = Evidence(sid=sid, stored=stored, asked=asked, history=history, followed=followed)
            check(found, about, calls.get(sid, ()), None, turns)

    def asking(self, pid: int) -> bool:
        """Whether a process has begun a model call so lately that it has no answer yet (calls take 50 ms and more)."""
        return any(c.pid == pid and time.time_ns() - c.at_ns < CALLED_NS for c in read_journal(self.journal))

    async def pending_turns(self) -> int:
        """Turns that wait or are in hand."""
        return int((await self._info(streams.WORK))["state"]["messages"])


def _unix_ns(text: str) -> int:
    """RFC 3339 in UTC with up to nine decimals, as the server writes it."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    seconds = int(datetime.fromisoformat(whole + "+00:00").timestamp())
    return seconds * 1_000_000_000 + int(fraction.ljust(9, "0") or 0)


def shown(found: Findings) -> str:
    """One line of figures for a test's output."""
    return " ".join(f"{name}={n}" for name, n in found.figures().items())
