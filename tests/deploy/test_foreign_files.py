"""Files for other makers' programs: the collector's example, values of NATS's chart, the bill of materials."""

import json
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from parley.observability.tracing import ERROR
from tests.deploy import dockerfile
from tests.deploy.environment import python

CONFIG: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "deploy/observability/collector.yaml").read_text())


def test_what_failed_is_kept_by_the_attribute_that_spans_have() -> None:
    kept = [p["boolean_attribute"] for p in CONFIG["processors"]["tail_sampling"]["policies"] if p["name"] == "failed"]
    assert kept == [{"key": ERROR, "value": True}]


ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/operations/deploy.md").read_text()
PROBED = 8222
"""The port that the probes of that chart ask (its config.monitor.port)."""
SERVED = 4222
"""The port of its service (config.nats.port)."""


def values() -> dict[str, Any]:
    (block,) = [b for b in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL) if "jetstream:" in b]
    found: dict[str, Any] = yaml.safe_load(block)
    return found


def patched(section: str) -> dict[str, Any]:
    """Path -> value of the patches of a section; a removal's is None."""
    return {p["path"]: p.get("value") for p in values()[section]["patch"]}


def rendered(folder: Path) -> Path:
    """The configuration, by the command that the guide names."""
    *_, command = re.findall(r"parley (bus config --dir KEYS .*)", GUIDE)
    words = command.replace("KEYS", str(folder)).split()
    subprocess.run([sys.executable, "-m", "parley", *words], cwd=ROOT, check=True, capture_output=True, timeout=30)
    return folder / "nats-server.conf"


def test_names_paths_and_ports_agree(tmp_path: Path) -> None:
    conf = rendered(tmp_path / "keys")
    config = json.loads(conf.read_text())
    assert (config["host"], config["port"], config["http"]) == ("0.0.0.0", SERVED, f"0.0.0.0:{PROBED}")
    files = values()["config"]["jetstream"]["fileStore"]
    assert config["jetstream"]["store_dir"] == f"{files['dir']}/jetstream", "where that chart mounts its volume"
    container, pod = patched("container"), patched("podTemplate")
    mount, volume = container["/volumeMounts/-"], pod["/spec/volumes/-"]
    assert mount["name"] == volume["name"]
    secret = volume["secret"]["secretName"]
    assert f"kubectl create secret generic {secret} --from-file=KEYS/{conf.name}" in GUIDE
    assert container["/args"] == ["--config", f"{mount['mountPath']}/{conf.name}"]


LOCK = dockerfile.ROOT / "deploy" / "requirements.lock"
TOOL = python()
UNSAID = {"agent-client-protocol", "protobuf", "pypdfium2", "rank-bm25"}
"""Packages that do not say their licence where the tool reads it."""


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


@pytest.mark.skipif(
    TOOL is None, reason="NOT CHECKED: cyclonedx-py is not installed (python -m tests.deploy.environment --install)"
)
def test_it_names_every_package_of_the_lock_with_its_licence_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, again = bill(tmp_path / "1.json"), bill(tmp_path / "2.json")
    assert first == again
    components: list[dict[str, Any]] = json.loads(first)["components"]
    have = {c["name"].lower().replace("_", "-"): c for c in components}
    wanted = {**locked(), "parley": version("parley")}
    assert {name: have[name]["version"] for name in wanted} == wanted
    assert {name for name in wanted if not have[name].get("licenses")} == UNSAID
    assert all(c["bom-ref"] for c in components)
