"""What a protocol's page says of a role that nobody serves holds at once, for open sessions and for new ones."""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from parley.agents.models import make_model
from parley.schemas.presence import RETURN_S
from parley.schemas.protocols.maci.messages import Passages
from parley.schemas.result import Result
from parley.schemas.session import Document
from parley.schemas.wire import decode
from tests.engine.test_maci import ROLES as MACI
from tests.protocols.critic.simulate import ROLES as CRITIC
from tests.protocols.critic.simulate import example as of_critic
from tests.protocols.maci.simulate import example as of_maci
from tests.support.engine import QUEUES, Engine, engine, until

Example = tuple[str, tuple[Document, ...]]
CASES = [
    ("maci", MACI, "helper", lambda: of_maci("diagnosis")[:2]),
    ("consensus", QUEUES, "analyst", lambda: of_maci("diagnosis")[:2]),
]
ids = pytest.mark.parametrize(("protocol", "queues", "spared", "example"), CASES, ids=[c[0] for c in CASES])


async def started(bare: Engine, but: str) -> None:
    await bare.moderator()
    for queue in bare.queues:
        if queue != but:
            await bare.worker(queue, model=None if "panelist_1" in bare.queues else make_model("extractive"))


async def ended(bare: Engine, spared: str, within_s: float) -> Result:
    result = decode((await bare.closed("s1", within_s)).body, Result)
    assert result.status == "finished"
    assert spared in msgspec.json.encode(result).decode(), "the result says who was missing"
    return result


@ids
async def test_a_session_opens_without_it(
    tmp_path: Path, protocol: str, queues: dict[str, str], spared: str, example: Callable[[], Example]
) -> None:
    question, documents = example()
    async with engine(tmp_path, queues=queues) as bare:
        await started(bare, spared)
        assert (await bare.open("s1", question=question, protocol=protocol, documents=documents)).fate == "taken"
        await ended(bare, spared, 40.0)
        if protocol == "maci":
            passages = next(p for p in await bare.posts("s1", "public") if p.kind == "passages")
            assert decode(passages.body, Passages).passages, "found by the question's words"


async def test_a_session_that_is_open_goes_on_once_it_is_gone(tmp_path: Path) -> None:
    question, documents = of_critic("critic-archive")
    async with engine(tmp_path, queues={role: role for role in CRITIC}, ack_wait_s=60.0) as bare:
        await started(bare, "judge")
        slow = await bare.worker("judge", {"latency_s": 600}, drain_s=0.1)

        async def asked() -> bool:
            return bool(slow._jobs)

        await bare.open("s1", question=question, protocol="critic", documents=documents)
        await until(asked)
        gone_at = time.monotonic()
        await slow._connection.close()
        await ended(bare, "judge", RETURN_S + 12.0)
        assert time.monotonic() - gone_at > RETURN_S
