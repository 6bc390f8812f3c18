"""`parley ask --protocol maci` on the examples: every end that it may come to, and what is refused by its name."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.stack.lease import read_running
from tests.parley.support import ROOT, Front, until
from tests.support.debater import panel

pytestmark = [pytest.mark.slow]
EXAMPLES = ROOT / "examples"
STOPS = ["agreement", "budget", "plateau", "round_limit", "stalemate"]
SEATS = (*(f"{role}_{i}" for role in ("debater", "judge") for i in (1, 2, 3)), "analyst")


class Asked(msgspec.Struct, frozen=True):
    """How a command ended: its status and the one document that it printed."""

    code: int
    result: dict[str, Any]

    @property
    def sid(self) -> str:
        return str(self.result["session"])

    @property
    def end(self) -> tuple[int, str, bool]:
        """(exit status, reason, whether it is called convergence)."""
        return self.code, self.result["stop"]["reason"], self.result["stop"]["converged"]

    @property
    def signals(self) -> list[dict[str, Any]]:
        """Of each round, the blind one first."""
        return [r["signals"] for r in self.result["rounds"]]

    @property
    def certificate(self) -> dict[str, Any]:
        found: dict[str, Any] = self.result["stop"]["certificate"]
        return found


class Bench:
    """One stack with three debaters for all these tests; a session that two tests look at is played once."""

    def __init__(self, folder: Path) -> None:
        self.front = Front(folder)
        self._asked: dict[tuple[str, ...], Asked] = {}

    @staticmethod
    def command(example: str, *more: str, given: bool = True) -> tuple[str, ...]:
        """`parley ask` on an example, with its outcomes or with open ones."""
        root = EXAMPLES / example
        question = (root / "question.txt").read_text().strip()
        outcomes = ("--outcomes", str(root / "outcomes.txt")) if given else ()
        return ("ask", question, "--protocol", "maci", "--evidence", str(root / "evidence"), *outcomes, *more)

    def ask(self, example: str, *more: str, given: bool = True) -> Asked:
        """The same with --json, on the debater's model."""
        command = self.command(example, *more, "--panel-file", "maci-seats.yaml", "--json", given=given)
        if command not in self._asked:
            code, out, err = self.front.run(*command)
            assert err == ""
            self._asked[command] = Asked(code, json.loads(out))
        return self._asked[command]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    found = Bench(tmp_path_factory.mktemp("maci"))
    seats = panel(found.front.folder, seats=SEATS, protocol="maci")
    up = found.front.start("up", "--panel-file", str(seats))
    try:
        until(lambda: (there := read_running(found.front.state)) and there.ready, "the stack is not ready")
        yield found
    finally:
        up.send_signal(signal.SIGINT)
        up.communicate(timeout=20)
    found.front.assert_nothing_left()


# ---------------------------------------------------------------- its ends


def test_an_agreement_that_is_convergence(bench: Bench) -> None:
    asked = bench.ask("diagnosis")
    assert asked.end == (0, "agreement", True) and asked.result["status"] == "finished"
    assert asked.signals[0]["jsd"] > 0.3 > 0.1 > asked.signals[-1]["jsd"], "they began apart"
    assert asked.result["outcome"]["answer"] == "Fusarium wilt" and asked.result["outcome"]["plan"]["tests"]
    assert sorted(asked.certificate["stops"]) == STOPS, "all stops are laid open"
    assert asked.certificate["stops"]["agreement"]["holds"]
    assert asked.certificate["cross_family"] is asked.result["outcome"]["cross_family"] is False
