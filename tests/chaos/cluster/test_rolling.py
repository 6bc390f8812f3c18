"""The servers are upgraded one after another, each drained first: sessions go on meanwhile, and nothing is lost."""

from pathlib import Path

import pytest

from tests.chaos.cluster.faults import upgrade
from tests.chaos.cluster.rig import plays
from tests.chaos.cluster.run import ClusterStorm
from tests.chaos.harness import Play

pytestmark = [pytest.mark.serial, pytest.mark.timeout(330)]


@pytest.fixture
def kinds() -> tuple[Play, ...]:
    return tuple(p for p in plays() if p.request.protocol in ("consensus", "critic"))


async def test_servers_are_drained_one_after_another(kinds: tuple[Play, ...], tmp_path: Path) -> None:
    report = await ClusterStorm(tmp_path, upgrade(), sessions=12, seconds=200.0, at_once=4, kinds=kinds).run()
    print(f"longest wait of a user: {max(s.seconds for s in report.silences):g} s; {report}")
    assert report.violations == []
    assert [s.case for s in report.silences] == [str(c) for c in upgrade()]
    assert report.found.extra_calls == 0
