"""A protocol that leads elsewhere by the same events is a new version of it (docs/compatibility.md)."""

from dataclasses import replace

import pytest

from parley.coordinator.protocols import PROTOCOLS
from tests.old_logs.behaviour import behaviour, kept, now
from tests.support.walk import walks

HOW = (
    "{name} {version} leads elsewhere than it did. If the protocol has changed: raise `version` in its protocol.py, add"
    " a sample log of the commit before, and run python -m tests.old_logs.behaviour. If only tests/protocols/{name}/"
    "worlds.py has: python -m tests.old_logs.behaviour {name}"
)


def test_every_protocol_has_its_row() -> None:
    assert set(kept()) == {*walks(), *(n for n, p in PROTOCOLS.items() if p.standing)}


@pytest.mark.parametrize("name", kept())
def test_its_version_stands_for_what_it_does(name: str) -> None:
    assert now(name) == kept()[name], HOW.format(name=name, version=PROTOCOLS[name].version)


def test_a_change_of_what_it_does_shows() -> None:
    changed = replace(PROTOCOLS["consensus"], attempts=PROTOCOLS["consensus"].attempts + 1)
    assert behaviour(changed) != kept()["consensus"]["digest"]
