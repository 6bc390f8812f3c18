"""What an expert's process says to a task and to claims, and how claims and challenges are worded."""

from typing import Any

import pytest

from parley.agents.protocols.madp.reactions import make_hear, own_score, vetoed
from parley.schemas.expert import ExpertSpec
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
from parley.schemas.routing import Candidate, Factors, Task
from parley.schemas.wire import decode, raw
from tests.agents.test_keyword_baseline import expert
from tests.protocols.madp.play import ARCH, AUDITOR, IMPL, QA, SRE, Play, objection, spec
from tests.protocols.madp.play import GENERAL as ANYBODY

FACTORS = Factors(
    candidate_count=1, confidence_variance=0.0, domain_overlap=False, action_clarity=True, scope_definition=True
)
DATA = expert(
    "data",
    ("database", "query", "SQL"),
    owns=("queries and their plans", "tables"),
    defers={"web": "pages and buttons"},
)
GENERAL = expert("anybody", ("anything",), category="general")


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
    assert heard(GENERAL, task("anything at all, about anything")) is None
    assert isinstance(heard(GENERAL, task("anything", ("anybody", 0.2))), Claim)


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
    assert p.phase == "wording" and p.asked() == [(ANYBODY, "words")], "of nobody who claims it"
    brief = p.brief(ANYBODY)
    assert [c["agent_id"] for c in brief["claims"]] == [SRE, ARCH] and len(brief["challenges"]) == 1
    said = Worded(
        claims=(words(SRE, "I measure.", "medium"), words(ARCH, "I draw.")),
        challenges=(objection(ARCH, SRE, "support", "It waits for the drawing."),),
    )
    p.reply(ANYBODY, said)
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
    p.reply(ANYBODY, said)
    assert p.turn(ANYBODY).ask.attempt == 2 and why in p.turn(ANYBODY).ask.error


def test_a_claim_of_no_candidate_counts_after_all_candidates_have_spoken() -> None:
    p = Play().match(TWO)
    for one in (SRE, IMPL):
        p.speak(one, "claims", "pass", {"agent_id": one})
    assert p.phase == "claiming" and p.last("task")["everyone"] is True
    p.claims(AUDITOR, "high", 0.9, spec=spec(AUDITOR))
    assert p.lead == AUDITOR
