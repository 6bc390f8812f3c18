"""Turns of the MACI protocol as a model is shown them, without a session."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from parley.agents.context import Other, Shown
from parley.agents.models import Completion, Model, make_model
from parley.agents.protocols import kind_of
from parley.coordinator.schedulers.tone import tone
from parley.schemas.belief import Belief, Share
from parley.schemas.protocols.maci.messages import ArgueBrief, Passage, Passages, Ruled, Span, Speaker
from parley.schemas.session import Document
from tests.support import simulate


def example(name: str) -> tuple[str, tuple[Document, ...], tuple[str, ...]]:
    """(question, documents, outcomes) of an example."""
    given = (simulate.EXAMPLES / name / "outcomes.txt").read_text().splitlines()
    roles = ("debater", "judge", "analyst", "helper")
    return *simulate.example(name, roles), tuple(line.strip() for line in given if line.strip())


QUESTION, DOCUMENTS, OUTCOMES = example("diagnosis")


def shown(
    kind: str,
    brief: Any,
    *,
    question: str = QUESTION,
    seat: str = "debater_1",
    others: Sequence[Any] = (),
    documents: Sequence[Document] = (),
    round_: int = 1,
    **more: Any,
) -> Shown:
    """One turn; what `others` holds is shown as posts from 1 on."""
    kinds: dict[Any, str] = {Passages: "passages", Ruled: "argument"}
    posts = tuple(
        Other(label=f"Model {i}", post=i, kind=kinds[type(body)], round=0, body=body)
        for i, body in enumerate(others, 1)
    )
    return Shown(
        session="s", protocol="maci", question=question, seat=seat, role=seat.rstrip("_0123456789"), kind=kind,
        round=round_, brief=brief, reply=kind_of("maci", kind).reply, others=posts, documents=tuple(documents), **more,
    )  # fmt: skip


def ask(turn: Shown, model: Model | None = None) -> Completion:
    """The reply; it has passed its own checks when decoded again."""
    completion = asyncio.run((model or make_model("extractive")).reply(turn, lambda text: None))
    assert msgspec.json.decode(bytes(completion.json()), type=turn.reply) == completion.body
    return completion


def numbered(*texts: tuple[str, str]) -> Passages:
    """A post of passages p1, p2, ... from (document, text)."""
    return Passages(passages=tuple(Passage(id=f"p{i}", document=d, text=t) for i, (d, t) in enumerate(texts, 1)), q=0.9)


def ruled(number: int, *spans: Span, claim: str = "It is so.") -> Ruled:
    """An admitted argument."""
    return Ruled(
        id=f"a{number}", claim=claim, reasons=("The passage says it.",), spans=spans, q=0.8, crit=0.8, tau_q=0.5,
        tau_crit=0.3, admitted=True,
    )  # fmt: skip


def shares(**p: float) -> Belief:
    """A belief; underscores are blanks."""
    return tuple(Share(outcome=name.replace("_", " "), p=v) for name, v in p.items())


def anchor(outcomes: Sequence[str], belief: Belief, *, cl: float = 0.8, **more: Any) -> ArgueBrief:
    """The brief of `argue`."""
    speakers = (Speaker(label="A"), Speaker(label="B", own=True))
    said: dict[str, Any] = {"earlier": (), "opponents": (belief,), "speakers": speakers}
    given = {**said, "most": 3, "round": 1, **more}
    return ArgueBrief(outcomes=tuple(outcomes), cl=cl, tone=tone(cl), tau_q=0.5, tau_crit=0.3, belief=belief, **given)
