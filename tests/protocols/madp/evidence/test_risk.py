"""What a task wants, and how one ends whose result is a text (tests/played/texts.yaml, by the machine alone); and what
it may harm, which sets who reviews it."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from parley.coordinator.protocols.madp.evidence.risk import of_diff, of_task
from parley.schemas.folders.request_kind import wanted
from parley.schemas.protocols.madp.messages import Claim
from parley.schemas.protocols.madp.work import Finding, Review, Work
from parley.schemas.session import Document
from parley.schemas.stops import STOPS
from parley.schemas.tools import ToolCall
from tests.protocols.madp.play import APPROVED, AUDITOR, IMPL, QA, SEC, SRE, Play, artifact, done, spec

SECURITY_TASKS = (
    "secure the orders endpoint with JWT", "add permissions to the export endpoint",
    "add authentication to our billing service endpoints", "add JWT authentication to the orders API",
    "make sure only admins can download reports", "users should have to log in before they see the dashboard",
    "store passwords hashed instead of in plain text", "the upload form accepts untrusted SVGs",
    "stop people from guessing PINs by trying them all: rate limit the form", "restrict the metrics page to staff",
    "escape user input in the search, somebody may inject SQL", "the session cookie has no secure flag",
    "encrypt the backups before they leave the host", "mask the date of birth of patients in the export",
)  # fmt: skip
HARMLESS = ("fix typo", "fix typo in the README", "rename the helper function", "make the list sort by name",
            "Improve the performance of our API", "write a test for the parser")  # fmt: skip
HEAD = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x\n+{1}\n"


@pytest.mark.parametrize("task", SECURITY_TASKS)
def test_a_security_task_is_reviewed_by_security_at_every_depth(task: str) -> None:
    p = Play(task=task).working(IMPL, reviewers=(AUDITOR, QA))
    assert p.session.inner.depth == "instant"
    p.reply(IMPL, done())
    assert [x for x, _ in p.asked()] == [SEC, AUDITOR]


@pytest.mark.parametrize("task", HARMLESS)
def test_what_harms_nobody_stays_as_it_is(task: str) -> None:
    p = Play(task=task).working(IMPL, reviewers=(AUDITOR, QA))
    p.reply(IMPL, done())
    assert of_task(task) == () and [x for x, _ in p.asked()] == [AUDITOR] and not p.bodies("item")


@pytest.mark.parametrize(
    ("path", "line", "field"),
    [
        ("src/auth/check.py", "y", "identity"), ("app.py", "if user.is_admin:", "permissions"),
        (".env", "A=1", "secrets"), ("billing/cents.py", "y", "money"), ("a.sql", "DELETE FROM users", "deletion"),
        (".github/workflows/ci.yml", "y", "deployment"), ("requirements.txt", "flask==3", "dependencies"),
        ("m.py", "date_of_birth = 1", "personal data"), ("run.py", "subprocess.run(x, shell=True)", "security"),
    ],
)  # fmt: skip
def test_the_diff_is_looked_at_again(path: str, line: str, field: str) -> None:
    diff = HEAD.format(path, line)
    assert field in of_diff(diff) and of_diff(HEAD.format("app.py", "return 1")) == ()
    p = Play(task="fix the second line").working(IMPL, reviewers=(AUDITOR,))
    p.reply(IMPL, done(diff=diff, folder=artifact(1)))
    guard = {"money": AUDITOR, "deployment": SRE}.get(field, SEC)
    assert p.asked()[0] == (guard, "review") and AUDITOR in dict(p.asked())


def away(task: str) -> Play:
    """No helper is there: whoever has the task's words claims it."""
    p = Play(task=task, there=[])
    claim = Claim(agent_id=IMPL, claim="Mine.", relevance="high", confidence=0.9, spec=spec(IMPL))
    p.speak(IMPL, "claims", "claim", claim)
    p.expire()
    return p


def degraded(task: str) -> Play:
    """The breaker is open: keywords choose."""
    return Play(task=task, degraded=True).match({IMPL: 0.9}, reviewers=(AUDITOR,))


@pytest.mark.parametrize("how", [away, degraded])
def test_a_security_task_asks_a_human_while_nobody_can_say_how_sure_its_lead_is(how: object) -> None:
    p = how(SECURITY_TASKS[0])  # type: ignore[operator]
    assert p.bodies("item")[0]["kind"] == "security" and p.asked() == []
    p.expire()
    assert p.stop["reason"] == "needs_human" and not p.bodies("work") and not p.stop["converged"]
    p = how(SECURITY_TASKS[0])  # type: ignore[operator]
    p.decide("1", IMPL)
    assert p.asked() == [(IMPL, "work")]
    p.reply(IMPL, done())
    assert SEC in dict(p.asked()), "the helper is not needed for that"
    p = how("fix typo")  # type: ignore[operator]
    assert p.asked() == [(IMPL, "work")] and not p.bodies("item"), "another task is not held up"


@pytest.mark.parametrize(("choice", "reason"), [("approve", "approved"), ("leave", "needs_human")])
def test_where_the_guard_gives_no_review_a_human_is_asked(choice: str, reason: str) -> None:
    p = Play(task=SECURITY_TASKS[0]).working(IMPL, reviewers=(AUDITOR,))
    p.reply(IMPL, done())
    p.reply(AUDITOR, APPROVED)
    p.fail(SEC)
    assert "security-architect had to review what the work touches" in p.bodies("item")[0]["question"]
    p.decide("1", choice)
    assert p.stop["reason"] == reason


TASKS: dict[str, dict[str, Any]] = {
    t["name"]: t for t in yaml.safe_load((Path(__file__).parents[3] / "played" / "texts.yaml").read_text())
}
FINDING = Finding(severity="major", description="The steps are in the wrong order.", location="step 2")


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("The tests fail. Fix the code.", "change"), ("Why does test_rate fail? Fix it.", "change"),
        ("Review the code and fix what you find", "change"), ("1. Add a retry\n2. Remove the cache", "change"),
        ("Write a record of the decision to docs/adr/0007.md", "change"), ("Bitte behebe den Fehler", "change"),
        ("Write a decision record: which queue?", "text"), ("Draft a threat model of the upload service", "text"),
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
