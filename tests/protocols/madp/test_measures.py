"""What is counted of a task: its indicators, once a task, and work that says otherwise than reviewers did."""

import pytest

from parley.schemas import log
from parley.schemas.protocols.madp.work import Work
from parley.schemas.turn import Usage
from tests.outcomes.played import counted, get
from tests.protocols.madp.play import APPROVED, AUDITOR, IMPL, REVISE, SRE, Play, blocked, done, hands, matched

TOKENS = Usage(input_tokens=200, output_tokens=50, calls=1)


def ended(play: Play) -> Play:
    """Cancelled, where it is not over."""
    if not play.session.closed:
        play.event(log.Cancelled(author="owner"))
    return play


def test_tokens_seconds_and_depth_are_counted_at_the_first_assignment() -> None:
    play = Play(metered=True, helper_metered=True)
    play.reply("helper", matched({SRE: 0.95}), usage=TOKENS)
    play.reply(SRE, done())
    play.approve()
    m = counted(play)
    assert get(m, "tasks_total", depth="instant", how="implicit") == 1
    assert get(m, "coordination_tokens_sum", depth="instant") == 250, "the work is none of it"
    assert get(m, "coordination_seconds_bucket", depth="instant", le="0.01") == 1
    assert get(m, "coordination_seconds_bucket", depth="instant", le="0.005") == 0


def test_revisions_are_those_of_tasks_that_were_reviewed() -> None:
    revised = Play().working()
    revised.reply(SRE, done())
    revised.reply(AUDITOR, REVISE)
    revised.reply(SRE, done())
    revised.reply(AUDITOR, APPROVED)
    unreviewed = Play().working(reviewers=())
    unreviewed.reply(SRE, done())
    unheard = Play().working()
    unheard.reply(SRE, done())
    m = counted(revised, unreviewed, ended(unheard))
    assert (get(m, "review_revisions_count"), get(m, "review_revisions_sum")) == (1, 1)
    assert get(m, "review_revisions_bucket", le="0.0") == 0


def test_overrides_are_counted_by_task_against_all_tasks() -> None:
    changed = Play().working()
    changed.decide("expert", IMPL)
    changed.decide("expert", SRE)
    changed.reply(SRE, done())
    changed.approve()
    plain = Play().working()
    plain.reply(SRE, done())
    plain.approve()
    m = counted(changed, plain)
    assert get(m, "overrides_total") == 1
    assert get(m, "tasks_total", depth="instant", how="implicit") == 2
    assert get(m, "tasks_ended_total") == 2


def test_a_task_that_was_overridden_or_handed_over_was_wrongly_routed_and_a_named_lead_is_no_selection() -> None:
    kept, handed, changed = (Play().working() for _ in range(3))
    handed.reply(SRE, hands(IMPL))
    handed.reply(IMPL, done())
    changed.decide("expert", IMPL)
    changed.reply(IMPL, done())
    kept.reply(SRE, done())
    for play in (kept, handed, changed):
        play.approve()
    named = ended(Play({"expert": IMPL}).match({SRE: 0.95}))
    m = counted(kept, handed, changed, named)
    assert get(m, "selections_total", by="override", verdict="right") == 1
    assert get(m, "selections_total", by="override", verdict="wrong") == 2


def test_items_are_opened_and_closed_by_a_human_or_their_default() -> None:
    answered, left = Play({"item_s": 5.0}).working(), Play({"item_s": 5.0}).working()
    answered.reply(SRE, blocked())
    answered.decide("1", "Postgres")
    left.reply(SRE, blocked())
    left.expire()
    m = counted(answered, left)
    assert get(m, "items_opened_total", kind="blocked") == 2
    assert (get(m, "items_closed_total", by="human"), get(m, "items_closed_total", by="default")) == (1, 1)
    assert get(m, "escalations_total", kind="blocked") == 0, "the tasks have not ended"
    assert get(counted(ended(answered), ended(left)), "escalations_total", kind="blocked") == 2


FALSE = "The query is cached. All reviewers approved it."


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
        "Approved by all reviewers.",
        "3 of 3 reviewers approved this.",
        "Alle Gutachter stimmten zu.",
    ],
)
def test_what_work_may_not_tell(text: str) -> None:
    assert "counted was: nobody has reviewed it" in refused(done(text))


@pytest.mark.parametrize(
    "text",
    [
        "All findings of the reviewers are met.",
        "If all reviewers approve, it ships.",
        "All experts agree that caching helps.",
    ],
)
def test_what_work_may_tell(text: str) -> None:
    assert refused(done(text)) == ""
