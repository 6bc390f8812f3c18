"""A task's posts as cards: claims, challenges, who leads, work, checks and reviews as the log says them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.client.protocols import face_of
from parley.client.protocols.madp.cards import card
from parley.client.protocols.madp.story import Story, body_of
from parley.client.records import posts_of, read_record
from parley.client.show.cards import Card
from parley.client.show.words import seat_name
from parley.schemas.protocols.madp.messages import (
    Challenge,
    Challenges,
    ClaimsPosted,
    Consensus,
    HandedOver,
    Item,
    Reviewed,
    Warned,
)
from parley.schemas.protocols.madp.work import Checked, Finding, TaskState, Work

LOGS = sorted(Path("tests/old_logs").glob("*/madp.jsonl"))


def cards_of(path: Path) -> list[tuple[Any, Card]]:
    """Each post's body, and its card."""
    presenter = face_of("madp").present()
    found = []
    for post in posts_of(read_record(path)):
        presenter.take(post)
        found.append((body_of(post), presenter.card(post)))
    return found


def made(body: Any) -> Card:
    """The card of a post of a task of which nothing else is known."""
    found = card(body, Story())
    assert found is not None
    return found


@pytest.mark.parametrize("path", LOGS, ids=lambda p: p.parent.name)
def test_claims_and_who_leads_stand_as_they_were_posted(path: Path) -> None:
    both = cards_of(path)
    claims = [(body, shown) for body, shown in both if isinstance(body, ClaimsPosted)]
    task = face_of("madp").present()
    for post in posts_of(read_record(path)):
        task.take(post)
    assert bool(claims) == (task.story.task.claims != "none")  # type: ignore[attr-defined]
    for body, shown in claims:
        said = [(part.who, part.text) for part in shown.parts]
        assert said[: len(body.claims)] == [(c.agent_id, c.claim) for c in body.claims]
        assert len(said) == len(body.claims) + len(body.passed) + len(body.silent)
    for body, shown in both:
        if isinstance(body, Consensus) and body.outcome.lead is not None:
            assert (shown.parts[0].who, shown.parts[0].head) == (body.outcome.lead.agent_id, "leads")
        if isinstance(body, Work):
            assert body.summary in shown.text and body.output in shown.text and shown.code == body.diff


def test_a_challenge_names_whom_it_is_against_and_what_it_wants() -> None:
    said = Challenge(
        challenger_id="sre", challenged_id="qa-engineer", reason="It is an outage.", proposed_resolution="lead"
    )
    (part,) = made(Challenges(challenges=(said,))).parts
    assert (part.who, part.head, part.text) == ("sre", "challenges QA Engineer", "It is an outage.")
    assert [chip.text for chip in part.chips] == ["wants it as the lead"]
    assert made(Challenges()).place == "line"


def test_a_review_has_its_verdict_and_its_findings() -> None:
    finding = Finding(severity="major", description="No test.", location="a.py:3", suggested_fix="Add one.")
    shown = made(Reviewed(reviewer_id="sre", verdict="revision_needed", findings=(finding,), iteration=2))
    assert shown.head == "review 2" and [(c.text, c.tone) for c in shown.chips] == [("asks for a revision", "warn")]
    assert [(p.text, p.chips[0].text) for p in shown.parts] == [("No test. (a.py:3)\n\nSuggested: Add one.", "major")]
    approved = made(Reviewed(reviewer_id="sre", verdict="approved", findings=(), iteration=1))
    assert approved.text == "No findings." and approved.chips[0].tone == "good"


def test_a_check_says_when_it_ran_and_what_it_came_to() -> None:
    red = made(
        Checked(when="after", command="pytest -q", exit=1, failed=("test_a",), passed=2, output="boom", seconds=1)
    )
    assert red.head == "check after the work" and "Fails: test_a" in red.text and red.code == "boom"
    assert [(c.text, c.tone) for c in red.chips] == [("1 failed, 2 passed (1.0 s)", "warn")]
    none = made(Checked(when="before", command="pytest -q", ended="it is not installed"))
    assert none.chips[0].text == "no result: it is not installed" and none.chips[0].tone == "warn"


def test_what_goes_over_what_waits_and_what_is_warned_of_is_said_once() -> None:
    state = TaskState(completed=("the query",), remaining=("its test",))
    over = made(HandedOver(from_agent="sre", to_agent="qa-engineer", reason="It is tests now.", task_state=state))
    assert over.head == "SRE hands over to QA Engineer" and "Remaining: its test" in over.text
    asks = made(Item(id="1", kind="security", question="Is it?", choices=("yes", "no"), default="no", deadline_ns=1))
    assert [c.text for c in asks.chips] == ["yes", "no", "without an answer: no"]
    warned = made(Warned(text="not reviewed"))
    assert (warned.head, warned.text) == ("warning", "not reviewed")


def test_work_that_was_not_done_is_a_plan() -> None:
    plan = made(Work(outcome="done", summary="A plan.", output="We would.", performed=False))
    assert [(c.text, c.tone) for c in plan.chips] == [("a plan: nothing was done", "warn")]


def test_names_of_seats_are_read_as_names() -> None:
    names = {"panelist_2": "Panelist 2", "security-architect": "Security Architect", "ux-designer": "UX Designer",
             "sre": "SRE", "pro_1": "Pro 1", "analyst": "Analyst"}  # fmt: skip
    assert {seat: seat_name(seat) for seat in names} == names


def test_what_another_version_wrote_is_shown_by_its_lines() -> None:
    post = posts_of(read_record(LOGS[0]))[0]
    odd = msgspec.structs.replace(post, kind="claims", body=msgspec.Raw(b'{"claims": 3, "who": "sre"}'))
    presenter = face_of("madp").present()
    presenter.take(odd)
    assert "sre" in presenter.card(odd).text
