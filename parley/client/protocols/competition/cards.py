"""Speeches, marks and points of a competition as data for pages."""

from typing import Any

from parley.client.protocols.competition.story import Story
from parley.client.protocols.competition.transcript import (
    departing,
    marks_words,
    measured,
    points,
    said_text,
    violations,
)
from parley.client.show.cards import Card, Chip, Quote, Series
from parley.schemas.protocols.competition.format import TEAMS
from parley.schemas.protocols.competition.messages import Reviewed, Said, Scored, StageSummary


def card(body: Any, story: Story) -> Card | None:
    """The card of a post's body; None: of a kind that is shown by its lines."""
    match body:
        case Said():
            chips = [Chip(text=measured(body), tone="warn" if body.overtime else "plain")]
            if body.answerer:
                chips.append(Chip(text=f"to {body.answerer}"))
            quotes = tuple(Quote(document=c.document, quote=c.quote) for c in body.citations)
            return Card(head=body.act.replace("_", " "), text=said_text(body), chips=tuple(chips), quotes=quotes)
        case Scored():
            broken = tuple(Chip(text=text, tone="warn") for text in violations(body))
            head = "unscored" if body.marks is None else f"{body.seat}: {points(body.score)}"
            return Card(place="score", head=head, text=marks_words(body), chips=broken, refers=(body.post,))
        case StageSummary():
            return Card(place="note", head="after this stage", text=body.text)
        case Reviewed():
            wrong = (Chip(text=departing(body.departs), tone="warn"),) if body.departs else ()
            return Card(place="note", head="final review", text=body.text, chips=wrong)
    return None


def signals(story: Story) -> tuple[Series, ...]:
    """Each team's points after each speech."""
    totals_by_stage = [totals for _, totals in story.cumulative()]
    if not totals_by_stage:
        return ()
    rounds = tuple(float(n) for n in range(1, len(totals_by_stage) + 1))
    return tuple(
        Series(
            name=team, label=f"Points of {story.team_name(team)}", rounds=rounds,
            values=tuple(totals.get(team) for totals in totals_by_stage), least=0.0,
        )
        for team in TEAMS
    )  # fmt: skip
