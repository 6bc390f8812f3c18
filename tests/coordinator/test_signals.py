"""Evidence, judges' scores, weights, progress, the regime and the start: each by its equation."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.coordinator.schedulers.dials import bins, level
from parley.coordinator.signals.beliefs import logged, mixture, spread
from parley.coordinator.signals.crit import Similarities, by_agent, overlap, panel, weights
from parley.coordinator.signals.progress import flags, progress
from parley.coordinator.signals.regime import classify
from parley.schemas.control import Control
from parley.schemas.text import Similar
from tests.protocols.maci import naive
from tests.support.tuned import control


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
    ("cited", "mean"),
    [([{"e1", "e2"}, {"e2"}], 0.5), ([{"e1"}, {"e1"}], 1.0), ([{"a", "b"}, {"b"}, {"a", "c"}], (1 / 2 + 1 / 3) / 3),
     ([set(), set()], 0.0), ([{"a"}, set()], 0.0)],
)  # fmt: skip
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


def test_crit_of_an_agent_is_the_mean_over_all_its_arguments_admitted_or_not() -> None:
    assert by_agent([0.9, 0.1, 0.4], ["u", "u", "v"]) == pytest.approx({"u": 0.5, "v": 0.4})


def test_agents_whose_every_argument_is_worthless_still_have_weights() -> None:
    assert weights({"u": 0.0, "v": 0.0}, 1e-6) == {"u": 0.5, "v": 0.5}


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


@pytest.mark.parametrize(
    ("q", "d", "cl"),
    [(0.7, 0.3, 0.7), (0.9, 0.0, 0.7), (0.5, 0.5, 0.9), (0.1, 1.0, 0.9), (0.6, 0.4, 0.8), (0.9, 0.9, 0.8),
     (0.2, 0.2, 0.8), (0.6999, 0.3, 0.8), (0.7, 0.3001, 0.8), (0.5001, 0.5, 0.8), (0.5, 0.4999, 0.8)],
)  # fmt: skip
def test_contentiousness_starts_by_the_bins(q: float, d: float, cl: float) -> None:
    assert level(bins(Control()), q, d) == cl


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
    assert "little in common (overlap 0.00)" in regime(overlap=0.0).words
    nobody = regime(overlap=None)
    assert not nobody.synthesis and nobody.overlap is None and "overlap" not in nobody.words
    badly = regime(control(ece=0.1))
    assert (badly.advice, badly.calibration_risk) == ("debate", True)
    assert "0.10, allowed is less than 0.10" in badly.words
    assert regime(control(ece=0.0999)).calibration_risk is False and regime().calibration_risk is None
