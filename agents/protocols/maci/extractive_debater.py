"""A MACI debater without a language model: it believes what the passages come to, and argues with sentences from them.

Every debater is shown the same passages, and two that weigh them alike would be one. So each reads other sources
closely (extractive_maci_read.close): those count in full, the others FAINT. What another debater quotes in an admitted
argument counts in full from then on, and the belief goes towards what that comes to, by 1 - CL of the way: at a high
contentiousness a little, at a low one most of it.

At a high contentiousness it brings what is not in the record yet, and one argument against what the others hold. At a
low one it cites what is decisive, whoever cited it first, and grants what speaks for the other side. As devil's
advocate it brings what speaks against the answer that all hold, and for its best rival; what it believes is reckoned as
in any other round.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from parley.agents.context import Shown
from parley.agents.protocols.maci.extractive_reading import (
    FAINT,
    OutcomeEvidence,
    PassageLine,
    ShownEvidence,
    belief,
    close,
    proposed,
    quotes_line,
    reading,
    shares,
    speaking,
)
from parley.agents.retrieval.corpus import clean, collapse, stem
from parley.agents.text.words import words
from parley.schemas.belief import printed
from parley.schemas.protocols.maci.messages import ArgueBrief, Argument, Blind, BlindBrief, Case, Met, Ruled

SPANS = 2
"""Quotations of one argument."""
CONTENTIOUS = 0.6
"""Contentiousness from which it attacks; below, it grants."""
NEAR = 0.1
"""Times 1 - CL: what may be left of the way and is gone at once. Who halves a distance for ever never arrives."""
UNKNOWN = "The passages do not say"
"""What it proposes where an open question finds no answer in them."""
_WHO = "No language model was at work."


def blind(shown: Shown) -> tuple[Blind, bool]:
    """(the belief, whether something that was read talks to the reader as to a machine)."""
    brief: BlindBrief = shown.brief
    read = reading(shown)
    weight = {line: 1.0 for line in read.lines if close(shown.seat, line.source)}
    outcomes = list(brief.outcomes)
    if outcomes:
        evidence = speaking(shown.question, outcomes, read.lines)
    else:
        outcomes, evidence = proposed(shown.question, read, weight)
    if not outcomes:
        outcomes, evidence = [UNKNOWN], [()]
    p = belief(outcomes, evidence, weight)
    own_belief = shares(outcomes, p)
    best = max(range(len(p)), key=lambda i: (p[i], -i))
    cited = [s.line for s in _weighed(evidence[best], weight) if s.value > 0][:SPANS]
    beliefs = ", ".join(f"{clean(s.outcome)} {s.p:.0%}" for s in sorted(own_belief, key=lambda s: -s.p)[:4])
    near = sum(1 for line in read.lines if line in weight)
    why = (
        f"Weighed by words from {len(read.lines)} sentences, {near} of them read closely as this seat's own half of "
        f"the sources: {beliefs}. {_WHO}"
    )
    return Blind(belief=own_belief, reasoning=why, spans=tuple(x.span for x in cited)), read.injected


def argue(shown: Shown) -> tuple[Case, bool]:
    """(arguments and the belief after the record, whether something that was read talks as to a machine)."""
    brief: ArgueBrief = shown.brief
    read = reading(shown)
    weighed = _anew(shown, read)
    outcomes, after = brief.outcomes, weighed.after
    rival = _rival(brief, after)
    case = Case(
        arguments=_arguments(shown, read, weighed.evidence, weighed.weight, after),
        belief=shares(outcomes, after),
        changed=_changed(outcomes, weighed.before, after, weighed.new),
        speaks_for="" if rival is None else outcomes[rival],
    )
    return case, read.injected


def answer(shown: Shown) -> tuple[Case, bool]:
    """(answers to a devil's advocate's arguments and the belief after them, whether something that was read talks as to
    a machine)."""
    brief: ArgueBrief = shown.brief
    read = reading(shown)
    weighed = _anew(shown, read)
    belief_now = shares(brief.outcomes, weighed.after)
    now = next((s.p for s in belief_now if s.outcome == brief.shared), 0.0)
    lower = printed(now) < printed(weighed.before.get(brief.shared, 0.0))
    said = {argument.id: argument for _, argument in read.record}
    met = tuple(
        Met(argument=name, fails=not lower, why=_weighed_anew(said.get(name), brief.shared, now, lower))
        for name in brief.answers
    )
    return Case(answers=met, belief=belief_now), read.injected


def _weighed_anew(argument: Ruled | None, shared: str, now: float, lower: bool) -> str:
    quoted = f"“{clean(collapse(argument.spans[0].quote))}”" if argument and argument.spans else "what it says"
    came = "and that is less than before" if lower else "so it takes nothing from it"
    return f"With {quoted} counted in full, the passages give {clean(shared)} {now:.0%}, {came}. {_WHO}"


@dataclass(frozen=True)
class _Weighed:
    """What a seat makes of the passages after the record."""

    evidence: Sequence[Sequence[OutcomeEvidence]]
    weight: dict[PassageLine, float]
    before: dict[str, float]
    after: list[float]
    new: Sequence[PassageLine]
    """Lines that others quoted, and that it had not read closely."""


def _anew(shown: Shown, read: ShownEvidence) -> _Weighed:
    brief: ArgueBrief = shown.brief
    outcomes = brief.outcomes
    evidence = speaking(shown.question, outcomes, read.lines)
    own = {line: 1.0 for line in read.lines if close(shown.seat, line.source)}
    announced = {
        line
        for post, argument in read.record
        if post not in brief.own
        for span in argument.spans
        for line in read.lines
        if quotes_line(span.quote, span.passage, line)
    }
    weight = own | {line: 1.0 for line in announced}
    target = belief(outcomes, evidence, weight)
    before = {s.outcome: s.p for s in brief.belief}
    after = _towards(tuple(before.get(o, 0.0) for o in outcomes), target, brief.cl)
    new = sorted(announced - set(own), key=lambda x: (x.passage, x.sentence.text))
    return _Weighed(evidence=evidence, weight=weight, before=before, after=after, new=new)


def _towards(current: Sequence[float], target: Sequence[float], cl: float) -> list[float]:
    """1 - CL of the way; all of it where that leaves next to nothing."""
    share = 0.0 if all(cl * abs(t - h) < NEAR * (1 - cl) for h, t in zip(current, target, strict=True)) else cl
    moved = [share * h + (1 - share) * t for h, t in zip(current, target, strict=True)]
    return [m / sum(moved) for m in moved]


def _changed(
    outcomes: Sequence[str], before: dict[str, float], after: Sequence[float], new: Sequence[PassageLine]
) -> str:
    most = max(range(len(outcomes)), key=lambda i: abs(after[i] - before.get(outcomes[i], 0.0)))
    was, now = before.get(outcomes[most], 0.0), after[most]
    if not new or abs(now - was) < 0.0005:
        return f"Nothing in the record is new to me and moves it. {_WHO}"
    return (
        f"{clean(outcomes[most])} went from {was:.1%} to {now:.1%}, because of what others quoted: "
        f"{_quoted(new[0])}. {_WHO}"
    )


def _arguments(
    shown: Shown,
    read: ShownEvidence,
    evidence: Sequence[Sequence[OutcomeEvidence]],
    weight: dict[PassageLine, float],
    own_belief: Sequence[float],
) -> tuple[Argument, ...]:
    """What it says in this round, the weightiest first."""
    brief: ArgueBrief = shown.brief
    outcomes = brief.outcomes
    question_words = {stem(w): w for w in reversed(words(shown.question)) if w.isalpha()}
    own = max(range(len(outcomes)), key=lambda i: (own_belief[i], -i))
    sums = [sum(s.p for b in brief.opponents for s in b if s.outcome == o) for o in outcomes]
    other = max(range(len(outcomes)), key=lambda i: (sums[i], -i))
    recorded = {x for _, a in read.record for s in a.spans for x in read.lines if quotes_line(s.quote, s.passage, x)}
    worth = {x: weight.get(x, FAINT) * (1 - brief.cl if x in recorded else 1.0) for x in read.lines}
    if brief.against:
        return _attack(brief, evidence, worth, own_belief, question_words)
    against: list[Argument] = []
    if other != own and brief.most > 1:
        sign = -1 if brief.cl >= CONTENTIOUS else 1
        pieces = [s for s in _weighed(evidence[other], worth) if s.value * sign > 0][:SPANS]
        if pieces:
            claim = _claim(outcomes[other], pieces, question_words, "against" if sign < 0 else "for")
            met = _met(brief, read, evidence[other]) if sign < 0 else None
            against.append(
                msgspec.structs.replace(_argument(claim, outcomes[other], pieces, question_words), rebuts=met)
            )
    for_it = [s for s in _weighed(evidence[own], worth) if s.value > 0]
    room = brief.most - len(against)
    groups = [for_it[i : i + SPANS] for i in range(0, len(for_it), SPANS)][:room]
    return (
        *(_argument(_claim(outcomes[own], g, question_words, "for"), outcomes[own], g, question_words) for g in groups),
        *against,
    )


def _met(brief: ArgueBrief, read: ShownEvidence, evidence: Sequence[OutcomeEvidence]) -> int | None:
    """The newest argument of another debater that quotes what speaks for this outcome."""
    good = {s.line for s in evidence if s.value > 0}
    posts = [
        post
        for post, a in read.record
        if post in brief.rebuttable and any(quotes_line(s.quote, s.passage, x) for s in a.spans for x in good)
    ]
    return max(posts, default=None)


def _attack(
    brief: ArgueBrief,
    evidence: Sequence[Sequence[OutcomeEvidence]],
    worth: dict[PassageLine, float],
    own_belief: Sequence[float],
    question_words: dict[str, str],
) -> tuple[Argument, ...]:
    """The devil's advocate: what speaks against the answer that all hold, then what speaks for its best rival."""
    outcomes = brief.outcomes
    shared, rival = outcomes.index(brief.against), _rival(brief, own_belief)
    assert rival is not None, "a devil's advocate argues against something"
    cases = []
    for place, side, sign in ((shared, "against", -1), (rival, "for", 1)):
        pieces = [s for s in _weighed(evidence[place], worth) if s.value * sign > 0][:SPANS]
        if pieces:
            claim = _claim(outcomes[place], pieces, question_words, side)
            cases.append(_argument(claim, outcomes[place], pieces, question_words))
    return tuple(cases[: brief.most])


def _rival(brief: ArgueBrief, own_belief: Sequence[float]) -> int | None:
    """The best outcome beside the one that a devil's advocate argues against; None: it is none."""
    others = (i for i, name in enumerate(brief.outcomes) if brief.against and name != brief.against)
    return max(others, key=lambda i: (own_belief[i], -i), default=None)


def _weighed(pieces: Sequence[OutcomeEvidence], weight: dict[PassageLine, float]) -> list[OutcomeEvidence]:
    """What is said, by how much this seat makes of it."""
    return sorted(
        pieces, key=lambda s: (-abs(s.value) * weight.get(s.line, FAINT), s.line.passage, s.line.sentence.text)
    )


def _claim(outcome: str, pieces: Sequence[OutcomeEvidence], question_words: dict[str, str], side: str) -> str:
    terms = [question_words[t] for t in dict.fromkeys(t for s in pieces for t in s.terms) if t in question_words][:4]
    what = f"What is said about {_listed(terms)}" if terms else "What the passages say"
    return f"{what} speaks {side} {clean(outcome)}."


def _argument(claim: str, outcome: str, pieces: Sequence[OutcomeEvidence], question_words: dict[str, str]) -> Argument:
    reasons = []
    for s in pieces:
        terms = [question_words[t] for t in s.terms if t in question_words][:4]
        fits = f"; asked is about {_listed(terms)}" if terms else ""
        reasons.append(f"On {clean(outcome)} the evidence says: {_quoted(s.line)}{fits}.")
    return Argument(claim=claim, reasons=tuple(reasons), spans=tuple(s.line.span for s in pieces))


def _listed(terms: Sequence[str]) -> str:
    return terms[0] if len(terms) == 1 else ", ".join(terms[:-1]) + " and " + terms[-1]


def _quoted(line: PassageLine) -> str:
    return f"“{clean(collapse(line.sentence.text))}” ({clean(line.document)})"
