"""Sentences and their relevance."""

from msgspec.structs import replace

from parley.agents.retrieval.bm25 import relevance
from parley.agents.retrieval.corpus import MAX_QUOTE, Corpus, collapse, cut, stem, stems
from parley.agents.retrieval.places import place_of
from parley.schemas.session import Place
from tests.protocols.consensus.simulate import document

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
        "| a | table row |",
        "code stays as text lines",
    ]
    assert all(s.text in collapse(TEXT) for s in text.sentences)
    assert (text.sentences[6].header, text.sentences[6].cells) == (("name", "price"), ("a", "table row"))
    assert [h.text for h in text.headings] == ["Plan"]


def test_settings_and_csv_are_read_line_by_line() -> None:
    assert [s.text for s in cut("[tool]\nline-length = 88\nfix = true\n").sentences] == [
        "line-length = 88",
        "fix = true",
    ]
    rows = cut(
        "- name: red; price: 3\n- name: blue\n- name: green; price: 4 : 5\n\n- one: alone; in: a list\n"
    ).sentences
    assert [(r.cells, r.header) for r in rows] == [
        (("red", "3"), ("name", "price")),
        (("blue", ""), ("name", "price")),
        (("green", "4 : 5"), ("name", "price")),
        ((), ()),
    ]


def test_headings_and_the_sentence_before_are_context() -> None:
    first, second = cut("# Canary\n\nIt caught faults. It was quick.").sentences
    assert first.context == ("canary",)
    assert second.context == ("canary", "caught", "fault")


def test_what_is_too_long_to_quote_is_cut_between_words() -> None:
    long = " ".join(f"word{i}" for i in range(200))
    pieces = [s.text for s in cut(long).sentences]
    assert all(len(p) <= MAX_QUOTE for p in pieces)
    assert " ".join(pieces) == long


def test_stems_bring_forms_together() -> None:
    assert stem("backups") == stem("backup")
    assert stem("failed") == stem("failing") == stem("fails")
    assert stem("stopped") == stem("stops")
    assert stems("Which of the policies?") == ("policy",)


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
