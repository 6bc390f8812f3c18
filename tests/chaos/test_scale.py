"""Starting a copy is all that scaling takes: four copies of a panelist's worker against one, in one run."""

from pathlib import Path

import pytest

from parley.schemas import log
from parley.schemas.session import Seat
from parley.schemas.wire import decode
from parley.stack.rows import AgentRow
from tests.chaos.harness import SEEDS, Rig, make_stack
from tests.chaos.verify import Text, transcript

pytestmark = [pytest.mark.serial, pytest.mark.alone, pytest.mark.timeout(90)]
SESSIONS = 50
PANEL = 4
SEATS = (
    *(Seat(seat=f"p{i}", role="panelist", queue="panelist_1") for i in range(1, PANEL + 1)),
    Seat(seat="analyst", role="analyst", queue="analyst"),
)
OPTIONS = {"scores": (40.0, 95.0), "agree_from": 2}
ROUNDS = 2


async def run(folder: Path, copies: int) -> tuple[float, dict[str, list[Text]]]:
    """Panel turns a second from the first reply to the last, and what every session said."""
    rows = (AgentRow(queue="panelist_1", copies=copies, room=4), AgentRow(queue="analyst", room=256))
    async with Rig(folder, make_stack(folder, agents=rows, latency_s=0.05, options=OPTIONS)) as rig:
        sids = [f"s{i}" for i in range(SESSIONS)]
        await rig.play_all(sids, at_once=SESSIONS, seats=SEATS)
        assert len(rig.followed) == SESSIONS
        times = [at for sid in sids for at in await reply_times(rig, sid)]
        said = {sid: transcript(await rig.history(sid)) for sid in sids}
    assert len(times) == SESSIONS * (PANEL * ROUNDS + PANEL - 1), "all but one sign the sentence of that one"
    return (len(times) - 1) / ((max(times) - min(times)) / 1e9), said


async def reply_times(rig: Rig, sid: str) -> list[int]:
    """When the panel's replies were stored, Unix ns."""
    entries = [(s.at_ns, decode(s.data, log.Entry)) for s in await rig.stored(sid)]
    asks = {f"{e.n}-{i}": c for _, e in entries for i, c in enumerate(e.commands) if isinstance(c, log.Ask)}
    return [at for at, e in entries if isinstance(e.event, log.Replied) and asks[e.event.turn].seat.startswith("p")]


async def test_four_copies_are_three_times_as_fast_and_say_the_same(tmp_path: Path) -> None:
    one, said_by_one = await run(tmp_path / "one", 1)
    four, said_by_four = await run(tmp_path / "four", 4)
    print(f"one copy {one:.0f} turns/s, four copies {four:.0f} turns/s, ratio {four / one:.2f}")
    assert said_by_four == said_by_one
    assert len({str(said) for said in said_by_one.values()}) == SEEDS, "sessions of different seeds differ"
    assert four >= 3 * one
