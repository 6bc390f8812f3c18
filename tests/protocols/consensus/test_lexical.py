"""Agreement without a model, and the text rules under it."""

import pytest

from parley.coordinator.protocols.consensus.lexical import answers_alike, cosine, dimensions, jaccard, pairwise
from parley.coordinator.protocols.consensus.score import score
from parley.schemas.text import answer_key, same, squeeze, stands_in, tokens
from tests.protocols.consensus.play import cite, says


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Vilnius.", "the VILNIUS"),
        ("1,500.0 ms", "1500 milliseconds"),
        ("20 percent", "20%"),
        ("20 per cent", "20 %"),
        ("re-use it", "Re use it!"),
        ("ﬁve  users", "five users"),
        ("−5 °C", "-5 °C"),
        ("?!", "?!"),
    ],
)
def test_same_answer(one: str, other: str) -> None:
    assert same(one, other)
    assert answers_alike(one, other) == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [("use it", "do not use it"), ("5", "-5"), ("v1.10", "v1.1"), ("10 ms", "10 s"), ("?", "!"), ("10", "100")],
)
def test_other_answer(one: str, other: str) -> None:
    assert not same(one, other)
    assert answers_alike(one, other) < 1.0


def test_tokens_keep_order_and_meaning() -> None:
    assert tokens("Do NOT wait for 2,000 seconds") == ("do", "not", "wait", "for", "2000", "s")
    assert answer_key("") == ""


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
    got = dimensions([one, two], [1.0, 1.0])
    assert got == pytest.approx({"facts": 50.0, "approach": 50.0, "priority": 50.0})
    assert score(got, {"facts": 0.6, "approach": 0.25, "priority": 0.15}) == 50.0


def test_full_agreement_is_100_and_none_is_0() -> None:
    shares = {"facts": 0.6, "approach": 0.25, "priority": 0.15}
    alike = [says("Vilnius", citations=(cite("a", "q"),))] * 3
    assert score(dimensions(alike, [1, 2, 3]), shares) == 100
    apart = [says(a, reasoning=a, citations=(cite(a, a),)) for a in ("x", "y", "z")]
    assert score(dimensions(apart, [1, 2, 3]), shares) == 0


def test_weight_decides_whose_disagreement_counts() -> None:
    positions = [says("a"), says("a"), says("b")]
    heavy = dimensions(positions, [1, 1, 8])["facts"]
    light = dimensions(positions, [8, 8, 1])["facts"]
    assert heavy == pytest.approx(100 / 17)
    assert light == pytest.approx(100 * 64 / 80)
