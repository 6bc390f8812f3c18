"""The same miss twice: 40 tasks whose lead a person corrected, each asked again in other words (misses.jsonl)."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from parley.agents.expert_matching.expert_scores import Matcher, matching_encoder
from parley.client.learned.taught import LEAST, likenesses, preferences
from parley.client.protocols.madp.routing_preview import RoutingPreview, task_of
from parley.client.setup.lesson import Lesson
from parley.routing import specs_of
from parley.schemas.past_sessions.learned import Learned
from parley.schemas.routing import Matched

NOW = 10**18
MISSES = [json.loads(text) for text in Path(__file__).with_name("misses.jsonl").read_text().splitlines()]


def lead(router: RoutingPreview, task: str, matched: Matched, like: dict[str, float], taught: Sequence[Lesson]) -> str:
    """Who leads a task."""
    found = preferences(taught, like, NOW)
    routed = router.routed(task_of(task), matched, learned=None if found is None else Learned(preferences=found))
    return routed.lead.expert if routed.lead is not None else ""


def test_a_miss_that_was_corrected_does_not_happen_again_and_moves_nothing_else() -> None:
    assert len(MISSES) == 40
    router = RoutingPreview(specs_of(None))

    async def matches() -> tuple[list[str], list[Matched]]:
        first = await router.route_all([task_of(m["task"]) for m in MISSES])
        again = await Matcher(matching_encoder()).match_all([task_of(m["again"]) for m in MISSES], specs_of(None))
        return [route.lead.expert if route.lead else "" for route in first], again

    first, again = asyncio.run(matches())
    lessons = [
        Lesson(
            session=f"s{n}", at_ns=NOW, task=m["task"], first=who, proposed=who, lead=m["wanted"], chosen=m["wanted"]
        )
        for n, (m, who) in enumerate(zip(MISSES, first, strict=True))
    ]
    _, lessons = asyncio.run(likenesses("any", lessons))
    missed, moved, others = [], [], 0
    for n, (miss, matched) in enumerate(zip(MISSES, again, strict=True)):
        like, _ = asyncio.run(likenesses(miss["again"], lessons))
        if lead(router, miss["again"], matched, like, [lessons[n]]) != miss["wanted"]:
            missed.append((miss["again"], like.get(f"s{n}")))
        plain = lead(router, miss["again"], matched, {}, ())
        for k, other in enumerate(lessons):
            if k != n and other.chosen != plain:
                others += 1
                if like.get(other.session, 0) >= LEAST and lead(router, miss["again"], matched, like, [other]) != plain:
                    moved.append((other.task, miss["again"]))
    assert all(who != m["wanted"] for who, m in zip(first, MISSES, strict=True)), "each is a miss"
    assert len(missed) <= 0.05 * len(MISSES), missed
    assert len(moved) <= 0.01 * others, moved
