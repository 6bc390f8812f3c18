"""7.1's indicators are counted when a task ends, once a task."""

from parley.schemas import log
from parley.schemas.turn import Usage
from tests.outcomes.played import counted, get, values
from tests.protocols.madp.play import APPROVED, AUDITOR, IMPL, REVISE, SRE, Play, blocked, done, matched

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


def test_one_override_in_five_tasks_is_a_fifth() -> None:
    """Whether a person says it while the task runs, or names the lead beforehand: then no selection was wrong."""

    def plain() -> Play:
        play = Play().working()
        play.reply(SRE, done())
        play.approve()
        return play

    changed = Play().working()
    changed.decide("expert", IMPL)
    changed.reply(IMPL, done())
    changed.approve()
    named = ended(Play({"expert": SRE}).match({IMPL: 0.95}))
    for overridden, wrong in ((changed, {("override", "wrong"): 1}), (named, {})):
        m = counted(overridden, *(plain() for _ in range(4)))
        assert (get(m, "overrides_total"), get(m, "tasks_ended_total")) == (1, 5)
        assert values(m, "selections_total") == {("override", "right"): 4, **wrong}


def test_feedback_on_a_task_is_counted_of_who_led_it() -> None:
    """The same word again is nothing new; one that changes is counted beside the first, as totals never fall."""

    def told(*verdicts: bool) -> Play:
        play = Play().working()
        play.reply(SRE, done())
        play.approve()
        for right in verdicts:
            play.event(log.FeedbackGiven(author="owner", right=right))
        return play

    assert get(counted(told()), "selections_total", by="feedback", verdict="right") == 0
    m = counted(told(True), told(True, True), told(False, False, True))
    assert get(m, "selections_total", by="feedback", verdict="right") == 3
    assert get(m, "selections_total", by="feedback", verdict="wrong") == 1
    assert get(m, "tasks_ended_total") == 3, "a session ends once"
    unled = ended(Play())
    unled.event(log.FeedbackGiven(author="owner", right=False))
    assert get(counted(unled), "selections_total", by="feedback", verdict="wrong") == 0


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


def test_an_item_that_waits_ends_with_its_session() -> None:
    waiting = Play().working()
    waiting.reply(SRE, blocked())
    m = counted(waiting)
    assert values(m, "items_opened_total") == {("blocked",): 1}
    assert values(m, "items_closed_total") == {}
    assert get(m, "items_waited_share") == 1, "it was asked long ago"
    assert get(counted(ended(waiting)), "items_waited_share") == 0
    assert values(counted(ended(waiting)), "items_closed_total") == {("session",): 1}


def test_a_degraded_task_is_counted_as_such() -> None:
    play = ended(Play(degraded=True).match({SRE: 0.5, IMPL: 0.4}))
    assert get(counted(play), "tasks_total", depth="standard", how="degraded") == 1
