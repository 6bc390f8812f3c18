"""What agents do in each protocol: one object each, looked up by the protocol's name, from any package."""

import ast
from pathlib import Path

import msgspec
import pytest

from parley.agents.model.base import ModelRefused
from parley.agents.prompts.prompting import build
from parley.agents.protocols import KITS, Kind, Kit
from parley.schemas.protocols.consensus import Position
from tests.protocols.consensus.simulate import turn_shown

ROOT = Path(__file__).parents[2]
ROOMS = sorted(p.parent.name for p in (ROOT / "agents" / "protocols").glob("*/kit.py"))


def test_the_registry_imports_no_room() -> None:
    tree = ast.parse((ROOT / "agents" / "protocols" / "__init__.py").read_text())
    imported = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert imported == ["typing", "parley.agents.turn_kinds.kit", "parley.schemas.rooms"]


@pytest.mark.parametrize("protocol", ROOMS)
def test_every_kind_of_turn_has_a_method_and_a_prompt_unless_it_is_computed(protocol: str) -> None:
    kit = KITS[protocol]
    assert kit.prompts is not None
    computed = {name for name, kind in kit.kinds.items() if kind.computed}
    asked = set(kit.kinds) - computed
    assert set(kit.computed() if kit.computed else ()) == computed
    assert set(kit.extractive() if kit.extractive else asked) == asked
    written = {p.stem for p in kit.prompts.glob("*.md")}
    assert asked <= written <= set(kit.kinds)


def test_the_extractive_model_plays_no_task() -> None:
    assert KITS["madp"].extractive is None and set(KITS["madp"].methods()) == {"match", "check"}


def test_prompts_of_another_package_stand_beside_its_own_kit(tmp_path: Path) -> None:
    (tmp_path / "sing.md").write_text("{{rules}}\n---\nSing of this: {{question}}\n")
    kinds = {name: Kind(brief=Position, reply=Position) for name in ("sing", "hum")}
    KITS.add("choir", Kit(kinds, prompts=tmp_path))
    shown = msgspec.structs.replace(turn_shown("Which song?"), protocol="choir", kind="sing")
    assert "Which song?" in build(shown).messages[1]["content"]
    with pytest.raises(ModelRefused, match="no prompt is written for 'hum' turns of protocol 'choir'"):
        build(msgspec.structs.replace(shown, kind="hum"))
