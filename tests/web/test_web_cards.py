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

LOGS = {f"{p.parent.name}-{p.stem}": p for p in sorted(Path("tests/old_logs").glob("*/*.jsonl")) if p.stem != "breaker"}
"""Of every protocol that a client may start."""
each = pytest.mark.parametrize("path", LOGS.values(), ids=LOGS.keys())


def _shown(path: Path, *, everything: bool = False) -> tuple[Fold, PageSession]:
    record = read_record(path)
    fold = fold_log(record.sid, record.entries, everything=everything)
    return fold, session(fold, owner=True, can=("export", "what-if"))


@each
def test_every_post_has_a_card_and_the_result_its_parts(path: Path) -> None:
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


@each
def test_what_clients_do_not_read_is_not_there(path: Path) -> None:
    fold, shown = _shown(path)
    assert all(may_read(CLIENTS, c.channel) for r in shown.rounds for c in r.posts)
    hidden = [p for p in posts_of(read_record(path)) if not may_read(CLIENTS, p.channel)]
    assert fold.left_out == len(hidden) and bool(shown.left_out) == bool(hidden)
    assert set(fold.position) <= {c for c in fold.position if may_read(CLIENTS, c)}


TEXT = "The canary takes ten\n  minutes. The canary is safe."


def test_what_is_quoted_is_marked_white_space_aside_and_the_rest_is_not() -> None:
    pieces, missing = passages(TEXT, [Marked("3-0", "ten minutes."), Marked("4-1", "no such words")])
    assert [(p.text, p.quotes) for p in pieces] == [
        ("The canary takes ", ()), ("ten\n  minutes.", ("3-0",)), (" The canary is safe.", ()),
    ]  # fmt: skip
    assert missing == ("4-1",)


def test_quotations_that_overlap_share_a_piece() -> None:
    pieces, _ = passages("one two three", [Marked("1-0", "one two"), Marked("2-0", "two three")])
    assert [(p.text, p.quotes) for p in pieces] == [
        ("one ", ("1-0",)), ("two", ("1-0", "2-0")), (" three", ("2-0",)),
    ]  # fmt: skip


def test_signs_of_patterns_are_letters_like_others_and_nothing_stands_nowhere() -> None:
    assert passages("a.c (b)*", [Marked("1-0", "(b)*"), Marked("1-1", "abc"), Marked("1-2", " ")])[1] == ("1-1", "1-2")


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
    return msgspec.structs.replace(least, own=own, brief=msgspec.structs.replace(least.brief, **given))


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


def test_a_belief_has_a_row_for_each_outcome() -> None:
    (belief,) = [f for f in fields_of(shown("maci", "blind")) if f.name == "belief"]
    assert belief.default == [{"outcome": "tea"}, {"outcome": "coffee"}]
    assert [f.label for f in belief.fields] == ["Outcome", "Probability"]


def test_what_was_said_before_stands_there_and_why_it_changed_does_not() -> None:
    own = Position(answer="tea", reasoning="so", confidence=0.4, change="partly", change_reason="once")
    found = {f.name: f for f in fields_of(shown("consensus", "revise", own))}
    assert (found["answer"].default, found["confidence"].default) == ("tea", 0.4)
    assert (found["change"].default, found["change_reason"].default) == ("kept", "")


def signing(brief: SignBrief) -> dict[str, FormField]:
    turn = msgspec.structs.replace(shown("consensus", "sign"), brief=brief)
    return {f.name: f for f in fields_of(turn)}


def test_a_person_who_signs_chooses_among_the_sentences_themselves() -> None:
    tea, coffee = Offered(sentence="It is tea."), Offered(sentence="It is coffee.")
    found = signing(SignBrief(yours="tea", first=coffee, second=tea))["states"]
    assert found.choices == ("first", "second", "both", "neither")
    assert found.words == ("It is coffee.", "It is tea.", "Both state it", "None of them states it")
    alone = signing(SignBrief(yours="tea", first=tea))["states"]
    assert (alone.choices, alone.words[0]) == (("first", "neither"), "It is tea."), "there is no second one"


def test_documents_that_the_seat_holds_are_suggested() -> None:
    (citations,) = [f for f in fields_of(shown("consensus", "answer")) if f.name == "citations"]
    assert citations.fields[0].suggested == ("a.md",) and not citations.default
