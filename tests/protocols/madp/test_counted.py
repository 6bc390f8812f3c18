"""What was counted is not told by a model: work that says of its reviews what reviewers did not."""

import json
from collections.abc import Callable

import pytest

from parley.client.records import Record
from parley.client.rendering import explain, html
from parley.client.view.fold import of_result
from parley.schemas.protocols.madp.work import Work
from parley.schemas.wire import encode
from parley.web import verdicts
from parley.web.mcp.results import verdict_of
from tests.client import shown
from tests.client.test_page import Reader
from tests.protocols.madp.play import REVISE, SRE, Play, done

FALSE = "The query is cached. All reviewers approved it."
COUNTED = "it says that all reviewers approved; counted was: 0 of 1 reviewer approved it"


def refused(work: Work) -> str:
    """Why a first attempt at the work goes back; empty: it does not."""
    p = Play().working()
    p.reply(SRE, work)
    return p.ask(SRE).error if p.asked() == [(SRE, "work")] else ""


def test_work_that_tells_of_reviews_that_were_not_goes_back_once() -> None:
    p = Play().working()
    p.reply(SRE, done(FALSE))
    assert p.asked() == [(SRE, "work")] and p.ask(SRE).attempt == 2
    assert p.ask(SRE).error == (
        "work.output: it says that all reviewers approved; counted was: nobody has reviewed it;"
        " tell of reviews what was counted, or nothing"
    )
    p.reply(SRE, done("The query is cached."))
    p.approve()
    assert p.result.stop.reason == "reviewed" and "departs" not in p.outcome


@pytest.mark.parametrize(
    "text",
    [
        "The reviewers approved it unanimously.",
        "Approved by all reviewers.",
        "3 of 3 reviewers approved this.",
        "Both reviewers agree.",
        "Alle Gutachter stimmten zu.",
        "No reviewer objected: there was no dissent among reviewers.",
    ],
)
def test_what_work_may_not_tell(text: str) -> None:
    assert "counted was: nobody has reviewed it" in refused(done(text))


@pytest.mark.parametrize(
    "text",
    [
        "All findings of the reviewers are met.",
        "Not all reviewers will approve this.",
        "If all reviewers approve, it ships.",
        "All experts agree that caching helps.",
        "The council voted unanimously.",
        "All reviewer comments were accepted.",
        "Ask 2 of 3 reviewers.",
    ],
)
def test_what_work_may_tell(text: str) -> None:
    assert refused(done(text)) == ""


def test_a_task_about_reviewers_has_others_in_mind() -> None:
    p = Play(task="How did the reviewers of the paper vote?").working()
    p.reply(SRE, done(FALSE))
    assert p.asked() != [(SRE, "work")]


def test_what_turns_out_to_be_so_does_not_depart() -> None:
    p = Play({"attempts": 1}).working()
    p.reply(SRE, done(FALSE))
    p.approve()
    assert p.result.stop.reason == "reviewed" and "departs" not in p.outcome
    assert p.outcome["answer"] == f"In full: {FALSE}"


def departed() -> Play:
    """The lead says so again, and its reviewer wants a revision."""
    p = Play({"max_reviews": 0}).working()
    for _ in range(2):
        p.reply(SRE, done(FALSE))
    p.reply(next(seat for seat, kind in p.asked() if kind == "review"), REVISE)
    p.decide(p.bodies("item")[-1]["id"], "emit")
    return p


def record(p: Play) -> Record:
    return Record(sid="s1", entries=tuple(encode(e).decode() for e in p.entries))


FACES: dict[str, Callable[[Play], str]] = {
    "terminal": lambda p: shown.ended(p.result),
    "quiet": lambda p: of_result(p.result).text,
    "explain": lambda p: "\n".join(explain.words(record(p))),
    "HTML": lambda p: Reader("".join(html.html(shown.fold(p)))).words,
    "MCP": lambda p: verdict_of(p.result).answer,
    "program": lambda p: str(verdicts.figures(p.result)["answer"]),
    "JSON": lambda p: json.dumps(p.outcome["answer"]),
}


@pytest.mark.parametrize("face", FACES)
def test_each_face_tells_what_was_counted_before_what_the_lead_says(face: str) -> None:
    p = departed()
    assert p.result.stop.reason == "review_limit" and p.outcome["departs"] == COUNTED
    told = " ".join(FACES[face](p).split())
    assert f"departs from the count: {COUNTED}. The lead says: In full: {FALSE}" in told
