"""What a program or a notebook meets: evidence from memory, a stack over several cells, a server that is away."""

import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

import parley
from parley.client.evidence import read
from parley.client.evidence.sources import Source
from parley.client.opening import check_types
from tests.parley.support import until

QUESTION = "In which year did the Suez Canal open?"
TEXT = "The Suez Canal opened in 1869 for ships."
NAMED = parley.Document(name="canal.md", text=TEXT, holders=("panelist_2",))


def test_documents_texts_and_bytes_stand_beside_paths(tmp_path: Path) -> None:
    (tmp_path / "on-disk.md").write_text("A file.")
    pages: dict[str, str | bytes] = {"page.html": "<p>A <b>page</b></p>", "raw.csv": b"a,b\n1,2"}
    sources: list[Source] = [
        NAMED, parley.Document(name="canal.md", text="Another."), pages, tmp_path / "on-disk.md",
    ]  # fmt: skip
    found = read(sources)
    assert [d.name for d in found.documents] == ["canal.md", "canal.md (2)", "page.html", "raw.csv", "on-disk.md"]
    assert found.documents[0].holders == NAMED.holders and len(found.documents[0].id) == 64
    assert "<b>" not in found.documents[2].text and not found.left_out
    assert read(NAMED).documents[0].text == read({"canal.md": TEXT}).documents[0].text == TEXT


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        (b"abc", r'got 3 bytes without a name; .*\{"notes.md": text\}'),
        ([NAMED, 5], "item 2 is 5; allowed are paths, documents"),
        ([NAMED, "A long text\nand no path"], "item 2 is a text of 23 characters, and no path; name it"),
        ({"a.md": 5}, "item 1: a.md holds int, allowed are a text and bytes"),
        ({"a.pdf": bytes(40_000_001)}, "a.pdf has more than 40 MB"),
        (parley.Document(name="a", text="\ud800"), "a has half of a character"),
    ],
)
def test_an_error_names_the_item_and_the_limit(evidence: Any, told: str) -> None:
    with pytest.raises(parley.BadInput, match=f"^evidence: .*{told}"):
        read(evidence)


@pytest.mark.parametrize(
    ("question", "options", "told"),
    [
        (5, {}, "^question: got 5, expected a text"),
        (QUESTION, {"continues": 5}, "^continues: got 5, expected text"),
        (QUESTION, {"seats": ["a"]}, r"^seats: got \['a'\], expected a list of parley.Seat"),
    ],
)
def test_what_cannot_be_is_named_as_it_was_written(question: Any, options: Mapping[str, Any], told: str) -> None:
    with pytest.raises(parley.BadInput, match=told):
        check_types(question, options)


CELLS = f"""
import asyncio, parley
loop = asyncio.new_event_loop()
p = loop.run_until_complete(parley.start(panel=3))
result = loop.run_until_complete(p.ask({QUESTION!r}, evidence={{"canal.md": {TEXT!r}}}))
try:
    loop.run_until_complete(p.session("nope").result())
except parley.UnknownSession as error:
    assert isinstance(error, parley.ParleyError), error
print(p.lease.state, "1869" in str(result), flush=True)
input()
loop.run_until_complete(p.close())
loop.run_until_complete(p.close())
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["close", "kill"])
def test_a_stack_over_several_cells_leaves_nothing_behind(end: str) -> None:
    program = subprocess.Popen([sys.executable, "-c", CELLS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdin is not None and program.stdout is not None
    state, _, answered = program.stdout.readline().strip().partition(" ")
    assert answered == "True"
    of_stack = processes(state)
    assert len(of_stack) >= 2, "a supervisor and a bus at least"
    if end == "close":
        program.communicate("\n", timeout=60)
        assert program.returncode == 0
    else:
        program.send_signal(signal.SIGKILL)
        program.communicate(timeout=60)
    until(lambda: not any(map(lives, of_stack)), "processes are left", 20.0)
    until(lambda: not Path(state).exists(), "the state folder is left", 20.0)


def processes(state: str) -> list[int]:
    """Process ids of a stack."""
    running = msgspec.json.decode((Path(state) / "stack.json").read_bytes())
    return [running["supervisor"], *(service["pid"] for service in running["services"].values())]


def lives(pid: int) -> bool:
    """Whether it runs; one that is dead and waits for its parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
