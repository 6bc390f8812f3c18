"""MADP and a budget: what turns of work reserve, what is not begun, who reviews, and what a task may come to."""

from typing import Any

import msgspec
import pytest

from parley.client import estimate as estimating
from parley.client.errors import BadInput
from parley.client.opening import opening_of
from parley.coordinator.admission import admit
from parley.coordinator.budget import reservation, total
from parley.coordinator.estimate import check
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas.expert import QUEUE, Known
from parley.schemas.presence import Announcement
from parley.schemas.protocols.madp.messages import Worded
from parley.schemas.session import Budget, OpenSession
from parley.schemas.turn import Usage
from parley.stack.announce import expected_announcements
from parley.stack.rows import rows_of
from tests.protocols.madp.play import (
    APPROVED,
    ARCH,
    AUDITOR,
    GENERAL,
    IMPL,
    MADP,
    QA,
    REVISE,
    SRE,
    Play,
    done,
    hands,
    objection,
)

THREE = {SRE: 0.7, ARCH: 0.6, IMPL: 0.5}
CALL = 28_000
"""Tokens that one call may take by the default caps."""
USED = Usage(input_tokens=2_000, output_tokens=500, calls=1)


def metered(tokens: int, settings: dict[str, Any] | None = None, **more: Any) -> Play:
    return Play(settings, metered=True, helper_metered=True, budget=Budget(tokens=tokens), **more)


def bound(p: Play) -> int:
    """Tokens used, lost and reserved."""
    seats = {s.seat: s for s in p.session.opened.seats}
    out = total(reservation(seats[t.ask.seat], t.ask.caps) for t in p.session.turns.values())
    return (p.session.ledger.used() + p.session.ledger.lost + out).tokens


def works(p: Play, expert: str = SRE) -> int:
    """Calls of the open turn of work, as its worker is told them in both places."""
    calls = p.turn(expert).ask.caps.calls
    assert p.brief(expert)["model_calls"] == calls
    return calls


@pytest.mark.parametrize(
    ("tokens", "calls"),
    [(60_000, 2), (4 * CALL, 2), (5 * CALL - 1, 2), (5 * CALL, 3), (200_000, 5), (42 * CALL, 40), (10**7, 100)],
)
def test_with_tools_it_has_as_many_steps_as_the_budget_holds_beside_a_review(tokens: int, calls: int) -> None:
    p = metered(tokens, tools=True).working()
    assert works(p) == calls and bound(p) == calls * CALL <= tokens


@pytest.mark.parametrize("tokens", [40_000, 100_000])
def test_a_short_budget_is_spent_on_steps_that_have_room(tokens: int) -> None:
    p = metered(tokens, tools=True, fits=True).working(reviewers=(QA,))
    caps = p.turn(SRE).ask.caps
    assert caps.calls == 100 and caps.input_tokens >= 5_000 and 0.8 * tokens < caps.all_tokens <= bound(p) <= tokens
    p.reply(SRE, done(), Usage(input_tokens=18_000, output_tokens=600, calls=5))
    assert p.asked() == [(QA, "review")] and bound(p) <= tokens
    p.reply(QA, APPROVED, USED)
    assert p.stop["reason"] == "reviewed"
    assert replay(PROTOCOLS.get, "s1", p.log).entries == tuple(p.entries)


@pytest.mark.parametrize("tokens", [60_000, 120_000, 400_000])
def test_the_limit_holds_whatever_is_used(tokens: int) -> None:
    p = metered(tokens, tools=True).match(THREE, overlap=True, clear=False)
    for x in THREE:
        p.claims(x)
    while not p.session.closed:
        if p.session.turns:
            turn = next(iter(p.session.turns.values()))
            body: Any = {"work": done(), "review": REVISE}.get(turn.ask.kind, {})
            p.reply(turn.ask.seat, body, Usage(input_tokens=turn.ask.caps.calls * CALL, calls=turn.ask.caps.calls))
        else:
            p.expire()
        assert bound(p) <= tokens
    assert p.stop["reason"] == "budget" and p.session.ledger.used().tokens > 0
    assert replay(PROTOCOLS.get, "s1", p.log).entries == tuple(p.entries)


def test_no_claim_is_worded_where_the_work_could_then_not_be_paid() -> None:
    p = argued(4 * CALL - 1)
    assert p.asked() == [(SRE, "work")] and p.consensus["token_cost"] == 0
    assert p.warnings.count("is worded by a model, the budget is kept for the work (budget.tokens: limit 111999") == 1


def argued(tokens: int) -> Play:
    """All three have claimed, and one objects."""
    p = metered(tokens).match(THREE, overlap=True, clear=False)
    for x in THREE:
        p.claims(x)
    first, second, *_ = THREE
    for x in THREE:
        p.challenges(x, *([objection(first, second, "exclude")] if x == first else []))
    return p


def opened(budget: Budget, *experts: Known, **settings: Any) -> Any:
    helper = Announcement(instance="i", queue="helper", roles=("helper",), model="none", family="none")
    request = OpenSession(question="q", protocol="madp", settings=settings, budget=budget)
    return admit(MADP, request, (helper,), 7, "client", experts=experts)


DEAR = Known("sre", "p", metered=True, usd_per_million_input=10.0, usd_per_million_output=10.0)
CHEAP = Known("qa-engineer", "p", metered=True, usd_per_million_input=1.0, usd_per_million_output=1.0)
FREE = Known("generalist", "p")


@pytest.mark.parametrize(
    ("budget", "experts", "why"),
    [
        (Budget(tokens=55_999), (DEAR, CHEAP), "budget.tokens: limit 55999, .* one turn of work may take 56000"),
        (Budget(cost_usd=0.05), (DEAR, CHEAP), r"budget.cost_usd: limit 0.05, .* one turn of work may take 0.056"),
        (Budget(calls=3), (DEAR, FREE), "budget.calls: limit 3, the match and one turn of work may take 4"),
    ],
)
def test_what_holds_no_turn_of_work_is_refused_at_the_opening(budget: Budget, experts: Any, why: str) -> None:
    with pytest.raises(Inadmissible, match=f"^{why}$") as caught:
        check(MADP, opened(budget, *experts))
    assert caught.value.field == why.partition(":")[0]


def test_as_many_review_as_the_budget_holds_and_the_rest_is_said() -> None:
    p = argued(120_000)
    p.reply(GENERAL, Worded(), Usage(input_tokens=300, calls=1))
    p.reply(SRE, done(), USED)
    assert [seat for seat, _ in p.asked()] == [AUDITOR, QA] and bound(p) <= 120_000
    assert f"reviewed by {AUDITOR}, {QA} alone, the budget holds no more (budget.tokens: limit 120000" in p.warnings


def test_whoever_handed_it_over_does_not_review_it() -> None:
    p = Play().working(AUDITOR, reviewers=(AUDITOR, QA))
    p.reply(AUDITOR, hands(IMPL))
    p.reply(IMPL, done())
    assert p.asked() == [(QA, "review")] and not p.warnings


def crew(*, tools: bool = False) -> list[Announcement]:
    """Who serves a task. The experts have a model."""
    return [
        msgspec.structs.replace(w, model="m", family="m") if w.queue.startswith(QUEUE) else w
        for w in expected_announcements(rows_of("madp"), tools=tools)
    ]


def test_the_most_of_a_task_is_not_known_and_one_turn_of_work_is() -> None:
    opening = opening_of("q", {"protocol": "madp", "settings": {"work_calls": 3}}, door="python")
    workers = crew()
    told = list(estimating.estimate_lines(estimating.of(opening, workers)))
    assert any("upper bound:" in text and "not known" in text for text in told)
    assert any("a turn of work:" in text and "upper bound 2 calls, 0 tokens, 0.0000 USD" in text for text in told)
    assert any("likely:               4 turns, 4 calls, " in text for text in told)
    assert not estimating.costs(estimating.of(opening, workers))
    dear = [
        msgspec.structs.replace(w, metered=True, tools=True, usd_per_million_input=1.0 + i, usd_per_million_output=10.0)
        if w.queue.startswith(QUEUE)
        else w
        for i, w in enumerate(workers)
    ]
    found = estimating.of(opening, dear)
    last = len([w for w in workers if w.queue.startswith(QUEUE)])
    assert found.work is not None and found.work.tokens == 3 * 28_000
    assert found.work.cost_usd == 3 * (24_000 * last + 4_000 * 10) / 1e6
    assert estimating.costs(found), "experts' models count tokens"
    document = estimating.document(found)
    assert document["most"] is None and document["work"]["calls"] == 3 and document["shortest_most"]["turns"] == 1
    short = estimating.of(opening_of("q", {"protocol": "madp", "budget": {"tokens": 3_199}}, door="python"), dear)
    with pytest.raises(BadInput, match="limit 3199, the match and one turn of work may take 3200; nothing was") as e:
        estimating.refuse(short)
    assert e.value.field == "budget.tokens"
    assert any("does not hold the match and one turn of work" in text for text in estimating.estimate_lines(short))


def test_a_helper_with_a_language_model_is_reserved_for_where_it_may_be_asked() -> None:
    workers = [
        msgspec.structs.replace(w, metered=True, usd_per_million_input=1.0, usd_per_million_output=10.0)
        if w.queue == "helper"
        else w
        for w in crew()
    ]

    def least(budget: Budget | None = None, **settings: object) -> tuple[int, float, str]:
        opening = opening_of(
            "q",
            {"protocol": "madp", "settings": settings, "budget": budget and msgspec.to_builtins(budget)},
            door="python",
        )
        found = estimating.of(opening, workers)
        return found.shortest_most.tokens, found.shortest_most.cost_usd, found.shortfall

    assert least() == (2 * 4_300, 2 * (4_000 + 3_000) / 1e6, "")
    assert least(Budget(tokens=8_600))[0] == 8_600
    assert least(Budget(tokens=8_599)) == least(Budget(cost_usd=0.01)) == (0, 0.0, "")  # then it is not asked
    assert least(ask_below=0)[0] == least(expert="sre")[0] == 0
