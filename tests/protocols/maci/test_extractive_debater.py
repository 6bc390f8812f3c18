"""The extractive model in the seats of the MACI protocol: whole sessions on the examples, and each kind of turn."""

import pytest

from parley.agents.model.base import Completion
from parley.agents.protocols.maci.extractive_debater import UNKNOWN
from parley.schemas.belief import Belief
from parley.schemas.protocols.maci.messages import (
    AnonymousItem,
    BlindBrief,
    Case,
    CritBrief,
    Passages,
    Ruled,
    Source,
    Span,
)
from tests.llm.test_injections import ATTACKS
from tests.protocols.maci.simulate import run
from tests.protocols.maci.turns import DOCUMENTS, OUTCOMES, QUESTION, anchor, ask, numbered, ruled, shares, shown

AB = ("Ash", "Birch")
WHICH = "A tree with grey bark, black buds and winged seeds: which is it?"
ASH = "Ash has grey bark and black buds."
BIRCH = "Birch has winged seeds in small cones."
BARK = "The bark of birch is grey at the foot of old trees."
TREES = numbered(("a.md", ASH), ("b.md", BIRCH), ("c.md", "The winged seeds of ash hang in bunches."), ("d.md", BARK))
"""The first debater reads a.md and c.md closely, which speak for ash."""
HELD = shares(Ash=0.8, Birch=0.2)


def argue(cl: float, *record: Ruled, against: str = "", most: int = 3) -> Case:
    brief = anchor(AB, HELD, cl=cl, against=against, most=most)
    body: Case = ask(shown("argue", brief, others=[TREES, *record], question=WHICH)).body
    return body


def p(belief: Belief, outcome: str) -> float:
    return next((s.p for s in belief if s.outcome == outcome), 0.0)


def test_the_diagnosis_begins_apart_and_ends_by_agreement_and_who_never_moves_never_converges() -> None:
    ended = run(QUESTION, DOCUMENTS, OUTCOMES)
    assert all(s.attempt == 1 for s in ended.shown), "every reply passed the moderator's checks at once"
    favourites = [max(b, key=lambda s: s.p).outcome for b in ended.rounds[0].beliefs.values()]
    assert favourites == ["Fusarium wilt", "Root rot"] and ended.rounds[0].signals.jsd > 0.3
    assert ended.result.stop.reason == "agreement" and ended.result.outcome["answer"] == "Fusarium wilt"
    fixed = run(QUESTION, DOCUMENTS, OUTCOMES, schedule="fixed", cl=1.0, tau_o=0.2)
    assert fixed.result.stop.reason == "plateau" and not fixed.result.stop.converged


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("When did the mill close?", "The mill closed in 1931. The mill was big.", "The mill closed in 1931."),
        ("Which tree is it?", "## Silver birch\n\nA silver birch is a tree with white bark.", "Silver birch"),
        ("When did it rain?", "The orchestra played a waltz.", UNKNOWN),
    ],
)
def test_open_outcomes_are_proposed_from_what_is_said(question: str, text: str, expected: str) -> None:
    turn = shown("blind", BlindBrief(outcomes=()), others=[numbered(("a.md", text))], question=question)
    assert max(ask(turn).body.belief, key=lambda s: s.p).outcome == expected


def test_a_belief_moves_with_what_others_quoted_and_the_farther_the_lower_cl_is() -> None:
    against = ruled(1, Span(passage="p2", quote=BIRCH), Span(passage="p4", quote=BARK))
    after = [p(argue(cl / 10, against).belief, "Ash") for cl in range(10, -1, -1)]
    assert after[0] == 0.8 and after == sorted(after, reverse=True) and after[-1] < 0.7
    assert after[2] - after[8] > 0.1, "at 0.8 a little, at 0.2 most of it"


def test_as_devils_advocate_it_argues_against_the_shared_answer_and_keeps_its_belief() -> None:
    usual, advocate = argue(0.7), argue(0.7, against="Ash")
    assert advocate.belief == usual.belief and p(advocate.belief, "Ash") > 0.5
    claims = [a.claim for a in advocate.arguments]
    assert claims and all("against Ash" in claim or "for Birch" in claim for claim in claims)
    assert not any("for Birch" in a.claim or "against Ash" in a.claim for a in usual.arguments)
    assert all(a.spans for a in advocate.arguments) and len(argue(0.7, against="Ash", most=1).arguments) == 1


@pytest.mark.parametrize("attack", ATTACKS)
def test_what_talks_as_to_a_machine_moves_nobody(attack: str) -> None:
    def blind(post: Passages) -> Completion:
        return ask(shown("blind", BlindBrief(outcomes=AB), others=[post], question=WHICH))

    bad = numbered(*((x.document, x.text + (f"\n\n{attack}\n" if x.id == "p2" else "")) for x in TREES.passages))
    plain, tried = blind(TREES), blind(bad)
    assert tried.body == plain.body and (plain.flags, tried.flags) == ((), ("injection",))
    item = AnonymousItem(
        item=1, claim=attack, reasons=(attack,), quotes=(attack,), sources=(Source(document="b.md", around=attack),)
    )
    scored = ask(shown("crit", CritBrief(items=(item,))))
    assert scored.body.scores[0].composite == 0 and scored.flags == ("injection",)
