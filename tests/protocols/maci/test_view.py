"""What a measured debate says: beliefs, arguments at the gates and for whom they speak, signals, tests of the stop."""

import re
from typing import Any

import msgspec
import pytest

from parley.client.protocols.maci import gates
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


def test_the_argument_that_is_told_speaks_for_the_answer_although_the_other_side_has_a_stronger_one() -> None:
    play = argued(("the platelets fell", 0.6), ("the joints are swollen", 0.95))
    card = shown.card(play)
    assert card.text == "dengue" and card.why == "the platelets fell"
    (post,) = card.posts
    assert next(p for p in play.session.posts if p.n == post).seat == "debater_1"
    assert card.quote is not None and card.dissent == "Debater 2 holds chikungunya"


# ---------------------------------------------------------------- posts


def test_a_round_shows_what_is_held_and_its_figures_stand_in_the_table_with_the_dials_to_come() -> None:
    card = card_of("signals", maci_record.round_(SAID, 2))
    assert card.head == "disagreement 0.20" and card.chips[0].text == "dengue 0.70, chikungunya 0.15"
    part = shown.part(shown.card(agreement()), "signals")
    assert part.table is not None and part.table.head[:3] == ("Round", "D", "O") and len(part.table.rows) > 1
    assert part.lines[-1].startswith("Dials of the next round: CL ")
    held = card_of("signals", msgspec.structs.replace(maci_record.round_(SAID, 1, held=True), missing=("debater_2",)))
    assert "the monotone gate kept the beliefs" in held.text and held.missing == ("debater_2",)


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


def test_a_belief_is_there_as_shares_and_a_mind_is_changed_with_its_reason() -> None:
    play = argued(("x", 0.5), ("y", 0.5))
    fold = shown.fold(play)
    first = next(card for card in fold.cards if card.kind == "blind")
    assert [(s.name, s.p) for s in first.shares] == [("dengue", 0.9), ("chikungunya", pytest.approx(0.1))]
    play = Play({"round_limit": 1})
    play.blind(belief(0.9, 0.1), belief(0.2, 0.8))
    play.round(case(belief(0.9, 0.1)), case(belief(0.8, 0.2), changed="the platelets fell"))
    play.plan()
    (change,) = shown.fold(play).changes
    assert (change.seat, change.before, change.after, change.why) == (
        "debater_2", "chikungunya", "dengue", "the platelets fell",
    )  # fmt: skip


# ---------------------------------------------------------------- the stop


def test_a_stop_that_is_no_convergence_says_which_tests_failed() -> None:
    card = shown.card(deadlock())
    assert (card.reason, card.kind, card.word, card.text) == ("plateau", "unsettled", "Answer", "")
    assert re.match(r"disagreement is 0\.7\d, 0\.10 at most is wanted$", card.open), card.open
    assert card.sure.startswith("not settled: 2 outcomes are equally likely")
    tests = shown.part(card, "tests").lines
    assert "  no: debaters that hold the most widely held answer: 1, wanted at least 2" in tests
    assert "consensus" not in card.sure


def test_the_certificate_names_what_it_counts() -> None:
    told = "\n".join(shown.part(shown.card(agreement()), "certificate").lines)
    assert "Spent when it stopped, before the final plan: " in told and "calls of seats (what is computed" in told


def test_what_the_judges_passed_and_q_alone_refused_is_told_with_what_would_admit_it() -> None:
    refused: dict[str, Any] = {"q": 0.3, "tau_q": 0.5, "crit": 0.9, "tau_crit": 0.3, "claim": "swollen"}
    told = list(gates.unlike_words(({"refused": [refused]},), ()))
    assert "maci.q_gate=false admits" in told[0] and told[1].endswith("swollen")
    assert not list(gates.unlike_words(({"refused": [{**refused, "crit": 0.1}]},), ()))


def test_of_equally_probable_outcomes_the_answer_stands_first() -> None:
    mixture = {"a": 0.2, "b": 0.4, "c": 0.4}
    assert [s.outcome for s in gates.top(mixture, 2)] == ["b", "c"]
    assert [s.outcome for s in gates.top(mixture, 2, "c")] == ["c", "b"]
