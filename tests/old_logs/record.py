"""Records one short session of each protocol, as this commit plays it, into a folder of sample logs.

python -m tests.old_logs.record     writes tests/old_logs/1
python -m tests.old_logs.record 2   writes tests/old_logs/2

The extractive model answers, and the debater's where it plays no seat. Experts say that all is done, so nothing is
asked of a network.
"""

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Any

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.models.extractive import Extractive
from parley.agents.protocols import KITS
from parley.agents.specs import load
from parley.client.api import Parley
from parley.client.client import Client
from parley.client.records import Record, write
from parley.coordinator.protocols import PROTOCOLS, STANDING
from parley.schemas.session import ForkSession
from tests.support.debater import Debater
from tests.support.engine import Engine, until
from tests.support.madp import Actor

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
FORMAT = HERE / "short_format.yaml"
EXPERTS = ("expert_sre", "expert_security-architect", "expert_systems-architect", "expert_generalist")
QUEUES = (
    "panelist_1", "panelist_2", "panelist_3", "analyst", "answerer", "critic", "judge", "helper", "debater_1",
    "debater_2", "pro_1", "con_1", "audience_1", *EXPERTS,
)  # fmt: skip
FORK = "fork"
"""The record of a fork of the consensus session."""


def asked(protocol: str) -> dict[str, Any]:
    """What is asked in each protocol."""
    if protocol == "madp":
        return {"question": "add JWT authentication to the API"}
    if protocol == "compound":
        parts = [(EXAMPLES / name / "question.txt").read_text().strip() for name in ("unresolved", "factual")]
        evidence = [EXAMPLES / name / "evidence" for name in ("unresolved", "factual")]
        return {"question": " ".join(parts), "evidence": evidence, "settings": {"part_settings": {"round_limit": 2}}}
    folder = EXAMPLES / {
        "consensus": "unresolved", "critic": "critic-archive", "maci": "diagnosis", "competition": "competition",
        "single": "factual",
    }[protocol]  # fmt: skip
    settings: dict[str, Any] = {}
    if protocol in ("consensus", "critic", "maci"):
        settings["round_limit"] = 2
    if protocol == "maci":
        settings["outcomes"] = (folder / "outcomes.txt").read_text().splitlines()
        settings["q_gate"] = True  # so that there are refused arguments to be shown
    if protocol == "competition":
        settings["format"] = str(FORMAT)
    question = (folder / "question.txt").read_text().strip()
    return {"question": question, "evidence": folder / "evidence", "settings": settings}


class Player(Extractive):
    """The extractive model, and the debater's where it has no method."""

    name = family = "sample"

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The reply of the model for its protocol."""
        if shown.kind in KITS[shown.protocol].methods():
            return await super().reply(shown, emit)
        return await Debater().reply(shown, emit)


async def record(folder: Path) -> None:
    """Write the records of all protocols into the folder."""
    folder.mkdir(exist_ok=True)
    specs = {queue: load(queue) for queue in QUEUES}
    roles = {queue: spec.roles[0] for queue, spec in specs.items()}
    pins = {queue: specs[queue].pin for queue in EXPERTS}
    with tempfile.TemporaryDirectory() as bus:
        async with Engine(Path(bus), queues=roles, pins=pins) as engine:
            await engine.moderator()
            for queue, spec in specs.items():
                await engine.worker(queue, spec=spec, model=Actor() if queue in EXPERTS else Player())
            client = Client(engine.owner, "owner")

            async def gathered() -> bool:
                return {worker.queue for worker in (await client.everybody(10.0)).workers} >= set(QUEUES)

            await until(gathered, 30.0)
            parley = Parley(client)
            names = sorted(set(PROTOCOLS) - {p.name for p in STANDING.values()})
            for name in names:
                session = await parley.start(protocol=name, seed=7, **asked(name))
                await session.result()
                await _keep(client, session.sid, folder / f"{name}.jsonl")
                if name == "consensus":
                    fork = await client.fork(ForkSession(of=session.sid, round=1, settings={"round_limit": 3}))
                    await client.result(fork)
                    await _keep(client, fork, folder / f"{FORK}.jsonl")
            for sid, protocol in STANDING.items():
                await _keep(client, sid, folder / f"{protocol.name}.jsonl")


async def _keep(client: Client, sid: str, path: Path) -> None:
    found = Record(sid=sid, entries=tuple(await client.log(sid)))
    path.write_text("".join(f"{line}\n" for line in write(found)), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Record one short session of each protocol into a folder of samples.")
    parser.add_argument("folder", nargs="?", type=int, default=1, help="its number below tests/old_logs")
    asyncio.run(record(HERE / str(parser.parse_args().folder)))
