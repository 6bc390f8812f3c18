"""Which encoder the helper uses: the variable over its file."""

from typing import Any

import pytest

from parley.agents.config import resolve
from parley.agents.encoders.settings import chosen, from_options
from parley.agents.models import ModelMisconfigured, make_model
from parley.agents.specs import AgentSpec
from parley.agents.specs import parse as parse_spec

HELPER = AgentSpec(queue="helper", roles=("helper",))


def encoder(environ: dict[str, str], spec: AgentSpec = HELPER) -> Any:
    """`options.encoder` that comes out."""
    return resolve(spec, environ).options.get("encoder")


def test_without_a_word_it_is_the_embedded_one() -> None:
    assert resolve(HELPER, {}) == HELPER and chosen(None, ("",), {}) is None
    found, why = from_options(None)
    assert found is not None and found.name == "all-MiniLM-L6-v2-int8" and found.dimension == 384 and why == ""


def test_only_the_helper_has_an_encoder() -> None:
    judge = AgentSpec(queue="judge", roles=("judge",))
    assert resolve(judge, {"ENCODER": "none"}) == judge
    with_model = {"ENCODER": "none", "HELPER_LLM_PROVIDER": "ollama", "HELPER_LLM_MODEL": "m"}
    assert "encoder" not in resolve(HELPER, with_model).options


def test_nearer_over_farther_over_file() -> None:
    file = parse_spec("{queue: helper, roles: [helper], options: {encoder: {name: embedded, threads: 2}}}")
    assert encoder({}, file) == {"name": "embedded", "threads": 2} == encoder({"ENCODER": "embedded"}, file)
    assert encoder({"ENCODER": "none"}, file) == {"name": "none"}
    assert encoder({"ENCODER": "none", "HELPER_ENCODER": "embedded"}) == {"name": "embedded"}


@pytest.mark.parametrize(
    ("own", "named"),
    [
        ("embeded", "did you mean embedded"),
        ({"name": "embedded", "model": "e"}, r"encoder\.model: the embedded encoder takes only"),
        ({"name": "none", "threads": 2}, r"encoder\.threads: without an encoder"),
        (3, r"options\.encoder: got"),
        ({"name": 3}, r"options\.encoder: got"),
    ],
)
def test_bad_settings_are_named_before_anything_starts(own: Any, named: str) -> None:
    with pytest.raises(ModelMisconfigured, match=named):
        make_model("extractive", {"encoder": own})
