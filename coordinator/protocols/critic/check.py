"""critic: semantic faults of a reply, in words that the model is shown with its next attempt."""

from collections.abc import Iterable

import msgspec

from parley.coordinator.protocol_parts import unquoted
from parley.coordinator.protocols.critic.confidence import overturning
from parley.coordinator.protocols.critic.rewriting import compare_rewriting
from parley.coordinator.protocols.critic.ruling import unfounded
from parley.coordinator.protocols.critic.state import State, answer, verdict
from parley.coordinator.table import OpenTurn, View
from parley.schemas.protocols.critic import (
    NARROWS,
    NO_NEW_OBJECTION,
    REVERSES,
    RULINGS,
    UPHOLDS,
    Answer,
    Critique,
    Judgement,
    Rewritten,
    Signature,
    SignBrief,
    Verdict,
)
from parley.schemas.text import same, stands_in
from parley.schemas.wire import decode


def check(state: State, turn: OpenTurn, body: object, view: View) -> str:
    """The first fault of a reply; empty if there is none. What is refused once, and comes again, is taken as the other
    modules say (ruling, rewriting, outcome)."""
    again = turn.ask.attempt > 1 or view.attempts == 1
    match body:
        case Rewritten():
            return _rewritten(body, view, again)
        case Answer():
            return unquoted(body.citations, view)
        case Critique():
            return unquoted(body.citations, view) or ("" if again else _one_or_none(body))
        case Judgement():
            return _judged(body, state, view, again)
        case Verdict():
            return _ruled(body, state, view, again)
        case Signature():
            return "" if again else _signed(body, decode(turn.ask.brief, SignBrief))
    return ""


def _rewritten(r: Rewritten, view: View, again: bool) -> str:
    """The judge may keep the user's own question as neutral. One about something else is no rewriting; what is left out
    of it is offered back once."""
    if same(r.question, view.opened.question):
        return ""
    found = compare_rewriting(view.opened.question, r.question)
    if found.another:
        return "question: this asks something else; keep what the question is about, and ask it in neutral words"
    if again or not (found.left_out or found.added):
        return ""
    told = [f"left out: {', '.join(found.left_out)}"] if found.left_out else []
    told += [f"added: {', '.join(found.added)}"] if found.added else []
    return (
        f"question: {'; '.join(told)}. Is that still what was asked? Put back what belongs to it; leave out what only"
        " presses towards an answer"
    )


def _one_or_none(c: Critique) -> str:
    if NO_NEW_OBJECTION in c.objection and not c.exhausted:
        return f"objection: {NO_NEW_OBJECTION} stands within an objection; say one or the other"
    return ""


def _judged(j: Judgement, s: State, v: View, again: bool) -> str:
    """Numbers are of the profile. A quotation that does not hold is refused once, and then its objection stays open."""
    fault = _known("met", (m.objection for m in j.met), s) or _known("contradicts", j.contradicts, s)
    if fault:
        return fault
    every = [o.number for o in s.profile]
    if j.repeats and j.repeats not in every and s.now.objection is not None:
        return f"repeats: there is no objection {j.repeats}; say 0, or one of {', '.join(map(str, every)) or 'none'}"
    return "" if again else unfounded(s, v, j)


def _ruled(body: Verdict, state: State, view: View, again: bool) -> str:
    """A verdict rules, and in the sense of the debate: what contradicts it is refused once, and given again it is shown
    as departing and not taken (outcome)."""
    if not body.ruling:
        return f"ruling: missing; say what you do to the answer that stands: {', '.join(RULINGS)}"
    if body.ruling != UPHOLDS and not body.answer.strip():
        return (
            f"answer: missing; {body.ruling} says what is left of the answer that stands, or what stands in its place"
        )
    return "" if again else departs(body, state, view)


def _signed(given: Signature, brief: SignBrief) -> str:
    """Whoever does not sign quotes the clause that differs from its own answer."""
    if given.states == "yes" or stands_in(given.differs, brief.verdict):
        return ""
    return f"differs: quote word for word the clause of {brief.verdict[:300]!r} that differs from your answer"


def departs(given: Verdict, s: State, v: View) -> str:
    """What a verdict contradicts, with the way out; empty if nothing."""
    standing = answer(v, s.answer)
    if standing is None or not given.ruling:
        return ""
    before = verdict(v, s.verdict)
    if given.ruling == NARROWS and before is not None and same(given.answer, before.answer):
        return f"answer: you gave this before, and it was not signed: {s.unsigned}"
    weighty = overturning(s)
    ruled = tuple(o.number for o in s.profile if o.number in weighty and o.weight is not msgspec.UNSET)
    reverses = given.ruling == REVERSES
    if reverses and not weighty:
        return (
            "ruling: you reverse an answer against which no objection is open that weighs half or more; uphold it or"
            " narrow it, and put what you hold against it into reasoning"
        )
    if reverses and same(given.answer, standing.answer):
        return "ruling: you reverse the answer and give it again; give the answer that you hold, or narrow this one"
    if reverses and given.reversed_by not in weighty:
        return f"reversed_by: name the objection that leaves nothing of the answer: {', '.join(map(str, weighty))}"
    if given.ruling == UPHOLDS and ruled:
        numbers = ", ".join(map(str, ruled))
        return (
            f"ruling: you uphold an answer against which objection {numbers} is open, and you ruled that it weighs half"
            " or more; narrow the answer to what is left of it, or reverse it"
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
