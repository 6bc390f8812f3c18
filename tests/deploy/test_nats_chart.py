"""The guide's values for NATS's official chart fit the configuration that we render and the secrets that it names."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from parley.bus.embedded import find_server

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
    command = re.search(r"parley (bus config --dir KEYS .*)", GUIDE)
    assert command is not None
    words = command[1].replace("KEYS", str(folder)).split()
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


def test_nothing_is_left_that_needs_the_charts_own_configuration(tmp_path: Path) -> None:
    """Its reloader and its hook read a file with the process id, of which ours says nothing."""
    assert "pid_file" not in json.loads(rendered(tmp_path / "keys").read_text())
    assert values()["reloader"] == {"enabled": False}
    assert "/lifecycle" in patched("container") and patched("container")["/lifecycle"] is None


def test_a_real_server_takes_the_arguments(tmp_path: Path) -> None:
    conf = rendered(tmp_path / "keys")
    option = patched("container")["/args"][0]
    done = subprocess.run([find_server(), "-t", option, str(conf)], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
