"""The chart's job that makes the keys, against an HTTP server that keeps secrets as Kubernetes' API does."""

import asyncio
import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from parley.bus import accounts
from parley.bus.connection import connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import WrongCredentials
from parley.bus_admin.cluster import CONFIGURATION
from tests.security.test_users import serve

SCRIPT = Path(__file__).parents[2] / "deploy" / "helm" / "scripts" / "keys.py"
PATH = "/api/v1/namespaces/debates/secrets"


class Api(ThreadingHTTPServer):
    """Secrets by name; what was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.secrets: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, str]] = []


class Handler(BaseHTTPRequestHandler):
    server: Api

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _asked(self) -> tuple[str, Any]:
        self.server.asked.append((self.command, self.path))
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        assert self.headers["Authorization"] == "Bearer the-token"
        assert self.path.startswith(PATH)
        return self.path.removeprefix(PATH).strip("/"), body

    def do_GET(self) -> None:
        name, _ = self._asked()
        found = self.server.secrets.get(name)
        self._answer(200 if found else 404, found or {})

    def do_POST(self) -> None:
        _, body = self._asked()
        self.server.secrets[body["metadata"]["name"]] = body
        self._answer(201, body)

    def do_PATCH(self) -> None:
        name, body = self._asked()
        held = self.server.secrets[name]["data"] | body["data"]
        self.server.secrets[name]["data"] = {file: data for file, data in held.items() if data is not None}
        self._answer(200, self.server.secrets[name])


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(api: Api, folder: Path, *options: str, url: str = "") -> str:
    (folder / "namespace").write_text("debates")
    (folder / "token").write_text("the-token")
    env = {
        **os.environ, "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1",
        "KUBERNETES_API": f"http://127.0.0.1:{api.server_address[1]}", "ACCOUNT": str(folder), "NO_PROXY": "*",
        "PARLEY__NATS__URL": url,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "parley-keys", "parley-nats-config", *options],
        env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def files(api: Api, name: str) -> dict[str, bytes]:
    return {file: base64.b64decode(content) for file, content in api.secrets[name]["data"].items()}


def test_keys_are_made_once_and_completed_later(api: Api, tmp_path: Path) -> None:
    said = run(api, tmp_path, "--moderators=2")
    first, server = files(api, "parley-keys"), files(api, "parley-nats-config")
    assert {"moderator-1.json", "moderator-2.json", "panelist_1.json", "token.key"} <= set(first)
    assert set(server) == {"nats-server.conf"} and "nats-server.conf" not in first
    seed = json.loads(first["panelist_1.json"])["seed"]
    assert seed not in said and seed.encode() not in server["nats-server.conf"]

    asked = len(api.asked)
    run(api, tmp_path, "--moderators=2")
    assert files(api, "parley-keys") == first
    assert {method for method, _ in api.asked[asked:]} == {"GET"}, "nothing is new, and nothing is written"

    run(api, tmp_path, "--moderators=3", "--client=alice")
    grown = files(api, "parley-keys")
    assert {"moderator-3.json", "alice.json"} <= set(grown)
    assert {name: grown[name] for name in first} == first, "no key is made twice"
    assert files(api, "parley-nats-config") != server


def test_a_command_changes_the_users_of_a_running_bus_whose_server_reads_the_secret(api: Api, tmp_path: Path) -> None:
    """As a pod does: what is in the secret reaches the server's file late, and it is told once the file is there."""
    run(api, tmp_path, "--client=alice", "--client=client", "--host=127.0.0.1", "--monitor=")
    conf = tmp_path / CONFIGURATION
    over = threading.Event()

    def mounted() -> None:
        while not over.wait(0.3):
            changed = json.loads(files(api, "parley-nats-config")[CONFIGURATION])
            conf.write_text(json.dumps(changed | ours))

    with EmbeddedServer(tmp_path / "bus", (), {}) as server:
        conf.write_bytes(files(api, "parley-nats-config")[CONFIGURATION])
        serve(server, conf)
        ours = json.loads(conf.read_text())
        ours = {key: ours[key] for key in ("ports_file_dir", "log_file")} | {
            "port": server.port,
            "jetstream": ours["jetstream"],
        }
        kubelet = threading.Thread(target=mounted)
        kubelet.start()
        try:
            before = files(api, "parley-keys")
            for words in (["add", "bob"], ["rotate", "alice"], ["revoke", "client"], ["rotate", "token.key"]):
                run(api, tmp_path, "--run", "user", *words, url=server.url)
        finally:
            over.set()
            kubelet.join()
        after = files(api, "parley-keys")
        changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
        assert changed == {"bob.json", "alice.json", "client.json", "token.key"}
        for name in ("alice.json", "bob.json"):
            (tmp_path / name).write_bytes(after[name])
            asyncio.run(knock(server.url, accounts.load_credentials(tmp_path / name)))
        (tmp_path / "old.json").write_bytes(before["alice.json"])
        with pytest.raises(WrongCredentials):
            asyncio.run(knock(server.url, accounts.load_credentials(tmp_path / "old.json")))


async def knock(url: str, credentials: accounts.Credentials) -> None:
    await (await connect(url, credentials, name="t")).close()


def test_a_refusal_of_the_api_ends_it_and_names_no_key(api: Api, tmp_path: Path) -> None:
    api.RequestHandlerClass = type(
        "Refusing", (Handler,), {"do_POST": lambda self: (self._asked(), self._answer(403, {}))}
    )
    with pytest.raises(AssertionError, match="POST of the secret: the API server says 403") as error:
        run(api, tmp_path)
    assert "seed" not in str(error.value)
