"""critic: what every certificate holds, and the result of a session, for its result frame."""

from typing import Any

import msgspec

from parley.coordinator.commands import SayOn, Wish
from parley.coordinator.protocols.critic.confidence import refused_by, survived
from parley.coordinator.protocols.critic.state import (
    LABEL_NOTE,
    Round,
    State,
    answer,
    body_of,
    label,
    raised,
    repeated,
    verdict,
)
from parley.coordinator.table import Measured, Sample, Session, SessionCounts, View
from parley.schemas.protocols.critic import Bias, Judgement, Outcome, Question, Repeated, RoundTally
from parley.schemas.wire import decode

_FULL_BYTES = 1_000_000
"""Answers of all rounds together; above it the result cuts their reasoning short: it is one message."""


def figures(s: State, v: View, says: tuple[Wish, ...]) -> dict[str, Any]:
    """What every certificate holds; `says` are the posts of this transition, which the view has not yet."""
    bodies = [*(p.body for p in v.posts), *(w.body for w in says if isinstance(w, SayOn))]
    again = [decode(bodies[r.repeats], Repeated) for r in s.rounds if r.repeats is not None]
    biases = [r.bias for r in s.rounds if r.bias is not None]
    return {
        "confidence": s.confidence,
        "threshold": v.settings.threshold,
        "label": label(s.confidence),
        "label_note": LABEL_NOTE,
        "round": len(s.rounds),
        "round_limit": v.settings.round_limit,
        "trend": s.trend(),
        "objections": len(s.profile),
        "open_objections": s.open_objections(),
        "exhausted": bool(s.rounds) and s.now.exhausted,
        "duplicates": msgspec.to_builtins(again),
        "source": s.now.source if s.rounds else "",
        "missing": [f"{seat} in round {r.number}" for r in s.rounds for seat in r.missing],
        "judge_bias": _bias(biases) if v.settings.measure_bias else None,
        "rounds_survived": survived(s)[0],
        "worthless": [o.number for o in s.profile if o.closed],
        "checked_rounds": [r.number for r in s.rounds if r.checked],
        "refused_by": refused_by(s),
        "disputed": [o.number for o in s.profile if o.disputed],
        "signed": s.signed,
        "unsigned": s.unsigned,
        "unseen": s.unseen,
    }


def _bias(biases: list[Bias]) -> dict[str, Any]:
    """Each pair's two scores and their difference, and the mean difference in points: above 0, who comes first is
    favoured where that is the answer."""
    mean = sum(b.difference for b in biases) / len(biases) if biases else None
    return {
        "pairs": msgspec.to_builtins(biases),
        "mean_difference": None if mean is None else round(mean, 2),
    }


def outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(Outcome as builtins, one object a round)."""
    answer_posts = [r.answer for r in s.rounds if r.answer is not None]
    full = sum(len(bytes(v.posts[n].body)) for n in answer_posts) <= _FULL_BYTES
    standing, written = answer(v, s.answer), verdict(v, s.verdict)
    last = written if s.taken else None
    more: dict[str, Any] = {}
    if last is not None:
        more = {"ruling": last.ruling, "assumptions": last.assumptions}
    elif written is not None:
        more = {
            "departing": written.answer or (standing.answer if standing else ""),
            "departs": s.refused or "answer: the session ended before it was signed",
        }
    if s.reversed_by and standing is not None:
        more |= {"reversed_by": s.reversed_by, "debated": standing.answer}
    if refused := refused_by(s):
        more["refused_by"] = refused
    if s.signed and (last is not None or s.countersigned):
        more["signed"] = s.signed
    if s.unseen:
        more["unseen"] = s.unseen
    confidence = s.confidence
    asked = body_of(v, s.question, Question)
    if asked:
        more |= {name: words for name in ("left_out", "added") if (words := getattr(asked, name))}
    result = Outcome(
        question=asked.question if asked else "",
        answer=(last.answer if last else "") or (standing.answer if standing else ""),
        confidence=round(confidence / 100, 4) if standing else 0.0,
        label=label(confidence) if standing else "low",
        label_note=LABEL_NOTE,
        reasoning=last.reasoning if last else standing.reasoning if standing else "",
        source="verdict" if last else "answer" if standing else "none",
        objections=s.profile,
        open_objections=s.open_objections(),
        citations=standing.citations if standing else (),
        **more,
    )
    return msgspec.to_builtins(result), tuple(_round(r, v, full) for r in s.rounds)


def _round(r: Round, v: View, full: bool) -> dict[str, Any]:
    round_answer, judged, tally = (
        answer(v, r.answer),
        body_of(v, r.judgement, Judgement),
        body_of(v, r.tally, RoundTally),
    )
    answer_shown: dict[str, Any] | None = None
    if round_answer is not None:
        answer_shown = msgspec.to_builtins(round_answer) | {"post": r.answer}
        answer_shown["reasoning"] = round_answer.reasoning if full else round_answer.reasoning[:200]
    return {
        "round": r.number,
        "answer": answer_shown,
        "raised": None if r.raised is None else msgspec.to_builtins(raised(v, r.raised)) | {"post": r.raised},
        "repeats": None if r.repeats is None else msgspec.to_builtins(repeated(v, r.repeats)),
        "exhausted": r.exhausted,
        "judgement": None if judged is None else msgspec.to_builtins(judged),
        "confidence": r.confidence,
        "answered": list(tally.answered) if tally else [],
        "reopened": list(tally.reopened) if tally else [],
        "found": tally.found if tally else 0,
        "source": tally.source if tally else None,
        "bias": None if r.bias is None else msgspec.to_builtins(r.bias),
        "missing": list(r.missing),
    }


# ---------------------------------------------------------------- figures that are counted


def measured(session: Session, view: View) -> Measured:
    """Agreement is the judge's confidence in the answer; disagreement the share of objections that the last answer
    judged does not meet."""
    s: State = session.inner
    trend, raised = s.trend(), len(s.profile)
    return Measured(
        agreement=trend[-1] / 100 if trend else None,
        disagreement=len(s.open_objections()) / raised if raised and trend else None,
        samples=(Sample("objections_repeated_total", value=sum(r.repeats is not None for r in s.rounds)),),
    )


COUNTED = SessionCounts(measured=measured)
