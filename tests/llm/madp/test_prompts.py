"""What a model is shown of a claim and of a challenge: what it needs to word them, in its fences, and no more."""

import msgspec

from agents.context import Shown
from agents.models.prompting import Prompt, build
from agents.protocols import kind_of
from agents.protocols.madp import reactions
from agents.protocols.madp.expert_worker import laid_out
from agents.protocols.madp.kinds import ASKED, WorkReply
from parley.routing.route import specs_of
from schemas.protocols.madp.messages import ChallengeBrief, Claim, ClaimBrief, TaskPosted
from schemas.protocols.madp.work import WorkBrief
from schemas.routing import Candidate, Factors, Message, Task

SPECS = {s.id: s for s in specs_of(None)}
THREE = ("security-architect", "implementation-engineer", "qa-engineer")
TASK = Task(prompt="rotate the JWT signing keys")
EDGE = "0123456789abcdef"


def declared(expert: str) -> Claim:
    """As its process claims it."""
    post = TaskPosted(
        task=TASK, depth="extended",
        candidates=tuple(Candidate(expert=x, relevance=0.9, confidence=0.6) for x in THREE),
        factors=Factors(
            candidate_count=3, confidence_variance=0.0, domain_overlap=True, action_clarity=True, scope_definition=True
        ),
        claims="full", matcher="words", reword=True,
    )  # fmt: skip
    found = reactions.claim(SPECS[expert], post, metered=True)
    assert isinstance(found, Claim)
    return msgspec.structs.replace(found, reword=False)


CLAIMS = tuple(declared(x) for x in THREE)


def prompt(kind: str, expert: str, task: Task = TASK) -> Prompt:
    brief: ClaimBrief | ChallengeBrief = ChallengeBrief(task=task, expert=expert, claims=CLAIMS)
    if kind == "claim":
        brief = ClaimBrief(task=task, expert=expert, declared=declared(expert), candidates=THREE)
    shown = Shown(
        session="s", protocol="madp", question=task.prompt, seat=expert, role="expert", kind=kind, round=0,
        brief=brief, reply=ASKED[kind], expert=SPECS[expert],
    )  # fmt: skip
    return build(laid_out(shown), boundary=lambda: EDGE)


def user(found: Prompt) -> str:
    return found.messages[1]["content"]


def test_the_coordination_of_three_claimants_takes_so_many_tokens() -> None:
    """The figures of docs/madp.md, by our own estimate."""
    claims = [prompt("claim", x).input_tokens for x in THREE]
    challenges = [prompt("challenge", x).input_tokens for x in THREE]
    assert (round(sum(claims), -2), round(sum(challenges), -2)) == (2_900, 3_400)


def test_neither_triggers_nor_examples_are_shown() -> None:
    spec = SPECS["security-architect"]
    for kind in ("claim", "challenge"):
        text = user(prompt(kind, spec.id))
        assert all(x in text for x in (*spec.domain.owns, *spec.domain.defers.values()))
        assert not any(x in text for x in (*spec.triggers.examples, *spec.triggers.files))
        assert not any(x in text for x in ("triggers", "category", "priority"))


def test_who_works_is_told_what_it_leaves_to_whom_and_no_example_task() -> None:
    spec = SPECS["qa-engineer"]
    assert kind_of("madp", "work").prompt_spec is kind_of("madp", "review").prompt_spec is not None
    shown = Shown(
        session="s", protocol="madp", question=TASK.prompt, seat=spec.id, role="expert", kind="work", round=1,
        brief=WorkBrief(task=TASK, expert=spec.id, responsibility="x"), reply=WorkReply, expert=spec,
    )  # fmt: skip
    text = user(build(shown))
    assert all(x in text for x in (*spec.domain.owns, *spec.domain.defers.values(), *spec.deliberation.handoff_when))
    assert not any(x in text for x in (*spec.triggers.examples, *spec.triggers.files, "triggers"))


def test_everything_said_stands_in_its_fence() -> None:
    before = Message(role="user", text="said before")
    text = user(prompt("claim", "qa-engineer", Task(prompt="p", prior_conversation=(before,))))
    for what in ("question", "state of the debate", "post Earlier conversation"):
        assert f"[[BEGIN {EDGE} {what}]]" in text
    assert text.count(f"[[BEGIN {EDGE}") == text.count(f"[[END {EDGE}]]") == 3 and "said before" in text


def test_a_challenger_is_shown_who_claims_what() -> None:
    text = user(prompt("challenge", "qa-engineer"))
    assert all(f'"{c.agent_id}":{{"claim":' in text and c.claim in text for c in CLAIMS)
    assert '"you": "qa-engineer"' in text and "confidence" not in text
