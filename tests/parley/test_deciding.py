"""Sessions that a rule decides, on real processes: each rule, and a moderator or a worker killed while ballots come."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import parley
from parley.schemas.voting import BALLOTS, RULES
from parley.stack.lease import OWNER, Lease, Stack
from parley.stack.rows import rows_of
from tests.support.crash import CRASH, CRASH_DIR, POINTS, done

APART = {"agree_from": 9}
"""Nobody changes an answer."""


def stack(**more: object) -> Stack:
    agents = rows_of("consensus", 3, model="tests.support.model:make", options=APART)
    return Stack(agents=agents, ack_wait_s=1.0, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def lease(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lease]:
    with Lease(stack(), tmp_path_factory.mktemp("state"), wait_ready=True) as found:
        yield found


@pytest.mark.parametrize("rule", RULES[1:])
async def test_each_rule_decides_a_real_session(lease: Lease, rule: str) -> None:
    """Three answers, which every ballot puts in one order: what is counted by the answers alone is undecided."""
    async with parley.connect(lease.url, lease.credentials(OWNER), protocol="consensus") as front:
        result = await front.ask("Which?", settings={"decide": rule, "round_limit": 1})
    by_ballots = rule in BALLOTS
    assert result.stop.reason == ("decided" if by_ballots else "undecided") and not result.stop.converged
    assert result.outcome["answer"] == ("the answer of panelist_1" if by_ballots else "")
    cast = [p.seat for p in result.posts if p.kind == "ballot"]
    judged = rule == "judge"
    assert sorted(cast) == (["analyst"] if judged else ["panelist_1", "panelist_2", "panelist_3"] if by_ballots else [])


@pytest.mark.parametrize("point", POINTS)
async def test_a_kill_while_ballots_come_costs_no_ballot(point: str, tmp_path: Path) -> None:
    """The services that take the last replies of the debate and the ballots die on the way."""
    env = {CRASH: " ".join(f"{point}:{n}" for n in (5, 6, 7)), CRASH_DIR: str(tmp_path / "deeds")}
    (tmp_path / "deeds").mkdir()
    killed = stack(checkpoint="tests.support.crash:checkpoint", env=env)
    with Lease(killed, tmp_path / "state", wait_ready=True) as found:
        async with parley.connect(found.url, found.credentials(OWNER), protocol="consensus") as front:
            result = await front.ask("Which?", settings={"decide": "borda", "round_limit": 1})
    assert done(tmp_path / "deeds"), "nobody was killed"
    assert (result.stop.reason, result.outcome["answer"]) == ("decided", "the answer of panelist_1")
    assert sorted(p.seat for p in result.posts if p.kind == "ballot") == ["panelist_1", "panelist_2", "panelist_3"]
    assert result.outcome["decision"]["figures"] == {
        "the answer of panelist_1": 6.0, "the answer of panelist_2": 3.0, "the answer of panelist_3": 0.0,
    }  # fmt: skip
