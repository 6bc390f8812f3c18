"""The form of a person's turn: every kind of turn of every protocol can be filled in without a line of JSON."""

from typing import Any

import msgspec
import pytest

from parley.agents.context import Shown
from parley.agents.protocols import kind_of
from parley.agents.turn_kinds.blank import blank
from parley.schemas.protocols.consensus import Offered, Position, SignBrief
from parley.web.page.shapes import HumanField
from parley.web.page.turns.forms import asked, fields_of

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


def filled(field: HumanField) -> Any:
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
    assert asked(turn).endswith(".")


def test_a_belief_has_a_row_for_each_outcome() -> None:
    (belief,) = [f for f in fields_of(shown("maci", "blind")) if f.name == "belief"]
    assert belief.default == [{"outcome": "tea"}, {"outcome": "coffee"}]
    assert [f.label for f in belief.fields] == ["Outcome", "Probability"]


def test_what_was_said_before_stands_there_and_why_it_changed_does_not() -> None:
    own = Position(answer="tea", reasoning="so", confidence=0.4, change="partly", change_reason="once")
    found = {f.name: f for f in fields_of(shown("consensus", "revise", own))}
    assert (found["answer"].default, found["confidence"].default) == ("tea", 0.4)
    assert (found["change"].default, found["change_reason"].default) == ("kept", "")


def signing(brief: SignBrief) -> dict[str, HumanField]:
    """The fields of a turn to sign."""
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
