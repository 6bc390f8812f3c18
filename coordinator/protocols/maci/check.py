"""maci: semantic faults of a reply, in words that the model is shown with its next attempt."""

from collections.abc import Iterable

from parley.coordinator.protocols.maci import round as maci_round
from parley.coordinator.protocols.maci.state import DEBATER, HELPER, State, only_seat, passages
from parley.coordinator.signals.beliefs import parse_belief
from parley.coordinator.table import OpenTurn, View
from parley.schemas.belief import Belief
from parley.schemas.protocols.maci.messages import (
    ArgueBrief,
    Blind,
    Case,
    Crit,
    CritBrief,
    Excerpt,
    MeasureBrief,
    Measured,
    MergeBrief,
    Merged,
    PlanBrief,
    RetrieveBrief,
    Retrieved,
    Span,
    Tests,
)
from parley.schemas.protocols.maci.settings import MOST_OUTCOMES
from parley.schemas.text import ClosedList, Similar, answer_key, gives_reason, squeeze, stands_in
from parley.schemas.wire import InvalidValue, decode

_WITHIN = 1e-6
"""A cosine may pass 1 by so much."""


def check(state: State, turn: OpenTurn, body: object, view: View) -> str:
    """The first fault of a reply; empty if there is none."""
    brief = turn.ask.brief
    match body:
        case Retrieved():
            return _retrieval(body, decode(brief, RetrieveBrief), view)
        case Blind():
            return _proposed(body.belief, view) or _spans(body.spans, state, view)
        case Merged():
            return _groups(body, decode(brief, MergeBrief))
        case Case():
            anchor = decode(brief, ArgueBrief)
            again = turn.ask.attempt >= view.attempts
            faults = (_apart(body, anchor), _case(body, state, view), _rebuts(body, anchor), _speaks_for(body, anchor))
            return next(filter(None, faults), "") or ("" if again else _answers(body, state, anchor))
        case Measured():
            return _similar(body.similar, len(decode(brief, MeasureBrief).spans))
        case Crit():
            return _scores(body, decode(brief, CritBrief))
        case Tests():
            return _tests(body, decode(brief, PlanBrief))
    return ""


# ---------------------------------------------------------------- helper


def _retrieval(r: Retrieved, brief: RetrieveBrief, view: View) -> str:
    """Every passage stands in a document that the helper holds, and none is there twice."""
    most = brief.k * max(1, len(brief.queries))
    if len(r.passages) > most:
        return f"passages: got {len(r.passages)}, allowed are at most {most}"
    seen: set[tuple[str, str]] = set()
    for p in r.passages:
        if fault := _stands(p, view):
            return fault
        key = (p.document, squeeze(p.text))
        if key in seen:
            return f"passages: this one of {p.document} is there twice: {p.text[:200]!r}"
        seen.add(key)
    return "" if brief.queries else _similar(r.similar, len(r.passages))


def _stands(p: Excerpt, view: View) -> str:
    helper = only_seat(view, HELPER)
    document = next((d for d in view.opened.evidence if d.name == p.document and helper in d.holders), None)
    if document is None:
        return f"passages.document: there is no document {p.document!r}"
    if not stands_in(p.text, document.text):
        return f"passages.text: this does not stand in {p.document}: {p.text[:200]!r}"
    return ""


def _similar(similar: Similar, wanted: int) -> str:
    for name, values, n in (
        ("dots", similar.dots, wanted),
        ("gram", similar.gram, wanted * (wanted + 1) // 2),
    ):
        if len(values) != n:
            return f"similar.{name}: got {len(values)} figures, wanted are {n} for {wanted} texts"
        for value in values:
            if not abs(value) <= 1 + _WITHIN:
                return f"similar.{name}: got {value}, allowed is -1 to 1"
    return ""


# ---------------------------------------------------------------- debater


def _case(c: Case, state: State, view: View) -> str:
    most = view.settings.constants.max_arguments
    if len(c.arguments) > most:
        return f"arguments: got {len(c.arguments)}, allowed are at most {most}"
    outcomes = maci_round.widened(state.outcomes, c)
    return _belief(c.belief, outcomes) or _spans((span for a in c.arguments for span in a.spans), state, view)


def _apart(c: Case, brief: ArgueBrief) -> str:
    """A debater may take back its own words, and those that it was told of."""
    merged = [one.proposed for one in brief.counts_as]
    for name in c.apart:
        if name not in merged:
            allowed = f"merged are {_named(merged)}" if merged else "no words of yours were merged"
            return f"apart: got {name!r}; {allowed}"
    return "apart: a name stands there twice" if len(set(c.apart)) < len(c.apart) else ""


def _speaks_for(c: Case, brief: ArgueBrief) -> str:
    """A devil's advocate names the outcome that it speaks for: another than the one that all share."""
    if not brief.against:
        return ""
    others = [name for name in brief.outcomes if name != brief.against]
    if len(others) == 1 and not c.speaks_for:
        return ""
    if ClosedList(others).find(c.speaks_for) is None:
        return f"speaks_for: got {c.speaks_for!r}; you argue against {brief.against!r}, so name one of {_named(others)}"
    return ""


def _rebuts(c: Case, brief: ArgueBrief) -> str:
    """Only an argument of another debater that was shown may be rebutted."""
    for a in c.arguments:
        if a.rebuts and a.rebuts not in brief.rebuttable:
            named = ", ".join(map(str, brief.rebuttable))
            allowed = f"posts of the others' arguments are {named}" if named else "there is none of another debater yet"
            return f"arguments.rebuts: got {a.rebuts}; {allowed}; leave it out where the argument rebuts none"
    return ""


def _answers(c: Case, state: State, brief: ArgueBrief) -> str:
    """Each of a devil's advocate's arguments is answered: why it fails, or what it changes. A fault once; then it
    counts as not answered."""
    if not brief.answers:
        return ""
    before = {share.outcome: share.p for share in brief.belief}.get(brief.shared, 0.0)
    done = maci_round.answered(c, state.outcomes, brief.shared, before)
    missing = next((name for name in brief.answers if name not in done), None)
    if missing is None:
        return ""
    if any(met.argument == missing and gives_reason(met.why) for met in c.answers):
        return (
            f"answers: {missing} is said to take something from {brief.shared!r}, and the belief in that is not "
            "lower than before: lower it, or say that it fails and why"
        )
    return f"answers: got no reason on {missing}; say why it fails, or what it changes"


def _proposed(belief: Belief, view: View) -> str:
    """The belief is over the given outcomes; if these are open, over names of its own."""
    if view.settings.outcomes:
        return _belief(belief, view.settings.outcomes)
    most = MOST_OUTCOMES // len(view.seats(DEBATER))
    if len(belief) > most:
        return f"belief: got {len(belief)} outcomes, allowed are at most {most}"
    keys = {answer_key(share.outcome): share.outcome for share in belief}
    return _belief(belief, tuple(keys.values()))


def _belief(belief: Belief, outcomes: tuple[str, ...]) -> str:
    try:
        parse_belief(belief, outcomes)
    except InvalidValue as fault:
        return str(fault)
    return ""


def _spans(spans: Iterable[Span], state: State, view: View) -> str:
    """Every quotation stands in the passage that it names, white space aside."""
    known = {p.id: p.text for p in passages(state, view)}
    for span in spans:
        if span.passage not in known:
            known_ids = f"passages are p1 to p{len(known)}" if known else "there are none"
            return f"spans.passage: there is no passage {span.passage!r}; {known_ids}"
        if not stands_in(span.quote, known[span.passage]):
            return f"spans.quote: this does not stand in {span.passage}, quote it word for word: {span.quote[:200]!r}"
    return ""


# ---------------------------------------------------------------- judge


def _scores(c: Crit, brief: CritBrief) -> str:
    """One score for each argument, with one figure for each reason."""
    reasons = {item.item: len(item.reasons) for item in brief.items}
    seen: set[int] = set()
    for score in c.scores:
        if score.item not in reasons:
            return f"scores.item: there is no item {score.item}; items are 1 to {len(reasons)}"
        if score.item in seen:
            return f"scores.item: item {score.item} is scored twice"
        seen.add(score.item)
        if len(score.links) != reasons[score.item]:
            return f"scores.links: item {score.item} has {reasons[score.item]} reasons, got {len(score.links)} figures"
    missing = [str(n) for n in reasons if n not in seen]
    return f"scores: no score for item {', '.join(missing)}" if missing else ""


# ---------------------------------------------------------------- analyst


def _groups(m: Merged, brief: MergeBrief) -> str:
    """Every proposal in one group, and no two groups of one name."""
    proposed = ClosedList(brief.proposed)
    names: set[str] = set()
    placed: set[str] = set()
    for group in m.groups:
        if answer_key(group.name) in names:
            return f"groups.name: two groups are named {group.name!r}"
        names.add(answer_key(group.name))
        if not group.members:
            return f"groups.members: group {group.name!r} has none"
        if answer_key(group.name) not in map(answer_key, group.members):
            return f"groups.name: {group.name!r} is none of its members' names"
        for member in group.members:
            name = proposed.find(member)
            if name is None:
                return f"groups.members: {member!r} was not proposed"
            if name in placed:
                return f"groups.members: {member!r} is in a group already"
            placed.add(name)
    ungrouped = [name for name in brief.proposed if name not in placed]
    return f"groups: {ungrouped[0]!r} is in no group" if ungrouped else ""


def _tests(t: Tests, brief: PlanBrief) -> str:
    """Each test says of every outcome in contention how likely it makes a positive finding."""
    if len(t.tests) > brief.most:
        return f"tests: got {len(t.tests)}, allowed are at most {brief.most}"
    names = [share.outcome for share in brief.mixture]
    wanted = ClosedList(names)
    for test in t.tests:
        seen: set[str] = set()
        for share in test.positive:
            name = wanted.find(share.outcome)
            if name is None:
                return f"tests.positive: {share.outcome!r} is not in contention; wanted are {_named(names)}"
            if name in seen:
                return f"tests.positive: {share.outcome!r} is named twice"
            if not 0 <= share.p <= 1:
                return f"tests.positive: {share.outcome!r} got {share.p}, allowed is 0 to 1"
            seen.add(name)
        unmentioned = [name for name in names if name not in seen]
        if unmentioned:
            return f"tests.positive: {test.what[:80]!r} says nothing of {_named(unmentioned)}"
    return ""


def _named(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
