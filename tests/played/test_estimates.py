"""The estimate of each protocol against a session that was played, on an endpoint that counts tokens."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.parley.support import Front
from tests.played.endpoint import SEATS, endpoint, variables
from tests.played.sessions import SESSIONS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


ESTIMATED: dict[str, tuple[str, ...]] = {
    "competition": (), "consensus": (), "critic": (), "single": (),
    "diagnosis": ("--round-limit", "4"),  # it argued for as long: the usual course is two rounds
    "task": (),
}  # fmt: skip
"""Sessions that took the course of their estimate, and the limit of rounds by which they did. Steps of look-ups are in
no estimate."""
REVISED = "task"
"""What reviewers sent back: an estimate has no revision, so the turns are more."""


def played(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the estimate of a session, what it used)."""
    session = SESSIONS[name]
    with endpoint(name) as (url, _):
        front = Front(folder, "", variables(url, *SEATS))
        session.write_files(front.folder)
        told = front.run(*session.command, *ESTIMATED.get(name, ()), "--dry-run", "--json")
        result = front.run(*session.command, "--json")
        assert result[1], result[2]
        likely = json.loads(told[1])["likely_most" if ESTIMATED.get(name) else "likely"]
        return likely, json.loads(result[1])["usage"]


@pytest.mark.parametrize("name", ESTIMATED)
def test_an_estimate_is_within_three_tenths_of_a_played_session(name: str, tmp_path: Path) -> None:
    likely, used = played(name, tmp_path)
    assert name == REVISED or used["turns"] * 0.7 <= likely["turns"] <= used["turns"] * 1.3
    tokens = used["input_tokens"] + used["output_tokens"]
    assert tokens * 0.7 <= likely["tokens"] <= tokens * 1.3
