"""The deployment files are what their readers take them for."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents import specs
from bus.accounts import load_credentials, load_token_key
from bus.embedded import find_server
from deploy import keys

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deploy") / "keys"
    subprocess.run([sys.executable, "-m", "deploy.keys", folder], cwd=ROOT, check=True, timeout=30)
    return folder


def test_the_compose_file_satisfies_the_specification() -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run(
        [checker, "--builtin-schema", "vendor.compose-spec", ROOT / "docker-compose.yml"],
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_service_gets_its_own_key_and_no_other() -> None:
    for name, service in COMPOSE["services"].items():
        if service.get("image") != "parley":
            continue
        user = "client" if name == "ask" else name
        extra = ["token_key"] if name == "moderator" else []
        assert service["secrets"] == [user, *extra]
        words = service["command"] if name != "ask" else service["entrypoint"]
        assert f"--creds=/run/secrets/{user}" in words


@pytest.mark.parametrize("name", [n for n, s in COMPOSE["services"].items() if s.get("image") == "parley"])
def test_the_command_line_takes_each_services_words(name: str) -> None:
    service = COMPOSE["services"][name]
    words = service["command"] if name != "ask" else service["entrypoint"][1:]
    command = [sys.executable, "-m", "parley", *words]
    done = subprocess.run([*command, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([*command, "--bogus", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2  # so the first would have shown an option that is not there


def test_every_agent_of_the_panel_is_one_that_there_is() -> None:
    agents = {n for n, s in COMPOSE["services"].items() if (s.get("command") or [""])[0] == "agent"}
    assert agents == set(keys.QUEUES)
    for name in agents:
        spec = specs.load(name)
        assert (spec.queue, spec.roles[0]) == (name, keys.QUEUES[name])


def test_the_files_that_secrets_name_are_those_that_are_made(made: Path) -> None:
    for secret in COMPOSE["secrets"].values():
        path = made / Path(secret["file"]).name
        assert path.stat().st_mode & 0o777 == 0o600
        if path.suffix == ".creds":
            assert load_credentials(path).user == path.stem
    assert len(load_token_key(made / "token.key")) == 32


def test_a_real_server_takes_the_configuration_and_it_holds_no_secret(made: Path) -> None:
    conf = made / "nats.conf"
    done = subprocess.run([find_server(), "-t", "-c", conf], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    text = conf.read_text()
    assert json.loads(text)["host"] == "0.0.0.0"
    for path in made.glob("*.creds"):
        credentials = load_credentials(path)
        assert credentials.seed not in text
        assert credentials.public in text


def test_keys_are_not_replaced_unasked(made: Path) -> None:
    before = (made / "nats.conf").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "deploy.keys", made], cwd=ROOT, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 2
    assert "has keys already" in done.stderr
    assert (made / "nats.conf").read_bytes() == before


def test_the_image_copies_every_package() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    for package in ("schemas", "observability", "bus", "coordinator", "agents", "parley"):
        assert f"COPY {package} {package}\n" in text
        assert f"!{package}" in ignore


@pytest.mark.skipif(shutil.which("promtool") is None, reason="NOT CHECKED: no `promtool` on PATH (.ci/run installs it)")
def test_prometheus_takes_its_configuration() -> None:
    done = subprocess.run(
        ["promtool", "check", "config", ROOT / "deploy" / "prometheus.yml"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stdout + done.stderr
