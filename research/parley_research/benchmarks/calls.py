"""Python function calls a reply in the moderator: a figure that no other load on the machine moves.

The moderator's process counts them itself: `checkpoint` is called in it, and has the interpreter report every call of a
Python function (a coroutine that is resumed is called once more). What is counted begins after the first `_WARM`
replies, and is written to the file that the environment names.
"""

import os
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

from parley.coordinator import machine
from parley_research.benchmarks.debates import Case, bench, stack

FILE = "PARLEY_BENCH_CALLS"
_WARM = 200
_EVERY = 50
_REPLIED = machine._on_replied.__code__


class Counted(msgspec.Struct):
    """What a moderator did."""

    calls: int = 0
    replies: int = 0

    @property
    def each(self) -> float:
        """Calls a reply."""
        return self.calls / self.replies


_counted = Counted()
_points = 0


def _seen(frame: FrameType, event: str, _: Any) -> None:
    if event == "call":
        _counted.calls += 1
        if frame.f_code is _REPLIED:
            _counted.replies += 1


def checkpoint(point: str, _sid: str) -> None:
    """At every point of a moderator's work; begins to count, and writes down what was counted."""
    global _points
    if point != "stepped":
        return
    _points += 1
    if _points == _WARM:
        sys.setprofile(_seen)
    elif _points > _WARM and _points % _EVERY == 0 and _counted.replies:
        sys.setprofile(None)
        path = Path(os.environ[FILE])
        path.with_suffix(".new").write_bytes(msgspec.json.encode(_counted))
        path.with_suffix(".new").replace(path)
        sys.setprofile(_seen)


async def measure(debaters: int, rounds: int, sessions: int = 200, turns_per_message: int = 0) -> Counted:
    """Play so many debates, 20 at once, and count. As shipped, unless `turns_per_message` says otherwise."""
    case = Case(debaters=debaters, rounds=rounds, at_once=20, total=sessions, latency_s=0.0)
    counting = msgspec.structs.replace(stack(0.0, turns_per_message), checkpoint=f"{__name__}:checkpoint")
    with tempfile.TemporaryDirectory(prefix="parley-calls-") as folder:
        path = Path(folder) / "calls.json"
        os.environ[FILE] = str(path)
        try:
            async with bench(counting) as running:
                await running.run(case)
        finally:
            del os.environ[FILE]
        return msgspec.json.decode(path.read_bytes(), type=Counted)
