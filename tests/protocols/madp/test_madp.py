"""MADP on the machine: claims, challenges, work, support, handoff, review, humans, and everything that goes wrong; and
what an expert's process says to a task and to claims."""

from typing import Any

import msgspec
import pytest

from parley.agents.protocols.madp.reactions import make_hear, own_score, vetoed
from parley.coordinator.machine import Illegal
from parley.schemas.expert import ExpertSpec, pin
from parley.schemas.post import Post
from parley.schemas.protocols.madp.messages import (
    Challenges,
    Claim,
    ClaimsPosted,
    Pass,
    TaskPosted,
    Worded,
    WordedClaim,
)
from parley.schemas.protocols.madp.work import Support
from parley.schemas.routing import Candidate, Factors, Task
from parley.schemas.session import Budget
from parley.schemas.turn import Usage
from parley.schemas.wire import decode, encode, raw
from tests.agents.test_keyword_baseline import expert
from tests.protocols.madp.play import (
    APPROVED,
    ARCH,
    AUDITOR,
    BLOCKED,
    GENERAL,
    IMPL,
    PLACED,
    QA,
    REVISE,
    SEC,
    SRE,
    Play,
    artifact,
    blocked,
    claim,
    done,
    hands,
    helps,
    matched,
    objection,
    spec,
    wants,
)

THREE = {SRE: 0.7, ARCH: 0.6, IMPL: 0.5}
TWO = {SRE: 0.6, IMPL: 0.5}
"""Standard: neither is above 0.7."""


def extended(**settings: Any) -> Play:
    return Play(settings).match(THREE, overlap=True, clear=False)


# ---------------------------------------------------------------- opening and intake


def test_without_a_helper_a_security_expert_that_is_not_sure_is_confirmed_by_a_human() -> None:
    p = Play(there=()).claims(SEC, confidence=0.3, spec=spec(SEC))
    p.expire()
    assert p.phase == "waiting" and p.last("item")["kind"] == "security"


def test_of_much_support_the_newest_is_shown() -> None:
    p = Play({"max_support": 50}).working()
    for n in range(40):
        p.reply(SRE, wants(IMPL))
        p.reply(IMPL, Support(summary=f"s{n}", output="x" * 60_000))
    assert len(encode(p.brief(SRE))) < 2_200_000 and len(p.brief(SRE)["supported"]) == 34
    p.reply(SRE, done())
    p.approve()
    assert len(p.outcome["supported"]) == 40 and len(p.posts("closed")[0].body) < 100_000


# ---------------------------------------------------------------- claims


def test_an_announced_expert_claims_with_the_specification_it_was_announced_with() -> None:
    p = Play().match(TWO)
    with pytest.raises(Illegal, match="needs its specification"):
        p.claims(ARCH)
    with pytest.raises(Illegal, match=f"another specification.*{pin(spec(ARCH))}"):
        p.claims(ARCH, spec=msgspec.structs.replace(spec(ARCH), priority=1, version="9"))
    with pytest.raises(Illegal, match="needs its specification"):
        p.claims(ARCH, spec=spec(SRE))
    p.claims(ARCH, spec=spec(ARCH))
    assert p.session.inner.claims[ARCH].spec is None and p.session.inner.profiles[ARCH].priority == 1


def test_nobody_speaks_for_another() -> None:
    p = Play().match(TWO)
    with pytest.raises(Illegal, match="agent_id: got 'sre', but expert_implementation-engineer speaks"):
        p.speak(IMPL, "claims", "claim", claim(SRE))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"defers_to": (SRE,)}, "defers_to: got 'sre'; an expert does not name itself"),
        ({"requires": (SRE,)}, "requires: got 'sre'; an expert does not name itself"),
        ({"requires": ("nobody",)}, "requires: got nobody; experts that are there: generalist"),
        ({"requires": (IMPL, IMPL)}, "each expert is named once"),
        ({"topics": {IMPL: "x"}}, "topics: got implementation-engineer"),
    ],
)
def test_what_a_claim_says_of_others_is_checked(more: Any, why: str) -> None:
    with pytest.raises(Illegal, match=why):
        Play().match(TWO).claims(SRE, **more)


def test_the_window_closes_when_all_candidates_have_spoken_or_at_its_deadline() -> None:
    p = Play().match(TWO).claims(SRE)
    assert "claims" in p.session.windows
    p.claims(IMPL, "medium")
    assert not p.session.windows and p.phase == "working"
    p = Play({"claim_window_s": 2}).match(TWO).claims(SRE)
    assert p.session.windows["claims"] == p.now_ns - 10_000_000 + 2_000_000_000
    p.expire()
    assert p.lead == SRE and p.excluded() == {IMPL: "it did not speak in time"}
    assert p.last("claims")["silent"] == [IMPL]
    with pytest.raises(Illegal, match="window claims is not open"):
        p.claims(IMPL)


# ---------------------------------------------------------------- challenges


def contested(**settings: Any) -> Play:
    return extended(**settings).claims(SRE, "high").claims(ARCH, "medium").passes(IMPL)


def test_the_window_of_challenges_closes_when_all_who_claimed_have_spoken() -> None:
    p = contested().challenges(SRE)
    assert p.phase == "challenging"
    p.challenges(ARCH, objection(ARCH, SRE, "support"))
    assert p.lead == SRE and "does not hold" in p.consensus["notes"][0]
    assert p.last("challenges")["challenges"][0]["proposed_resolution"] == "support"


def test_who_says_nothing_objects_to_nothing() -> None:
    p = contested().challenges(SRE, objection(SRE, ARCH, "exclude", "No structure is touched."))
    p.expire()
    assert p.lead == SRE and p.excluded()[ARCH] == "No structure is touched."


@pytest.mark.parametrize(
    ("by", "challenges", "why"),
    [
        (IMPL, (), "expert_implementation-engineer claimed nothing; who claimed: sre, systems-architect"),
        (SRE, (objection(ARCH, SRE, "exclude"),), "challenger_id: got 'systems-architect'; you are sre"),
        (SRE, (objection(SRE, SRE, "exclude"),), "challenged_id: got 'sre'; who may be challenged: systems-arch"),
        (SRE, (objection(SRE, IMPL, "exclude"),), "challenged_id: got 'implementation-engineer'"),
        (SRE, (objection(SRE, ARCH, "lead"), objection(SRE, ARCH, "exclude")), "systems-architect twice"),
    ],
)
def test_challenges_are_checked(by: str, challenges: Any, why: str) -> None:
    with pytest.raises(Illegal, match=why):
        contested().challenges(by, *challenges)


# ---------------------------------------------------------------- work, support, handoff


def test_support_never_overwrites_the_accepted_folder() -> None:
    p = Play({"folder": "f" * 64}).working()
    assert p.brief(SRE)["folder"] == "f" * 64
    p.reply(SRE, wants(IMPL, folder=artifact(1)))
    assert p.brief(IMPL)["folder"] == artifact(1).id
    p.reply(IMPL, helps(folder=artifact(2)))
    assert p.brief(SRE)["folder"] == artifact(1).id, "as the lead left it"
    assert p.brief(SRE)["supported"][0]["artifacts"][0]["id"] == artifact(2).id
    p.reply(SRE, done(folder=artifact(3)))
    p.approve()
    assert p.outcome["work"]["folder"] == artifact(3).id


def head(path: str, *lines: str) -> str:
    return "".join(f"{line}\n" for line in (f"diff --git a/{path} b/{path}", *lines))


def test_changes_that_run_by_themselves_are_named_in_the_result() -> None:
    p = Play().working()
    harmless = [head(".github/x.yml", "+diff --git a/.envrc b/.envrc"), head("a/.husky"), head("lib/.envrc.md")]
    gone = head(".idea/x.xml", "deleted file mode 100644", "-x")
    runs = [head(".envrc", "new file mode 100644", "+ls"), head("sub/.Husky/pre commit", "+x")]
    runs += [head(".github/workflows/ci.yml", "+x"), head(".gitlab-ci.yml", "+x"), head("Jenkinsfile", "+x")]
    runs += [head("run.sh", "new file mode 100755", "+x"), head("tool", "old mode 100644", "new mode 100755")]
    runs += [head("less.sh", "old mode 100755", "new mode 100644"), head("said.md", "+new mode 100755")]
    p.reply(SRE, done(diff="".join([*harmless, gone, *runs]), folder=artifact(1)))
    named = [
        "files that run by themselves on a developer's machine: .envrc, sub/.Husky/pre commit",
        "files that CI runs: .github/workflows/ci.yml, .gitlab-ci.yml, Jenkinsfile",
        "files that may be executed: run.sh, tool",
    ]
    reviewer = next(seat for seat, kind in p.asked() if kind == "review")
    told = "\n".join(p.brief(reviewer)["evidence"])
    assert all(row in told for row in named), "reviewers are told"
    p.approve()
    assert p.outcome["warnings"] == [f"the changes hold {row}" for row in named]


def test_a_revision_that_takes_all_back_leaves_no_diff() -> None:
    p = Play({"folder": artifact(9).id}).working(reviewers=(AUDITOR,))
    p.reply(SRE, done(diff="--- a\n", folder=artifact(1)))
    p.reply(AUDITOR, PLACED)
    p.reply(SRE, done("As it was.", folder=artifact(9)))
    assert p.brief(AUDITOR)["diff"] == ""
    p.approve()
    assert p.outcome["work"]["diff"] == ""


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (wants(SRE), "work.support.agent_id: got 'sre': that is yourself; who may be asked: generalist"),
        (wants("nobody"), "work.support.agent_id: got 'nobody': there is no such expert"),
        (hands(SRE), "work.handoff.to_agent: got 'sre': that is yourself"),
        (hands("nobody"), "work.handoff.to_agent: got 'nobody': there is no such expert"),
        (hands(IMPL, completed=("x" * 1_001,)), "work.handoff.completed: an entry of 1,001 characters"),
        (done(folder=artifact(1, type="text/plain")), "work.folder.type: got 'text/plain'"),
        ({"outcome": "done", "summary": "x"}, "work.output: it is empty"),
        ({"outcome": "handoff", "summary": "x"}, "work.handoff"),
        ({"outcome": "blocked", "summary": "x"}, "work.blocked"),
    ],
)
def test_what_the_lead_replies_is_checked(body: Any, why: str) -> None:
    p = Play().working()
    p.reply(SRE, body)
    assert p.turn(SRE).ask.attempt == 2 and why in p.turn(SRE).ask.error


def test_out_of_time_one_that_spoke_leads_before_one_that_did_not() -> None:
    p = extended().claims(IMPL, "low", 0.1)  # the least confident, and the only one that spoke
    p.expire()
    assert p.session.inner.lead == IMPL
    p = extended().passes(SRE)
    p.expire()
    assert p.session.inner.lead == ARCH, "of those that are silent the most confident; not who passed"
    p = extended()
    p.expire()
    assert p.session.inner.lead == SRE


def test_the_one_that_handed_over_is_there_for_support() -> None:
    p = Play().match(TWO).claims(SRE).claims(IMPL, "medium")
    p.reply(SRE, hands(IMPL))
    assert [a["agent_id"] for a in p.brief(IMPL)["team"]] == [SRE]
    assert p.session.inner.lead == IMPL


# ---------------------------------------------------------------- review


@pytest.mark.parametrize(
    ("match", "reviewer"), [({AUDITOR: 0.95}, GENERAL), ({AUDITOR: 0.95, SRE: 0.3}, SRE), ({AUDITOR: 0.9, QA: 0.3}, QA)]
)
def test_where_the_only_reviewer_leads_another_reviews(match: dict[str, float], reviewer: str) -> None:
    """Another that the task called, and at last the expert for what nobody takes."""
    p = Play(settings={"expert": AUDITOR}).match(match, reviewers=(AUDITOR,))
    p.reply(AUDITOR, done())
    assert p.asked() == [(reviewer, "review")]


@pytest.mark.parametrize(("match", "n"), [({SRE: 0.95}, 1), ({SRE: 0.8}, 1), (TWO, 2), (THREE, 3)])
def test_how_many_review_goes_by_the_depth(match: dict[str, float], n: int) -> None:
    p = Play().match(match, overlap=len(match) > 2)
    for one in match if len(match) > 1 or p.phase == "claiming" else ():
        p.claims(one) if one == SRE else p.passes(one)
    p.reply(SRE, done())
    assert len(p.asked()) == n


def test_one_that_wants_a_revision_is_enough() -> None:
    p = extended().claims(SRE).passes(ARCH).passes(IMPL)
    p.reply(SRE, done())
    p.reply(AUDITOR, APPROVED)
    p.reply(QA, REVISE)
    p.reply(SEC, APPROVED)
    assert p.asked() == [(SRE, "work")]
    assert p.brief(SRE)["findings"] == [
        {"severity": "major", "description": "It leaks.", "location": "", "suggested_fix": ""}
    ]
    assert "In full: It is done." in p.brief(SRE)["previous"]


def test_a_reviewer_without_a_verdict_does_not_count() -> None:
    p = Play().match(TWO).claims(SRE).passes(IMPL)
    p.reply(SRE, done())
    p.fail(AUDITOR)
    p.reply(QA, APPROVED)
    assert p.stop["reason"] == "reviewed" and p.stop["certificate"]["verdicts"] == {QA: "approved"}
    assert p.result.rounds[-1]["no_verdict"] == [AUDITOR]


# ---------------------------------------------------------------- what blocks


def test_what_blocks_is_asked_three_times_at_most() -> None:
    p = Play().working()
    for n in "123":
        p.reply(SRE, blocked())
        p.decide(n, "whatever")
    p.reply(SRE, blocked())
    assert "had 3 questions that block" in p.turn(SRE).ask.error


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"answer": "Postgres", "reasoning": "It is there."}, "Postgres\nIt is there."),
        ({"winner": "pro", "review": "Pro had the better case."}, "pro\nPro had the better case."),
    ],
)
def test_what_a_deliberation_came_to_is_advice(outcome: Any, words: str) -> None:
    p = Play({"deliberation": "maci"}).working()
    p.reply(SRE, blocked())
    p.child_ends(outcome=outcome)
    assert p.brief(SRE)["advice"] == f"A deliberation (maci, plateau) came to this:\n{words}"
    assert [b["session"] for b in p.bodies("deliberation")] == ["s1-c2", "s1-c2"]


# ---------------------------------------------------------------- budgets, cancel, replay


def test_tokens_are_counted_by_phase() -> None:
    used = Usage(input_tokens=10, output_tokens=1, calls=1)
    p = Play(metered=True, helper_metered=True)
    p.reply("helper", matched(THREE, overlap=True), used)
    p.claims(SRE).claims(ARCH, "medium").passes(IMPL).challenges(SRE, objection(SRE, ARCH, "support")).challenges(ARCH)
    p.reply(GENERAL, None, used, error="bad")
    p.reply(GENERAL, Worded(), used)
    p.reply(SRE, wants(IMPL), used)
    p.reply(IMPL, helps(), used)
    p.reply(SRE, done(), used)
    for seat, _ in p.asked():
        p.reply(seat, APPROVED, used)
    assert p.outcome["tokens"] == {"intake": 11, "wording": 22, "working": 22, "supporting": 11, "reviewing": 33}
    assert p.consensus["token_cost"] == 33


def test_the_end_of_the_budget_keeps_what_was_done() -> None:
    """A turn of work reserves 2 calls of 600, and so does a review."""
    p = Play({"max_input_tokens": 500, "max_output_tokens": 100}, metered=True, budget=Budget(tokens=2_000)).working()
    p.reply(SRE, done(), Usage(input_tokens=1_000, calls=1))
    assert p.stop["reason"] == "budget" and p.outcome["work"]["summary"] == "It is done."
    assert p.result.status == "finished" and not p.stop["converged"]


def test_a_blocked_review_is_put_to_a_human() -> None:
    p = Play().working()
    p.reply(SRE, done())
    p.reply(AUDITOR, BLOCKED)
    assert p.phase == "waiting" and "critical: Which law holds?" in p.last("item")["question"]
    p.decide("1", "The one of the land")
    brief = p.brief(SRE)
    assert "law of" not in brief["advice"] and "The one of the land" in brief["advice"]
    assert brief["findings"][0]["severity"] == "critical"


FACTORS = Factors(
    candidate_count=1, confidence_variance=0.0, domain_overlap=False, action_clarity=True, scope_definition=True
)
DATA = expert(
    "data",
    ("database", "query", "SQL"),
    owns=("queries and their plans", "tables"),
    defers={"web": "pages and buttons"},
)
ANY = expert("anybody", ("anything",), category="general")


def post(kind: str, body: Any) -> Post:
    return Post(
        session="s1", channel="public", k=0, n=0, transition=1, at_ns=0, kind=kind, round=0, body=raw(body)
    )  # fmt: skip


def task(prompt: str, *named: tuple[str, float], claims: Any = "full") -> Post:
    found = tuple(Candidate(expert=name, relevance=value, confidence=value) for name, value in named)
    posted = TaskPosted(task=Task(prompt=prompt), depth="standard", candidates=found, factors=FACTORS, claims=claims)
    return post("task", posted)


def heard(spec: ExpertSpec, said: Post) -> Claim | Pass | None:
    speak = make_hear(spec)(said)
    if speak is None:
        return None
    assert speak.window == "claims"
    return decode(speak.body, Claim) if speak.kind == "claim" else decode(speak.body, Pass)


def test_it_claims_what_intake_takes_it_for() -> None:
    said = heard(DATA, task("it is slow", ("data", 0.6)))
    assert isinstance(said, Claim) and said.agent_id == "data" and said.relevance == "medium"
    assert said.claim == "I own data." and said.confidence == 0.6 and said.spec is None


def test_it_overrules_intake_and_claims_although_it_is_no_candidate_and_sends_its_specification() -> None:
    said = heard(DATA, task("a query against the database", ("web", 0.9)))
    assert isinstance(said, Claim) and said.confidence == pytest.approx(0.6) and said.spec == DATA


def test_it_overrules_intake_and_passes_on_what_the_task_says_is_not_wanted() -> None:
    said = heard(DATA, task("do not touch the database, just fix the icon", ("data", 0.95)))
    assert isinstance(said, Pass) and "not to be done" in said.why
    assert heard(DATA, task("do not touch the database, just fix the icon")) is None
    assert vetoed(DATA, Task(prompt="leave the query alone"))
    assert not vetoed(DATA, Task(prompt="leave the query alone, but add a table to the database"))


def test_below_medium_a_candidate_passes_and_nobody_else_speaks() -> None:
    said = heard(DATA, task("hello", ("data", 0.4)))
    assert isinstance(said, Pass) and "0.40" in said.why and "0.50" in said.why
    assert heard(DATA, task("hello", ("web", 0.9))) is None


def test_a_full_claim_says_what_of_its_own_the_task_is_about_and_whom_it_leaves_what() -> None:
    said = heard(DATA, task("the query behind the button on the page", ("data", 0.9)))
    assert isinstance(said, Claim) and said.claim == "I own data. Here: queries and their plans."
    assert said.defers_to == ("web",) and said.topics == {"web": "pages and buttons"}
    brief = heard(DATA, task("the query behind the button", ("data", 0.9), claims="brief"))
    assert isinstance(brief, Claim) and brief.claim == "I own data."


def test_the_general_purpose_expert_speaks_only_when_it_is_named() -> None:
    assert heard(ANY, task("anything at all, about anything")) is None
    assert isinstance(heard(ANY, task("anything", ("anybody", 0.2))), Claim)


def test_the_own_score_goes_by_whole_words_in_any_inflection() -> None:
    assert own_score(DATA, Task(prompt="querying databases")) >= 0.6
    assert own_score(DATA, Task(prompt="an equery sqlish thing")) == 0.0
    assert own_score(DATA, Task(prompt="why is the plan of our queries bad")) == pytest.approx(0.7)


def claimed(name: str, confidence: float, text: str = "", **topics: str) -> Claim:
    return Claim(
        agent_id=name, claim=text or f"I own {name}.", relevance="high", confidence=confidence, topics=topics,
        defers_to=tuple(topics),
    )  # fmt: skip


def resolutions(prompt: str, *claims: Claim) -> dict[str, str]:
    """What DATA would have become of whom, once a task and these claims were heard."""
    hear = make_hear(DATA)
    hear(task(prompt, (DATA.id, 0.9)))
    return said(hear, *claims)


def said(hear: Any, *claims: Claim) -> dict[str, str]:
    speak = hear(post("claims", ClaimsPosted(claims=claims, challenges=True)))
    assert (speak.window, speak.kind) == ("challenges", "challenges")
    return {c.challenged_id: c.proposed_resolution for c in decode(speak.body, Challenges).challenges}


PLANS = "plans of our queries"
MINE, SURE = claimed("data", 0.7), claimed("data", 0.9)
LEAVES = claimed("data", 0.7, web="pages and buttons")


@pytest.mark.parametrize(
    ("prompt", "claims", "found"),
    [
        # Whoever claims what is its own and is less sure; what the task does not name.
        (PLANS, (SURE, claimed("other", 0.5, "I know plans.")), {"other": "support"}),
        (PLANS, (SURE, claimed("other", 0.5, "I bake bread.")), {"other": "exclude"}),
        # To whom it leaves more than it owns, and where it is not more.
        ("colour the buttons of all pages", (LEAVES, claimed("web", 0.8)), {"web": "lead"}),
        ("plans of queries behind one page", (LEAVES, claimed("web", 0.8)), {}),
        # Who is as sure, but for whom leaves it its part.
        ("a query", (MINE, claimed("other", 0.75)), {"other": "collaborate"}),
        ("a query", (MINE, claimed("other", 0.75, data="queries")), {}),
        ("a query", (SURE,), {}),
    ],
)
def test_what_it_would_have_become_of_the_others(prompt: str, claims: tuple[Claim, ...], found: Any) -> None:
    assert resolutions(prompt, *claims) == found


def test_a_task_is_remembered_until_its_claims_are_heard() -> None:
    """Without it nobody is said to have nothing to do with it. Who claims nothing says nothing."""
    hear, bread = make_hear(DATA), claimed("other", 0.5, "I bake bread.")
    hear(task(PLANS, ("data", 0.9)))
    assert said(hear, SURE, bread) == {"other": "exclude"}
    assert said(hear, SURE, bread) == {"other": "support"}  # by the claims alone
    assert hear(post("claims", ClaimsPosted(claims=(bread,), challenges=True))) is None
    assert hear(post("claims", ClaimsPosted(claims=(SURE, bread), challenges=False))) is None


def argued(**settings: Any) -> Play:
    """Two claim it, and one objects."""
    p = Play(settings, metered=True).match(THREE, overlap=True, clear=False)
    p.claims(SRE, "high", 0.6).claims(ARCH, "medium", 0.5).passes(IMPL)
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


def test_a_claim_of_no_candidate_counts_after_all_candidates_have_spoken() -> None:
    p = Play().match(TWO)
    for one in (SRE, IMPL):
        p.speak(one, "claims", "pass", {"agent_id": one})
    assert p.phase == "claiming" and p.last("task")["everyone"] is True
    p.claims(AUDITOR, "high", 0.9, spec=spec(AUDITOR))
    assert p.lead == AUDITOR
