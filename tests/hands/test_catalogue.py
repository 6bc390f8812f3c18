"""The operator's list of hands: what it holds, how it is refused, and how a specification comes to them."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from parley.agents.experts import load_spec
from parley.agents.hands.catalogue import Hand, HandsError, find, hand_of, load
from parley.agents.hands.made import hands_of, variables
from parley.agents.model.base import ModelMisconfigured
from parley.schemas.wire import InvalidValue
from tests.tools.support import SPEC

GOOD = """
hands:
  claude:
    command: [sh, -c, "{prompt}"]
    env: {KEY: "{token}", URL: "{url}/v1", CONFIG: '{"model": "{model}"}'}
    home: {.config/a.json: '{"done": true}'}
    out: result.text
    limits: {seconds: 90, tokens: 5000}
  other: {acp: [sh], allow: [{kind: edit}, {kind: execute, command: "pytest*"}], mode: default}
  own: builtin
"""
BAD = {
    "hand: {}": "hand: there is no such field",
    "hands: {A b: builtin}": "hands: 'A b' is no name; expected 1 to 40 of a-z, 0-9, - and _",
    "hands: {a: {}}": "hands.a: one of command and acp is wanted, and not both",
    "hands: {a: {command: ['']}}": "hands.a.command: the program's name is empty",
    "hands: {a: {command: [x], allow: [{kind: edit}]}}": "hands.a: allow is for acp alone",
    "hands: {a: {command: [x, '{promt}']}}": "{promt} is not known; known: model, prompt, prompt_file, token, url",
    "hands: {a: {command: [x], env: {HOME: /}}}": "hands.a.env: HOME is not for this list",
    "hands: {a: {command: [x], home: {../b: c}}}": "hands.a.home: '../b' is no path in the home",
    "hands: {a: {command: [x], reads: [/no/such]}}": "hands.a.reads: '/no/such' is no path from the root that is there",
    "hands: {a: {command: [x], limits: {tokens: 3}}}":
        "hands.a.limits.tokens: got 3, allowed is at least 1,000",
    "hands: {a: {acp: [x], allow: [{kind: all}]}}": "hands.a.allow.0.kind: got 'all', allowed is 'read', 'edit'",
    "hands: {a: builtin, a: builtin}": "the key a stands here again",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_a_list_that_cannot_be_used_is_refused_by_field_value_and_limit(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hands.yaml"
    path.write_text(text)
    with pytest.raises(HandsError) as error:
        load(path)
    assert error.value.why.startswith(f"{path}: ") and BAD[text] in error.value.why


def test_a_name_leads_to_a_hand_or_to_the_experts_own_model(tmp_path: Path) -> None:
    path = tmp_path / "hands.yaml"
    path.write_text(GOOD)
    environ = {"PARLEY_HANDS": str(path)}
    found = hand_of("claude", environ)
    assert isinstance(found, Hand) and found.argv == ("sh", "-c", "{prompt}") and found.limits.tokens == 5000
    assert [hand_of(name, environ) for name in ("", "builtin", "own")] == [None] * 3
    with pytest.raises(HandsError, match=r"hands 'codex': .* the list has claude, other, own"):
        hand_of("codex", environ)
    with pytest.raises(HandsError, match="no list of hands is named"):
        hand_of("codex", {})
    with pytest.raises(HandsError, match=r"none.yaml: cannot be read"):
        find(environ, tmp_path / "none.yaml")


def test_its_model_comes_from_variables_of_its_own_and_nobody_else_gets_the_key(tmp_path: Path) -> None:
    path = tmp_path / "hands.yaml"
    path.write_text(GOOD)
    spec = replace(SPEC, hands="claude")
    environ = {
        "PARLEY_HANDS": str(path), "LLM_PROVIDER": "deepseek", "LLM_MODEL": "d", "DEEPSEEK_API_KEY": "sk-deep",
        "HANDS_CLAUDE_LLM_PROVIDER": "anthropic", "HANDS_CLAUDE_LLM_MODEL": "claude-sonnet-4-6",
        "ANTHROPIC_API_KEY": "sk-claude",
    }  # fmt: skip
    made = hands_of(spec, environ)
    assert made is not None and (made.name, made.options.model) == ("claude", "claude-sonnet-4-6")
    assert made.options.base_url == "https://api.anthropic.com/v1" and made.options.api_key is not None
    assert made.options.api_key.reveal() == "sk-claude"
    own = variables(spec, environ)
    assert own["ANTHROPIC_API_KEY"] == "sk-claude" and "DEEPSEEK_API_KEY" not in own
    assert variables(SPEC, environ) == {} and hands_of(SPEC, environ) is None
    with pytest.raises(
        HandsError, match=r"hands\.claude\.model: its model is extractive.*set HANDS_CLAUDE_LLM_PROVIDER"
    ):
        hands_of(spec, {"PARLEY_HANDS": str(path)})
    with pytest.raises(ModelMisconfigured, match="needs a key: set ANTHROPIC_API_KEY"):
        hands_of(spec, {k: v for k, v in environ.items() if k != "ANTHROPIC_API_KEY"})


def test_a_specification_says_a_name_and_never_a_command(tmp_path: Path) -> None:
    path = tmp_path / "gardener.md"
    text = "---\nid: gardener\ntriggers: {primary: [x]}\ndomain: {owns: [y]}\nname: G\ndescription: z.\n"
    text += "hands: {HANDS}\n---\n"
    path.write_text(text.replace("{HANDS}", "claude"))
    assert load_spec(path).hands == "claude"
    for bad in ("[claude, -p]", '"claude -p"', "/bin/sh"):
        path.write_text(text.replace("{HANDS}", bad))
        with pytest.raises(ValueError, match="hands"):
            load_spec(path)
    with pytest.raises(InvalidValue, match=r"hands: got 'A B'.*wanted is a name"):
        replace(SPEC, hands="A B")
