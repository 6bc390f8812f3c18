"""The seat without a language model: it answers where a sentence of its documents is sure enough. Else it abstains,
with the passages that bear on the question."""

from collections.abc import Iterable, Mapping

from parley.agents.context import Shown
from parley.agents.extractive.deciding import SearchResult
from parley.agents.extractive.evidence import Evidence
from parley.agents.extractive.gathering import gather
from parley.agents.extractive.searching import search
from parley.agents.extractive.turn_method import TurnMethod, Workbench
from parley.agents.model.base import Completion, Emit
from parley.agents.retrieval.corpus import clean
from parley.schemas.citation import Citation
from parley.schemas.protocols.single import Answer

CITED = 5
"""Sentences that an answer quotes at most."""


async def answer(shown: Shown, bench: Workbench, emit: Emit) -> Completion:
    """The answer; flagged where something that it read talks to its reader as to a machine."""
    evidence, injected = gather(shown, bench.corpus, {}, {})
    done = await search(shown, bench.encoding, shown.question, evidence)
    body = _answer(shown, done.value) if done.value.answer else _abstain(shown, done.value)
    flags = (*(("injection",) if injected else ()), *done.flags)
    return Completion(body=body, usage=done.usage, flags=flags)


def _answer(shown: Shown, answers: SearchResult) -> Answer:
    quoted = "; ".join(_quoted(e) for e in answers.rests_on[:3])
    count = len(shown.documents)
    return Answer(
        answer=answers.answer[:4_000],
        reasoning=(
            f"Read without a language model from {count} document{'' if count == 1 else 's'}. It rests on {quoted}. "
            f"How sure that is: {answers.sure:.0%}."
        ),
        confidence=round(min(0.99, max(0.01, answers.sure)), 3),
        citations=_cited(answers.rests_on),
    )


def _abstain(shown: Shown, answers: SearchResult) -> Answer:
    if answers.bearing:
        listed = "; ".join(_quoted(e) for e in answers.bearing)
        why = f"No answer is sure enough. These passages bear on it, the nearest first: {listed}."
    elif shown.documents:
        why = "I found nothing in my documents that answers this. I compare words, and know English best."
    else:
        why = "I hold no document, and without documents I know nothing."
    return Answer(answer="", reasoning=why, confidence=0.0, abstains=True, citations=_cited(answers.bearing))


def _cited(evidence: Iterable[Evidence]) -> tuple[Citation, ...]:
    return tuple(Citation(document=e.document, quote=e.sentence.text) for e in evidence)[:CITED]


def _quoted(e: Evidence) -> str:
    return f"“{clean(e.sentence.text)}” ({clean(e.document)})"


METHODS: Mapping[str, TurnMethod] = {"answer": TurnMethod(answer)}
