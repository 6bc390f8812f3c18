"""A consensus session in one process, without a bus, and single turns of one."""

import asyncio
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from parley.agents.context import Shown
from parley.agents.models import Model, make_model
from parley.schemas.protocols.consensus import Position
from parley.schemas.session import Document, OpenSession
from parley.schemas.wire import decode
from parley.testing.in_memory import Played
from parley.testing.turns import shown_turn
from tests.support.simulate import EXAMPLES, simulate


class Ended(Played):
    """What a simulated session came to."""

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
    request = OpenSession(question=question, protocol="consensus", settings=settings, documents=tuple(documents))
    workers = {f"panelist_{i}": "panelist" for i in range(1, settings.get("panel", 3) + 1)} | {"analyst": "analyst"}
    return simulate(Ended(), request, workers, models)


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
    asked = {"iteration": round_, "round_limit": 5} if brief is None else brief
    return shown_turn(
        kind, question, protocol="consensus", documents=documents, others=[("position", body) for body in others],
        own=None if own is None else ("position", own), brief=asked, seat=seat, role="panelist", round=round_,
        error=error, refused=refused, attempt=attempt,
    )  # fmt: skip


def ask(shown: Shown, model: Model | None = None) -> Any:
    """The body of a model's reply to one turn."""
    return asyncio.run((model or make_model("extractive")).reply(shown, lambda text: None)).body
