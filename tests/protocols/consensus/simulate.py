"""A consensus session in one process: the real machine, the real context, a model in each seat, and no bus."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from parley.agents.context import Shown
from parley.agents.models import Model, make_model
from parley.agents.show_turn import show
from parley.coordinator.admission import admit
from parley.coordinator.machine import begin, step
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.presence import Announcement
from parley.schemas.protocols.consensus import Position
from parley.schemas.result import Result
from parley.schemas.session import Document, OpenSession
from parley.schemas.turn import Caps, DocumentRef, ShownPost, Turn, Work
from parley.schemas.wire import decode, raw

EXAMPLES = Path(__file__).parents[3] / "examples"


@dataclass
class Ended:
    """What a simulated session came to."""

    result: Result
    posts: tuple[Post, ...]
    replies: list[log.Replied]
    shown: list[Shown]

    def answers(self, round_: int) -> dict[str, str]:
        """Seat -> answer in one round."""
        return {seat: p.answer for seat, p in self.positions(round_).items()}

    def positions(self, round_: int) -> dict[str, Position]:
        """Seat -> position in one round."""
        return {p.seat: decode(p.body, Position) for p in self.posts if p.kind == "position" and p.round == round_}

    @property
    def scores(self) -> list[float]:
        """Score of each round."""
        return [r["score"] for r in self.result.rounds]


def document(name: str, text: str, *holders: str) -> Document:
    """A document under its content hash."""
    return Document(id=sha256(text.encode()).hexdigest(), name=name, text=text, holders=holders)


def example(name: str, without: str = "") -> tuple[str, list[Document]]:
    """(question, documents) of an example, perhaps without one seat's."""
    root = EXAMPLES / name
    files = sorted((root / "evidence").glob("*/*.md"))
    documents = [
        document(f"{f.parent.name}/{f.name}", f.read_text(), f.parent.name) for f in files if f.parent.name != without
    ]
    return (root / "question.txt").read_text().strip(), documents


def run(
    question: str, documents: Sequence[Document], models: Mapping[str, Model] | None = None, **settings: Any
) -> Ended:
    """Play a session to its end; a seat without a model of its own is extractive."""
    return asyncio.run(_run(question, documents, models or {}, settings))


async def _run(
    question: str, documents: Sequence[Document], models: Mapping[str, Model], settings: dict[str, Any]
) -> Ended:
    protocol = PROTOCOLS["consensus"]
    default = make_model("extractive")
    panel = [f"panelist_{i}" for i in range(1, settings.get("panel", 3) + 1)]
    workers = tuple(
        Announcement(
            instance=q, queue=q, roles=("analyst" if q == "analyst" else "panelist",), model="m",
            family=models.get(q, default).family, metered=models.get(q, default).metered,
        )
        for q in [*panel, "analyst"]
    )  # fmt: skip
    request = OpenSession(question=question, protocol="consensus", settings=settings, documents=tuple(documents))
    opened = admit(protocol, request, workers, 1, "test")
    at = 1
    session, _ = begin(protocol, "s", opened, at)
    ended = Ended(result=None, posts=(), replies=[], shown=[])  # type: ignore[arg-type]
    while not session.closed:
        open_turns = list(session.turns.values())
        assert open_turns, "an open session has open turns"
        for turn in open_turns:
            if turn.id not in session.turns:
                continue
            shown = _shown(session, turn)
            ended.shown.append(shown)
            completion = await models.get(turn.ask.seat, default).reply(shown, lambda text: None)
            at += 1
            replied = log.Replied(turn=turn.id, body=completion.json(), usage=completion.usage, flags=completion.flags)
            ended.replies.append(replied)
            session, _ = step(protocol, session, replied, at)
    ended.posts = session.posts
    closing = next(p for p in reversed(session.posts) if p.kind == "closed")
    ended.result = decode(closing.body, Result)
    return ended


def _shown(session: Any, turn: Any) -> Shown:
    ask = turn.ask
    wanted = [*ask.sees, *([] if ask.own is None else [ask.own])]
    posts = tuple(
        ShownPost(n=p.n, channel=p.channel, kind=p.kind, round=p.round, body=p.body)
        for p in session.posts
        if p.n in wanted
    )
    held = [d for d in session.opened.documents if ask.seat in d.holders]
    work = Work(
        session=session.sid, protocol=session.opened.protocol, question=session.opened.question, round=ask.round,
        channel="public", lane="any", decided_ns=1, posts=posts,
        turns=(
            Turn(
                id=turn.id, token="t", seat=ask.seat, role="analyst" if ask.seat == "analyst" else "panelist",
                kind=ask.kind, brief=ask.brief, sees=ask.sees, own=ask.own,
                documents=tuple(DocumentRef(id=d.id, name=d.name) for d in held), deadline_ns=ask.deadline_ns,
                caps=ask.caps, attempt=ask.attempt, error=ask.error,
            ),
        ),
    )  # fmt: skip
    return show(work, work.turns[0], held)


def turn_shown(
    question: str,
    documents: Sequence[Document] = (),
    *,
    kind: str = "answer",
    round_: int = 1,
    seat: str = "panelist_1",
    own: Any = None,
    others: Sequence[Any] = (),
    brief: Any = None,
    attempt: int = 1,
    error: str = "",
    refused: str = "",
) -> Shown:
    """One turn as a model is shown it. The posts of `others` are numbered from 0; `own` comes behind them."""
    bodies = [*others, *([] if own is None else [own])]
    posts = tuple(
        ShownPost(n=n, channel="public", kind="position", round=round_ - 1, body=raw(b)) for n, b in enumerate(bodies)
    )
    turn = Turn(
        id="1-0", token="t", seat=seat, role="panelist", kind=kind,
        brief=raw({"iteration": round_, "round_limit": 5} if brief is None else brief), sees=tuple(range(len(others))),
        own=None if own is None else len(others), documents=tuple(DocumentRef(id=d.id, name=d.name) for d in documents),
        deadline_ns=1, caps=Caps(), attempt=attempt, error=error, refused=refused,
    )  # fmt: skip
    work = Work(
        session="s", protocol="consensus", question=question, round=round_, channel="public", lane="any", decided_ns=1,
        posts=posts, turns=(turn,),
    )  # fmt: skip
    return show(work, turn, documents)


def ask(shown: Shown, model: Model | None = None) -> Any:
    """The body of a model's reply to one turn."""
    return asyncio.run((model or make_model("extractive")).reply(shown, lambda text: None)).body
