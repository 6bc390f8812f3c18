"""A protocol that leads elsewhere by the same events is a new version of it (docs/compatibility.md)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Protocol
from tests.old_logs.behaviour import KEPT, behaviour, kept, now, write
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


def test_the_same_version_keeps_its_row_until_it_is_named(tmp_path: Path) -> None:
    path = tmp_path / "behaviour.json"
    path.write_text(KEPT.read_text().replace(kept()["critic"]["digest"], "0" * 32))
    write(set(), path)
    assert "0" * 32 in path.read_text()
    write({"critic"}, path)
    assert path.read_text() == KEPT.read_text()


def _said(protocol: Protocol) -> Protocol:
    """Its first wishes the other way round."""

    def start(view: Any) -> Any:
        state, wishes = protocol.start(view)
        return state, tuple(reversed(wishes))

    return replace(protocol, start=start)


def _tried(protocol: Protocol) -> Protocol:
    """One more attempt."""
    return replace(protocol, attempts=protocol.attempts + 1)


@pytest.mark.parametrize("change", [_said, _tried])
def test_a_change_of_what_it_does_shows(change: Callable[[Protocol], Protocol]) -> None:
    assert behaviour(change(PROTOCOLS["consensus"])) != kept()["consensus"]["digest"]
