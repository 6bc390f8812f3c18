"""Competitions for the kill tests: the whole four stages, and a short one on the same seats."""

from functools import lru_cache
from typing import Any

import msgspec

from parley.bus.channels import JUDGE_NOTES, TEAM_CON, TEAM_PRO
from parley.coordinator.protocols.competition.seats import due
from parley.schemas import log
from parley.schemas.protocols.competition.format import Format
from parley.schemas.session import OpenSession
from tests.chaos.harness import TURN_TIMEOUT_S, Play
from tests.chaos.model import Played
from tests.protocols.competition.play import exchange, free, small, speech
from tests.protocols.competition.simulate import example, format_named, run

READERS = {TEAM_PRO: "pro_1", TEAM_CON: "con_1", JUDGE_NOTES: "judge"}
STANCES: tuple[dict[str, Any], ...] = (
    {},
    {"stances": {"pro": "Fares should go, for everybody.", "con": "Fares should stay, and go down."}},
)
"""By seed."""


def whole(seeds: int = 1) -> Play:
    """The seed's four stages: 113 turns where nobody is asked twice."""
    return _play("whole", format_named("four_stage"), seeds)


def short() -> Play:
    """Two a side: a speech, an exchange, a free debate with bids, about a third of the whole. Its window for bids is
    beyond all that a few restarts can cost."""
    agenda = (
        speech("pro_1", 200),
        exchange("con_2", "pro_1", "pro_2", question_words=80, answer_words=150),
        free(150, 60, mode="concurrent", bid_seconds=TURN_TIMEOUT_S),
    )
    return _play("short", msgspec.convert(small(*agenda, confer=1, summary=True), Format), len(STANCES))


def queues(*plays: Play) -> tuple[str, ...]:
    """Every queue that one of them needs."""
    return tuple(dict.fromkeys(q for p in plays for q in p.queues))


def _play(label: str, format_: Format, seeds: int) -> Play:
    question, documents = example()
    settings = {"format": msgspec.to_builtins(format_)}
    request = OpenSession(
        question=question, protocol="competition", documents=documents, settings=settings,
        turn_timeout_s=TURN_TIMEOUT_S,
    )  # fmt: skip
    return Play(
        request=request, turns=_turns(msgspec.json.encode(format_), seeds), queues=tuple(due(format_)), seeds=seeds,
        label=f"competition-{label}", private=READERS, by_seed=STANCES,
    )  # fmt: skip


@lru_cache
def _turns(format_: bytes, seeds: int) -> int:
    """Counted in one process, without a bus; the same for every seed."""
    rules = msgspec.json.decode(format_, type=Format)
    question, documents = example()
    models = {seat: Played({}) for seat in due(rules)}
    counts = set()
    for stances in STANCES[:seeds]:
        ended = run(question, documents, rules, models, **stances)
        counts.add(sum(isinstance(e.event, log.Replied) for e in ended.entries))
    assert len(counts) == 1, counts
    return counts.pop()
