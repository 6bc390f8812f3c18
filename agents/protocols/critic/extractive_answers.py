"""Answerer and critic without a language model: they weigh sentences of documents, and quote what they go by.

Of options, and of yes and no, the answerer says what most of the evidence comes to, the quotations in the objections
included. To other questions it gives the answer that a panelist would give, or none. It goes through the objections one
by one. The critic looks in the documents that it holds for a sentence that speaks against the answer, or
for another one, and that neither the answer nor an earlier objection quotes.
"""

import asyncio
from collections.abc import Iterable, Sequence

from parley.agents.context import Shown
from parley.agents.extractive.deciding import Search, SearchResult, as_answer
from parley.agents.extractive.evidence import EvidenceSentence, PossibleAnswer, Weighed
from parley.agents.extractive.gathering import gather
from parley.agents.extractive.question import OPTIONS, YES_NO, ParsedQuestion, read_question
from parley.agents.extractive.same_answer import alike
from parley.agents.extractive.searching import search
from parley.agents.extractive.turn_method import Workbench
from parley.agents.extractive.weighing import beliefs, candidates
from parley.agents.extractive.wording import quoted, why_none
from parley.agents.model.base import Completion, Emit
from parley.agents.retrieval.corpus import Corpus, clean, collapse
from parley.agents.text.words import words
from parley.schemas.protocols.critic import (
    AS_ASKED,
    NO_NEW_OBJECTION,
    Answer,
    AnswerBrief,
    Critique,
    CritiqueBrief,
    PastObjection,
)
from parley.schemas.result import SIDES_RIGHT
from parley.schemas.text import Citation
from parley.schemas.turn import Usage

NEUTRAL = "By the evidence alone: "
"""How the extractive judge begins a rewritten question."""
CITED = 4
"""Sentences that an answer quotes for itself."""
SIDES = (OPTIONS, YES_NO)
"""Kinds of questions in which it takes a side by praise and blame. To any other it answers as a panelist does
(agents/extractive/deciding.py), or not at all."""
LEAST = 0.15
"""What an objection weighs at least."""
NOTHING = "The evidence does not say."
UNANSWERED = "This leaves the question unanswered."
"""What is held against an answer that is none: silence about it would count as agreement."""


def parse_question(question: str) -> ParsedQuestion:
    """The question's form, without the judge's preamble and what was asked beside it."""
    return read_question(question.removeprefix(NEUTRAL).partition(AS_ASKED)[0])


async def answer(shown: Shown, bench: Workbench, emit: Emit) -> Completion:
    """The answer; flagged where something that it read talks to the reader as to a machine."""
    brief: AnswerBrief = shown.brief
    cited = (c for o in brief.profile for c in o.citations)
    evidence, injected = _evidence(shown, bench.corpus, cited)
    question = parse_question(shown.question)
    flags = ("injection",) if injected else ()
    if question.kind in SIDES:
        answers = await asyncio.to_thread(candidates, question, evidence)
        return Completion(
            body=_body(shown, answers, min(SIDES_RIGHT, _belief(answers))), usage=Usage(calls=1), flags=flags
        )
    done = await search(shown, bench.encoding, question.text, evidence)
    answers = await asyncio.to_thread(_possible_answers, question, evidence, done.value)
    body = _body(shown, answers, done.value.share_right) if done.value.answer else _unanswered(shown, done.value)
    return Completion(body=body, usage=done.usage, flags=(*flags, *done.flags))


def _possible_answers(
    question: ParsedQuestion, evidence: list[EvidenceSentence], result: SearchResult
) -> list[PossibleAnswer]:
    """The answer that a panelist would give too, then what else the sentences offer."""
    weighed = candidates(question, evidence)
    by_evidence = {e: Weighed(1.0, e) for e in result.rests_on}
    by_evidence |= {
        w.evidence: w
        for c in weighed
        for w in c.weighed
        if w.evidence not in by_evidence and _says(w.evidence, result.answer)
    }
    return [PossibleAnswer(result.answer[:4_000], tuple(by_evidence.values()), result.sure), *weighed]


def _belief(answers: Sequence[PossibleAnswer]) -> float:
    return beliefs(answers)[answers[0].text] if answers else 0.0


def _body(shown: Shown, answers: Sequence[PossibleAnswer], sure: float) -> Answer:
    brief: AnswerBrief = shown.brief
    if not answers:
        return _unanswered(shown, SearchResult())
    chosen = answers[0]
    case = [w.evidence for w in chosen.weighed if w.value > 0][:CITED]
    addresses = [_address(o, chosen, answers, case) for o in brief.profile]
    own = tuple(_cite(e) for e in case)
    return Answer(
        answer=chosen.text,
        reasoning=" ".join([_reasoning(shown, answers, case), *filter(None, addresses)])[:40_000],
        confidence=round(sure, 3),
        citations=_second_try(shown, own),
    )


def _unanswered(shown: Shown, found: SearchResult) -> Answer:
    return Answer(answer=NOTHING, reasoning=why_none(shown, found)[:4_000], confidence=0.0)


def critique(shown: Shown, corpus: Corpus) -> tuple[Critique, bool]:
    """(one new objection or none, whether something that it read talks to the reader as to a machine)."""
    brief: CritiqueBrief = shown.brief
    answer = next((o.body for o in shown.others if isinstance(o.body, Answer)), None)
    if answer is None:
        return Critique(objection=NO_NEW_OBJECTION), False
    evidence, injected = _evidence(shown, corpus, answer.citations)
    if alike(answer.answer, NOTHING):
        said_so = any(alike(o.text, UNANSWERED) for o in brief.profile)
        return Critique(objection=NO_NEW_OBJECTION if said_so else UNANSWERED), injected
    known = {collapse(c.quote) for o in brief.profile for c in o.citations}
    known |= {collapse(c.quote) for c in answer.citations}
    earlier = " ".join(o.text for o in brief.profile)
    question = parse_question(shown.question)
    if question.kind in SIDES:
        answers = candidates(question, evidence)
    else:  # a sentence that has not what is asked for, or says the same, speaks for no other answer
        looked = [x.evidence for x in Search(question.text, evidence).looked(None)]
        answers = candidates(question, [e for e in looked if not _says(e, answer.answer)])
    for strength, w, rival in _against(answers, answer.answer):
        text = w.evidence.sentence.text
        if strength < LEAST:
            break
        if not w.evidence.own or text in known or text in collapse(earlier):
            continue
        turn = f"speaks for {_short(rival)}, not for {_short(answer.answer)}" if rival else "speaks against"
        what = (
            f"{quoted(w.evidence)} {turn}"
            + ("" if rival else f" {_short(answer.answer)}")
            + "; the answer does not quote it."
        )
        return Critique(objection=what, citations=(_cite(w.evidence),)), injected
    return Critique(objection=NO_NEW_OBJECTION), injected


def _evidence(shown: Shown, corpus: Corpus, cited: Iterable[Citation]) -> tuple[list[EvidenceSentence], bool]:
    """Sentences of the own documents, then what the other side quotes and this seat does not hold."""
    question = parse_question(shown.question).text
    return gather(shown, corpus, {collapse(c.quote): c.document for c in cited}, question=question)


def _against(answers: Sequence[PossibleAnswer], answer_text: str) -> list[tuple[float, Weighed, str]]:
    """(strength, sentence, the rival that it speaks for or nothing), the strongest first."""
    mine = [c for c in answers if alike(c.text, answer_text)]
    blame = [(-w.value, w, "") for c in mine for w in c.weighed if w.value < 0]
    praise = [(w.value, w, c.text) for c in answers if c not in mine for w in c.weighed if w.value > 0]
    return sorted(blame + praise, key=lambda x: (-x[0], x[1].evidence.sentence.text, x[2]))


def _address(
    o: PastObjection, chosen: PossibleAnswer, answers: Sequence[PossibleAnswer], case: Sequence[EvidenceSentence]
) -> str:
    """What the answer says to an objection; empty where it quotes nothing that could be weighed."""
    quotes = {collapse(c.quote) for c in o.citations}
    for_it = [w for w in chosen.weighed if w.value > 0 and w.evidence.sentence.text in quotes]
    if for_it:
        return f"On objection {o.number}, taken over: {quoted(for_it[0].evidence)} speaks for {_short(chosen.text)}."
    weighed = [w for c in answers for w in c.weighed if w.evidence.sentence.text in quotes]
    rest = [e for e in case if e.sentence.text not in quotes]
    if not weighed or not rest:
        return ""
    against, support = quoted(weighed[0].evidence), quoted(rest[0])
    return f"On objection {o.number}, weighed: {against}; for {_short(chosen.text)} speaks above all {support}."


def _reasoning(shown: Shown, answers: Sequence[PossibleAnswer], case: Sequence[EvidenceSentence]) -> str:
    count = len(shown.documents)
    beside = " and what the critic quotes" if shown.others else ""
    parts = [f"Read without a language model from {count} document{'' if count == 1 else 's'}{beside}."]
    if case:
        parts.append("For it: " + "; ".join(quoted(e) for e in case[:3]) + ".")
    if parse_question(shown.question).kind in SIDES:
        shares = beliefs(answers)
        weights = ", ".join(f"{c.text} {shares[c.text]:.0%}" for c in answers[:4])
        parts.append(f"Weight of the evidence: {weights}.")
    return " ".join(parts)


def _says(e: EvidenceSentence, answer_text: str) -> bool:
    """Whether a sentence has all the words of an answer, or is that answer as a whole."""
    sentence_words, own = set(e.sentence.words), set(words(answer_text))
    return bool(own) and (own <= sentence_words or alike(as_answer(e), answer_text))


def _second_try(shown: Shown, cited: tuple[Citation, ...]) -> tuple[Citation, ...]:
    """After a refusal: without what the error blames."""
    if shown.attempt <= 1 or not shown.error:
        return cited
    return tuple(c for c in cited if c.document not in shown.error and repr(c.quote[:200]) not in shown.error)


def _cite(e: EvidenceSentence) -> Citation:
    return Citation(document=e.document, quote=e.sentence.text)


def _short(answer: str) -> str:
    text = clean(answer)
    return text if len(text) <= 80 else text[:79] + "…"
