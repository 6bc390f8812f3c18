"""What a task may harm sets who reviews it, whatever its size; and a degraded coordination asks, where it matters."""

import pytest

from parley.coordinator.protocols.madp.evidence.risk import of_diff, of_task
from parley.schemas.protocols.madp.messages import Claim
from tests.protocols.madp.play import APPROVED, AUDITOR, IMPL, QA, SEC, SRE, Play, artifact, done, spec

SECURITY_TASKS = (
    "secure the orders endpoint with JWT", "add permissions to the export endpoint",
    "add authentication to our billing service endpoints", "add JWT authentication to the orders API",
    "make sure only admins can download reports", "users should have to log in before they see the dashboard",
    "rotate the API keys of the mail service", "store passwords hashed instead of in plain text",
    "stop people from guessing PINs by trying them all: rate limit the form", "the upload form accepts untrusted SVGs",
    "restrict the metrics page to staff", "encrypt the backups before they leave the host",
    "escape user input in the search, somebody may inject SQL", "let support staff impersonate a customer",
    "add a sign-in with Google", "the session cookie has no secure flag", "move the database password out of the code",
    "check that the caller owns the document before it is returned: unauthorized users get 403",
    "add two-factor codes (2FA) to the account page", "mask the date of birth of patients in the export",
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


def test_a_lead_of_that_field_needs_no_second_one_and_a_field_without_a_reviewer_is_named() -> None:
    p = Play(task=SECURITY_TASKS[0]).working(SEC, reviewers=(AUDITOR,))
    p.reply(SEC, done())
    assert p.asked() == [(AUDITOR, "review")]
    p = Play(task="add JWT login", experts=(IMPL, AUDITOR)).working(IMPL, reviewers=(AUDITOR,))
    p.reply(IMPL, done())
    assert "it touches identity, and no reviewer of that is running" in p.warnings


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


@pytest.mark.parametrize("how", [away, degraded])
def test_another_task_is_not_held_up_by_it(how: object) -> None:
    p = how("fix typo")  # type: ignore[operator]
    assert p.asked() == [(IMPL, "work")] and not p.bodies("item")


def test_without_a_helper_or_any_word_the_general_expert_waits_for_a_human_too() -> None:
    p = Play(task=SECURITY_TASKS[0])
    p.fail("helper")
    p.expire()
    assert p.lead == "generalist" and p.bodies("item")[0]["kind"] == "security"
    p.decide("1", "stop")
    assert p.stop["reason"] == "rejected"


@pytest.mark.parametrize(("choice", "reason"), [("approve", "approved"), ("leave", "needs_human")])
def test_where_the_guard_gives_no_review_a_human_is_asked(choice: str, reason: str) -> None:
    p = Play(task=SECURITY_TASKS[0]).working(IMPL, reviewers=(AUDITOR,))
    p.reply(IMPL, done())
    p.reply(AUDITOR, APPROVED)
    p.fail(SEC)
    assert "security-architect had to review what the work touches" in p.bodies("item")[0]["question"]
    p.decide("1", choice)
    assert p.stop["reason"] == reason
