"""Every reason to stop is reached: by some walk through a protocol's state graph."""

import pytest

from schemas.stops import STOPS
from tests.support.walk import Walks, walks


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_every_stop_reason_is_reached_by_some_walk(walked: Walks) -> None:
    reached = {reason for name in walks() for found in walked.all(name) for reason in found.reasons}
    assert reached == set(STOPS), f"not reached: {set(STOPS) - reached}, not in the table: {reached - set(STOPS)}"
