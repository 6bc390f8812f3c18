"""Seats that no protocol takes: of a role that it has not, and two of a role that has one seat."""

import pytest

from parley.coordinator.admission import build_settings
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession, Seat

ONE = {"consensus": "analyst", "critic": "judge", "single": "answerer", "compound": "analyst", "maci": "helper"}
"""Protocol -> a role of which it has one seat."""
THERE = tuple(
    Announcement(
        instance=f"i{n}",
        queue=f"q{n}",
        roles=("panelist", "answerer", "critic", "judge", "debater"),
        model="m",
        family="f",
    )
    for n in range(3)
)


@pytest.mark.parametrize(("protocol", "role"), ONE.items())
def test_seats_that_do_not_fit_are_refused(protocol: str, role: str) -> None:
    for roles, why in ((("gardener",), "seat s0: no role gardener; roles are"), ((role, role), f"role {role}: got 2")):
        seats = tuple(Seat(seat=f"s{n}", role=r, queue=f"s{n}") for n, r in enumerate(roles))
        request = OpenSession(question="Why?", protocol=protocol, seats=seats)
        with pytest.raises(Inadmissible, match=why):
            PROTOCOLS[protocol].seat(request, build_settings(PROTOCOLS[protocol], {}), THERE)
