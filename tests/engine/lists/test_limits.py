"""Limits of owners and of the tenant: an opening over one is refused with its name and a time, by any moderator."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley.bus.accounts import LIMITS
from parley.client.client import Client
from parley.schemas.post import Fate
from parley.schemas.session import OpenSession
from parley.schemas.wire import encode
from tests.support.engine import Engine, counted, engine, until

SLOW = {"latency_s": 60}


async def opened(bare: Engine, who: str, sid: str) -> Fate:
    """As a client opens a session."""
    opening = encode(OpenSession(question="What is the answer?", protocol="consensus"))
    return await bare.submit(sid, opening, await bare.connect(who))


def write(path: Path, **limits: Any) -> Path:
    path.write_text(json.dumps(limits))
    return path


@pytest.mark.parametrize(
    ("limits", "others", "limit", "least_s"),
    [
        ({"everybody": {"open_sessions": 2}}, True, "open_sessions", 1),
        ({"owners": {"alice": {"open_sessions": 2}}}, True, "open_sessions", 1),
        ({"tenant": {"open_sessions": 2}}, False, "open_sessions", 1),
        ({"everybody": {"openings_per_minute": 2}}, True, "openings_per_minute", 40),
    ],
)
async def test_what_is_over_a_limit_is_refused(
    tmp_path: Path, limits: dict[str, Any], others: bool, limit: str, least_s: float
) -> None:
    async with engine(tmp_path / "bus") as bare:
        moderator = await bare.moderator(limits=write(tmp_path / LIMITS, **limits))
        await bare.workers(SLOW, drain_s=0.1)
        assert [(await opened(bare, "alice", sid)).fate for sid in ("s1", "s2")] == ["taken", "taken"]
        third = await opened(bare, "alice", "s3")
        assert (third.fate, third.field) == ("refused", limit)
        assert "allowed are 2; try again in" in third.why and isinstance(third.retry_s, float)
        assert third.retry_s >= least_s
        assert (await opened(bare, "bob", "s4")).fate == ("taken" if others else "refused")
        refused = counted(moderator._metrics.sessions_refused.labels(protocol="consensus", reason=limit))
        assert refused == (1 if others else 2)


async def test_a_session_that_ended_makes_room_and_the_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / LIMITS
    async with engine(tmp_path / "bus") as bare:
        await bare.moderator(limits=write(path, everybody={"open_sessions": 1}))
        await bare.workers({"metered": True, "tokens": 5})
        assert (await opened(bare, "alice", "s1")).fate == "taken"
        await bare.closed("s1")
        numbers = iter(range(1_000))
        await until(lambda: opened(bare, "alice", f"t{next(numbers)}"), right=lambda found: found.fate == "taken")
        write(path, everybody={"tokens_per_day": 1})

        async def limited() -> bool:
            return (await opened(bare, "alice", f"u{next(numbers)}")).field == "tokens_per_day"

        await until(limited, 20.0)
        path.write_text("{ not JSON")
        assert (await opened(bare, "alice", "v1")).field == "tokens_per_day", "what held before goes on"


async def test_who_opens_sessions_is_told_what_is_used_of_its_limits(tmp_path: Path) -> None:
    limits = {"tenant": {"usd_per_day": 2}, "owners": {"alice": {"open_sessions": 3, "openings_per_minute": 5}}}
    async with engine(tmp_path / "bus") as bare:
        await bare.moderator(limits=write(tmp_path / LIMITS, **limits))
        await bare.workers(SLOW, drain_s=0.1)
        assert (await opened(bare, "alice", "s1")).fate == "taken"
        alice, bob = [Client(await bare.connect(who), who) for who in ("alice", "bob")]
        used = {use.limit: (use.used, use.most, use.tenant) for use in await alice.limits()}
        assert used == {
            "open_sessions": (1, 3, False), "openings_per_minute": (1, 5, False), "usd_per_day": (0, 2, True),
        }  # fmt: skip
        assert [use.limit for use in await bob.limits()] == ["usd_per_day"], "nothing of another's is told"
        assert [use.limit for use in await Client(bare.owner, "owner").limits()] == ["usd_per_day"]
