"""Decisions by a rule: ballots, counts, ties, who is not counted, what a result says, and recounts."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from parley.client.errors import BadInput
from parley.client.records import Record
from parley.client.show.palette import seat_name
from parley.client.what_if import recount
from parley.coordinator.machine import Illegal
from parley.coordinator.signals.counting import count
from parley.schemas import log
from parley.schemas.protocols.consensus import BallotBrief, Outcome, Position
from parley.schemas.session import Seat
from parley.schemas.voting import (
    RULES,
    ApprovalBallot,
    Cast,
    Decision,
    Poll,
    RankBallot,
    Ruling,
    ScoreBallot,
    rule_of,
)
from parley.schemas.wire import decode
from tests.client import shown
from tests.protocols.consensus.play import Play, says

ABSTAINS = says("", abstains=True)
Said = str | Position | None


def debated(rule: str, *answers: Said, **more: Any) -> Play:
    """A panel whose one round is over; the analyst groups by words, where it is asked."""
    settings = {"decide": rule, "round_limit": 1, **more.pop("settings", {})}
    play = Play(settings, panel=len(answers), **more)
    play.answers(*answers)
    if any(t.ask.kind == "compare" for t in play.session.turns.values()):
        by_words: dict[str, str] = {}
        for n, said in enumerate(answers, 1):
            if isinstance(said, str):
                by_words[said] = by_words.get(said, "") + str(n)
        play.compare(by_words, near=0)
    return play


def choices(play: Play, seat: str) -> list[str]:
    """The answers on a seat's ballot, in its order."""
    return [c.sentence for c in decode(play.turn(seat).ask.brief, BallotBrief).choices]


def ballot(play: Play, seat: str, given: Any) -> object:
    """A seat's ballot: a sequence of answers, or answer -> score; the judge's one."""
    shown_ = choices(play, seat)
    match play.turn(seat).ask.kind:
        case "rank":
            return RankBallot(order=tuple(shown_.index(x) + 1 for x in given), reason="so it is")
        case "approve":
            return ApprovalBallot(approved=tuple(shown_.index(x) + 1 for x in given), reason="so it is")
        case "score":
            return ScoreBallot(scores=tuple(given[x] for x in shown_))
    post = play.turn(seat).ask.sees[0]
    return Ruling(reasoning="r", because="So.", post=post, quote="because", choice=shown_.index(given) + 1)


def cast(play: Play, *given: Sequence[str] | Mapping[str, float] | None) -> Play:
    """The panel's ballots, in the order of its seats; None fails."""
    for seat, one in zip(play.panel, given, strict=True):
        play.fail(seat) if one is None else play.reply(seat, ballot(play, seat, one))
    return play


def outcome(play: Play) -> Outcome:
    return msgspec.convert(play.result.outcome, Outcome)


def decision(play: Play) -> Decision:
    found = outcome(play).decision
    assert isinstance(found, Decision)
    return found


def tie() -> Play:
    """Borda: three points each."""
    return cast(debated("borda", "tea", "coffee", "milk"), *CIRCLE)


def by_borda() -> Play:
    return cast(debated("borda", "tea", "coffee", "milk"), TEA, ("coffee", "tea", "milk"), ("milk", "tea", "coffee"))


TEA = ("tea", "coffee", "milk")
CIRCLE = (TEA, ("coffee", "milk", "tea"), ("milk", "tea", "coffee"))
ROUND = {"tea": 9.0, "coffee": 5.0, "milk": 0.0}
DECISIONS: dict[str, tuple[Any, tuple[Any, ...], str, str]] = {
    "majority": (("tea", "tea", "coffee"), (), "tea", ""),
    "majority, abstaining": (("tea", "tea", ABSTAINS, ABSTAINS), (), "", "share"),
    "majority, never answered": (("tea", "tea", "milk", None), (), "tea", ""),
    "majority, tied": (("tea", "tea", "milk", "milk"), (), "", "tie"),
    "supermajority:2/3": (("tea", "tea", "coffee"), (), "tea", ""),
    "supermajority:0.67": (("tea", "tea", "coffee"), (), "", "share"),
    "unanimity": (("tea", "tea", "tea"), (), "tea", ""),
    "unanimity, abstaining": (("tea", "tea", ABSTAINS), (), "", "share"),
    "approval": (TEA, (("tea",), ("coffee", "tea"), ()), "tea", ""),
    "approval, none": (TEA, ((), (), ()), "", "disapproved"),
    "borda": (TEA, (TEA, ("coffee", "tea", "milk"), ("milk", "tea", "coffee")), "tea", ""),
    "borda, tied": (TEA, CIRCLE, "", "tie"),
    "borda, one ballot": (TEA, (TEA, None, None), "", "ballots"),
    "borda, none": (TEA, (None, None, None), "", "ballots"),
    "borda, one answer": (("tea", "tea", "tea"), (), "tea", ""),
    "instant-runoff": (
        ("tea", "coffee", "coffee", "tea", "milk"), (TEA, CIRCLE[1], CIRCLE[1], TEA, CIRCLE[2]), "tea", "",
    ),
    "condorcet": (TEA, (TEA, TEA, CIRCLE[1]), "tea", ""),
    "condorcet, a cycle": (TEA, CIRCLE, "", "cycle"),
    "score": (TEA, (ROUND, ROUND, None), "tea", ""),
    "ranking": (TEA, (("coffee", "milk"), ("tea", "milk"), ("tea", "coffee")), "tea", ""),
    "ranking, two seats": (("tea", "coffee"), (), "", "ballots"),
}  # fmt: skip


@pytest.mark.parametrize("name", DECISIONS)
def test_each_rule_decides_or_says_why_not(name: str) -> None:
    """Exit 0 and no word of agreement where it decides, exit 3 where it does not; every cell is in the certificate, so
    that it counts to the same again; and the record replays."""
    answers, given, wanted, why = DECISIONS[name]
    play = debated(name.partition(",")[0], *answers)
    cast(play, *given) if given else None
    result, found = play.result, decision(play)
    assert (outcome(play).answer, found.why) == (wanted, why)
    assert play.certificate["debate"] == (
        "threshold" if len({a for a in answers if isinstance(a, str)}) == 1 else "round_limit"
    )
    assert result.stop.reason == ("decided" if wanted else "undecided") and not result.stop.converged
    card = shown.card(play)
    assert card.exit_code == (0 if wanted else 3)
    told = " ".join((*(x.text for x in card.lines), *shown.part(card, "ballots").lines))
    assert "agree" not in told and "consensus" not in told
    poll = msgspec.convert(result.stop.certificate["poll"], Poll)
    assert count(poll, rule_of(poll.rule)) == found
    assert not play.posts("put") and not play.posts("signature"), "nothing is put to be signed"
    assert recounted(play, poll.rule)["decision"] == msgspec.to_builtins(found)


def recounted(play: Play, rule: str) -> dict[str, Any]:
    return recount(Record(sid="s1", entries=tuple(entry.decode() for entry in play.log)), rule)


def test_what_is_held_is_counted_by_weight() -> None:
    seats = [
        Seat(seat=f"panelist_{n}", role="panelist", queue=f"panelist_{n}", weight=w)
        for n, w in ((1, 3.0), (2, 1.0), (3, 1.0))
    ]
    play = debated("majority", "tea", "coffee", "coffee", seats=seats)
    assert outcome(play).answer == "tea" and decision(play).figures == {"tea": 3.0, "coffee": 2.0}
    assert "weights are Panelist 1 3, Panelist 2 1, Panelist 3 1" in shown.card(play).weak


def test_a_ballot_is_blind_anonymous_and_in_an_order_of_its_own() -> None:
    play = debated("borda", *(f"answer {n}" for n in range(5)))
    orders = {seat: choices(play, seat) for seat in play.panel}
    assert len({tuple(order) for order in orders.values()}) > 1
    for seat in play.panel:
        ask = play.turn(seat).ask
        assert not ask.sees and not any(name in bytes(ask.brief).decode() for name in play.panel)
    play.reply("panelist_1", ballot(play, "panelist_1", orders["panelist_1"]))
    assert not play.posts("ballot"), "nobody sees it before all are in"
    cast_ = {seat: orders[seat] for seat in play.panel[1:]}
    for seat, order in cast_.items():
        play.reply(seat, ballot(play, seat, order))
    for post in play.posts("ballot"):
        kept = decode(post.body, Cast)
        assert list(kept.shown) == orders[kept.seat] and kept.chosen == kept.shown, "the order is on record"


def test_ranking_never_shows_a_seat_its_own_answer() -> None:
    play = debated("ranking", "tea", "tea", "coffee")
    assert [sorted(choices(play, seat)) for seat in play.panel] == [
        ["coffee", "tea"],
        ["coffee", "tea"],
        ["tea", "tea"],
    ]
    for seat in play.panel:
        assert not decode(play.turn(seat).ask.brief, BallotBrief).yours
        names = choices(play, seat)
        order = (1, 2) if names[0] == "tea" else (2, 1)
        play.reply(seat, RankBallot(order=order))
    assert outcome(play).answer == "tea" and outcome(play).agree == 2


@pytest.mark.parametrize(
    ("rule", "reply", "fault"),
    [
        ("borda", RankBallot(order=(1, 2)), "order: got 1, 2; name each of 1, 2, 3 exactly once"),
        ("borda", RankBallot(order=(1, 2, 2)), "order: got 1, 2, 2; name each of 1, 2, 3"),
        ("approval", ApprovalBallot(approved=(4,)), "approved: got 4; name some of 1, 2, 3"),
        ("approval", ApprovalBallot(), "approved: got nothing; name the answers that you could accept, or say in"),
        ("score", ScoreBallot(scores=(1.0,)), "scores: got 1, give 3"),
    ],
)
def test_a_ballot_that_is_none_is_asked_for_again(rule: str, reply: object, fault: str) -> None:
    play = debated(rule, *TEA)
    play.reply("panelist_1", reply)
    again = play.turn("panelist_1").ask
    assert again.attempt == 2 and fault in again.error


def test_the_judge_names_the_argument() -> None:
    play = debated("judge", *TEA)
    ask = play.turn("analyst").ask
    assert ask.kind == "judge" and len(ask.sees) == 3
    play.reply("analyst", Ruling(reasoning="r", because="so", post=99, quote="because", choice=1))
    assert "post: got 99, name one of" in play.turn("analyst").ask.error
    play.reply("analyst", ballot(play, "analyst", "coffee"))
    card = shown.card(play)
    assert card.text == "coffee" and "the judge" in card.behind
    whose = seat_name(next(p.seat for p in play.session.posts if p.n == ask.sees[0]))
    assert card.why == f"{whose}'s argument decides: “because”; Analyst: So."
    play = debated("judge", *TEA)
    post = play.turn("analyst").ask.sees[0]
    play.reply("analyst", Ruling(reasoning="r", because="so", post=post, quote="nobody said this", choice=1))
    assert f"quote: this does not stand in post {post}, copy its words exactly" in play.turn("analyst").ask.error
    play = debated("judge", *TEA)
    play.fail("analyst")
    assert (play.result.stop.reason, decision(play).why) == ("undecided", "ruling")
    assert any("Analyst gave no ruling" in text for text in shown.card(play).weak)


def test_who_is_not_in_the_count_is_named() -> None:
    """A seat that never answered, one that answered and has no answer, one whose ballot never came."""
    play = debated("approval", "tea", "coffee", ABSTAINS, None)
    assert {t.ask.seat for t in play.session.turns.values()} == {"panelist_1", "panelist_2", "panelist_3"}
    for seat, given in (("panelist_1", ("tea",)), ("panelist_3", ("tea",))):
        play.reply(seat, ballot(play, seat, given))
    play.fail("panelist_2")
    weak = shown.card(play).weak
    assert outcome(play).answer == "tea"
    assert any("Panelist 4" in text for text in weak)
    assert "Panelist 2 cast no ballot: model unreachable" in weak and "Panelist 3 has no answer" in weak
    counts = debated("majority", "tea", "tea", None, None, settings={"absent": "counts"})
    assert decision(counts).why == "share", "all seats are counted where the setting says so"


def test_who_left_casts_no_ballot_and_its_answer_may_be_chosen() -> None:
    """What it said stands: it is on the ballots, and in the whole of which a share is counted."""
    play = Play({"decide": "borda", "round_limit": 2})
    play.reply("panelist_1", says("tea"))
    play.event(log.Decided(item="seat", choice="remove panelist_1", author="client"), "in:5")
    play.reply("panelist_2", says("coffee"))
    play.reply("panelist_3", says("milk"))
    play.compare({"tea": "1", "coffee": "2", "milk": "3"}, near=0)
    play.reply("panelist_2", says("coffee"))
    play.reply("panelist_3", says("milk"))
    assert {t.ask.seat for t in play.session.turns.values()} == {"panelist_2", "panelist_3"}
    for seat, order in (("panelist_2", ("tea", "coffee", "milk")), ("panelist_3", ("tea", "milk", "coffee"))):
        play.reply(seat, ballot(play, seat, order))
    assert outcome(play).answer == "tea"
    assert "Panelist 1 cast no ballot: it left after round 1" in shown.card(play).weak
    with pytest.raises(Illegal):
        debated("borda", *TEA).event(log.Decided(item="seat", choice="remove panelist_1", author="client"), "in:5")


@pytest.mark.parametrize(
    ("rule", "given", "counted"),
    [
        ("borda", (TEA, TEA, TEA), {"borda", "instant-runoff", "condorcet", "ranking"}),
        ("approval", (("tea",), ("tea",), ()), {"approval"}),
        ("score", (ROUND, ROUND, ROUND), {"score"}),
        ("majority", (), set()),
    ],
)
def test_ballots_are_counted_by_other_rules_where_they_say_enough(
    rule: str, given: tuple[Any, ...], counted: set[str]
) -> None:
    """What seats hold is counted anew after any session; without a call."""
    play = debated(rule, *TEA)
    cast(play, *given) if given else None
    for other in set(RULES) - {"agreement"}:
        if other in {*counted, "majority", "supermajority", "unanimity"}:
            told = recounted(play, other)
            assert told["decision"]["winner"] == ("tea" if other in counted else "")
            assert told["words"][0].endswith("no model was asked")
        else:
            with pytest.raises(BadInput, match=r"--decide: .* counts ballots that"):
                recounted(play, other)
    for other, why in (("agreement", "agreement is signed"), ("plurality", "--decide: got 'plurality', allowed are")):
        with pytest.raises(BadInput, match=why):
            recounted(play, other)
