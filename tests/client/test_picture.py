"""The picture of a session: which have one, in which formats, and what is refused."""

from pathlib import Path

import pytest

from parley.client.errors import BadInput
from parley.client.records import Record, read_record
from parley.client.rendering import explain

LOGS = Path(__file__).parents[1] / "old_logs" / "1"
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml"}


def record(protocol: str) -> Record:
    return read_record(LOGS / f"{protocol}.jsonl")


@pytest.mark.parametrize("protocol", ["competition", "consensus", "critic", "maci"])
@pytest.mark.parametrize("ending", STARTS)
def test_what_was_measured_is_drawn_the_same_each_time(protocol: str, ending: str, tmp_path: Path) -> None:
    first, again = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    said = explain.draw(record(protocol), first)
    explain.draw(record(protocol), again)
    assert first.read_bytes() == again.read_bytes() and first.read_bytes().startswith(STARTS[ending])
    assert said.startswith(f"{first}: ") and ", by " in said


@pytest.mark.parametrize(
    ("protocol", "name", "why"),
    [
        ("maci", "x.xyz", r"x\.xyz ends in '\.xyz', allowed are \.png and \.svg"),
        ("maci", "x", "ends in 'nothing'"),
        ("maci", "none/x.svg", "cannot write .*x.svg: No such file"),
        ("single", "x.svg", "has no picture: nothing was measured by round"),
    ],
)
def test_what_cannot_be_drawn_says_why(protocol: str, name: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=why):
        explain.draw(record(protocol), tmp_path / name)
