"""What controllers learn across sessions: settings by outcome less cost, and what the bandit carries over."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from parley.client.faces.course import Course, Pull
from parley.client.reliability.policy import LEAST, MOST_PULLS, Case, carried, choices, chosen, policy, shrunk
from parley.client.reliability.verdicts import Verdict, question_hash
from parley.coordinator.schedulers import bandit, controller, learned, tried
from parley.coordinator.schedulers.bandit import ACTIONS, LinUcb, Ucb
from parley.coordinator.schedulers.controller import State
from parley.schemas.afterwards.policy import Arm
from parley.schemas.control import Control
from tests.protocols.maci.rounds import control, play, seen

NOW, DAY = 10**18, 86_400 * 10**9
GRID: Mapping[str, Mapping[str, int | float]] = {"published": {}, "short": {"round_limit": 1}, "long": {"tau_stop": 3}}


def course(*right: float, tokens: int = 1_000, pulls: Sequence[Pull] = (), **ends: int) -> Course:
    """Rounds of as many tokens; the published settings end it after the last one, unless said otherwise."""
    spent = tuple(tokens * (number + 1) for number in range(len(right)))
    return Course(right=right, tokens=spent, ends={"published": len(right) - 1, "short": 1, **ends}, pulls=tuple(pulls))


def cases(n: int, *right: float, **more: Any) -> list[Case]:
    return [Case(course=course(*right, **more), right=right[-1]) for _ in range(n)]


def pull(action: int, reward: float = 0.5, tokens: int = 100, *context: float) -> Pull:
    return Pull(action=action, context=context or (1.0,), reward=reward, tokens=tokens)


def pulled(*pulls: Pull, right: float = 1.0, weight: float = 1.0) -> Case:
    return Case(course=Course(pulls=pulls), right=right, weight=weight)


# ---------------------------------------------------------------- settings


def test_with_too_few_sessions_no_setting_is_compared() -> None:
    assert choices(cases(LEAST - 1, 0, 1, 0), GRID, 0.0) == ()
    assert len(choices(cases(LEAST, 0, 1, 0), GRID, 0.0)) == len(GRID)


def test_a_row_that_turns_wrong_answers_right_is_chosen_with_its_interval() -> None:
    found = choices(cases(40, 0, 1, 0), GRID, 0.0)
    published, short, _ = found
    assert (published.right, short.right) == pytest.approx((1 / 42, 41 / 42), abs=1e-6)
    assert short.gain == pytest.approx(40 / 42, abs=1e-6), "two sessions that nobody played shrink it"
    assert 0 < short.low < short.gain < short.high
    assert chosen(found) == short
    assert (published.gain, published.low, published.high) == (0, 0, 0)


def test_each_row_has_its_cost_and_the_price_counts_it() -> None:
    free, dear = (choices(cases(400, 1, 1, 1), GRID, price)[1] for price in (0.0, 0.1))
    assert (free.tokens, free.rounds) == (2_000, 1)
    assert free.gain == 0 and dear.gain == pytest.approx(0.1 * 400 / 402, abs=1e-6)
    assert chosen(choices(cases(400, 1, 1, 1), GRID, 0.0)) is None
    best = chosen(choices(cases(400, 1, 1, 1), GRID, 0.1))
    assert best is not None and best.name == "short"


def test_what_is_cheaper_is_not_chosen_while_it_may_still_lose_answers() -> None:
    few = choices(cases(LEAST, 1, 1, 1), GRID, 0.02)
    assert few[1].gain > 0 > few[1].low and chosen(few) is None
    assert chosen(choices(cases(2_000, 1, 1, 1), GRID, 0.02)) is not None


def test_the_interval_is_wider_the_more_rows_there_are() -> None:
    more = {**GRID, **{f"row {n}": {"tau_stop": 3} for n in range(20)}}
    narrow, wide = (choices(cases(40, 0, 1, 0), grid, 0.0)[1] for grid in (GRID, more))
    assert wide.gain == narrow.gain and wide.low < narrow.low and wide.high > narrow.high


def test_shrinkage_is_that_of_two_sessions_that_cancel_out() -> None:
    assert shrunk([], 2.0)[0] == 0.0
    mean, low, high = shrunk([(1.0, 1.0), (1.0, 1.0)], 1.0)
    assert mean == pytest.approx(0.5) and high - mean == pytest.approx(mean - low) == pytest.approx((0.75 / 4) ** 0.5)


def test_a_row_that_no_record_shows_is_not_judged() -> None:
    found = choices(cases(40, 0, 1, 0), GRID, 0.0)
    assert (found[2].name, found[2].sessions, found[2].gain) == ("long", 0, 0)


def test_permuted_gold_learns_nothing() -> None:
    """Whether an answer was right has nothing to do with the round, so no row gains."""
    dice = random.Random(5)
    shuffled = [
        Case(course=course(*(float(dice.random() < 0.5) for _ in range(4)), long=2), right=1.0) for _ in range(300)
    ]
    assert chosen(choices(shuffled, GRID, 0.0)) is None


def test_what_the_session_sets_itself_is_not_chosen_for_it() -> None:
    found = choices(cases(40, 0, 1, 0), GRID, 0.0)
    assert chosen(found, {"round_limit"}) is None
    assert chosen(found, {"tau_stop"}) is not None


# ---------------------------------------------------------------- what is known of a session


def verdict(number: int, *right: float, age_days: float = 0, kind: str = "law", **more: Any) -> Verdict:
    return Verdict(
        session=f"s{number}", question=question_hash(f"q{number}"), kind=kind, protocol="maci",
        at_ns=NOW - round(age_days * DAY), right=bool(right[-1]), course=course(*right, **more),
    )  # fmt: skip


def learned_from(said: Sequence[Verdict], **more: Any) -> Any:
    return policy(said, GRID, **{"protocol": "maci", "now_ns": NOW, "price": 0.0, **more})


def test_an_older_session_counts_less() -> None:
    said = [verdict(n, 0, 1, 0, age_days=180) for n in range(40)]
    old, new = learned_from(said), learned_from([verdict(n, 0, 1, 0) for n in range(40)])
    assert old.choices[1].sessions == pytest.approx(20) and new.choices[1].sessions == 40
    assert old.choices[1].low < new.choices[1].low, "what is older leaves more open"
    arms = learned_from([verdict(1, 1, 1, age_days=360, pulls=[pull(0)])]).arms
    assert arms[0].pulls == pytest.approx(0.25)
    assert learned_from([verdict(1, 1, 1, age_days=-1)]).sessions == 0, "what is later counts nothing"


def test_the_question_at_hand_counts_nothing() -> None:
    said = [verdict(n, 0, 1, 0, pulls=[pull(3)]) for n in range(LEAST)]
    found = learned_from(said, question="Q7")
    assert (found.sessions, found.left_out, found.choices) == (LEAST - 1, 1, ())
    assert found.arms[3].pulls == LEAST - 1


def test_enough_sessions_of_the_kind_decide_alone() -> None:
    said = [verdict(n, 0, 1, 0, kind="law") for n in range(LEAST)]
    said += [verdict(100 + n, 1, 0, 1, kind="tax") for n in range(10 * LEAST)]
    assert learned_from(said, kind="law").settings == {"round_limit": 1}
    assert learned_from(said).settings == {}
    other = learned_from(said, kind="sport")
    assert (other.kind, other.sessions) == ("", 11 * LEAST)


def test_sessions_of_other_protocols_and_without_a_course_count_nothing() -> None:
    plain = msgspec.structs.replace(verdict(1, 1, 1), course=None)
    other = msgspec.structs.replace(verdict(2, 1, 1), protocol="consensus")
    assert learned_from([plain, other]).sessions == 0


# ---------------------------------------------------------------- the bandit


def test_counts_and_means_are_carried_over() -> None:
    arms, _ = carried([pulled(pull(3, 0.5), pull(3, 0.1)), pulled(pull(4, 1.0), weight=0.5)])
    assert [arm.pulls for arm in arms] == [0, 0, 0, 2, 0.5, 0, 0, 0, 0, 0]
    assert [arm.mean for arm in arms[3:5]] == pytest.approx([0.3, 1.0])
    begun = learned.begin(Control(schedule="learned"), arms).policy
    assert isinstance(begun, Ucb) and begun.counts[3] == 2 and begun.means[3] == pytest.approx(0.3)


def test_what_moved_a_debate_to_a_wrong_answer_earned_nothing() -> None:
    arms, _ = carried([pulled(pull(3, 0.8)), pulled(pull(3, 0.8), right=0.0)])
    assert arms[3].pulls == 2 and arms[3].mean == pytest.approx(0.4)


def test_a_and_b_are_the_weighted_sums_of_l_5() -> None:
    dice = np.random.default_rng(5)
    a, b, known = np.eye(8), np.zeros(8), []
    for _ in range(12):
        x, weight = dice.normal(size=8), float(dice.uniform(0.1, 1))
        known.append(pulled(pull(2, 0.5, 100, *x.tolist()), weight=weight))
        a += weight * np.outer(x, x)
        b += weight * 0.5 * x
    arms, _ = carried(known)
    begun = learned.begin(Control(schedule="learned", policy="linucb"), arms).policy
    assert isinstance(begun, LinUcb) and begun.inverse[1] == ()
    assert np.array(begun.inverse[2]).reshape(8, 8) == pytest.approx(np.linalg.inv(a), abs=1e-7)
    assert begun.earned[2] == pytest.approx(b.tolist(), abs=1e-7)


def test_all_arms_together_count_for_no_more_than_the_cap() -> None:
    arms, _ = carried([pulled(*[pull(1, 0.5)] * 3_000, *[pull(2, 0.1)] * 1_000)])
    assert (arms[1].pulls, arms[2].pulls) == pytest.approx((0.75 * MOST_PULLS, 0.25 * MOST_PULLS))
    assert arms[1].mean == pytest.approx(0.5)


def test_each_action_has_the_mean_cost_of_the_round_that_followed_it() -> None:
    arms, _ = carried([pulled(pull(3, tokens=100), pull(4, tokens=700)), pulled(pull(3, tokens=400), weight=0.5)])
    assert (arms[3].tokens, arms[4].tokens, arms[0].tokens) == (200, 700, 0)


def test_c_max_is_the_95th_percentile_of_past_rounds() -> None:
    """L.6, of a small development set: sessions with feedback."""
    rounds = [pull(0, tokens=100 * n) for n in range(1, 4)]
    assert carried([pulled(*rounds)] * (LEAST - 1))[1] is None
    assert carried([pulled(*rounds)] * LEAST)[1] == pytest.approx(np.percentile([100, 200, 300] * LEAST, 95))
    said = [verdict(n, 1, 1, pulls=rounds) for n in range(LEAST)]
    assert "c_max" in learned_from(said).settings and "c_max" not in learned_from(said, given={"c_max"}).settings


ARMS = tuple(Arm(pulls=10, mean=0.9 if k == 5 else 0.1, tokens=5_000 if k == 5 else 100) for k in range(len(ACTIONS)))


def test_the_first_choice_of_a_debate_follows_what_past_ones_earned() -> None:
    config = control(schedule="learned")
    rounds = [seen(tokens=500), seen(tokens=900)]
    anew, carried_ = play(config, rounds).learned, play(config, rounds, arms=ARMS).learned
    assert anew is not None and carried_ is not None
    assert (anew.action, carried_.action) == (0, 5)
    assert anew.costs is msgspec.UNSET and b"costs" not in msgspec.json.encode(anew)


def test_an_action_whose_past_cost_does_not_fit_the_budget_is_not_feasible() -> None:
    """Algorithm 2, lines 4 and 5: c_t(k) by action, and never below the dearest round so far (L.3)."""
    config = control(schedule="learned")
    costs = [
        play(config, [seen(tokens=500), seen(tokens=900, tokens_left=left)], arms=ARMS).learned
        for left in (5_000, 4_999)
    ]
    assert [state.action == 5 for state in costs if state is not None] == [True, False]
    nothing = play(config, [seen(tokens=500), seen(tokens=900, tokens_left=899)], arms=ARMS).learned
    assert nothing is not None and nothing.action is None


def test_a_session_still_moves_what_it_took_over() -> None:
    known = bandit.carried("ucb", ARMS).learn(5, 0.0, ())
    assert isinstance(known, Ucb)
    assert known.counts[5] == 11 and known.means[5] == pytest.approx(9 / 11)


def test_arms_of_another_bandit_do_not_fit() -> None:
    ucb, lin = (Control(schedule="learned", policy=name) for name in ("ucb", "linucb"))
    odd = (*ARMS[:-1], Arm(pulls=1, mean=0, tokens=0, inverse=(1.0,), earned=(0.0,)))
    assert learned.fits(ucb, ARMS) and learned.fits(lin, ARMS)
    assert not learned.fits(ucb, ARMS[1:]) and not learned.fits(lin, odd) and learned.fits(ucb, odd)


def test_short_debates_lose_less_with_what_past_ones_earned() -> None:
    """Six rounds a debate are too few for ten actions: carried over, the regret grows more slowly (proposition 1)."""
    worth = [0.05] * 9 + [0.95]

    def lost(carry: bool) -> float:
        dice, known, total = np.random.default_rng(3), Ucb(), 0.0
        past: list[Case] = []
        for _ in range(60):
            known = bandit.carried("ucb", carried(past)[0] if carry else ())  # type: ignore[assignment]
            pulls = []
            for _ in range(6):
                action = known.choose(range(len(ACTIONS)))
                assert action is not None
                total += max(worth) - worth[action]
                pulls.append(pull(action, float(dice.random() < worth[action])))
                known = known.learn(action, pulls[-1].reward)
            past.append(pulled(*pulls))
        return total

    assert lost(True) < 0.6 * lost(False)


# ---------------------------------------------------------------- where settings end a debate

MOVES: tuple[tuple[float, float, float], ...] = ((0.6, 0.3, 0.1), (0.1, 0.3, 0.6), *[(0.1, 0.2, 0.7)] * 4)


def moved(**given: Any) -> tuple[Control, State]:
    """Rounds in which one agent comes over to the other, with gates that do not rise."""
    config = control(w=1, gamma=0.0, **given)
    return config, play(config, [seen(u) for u in MOVES])


@pytest.mark.parametrize("row", tried.GRID)
def test_settings_end_a_debate_where_the_controller_itself_ends_it(row: str) -> None:
    config, state = moved(**tried.GRID[row])
    own = (n for n in range(len(MOVES)) if controller.verdict(config, shortened(state, n)) is not None)
    found = tried.end(config, state.rounds)
    assert found == next(own) and moved()[1].rounds == state.rounds, "nothing but the end depends on them"


def shortened(state: State, last: int) -> State:
    return msgspec.structs.replace(state, rounds=state.rounds[: last + 1])


def test_a_record_does_not_say_what_more_patient_settings_come_to() -> None:
    config, state = moved()
    last = tried.end(config, state.rounds)
    assert last == 4
    assert tried.end(moved(tau_stop=3)[0], state.rounds[: last + 1]) is None
    assert tried.end(moved(round_limit=1)[0], state.rounds[: last + 1]) == 1


def test_the_grid_begins_with_the_published_settings_and_changes_one_setting_a_row() -> None:
    (first, settings), *others = tried.GRID.items()
    assert (first, settings) == (tried.PUBLISHED, {})
    assert all(len(row) == 1 and getattr(msgspec.convert(row, Control), *row) != getattr(Control(), *row)
               for _, row in others)  # fmt: skip
    assert tried.published(Control(tau_stop=7, tau_o=0.9, w=5)) == Control(w=5)
