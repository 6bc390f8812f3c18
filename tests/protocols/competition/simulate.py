"""A competition in one process: the real machine, the real builder of turns, a model in each seat, and no bus."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from parley.agents.context import Shown
from parley.agents.models import Model
from parley.agents.protocols.competition import personas
from parley.agents.show_turn import show
from parley.client.evidence import read
from parley.coordinator.admission import admit
from parley.coordinator.briefing import build
from parley.coordinator.machine import record, record_opening
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.competition.seats import due
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.presence import Announcement
from parley.schemas.protocols.competition.format import Format
from parley.schemas.protocols.competition.messages import Said
from parley.schemas.result import Result
from parley.schemas.session import Document, OpenSession
from parley.schemas.wire import decode, encode
from tests.support.debater import Debater

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "competition"
ROLES = ("pro", "con", "judge", "audience")


@dataclass
class Ended:
    """What a simulated session came to."""

    posts: tuple[Post, ...] = ()
    entries: list[log.Entry] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)
    replies: list[Any] = field(default_factory=list)
    """Typed, one for each of `shown`."""

    @property
    def result(self) -> Result:
        """The result frame."""
        return decode(self.posts[-1].body, Result)

    @property
    def speeches(self) -> list[Said]:
        """What was said in public, in order."""
        return [decode(p.body, Said) for p in self.posts if p.kind == "speech"]

    def of(self, kind: str) -> list[tuple[Shown, Any]]:
        """Turns of a kind, and their replies."""
        return [(s, r) for s, r in zip(self.shown, self.replies, strict=True) if s.kind == kind]

    @property
    def log(self) -> list[bytes]:
        """As stored."""
        return [encode(e) for e in self.entries]


@lru_cache(maxsize=8)
def format_named(name: str) -> Format:
    """One that comes with Parley."""
    data = yaml.safe_load((ROOT / "schemas" / "formats" / f"{name}.yaml").read_text(encoding="utf-8"))
    return msgspec.convert(data, Format)


def example() -> tuple[str, tuple[Document, ...]]:
    """(motion, documents) of the example."""
    return (EXAMPLE / "question.txt").read_text(encoding="utf-8").strip(), read(EXAMPLE / "evidence", ROLES).documents


def run(
    question: str,
    documents: Sequence[Document],
    format_: Format,
    models: Mapping[str, Model] | None = None,
    **settings: Any,
) -> Ended:
    """Play a session to its end; a seat without a model of its own has the debater's."""
    given = {"format": msgspec.to_builtins(format_), **settings}
    if "styles" in given:
        given["personalities"] = msgspec.to_builtins(personas.load())
    return asyncio.run(_play(question, documents, models or {}, given, format_))


async def _play(
    question: str, documents: Sequence[Document], models: Mapping[str, Model], settings: dict[str, Any], f: Format
) -> Ended:
    protocol = PROTOCOLS["competition"]
    workers = tuple(
        Announcement(instance=seat, queue=seat, roles=(role,), model="m", family="f") for seat, role in due(f).items()
    )
    request = OpenSession(question=question, protocol="competition", settings=settings, documents=tuple(documents))
    opened = admit(protocol, request, workers, 1, "test")
    session, entry = record_opening(protocol, "s", opened, 1, "in:1")
    ended = Ended(entries=[entry])
    default = Debater()
    waiting = build(session, entry.n, entry.commands, key=b"k" * 32, lane="any", decided_ns=1)
    while not session.closed:
        sending = waiting.pop(0)
        for turn in sending.work.turns:
            shown = show(sending.work, turn, [d for d in opened.documents if turn.seat in d.holders])
            completion = await models.get(turn.seat, default).reply(shown, lambda text: None)
            ended.shown.append(shown)
            ended.replies.append(completion.body)
            replied = log.Replied(turn=turn.id, body=completion.json(), usage=completion.usage, flags=completion.flags)
            session, entry = record(protocol, session, entry.digest, replied, entry.at_ns + 1, f"turn:{turn.id}")
            ended.entries.append(entry)
            waiting += build(session, entry.n, entry.commands, key=b"k" * 32, lane="any", decided_ns=1)
    ended.posts = session.posts
    return ended
