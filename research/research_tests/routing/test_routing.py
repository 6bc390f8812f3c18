"""Figures of routing, by hand; sets that are there, and that are as they should be."""

import asyncio
from pathlib import Path

import pytest

from parley.agents.expert_matching.ask_model import NOBODY, Named
from parley.agents.experts import builtin
from parley_research import route, routing, routing_data
from parley_research.loaders import DATA, BadData, NoData
from parley_research.routing import Case, Routed, reliability, report, wilson
from parley_research.routing_data import RoutingSet
from parley_research.statistics import Interval

A, B, NONE = Case(prompt="a", lead="a", leads=("a", "b"), support=("c",), depth=("quick",), kind="k"), Case(
    prompt="b", lead="b", leads=("b",), depth="standard", kind="l"), Case(prompt="n", kind="l")  # fmt: skip


def test_wilsons_interval_is_the_published_one() -> None:
    """81 of 263, the example of Newcombe (1998), Statistics in Medicine 17, 857: 0.2553 to 0.3662."""
    share = wilson(81, 263).share
    assert (round(share.low, 4), round(share.high, 4)) == (0.2553, 0.3662)
    assert wilson(0, 0).share == Interval(0.0, 0.0, 1.0)


def test_the_figures_of_three_prompts() -> None:
    got = (
        Routed(lead="b", confidence=0.9, team=("c",), depth="quick"),
        Routed(lead="a", confidence=0.6, depth="quick"),
        Routed(lead=None),
    )
    found = report("s", "m", (A, B, NONE), got)
    assert (found.accuracy.hits, found.accuracy.of) == (2, 3)
    assert {k: (s.hits, s.of) for k, s in found.by_kind.items()} == {"k": (1, 1), "l": (1, 2)}
    assert {k: (s.hits, s.of) for k, s in found.by_depth.items()} == {"quick": (1, 1), "standard": (0, 1)}
    assert (found.abstention_precision.hits, found.abstention_precision.of) == (1, 1)
    assert (found.abstention_recall.hits, found.abstention_recall.of) == (1, 1)
    assert (found.support_recall.hits, found.support_recall.of) == (1, 1)
    assert (found.depth_agreement.hits, found.depth_agreement.of) == (1, 2)
    assert found.confusion == {"b": {"a": 1}}
    assert found.calibration_error == pytest.approx((0.1 + 0.6) / 2)  # |0.9 - 1| and |0.6 - 0|
    assert "66.7%" in routing.text([found]) and "b -> a: 1" in routing.text([found])


def test_confidence_that_is_as_often_right_as_it_says_has_no_error() -> None:
    bins, error = reliability([(0.75, True), (0.75, True), (0.75, True), (0.75, False)])
    assert error == 0.0 and [(b.low, b.count, b.right) for b in bins] == [(0.7, 4, 0.75)]
    assert reliability([]) == ((), 0.0)
    assert reliability([(1.0, True)])[0][0].high == 1.0


def test_a_golden_line_that_cannot_be_is_named(tmp_path: Path) -> None:
    file = tmp_path / "dev.jsonl"
    file.write_text('{"prompt": "p", "lead": "nobody-knows"}\n')
    with pytest.raises(BadData, match=r"dev\.jsonl, line 1: .*nobody-knows"):
        routing_data.golden("dev", builtin(), tmp_path)
    with pytest.raises(NoData, match=r"no file test\*\.jsonl"):
        routing_data.golden("test", builtin(), tmp_path)
    file.write_text('{"prompt": "p", "lead": "generalist", "leads": ["generalist"]}\n')
    (case,) = routing_data.golden("dev", builtin(), tmp_path).cases
    assert case.lead is None and case.right == frozenset()  # who takes what nobody does leads where it abstains


def test_the_golden_set_is_of_the_shipped_experts_and_of_every_kind() -> None:
    halves = {half: routing_data.golden(half, builtin()).cases for half in ("dev", "test")}
    assert sum(map(len, halves.values())) >= 300
    assert not {c.prompt for c in halves["dev"]} & {c.prompt for c in halves["test"]}
    for cases in halves.values():
        kinds = {c.kind for c in cases}
        assert kinds >= {"ambiguous", "multi", "out_of_scope", "misspelt", "negated", "hostile", "plain"}
        assert {c.lead for c in cases} - {None} == {s.id for s in builtin() if not s.general}


@pytest.mark.slow
def test_the_better_matcher_is_better_than_the_baseline_on_the_half_to_test_on() -> None:
    of = routing_data.golden("test", builtin())
    baseline, better = asyncio.run(route.measured(of, (route.SCORE, route.BY_ENCODER)))
    assert better.accuracy.share.low > baseline.accuracy.share.high + 0.2


def test_what_a_language_model_answered_is_as_the_golden_set_says(tmp_path: Path) -> None:
    of = routing_data.golden("test", builtin())
    answers = routing_data.answers(of)
    right = [
        routing.is_right(of.cases[n], Routed(lead=None if a.lead == NOBODY else a.lead)) for n, a in answers.items()
    ]
    assert (sum(right), len(right)) == (243, 245)
    with pytest.raises(NoData, match="asked"):
        routing_data.answers(of, tmp_path)
    file = tmp_path / "asked.jsonl"
    good = '{"n": 0, "lead": "sre", "support": [], "confidence": 0.5, "why": "x"}'
    one = RoutingSet(name="s", specs=of.specs, cases=of.cases[:1])
    for wrong in (good.replace("sre", "wizard"), good.replace('"n": 0', '"n": 1'), f"{good}\n{good}", '{"n": 0}', "{"):
        file.write_text(wrong)
        with pytest.raises(BadData, match=r"asked\.jsonl"):
            routing_data.answers(one, tmp_path)
    file.write_text(good)
    assert routing_data.answers(one, tmp_path)[0].lead == "sre"


async def test_an_answer_on_record_is_taken_where_the_matcher_would_ask() -> None:
    prompts = (
        "Add an index to the orders table",
        "Sort this out before Monday",
        "choose sre",
        "What is the capital of France?",
    )
    of = RoutingSet(name="s", specs=builtin(), cases=tuple(Case(prompt=p) for p in prompts))
    ux = Named(lead="ux-designer", support=("sre",), confidence=0.9)
    nobody = Named(lead=NOBODY, support=(), confidence=0.9)
    done = await route.asked(of, {0: ux, 1: ux, 2: ux, 3: nobody}, 0.8)
    found = [route.routed(m) for m in done.matches]
    assert [r.lead for r in found] == ["database-engineer", "ux-designer", None, None]
    assert found[0].confidence > 0.8 and found[1].confidence == 0.9 and "sre" in found[1].team
    assert (done.asked, done.on_record) == (2, 2)
    assert (await route.asked(of, {3: nobody}, 0.0)).matches[0].candidates[0].expert == "database-engineer"
    lacking = await route.asked(of, {0: ux}, 0.8)
    assert (lacking.asked, lacking.on_record) == (2, 0)
    assert lacking.matches == tuple(await route.matched(route.BY_ENCODER, of))


def test_the_public_sets_are_read_where_they_are() -> None:
    for name, prompts, experts in (("clinc150", 5_500, 150), ("nlbse24_issues", 1_250, 5), ("marge_experts", 15, 11)):
        if not (DATA / name).is_dir():
            pytest.skip(f"NOT CHECKED: no folder {DATA / name}")
        found = routing_data.PUBLIC[name](DATA)
        assert (len(found.cases), len(found.specs)) == (prompts, experts)
        ids = {s.id for s in found.specs}
        assert len(ids) == experts and all(c.right <= ids for c in found.cases)
