"""What processes use: CPU seconds and memory, read from the system."""

import contextlib
from collections.abc import Mapping

import msgspec
import psutil


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of one process, bytes. `pss` shares pages out among those who map them; None where /proc does not say."""

    rss: int
    pss: int | None = None
    uss: int | None = None


def cpu_s(pids: Mapping[str, int]) -> dict[str, float]:
    """CPU seconds, user and system, that each process has used so far; its threads included."""
    used = {}
    for name, pid in pids.items():
        with contextlib.suppress(psutil.NoSuchProcess):
            times = psutil.Process(pid).cpu_times()
            used[name] = times.user + times.system
    return used


def cpu_between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What each process used between two looks; one that was not there before counts from its start."""
    return {name: used - before.get(name, 0.0) for name, used in after.items()}


def memory(pid: int) -> Memory:
    """Memory of one process."""
    process = psutil.Process(pid)
    try:
        full = process.memory_full_info()
    except (psutil.AccessDenied, AttributeError):
        return Memory(rss=process.memory_info().rss)
    return Memory(rss=full.rss, pss=getattr(full, "pss", None), uss=getattr(full, "uss", None))
