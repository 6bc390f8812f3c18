"""What the tools give back: models, of which clients get JSON Schemas."""

from typing import Any

from pydantic import BaseModel, Field

from parley.client.text import clean
from parley.schemas.result import Result
from parley.web import verdicts


class Usage(BaseModel):
    """What a whole session used."""

    turns: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unpriced: bool = Field(default=False, description="Of some of it no price is known; the cost is without that.")
    estimated: bool = Field(description="Some of the tokens are estimates.")
    unaccounted_turns: int = Field(description="Turns whose use is not in the sums: their calls may have been lost.")


class StopReason(BaseModel):
    """Why a session ended."""

    reason: str
    converged: bool = Field(description="Whether it is convergence. What is not converged is never agreement.")
    words: str
    certificate: dict[str, Any] = Field(description="The figures that the decision rests on.")


class SessionVerdict(BaseModel):
    """What a session came to."""

    session: str
    protocol: str
    status: str = Field(description="finished, failed or cancelled")
    agreed: bool = Field(description="Whether they converged. Say so to the person who asked.")
    verdict: str = Field(description="The result in words. Begins with 'Without agreement' where there was none.")
    answer: str = Field(description="The answer in one sentence; empty: none.")
    sure: str = Field(description="How sure it is, and what that rests on.")
    why: str = Field(description="The reason that carried it; empty: none was given.")
    dissent: str = Field(description="Who holds something else in the end; empty: nobody says.")
    weak: list[str] = Field(description="What was left out or is weak, the weightiest first.")
    stop: StopReason
    rounds: int
    usage: Usage
    duration_s: float
    transcript: str = Field(description="URI of the resource with all that was said.")
    certificate: str = Field(description="URI of the resource with the stop certificate.")
    left_out: list[str] = Field(default_factory=list, description="Files of projectPath that were not taken, and why.")


class Started(BaseModel):
    """A session that runs."""

    session: str
    protocol: str
    transcript: str
    left_out: list[str] = Field(default_factory=list, description="Files of projectPath that were not taken, and why.")


class PostText(BaseModel):
    """One post."""

    n: int = Field(description="Its number in the session.")
    round: int
    seat: str = Field(description="Who said it; empty: the moderator.")
    kind: str
    text: str


class WaitingItem(BaseModel):
    """A question that waits for a person."""

    id: str
    question: str
    choices: list[str] = Field(description="What may be answered; none: free text.")
    default: str = Field(description="What holds without an answer.")
    seconds_left: float


class Debate(BaseModel):
    """A session as it is now."""

    session: str
    open: bool
    round: int
    posts: list[PostText] = Field(description="What was said, from `since` on.")
    next: int = Field(description="Give this as `since` to read on.")
    waiting: list[WaitingItem] = Field(description="Questions that wait for a person.")
    result: SessionVerdict | None = Field(description="What it came to; null while it is open.")


class Stopped(BaseModel):
    """What became of a session that was to end."""

    session: str
    status: str = Field(description="cancelled, or what it had come to before: finished or failed")
    words: str


class Explanation(BaseModel):
    """Why a session stopped."""

    session: str
    words: list[str]
    figures: dict[str, Any] = Field(description="Everything that the words rest on.")


class WhatIf(BaseModel):
    """A finished session's events under other settings; no model is asked."""

    session: str
    settings: dict[str, Any]
    words: list[str]
    parts_at: int | None = Field(description="The transition at which the two runs part; null: they never do.")
    stop: str = Field(description="The reason for which this run stops; empty: it does not, as far as the events go.")
    carried: int = Field(description="How many recorded events carried this run.")


class Expert(BaseModel):
    """One who would take part in a task."""

    expert: str
    responsibility: str


class Routed(BaseModel):
    """Which experts a task would come to."""

    lead: Expert | None
    support: list[Expert]
    depth: str
    rationale: str
    confidence: float | None = Field(description="Of the lead, 0 to 1; null: nobody leads.")


def transcript_uri(sid: str) -> str:
    """Of the resource with all that was said."""
    return f"parley://sessions/{sid}/transcript"


def certificate_uri(sid: str) -> str:
    """Of the resource with the stop certificate."""
    return f"parley://sessions/{sid}/certificate"


def verdict_of(result: Result, left_out: tuple[str, ...] = ()) -> SessionVerdict:
    """A result as tools give it."""
    u, card = result.usage, verdicts.card_of(result)
    return SessionVerdict(
        session=result.session,
        protocol=result.protocol,
        status=result.status,
        agreed=result.stop.converged,
        verdict=verdicts.verdict(result),
        answer=clean(card.text),
        sure=card.sure,
        why=card.why,
        dissent=card.dissent,
        weak=list(card.weak),
        stop=StopReason(
            reason=result.stop.reason,
            converged=result.stop.converged,
            words=verdicts.stop_words(result),
            certificate=result.stop.certificate,
        ),
        rounds=len(result.rounds),
        usage=Usage(
            turns=u.turns,
            calls=u.calls,
            input_tokens=u.input_tokens,
            output_tokens=u.output_tokens,
            cost_usd=u.cost_usd,
            unpriced=bool(u.unpriced),
            estimated=u.estimated,
            unaccounted_turns=u.unaccounted_turns,
        ),
        duration_s=result.duration_s,
        transcript=transcript_uri(result.session),
        certificate=certificate_uri(result.session),
        left_out=list(left_out),
    )
