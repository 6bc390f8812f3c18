"""What the coordination of a task takes in tokens, by depth: `python -m parley_research.benchmarks.coordination`.

Each task is played on a whole stack with the experts that ship. Their model is sent the prompts that a language model
is sent, and replies words without sense, twenty for each claim and for one challenge. Tokens are counted at four
characters each, of prompts and replies. The helper computes the match and asks no model.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.prompts.prompting import build
from parley.agents.protocols.madp import kinds as tasks
from parley.schemas.protocols.madp import messages
from parley.schemas.protocols.madp.work import Finding
from parley.schemas.session import OpenSession
from parley.schemas.turn import Usage
from parley.stack.lease import Stack
from parley.stack.rows import AgentRow, rows_of
from parley_research.benchmarks.prompts import Player, Words

TASKS = (
    "fix the typo in the README",
    "write a test for this function",
    "we take on a bank: data of each tenant apart, keys of their own, a second region",
    "group our customers by how they buy",
)
SOURCE = {"instant": "0", "quick": "50", "standard": "150", "extended": "400"}
"""Tokens of each depth as the source draws them; its table of phases (8.1) has some more."""
_CHARACTERS = 4
"""Of a token."""


class Cost(NamedTuple):
    """Tokens of one task."""

    depth: str
    wording: str
    tokens: int


class Counting(Player):
    """Counts what it is sent and says."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Words, and their tokens."""
        prompt = sum(len(m["content"]) for m in build(shown).messages)
        body = self._said(shown)
        said = len(msgspec.json.encode(body))
        return Completion(
            body=body,
            usage=Usage(input_tokens=prompt // _CHARACTERS, output_tokens=said // _CHARACTERS, calls=1),
        )

    def _said(self, shown: Shown) -> Any:
        say = Words(f"{shown.kind} {shown.seat}")
        match shown.reply:
            case messages.Worded:
                ids = [c.agent_id for c in shown.brief.claims]
                one = messages.Challenge(
                    challenger_id=ids[0], challenged_id=ids[1], reason=say(20), proposed_resolution="collaborate"
                )
                claims = tuple(messages.WordedClaim(agent_id=x, claim=say(20), relevance="medium") for x in ids)
                return messages.Worded(claims=claims, challenges=(one,))
            case tasks.ReviewReply:
                finding = Finding(severity="suggestion", description=say(20), location="a.py:1")
                return tasks.ReviewReply(verdict="approved", findings=(finding,))
        return super()._said(shown)


def make(options: Mapping[str, Any]) -> Counting:
    """For `model: parley_research.benchmarks.coordination:make`."""
    return Counting(options)


async def measure() -> list[Cost]:
    """Each task, with models that word what is said from `extended` on, as by default, and from `standard` on."""
    from parley_research.benchmarks.debates import bench

    costs = []
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        player = {"model": "parley_research.benchmarks.coordination:make", "options": {"folder": str(Path(folder))}}
        rows = [r for r in rows_of("madp", settings={}) if r.queue not in ("helper", "check")]
        seats = tuple(msgspec.structs.replace(r, room=8, process="seats", **player) for r in rows)
        async with bench(Stack(agents=(AgentRow(queue="helper"), *seats), log_level="WARNING")) as running:
            for wording in ("extended", "standard"):
                for task in TASKS:
                    opening = OpenSession(
                        question=task, protocol="madp", settings={"wording": wording}, seed=1, turn_timeout_s=60.0
                    )
                    _, result = await running.play(opening)
                    costs.append(_cost(result.outcome, wording))
    return costs


def _cost(outcome: Mapping[str, Any], wording: str) -> Cost:
    tokens: Mapping[str, int] = outcome["tokens"]
    spent = sum(tokens.get(phase, 0) for phase in ("intake", "claiming", "challenging", "wording"))
    return Cost(str(outcome["depth"]), wording, spent)


def table(costs: list[Cost]) -> list[str]:
    """A row for each depth, in the source's order."""
    rows = [f"{'depth':<10} {'the source':>10} {'here by default':>17} {'with wording: standard':>24}"]
    for depth, source in SOURCE.items():
        said = {c.wording: f"{c.tokens:,}" for c in costs if c.depth == depth}
        rows.append(f"{depth:<10} {source:>10} {said['extended']:>17} {said['standard']:>24}")
    return rows


if __name__ == "__main__":
    print("\n".join(table(asyncio.run(measure()))))
