"""`parley serve` as a process, with panels whose models are stubs."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.parley.support import Front

_MODEL = "tests.support.model:make"


class Served(NamedTuple):
    """A gateway that runs."""

    front: Front
    """For commands on the same stack."""
    url: str
    token: str
    metrics: str
    """Where its series are."""


def panel(path: Path, **options: Any) -> None:
    """A file that seats two, named after it, with a stub model of these options."""
    given = json.dumps(options)
    seats = [f"  {path.stem}_{i}: {{model: {_MODEL!r}, role: panelist, options: {given}}}\n" for i in (1, 2)]
    path.write_text("protocol: consensus\nseats:\n" + "".join(seats) + "  analyst: {}\n")


@contextmanager
def serving(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """One on a free port, over a stack of its own; gone at the end, and nothing of it is left."""
    front = Front(folder, protocol="", env=env)
    with copy(front, *arguments) as served:
        yield served
    front.assert_nothing_left()


@contextmanager
def copy(front: Front, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """One more process; gone at the end."""
    child = front.start("serve", "--json", *arguments, env=env)
    assert child.stdout is not None and child.stderr is not None
    try:
        said = child.stdout.readline()
        assert said, child.stderr.read()
        where = json.loads(said)
        yield Served(front, where["url"], where["token"], where["metrics"])
    finally:
        child.terminate()
        child.communicate(timeout=30)
