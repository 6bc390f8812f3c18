"""Claims and challenges are worded by one turn of somebody who claims nothing."""

from typing import Any

import msgspec
import pytest

from parley.coordinator.table import Illegal
from parley.schemas.protocols.madp.messages import Worded, WordedClaim
from tests.protocols.madp.play import ARCH, AUDITOR, GENERAL, IMPL, QA, SRE, Play, claim, objection, spec

THREE = {SRE: 0.7, ARCH: 0.6, IMPL: 0.5}
TWO = {SRE: 0.6, IMPL: 0.5}


def extended(metered: bool = True, **settings: Any) -> Play:
    return Play(settings, metered=metered).match(THREE, overlap=True, clear=False)


def argued(**settings: Any) -> Play:
    """Two claim it, and one objects."""
    p = extended(**settings).claims(SRE, "high", 0.6).claims(ARCH, "medium", 0.5).passes(IMPL)
    return p.challenges(SRE, objection(SRE, ARCH, "exclude", "As declared.")).challenges(ARCH)


def words(expert: str, said: str, relevance: str = "high") -> WordedClaim:
    return WordedClaim(agent_id=expert, claim=said, relevance=relevance)  # type: ignore[arg-type]


def test_one_turn_words_all_claims_and_challenges() -> None:
    p = argued()
    assert p.phase == "wording" and p.asked() == [(GENERAL, "words")], "of nobody who claims it"
    brief = p.brief(GENERAL)
    assert [c["agent_id"] for c in brief["claims"]] == [SRE, ARCH] and len(brief["challenges"]) == 1
    said = Worded(
        claims=(words(SRE, "I measure.", "medium"), words(ARCH, "I draw.")),
        challenges=(objection(ARCH, SRE, "support", "It waits for the drawing."),),
    )
    p.reply(GENERAL, said)
    assert p.lead == ARCH and p.support() == [SRE] and p.asked() == [(ARCH, "work")]
    assert [c["claim"] for c in p.last("worded")["claims"]] == ["I measure.", "I draw."]
    assert p.last("challenges")["challenges"][0]["reason"] == "It waits for the drawing."
    assert p.session.inner.claims[SRE].confidence == 0.6, "how sure it is, it has declared"


def test_a_claim_that_the_reply_leaves_out_stands_as_declared() -> None:
    p = argued()
    p.reply(GENERAL, Worded(claims=(words(SRE, "I measure."),)))
    assert p.session.inner.claims[ARCH].claim == "systems-architect should lead." and p.lead == SRE
    assert not p.posts("challenges"), "it objects to nothing"


@pytest.mark.parametrize("how", ["failed", "late"])
def test_what_was_declared_stands_where_no_model_worded_it(how: str) -> None:
    p = argued(attempts=1)
    p.fail(GENERAL) if how == "failed" else p.expire()
    assert p.lead == SRE and p.excluded()[ARCH] == "As declared." and "stand as declared" in p.warnings
    assert p.told()[0]["ok"], "the coordination did not fail"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (Worded(claims=(words(IMPL, "Mine."),)), "claims.agent_id: got implementation-engineer; who claimed it: sre"),
        (Worded(claims=(words(SRE, "Mine."), words(SRE, "Mine."))), "claims.agent_id: sre twice"),
        (Worded(challenges=(objection(QA, SRE, "lead"),)), "challenges.challenger_id: got qa-engineer"),
        (Worded(challenges=(objection(SRE, QA, "lead"),)), "challenged_id: got 'qa-engineer'"),
        (Worded(challenges=(objection(SRE, SRE, "lead"),)), "challenged_id: got 'sre'"),
    ],
)
def test_it_words_only_what_was_claimed(said: Worded, why: str) -> None:
    p = argued()
    p.reply(GENERAL, said)
    assert p.turn(GENERAL).ask.attempt == 2 and why in p.turn(GENERAL).ask.error


def contested(p: Play | None = None, **settings: Any) -> Play:
    """Two claim it high at standard depth, and one objects."""
    p = p or Play(settings, metered=True).match(TWO)
    p.claims(SRE, "high").claims(IMPL, "high")
    return p.challenges(SRE, objection(SRE, IMPL, "support")).challenges(IMPL)


def test_no_model_is_asked_where_there_is_nothing_to_word() -> None:
    alone = extended().claims(SRE).passes(ARCH).passes(IMPL)
    assert alone.asked() == [(SRE, "work")], "one claim alone"
    quiet = extended(metered=False).claims(SRE, "high").claims(ARCH, "medium").passes(IMPL)
    quiet.challenges(SRE).challenges(ARCH)
    assert quiet.asked() == [(SRE, "work")], "no language model is there"
    calm = extended().claims(SRE, "high").claims(ARCH, "medium").passes(IMPL).challenges(SRE).challenges(ARCH)
    assert calm.asked() == [(SRE, "work")], "nobody objects"
    assert contested().asked() == [(SRE, "work")], "the depth is standard"
    assert contested(wording="standard").asked() == [(GENERAL, "words")]
    p = Play({"wording": "standard"}, metered=True, experts=(SRE, IMPL)).match(TWO, general="", reviewers=())
    assert contested(p).asked() == [(SRE, "work")], "everybody there claims it"


# ---------------------------------------------------------------- who is heard


def test_a_claim_of_no_candidate_counts_after_all_candidates_have_spoken() -> None:
    p = Play().match(TWO)
    for expert in (SRE, IMPL):
        p.speak(expert, "claims", "pass", {"agent_id": expert})
    assert p.phase == "claiming" and p.last("task")["everyone"] is True
    p.claims(AUDITOR, "high", 0.9, spec=spec(AUDITOR))
    assert p.lead == AUDITOR


def test_the_window_closes_as_soon_as_everybody_has_spoken() -> None:
    p = Play(experts=(SRE, IMPL, QA, GENERAL)).match(TWO, reviewers=())
    for expert in (SRE, IMPL):
        p.speak(expert, "claims", "claim", msgspec.to_builtins(claim_of(expert)))
    assert "claims" in p.session.windows and p.phase == "claiming"
    p.speak(QA, "claims", "pass", {"agent_id": QA})
    assert "claims" not in p.session.windows and p.phase != "claiming"
    assert p.last("claims")["passed"] == [], "nobody asked it"


def claim_of(expert: str) -> Any:
    return claim(expert, "high" if expert == SRE else "medium")


def test_of_very_many_the_end_of_the_window_is_waited_for() -> None:
    crowd = tuple(f"e{i}" for i in range(40))
    p = Play(experts=(SRE, IMPL, *crowd)).match(TWO, reviewers=()).claims(SRE, "high").claims(IMPL, "medium")
    assert p.last("task")["everyone"] is False and p.phase == "claiming"
    p.expire()
    assert p.lead == SRE


def test_a_pass_is_said_once_and_by_who_was_announced() -> None:
    p = Play(experts=(SRE, IMPL, QA, GENERAL)).match(TWO, reviewers=())
    p.speak(QA, "claims", "pass", {"agent_id": QA})
    with pytest.raises(Illegal, match="qa-engineer has spoken already"):
        p.speak(QA, "claims", "pass", {"agent_id": QA})
    with pytest.raises(Illegal, match="was not announced"):
        p.speak(ARCH, "claims", "pass", {"agent_id": ARCH})
