"""Sessions that were opened with records: what these change, that a replay is exact, and what a switched off one is."""

from typing import Any, cast

import msgspec
import pytest

from parley.client.learned.verdicts import KnownOutcome, verdict
from parley.client.records import Record
from parley.client.view.fold import of_result
from parley.coordinator.admission import admit
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.past_sessions.learned import Calibration, Learned, Reliability, Standing
from parley.schemas.result import Result
from parley.schemas.session import OpenSession
from parley.schemas.wire import decode, encode
from tests.protocols.consensus import play as consensus
from tests.protocols.maci import play as maci
from tests.protocols.single import worlds as single
from tests.support.play import BasePlay


def record(name: str, mean: float, by: str = "seat", kind: str = "") -> Standing:
    return msgspec.convert(
        {"name": name, "by": by, "kind": kind, "right": 9, "wrong": 1, "mean": mean, "low": 0, "high": 1}, Standing
    )


def records(**means: float) -> Learned:
    """By seat."""
    rows = tuple(record(name, mean) for name, mean in means.items())
    return Learned(reliability=Reliability(rows=rows, sessions=10, as_of_ns=1, half_life_days=180))


FIT = Calibration(
    version="t1", method="isotonic", knots=((0.0, 0.1), (1.0, 0.6)), fitted_on="40 answers of a test", outcomes=40
)


def opened_with(play: Any, learned: Learned | msgspec.UnsetType) -> Any:
    """The play, begun anew with what was learned in its opening."""
    opening = play.entries[0].event
    if learned is not msgspec.UNSET:
        learned = decode(encode(learned), Learned)  # as it comes from the bus
    BasePlay.__init__(play, play.protocol, msgspec.structs.replace(opening, learned=learned))
    return play


def debate(learned: Learned | msgspec.UnsetType = msgspec.UNSET) -> maci.Play:
    """Two debaters that differ, and stay so to the end."""
    play = opened_with(maci.Play({"round_limit": 1}, q0=None), learned)
    play.reply("helper", maci.retrieved(0.6))
    play.blind(maci.belief(0.8, 0.2), maci.belief(0.2, 0.8))
    play.round(
        maci.case(maci.belief(0.8, 0.2), maci.argument("one")), maci.case(maci.belief(0.2, 0.8), maci.argument("two"))
    )
    while not play.session.closed:
        play.fail("analyst")
    return cast(maci.Play, play)


def panel(learned: Learned | msgspec.UnsetType = msgspec.UNSET) -> consensus.Play:
    """Two against one, in the only round, and nobody signs another's words."""
    play = opened_with(consensus.Play({"round_limit": 1}), learned)
    for seat, answer in (("panelist_1", "Kaunas"), ("panelist_2", "Vilnius"), ("panelist_3", "Kaunas")):
        play.reply(seat, consensus.says(answer))
    while not play.session.closed:
        play.fail(play.asked()[0][0])
    return cast(consensus.Play, play)


def result(play: Any) -> Result:
    found: Result = play.result
    return found


@pytest.mark.parametrize("play", [debate, panel])
def test_a_session_with_records_replays_byte_for_byte(play: Any) -> None:
    names = {"debater_1": 0.6, "debater_2": 0.9, "panelist_1": 0.6, "panelist_2": 0.9}
    whole = play(msgspec.structs.replace(records(**names), calibration=FIT))
    found = replay(PROTOCOLS.get, "s1", [encode(entry) for entry in whole.entries])
    assert encode(found.session) == encode(whole.session)
    assert b'"reliability"' in encode(found.entries[0].event)


@pytest.mark.parametrize("play", [debate, panel])
def test_without_records_a_session_is_what_it_was(play: Any) -> None:
    plain, equal = play(), play(records(debater_1=0.7, debater_2=0.7, panelist_1=0.7, panelist_2=0.7, panelist_3=0.7))
    assert result(plain).outcome == result(equal).outcome
    assert "reliability" not in result(plain).stop.certificate
    assert "learned" not in msgspec.to_builtins(plain.entries[0].event)
    assert result(plain).calibrated is msgspec.UNSET


def test_a_debate_follows_the_debater_with_the_better_record() -> None:
    assert result(debate()).outcome["mixture"]["dengue"] == pytest.approx(0.5, abs=1e-6)
    told = result(debate(records(debater_1=0.6, debater_2=0.9)))
    assert told.outcome["answer"] == "chikungunya"
    assert told.outcome["vote"] == "chikungunya", "a tied vote goes by the mixture, and so by the records"
    row = told.stop.certificate["reliability"]["seats"]["debater_2"]
    assert row["mean"] == 0.9 and row["factor"] > 1
    assert told.stop.certificate["reliability"]["sessions"] == 10


def test_a_panel_weighs_by_its_records() -> None:
    assert result(panel()).outcome["answer"] == "Kaunas"
    told = result(panel(records(panelist_1=0.55, panelist_2=0.95, panelist_3=0.55)))
    assert told.outcome["answer"] == "Vilnius"


def test_confidence_is_told_calibrated_with_what_that_rests_on() -> None:
    told = result(panel(Learned(calibration=FIT)))
    assert told.calibrated is not msgspec.UNSET
    stated = told.outcome["confidence"]
    assert told.calibrated.confidence == pytest.approx(0.1 + 0.5 * stated, abs=1e-6)
    assert (told.calibrated.version, told.calibrated.outcomes) == ("t1", 40)


def test_every_text_of_a_result_says_how_its_confidence_reads() -> None:
    one = opened_with(single.Play(), Learned(calibration=FIT))
    one.reply("answerer", single.SAYS)
    assert "calibrated" in msgspec.to_builtins(result(one))
    for told in (result(one), result(panel(Learned(calibration=FIT))), result(panel())):
        text = of_result(told).sure
        assert f"confidence {told.outcome['confidence']:.2f}" in text, "as it was stated"
        assert ("by past outcomes" in text) is (told.calibrated is not msgspec.UNSET)
        assert ("self-rated" in text) is (told.calibrated is msgspec.UNSET)
    assert "confidence 0.80, reads as 0.50 by past outcomes" in of_result(result(one)).sure


def opening(protocol: str, learned: Learned) -> log.Opened:
    settings = {"outcomes": maci.OUTCOMES} if protocol == "maci" else {}
    request = OpenSession(
        question="q?", protocol=protocol, settings=settings, learned=learned, documents=(maci.document(),)
    )
    there = maci.workers(judges=("a", "b", "c")) if protocol == "maci" else consensus.workers()
    if protocol == "critic":
        there = (*(consensus.worker(role, role) for role in ("answerer", "critic", "judge", "analyst", "helper")),)
    return admit(PROTOCOLS[protocol], request, there, 1, "me")


def test_only_what_a_protocol_uses_enters_its_opening() -> None:
    given = msgspec.structs.replace(records(debater_1=0.9), kind="law", calibration=FIT)
    assert opening("maci", given).learned == given
    critic = opening("critic", given).learned
    assert critic == Learned(kind="law", calibration=FIT)
    other = msgspec.structs.replace(given, calibration=msgspec.structs.replace(FIT, protocol="critic"))
    assert opening("maci", other).learned == msgspec.structs.replace(given, calibration=msgspec.UNSET)


def feedback(play: Any, right: bool, answer: str = "") -> KnownOutcome:
    play.event(log.FeedbackGiven(author="me", right=right, answer=answer), "in:99")
    entries = tuple(encode(entry).decode() for entry in play.entries)
    found = verdict(Record(sid="s1", entries=entries))
    assert found is not None
    return found


def rights(found: KnownOutcome) -> dict[str, bool]:
    return {member.seat: member.right for member in found.members}


def test_feedback_says_who_was_right_alone() -> None:
    assert rights(feedback(panel(), True)) == {"panelist_1": True, "panelist_2": False, "panelist_3": True}
    assert rights(feedback(panel(), False)) == {"panelist_1": False, "panelist_3": False}
    assert rights(feedback(panel(), False, " vilnius ")) == {
        "panelist_1": False, "panelist_2": True, "panelist_3": False,
    }  # fmt: skip
    skewed = debate(records(debater_1=0.6, debater_2=0.9))
    assert rights(feedback(skewed, True)) == {"debater_1": False, "debater_2": True}
