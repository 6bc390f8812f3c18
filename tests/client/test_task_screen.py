"""The words of a task's screen: which of two cases an ending was, how often work goes back, what is said once."""

from pathlib import Path

import msgspec
import pytest

from parley.applying import Hints, Into, _message, next_step
from parley.client import records
from parley.client.protocols import face_of
from parley.client.protocols.madp.transcript import matcher_words
from parley.client.protocols.madp.work_words import summaries
from parley.client.rendering import explain, page, transcript
from parley.client.rendering.transcript import Teller
from parley.client.task_folder import Sent
from parley.client.turns import Turns
from parley.schemas.protocols.madp.work import Checked, Finding, Review, Work
from parley.schemas.tools import ToolCall
from parley.schemas.turn import Usage
from tests.protocols.madp.play import APPROVED, AUDITOR, REVISE, SRE, TASK, Play, artifact, done
from tests.protocols.madp.test_checks import CHECK, checked, half_done, run
from tests.protocols.madp.test_view import DIFF, of

TOKENS = Usage(input_tokens=80, output_tokens=20, calls=2)


def screen(play: Play, *, brief: bool = True) -> str:
    """What `parley ask` prints of it, for an owner, who reads the log."""
    record = of(play)
    presenter = face_of("madp").present(play.session.opened.settings)
    teller = Teller(presenter, Turns(play.entries, sid="s1"), brief=brief)
    posts = records.posts_of(record)
    lines = [text for post in posts for _, text in teller.lines(post)]
    result = records.result_of(record)
    return "\n".join([*lines, *(text for _, text in teller.end(result))] if result is not None else lines)


def working(**settings: object) -> Play:
    return Play(settings).match({SRE: 0.95})


def test_work_that_goes_back_says_to_whom_and_how_often_it_may() -> None:
    play = working(max_reviews=2)
    for _ in range(2):
        play.reply(SRE, done())
        play.reply(AUDITOR, REVISE)
    told = screen(play)
    assert f"{AUDITOR} reviews: asks for a revision\n" in told
    assert f"  goes back to {SRE}, revision 1 of 2\n" in told and f"  goes back to {SRE}, revision 2 of 2" in told
    assert "iteration" not in told and told.count("goes back") == 2


def test_work_goes_back_over_a_red_check_too_and_a_human_may_want_one_more() -> None:
    play = half_done(max_reviews=1)
    play.reply("check", run("after", "t.py::b"))
    told = screen(play)
    assert f"  goes back to {SRE}, revision 1 of 1\n" in told
    why = f"critical: The check `{CHECK}` does not show that the work is right: these fail after the work"
    assert told.splitlines()[-1].startswith(f"      {why}")
    play.reply(SRE, done())
    play.reply("check", run("after", "t.py::b"))
    play.decide("1", "revise")
    told = screen(play)
    assert "item 1 (review_limit) waits" in told and f"  goes back to {SRE}, revision 2\n" in told


@pytest.mark.parametrize("reviewed", [True, False])
def test_who_was_not_reviewed_is_the_last_revision_where_one_was(reviewed: bool) -> None:
    play = working()
    play.reply(SRE, done())
    if reviewed:
        play.reply(AUDITOR, REVISE)
        play.reply(SRE, done())
    play.vanish(AUDITOR)
    assert play.stop["reason"] == "unreviewed"
    last, nobody = "its last revision was not reviewed", "nobody reviewed it"
    told = screen(play)
    assert (last in told, nobody in told) == (reviewed, not reviewed), told
    assert (last if reviewed else nobody) in transcript.stop_words(play.result), "from the result alone, too"


def test_the_half_of_an_ending_is_said_that_is_true() -> None:
    play = working(max_reviews=0)
    play.reply(SRE, done())
    play.reply(AUDITOR, REVISE)
    play.decide("1", "reject", "Not like this.")
    told = screen(play)
    assert "a human rejected the work (rejected)" in told and "nobody was left" not in told
    alone = Play(experts=(SRE,)).match({SRE: 0.95}, reviewers=(), general="")
    alone.fail(SRE)
    alone.expire()
    told = screen(alone)
    assert "nobody was left to go on with the task (rejected)" in told and "a human rejected" not in told


def test_what_is_computed_is_no_model_request() -> None:
    play = Play(metered=True)
    play.match({SRE: 0.95})
    play.reply(SRE, done(), usage=TOKENS)
    play.reply(AUDITOR, APPROVED, usage=TOKENS)
    assert play.result.usage.calls == 5, "the match counts as a call of its seat"
    assert " · 4 model requests · " in screen(play)


def test_what_a_model_costs_that_has_no_price_is_said_in_words_once() -> None:
    play = Play(metered=True)
    play.match({SRE: 0.95})
    flags = ("unpriced", "repaired", "estimated")
    play.reply(SRE, done(), usage=TOKENS, flags=flags)
    play.reply(AUDITOR, APPROVED, usage=TOKENS, flags=flags)
    told = screen(play)
    assert told.count("is unknown, so its cost is not counted: set LLM_USD_PER_MILLION_INPUT") == 1
    assert not any(flag in told for flag in flags)
    assert "flags of this reply: repaired, estimated" in screen(play, brief=False)


def test_a_finding_and_what_is_suggested_are_two_sentences() -> None:
    play = working()
    play.reply(SRE, done())
    one = Finding(severity="minor", description="It is slow.", suggested_fix="Look at the index.")
    two = Finding(severity="minor", description="No test", suggested_fix="Write one")
    play.reply(AUDITOR, msgspec.structs.replace(Review(verdict="approved"), findings=(one, two)))
    told = screen(play)
    assert "minor: It is slow. Suggestion: Look at the index.\n" in told
    assert "minor: No test. Suggestion: Write one\n" in told


@pytest.mark.parametrize("again", [True, False])
def test_the_result_and_the_diff_are_shown_once(again: bool) -> None:
    """`sessions show` has both in the result; `ask --verbose` has shown the diff as it came."""
    play = working()
    play.reply(SRE, done("The query is cached.", diff=DIFF))
    play.approve()
    told = "\n".join(transcript.show(of(play))) if again else screen(play, brief=False)
    assert told.count("+fast()") == 1
    assert "as the lead reports it" in told
    if again:
        assert told.count("In full: The query is cached.") == 1
    assert "confidence 0." not in told.partition("\n  sre leads")[0].partition("\n      ")[2]


def test_calls_that_ended_with_another_status_than_0_count_as_failed() -> None:
    ran = ToolCall(server="commands", tool="run", arguments="{}", ok=True, ended="exit 1")
    play = working()
    play.reply(SRE, done(calls=(ran,)))
    assert "1 call of tools, 1 failed: 1 run" in screen(play)
    assert "commands.run {}, exit 1" in screen(play, brief=False)


def test_a_check_without_a_result_says_before_the_work_what_that_means() -> None:
    play = checked()
    play.reply("check", Checked(when="before", command=CHECK, ended="no program 'python' is found"))
    told = screen(play)
    assert "no result: no program 'python' is found" in told
    assert "as long as the check has no result, the work cannot be approved; its turns are paid all the same" in told
    assert "Ctrl-C in parley ask, or parley sessions cancel s1 ends the task" in told
    assert play.asked() == [(SRE, "work")], "before the work"
    play.reply(SRE, done(folder=artifact(1), diff=DIFF))
    play.reply("check", run("after"))
    play.reply(AUDITOR, APPROVED)
    assert "ends the task" not in "\n".join(transcript.show(of(play))), "nobody can end it any more"


def test_a_red_check_that_names_no_test_says_at_once_that_failures_cannot_be_compared() -> None:
    told = "its output names no test, so failures before and after the work cannot be compared one by one"
    for result, said in ((run("before", exit=3, passed=None), True), (run("before", "t.py::a"), False)):
        play = checked()
        play.reply("check", result)
        assert (told in screen(play)) is said


def test_the_certificate_of_a_check_that_did_not_finish_says_that_there_is_no_result_and_why() -> None:
    ended = "it was ended after 8 s"
    play = checked(max_reviews=0)
    play.reply("check", Checked(when="before", command=CHECK, ended=ended))
    play.reply(SRE, done(folder=artifact(1), diff=DIFF))
    play.reply("check", Checked(when="after", command=CHECK, ended=ended))
    play.decide("1", "emit")
    assert play.stop["reason"] == "unproven"
    told = "\n".join(explain.words(of(play)))
    assert (
        f"What the check came to: before: no result ({ended}); after: no result ({ended})" in told
        and "failed 0" not in told
    )
    red = half_done(max_reviews=0)
    red.reply("check", run("after", "t.py::b"))
    red.decide("1", "emit")
    told = "\n".join(explain.words(of(red)))
    assert "What the check came to: before: exit status 1, 2 failed; after: exit status 1, 1 failed" in told


def said(text: str, *, performed: bool) -> Work:
    """A lead's work, in words alone."""
    return msgspec.structs.replace(done(), output=text, performed=performed)


def test_where_nothing_was_done_the_result_is_marked_as_the_leads_word_everywhere() -> None:
    play = working()
    play.reply(SRE, said("I changed bill.py. 6 passed.", performed=False))
    play.reply(AUDITOR, APPROVED)
    assert play.stop["reason"] == "planned"
    marked = "nothing was done; no command was run. The lead says: I changed bill.py. [left out: a claim"
    told = screen(play)
    assert f"Result: {marked}" in told and "Not borne out: 6 passed." in told
    short = told.rpartition("In short: ")[2]
    assert short.startswith("nothing was done; sre led; the plan is approved by 1 of 1 reviewer; the result is a plan")
    record = of(play)
    for shown in (transcript.show(record), page.html(record), explain.words(record), transcript.markdown(record)):
        assert marked in "\n".join(shown)


def test_what_was_done_and_a_lead_that_says_itself_that_nothing_was_are_not_marked() -> None:
    for text, performed in (("The query is cached.", True), ("Nothing was done: no model is here.", False)):
        play = working()
        play.reply(SRE, said(text, performed=performed))
        play.reply(AUDITOR, APPROVED)
        assert f"Result: {text}" in screen(play)


def test_a_question_what_becomes_of_the_work_says_what_each_answer_does_and_how_long_it_waits() -> None:
    play = working(max_reviews=0)
    play.reply(SRE, done())
    play.reply(AUDITOR, REVISE)
    told = screen(play)
    for choice in (
        "emit: the task ends with the work as it is",
        "revise: it goes back to the lead",
        "reject: the task",
    ):
        assert f"      {choice}" in told
    assert "--set madp.item_s=SECONDS (default 300)" in told


@pytest.mark.parametrize(
    ("matcher", "told"),
    [
        ("better", "; candidates found by words and meaning (matcher better)"),
        ("better, by words, asked m", "; candidates found by words alone (matcher better, by words), m was asked"),
        ("another", "; candidates found (matcher another)"),
        ("", ""),
    ],
)
def test_a_matcher_is_told_by_what_it_looks_at(matcher: str, told: str) -> None:
    assert matcher_words(matcher) == told


def three_revisions() -> Play:
    play = working()
    for text in ("Cents are rounded.", "The name is changed everywhere.", "Alias removed."):
        play.reply(SRE, done(text))
        play.reply(AUDITOR, APPROVED if text == "Alias removed." else REVISE)
    assert play.stop["reason"] == "reviewed"
    return play


def test_a_result_names_what_the_task_did_over_all_its_revisions() -> None:
    record = of(three_revisions())
    steps = [f"1. {SRE}: Cents are rounded.", f"2. {SRE}: The name is changed everywhere.", f"3. {SRE}: Alias removed."]
    for shown in (transcript.show(record), transcript.markdown(record), page.html(record)):
        told = "\n".join(shown)
        assert all(step in told for step in steps)
    told = screen(three_revisions())
    assert f"All turns of work on the task: {TASK}\n  {steps[0]}\n  {steps[1]}\n  {steps[2]}\n" in told
    one = half_done()
    one.reply("check", run("after"))
    one.reply(AUDITOR, APPROVED)
    assert "All turns of work" not in screen(one), "its answer says it all"


def test_of_many_turns_the_first_and_the_last_are_named_and_how_many_are_not() -> None:
    rounds = [{"lead": "sre", "outcome": "done", "summary": f"step {n}"} for n in range(1, 15)]
    told = summaries([*rounds, {"lead": "sre", "outcome": "missed", "summary": ""}])
    assert told[:3] == ["1. sre: step 1", "(4 more, which parley explain shows)", "6. sre: step 6"]
    assert told[-1] == "14. sre: step 14" and len(told) == 11


def test_the_message_of_a_commit_names_what_was_done_in_all_revisions() -> None:
    told = _message(three_revisions().result, TASK).splitlines()
    at = told.index(f"1. {SRE}: Cents are rounded.")
    assert told[at + 2] == f"3. {SRE}: Alias removed." and told[0] == TASK
    one = working()
    one.reply(SRE, said("The query is cached.", performed=True))
    one.reply(AUDITOR, APPROVED)
    assert "Done: The query is cached." in _message(one.result, TASK).splitlines()


def test_files_that_the_check_did_not_take_are_named_and_so_is_one_model_for_all() -> None:
    play = half_done()
    play.reply("check", run("after", restored=("unittest.py",)))
    assert "they decide what it runs: unittest.py" in screen(play)
    alike = Play(metered=True).match({SRE: 0.95})
    alike.reply(SRE, done())
    assert "lead and reviewers are of one model (stub). They agree more easily" in screen(alike)


@pytest.mark.parametrize("tracked", [True, False])
def test_after_work_that_is_not_proven_the_next_step_sets_it_beside_the_files(tmp_path: Path, tracked: bool) -> None:
    play = half_done(max_reviews=0)
    play.reply("check", run("after", "t.py::b"))
    play.decide("1", "emit")
    if tracked:
        (tmp_path / ".git").mkdir()
    sent = Sent(folder=tmp_path, data=b"", left_out=())
    told = next_step(play.result, sent, Into(apply=True), None, Hints())
    beside = f"sessions apply s1 --folder {tmp_path} --branch unproven-s1 --unapproved"
    assert told == (f"parley {beside}" if tracked else "parley explain s1")
