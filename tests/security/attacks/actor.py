"""One user as an attacker: what it tries, and how it is told whether that was refused."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from parley.bus import accounts, channels
from parley.bus.accounts import Credentials
from parley.bus.errors import BusError, Denied
from tests.security.attacks.scene import (
    LET_THROUGH,
    NOT_RUN,
    NOT_STORED,
    REFUSED,
    SUCCEEDED,
    CannotRun,
    Scene,
    Verdict,
    violation,
)

Says = Callable[[bytes], Awaitable[object]]
_LOOKS = 5
"""How often it is looked whether something arrived."""


class Actor:
    def __init__(self, scene: Scene, name: str) -> None:
        self.scene = scene
        self.name = name
        self.user = scene.users[name]
        self.conn = scene.connections[name]
        self.agent = self.user.kind == accounts.AGENT
        self.owner = self.user.kind == accounts.OWNER
        self.observer = self.user.kind == accounts.OBSERVER
        self.submits = self.user.kind in (accounts.CLIENT, accounts.OWNER)

    @property
    def group(self) -> str:
        """The account of the tables, and the kind where it is no agent."""
        return self.user.account if self.agent else self.user.kind

    def foreign(self) -> list[str]:
        """Channels that somebody reads and this user may not."""
        mine = channels.readable_by(self.user.account)
        return [c.name for c in channels.CHANNELS.values() if c.readers and c.name not in mine]

    def others(self, *kinds: str) -> list[Credentials]:
        """All other users of these kinds: the other team first, then its own account, then the rest; agents first."""
        teams = (channels.PRO, channels.CON)

        def distance(other: Credentials) -> tuple[bool, int, str]:
            own = other.account == self.user.account
            return other.kind != accounts.AGENT, 1 if own else 0 if other.account in teams else 2, other.user

        return sorted((c for n, c in self.scene.users.items() if n != self.name and c.kind in kinds), key=distance)

    def victims(self, *kinds: str) -> list[Credentials]:
        """One of each account and kind, in the order of `others`."""
        victims: dict[tuple[str, str], Credentials] = {}
        for other in self.others(*kinds):
            victims.setdefault((other.account, other.kind), other)
        return list(victims.values())

    async def publishes(self, *at: str, payload: bytes = b"{}") -> Verdict:
        verdicts = []
        for subject in at:
            try:
                await self.conn.publish(subject, payload, NOT_STORED, confirm=True)
            except Denied as denied:
                verdicts.append(violation(denied))
            else:
                verdicts.append(Verdict(SUCCEEDED, f"the broker took {subject}"))
        return worst(verdicts)

    async def learns(self, victim: str, sid: str, seq: int) -> Verdict:
        """Ask what became of a submission of the victim's, in one's own name and in the victim's."""

        async def asks(author: str) -> Verdict:
            fate = await self.scene.fate(self.name, author, channels.CLIENT, sid, seq, 0.0)
            return Verdict(REFUSED if fate.fate == "pending" else SUCCEEDED, f"the moderator says: {fate.fate}")

        return await each(partial(asks, self.name), partial(asks, victim))

    async def subscribes(self, subject: str, queue: str = "") -> Verdict:
        try:
            await (await self.conn.subscribe(subject, lambda msg: None, queue)).unsubscribe()
        except Denied as denied:
            return violation(denied)
        return Verdict(SUCCEEDED, "the broker took the subscription")

    async def overhears(self, at: Iterable[str], says: Says, says_to_it: Says, words: tuple[str, str]) -> Verdict:
        """Subscribe at these subjects, and look whether what is another's arrives there: the first word, in a message.
        `says_to_it` says the other one where this user may hear it, so that a silence means something."""
        scene = self.scene
        word, control = (text.encode() for text in words)
        heard: list[bytes] = []

        def hears(what: bytes) -> bool:
            return any(what in data for data in heard)

        subs = []
        try:
            for subject in at:
                subs.append(await self.conn.subscribe(subject, lambda msg: heard.append(msg.data)))
            await asyncio.gather(says(word), says_to_it(control))
            for _ in range(_LOOKS):
                await scene.settle(scene.referee, self.conn)
                if hears(word):
                    return Verdict(SUCCEEDED, "it heard what was said there")
                await scene.grace()
        except Denied as denied:
            return violation(denied)
        finally:
            for sub in subs:
                await sub.unsubscribe()
        if not hears(control):
            raise CannotRun("it did not hear what was said to it either")
        return Verdict(REFUSED, "it heard its own, and not the other's")


def decided(verdict: str, why: str) -> Verdict:
    """What a moderator answered."""
    outcome = {"accepted": SUCCEEDED, "taken": SUCCEEDED, "refused": REFUSED}.get(verdict, LET_THROUGH)
    return Verdict(outcome, f"the moderator {verdict}: {why}")


async def each(*ways: Callable[[], Awaitable[Verdict]]) -> Verdict:
    """Several ways to do one thing, of which the broker refuses some: refused only if all are."""
    verdicts = []
    for way in ways:
        try:
            verdicts.append(await way())
        except Denied as denied:
            verdicts.append(violation(denied))
        except BusError as error:
            verdicts.append(Verdict(LET_THROUGH, f"no answer: {error}"))
    return worst(verdicts)


Attack = tuple[str, Callable[[], Awaitable[Verdict]]]
"""What is tried, in words, and how."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    order = (SUCCEEDED, LET_THROUGH, NOT_RUN, REFUSED)
    return min(verdicts, key=lambda v: order.index(v.outcome))
