"""Sessions of every protocol, forked with nothing changed, on a stack of processes: they end as before."""

from collections.abc import Iterator
from typing import Any

import pytest

import parley
from parley.client.errors import BadInput, Refusal
from tests.support.debater import MODEL
from tests.support.expert_model import expert_model

ROLLOUT = "Which rollout should we use for the new payment service: canary, blue-green or big-bang?"
EVIDENCE = "examples/rollout/evidence"
GIVEN: dict[str, dict[str, Any]] = {
    "consensus": {"question": ROLLOUT, "evidence": EVIDENCE, "seed": 7},
    "critic": {"question": ROLLOUT, "evidence": EVIDENCE, "seed": 7},
    "maci": {
        "question": ROLLOUT, "evidence": EVIDENCE, "seed": 7,
        "settings": {"outcomes": ["canary", "blue-green", "big-bang"], "round_limit": 3},
    },
    "competition": {
        "question": "Should public transport be free?", "evidence": "examples/competition/evidence", "seed": 7,
    },
    "madp": {"question": "add JWT authentication to the API", "seed": 7},
}  # fmt: skip


def plain(outcome: dict[str, Any]) -> str:
    """Without what differs from run to run: the session's name, times, and tokens, of which a fork counts its own."""
    return repr({k: v for k, v in outcome.items() if k not in ("task_id", "deliberation_id", "seconds", "tokens")})


@pytest.fixture(autouse=True)
def experts_have_a_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with expert_model() as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        yield


@pytest.mark.timeout(180)
@pytest.mark.parametrize("protocol", GIVEN)
async def test_with_nothing_changed_it_ends_as_the_record_did(protocol: str) -> None:
    given = dict(GIVEN[protocol])
    async with parley.local(protocol=protocol, model=MODEL if protocol == "competition" else "") as p:
        session = await p.start(given.pop("question"), **given)
        before = await session.result()
        fork = await p.fork(session.sid)
        after = await fork.result()
        assert after.stop.reason == before.stop.reason and after.stop.converged == before.stop.converged
        assert plain(after.outcome).replace(fork.sid, session.sid) == plain(before.outcome)
        assert after.fork and after.fork.parent == session.sid and after.fork.parted is None
        assert after.usage.calls < before.usage.calls
        await fork.feedback(True, note="the same")
        row = await p.client.row(fork.sid)
        assert row is not None and (row.forks, row.feedback) == (session.sid, "right")
        if protocol == "consensus":
            with pytest.raises(BadInput, match="no recorded session changes with it"):
                await p.fork(session.sid, panel=2)
            with pytest.raises(Refusal, match="whole rounds of session"):
                await p.fork(session.sid, round=99)
            with pytest.raises(BadInput, match="there is no session"):
                await p.fork("nothing")
