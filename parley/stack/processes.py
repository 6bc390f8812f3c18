"""The services of a stack as processes: forked from the supervisor, heard, started again when they die, and ended.

A service is forked before any event loop exists, so that it shares what the supervisor has loaded, and a restart takes
milliseconds. It closes every descriptor that is not meant for it, above all the pipe by which nats-server's guardian
notices that the supervisor is gone.
"""

import contextlib
import logging
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import msgspec

from parley.bus.errors import BusError, WrongCredentials
from parley.client.show.printing import warn

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0
_STABLE_S = 10.0
_GRACE_S = 4.0
_REFUSED = 77
"""Exit status of a service that would meet the same again: credentials, a model or an allow list that cannot be
used."""


class Child:
    """One service and its process."""

    def __init__(self, name: str, serve: Callable[[], int], *, queues: tuple[str, ...] = (), own: int | None = None):
        self.name = name
        self.serve = serve
        self.queues = queues
        """That it serves; none: it is no agent."""
        self.own = own
        """The file of what is for it alone."""
        self.pid = 0
        self.started = 0.0
        self.starts = 0
        self.pause = _FIRST_PAUSE_S
        self.due = 0.0
        self.ready = False
        self.metrics = ""
        self.refused = False
        """It is started no more."""
        self.leaving = False
        """It ends, and is started no more."""


class Processes:
    """All services of one supervisor."""

    def __init__(self) -> None:
        self.all: list[Child] = []
        self.ending = False
        self._said = b""
        self.wake_r, wake_w = os.pipe()
        os.set_blocking(self.wake_r, False)
        os.set_blocking(wake_w, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        for number in (signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, _ignore)
        self.lifeline_r, self._lifeline_w = os.pipe()
        """It closes when this process dies."""
        self.report_r, self._report_w = os.pipe()
        os.set_blocking(self.report_r, False)

    def _on_stop(self, *_: object) -> None:
        self.ending = True

    def report(self, said: msgspec.Struct) -> None:
        """Called in a service: tell the supervisor something, in at most 4 kB."""
        os.write(self._report_w, msgspec.json.encode(said) + b"\n")

    def heard(self) -> list[dict[str, Any]]:
        """What services have told, after `Report`s were noted."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake_r, 4096)
        with contextlib.suppress(BlockingIOError):
            self._said += os.read(self.report_r, 65_536)
        *lines, self._said = self._said.split(b"\n")
        told = [msgspec.json.decode(line) for line in lines]
        for said in told:
            for child in self.all:
                if child.pid == said.get("pid"):
                    child.ready, child.metrics = True, said["metrics"]
                    if child.starts > 1:
                        say(f"{child.name} serves again, pid {child.pid}")
        return told

    def see_to(self) -> bool:
        """Start what is due, and note what ended; whether anything changed."""
        changed = False
        now = time.monotonic()
        for child in list(self.all):
            if child.pid and (status := _reap(child.pid)) is not None:
                changed = True
                self._ended(child, os.waitstatus_to_exitcode(status), now)
            if child.leaving and not child.pid:
                self.all.remove(child)
                if child.own is not None and not any(c.own == child.own for c in self.all):
                    os.close(child.own)
            elif not (child.pid or child.refused or self.ending) and now >= child.due:
                self._fork(child)
                changed = True
        return changed

    def _ended(self, child: Child, code: int, now: float) -> None:
        child.refused = code == _REFUSED
        if not (child.refused or child.leaving or self.ending):
            say(f"{child.name} ended ({_how(code)}); it is started again")
        if now - child.started > _STABLE_S:
            child.pause = _FIRST_PAUSE_S
        child.pid, child.ready, child.due = 0, False, now + child.pause
        child.pause = min(_LONGEST_PAUSE_S, 2 * child.pause)

    def begin(self, child: Child) -> None:
        """Start one that does its work once."""
        self.all.append(child)
        self._fork(child)

    def retire(self, child: Child) -> None:
        """End one for good."""
        child.leaving = True
        if child.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)

    def _fork(self, child: Child) -> None:
        say()
        child.ready = False
        child.starts += 1
        child.started = time.monotonic()
        pid = os.fork()
        if pid:
            child.pid = pid
            return
        from parley.agents.models import ModelMisconfigured
        from parley.agents.specs import SpecError
        from parley.agents.tools.allow import ToolsError

        code = 70
        try:
            self._become_service(child.own)
            code = child.serve()
        except (WrongCredentials, SpecError, ModelMisconfigured, ToolsError) as error:
            code = _REFUSED
            say(f"{child.name}: {error}; it is not started again")
        except (BusError, OSError) as error:
            say(f"{child.name}: {error}")
        except BaseException as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            say(f"{child.name}: {type(error).__name__}: {error} ({at.filename}:{at.lineno})")
            if logging.getLogger().handlers:  # its log has all of it
                logging.getLogger(__name__).critical("it ends by an error", exc_info=error)
        finally:
            os._exit(code)

    def _become_service(self, own: int | None) -> None:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        kept = {0, 1, 2, self.lifeline_r, self._report_w, own}
        for name in os.listdir("/dev/fd"):
            if int(name) not in kept:
                with contextlib.suppress(OSError):
                    os.close(int(name))

    def end(self) -> None:
        """Drain them; whatever does not go within the grace is killed."""
        self.ending = True
        for number in (signal.SIGTERM, signal.SIGKILL):
            for child in self.all:
                if child.pid:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child.pid, number)
            deadline = time.monotonic() + _GRACE_S
            while any(c.pid for c in self.all) and time.monotonic() < deadline:
                select.select([self.wake_r], [], [], 0.05)
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake_r, 4096)
                for child in self.all:
                    if child.pid and _reap(child.pid) is not None:
                        child.pid = 0


def say(what: object = "") -> None:
    """To standard error, which may be a file on a full disk: then it is not said."""
    with contextlib.suppress(OSError):
        if what:
            warn(str(what))
        sys.stderr.flush()


def _how(code: int) -> str:
    return f"exit status {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def _ignore(*_: object) -> None:
    """The wake-up pipe has it."""


def _reap(pid: int) -> int | None:
    """Exit status of a child that ended; None while it runs."""
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    return status if done else None
