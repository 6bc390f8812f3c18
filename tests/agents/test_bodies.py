"""Experts with a body: read from YAML and Markdown, pinned as before where they have none, and shown in prompts."""

import json
from pathlib import Path

import msgspec
import pytest

from parley.agents import experts
from parley.agents.experts import ExpertError, markdown
from parley.agents.protocols.madp.read_first import MOST, read_first
from parley.agents.tools.allow import shipped
from parley.agents.tools.folder import TaskFolder, archive
from parley.schemas.expert import MAX_INSTRUCTIONS, MAX_ITEMS, pin
from parley.schemas.wire import encode

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
    assert markdown.tools_of(["Read", "Edit", "files.search", "mcp__web__get"]) == (
        ["read_file", "replace_in_file", "apply_patch", "files.search"], ["mcp__web__get"]
    )  # fmt: skip
    assert markdown.tools_of("*") == (None, []) and markdown.tools_of(3) == (3, [])


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
