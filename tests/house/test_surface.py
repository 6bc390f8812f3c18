"""What users import is what is written here: a name that comes or goes is a decision."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import parley

ROOT = Path(__file__).parents[2]
PUBLIC = {
    "Agent", "AgentRow", "BadInput", "LearnReport", "Parley", "ParleyError", "Refusal", "Reply", "Result", "Session",
    "Stack", "StackFailed", "Turn", "Unreachable", "agent", "ask", "connect", "learn", "local",
}  # fmt: skip


def test_the_public_names_are_these_and_each_is_there_with_its_text() -> None:
    assert set(parley.__all__) == PUBLIC
    for name in PUBLIC:
        thing = getattr(parley, name)
        assert (inspect.getdoc(thing) or "").strip(), name
    assert set(dir(parley)) >= PUBLIC


def test_other_names_are_refused() -> None:
    assert not hasattr(parley, "nonsense")


def test_importing_it_costs_next_to_nothing() -> None:
    code = "import sys, parley; print({'nats', 'numpy', 'msgspec', 'pydantic'} & sys.modules.keys())"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    assert out.stdout == "set()\n"


def test_public_functions_and_classes_say_what_they_are() -> None:
    """Every public class and function of the packages has a docstring."""
    bare = []
    packages = ("schemas", "observability", "bus", "coordinator", "agents", "parley", "research/parley_research")
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    continue
                if not node.name.startswith("_") and not ast.get_docstring(node):
                    bare.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert bare == []
