"""A stack that follows another in its directory has the same address, whatever happens meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.bus.embedded import find_server
from parley.stack import kept_port
from parley.stack.lease import Lease, Stack
from parley.stack.rows import AgentRow
from tests.support.small_disk import SmallDisk, small_disk

STACK = Stack(agents=(AgentRow(queue="analyst"),))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small", 1) as found:
        yield found


def test_a_full_disk_loses_no_port(small: SmallDisk) -> None:
    kept_port.keep(small.path, 4444)
    small.fill()
    kept_port.keep(small.path, 4444)
    with pytest.raises(OSError, match="No space left"):
        kept_port.keep(small.path, 4445)
    assert kept_port.load(small.path) == 4444


def test_a_server_that_fails_once_is_started_at_its_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does where the disk is full for a moment: who is connected waits at the port that he knows."""
    failing = tmp_path / "failing"
    wrapper = tmp_path / "bin" / "nats-server"
    wrapper.parent.mkdir()
    real = find_server()
    wrapper.write_text(
        f'#!/bin/sh\nif [ "$1" = -c ] && rm "{failing}" 2>/dev/null; then exit 1; fi\nexec {real} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(wrapper.parent), prepend=":")
    state = tmp_path / "state"
    with Lease(STACK, state) as lease:
        before = lease.url
    failing.touch()
    with Lease(STACK, state) as lease:
        assert lease.url == before
    assert not failing.exists(), "it failed"
