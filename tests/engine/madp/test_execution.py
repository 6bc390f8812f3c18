"""The work itself on the real bus: support, a handoff and reviews in a loop, artifacts, long results."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parley.agents.tools.folder import archive, unpack_archive
from parley.bus import artifacts
from tests.protocols.madp.play import (
    APPROVED,
    AUDITOR,
    EXPERTS,
    IMPL,
    QA,
    REVISE,
    SRE,
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
    kept = unpack_archive(await artifacts.get(crew.owner, "s1", work["results"]["id"]))
    text = kept[read["whole"]][0].decode()
    assert set(kept) == {read["whole"]} and text.startswith(read["result"]) and "line 00900" in text
