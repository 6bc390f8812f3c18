"""The work itself on the real bus: support, handoffs, reviews in a loop, artifacts, and sessions beneath a task."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parley.agents.models import make_model
from parley.agents.tools.folder import archive, unpacked
from parley.audit import audit
from parley.bus import artifacts
from parley.schemas import log
from parley.schemas.folders.history import NAME, Commit, History
from parley.schemas.protocols.madp.work import Finding, Review
from parley.schemas.wire import encode
from parley.settings import load as load_settings
from tests.protocols.maci.simulate import example
from tests.protocols.madp.play import (
    APPROVED,
    AUDITOR,
    EXPERTS,
    GENERAL,
    IMPL,
    PLACED,
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
from tests.support.engine import until
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


async def test_support_works_on_a_copy_and_never_overwrites(crew: Crew) -> None:
    """Lead and support change the same file with the tools that ship; each change is an artifact of its own."""
    start = archive({"app.py": (b"print('hi')\n", False)})
    ask = {"outcome": "request_support", "summary": "Help.", "support": {"agent_id": IMPL, "sub_task": "Say bye."}}
    lead = Scripted(
        use(("replace_in_file", {"path": "app.py", "old": "hi", "new": "hello"})), ask,
        use(("replace_in_file", {"path": "app.py", "old": "hello", "new": "hello!"})), DONE,
    )  # fmt: skip
    helper = Scripted(
        use(("replace_in_file", {"path": "app.py", "old": "hello", "new": "bye"})),
        {"outcome": "done", "summary": "Changed.", "output": "It says bye."},
    )
    await begun(crew, {SRE: lead, IMPL: helper}, tools=files_list())
    await crew.helper(ONE)
    id = await artifacts.put(crew.owner, "s1", start)
    await crew.task("s1", "Fix the greeting", folder=id, wording="never", item_s=1)
    result = await crew.result("s1", 40)
    works, (support,) = await crew.kind("s1", "work", least=2), await crew.kind("s1", "support")
    (theirs,) = support["artifacts"]
    mine = [w["folder"]["id"] for w in works]
    assert len({id, *mine, theirs["id"]}) == 4

    async def text(artifact: str) -> bytes:
        return unpacked(await artifacts.get(crew.owner, "s1", artifact))["app.py"][0]

    assert [await text(x) for x in (id, *mine, theirs["id"])] == [
        b"print('hi')\n", b"print('hello')\n", b"print('hello!')\n", b"print('bye')\n",
    ]  # fmt: skip
    assert result["outcome"]["work"]["folder"] == mine[-1]
    assert all(c["ok"] for w in works for c in w["calls"]), "each turn began with the copy that it counts on"


async def test_reviewer_and_result_have_what_both_leads_changed(crew: Crew) -> None:
    """A handoff, and then a revision that changes nothing: the diff is of the whole task throughout."""
    start = archive({"app.py": (b"print('hi')\n", False)})
    over = {"outcome": "handoff", "summary": "Yours.", "handoff": {"to_agent": IMPL, "reason": "It is yours."}}
    first = Scripted(use(("replace_in_file", {"path": "app.py", "old": "hi", "new": "hello"})), over)
    second = Scripted(use(("write_file", {"path": "b.txt", "content": "two\n"})), DONE)
    auditor = Actor(review=[PLACED, APPROVED])
    await begun(crew, {SRE: first, IMPL: second, AUDITOR: auditor}, tools=files_list())
    await crew.helper(ONE)
    id = await artifacts.put(crew.owner, "s1", start)
    await crew.task("s1", "Fix the greeting", folder=id, wording="never", item_s=1)
    result = await crew.result("s1", 40)
    assert result["stop"]["reason"] == "unchecked" and len(result["rounds"]) == 3
    seen = [b.diff for b in auditor.briefs("review")]
    for diff in (*seen, result["outcome"]["work"]["diff"]):
        assert "-print('hi')\n+print('hello')" in diff and "+two" in diff
    assert len(seen) == 2


async def test_a_tool_outside_its_folder_is_refused_and_the_work_goes_on(crew: Crew, tmp_path: Path) -> None:
    """The call's fault is in the log, in words that name the path; nothing outside is read or written."""
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    paths = ("../outside.txt", str(outside), "a/../../x")
    calls = [("write_file", {"path": p, "content": "x"}) for p in paths] + [("read_file", {"path": str(outside)})]
    await begun(crew, {SRE: Scripted(use(*calls), use(("nothing", {})), DONE)}, tools=files_list())
    await crew.helper(ONE)
    await crew.task("s1", "Leave the folder")
    result = await crew.result("s1", 40)
    (work,) = await crew.kind("s1", "work")
    assert [c["ok"] for c in work["calls"]] == [False] * 5
    for call, path in zip(work["calls"], (*paths, str(outside)), strict=False):
        assert path in call["result"] and "folder" in call["result"], call
    assert work["folder"] is None and work["diff"] == "" and outside.read_text() == "secret"
    assert result["stop"]["reason"] == "planned", "every call failed"


async def test_lead_support_and_reviewer_read_the_folders_history(crew: Crew) -> None:
    """Each takes it by the turn that names it, from the store that only moderators touch."""
    past = History(commits=(Commit(id="a" * 40, author="Ada", message="It said hi", files={"app.py": "b"}),))
    ask = {"outcome": "request_support", "summary": "Help.", "support": {"agent_id": IMPL, "sub_task": "Look."}}
    look = use(("history_log", {}), server="history")
    lead = Scripted(look, ask, use(("write_file", {"path": "b.txt", "content": "b"})), DONE)
    helper = Scripted(look, {"outcome": "done", "summary": "Looked.", "output": "It did."})
    auditor = Scripted(look, {"outcome": "done", "verdict": "approved", "findings": []})
    await begun(
        crew, {SRE: lead, IMPL: helper, AUDITOR: auditor}, tools=files_list().only({"history_log", "write_file"})
    )
    await crew.helper(ONE)
    folder = await artifacts.put(crew.owner, "s1", archive({"app.py": (b"print('hi')\n", False)}))
    kept = await artifacts.put(crew.owner, "s1", archive({NAME: (encode(past), False)}))
    await crew.task("s1", "Fix the greeting", folder=folder, history=kept, wording="never")
    result = await crew.result("s1", 60)
    assert result["stop"]["reason"] == "reviewed"
    works, (support,) = await crew.kind("s1", "work", least=2), await crew.kind("s1", "support")
    (review,) = await crew.kind("s1", "review")
    for said in (works[0], support, review):
        assert [(c["tool"], c["ok"]) for c in said["calls"]] == [("history_log", True)], said
        assert "Ada: It said hi" in said["calls"][0]["result"]


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
    await crew.task("s1", "Read it", folder=folder)
    assert (await crew.result("s1", 60))["stop"]["reason"] == "reviewed"
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


async def test_the_budget_of_a_task_reaches_the_debate_beneath(crew: Crew) -> None:
    """It ends by what was left; where that is too little for a round it is refused, and a human decides."""
    sre = Actor(work=[blocked(QUESTION), done()])
    await begun(crew, {SRE: sre})
    await debaters(crew)
    await crew.helper(ONE)
    request: dict[str, Any] = {"documents": DOCUMENTS, "budget": {"calls": 15}}
    await crew.task("s1", request=request, work_calls=1, **DELIBERATION)
    result = await crew.result("s1")
    (begin, ended) = await crew.kind("s1", "deliberation", least=2)
    assert (ended["status"], ended["reason"]) == ("finished", "budget")
    first = (await crew.entries(begin["session"]))[0].event
    assert isinstance(first, log.Opened) and first.budget.calls == 13, "the match and the work were paid already"
    assert result["usage"]["calls"] <= 15 and sre.briefs("work")[1].advice.startswith("A deliberation (maci, budget)")

    sre.said["work"] = [blocked(QUESTION), done()]
    await crew.task("s2", request=request | {"budget": {"calls": 8}}, work_calls=1, **DELIBERATION)
    item = await crew.item("s2")
    assert (item.kind, item.question) == ("blocked", QUESTION)
    (_, refused) = await crew.kind("s2", "deliberation", least=2)
    assert (refused["status"], refused["why"]) == ("refused", "budget.calls: limit 6, one round may take 8")
    warned = await crew.kind("s2", "warning")
    assert warned[0]["text"] == f"the deliberation (maci) came to nothing: {refused['why']}"
    await crew.decide("s2", item.id, "Whatever")
    assert (await crew.result("s2"))["stop"]["reason"] == "reviewed"


async def test_cancelling_a_task_cancels_the_debate_beneath(crew: Crew) -> None:
    await begun(crew, {SRE: Actor(work=[blocked(QUESTION)])})
    await debaters(crew, stuck=True)
    await crew.helper(ONE)
    await crew.task("s1", request={"documents": DOCUMENTS}, **DELIBERATION)
    (told,) = await crew.kind("s1", "deliberation")
    beneath = told["session"]

    async def asked() -> bool:
        return any(seat.startswith("debater") for seat, _ in await crew.asked(beneath))

    await until(asked)
    fate = await crew.cancel("s1", "enough")
    assert fate.fate == "taken"
    result, child = await crew.result("s1"), await crew.result(beneath)
    assert result["stop"]["reason"] == child["stop"]["reason"] == "cancelled"
    assert child["stop"]["certificate"]["by"] == "s1"


async def test_another_lead_ends_the_debate_that_the_first_one_wanted(crew: Crew, tmp_path: Path) -> None:
    """And who wanted that is found later, with all else that people did."""
    models = await begun(crew, {SRE: Actor(work=[blocked(QUESTION)])})
    await debaters(crew, stuck=True)
    await crew.helper(ONE)
    await crew.task("s1", request={"documents": DOCUMENTS}, **DELIBERATION)
    (told,) = await crew.kind("s1", "deliberation")
    assert (await crew.decide("s1", "expert", GENERAL)).fate == "taken"
    result, child = await crew.result("s1"), await crew.result(told["session"])
    assert child["stop"]["reason"] == "cancelled"
    assert (result["stop"]["reason"], lead_of(result)) == ("reviewed", GENERAL)
    assert models[GENERAL].briefs("work")[0].handoff.startswith("owner: ")
    crew.credentials["owner"].save(tmp_path / "owner.json")
    settings = load_settings(None, {"nats": {"url": crew.server.url, "creds": tmp_path / "owner.json"}})

    async def acts(**only: str) -> list[tuple[str, str, str]]:
        found = await asyncio.to_thread(audit, settings, sessions=10, days=1.0, **only)
        return [(row.who, row.act, row.session) for row in found]

    theirs = [("owner", "asked", "s1"), ("owner", "overrode", "s1"), ("s1", "cancelled", told["session"])]
    assert set(theirs) <= set(await acts()) and await acts(act="overrode") == theirs[1:2]
    assert await acts(who="owner", sid=told["session"]) == []
