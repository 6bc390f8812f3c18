"""An agent that is older or newer than the moderator: it says at once which turn it does not know, or cannot read."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from parley.coordinator.commands import AskSeat, OpenWindow
from parley.coordinator.machine import Protocol
from parley.schemas.session import Seat
from parley.schemas.wire import raw
from tests.coordinator.floor_play import FLOOR, State, asks
from tests.engine.floor import posted
from tests.support.engine import Engine

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
