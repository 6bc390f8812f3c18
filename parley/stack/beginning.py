"""How a supervisor is started: its order, its environment, and what it left behind if it did not come up."""

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from parley.stack import child_environment
from parley.stack.rows import Stack

SUPERVISOR = (sys.executable, "-P", "-m", "parley.stack.supervisor")
OTHER = 75
"""The supervisor's exit status when another has the directory."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """An order that the supervisor gets on its standard input."""

    stack: Stack
    """Its bus and its moderators."""
    state: str
    build: str
    """Of the Parley that starts it."""
    ephemeral: bool = False
    """The folder is removed at the end."""
    own: int = -1
    """Descriptor of the file with what of the environment is for moderators alone."""


def start_supervisor(
    stack: Stack, state: Path, environ: Mapping[str, str], *, ephemeral: bool
) -> subprocess.Popen[bytes]:
    """A supervisor of a bus and its moderators. `environ`: of the user; no key of it gets there."""
    core = msgspec.structs.replace(stack, agents=(), humans={}, counting=None, env={})
    environment = {
        **child_environment.of_supervisor(environ),
        **child_environment.matching(child_environment.SERVICE, stack.env),
    }
    own = child_environment.of_moderators(environ)
    log = (state / "logs" / "supervisor.log").open("ab")
    with log, child_environment.anonymous(msgspec.json.encode(own)) as file:
        order = Order(stack=core, state=str(state), build=build_of(), ephemeral=ephemeral, own=file)
        child = subprocess.Popen(
            SUPERVISOR,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env=environment,
            pass_fds=(file,),
            start_new_session=True,
        )
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(msgspec.json.encode(order))
        child.stdin.close()
    return child


def last_words(state: Path) -> str:
    """Of the supervisor."""
    try:
        lines = (state / "logs" / "supervisor.log").read_text(errors="replace").strip().splitlines()
    except OSError:
        return "it left no log"
    return lines[-1] if lines else "it said nothing"


def moderators_of(stack: Stack) -> tuple[str, ...]:
    """The users that moderators are."""
    return tuple(f"moderator-{i}" for i in range(1, stack.moderators + 1))


def is_locked(path: Path) -> bool:
    """Whether a process holds this lock exclusively."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _shared(lock)
    finally:
        os.close(lock)


def _shared(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@cache
def build_of() -> str:
    """Which Parley this is: version, commit where it runs from a clone, and place. Users of one build share a stack;
    another build starts one of its own."""
    package = Path(__file__).resolve().parents[1]
    try:
        released = version("parley")
    except PackageNotFoundError:
        released = "unknown"
    return " ".join(filter(None, (released, commit_of(package), str(package))))


def commit_of(package: Path) -> str:
    """Twelve characters of the commit: of the clone that the package stands in, or as a release wrote it down. Empty:
    neither."""
    clone = package.parent
    with contextlib.suppress(OSError):
        return (package / "COMMIT").read_text().strip()[:12]
    with contextlib.suppress(OSError):
        git = clone / ".git"
        if git.is_file():  # a worktree
            git = Path(git.read_text().removeprefix("gitdir:").strip())
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head[:12]
        common = git / "commondir"
        refs = git / common.read_text().strip() if common.is_file() else git
        return (refs / head.removeprefix("ref: ")).read_text().strip()[:12]
    return ""
