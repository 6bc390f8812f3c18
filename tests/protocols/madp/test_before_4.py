"""What tasks of version 3 and before keep: each expert's own model words its claim and its challenges, in turns of its
own, and only candidates pass."""

from typing import Any

import msgspec
import pytest

from parley.coordinator.table import Illegal
from parley.schemas.protocols.madp.messages import Claim
from parley.schemas.session import Budget
from tests.protocols.madp.play import ARCH, IMPL, SRE, Play, claim, objection, spec

THREE = {SRE: 0.7, ARCH: 0.6, IMPL: 0.5}
TWO = {SRE: 0.6, IMPL: 0.5}


def extended(**settings: Any) -> Play:
    return Play(settings, version=3).match(THREE, overlap=True, clear=False)


def contested(**settings: Any) -> Play:
    return extended(**settings).claims(SRE, "high").claims(ARCH, "medium").passes(IMPL)


def test_a_claim_is_worded_by_a_turn_where_the_depth_asks_for_it() -> None:
    p = extended().claims(SRE, reword=True)
    assert p.asked() == [(SRE, "claim")] and p.brief(SRE)["declared"]["claim"] == "sre should lead."
    p.passes(ARCH).passes(IMPL)
    assert p.phase == "claiming" and "claims" not in p.session.windows, "all have spoken; one is at its words"
    p.reply(SRE, claim(SRE, "medium", claim="Measure first."))
    assert p.lead == SRE and p.last("claims")["claims"][0]["claim"] == "Measure first."
    assert p.last("claims")["claims"][0]["relevance"] == "medium"


def test_the_figure_of_a_worded_claim_stays_the_matchers() -> None:
    p = extended().claims(SRE, "high", 0.6, reword=True)
    p.reply(SRE, claim(SRE, "high", 1.0))
    assert p.session.inner.claims[SRE].confidence == 0.6


def test_a_claim_that_could_not_be_worded_stands_as_declared() -> None:
    p = extended().claims(SRE, reword=True).passes(ARCH).passes(IMPL)
    p.fail(SRE)
    assert p.lead == SRE and p.last("claims")["claims"][0]["claim"] == "sre should lead."


def test_a_claim_whose_words_the_budget_does_not_hold_stands_as_declared() -> None:
    """The turn of work does not fit either: it ends there, and says so."""
    p = Play({"max_input_tokens": 100, "max_output_tokens": 20}, metered=True, budget=Budget(tokens=200), version=3)
    p.match(THREE, overlap=True).claims(SRE, reword=True)
    assert p.phase == "claiming" and not p.asked()
    p.passes(ARCH).passes(IMPL)
    assert p.stop["reason"] == "budget" and p.last("claims")["claims"][0]["claim"] == "sre should lead."


def test_the_window_waits_for_those_at_their_words() -> None:
    p = extended().claims(SRE, reword=True)
    p.expire()
    assert p.phase == "claiming" and p.asked() == [(SRE, "claim")]
    with pytest.raises(Illegal, match="window claims is not open"):
        p.claims(ARCH)
    p.reply(SRE, claim(SRE))
    assert p.lead == SRE


def test_at_lesser_depth_the_declared_claim_stands() -> None:
    p = Play(version=3).match(TWO).claims(SRE, reword=True)
    assert not p.asked() and not p.last("task")["reword"]
    p = Play({"wording": "standard"}, version=3).match(TWO).claims(SRE, reword=True)
    assert p.asked() == [(SRE, "claim")] and p.last("task")["reword"]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (claim(ARCH), "agent_id: got 'systems-architect'; you are sre"),
        (claim(SRE, reword=True), "neither reword nor spec"),
        (claim(SRE, spec=spec(SRE)), "neither reword nor spec"),
        (claim(SRE, defers_to=(SRE,)), "defers_to: got 'sre'"),
    ],
)
def test_a_worded_claim_is_checked(body: Claim, why: str) -> None:
    p = extended().claims(SRE, reword=True)
    p.reply(SRE, body)
    assert p.turn(SRE).ask.attempt == 2 and why in p.turn(SRE).ask.error


def test_challenges_are_worded_where_the_depth_asks_for_it() -> None:
    p = contested().challenges(SRE, objection(SRE, ARCH, "support"), reword=True)
    assert p.asked() == [(SRE, "challenge")] and len(p.brief(SRE)["claims"]) == 2
    p.challenges(ARCH)
    assert p.phase == "challenging" and "challenges" not in p.session.windows
    p.reply(SRE, {"challenges": [msgspec.to_builtins(objection(SRE, ARCH, "exclude", "In other words."))]})
    assert p.excluded()[ARCH] == "In other words."


def test_challenges_that_could_not_be_worded_stand_as_declared() -> None:
    p = contested().challenges(SRE, objection(SRE, ARCH, "exclude", "As declared."), reword=True).challenges(ARCH)
    p.reply(SRE, {"challenges": [], "reword": True})
    assert "reword" in p.turn(SRE).ask.error
    p.reply(SRE, None, error="down")
    assert p.excluded()[ARCH] == "As declared."


def test_only_candidates_pass() -> None:
    with pytest.raises(Illegal, match="nobody waits for its pass"):
        Play(version=3).match(TWO).passes(ARCH)
