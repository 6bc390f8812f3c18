"""`parley sessions rebuild-index`: what the log holds enters the lists."""

import asyncio
import json
from pathlib import Path

import pytest

from parley.bus.accounts import load_credentials
from parley.bus.connection import connect
from parley.bus.streams import ensure_streams
from parley.stack.lease import read_running
from tests.parley.support import QUESTION, Front


@pytest.fixture
def fresh(tmp_path: Path) -> Front:
    return Front(tmp_path)


async def _as_before(fresh: Front) -> None:
    """The bus as it is when moderators with an index start for the first time."""
    running = read_running(fresh.state)
    assert running is not None
    moderator = load_credentials(fresh.state / "keys" / "moderator-1.json")
    async with await connect(running.url, moderator, name="test") as connection:
        await connection.api("STREAM.DELETE.INDEX")
        await ensure_streams(connection)


def test_lists_say_what_is_missing_until_the_index_is_rebuilt(fresh: Front) -> None:
    up = fresh.start("up", "--panel", "2", "--json")
    try:
        assert up.stdout is not None
        up.stdout.readline()
        sid = fresh.json("ask", QUESTION, "--evidence", str(fresh.evidence), "--panel", "2", "--json")["session"]
        asyncio.run(_as_before(fresh))
        code, out, err = fresh.run("sessions", "list")
        assert code == 0 and sid not in out
        assert err.startswith("parley: sessions may be missing until the index is rebuilt; parley")
        assert fresh.json("sessions", "list", "--json") == {"sessions": [], "whole": False}
        code, out, err = fresh.run("sessions", "rebuild-index")
        assert (code, out) == (0, "1 session in the index; nothing is missing\n")
        assert err.splitlines()[-1] == "parley: 100% of the log is read, 1 session"
        assert fresh.json("sessions", "rebuild-index", "--json") == {"sessions": 1, "unreadable": [], "whole": True}
        code, out, err = fresh.run("sessions", "list")
        assert (code, err) == (0, "") and sid in out
        client = json.loads((fresh.state / "stack.json").read_text())["credentials"]["client"]
        url = json.loads((fresh.state / "stack.json").read_text())["url"]
        code, _, err = fresh.run("sessions", "rebuild-index", "--nats", url, "--creds", client)
        assert code == 2 and "the index is rebuilt for owners" in err
    finally:
        up.terminate()
        up.communicate()
