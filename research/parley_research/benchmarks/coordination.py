"""What the coordination of a task takes in tokens, by depth: `python -m parley_research.benchmarks.coordination`.

The tasks are those of the golden set's test half, with the replies to the helper's question that are on record. Each is
routed by the machine itself, up to who leads. Tokens are counted at four characters each: of the question who leads and
its reply, where the helper asks; and where a challenge is open at the depth that asks for it, of the turn that words
it, with as many words as were declared.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from parley.agents.context import Shown
from parley.agents.prompts.prompting import build
from parley.client.protocols.madp.routing_preview import RoutingPreview
from parley.coordinator.protocols.madp.depth import worded
from parley.coordinator.protocols.madp.state import State
from parley.coordinator.protocols.madp.turns import disputed
from parley.routing import specs_of
from parley.schemas.protocols.madp.messages import Settings, Worded, WordedClaim, WordsBrief
from parley.schemas.routing import DEPTHS, Task
from parley.schemas.turn import Caps
from parley_research.route import asked, questions, tasked
from parley_research.routing_data import answers, golden

SOURCE = {"instant": "0", "quick": "50", "standard": "150", "extended": "400"}
"""Tokens of each depth as the source draws them; its table of phases (8.1) has some more."""
MOST = 400
"""The source's limit (7.1)."""
_CHARACTERS = 4
"""Of a token."""
_REPLY = ("lead", "support", "confidence")


class Cost(NamedTuple):
    """Tokens of one task."""

    depth: str
    asking: int
    wording: int

    @property
    def tokens(self) -> int:
        """Of both."""
        return self.asking + self.wording


async def measure() -> list[Cost]:
    """Each task."""
    of = golden("test", specs_of(None))
    replies = answers(of)
    below = Settings().ask_below
    asking = {q.n: len(q.system) + len(q.user) for q in await questions(of, below)}
    for n in asking.keys() & replies.keys():
        asking[n] += _size({name: getattr(replies[n], name) for name in _REPLY})
    router = RoutingPreview(of.specs)
    costs = []
    for n, (case, matched) in enumerate(zip(of.cases, (await asked(of, replies, below)).matches, strict=True)):
        s: State = router.coordinated(tasked(case), matched).inner
        tokens = asking.get(n, 0) // _CHARACTERS
        costs.append(Cost(s.depth or "none", tokens, _wording(s, tasked(case)) // _CHARACTERS))
    return costs


def _wording(s: State, task: Task) -> int:
    """Characters of the turn that words what is disputed; 0: there is none."""
    if not s.challenges or not worded(s.depth or "instant", Settings()):
        return 0
    brief = WordsBrief(task=task, claims=disputed(s), challenges=s.challenges)
    shown = Shown(
        session="benchmark", protocol="madp", question=task.prompt, seat="generalist", role="expert", kind="words",
        round=0, brief=brief, reply=Worded, caps=Caps(input_tokens=24_000),
    )  # fmt: skip
    claims = [WordedClaim(agent_id=c.agent_id, claim=c.claim, relevance=c.relevance) for c in brief.claims]
    reply = Worded(claims=tuple(claims), challenges=s.challenges)
    return sum(len(m["content"]) for m in build(shown).messages) + _size(reply)


def _size(reply: Any) -> int:
    return len(msgspec.json.encode(reply))


def table(costs: Sequence[Cost]) -> list[str]:
    """A row for each depth, in the source's order, and one for all tasks."""
    rows = [f"{'depth':<10} {'the source':>10} {'tasks':>6} {'median':>7} {'p95':>6} {'worded':>7} {'at most 400':>12}"]
    for depth in (*DEPTHS, "all"):
        of = [c for c in costs if depth in (c.depth, "all")]
        tokens = sorted(c.tokens for c in of) or [0]
        p95 = tokens[-(-95 * len(tokens) // 100) - 1]
        within = sum(t <= MOST for t in tokens) / len(tokens)
        rows.append(
            f"{depth:<10} {SOURCE.get(depth, ''):>10} {len(of):>6} {tokens[len(tokens) // 2]:>7,} {p95:>6,} "
            f"{sum(c.wording > 0 for c in of):>7} {within:>12.1%}"
        )
    return rows


if __name__ == "__main__":
    print("\n".join(table(asyncio.run(measure()))))
