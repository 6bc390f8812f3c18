"""What tests of the front door share: the command line as a process, and what it leaves behind."""

import contextlib
import json
import os
import re
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

from tests.support.forks import command

ROOT = Path(__file__).parents[2]
MARK = "PARLEY_TEST_MARK"
QUESTION = "What is the capital of Lithuania?"
TEXTS = {
    "a.md": "Vilnius is the capital of Lithuania. Kaunas is the second city.",
    "b.md": "The capital city of Lithuania is Vilnius, on the Neris.",
    "c.md": "Lithuania's government sits in Vilnius, its capital.",
}
ANSWER = "Vilnius is the capital of Lithuania."
"""What the extractive model answers from them."""


class Front:
    """Runs commands with a state directory and a mark in the environment that all their descendants carry. Where
    neither the command nor a file names a protocol, the environment names this one; empty: nobody does. `env`: of every
    command."""

    def __init__(self, folder: Path, protocol: str = "consensus", env: Mapping[str, str] | None = None) -> None:
        self.protocol = protocol
        self.env = env or {}
        self.state = folder / "state"
        self.folder = folder
        self.journal = folder / "journal"
        self.mark = secrets.token_hex(8)
        self._commands: list[subprocess.Popen[str]] = []
        self.evidence = folder / "evidence"
        self.evidence.mkdir(exist_ok=True)
        for name, text in TEXTS.items():
            (self.evidence / name).write_text(text)

    @property
    def environment(self) -> dict[str, str]:
        """This process's, but for settings of Parley and for files of certificates, which each agent would read."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PARLEY", "SSL_CERT_"))}
        own = {MARK: self.mark, "PARLEY_STATE": str(self.state), "PYTHONPATH": str(ROOT)}
        return {**kept, **own, **self.env}

    def environment_for(self, *arguments: str) -> dict[str, str]:
        """That of a command, with the protocol where it is to be named."""
        return self.environment | ({} if self._named(arguments) else {"PARLEY__PROTOCOL": self.protocol})

    def start(self, *arguments: str, env: Mapping[str, str] | None = None, **given: Any) -> subprocess.Popen[str]:
        """A command in a process group of its own."""
        child = command(
            arguments, cwd=self.folder, env={**self.environment_for(*arguments), **(env or {})},
            stdin=given.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            **given,
        )  # fmt: skip
        self._commands.append(child)
        return child

    @contextlib.contextmanager
    def up(self, *arguments: str) -> Iterator[Any]:
        """A stack that is kept while this lasts; what it says of itself. Nothing of it is left."""
        child = self.start("up", *arguments, "--json")
        try:
            assert child.stdout is not None
            yield json.loads(child.stdout.readline())
        finally:
            child.terminate()
            child.communicate(timeout=20)
        self.assert_nothing_left()

    def _named(self, arguments: Sequence[str]) -> bool:
        """Whether a protocol is named already, or is not to be."""
        if not self.protocol or {"--protocol", "--panel-file"} & set(arguments):
            return True
        files = [self.folder / b for a, b in pairwise(arguments) if a == "--config"] or [self.folder / "parley.yaml"]
        return any(f.is_file() and re.search(r"protocol|panel_file", f.read_text(errors="replace")) for f in files)

    def run(
        self, *arguments: str, said: str | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, str, str]:
        """(exit status, stdout, stderr) of a command that ends."""
        child = self.start(*arguments, env=env, stdin=subprocess.DEVNULL if said is None else subprocess.PIPE)
        try:
            out, err = child.communicate(said, timeout=90)
        finally:
            child.kill()
        return child.returncode, out, err

    def json(self, *arguments: str) -> Any:
        """The one document of a command that succeeds."""
        code, out, err = self.run(*arguments)
        assert code == 0, err
        return json.loads(out)

    def left(self) -> list[str]:
        """The commands that have not ended, and all processes that carry the mark."""
        found = [f"{child.pid} {child.args!r}" for child in self._commands if child.poll() is None]
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(f"{process.pid} {' '.join(process.cmdline())}")
        return found

    def assert_nothing_left(self) -> None:
        """All processes are gone, or go within ten seconds."""
        until(lambda: not self.left(), lambda: f"still there: {self.left()}")

    def slow_agents(self, latency_s: float, **others: float) -> Path:
        """A settings file with a panel whose model takes so long; `others`: queues that take another time."""
        seats = {}
        for queue in ("panelist_1", "panelist_2", "panelist_3", "analyst"):
            options = {"latency_s": others.get(queue, latency_s), "journal": str(self.journal)}
            seats[queue] = {"model": "tests.support.model:make", "options": options}
        panel, path = self.folder / "slow-panel.yaml", self.folder / "slow.yaml"
        panel.write_text(json.dumps({"seats": seats}))
        named = {"protocol": self.protocol} if self.protocol else {}
        path.write_text(json.dumps({**named, "panel_file": str(panel)}))
        return path


def until(check: Callable[[], Any], why: Callable[[], str] | str, timeout_s: float = 10.0) -> Any:
    """Wait until the answer is true; the answer."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < deadline, why if isinstance(why, str) else why()
        threading.Event().wait(0.02)
