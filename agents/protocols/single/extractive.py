"""The seat without a language model: it answers where a sentence of its documents is sure enough. Else it abstains,
with the passages that bear on the question."""

from collections.abc import Mapping

from parley.agents.context import Shown
from parley.agents.extractive.answer_search import SearchResult, search
from parley.agents.extractive.evidence import gather
from parley.agents.extractive.turn_method import TurnMethod, Workbench
from parley.agents.extractive.wording import as_citations, reasons, why_none
from parley.agents.model.base import Completion, Emit
from parley.schemas.protocols.single import Answer
from parley.schemas.turn import Usage


async def answer(shown: Shown, bench: Workbench, emit: Emit) -> Completion:
    """The answer; flagged where something that it read talks to its reader as to a machine."""
    evidence, injected = gather(shown, bench.corpus, {}, {})
    done = await search(shown, bench.encoding, shown.question, evidence)
    body = _answer(shown, done.value) if done.value.answer else _abstain(shown, done.value)
    flags = (*(("injection",) if injected else ()), *done.flags)
    return Completion(body=body, usage=Usage(calls=1), flags=flags)


def _answer(shown: Shown, found: SearchResult) -> Answer:
    return Answer(
        answer=found.answer[:4_000],
        reasoning=reasons(shown, found),
        confidence=found.share_right,
        citations=as_citations(found.rests_on),
    )


def _abstain(shown: Shown, found: SearchResult) -> Answer:
    return Answer(
        answer="",
        reasoning=why_none(shown, found),
        confidence=0.0,
        abstains=True,
        citations=as_citations(found.bearing),
    )


METHODS: Mapping[str, TurnMethod] = {"answer": TurnMethod(answer)}
