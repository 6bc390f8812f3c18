"""What the baseline and the better matcher make of a set's prompts, measured."""

from collections.abc import Mapping, Sequence

from agents.matching import Matcher, match
from agents.matching.ask_model import Named, is_unsure, settled
from agents.matching.subject_model import make_readers
from evaluation import routing
from evaluation.loaders import BadData
from evaluation.routing import Case, Report, Routed
from evaluation.routing_data import RoutingSet
from schemas.routing import Matched, Task

MATCHERS = ("words", "better, by words", "better")


def tasked(case: Case) -> Task:
    """A prompt of a set, as a task."""
    return Task(prompt=case.prompt, files_mentioned=case.files)


def routed(found: Matched) -> Routed:
    """What a match comes to before anybody claims: its first candidate leads."""
    first = found.candidates[0] if found.candidates else None
    return Routed(
        lead=first.expert if first else None,
        confidence=first.confidence if first else 0.0,
        team=tuple(c.expert for c in found.candidates[1:]),
    )


async def matched(name: str, of: RoutingSet) -> list[Matched]:
    """What one of MATCHERS makes of a set's prompts."""
    tasks = [tasked(case) for case in of.cases]
    if name == "words":
        return [match(task, of.specs) for task in tasks]
    return await Matcher(make_readers() if name == "better" else None).match_all(tasks, of.specs)


async def asked(of: RoutingSet, answers: Mapping[int, Named], below: float) -> list[Matched]:
    """What the better matcher makes of a set's prompts, and where it would ask (agents/matching/ask_model.py), with the
    answer that is on record for the prompt.

    Raises
    ------
    BadData
        There is none.
    """
    matcher = Matcher(make_readers())
    tasks = [tasked(case) for case in of.cases]
    result = []
    read = await matcher.match_all(tasks, of.specs, always_read=True)
    for n, (task, found) in enumerate(zip(tasks, read, strict=True)):
        everybody = await matcher.everybody(task, of.specs) if is_unsure(found, below) else []
        if everybody and n not in answers:
            raise BadData(f"{of.name}: prompt {n} would be asked about, and no answer is on record")
        result.append(settled(task, found, answers[n], everybody, of.specs, "on record") if everybody else found)
    return result


async def measured(of: RoutingSet, matchers: Sequence[str] = MATCHERS) -> list[Report]:
    """A report of each matcher."""
    return [routing.report(of.name, m, of.cases, [routed(r) for r in await matched(m, of)]) for m in matchers]
