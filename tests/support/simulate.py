"""A session of any protocol in one process: the machine, the builder of turns, a model in each seat, and no bus."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from parley.agents.context import Shown
from parley.agents.model.base import Completion
from parley.agents.models import Model, make_model
from parley.agents.show_turn import show
from parley.client.evidence import read
from parley.coordinator.admission import admit
from parley.coordinator.briefing import build
from parley.coordinator.machine import record, record_opening
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.presence import Announcement
from parley.schemas.result import Result
from parley.schemas.session import Document, OpenSession
from parley.schemas.wire import decode, encode

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass
class Simulated:
    """What a simulated session came to."""

    posts: tuple[Post, ...] = ()
    entries: list[log.Entry] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    completions: list[Completion] = field(default_factory=list)
    """One for each of `shown`."""

    @property
    def result(self) -> Result:
        return decode(self.posts[-1].body, Result)

    @property
    def log(self) -> list[bytes]:
        """As stored."""
        return [encode(e) for e in self.entries]


S = TypeVar("S", bound=Simulated)


def example(name: str, roles: Sequence[str]) -> tuple[str, tuple[Document, ...]]:
    """(question, documents) of an example."""
    root = EXAMPLES / name
    return (root / "question.txt").read_text(encoding="utf-8").strip(), read(root / "evidence", roles).documents


def simulate(
    ended: S, request: OpenSession, workers: Mapping[str, str], models: Mapping[str, Model] | None = None, *,
    default: Model | None = None, seed: int = 1,
) -> S:  # fmt: skip
    """Play a session to its end. `workers`: queue -> role; a seat without a model of its own has the default, which is
    extractive if none is given."""
    return asyncio.run(play(ended, request, workers, models, default=default, seed=seed))


async def play(
    ended: S, request: OpenSession, workers: Mapping[str, str], models: Mapping[str, Model] | None = None, *,
    default: Model | None = None, seed: int = 1,
) -> S:  # fmt: skip
    """The same, inside an event loop."""
    protocol, usual = PROTOCOLS[request.protocol], default or make_model("extractive")
    held: dict[str, Model] = {queue: (models or {}).get(queue, usual) for queue in workers}
    there = tuple(
        Announcement(instance=q, queue=q, roles=(role,), model="m", family=held[q].family, metered=held[q].metered)
        for q, role in workers.items()
    )
    opened = admit(protocol, request, there, seed, "test")
    session, entry = record_opening(protocol, "s", opened, 1, "in:1")
    ended.entries.append(entry)
    waiting = build(session, entry.n, entry.commands, key=b"k" * 32, lane="any", decided_ns=1)
    while not session.closed:
        sending = waiting.pop(0)
        for turn in sending.work.turns:
            if turn.id not in session.turns:
                continue  # it was withdrawn meanwhile
            shown = show(sending.work, turn, [d for d in opened.documents if turn.seat in d.holders])
            model: Any = (models or {}).get(turn.seat, usual)
            completion = await model.reply(shown, lambda text: None)
            ended.shown.append(shown)
            ended.completions.append(completion)
            replied = log.Replied(turn=turn.id, body=completion.json(), usage=completion.usage, flags=completion.flags)
            session, entry = record(protocol, session, entry.digest, replied, entry.at_ns + 1, f"turn:{turn.id}")
            ended.entries.append(entry)
            waiting += build(session, entry.n, entry.commands, key=b"k" * 32, lane="any", decided_ns=1)
    ended.posts = session.posts
    return ended
