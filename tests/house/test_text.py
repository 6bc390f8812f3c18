"""What the tree may not contain, and what must agree with what: schemas, pages, names, tiers, licences."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from referencing import Registry, Resource

import parley
from parley.schemas import export, turn
from parley.schemas.session import OpenSession
from parley.schemas.wire import encode
from tests.conftest import TIERS, tiers_of

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "observability", "bus", "coordinator", "agents", "parley", "research/parley_research")
QUOTED = (ROOT / "docs" / "sources", ROOT / "research" / "parley_research" / "questions")
"""Texts of other people, kept word for word."""
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
IMAGE_LOCK = (ROOT / "deploy" / "requirements.lock").read_text()
INVENTED = ROOT / "research" / "parley_research" / "registries"
"""Specifications and prompts that others wrote, kept as they are."""


def tracked() -> list[Path]:
    """The files of the tree that people write."""
    skipped = {".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "__pycache__", ".parley"}
    return [
        p
        for p in ROOT.rglob("*")
        if p.is_file()
        and p.suffix in {".py", ".md", ".toml", ".yml", ".yaml", ".lock", ""}
        and not skipped & set(p.parts)
    ]


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("something left to do", r"\b(?:TODO|FIXME|XXX|HACK)\b"),
        ("a path of one machine", r"(?<![\w.])/(?:work|root|home/\w+)/"),
    ],
)
def test_no_file_has(what: str, pattern: str) -> None:
    here = Path(__file__)
    found = []
    for path in tracked():
        if path == here or path.parent in QUOTED or INVENTED in path.parents:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if re.search(pattern, line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == [], what


def test_modules_stay_readable() -> None:
    lengths = {p: len(p.read_text().splitlines()) for package in PACKAGES for p in (ROOT / package).rglob("*.py")}
    assert lengths
    assert {str(p): n for p, n in lengths.items() if n > 600} == {}


def entries(lock: str) -> list[str]:
    """Name, version and hashes of each, without the platforms that it is for."""
    return re.split(r"\n(?=[a-z0-9])", re.sub(r" ; [^\\\n]*", " ", lock.partition("make lock\n")[2]))


@pytest.mark.parametrize("lock", [LOCK, IMAGE_LOCK], ids=["whole", "image"])
def test_a_lock_names_no_host_and_every_entry_has_a_hash(lock: str) -> None:
    assert not re.search(r"://|--(?:extra-)?index|--find-links|--trusted-host|@ ", lock)
    assert len(entries(lock)) > 40
    for entry in entries(lock):
        assert re.match(r"[a-z0-9.-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_the_lock_has_every_dependency() -> None:
    project = CONFIG["project"]
    extras = project["optional-dependencies"]
    locked = {"uvloop", "acp", "a2a", "nats-agents", "dev", "documents"}
    assert set(extras) == locked
    wanted = project["dependencies"] + [d for extra in locked for d in extras[extra]]
    names = {re.split(r"[\[<>=~; ]", d)[0].lower().replace("_", "-") for d in wanted}
    pinned = set(re.findall(r"^([a-z0-9.-]+)==", LOCK, re.MULTILINE))
    assert names <= pinned


def test_the_image_has_what_was_tested_and_no_tools() -> None:
    image = set(entries(IMAGE_LOCK.rstrip()))
    assert image < set(entries(LOCK.rstrip()))
    assert not {"pytest", "mypy", "ruff"} & {entry.partition("==")[0] for entry in image}


SCHEMAS = json.loads(json.dumps(export.documents()))


def test_what_is_committed_is_what_the_code_says() -> None:
    assert json.loads((ROOT / "docs" / "schemas.json").read_text(encoding="utf-8")) == SCHEMAS, "run: make schemas"


def test_each_is_a_schema_and_has_every_message() -> None:
    modules = {m.__name__: m for m in export.modules()}
    for schema in SCHEMAS.values():
        jsonschema.Draft202012Validator.check_schema(schema)
        names = [m.__name__ for m in export.messages(modules[schema["title"]])]
        assert names and set(names) <= set(schema["$defs"])


def problems(document: str, message: str, value: Any) -> list[str]:
    resource: Resource[Any] = Resource.from_contents(SCHEMAS[document])
    registry: Registry[Any] = Registry().with_resource("urn:x", resource)
    validator = jsonschema.Draft202012Validator({"$ref": f"urn:x#/$defs/{message}"}, registry=registry)
    return [e.message for e in validator.iter_errors(value)]


def test_what_we_send_satisfies_its_schema_and_what_is_wrong_does_not() -> None:
    reply = json.loads(encode(turn.Reply(turn="3-1", token="t", body=msgspec.Raw(b'{"answer": "yes"}'))))
    assert problems("turn", "Reply", reply) == []
    assert problems("turn", "Reply", reply | {"deliveries": "two"}) == ["'two' is not of type 'integer'"]
    opening = json.loads(encode(OpenSession(question="Why?", protocol="consensus")))
    assert problems("session", "OpenSession", opening) == []
    del opening["question"]
    assert problems("session", "OpenSession", opening) == ["'question' is a required property"]


def test_importing_parley_costs_next_to_nothing_and_other_names_are_refused() -> None:
    code = "import sys, parley; print({'nats', 'numpy', 'msgspec', 'pydantic'} & sys.modules.keys())"
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    assert out.stdout == "set()\n"
    assert not hasattr(parley, "nonsense") and set(dir(parley)) >= set(parley.__all__)


def test_public_functions_and_classes_say_what_they_are() -> None:
    """Every public class and function of the packages has a docstring."""
    bare = []
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    continue
                if not node.name.startswith("_") and not ast.get_docstring(node):
                    bare.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
    assert bare == []


FOLDERS = ("docs", "research", "examples", "tests")
PAGES = sorted((*ROOT.glob("*.md"), *(p for folder in FOLDERS for p in ROOT.glob(f"{folder}/**/*.md"))))
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
NAMED = re.compile(
    r"`((?:tests|docs|bus|coordinator|agents|client|research|parley|schemas|observability|examples|deploy)/[\w./-]+)`"
)
TEST = re.compile(r"`(?:tests/\w+/)?(test_\w+)::(test_\w+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_a_page_cites_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    missing += [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    for module, test in TEST.findall(text):
        found = [p for p in ROOT.glob(f"tests/**/{module}.py") if f"def {test}" in p.read_text(encoding="utf-8")]
        missing += [] if found else [f"{module}::{test}"]
    assert not missing


def test_every_place_is_there_once() -> None:
    places = [place for _, place in TIERS]
    assert len(set(places)) == len(places)
    for tier, place in TIERS:
        file, _, test = place.partition("::")
        assert tier in ("landing", "nightly", "slow") and (ROOT / file).exists(), place
        assert not test or f"def {test.partition('[')[0]}(" in (ROOT / file).read_text(), place


def test_a_landing_test_is_in_no_other_tier() -> None:
    landing = next(place for tier, place in TIERS if tier == "landing" and place.startswith("tests/chaos/"))
    assert tiers_of(landing) == tiers_of(f"{landing}[1]") == {"slow", "landing"}
    assert tiers_of("tests/chaos/test_freezes.py::test_x") == {"nightly"}
    assert tiers_of("tests/coordinator/test_machine.py::test_x") == set()
