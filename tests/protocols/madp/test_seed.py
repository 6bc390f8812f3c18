"""One test a sentence or clause of seeds/madp.md, chapters 2.3, 3 to 6 and 9, quoted; and its appendix A in kind."""

from typing import Any

import pytest

from parley.coordinator.protocols.madp.state import AgentState, agent_state
from parley.schemas import log
from parley.schemas.protocols.madp.work import Finding, Review
from tests.protocols.madp.play import (
    APPROVED,
    ARCH,
    AUDITOR,
    BLOCKED,
    EXPERTS,
    GENERAL,
    IMPL,
    QA,
    REVISE,
    SEC,
    SRE,
    TASK,
    Play,
    artifact,
    blocked,
    done,
    hands,
    helps,
    objection,
    spec,
    wants,
)

INSTANT = {IMPL: 0.95}
QUICK = {QA: 0.8, IMPL: 0.6}
STANDARD = {ARCH: 0.6, SEC: 0.65, IMPL: 0.5}
EXTENDED: dict[str, Any] = {"overlap": True, "clear": False}


def appendix() -> Play:
    """Appendix A, up to the claims."""
    p = Play(task=TASK).match({ARCH: 0.6, IMPL: 0.5, SRE: 0.7}, **EXTENDED)
    p.claims(
        ARCH, "medium", claim="Performance could be architectural. I lead if it's structural redesign.",
        defers_to=(IMPL, SRE), topics={IMPL: "code-level", SRE: "measurement"},
    )  # fmt: skip
    p.claims(IMPL, "medium", claim="If it's code-level, that's my domain.")
    return p.claims(
        SRE, "high", claim="We should measure before we optimize. Start with me.", defers_to=(IMPL,),
        topics={IMPL: "Optimize code once bottlenecks identified"},
    )  # fmt: skip


def waiting(p: Play) -> Any:
    """The open item."""
    assert p.phase == "waiting" and not p.asked()
    return p.last("item")


# ---------------------------------------------------------------- 1.3, 1.4, 2.3


def test_agent_states() -> None:
    """IDLE: Not relevant; CANDIDATE: Potentially relevant, awaiting; LEAD; SUPPORT; EXCLUDED"""
    p = Play().match({SRE: 0.6, IMPL: 0.6, QA: 0.5}, overlap=True)
    states = {x: agent_state(p.session.inner, x) for x in EXPERTS}
    assert [x for x, state in states.items() if state != AgentState.IDLE] == [IMPL, SRE, QA]
    assert states[SRE] == AgentState.CANDIDATE
    p.claims(SRE).claims(IMPL, "medium").passes(QA).challenges(SRE).challenges(IMPL)
    assert agent_state(p.session.inner, SRE) == AgentState.LEAD
    assert agent_state(p.session.inner, IMPL) == AgentState.SUPPORT
    assert agent_state(p.session.inner, QA) == AgentState.EXCLUDED
    p.reply(SRE, done())
    p.approve()
    assert p.outcome["states"] == {SRE: "lead", IMPL: "support", QA: "excluded"}


# ---------------------------------------------------------------- 3.1


# ---------------------------------------------------------------- 4.1, 4.2


def test_instant_claims_and_challenges_are_skipped_and_consensus_is_implicit() -> None:
    """2. CLAIM: skip; 3. CHALLENGE: skip; 4. CONSENSUS: implicit. Implementation Engineer claims -> executes.
    interface Task: prompt, context: files_mentioned, code_snippets, prior_conversation"""
    context = {
        "files_mentioned": ["api.py"], "code_snippets": ["x = 1"],
        "prior_conversation": [{"role": "user", "text": "It is slow."}],
    }  # fmt: skip
    p = Play(context).match(INSTANT)
    assert p.last("task")["task"] == {"prompt": TASK, **context} == p.brief(IMPL)["task"]
    assert p.asked() == [(IMPL, "work")] and p.last("task")["claims"] == "none"
    assert p.consensus["how"] == "implicit" and not p.posts("claims") and not p.session.windows


def test_quick_claims_are_brief_challenges_skipped_consensus_implicit() -> None:
    """QA + Impl both relevant -> QA claims testing -> executes"""
    p = Play().match(QUICK)
    assert p.last("task")["claims"] == "brief"
    p.claims(QA, "high").claims(IMPL, "high")
    assert p.asked() == [(QA, "work")] and p.consensus["how"] == "implicit" and not p.last("claims")["challenges"]


def test_standard_claims_are_full_challenges_if_needed_consensus_explicit() -> None:
    """Architect + Security + Impl coordinate ownership -> execute with review"""
    p = Play().match(STANDARD)
    assert p.last("task")["claims"] == "full"
    p.claims(SEC, "high").claims(ARCH, "medium").claims(IMPL, "medium")
    assert p.lead == SEC and p.support() == [ARCH, IMPL] and p.consensus["how"] == "explicit"
    p = Play().match(STANDARD).claims(SEC, "high").claims(ARCH, "high").passes(IMPL)
    assert p.phase == "challenging"


# ---------------------------------------------------------------- 4.3, 4.4, 4.5


def test_appendix_a() -> None:
    """SRE + Arch + Impl + Security all claim -> debate approach -> measure first -> execute. Lead: sre. Support:
    implementation-engineer, Optimize code once bottlenecks identified. Excluded: systems-architect. Depth: EXTENDED;
    confidence variance: low; action clarity: low. The lead receives full task context. Messages: agent_id, claim,
    relevance, defers_to; challenger_id, challenged_id, reason, proposed_resolution: exclude."""
    p = appendix()
    assert p.phase == "challenging"
    claims = {c["agent_id"]: c for c in p.last("claims")["claims"]}
    assert claims[ARCH]["relevance"] == "medium" and claims[ARCH]["defers_to"] == [IMPL, SRE]
    reason = "This task is code-level optimization, not architectural redesign."
    p.challenges(ARCH).challenges(IMPL, objection(IMPL, ARCH, "exclude", reason)).challenges(SRE)
    assert p.last("challenges")["challenges"] == [
        {"challenger_id": IMPL, "challenged_id": ARCH, "reason": reason, "proposed_resolution": "exclude"}
    ]
    assert p.asked() == [(SRE, "work")] and p.consensus["how"] == "explicit"
    task = p.last("task")
    assert (task["depth"], task["factors"]["candidate_count"]) == ("extended", 3)
    assert (
        task["factors"]["confidence_variance"] == pytest.approx(0.02 / 3, abs=1e-12)
        and not task["factors"]["action_clarity"]
    )
    c, team = p.consensus, [{"agent_id": IMPL, "responsibility": "Optimize code once bottlenecks identified"}]
    assert c["task_id"] == c["deliberation_id"] == "s1" and c["token_cost"] == 0
    part = "We should measure before we optimize. Start with me."
    assert c["outcome"]["lead"] == {"agent_id": SRE, "responsibility": part} and c["outcome"]["support"] == team
    assert c["rationale"] == f"sre claims high relevance (0.70), ahead of {IMPL}"
    assert p.excluded() == {ARCH: reason}
    brief = p.brief(SRE)
    assert (brief["task"]["prompt"], brief["responsibility"], brief["team"]) == (TASK, part, team)


# ---------------------------------------------------------------- 5


def test_the_lead_can_request_support() -> None:
    """Can request support agent input: request_support(). Receives scoped sub-task; Returns artifacts to lead"""
    p = Play().match(INSTANT)
    p.reply(IMPL, wants(SRE, "profile the API"))
    assert p.asked() == [(SRE, "support")], "the reply ended the lead's turn"
    assert (p.brief(SRE)["sub_task"], p.brief(SRE)["lead"]) == ("profile the API", IMPL)
    p.reply(SRE, helps("It is the queries.", artifact(7)))
    assert p.asked() == [(IMPL, "work")]
    (given,) = p.brief(IMPL)["supported"]
    assert (given["agent_id"], given["sub_task"]) == (SRE, "profile the API")
    assert given["output"] == "In full: It is the queries." and given["artifacts"][0]["id"] == artifact(7).id
    assert p.brief(IMPL)["state"]["artifacts"][0]["id"] == artifact(7).id


def test_mid_task_handoff() -> None:
    """HandoffRequest: from_agent, to_agent, reason, task_state: completed, remaining, artifacts"""
    p = Play().match({SRE: 0.95})
    p.reply(SRE, wants(QA, folder=artifact(1)))
    p.reply(QA, helps())
    p.reply(
        SRE,
        hands(
            IMPL, "Bottleneck identified in database query layer.", completed=("Profiling",),
            remaining=("Query optimization", "Caching implementation"),
        ),
    )  # fmt: skip
    told = p.last("handoff")
    assert (told["from_agent"], told["to_agent"]) == (SRE, IMPL)
    assert told["reason"] == "Bottleneck identified in database query layer."
    assert told["task_state"]["completed"] == ["Profiling"]
    assert told["task_state"]["artifacts"] == [{"id": artifact(1).id, "type": "folder", "path": "", "size": 0}]
    brief = p.brief(IMPL)
    assert brief["state"] == told["task_state"] and brief["folder"] == artifact(1).id
    assert brief["responsibility"] == "Query optimization; Caching implementation"
    assert brief["handoff"] == "sre: Bottleneck identified in database query layer."
    p.reply(IMPL, hands(QA, completed=("Query optimization",), remaining=("Caching implementation",)))
    state = p.brief(QA)["state"]
    assert state["completed"] == ["Profiling", "Query optimization"] and state["remaining"] == [
        "Caching implementation"
    ]


# ---------------------------------------------------------------- 6


def test_review_after_execution() -> None:
    """After execution, review agents examine output: implementation-auditor, qa-engineer, security-architect"""
    p = appendix().challenges(ARCH).challenges(IMPL).challenges(SRE)
    p.reply(SRE, done())
    assert p.asked() == [(AUDITOR, "review"), (QA, "review"), (SEC, "review")]
    assert p.brief(QA)["output"] == "In full: It is done."


def test_blocked_requires_deliberation() -> None:
    """BLOCKED: Critical issue, requires deliberation"""
    p = Play({"deliberation": "maci", "deliberation_settings": {"round_limit": 2}}).match(INSTANT)
    p.reply(IMPL, done())
    p.reply(AUDITOR, BLOCKED)
    (child,) = p.commands(log.StartChild)
    assert child.opening.protocol == "maci" and child.opening.settings == {"round_limit": 2} and child.opening.inherits
    assert "Which law holds?" in child.opening.question and TASK in child.opening.question
    p.child_ends(outcome={"answer": "The old one."})
    assert p.asked() == [(IMPL, "work")] and "The old one." in p.brief(IMPL)["advice"]


def test_review_messages() -> None:
    """reviewer_id, verdict, findings: severity, location, description, suggested_fix. APPROVED: Output ships"""
    p = Play().match(INSTANT)
    p.reply(IMPL, done())
    p.reply(AUDITOR, {"verdict": "approved", "findings": [{"severity": "huge", "description": "A typo."}]})
    assert "huge" in p.ask(AUDITOR).error
    finding = Finding(severity="minor", location="api.py:3", description="A typo.", suggested_fix="Fix it.")
    p.reply(AUDITOR, Review(verdict="approved", findings=(finding,)))
    assert p.stop["reason"] == "reviewed" and p.stop["converged"] and p.result.status == "finished"
    assert p.outcome["answer"] == "In full: It is done."
    (told,) = p.bodies("review")
    assert (told["reviewer_id"], told["verdict"], told["iteration"]) == (AUDITOR, "approved", 1)
    assert told["findings"] == p.outcome["findings"]
    assert told["findings"][0] == {
        "severity": "minor", "description": "A typo.", "location": "api.py:3", "suggested_fix": "Fix it.",
    }  # fmt: skip


def test_a_handoff_and_a_two_loop_review_in_one_run() -> None:
    p = Play().match({SRE: 0.95})
    p.reply(SRE, hands(IMPL))
    p.reply(IMPL, done("First."))
    p.reply(AUDITOR, REVISE)
    p.reply(IMPL, done("Second."))
    assert p.brief(AUDITOR)["iteration"] == 2 and p.brief(AUDITOR)["findings"], "what it was to answer"
    p.reply(AUDITOR, APPROVED)
    assert [r["outcome"] for r in p.result.rounds] == ["handoff", "done", "done"]
    assert [(x.kind, x.round) for x in p.session.posts if x.kind in ("consensus", "work", "review")] == [
        ("consensus", 0), ("work", 1), ("work", 2), ("review", 2), ("work", 3), ("review", 3),
    ]  # fmt: skip
    assert [r["verdicts"] for r in p.result.rounds] == [{}, {AUDITOR: "revision_needed"}, {AUDITOR: "approved"}]
    assert p.outcome["answer"] == "In full: Second." and (p.outcome["reviews"], p.outcome["revisions"]) == (2, 1)
    assert p.outcome["handoffs"][0]["to_agent"] == IMPL


# ---------------------------------------------------------------- 9.1


def test_no_experts_match() -> None:
    """Candidate list empty: Fall back to general-purpose mode with warning"""
    p = Play().match({})
    assert p.asked() == [(GENERAL, "work")] and p.consensus["how"] == "general"
    assert "no expert matches the task: generalist takes it" in p.warnings
    assert p.told() == [{"session": "s1", "ok": True, "why": "", "counts": True}], "an abstention is no failure"


def test_all_experts_match_equally() -> None:
    """Variance below threshold: Use priority ranking as tiebreaker"""
    p = Play().match({SRE: 0.6, ARCH: 0.6, IMPL: 0.6}).claims(SRE).claims(ARCH).claims(IMPL)
    p.challenges(SRE).challenges(ARCH).challenges(IMPL)
    assert p.lead == ARCH and "priority decides for systems-architect" in p.consensus["notes"][0]


def test_coordination_timeout_in_claims() -> None:
    """Exceeds time budget: Proceed with highest-confidence expert"""
    p = Play({"coordination_s": 0.5}).match({SRE: 0.6, ARCH: 0.5}).claims(ARCH, "high", 0.5)
    p.expire()
    assert p.lead == ARCH and p.consensus["how"] == "timeout", "of those who claimed"
    assert p.told()[0]["ok"] is False and not p.session.windows


def test_coordination_timeout_while_models_are_at_their_words() -> None:
    """Exceeds time budget"""
    p = Play({"coordination_s": 2}, metered=True).match({SRE: 0.7, ARCH: 0.6, IMPL: 0.5}, **EXTENDED)
    p.claims(ARCH, "medium", 0.6).claims(SRE, "high", 0.7).passes(IMPL)
    p.challenges(ARCH).challenges(SRE, objection(SRE, ARCH, "support"))
    assert p.asked() == [(GENERAL, "words")]
    p.expire()
    assert p.lead == SRE and p.asked() == [(SRE, "work")], "its turn is withdrawn"
    assert p.consensus["how"] == "explicit" and p.told()[0]["ok"], "what was declared is enough to agree"
    assert "stand as declared, no model worded them: the coordination took longer than it may" in p.warnings


def test_coordination_timeout_in_intake() -> None:
    """Exceeds time budget: nobody is matched yet"""
    p = Play({"coordination_s": 1})
    p.expire()
    assert p.last("task")["unmatched"] and p.asked() == []
    p.claims(IMPL, confidence=0.3, spec=spec(IMPL)).claims(SRE, confidence=0.45, spec=spec(SRE))
    p.expire()
    assert p.lead == SRE and p.consensus["how"] == "degraded" and p.asked() == [(SRE, "work")]
    assert p.excluded() == {IMPL: "the task's words fit it less"} and not p.told()[0]["ok"]


def test_the_matcher_fails() -> None:
    """General-purpose mode, and a failure of coordination"""
    p = Play()
    p.fail("helper")
    p.expire()
    assert p.lead == GENERAL and "could not be matched: model unreachable" in p.warnings
    (told,) = p.told()
    assert told == {
        "session": "s1", "ok": False, "why": "the task could not be matched: model unreachable", "counts": True,
    }  # fmt: skip
    p = Play(experts=(SRE,))
    p.fail("helper")
    p.expire()
    assert p.stop["reason"] == "nobody" and not p.told()[0]["ok"]


def review(p: Play, *verdicts: Review) -> Play:
    for verdict in verdicts:
        p.reply(IMPL, done())
        p.reply(AUDITOR, verdict)
    return p


def test_review_loop_stuck() -> None:
    """> 3 iterations: Emit with warning, request human review"""
    p = review(Play().match(INSTANT), REVISE, REVISE, REVISE)
    assert p.asked() == [(IMPL, "work")], "three revisions are no loop yet"
    review(p, REVISE)
    item = waiting(p)
    assert (item["kind"], item["choices"], item["default"]) == ("review_limit", ["emit", "revise", "reject"], "emit")
    p.expire()
    assert p.stop["reason"] == "review_limit" and not p.stop["converged"] and p.result.status == "finished"
    assert "it ended although reviews still ask for a revision" in p.outcome["warnings"][-1]
    assert p.outcome["answer"] == "In full: It is done." and p.outcome["items"][0]["author"] == ""


def test_invalid_output() -> None:
    """Schema validation fails: Retry once, then escalate to human"""
    p = Play().match({SRE: 0.6, IMPL: 0.5}).claims(SRE).claims(IMPL, "medium")
    p.reply(SRE, {"outcome": "fine"})
    assert p.turn(SRE).ask.attempt == 2 and "the reply is not what was asked" in p.turn(SRE).ask.error
    p.reply(SRE, {"outcome": "fine"})
    item = waiting(p)
    assert (item["kind"], item["choices"], item["default"]) == ("invalid", [IMPL, GENERAL, "give up"], IMPL)
    p.expire()
    assert p.asked() == [(IMPL, "work")] and p.last("handoff")["to_agent"] == IMPL


def test_a_lead_that_is_gone_is_followed_by_the_next() -> None:
    """No row of 9.1's: there is no output to dispute, and a human is asked only where nobody else is left."""
    p = Play().match({SRE: 0.6, IMPL: 0.5}).claims(SRE).claims(IMPL, "medium")
    p.reply(SRE, wants(ARCH, folder=artifact(1)))
    p.reply(ARCH, helps())
    p.vanish(SRE)
    assert p.asked() == [(IMPL, "work")] and not p.posts("item"), "who claimed it, at once"
    assert p.brief(IMPL)["folder"] == artifact(1).id and "its worker is gone" in p.brief(IMPL)["handoff"]
    assert p.last("handoff")["to_agent"] == IMPL and "its worker is gone" in p.warnings
    p.vanish(IMPL)
    assert p.asked() == [(GENERAL, "work")], "nobody who claimed it is left"
    p.vanish(GENERAL)
    item = waiting(p)
    assert (item["kind"], item["choices"], item["default"]) == ("invalid", [GENERAL, "give up"], "give up")
    p.decide("1", GENERAL, "It is back.")
    assert p.asked() == [(GENERAL, "work")] and p.session.inner.overrides == 0
    p.reply(GENERAL, done())
    p.approve()
    assert p.stop["reason"] == "reviewed"
    led = [(r["lead"], r["outcome"]) for r in p.result.rounds]
    wanted = [(SRE, "request_support"), *((x, "missed") for x in (SRE, IMPL, GENERAL)), (GENERAL, "done")]
    assert led == wanted


def test_support_and_reviewers_that_are_gone() -> None:
    """The lead goes on without; who is there gives the verdict."""
    p = Play().working()
    p.reply(SRE, wants(IMPL))
    p.vanish(IMPL)
    assert p.asked() == [(SRE, "work")] and "its worker is gone" in p.brief(SRE)["supported"][0]["output"]
    p.reply(SRE, done())
    assert p.asked() == [(AUDITOR, "review")]
    p.vanish(AUDITOR)
    assert p.stop["reason"] == "unreviewed"


# ---------------------------------------------------------------- 9.2


def test_degraded_mode_skips_coordination() -> None:
    """Degraded mode: skip coordination, use keyword-based expert selection"""
    p = Play(degraded=True)
    assert p.brief("helper")["keyword"] is True
    p.match({SRE: 0.3, ARCH: 0.3, IMPL: 0.15})
    assert p.lead == ARCH and p.consensus["how"] == "degraded", "ties by priority"
    assert p.last("task")["degraded"] and p.last("task")["claims"] == "none" and not p.posts("claims")


@pytest.mark.parametrize(
    ("settings", "counts"),
    [
        ({}, True),
        ({"coordination_s": 30, "claim_window_s": 5, "wording": "never"}, True),
        ({"coordination_s": 9.9}, False),
        ({"claim_window_s": 0.5}, False),
        ({"max_output_tokens": 20}, False),
        ({"wording": "standard"}, False),
        ({"ask_below": 1.0}, False),
    ],
)
def test_a_failure_that_the_askers_own_settings_may_have_brought_about_is_marked(
    settings: dict[str, Any], counts: bool
) -> None:
    p = Play(settings)
    p.fail("helper")
    p.expire()
    (told,) = p.told()
    assert (told["ok"], told["counts"]) == (False, counts)


# ---------------------------------------------------------------- 9.3


def test_a_human_names_the_expert_beforehand() -> None:
    """User explicitly requests different expert"""
    p = Play({"expert": QA}).match({SRE: 0.95})
    assert p.lead == QA and p.consensus["how"] == "override" and p.last("task")["override"] == QA
    assert p.session.inner.overrides == 1
    p = Play({"expert": QA})
    p.fail("helper")
    assert p.lead == QA and "could not be matched" in p.warnings


@pytest.mark.parametrize("phase", ["claiming", "challenging", "working", "supporting", "reviewing", "waiting"])
def test_a_human_requests_another_expert_at_any_time(phase: str) -> None:
    """User explicitly requests different expert"""
    p = Play().match({SRE: 0.6, IMPL: 0.55})
    if phase != "claiming":
        p.claims(SRE).claims(IMPL)
    if phase in ("working", "supporting", "reviewing", "waiting"):
        p.challenges(SRE).challenges(IMPL)
    last: Any = {"supporting": wants(ARCH), "reviewing": done(), "waiting": blocked()}
    if phase in last:
        p.reply(SRE, last[phase])
    assert p.phase == phase
    p.decide("expert", QA, "She knows it.")
    assert p.asked() == [(QA, "work")] and not p.session.windows and p.session.inner.overrides == 1
    if phase in ("claiming", "challenging"):
        assert p.consensus["how"] == "human" and p.consensus["rationale"] == "She knows it."
    else:
        assert (p.last("handoff")["from_agent"], p.last("handoff")["reason"]) == (SRE, "She knows it.")


def test_an_answer_must_be_one_of_the_choices_and_decides() -> None:
    """Review loop exceeds maximum iterations"""
    p = review(Play({"max_reviews": 0}).match(INSTANT), REVISE)
    with pytest.raises(Exception, match="choice: got 'maybe'; item 1 has emit, revise, reject"):
        p.decide("1", "maybe")
    with pytest.raises(Exception, match="item '2': open is item '1'"):
        p.decide("2", "emit")
    p.decide("1", "revise", "Only the leak.")
    assert p.brief(IMPL)["advice"] == "Only the leak."
    with pytest.raises(Exception, match="item '1': it is closed"):
        p.decide("1", "emit")
    p = review(Play({"max_reviews": 0}).match(INSTANT), REVISE)
    p.decide("1", "reject", "Not like this.")
    assert p.stop["reason"] == "rejected" and p.result.status == "failed"
    assert (p.certificate["why"], p.certificate["by"]) == ("Not like this.", "client")


def conflict() -> Play:
    p = Play().match({SRE: 0.6, IMPL: 0.6}).claims(SRE).claims(IMPL)
    return p.challenges(SRE, objection(SRE, IMPL, "exclude")).challenges(IMPL, objection(IMPL, SRE, "exclude"))


def test_coordination_produces_conflicting_assignments() -> None:
    """Coordination produces conflicting assignments: a human decides, and the most confident is the default"""
    p = conflict()
    item = waiting(p)
    assert (item["kind"], item["choices"], item["default"]) == ("conflict", [IMPL, SRE], IMPL)
    assert p.posts("item", "inbox") and p.consensus["conflict"]
    assert item["deadline_ns"] == p.now_ns + 300 * 10**9 and p.session.windows == {"item 1": item["deadline_ns"]}
    assert [n.severity for n in p.commands(log.Notify)] == ["warning"], "people are called"
    p.decide("1", SRE)
    assert p.asked() == [(SRE, "work")] and p.consensus["how"] == "human" and p.session.inner.overrides == 1
    assert p.last("answered")["author"] == "client"


def test_a_conflict_that_nobody_settles() -> None:
    """Coordination produces conflicting assignments"""
    p = conflict()
    p.expire()
    assert p.asked() == [(IMPL, "work")] and "nobody settled it" in p.warnings
    assert p.last("answered") == {"id": "1", "choice": IMPL, "note": "", "author": ""}
    p = conflict()
    p.decide("1", IMPL)
    assert p.asked() == [(IMPL, "work")] and p.session.inner.overrides == 0


@pytest.mark.parametrize(("choice", "lead"), [(SEC, SEC), (SRE, SRE), ("stop", "")])
def test_a_security_critical_task_with_low_confidence(choice: str, lead: str) -> None:
    """Security-critical task with low confidence"""
    p = Play().match({SRE: 0.45, SEC: 0.4}, security=True).claims(SRE, "high", 0.9).claims(SEC, "medium")
    item = waiting(p)
    assert item["kind"] == "security" and item["choices"][:2] == [SRE, SEC] and item["choices"][-1] == "stop"
    assert "confidence 0.45" in item["question"], "the lesser of the expert's own and the matcher's"
    p.decide("1", choice)
    if lead:
        assert p.asked() == [(lead, "work")]
    else:
        assert p.stop["reason"] == "rejected"
