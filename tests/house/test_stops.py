"""Every reason to stop is reached by some walk through a protocol's state graph, but for three: the two that the
machine gives (tests/engine/versions/test_versions.py, tests/engine/test_rules.py), and `answered_now`, by which each
state of each walk can end."""

import pytest

from parley.schemas.stops import PROTOCOL_FAULT, STOPS, VERSION_LOST
from tests.support.walk import Expected, Walks, walks

NOTHING = Expected(frozenset())


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_every_stop_reason_is_reached_by_some_walk(walked: Walks) -> None:
    """Worlds that are known to come to a reason are walked first, the others only for what is still missing."""
    worlds = [(name, world, walk) for name, walk in walks().items() for world in walk.worlds]
    missing = set(STOPS) - {PROTOCOL_FAULT, VERSION_LOST, "answered_now"}
    for name, world, walk in worlds:
        if walk.expected.get(world, NOTHING).reasons & missing:
            missing -= walked(name, world).reasons
    for name, world, _ in worlds:
        if missing:
            missing -= walked(name, world).reasons
    assert missing == set(), f"no walk reaches {', '.join(sorted(missing))}"
