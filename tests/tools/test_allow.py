"""Allow lists that are refused, and what is filled in."""

import sys
from pathlib import Path
from typing import Any

import pytest

from parley import settings
from parley.agents.tools.allow import CODE, ToolsError, filled, find, load, parse, shipped
from parley.client.errors import BadInput
from parley.planned.plan import plan_of
from tests.tools.support import EXAMPLE

GOOD: dict[str, Any] = {"command": ["{python}"], "tools": {"t": {}}}


@pytest.mark.parametrize(
    ("server", "why"),
    [
        ({"tools": {"t": {}}}, r"servers.s.command: it is missing"),
        ({**GOOD, "command": ["no-such-program-here"]}, r"no program 'no-such-program-here'"),
        ({**GOOD, "command": ["{python}", "{key}"]}, r"servers.s.command: {key} is not known; known: "),
        ({**GOOD, "env": {"A B": "x"}}, r"servers.s.env: 'A B' is no variable"),
        ({**GOOD, "env": {"HOME": "/"}}, r"HOME is not for this list"),
        ({**GOOD, "env": {"A": 5}}, r"servers.s.env.A: got 5, allowed is text"),
        ({**GOOD, "timeout_s": 0}, r"servers.s.timeout_s: got 0, allowed is above 0"),
        ({**GOOD, "tools": {"t": {"path": ["x"]}}}, r"servers.s.tools.t.path: there is no such field"),
        ({**GOOD, "tools": {"t": {"paths": ["x"], "text": ["x"]}}}, r"x is named as a path and as text"),
        ({**GOOD, "tools": {"a b": {}}}, r"'a b' is no tool's name"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(server: Any, why: str) -> None:
    with pytest.raises(ToolsError, match=why) as caught:
        parse({"servers": {"s": server}}, "tools.yaml")
    assert str(caught.value).startswith("tools.yaml: servers.s")


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    with pytest.raises(ToolsError, match="cannot be read: No such file"):
        load(path)
    for text, why in (
        ("servers: [", "is not YAML"),
        ("servers: {}\nservers: {}", "line 2: the key servers"),
        ("server: {}", "server: there is no such field"),
        ("servers: {A b: {command: [x], tools: {t: {}}}}", "'A b' is no name|no program"),
    ):
        path.write_text(text)
        with pytest.raises(ToolsError, match=why):
            load(path)
    path.write_bytes(b"\xff")
    with pytest.raises(ToolsError, match="not UTF-8"):
        load(path)


def test_the_operator_names_it_and_nobody_else(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("servers: {}")
    for nothing in ({}, {"PARLEY_TOOLS": " "}):
        ships = find(nothing)
        assert ships is not None and ships.folder_only and ships.servers == load(EXAMPLE).servers
    assert find({"PARLEY_TOOLS": "off"}) is None and find({"PARLEY_TOOLS": str(EXAMPLE)}, Path("off")) is None
    by_variable = find({"PARLEY_TOOLS": str(EXAMPLE)})
    assert by_variable is not None and list(by_variable.servers) == ["files", "commands"]
    by_option = find({"PARLEY_TOOLS": str(EXAMPLE)}, other)
    assert by_option is not None and not by_option.servers


def test_slots_are_filled_once() -> None:
    assert filled("{python}:{code}:{folder}", Path("/a{code}b")) == f"{sys.executable}:{CODE}:/a{{code}}b"


def test_settings_name_it_for_the_services_of_a_stack(tmp_path: Path) -> None:
    named = settings.load(given={"tools": str(EXAMPLE)})
    assert plan_of(named).stack().env == {"PARLEY_TOOLS": str(EXAMPLE)} and plan_of(settings.load()).stack().env == {}
    for off in ("off", False):  # as YAML reads it
        assert plan_of(settings.load(given={"tools": off})).stack().env == {"PARLEY_TOOLS": "off"}
    bad = settings.load(given={"tools": str(tmp_path / "none.yaml")})
    with pytest.raises(BadInput, match=r"none.yaml: cannot be read"):
        plan_of(bad).stack()


def test_an_expert_has_no_more_than_it_names_and_the_list_allows() -> None:
    every = shipped()
    kept = every.only(["read_file", "commands.run", "files.format_disk", "other.search"])
    assert {name: set(server.tools) for name, server in kept.servers.items()} == {
        "files": {"read_file"}, "commands": {"run"}
    }  # fmt: skip
    assert kept.servers["files"].tools["read_file"] == every.servers["files"].tools["read_file"]
    assert not every.only([]).servers and kept.folder_only == every.folder_only
