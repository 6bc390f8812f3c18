"""The command line as processes that cost little: one interpreter loads it, and each command is a fork of that one.

A fork runs what `python -m parley` runs, with arguments, streams, environment, working folder and session of its own,
and ends as an interpreter ends. What it does not show is how long a start takes and what a fresh interpreter has not
loaded yet; tests of those start one.
"""

import atexit
import gc
import json
import os
import pkgutil
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_AT_START = re.compile("PYTHON(?!PATH$)|LC_|LANG")
_SIZE = 4


def command(arguments: Sequence[str], *, env: Mapping[str, str], **given: Any) -> "subprocess.Popen[Any]":
    """`parley` with these arguments in a session of its own; what else is given is Popen's. A fork, unless the
    environment has a say in how an interpreter starts."""
    if "PARLEY_STUB" in os.environ or any(_AT_START.match(k) and os.environ.get(k) != env[k] for k in env):
        return subprocess.Popen([sys.executable, "-m", "parley", *arguments], env=env, start_new_session=True, **given)
    return Forked(tuple(arguments), env=env, **given)


def run(*arguments: str, said: str | bytes = "") -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of a command that ends, in this environment."""
    data = said if isinstance(said, bytes) else said.encode()
    pipe = subprocess.PIPE
    with command(arguments, env=os.environ, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe) as child:
        try:
            out, err = child.communicate(data, timeout=50)
        finally:
            child.kill()
    return child.returncode, out.decode(), err.decode()


class Forked(subprocess.Popen[Any]):
    """`parley`, with arguments, in a session of its own. Everything else is Popen's."""

    def __init__(self, arguments: tuple[str, ...], *, env: Mapping[str, str], **given: Any) -> None:
        self._told_r, self._told_w = os.pipe()
        super().__init__(arguments, env=env, start_new_session=True, **given)

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any, cwd: Any,
                       env: Any, startupinfo: Any, creationflags: Any, shell: Any, *rest: Any) -> None:  # fmt: skip
        assert preexec_fn is None and not pass_fds and not shell
        pipes = rest[:6]
        streams = [number if fd == -1 else fd for number, fd in enumerate((pipes[0], pipes[3], pipes[5]))]
        request = {"arguments": list(args), "cwd": os.fspath(cwd), "env": dict(env)}
        try:
            _kept().ask(json.dumps(request).encode(), [*streams, self._told_w])
        finally:
            os.close(self._told_w)
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self.pid = self._hear()
        self._child_created = True

    def _hear(self) -> int:
        """The process id first, and when it ended how."""
        said = os.read(self._told_r, _SIZE)
        assert said, "the interpreter that commands are forked from is gone"
        return int.from_bytes(said, "big")

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if wait_flags & os.WNOHANG and not select.select([self._told_r], [], [], 0)[0]:
            return 0, 0
        status = self._hear()
        os.close(self._told_r)
        return self.pid, status

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):  # type: ignore[attr-defined]
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid:
                        self._handle_exitstatus(status)  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


class _Kept:
    """The interpreter that has loaded the command line, as a child of this process. Gone when this process is."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self._ours, theirs = socket.socketpair()
        with theirs:
            kept = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY")}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.forks", str(theirs.fileno())], cwd=ROOT, stdin=subprocess.DEVNULL,
                env={**kept, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                pass_fds=[theirs.fileno()], start_new_session=True,
            )  # fmt: skip
        atexit.register(self._close)

    def ask(self, request: bytes, fds: list[int]) -> None:
        with self._lock:
            socket.send_fds(self._ours, [len(request).to_bytes(_SIZE, "big")], fds)
            self._ours.sendall(request)

    def _close(self) -> None:
        if os.getpid() == self.owner:
            self._ours.close()
            self._process.wait()


_STARTING = threading.Lock()
_KEPT: list[_Kept] = []


def _kept() -> _Kept:
    with _STARTING:
        if not _KEPT or _KEPT[0].owner != os.getpid():
            _KEPT[:] = [_Kept()]
        return _KEPT[0]


# ---------------------------------------------------------------- what runs in that interpreter


def serve(asked: socket.socket) -> bool:
    """Fork at each request. True in a fork, once it is the process that was asked for; False at the end of file."""
    wake_r, wake_w = os.pipe()
    os.set_blocking(wake_r, False)
    os.set_blocking(wake_w, False)
    signal.set_wakeup_fd(wake_w)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    told: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([asked.fileno(), wake_r], [], [])
        if wake_r in ready:
            os.read(wake_r, 4096)
            for pid in list(told):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    _tell(told.pop(pid), status)
        if asked.fileno() not in ready:
            continue
        size, fds, _, _ = socket.recv_fds(asked, _SIZE, 4)
        if not size:
            return False
        request = b""
        while len(request) < int.from_bytes(size, "big"):
            request += asked.recv(1 << 20)
        pid = os.fork()
        if not pid:
            _become(fds, **json.loads(request))
            return True
        os.write(fds[3], pid.to_bytes(_SIZE, "big"))
        told[pid] = fds[3]
        for fd in fds[:3]:
            os.close(fd)


def _tell(pipe: int, status: int) -> None:
    try:
        os.write(pipe, status.to_bytes(_SIZE, "big"))
    except BrokenPipeError:  # nobody waits for it
        pass
    os.close(pipe)


def _become(fds: list[int], arguments: list[str], cwd: str, env: dict[str, str]) -> None:
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, fd in enumerate(fds[:3]):
        os.dup2(fd, number)
    os.closerange(3, 1024)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv[:] = ["parley", *arguments]
    sys.path[0] = cwd
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1 if os.isatty(1) else -1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


def _load() -> None:
    """Everything of the command line, before the first request."""
    for package in ("parley", "agents.models", "agents.protocols"):
        for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    assert threading.active_count() == 1, "a thread would be lost with the first fork"
    gc.collect()
    gc.freeze()


def main() -> None:
    asked = socket.socket(fileno=int(sys.argv[1]))
    _load()
    if serve(asked):
        asked.detach()
        import_module("parley.cli.app").main()


if __name__ == "__main__":
    main()
