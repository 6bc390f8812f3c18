"""The command line as processes that cost little: one interpreter loads it, and each command is a fork of that one.

A fork runs what `python -m parley` runs, with arguments, streams, environment, working folder and session of its own.
It ends as an interpreter ends, but for the modules, which nobody takes apart. A stack's supervisor that such a command
starts is a fork of the same interpreter. What a fork does not show is how long a start takes and what a fresh
interpreter has not loaded yet; tests of those start one.
"""

import atexit
import ctypes
import fcntl
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
ABLE = sys.platform == "linux"
_ROOM = 16_384
"""Bytes that a fork can say of its environment in /proc."""
_ABOVE = 512
"""Descriptors from here on are nobody's while a fork sorts its own."""
_DOOR = 1023
"""The descriptor by which a command asks for another fork."""


def command(arguments: Sequence[str], *, env: Mapping[str, str], **given: Any) -> "subprocess.Popen[Any]":
    """`parley` with these arguments in a session of its own; what else is given is Popen's. A fork, unless the
    environment has a say in how an interpreter starts."""
    if not ABLE or "PARLEY_STUB" in os.environ or any(_AT_START.match(k) and os.environ.get(k) != env[k] for k in env):
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

    def __init__(self, arguments: Sequence[str], *, env: Mapping[str, str], **given: Any) -> None:
        self._told_r, self._told_w = os.pipe()
        super().__init__(arguments, env=env, **{**given, "start_new_session": True})

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, close_fds: Any, pass_fds: Any, cwd: Any,
                       env: Any, startupinfo: Any, creationflags: Any, shell: Any, *rest: Any) -> None:  # fmt: skip
        assert preexec_fn is None and not shell
        pipes = rest[:6]
        streams = [number if fd == -1 else fd for number, fd in enumerate((pipes[0], pipes[3], pipes[5]))]
        request = {
            "arguments": list(args), "cwd": os.fspath(cwd or os.getcwd()), "env": dict(env), "kept": list(pass_fds),
        }  # fmt: skip
        try:
            _ask(json.dumps(request).encode(), [self._told_w, *streams, *pass_fds])
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


class Kept:
    """An interpreter that has loaded the command line of a project, as a child of this process. Gone when this process
    is, or when it is closed."""

    def __init__(self, root: Path = ROOT, environ: Mapping[str, str] = os.environ) -> None:
        self.owner = os.getpid()
        self.door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        over_r, self._over = os.pipe()
        with theirs:
            kept = {k: v for k, v in environ.items() if not k.startswith("PARLEY")}
            given = (theirs.fileno(), self.door.fileno(), over_r)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.forks", *map(str, given)], cwd=root, stdin=subprocess.DEVNULL,
                env={**kept, "PYTHONPATH": str(root), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
                     "ROOM": " " * _ROOM},
                pass_fds=given, start_new_session=True,
            )  # fmt: skip
        os.close(over_r)
        atexit.register(self.close)

    def close(self) -> None:
        """End it; what was forked goes on. Closing twice is fine."""
        if os.getpid() == self.owner and self._process.returncode is None:
            os.close(self._over)
            self.door.close()
            self._process.wait()

    def write_command(self, path: Path, environ: Mapping[str, str]) -> None:
        """Write a program `parley` that asks for a fork. It is for processes that have inherited `door`, in this
        environment; where they have not, or have another say in how an interpreter starts, it starts one."""
        at_start = {k: v for k, v in environ.items() if _AT_START.match(k) or k == "PYTHONPATH"}
        real = [sys.executable, "-m", "parley"]
        text = f"#!{sys.executable} -IS\nDOOR = {self.door.fileno()}\nAT_START = {at_start!r}\nREAL = {real!r}\n"
        path.write_text(text + _COMMAND)
        path.chmod(0o755)


_COMMAND = """
import json, os, re, signal, socket, sys

def real():
    os.execv(REAL[0], [*REAL, *sys.argv[1:]])

started = {k: v for k, v in os.environ.items() if re.match("PYTHON|LC_|LANG", k)}
if started != AT_START:
    real()
try:
    door = socket.socket(fileno=DOOR)
    told_r, told_w = os.pipe()
    request = {"arguments": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "kept": []}
    said = os.memfd_create("request")
    os.write(said, json.dumps(request).encode())
    socket.send_fds(door, [b"?"], [said, told_w, 0, 1, 2])
except OSError:
    real()
os.close(told_w)
pid = int.from_bytes(os.read(told_r, 4), "big")
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, lambda number, _: os.kill(pid, number))
code = os.waitstatus_to_exitcode(int.from_bytes(os.read(told_r, 4), "big"))
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


_STARTING = threading.Lock()
_KEPT: list[Kept] = []


def _ask(request: bytes, fds: list[int]) -> None:
    with open(os.memfd_create("request"), "wb", buffering=0) as said:
        said.write(request)
        socket.send_fds(_door(), [b"?"], [said.fileno(), *fds])


def _door() -> socket.socket:
    if _DOORS:
        return _DOORS[0]
    with _STARTING:
        if not _KEPT or _KEPT[0].owner != os.getpid():
            _KEPT[:] = [Kept()]
        return _KEPT[0].door


# ---------------------------------------------------------------- what runs in that interpreter
_DOORS: list[socket.socket] = []
"""In a fork: where it asks for another one."""


def serve(asked: socket.socket, door: int, over: int) -> str:
    """Fork at each request. In a fork: the module to run, once it is the process that was asked for; "" at the end."""
    wake_r, wake_w = os.pipe()
    os.set_blocking(wake_r, False)
    os.set_blocking(wake_w, False)
    signal.set_wakeup_fd(wake_w)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    told: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([asked.fileno(), wake_r, over], [], [])
        if wake_r in ready:
            os.read(wake_r, 4096)
            for pid in list(told):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    _tell(told.pop(pid), status)
        if asked.fileno() in ready:
            _, (said, *fds), _, _ = socket.recv_fds(asked, 1, 64)
            request = os.pread(said, os.fstat(said).st_size, 0)
            os.close(said)
            pid = os.fork()
            if not pid:
                return _become(fds[1:], door, **json.loads(request))
            os.write(fds[0], pid.to_bytes(_SIZE, "big"))
            told[pid] = fds[0]
            for fd in fds[1:]:
                os.close(fd)
        elif over in ready:
            return ""


def _tell(pipe: int, status: int) -> None:
    try:
        os.write(pipe, status.to_bytes(_SIZE, "big"))
    except BrokenPipeError:  # nobody waits for it
        pass
    os.close(pipe)


def _become(fds: list[int], door: int, arguments: list[str], cwd: str, env: dict[str, str], kept: list[int]) -> str:
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    above = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for fd in (*fds, door)]
    os.closerange(3, _ABOVE)
    for number, fd in zip((0, 1, 2, *kept, _DOOR), above, strict=True):
        os.dup2(fd, number, inheritable=number != _DOOR)
    os.closerange(_ABOVE, _DOOR)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    _say_environment(env)
    supervisor = arguments == list(beginning().SUPERVISOR)
    sys.argv[:] = arguments[-1:] if supervisor else ["parley", *arguments]
    if supervisor:
        sys.path[:] = env["PYTHONPATH"].split(os.pathsep)
        os.close(_DOOR)
    else:
        sys.path[0] = cwd
        _DOORS.append(socket.socket(fileno=_DOOR))
        subprocess.Popen = _Popen  # type: ignore[misc, assignment]
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1 if os.isatty(1) else -1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    return "parley.stack.supervisor" if supervisor else "parley.cli.app"


def beginning() -> Any:
    return import_module("parley.stack.beginning")


class _Popen(subprocess.Popen[Any]):
    """A supervisor is a fork as well, unless its environment has a say in how an interpreter starts."""

    def __new__(cls, args: Any, *given: Any, env: Mapping[str, str] | None = None, **named: Any) -> Any:
        own = any(_AT_START.match(k) and os.environ.get(k) != v for k, v in (env or {}).items())
        if args == beginning().SUPERVISOR and env is not None and not own:
            return Forked(args, *given, env=env, **named)
        return super().__new__(cls)


def _say_environment(env: Mapping[str, str]) -> None:
    """Write it where /proc shows it, in place of what the interpreter was started with."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    said = b"".join(os.fsencode(f"{name}={value}") + b"\0" for name, value in env.items())
    assert len(said) < end - start
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, said, len(said))


def _load() -> None:
    """Everything of the command line and of a stack, before the first request."""
    for package in ("parley", "parley.agents.models", "parley.agents.protocols"):
        for module in pkgutil.iter_modules(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    for name in (
        "parley.stack.supervisor",
        "parley.agents.models.extractive",
        "parley.agents.encoders.embedded",
        "httpcore2",
    ):
        import_module(name)
    import_module("parley.process").command(import_module("parley.cli.app").app)
    services = import_module("parley.stack.services")
    services.load_once()
    assert all(protocol.name for protocol in services.PROTOCOLS.values())
    for kit in services.kits():
        kit.methods()
    assert threading.active_count() == 1, "a thread would be lost with the first fork"
    gc.collect()
    gc.freeze()


def _end(status: object) -> None:
    """End as an interpreter ends, but let nobody take the modules apart."""
    if status is None or isinstance(status, int):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status or 0)
    sys.exit(status)  # type: ignore[arg-type]


def main() -> None:
    asked, door, over = map(int, sys.argv[1:])
    _load()
    asking = socket.socket(fileno=asked)
    module = serve(asking, door, over)
    if module:
        asking.detach()  # its number is another file's by now
        try:
            status = import_module(module).main()
        except SystemExit as error:
            status = error.code
        _end(status)


if __name__ == "__main__":
    main()
