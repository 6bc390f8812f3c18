"""What a model is shown of claims, challenges and work: what it needs, in its fences, and no more."""

from typing import Any

import msgspec
import pytest

from parley.agents.context import Shown, ToolLoop, Tools
from parley.agents.prompts.prompting import Prompt, build
from parley.agents.protocols.madp.kinds import STEPS, ReviewReply, SupportReply, WorkReply
from parley.agents.tools.client import Offered
from parley.routing import specs_of
from parley.schemas.expert import ExpertSpec
from parley.schemas.protocols.madp.work import (
    Assignment,
    Checked,
    Finding,
    ReviewBrief,
    SupportBrief,
    Supported,
    WorkBrief,
)
from parley.schemas.routing import Task

SPECS = {s.id: s for s in specs_of(None)}
THREE = ("security-architect", "implementation-engineer", "qa-engineer")
TASK = Task(prompt="rotate the JWT signing keys")
EDGE = "0123456789abcdef"


def user(found: Prompt) -> str:
    return str(found.messages[1]["content"])


def work(kind: str, spec: ExpertSpec, brief: Any, reply: Any) -> Prompt:
    shown = Shown(
        session="s", protocol="madp", question=TASK.prompt, seat=spec.id, role="expert", kind=kind, round=1,
        brief=brief, reply=reply, expert=spec,
    )  # fmt: skip
    return build(shown, boundary=lambda: EDGE)


def shown_to(spec: ExpertSpec) -> dict[str, Prompt]:
    review = ReviewBrief(task=TASK, expert=spec.id, lead="sre", iteration=1, summary="Done.", output="Done.")
    return {
        "work": work("work", spec, WorkBrief(task=TASK, expert=spec.id, responsibility="x"), WorkReply),
        "support": work(
            "support", spec, SupportBrief(task=TASK, expert=spec.id, lead="sre", sub_task="x"), SupportReply
        ),
        "review": work("review", spec, review, ReviewReply),
    }


@pytest.mark.parametrize("spec", SPECS.values(), ids=str)
def test_who_works_is_told_how_and_no_example_task(spec: ExpertSpec) -> None:
    for kind, found in shown_to(spec).items():
        text = user(found)
        assert all(x in text for x in (*spec.domain.owns, *spec.domain.defers.values(), spec.instructions))
        assert not any(x in text for x in (*spec.triggers.examples, "triggers"))
        assert all((x in text) is (kind == "review") for x in spec.checklist)


TEAM = tuple(Assignment(agent_id=x, responsibility=SPECS[x].deliberation.claim) for x in THREE)
FINDINGS = tuple(
    Finding(
        severity=severity, location="src/auth/limits.py:42",
        description="The limit is kept by one process, so that a second copy of the service starts from zero.",
        suggested_fix="Keep the count in the store that all copies share.",
    )
    for severity in ("critical", "major", "minor")
)  # fmt: skip


@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.id)
def test_a_prompt_without_documents_has_at_most_so_many_tokens(spec: ExpertSpec) -> None:
    """The figures of docs/experts.md. With a team: three experts by their claims, and all others by name."""
    others = tuple(x for x in SPECS if x not in (*THREE, spec.id))
    team = WorkBrief(task=TASK, expert=spec.id, responsibility=spec.deliberation.claim, team=TEAM, others=others)
    reviewed = msgspec.structs.replace(team, findings=FINDINGS)
    found = shown_to(spec) | {k: work("work", spec, b, WorkReply) for k, b in (("team", team), ("findings", reviewed))}
    most = {"work": 1_200, "support": 1_150, "review": 1_690, "team": 1_500, "findings": 1_770}
    assert {kind: prompt.input_tokens for kind, prompt in found.items() if prompt.input_tokens > most[kind]} == {}


CHECKS = (Checked(when="before", command="make test", exit=1, output="one fails"),)
OFFERED = (Offered(server="files", tool="read_file", description="", arguments={}),)


def with_tools(kind: str, brief: Any, runs: bool) -> str:
    tools = Tools(offered=OFFERED, calls_left=9, steps_left=5, runs=runs)
    shown = Shown(
        session="s", protocol="madp", question=TASK.prompt, seat="sre", role="expert", kind=kind, round=1, brief=brief,
        reply=STEPS[kind], expert=SPECS["sre"], tools=tools,
        steps=ToolLoop(step=STEPS[kind], end=STEPS[kind].ENDS_WITH, tools=tools),
    )  # fmt: skip
    return user(build(shown, boundary=lambda: EDGE, native=True))


@pytest.mark.parametrize(
    ("checks", "runs", "told"),
    [
        ((), True, "Run the tests before and after what you change."),
        (CHECKS, True, "What the check printed is here already: run it only once you have changed something."),
        ((), False, "Nothing is run without a tool that runs commands, whatever your specification asks"),
        (CHECKS, False, "Nothing is run without a tool that runs commands, whatever your specification asks"),
    ],
)
def test_who_works_is_told_to_run_only_what_can_be_run_and_was_not_run_yet(
    checks: tuple[Checked, ...], runs: bool, told: str
) -> None:
    brief = WorkBrief(task=TASK, expert="sre", responsibility="x", checks=checks)
    text = with_tools("work", brief, runs)
    sentences = ("Run the tests before", "What the check printed", "Nothing is run without")
    assert told in text and sum(x in text for x in sentences) == 1
    assert "files__read_file" in text and "files.read_file" not in text, "as the endpoint names it"
    bare = user(work("work", SPECS["sre"], brief, WorkReply))
    assert "look up, change and run nothing" in bare and not any(x in bare for x in sentences)


def test_of_others_findings_and_the_diff_is_said_only_where_they_are_there() -> None:
    alone = WorkBrief(task=TASK, expert="sre", responsibility="x")
    full = msgspec.structs.replace(
        alone, team=TEAM, findings=FINDINGS, supported=(Supported(agent_id="x", sub_task="y", output="z"),)
    )
    said = ("request_support", "handoff", "An expert's diff", "Answer each finding")
    bare, more = (user(work("work", SPECS["sre"], b, WorkReply)) for b in (alone, full))
    assert not any(x in bare for x in said) and all(x in more for x in said)
    assert "`diff`" in bare and "`diff`" not in with_tools("work", alone, True)


def test_a_reviewer_is_told_of_the_check_the_checklist_and_the_review_before_where_they_are_there() -> None:
    spec = SPECS["sre"]
    brief = ReviewBrief(task=TASK, expert="sre", lead="x", iteration=1, summary="Done.", output="Done.")
    again = msgspec.structs.replace(brief, iteration=2, findings=FINDINGS, checks=CHECKS)
    said = ("What the check printed", "findings of the review before were answered", '"review number": 2')
    bare, more = (user(work("review", spec, b, ReviewReply)) for b in (brief, again))
    assert not any(x in bare for x in said) and all(x in more for x in said)
    kept = msgspec.structs.replace(again, checks=(msgspec.structs.replace(CHECKS[0], restored=("unittest.py",)),))
    told = user(work("review", spec, kept, ReviewReply))
    assert "as they were before the work: unittest.py" in told and "decide what a check runs" in told
    listless = msgspec.structs.replace(spec, checklist=())
    assert "your checklist" in bare and "your checklist" not in user(work("review", listless, brief, ReviewReply))
    looks = with_tools("review", brief, True)
    assert "would have to see" in bare and "would have to see" not in looks
    assert "run commands in a copy" in looks and "run nothing" in with_tools("review", brief, False)


def test_a_reviewer_is_told_what_the_machine_knows_of_the_work() -> None:
    brief = ReviewBrief(
        task=TASK, expert="sre", lead="x", iteration=1, summary="I changed it; all pass.", output="Done.",
        performed=True, checks=(),
    )  # fmt: skip
    nothing = "nothing was done: no file is changed, and no tool was called with success in the last turn of work."

    def told(**more: Any) -> str:
        return user(work("review", SPECS["sre"], msgspec.structs.replace(brief, **more), ReviewReply))

    assert "the machine knows" not in told().lower()
    plan = told(performed=False)
    assert f"{nothing} A change that the lead tells of is not there" in plan
    assert f"{nothing} The check was not run after it." in told(performed=False, checks=CHECKS)
    loosened = Checked(when="after", command="make test", exit=0, restored=("a.cfg",), weakened=("removed: t.py::a",))
    kept = (
        "ran with these as they were before the work: a.cfg; it found what the work did about tests: removed: t.py::a"
    )
    assert f"- The check after the work {kept}." in told(checks=(loosened,))
    assert "- The check" not in told(checks=CHECKS)
