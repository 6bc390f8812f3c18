"""competition: what every certificate holds, and the result of a session, for its result frame.

Debaters read the result, on `control`: it has figures, and none of the judge's words beside its review. Those are on
`scores` and `judge_notes`.
"""

from collections import Counter
from typing import Any

import msgspec

from parley.coordinator.protocols.competition.rules import (
    best,
    due,
    fines,
    fines_for,
    of_substance,
    points,
    score,
    swing,
    votes,
    winner,
)
from parley.coordinator.protocols.competition.state import (
    Says,
    Silent,
    State,
    Utterance,
    body_of,
    format_of,
    marks,
    speech_of,
)
from parley.coordinator.table import Measured, Session, SessionCounts, View
from parley.schemas.protocols.competition.format import DIMENSIONS, Format
from parley.schemas.protocols.competition.messages import Outcome, Reviewed


def figures(s: State, v: View, says: Says) -> dict[str, Any]:
    """What every certificate holds; `says` are the posts of this transition, which the view has not yet."""
    f = format_of(v)
    scored = points(s, v, says)
    return {
        "format": f.name,
        "stages": len(f.stages),
        "stages_played": len(f.stages) if s.complete else s.stage,
        "speeches": sum(x.post is not None for x in s.lines),
        "team_totals": scored.team,
        "individual_totals": scored.individual,
        "winner": winner(s, v, says),
        "of_substance": of_substance(s, v, says),
        "decided_by": f.decided_by,
        "best": best(s, v, says),
        "swing": swing(votes(s, v, says)),
        "fines": len(fines(s, v, says)),
        "unscored": unscored(s, v, says),
        "silent": [_silent(x, f) for x in s.silent],
    }


def unscored(s: State, v: View, says: Says) -> tuple[int, ...]:
    """Posts of speeches that were to be scored and have no marks."""
    return tuple(x.post for x in due(s, v) if x.post is not None and marks(v, says, x) is None)


def _silent(x: Silent, f: Format) -> str:
    return f"{x.seat}: {x.asked} in {f.stages[x.stage].name}"


def outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(Outcome as builtins, one object a stage that was begun)."""
    f, scored = format_of(v), points(s, v)
    kinds: Counter[str] = Counter()
    for line in s.lines:
        speech_marks = marks(v, (), line)
        kinds.update(b.kind for b in speech_marks.violations) if speech_marks else None
    tallies = votes(s, v)
    review = body_of(v, (), s.review, Reviewed) if s.review is not None else Reviewed(text="")
    result = Outcome(
        format=f.name,
        names={name: team.name for name, team in f.teams.items()},
        winner=winner(s, v),
        decided_by=f.decided_by,
        complete=s.complete,
        of_substance=of_substance(s, v),
        team_totals=scored.team,
        individual_totals=scored.individual,
        best=best(s, v),
        fines=fines(s, v),
        violations=dict(sorted(kinds.items())),
        votes=tallies,
        swing=swing(tallies),
        silent=tuple(_silent(x, f) for x in s.silent),
        unscored=unscored(s, v, ()),
        to_score=len(due(s, v)),
        review="" if review.departs else review.text,
        departing=review.text if review.departs else "",
        departs=review.departs,
        saved={"idle": s.idle} if s.idle else {},
    )
    return msgspec.to_builtins(result), tuple(_stage(n, s, v) for n in range(s.stage + 1))


def _stage(n: int, s: State, v: View) -> dict[str, Any]:
    f = format_of(v)
    stage = f.stages[n]
    return {
        "round": n + 1,
        "stage": stage.name,
        "title": stage.title,
        "speeches": [_speech(x, v) for x in s.lines if x.stage == n],
        "silent": [_silent(x, f) for x in s.silent if x.stage == n],
        "summary_post": next((post for i, post in s.summaries if i == n), None),
    }


def _speech(line: Utterance, v: View) -> dict[str, Any]:
    """A line of the debate without its text, which its post has."""
    f, speech = format_of(v), speech_of(v, (), line)
    if speech is None:
        return {"post": None, "seat": line.seat, "act": line.act, "seconds": line.seconds}
    speech_marks = marks(v, (), line)
    return {
        "post": line.post,
        "seat": line.seat,
        "act": line.act,
        "words": speech.words,
        "limit": speech.limit,
        "seconds": speech.seconds,
        "overtime": speech.overtime,
        "answerer": speech.answerer,
        "score": score(speech_marks, f) if speech_marks else None,
        "marks": {name: getattr(speech_marks, name) for name in DIMENSIONS} if speech_marks else None,
        "violations": [b.kind for b in speech_marks.violations] if speech_marks else [],
        "fines": msgspec.to_builtins(fines_for(line.seat, speech, speech_marks, f)),
    }


# ---------------------------------------------------------------- figures that are counted


def measured(session: Session, view: View) -> Measured:
    """Agreement is the share of the last ballots that the side with the most of them has; disagreement the rest."""
    s: State = session.inner
    tallies = votes(s, view)
    cast = list(tallies[-1].votes.values()) if tallies else []
    share = max(cast) / sum(cast) if any(cast) else None
    return Measured(agreement=share, disagreement=None if share is None else 1 - share)


COUNTED = SessionCounts(measured=measured)
