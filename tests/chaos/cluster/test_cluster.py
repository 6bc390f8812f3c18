"""A server of three is killed, then two are gone at once: sessions wait, and go on as if nothing had been."""

from pathlib import Path

import pytest

from tests.chaos.cluster.faults import KILL, LOG, Case
from tests.chaos.cluster.rig import plays
from tests.chaos.cluster.run import ClusterStorm
from tests.chaos.harness import Play

pytestmark = [pytest.mark.serial, pytest.mark.timeout(240)]


@pytest.fixture
def kinds() -> tuple[Play, ...]:
    return tuple(p for p in plays() if p.request.protocol in ("consensus", "critic"))


async def test_a_server_dies_and_then_the_quorum(kinds: tuple[Play, ...], tmp_path: Path) -> None:
    cases = [Case(KILL, (LOG,)), Case(KILL, (LOG, "another"))]
    report = await ClusterStorm(tmp_path, cases, sessions=12, seconds=90.0, at_once=4, kinds=kinds).run()
    print(report)
    assert report.violations == []
    assert [s.case for s in report.silences] == [str(c) for c in cases]
    assert report.silences[1].seconds >= 5.0, "with two of three gone nothing may be said"
