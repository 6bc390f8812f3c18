"""The deployment files are what their readers take them for, and the image's commands run without the tree."""

import json
import os
import random
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from parley.agents import specs
from parley.bus.accounts import load_credentials
from parley.bus.channels import ACCOUNT_OF_ROLE
from parley.bus.embedded import find_server
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.token_keys import TokenKeys
from tests.deploy import dockerfile
from tests.outcomes.test_command import fetch
from tests.parley.support import until
from tests.support import forks

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = [n for n, s in SERVICES.items() if s.get("image") == "parley"]
AGENTS = [n for n in OURS if (SERVICES[n].get("command") or [""])[0] == "agent"]
MODERATORS = [n for n in OURS if (SERVICES[n].get("command") or [""])[0] == "moderator"]
TOOLS = {"ask": "client", "parley": "owner", "restore": "owner"}
"""Tool -> whose credentials it has."""
FOR_TOOLS = {"ask": ["q"], "parley": ["doctor"], "restore": [], "keys": [], "web-keys": [], "cluster-keys": []}


HEADER = [
    shlex.split(line.removeprefix("#   docker compose run --rm ").partition("  ")[0])
    for line in (ROOT / "docker-compose.yml").read_text().splitlines()
    if re.match("#   docker compose run --rm (?:-v|ask|parley) ", line)
]
"""The words of the tools' commands in the Compose file's first lines."""


def outside(word: str, volumes: dict[str, str]) -> str:
    """A path of a container as the path that is mounted there; any other word as it is."""
    for target, source in volumes.items():
        if word == target or word.startswith(f"{target}/"):
            return source + word.removeprefix(target)
    return word


def words(name: str) -> list[str]:
    """What a service runs, behind `parley`."""
    service = SERVICES[name]
    return list(service["command"]) if "command" in service else [*service["entrypoint"][1:], *FOR_TOOLS[name]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keys, as the service `keys` makes them."""
    folder = tmp_path_factory.mktemp("deploy") / "keys"
    command = [word.replace("/keys", str(folder)) for word in words("keys")]
    subprocess.run([sys.executable, "-m", "parley", *command], cwd=ROOT, check=True, timeout=30, capture_output=True)
    return folder


def test_the_compose_file_satisfies_the_specification() -> None:
    checker = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run(
        [checker, "--builtin-schema", "vendor.compose-spec", ROOT / "docker-compose.yml"],
        capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_service_gets_its_own_key_and_no_other() -> None:
    for name in OURS:
        if name in ("keys", "web-keys", "cluster-keys"):
            assert "secrets" not in SERVICES[name] and SERVICES[name]["network_mode"] == "none"
            continue
        user = TOOLS.get(name, name)
        extra = ["token_key", {"source": "limits", "target": "limits.conf"}] if name in MODERATORS else []
        assert SERVICES[name]["secrets"] == [user, *extra]
        variables = SERVICES[name].get("environment", {}).items()
        named = [*words(name), *(f"--creds={v}" for k, v in variables if k == "PARLEY__NATS__CREDS")]
        assert f"--creds=/run/secrets/{user}" in named


def test_there_is_a_service_for_every_role_of_every_protocol() -> None:
    roles = [specs.load(name).roles[0] for name in AGENTS]
    assert set(roles) == set(ACCOUNT_OF_ROLE)
    for protocol in PROTOCOLS.values():
        for role in protocol.roles:
            assert roles.count(role.name) >= role.least
    for name in AGENTS:
        assert specs.load(name).queue == name


def test_what_serves_is_watched_restarted_and_reads_models_settings() -> None:
    for name in (*MODERATORS, "metrics", *AGENTS):
        service = SERVICES[name]
        assert "/readyz" in service["healthcheck"]["test"][-1]
        assert service["restart"] == "unless-stopped"
        assert service["depends_on"]["nats"]["condition"] == "service_healthy"
        assert "container_name" not in service and "ports" not in service, "so that --scale works"
        assert ("env_file" in service) == (name not in (*MODERATORS, "metrics"))
    assert SERVICES["nats"]["healthcheck"] and SERVICES["nats"]["volumes"]


@pytest.mark.parametrize("name", OURS)
def test_the_command_line_takes_each_services_words(name: str) -> None:
    code, _, err = forks.run(*words(name), "--help")
    assert code == 0, err
    code, _, _ = forks.run(*words(name), "--bogus", "--help")
    assert code == 2  # so the first would have shown an option that is not there


def test_the_files_that_secrets_name_are_those_that_are_made(made: Path) -> None:
    for name, secret in COMPOSE["secrets"].items():
        path = made / Path(secret["file"]).name
        assert path.stat().st_mode & 0o777 == 0o600
        if path.suffix == ".json":
            assert load_credentials(path).user == name
    assert len(TokenKeys(made / "token.key").signing) == 32


def test_a_real_server_takes_the_configuration_and_it_holds_no_secret(made: Path) -> None:
    conf = made / "nats-server.conf"
    done = subprocess.run([find_server(), "-t", "-c", conf], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    text = conf.read_text()
    found = json.loads(text)
    assert (found["host"], found["port"], found["http"]) == ("0.0.0.0", 4222, "0.0.0.0:8222")
    assert found["jetstream"]["store_dir"].startswith("/data")
    assert any(v.endswith(f"/{conf.name}}}:/etc/nats/bus:ro") for v in SERVICES["nats"]["volumes"])
    for path in made.glob("*.json"):
        credentials = load_credentials(path)
        assert credentials.seed not in text
        assert credentials.public in text


def test_real_servers_take_the_clusters_configurations(made: Path, tmp_path: Path) -> None:
    """As the service `cluster-keys` makes them; a server finds its files where they are mounted."""
    folder = tmp_path / "keys"
    shutil.copytree(made, folder)
    command = [word.replace("/keys", str(folder)) for word in words("cluster-keys")]
    subprocess.run([sys.executable, "-m", "parley", *command], cwd=ROOT, check=True, timeout=30, capture_output=True)
    mounts = {"nats": "parley-1", "nats-2": "parley-2", "nats-3": "parley-3"}
    one = json.loads((made / "nats-server.conf").read_text())
    for service, name in mounts.items():
        inside = folder / "servers" / name
        found = json.loads((inside / "nats-server.conf").read_text())
        assert found["client_advertise"] == f"{service}:4222" and found["accounts"] == one["accounts"]
        text = (inside / "nats-server.conf").read_text().replace("/etc/nats/bus/", f"{inside}/")
        (tmp_path / "seen.conf").write_text(text)
        done = subprocess.run([find_server(), "-t", "-c", tmp_path / "seen.conf"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        given = SERVICES[service]["volumes"]
        assert any(v.endswith(":/etc/nats/bus:ro") and (name in v or service == "nats") for v in given)
        assert SERVICES[service].get("profiles", []) == ([] if service == "nats" else ["cluster"])
    before = {p: p.read_bytes() for p in (folder / "servers").rglob("*") if p.is_file()}
    again = [sys.executable, "-m", "parley", "bus", "config", "--dir", str(folder), "--client", "late"]
    subprocess.run(again, cwd=ROOT, check=True, timeout=30, capture_output=True)
    changed = {p.name for p, data in before.items() if p.read_bytes() != data}
    assert changed == {"nats-server.conf"}, "a further client is known to each, and certificates stay"


def test_every_image_is_pinned_and_every_service_bounded() -> None:
    """A tag that names a version; memory and logs that end; nothing published beyond this machine."""
    for name, service in SERVICES.items():
        assert service["image"] == "parley" or re.search(r":v?\d+\.\d+\.\d+", service["image"]), name
        assert service["mem_limit"] and service["logging"]["options"]["max-size"], name
        assert service["cap_drop"] == ["ALL"] and service["pids_limit"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name


def test_what_is_watched_with_is_there_and_finds_every_service() -> None:
    """Files that are mounted exist; data lies on volumes that are declared."""
    for name in ("prometheus", "tempo", "grafana"):
        assert SERVICES[name]["profiles"] == ["observability"]
        for volume in SERVICES[name]["volumes"]:
            source = volume.partition(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).exists(), volume
    config = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())
    (job,) = [job for job in config["scrape_configs"] if job["job_name"] == "parley"]
    (names,) = [d["names"] for d in job["dns_sd_configs"]]
    assert sorted(names) == sorted([*MODERATORS, "metrics", "gateway", *AGENTS])
    named = {"source_labels": ["__meta_dns_name"], "target_label": "service"}
    assert job["relabel_configs"] == [named], "an address alone says nothing"


@pytest.mark.skipif(shutil.which("promtool") is None, reason="NOT CHECKED: no `promtool` on PATH (.ci/run installs it)")
def test_prometheus_takes_its_configuration() -> None:
    done = subprocess.run(
        ["promtool", "check", "config", ROOT / "deploy" / "prometheus.yml"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------- the image


def test_the_image_copies_what_the_context_lets_through() -> None:
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    for instruction, text in dockerfile.lines():
        if instruction == "COPY" and not text.startswith("--from"):
            for source in text.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert f"!{source}" in ignore, source


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages as the image has them: the COPY and `pip wheel` lines of the Dockerfile carried out in a bare
    folder, the wheel unpacked where nothing else of the tree is."""
    folder = tmp_path_factory.mktemp("image")
    source, wheels, app = folder / "src", folder / "dist", folder / "app"
    source.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    for instruction, text in dockerfile.lines():
        if instruction == "COPY" and not text.startswith("--from"):
            *sources, target = text.split()
            for name in sources:
                to = source / (target if target != "./" else name)
                to.parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, to, ignore=ignored)
                else:
                    shutil.copy(ROOT / name, to)
    (build,) = [text for word, text in dockerfile.lines() if word == "RUN" and "pip wheel" in text]
    (command,) = [part.strip() for part in build.split("&&") if part.strip().startswith("pip wheel")]
    arguments = command.replace("/dist", str(wheels)).split()[1:]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, *arguments], cwd=source, check=True, capture_output=True, timeout=60)
    (wheel,) = wheels.glob("*.whl")
    install = [*pip, "install", "--quiet", "--no-deps", "--no-index", "--target", str(app), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=60)
    return app


@contextmanager
def running(image: Path, folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """`parley ...` from the image's packages alone, in an empty folder; it drains when it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "parley", *arguments], cwd=folder, env=environment(image),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.wait(20)


def environment(image: Path) -> dict[str, str]:
    """Nothing of ours but where the packages are."""
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(image), "HOME": "/nonexistent"}


def free_ports(count: int) -> list[int]:
    """Ports that nobody has, below those that the system gives to connections, which would take them again."""
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as held, suppress(OSError):
            held.bind(("127.0.0.1", port))
            found += [port] * (port not in found)
    return found


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
    except OSError:
        return False
    return True


def is_ready(port: int) -> bool:
    """What the health check of the Compose file asks, without an interpreter of its own."""
    try:
        return fetch(f"http://127.0.0.1:{port}/readyz") == "ready\n"
    except OSError:
        return False


def ready(command: Sequence[str], port: int, image: Path) -> bool:
    """The health check of the Compose file."""
    words = [w.replace("9464", str(port)) for w in command[1:]]
    done = subprocess.run([sys.executable, *words[1:]], env=environment(image), capture_output=True, timeout=10)
    return done.returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_images_commands_run_one_by_one_in_a_bare_folder(image: Path, made: Path, tmp_path: Path) -> None:
    """Every service of the Compose file on a real server with the configuration that `keys` made; then the tools."""
    (tmp_path / "cwd").mkdir()
    alike = {n for n in AGENTS if SERVICES[n].get("profiles") == ["madp"] or n.startswith("audience_")}  # but for names
    alike -= {"expert_security-architect", "expert_implementation-engineer", "audience_1"}  # for the header's commands
    serving = (*MODERATORS, "metrics", *(n for n in AGENTS if n not in alike))
    port, monitor, *others = free_ports(2 + len(serving))
    ports = dict(zip(serving, others, strict=True))
    keys = tmp_path / "home" / "keys"
    shutil.copytree(made, keys)
    conf = re.sub(r'"port": \d+', f'"port": {port}', (made / "nats-server.conf").read_text())
    conf = conf.replace("0.0.0.0:8222", f"127.0.0.1:{monitor}").replace("/data/jetstream", str(tmp_path / "js"))
    (keys / "nats-server.conf").write_text(conf.replace("0.0.0.0", "127.0.0.1"))
    secrets = {f"/run/secrets/{n}": str(keys / Path(s["file"]).name) for n, s in COMPOSE["secrets"].items()}

    def here(text: str, metrics: int = 0) -> str:
        for secret, path in secrets.items():
            text = re.sub(rf"{re.escape(secret)}\Z", path, text)
        text = str(keys) if text == "/bus/keys" else text.replace("http://nats:8222", f"http://127.0.0.1:{monitor}")
        text = text.replace("nats://nats:4222", f"nats://127.0.0.1:{port}").replace("=0.0.0.0", "=127.0.0.1")
        return text.replace("9464", str(metrics))

    server = subprocess.Popen([find_server(), "-c", str(keys / "nats-server.conf")], stderr=subprocess.DEVNULL)
    try:
        until(lambda: listens(port), "no server")
        with ExitStack() as stack, ExitStack() as ending:  # all are told to end before one is waited for
            started: list[tuple[str, subprocess.Popen[bytes]]] = []

            def start(name: str, metrics: int) -> None:
                arguments = (here(w, metrics) for w in words(name))
                started.append((name, stack.enter_context(running(image, tmp_path / "cwd", *arguments))))
                ending.callback(started[-1][1].terminate)

            for name, metrics in ports.items():
                start(name, metrics)
            for name, metrics in ports.items():
                until(partial(is_ready, metrics), f"{name} is not ready", 120)
            (check,) = {tuple(SERVICES[name]["healthcheck"]["test"]) for name in ports}
            until(partial(ready, check, ports["metrics"], image), "the health check does not see that it is ready", 60)
            assert not ready(check, free_ports(1)[0], image)

            def tool(name: str, *more: str) -> Any:
                variables = {k: here(v) for k, v in SERVICES[name].get("environment", {}).items()}
                command = [here(w) for w in SERVICES[name]["entrypoint"][1:]]
                done = subprocess.run(
                    [sys.executable, "-P", "-m", "parley", *command, *more, "--json"], cwd=tmp_path / "cwd", text=True,
                    env={**environment(image), **variables}, capture_output=True, timeout=60,
                )  # fmt: skip
                if any(PROTOCOLS[word].needs_model for word in more if word in PROTOCOLS):  # no container here has one
                    assert done.returncode == 2 and "needs a language model" in done.stderr, f"{more}: {done.stderr}"
                    return None
                assert done.returncode in (0, 3), f"{name} {more}: {done.stderr}"
                return json.loads(done.stdout)

            asked = []
            for name, *arguments in HEADER:
                volumes = {}
                while name == "-v":
                    source, target, _ = arguments[0].split(":")
                    volumes[target], (name, *arguments) = str(ROOT / source), arguments[1:]
                said = tool(name, *(outside(word, volumes) for word in arguments))
                asked += [said] if name == "ask" and said else []
                assert name == "ask" or said.get("ok") or said.get("acts") or said["bus"] == "read again", arguments
            # A key is rotated by one command: the service with the old one ends, and has the new one at its next start.
            assert tool("parley", "bus", "user", "rotate", "panelist_1")["bus"] == "read again"
            assert dict(started)["panelist_1"].wait(20) == 1
            (metrics,) = free_ports(1)
            start("panelist_1", metrics)
            until(partial(is_ready, metrics), "not ready", 60)
            evidence = str(ROOT / "examples/factual/evidence")
            asked.append(tool("ask", "--evidence", evidence, "In which year did the Suez Canal open?"))
            known = {p for p, of in PROTOCOLS.items() if not (of.standing or of.needs_model)}
            assert {a["protocol"] for a in asked} == known - {"compound"}, "which is asked of a panel's queues"
            assert asked[0]["stop"]["converged"] is True
            rows = tool("parley", "sessions", "list")["sessions"]
            assert {r["session"] for r in rows if r["status"] != "refused"} == {a["session"] for a in asked}
        assert [name for name, service in started if service.returncode] == ["panelist_1"], "the others drained"
    finally:
        server.terminate()
        server.wait(10)
    assert list((tmp_path / "cwd").iterdir()) == []
