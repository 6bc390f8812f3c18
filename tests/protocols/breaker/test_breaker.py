"""The circuit breaker of 9.2: its numbers, what it says, and that nothing ends it."""

import logging

import pytest

from parley.coordinator import moderator_metrics
from parley.coordinator.machine import Illegal, outcome
from parley.coordinator.outcomes import message
from parley.coordinator.outcomes.fold import Fold
from parley.coordinator.protocols.breaker.protocol import PROTOCOL as BREAKER
from parley.observability.metrics import Metrics
from parley.schemas import log
from parley.schemas.routing import TaskOutcome
from parley.schemas.wire import encode, raw
from tests.outcomes.played import KNOWN, TENANT, fold, get, shown, take, values
from tests.support.play import BasePlay


class Play(BasePlay):
    def __init__(self) -> None:
        opened = log.Opened(
            question="?", protocol="breaker", version=1, settings={}, seats=(), seed=0, turn_timeout_s=120.0
        )
        self.metrics = Metrics()
        super().__init__(BREAKER, opened, "madp-breaker")

    def event(self, event: log.Event, cause: str = "tell", after_s: float | None = None) -> log.Entry:
        before = self.session
        entry = super().event(event, f"{cause}:t{len(self.entries)}:0-0", after_s)
        moderator_metrics.count_transition(self.metrics, BREAKER, before, self.session, entry)
        return entry

    def told(self, *outcomes: bool) -> None:
        for ok in outcomes:
            sid = f"t{len(self.entries)}"
            body = raw(TaskOutcome(session=sid, ok=ok, why="" if ok else "nobody claimed it"))
            self.event(log.Told(sender=sid, kind="outcome", body=body))

    def own_failures(self, times: int) -> None:
        """Of tasks whose own settings may have brought them about."""
        for _ in range(times):
            sid = f"t{len(self.entries)}"
            self.event(log.Told(sender=sid, kind="outcome", body=raw(TaskOutcome.of(sid, "too late", counts=False))))

    @property
    def degraded(self) -> bool:
        return bool(outcome(BREAKER, self.session)["degraded"])


def test_more_than_three_failures_in_ten_tasks_degrade() -> None:
    play = Play()
    play.told(False, False, False, *[True] * 6)
    assert not play.degraded
    play.told(False)
    assert play.degraded
    (post,) = play.bodies("degraded")
    assert play.posts("degraded", "control"), "where moderators and observers read"
    assert [f["session"] for f in post["failures"]] == ["t1", "t2", "t3", "t10"]
    assert "4 of the last 10 tasks" in post["text"]
    assert [c for c in play.entries[-1].commands if isinstance(c, log.Notify)] == [
        log.Notify(severity="warning", text=post["text"])
    ]


def test_failures_older_than_ten_tasks_do_not_count() -> None:
    play = Play()
    play.told(False, False, False, *[True] * 7, False, False, False)
    assert not play.degraded, "the first three are gone by then"
    play.told(False)
    assert play.degraded


def test_five_in_a_row_recover() -> None:
    play = Play()
    play.told(*[False] * 4, True, True, True, True, False, True, True, True, True)
    assert play.degraded, "a failure begins the count anew"
    play.told(True)
    assert not play.degraded
    assert len(play.posts("recovered", "control")) == 1
    assert [c.severity for e in play.entries for c in e.commands if isinstance(c, log.Notify)] == ["warning", "info"]
    play.told(False, False, False)
    assert not play.degraded, "what was before does not count"


def test_a_failure_of_the_askers_own_making_neither_degrades_nor_delays_recovery() -> None:
    play = Play()
    play.told(False, False, False)
    play.own_failures(8)
    assert not play.degraded
    play.told(False)
    assert play.degraded, "nor does it push the others out of the last ten"
    play.told(True, True, True, True)
    play.own_failures(1)
    play.told(True)
    assert not play.degraded


def test_each_change_is_one_line_in_the_log_of_the_moderator_that_made_it(caplog: pytest.LogCaptureFixture) -> None:
    play = Play()
    with caplog.at_level(logging.INFO, logger="parley.coordinator.moderator_metrics"):
        play.told(*[False] * 6, *[True] * 7)
    degraded, recovered = caplog.records
    assert degraded.levelname == "WARNING" and "4 of the last 4 tasks" in degraded.getMessage()
    assert recovered.levelname == "INFO" and "coordinated again" in recovered.getMessage()


def test_each_change_is_counted_and_how_it_stands_is_shown() -> None:
    play = Play()
    play.told(*[False] * 6)
    into = fold()
    take(into, "madp-breaker", play.log)
    assert get(shown(into.totals()), "breaker_changes_total", to="degraded") == 1
    assert get(shown(into.totals()), "breaker_degraded") == 1
    seen = len(play.entries)
    play.told(*[True] * 7)
    again = Fold(into.totals(), TENANT)
    for entry in play.entries[seen:]:
        message.count(again, KNOWN, "madp-breaker", "step", [encode(entry)])
    found = shown(again.totals())
    assert get(found, "breaker_changes_total", to="recovered") == 1
    assert get(found, "breaker_degraded") == 0
    assert values(found, "sessions_opened_total") == {}, "it is the moderators' own"


def test_one_that_is_opened_anew_is_not_degraded() -> None:
    play = Play()
    play.told(*[False] * 6)
    into = fold()
    take(into, "madp-breaker", play.log)
    take(into, "madp-breaker", [encode(Play().entries[0])])
    assert get(shown(into.totals()), "breaker_degraded") == 0


def test_it_takes_nothing_else_and_never_ends() -> None:
    play = Play()
    with pytest.raises(Illegal, match="takes outcome, not gossip"):
        play.event(log.Told(sender="t1", kind="gossip", body=raw({})))
    with pytest.raises(Illegal, match="not a TaskOutcome"):
        play.event(log.Told(sender="t1", kind="outcome", body=raw({"ok": "perhaps"})))
    with pytest.raises(Illegal, match="not cancelled"):
        play.event(log.Cancelled(author="owner"))
    with pytest.raises(Illegal, match="no place"):
        play.event(log.Decided(item="1", choice="x", author="owner"))
