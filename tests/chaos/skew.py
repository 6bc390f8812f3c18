"""Loaded into a stack (`Stack.imports`): each of its processes has a clock of its own, off by up to ten minutes.

By how much is drawn by the process's id, so that one that is started again has another clock. What has to be known by
the true time reads it by `time.clock_gettime_ns`. Importing this changes the process: a test names it, and imports it
nowhere.
"""

import os
import time
from random import Random

from parley.bus.clock import Clock

AHEAD_S = (-600, -60, 0, 60, 600)
_TRUE_NS = time.time_ns


def time_ns() -> int:
    """This process's clock."""
    return _TRUE_NS() + Random(os.getpid()).choice(AHEAD_S) * 10**9


def _time() -> float:
    return time_ns() / 1e9


time.time_ns, time.time = time_ns, _time
Clock.__init__.__defaults__ = (time_ns,)
