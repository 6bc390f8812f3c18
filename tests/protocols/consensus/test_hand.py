"""Sessions that a strong model's stand-in played by hand come out as what they were (hand/README.md)."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.schemas.protocols.consensus import AnswerGroup, Argument, CompareBrief, Comparison, Conclusion, Position
from parley.schemas.wire import decode
from tests.protocols.consensus.play import Play

HAND = Path(__file__).parent / "hand"


class Hand(Play):
    """One recorded session, played again."""

    def __init__(self, name: str) -> None:
        case = json.loads((HAND / f"{name}.json").read_text(encoding="utf-8"))
        super().__init__(question=case["question"])
        self.recorded: list[dict[str, Any]] = case["turns"]

    def all(self) -> None:
        """The recording, as far as its turns are asked for: nobody compares equal words, and what is put is signed."""
        for turn in self.recorded:
            if self.session.closed:
                return
            if any(seat == turn["seat"] for seat, _ in self.asked()):
                self.one(turn)
            if self.phase == "signing":
                self.sign_all()

    def one(self, turn: dict[str, Any]) -> None:
        """One reply of the recording."""
        recorded, added = turn["recorded"], turn["added"]
        if turn["seat"] != "analyst":
            body: object = self._position(recorded, added)
        elif "groups" in added:
            body = self._comparison(recorded, added)
        else:
            body = Conclusion(group=added["group"], reasoning=recorded["reasoning"], answer=recorded["answer"])
        self.reply(turn["seat"], body)

    def post(self, seat: str, round_: int) -> int:
        """The number of a seat's position."""
        return next(p.n for p in self.posts("position") if (p.seat, p.round) == (seat, round_))

    def _position(self, recorded: dict[str, Any], added: dict[str, Any]) -> Position:
        p = msgspec.convert(recorded, Position)
        if "argument" not in added:
            return p
        named = added["argument"]
        by = Argument(post=self.post(named["seat"], named["round"]), claim=named["claim"])
        return msgspec.structs.replace(p, argument=by)

    def _comparison(self, recorded: dict[str, Any], added: dict[str, Any]) -> Comparison:
        brief = decode(self.turn("analyst").ask.brief, CompareBrief)
        by_seat = {self.session.posts[w.post].seat: w.post for w in brief.positions}
        named = {m.post for m in brief.moves}
        rated = {d["key"]: d["value"] for d in recorded["dimensions"]}
        return Comparison(
            comment=recorded["comment"], agreements=recorded["agreements"],
            key_disagreements=recorded["key_disagreements"],
            groups=tuple(
                AnswerGroup(label=label, posts=tuple(by_seat[s] for s in seats))
                for label, seats in added["groups"].items()
            ),
            approach=rated["approach"], priority=rated["priority"],
            argued=tuple(by_seat[s] for s in added["argued"] if by_seat[s] in named),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "least", "answer", "rounds", "changed"),
    [
        (
            "database",
            0.75,
            "Postgres from day one, ClickHouse added later once data volume or query latency demands it",
            3,
            {"argument": 1},
        ),
        ("coins", 0.98, "HH takes longer: 6 tosses on average for HH, 4 for HT", 2, {"argument": 1}),
        ("base_rate", 0.95, "About 2%", 2, {"argument": 2}),
    ],
)
def test_an_honest_panel_that_agrees_is_told_as_one(
    name: str, least: float, answer: str, rounds: int, changed: dict[str, int]
) -> None:
    hand = Hand(name)
    hand.all()
    got, stop = hand.result.outcome, hand.result.stop
    assert (stop.reason, stop.converged, len(hand.result.rounds)) == ("threshold", True, rounds)
    assert (got["answer"], got["agree"], got["minority"]) == (answer, 3, [])
    assert (got["changed"], got["flips_without_evidence"]) == (changed, 0)
    assert got["source"] == "seat" and got["departing"] == ""
    assert least <= got["confidence"] <= max(p.confidence for p in map(_held, hand.posts("position")))
    assert not any(t.attempt > 1 for entry in hand.entries for t in _asked(entry))  # nothing was refused


def test_a_sloppy_analyst_ends_nothing_and_replaces_no_answer() -> None:
    """Its score of 95 over two answers is no agreement; and a seat that keeps the other answer need not be asked."""
    hand = Hand("sloppy")
    round_ = hand.recorded[:-1]
    for n in range(3):
        assert not hand.posts("stop")
        for turn in round_[: len(round_) if n == 0 else len(hand.panel)]:
            hand.one(turn)
        assert hand.last("assessment")["score"] < 25
    assert (hand.stop["reason"], hand.stop["converged"], len(hand.posts("put"))) == ("stuck", False, 1)
    got = hand.result.outcome
    assert (got["answer"], got["source"], got["departing"]) == ("Postgres", "seat", "")
    assert (hand.put.asked, got["saved"]) == ((), {"unchanged": 2, "known": 1})
    assert [x["stands"] for x in got["signatures"]].count("rival") == 1


def _held(post: Any) -> Position:
    return decode(post.body, Position)


def _asked(entry: Any) -> list[Any]:
    return [c for c in entry.commands if type(c).__name__ == "Ask"]
