"""How the extractive model reads: sentences cut, passages and sentences ranked, answers told apart."""

import re
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

from parley.agents.extractive.same_answer import grouped
from parley.agents.retrieval.corpus import MAX_QUOTE, Corpus, collapse, cut
from parley.agents.retrieval.passages import LEAST, LONGEST, MOST, passages, ranked, relevance, within
from parley.agents.retrieval.places import place_of
from parley.agents.text.sentences import sentences, spans
from parley.agents.text.tokens import estimate
from parley.schemas.session import Place
from parley.schemas.text import stands_in
from tests.llm.test_injections import ATTACKS
from tests.protocols.consensus.simulate import document

SENTENCES: dict[str, list[str]] = yaml.safe_load((Path(__file__).parent / "sentences.yaml").read_text(encoding="utf-8"))


def lines(kind: str) -> list[tuple[str, list[str]]]:
    """(Language, its sentences) of each text."""
    return [(line[:2], line[3:].split(" | ")) for line in SENTENCES[kind]]


@pytest.mark.parametrize("known", [True, False])
def test_sentences_are_cut_as_people_read_them(known: bool) -> None:
    """Whether the language is known or read off the words."""
    for language, said in lines("right"):
        text = ("" if language == "zh" else " ").join(said)
        assert sentences(text, language if known else "") == said
    for language, said in lines("wrong"):
        assert sentences(" ".join(said), language) != said


def test_spans_are_offsets_into_the_text_as_it_stands() -> None:
    text = "  Dr. Lee 😀 came\nlate.\t He left.\r\n\r\nno capital here. nor there\n"
    found = spans(text)
    assert [text[a:b] for a, b in found] == ["Dr. Lee 😀 came\nlate.", "He left.", "no capital here. nor there"]
    assert spans("") == spans(" \n ") == []


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


TEXT = """# Plan

The first
line goes on here. A second sentence, e.g. Dr. Gray wrote it, costs 3.5 euros! "Is that all?" Yes it is.

- one item of a list
- another item that
  goes on

| name | price |
|---|---|
| a | table row |
```
code stays as text lines
```
"""


def test_sentences_are_verbatim_spans() -> None:
    text = cut(TEXT)
    assert [s.text for s in text.sentences] == [
        "The first line goes on here.",
        "A second sentence, e.g. Dr. Gray wrote it, costs 3.5 euros!",
        '"Is that all?"',
        "Yes it is.",
        "one item of a list",
        "another item that goes on",
        "| name | price |",
        "| a | table row |",
        "code stays as text lines",
    ]
    assert all(s.text in collapse(TEXT) for s in text.sentences)
    assert [s.text for s in text.sentences if s.row] == ["| name | price |", "| a | table row |"]
    assert [h.text for h in text.headings] == ["Plan"]


def test_settings_and_csv_are_read_line_by_line() -> None:
    assert [s.text for s in cut("[tool]\nline-length = 88\nfix = true\n").sentences] == [
        "line-length = 88",
        "fix = true",
    ]
    rows = cut(
        "- name: red; price: 3\n- name: blue\n- name: green; price: 4 : 5\n\n- one: alone; in: a list\n"
    ).sentences
    assert [r.row for r in rows] == [True, False, True, True]


def test_what_is_too_long_to_quote_is_cut_between_words() -> None:
    long = " ".join(f"word{i}" for i in range(200))
    pieces = [s.text for s in cut(long).sentences]
    assert all(len(p) <= MAX_QUOTE for p in pieces)
    assert " ".join(pieces) == long


def test_relevance_is_one_for_the_best_and_zero_without_a_word() -> None:
    found = relevance(["canary", "fault"], [["canary", "fault"], ["canary", "x"], ["y"], ["z"]])
    assert found[0] == 1.0 > found[1] > found[2] == 0.0
    assert relevance(["a"], [["b"], ["c"]]) == [0.0, 0.0]
    assert relevance([], [["b"]]) == [0.0] and relevance(["a"], []) == [] and relevance(["a"], [[]]) == [0.0]


def test_documents_are_cut_once_and_the_oldest_are_forgotten() -> None:
    corpus = Corpus(kept_characters=60)
    a, b, c = (document(n, f"A text about {n} that is long enough.") for n in ("aa", "bb", "cc"))
    first = corpus.text(a)
    assert corpus.text(a) is first
    corpus.text(b)
    corpus.text(c)
    assert corpus.text(a) is not first


def test_a_quotation_has_its_page_and_the_heading_above_it() -> None:
    text = "# Boiler\n\nIt is warm.\n\n## Data\n\n- kW: 35;\n  kg: 128\n\n# End\n"
    places = (Place(at=10, name="page 1"), Place(at=text.index("- kW"), name="page 2"))
    paged, plain = document("a.pdf", text), document("b.md", text)
    paged = replace(paged, places=places)
    for quote, on_page, without in (
        ("It is  warm.", "page 1, Boiler", "Boiler"), ("kW: 35; kg: 128", "page 2, Data", "Data"),
        ("Boiler", "", ""), ("not there", "", ""), ("", "", ""),
    ):  # fmt: skip
        assert (place_of(paged, quote), place_of(plain, quote)) == (on_page, without), quote
    sheet = replace(document("c.xlsx", "## Keys\n\n- Floor: 1\n"), places=(Place(at=0, name="sheet Keys"),))
    assert place_of(sheet, "Floor: 1") == "sheet Keys"


@pytest.mark.parametrize(
    ("one", "other"),
    [("Move", "do not move"), ("Yes", "not yes"), ("A over B", "B over A"), ("before May", "after May"),
     ("more pumps", "fewer pumps"), ("5 %", "50 %"), ("20 percent", "20 %"), ("C++", "C#"), ("> 5 ms", "< 5 ms")],
)  # fmt: skip
def test_a_word_or_a_sign_that_turns_an_answer_round_makes_another(one: str, other: str) -> None:
    assert grouped([one, other]) == [[0], [1]]


@pytest.mark.parametrize(
    ("one", "other"), [("The worn impeller.", "worn impellers"), ("YES", "yes"), ("'Move'.", "move")]
)
def test_case_articles_and_endings_make_none(one: str, other: str) -> None:
    assert grouped([one, other]) == [[0, 1]]
