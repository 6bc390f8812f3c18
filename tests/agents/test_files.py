"""Files of agents, of experts with a body and of coding assistants: read, pinned, and refused by name."""

import json
from pathlib import Path

import msgspec
import pytest

from parley.agents import experts
from parley.agents.experts import ExpertError, markdown
from parley.agents.protocols.madp.read_first import MOST, read_first
from parley.agents.specs import AgentSpec, SpecError, load, parse
from parley.agents.tools.folder import TaskFolder, archive
from parley.bus_admin import enrol
from parley.client.errors import BadInput
from parley.planned.plan import plan_of
from parley.schemas.expert import MAX_INSTRUCTIONS, MAX_ITEMS, ExpertSpec, pin
from parley.schemas.wire import encode
from parley.settings import load as load_settings
from parley.stack.announce import agent_of


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


@pytest.mark.parametrize(
    ("text", "field", "message"),
    [
        ("quueue: a", "quueue", "did you mean queue"),
        ("queue: a\nroles: [panelist]\nzzz: 1", "zzz", "known: expertise, model"),
        ("queue: a\nroles: [panelst]", "roles", "'panelst'; did you mean panelist"),
        ("queue: a", "roles", "it is missing"),
        ("queue: a\nroles: [panelist]\nroom: 0", "room", "got 0"),
        ("queue: ''\nroles: [panelist]", "queue", "at least 1"),
        ("!!python/object/apply:os.system [ls]", "", "not YAML"),
    ],
)
def test_a_bad_file_names_the_field(text: str, field: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        parse(text, "a.yaml")
    assert caught.value.field == field
    assert str(caught.value).startswith("a.yaml")


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


def test_a_specification_without_a_body_keeps_its_json_and_its_pin_and_a_body_changes_them() -> None:
    spec = experts.read_text(PLAIN)
    told = json.loads(encode(spec))
    assert " ".join(told) == "id name version triggers domain deliberation reviews category priority"
    assert pin(spec) == "d42269cab4148250fa93ec0b3c5bb860"
    more = "  instructions: |\n    One.\n\n    Two.\n  checklist: ['Is it wet?']\n  tools: []\n  context: [README.md]\n"
    full = experts.read_text(PLAIN + more)
    assert (full.instructions, full.checklist, full.tools) == ("One.\n\nTwo.", ("Is it wet?",), ())
    assert pin(full) != pin(spec) and json.loads(encode(full))["context"] == ["README.md"]


def test_markdown_and_yaml_say_the_same() -> None:
    spec = experts.read_markdown(FRONT + BODY)
    assert (spec.id, spec.name, spec.model) == ("gardener", "Gardener", "opus")
    assert spec.deliberation.claim == "I look after whatever grows."
    assert spec.tools == ("read_file", "search", "run", "read_output")
    assert spec.checklist == ("Is it planted in the shade though it needs sun?", "Is it watered?")
    assert spec.instructions.startswith("Look at the soil first.") and spec.instructions.endswith("- Cut a tree.")
    assert "no item" in spec.instructions and "watered" not in spec.instructions


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


# ---------------------------------------------------------------- files of coding assistants

ONE = """---
name: hedge-trimming-expert
description: Use this agent when you need to cut, shape or plant hedges, including box, yew, and privet. It works with \
care. Examples: <example>Context: a garden. user: 'My hedge is too high' assistant: 'I will use it' </example> \
<example>Context: b. user: "Which yew grows fast?" assistant: "b"</example>
tools: Glob, Read, WebFetch, Bash(git diff *), mcp__shop__buy
model: sonnet
color: red
effort: max
---

Look at the roots.

## Review checklist
- Is it cut in frost?
"""


def read(folder: Path, text: str, name: str = "stem") -> ExpertSpec:
    path = folder / f"{name}.md"
    path.write_text(text)
    return experts.load_spec(path)


def test_a_file_whose_front_matter_is_no_yaml_becomes_an_expert(tmp_path: Path) -> None:
    spec = read(tmp_path, ONE)
    assert (spec.id, spec.model, spec.checklist) == ("hedge-trimming-expert", "sonnet", ("Is it cut in frost?",))
    assert spec.triggers.primary == ("hedge trimming", "hedge", "trimming")
    assert spec.triggers.examples == ("My hedge is too high", "Which yew grows fast?")
    assert spec.domain.owns[0] == "cut, shape or plant hedges, including box, yew, and privet"
    assert spec.tools == ("list_files", "read_file", "run", "read_output")
    assert spec.instructions == "Look at the roots."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nname: x\ndescription:\n---\n", "it has no description"),
        ("---\nname: 创意\ndescription: d\n---\n", "makes an id"),
        ("---\nname: a\ndescription: d\n---\n" + "x" * experts.MAX_BYTES, "too large"),
    ],
)
def test_what_is_no_agent_file_is_not_taken_and_says_why(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ExpertError, match=why):
        read(tmp_path, text, "创意")


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: a\ndescription: " + "x" * 60_000 + "\n---\n",
        "---\nname: a\ndescription: d\n---\n## Checklist\n" + f"- {'y' * 500}\n" * 90,
        "---\nname: a\ndescription: 'd \x1b[31m \u202e red'\n---\n\x1b]0;title\x07body",
        "---\nname: a\ndescription: d\ntools: [[1], 2]\nmodel: [x]\n---\n```\nopen",
        "---\nname: human\ndescription: 'user: \"" + "z" * 390 + "\"'\ntools: " + "T," * 5_000 + "\n---\nb",
        "---\nname: a\ndescription: &a [*a]\n---\nb".replace("[*a]", "d: e: f"),
    ],
    ids=range(6),
)
def test_hostile_files_are_bounded_and_what_is_drawn_from_them_is_shown_safely(tmp_path: Path, text: str) -> None:
    spec = repr(read(tmp_path, text))
    assert "\\x1b" not in spec and "\\u202e" not in spec


FOREIGN = {
    "reviewer.md": "---\nname: reviewer\ndescription: Reviews code.\ntools: Read, Grep, Bash\n---\nRead first.",
    "planner.agent.md": "---\ndescription: Plans moves\ntools: ['codebase', 'fetch', 'edit/editFiles']\n---\nPlan.",
    "Docs Writer.chatmode.md": "---\ndescription: Writes guides\ntools: ['websearch']\n---\nShort.",
    "react.mdc": "---\ndescription: Conventions\nglobs: src/components/**/*.tsx,*.css\nalwaysApply: false\n---\nHooks.",
    "sql.mdc": '---\ndescription:\nglobs: ["**/*.sql"]\n---\n# Rules for migrations\nEach has a way back.',
    "types.instructions.md": '---\napplyTo: "**/*.ts"\n---\nNo any.',
}


def test_a_folder_of_other_tools_files_is_read_as_it_is(tmp_path: Path) -> None:
    for name, text in (FOREIGN | {"README.md": "Our experts."}).items():
        (tmp_path / name).write_text(text)
    found = {spec.id: spec for spec in experts.read_all(tmp_path)}
    assert set(found) == {"reviewer", "planner", "docs-writer", "react", "sql", "types"}
    assert found["planner"].tools == ("search", "read_file", "list_files", "replace_in_file", "apply_patch")
    assert found["docs-writer"].tools == ()
    files = {name: spec.triggers.files for name, spec in found.items() if spec.triggers.files}
    assert files == {"react": ("src/components/*/*.tsx", "*.css"), "sql": ("*.sql",), "types": ("*.ts",)}
    assert found["sql"].deliberation.claim == "Rules for migrations"
    assert len(enrol.check([tmp_path])["experts"]) == 6


def test_the_stack_serves_a_folders_experts_beside_those_that_ship(tmp_path: Path) -> None:
    (tmp_path / "sre.agent.md").write_text("---\ndescription: Watches our services\n---\nLook.")
    (tmp_path / "hedges.mdc").write_text("---\ndescription: Hedges\nglobs: '*.plant'\n---\nCut.")
    rows = {r.queue: r for r in plan_of(load_settings(given={"protocol": "madp", "experts": tmp_path})).rows}
    assert rows["expert_hedges"].spec == str(tmp_path / "hedges.mdc") and rows["expert_qa-engineer"].spec == ""
    assert agent_of(rows["expert_sre"]).expert == experts.load_spec(tmp_path / "sre.agent.md")
    assert not any(r.spec for r in plan_of(load_settings(given={"protocol": "consensus", "experts": tmp_path})).rows)
    (tmp_path / "sre.md").write_text("---\nname: sre\ndescription: Another one\n---\nLook.")
    with pytest.raises(BadInput, match=r"got 'sre', which .*sre\.agent\.md has already"):
        _ = plan_of(load_settings(given={"protocol": "madp", "experts": tmp_path})).rows
