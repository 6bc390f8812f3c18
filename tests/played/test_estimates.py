"""The estimate of each protocol against a session that was played, on an endpoint that counts tokens.

python -m tests.played.test_estimates      prints the table, and the size of each kind of turn
"""

import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.parley.support import Front
from tests.played.endpoint import endpoint, variables
from tests.played.sessions import SESSIONS
from tests.played.undisturbed import SEATS

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


def played(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any], list[tuple[str, str, int, int]]]:
    """(the estimate of a session, what it used, what the endpoint was asked)."""
    session = SESSIONS[name]
    with endpoint(name) as (url, player):
        front = Front(folder, "", variables(url, *SEATS))
        session.write_files(front.folder)
        told = front.run(*session.command, *ESTIMATED.get(name, ()), "--dry-run", "--json")
        result = front.run(*session.command, "--json")
        assert result[1], result[2]
        likely = json.loads(told[1])["likely_most" if ESTIMATED.get(name) else "likely"]
        return likely, json.loads(result[1])["usage"], list(player.asked)


@pytest.mark.parametrize("name", ESTIMATED)
def test_an_estimate_is_within_three_tenths_of_a_played_session(name: str, tmp_path: Path) -> None:
    likely, used, _ = played(name, tmp_path)
    assert name == REVISED or used["turns"] * 0.7 <= likely["turns"] <= used["turns"] * 1.3
    tokens = used["input_tokens"] + used["output_tokens"]
    assert tokens * 0.7 <= likely["tokens"] <= tokens * 1.3


def main() -> None:
    """Print a line for each protocol, and the mean size of each kind of its turns."""
    for name in SESSIONS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            likely, used, asked = played(name, Path(folder))
        tokens = used["input_tokens"] + used["output_tokens"]
        print(
            f"{name}: turns {used['turns']}, estimated {likely['turns']} ({likely['turns'] / used['turns'] - 1:+.0%}); "
            f"tokens {tokens:,}, estimated {likely['tokens']:,} ({likely['tokens'] / tokens - 1:+.0%})",
            flush=True,
        )
        kinds: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for _, kind, prompt, reply in asked:
            kinds[kind].append((prompt, reply))
        for kind, sizes in kinds.items():
            mean = [sum(part) // len(sizes) for part in zip(*sizes, strict=True)]
            print(f"    {kind}: {len(sizes)} requests, {mean[0]:,} tokens of prompt, {mean[1]:,} of reply")


if __name__ == "__main__":
    main()
