"""Finds the answer in the documents, if there is one: one answer that is sure enough, or the passages that bear on the
question.

It abstains rather than guesses: an answer needs a sentence that is sure enough (agents/extractive/ranking.py) and has
what is asked for; of options one is named only by what is said of it alone; yes or no needs a sentence that says the
same, or the same with a "not".
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from parley.agents.context import Shown
from parley.agents.encoders import Encoder
from parley.agents.extractive.evidence import EvidenceSentence
from parley.agents.extractive.question import (
    DATE,
    NEGATORS,
    NUMBER,
    OPEN,
    OPTIONS,
    WHY,
    YEAR,
    YES_NO,
    ParsedQuestion,
    read_question,
)
from parley.agents.extractive.ranking import ScoredSentence, fits, looked_at, rank_by_cosine, sureness
from parley.agents.extractive.text_similarity import Done, TextSimilarity
from parley.agents.retrieval.corpus import STOP, clean, plain, stem, stems, word_set
from parley.agents.text.languages import DEFAULT
from parley.agents.text.words import NAMES, words
from parley.schemas.result import RIGHT
from parley.schemas.text import BY_ENCODER

FLOOR = 0.75
"""How sure an answer must be."""
BY_WORDS_ALONE = 0.62
"""The same, of some options, and in other languages than English."""
FITTING = 0.6
"""Below it a sentence has nothing of the kind asked for."""
MAJORITY = 2 / 3
"""Share of what is said of one option alone that must be for the same one."""
BEARING = 5
"""Passages that are shown where there is no answer."""

Vectors = Mapping[str, NDArray[np.float32]]
_HEDGES = word_set("out might maybe perhaps possibly probably rumour allegedly seems apparently unlikely likely")
"""With one of these a sentence neither says nor denies it. "Out of service" has the words of "in service"."""
_CONTRAST = re.compile(r"\b(?:than|instead of|rather than|unlike|compared (?:with|to)|versus|over)\b", re.I)
_ADVICE = re.compile(
    r"\b(?:recommend\w*|prefer(?:s|red)?|advis(?:es?|ed)|best|safest|cheapest|simplest|fastest|"
    r"should|must|chose|chosen|decided)\b",
    re.I,
)
_SEEKS_ADVICE = re.compile(r"\b(?:should|better|best|shall|ought|worth|recommend\w*)\b", re.I)
_YEAR = re.compile(r"\b(?:1\d|20)\d\d\b")
_REPORTED = re.compile(
    r"\b(?:wrongly|falsely|mistakenly|erroneously|supposedly|allegedly|purportedly|reputedly|myth|misconception|hoax|"
    r"debunked|contrary to|believ\w+|beliefs?|assum(?:e[sd]?|ing|ptions?)|suppos(?:e|ed|es)|imagin(?:e|ed|es)|"
    r"claim(?:s|ed|ing)?|alleg(?:e|es|ed|ations?)|think|thinks|thought|rumou?r\w*|"
    r"(?:false|untrue|incorrect|wrong|mistake|error|no evidence|not (?:true|correct|the case)|no longer true)"
    r"(?: \w+){0,2} that|fälschlich\w*|irrtümlich\w*|angeblich\w*|à tort|prétend\w*|erróneamente|supuestamente)\b",
    re.I,
)
"""A sentence with it tells what somebody holds, or denies it: what stands behind it is nobody's word here."""
_EMPHASIS = re.compile(r"\*\*|__|`+|(?<!\w)[*_]|[*_](?!\w)")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer that was found, or the passages that bear on it."""

    answer: str = ""
    """Empty: nothing is sure enough."""
    sure: float = 0.0
    """0 to 1."""
    rests_on: tuple[EvidenceSentence, ...] = ()
    bearing: tuple[EvidenceSentence, ...] = ()
    """What bears on the question, the nearest first."""

    @property
    def share_right(self) -> float:
        """The measured share of such answers that is right, or less where little settles it; 0 for none."""
        return round(min(RIGHT, self.sure), 2) if self.answer else 0.0


class Search:
    """A question and the sentences that may answer it; `texts` are what an encoder is to compare."""

    def __init__(self, question: str, evidence: Sequence[EvidenceSentence]) -> None:
        self._question = read_question(question)
        self._evidence = evidence
        self._looked = looked_at(self._question, [e for e in evidence if _may_answer(self._question, e)])

    @property
    def texts(self) -> list[str]:
        """The question and the sentences; none where there is nothing to compare, or not in English, which alone the
        encoder knows."""
        if self._question.language != DEFAULT or not self._looked:
            return []
        return list(dict.fromkeys([self._question.text, *(x.evidence.sentence.text for x in self._looked)]))

    def looked(self, vectors: Vectors | None) -> list[ScoredSentence]:
        """What was looked at, the best first."""
        if vectors is None:
            return self._looked
        of_question = vectors[self._question.text]
        cosines = [float(of_question @ vectors[x.evidence.sentence.text]) for x in self._looked]
        return rank_by_cosine(self._looked, cosines)

    def result(self, vectors: Vectors | None) -> SearchResult:
        """What the sentences answer; without vectors by words alone."""
        looked = self.looked(vectors)
        bearing = tuple(x.evidence for x in looked[:BEARING])
        if self._question.language not in NAMES:
            return SearchResult(bearing=bearing)
        return replace(self._result(looked), bearing=bearing)

    def _result(self, looked: Sequence[ScoredSentence]) -> SearchResult:
        question = self._question
        if question.kind == OPTIONS:
            return option(question, self._evidence)
        if not looked:
            return SearchResult()
        best, sure = looked[0], sureness(looked)
        if question.kind == YES_NO:
            return _yes_no(question, looked, sure)
        floor = FLOOR if question.language == DEFAULT else BY_WORDS_ALONE
        if sure < floor or not question.names <= best.context.union(best.evidence.sentence.stems):
            return SearchResult()
        years = set(_YEAR.findall(best.evidence.sentence.text)) - set(words(question.text))
        answer = years.pop() if question.kind == YEAR and len(years) == 1 else as_answer(best.evidence)
        return SearchResult(answer, sure, (best.evidence,))


async def search(
    shown: Shown, encoding: TextSimilarity, question: str, evidence: Sequence[EvidenceSentence]
) -> Done[SearchResult]:
    """What sentences answer within a turn, as sure as encoder and words say it; by words alone where there is no
    encoder."""
    begun = await asyncio.to_thread(Search, question, evidence)
    if not begun.texts:
        return Done(begun.result(None), False, ())

    async def compare(encoder: Encoder) -> SearchResult:
        rows = np.asarray(await encoder.encode(begun.texts))
        return begun.result(dict(zip(begun.texts, rows, strict=True)))

    done = await encoding.use(shown, compare, lambda: begun.result(None))
    return Done(done.value, done.encoded, tuple(f for f in done.flags if f != BY_ENCODER))


def _may_answer(question: ParsedQuestion, e: EvidenceSentence) -> bool:
    """Whether a sentence has what is asked for; a heading only a figure or a date. A belief that it reports counts only
    where beliefs are asked for."""
    if _reports(question, e):
        return False
    if question.kind in (YES_NO, OPTIONS):
        return not e.heading
    if question.negated and not _is_negated(e):
        return False
    if e.heading and question.kind not in (NUMBER, DATE, YEAR):
        return False
    if question.extreme and stem(question.extreme) not in e.sentence.stems and question.extreme not in e.sentence.words:
        return False
    return question.kind in (OPEN, WHY) or fits(question, e.sentence.text) >= FITTING


def _reports(question: ParsedQuestion, e: EvidenceSentence) -> bool:
    """Whether a sentence tells what somebody holds, or denies it, where the question does not ask for that."""
    return bool(_REPORTED.search(e.sentence.text)) and not _REPORTED.search(question.text)


def as_answer(e: EvidenceSentence) -> str:
    """A sentence as an answer: one line, without control characters, tags, addresses of links and emphasis."""
    text = e.sentence.text
    text = plain(text).replace("[", "") if "](" in text else plain(text)
    return clean(_EMPHASIS.sub("", text))


def _is_negated(e: EvidenceSentence) -> bool:
    return not NEGATORS.isdisjoint(e.sentence.words)


def _yes_no(question: ParsedQuestion, looked: Sequence[ScoredSentence], sure: float) -> SearchResult:
    """By a sentence that says what is asked, or the same with a "not", if none says the contrary."""
    saying = [x.evidence for x in looked if _says(question, x)]
    if sure < FLOOR or not saying or saying[0] != looked[0].evidence or _CONTRAST.search(question.text):
        return SearchResult()
    denied = {_is_negated(e) for e in saying}
    if len(denied) > 1 or not _HEDGES.isdisjoint(saying[0].sentence.words):
        return SearchResult()
    return SearchResult("No" if denied != {question.negated} else "Yes", sure, tuple(saying))


def _says(question: ParsedQuestion, x: ScoredSentence) -> bool:
    """Whether a sentence says what a question of yes or no asks, whatever it says to it."""
    if x.covered < 1.0:  # texts that mean the contrary are near one another, too: "closed" and "open"
        return False
    e = x.evidence
    figures = {t for t in question.terms if t[0].isdigit()}
    advises = _ADVICE.search(e.sentence.text) or not _SEEKS_ADVICE.search(question.text)
    return bool(advises) and figures <= {*e.sentence.stems, *e.sentence.context}


def option(question: ParsedQuestion, evidence: Sequence[EvidenceSentence]) -> SearchResult:
    """The option of which alone it is said, if nothing speaks for another: once that it is what is asked, or twice that
    it is advised."""
    by_option = said_of(question, evidence)
    count = [sum(weight for _, weight in s) for s in by_option]
    best = max(range(len(by_option)), key=lambda i: count[i], default=0)
    if not by_option or question.negated or count[best] < max(1, MAJORITY * sum(count)):
        return SearchResult()
    sure = count[best] / sum(count) * count[best] / (count[best] + 1)
    rests_on = tuple(e for e, _ in by_option[best])
    return SearchResult(question.options[best], sure, rests_on) if sure >= BY_WORDS_ALONE else SearchResult()


def said_of(
    question: ParsedQuestion, evidence: Sequence[EvidenceSentence]
) -> list[tuple[tuple[EvidenceSentence, int], ...]]:
    """For each option the sentences that say of it alone what is asked (2), or advise it where advice is sought (1)."""
    marks = [frozenset(stem(w) for w in words(o) if w not in STOP) for o in question.options]
    common = frozenset.intersection(*marks) if marks else frozenset()
    marks = [m - common for m in marks]
    if not all(marks):
        return [()] * len(marks)
    asked_stems = {t for t in question.terms if not any(t in m for m in marks)} - common
    by_mark: list[list[tuple[EvidenceSentence, int]]] = [[] for _ in marks]
    for e in evidence:
        text = e.sentence.text
        hedges = not _HEDGES.isdisjoint(e.sentence.words) or _CONTRAST.search(text)
        if e.heading or e.sentence.row or hedges or _is_negated(e) or _reports(question, e):
            continue
        named = [i for i, m in enumerate(marks) if m <= set(stems(text))]
        advised = _SEEKS_ADVICE.search(question.text) and _ADVICE.search(text)
        direct = asked_stems and asked_stems <= set(e.sentence.stems)
        if len(named) == 1 and (direct or advised):
            by_mark[named[0]].append((e, 2 if direct else 1))
    return [tuple(f) for f in by_mark]
