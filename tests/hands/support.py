"""Hands for these tests: the smallest agent (agent.py), at a model's server that is played (stub.py)."""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from parley.agents.hands.catalogue import Hand, TurnLimits
from parley.agents.hands.hand import AgentHands
from parley.agents.model.base import Completion
from parley.agents.openai.options import EndpointOptions, parse
from parley.agents.secrets import Secret
from parley.agents.worker_model import WorkerModel
from parley.schemas.protocols.madp.work import SupportBrief, Work
from tests.hands.stub import KEY, Server
from tests.llm.support import silent
from tests.support.experts import FolderArtifacts
from tests.tools.support import SPEC, Scripted, asked, packed, support, work

AGENT = Path(__file__).with_name("agent.py")
APP = packed(app_dot_py="print('hi')\n")


def options(url: str, **more: Any) -> EndpointOptions:
    """A model at this address."""
    given = {"provider": "openai_compatible", "base_url": url, "model": "hand", "api_key": Secret(KEY)}
    return parse({**given, "usd_per_million_input": 1.0, "usd_per_million_output": 2.0, **more})


def tiny(server: Server, *, limits: TurnLimits | None = None, **env: str) -> AgentHands:
    """Hands that run anything."""
    variables = {"MODEL_URL": "{url}", "MODEL_TOKEN": "{token}", **env}
    hand = Hand(
        command=(sys.executable, str(AGENT)), env=variables, out="result", reads=(AGENT,),
        limits=limits or TurnLimits(),
    )  # fmt: skip
    return AgentHands("tiny", hand, options(server.url))


class Turn(NamedTuple):
    """A turn that was answered."""

    done: Completion
    artifacts: FolderArtifacts

    @property
    def work(self) -> Work:
        """What it handed in."""
        assert isinstance(self.done.body, Work)
        return self.done.body


async def turn(hands: AgentHands, folder: Path, brief: Any = None, **more: Any) -> Turn:
    """A turn of work, or of this brief, on a folder with one file. `folder`: where artifacts lie."""
    artifacts = FolderArtifacts(folder)
    start = await artifacts.put(APP)
    brief = msgspec.structs.replace(brief or work(), folder=start.id)
    if not isinstance(brief, SupportBrief):
        brief = msgspec.structs.replace(brief, base=start.id)
    kind = "support" if isinstance(brief, SupportBrief) else "work"
    model = WorkerModel(Scripted({"outcome": "done", "summary": "never asked"}), SPEC, None, hands)
    return Turn(await model.reply(asked(kind, brief, **more), silent, artifacts), artifacts)


__all__ = ["AGENT", "APP", "Turn", "options", "support", "tiny", "turn", "work"]
