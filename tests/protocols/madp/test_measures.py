"""7.1's indicators are counted where a transition is, once a task."""

from coordinator import measures
from coordinator.machine import Session, record, record_opening
from observability.metrics import Metrics
from schemas import log
from schemas.turn import Usage
from tests.protocols.madp.play import APPROVED, AUDITOR, IMPL, MADP, REVISE, SRE, Play, blocked, done, matched

TOKENS = Usage(input_tokens=200, output_tokens=50, calls=1)


def counted(*plays: Play) -> Metrics:
    """Every transition of these tasks noted, as a moderator does it."""
    metrics = Metrics()
    for play in plays:
        first = play.entries[0]
        assert isinstance(first.event, log.Opened)
        session, entry = record_opening(MADP, "s1", first.event, first.at_ns, first.cause)
        measures.note(metrics, MADP, None, session, entry)
        for one in play.entries[1:]:
            before: Session = session
            session, again = record(MADP, before, entry.digest, one.event, one.at_ns, one.cause)
            measures.note(metrics, MADP, before, session, again)
            entry = again
    return metrics


def get(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(f"parley_{name}", labels) or 0.0


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
    m = counted(revised, unreviewed)
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


def test_items_are_opened_and_closed_by_a_human_or_their_default() -> None:
    answered, left = Play({"item_s": 5.0}).working(), Play({"item_s": 5.0}).working()
    answered.reply(SRE, blocked())
    answered.decide("1", "Postgres")
    left.reply(SRE, blocked())
    left.expire()
    m = counted(answered, left)
    assert get(m, "items_opened_total", kind="blocked") == 2
    assert (get(m, "items_closed_total", by="human"), get(m, "items_closed_total", by="default")) == (1, 1)


def test_a_degraded_task_is_counted_as_such() -> None:
    play = Play(degraded=True).match({SRE: 0.5, IMPL: 0.4})
    assert get(counted(play), "tasks_total", depth="standard", how="degraded") == 1


def test_what_is_no_task_is_not_counted() -> None:
    from tests.protocols.consensus.play import CONSENSUS
    from tests.protocols.consensus.play import Play as Consensus

    play = Consensus()
    metrics = Metrics()
    measures.note(metrics, CONSENSUS, None, play.session, play.entries[0])
    assert not [s for f in metrics.tasks.collect() for s in f.samples if s.value]
