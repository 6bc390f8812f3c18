"""What an expert's process says to a task and to claims, and how claims and challenges are worded."""

from typing import Any

import pytest

from parley.agents.protocols.madp.reactions import make_hear, own_score, vetoed
from parley.coordinator.table import Illegal
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


def post(kind: str, body: Any, *, session: str = "s1", seat: str = "") -> Post:
    return Post(
        session=session, channel="public", k=0, n=0, transition=1, at_ns=0, seat=seat, kind=kind, round=0,
        body=raw(body),
    )  # fmt: skip


def task(prompt: str, *named: tuple[str, float], claims: Any = "full", **given: Any) -> Post:
    return post("task", posted(prompt, *named, claims=claims, **given))


def posted(prompt: str, *named: tuple[str, float], claims: Any = "full", **given: Any) -> TaskPosted:
    found = tuple(Candidate(expert=name, relevance=value, confidence=value) for name, value in named)
    return TaskPosted(
        task=Task(prompt=prompt), depth="standard", candidates=found, factors=FACTORS, claims=claims, **given
    )


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


def objections(spec: ExpertSpec, prompt: str, *claims: Claim, **given: Any) -> Challenges | None:
    hear = make_hear(spec)
    if prompt:
        hear(task(prompt, (spec.id, 0.9)))
    speak = hear(post("claims", ClaimsPosted(claims=claims, **{"challenges": True, **given})))
    if speak is None:
        return None
    assert (speak.window, speak.kind) == ("challenges", "challenges")
    return decode(speak.body, Challenges)


def resolutions(found: Challenges | None) -> dict[str, str]:
    assert found is not None
    return {c.challenged_id: c.proposed_resolution for c in found.challenges}


def test_whoever_claims_what_is_its_own_and_is_less_sure_should_support() -> None:
    other = claimed("other", 0.5, "I know plans.")
    assert resolutions(objections(DATA, "plans of our queries", claimed("data", 0.9), other)) == {"other": "support"}


def test_whoever_claims_what_the_task_does_not_name_should_stay_out() -> None:
    other = claimed("other", 0.5, "I bake bread.")
    assert resolutions(objections(DATA, "plans of our queries", claimed("data", 0.9), other)) == {"other": "exclude"}
    # Another copy heard the task: without it nobody is said to have nothing to do with it.
    assert "exclude" not in resolutions(objections(DATA, "", claimed("data", 0.9), other)).values()


def test_to_whom_it_leaves_more_than_it_owns_should_lead() -> None:
    mine = claimed("data", 0.7, web="pages and buttons")
    found = resolutions(objections(DATA, "colour the buttons of all pages", mine, claimed("web", 0.8)))
    assert found == {"web": "lead"}
    found = resolutions(objections(DATA, "plans of queries behind one page", mine, claimed("web", 0.8)))
    assert found == {}


def test_who_is_as_sure_should_work_with_it_but_for_whom_leaves_it_its_part() -> None:
    mine = claimed("data", 0.7)
    assert resolutions(objections(DATA, "a query", mine, claimed("other", 0.75))) == {"other": "collaborate"}
    assert resolutions(objections(DATA, "a query", mine, claimed("other", 0.75, data="queries"))) == {}


def test_a_claimant_always_speaks_once_and_nobody_else_does() -> None:
    alone = objections(DATA, "a query", claimed("data", 0.9))
    assert alone == Challenges()
    assert objections(DATA, "a query", claimed("web", 0.9)) is None
    assert objections(DATA, "a query", claimed("data", 0.9), challenges=False) is None


def test_a_task_is_remembered_until_its_claims_are_heard() -> None:
    hear = make_hear(DATA)
    claims = ClaimsPosted(claims=(claimed("data", 0.9), claimed("other", 0.5, "I bake bread.")), challenges=True)
    hear(task("plans of our queries", ("data", 0.9)))
    first, again = hear(post("claims", claims)), hear(post("claims", claims))
    assert first is not None and again is not None
    assert resolutions(decode(first.body, Challenges)) == {"other": "exclude"}
    assert resolutions(decode(again.body, Challenges)) == {"other": "support"}  # by the claims alone


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


def test_a_claim_that_the_reply_leaves_out_stands_as_declared() -> None:
    p = argued()
    p.reply(ANYBODY, Worded(claims=(words(SRE, "I measure."),)))
    assert p.session.inner.claims[ARCH].claim == "systems-architect should lead." and p.lead == SRE
    assert not p.posts("challenges"), "it objects to nothing"


@pytest.mark.parametrize("how", ["failed", "late"])
def test_what_was_declared_stands_where_no_model_worded_it(how: str) -> None:
    p = argued(attempts=1)
    p.fail(ANYBODY) if how == "failed" else p.expire()
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
    p.reply(ANYBODY, said)
    assert p.turn(ANYBODY).ask.attempt == 2 and why in p.turn(ANYBODY).ask.error


# ---------------------------------------------------------------- who is heard


def test_a_claim_of_no_candidate_counts_after_all_candidates_have_spoken() -> None:
    p = Play().match(TWO)
    for one in (SRE, IMPL):
        p.speak(one, "claims", "pass", {"agent_id": one})
    assert p.phase == "claiming" and p.last("task")["everyone"] is True
    p.claims(AUDITOR, "high", 0.9, spec=spec(AUDITOR))
    assert p.lead == AUDITOR


def test_a_pass_is_said_once_and_by_who_was_announced() -> None:
    p = Play(experts=(SRE, IMPL, QA, ANYBODY)).match(TWO, reviewers=())
    p.speak(QA, "claims", "pass", {"agent_id": QA})
    with pytest.raises(Illegal, match="qa-engineer has spoken already"):
        p.speak(QA, "claims", "pass", {"agent_id": QA})
    with pytest.raises(Illegal, match="was not announced"):
        p.speak(ARCH, "claims", "pass", {"agent_id": ARCH})
