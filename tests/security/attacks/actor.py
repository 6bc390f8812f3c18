"""One user as an attacker: what it tries, and how it is told whether that was refused."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping

from parley.bus import accounts, channels
from parley.bus.accounts import Credentials
from parley.bus.errors import BusError, Denied, NoModerator
from parley.bus.library import cancelled
from tests.security.attacks.scene import LET_THROUGH, NOT_RUN, REFUSED, SUCCEEDED, CannotRun, Scene, Verdict, violation

_JUDGED_S = 20
"""So long the check waits for a busy server to say whether it refuses; a whole number, as nats-py wants it."""
_ANSWER_S = 0.5
"""So long it waits for an answer to what was not refused."""


class Actor:
    """One user as an attacker."""

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

    async def publishes(
        self, subject: str, payload: bytes = b"", *, headers: Mapping[str, str] | None = None, reply: str = "",
        ears: Iterable[str] = (),
    ) -> Verdict:  # fmt: skip
        """Publish where this user may not. Let through, it is looked whether it arrived."""
        scene = self.scene
        data = payload or json.dumps(scene.secret.decode()).encode()
        try:
            await self.conn.publish(subject, data, headers, reply=reply, confirm=True)
        except Denied as denied:
            return violation(denied)
        async with scene.ears(subject, [*ears, scene.referee.credentials.user]) as heard:
            await self.conn.publish(subject, data, headers, reply=reply, confirm=True)
            await scene.settle(scene.referee, *(scene.connections[e] for e in ears))
            if heard:
                return Verdict(SUCCEEDED, "it arrived")
        return Verdict(LET_THROUGH, "the broker took it, and nobody was there to hear it")

    async def asks(self, subject: str, payload: bytes = b"") -> Verdict:
        """Ask where this user may not. An answer is a success."""
        question = asyncio.create_task(self.conn.request(subject, payload, _JUDGED_S + _ANSWER_S))
        try:
            await asyncio.sleep(0)  # the question is on its way
            await self.conn.flush(subject, _JUDGED_S)
            await asyncio.wait((question,), timeout=_ANSWER_S)
            if not question.done():
                return Verdict(LET_THROUGH, f"no answer within {_ANSWER_S:g} s")
            answer = question.result()
        except Denied as denied:
            return violation(denied)
        except NoModerator:
            return Verdict(LET_THROUGH, "no responders")
        except BusError as error:
            return Verdict(LET_THROUGH, f"no answer: {error}")
        finally:
            await cancelled(question)
        return Verdict(SUCCEEDED, f"answered: {answer.data[:120].decode(errors='replace')}")

    async def hears(
        self, subject: str, stimulus: Callable[[], Awaitable[object]], *, queue: str = "", wants: bytes = b""
    ) -> Verdict:
        """Subscribe where this user may not. Let through, the secret is posted there."""
        heard: list[bytes] = []
        try:
            sub = await self.conn.subscribe(subject, lambda msg: heard.append(msg.data), queue)
        except Denied as denied:
            return violation(denied)
        try:
            await stimulus()
            for _ in range(5):
                await self.scene.settle(self.scene.referee, self.conn)
                if any(wants in data for data in heard):
                    return Verdict(SUCCEEDED, "it heard what was posted there")
                await self.scene.grace()
        finally:
            await sub.unsubscribe()
        return Verdict(LET_THROUGH, "the broker took the subscription; nothing was heard")

    async def overhears(
        self,
        at: Iterable[str],
        says: Callable[[bytes], Awaitable[object]],
        says_to_it: Callable[[bytes], Awaitable[object]] | None = None,
        queue: str = "",
    ) -> Verdict:
        """Subscribe at these subjects, and look whether what is another's arrives there.

        Parameters
        ----------
        says
            Says something in the other's session.
        says_to_it
            Says something where this user may hear it, so that a silence means something. None: it may not subscribe at
            all.
        """
        scene = self.scene
        word, control = (f"{scene.secret.decode()}-{secrets.token_hex(8)}".encode() for _ in range(2))
        heard: list[bytes] = []
        subs = []
        try:
            for subject in at:
                subs.append(await self.conn.subscribe(subject, lambda msg: heard.append(msg.data), queue))
            await says(word)
            if says_to_it is not None:
                await says_to_it(control)
            for _ in range(5):
                await scene.settle(scene.referee, self.conn)
                if word in heard:
                    return Verdict(SUCCEEDED, "it heard what was said there")
                await scene.grace()
        except Denied as denied:
            return violation(denied)
        finally:
            for sub in subs:
                await sub.unsubscribe()
        if says_to_it is None:
            return Verdict(LET_THROUGH, "the broker took the subscription; nothing was heard")
        if control not in heard:
            raise CannotRun("it did not hear what was said to it either")
        return Verdict(REFUSED, "it heard its own, and not the other's")


Attack = tuple[str, Callable[[], Awaitable[Verdict]]]
"""What is tried, in words, and how."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Of several ways to do one thing: refused only if all are."""
    order = (SUCCEEDED, LET_THROUGH, NOT_RUN, REFUSED)
    return min(verdicts, key=lambda v: order.index(v.outcome))
