"""What the documents say is what the code does."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from parley.client.view.fold import of_result
from parley.coordinator.protocols import PROTOCOLS
from parley.follow import exit_code
from parley.schemas.result import Result, ResultUsage, Stop
from parley.schemas.stops import STOPS

ROOT = Path(__file__).parents[2]


class Row(NamedTuple):
    """One of docs/stops.md."""

    reason: str
    protocols: str
    converged: bool
    status: str
    exit_status: int
    words: str


def stops_page() -> list[Row]:
    """The page's lists, one for each exit status."""
    status, rows = {"1": "failed", "130": "cancelled"}, []
    text = (ROOT / "docs/stops.md").read_text()
    for title, code, held in re.findall(r"^## ([\w ,]+): exit status (\d+)\n\n((?:- .*\n)+)", text, re.M):
        rows += [
            Row(reason, who, title == "Converged", status.get(code, "finished"), int(code), told)
            for reason, who, told in re.findall(r"^- `(\w+)` \(([\w, ]+)\): (.*)$", held, re.M)
        ]
    return rows


def test_the_table_of_stops_equals_the_code() -> None:
    assert sorted(stops_page()) == sorted(
        Row(
            s.reason, ", ".join(name for name in sorted(PROTOCOLS) if s.reason in PROTOCOLS[name].stops) or "every",
            converged, s.status, s.exit_status(converged), s.in_words(converged),
        )
        for s in STOPS.values()
        for converged in ([True, False] if s.unless else [s.converged])
    )  # fmt: skip


@pytest.mark.parametrize("row", stops_page(), ids=lambda row: f"{row.reason}, {row.converged}")
def test_each_stop_is_told_as_the_page_says(row: Row) -> None:
    """The exit status, and the line on the screen; what is not converged never says that it is consensus."""
    nothing = ResultUsage(turns=0, calls=0, input_tokens=0, output_tokens=0, estimated=False, cost_usd=0.0,
                          unaccounted_turns=0, unaccounted_tokens=0, by_seat={})  # fmt: skip
    for protocol in PROTOCOLS if row.protocols == "every" else row.protocols.split(", "):
        result = Result(
            session="s", protocol=protocol, status=row.status, outcome={}, rounds=(), usage=nothing, duration_s=0.0,
            stop=Stop(reason=row.reason, converged=row.converged, certificate={}),
        )  # fmt: skip
        card = of_result(result)
        assert exit_code(result) == row.exit_status
        assert card.stop.startswith(row.words) and card.reason == row.reason
        told = f"{card.stop} {card.sure}"
        assert row.converged or "consensus" not in told.replace("no consensus", "")
