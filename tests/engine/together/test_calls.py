"""What a reply costs the moderator, in Python function calls: a figure that a busy machine does not change."""

import pytest

from benchmarks.calls import measure

MOST = {(3, 3): 345, (8, 5): 290}
"""Measured: 307 and 244; how many replies wait together differs a little from run to run."""


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("debaters", "rounds"), MOST)
async def test_a_reply_costs_the_moderator_so_many_calls(debaters: int, rounds: int) -> None:
    counted = await measure(debaters, rounds, sessions=100)
    assert counted.replies > 300
    assert counted.each <= MOST[debaters, rounds]
