"""What prompts cost where an endpoint keeps the beginning of the last one: a session of each protocol.

    python -m parley_research.benchmarks prompts

The sessions run on a whole stack. Each seat's model makes the prompt that a language model would be sent
(agents/prompts/prompting.py), keeps it, and replies with words without sense, as many as are asked for; in a consensus
with the extractive model's words. The competition is the four stages at full length: eight debaters, two documents a
team, every speech, answer and note as long as a debater is told to make it. Tokens are our estimate, a third of the
bytes, which is on the high side.

A prompt is cached as far as a prompt before it, of the same seat in the same session, begins alike.
"""

import os
import random
import tempfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.models import make_model
from parley.agents.prompts.prompting import Prompt, build
from parley.agents.protocols import kind_of
from parley.agents.protocols.madp import kinds as tasks
from parley.agents.text.tokens import estimate
from parley.client import evidence
from parley.client.protocols.competition import files
from parley.schemas.belief import Belief, Share
from parley.schemas.protocols import critic
from parley.schemas.protocols.competition import messages as comp
from parley.schemas.protocols.maci import messages as maci
from parley.schemas.protocols.madp.work import Finding
from parley.schemas.session import Document, OpenSession
from parley.schemas.text import Citation
from parley.schemas.turn import Usage
from parley.stack.lease import Stack
from parley.stack.rows import AgentRow, rows_of

SHARE, UNCACHED = 0.9, 600_000
"""The targets: of a prompt up to its state, what returns as the beginning of the seat's next one; tokens of a
competition that do not."""
EXAMPLES = Path(__file__).parents[3] / "examples"
TASK = (
    "The tests of the invoice library fail: fix the rounding of the totals and the VAT so that they pass. Explain why."
)
DOCUMENT = 4_700
"""Characters of a team's document in the competition."""
PROTOCOLS = ("consensus", "critic", "maci", "madp", "competition")
_ROOM = 32


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    protocol: str
    calls: int
    tokens: int
    """Of all prompts."""
    uncached: int
    """Of these, the ones that no prompt before began with."""
    share: float
    """Of the prompts up to their state, what returned as the beginning of the seat's next one with the same head."""
    least: float
    """The same of the worst prompt."""
    largest: int
    """Tokens of the largest prompt."""
    cut: int
    """Prompts into which not everything fitted."""
    cut_documents: int
    """Prompts with a document that was cut."""


class Kept(msgspec.Struct, frozen=True):
    """One prompt, as its model was asked."""

    protocol: str
    seat: str
    kind: str
    text: str
    lasting: int
    cut: bool
    cut_documents: bool
    head: str = ""
    """What its prompt begins with, by name: a seat of a panel revises with one, and signs with another."""

    @classmethod
    def of(cls, shown: Shown, prompt: Prompt) -> "Kept":
        """Of a turn."""
        text = "".join(m["content"] for m in prompt.messages)
        whole = all(_inside(d.text) in _inside(text) for d in shown.documents)
        lasting = getattr(prompt, "lasting", len(text))
        head = kind_of(shown.protocol, shown.kind).head
        return cls(shown.protocol, shown.seat, shown.kind, text, lasting, "cut" in prompt.flags, not whole, head)


def _inside(text: str) -> str:
    return " ".join(text.split())


class Player:
    """Makes the prompt of each turn, keeps it in a file, and replies."""

    name = "simulated"
    family = "simulated"
    metered = True
    words = True
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._folder = Path(options["folder"])
        self._extractive = make_model("extractive")
        self._reviews = 0

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Words of some length, or the extractive model's."""
        line = msgspec.json.encode(Kept.of(shown, build(shown)))
        with (self._folder / f"{shown.protocol}-{shown.seat}-{os.getpid()}.jsonl").open("ab") as file:
            file.write(line + b"\n")
        if shown.protocol == "consensus":
            return await self._extractive.reply(shown, emit)
        return Completion(body=self._said(shown), usage=Usage(calls=1))

    def _said(self, shown: Shown) -> Any:
        brief, say = shown.brief, Words(f"{shown.session} {shown.turn} {shown.seat}")
        match brief:
            case comp.ConferBrief():
                return comp.Note(text=f"{shown.seat}: {say(150)}")
            case comp.SpeechBrief(words=words) | comp.AnswerBrief(words=words):
                cited = tuple(Citation(document=d.name, quote=" ".join(d.text.split()[:20])) for d in shown.documents)
                return comp.Spoken(text=say(int(0.9 * words)), citations=cited[:1])
            case comp.QuestionBrief():
                each = int(0.9 * brief.words / brief.least)
                return comp.Questions(
                    answerer=brief.answerers[0], questions=tuple(say(each) for _ in range(brief.least))
                )
            case comp.CaptainBrief():
                return comp.Decision(speaker=brief.may[0], direction=say(40))
            case comp.ScoreBrief():
                return comp.Marks(
                    logic=6, persuasion=7, expression=6, teamwork=5, rule_compliance=8,
                    comment=f"{brief.seat}: {say(40)}",
                )  # fmt: skip
            case comp.SummaryBrief():
                return comp.StageSummary(text=say(200))
            case comp.ReviewBrief():
                return comp.FinalReview(text=say(400))
            case critic.AnswerBrief():
                return critic.Answer(answer=say(20), reasoning=say(150), confidence=0.9)
            case critic.CritiqueBrief():
                return critic.Critique(objection=say(60))
            case critic.JudgeBrief():
                return critic.Judgement(score=70.0, comment=say(30))
            case critic.VerdictBrief():
                return critic.Verdict(reasoning=say(100), ruling=critic.UPHOLDS)
            case critic.SignBrief():
                return critic.Signature(states="yes")
            case critic.CountersignBrief():
                return critic.Countersignature(reason=say(30))
            case maci.BlindBrief():
                return maci.Blind(belief=_belief(brief.outcomes), reasoning=say(100))
            case maci.ArgueBrief():
                case = maci.Argument(claim=say(30), reasons=(say(30), say(30)))
                return maci.Case(arguments=(case,), belief=brief.belief, changed=say(20))
            case maci.CritBrief():
                return maci.Crit(scores=tuple(_score(item, say(20)) for item in brief.items))
            case maci.PlanBrief():
                return maci.Tests()
        match shown.reply:
            case tasks.WorkReply:
                return tasks.WorkReply(outcome="done", summary=say(40), output=say(400))
        self._reviews += 1
        if self._reviews > 1:
            return tasks.ReviewReply(verdict="approved")
        finding = Finding(severity="major", description=say(40), location="app.py:1")
        return tasks.ReviewReply(verdict="revision_needed", findings=(finding,))


def _belief(outcomes: Sequence[str]) -> Belief:
    return tuple(Share(outcome=outcome, p=1 / len(outcomes)) for outcome in outcomes)


def _score(item: maci.AnonymousItem, why: str) -> maci.Score:
    links = (0.5,) * len(item.reasons)
    return maci.Score(item=item.item, links=links, evidence=0.5, logic=0.5, relevance=0.5, justification=why)


class Words:
    """Words without sense, by a seed: no two texts are alike. With its space a word has six bytes, as in English."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(sha256(seed.encode()).digest())

    def __call__(self, count: int) -> str:
        pick = self._random.choice
        return " ".join(
            "".join(pick("bdfgklmnprstvz") + pick("aeiou") for _ in range(pick((1, 2, 3, 4))))
            for _ in range(max(1, count))
        )


def make(options: Mapping[str, Any]) -> Player:
    """For `model: parley_research.benchmarks.prompts:make`."""
    return Player(options)


def request(protocol: str) -> OpenSession:
    """What is played of a protocol."""
    if protocol == "madp":
        return OpenSession(question=TASK, protocol=protocol, seed=1, turn_timeout_s=600.0)
    if protocol == "competition":
        whole = files.whole({})
        seats = [seat for seat in files.seats({}) if seat.startswith(("pro", "con"))]
        documents = []
        for team in ("pro", "con"):
            held = tuple(seat for seat in seats if seat.startswith(team))
            for i in (1, 2):
                text = Words(f"{team} {i}")(DOCUMENT)[:DOCUMENT]
                documents.append(
                    Document(id=sha256(text.encode()).hexdigest(), name=f"{team}/{i}.md", text=text, holders=held)
                )
        question = "This house would measure before it argues."
        return OpenSession(
            question=question, protocol=protocol, settings=whole, documents=tuple(documents), seed=1,
            turn_timeout_s=600.0,
        )  # fmt: skip
    name, roles = _EXAMPLE[protocol]
    root, settings = EXAMPLES / name, {}
    if protocol == "maci":
        settings = {"outcomes": [x.strip() for x in (root / "outcomes.txt").read_text().splitlines() if x.strip()]}
    return OpenSession(
        question=(root / "question.txt").read_text().strip(), protocol=protocol, settings=settings,
        documents=evidence.read(root / "evidence", roles).documents, seed=1, turn_timeout_s=600.0,
    )  # fmt: skip


_EXAMPLE = {
    "consensus": ("rollout", ("panelist_1", "panelist_2", "panelist_3", "analyst")),
    "critic": ("critic-fleet", ("answerer", "critic", "judge")),
    "maci": ("diagnosis", ("debater_1", "debater_2", "judge", "analyst")),
}


def _stack(folder: str) -> Stack:
    rows: dict[str, AgentRow] = {}
    for protocol in PROTOCOLS:
        for row in rows_of(protocol, settings=request(protocol).settings):
            rows.setdefault(row.queue, row)
    rows.pop("helper", None)
    player = {"model": "parley_research.benchmarks.prompts:make", "options": {"folder": folder}}
    seats = tuple(msgspec.structs.replace(r, room=_ROOM, process="seats", **player) for r in rows.values())
    return Stack(agents=(AgentRow(queue="helper"), *seats), log_level="WARNING")


async def measure(protocols: Sequence[str] = PROTOCOLS) -> list[Figure]:
    """One session of each."""
    return [figure(protocol, seats) for protocol, seats in (await played(protocols)).items()]


async def played(protocols: Sequence[str]) -> dict[str, dict[str, list[Kept]]]:
    """Protocol -> seat -> the prompts of one session, in order."""
    from parley_research.benchmarks.debates import (
        bench,  # it registers a protocol, for which whoever counts prompts has no use
    )

    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        async with bench(_stack(folder)) as running:
            for protocol in protocols:
                _, result = await running.play(request(protocol))
                if result.status != "finished" or result.outcome.get("silent") or result.outcome.get("unscored"):
                    raise RuntimeError(f"the session of {protocol} ended by {result.stop.reason}")
        return {protocol: _kept(Path(folder), protocol) for protocol in protocols}


def _kept(folder: Path, protocol: str) -> dict[str, list[Kept]]:
    by_seat: dict[str, list[Kept]] = {}
    for file in sorted(folder.glob(f"{protocol}-*.jsonl")):
        for line in file.read_bytes().splitlines():
            one = msgspec.json.decode(line, type=Kept)
            by_seat.setdefault(one.seat, []).append(one)
    return by_seat


def figure(protocol: str, seats: Mapping[str, Sequence[Kept]]) -> Figure:
    """What the prompts of one session come to."""
    every = [one for prompts in seats.values() for one in prompts]
    cached, returned, shares = 0, 0, []
    lasting = 0
    for prompts in seats.values():
        for i, after in enumerate(prompts):
            before = prompts[:i]
            cached += estimate(after.text[: max((alike(b.text, after.text) for b in before), default=0)])
            like = [b for b in before if b.head == after.head]
            if like:
                same = min(like[-1].lasting, alike(like[-1].text, after.text))
                returned, lasting = returned + same, lasting + like[-1].lasting
                shares.append(same / like[-1].lasting)
    tokens = sum(estimate(one.text) for one in every)
    return Figure(
        protocol=protocol, calls=len(every), tokens=tokens, uncached=tokens - cached,
        share=returned / max(1, lasting), least=min(shares, default=1.0),
        largest=max(estimate(one.text) for one in every), cut=sum(one.cut for one in every),
        cut_documents=sum(one.cut_documents for one in every),
    )  # fmt: skip


def alike(one: str, other: str) -> int:
    """Characters with which both begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def lines(figures: Sequence[Figure]) -> list[str]:
    """For people."""
    if not figures:
        return []
    printed = [
        f"{'prompts of a session, simulated replies':<40} {'calls':>6} {'tokens':>10} {'uncached':>10} "
        f"{'returns':>8} {'at least':>8} {'largest':>8} {'cut':>5} {'documents cut':>13}"
    ]
    for f in figures:
        row = f"  {f.protocol:<38} {f.calls:>6,} {f.tokens:>10,} {f.uncached:>10,} {f.share:>8.1%} {f.least:>8.1%}"
        printed.append(f"{row} {f.largest:>8,} {f.cut:>5} {f.cut_documents:>13}")
    return printed
