"""The bill of materials that the image carries, by the Dockerfile's own command."""

import json
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.deploy import dockerfile
from tests.deploy.environment import python

LOCK = dockerfile.ROOT / "deploy" / "requirements.lock"
TOOL = python()
UNSAID = {"agent-client-protocol", "protobuf", "pypdfium2", "rank-bm25"}
"""Packages that do not say their licence where the tool reads it."""

pytestmark = pytest.mark.skipif(
    TOOL is None, reason="NOT CHECKED: cyclonedx-py is not installed (python -m tests.deploy.environment --install)"
)


def bill(path: Path) -> bytes:
    """Of this interpreter's packages, as the image's build makes it of its own; the schema is looked at there alone."""
    assert TOOL is not None
    (text,) = [t for word, t in dockerfile.lines() if word == "RUN" and "cyclonedx-py" in t]
    command = shlex.split(text.rpartition("&& ")[2])
    assert command[-3:] == ["--output-file", "/opt/parley/sbom.cdx.json", "/opt/parley/bin/python"]
    words = [str(TOOL.with_name(command[0])), *command[1:-2], str(path), "--no-validate", sys.executable]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


def locked() -> dict[str, str]:
    """Package -> version of the image's lock, of those that are for every machine."""
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", LOCK.read_text(), re.MULTILINE))


def test_it_names_every_package_of_the_lock_with_its_licence_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, again = bill(tmp_path / "1.json"), bill(tmp_path / "2.json")
    assert first == again
    components: list[dict[str, Any]] = json.loads(first)["components"]
    have = {c["name"].lower().replace("_", "-"): c for c in components}
    wanted = {**locked(), "parley": version("parley")}
    assert {name: have[name]["version"] for name in wanted} == wanted
    assert {name for name in wanted if not have[name].get("licenses")} == UNSAID
    assert all(c["bom-ref"] for c in components)


def test_the_build_installs_the_tool_that_was_tried() -> None:
    (text,) = [t for word, t in dockerfile.lines() if word == "RUN" and "cyclonedx-py" in t]
    assert TOOL is not None
    done = subprocess.run(
        [str(TOOL.with_name("cyclonedx-py")), "--version"], capture_output=True, text=True, timeout=30
    )
    assert f"cyclonedx-bom=={done.stdout.strip()}" in text
