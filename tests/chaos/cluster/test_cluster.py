"""A server of three is killed, two are gone at once, all are upgraded one after another: sessions wait, and go on as if
nothing had been."""

from pathlib import Path

import pytest

from tests.chaos.cluster.faults import KILL, LOG, Case, upgrade
from tests.chaos.cluster.rig import plays
from tests.chaos.cluster.run import ClusterStorm
from tests.chaos.harness import Play

pytestmark = [pytest.mark.serial, pytest.mark.timeout(330)]


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


async def test_servers_are_drained_one_after_another(kinds: tuple[Play, ...], tmp_path: Path) -> None:
    report = await ClusterStorm(tmp_path, upgrade(), sessions=12, seconds=200.0, at_once=4, kinds=kinds).run()
    print(f"longest wait of a user: {max(s.seconds for s in report.silences):g} s; {report}")
    assert report.violations == []
    assert [s.case for s in report.silences] == [str(c) for c in upgrade()]
    assert report.found.extra_calls == 0
