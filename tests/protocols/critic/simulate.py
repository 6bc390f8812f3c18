"""A critic session in one process: the real machine, the real builder of turns, a model in each seat, and no bus."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parley.agents.context import Shown
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

EXAMPLES = Path(__file__).parents[3] / "examples"
ROLES = ("answerer", "critic", "judge")


@dataclass
class Ended:
    """What a simulated session came to."""

    posts: tuple[Post, ...] = ()
    entries: list[log.Entry] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)

    @property
    def result(self) -> Result:
        """The result frame."""
        return decode(self.posts[-1].body, Result)

    @property
    def log(self) -> list[bytes]:
        """As stored."""
        return [encode(e) for e in self.entries]


def example(name: str) -> tuple[str, tuple[Document, ...]]:
    """(question, documents) of an example."""
    root = EXAMPLES / name
    return (root / "question.txt").read_text().strip(), read(root / "evidence", ROLES).documents


def run(
    question: str, documents: Sequence[Document], models: Mapping[str, Model] | None = None, **settings: Any
) -> Ended:
    """Play a session to its end; a seat without a model of its own is extractive."""
    return asyncio.run(play(question, documents, models, **settings))


async def play(
    question: str, documents: Sequence[Document], models: Mapping[str, Model] | None = None, **settings: Any
) -> Ended:
    """The same, inside an event loop."""
    protocol = PROTOCOLS["critic"]
    default = make_model("extractive")
    families = {q: (models or {}).get(q, default).family for q in ROLES}
    workers = tuple(Announcement(instance=q, queue=q, roles=(q,), model="m", family=families[q]) for q in ROLES)
    request = OpenSession(question=question, protocol="critic", settings=settings, documents=tuple(documents))
    opened = admit(protocol, request, workers, 1, "test")
    session, entry = record_opening(protocol, "s", opened, 1, "in:1")
    ended = Ended(entries=[entry])
    while not session.closed:
        (sending,) = build(session, entry.n, entry.commands, key=b"k" * 32, lane="any", decided_ns=1)
        (turn,) = sending.work.turns
        held = [d for d in opened.documents if turn.seat in d.holders]
        shown = show(sending.work, turn, held)
        ended.shown.append(shown)
        completion = await (models or {}).get(turn.seat, default).reply(shown, lambda text: None)
        replied = log.Replied(turn=turn.id, body=completion.json(), usage=completion.usage, flags=completion.flags)
        session, entry = record(protocol, session, entry.digest, replied, entry.at_ns + 1, f"turn:{turn.id}")
        ended.entries.append(entry)
    ended.posts = session.posts
    return ended
