"""critic: semantic faults of a reply, in words that the model is shown with its next attempt."""

import re
from collections.abc import Iterable

import msgspec

from parley.coordinator.protocols.critic.confidence import overturning
from parley.coordinator.protocols.critic.state import State, answer
from parley.coordinator.table import OpenTurn, View
from parley.schemas.citation import Citation
from parley.schemas.protocols.critic import (
    REVERSES,
    RULINGS,
    UPHOLDS,
    Answer,
    CompareBrief,
    Critique,
    Judgement,
    Rewritten,
    Similarities,
    Verdict,
)
from parley.schemas.text import same, stands_in
from parley.schemas.wire import decode

_WORD = re.compile(r"\w+")


def check(state: State, turn: OpenTurn, body: object, view: View) -> str:
    """The first fault of a reply; empty if there is none."""
    match body:
        case Rewritten():
            return _own_words(body, view)
        case Answer():
            return _quotes(body.citations, view) or _known("addresses", (a.objection for a in body.addresses), state)
        case Critique():
            return _quotes(body.citations, view)
        case Similarities():
            return _one_each(body, decode(turn.ask.brief, CompareBrief))
        case Judgement():
            return _known("answered", body.answered, state) or _known("contradicts", body.contradicts or (), state)
        case Verdict():
            return _ruled(turn, body, state, view)
    return ""


def _ruled(turn: OpenTurn, body: Verdict, state: State, view: View) -> str:
    """A verdict rules, and in the sense of the debate: what contradicts it is refused once, and given again it is shown
    as departing and not taken (outcome)."""
    if not body.ruling:
        return f"ruling: missing; say what you do to the answer that stands: {', '.join(RULINGS)}"
    return departs(body, state, view) if turn.ask.attempt == 1 else ""


def departs(verdict: Verdict, s: State, v: View) -> str:
    """What a verdict contradicts, with the way out; empty if nothing."""
    standing = answer(v, s.answer)
    if standing is None or not verdict.ruling:
        return ""
    weighty = overturning(s)
    ruled = tuple(o.number for o in s.profile if o.number in weighty and o.weight is not msgspec.UNSET)
    reverses = verdict.ruling == REVERSES
    if reverses and not weighty:
        return (
            "ruling: you reverse an answer against which no objection is open that weighs half or more; uphold it or"
            " narrow it, and put what you hold against it into reasoning"
        )
    if reverses and same(verdict.answer, standing.answer):
        return "ruling: you reverse the answer and give it again; give the answer that you hold, or narrow this one"
    if verdict.ruling == UPHOLDS and ruled:
        numbers = ", ".join(map(str, ruled))
        return (
            f"ruling: you uphold an answer against which objection {numbers} is open, and you ruled that it weighs half"
            " or more; narrow the answer to what is left of it, or reverse it"
        )
    if not reverses and not same(verdict.answer, standing.answer):
        for r in s.rounds:
            past = answer(v, r.answer)
            if past is not None and same(verdict.answer, past.answer):
                return (
                    f"answer: this is the answer of round {r.number}, and the one that stands is"
                    f" {standing.answer[:200]!r}; word the one that stands"
                )
    return ""


def _own_words(r: Rewritten, view: View) -> str:
    """The judge may keep the user's own question as neutral. One about something else is no rewriting."""
    if same(r.question, view.opened.question):
        return ""
    wanted = _subjects(view.opened.question)
    if wanted and wanted.isdisjoint(_subjects(r.question)):
        return "question: this asks something else; keep what the question is about, and ask it in neutral words"
    return ""


def _subjects(text: str) -> frozenset[str]:
    """What a question is about, roughly: the starts of its longer words, and its numbers."""
    return frozenset(w[:5] for w in _WORD.findall(text.casefold()) if len(w) > 3 or w.isdecimal())


def _quotes(citations: tuple[Citation, ...], view: View) -> str:
    """Every quotation stands in the document that it names, white space aside."""
    names = ", ".join(repr(d.name) for d in view.opened.documents[:5])
    other = f"name one that you hold ({names}), or leave it out" if names else "there are none: leave it empty"
    for c in citations:
        document = next((d for d in view.opened.documents if d.name == c.document), None)
        if document is None:
            return f"citations: there is no document {c.document!r}; {other}"
        if not stands_in(c.quote, document.text):
            return (
                f"citations: this does not stand in {c.document}, quote it word for word: {c.quote[:200]!r};"
                " or leave it out"
            )
    return ""


def _known(field: str, numbers: Iterable[int], state: State) -> str:
    """Objections are named by numbers of the profile, each once."""
    seen: set[int] = set()
    profile = {o.number for o in state.at_issue()}
    for n in numbers:
        if n not in profile:
            known = ", ".join(map(str, sorted(profile))) or "none so far"
            return f"{field}: there is no objection {n}; the profile's numbers are {known}"
        if n in seen:
            return f"{field}: objection {n} is named twice"
        seen.add(n)
    return ""


def _one_each(s: Similarities, brief: CompareBrief) -> str:
    wanted = len(brief.profile)
    return "" if len(s.values) == wanted else f"values: got {len(s.values)}, wanted is one for each of {wanted}"
