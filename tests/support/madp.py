"""MADP on the real engine inside one process: experts whose models say what a test wrote down, and hear for
themselves."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.hearing import Hear
from parley.agents.model.base import Completion, Emit, Model
from parley.agents.models import make_model
from parley.agents.protocols.madp.reactions import HEARD, make_hear
from parley.agents.specs import of_expert
from parley.agents.worker import Worker
from parley.bus.connection import Connection
from parley.coordinator.presence import Presence
from parley.schemas.expert import ROLE, ExpertSpec, pin, queue_of
from parley.schemas.post import Fate, Post
from parley.schemas.protocols.madp.messages import Item
from parley.schemas.session import DecideItem
from parley.schemas.turn import Usage
from parley.schemas.wire import encode
from tests.protocols.madp.play import APPROVED, done, helps
from tests.support.engine import Engine, until

Said = Any
"""A reply's body; a function of what was shown that gives one; or an exception, which is raised."""


class Actor:
    """A model that says, for each kind of turn, one thing after another; the last one again and again.

    What is not written down is done, helped, approved. `gate`: a turn of this kind waits until it is opened.
    """

    name = "actor"
    family = "actor"
    computes = True
    usd_per_million_input = usd_per_million_output = 0.0

    def __init__(
        self, *, metered: bool = False, tokens: int = 0, others: Model | None = None, **said: Iterable[Said]
    ) -> None:
        self.metered = metered
        self.others = others
        """Who answers turns of other protocols."""
        self.said = {kind: list(bodies) for kind, bodies in said.items()}
        self.tokens = tokens
        self.shown: list[Shown] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.stuck = asyncio.Event()
        """A turn waits at its gate."""

    def kinds(self) -> list[str]:
        """What it was asked."""
        return [s.kind for s in self.shown]

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """What is written down next."""
        if shown.protocol != "madp":
            assert self.others is not None, f"asked {shown.kind} of {shown.protocol}"
            return await self.others.reply(shown, emit)
        self.shown.append(shown)
        if shown.kind in self.gates:
            self.stuck.set()
            await self.gates[shown.kind].wait()
        usage = Usage(input_tokens=self.tokens, output_tokens=self.tokens, calls=1)
        return Completion(body=self._body(shown), usage=usage)

    def _body(self, shown: Shown) -> Any:
        left = self.said.get(shown.kind)
        if not left:
            return {"work": done(), "support": helps(), "review": APPROVED}[shown.kind]
        said = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(said, Exception):
            raise said
        return said(shown) if callable(said) else said


class Crew(Engine):
    """An engine whose table has a helper and some experts, and what a test of tasks asks of it."""

    def __init__(self, folder: Path, experts: Iterable[ExpertSpec], others: Mapping[str, str] | None = None) -> None:
        self.specs = {spec.id: spec for spec in experts}
        queues = {"helper": "helper", **{queue_of(x): ROLE for x in self.specs}, **(others or {})}
        super().__init__(folder, queues, pins={queue_of(x): pin(spec) for x, spec in self.specs.items()})
        self._helped = False

    async def helper(self, *matched: Said) -> Actor:
        """A helper that says so; nothing said: it matches."""
        model = Actor(match=matched, others=make_model("extractive"))
        self._helped = True
        await self.worker("helper", model=model if matched else model.others)
        return model

    async def expert(self, id: str, model: Any = None, *, hears: bool = True, **more: Any) -> Worker:
        """One more process of an expert; its model is an Actor that does as it should where none is given."""
        spec, model = self.specs[id], model or Actor()
        hear = Hear(HEARD, make_hear(spec)) if hears else None
        return await self.worker(queue_of(id), model=model, spec=of_expert(spec), hear=hear, **more)

    async def experts(self, *but: str, hears: bool = True) -> dict[str, Actor]:
        """All the others, each with a model of its own."""
        models = {x: Actor() for x in self.specs if x not in but}
        for x, model in models.items():
            await self.expert(x, model, hears=hears)
        return models

    async def know(self, *moderators: Any, without: Iterable[str] = ()) -> None:
        """Wait until the moderators have heard of every expert, and of the helper if there is one."""
        wanted = sorted(set(self.specs) - set(without))

        def knows(presence: Presence) -> bool:
            helped = not self._helped or any(a.queue == "helper" for a in presence.alive())
            return helped and [k.id for k in presence.known()] == wanted

        async def known() -> bool:
            return all(knows(m.presence) for m in moderators)

        await until(known, 120.0)  # three processes take 40 s to start on a machine that is busy

    async def task(self, sid: str, prompt: str = "Look at it", *, request: Mapping[str, Any] | None = None,
                   **settings: Any) -> None:  # fmt: skip
        """Give a task; it is taken."""
        given = {"turn_timeout_s": 30.0, **(request or {})}
        fate = await self.open(sid, question=prompt, protocol="madp", settings=settings, **given)
        assert fate.fate == "taken", fate.why

    async def kind(self, sid: str, kind: str, channel: str = "public", least: int = 1) -> list[Any]:
        """Bodies of the posts of a kind, once there are so many."""

        async def look() -> list[Post]:
            posts = [p for p in await self.posts(sid, channel) if p.kind == kind]
            return posts if len(posts) >= least else []

        return [msgspec.json.decode(p.body) for p in await until(look)]

    async def result(self, sid: str, timeout_s: float = 20.0) -> Any:
        """The result frame of a task that ends."""
        return msgspec.json.decode((await self.closed(sid, timeout_s)).body)

    async def item(self, sid: str, n: int = 1) -> Item:
        """The n-th question to a human."""
        items = await self.kind(sid, "item", "inbox", n)
        return msgspec.convert(items[n - 1], Item)

    async def decide(self, sid: str, item: str, choice: str, note: str = "", user: Connection | None = None) -> Fate:
        """A human's answer, and its fate."""
        return await self.submit(sid, encode(DecideItem(item=item, choice=choice, note=note)), user)


def lead_of(result: Any) -> str:
    """Who led in the end."""
    return str(result["outcome"]["lead"])


def waits(model: Actor, kind: str) -> Callable[[], None]:
    """Its turns of this kind wait; what opens the gate."""
    gate = model.gates[kind] = asyncio.Event()
    return gate.set
