"""Agent files."""

from pathlib import Path

import pytest

from parley.agents.specs import AgentSpec, SpecError, load, parse


def test_built_in_agents_need_no_file() -> None:
    assert load("panelist") == AgentSpec(queue="panelist", roles=("panelist",))
    assert load("panelist_12") == AgentSpec(queue="panelist_12", roles=("panelist",))
    assert load("analyst").roles == ("analyst",)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(
        "queue: sre\nroles: [panelist]\nmodel: recorded\noptions: {path: r.jsonl}\nroom: 2\nexpertise: [storage]\n"
    )
    assert load(str(path)) == AgentSpec(
        queue="sre", roles=("panelist",), model="recorded", options={"path": "r.jsonl"}, room=2, expertise=("storage",)
    )


def test_shipped_agent_files_are_good() -> None:
    files = sorted((Path(__file__).parents[2] / "examples" / "agents").glob("*.yaml"))
    assert [load(str(f)).queue for f in files] == ["payments_expert"]


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("quueue: a", "quueue", "did you mean queue"),
        ("queue: a\nroles: [panelist]\nzzz: 1", "zzz", "known: expertise, model"),
        ("queue: a\nroles: [panelst]", "roles", "'panelst'; did you mean panelist"),
        ("queue: a", "roles", "required"),
        ("queue: a\nroles: []", "roles", "at least 1"),
        ("queue: a\nroles: [panelist]\nroom: 0", "room", "got 0"),
        ("queue: a\nroles: [panelist]\nroom: many", "room", "got 'many'"),
        ("queue: ''\nroles: [panelist]", "queue", "at least 1"),
        ("[1, 2]", "", "mapping"),
        ("{", "", "not YAML"),
        ("!!python/object/apply:os.system [ls]", "", "not YAML"),
    ],
)
def test_a_bad_file_names_the_field(text: str, field: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        parse(text, "a.yaml")
    assert caught.value.field == field
    assert str(caught.value).startswith("a.yaml")


def test_a_file_that_is_not_there_lists_the_built_in_names() -> None:
    names = "analyst, answerer, audience, check, con, critic, debater, helper, judge, panelist, pro"
    with pytest.raises(SpecError, match=names):
        load("no-such.yaml")
