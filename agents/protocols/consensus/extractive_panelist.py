"""A panelist without a language model: it answers where a sentence that it holds, or that others quote, is sure enough
to answer, and else abstains with the passages that bear on the question.

It keeps its answer unless evidence that is new to it answers better; that others hold another answer does not move it.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from parley.agents.context import Shown
from parley.agents.extractive.answer_search import SearchResult, said_of, search
from parley.agents.extractive.evidence import EvidenceSentence, gather
from parley.agents.extractive.question import OPTIONS, read_question
from parley.agents.extractive.same_answer import agreement, alike
from parley.agents.extractive.turn_method import Workbench
from parley.agents.extractive.wording import CITED, as_citations, quote_with_source, reasons, why_none
from parley.agents.model.base import Completion, Emit
from parley.agents.retrieval.corpus import collapse, sentence
from parley.schemas.protocols.consensus import Offered, Position, Signature, SignBrief
from parley.schemas.text import Citation
from parley.schemas.turn import Usage


async def position(shown: Shown, bench: Workbench, emit: Emit) -> Completion:
    """The seat's position; flagged where something that it read talks to its reader as to a machine."""
    remembered = _quotes([shown.own])
    quotes = remembered | _quotes(o.body for o in shown.others)
    evidence, injected = gather(shown, bench.corpus, quotes, remembered)
    done = await search(shown, bench.encoding, shown.question, evidence)
    before = shown.own if isinstance(shown.own, Position) and not shown.own.abstains else None
    body = _first(shown, done.value) if before is None else _next(shown, done.value, before, evidence)
    flags = (*(("injection",) if injected else ()), *done.flags)
    return Completion(body=_second_try(shown, body, before), usage=Usage(calls=1), flags=flags)


def _quotes(bodies: Iterable[object]) -> dict[str, str]:
    """Quote -> document, of positions."""
    return {
        collapse(c.quote): c.document
        for body in bodies
        if isinstance(body, Position)
        for c in (*body.citations, *body.moved_by)
        if c.quote.strip()
    }


def _first(shown: Shown, answers: SearchResult) -> Position:
    if not answers.answer:
        return _taken_over(shown) or _abstain(shown, answers)
    return Position(
        answer=_worded(shown, answers.answer),
        reasoning=reasons(shown, answers),
        confidence=answers.share_right,
        citations=as_citations(answers.rests_on),
    )


def _taken_over(shown: Shown) -> Position | None:
    """The one answer that others hold and quote something for, where nothing that this seat holds answers."""
    positions = [
        o.body for o in shown.others if isinstance(o.body, Position) and not o.body.abstains and o.body.citations
    ]
    if not positions or any(not alike(p.answer, positions[0].answer) for p in positions):
        return None
    first = positions[0].citations[0]
    source = EvidenceSentence(sentence(first.quote), first.document, own=False)
    return Position(
        answer=min(p.answer for p in positions),
        reasoning=f"Nothing that I hold answers this; taken over from another, who quotes {quote_with_source(source)}.",
        confidence=min(p.confidence for p in positions),
        citations=positions[0].citations[:CITED],
    )


def _next(shown: Shown, answers: SearchResult, before: Position, evidence: Sequence[EvidenceSentence]) -> Position:
    """One sentence against another settles nothing: whoever quotes its own document stays with what that says. Only
    what is said of options is counted."""
    of_options = _outweighing(shown, before, evidence)
    answers = of_options or answers
    moved = [e for e in answers.rests_on if e.new]
    if not answers.answer or alike(answers.answer, before.answer) or not moved:
        return _keep(before)
    own = {d.name for d in shown.documents}
    grounded = tuple(c for c in before.citations if c.document in own)
    if of_options is None and grounded:
        same = agreement(before.answer, answers.answer) > 0
        return _in_other_words(shown, answers, before, grounded, moved) if same else _keep(before)
    adopted = any(isinstance(o.body, Position) and alike(o.body.answer, answers.answer) for o in shown.others)
    than = f"with it more speaks for {answers.answer!r} than for {before.answer!r}"
    if of_options is None:
        than = f"{answers.answer!r} answers the question better than {before.answer!r}"
    return Position(
        answer=_worded(shown, answers.answer),
        reasoning=reasons(shown, answers),
        confidence=answers.share_right,
        citations=as_citations(answers.rests_on),
        change="adopted" if adopted else "partly",
        change_reason=f"New to me was {quote_with_source(moved[0])}; {than}."[:4_000],
        moved_by=as_citations(moved),
    )


def _in_other_words(
    shown: Shown,
    answers: SearchResult,
    before: Position,
    grounded: tuple[Citation, ...],
    moved: Sequence[EvidenceSentence],
) -> Position:
    """The seat's own answer, by its own document, in the words of another that says the same."""
    return Position(
        answer=_worded(shown, answers.answer),
        reasoning=before.reasoning,
        confidence=before.confidence,
        citations=(*grounded, *as_citations(moved))[:CITED],
        change="adopted",
        moved_by=as_citations(moved),
        change_reason=f"It says the same as {quote_with_source(moved[0])}; I take its words."[:4_000],
    )


def _outweighing(shown: Shown, before: Position, evidence: Sequence[EvidenceSentence]) -> SearchResult | None:
    """Of options: one of which alone more is said than of the one held, however little that settles. None: the question
    names no options."""
    question = read_question(shown.question)
    if question.kind != OPTIONS:
        return None
    by_option = said_of(question, evidence)
    count = [sum(weight for _, weight in s) for s in by_option]
    own_count = sum(n for o, n in zip(question.options, count, strict=True) if alike(o, before.answer))
    best = max(range(len(by_option)), key=lambda i: count[i])
    if count[best] <= own_count:
        return SearchResult()
    return SearchResult(question.options[best], count[best] / (1 + sum(count)), tuple(e for e, _ in by_option[best]))


def _worded(shown: Shown, answer: str) -> str:
    """The answer in the words in which another holds it, so that equal answers are equal texts."""
    peers = [o.body.answer for o in shown.others if isinstance(o.body, Position) and alike(o.body.answer, answer)]
    return min(peers, default=answer[:2_000])


def _abstain(shown: Shown, found: SearchResult) -> Position:
    return Position(
        answer="",
        reasoning=why_none(shown, found),
        confidence=0.0,
        abstains=True,
        citations=as_citations(found.bearing),
    )


def _keep(before: Position) -> Position:
    """The seat's last position once more: nothing new answers better."""
    return Position(
        answer=before.answer,
        reasoning=before.reasoning,
        confidence=before.confidence,
        citations=before.citations,
        change_reason="Nothing that was shown to me is new to me and answers better.",
    )


def _second_try(shown: Shown, body: Position, before: Position | None) -> Position:
    """After a refusal: its last position once more, or its answer with what stands in its own documents alone."""
    if shown.attempt <= 1 or not shown.error:
        return body
    if before is not None:
        return _keep(before)
    own = {d.name for d in shown.documents}
    return msgspec.structs.replace(body, citations=tuple(c for c in body.citations if c.document in own))


def sign(shown: Shown) -> Signature:
    """Which sentence states the seat's answer: one that reads the same, or that rests on the same passage and neither
    denies it nor gives another figure. Without an answer of its own it signs none. What differs is the other one, as a
    whole."""
    brief: SignBrief = shown.brief
    own = shown.own if isinstance(shown.own, Position) and shown.own.speaks else None
    places: tuple[Literal["first", "second"], ...] = ("first", "second")
    for place, offered, other in zip(places, (brief.first, brief.second), (brief.second, brief.first), strict=True):
        if offered is None:
            continue
        differs = other.sentence[:1_000] if other else ""
        if own is not None and states(own, offered):
            return Signature(states=place, differs=differs)
    return Signature(states="neither", differs=brief.first.sentence[:1_000])


def states(own: Position, offered: Offered) -> bool:
    """Whether a sentence states this answer."""
    if alike(own.answer, offered.sentence):
        return True
    passage = collapse(offered.quotation)
    quoted = bool(passage) and any(passage in collapse(c.quote) for c in own.citations)
    return quoted and agreement(own.answer, offered.sentence) > 0
