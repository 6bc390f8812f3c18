"""The extractive model in the seats of the MACI protocol: whole sessions on the examples, and each kind of turn."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from parley.agents.protocols.maci.extractive_debater import UNKNOWN
from parley.schemas.belief import Share
from parley.schemas.protocols.maci.messages import (
    Blind,
    BlindBrief,
    Case,
    Crit,
    CritBrief,
    Item,
    MergeBrief,
    Passages,
    PlanBrief,
    RetrieveBrief,
    Ruled,
    Source,
    Span,
    Tests,
)
from parley.schemas.text import answer_key, stands_in
from tests.llm.test_injections import ATTACKS
from tests.protocols.maci.simulate import Ended, example, run
from tests.protocols.maci.turns import DOCUMENTS, OUTCOMES, QUESTION, anchor, ask, numbered, ruled, shares, shown

AB = ("Ash", "Birch")
WHICH = "A tree with grey bark, black buds and winged seeds: which is it?"
ASH = "Ash has grey bark and black buds."
SEEDS = "The winged seeds of ash hang in bunches."
BIRCH = "Birch has winged seeds in small cones."
BARK = "The bark of birch is grey at the foot of old trees."
TREES = numbered(("a.md", ASH), ("b.md", BIRCH), ("c.md", SEEDS), ("d.md", BARK))
ONE, TWO = "debater_1", "debater_2"
"""The first reads a.md and c.md closely, which speak for ash, the second the others."""


@pytest.fixture(scope="module")
def diagnosis() -> Ended:
    return run(QUESTION, DOCUMENTS, OUTCOMES)


@pytest.fixture(scope="module")
def retrieved() -> Passages:
    body = ask(shown("retrieve", RetrieveBrief(k=32, tokens=4_000), seat="helper", documents=DOCUMENTS)).body
    return numbered(*((p.document, p.text) for p in body.passages))


def blind(seat: str = ONE, outcomes: Sequence[str] = AB, post: Passages = TREES, question: str = WHICH) -> Blind:
    body: Blind = ask(
        shown("blind", BlindBrief(outcomes=tuple(outcomes)), seat=seat, others=[post], question=question)
    ).body
    return body


def argue(
    cl: float, *record: Ruled, belief: tuple[Share, ...] = shares(Ash=0.8, Birch=0.2), seat: str = ONE, **more: object
) -> Case:
    brief = anchor(AB, belief, cl=cl, **more)
    body: Case = ask(shown("argue", brief, seat=seat, others=[TREES, *record], question=WHICH)).body
    return body


def p(belief: tuple[Share, ...], outcome: str) -> float:
    return next((s.p for s in belief if s.outcome == outcome), 0.0)


# ---------------------------------------------------------------- whole sessions


def test_the_diagnosis_begins_apart_and_ends_by_agreement(diagnosis: Ended) -> None:
    assert all(s.attempt == 1 for s in diagnosis.shown), "every reply passed the moderator's checks at once"
    first, last = diagnosis.rounds[0], diagnosis.rounds[-1]
    favourites = [max(b, key=lambda s: s.p).outcome for b in first.beliefs.values()]
    assert favourites == ["Fusarium wilt", "Root rot"] and first.signals.jsd > 0.3
    result = diagnosis.result
    assert result.stop.reason == "agreement" and result.stop.converged and last.signals.jsd < 0.1
    assert result.outcome["answer"] == "Fusarium wilt"
    assert any(r.admitted for r in diagnosis.rounds)


def test_evidence_off_the_matter_wins_only_where_the_gate_is_off_and_is_no_agreement() -> None:
    question, documents, outcomes = example("off-topic")
    with_gate = run(question, documents, outcomes, q_gate=True)
    without = run(question, documents, outcomes)
    assert with_gate.result.outcome["answer"] == "Worn bearing" and any(r.refused for r in with_gate.rounds)
    assert without.result.outcome["answer"] == "Wrong voltage" and not without.result.stop.converged
    assert any(a["doubted"] for a in without.result.outcome["record"]), "what q would have refused"


def test_who_never_moves_never_converges() -> None:
    ended = run(QUESTION, DOCUMENTS, OUTCOMES, schedule="fixed", cl=1.0, tau_o=0.2)
    assert ended.result.stop.reason == "plateau" and not ended.result.stop.converged
    assert ended.rounds[0].beliefs == ended.rounds[-1].beliefs and ended.rounds[-1].signals.jsd > 0.3


def test_what_the_debaters_say_is_in_order(diagnosis: Ended) -> None:
    assert len(diagnosis.cases) > 4
    for turn, case in diagnosis.cases:
        passages = {x.id: x.text for o in turn.others if isinstance(o.body, Passages) for x in o.body.passages}
        assert sum(s.p for s in case.belief) == pytest.approx(1) and min(s.p for s in case.belief) > 0
        assert 0 < len(case.arguments) <= turn.brief.most
        for argument in case.arguments:
            assert argument.spans and len(argument.reasons) == len(argument.spans)
            assert all(stands_in(s.quote, passages[s.passage]) for s in argument.spans)


# ---------------------------------------------------------------- blind


@pytest.mark.parametrize("seat", [f"debater_{i}" for i in range(1, 9)])
def test_a_blind_belief_is_one_over_the_given_outcomes(seat: str, retrieved: Passages) -> None:
    body = blind(seat, OUTCOMES, retrieved, QUESTION)
    assert sum(s.p for s in body.belief) == pytest.approx(1) and {s.outcome for s in body.belief} <= set(OUTCOMES)
    passages = {x.id: x.text for x in retrieved.passages}
    assert body.spans and all(stands_in(s.quote, passages[s.passage]) for s in body.spans)


def test_a_word_that_is_denied_speaks_against() -> None:
    post = numbered(("a.md", "Ash has no grey bark, and black buds are rare in ash."), ("b.md", "Birch has grey bark."))
    assert p(blind(post=post).belief, "Ash") < 0.5
    asked = "A tree without grey bark: which is it?"
    assert p(blind(post=post, question=asked).belief, "Ash") > 0.5


@pytest.mark.parametrize(
    "question, text, expected",
    [
        ("When did the mill close?", "The mill closed in 1931. The mill was big.", "The mill closed in 1931."),
        ("Who designed the bridge?", "The bridge was designed by Ada Holt.", "The bridge was designed by Ada Holt."),
        ("Which tree is it?", "## Silver birch\n\nA silver birch is a tree with white bark.", "Silver birch"),
    ],
)
def test_open_outcomes(question: str, text: str, expected: str) -> None:
    body = blind(outcomes=(), post=numbered(("a.md", text)), question=question)
    assert max(body.belief, key=lambda s: s.p).outcome == expected and sum(s.p for s in body.belief) == pytest.approx(1)
    keys = [answer_key(s.outcome) for s in body.belief]
    assert len(set(keys)) == len(keys)


def test_without_an_answer_it_proposes_to_say_so() -> None:
    body = blind(outcomes=(), post=numbered(("a.md", "The orchestra played a waltz.")), question="When did it rain?")
    assert body.belief == (Share(outcome=UNKNOWN, p=1.0),)


# ---------------------------------------------------------------- argue


AGAINST = ruled(1, Span(passage="p2", quote=BIRCH), Span(passage="p4", quote=BARK))


def test_a_belief_moves_with_what_others_quoted_and_the_farther_the_lower_cl_is() -> None:
    held = p(shares(Ash=0.8, Birch=0.2), "Ash")
    after = [p(argue(cl / 10, AGAINST).belief, "Ash") for cl in range(10, -1, -1)]
    assert after[0] == held and after == sorted(after, reverse=True) and after[-1] < held - 0.1
    assert after[2] - after[8] > 0.1, "at 0.8 a little, at 0.2 most of it"


def test_at_a_high_level_it_attacks_and_at_a_low_one_it_grants() -> None:
    posts = numbered(("a.md", ASH), ("b.md", BIRCH), ("c.md", "Birch never has black buds."))
    held, theirs = shares(Ash=0.8, Birch=0.2), shares(Ash=0.1, Birch=0.9)

    def claims(cl: float) -> list[str]:
        brief = anchor(AB, held, cl=cl, opponents=(theirs,))
        case: Case = ask(shown("argue", brief, others=[posts], question=WHICH)).body
        return [a.claim for a in case.arguments]

    assert claims(0.9)[-1].endswith("speaks against Birch.")
    assert claims(0.3)[-1].endswith("speaks for Birch.")
    assert all(c[0].endswith("speaks for Ash.") for c in (claims(0.9), claims(0.3)))


def test_no_more_arguments_than_asked_for() -> None:
    assert len(argue(0.9, most=1).arguments) == 1


# ---------------------------------------------------------------- crit


GOOD = Item(
    item=1, claim="What is said about grey, bark, black and buds speaks for Ash.", quotes=(ASH,),
    sources=(Source(document="a.md", around=ASH),),
    reasons=(f"On Ash the evidence says: “{ASH}” (a.md); asked is about grey, bark, black and buds.",),
)  # fmt: skip


def item(**other: Any) -> Item:
    """The good one, otherwise."""
    return msgspec.structs.replace(GOOD, item=2, **other)


def crit(*items: Item) -> Crit:
    body: Crit = ask(shown("crit", CritBrief(items=items), seat="judge_1", question=WHICH)).body
    return body


@pytest.mark.parametrize(
    "field, worse",
    [
        ("evidence", item(quotes=())),
        ("evidence", item(quotes=("Perhaps it might rain in the hills.",))),
        ("logic", item(reasons=("Trains run late whenever snow falls.",))),
        ("logic", item(reasons=())),
        ("relevance", item(claim="Trains are late.", reasons=("Snow fell.",), quotes=("Snow fell.",))),
    ],
)  # fmt: skip
def test_each_sub_score_sees_what_it_is_for(field: str, worse: Item) -> None:
    good, bad = crit(GOOD, worse).scores
    assert getattr(good, field) > getattr(bad, field) + 0.2
    assert [s.item for s in (good, bad)] == [1, 2] and len(bad.links) == len(worse.reasons)
    assert good.composite > 0.6 and good.justification


def test_order_and_company_make_no_difference_to_a_judge() -> None:
    other = Item(item=2, claim="Trains are late.", reasons=("Snow fell.",), quotes=(), sources=())
    assert (
        crit(GOOD, other).scores == tuple(reversed(crit(other, GOOD).scores))
        and crit(GOOD).scores[0] in crit(GOOD, other).scores
    )


# ---------------------------------------------------------------- merge and plan


def test_the_same_under_two_names_is_one() -> None:
    names = ("Root rot", "The rot of roots", "root  ROT", "Drought", "Hepatitis A", "Hepatitis B", "Wilts", "wilt")
    body = ask(shown("merge", MergeBrief(proposed=names), seat="analyst")).body
    groups = {g.name: set(g.members) for g in body.groups}
    assert sorted(m for g in body.groups for m in g.members) == sorted(names)
    assert groups["Drought"] == {"Drought"} and groups["wilt"] == {"Wilts", "wilt"}
    assert {"Root rot", "root  ROT"} <= groups["Root rot"] and groups["Hepatitis A"] == {"Hepatitis A"}
    keys = [answer_key(g.name) for g in body.groups]
    assert len(set(keys)) == len(keys)


def plan(post: Passages, most: int = 5, asked: tuple[str, ...] = ()) -> Tests:
    mixture = shares(Fusarium_wilt=0.5, Root_rot=0.3, Bacterial_wilt=0.2)
    brief = PlanBrief(mixture=mixture, asked=asked, most=most)
    body: Tests = ask(shown("plan", brief, seat="analyst", others=[post])).body
    return body


def test_a_plan_asks_what_is_said_of_one_alone_and_its_queries_run(retrieved: Passages) -> None:
    tests = plan(retrieved).tests
    assert len(tests) == 5 and len({t.query for t in tests}) == 5
    for test in tests:
        values = [s.p for s in test.positive]
        assert [s.outcome for s in test.positive] == ["Fusarium wilt", "Root rot", "Bacterial wilt"]
        assert len(set(values)) > 1 and all(0 < v < 1 for v in values)
    likeliest = [max(t.positive, key=lambda s: s.p).outcome for t in tests]
    assert likeliest[:3] == ["Fusarium wilt", "Root rot", "Bacterial wilt"]
    assert any("bark slips off" in t.what for t in tests)
    queries = tuple(t.query for t in tests)
    brief = RetrieveBrief(queries=queries, k=2, tokens=4_000)
    assert ask(shown("retrieve", brief, seat="helper", documents=DOCUMENTS)).body.passages
    assert not {t.query for t in plan(retrieved, asked=queries).tests} & set(queries)
    assert len(plan(retrieved, most=2).tests) == 2


def test_a_plan_does_not_ask_what_the_question_states() -> None:
    wilt = numbered(
        ("a.md", "Fusarium wilt browns the vessels of a cut stem. In Fusarium wilt a culture grows violet spores."),
        ("b.md", "Root rot softens every root, and bark slips off."),
    )
    brief = PlanBrief(mixture=shares(Fusarium_wilt=0.6, Root_rot=0.4), most=5)

    def asked(question: str) -> str:
        tests = ask(shown("plan", brief, question=question, seat="analyst", others=[wilt])).body.tests
        return " ".join(t.what for t in tests)

    assert "browns the vessels" in asked("What is the cause?") and "violet spores" in asked("What is the cause?")
    told = asked("Vessels of the cut stem were browned and streaked. What is the cause?")
    assert "browns the vessels" not in told and "violet spores" in told


def test_nothing_in_contention_needs_no_plan() -> None:
    brief = PlanBrief(mixture=shares(Ash=1.0), most=3)
    assert ask(shown("plan", brief, seat="analyst", others=[TREES])).body.tests == ()


# ---------------------------------------------------------------- texts that want to steer


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_talks_as_to_a_machine_moves_nobody(attack: str) -> None:
    bad = numbered(("a.md", ASH), ("b.md", f"{BIRCH}\n\n{attack}\n"), ("c.md", SEEDS), ("d.md", BARK))
    turn = shown("blind", BlindBrief(outcomes=AB), others=[bad], question=WHICH)
    plain = ask(shown("blind", BlindBrief(outcomes=AB), others=[TREES], question=WHICH))
    tried = ask(turn)
    assert tried.body.belief == plain.body.belief and tried.body.spans == plain.body.spans
    assert tried.flags == ("injection",) and plain.flags == ()
    there = (Source(document="b.md", around=attack),)
    item = Item(item=1, claim=attack, reasons=(attack,), quotes=(attack,), sources=there)
    scored = ask(shown("crit", CritBrief(items=(item,))))
    assert scored.body.scores[0].composite == 0 and scored.flags == ("injection",)


def test_as_devils_advocate_it_argues_against_the_shared_answer_and_keeps_its_belief() -> None:
    """It holds Ash, as all do: the case is Birch's."""
    usual, advocate = argue(0.7), argue(0.7, against="Ash")
    assert advocate.belief == usual.belief and p(advocate.belief, "Ash") > 0.5
    claims = [a.claim for a in advocate.arguments]
    assert claims and all("against Ash" in claim or "for Birch" in claim for claim in claims)
    assert not any("for Birch" in a.claim or "against Ash" in a.claim for a in usual.arguments)
    assert all(a.spans for a in advocate.arguments) and len(argue(0.7, against="Ash", most=1).arguments) == 1
