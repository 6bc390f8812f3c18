"""Beliefs, evidence, judges' scores, progress and the regime: each by its equation."""

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.coordinator.schedulers.dials import bins
from parley.coordinator.signals.beliefs import checked, jsd, logged, mixture, parse_belief, spread, wasserstein
from parley.coordinator.signals.crit import Similarities, overlap, panel
from parley.coordinator.signals.progress import flags, progress
from parley.coordinator.signals.regime import classify
from parley.schemas.belief import Share
from parley.schemas.control import Control
from parley.schemas.text import Similar
from parley.schemas.wire import InvalidValue
from tests.protocols.maci import naive
from tests.support.tuned import control

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


# ---------------------------------------------------------------- disagreement


def test_the_hepatitis_case_has_a_disagreement_of_0_226() -> None:
    """H.2, round 1; the paper prints 0.22. HCV, HBV, cirrhosis, obstructive, ALF, alcoholic, HAV."""
    gpt = (0.40, 0.30, 0.15, 0.10, 0.05, 0.0, 0.0)
    claude = (0.25, 0.35, 0.0, 0.20, 0.0, 0.15, 0.05)
    assert disagreement([gpt, claude]) == pytest.approx(0.226, abs=5e-4)


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


# ---------------------------------------------------------------- evidence


def similar(vectors: "np.ndarray[Any, Any]", theta: "np.ndarray[Any, Any]") -> Similar:
    """As the trusted helper reports it."""
    gram = vectors @ vectors.T
    upper = gram[np.triu_indices(len(vectors))]
    return Similar(gram=tuple(upper.tolist()), dots=tuple((vectors @ theta).tolist()))


def unit(rows: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)  # type: ignore[no-any-return]


@given(st.integers(0, 10_000), st.integers(1, 30))
def test_evidence_quality_is_the_cosine_of_the_mean_span_with_the_prototype(seed: int, n: int) -> None:
    dice = np.random.default_rng(seed)
    vectors, theta = unit(dice.normal(size=(n, 8))), unit(dice.normal(size=8))
    members = dice.integers(0, n, size=dice.integers(1, n + 1)).tolist()
    mean = vectors[members].mean(axis=0)
    expected = float(mean @ theta / np.linalg.norm(mean))
    assert Similarities(similar(vectors, theta)).quality(members) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("spans", "members"),
    [([], []), ([[1.0, 0.0], [0.0, 1.0]], []), ([[1.0, 0.0], [-1.0, 0.0]], [0, 1])],
    ids=["none", "none admitted", "they cancel out"],
)
def test_no_evidence_gives_0(spans: list[list[float]], members: list[int]) -> None:
    found = similar(np.array(spans), np.array([1.0, 0.0])) if spans else Similar()
    assert Similarities(found).quality(members) == 0.0


@pytest.mark.parametrize(
    ("cited", "mean"), [([{"a", "b"}, {"b"}, {"a", "c"}], (1 / 2 + 1 / 3) / 3), ([set(), set()], 0.0)]
)
def test_overlap_is_the_mean_jaccard_index_of_the_cited_sets(cited: list[set[str]], mean: float) -> None:
    assert overlap(cited) == pytest.approx(mean)


# ---------------------------------------------------------------- judges


def test_an_argument_scores_the_mean_over_the_judges_and_they_vary_by_each_ones_mean() -> None:
    """Means 0.6, 0.4, 0.65; their mean is 0.55. One judge has no variance, and no judge no score."""
    found = panel([[0.9, 0.3], [0.7, 0.1], [0.8, 0.5]])
    assert found.means == pytest.approx((0.8, 0.3)) and found.mean == pytest.approx(0.55)
    assert found.variance == pytest.approx((0.05**2 + 0.15**2 + 0.1**2) / 3)
    assert panel([[0.9, 0.3]]).variance is None and panel([]).mean is None and panel([]) == panel([[]])
    with pytest.raises(ValueError):
        panel([[0.5], [0.5, 0.6]])


# ---------------------------------------------------------------- progress


def test_a_flag_goes_up_below_its_threshold_and_not_at_it() -> None:
    moved = progress([0.9, 0.7], [0.5, 0.4], 1, 1e-3, either_way=False)
    assert flags(moved, "relative", moved.r_i, moved.r_d) == (False, False)
    assert flags(moved, "relative", math.nextafter(moved.r_i, 1), math.nextafter(moved.r_d, 1)) == (True, True)


# ---------------------------------------------------------------- logged only


def pairs_mean(beliefs: list[list[float]], what: Any) -> float:
    values = [what(p, q) for i, p in enumerate(beliefs) for j, q in enumerate(beliefs) if i != j]
    return float(np.mean(values))


@given(st.integers(0, 10_000), st.integers(2, 8), st.integers(2, 10))
def test_what_is_logged_only_is_as_its_definitions_say(seed: int, m: int, size: int) -> None:
    dice = np.random.default_rng(seed)
    rows = dice.dirichlet(np.ones(size), size=m) * (1 - 1e-6) + 1e-6 / size
    omega = dice.dirichlet(np.ones(m)).tolist()
    listed = rows.tolist()
    found = logged(spread([tuple(p) for p in listed]), omega, mixture(rows, omega))
    joint = np.array(omega)[:, None] * rows  # of who is asked, and of what they would say
    product = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    information = float((joint * np.log2(joint / product)).sum())
    entropies = naive.entropy(omega) + naive.entropy(joint.sum(axis=0).tolist())
    assert found["mutual_information"] == pytest.approx(information, abs=1e-9)
    assert found["normalised_mutual_information"] == pytest.approx(2 * information / entropies, abs=1e-9)
    assert found["weighted_jsd"] == pytest.approx(information / math.log2(m), abs=1e-9)
    assert found["kl"] == pytest.approx(pairs_mean(listed, naive.kl), abs=1e-8)
    crossed = pairs_mean(listed, lambda p, q: -sum(a * math.log2(b) for a, b in zip(p, q, strict=True)))
    assert found["cross_entropy"] == pytest.approx(crossed, abs=1e-8)
    assert found["w1"] == pytest.approx(naive.wasserstein(listed, [float(i) for i in range(size)]), abs=1e-9)


def test_a_figure_that_is_infinite_is_left_out() -> None:
    apart = spread([(1.0, 0.0), (0.5, 0.5)])
    found = logged(apart, (0.5, 0.5), apart.middle)
    assert set(found) == {"weighted_jsd", "mutual_information", "normalised_mutual_information", "w1"}


# ---------------------------------------------------------------- start


# ---------------------------------------------------------------- regime


def regime(config: Control | None = None, **given: Any) -> Any:
    usual: dict[str, Any] = {"outcomes": 4, "q": 0.8, "d": 0.2, "overlap": 0.6, "documents": 3}
    config = config or Control()
    at = bins(config)
    return classify(config, **{**usual, **given}, q_lo=at.q_lo, d_hi=at.d_hi)


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({}, "vote"), ({"outcomes": 5}, "vote"), ({"outcomes": 6}, "open"),
        ({"outcomes": 20, "q": 0.5, "d": 0.5}, "debate"), ({"outcomes": 19, "q": 0.5, "d": 0.5}, "open"),
        ({"outcomes": 20, "q": 0.51, "d": 0.5}, "open"), ({"outcomes": 20, "q": 0.5, "d": 0.49}, "open"),
        ({"overlap": 0.3}, "debate"), ({"overlap": 0.31}, "vote"), ({"overlap": 0.0, "documents": 1}, "vote"),
        ({"overlap": None}, "vote"),
    ],
)  # fmt: skip
def test_whether_a_vote_will_do(given: dict[str, Any], advice: str) -> None:
    """For small multiple choice; not in a large ambiguous space, nor where several documents have little in common."""
    assert regime(**given).advice == advice


def test_the_words_of_a_regime_say_what_is_not_known() -> None:
    assert regime().words == "a vote will do: 4 outcomes, as far as is known: its calibration was not measured"
    assert regime(control(ece=0.05)).words == "a vote will do: 4 outcomes"
