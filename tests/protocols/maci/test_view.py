"""What a measured debate says: beliefs, arguments at the gates and for whom they speak, signals, tests of the stop."""

import re

import msgspec
import pytest

from parley.client.protocols.maci.show import MaciShow
from parley.client.show.card import Card
from parley.schemas.post import Post
from parley.schemas.protocols.maci.messages import Ruled
from parley.schemas.wire import raw
from tests.client import shown
from tests.protocols.maci import record as maci_record
from tests.protocols.maci.play import Play, argument, belief, case
from tests.protocols.maci.record import Words

SAID = Words()


def card_of(kind: str, body: object, **more: str) -> Card:
    post = Post(
        session="s", channel="public", k=0, n=0, transition=1, at_ns=0, kind=kind, round=1, body=raw(body), **more
    )
    return MaciShow().card(post)


def deadlock() -> Play:
    play = Play()
    play.blind(belief(0.95, 0.05), belief(0.05, 0.95))
    while play.phase == "arguing":
        play.same(belief(0.95, 0.05), belief(0.05, 0.95))
    play.plan()
    return play


def agreement() -> Play:
    play = Play()
    play.blind(belief(0.9, 0.1), belief(0.88, 0.12))
    while play.phase == "arguing":
        play.same(belief(0.9, 0.1), belief(0.88, 0.12))
    play.plan()
    return play


# ---------------------------------------------------------------- the reason that carried the answer


def argued(*claims: tuple[str, float]) -> Play:
    """Debater 1 argues for dengue, debater 2 for chikungunya; dengue is in front in the end."""
    play = Play({"judges": 1, "gamma": 0.0, "round_limit": 1})
    play.blind(belief(0.9, 0.1), belief(0.2, 0.8))
    marks = dict(claims)
    (mine, _), (theirs, _) = claims
    play.round(
        case(belief(0.9, 0.1), argument(mine)), case(belief(0.3, 0.7), argument(theirs, 2)),
        score=lambda claim: marks[claim],
    )  # fmt: skip
    play.plan()
    return play


# ---------------------------------------------------------------- posts


@pytest.mark.parametrize(
    ("q", "crit", "why"),
    [
        (0.31, 0.8, "q 0.31 < 0.50, although CRIT 0.80 ≥ 0.30"),
        (0.62, 0.1, "CRIT 0.10 < 0.30, although q 0.62 ≥ 0.50"),
        (0.0, 0.0, "q 0.00 < 0.50 and CRIT 0.00 < 0.30"),
        (0.4999, 0.8, "q 0.4999 < 0.5000, although CRIT 0.80 ≥ 0.30"),
        (0.62, None, "not judged, although q 0.62 ≥ 0.50"),
        (0.31, None, "q 0.31 < 0.50 and not judged"),
        (None, 0.8, "evidence not measured, although CRIT 0.80 ≥ 0.30"),
        (None, None, "evidence not measured and not judged"),
    ],
)
def test_a_refused_argument_names_the_gate_the_value_and_the_threshold(
    q: float | None, crit: float | None, why: str
) -> None:
    ruled: Ruled = msgspec.structs.replace(maci_record.ruled(SAID, 2, admitted=False), q=q, crit=crit)
    card = card_of("refused", ruled, seat="debater_2")
    assert card.refused == why and card.chips[0].text == "refused"
    assert "Judge 1: 0.80 (evidence 0.70, logic 0.80, relevance 0.90, links 0.80)" in card.text


# ---------------------------------------------------------------- the stop


def test_a_stop_that_is_no_convergence_says_which_tests_failed() -> None:
    card = shown.card(deadlock())
    assert (card.reason, card.kind, card.word, card.text) == ("plateau", "unsettled", "Answer", "")
    assert card.open == "2 outcomes are equally likely"
    assert any(re.match(r"  no: disagreement: 0\.7\d+, wanted", text) for text in shown.part(card, "tests").lines)
    assert card.sure.startswith("not settled: 2 outcomes are equally likely")
    tests = shown.part(card, "tests").lines
    assert "  no: debaters that hold the most widely held answer: 1, wanted at least 2" in tests
    assert "consensus" not in card.sure
