"""What a task wants, and how one ends whose result is a text: tests/played/texts.yaml, by the machine alone."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from parley.schemas.folders.request_kind import wanted
from parley.schemas.protocols.madp.work import Finding, Review, Work
from parley.schemas.session import Document
from parley.schemas.stops import STOPS
from parley.schemas.tools import ToolCall
from tests.protocols.madp.play import AUDITOR, SRE, Play, done

TASKS: dict[str, dict[str, Any]] = {
    t["name"]: t for t in yaml.safe_load((Path(__file__).parents[3] / "played" / "texts.yaml").read_text())
}
FINDING = Finding(severity="major", description="The steps are in the wrong order.", location="step 2")


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("The tests fail. Fix the code.", "change"), ("Why does test_rate fail? Fix it.", "change"),
        ("Review the code and fix what you find", "change"), ("1. Add a retry\n2. Remove the cache", "change"),
        ("Make rate() shorter", "change"), ("Write a script that reads the plan", "change"),
        ("Write a record of the decision to docs/adr/0007.md", "change"), ("Bitte behebe den Fehler", "change"),
        ("The build is red, make the pipeline green again", "change"), ("Can you fix the login?", "change"),
        ("Write a decision record: which queue?", "text"), ("Draft a threat model of the upload service", "text"),
        ("Write a plan from a.toml to b.toml", "text"), ("Write a test plan for the API", "text"),
        ("Rewrite the following error messages: bad input", "text"), ("Create a guide to our code", "text"),
        ("Summarize this page:\nInstall it.\nAdd the token.", "question"), ("Is the rate 7?", "question"),
        ("Explain how to fix and rename modules", "question"), ("Plan how we split the monolith", "question"),
        ("The dashboard is slow.", "statement"),
    ],
)  # fmt: skip
def test_what_a_task_wants(task: str, kind: str) -> None:
    assert wanted(task) == kind


@pytest.mark.parametrize("name", TASKS)
def test_a_text_is_a_result_and_a_lie_is_none(name: str) -> None:
    task = TASKS[name]
    documents = [
        Document(id=sha256(text.encode()).hexdigest(), name=name, text=text)
        for name, text in task.get("documents", {}).items()
    ]
    settings: dict[str, Any] = {"folder": "f" * 64} if "folder" in task else {}
    p = Play(settings, task=task["ask"], documents=documents).working(SRE, reviewers=(AUDITOR,))
    verdicts = list(task.get("reviews", ["approved"]))
    while asked := p.asked():
        seat, kind = asked[0]
        if kind == "work":
            p.reply(seat, _work(task))
        else:
            verdict = verdicts.pop(0) if len(verdicts) > 1 else verdicts[0]
            p.reply(seat, Review(verdict=verdict, findings=() if verdict == "approved" else (FINDING,)))
    reason = "reviewed" if task["reason"] == "unreviewed" else task["reason"]  # here a reviewer is there
    status = STOPS[reason].exit_status(p.stop["converged"])
    assert (p.stop["reason"], status) == (reason, task.get("status", 0)), p.outcome
    assert all(text in p.outcome["answer"] for text in task.get("says", ())), p.outcome["answer"]
    assert not any(text in p.outcome["answer"] for text in task.get("not", ())), p.outcome["answer"]
    assert (p.outcome["work"] is None) is (reason == "declined")


def _work(task: dict[str, Any]) -> Work:
    """As its worker replies: without a call that was answered, and without a change, nothing was performed."""
    calls = tuple(
        ToolCall(server=c["server"], tool=c["tool"], arguments=str(c["arguments"]).replace("'", '"'), ok=True)
        for c in task.get("calls", ())
    )
    offered = ("files.read_file",) if "folder" in task else ()
    return Work(**task["end"], calls=calls, offered=offered, performed=bool(calls))


def test_who_only_tells_of_a_change_is_asked_once_to_make_it() -> None:
    p = Play({"folder": "f" * 64}, task="Fix the rounding.").working(SRE, reviewers=(AUDITOR,))
    p.reply(SRE, done("Rounding is right now.", offered=("files.read_file",)))
    assert "No file of the folder is changed" in p.brief(SRE)["findings"][0]["description"]
    p.reply(SRE, Work(outcome="planned", summary="Use Decimal.", output="In cents.py, use Decimal."))
    p.approve()
    assert p.stop["reason"] == "planned" and p.outcome["answer"] == "In cents.py, use Decimal."
