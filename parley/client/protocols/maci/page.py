"""The part of a session's page that MACI has: mixture, tests of the certificate, signals, arguments, plan."""

import base64
from collections.abc import Callable
from itertools import chain
from typing import Any

import msgspec

from parley.client.protocols.maci import transcript
from parley.client.protocols.maci.plot import draw
from parley.client.protocols.maci.story import GatedArgument, Story, blind_tie, passed, top, unlike_words, why_refused
from parley.schemas.belief import Share
from parley.schemas.protocols.maci.messages import Outcome, Round
from parley.schemas.result import Result

_OUTCOMES = 10
"""Outcomes of the mixture that are drawn as bars; those of the beliefs' table are the same."""


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A probability, its name, and what each debater gives it."""

    name: str
    p: str
    percent: str
    by_seat: tuple[str, ...] = ()


def facts_of(story: Story, result: Result | None) -> dict[str, Any]:
    """The values that the template shows."""
    outcome = _outcome(result)
    certificate = result.stop.certificate if result is not None else {}
    mixture = story.rounds[-1].signals.mixture if story.rounds else {}
    seats = list(story.rounds[-1].beliefs) if story.rounds else []
    return {
        "stops": transcript.stops_of(certificate),
        "agreement": transcript.agreement(certificate) if certificate.get("near_consensus") else "",
        "columns": transcript.COLUMNS,
        "rows": [_row(r) for r in story.rounds],
        "held": [r.signals.round for r in story.rounds if r.signals.held],
        "next": _next(story),
        "chart": _chart(story, result),
        "seats": seats,
        "bars": _bars(story, top(mixture, _OUTCOMES, outcome.answer if outcome else ""), seats),
        "others": max(0, len(mixture) - _OUTCOMES),
        "rounds": [
            (
                r,
                [h for h in story.arguments if h.round == r.signals.round],
                [c for c in story.cases if c.round == r.signals.round],
            )
            for r in story.rounds
        ],
        "fate": _fate,
        "score": transcript.score_words,
        "document": _documents(story),
        "blind": story.blind,
        "shares": transcript.shares,
        "met": transcript.met_words,
        "groups": story.groups.groups if story.groups else (),
        "plan": story.plan,
        "passages": [(p, story.found_by.get(p.id, ())) for p in story.passages],
        "notes": _notes(outcome, story, result),
    }


def _outcome(result: Result | None) -> Outcome | None:
    if result is None or "mixture" not in result.outcome:
        return None
    return transcript.outcome_of(result.outcome)


def _notes(outcome: Outcome | None, story: Story, result: Result | None) -> list[str]:
    if outcome is None or result is None:
        return []
    same = "the same as" if outcome.vote == outcome.answer else "not"
    vote = [f"The vote of the blind round was {outcome.vote}, {same} the answer."] if outcome.vote else []
    if vote and (tie := blind_tie(story, outcome.vote)):
        settled = f"The mixture of beliefs settled it for {outcome.vote}, {same} the answer."
        vote = [f"The vote of the blind round was a tie ({tie}). {settled}"]
    told = (unlike_words(result.rounds, outcome.record), transcript.warnings(outcome, result.stop.certificate))
    return [*vote, *transcript.regime_words(outcome.regime), *chain(*told)]


def _row(body: Round) -> dict[str, Any]:
    """A round in the table of signals: figures, and which of them are flags that are up."""
    s = body.signals
    cells = [(transcript.figure(getattr(s, name)), getattr(s, name) is True) for name, _, _ in transcript.COLUMNS]
    return {"round": s.round, "cells": cells, "held": s.held}


def _next(story: Story) -> str:
    dials = transcript.coming(story.rounds[-1]) if story.rounds else None
    return transcript.dial_words(dials) if dials else ""


def _chart(story: Story, result: Result | None) -> str:
    """The picture, base64: as an image it can neither run nor load anything, whatever its texts are."""
    if not story.rounds:
        return ""
    return base64.b64encode(draw(story, result.stop if result else None, "svg")).decode()


def _bars(story: Story, shares: list[Share], seats: list[str]) -> list[Bar]:
    if not story.rounds:
        return []
    beliefs = {seat: {s.outcome: s.p for s in story.rounds[-1].beliefs[seat]} for seat in seats}
    return [
        Bar(
            name=share.outcome, p=f"{share.p:.2f}", percent=f"{100 * min(1.0, max(0.0, share.p)):.1f}",
            by_seat=tuple(f"{beliefs[seat].get(share.outcome, 0.0):.2f}" for seat in seats),
        )
        for share in shares
    ]  # fmt: skip


def _fate(argued: GatedArgument) -> str:
    ruled = argued.ruled
    return passed(ruled) if ruled.admitted else why_refused(ruled)


def _documents(story: Story) -> Callable[[str], str]:
    names = {p.id: p.document for p in story.passages}
    return lambda passage: names.get(passage, "")
