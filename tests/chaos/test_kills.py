"""Kill any process at any moment: the session goes on, nothing accepted is lost, nothing happens twice."""

import asyncio
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.chaos.faults import AGENTS, ANALYST, DEBATER, HELPER, JUDGE, MODERATOR, NATS, PANELIST, SUPERVISOR, Faults
from tests.chaos.harness import CONSENSUS, QUEUES, Rig, calm_arrivals, maci, make_stack, shown
from tests.support import crash

pytestmark = [pytest.mark.serial, pytest.mark.timeout(90)]
SEED = 20_260
BOTH = (CONSENSUS, maci())


@pytest.mark.parametrize(
    "kinds",
    [(MODERATOR,) * 3, (NATS,) * 3, (SUPERVISOR,) * 3, (PANELIST, ANALYST) * 2, (DEBATER, JUDGE, HELPER)],
    ids="-".join,
)
@pytest.mark.parametrize("seed", [SEED, SEED + 1])
async def test_killed_at_random_moments(kinds: tuple[str, ...], seed: int, tmp_path: Path) -> None:
    """Kills one after another while 24 sessions run, of both protocols or of one."""
    rng = Random(f"{seed} {kinds[0]}")
    plays = {DEBATER: (maci(),), MODERATOR: BOTH, NATS: BOTH}.get(kinds[0], (CONSENSUS,))
    queues = [q for q in QUEUES if any(q in p.queues for p in plays)]
    async with Rig(tmp_path, make_stack(tmp_path, latency_s=0.06, queues=queues), plays) as rig:
        await rig.learn()
        faults = Faults(rig.lease, rng)
        sessions = asyncio.create_task(rig.play_all([f"s{i}" for i in range(24)], at_once=6))
        await faults.kill_each(kinds, rig.asking, sessions.done, (0.1, 0.5))
        await sessions
        found = await rig.findings()
        print(f"{kinds}: seed={seed} kills={dict(faults.kills)} {shown(found)}")
        assert found.violations == []
        assert not found.late_timers or {NATS, SUPERVISOR} & set(kinds)
        assert faults.kills == Counter(kinds), "the sessions were over before the kills"
        assert found.extra_calls or kinds[0] not in AGENTS, "nothing was lost with those that were killed"
        assert found.sessions == sum(p.seeds for p in plays) + 24
        assert found.turns == sum((p.seeds + 24 // len(plays)) * p.turns for p in plays)


@pytest.mark.parametrize("point", crash.POINTS)
async def test_killed_at_a_named_point(point: str, tmp_path: Path) -> None:
    """Between model and submitting, step and append, append and effects, effects and answer."""
    rng = Random(f"{SEED} {point}")
    calm = calm_arrivals(point, BOTH)  # the undisturbed sessions come first
    deeds = sorted(calm + n for n in rng.sample(range(1, 100), 3))
    stack = make_stack(tmp_path, crash=" ".join(f"{point}:{n}" for n in deeds), queues=QUEUES)
    async with Rig(tmp_path, stack, BOTH) as rig:
        await rig.learn()
        assert crash.done(rig.crashes) == {}
        await rig.play_all([f"s{i}" for i in range(12)], at_once=6)
        found = await rig.findings()
        print(f"{point}: seed={SEED} arrivals={deeds} {shown(found)}")
        assert found.violations == []
        assert not found.late_timers
        assert len(crash.done(rig.crashes)) == 3, "every deed was done"
        if point == "replied":
            assert found.extra_calls >= 3, "the reply that was lost with its process was paid for again"
