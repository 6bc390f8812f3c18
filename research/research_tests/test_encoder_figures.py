"""The figures of the benchmark are computed right, and the committed pairs still give what the documents say."""

import numpy as np
import pytest

from parley.agents.encoders.embedded import Embedded
from parley.agents.protocols.critic.extractive_compare import REPEATS_BY_ENCODER, REPEATS_BY_WORDS, by_encoder
from parley.agents.protocols.critic.extractive_judge import alike
from parley_research.benchmarks.encoders import DOC, auc, best_f1, found_at, objections, ranks, run, spearman

HITS = np.array([True, True, False, False])


def test_ranks_share_ties() -> None:
    assert ranks(np.array([5.0, 1.0, 5.0, 9.0])).tolist() == [1.5, 0.0, 1.5, 3.0]


def test_rank_correlation_by_hand() -> None:
    """1 - 6 sum d^2 / (n (n^2 - 1)) without ties: d = (0, 1, 1, 0), n = 4."""
    assert spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 30.0, 20.0, 40.0])) == pytest.approx(1 - 12 / 60)
    assert spearman(np.array([1.0, 2.0]), np.array([2.0, 1.0])) == pytest.approx(-1)


def test_auc_and_f1_by_hand() -> None:
    """Of the four pairs (hit, miss) three are in order; from 0.3 on, two of three found are hits."""
    values = np.array([0.9, 0.3, 0.5, 0.1])
    assert auc(values, HITS) == pytest.approx(0.75)
    assert auc(np.array([0.5, 0.5, 0.5, 0.5]), HITS) == pytest.approx(0.5)
    f1, at = best_f1(values, HITS)
    assert f1 == pytest.approx(0.8) and at == 0.3


def test_there_are_fifty_pairs_of_each_kind_and_no_two_texts_are_one() -> None:
    pairs = objections()
    assert len(pairs) == 200 == len({(a, b) for a, b, _ in pairs})
    assert all(a != b for a, b, _ in pairs)


def test_the_default_thresholds_find_what_the_document_says() -> None:
    encoder = Embedded()
    pairs = objections()
    by_vectors = found_at(lambda a, b: run(by_encoder(encoder, a, (b,)))[0], pairs, REPEATS_BY_ENCODER)
    by_words = found_at(alike, pairs, REPEATS_BY_WORDS)
    assert by_vectors["reworded"] >= 48 and by_vectors["related"] <= 7 and by_vectors["unrelated"] == 0
    assert by_words == {"reworded": 42, "same": 0, "related": 7, "unrelated": 0}
    assert "| words | 0.60 | 42 | 0 | 7 | 0 |" in DOC.read_text(encoding="utf-8")
