"""What a page shows of recorded sessions, of quotations in their documents, and the form of a person's turn."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.context import Shown
from parley.agents.protocols import kind_of
from parley.agents.turn_kinds.blank import blank
from parley.bus.channels import CLIENTS, may_read
from parley.client.records import posts_of, read_record
from parley.client.show.card import Quote
from parley.client.view.fold import Fold, fold_log
from parley.client.view.passages import Marked, number_of, passages
from parley.schemas.protocols.consensus import Offered, Position, SignBrief
from parley.schemas.session import Document
from parley.schemas.text import stands_in
from parley.web.page.form_fields import fields_of, turn_request_text
from parley.web.page.shapes import FormField, PageSession
from parley.web.page.snapshot import session

replace = msgspec.structs.replace
LOGS = {f"{p.parent.name}-{p.stem}": p for p in sorted(Path("tests/old_logs").glob("*/*.jsonl")) if p.stem != "breaker"}
"""Of every protocol that a client may start."""
each = pytest.mark.parametrize("path", LOGS.values(), ids=LOGS.keys())


def _shown(path: Path, *, everything: bool = False) -> tuple[Fold, PageSession]:
    record = read_record(path)
    fold = fold_log(record.sid, record.entries, everything=everything)
    return fold, session(fold, owner=True, can=("export", "what-if"))


@each
def test_every_post_has_a_card_and_what_clients_do_not_read_is_not_there(path: Path) -> None:
    record = read_record(path)
    _, shown = _shown(path, everything=True)
    cards = [card for r in shown.rounds for card in r.posts]
    assert [(c.channel, c.k, c.n) for c in cards] == [(p.channel, p.k, p.n) for p in posts_of(record)]
    said = [c for c in cards if c.place == "post"]
    assert (said or (record.entries and shown.protocol == "compound")) and all(
        c.seat and (c.text or c.position or c.parts or c.chips) for c in said
    )
    assert all(c.text or c.head or c.position or c.chips or c.parts for c in cards if c.place != "hidden")
    assert shown.result is not None and shown.result.stop and shown.result.parts
    assert all(n in {c.n for c in cards} for n in shown.result.posts)
    assert msgspec.json.decode(msgspec.json.encode(shown), type=PageSession) == shown
    fold, shown = _shown(path)  # to a client
    assert all(may_read(CLIENTS, c.channel) for r in shown.rounds for c in r.posts)
    hidden = [p for p in posts_of(record) if not may_read(CLIENTS, p.channel)]
    assert fold.left_out == len(hidden) and bool(shown.left_out) == bool(hidden)


TEXT = "The canary takes ten\n  minutes. The canary is safe."


@pytest.mark.parametrize(
    ("text", "quotes", "pieces", "missing"),
    [
        (
            TEXT, ["ten minutes.", "no such words"],
            [("The canary takes ", ()), ("ten\n  minutes.", ("1-0",)), (" The canary is safe.", ())], ("1-1",),
        ),
        (
            "one two three", ["one two", "two three"],
            [("one ", ("1-0",)), ("two", ("1-0", "1-1")), (" three", ("1-1",))], (),
        ),
        ("a.c (b)*", ["(b)*", "abc", " "], [("a.c ", ()), ("(b)*", ("1-0",))], ("1-1", "1-2")),
    ],
    ids=["white space", "overlapping", "signs of patterns"],
)  # fmt: skip
def test_what_is_quoted_is_marked_and_the_rest_is_not(
    text: str, quotes: list[str], pieces: list[Any], missing: tuple[str, ...]
) -> None:
    found = passages(text, [Marked(f"1-{i}", quote) for i, quote in enumerate(quotes)])
    assert ([(p.text, p.quotes) for p in found[0]], found[1]) == (pieces, missing)


@given(st.text(alphabet="ab \n", max_size=40), st.lists(st.text(alphabet="ab \n", max_size=6), max_size=5))
def test_the_pieces_are_the_text_and_a_place_is_there_where_the_check_says_so(text: str, quotes: list[str]) -> None:
    pieces, missing = passages(text, [Marked(f"1-{i}", quote) for i, quote in enumerate(quotes)])
    assert "".join(p.text for p in pieces) == text
    assert set(missing) == {f"1-{i}" for i, quote in enumerate(quotes) if not stands_in(quote, text)}


def test_of_two_documents_with_one_name_it_is_the_one_that_has_the_words() -> None:
    both = [Document(id=str(n), name="a.md", text=text) for n, text in enumerate(("It is tea.", "It is coffee."))]
    assert number_of(both, Quote(document="a.md", quote="is coffee")) == 1
    assert number_of(both, Quote(document="a.md", quote="is water")) == 0
    assert number_of(both, Quote(document="b.md", quote="is tea")) is None


PEOPLE = {
    "consensus": ("answer", "revise", "sign", "compare", "conclude"),
    "critic": ("answer", "critique", "judge", "verdict", "sign", "countersign"),
    "maci": ("blind", "argue", "crit"),
    "competition": ("confer", "speak", "question", "answer", "captain", "bid", "score", "vote"),
}  # fmt: skip
"""Kinds of turns of seats that a person may take."""
KINDS = [(protocol, kind) for protocol, kinds in PEOPLE.items() for kind in kinds]


GIVEN = {"outcomes": ("tea", "coffee"), "may": ("pro_1",), "answerers": ("con_1",)}


def shown(protocol: str, kind: str, own: Any = None) -> Shown:
    """The least that such a turn shows, to a seat that holds a document."""
    least = blank(protocol, kind, kind_of(protocol, kind), documents=True)
    given = {name: value for name, value in GIVEN.items() if hasattr(least.brief, name)}
    return replace(least, own=own, brief=replace(least.brief, **given))


def filled(field: FormField) -> Any:
    """What somebody may fill in."""
    match field.kind:
        case "choice":
            return int(field.choices[0]) if field.item == "integer" else field.choices[0]
        case "switch":
            return False
        case "integer" | "number":
            return field.most if field.most is not None else 1
        case "list":
            return [1 if field.item != "text" else "words"]
        case "pairs":
            return {}
        case "group":
            return {f.name: filled(f) for f in field.fields}
        case "rows":
            return [{f.name: filled(f) for f in field.fields}]
    return "words"


@pytest.mark.parametrize(("protocol", "kind"), KINDS)
def test_what_is_filled_in_is_a_reply(protocol: str, kind: str) -> None:
    turn = shown(protocol, kind)
    fields = fields_of(turn)
    body = {f.name: filled(f) for f in fields if f.required}
    if any(f.name == "citations" for f in fields):
        body["citations"] = filled(next(f for f in fields if f.name == "citations"))
    msgspec.convert(body, turn.reply)
    assert all(f.label[0].isupper() and "_" not in f.label for f in fields)
    assert turn_request_text(turn).endswith(".")


def test_what_is_known_stands_there_and_why_it_changed_does_not() -> None:
    (belief,) = [f for f in fields_of(shown("maci", "blind")) if f.name == "belief"]
    assert belief.default == [{"outcome": "tea"}, {"outcome": "coffee"}], "a row for each outcome"
    assert [f.label for f in belief.fields] == ["Outcome", "Probability"]
    own = Position(answer="tea", reasoning="so", confidence=0.4, change="partly", change_reason="once")
    found = {f.name: f for f in fields_of(shown("consensus", "revise", own))}
    assert (found["answer"].default, found["confidence"].default) == ("tea", 0.4)
    assert (found["change"].default, found["change_reason"].default) == ("kept", "")
    assert found["citations"].fields[0].suggested == ("a.md",) and not found["citations"].default


def test_a_person_who_signs_chooses_among_the_sentences_themselves() -> None:
    tea, coffee = Offered(sentence="It is tea."), Offered(sentence="It is coffee.")

    def states(brief: SignBrief) -> FormField:
        return next(f for f in fields_of(replace(shown("consensus", "sign"), brief=brief)) if f.name == "states")

    found = states(SignBrief(yours="tea", first=coffee, second=tea))
    assert found.choices == ("first", "second", "both", "neither")
    assert found.words == ("It is coffee.", "It is tea.", "Both state it", "None of them states it")
    alone = states(SignBrief(yours="tea", first=tea))
    assert (alone.choices, alone.words[0]) == (("first", "neither"), "It is tea."), "there is no second one"
