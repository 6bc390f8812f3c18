"""Agent files of coding assistants are experts as they are."""

from pathlib import Path

import pytest

from parley.agents import experts
from parley.agents.experts import ExpertError
from parley.bus_admin import enrol
from parley.client.errors import BadInput
from parley.planned.plan import plan_of
from parley.schemas.expert import ExpertSpec
from parley.settings import load
from parley.stack.announce import agent_of

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
        "---\nname: a\ndescription: d\n---\n" + "long\n" * 12_000,
        "---\nname: a\ndescription: d\n---\n## Checklist\n" + f"- {'y' * 500}\n" * 90,
        "---\nname: a\ndescription: 'd \x1b[31m \u202e red'\n---\n\x1b]0;title\x07body",
        "---\nname: a\ndescription: d\ntools: [[1], 2]\nmodel: [x]\n---\n```\nopen",
        "---\nname: human\ndescription: 'user: \"" + "z" * 390 + "\"'\ntools: " + "T," * 5_000 + "\n---\nb",
        "---\nname: a\ndescription: &a [*a]\n---\nb".replace("[*a]", "d: e: f"),
    ],
    ids=range(7),
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
    for name, text in FOREIGN.items():
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
    rows = {r.queue: r for r in plan_of(load(given={"protocol": "madp", "experts": tmp_path})).rows}
    assert rows["expert_hedges"].spec == str(tmp_path / "hedges.mdc") and rows["expert_qa-engineer"].spec == ""
    assert agent_of(rows["expert_sre"]).expert == experts.load_spec(tmp_path / "sre.agent.md")
    assert not any(r.spec for r in plan_of(load(given={"protocol": "consensus", "experts": tmp_path})).rows)
    (tmp_path / "sre.md").write_text("---\nname: sre\ndescription: Another one\n---\nLook.")
    with pytest.raises(BadInput, match=r"got 'sre', which .*sre\.agent\.md has already"):
        _ = plan_of(load(given={"protocol": "madp", "experts": tmp_path})).rows
