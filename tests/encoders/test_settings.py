"""Which encoder the helper uses: variables over its file."""

from pathlib import Path
from typing import Any

import pytest

from parley.agents.config import resolve
from parley.agents.encoders.settings import VARIABLES, chosen, from_options
from parley.agents.models import ModelMisconfigured, make_model
from parley.agents.secrets import Secret
from parley.agents.specs import AgentSpec
from parley.agents.specs import parse as parse_spec

ROOT = Path(__file__).parents[2]
HELPER = AgentSpec(queue="helper", roles=("helper",))
LOCAL = {"ENCODER": "openai", "ENCODER_MODEL": "e", "ENCODER_BASE_URL": "http://127.0.0.1:1/v1"}


def encoder(environ: dict[str, str], spec: AgentSpec = HELPER) -> Any:
    """`options.encoder` that comes out, the key in clear."""
    found = resolve(spec, environ).options.get("encoder")
    return found and {k: v.reveal() if isinstance(v, Secret) else v for k, v in found.items()}


def test_without_a_word_it_is_the_embedded_one() -> None:
    assert resolve(HELPER, {}) == HELPER
    found, why = from_options(None)
    assert found is not None and found.name == "all-MiniLM-L6-v2-int8" and found.dimension == 384 and why == ""


def test_only_the_helper_has_an_encoder() -> None:
    judge = AgentSpec(queue="judge", roles=("judge",))
    assert resolve(judge, LOCAL) == judge
    assert encoder(LOCAL) == {"name": "openai", "model": "e", "base_url": "http://127.0.0.1:1/v1"}
    with_model = resolve(HELPER, LOCAL | {"HELPER_LLM_PROVIDER": "ollama", "HELPER_LLM_MODEL": "m"})
    assert with_model.model == "openai" and "encoder" not in with_model.options


def test_nearer_over_farther_over_file() -> None:
    file = parse_spec("{queue: helper, roles: [helper], options: {encoder: {name: openai, model: f}}}")
    home = {"OPENAI_API_KEY": "k"}
    assert encoder(home, file) == {"name": "openai", "model": "f", "api_key": "k"}
    assert encoder(home | {"ENCODER_MODEL": "g"}, file)["model"] == "g"
    assert encoder(home | {"ENCODER_MODEL": "g", "HELPER_ENCODER_MODEL": "h"}, file)["model"] == "h"
    assert encoder({"ENCODER": "none"}, file) == {"name": "none"}
    assert encoder({"ENCODER": "openai", "HELPER_ENCODER": "embedded", "ENCODER_MODEL": "e"}) == {"name": "embedded"}


def test_a_key_stays_with_its_address() -> None:
    far = LOCAL | {"ENCODER_API_KEY": "far", "HELPER_ENCODER_BASE_URL": "http://127.0.0.1:2/v1"}
    assert "api_key" not in encoder({k: v for k, v in far.items() if k != "ENCODER_API_KEY"})
    assert encoder(LOCAL | {"ENCODER_API_KEY": "far"})["api_key"] == "far"
    assert encoder(far).get("api_key") is None
    assert encoder(far | {"HELPER_ENCODER_API_KEY": "near"})["api_key"] == "near"
    assert "OPENAI_API_KEY" not in str(resolve(HELPER, LOCAL | {"OPENAI_API_KEY": "k"}))
    assert encoder(LOCAL | {"OPENAI_API_KEY": "k"}).get("api_key") is None


def test_a_key_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-file\n")
    assert encoder(LOCAL | {"ENCODER_API_KEY_FILE": str(tmp_path / "key")})["api_key"] == "from-file"
    with pytest.raises(ModelMisconfigured, match="ENCODER_API_KEY and ENCODER_API_KEY_FILE are both set"):
        encoder(LOCAL | {"ENCODER_API_KEY": "x", "ENCODER_API_KEY_FILE": str(tmp_path / "key")})


@pytest.mark.parametrize(
    "environ, named",
    [
        ({"ENCODER": "embeded"}, "did you mean embedded"),
        ({"ENCODER": "openai"}, "OPENAI_API_KEY"),
        ({"ENCODER_MODEL": "e"}, "encoder.model: the embedded encoder takes only"),
        ({"ENCODER": "openai", "ENCODER_BASE_URL": "http://127.0.0.1:1/v1"}, "ENCODER_MODEL"),
    ],
)
def test_bad_settings_are_named_before_anything_starts(environ: dict[str, str], named: str) -> None:
    with pytest.raises(ModelMisconfigured, match=named):
        spec = resolve(HELPER, environ)
        make_model(spec.model, spec.options)


@pytest.mark.parametrize("own", [3, ["embedded"], {"name": 3}])
def test_an_encoder_in_a_file_is_a_name_or_a_mapping(own: Any) -> None:
    with pytest.raises(ModelMisconfigured, match=r"options\.encoder: got"):
        make_model("extractive", {"encoder": own})


def test_no_other_option_is_taken() -> None:
    with pytest.raises(ModelMisconfigured, match=r"options\.temperature"):
        make_model("extractive", {"temperature": 0})


def test_every_variable_is_documented() -> None:
    text = (ROOT / "docs" / "encoders.md").read_text(encoding="utf-8")
    assert [name for name in VARIABLES if f"`{name}`" not in text] == []
    assert chosen(None, ("",), {}) is None
