"""Turns on the bus: kinds that an agent does not know, posts that it hears, and tries that are booked."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.hearing import Hear
from parley.bus import subjects
from parley.bus.channels import PUBLIC
from parley.coordinator.commands import AskSeat, OpenWindow, SayOn
from parley.coordinator.machine import Protocol, Spoke, Step, View, to
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.consensus.state import Phase
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.presence import Announcement
from parley.schemas.result import Result
from parley.schemas.session import Budget, Seat
from parley.schemas.turn import Speak, Turn, TurnStatus, TurnStatusRequest, Work
from parley.schemas.wire import decode, encode, raw
from tests.coordinator.floor_play import FLOOR, State, asks
from tests.engine.floor import posted
from tests.engine.test_rules import asked, journal, work_subject
from tests.support.engine import Engine, until

QUEUE = "panelist_1"


def asking(name: str, turn: AskSeat) -> Mapping[str, Protocol]:
    """A protocol of this name whose moderator begins by asking one turn."""
    begins = OpenWindow(name="floor", seconds=600.0), turn
    return {name: replace(FLOOR, name=name, replies={turn.kind: str}, start=lambda view: (State(), begins))}


@pytest.mark.parametrize(
    ("protocol", "turn", "why"),
    [
        ("floor", asks(QUEUE), "protocol floor is not known here, and so no kind of turn 'word'"),
        ("critic", asks(QUEUE), "protocol critic: no kind of turn 'word' is known here; known: answer, countersign,"),
        (
            "critic",
            AskSeat(
                seat=QUEUE, kind="answer", round=1, brief=raw({"profile": 7}), caps=asks().caps
            ),
            "AnswerBrief",
        ),
    ],
    ids=["protocol", "kind", "brief"],
)  # fmt: skip
async def test_a_turn_that_an_agent_does_not_know_is_answered_at_once(
    bare: Engine, protocol: str, turn: AskSeat, why: str
) -> None:
    await bare.moderator(protocols=asking(protocol, turn))
    await bare.worker(QUEUE)
    seat = Seat(seat=QUEUE, role="panelist", queue=QUEUE)
    fate = await bare.open("s1", protocol=protocol, settings={}, seats=(seat,), turn_timeout_s=600.0)
    assert fate.fate == "taken", fate
    missed: dict[str, Any] = await posted(bare, "Missed")
    assert missed["seat"] == QUEUE and why in missed["why"], missed


def _on_heard(state: Any, event: Spoke, _: View) -> Step:
    return state, (SayOn(channel="public", kind="claim", round=0, body=event.body, seat=event.author),)


def open_floor() -> Mapping[str, Protocol]:
    """consensus, taking claims from the floor from the first positions on."""
    consensus = PROTOCOLS["consensus"]
    table = {phase: dict(row) for phase, row in consensus.table.items()}
    for phase in (Phase.SCORING, Phase.REVISING):
        table[phase][Spoke] = to(_on_heard, phase)
    return {"consensus": replace(consensus, table=table)}


def claims(post: Post) -> Speak | None:
    """What the hearing processes do: claim once when a first position is posted."""
    if post.kind == "position" and post.seat == "panelist_1" and post.round == 1:
        return Speak(window="claims", kind="claim", body=raw({"mine": True}))
    return None


CLAIMS = Hear(((PUBLIC, "position"),), claims)


async def spoken(engine: Engine, sid: str) -> list[log.Spoke]:
    return [e.event for e in await engine.entries(sid) if isinstance(e.event, log.Spoke)]


async def test_a_process_that_hears_a_post_speaks_up(bare: Engine) -> None:
    """Copies of a queue share a group, so one of them reacts; its cause is (author, window), so it is taken once."""
    await bare.moderator(protocols=open_floor())
    slow = {"latency_s": 0.5}
    await bare.worker("panelist_1", slow, hear=CLAIMS)
    await bare.worker("panelist_1", slow, hear=CLAIMS)
    await bare.worker("panelist_2", slow, hear=CLAIMS)
    await bare.worker("panelist_3", slow)
    await bare.worker("analyst")
    await bare.open("s1")

    async def heard() -> bool:
        return len([p for p in await bare.posts("s1", "public") if p.kind == "claim"]) == 2

    await until(heard)
    await bare.closed("s1")
    words = await spoken(bare, "s1")
    assert sorted(w.author for w in words) == ["panelist_1", "panelist_2"]
    assert all(msgspec.json.decode(w.body) == {"mine": True} for w in words)


TURN = 2 * (16_000 + 1_500)
"""Tokens that one turn reserves, and that each of the panel's uses."""
METERED = {"metered": True, "usd_in": 1.0, "usd_out": 1.0}
PANELIST = METERED | {"tokens": 2 * 16_000}
"""It uses all that its turn reserves: more than is booked of its output."""


async def opened(engine: Engine, tokens: int | None, *, metered: bool = True, calls: int | None = None) -> Work:
    """A session whose panelist_1 has been handed its turn once, to a worker that was lost then; the others are
    there."""
    await engine.moderator(lane="a")
    for queue in ("panelist_2", "panelist_3"):
        await engine.worker(queue, PANELIST if metered else {})
    await engine.worker("analyst", METERED if metered else {})
    connection = await engine.connect("panelist_1")
    here = Announcement(
        instance="lost", queue="panelist_1", roles=("panelist",), model="m", family="f", metered=metered
    )  # fmt: skip
    await connection.publish(subjects.here("panelist", "panelist_1", ""), encode(here))
    fate = await engine.open("s1", settings={"round_limit": 1}, budget=Budget(tokens=tokens, calls=calls))
    assert fate.fate == "taken", fate
    work = await asked(engine, "panelist_1")
    assert work.turns[0].booked == (metered or calls is not None)
    if work.turns[0].booked:
        assert (await ask(engine, work, attempt="lost")).open
    connection, ack = work_subject["s1", work.turns[0].id]
    await connection.publish(ack, b"-NAK")  # the server hands the turn out again
    return work


async def told(engine: Engine) -> tuple[list[log.Begun], Result]:
    """The tries that were begun, and how it ended."""
    result = decode((await engine.closed("s1")).body, Result)
    return [e.event for e in await engine.entries("s1") if isinstance(e.event, log.Begun)], result


async def test_another_try_is_booked_before_the_model_is_paid(bare: Engine, tmp_path: Path) -> None:
    work = await opened(bare, 6 * TURN)
    await bare.worker("panelist_1", PANELIST | {"journal": str(tmp_path / "journal")})
    tries, result = await told(bare)
    assert tries.count(log.Begun(turn=work.turns[0].id)) == 2 and len(journal(tmp_path / "journal")) == 1
    assert (result.usage.unaccounted_turns, result.usage.unaccounted_tokens) == (1, TURN)
    assert result.rounds[0]["missing"] == []


async def test_no_model_is_paid_where_another_try_does_not_fit(bare: Engine, tmp_path: Path) -> None:
    """One round fits, and a second try narrows what the analyst may use. For a third there is nothing left: those who
    had the turn may have paid for it, so that the seat is missed."""
    work = await opened(bare, 5 * TURN)
    assert (await ask(bare, work, attempt="lost too")).open
    await bare.worker("panelist_1", PANELIST | {"journal": str(tmp_path / "journal")})
    tries, result = await told(bare)
    assert tries.count(log.Begun(turn=work.turns[0].id)) == 3 and journal(tmp_path / "journal") == []
    assert (result.usage.unaccounted_turns, result.usage.unaccounted_tokens) == (2, 2 * TURN)
    assert (
        result.usage.by_seat["panelist_2"].input_tokens == 2 * 16_000 and result.usage.by_seat["panelist_1"].calls == 0
    )
    assert result.usage.input_tokens + result.usage.output_tokens + 2 * TURN <= 5 * TURN
    assert result.stop.reason == "round_limit", "the analyst is held to what is left, which is enough for a score"


async def ask(engine: Engine, work: Work, lane: str = "a", **given: Any) -> TurnStatus:
    """A question about the first turn, by hand."""
    turn: Turn = work.turns[0]
    connection, _ = work_subject["s1", turn.id]
    check = TurnStatusRequest(**{"turn": turn.id, "token": turn.token, **given})
    subject = subjects.check(lane, work.channel, "panelist_1", "s1")
    return decode((await connection.request(subject, encode(check), 5.0)).data, TurnStatus)


async def test_each_try_is_booked_once_however_often_it_is_asked_for(bare: Engine) -> None:
    work = await opened(bare, None)

    async def begun() -> int:
        return sum(
            isinstance(e.event, log.Begun) and e.event.turn == work.turns[0].id for e in await bare.entries("s1")
        )

    assert (await ask(bare, work)).open
    assert await begun() == 1, "who only asks pays nothing"
    for _ in range(2):
        assert (await ask(bare, work, attempt="y")).open
        assert await begun() == 2
    await bare.moderator(lane="b")
    assert (await ask(bare, work, lane="b", attempt="y")).open and await begun() == 2, "whichever moderator is asked"
    assert (await ask(bare, work, lane="b", attempt="z")).open and await begun() == 3
