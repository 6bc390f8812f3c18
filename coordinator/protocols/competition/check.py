"""competition: semantic faults of a reply, in words that the model is shown with its next attempt."""

from unicodedata import category, normalize

from parley.coordinator.protocol_parts import unquoted
from parley.coordinator.protocols.competition.review_contradictions import departs
from parley.coordinator.protocols.competition.rules import OF_ACT
from parley.coordinator.protocols.competition.state import PUBLIC, State
from parley.coordinator.table import OpenTurn, View
from parley.schemas.protocols.competition.messages import (
    CaptainBrief,
    Decision,
    FinalReview,
    Marks,
    QuestionBrief,
    Questions,
    ScoreBrief,
    SpeechPost,
    Spoken,
)
from parley.schemas.text import stands_in
from parley.schemas.wire import decode

_OF_WHOLE_SPEECH = frozenset({"not_direct_answer", "off_topic", "scripted_summary"})
"""What a speech leaves out, or is as a whole: no words need be quoted for it."""


def check(state: State, turn: OpenTurn, body: object, view: View) -> str:
    """The first fault of a reply; empty if there is none."""
    match body:
        case Spoken():
            return unquoted(body.citations, view, seat=turn.ask.seat)
        case Questions():
            return _questions(body, decode(turn.ask.brief, QuestionBrief))
        case Decision():
            may = decode(turn.ask.brief, CaptainBrief).may
            return "" if body.speaker in may else f"speaker: got {body.speaker!r}; who may speak: {', '.join(may)}"
        case Marks():
            return _violations(body, turn, view)
        case FinalReview():
            return _tells(body, turn, state, view)
    return ""


def _questions(q: Questions, brief: QuestionBrief) -> str:
    if q.answerer not in brief.answerers:
        return f"answerer: got {q.answerer!r}; who may answer: {', '.join(brief.answerers)}"
    if len(q.questions) < brief.least:
        return f"questions: got {len(q.questions)}, at least {brief.least} are wanted"
    numbers: dict[str, int] = {}
    for i, question in enumerate(q.questions, 1):
        same = "".join(c for c in normalize("NFKC", question).casefold() if category(c)[0] in "LMN")
        if numbers.setdefault(same, i) != i:
            return f"questions: number {i} is number {numbers[same]} again; each must be one of its own"
    return ""


def _violations(m: Marks, turn: OpenTurn, view: View) -> str:
    """Each is one that such a speech can be of, and its words stand in the speech."""
    brief = decode(turn.ask.brief, ScoreBrief)
    last = max(n for n in turn.ask.sees if view.posts[n].channel == PUBLIC)
    speech = decode(view.posts[last].body, SpeechPost)
    for b in m.violations:
        if b.kind not in brief.violations:
            acts = " or ".join(OF_ACT[b.kind])
            can = ", ".join(brief.violations)
            return f"violations: only {acts} can be {b.kind}; this is of kind {brief.act}, and can be {can}"
        if not b.quote and b.kind in _OF_WHOLE_SPEECH:
            continue
        if not stands_in(b.quote, speech.text):
            return f"violations: {b.kind}: quote the words of the speech that it stands in; got {b.quote[:200]!r}"
    return ""


def _tells(review: FinalReview, turn: OpenTurn, state: State, view: View) -> str:
    """A review tells the result as it was counted. Another one is refused once; if it comes again, it is shown as
    departing (outcome)."""
    otherwise = departs(review.text, state, view) if turn.ask.attempt == 1 < view.attempts else ""
    return f"text: {otherwise}; tell the result as it was counted" if otherwise else ""
