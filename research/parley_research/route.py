"""What the source's score and the matcher make of a set's prompts, measured."""

import time
from collections.abc import Mapping, Sequence

import msgspec

from parley.agents.context import Shown
from parley.agents.expert_matching.ask_model import Named, is_unsure, match_from_answer, question
from parley.agents.expert_matching.expert_scores import Matcher, matching_encoder
from parley.agents.expert_matching.keyword_baseline import match
from parley.agents.prompts.prompting import build
from parley.schemas.routing import Match, Matched, Task
from parley.schemas.turn import Caps
from parley_research import routing
from parley_research.routing import Case, Report, Routed
from parley_research.routing_data import RoutingSet

_CAPS = Caps(input_tokens=24_000)
_BOUNDARY = "0123456789abcdef"
SCORE, BY_WORDS, BY_ENCODER = MATCHERS = ("the source's score", "no model, no encoder", "no model")


def tasked(case: Case) -> Task:
    """A prompt of a set, as a task."""
    return Task(prompt=case.prompt, files_mentioned=case.files)


def routed(matched: Matched) -> Routed:
    """What a match comes to before anybody claims: its first candidate leads."""
    first = matched.candidates[0] if matched.candidates else None
    return Routed(
        lead=first.expert if first else None,
        confidence=first.confidence if first else 0.0,
        team=tuple(c.expert for c in matched.candidates[1:]),
    )


async def matched(name: str, of: RoutingSet) -> list[Matched]:
    """What one of MATCHERS makes of a set's prompts."""
    tasks = [tasked(case) for case in of.cases]
    if name == SCORE:
        return [match(task, of.specs) for task in tasks]
    return await Matcher(matching_encoder() if name == BY_ENCODER else None).match_all(tasks, of.specs)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a set's prompts come to where a language model's answers are on record."""

    matches: tuple[Matched, ...]
    asked: int
    """Prompts that it would be asked about."""
    on_record: int
    """Those of them that have an answer; the others stay as they were computed."""


async def asked(of: RoutingSet, answers: Mapping[int, Named], below: float) -> Asked:
    """What the matcher makes of a set's prompts, and where it would ask (expert_matching/ask_model.py), with the
    answer that is on record for the prompt."""
    matcher = Matcher(matching_encoder())
    tasks = [tasked(case) for case in of.cases]
    result = []
    count = found = 0
    for n, (task, matched) in enumerate(zip(tasks, await matcher.match_all(tasks, of.specs), strict=True)):
        everybody = await matcher.everybody(task, of.specs) if is_unsure(matched, below) else []
        count += bool(everybody)
        if everybody and n in answers:
            found += 1
            matched = match_from_answer(task, matched, answers[n], everybody, of.specs, "on record")
        result.append(matched)
    return Asked(matches=tuple(result), asked=count, on_record=found)


async def measured(of: RoutingSet, matchers: Sequence[str] = MATCHERS) -> list[Report]:
    """A report of each matcher."""
    return [routing.report(of.name, m, of.cases, [routed(r) for r in await matched(m, of)]) for m in matchers]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What a language model would be asked about one prompt."""

    registry: str
    n: int
    """The prompt's place."""
    system: str
    user: str
    reply: dict[str, object]
    """The JSON schema of its reply."""


async def surest(of: RoutingSet) -> list[float]:
    """How sure the matcher is of each prompt's lead; 0: nobody leads."""
    matches = await Matcher(matching_encoder()).match_all([tasked(case) for case in of.cases], of.specs)
    return [routed(m).confidence for m in matches]


async def questions(of: RoutingSet, below: float) -> list[Question]:
    """Those that a language model in the helper's seat is asked, as they are sent (expert_matching/ask_model.py)."""
    matcher = Matcher(matching_encoder())
    result = []
    sure = await surest(of)
    for n, case in enumerate(of.cases):
        everybody = await matcher.everybody(tasked(case), of.specs) if sure[n] < below else []
        if everybody:
            brief = Match(task=tasked(case), experts=len(of.specs))
            shown = Shown(
                session="evaluation", protocol="madp", question=case.prompt, seat="helper", role="helper", kind="match",
                round=0, brief=brief, reply=Matched, caps=_CAPS, boundary=_BOUNDARY,
            )  # fmt: skip
            asked_of = question(shown, everybody, time.time_ns())
            system, user = (str(m["content"]) for m in build(asked_of).messages)
            schema = msgspec.json.schema(asked_of.reply)
            result.append(Question(registry=of.name, n=n, system=system, user=user, reply=schema))
    return result
