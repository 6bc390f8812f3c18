"""What the passages of a MACI session say for and against each outcome, by words.

A clause speaks of the outcomes that it names, else of those that the clause before, the heading or the document's name
names. It says as much for them as the words of the question weigh that it has: rare words more. A word that the clause
denies, or that the question denies, speaks against. Where the question asks what to do, praise and blame count too
(extractive_weigh), and where it asks for a figure or a name, whether the sentence states it.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from parley.agents.context import Shown
from parley.agents.extractive.evidence import DAMPING, EvidenceSentence
from parley.agents.extractive.question import OPEN, OPTIONS, WHY, YES_NO, ParsedQuestion, read_question
from parley.agents.extractive.same_answer import alike
from parley.agents.extractive.stance import firmness, source_weight
from parley.agents.extractive.weighing import candidates
from parley.agents.model.injection import is_instruction, suspicious
from parley.agents.retrieval.corpus import STOP, Sentence, Text, clean, collapse, cut, stem, stems, word_set
from parley.agents.text.words import words
from parley.schemas.belief import Share
from parley.schemas.protocols.maci.messages import Passages, Ruled, Span
from parley.schemas.text import answer_key

FAINT = 0.25
"""Weight of a sentence from a source that this seat does not read closely."""
INHERITED = 0.6
"""Weight of a clause whose outcome only the heading, the sentence before or the document's name names."""
TEMPERATURE = 1.0
MOST_PROPOSED = 5
"""Outcomes of one debater where they are open."""
_EQUAL = 1e-9
"""Probabilities that differ by no more are the same."""
MOST_GIVEN = 20
"""Outcomes up to which those of which nothing is said keep some probability."""

_CLAUSE = re.compile(r"[;:]\s+|,?\s+\b(?:but|while|whereas|although|though|however|unlike)\b\s+", re.I)
_HEADING = re.compile(r"^#+ +(\S+(?: +\S+){0,4}) *$", re.M)
_CONTRAST = re.compile(r"\b(?:than|rather than|instead of|not that of)\b", re.I)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[,()]")
_BEFORE = word_set("no not never without nor neither lacks lack lacking absent excludes excluded denies rarely seldom")
_BEHIND = word_set("rare uncommon unusual absent missing unlikely not never rarely seldom excluded")
_REACH = 4
"""Words over which such a word denies."""


@dataclass(frozen=True, slots=True)
class PassageLine:
    """A sentence of a passage."""

    passage: str
    document: str
    sentence: Sentence
    source: int
    """Number of its document; of its passage, where all are of one document."""

    @property
    def span(self) -> Span:
        """As evidence."""
        return Span(passage=self.passage, quote=self.sentence.text)


@dataclass(frozen=True, slots=True)
class OutcomeEvidence:
    """What a line says about one outcome: above 0 for it, below 0 against it."""

    value: float
    line: PassageLine
    terms: tuple[str, ...] = ()
    """The words of the question that it has."""


@dataclass(frozen=True)
class ShownEvidence:
    """What a seat is shown: lines, and the arguments that were admitted."""

    lines: tuple[PassageLine, ...]
    record: tuple[tuple[int, Ruled], ...]
    """(number of the post, argument)."""
    headings: tuple[str, ...]
    """Short ones, each once."""
    injected: bool


def reading(shown: Shown) -> ShownEvidence:
    """The passages and the record of a turn. What talks to the reader as to a machine is left out."""
    passages = [p for o in shown.others if isinstance(o.body, Passages) for p in o.body.passages]
    record = tuple((o.post, o.body) for o in shown.others if isinstance(o.body, Ruled) and o.body.admitted)
    order = _order(o.body for o in shown.others if isinstance(o.body, Passages))
    lines = tuple(
        PassageLine(p.id, p.document, s, order[p.document] if len(order) > 1 else number)
        for number, p in enumerate(passages)
        for s in _text(p.text).sentences
        if not is_instruction(s.text)
    )
    texts = (t for _, a in record for t in (a.claim, *a.reasons, *(s.quote for s in a.spans)))
    headings = dict.fromkeys(
        clean(m[1]) for p in passages for m in _HEADING.finditer(p.text) if not is_instruction(m[1]) and stems(m[1])
    )
    return ShownEvidence(lines, record, tuple(headings), suspicious([*(p.text for p in passages), *texts]))


def _order(posts: Iterable[Passages]) -> dict[str, int]:
    """Number of each document: those of the task by their names, whatever found them; then those that came later."""
    by_post = [sorted({p.document for p in post.passages}) for post in posts]
    return {d: i for i, d in enumerate(dict.fromkeys(d for documents in by_post for d in documents))}


@lru_cache(maxsize=4_000)
def _text(text: str) -> Text:
    return cut(text)


def close(seat: str, source: int) -> bool:
    """Whether this seat reads a source closely: seats 1 and 2 each one half of them, 3 and 4 other halves, and so on.

    >>> [close("debater_1", i) for i in range(4)], [close("debater_2", i) for i in range(4)]
    ([True, False, True, False], [False, True, False, True])
    >>> [close("debater_3", i) for i in range(4)]
    [True, True, False, False]
    """
    digits = re.search(r"\d+\Z", seat)
    pair, half = divmod(int(digits[0]) - 1 if digits and int(digits[0]) else 0, 2)
    return (source >> (pair % 16)) & 1 == half


def speaking(question: str, outcomes: Sequence[str], lines: Sequence[PassageLine]) -> list[tuple[OutcomeEvidence, ...]]:
    """For each outcome what is said about it, the weightiest first."""
    form = read_question(question)
    evidence: list[dict[PassageLine, OutcomeEvidence]] = [{} for _ in outcomes]
    stated = _stated(form, outcomes, lines)
    if not any(stated):
        for i, piece in _findings(form, outcomes, lines):
            _add(evidence[i], piece)
    for i, piece in stated:
        _add(evidence[i], piece)
    return [
        tuple(sorted(f.values(), key=lambda s: (-abs(s.value), s.line.passage, s.line.sentence.text))) for f in evidence
    ]


def _add(evidence: dict[PassageLine, OutcomeEvidence], piece: OutcomeEvidence) -> None:
    before = evidence.get(piece.line)
    terms = tuple(dict.fromkeys((*before.terms, *piece.terms))) if before else piece.terms
    evidence[piece.line] = OutcomeEvidence(piece.value + (before.value if before else 0.0), piece.line, terms)


def _stated(
    form: ParsedQuestion, outcomes: Sequence[str], lines: Sequence[PassageLine]
) -> list[tuple[int, OutcomeEvidence]]:
    """What is found by the form of the question: what states a figure or a name, praise and blame of options."""
    evidence = {EvidenceSentence(line.sentence, line.document, own=True): line for line in lines}
    if form.kind == YES_NO:
        answers = candidates(form, list(evidence))
        fitting = [(i, c) for i, o in enumerate(outcomes) for c in answers if alike(c.text, o)]
    elif form.kind == OPTIONS and all(_marks(outcomes)):
        places = {o: i for i, o in enumerate(outcomes)}
        fitting = [(places[c.text], c) for c in candidates(replace(form, options=tuple(outcomes)), list(evidence))]
    elif form.kind not in (OPTIONS, OPEN, WHY):
        weighed = [w for c in candidates(form, list(evidence)) for w in c.weighed]
        named = [
            (i, w) for i, o in enumerate(outcomes) for w in weighed if set(stems(o)) <= set(w.evidence.sentence.stems)
        ]
        return [(i, OutcomeEvidence(w.value, evidence[w.evidence])) for i, w in named]
    else:
        fitting = []
    return [(i, OutcomeEvidence(w.value, evidence[w.evidence])) for i, c in fitting for w in c.weighed]


def _marks(outcomes: Sequence[str]) -> tuple[frozenset[str], ...]:
    """For each outcome its stems, without those that all have, where each has others."""
    sets = [frozenset(stem(w) for w in words(o) if w not in STOP) or frozenset(words(o)) for o in outcomes]
    common = frozenset.intersection(*sets) if len(sets) > 1 else frozenset()
    return tuple(s - common for s in sets) if all(s - common for s in sets) else tuple(sets)


@dataclass(frozen=True, slots=True)
class _Clause:
    """A part of a line, and of which outcomes it speaks."""

    line: PassageLine
    text: str
    subjects: frozenset[int]
    against: frozenset[int]
    """Outcomes behind "than" and the like."""
    share: float
    """1 where they are named in the sentence, else INHERITED."""


def _clauses(marks: Sequence[frozenset[str]], lines: Sequence[PassageLine]) -> Iterable[_Clause]:
    none: frozenset[int] = frozenset()
    for line in lines:
        subjects, share = _named(frozenset(line.sentence.context), marks), INHERITED
        subjects = subjects or _named(frozenset(stems(line.document)), marks)
        for text in _CLAUSE.split(line.sentence.text):
            here = _named(frozenset(stems(text)), marks)
            behind = _CONTRAST.search(text) if len(here) > 1 else None
            against = here & _named(frozenset(stems(text[behind.end() :])), marks) if behind else none
            if here:
                subjects, share = here - against, 1.0
            yield _Clause(line, text, subjects, against, share)


def _findings(
    form: ParsedQuestion, outcomes: Sequence[str], lines: Sequence[PassageLine]
) -> Iterable[tuple[int, OutcomeEvidence]]:
    """(outcome, what a clause says about it by the words of the question)."""
    marks = _marks(outcomes)
    named = frozenset().union(*marks)
    have = [set(line.sentence.stems) for line in lines]
    worth = {t: math.log(1 + (1 + len(have)) / (1 + sum(t in h for h in have))) for t in form.terms if t not in named}
    denied = {t for clause in _CLAUSE.split(form.text) for t, off in _terms(clause, worth) if off}
    total = sum(sorted(worth.values(), reverse=True)[:_REACH]) or 1.0
    for c in _clauses(marks, lines):
        terms = _terms(c.text, worth)
        value = sum(worth[t] * (1 if off == (t in denied) else -1) for t, off in terms)
        if value:
            weight = c.share * firmness(c.line.sentence) * source_weight(c.line.document) / total
            for i in sorted(c.subjects | c.against):
                signed = -0.5 * value if i in c.against else value
                yield i, OutcomeEvidence(weight * signed, c.line, tuple(t for t, _ in terms))


def about(outcomes: Sequence[str], lines: Sequence[PassageLine]) -> list[dict[PassageLine, frozenset[str]]]:
    """For each outcome the lines that speak of it, whatever they say, and the stems of what they say about it."""
    by_outcome: list[dict[PassageLine, frozenset[str]]] = [{} for _ in outcomes]
    for c in _clauses(_marks(outcomes), lines):
        for i in c.subjects:
            by_outcome[i][c.line] = by_outcome[i].get(c.line, frozenset()) | set(stems(c.text))
    return by_outcome


def _named(terms: frozenset[str], marks: Sequence[frozenset[str]]) -> frozenset[int]:
    """Outcomes whose words all stand there; those whose words are a part of another's that does are not meant."""
    here = {i for i, m in enumerate(marks) if m <= terms}
    return frozenset(i for i in here if not any(marks[i] < marks[j] for j in here))


def _terms(clause: str, worth: dict[str, float]) -> list[tuple[str, bool]]:
    """(word of the question, whether it is denied) for each that stands in a clause."""
    parts = [m[0].lower().replace("’", "'") for m in _WORD.finditer(clause)]
    terms: dict[str, bool] = {}
    for at, word in enumerate(parts):
        term = stem(word)
        if term not in worth or word in STOP:
            continue
        behind = parts[at + 1 : at + 1 + _REACH]
        behind = behind[: next((i for i, w in enumerate(behind) if w in (",", "(", ")")), _REACH)]
        off = bool(_BEFORE & set(parts[max(0, at - _REACH) : at])) or bool(_BEHIND & set(behind))
        terms[term] = terms.get(term, True) and off
    return list(terms.items())


def belief(
    outcomes: Sequence[str], evidence: Sequence[Sequence[OutcomeEvidence]], weight: dict[PassageLine, float]
) -> tuple[float, ...]:
    """Probabilities of the outcomes: further lines count less and less, sums are compared by softmax.

    Parameters
    ----------
    weight
        How much this seat makes of each line, 0 to 1; FAINT where it is absent.
    """
    scores = [_sum(own, weight) for own in evidence]
    most = max(scores)
    spread = len(outcomes) <= MOST_GIVEN or not any(evidence)
    raised = [math.exp((s - most) / TEMPERATURE) if spread or f else 0.0 for s, f in zip(scores, evidence, strict=True)]
    total = sum(raised)
    return tuple(r / total for r in raised)


def _sum(evidence: Sequence[OutcomeEvidence], weight: dict[PassageLine, float]) -> float:
    values = sorted((s.value * weight.get(s.line, FAINT) for s in evidence), key=lambda v: -abs(v))
    return sum(v * DAMPING**i for i, v in enumerate(values))


def shares(outcomes: Sequence[str], p: Sequence[float]) -> tuple[Share, ...]:
    """As a message, in whole percents (in hundredths of them among many outcomes), together 1: what moves by less than
    that does not move. The most probable make up the sum, and stay equals where they are. What is 0 is left out."""
    decimals = 2 if len(outcomes) <= MOST_GIVEN else 4
    rounded = [round(v, decimals) for v in p]
    best = [i for i, v in enumerate(p) if v >= max(p) - _EQUAL]
    rest = round(1 - math.fsum(rounded), decimals)
    for i in best:
        rounded[i] = round(rounded[i] + rest / len(best), 12)
    return tuple(Share(outcome=o, p=v) for o, v in zip(outcomes, rounded, strict=True) if v > 0)


def proposed(
    question: str, read: ShownEvidence, weight: dict[PassageLine, float]
) -> tuple[list[str], list[tuple[OutcomeEvidence, ...]]]:
    """Outcomes that the passages offer for an open question, and what is said about each.

    A figure or a name where the question asks for one; else the short headings whose words stand in a sentence too;
    else the sentences that answer it best.
    """
    form = read_question(question)
    evidence = {EvidenceSentence(line.sentence, line.document, own=True): line for line in read.lines}
    headings = [h for h in read.headings if any(set(stems(h)) <= set(line.sentence.stems) for line in read.lines)]
    if form.kind == OPEN and headings:
        evidence_by_heading = speaking(question, headings, read.lines)
        pairs = [
            (h, pieces)
            for h, pieces in zip(headings, evidence_by_heading, strict=True)
            if any(s.value > 0 for s in pieces)
        ]
    else:
        pairs = [
            (name, tuple(OutcomeEvidence(w.value, evidence[w.evidence]) for w in c.weighed))
            for c in candidates(form, list(evidence))
            if c.score > 0 and (name := clean(c.text)[:200].strip())
        ]
    scored = {answer_key(name): (name, pieces) for name, pieces in reversed(pairs)}
    best = sorted(scored.values(), key=lambda pair: (-_sum(pair[1], weight), pair[0]))[:MOST_PROPOSED]
    return [name for name, _ in best], [pieces for _, pieces in best]


def quotes_line(quote: str, passage: str, line: PassageLine) -> bool:
    """Whether a quotation is of this line."""
    text = collapse(quote)
    return passage == line.passage and (text in line.sentence.text or line.sentence.text in text)
