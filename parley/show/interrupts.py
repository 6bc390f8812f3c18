"""Handles signals and keys while a session is opened and followed."""

import asyncio
import contextlib
import os
import signal
import sys

from parley.client.show.printing import warn
from parley.show.view import TerminalView


class Interrupts:
    """Ctrl-C: before a session is there it cancels the running task; then once it asks what is to become of the
    session, twice it ends it. SIGTERM, and the terminal's end, end it."""

    def __init__(self, view: TerminalView) -> None:
        self._view = view
        self._can_leave = False
        self.owns = True
        """Whether ending cancels the session."""
        self.following = False
        """Whether there is a session to choose for."""
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[str] = self._loop.create_future()
        self._asking = False
        self._reading = False
        self._old = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if self._old[number] != signal.SIG_IGN:
                self._loop.add_signal_handler(number, self._on_interrupt if number == signal.SIGINT else self._end)

    def follows(self, *, can_leave: bool, owns: bool) -> None:
        """From now on there is a session to choose for."""
        self.following, self._can_leave, self.owns = True, can_leave, owns

    def heard(self) -> None:
        """The cancellation of the task was ours, and is dealt with."""
        while self._task is not None and self._task.cancelling():
            self._task.uncancel()

    async def wait(self) -> str:
        """`leave`, `end`, or `now` (the answer that there is), once the user says so."""
        return await self._answer

    async def again(self) -> str:
        """Wait for another choice: the answer now is on its way."""
        self._answer, self._asking = self._loop.create_future(), False
        return await self._answer

    def close(self) -> None:
        """Signals and keys do again what they did."""
        self._stop_reading()
        for number, old in self._old.items():
            if self._loop.remove_signal_handler(number):
                signal.signal(number, old)

    def _end(self) -> None:
        if not self.following:
            assert self._task is not None, "made inside one"
            self._task.cancel()
        elif not self._answer.done():
            self._answer.set_result("end")

    def _on_interrupt(self) -> None:
        if self._asking or not self.owns or not self.following:
            self._end()
            return
        self._asking = True
        interactive = sys.stdin.isatty() and sys.stderr.isatty()
        leave = ", l and Enter leaves it running" if self._can_leave and interactive else ""
        now = "a and Enter ends it with the answer there is now, "
        keys = f"{now}c and Enter cancels it{leave}, Enter alone goes on, " if interactive else ""
        if interactive:
            self._view.pause()
        with contextlib.suppress(OSError):
            warn("")
            warn(f"The session is running: {keys}Ctrl-C again cancels it and ends.")
        if interactive:
            self._reading = True
            self._loop.add_reader(sys.stdin.fileno(), self._on_key)

    def _on_key(self) -> None:
        said = os.read(sys.stdin.fileno(), 1024).decode(errors="replace").strip().lower()
        self._stop_reading()
        if said.startswith("c"):
            self._end()
        elif said.startswith("a"):
            if not self._answer.done():
                self._answer.set_result("now")
            self._view.resume()
        elif said.startswith("l") and self._can_leave:
            if not self._answer.done():
                self._answer.set_result("leave")
        else:
            self._asking = False
            self._view.resume()

    def _stop_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(sys.stdin.fileno())
