"""The work itself on the real bus: support, handoffs, reviews in a loop, artifacts, and sessions beneath a task."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parley.agents.models import make_model
from parley.agents.tools.folder import archive, unpacked
from parley.bus import artifacts
from parley.schemas import log
from parley.schemas.protocols.madp.work import Finding, Review
from tests.protocols.maci.simulate import example
from tests.protocols.madp.play import (
    APPROVED,
    AUDITOR,
    EXPERTS,
    IMPL,
    QA,
    REVISE,
    SRE,
    blocked,
    done,
    hands,
    helps,
    matched,
    spec,
    wants,
)
from tests.support.madp import Actor, Crew, lead_of
from tests.tools.support import DONE, Scripted, files_list, use

DEBATE = {"debater_1": "debater", "debater_2": "debater", "judge": "judge", "analyst": "analyst"}
ONE = matched({SRE: 0.95}, reviewers=[AUDITOR])
TWO = matched({SRE: 0.8, IMPL: 0.7}, reviewers=[AUDITOR, QA])
QUESTION, DOCUMENTS, OUTCOMES = example("off-topic")
DELIBERATION: dict[str, Any] = {
    "deliberation": "maci", "deliberation_settings": {"outcomes": OUTCOMES, "round_limit": 2},
}  # fmt: skip


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Crew]:
    """Seven experts and a debate's agents are enrolled; nobody is there yet."""
    async with Crew(tmp_path, (spec(x) for x in EXPERTS), DEBATE) as started:
        yield started


async def begun(crew: Crew, but: dict[str, Any], **more: Any) -> dict[str, Actor]:
    moderator = await crew.moderator()
    models = await crew.experts(*but)
    for x, model in but.items():
        await crew.expert(x, model, **more)
    await crew.know(moderator)
    return models


async def test_support_a_handoff_and_two_loops_of_review_in_one_run(crew: Crew) -> None:
    sre = Actor(work=[
        wants(IMPL, "Name the slow queries."),
        hands(IMPL, "The bottleneck is found.", completed=("profiling",), remaining=("the cache",)),
    ])  # fmt: skip
    impl = Actor(work=[done("First."), done("Second."), done("Third.")], support=[helps("q1 and q2")])
    auditor = Actor(review=[REVISE, REVISE, APPROVED])
    models = await begun(crew, {SRE: sre, IMPL: impl, AUDITOR: auditor})
    await crew.helper(TWO)
    await crew.task("s1", "Make it fast")
    result = await crew.result("s1")
    outcome = result["outcome"]
    assert result["stop"]["reason"] == "reviewed" and lead_of(result) == IMPL
    assert (outcome["reviews"], outcome["revisions"], outcome["answer"]) == (3, 2, "In full: Third.")
    assert [(r["lead"], r["outcome"]) for r in result["rounds"]] == [
        (SRE, "request_support"), (SRE, "handoff"), (IMPL, "done"), (IMPL, "done"), (IMPL, "done"),
    ]  # fmt: skip
    (given,) = sre.briefs("work")[1].supported
    assert (given.agent_id, given.sub_task, given.output) == (IMPL, "Name the slow queries.", "In full: q1 and q2")
    (asked,) = impl.briefs("support")
    assert (asked.lead, asked.sub_task) == (SRE, "Name the slow queries.")
    first, second, third = impl.briefs("work")
    assert first.handoff == "sre: The bottleneck is found." and first.responsibility == "the cache"
    assert first.state.completed == ("profiling",) and first.state.remaining == ("the cache",)
    assert (first.findings, first.previous) == ((), "")
    assert [f.description for f in second.findings] == ["It leaks."] and "First." in second.previous
    assert "Second." in third.previous
    assert [b.iteration for b in auditor.briefs("review")] == [1, 2, 3]
    assert [b.findings == () for b in auditor.briefs("review")] == [True, False, False]
    assert models[QA].kinds() == [], "at quick depth one reviews"
    assert [p.kind for p in await crew.posts("s1", "public")] == [
        "task", "claims", "consensus", "work", "support", "work", "handoff", "work", "review", "work", "review", "work",
        "review",
    ]  # fmt: skip


async def test_what_names_nobody_is_said_back_and_nothing_of_it_is_done(crew: Crew) -> None:
    """A handoff to nobody, support of oneself, more than allowed: the model is told whom there is, and asked again."""
    sre = Actor(work=[hands("nobody"), wants(IMPL), wants(SRE), done(), hands(IMPL), done()])
    await begun(crew, {SRE: sre})
    await crew.helper(ONE)
    await crew.task("s1")
    assert (await crew.result("s1"))["stop"]["reason"] == "reviewed"
    assert [p.kind for p in await crew.posts("s1", "public")] == [
        "task", "consensus", "work", "support", "work", "review",
    ]  # fmt: skip
    await crew.task("s2", max_handoffs=0)
    result = await crew.result("s2")
    assert lead_of(result) == SRE and result["outcome"]["handoffs"] == []
    errors = [s.error for s in sre.shown]
    known = f"who may be asked: generalist, {AUDITOR}, {IMPL}, "
    assert f"work.handoff.to_agent: got 'nobody': there is no such expert; {known}" in errors[1]
    assert f"work.support.agent_id: got 'sre': that is yourself; {known}" in errors[3]
    assert "work.handoff: this task had 0 handoffs, allowed are at most 0" in errors[5]
    assert [errors[i] for i in (0, 2, 4)] == [""] * 3


# ---------------------------------------------------------------- artifacts


async def test_a_long_result_is_kept_whole_beside_the_record(crew: Crew) -> None:
    long = "".join(f"line {n:05d}\n" for n in range(1, 901))
    lead = Scripted(
        use(("read_file", {"path": "short.txt"})), use(("read_file", {"path": "long.txt"})),
        use(("write_file", {"path": "b.txt", "content": "b"})), DONE,
    )  # fmt: skip
    await begun(crew, {SRE: lead}, tools=files_list())
    await crew.helper(ONE)
    files = {"short.txt": (b"short\n", False), "long.txt": (long.encode(), False)}
    folder = await artifacts.put(crew.owner, "s1", archive(files))
    await crew.task("s1", "Read it", folder=folder, item_s=1)
    assert (await crew.result("s1", 50))["stop"]["reason"] == "unchecked"
    (work,) = await crew.kind("s1", "work")
    short, read, wrote = work["calls"]
    assert "whole" not in short and "whole" not in wrote
    assert len(read["result"]) == 2_000 and read["whole"] == "002-files.read_file.txt"
    kept = unpacked(await artifacts.get(crew.owner, "s1", work["results"]["id"]))
    text = kept[read["whole"]][0].decode()
    assert set(kept) == {read["whole"]} and text.startswith(read["result"]) and "line 00900" in text


async def test_a_folder_that_nobody_stored_ends_the_turn_with_words(crew: Crew) -> None:
    await begun(crew, {}, tools=files_list())
    await crew.helper(ONE)
    await crew.task("s1", folder="0" * 64, item_s=1.0)
    result = await crew.result("s1")
    assert result["stop"]["reason"] == "rejected" and "0000" in result["outcome"]["warnings"][0]


# ---------------------------------------------------------------- sessions beneath


async def debaters(crew: Crew, stuck: bool = False) -> None:
    """Extractive ones, or ones that take half a minute over each word."""
    for queue in DEBATE:
        await crew.worker(queue, {"latency_s": 30.0}, model=None if stuck else make_model("extractive"))


async def test_a_debate_beneath_a_task_advises_its_lead(crew: Crew) -> None:
    """A lead that is blocked, and later a review that blocks: each is a MACI session, over the task's documents."""
    sre = Actor(work=[blocked(QUESTION), done("First."), done("Second.")])
    finding = Finding(severity="critical", description=QUESTION)
    await begun(crew, {SRE: sre, AUDITOR: Actor(review=[Review(verdict="blocked", findings=(finding,)), APPROVED])})
    await debaters(crew)
    await crew.helper(ONE)
    await crew.task("s1", request={"documents": DOCUMENTS, "budget": {"calls": 500, "seconds": 100}}, **DELIBERATION)
    result = await crew.result("s1", 40)
    assert result["stop"]["reason"] == "reviewed"
    told = await crew.kind("s1", "deliberation", least=4)
    (beneath, again) = told[0]["session"], told[2]["session"]
    assert [t["session"] for t in told] == [beneath, beneath, again, again] and beneath != again
    assert (told[1]["protocol"], told[1]["status"]) == ("maci", "finished")
    child = await crew.result(beneath)
    assert child["protocol"] == "maci" and child["outcome"]["answer"] in OUTCOMES
    advice = sre.briefs("work")[1].advice
    assert child["outcome"]["answer"] in advice and advice.startswith("A deliberation (maci, ")
    assert f"- critical: {QUESTION}" in (await crew.entries(again))[0].event.question  # type: ignore[union-attr]
    first = (await crew.entries(beneath))[0].event
    assert isinstance(first, log.Opened)
    assert (first.parent, first.author) == ("s1", "owner") and first.question.startswith(QUESTION)
    assert {d.name for d in first.documents} == {d.name for d in DOCUMENTS}
    assert first.budget.calls is not None and first.budget.calls < 500
    by_seat = result["usage"]["by_seat"]
    assert by_seat[f"session {beneath}"]["calls"] == child["usage"]["calls"] > 0


async def test_a_debate_that_would_be_refused_is_refused_with_its_task(crew: Crew) -> None:
    """MACI argues over documents, and this task has none."""
    await begun(crew, {})
    await crew.helper(ONE)
    fate = await crew.open("s1", question="Look at it", protocol="madp", settings=DELIBERATION)
    assert (fate.fate, fate.field) == ("refused", "madp.deliberation") and "evidence: got none" in fate.why
