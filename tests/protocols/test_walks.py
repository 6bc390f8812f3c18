"""Every protocol's whole state graph in small worlds, every edge taken (tests/support/walk.py)."""

import pytest

from parley.schemas.stops import STOPS
from tests.support.walk import Expected, Walks, acyclic, unwalked, walks

WALKS = walks()
WORLDS = [
    pytest.param(p, w, id=f"{p}: {w}", marks=[pytest.mark.landing] if w == next(iter(walk.worlds)) else [])
    for p, walk in WALKS.items()
    for w in walk.worlds
]
"""The first of each protocol is walked before every landing."""


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("protocol", "world"), WORLDS)
def test_every_edge_makes_progress_and_ends_with_a_stop(protocol: str, world: str, walked: Walks) -> None:
    found, walk = walked(protocol, world), WALKS[protocol]
    expected = walk.expected.get(world, Expected(found.reasons))
    cancelled = {"cancelled"} if walk.cancels(walk.worlds[world]) else set()
    assert found.reasons == expected.reasons | cancelled
    assert found.states >= expected.states
    assert found.reasons <= {*WALKS[protocol].protocol.stops, "cancelled"} <= set(STOPS)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("protocol", WALKS)
def test_a_protocol_names_the_reasons_that_its_walks_come_to(protocol: str, walked: Walks) -> None:
    reached = {reason for found in walked.all(protocol) for reason in found.reasons}
    assert reached - {"cancelled"} == set(WALKS[protocol].protocol.stops)


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("protocol", WALKS)
def test_every_cell_leads_to_every_phase_that_it_names(protocol: str, walked: Walks) -> None:
    reached = {triple for found in walked.all(protocol) for triple in found.triples}
    named = WALKS[protocol].named
    assert reached == named, (named - reached, reached - named)


@pytest.mark.parametrize("protocol", WALKS)
def test_what_is_expected_is_of_worlds_that_are_walked(protocol: str) -> None:
    assert set(WALKS[protocol].expected) <= set(WALKS[protocol].worlds)


def test_every_protocol_whose_sessions_end_is_walked() -> None:
    assert unwalked() == set()


def test_a_cycle_is_seen() -> None:
    acyclic({b"a": {b"b", b"c"}, b"b": {b"c"}, b"c": set()})
    with pytest.raises(AssertionError, match="cycle"):
        acyclic({b"a": {b"b"}, b"b": {b"c"}, b"c": {b"b"}})
