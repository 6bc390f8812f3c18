"""Evidence (eqs. 1 and 3), the judges' panel (E.1-E.3), reliability and weights (eq. 4)."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.coordinator.signals.crit import START, by_agent, panel, reliability, weights
from parley.coordinator.signals.evidence import Similarities, overlap, quality
from parley.schemas.similarity import Similar


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
    assert quality(similar(vectors, theta), members) == pytest.approx(expected, abs=1e-9)


def test_q_of_one_argument_uses_its_own_spans() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    asked = Similarities(similar(vectors, np.array([1.0, 0.0])))
    assert asked.quality([0]) == pytest.approx(1.0)
    assert asked.quality([1]) == pytest.approx(0.0)
    assert asked.quality([2]) == pytest.approx(0.6)
    assert asked.quality([0, 1]) == pytest.approx(math.sqrt(0.5))


def test_no_admitted_span_gives_0() -> None:
    assert quality(Similar(), []) == 0.0
    assert quality(similar(np.eye(2), np.array([1.0, 0.0])), []) == 0.0


def test_spans_that_cancel_out_give_0() -> None:
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert quality(similar(vectors, np.array([1.0, 0.0])), [0, 1]) == 0.0


def test_figures_of_another_number_of_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="2 figures in the triangle of 2 texts, wanted are 3"):
        Similarities(Similar(gram=(1.0, 1.0), dots=(0.5, 0.5)))


def test_overlap_is_jaccard_of_the_cited_sets() -> None:
    assert overlap([{"e1", "e2"}, {"e2"}]) == 0.5
    assert overlap([{"e1"}, {"e1"}]) == 1.0


def test_overlap_is_the_mean_over_pairs() -> None:
    """1/2, 1/3 and 0."""
    assert overlap([{"a", "b"}, {"b"}, {"a", "c"}]) == pytest.approx((1 / 2 + 1 / 3 + 0) / 3)


def test_two_empty_sets_give_0() -> None:
    assert overlap([set(), set()]) == 0.0
    assert overlap([{"a"}, set()]) == 0.0


# ---------------------------------------------------------------- judges


def test_an_argument_scores_the_mean_over_the_judges() -> None:
    found = panel([[0.9, 0.3], [0.7, 0.1], [0.8, 0.5]])
    assert found.means == pytest.approx((0.8, 0.3))
    assert found.mean == pytest.approx(0.55)


def test_the_variance_is_across_judges_of_each_ones_mean() -> None:
    """Means 0.6, 0.4, 0.65; their mean is 0.55."""
    found = panel([[0.9, 0.3], [0.7, 0.1], [0.8, 0.5]])
    assert found.variance == pytest.approx((0.05**2 + 0.15**2 + 0.1**2) / 3)


def test_one_judge_has_no_variance_and_no_judge_no_score() -> None:
    assert panel([[0.9, 0.3]]).variance is None
    assert panel([]) == panel([[]])
    assert panel([]).mean is None
    with pytest.raises(ValueError):
        panel([[0.5], [0.5, 0.6]])


def test_crit_of_an_agent_is_the_mean_over_all_its_arguments_admitted_or_not() -> None:
    assert by_agent([0.9, 0.1, 0.4], ["u", "u", "v"]) == pytest.approx({"u": 0.5, "v": 0.4})


def test_reliability_starts_at_one_half_and_moves_by_a_fifth() -> None:
    assert START == 0.5
    assert reliability({"u": START, "v": START}, {"u": 1.0, "v": 0.0}, 0.8) == pytest.approx({"u": 0.6, "v": 0.4})


def test_with_no_argument_reliability_is_unchanged() -> None:
    assert reliability({"u": 0.3, "v": 0.7}, {"u": 0.8}, 0.8) == pytest.approx({"u": 0.4, "v": 0.7})


def test_weights_are_reliabilities_over_their_sum() -> None:
    assert weights({"u": 0.6, "v": 0.2}, 1e-6) == pytest.approx({"u": 0.600001 / 0.800002, "v": 0.200001 / 0.800002})


def test_agents_whose_every_argument_is_worthless_still_have_weights() -> None:
    assert weights({"u": 0.0, "v": 0.0}, 1e-6) == {"u": 0.5, "v": 0.5}
