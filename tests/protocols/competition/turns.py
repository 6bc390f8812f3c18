"""Turns of the competition as a model is shown them, without a session."""

from collections.abc import Sequence
from typing import Any

from parley.agents.context import Other, Shown
from parley.agents.protocols import kind_of
from parley.agents.protocols.competition import personas
from parley.coordinator.protocols.competition.speech_words import count
from parley.schemas.protocols.competition.format import Act, Pace, Team
from parley.schemas.protocols.competition.messages import Bid, Decision, Identity, Note, SpeechPost
from parley.schemas.session import Document

MOTION = "This house would make the city's buses and trams free of charge."


def me(seat: str, style: str = "", **more: Any) -> Identity:
    """A debater."""
    team, _, position = seat.partition("_")
    names: dict[str, Team] = {"pro": "pro", "con": "con"}
    given: dict[str, Any] = {"stance": "for the motion" if team == "pro" else "against the motion", **more}
    return Identity(
        team=names[team], team_name=team.title(), position=int(position),
        personality=personas.load()[style] if style else None, **given,
    )  # fmt: skip


def said(seat: str, text: str, act: Act = "speech", limit: int = 750, **more: Any) -> SpeechPost:
    """A public speech, counted."""
    words = count(text, Pace())
    given: dict[str, Any] = {"stage": "Free debate", "seconds": words * 0.24, "overtime": words > limit, **more}
    return SpeechPost(seat=seat, act=act, text=text, words=words, limit=limit, **given)


def asked(seat: str, *questions: str, answerer: str = "con_2") -> SpeechPost:
    """Questions put in public."""
    return said(seat, "\n".join(questions), "question", 125, questions=questions, answerer=answerer)


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
    kinds: dict[Any, str] = {SpeechPost: "speech", Note: "note", Bid: "bid", Decision: "decision"}
    team = seat.partition("_")[0]
    own = f"team_{team}" if team in ("pro", "con") else "judge_notes"
    posts = tuple(
        Other(
            label=f"Model {i}", post=i, kind=kinds[type(body)], round=1, body=body,
            channel="public" if isinstance(body, SpeechPost) else own,
        )
        for i, body in enumerate(others, 1)
    )  # fmt: skip
    return Shown(
        session="s", protocol="competition", question=question, seat=seat, role=team, kind=kind, round=1, brief=brief,
        reply=kind_of("competition", kind).reply, others=posts, documents=tuple(documents), **more,
    )  # fmt: skip
