"""The attacks on a log of several streams: each is attacked, and held as the only one is."""

from pathlib import Path

from parley.bus.storage.partitions import Partitions
from tests.security.attacks.jetstream import OBSERVED
from tests.security.attacks.scene import REFUSED, SUCCEEDED
from tests.security.attacks.trial import trial
from tests.security.support import Target, naive

USERS = ("con_1", "client", "auditor", "metrics", "viewer", "gateway")
THREE = Partitions(3)


def of_log(attack: str) -> bool:
    """Attacks on the log, and on streams."""
    return "log" in attack or "LOG" in attack or "changes a stream" in attack


async def test_every_stream_of_the_log_is_attacked_and_held(tmp_path: Path) -> None:
    async with Target(tmp_path, partitions=3) as target:
        await target.up()
        rows = await trial(target.server.url, target.credentials, only=USERS, pick=of_log)
        assert [r for r in rows if r.outcome != REFUSED] == []
        for stream in THREE.streams[1:]:
            mine = {r.attack for r in rows if r.who == "con_1" and r.attack.endswith(f"({stream})")}
            assert {f"{what} ({stream})" for what in ("gets a log entry directly", "copies the whole log")} <= mine
            assert {f"{what} ({stream})" for what in OBSERVED[:2]} <= mine and len(mine) >= 12
        observed = {r.attack.partition(" (LOG-")[0] for r in rows if r.who == "metrics"}
        assert observed and not observed & set(OBSERVED), "it is there for that"
        connection = await target.connect("moderator")
        for part in THREE.all:  # of the check's own session its opening and its end are left
            info = await connection.api(f"STREAM.INFO.{part.stream}", {"subjects_filter": part.of_kind("step")})
            assert not info["state"].get("subjects"), part.stream


async def test_they_succeed_where_one_account_holds_everybody(tmp_path: Path) -> None:
    async with Target(tmp_path, naive, partitions=3) as target:
        await target.up()
        rows = await trial(
            target.server.url, target.credentials, only=("con_1",), pick=lambda attack: attack.endswith("(LOG-2)")
        )
        assert len(rows) >= 12 and [r for r in rows if r.outcome != SUCCEEDED] == []
