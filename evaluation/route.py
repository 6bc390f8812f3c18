"""What the baseline and the better matcher make of a set's prompts, measured."""

from collections.abc import Sequence

from agents.matching import Matcher, match
from agents.matching.asking import is_unsure
from agents.matching.reader import make_readers
from evaluation import routing
from evaluation.routing import Report, Routed
from evaluation.routing_data import RoutingSet
from schemas.madp import Matched, Task

MATCHERS = ("words", "better, by words", "better")


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
    tasks = [Task(prompt=case.prompt, files_mentioned=case.files) for case in of.cases]
    if name == "words":
        return [match(task, of.specs) for task in tasks]
    return await Matcher(make_readers() if name == "better" else None).match_all(tasks, of.specs)


async def asked(of: RoutingSet, answers: Sequence[str | None], below: float) -> list[Routed]:
    """What the better matcher makes of a set's prompts, and where it would ask (agents/matching/asking.py), the answer
    that is on record for the prompt: how sure that one is, is not."""
    matcher = Matcher(make_readers())
    tasks = [Task(prompt=case.prompt, files_mentioned=case.files) for case in of.cases]
    result = []
    for task, found, answer in zip(tasks, await matcher.match_all(tasks, of.specs), answers, strict=True):
        if is_unsure(found, below) and await matcher.everybody(task, of.specs):
            team = tuple(c.expert for c in found.candidates if c.expert != answer)
            result.append(Routed(lead=answer, confidence=None, team=team))
        else:
            result.append(routed(found))
    return result


async def measured(of: RoutingSet, matchers: Sequence[str] = MATCHERS) -> list[Report]:
    """A report of each matcher."""
    return [routing.report(of.name, m, of.cases, [routed(r) for r in await matched(m, of)]) for m in matchers]
