"""Schemas for servers that hold a model to every word of them: what the check refuses cannot be said."""

import re
from typing import Annotated, Any

import msgspec
import pytest

from parley.agents.openai import reply_schema
from parley.agents.openai.held_schema import form_of, schema_of
from parley.agents.openai.reply_schema import strict_schema
from parley.agents.prompts.prompting import build
from parley.agents.protocols import KITS
from parley.agents.secrets import Secret
from parley.agents.turn_kinds.blank import blank
from parley.schemas.belief import Share
from parley.schemas.protocols.consensus import Position
from parley.schemas.protocols.maci.messages import Blind, PlanBrief
from parley.schemas.text import Citation
from parley.schemas.turn import Caps
from tests.llm.server import model_server, says
from tests.llm.support import FULL, POSITION, asked, model, silent
from tests.protocols.consensus.simulate import document

CAPS = Caps(output_tokens=1_500)
ASKED = [(p, name) for p, kit in KITS.items() for name, kind in kit.kinds.items() if not kind.computed]


def properties(**more: Any) -> dict[str, Any]:
    found: dict[str, Any] = schema_of(asked(caps=CAPS, **more), bounds=True)["properties"]
    return found


SAID = Position(answer="A4", reasoning="r", confidence=0.5)
CITED = Position(answer="A4", reasoning="r", confidence=0.5, citations=(Citation(document="a.md", quote="A"),))
HOLDING: dict[str, Any] = {"documents": [document("a.md", "A")]}
ALWAYS = {"reasoning", "answer", "confidence"}
MOVED = {"argument", "change", "change_reason"}


@pytest.mark.parametrize(
    "turn, fields",
    [
        ({"documents": []}, ALWAYS),
        (HOLDING, ALWAYS | {"citations", "abstains"}),
        ({"documents": [], "kind": "revise", "own": SAID}, ALWAYS | {"change", "change_reason"}),
        ({"documents": [], "kind": "revise", "own": SAID, "others": [SAID]}, ALWAYS | MOVED),
        ({**HOLDING, "kind": "revise", "own": SAID, "others": [SAID]}, ALWAYS | MOVED | {"citations", "abstains"}),
        (
            {**HOLDING, "kind": "revise", "own": SAID, "others": [CITED]},
            ALWAYS | MOVED | {"citations", "abstains", "moved_by"},
        ),
    ],
)  # fmt: skip
def test_a_field_with_one_value_is_neither_asked_for_nor_explained(turn: dict[str, Any], fields: set[str]) -> None:
    """And a reply without it is read."""
    shown = asked(caps=CAPS, **turn)
    schema = schema_of(shown, bounds=True)
    told = set(re.findall(r"^- `(\w+)`", build(shown).messages[-1]["content"], re.M))
    assert set(schema["properties"]) == set(schema["required"]) == told == fields
    reply = {name: _shortest(node) for name, node in schema["properties"].items()} | {"change_reason": "r"}
    assert isinstance(reply_schema.parse(msgspec.json.encode(reply).decode(), Position)[0], Position)


def test_a_plan_has_room_for_each_outcome_and_for_a_sentence() -> None:
    mixture = tuple(Share(outcome=f"outcome {i}", p=0.1) for i in range(10))
    turn = blank("maci", "plan", KITS["maci"].kinds["plan"], documents=False)
    turn = msgspec.structs.replace(turn, brief=PlanBrief(mixture=mixture, most=5))
    tests = schema_of(turn, bounds=True)["properties"]["tests"]
    test = tests["items"]["properties"]
    assert (tests["maxItems"], test["positive"]["minItems"], test["positive"]["maxItems"]) == (5, 10, 10)
    assert test["positive"]["items"]["properties"]["outcome"]["enum"] == [share.outcome for share in mixture]
    assert test["what"]["maxLength"] > 200
    assert "minItems" not in str(schema_of(turn, bounds=False))


@pytest.mark.parametrize("protocol, kind", ASKED)
def test_the_form_of_a_kind_asks_for_fields_of_its_reply(protocol: str, kind: str) -> None:
    """Before anything is known of a turn; of a seat with a document it asks for no less."""
    without, held = (set(form_of(protocol, kind, documents=d)["properties"]) for d in (False, True))
    fields = {field.encode_name for field in msgspec.structs.fields(KITS[protocol].kinds[kind].reply)}
    assert without and without <= held <= fields


def _longest(node: dict[str, Any]) -> Any:
    """The longest value that a schema allows."""
    if "anyOf" in node:
        return _longest(node["anyOf"][0])
    if "enum" in node:
        return max(node["enum"], key=lambda x: len(str(x)))
    match node.get("type"):
        case "object":
            return {k: _longest(v) for k, v in node["properties"].items()}
        case "array":
            return [_longest(node["items"])] * node["maxItems"]
        case "string":
            return "x" * node["maxLength"]
        case "boolean":
            return False
        case "null":
            return None
    return node.get("maximum", 10**6)


def test_the_longest_reply_fits_the_cap() -> None:
    schema = schema_of(asked(caps=CAPS, documents=[document("a.md", "A")]), bounds=True)
    said = msgspec.json.encode(_longest(schema))
    assert CAPS.output_tokens * 2 < len(said) < CAPS.output_tokens * 4
    reply_schema.parse(said.decode(), Position)


class Told(msgspec.Struct, frozen=True):
    """A reply whose type tells of its limits."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=3)]
    share: Annotated[float, msgspec.Meta(ge=0, le=1)]
    more: Annotated[tuple[str, ...], msgspec.Meta(max_length=2)]


def test_what_a_type_tells_of_its_checks_stands_in_the_schema_where_servers_take_it() -> None:
    texts = {"type": "array", "items": {"type": "string"}}
    assert strict_schema(Told)["properties"] == {"text": {"type": "string"}, "share": {"type": "number"}, "more": texts}
    assert strict_schema(Told, bounds=True)["properties"] == {
        "text": {"type": "string", "minLength": 1, "maxLength": 3},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "more": {**texts, "maxItems": 2},
    }


def _shortest(node: dict[str, Any]) -> Any:
    if "enum" in node:
        return node["enum"][0]
    if "anyOf" in node:
        return _shortest(node["anyOf"][-1])
    match node.get("type"):
        case "object":
            return {k: _shortest(v) for k, v in node["properties"].items()}
        case "array":
            return []
        case "string":
            return "x"
        case "boolean":
            return False
        case "null":
            return None
    return node.get("minimum", 1)


# -- endpoints that refuse such keywords
async def test_openai_gets_the_schema_that_its_strict_mode_takes() -> None:
    given: dict[str, Any] = {"provider": "openai", "api_key": Secret("sk-test")}
    async with model_server(says(FULL)) as server, model(server.url, **given) as made:
        await made.reply(asked(), silent)
    sent = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert "maxLength" not in str(sent) and "minimum" not in str(sent)
    assert sent["properties"]["citations"]["items"]["properties"]["document"]["enum"] == ["d.md"]


# -- numbers out of range by a factor
def test_percent_is_read_where_it_is_clear() -> None:
    notes: set[str] = set()
    found, _ = reply_schema.parse(msgspec.json.encode({**POSITION, "confidence": 87}).decode(), Position, notes)
    assert found.confidence == 0.87 and notes == {"rescaled"}
    shares = {"belief": [{"outcome": "a", "p": 60}, {"outcome": "b", "p": 40}]}
    assert [s.p for s in reply_schema.parse(msgspec.json.encode(shares).decode(), Blind)[0].belief] == [0.6, 0.4]


@pytest.mark.parametrize("p", [(60, 1), (60, 0.4), (160, 40), (-60, 40), (7, 3)])
def test_percent_is_not_guessed(p: tuple[float, float]) -> None:
    shares = {"belief": [{"outcome": "a", "p": p[0]}, {"outcome": "b", "p": p[1]}]}
    notes: set[str] = set()
    found, _ = reply_schema.parse(msgspec.json.encode(shares).decode(), Blind, notes)
    assert tuple(s.p for s in found.belief) == p and not notes, "the moderator says what is wrong with it"
