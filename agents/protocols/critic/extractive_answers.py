"""Answerer and critic without a language model: they weigh sentences of documents, and quote what they go by.

The answerer says what most of the evidence comes to, the quotations in the objections included, and goes through the
objections one by one. The critic looks in the documents that it holds for a sentence that speaks against the answer, or
for another one, and that neither the answer nor an earlier objection quotes.
"""

from collections.abc import Iterable, Sequence

from agents.context import Shown
from agents.extractive.evidence import Evidence, PossibleAnswer, Weighed
from agents.extractive.gathering import gather
from agents.extractive.question import Question, read_question
from agents.extractive.weighing import beliefs, candidates
from agents.retrieval.corpus import Corpus, clean, collapse
from schemas.citation import Citation
from schemas.protocols.critic import NO_NEW_OBJECTION, Addressed, Answer, AnswerBrief, Critique, CritiqueBrief, Past
from schemas.text import same

NEUTRAL = "By the evidence alone: "
"""How the extractive judge begins a rewritten question."""
CITED = 4
"""Sentences that an answer quotes for itself."""
LEAST = 0.4
"""What an objection weighs at least."""
LEAST_PRESSED = 0.15
"""The same where the critic is asked in a sharper tone."""
NOTHING = "The evidence does not say."
UNANSWERED = "This leaves the question unanswered."
"""What is held against an answer that is none: silence about it would count as agreement."""


def parse_question(question: str) -> Question:
    """The question's form, without the judge's preamble."""
    return read_question(question.removeprefix(NEUTRAL))


def answer(shown: Shown, corpus: Corpus) -> tuple[Answer, bool]:
    """(the answer, whether something that it read talks to the reader as to a machine)."""
    brief: AnswerBrief = shown.brief
    cited = (c for o in brief.profile for c in o.citations)
    evidence, injected = _evidence(shown, corpus, cited)
    question = parse_question(shown.question)
    answers = candidates(question, evidence)
    if not answers:
        why = (
            f"Nothing in the {len(shown.documents)} documents that I hold answers this; no language model was at work."
        )
        return Answer(answer=NOTHING, reasoning=why, confidence=0.0), injected
    chosen = answers[0]
    shares = beliefs(answers)
    case = [w.evidence for w in chosen.weighed if w.value > 0][:CITED]
    addresses = [(o, _address(o, chosen, answers, case)) for o in brief.profile]
    own = tuple(_cite(e) for e in case)
    return Answer(
        answer=chosen.text,
        reasoning=_reasoning(shown, answers, shares, case),
        confidence=round(min(0.99, max(0.01, shares[chosen.text])), 3),
        citations=_second_try(shown, own),
        addresses=tuple(Addressed(objection=o.number, how=how) for o, how in addresses if how),
    ), injected


def critique(shown: Shown, corpus: Corpus) -> tuple[Critique, bool]:
    """(one new objection or none, whether something that it read talks to the reader as to a machine)."""
    brief: CritiqueBrief = shown.brief
    answer = next((o.body for o in shown.others if isinstance(o.body, Answer)), None)
    if answer is None:
        return Critique(objection=NO_NEW_OBJECTION), False
    evidence, injected = _evidence(shown, corpus, answer.citations)
    if same(answer.answer, NOTHING):
        said_so = any(same(o.text, UNANSWERED) for o in brief.profile)
        return Critique(objection=NO_NEW_OBJECTION if said_so else UNANSWERED), injected
    known = {collapse(c.quote) for o in brief.profile for c in o.citations}
    known |= {collapse(c.quote) for c in answer.citations}
    said = " ".join(o.text for o in brief.profile) + brief.again
    least = LEAST_PRESSED if brief.again else LEAST
    for strength, w, rival in _against(candidates(parse_question(shown.question), evidence), answer.answer):
        text = w.evidence.sentence.text
        if strength < least:
            break
        if not w.evidence.own or text in known or text in collapse(said):
            continue
        turn = f"speaks for {_short(rival)}, not for {_short(answer.answer)}" if rival else "speaks against"
        what = (
            f"{_quoted(w.evidence)} {turn}"
            + ("" if rival else f" {_short(answer.answer)}")
            + "; the answer is silent on it."
        )
        return Critique(objection=what, citations=(_cite(w.evidence),)), injected
    return Critique(objection=NO_NEW_OBJECTION), injected


def _evidence(shown: Shown, corpus: Corpus, cited: Iterable[Citation]) -> tuple[list[Evidence], bool]:
    """Sentences of the own documents, then what the other side quotes and this seat does not hold."""
    return gather(shown, corpus, {collapse(c.quote): c.document for c in cited})


def _against(answers: Sequence[PossibleAnswer], held: str) -> list[tuple[float, Weighed, str]]:
    """(strength, sentence, the rival that it speaks for or nothing), the strongest first."""
    mine = [c for c in answers if same(c.text, held)]
    blame = [(-w.value, w, "") for c in mine for w in c.weighed if w.value < 0]
    praise = [(w.value, w, c.text) for c in answers if c not in mine for w in c.weighed if w.value > 0]
    return sorted(blame + praise, key=lambda x: (-x[0], x[1].evidence.sentence.text, x[2]))


def _address(o: Past, chosen: PossibleAnswer, answers: Sequence[PossibleAnswer], case: Sequence[Evidence]) -> str:
    """What the answer says to an objection; empty where it quotes nothing that could be weighed."""
    quotes = {collapse(c.quote) for c in o.citations}
    for_it = [w for w in chosen.weighed if w.value > 0 and w.evidence.sentence.text in quotes]
    if for_it:
        return f"Taken over: {_quoted(for_it[0].evidence)} speaks for {_short(chosen.text)}."
    weighed = [w for c in answers for w in c.weighed if w.evidence.sentence.text in quotes]
    rest = [e for e in case if e.sentence.text not in quotes]
    if not weighed or not rest:
        return ""
    return (
        f"Weighed: {_quoted(weighed[0].evidence)}; more speaks for {_short(chosen.text)}, above all {_quoted(rest[0])}."
    )


def _reasoning(
    shown: Shown, answers: Sequence[PossibleAnswer], shares: dict[str, float], case: Sequence[Evidence]
) -> str:
    count = len(shown.documents)
    beside = " and what the critic quotes" if shown.others else ""
    parts = [f"Read without a language model from {count} document{'' if count == 1 else 's'}{beside}."]
    if case:
        parts.append("For it: " + "; ".join(_quoted(e) for e in case[:3]) + ".")
    parts.append("Weight of the evidence: " + ", ".join(f"{c.text} {shares[c.text]:.0%}" for c in answers[:4]) + ".")
    return " ".join(parts)


def _second_try(shown: Shown, cited: tuple[Citation, ...]) -> tuple[Citation, ...]:
    """After a refusal: without what the error blames."""
    if shown.attempt <= 1 or not shown.error:
        return cited
    return tuple(c for c in cited if c.document not in shown.error and repr(c.quote[:200]) not in shown.error)


def _cite(e: Evidence) -> Citation:
    return Citation(document=e.document, quote=e.sentence.text)


def _quoted(e: Evidence) -> str:
    return f"“{clean(e.sentence.text)}” ({clean(e.document)})"


def _short(answer: str) -> str:
    text = clean(answer)
    return text if len(text) <= 80 else text[:79] + "…"
