"""`parley route`: a task's coordination in one process, and a file of them."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from parley.agents.protocols.madp.reactions import own_score
from parley.cli import route_task as routing_commands
from parley.client.errors import BadInput
from parley.client.protocols.madp.routing import TaskRouter
from parley.client.setup.expert_choice import Route
from parley.routing.many import HelperLost, route_many
from parley.routing.route import PromptLine, read_prompts, task_of, words
from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Triggers
from parley.schemas.routing import Task
from parley.schemas.wire import InvalidValue, decode
from tests.support.forks import run as command

ROOT = Path(__file__).parents[2]
KEYS = [
    "task", "depth", "candidates", "factors", "lead", "support", "excluded", "rationale", "token_cost", "duration_ms",
]  # fmt: skip


def expert(name: str, primary: tuple[str, ...], **given: Any) -> ExpertSpec:
    return ExpertSpec(
        id=name, name=name, triggers=Triggers(primary=primary), domain=Domain(owns=(f"all about {primary[0]}",)),
        deliberation=Deliberation(claim=f"I own {primary[0]}."), **given,
    )  # fmt: skip


HEDGES = expert("hedges", ("hedge", "lawn", "garden"), priority=5)
PIPES = expert("pipes", ("pipe", "tap", "garden"), priority=3)
ANYBODY = expert("anybody", ("thing",), category="general")
GARDEN = (HEDGES, PIPES, ANYBODY)


def routed(prompt: str, specs: tuple[ExpertSpec, ...] = GARDEN, **given: Any) -> Route:
    return asyncio.run(TaskRouter(specs, **given).route_all((Task(prompt=prompt),)))[0]


# ---------------------------------------------------------------- one task


def test_who_matches_best_leads_and_nobody_leads_what_nobody_knows() -> None:
    found = routed("the tap drips, and behind it the pipe is rusty")
    assert found.lead is not None and found.lead.expert == "pipes"
    assert found.lead.responsibility.startswith("I own pipe.")
    nobody = routed("zzzz qqqq", keyword=True)
    assert nobody.lead is None and nobody.candidates == () and "no expert matches" in nobody.rationale
    assert "anybody, the general-purpose expert, would take it" in nobody.rationale
    assert "general-purpose expert, would" not in routed("zzzz qqqq", (HEDGES, PIPES), keyword=True).rationale


def test_degraded_as_the_source_scores_it_and_without_claims() -> None:
    found = routed("the hedge by the lawn, and a tap", keyword=True)
    assert [(c.expert, c.confidence) for c in found.candidates] == [("hedges", 0.6), ("pipes", 0.3)]
    assert found.lead is not None and found.lead.expert == "hedges" and "degraded" in found.rationale
    tied = routed("the garden", keyword=True)
    assert tied.lead is not None and tied.lead.expert == "pipes" and "priority decides" in tied.rationale


def test_an_expert_that_was_no_candidate_claims_and_leads() -> None:
    """Hearing experts speak for themselves: the machine leads with whoever claims the most."""
    task = Task(prompt="the hedge, the lawn and the whole garden; there is a tap")
    quiet = expert("quiet", ("tap",))
    router = TaskRouter((HEDGES, quiet), keyword=True)
    found = asyncio.run(router._matched((task,)))[0]
    only = msgspec.structs.replace(
        found, candidates=tuple(c for c in found.candidates if c.expert == "quiet"),
        factors=msgspec.structs.replace(found.factors, candidate_count=1, action_clarity=True),
    )  # fmt: skip
    claiming = TaskRouter((HEDGES, quiet), words=True)
    assert own_score(HEDGES, task) > 0.5
    route = claiming.routed(task, only)
    assert [c.expert for c in route.candidates] == ["quiet"]
    assert route.lead is not None and route.lead.expert == "hedges"


def test_the_same_task_comes_to_the_same_each_time_and_in_any_company() -> None:
    tasks = [Task(prompt=p) for p in ("the tap drips", "cut the hedge", "a garden with a pipe")]
    router = TaskRouter(GARDEN, words=True)
    first, again = (asyncio.run(router.route_all(tasks)) for _ in range(2))
    alone = [asyncio.run(router.route_all((t,)))[0] for t in tasks]
    timeless = [[(r.lead, r.support, r.excluded, r.rationale, r.depth) for r in some] for some in (first, again, alone)]
    assert timeless[0] == timeless[1] == timeless[2]


def test_the_document_has_these_keys_and_the_shipped_experts_answer() -> None:
    code, out, err = command("route", "add JWT authentication", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert list(found) == KEYS
    assert found["task"] == "add JWT authentication" and found["lead"]["expert"] == "security-architect"
    assert list(found["candidates"][0]) == ["expert", "relevance", "confidence"]
    assert found["token_cost"] == 0 and 0 < found["duration_ms"] < 20_000
    assert set(found["factors"]) == {
        "candidate_count", "confidence_variance", "domain_overlap", "action_clarity", "scope_definition",
    }  # fmt: skip


def test_in_words_and_with_files_that_decide() -> None:
    code, out, _ = command("route", "it is broken", "--files", "db/migrations/7.sql", "--files", "db/schema.sql")
    assert code == 0 and out.startswith("database-engineer leads (") and "\nwhy: " in out


def test_what_experts_say_of_themselves_reaches_no_terminal_as_a_command(tmp_path: Path) -> None:
    spec = "agent:\n  id: x\n  name: X\n  triggers: {primary: [tap]}\n  domain: {owns: [taps]}\n"
    (tmp_path / "x.yaml").write_text(spec + '  deliberation: {claim: "I \\e[2J own"}\n')
    code, out, err = command("route", "the tap", "--experts", str(tmp_path))
    assert code == 2 and out == "" and "control character U+001B" in err
    route = routed("the tap", words=True)
    assert all("\x1b" not in text for text in words(route))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("prompt", "files", "experts", "what"),
    [
        (None, [], None, "task: there is nothing to route"),
        ("", [], None, "prompt: got '', it must not be empty"),
        ("x" * 20_001, [], None, "prompt: got '20,001 characters', allowed are at most 20,000"),
        ("x", ["a\x1b[2Jb"], None, "control character U+001B at character 2; none is allowed"),
        ("\x1b[2J\a", [], None, "prompt: got '', it must not be empty"),
        ("x", [""], None, "files: got '', it must not be empty"),
        ("x", [], "/nowhere", "experts: /nowhere: is not a folder"),
    ],
)
def test_what_cannot_be_routed_is_named(prompt: str | None, files: list[str], experts: str | None, what: str) -> None:
    with pytest.raises(BadInput) as error:
        routing_commands.route(prompt, files, Path(experts) if experts else None, keyword=False)
    assert what in str(error.value) and "\x1b" not in str(error.value)


def test_options_that_contradict_each_other_and_a_file_that_is_not_there() -> None:
    code, out, err = command("route", "x", "--file", "y")
    assert (code, out) == (2, "") and "--file and --task contradict each other" in err
    code, out, err = command("route", "--file", "/nowhere", "--json")
    assert code == 2 and json.loads(out)["error"]["field"] == "file" and "/nowhere: No such file" in err


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"prompt": "a", "fiels": []}', "fiels: got [], no such key; there are prompt, files"),
        ('{"prompt": ""}', "prompt: got '', it must not be empty"),
        ('{"prompt": "   "}', "prompt: got '   ', it must not be empty"),
        ('{"prompt": 3}', "prompt: got 3, allowed is text"),
        ('{"files": []}', "required field `prompt`"),
        ('{"prompt": "a", "prompt": "b"}', "prompt: got 'prompt', it is given twice"),
        ('{"prompt": "a", "files": "b"}', "files: got 'b', allowed is a list"),
        ('{"prompt": "a", "files": ["b", ""]}', "files: got '', it must not be empty"),
        ('{"prompt": "a", "files": ["\\u0007"]}', "files: got '\\\\x07', control character U+0007 at character 1"),
        ('{"prompt": "a\\ud800"}', "half a character"),
        ('{"prompt": "a"', "no JSON"),
        ("[1]", "the line: got [1], allowed is a mapping"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_field(line: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "good"}\n\n' + line + "\n")
    good, bad = read_prompts(str(file))
    assert good.task == Task(prompt="good") and bad.task is None and (good.number, bad.number) == (1, 3)
    assert f"{file}, line 3: " in bad.why and what in bad.why and len(bad.why) < 400
    file.write_text("\n" + line)
    with pytest.raises(BadInput) as error:
        read_prompts(str(file))
    assert f"{file}, line 2: " in str(error.value) and what in str(error.value) and error.value.field == "file"


def test_bytes_that_are_no_text_and_a_file_without_prompts(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_bytes(b'{"prompt": "\xff"}')
    with pytest.raises(BadInput, match="line 1: the line: got 'byte 12', expected UTF-8 text"):
        read_prompts(str(file))
    file.write_text("\n \n")
    with pytest.raises(BadInput, match="there is no prompt in it"):
        read_prompts(str(file))


def test_lines_are_text_in_any_form_that_a_person_writes() -> None:
    task, notes = task_of(PromptLine(prompt="two\nlines\tand a família 👩‍🚀", files=("a b.py",)))
    assert notes == () and task.prompt.startswith("two\nlines\tand") and task.files_mentioned == ("a b.py",)
    with pytest.raises(InvalidValue, match="files: got '201 items', allowed are at most 200"):
        task_of(PromptLine(prompt="x", files=tuple(f"{i}" for i in range(201))))


# ---------------------------------------------------------------- many


def test_a_file_comes_back_line_for_line_and_a_bad_line_is_one_bad_line() -> None:
    prompts = ["tune the slow query", "the React component renders twice", "who won the match yesterday?"]
    lines = "".join(json.dumps({"prompt": p}) + "\n" for p in prompts)
    code, out, err = command("route", "--file", "-", said="\ufeff" + lines)
    assert code == 0, err
    found = [json.loads(line) for line in out.splitlines()]
    assert [f["task"] for f in found] == prompts and all(list(f) == KEYS for f in found)
    assert [f["lead"] and f["lead"]["expert"] for f in found[:2]] == ["database-engineer", "frontend-engineer"]
    first, rest = lines.split("\n", 1)
    code, out, err = command("route", "--file", "-", said=f"{{}}\n{first}\n\nnone\n{rest}[1]\n")
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 1 and [f.get("task") for f in found] == [None, prompts[0], None, *prompts[1:], None]
    assert [f["line"] for f in found if "error" in f] == [1, 4, 7] and found[0]["error"]["field"] == "file"
    assert "standard input, line 4: " in found[2]["error"]["message"]
    assert "standard input, line 4: " in err and "file: 3 lines of 6 bad" in err
    code, out, err = command("route", "--file", "-", "--json", said="\n{}\nnone\n")
    assert code == 2 and json.loads(out)["error"]["field"] == "file" and "line 2" in err


def test_what_is_pasted_is_cleaned_and_noted() -> None:
    dirty, clean = "\x1b[31mthe tap\x1b[0m\r\n\tdrips\a", "the tap\n\tdrips"
    notes = ["2 terminal sequences removed", "1 line end made a line feed", "1 control character removed (U+0007)"]
    code, out, err = command("route", "-", "--json", said=dirty)
    found = json.loads(out)
    assert code == 0 and found["task"] == clean and found["cleaned"] == notes and list(found) == [*KEYS, "cleaned"]
    assert err.splitlines() == [f"parley: task: {note}" for note in notes]
    lines = json.dumps({"prompt": dirty}) + "\n" + json.dumps({"prompt": clean})
    code, out, err = command("route", "--file", "-", said=lines)
    first, second = (json.loads(line) for line in out.splitlines())
    assert code == 0 and first["cleaned"] == notes and "cleaned" not in second
    assert first["task"] == second["task"] == clean and first["candidates"] == second["candidates"]


async def test_processes_answer_as_this_one_does_and_in_order() -> None:
    tasks = [Task(prompt=f"{what} number {i}") for i in range(40) for what in ("the tap", "a hedge", "zzzz")]
    alone = [decode(r, Route) async for r in route_many(tasks, GARDEN, keyword=True, processes=1)]
    shared = [decode(r, Route) async for r in route_many(tasks, GARDEN, keyword=True, processes=2)]
    assert [r.task for r in shared] == [t.prompt for t in tasks]
    assert [(r.lead, r.rationale) for r in shared] == [(r.lead, r.rationale) for r in alone]


async def test_a_process_that_is_killed_is_an_error_and_leaves_nothing_behind() -> None:
    tasks = [Task(prompt=f"the tap {i}") for i in range(2_000)]
    routes = route_many(tasks, GARDEN, keyword=True, processes=2)
    await anext(routes)
    helpers = [p for p in psutil.Process().children() if "parley.routing.many" in " ".join(p.cmdline())]
    assert len(helpers) == 2
    for helper in helpers:
        helper.kill()
    with pytest.raises(HelperLost, match="a process that routes ended with -9"):
        async for _ in routes:
            pass
    assert not any(h.is_running() and h.status() != psutil.STATUS_ZOMBIE for h in helpers)


@pytest.mark.serial
def test_an_interrupt_ends_it_and_its_processes(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(json.dumps({"prompt": f"tune query {i}"}) + "\n" for i in range(20_000)))
    child = subprocess.Popen(
        [sys.executable, "-m", "parley", "route", "--file", str(file)], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert child.stdout is not None and child.stderr is not None
        first = json.loads(child.stdout.readline())
        assert first["task"] == "tune query 0"
        helpers = psutil.Process(child.pid).children()
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=20)
        assert child.returncode == 130 and "Traceback" not in err and "interrupted" in err
        _, alive = psutil.wait_procs(helpers, timeout=10)
        assert alive == []
    finally:
        child.kill()
        child.wait()
