"""What a task may come to, before it runs: experts' turns are not known yet, and nothing claims otherwise."""

from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from parley.client import estimate as estimating
from parley.client.errors import BadInput
from parley.client.opening import opening_of
from parley.schemas.expert import QUEUE
from parley.schemas.presence import Announcement
from parley.schemas.session import Budget, Document
from parley.settings import has_tools, load
from parley.stack.announce import announced
from parley.stack.rows import rows_of


def crew(*, tools: bool = False) -> list[Announcement]:
    """Who serves a task. The experts have a model."""
    return [
        msgspec.structs.replace(w, model="m", family="m") if w.queue.startswith(QUEUE) else w
        for w in announced(rows_of("madp"), tools=tools)
    ]


def test_the_most_of_a_task_is_not_known_and_one_turn_of_work_is() -> None:
    opening = opening_of("q", {"protocol": "madp", "settings": {"work_calls": 3}}, door="python")
    workers = crew()
    told = list(estimating.words(estimating.of(opening, workers)))
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


def test_without_tools_a_turn_of_work_is_two_calls_at_most() -> None:
    """Only a language model uses them: the list that the operator allows makes no difference without one."""
    opening, workers = opening_of("q", {"protocol": "madp"}, door="python"), crew(tools=True)

    def calls(tools: bool) -> int:
        found = estimating.of(opening, [msgspec.structs.replace(w, metered=True, tools=tools) for w in workers]).work
        assert found is not None
        return found.calls

    assert (calls(True), calls(False)) == (40, 2)
    plain = estimating.of(opening, workers).work
    assert plain is not None and plain.calls == 2


def test_a_budget_that_holds_no_turn_of_work_is_refused_before_anything_starts() -> None:
    opening = opening_of("q", {"protocol": "madp", "budget": {"tokens": 3_199}}, door="python")
    workers = [msgspec.structs.replace(w, metered=True) for w in crew()]
    found = estimating.of(opening, workers)
    with pytest.raises(BadInput, match="limit 3199, the match and one turn of work may take 3200; nothing was") as e:
        estimating.refuse(found)
    assert e.value.field == "budget.tokens"
    some = [msgspec.structs.replace(w, metered=w.queue != "expert_sre") for w in workers]
    estimating.refuse(estimating.of(opening, some))
    assert any("does not hold the match and one turn of work" in text for text in estimating.words(found))
    estimating.refuse(
        estimating.of(opening_of("q", {"protocol": "madp", "budget": {"tokens": 3_200}}, door="python"), workers)
    )


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


def test_other_protocols_have_a_most() -> None:
    read = (Document(id=sha256(b"a").hexdigest(), name="a.md", text="a"),)
    opening = opening_of("q", {"protocol": "consensus"}, read, door="python")
    found = estimating.of(opening, announced(rows_of("consensus")))
    assert found.work is None and estimating.document(found)["most"]["turns"] > 0


def test_whether_tools_are_allowed_is_what_the_operators_list_says(tmp_path: Path) -> None:
    listed = Path(__file__).parents[4] / "examples" / "tools" / "tools.yaml"
    assert has_tools(load(given={"tools": str(listed)})) and has_tools(load()), "else the list that ships"
    assert not has_tools(load(given={"tools": "off"}))
    with pytest.raises(BadInput) as e:
        has_tools(load(given={"tools": str(tmp_path / "none.yaml")}))
    assert e.value.field == "tools"
