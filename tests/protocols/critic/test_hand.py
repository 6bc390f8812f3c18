"""Sessions that a strong model's stand-in played by hand come out as what they were (hand/README.md)."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.schemas import log
from tests.protocols.critic.play import Play

HAND = Path(__file__).parent / "hand"


class Hand(Play):
    """One recorded session, played again."""

    def __init__(self, name: str) -> None:
        case = json.loads((HAND / f"{name}.json").read_text(encoding="utf-8"))
        super().__init__(question=case["question"], rewritten=False)
        for turn in case["turns"]:
            self.reply(turn["seat"], self._body(turn))
            if self.phase == "rewriting":  # what it leaves out was offered back
                self.reply(turn["seat"], self._body(turn))

    def _body(self, turn: dict[str, Any]) -> object:
        kind = self.protocol.replies[self.ask(turn["seat"]).kind]
        return msgspec.convert({**turn["recorded"], **turn["added"]}, kind)


@pytest.mark.parametrize(
    ("name", "trend", "confidence"),
    [
        ("coffee", [52.2, 61.38, 51.98, 95.25], 0.9525),  # three rounds tested and survived
        ("prime", [70], 0.7),  # nothing was raised, and nothing checked
    ],
)
def test_an_answer_with_nothing_open_against_it_is_told_as_one(
    name: str, trend: list[float], confidence: float
) -> None:
    hand = Hand(name)
    got, stop = hand.result.outcome, hand.result.stop
    assert (stop.reason, stop.converged) == ("objections_exhausted", True)
    label = "high" if confidence > 0.75 else "medium"
    assert (got["confidence"], got["label"], got["open_objections"]) == (confidence, label, [])
    assert stop.certificate["trend"] == trend and stop.certificate["rounds_survived"] == len(trend) - 1
    assert got.get("signed") == (["critic"] if got["objections"] else None) and hand.exit_status == 0
    assert got["source"] == "verdict" and stop.certificate["worthless"] == []
    assert not any(
        c.attempt > 1 and c.kind != "rewrite" for e in hand.entries for c in e.commands if isinstance(c, log.Ask)
    )


def test_ended_a_round_early_its_open_objection_shows() -> None:
    """After three of its rounds one objection of weight .45 was open: 94.5 * .55, with two rounds survived."""
    assert Hand("coffee").result.rounds[2]["confidence"] == 51.98
