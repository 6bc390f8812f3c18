"""A MACI session in one process: the real machine, the real builder of turns, a model in each seat, and no bus."""

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
from parley.schemas.protocols.maci.messages import Case, Round
from parley.schemas.result import Result
from parley.schemas.session import Document, OpenSession
from parley.schemas.wire import decode, encode

EXAMPLES = Path(__file__).parents[3] / "examples"
ROLES = ("debater", "judge", "analyst", "helper")


@dataclass
class Ended:
    """What a simulated session came to."""

    posts: tuple[Post, ...] = ()
    entries: list[log.Entry] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    replies: list[log.Replied] = field(default_factory=list)

    @property
    def result(self) -> Result:
        """The result frame."""
        return decode(self.posts[-1].body, Result)

    @property
    def rounds(self) -> list[Round]:
        """Signals of each round, the blind one first."""
        return [decode(p.body, Round) for p in self.posts if p.kind == "signals"]

    @property
    def cases(self) -> list[tuple[Shown, Case]]:
        """What the debaters were shown and argued."""
        pairs = zip(self.shown, self.replies, strict=True)
        return [(s, decode(r.body, Case)) for s, r in pairs if s.kind == "argue"]

    @property
    def log(self) -> list[bytes]:
        """As stored."""
        return [encode(e) for e in self.entries]


def example(name: str) -> tuple[str, tuple[Document, ...], tuple[str, ...]]:
    """(question, documents, outcomes) of an example."""
    root = EXAMPLES / name
    outcomes = tuple(line.strip() for line in (root / "outcomes.txt").read_text().splitlines() if line.strip())
    return (root / "question.txt").read_text().strip(), read(root / "evidence", ROLES).documents, outcomes


def run(
    question: str,
    documents: Sequence[Document],
    outcomes: Sequence[str] = (),
    models: Mapping[str, Model] | None = None,
    seed: int = 1,
    **settings: Any,
) -> Ended:
    """Play a session to its end; a seat without a model of its own is extractive."""
    return asyncio.run(_play(question, documents, models or {}, seed, {"outcomes": tuple(outcomes), **settings}))


async def _play(
    question: str, documents: Sequence[Document], models: Mapping[str, Model], seed: int, settings: dict[str, Any]
) -> Ended:
    protocol = PROTOCOLS["maci"]
    debaters = [f"debater_{i}" for i in range(1, settings.get("debaters", 2) + 1)]
    default = make_model("extractive")
    workers = tuple(
        Announcement(
            instance=q,
            queue=q,
            roles=("debater" if q in debaters else q,),
            model="m",
            family=models.get(q, default).family,
        )
        for q in [*debaters, "judge", "analyst", "helper"]
    )
    request = OpenSession(question=question, protocol="maci", settings=settings, documents=tuple(documents))
    opened = admit(protocol, request, workers, seed, "test")
    session, entry = record_opening(protocol, "s", opened, 1, "in:1")
    ended = Ended(entries=[entry])
    waiting = build(session, entry.n, entry.commands, key=b"k" * 32, lane="any", decided_ns=1)
    while not session.closed:
        sending = waiting.pop(0)
        for turn in sending.work.turns:
            shown = show(sending.work, turn, [d for d in opened.documents if turn.seat in d.holders])
            ended.shown.append(shown)
            completion = await models.get(turn.seat, default).reply(shown, lambda text: None)
            replied = log.Replied(turn=turn.id, body=completion.json(), usage=completion.usage, flags=completion.flags)
            ended.replies.append(replied)
            session, entry = record(protocol, session, entry.digest, replied, entry.at_ns + 1, f"turn:{turn.id}")
            ended.entries.append(entry)
            waiting += build(session, entry.n, entry.commands, key=b"k" * 32, lane="any", decided_ns=1)
    ended.posts = session.posts
    return ended
