"""The competition: nobody is sent what its channels do not hold, and what cannot be opened is refused by name."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from parley.coordinator.admission import admit
from parley.coordinator.briefing import Leak, build
from parley.coordinator.commands import AskSeat, SayOn
from parley.coordinator.machine import begin
from parley.coordinator.protocols.competition.state import Phase, State
from parley.coordinator.table import Inadmissible, Step, View
from parley.schemas.protocols.competition.format import Format
from parley.schemas.protocols.competition.messages import Breach, Note, StageSummary
from parley.schemas.session import OpenSession, Seat
from parley.schemas.wire import InvalidValue, raw
from tests.protocols.competition.play import (
    COMPETITION,
    MOTION,
    Play,
    exchange,
    free,
    shipped,
    small,
    speech,
    vote,
    workers,
)
from tests.support.play import START_NS

TWO = small(speech("pro_1"), speech("con_1"))


# ---------------------------------------------------------------- nobody is sent what its channels do not hold


def test_what_debaters_read_at_the_end_has_none_of_the_judges_words() -> None:
    """`control` is read by all: the result has figures, marks included; comments, notes and summaries stay where they
    are."""
    p = Play(small(speech("pro_1"), summary=True, penalties={"off_topic": {"individual": -1}}))
    p.says("pro_1", "well said")
    p.scores(5, Breach(kind="off_topic", note="SECRET"), comment="SECRET")
    p.reply("judge", StageSummary(text="SECRET"))
    p.auto("judge")
    told = [bytes(x.body) for x in p.session.posts if x.channel in ("control", "public", "team_pro", "team_con")]
    assert len(told) == 4 and all(b"SECRET" not in body for body in told)
    assert p.result.rounds[0]["speeches"][0]["marks"]["logic"] == 5
    assert p.result.rounds[0]["speeches"][0]["violations"] == ["off_topic"]


def leaking(role: str, posted: str = "", replies: str = "") -> None:
    """A machine that begins by posting on a channel and showing it to a seat, or by asking for a reply on one."""
    opened = Play(small(speech("pro_1"), vote("before"), audience=1)).session.opened
    seat = next(s.seat for s in opened.seats if s.role == role)

    def start(v: View) -> Step:
        says = (SayOn(channel=posted, kind="note", round=1, body=raw(Note(text="secret"))),) if posted else ()
        sees = (v.next_post,) if posted else ()
        ask = AskSeat(seat=seat, kind="speak", round=1, brief=raw(None), sees=sees, channel=replies)
        return State(phase=Phase.SPEAKING), (*says, ask)

    session, commands = begin(replace(COMPETITION, start=start), "s1", opened, START_NS)
    sent = build(session, 0, commands, key=b"k" * 32, lane="l", decided_ns=1)
    assert len(sent) == 1 and sent[0].queue == seat


READS = {"pro": {"public", "team_pro"}, "con": {"public", "team_con"}, "audience": {"public"}}
READS["judge"] = {"public", "judge_notes", "scores"}
SPEAKS = {**READS, "judge": {"public", "judge_notes"}}
CHANNELS = ("public", "team_pro", "team_con", "judge_notes", "scores")


@pytest.mark.parametrize(
    ("way", "may", "told"), [("posted", READS, "may not read channel"), ("replies", SPEAKS, "may not speak on channel")]
)
@pytest.mark.parametrize("role", READS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_machine_that_has_a_seat_see_or_speak_where_it_may_not_is_stopped(
    role: str, channel: str, way: str, may: dict[str, set[str]], told: str
) -> None:
    if channel in may[role]:
        leaking(role, **{way: channel})
        return
    with pytest.raises(Leak, match=f"{told} {channel}"):
        leaking(role, **{way: channel})


# ---------------------------------------------------------------- what cannot be opened


def refused(format_: Any = TWO, settings: Any = None, **more: Any) -> Inadmissible:
    with pytest.raises(Inadmissible) as caught:
        Play(format_, settings, **more)
    return caught.value


def opened_with(settings: dict[str, Any]) -> Inadmissible:
    request = OpenSession(question=MOTION, protocol="competition", settings=settings)
    with pytest.raises(Inadmissible) as caught:
        admit(COMPETITION, request, workers(msgspec.convert(TWO, Format)), 1, "c")
    return caught.value


def test_without_a_format_the_error_says_how_to_name_one() -> None:
    error = opened_with({})
    assert error.field == "competition.format"
    assert "--format four_stage" in str(error) and "--format oxford" in str(error)


PRO = {"name": "P", "seats": 1}


@pytest.mark.parametrize(
    ("agenda", "more", "told"),
    [
        ([speech("pro_3")], {}, "format.stages.one.agenda[0].seat: got 'pro_3', there is no such seat"),
        ([exchange("pro_1", "pro_2")], {}, "agenda[0].answerers: got 'pro_2', it is of pro_1's own team"),
        ([exchange("pro_1")], {}, "agenda[0].answerers: got 'nobody'"),
        ([free(15)], {}, "agenda[0].seconds: got 15.0, the 2 seats of pro cannot each speak in it; it takes 20 s"),
        ([vote("before")], {}, "format.audience: got 0"),
        ([vote("before")], {"audience": 1, "decided_by": "votes"}, "one vote before and one after"),
        ([], {}, "format.stages.one.agenda: got 'nothing'"),
        ([speech("pro_1")], {"penalties": {"snoring": {}}}, "format.penalties: got 'snoring'"),
        ([speech("pro_1")], {"teams": {"pro": {"name": "P", "seats": 1}}}, "format.teams: got ['pro']"),
        ([speech("pro_1")], {"title": "one\u2028two"}, "format.title: got 'one\\u2028two', it must be one line"),
        ([speech("pro_1")], {"teams": {"pro": PRO, "con": {**PRO, "captain": 2}}}, "format.teams.con.captain: got 2"),
    ],
)  # fmt: skip
def test_an_agenda_that_cannot_be_played_is_refused(agenda: Any, more: Any, told: str) -> None:
    error = opened_with({"format": small(*agenda, **more)})
    assert error.field.startswith("competition.format")
    assert told in str(error) and len(str(error)) < 400


def test_weights_add_up_to_one() -> None:
    weights = {"logic": 0.5, "persuasion": 0.5, "expression": 0.5, "teamwork": 0, "rule_compliance": 0}
    assert "they must add up to 1" in str(opened_with({"format": {**TWO, "weights": weights}}))


def test_a_team_of_three_where_four_are_due() -> None:
    f = shipped("four_stage")
    there = [w for w in workers(msgspec.convert(f, Format)) if w.queue != "con_3"]
    error = refused(f, there=there)
    assert error.field == "seats"
    assert str(error) == "team con: 4 due, 3 there; missing con_3; start: parley agent con_3"


def test_two_seats_with_one_id() -> None:
    seat = Seat(seat="pro_1", role="pro", queue="pro_1")
    with pytest.raises(InvalidValue, match="seats: got 'pro_1', two seats have this id"):
        Play(TWO, seats=(seat, seat))


@pytest.mark.parametrize(
    ("seat", "told"),
    [
        (Seat(seat="pro_9", role="pro", queue="pro_9"), "small has no such seat; seats are pro_1, pro_2, con_1, con_2"),
        (Seat(seat="pro_2", role="con", queue="pro_2"), "got role con, its role is pro"),
        (Seat(seat="pro_2", role="pro", queue="pro_1"), "each seat has a queue of its own"),
        (Seat(seat="pro_2", role="pro", queue="pro_2_human"), "no worker is alive for role pro on queue pro_2_human"),
    ],
)
def test_seats_that_cannot_be_taken(seat: Seat, told: str) -> None:
    error = refused(seats=(seat,))
    assert error.field in ("seats.pro_9", "seats.pro_2", "seats.con_2")
    assert any(x in str(error) for x in told.split("|"))


@pytest.mark.parametrize(
    ("settings", "field", "told"),
    [
        ({"styles": {"pro_1": "poet"}}, "competition.styles.pro_1", "no such personality; known are none"),
        ({"styles": {"pro_7": "poet"}}, "competition.styles", "seats are con_1, con_2, pro_1, pro_2"),
        ({"stances": {"pro": " "}}, "competition.stances.pro", "it must not be empty"),
        ({"stances": {"pro": "ban\x1b[2J"}}, "competition.stances.pro", "control character U+001B at character 4"),
    ],
)
def test_settings_that_cannot_be(settings: Any, field: str, told: str) -> None:
    error = refused(settings=settings)
    assert error.field == field and told in str(error)


@pytest.mark.parametrize("sign", ["\x1b", "\x9b", "\u202e"])
def test_a_motion_with_control_characters_is_refused(sign: str) -> None:
    error = refused(motion=f"This{sign} house")
    assert error.field == "question" and f"U+{ord(sign):04X} at character 5" in str(error)
    assert sign not in str(error)
