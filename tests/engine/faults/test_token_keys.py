"""The moderators' keys: two are good for a while, and the newer signs when everybody has had time to see it."""

import stat
import time
from pathlib import Path

import pytest

from parley.bus.errors import BadKeyFile
from parley.coordinator.sessions import token_keys
from parley.coordinator.sessions.token_keys import KEPT_S, TokenKeys
from parley.schemas.result import Result
from parley.schemas.wire import decode
from tests.support.engine import engine


def test_a_key_signs_when_its_time_has_come_and_the_one_before_is_good_for_a_day(tmp_path: Path) -> None:
    path = tmp_path / "token.key"
    token_keys.make(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    now = 0.0
    early, late = TokenKeys(path, lambda: now), TokenKeys(path, lambda: now)
    old, inode = early.signing, path.stat().st_ino
    now = signs_at = token_keys.rotate(path)
    assert path.stat().st_ino == inode, "a container that has it mounted sees the change"
    new = early.signing
    assert new != old and late.fit(lambda key: key == new), "who has not looked yet looks when it meets an unknown key"
    now = signs_at - 3.0
    assert early.signing == old and early.fit(lambda key: key == new), "one that does not sign yet is good"
    now = signs_at + KEPT_S - 1.0
    assert early.signing == new and early.fit(lambda key: key == old)
    now = signs_at + KEPT_S + 1.0
    assert not early.fit(lambda key: key == old) and early.fit(lambda key: key == new)


@pytest.mark.parametrize(
    ("text", "why"),
    [("00ff", "2 bytes, expected 32"), ("", "it is empty"), ("xx", "not a token key"), ("00" * 32 + " soon", "a time")],
)
def test_what_is_no_file_of_keys_is_refused_and_changes_nothing(tmp_path: Path, text: str, why: str) -> None:
    path, now = tmp_path / "token.key", 0.0
    token_keys.make(path)
    keys = TokenKeys(path, lambda: now)
    before = keys.signing
    path.write_text(text)
    with pytest.raises(BadKeyFile, match=why):
        TokenKeys(path)
    now = 10.0
    assert keys.signing == before and not keys.fit(lambda key: key != before)


async def test_a_key_is_rotated_under_open_turns_and_none_is_lost(tmp_path: Path) -> None:
    """Two moderators: one signs with the new key at once, as if it were an hour later, the other with the old."""
    ahead_s = 0.0
    path = tmp_path / "token.key"
    token_keys.make(path)
    old, skewed = TokenKeys(path), TokenKeys(path, lambda: time.time() + ahead_s)
    async with engine(tmp_path / "bus") as bus:
        await bus.moderator(token_keys=old)
        await bus.moderator(token_keys=skewed)
        await bus.workers({"latency_s": 0.2})
        sids = [f"s{i}" for i in range(6)]
        for sid in sids[:3]:
            assert (await bus.open(sid, settings={"round_limit": 3})).fate == "taken"
        token_keys.rotate(path)
        ahead_s = 3_600.0
        for sid in sids[3:]:
            assert (await bus.open(sid, settings={"round_limit": 3})).fate == "taken"
        for sid in sids:
            result = decode((await bus.closed(sid, 30.0)).body, Result)
            assert result.status == "finished", sid
            entries = [entry.event for entry in await bus.entries(sid)]
            assert not [e for e in entries if getattr(e, "error", "")], "no turn was lost"
        assert old.signing != skewed.signing
