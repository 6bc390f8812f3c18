"""Moderators with and without a package on one bus, and the broker that keeps its channel apart."""

from pathlib import Path
from typing import Any

import pytest

from parley.bus import subjects
from parley.bus.errors import Denied
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.post import ReadPosts, SessionRows
from parley.schemas.result import Result
from parley.schemas.wire import decode, encode
from parley.testing import scripted
from tests.extending.packages import jury
from tests.support.engine import Engine

ROLE, ROOM = "x_parley_jury_juror", "x_parley_jury_room"
QUEUES = {f"{ROLE}_1": ROLE, f"{ROLE}_2": ROLE, "panelist_1": "panelist", "judge": "judge"}


def without() -> dict[str, Any]:
    """The protocols of a moderator whose operator does not allow the package."""
    return {name: protocol for name, protocol in PROTOCOLS.items() if name != "jury"}


@pytest.mark.slow
async def test_a_moderator_without_the_package_leaves_its_sessions_to_one_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jury(tmp_path / "package", monkeypatch)
    async with Engine(tmp_path / "bus", QUEUES) as engine:
        for _ in range(3):
            await engine.moderator(without())
        await engine.moderator()
        for queue in (f"{ROLE}_1", f"{ROLE}_2"):
            await engine.worker(queue, model=scripted({"choice": "tea"}, {"choice": "tea"}, {"choice": "tea"}))
        for sid in ("s1", "s2", "s3"):
            opened = await engine.open(sid, protocol="jury", settings={"jurors": 2})
            assert opened.fate == "taken", opened
            result = decode((await engine.closed(sid)).body, Result)
            assert (result.stop.reason, result.stop.converged) == ("x_parley_jury_verdict", True)
        rows: SessionRows = await engine.sessions()
        assert {row.status for row in rows.rows} == {"finished"}

        # nobody but the jurors reads the jury's room, or speaks there
        for user in ("panelist_1", "judge", "client"):
            connection = await engine.connect(user)
            with pytest.raises(Denied):
                await connection.request(subjects.read(ROOM, "s1"), encode(ReadPosts()), 2.0)
            with pytest.raises(Denied):
                await connection.publish(subjects.say("any", ROOM, user, "s1"), b"{}", confirm=True)
        juror = await engine.connect(f"{ROLE}_1")
        for channel in ("team_pro", "team_con", "judge_notes", "scores"):
            with pytest.raises(Denied):
                await juror.request(subjects.read(channel, "s1"), encode(ReadPosts()), 2.0)


@pytest.mark.slow
async def test_an_opening_that_no_moderator_knows_is_refused_after_some_seconds(tmp_path: Path) -> None:
    async with Engine(tmp_path / "bus") as engine:
        await engine.moderator(without())
        refused = await engine.open("s1", protocol="jury")
    assert refused.fate == "refused" and "got 'jury', known are competition, compound" in refused.why
