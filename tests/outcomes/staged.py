"""A deployment of real processes, watched as it is shipped: the rules and the files of Prometheus and Alertmanager in
`deploy`, and a receiver that keeps what it is told. Nothing is hurried."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from parley.bus import accounts
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from tests.llm.server import ModelServer, Request, fails, model_server, raw, says
from tests.outcomes.prometheus import PROMETHEUS, query
from tests.outcomes.test_bus_state import free_port
from tests.support.engine import until

DEPLOY = Path(__file__).parents[2] / "deploy"
ALERTMANAGER = shutil.which("alertmanager") or shutil.which("prometheus-alertmanager")
QUEUES = {"answerer": "answerer", "analyst": "analyst", "helper": "helper"}
MODERATORS = ("moderator-1", "moderator-2")
ANSWER = {"answer": "green lantern", "reasoning": "It says so.", "confidence": 0.9, "citations": [], "abstains": False}


class Endpoint:
    """A model's server, which can fail and be slow."""

    def __init__(self) -> None:
        self.broken = False
        self.seconds = 0.0

    async def step(self, server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answer one completion."""
        await asyncio.sleep(self.seconds)
        await (fails(500) if self.broken else says(ANSWER))(server, request, writer)


class Receiver:
    """Whom Alertmanager tells."""

    def __init__(self) -> None:
        told: list[dict[str, Any]] = []
        self.told = told
        """Notifications that something is wrong, in order."""

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                said = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if said["status"] == "firing":
                    told.append(said)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Hear no more."""
        self._server.shutdown()
        self._server.server_close()

    def words(self) -> list[str]:
        """By notification: the alert, and what is said of each of its causes."""
        return [
            f"{said['groupLabels']['alertname']}: " + " ".join(a["annotations"]["summary"] for a in said["alerts"])
            for said in self.told
        ]


class Deployment:
    """Its processes, by name."""

    def __init__(self, folder: Path, store: Path) -> None:
        users = accounts.table(QUEUES, moderators=MODERATORS, observers=("metrics",))
        self.keys = accounts.mint(users)
        self._port = free_port()
        http = f"127.0.0.1:{self._port}"
        self.server = EmbeddedServer(store, users, accounts.publics(self.keys), extra={"http": http})
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.ports: dict[str, int] = {}
        self.receiver = Receiver()
        self.endpoint = Endpoint()
        self.prometheus = ""
        self._stack = AsyncExitStack()

    # -- processes
    def start(self, name: str, *words: str, key: str = "", environ: dict[str, str] | None = None) -> None:
        """A service under its own name, with the key of `key`."""
        path = self.folder / f"{key or name}.json"
        self.keys[key or name].save(path)
        self.ports.setdefault(name, free_port())
        command = [*words, f"--nats={self.server.url}", f"--creds={path}", f"--metrics-port={self.ports[name]}"]
        self._spawn(name, [sys.executable, "-m", "parley", *command], environ)

    def _spawn(self, name: str, command: list[str], environ: dict[str, str] | None = None) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.folder, env={**os.environ, **(environ or {})}
            )

    def signal(self, number: signal.Signals, *names: str) -> None:
        """Send it to these."""
        for name in names:
            self.processes[name].send_signal(number)

    async def connect(self, user: str) -> Connection:
        """A connection of one user."""
        connection = await connect(self.server.url, self.keys[user], name=user)
        self._stack.push_async_callback(connection.close)
        return connection

    # -- life
    async def __aenter__(self) -> "Deployment":
        self.server.start()
        self._stack.callback(self.server.kill)
        models = await self._stack.enter_async_context(
            model_server(self.endpoint.step, look=raw(b'{"data":[{"id":"m"}]}'))
        )
        (self.folder / "token.key").write_bytes(b"6b" * 32 + b"\n")
        self._stack.callback(self._end)
        for name in MODERATORS:
            self.start(name, "moderator", f"--token-key={self.folder / 'token.key'}")
        of_model = {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "m", "LLM_BASE_URL": models.url}
        for queue in QUEUES:
            self.start(queue, "agent", queue, environ=of_model if queue == "answerer" else None)
        watch = {"PARLEY__WATCH__EXPECT": json.dumps([*QUEUES])}
        self.start("metrics", "metrics", f"--monitor=http://127.0.0.1:{self._port}", environ=watch)
        self._watch()
        await until(self._healthy, 400.0)
        self.receiver.told.clear()  # on a slow machine a service that starts is told of
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        self.receiver.close()

    def _end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()

    def _watch(self) -> None:
        """Prometheus and Alertmanager with the files that are shipped, but for addresses."""
        assert PROMETHEUS is not None and ALERTMANAGER is not None
        told, asked = free_port(), free_port()
        self.prometheus = f"http://127.0.0.1:{asked}"
        shutil.copytree(DEPLOY / "observability", self.folder / "observability")
        (self.folder / "targets").mkdir()
        groups = [{"targets": [f"127.0.0.1:{port}"], "labels": {"service": name}} for name, port in self.ports.items()]
        (self.folder / "targets" / "all.yml").write_text(json.dumps(groups))
        config = (DEPLOY / "prometheus.yml").read_text().replace("alertmanager:9093", f"127.0.0.1:{told}")
        (self.folder / "prometheus.yml").write_text(config)
        receiver = (DEPLOY / "observability/alertmanager.yml").read_text()
        receiver = receiver.replace("http://receiver.invalid/fill-in", self.receiver.url)
        (self.folder / "alertmanager.yml").write_text(receiver)
        self._spawn("prometheus", [
            PROMETHEUS, "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb",
            f"--web.listen-address=127.0.0.1:{asked}",
        ])  # fmt: skip
        self._spawn("alertmanager", [
            ALERTMANAGER, "--config.file=alertmanager.yml", "--storage.path=told", "--cluster.listen-address=",
            f"--web.listen-address=127.0.0.1:{told}",
        ])  # fmt: skip

    async def ask(self, expr: str) -> dict[str, float]:
        """What Prometheus says, by the values of the labels."""
        found = await asyncio.to_thread(query, self.prometheus, expr)
        return {" ".join(f["metric"].values()): float(f["value"][1]) for f in found}

    async def _healthy(self) -> bool:
        """Everything is seen, a question was answered, and nothing is even about to be told."""
        up = await self.ask('count(up{job="parley"} == 1)')
        queues = await self.ask("count(max by (queue) (parley_queue_workers) > 0)")
        asked = await self.ask('parley_asked_total{outcome="answered"} > 0')
        counts = [*up.values(), *queues.values()]
        return counts == [len(self.ports), len(QUEUES)] and bool(asked) and not await self.ask("ALERTS")

    async def told_within(self, seconds: float) -> list[str]:
        """What was told by then; all of the time is waited, since nothing more may come."""
        await asyncio.sleep(seconds)
        return self.receiver.words()


@asynccontextmanager
async def repeated(what: Callable[[], Awaitable[object]], every_s: float) -> AsyncIterator[None]:
    """Do something again and again beside what is done here."""

    async def again() -> None:
        while True:
            started = time.monotonic()
            with contextlib.suppress(Exception):
                await what()
            await asyncio.sleep(max(0.0, every_s - (time.monotonic() - started)))

    task = asyncio.create_task(again())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
