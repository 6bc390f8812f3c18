"""Files of agents, of personalities and of experts with a body: read, pinned, shown, and refused by name."""

import json
from pathlib import Path

import msgspec
import pytest

from parley.agents import experts
from parley.agents.experts import ExpertError, markdown
from parley.agents.protocols.competition import personas
from parley.agents.protocols.competition.personas import PersonalityError
from parley.agents.protocols.competition.personas import load as read_personas
from parley.agents.protocols.competition.personas import parse as persona_of
from parley.agents.protocols.madp.read_first import MOST, read_first
from parley.agents.specs import AgentSpec, SpecError, load, parse
from parley.agents.tools.allow import shipped
from parley.agents.tools.folder import TaskFolder, archive
from parley.schemas.expert import MAX_INSTRUCTIONS, MAX_ITEMS, pin
from parley.schemas.protocols.competition.messages import Settings
from parley.schemas.wire import encode
from tests.protocols.competition.simulate import format_named


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
        ("queue: a", "roles", "it is missing"),
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


GOOD = "quiet:\n  name: Quiet\n  characteristics: You say little.\n"


def test_the_five_of_the_seed_are_there_and_settings_take_them() -> None:
    five = read_personas()
    assert list(five) == ["logical", "emotional", "data_driven", "aggressive", "diplomatic"]
    assert all(len(p.characteristics) > 100 and "\n" not in p.characteristics for p in five.values())
    settings = Settings(format=format_named("four_stage"), personalities=five, styles={"pro_1": "logical"})
    assert settings.personalities["logical"].name == "Logical"


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(GOOD, encoding="utf-8-sig")
    assert read_personas(path)["quiet"].characteristics == "You say little."


@pytest.mark.parametrize(
    ("text", "field", "why"),
    [
        ("a: [", "", "is not YAML"),
        ("", "", "expected a mapping of names to personalities"),
        ("- a", "", "a mapping of names"),
        (GOOD + GOOD, "", "line 4: the key quiet stands here again"),
        ("A B: {}", "A B", "a name has 1 to 40 small letters"),
        ("7: {}", "7", "a name has"),
        ("quiet: loud", "quiet", "expected a mapping with name and characteristics"),
        ("quiet: {nam: x}", "quiet.nam", "did you mean name?"),
        ("quiet: {zzz: x}", "quiet.zzz", "known: name, characteristics"),
        ("quiet: {name: x}", "quiet.characteristics", "it is missing"),
        ("quiet: {name: 7, characteristics: x}", "quiet.name", "got 7, expected a text"),
        ("quiet: {name: '', characteristics: x}", "quiet.name", "got ''"),
        (f"quiet: {{name: {'x' * 81}, characteristics: x}}", "quiet.name", "80"),
        (f"quiet: {{name: x, characteristics: {'x' * 2001}}}", "quiet.characteristics", "2,000"),
        ('quiet: {name: "a\\eb", characteristics: x}', "quiet.name", "control character U+001B"),
        ("\n".join(f"p{i}: {{name: x, characteristics: x}}" for i in range(51)), "", "has 51 personalities"),
    ],
)
def test_what_cannot_be_used_is_named(text: str, field: str, why: str) -> None:
    with pytest.raises(PersonalityError) as refused:
        persona_of(text, "own.yaml")
    assert refused.value.field == field and why in str(refused.value) and str(refused.value).startswith("own.yaml: ")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin, large = tmp_path / "latin.yaml", tmp_path / "large.yaml"
    latin.write_bytes(b"caf\xe9: {}")
    large.write_bytes(b"#" * (personas.MAX_BYTES + 1))
    for path, why in (
        (tmp_path / "none.yaml", "cannot be read: No such file"),
        (latin, "byte 3"),
        (large, "the limit is 200,000"),
    ):
        with pytest.raises(PersonalityError, match=why):
            read_personas(path)


PLAIN = """agent:
  id: gardener
  name: Gardener
  triggers: {primary: [hedge, lawn]}
  domain: {owns: [plants and beds]}
  deliberation: {claim: I look after whatever grows.}
"""
FRONT = """---
name: gardener
description: I look after whatever grows.
triggers: {primary: [hedge, lawn]}
domain: {owns: [plants and beds]}
tools: Read, Grep, Bash(git log, git diff), WebFetch
model: opus
color: green
---
"""
BODY = """Look at the soil first.

```sh
# checklist
- no item
```

## Checklist
- Is it planted in the shade
  though it needs sun?
- [ ] Is it watered?

## Never
- Cut a tree.
"""


def test_a_specification_without_a_body_keeps_its_json_and_its_pin() -> None:
    spec = experts.read_text(PLAIN)
    told = json.loads(encode(spec))
    assert " ".join(told) == "id name version triggers domain deliberation reviews category priority"
    assert pin(spec) == "d42269cab4148250fa93ec0b3c5bb860"


def test_a_body_stands_in_the_json_and_changes_the_pin() -> None:
    bare = experts.read_text(PLAIN)
    more = "  instructions: |\n    One.\n\n    Two.\n  checklist: ['Is it wet?']\n  tools: []\n  context: [README.md]\n"
    spec = experts.read_text(PLAIN + more)
    assert (spec.instructions, spec.checklist, spec.tools) == ("One.\n\nTwo.", ("Is it wet?",), ())
    assert pin(spec) != pin(bare) and json.loads(encode(spec))["context"] == ["README.md"]


def test_markdown_and_yaml_say_the_same() -> None:
    spec = experts.read_markdown(FRONT + BODY)
    assert (spec.id, spec.name, spec.model) == ("gardener", "Gardener", "opus")
    assert spec.deliberation.claim == "I look after whatever grows."
    assert spec.tools == ("read_file", "search", "run", "read_output")
    assert spec.checklist == ("Is it planted in the shade though it needs sun?", "Is it watered?")
    assert spec.instructions.startswith("Look at the soil first.") and spec.instructions.endswith("- Cut a tree.")
    assert "no item" in spec.instructions and "watered" not in spec.instructions


def test_a_folder_mixes_both_and_leaves_a_readme_aside(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(PLAIN.replace("gardener", "baker"))
    (tmp_path / "b.md").write_text(FRONT + BODY)
    (tmp_path / "README.md").write_text("Our experts.")
    assert [s.id for s in experts.read_all(tmp_path)] == ["baker", "gardener"]


@pytest.mark.parametrize("name", ["relevantFilePatterns", "relevant_file_patterns"])
def test_file_patterns_may_be_spelt_as_the_source_does(name: str) -> None:
    inside = PLAIN.replace("[hedge, lawn]}", f"[hedge], {name}: ['*.plant']}}")
    assert experts.read_text(inside).triggers.files == ("*.plant",)
    assert experts.read_text(PLAIN + f"  {name}: ['*.plant']\n").triggers.files == ("*.plant",)
    with pytest.raises(ExpertError, match="stands there too"):
        experts.read_text(inside + f"  {name}: ['*.tree']\n")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("no front matter", ""),
        ("---\nname: x\n", ""),
        ("---\n- a\n---\n", "front matter"),
        ("---\nname: a: b: c\n---\n", "front matter"),
        (FRONT.replace("color: green", "instructions: One.") + BODY, "instructions"),
        (FRONT + "x" * (MAX_INSTRUCTIONS + 1), "instructions"),
        (FRONT + "a\x1b[31mred", "instructions"),
        (FRONT + "## Checklist\n" + "- item\n" * (MAX_ITEMS + 1), "checklist"),
        (FRONT.replace("triggers:", "trigger:"), "trigger"),
    ],
)
def test_markdown_that_cannot_be_used_names_the_field(text: str, field: str) -> None:
    with pytest.raises(ExpertError) as refused:
        experts.read_markdown(text, "x.md")
    assert (refused.value.source, refused.value.field) == ("x.md", field)


def test_tools_of_coding_assistants_get_the_names_of_the_list_that_ships() -> None:
    ours = markdown.tools_of(["Read", "Edit", "files.search", "mcp__web__get"])
    assert ours == ["read_file", "replace_in_file", "apply_patch", "files.search"]
    assert markdown.tools_of("*") is None and markdown.tools_of(3) == 3


def test_an_allow_list_is_narrowed_to_the_tools_that_an_expert_names() -> None:
    allowed = shipped().only(("files.search", "run", "invented"))
    assert {name: set(server.tools) for name, server in allowed.servers.items()} == {
        "files": {"search"}, "commands": {"run"}
    }  # fmt: skip


def test_what_is_read_first_is_named_and_bounded() -> None:
    files = {"b.md": b"bee\n", "a.md": b"ay\n", "docs/c.md": b"x" * (MOST + 1), "d.py": b"d\n"}
    spec = msgspec.structs.replace(experts.read_text(PLAIN), context=("d.py", "*.md", "../e"))
    with TaskFolder(archive({name: (data, False) for name, data in files.items()})) as folder:
        assert [d.name for d in read_first(spec, folder)] == ["d.py", "a.md", "b.md"]
        assert read_first(msgspec.structs.replace(spec, context=()), folder) == ()


@pytest.mark.parametrize(
    ("task", "mentioned", "first"),
    [
        ("Fix it", (), ["AGENTS.md", ".cursor/rules/a.mdc", "CONTRIBUTING.md"]),
        ("Fix web/src/page.ts", (), ["web/AGENTS.md", "web/CLAUDE.md", ".cursor/rules/a.mdc", "CONTRIBUTING.md"]),
        ("Fix both", ("web/src/page.ts", "app.py"),
         ["AGENTS.md", "web/AGENTS.md", "web/CLAUDE.md", ".cursor/rules/a.mdc", "CONTRIBUTING.md"]),
    ],
)  # fmt: skip
def test_rules_of_the_project_are_read_first_and_the_nearest_wins(
    task: str, mentioned: tuple[str, ...], first: list[str]
) -> None:
    files = {
        "AGENTS.md": "Tabs.", "CLAUDE.md": "Tabs.", ".cursor/rules/a.mdc": "No any.", "web/AGENTS.md": "Spaces.",
        "CONTRIBUTING.md": "x" * 9_000, "web/src/page.ts": "1", "app.py": "2", "web/CLAUDE.md": "Short lines.",
    }  # fmt: skip
    with TaskFolder(archive({name: (text.encode(), False) for name, text in files.items()})) as folder:
        found = read_first(None, folder, task, mentioned)
    assert [d.name for d in found] == first, "what says the same is read once"
    assert "[cut here: 9,000 characters" in found[-1].text and len(found[-1].text) < 8_200
