"""Beliefs: checked, smoothed, compared (eqs. 2 and 5, D.4, M.1)."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.coordinator.signals.beliefs import (
    checked,
    jsd,
    parse_belief,
    spread,
    wasserstein,
)
from parley.schemas.belief import Share
from parley.schemas.wire import InvalidValue
from tests.protocols.maci import naive

SHARES = st.just(0.0) | st.floats(1e-12, 1)
OUTCOMES = ("HCV", "HBV", "cirrhosis")


def shares(**given: float) -> list[Share]:
    return [Share(outcome=name, p=p) for name, p in given.items()]


@st.composite
def panels(draw: st.DrawFn, least: int = 2, most: int = 8) -> list[tuple[float, ...]]:
    """Beliefs of M agents over |Y| outcomes; some outcomes get nothing."""
    m, size = draw(st.integers(least, most)), draw(st.integers(2, 12))
    rows = []
    for _ in range(m):
        raw = draw(st.lists(SHARES, min_size=size, max_size=size).filter(lambda x: sum(x) > 1e-3))
        rows.append(tuple(x / math.fsum(raw) for x in raw))
    return rows


def disagreement(beliefs: list[tuple[float, ...]]) -> float:
    return jsd(spread(beliefs).dispersion, len(beliefs))


# ---------------------------------------------------------------- reading


def test_a_belief_names_its_outcomes_in_any_order_and_leaves_out_what_has_none() -> None:
    assert parse_belief(shares(HBV=0.25, hcv=0.75), OUTCOMES) == (0.75, 0.25, 0.0)
    assert parse_belief([Share(outcome=" hcv ", p=1.0)], OUTCOMES) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("given", "field", "limit"),
    [
        (shares(HCV=0.5, HIV=0.5), "belief.outcome", "no such outcome; there are 'HCV', 'HBV', 'cirrhosis'"),
        (shares(HCV=0.5, hcv=0.5), "belief.outcome", "named twice, allowed is once"),
        (shares(HCV=1.0, HBV=-0.5), "belief.HBV", "a probability is wanted, 0 to 1"),
        (shares(HCV=1.03), "belief.HCV", "a probability is wanted, 0 to 1"),
        (shares(HCV=math.nan), "belief.HCV", "a probability is wanted, 0 to 1"),
        (shares(HCV=math.inf), "belief.HCV", "a probability is wanted, 0 to 1"),
        (shares(HCV=1e308, HBV=1e308, cirrhosis=1e308), "belief.HCV", "a probability is wanted, 0 to 1"),
        (shares(HCV=0.5, HBV=0.47), "belief", "allowed is a sum of 1 within 0.02"),
        (shares(HCV=0.5, HBV=0.53), "belief", "allowed is a sum of 1 within 0.02"),
        ([], "belief", "allowed is a sum of 1 within 0.02"),
    ],
)
def test_a_belief_that_does_not_sum_is_negative_or_names_an_unknown_outcome_is_invalid(
    given: list[Share], field: str, limit: str
) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse_belief(given, OUTCOMES)
    assert (refused.value.field, refused.value.limit) == (field, limit)


@pytest.mark.parametrize("total", [0.98, 1.02])
@given(share=st.decimals(0, "0.49", places=2), other=st.decimals(0, "0.49", places=2))
def test_two_hundredths_themselves_are_within_whatever_the_rounding(
    total: float, share: Decimal, other: Decimal
) -> None:
    """0.34 three times is a little more than 1.02 in binary."""
    rest = Decimal(str(total)) - share - other
    found = checked((float(share), float(other), float(rest)), "belief")
    assert math.fsum(found) == pytest.approx(1, abs=1e-15)


def test_a_list_of_probabilities_names_the_place_of_a_fault() -> None:
    with pytest.raises(InvalidValue, match=r"beliefs\.u\[1\]: got -0\.1, a probability is wanted"):
        checked((1.0, -0.1), "beliefs.u")


def test_an_error_names_ten_outcomes_at_most() -> None:
    with pytest.raises(InvalidValue, match=r"'o9' and 90 more$"):
        parse_belief(shares(z=1), [f"o{i}" for i in range(100)])


# ---------------------------------------------------------------- disagreement


def test_the_hepatitis_case_has_a_disagreement_of_0_226() -> None:
    """H.2, round 1; the paper prints 0.22. HCV, HBV, cirrhosis, obstructive, ALF, alcoholic, HAV."""
    gpt = (0.40, 0.30, 0.15, 0.10, 0.05, 0.0, 0.0)
    claude = (0.25, 0.35, 0.0, 0.20, 0.0, 0.15, 0.05)
    assert disagreement([gpt, claude]) == pytest.approx(0.226, abs=5e-4)


def test_disjoint_beliefs_disagree_wholly_and_equal_ones_not_at_all() -> None:
    assert disagreement([(1.0, 0.0), (0.0, 1.0)]) == 1.0
    assert disagreement([(0.6, 0.35, 0.05)] * 2) == 0.0
    assert disagreement([(0.1, 0.2, 0.7)] * 7) == 0.0


@given(panels())
def test_disagreement_is_the_mean_kl_to_the_mean_belief_divided_by_log2_of_the_agents(
    beliefs: list[tuple[float, ...]],
) -> None:
    """Within 0 and 1; for two agents, the paper's formula."""
    rows = [list(p) for p in beliefs]
    assert 0 <= disagreement(beliefs) <= 1
    assert disagreement(beliefs) == pytest.approx(naive.jsd(rows), abs=1e-9)
    assert spread(beliefs).dispersion == pytest.approx(naive.dispersion(rows), abs=1e-9)
    if len(rows) == 2:
        m = naive.middle(rows)
        assert disagreement(beliefs) == pytest.approx(sum(naive.kl(p, m) for p in rows) / 2, abs=1e-9)


# ---------------------------------------------------------------- ordered outcomes


@given(panels(), st.data())
def test_wasserstein_is_as_every_pair_by_itself_says(beliefs: list[tuple[float, ...]], data: Any) -> None:
    size = len(beliefs[0])
    steps = data.draw(st.lists(st.floats(0.1, 5), min_size=size - 1, max_size=size - 1))
    positions = [float(x) for x in np.cumsum([0.0, *steps])]
    rows = [list(p) for p in beliefs]
    assert wasserstein(np.array(rows), positions) == pytest.approx(naive.wasserstein(rows, positions), abs=1e-9)
