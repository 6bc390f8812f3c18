"""Documents as passages: verbatim, of about a paragraph, ranked by BM25."""

import re
from pathlib import Path

import pytest

from parley.agents.retrieval.passages import LEAST, LONGEST, MOST, passages, ranked, within
from parley.agents.text.tokens import estimate
from parley.schemas.text import stands_in
from tests.llm.test_injections import ATTACKS
from tests.protocols.consensus.simulate import document

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = sorted(EXAMPLES.glob("*/evidence/**/*.md"))
FOX = "The fox sleeps in the barn until noon."


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(EXAMPLES).as_posix())
def test_the_examples_fall_into_paragraphs_that_stand_in_them(path: Path) -> None:
    text = path.read_text()
    pieces, left_out = passages(document(path.name, text))
    assert pieces and not left_out
    for piece in pieces:
        assert stands_in(piece.text, text) and piece.document == path.name
        said = [line for line in piece.text.splitlines() if not line.startswith("#")]
        assert len(" ".join(said).split()) <= MOST
    # Every sentence is in a passage: nothing is lost but rules and fences.
    whole = " ".join(p.text for p in pieces)
    assert all(word in whole for word in re.findall(r"\w+", text))


def test_small_neighbours_are_put_together_and_sections_are_not() -> None:
    text = f"# Top\n\n- {FOX}\n- {FOX}\n\n{FOX}\n\n## Other\n\n{FOX}\n"
    found = [p.text for p in passages(document("a.md", text))[0]]
    assert len(found) == 2 and found[0].count("fox") == 3 and found[0].startswith("# Top")
    assert found[1] == f"## Other\n\n{FOX}"


def test_a_long_paragraph_is_cut_at_ends_of_sentences() -> None:
    found = passages(document("a.md", " ".join([FOX] * 60)))[0]
    assert len(found) > 3
    for piece in found:
        assert LEAST <= len(piece.text.split()) <= MOST and piece.text.endswith("noon.")


def test_what_has_no_blanks_is_cut_all_the_same() -> None:
    found = passages(document("a.md", "x" * 5_000 + " y" * 300))[0]
    assert all(len(p.text) <= LONGEST for p in found) and sum(p.text.count("x") for p in found) == 5_000


def test_headings_above_are_words_to_be_found_by() -> None:
    text = f"# Zebra\n\n## Yak\n\n{' '.join([FOX] * 20)}"
    pieces = passages(document("a.md", text))[0]
    assert len(pieces) > 1 and "Yak" in pieces[0].text and "Yak" not in pieces[1].text
    assert all({"zebra", "yak"} <= set(p.terms) for p in pieces)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("around", ["{a} {x}. {b}", "{a}\n\n{x}\n\n{b}", "{a}\n{x}\n{b}", "# {x}\n\n{a} {b}"])
def test_what_talks_as_to_a_machine_is_in_no_passage(attack: str, around: str) -> None:
    before, after = "The cat is grey.", "The dog barks at night."
    pieces, left_out = passages(document("a.md", around.format(x=attack, a=before, b=after)))
    assert left_out and not any(stands_in(attack, p.text) for p in pieces)


def test_ranking_is_by_words_and_equal_ones_keep_their_order() -> None:
    texts = ("The barn is red.", "A fox runs.", "A fox sleeps in the red barn.", "The sea is deep.", "The sky is blue.")
    pieces = [passages(document(f"{i}.md", t))[0][0] for i, t in enumerate(texts)]
    found = ranked("Does the fox sleep in the red barn?", pieces)
    assert [i for _, i in found] == [2, 0, 1, 3, 4]
    assert found[0][0] == 1.0 and [s for s, _ in found[3:]] == [0.0, 0.0]


def test_the_bounds_hold_and_what_does_not_fit_is_passed_over() -> None:
    pieces = [passages(document(f"{n}.md", "word " * n))[0][0] for n in (10, 100, 12, 11)]
    assert within(pieces, 2, 1_000) == pieces[:2]
    small = within(pieces, 10, 60)
    assert small == [pieces[0], pieces[2], pieces[3]] and sum(estimate(p.text) for p in small) <= 60
    assert within(pieces, 10, 5) == []
