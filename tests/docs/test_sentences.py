"""No sentence of a page, a help text or an error is too long to be read once."""

from tests.docs import sentences
from tests.docs.sentences import LIMIT, modules, of_code, of_page, pages, paragraphs, too_long


def test_no_sentence_of_a_page_is_too_long() -> None:
    assert [str(x) for page in pages() for x in of_page(page)] == []


def test_no_sentence_that_a_program_says_is_too_long() -> None:
    assert [str(x) for module in modules() for x in of_code(module)] == []


def test_what_is_read_of_a_page() -> None:
    page = (
        "---\nfront: a b\n---\n# Head\n\nOne\ntwo. Three!\n\n- four\n  five\n- six\n\n```sh\nno\n```\n<!-- no\nno -->\n"
    )
    told = [(6, " One two. Three!"), (9, " four   five"), (11, " six"), (18, " a "), (18, " b c ")]
    assert list(paragraphs(page + "| a | b c |\n")) == told
    text = "It has 0.5 of it, e.g. here. Then `a b. C d` ends. [No](x.md) (yes.) More"
    assert sentences.sentences(text) == ["It has 0.5 of it, e.g here.", "Then CODE ends.", "[No] (yes.", "More"]
    limit = " ".join(["word"] * LIMIT)
    assert too_long("x", limit) == [] and too_long("x", f"{limit}. {limit.title()}.") == []
    (found,) = too_long("x:3", f"{limit} more.")
    assert str(found).startswith("x:3: 36 words: word")


def test_what_is_read_of_the_code() -> None:
    much = "word " * (LIMIT + 1)
    source = (
        f'raise Bad("field", f"{much}{{x}}")\n'
        f'Option(help="{much}")\n'
        f'@app.command()\ndef f():\n    """{much}\n\n    {much}\n    """\n'
        f'note = "{much}"\n'
    )
    found = [line for line, text in sentences.said(source) if too_long("x", text)]
    assert sorted(found) == [1, 2, 5, 5]
