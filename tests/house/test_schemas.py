"""The committed JSON Schemas are those of today's code, they are schemas, and what we send satisfies them."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from referencing import Registry, Resource

from parley.schemas import export, turn
from parley.schemas.session import OpenSession
from parley.schemas.wire import encode

ROOT = Path(__file__).parents[2]
TEXTS = export.documents()


def test_what_is_committed_is_what_the_code_says() -> None:
    committed = {p.name: p.read_text(encoding="utf-8") for p in (ROOT / "docs" / "schemas").glob("*.json")}
    assert committed == TEXTS, "run: make schemas"


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_each_is_a_schema_and_has_every_message(name: str) -> None:
    document = json.loads(TEXTS[name])
    jsonschema.Draft202012Validator.check_schema(document)
    module = next(m for m in export.modules() if m.__name__ == document["title"])
    names = [m.__name__ for m in export.messages(module)]
    assert names and set(names) <= set(document["$defs"])


def problems(document: str, message: str, value: Any) -> list[str]:
    resource: Resource[Any] = Resource.from_contents(json.loads(TEXTS[document]))
    registry: Registry[Any] = Registry().with_resource("urn:x", resource)
    validator = jsonschema.Draft202012Validator({"$ref": f"urn:x#/$defs/{message}"}, registry=registry)
    return [e.message for e in validator.iter_errors(value)]


def test_what_we_send_satisfies_its_schema_and_what_is_wrong_does_not() -> None:
    reply = json.loads(encode(turn.Reply(turn="3-1", token="t", body=msgspec.Raw(b'{"answer": "yes"}'))))
    assert problems("turn.json", "Reply", reply) == []
    assert problems("turn.json", "Reply", reply | {"deliveries": "two"}) == ["'two' is not of type 'integer'"]
    opening = json.loads(encode(OpenSession(question="Why?", protocol="consensus")))
    assert problems("session.json", "OpenSession", opening) == []
    del opening["question"]
    assert problems("session.json", "OpenSession", opening) == ["'question' is a required property"]
