"""Turns of the competition as a model is shown them, without a session."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from parley.agents.context import Other, Shown
from parley.agents.models import Completion, Model, make_model
from parley.agents.protocols import kind_of
from parley.agents.protocols.competition import personas
from parley.coordinator.protocols.competition.rules import possible
from parley.coordinator.protocols.competition.speech_words import count
from parley.schemas.citation import Citation
from parley.schemas.protocols.competition.format import Act, Pace, Team
from parley.schemas.protocols.competition.messages import Bid, Decision, Identity, Note, Said, ScoreBrief
from parley.schemas.session import Document
from tests.protocols.consensus.simulate import document

MOTION = "This house would make the city's buses and trams free of charge."
PRO_DOCS = [
    document(
        "pro/trial.md",
        "Free buses were measured to be punctual on 93 percent of trips. A nurse said that the free tram brings her "
        "home to her children before they sleep. Because nobody pays at the door, the free bus is faster at every "
        "stop. Shops on the tram lines sold more bread and more books.",
    ),
    document("survey.md", "Of all trips in the city 21 percent are made by bus. Nine in ten riders like free trams."),
]
CON_DOCS = [
    document(
        "con/audit.md",
        "Free buses would leave a gap of 42 million crowns in the budget of the trams. The free tram was late on half "
        "of its trips because of crowds. A driver of a free bus was afraid of the last trip at night.",
    )
]


def me(seat: str, style: str = "", **more: Any) -> Identity:
    """A debater."""
    team, _, position = seat.partition("_")
    names: dict[str, Team] = {"pro": "pro", "con": "con"}
    given: dict[str, Any] = {"stance": "for the motion" if team == "pro" else "against the motion", **more}
    return Identity(
        team=names[team], team_name=team.title(), position=int(position),
        personality=personas.load()[style] if style else None, **given,
    )  # fmt: skip


def said(seat: str, text: str, act: Act = "speech", limit: int = 750, **more: Any) -> Said:
    """A public speech, counted."""
    words = count(text, Pace())
    given: dict[str, Any] = {"stage": "Free debate", "seconds": words * 0.24, "overtime": words > limit, **more}
    return Said(seat=seat, act=act, text=text, words=words, limit=limit, **given)


def asked(seat: str, *questions: str, answerer: str = "con_2") -> Said:
    """Questions put in public."""
    return said(seat, "\n".join(questions), "question", 125, questions=questions, answerer=answerer)


def quoting(seat: str, *lines: tuple[str, str], act: Act = "speech") -> Said:
    """A speech of quotations: (document, sentence)."""
    text = " ".join(f"Hear this: “{q}” ({d})." for d, q in lines)
    return said(seat, text, act, citations=tuple(Citation(document=d, quote=q) for d, q in lines))


def shown(
    kind: str,
    brief: Any,
    *,
    seat: str = "pro_1",
    others: Sequence[Any] = (),
    documents: Sequence[Document] = (),
    question: str = MOTION,
    **more: Any,
) -> Shown:
    """One turn; what `others` holds is shown as posts from 1 on, what is no speech as the team's own."""
    kinds: dict[Any, str] = {Said: "speech", Note: "note", Bid: "bid", Decision: "decision"}
    team = seat.partition("_")[0]
    own = f"team_{team}" if team in ("pro", "con") else "judge_notes"
    posts = tuple(
        Other(
            label=f"Model {i}", post=i, kind=kinds[type(body)], round=1, body=body,
            channel="public" if isinstance(body, Said) else own,
        )
        for i, body in enumerate(others, 1)
    )  # fmt: skip
    return Shown(
        session="s", protocol="competition", question=question, seat=seat, role=team, kind=kind, round=1, brief=brief,
        reply=kind_of("competition", kind).reply, others=posts, documents=tuple(documents), **more,
    )  # fmt: skip


def score_turn(speech: Said, *before: Said, question: str = MOTION) -> Shown:
    """The judge's turn after a speech."""
    brief = ScoreBrief(
        stage=speech.stage, act=speech.act, seat=speech.seat, task="", words=speech.words, limit=speech.limit,
        violations=possible(speech.act),
    )  # fmt: skip
    return shown("score", brief, seat="judge", others=[*before, speech], question=question)


def ask(turn: Shown, model: Model | None = None) -> Completion:
    """The reply; it has passed its own checks when decoded again."""
    completion = asyncio.run((model or make_model("extractive")).reply(turn, lambda text: None))
    assert msgspec.json.decode(bytes(completion.json()), type=turn.reply) == completion.body
    return completion
