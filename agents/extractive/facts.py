"""Facts asked for: figures, names, and whether something is so. What is not near its words is no answer.

A figure counts by how near it stands to the words of the question; a sentence that is about something else in the same
document falls out, and where nothing is left there is no candidate. A yes-or-no question that states a figure is yes
only by a sentence with that figure, and no by one with another figure of its kind.
"""

import re
from collections.abc import Mapping, Sequence

from agents.extractive import figures, names, stance
from agents.extractive.evidence import PossibleAnswer, ReadSentence, Weighed, candidate
from agents.extractive.figures import CUES, DIMENSIONS, Figure
from agents.extractive.nearness import covered, kin, near, weights
from agents.extractive.question import NAME, Question
from agents.retrieval.corpus import stems, words

LEAST_NEAR = 0.45
"""A figure or a name that is less near to the words of the question answers another one."""
LEAST_COVERED = 0.7
"""Share of the words of a question of fact that stand in a sentence that affirms or denies it."""
LEAST_JUDGED = 0.3
"""The same for a sentence that praises or blames what the question asks to do."""
MENTIONED = 0.15
"""What a sentence says for a thing to do by naming it, without praise or blame."""
UNNAMED = 0.45
"""Weight of a length, a depth, … that no word beside it names as one: `the bridge is 80 metres`."""
SHADOWED = 0.4
"""A finer date takes over what speaks for a coarser one from this share of its weight."""

COARSER = 0.6
"""What a sentence with a coarser date says for a finer one, against what it says for its own."""


def find(question: Question, reads: Sequence[ReadSentence]) -> list[PossibleAnswer]:
    """Candidates for a question that asks for a figure or a name; empty where nothing fits."""
    terms = weights(question.terms, [r.evidence.sentence for r in reads])
    return _names(question, reads, terms) if question.kind == NAME else _figures(question, reads, terms)


def _value(question: Question, r: ReadSentence) -> float:
    """What a sentence's tone makes of what it states: a rule counts more, and what it blames counts against."""
    value = stance.polarity(r.evidence.sentence.text, frozenset(question.terms))
    if stance.is_norm(r.evidence.sentence):
        value = max(value, 0.0) + 0.6
    return value if value < 0 else 1.0 + 0.5 * min(value, 1.0)


def _figures(question: Question, reads: Sequence[ReadSentence], terms: Mapping[str, float]) -> list[PossibleAnswer]:
    found: dict[tuple[str, float, float], tuple[Figure, list[Weighed]]] = {}
    for r in reads:
        text = r.evidence.sentence.text
        offered: dict[tuple[str, float, float], tuple[float, Figure]] = {}
        for f in figures.find(question.figure, text, question.noun):
            value = near(terms, question.names, r.evidence.sentence, f.start, f.end)
            value *= value >= LEAST_NEAR and _at_the_time(question, text, f.start) and _fits(question, f, text)
            if value:
                offered[f.key] = max(offered.get(f.key, (0.0, f)), (value, f), key=lambda x: x[0])
        most = max((value for value, _ in offered.values()), default=0.0)
        for key, (value, f) in offered.items():
            share = (value / most) ** 3  # of two figures in one sentence the nearer one is meant
            total = r.weight * (0.4 + 0.6 * r.relevance) * value * share * _value(question, r)
            found.setdefault(key, (f, []))[1].append(Weighed(total, r.evidence))
    merged = _merge_dates(list(found.values())) if question.figure == "date" else list(found.values())
    return [candidate(f.text, weighed) for f, weighed in merged]


def _at_the_time(question: Question, text: str, at: int) -> bool:
    """Whether the date next to a place in a sentence, if it has one, goes with those that the question names."""
    there = figures.find("date", text)
    if question.figure in ("date", "year") or not question.stated or not there:
        return True
    next_to = min(there, key=lambda f: min(abs(f.start - at), abs(f.end - at)))
    return any(next_to.within(f) or f.within(next_to) for f in question.stated)


def _fits(question: Question, f: Figure, text: str) -> float:
    if question.figure not in DIMENSIONS or figures.dimension(f, text) == question.figure:
        return 1.0
    return UNNAMED if re.search(r"\b(?:is|was|are|were|of|reaches|has)\W+(?:about\W+)?$", text[: f.start]) else 0.0


def _merge_dates(found: list[tuple[Figure, list[Weighed]]]) -> list[tuple[Figure, list[Weighed]]]:
    """A coarser date speaks for each finer one inside it, and stands for itself where there is none of any weight."""
    totals = {f.key: candidate("", weighed).score for f, weighed in found}
    merged = [(f, list(weighed)) for f, weighed in found]
    shadowed = set()
    for f, weighed in found:
        for g, into in merged:
            if g.key != f.key and g.within(f) and totals[g.key] >= SHADOWED * totals[f.key]:
                there = {w.evidence.sentence.text for w in into}
                into += [
                    Weighed(COARSER * w.value, w.evidence) for w in weighed if w.evidence.sentence.text not in there
                ]
                shadowed.add(f.key)
    return [(f, weighed) for f, weighed in merged if f.key not in shadowed]


def _names(question: Question, reads: Sequence[ReadSentence], terms: Mapping[str, float]) -> list[PossibleAnswer]:
    asked = frozenset(question.terms)
    rest = {t: w for t, w in terms.items() if t != question.key}
    found: dict[str, tuple[str, list[Weighed]]] = {}
    for r in reads:
        s = r.evidence.sentence
        if rest and covered(rest, s, 0.7) < 0.5:
            continue
        for n in names.find(question.asks, question.key, asked, s.text):
            value = near(terms, question.names, s, n.start, n.end)
            if value >= LEAST_NEAR and _at_the_time(question, s.text, n.start):
                total = n.weight * r.weight * (0.4 + 0.6 * r.relevance) * value * _value(question, r)
                found.setdefault(n.text.casefold(), (n.text, []))[1].append(Weighed(total, r.evidence))
    return [candidate(text, weighed) for text, weighed in found.values()]


def yes_no(question: Question, reads: Sequence[ReadSentence]) -> list[PossibleAnswer]:
    """The two answers, by what affirms and what denies; empty where nothing bears on the question."""
    terms = weights(question.terms, [r.evidence.sentence for r in reads])
    sides: tuple[list[Weighed], list[Weighed]] = ([], [])
    for r in reads:
        if question.stated:
            value = _checked(question, r, terms)
        elif question.evaluative:
            value = _judged(question, r)
        else:
            value = _affirmed(question, r) or _praised(question, r)
        if value:
            sides[value < 0].append(Weighed(r.weight * abs(value), r.evidence))
    if not any(sides):
        return []
    return [candidate(text, weighed) for text, weighed in zip(question.options, sides, strict=True)]


def _judged(question: Question, r: ReadSentence) -> float:
    """Of what ought to be: praise of the thing less blame."""
    s = r.evidence.sentence
    value = stance.polarity(s.text) * (-1.0 if stance.is_reversed(question.text) else 1.0)
    share = covered(question.terms, s, 0.0)
    if share >= 0.6 and not value:
        value = MENTIONED * share * (-1.0 if stance.is_negated(s) else 1.0)
    elif share < 0.6 and (r.relevance < 0.15 or covered(question.terms, s, 0.5) < LEAST_JUDGED):
        return 0.0
    return r.relevance * value


def _affirmed(question: Question, r: ReadSentence) -> float:
    """Of what is: a sentence that has all names and most words of the question, and "not" or none."""
    s = r.evidence.sentence
    if not _names_it(question, r) or covered(question.terms, s, 0.5) < LEAST_COVERED:
        return 0.0
    share = covered(question.terms, s, 0.0)
    return r.relevance * share * (-1.0 if stance.is_negated(s) else 1.0)


def _praised(question: Question, r: ReadSentence) -> float:
    """Of whether a thing is good or bad: what a sentence about it says of it in other words."""
    asks = not {*words(question.text)}.isdisjoint(stance.GOOD | stance.BAD)
    s = r.evidence.sentence
    return 0.5 * _judged(question, r) if asks and _names_it(question, r) and covered(question.terms, s) >= 0.5 else 0.0


def _names_it(question: Question, r: ReadSentence) -> bool:
    """Whether a sentence is about what the question names: by name, or by its context if it names nothing else."""
    s = r.evidence.sentence
    missing = question.names - set(s.stems)
    if missing and (not missing <= set(s.context) or names.others(question.names, s.text)):
        return False
    if not question.agent:
        return True
    did = names.find("who", question.key, frozenset(), s.text)
    return not did or any(question.agent & set(stems(n.text)) for n in did)


def _checked(question: Question, r: ReadSentence, terms: Mapping[str, float]) -> float:
    """Of a stated figure: 1 to -1 for a sentence about the same thing whose figures of its kind hold it or do not."""
    s = r.evidence.sentence
    if not _names_it(question, r) or covered(question.terms, s, 0.5) < 0.6:
        return 0.0
    verdicts = []
    for wanted in question.stated:
        there = [(near(terms, question.names, s, f.start, f.end), f) for f in _of_kind(wanted, s.text, question)]
        close = max((value for value, _ in there), default=0.0)
        if close < LEAST_NEAR:
            return 0.0
        meant = [f for value, f in there if value >= 0.95 * close]
        held = [_holds(f, wanted, question.bound) for f in meant]
        verdicts.append(close if True in held else -close if False in held else 0.0)
    value = min(verdicts, key=lambda v: (v > 0, v == 0, v)) if 0.0 not in verdicts or min(verdicts) < 0 else 0.0
    return -abs(value) if stance.is_negated(s) and value > 0 else 0.0 if stance.is_negated(s) else value


def _of_kind(wanted: Figure, text: str, question: Question) -> list[Figure]:
    found = [f for f in figures.stated(text) if f.kind == wanted.kind]
    if wanted.kind not in ("length", "seconds", "months"):
        return found
    cues = {kin(t) for t in question.terms}
    asked = next((d for d, words in CUES.items() if d in DIMENSIONS and cues & {kin(w) for w in words}), "")
    return [f for f in found if figures.dimension(f, text) in ("", asked)]


def _holds(there: Figure, wanted: Figure, bound: str) -> bool | None:
    """Whether a figure bears out the stated one; None: it is too coarse to tell."""
    if bound == "more":
        return True if there.low > wanted.high else False if there.high <= wanted.high else None
    if bound == "less":
        return True if there.high < wanted.low else False if there.low >= wanted.low else None
    if there.within(wanted):
        return True
    return None if wanted.within(there) else False
