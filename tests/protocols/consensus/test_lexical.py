"""Agreement without a model, and the text rules under it."""

import pytest

from parley.coordinator.protocols.consensus.lexical import cosine, dimensions, jaccard, pairwise
from parley.schemas.text import answer_key, squeeze, stands_in, tokens
from tests.protocols.consensus.play import cite, says


def test_tokens_keep_order_and_meaning() -> None:
    assert tokens("Do NOT wait for 20 seconds, the third time") == (
        "do", "not", "wait", "for", "20", "seconds", "third", "time",
    )  # fmt: skip
    assert (tokens(""), answer_key("")) == ((), "")


def test_quotations() -> None:
    assert squeeze(" a\n\t b ") == "a b"
    assert stands_in("has been\nthe capital", "Vilnius has  been the   capital")
    assert not stands_in("Has been", "Vilnius has been")
    assert not stands_in(" ", "Vilnius")


def test_pairwise_by_hand() -> None:
    """Weights 2, 1, 1; only the first two agree: 2 of 2 + 2 + 1."""
    assert pairwise(["a", "a", "b"], [2, 1, 1], lambda x, y: float(x == y)) == pytest.approx(2 / 5)
    assert pairwise(["a"], [1], lambda x, y: 0.0) == 1.0


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, float("nan")]])
def test_pairwise_refuses(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        pairwise(["a", "b"], weights, lambda x, y: 1.0)


def test_set_and_count_similarities() -> None:
    assert jaccard(frozenset("ab"), frozenset("bc")) == pytest.approx(1 / 3)
    assert jaccard(frozenset(), frozenset()) == 1.0
    assert jaccard(frozenset("a"), frozenset()) == 0.0
    assert cosine({"a": 1, "b": 2}, {"b": 2, "c": 1}) == pytest.approx(4 / 5)
    assert cosine({"a": 3}, {"a": 1}) == pytest.approx(1.0)
    assert (cosine({}, {}), cosine({"a": 1}, {})) == (1.0, 0.0)


def test_dimensions_by_hand() -> None:
    one = says("Vilnius", reasoning="x y", citations=(cite("a", "q  1"), cite("a", "q2")))
    two = says("Vilnius city", reasoning="y z", citations=(cite("a", "q 1"),))
    assert dimensions([one, two], [1.0, 1.0]) == pytest.approx({"approach": 50.0, "priority": 50.0})


def test_what_is_alike_comes_to_100_and_what_shares_nothing_to_0() -> None:
    alike = [says("Vilnius", citations=(cite("a", "q"),))] * 3
    assert dimensions(alike, [1, 2, 3]) == pytest.approx({"approach": 100, "priority": 100})
    apart = [says(a, reasoning=a, citations=(cite(a, a),)) for a in ("x", "y", "z")]
    assert dimensions(apart, [1, 2, 3]) == {"approach": 0, "priority": 0}


def test_weight_decides_whose_disagreement_counts() -> None:
    positions = [says("a", citations=(cite(d, "q"),)) for d in ("x", "x", "y")]
    heavy = dimensions(positions, [1, 1, 8])["priority"]
    light = dimensions(positions, [8, 8, 1])["priority"]
    assert heavy == pytest.approx(100 / 17)
    assert light == pytest.approx(100 * 64 / 80)
