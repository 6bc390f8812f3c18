"""A stub model for the real engine: fixed answers, a latency, and a journal of every call that was begun.

The journal is a file that all processes append to (one line a call: Unix ns, process, session, turn, attempt): it
counts calls where they are begun, at the model, whatever becomes of the process afterwards.

With `fingerprint` a reply repeats a hash of everything that was shown, so that two runs say the same only if every
seat saw the same, in the same order, in every round before.
"""

import asyncio
import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.protocols.compound import extractive as parts
from parley.schemas.protocols.consensus import Conclusion, Position, Signature
from parley.schemas.turn import Usage
from parley.schemas.voting import ApprovalBallot, RankBallot, Ruling, ScoreBallot
from parley.schemas.wire import encode
from tests.support.compared import comparison


class Call(msgspec.Struct, frozen=True):
    """One line of the journal."""

    at_ns: int
    """Unix time at which the call was begun."""
    pid: int
    session: str
    turn: str
    """As `turn_name` has it."""
    attempt: int


def turn_name(seat: str, kind: str, round_: int, sees: Iterable[int]) -> str:
    """`<seat>/<kind>/<round>/<last post shown>`: a seat may be asked the same twice in a round, and has heard more."""
    return f"{seat}/{kind}/{round_}/{max(sees, default=-1)}"


def read_journal(path: Path) -> list[Call]:
    """The calls begun so far, in the order in which they were written down."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return []
    fields = (line.split() for line in lines)
    return [Call(int(at), int(pid), session, turn, int(attempt)) for at, pid, session, turn, attempt in fields]


def write_down(journal: str, shown: Shown) -> None:
    """One line in the journal: a call is begun."""
    turn = turn_name(shown.seat, shown.kind, shown.round, (o.post for o in shown.others))
    line = f"{time.clock_gettime_ns(time.CLOCK_REALTIME)} {os.getpid()} {shown.session} {turn} {shown.attempt}\n"
    fd = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(fd, line.encode())
    os.close(fd)


AGREED = "the agreed answer"
HOLDS_OUT = "Who holds out?"
"""The question at which the third panelist signs nothing."""
NO_ANSWER = "Who never answers?"
"""The question at which everybody thinks until the session is over."""


class StubModel:
    """Panelists disagree in the first round and agree from `agree_from` on, each in its own words, which the others
    sign; the analyst scores accordingly."""

    name = "stub"
    family = "stub"

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.latency_s = float(options.get("latency_s", 0.0))
        self.agree_from = int(options.get("agree_from", 2))
        self.scores = [float(s) for s in options.get("scores", ())]
        self.journal = options.get("journal")
        self.fingerprint = bool(options.get("fingerprint", False))
        self.metered = bool(options.get("metered", False))
        self.usd_per_million_input = float(options.get("usd_in", 0.0))
        self.usd_per_million_output = float(options.get("usd_out", 0.0))
        self.tokens = int(options.get("tokens", 0))

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The fixed answer, after the latency."""
        if self.journal:
            write_down(self.journal, shown)
        emit(f"{shown.seat} thinks")
        if shown.question == NO_ANSWER:
            await asyncio.Event().wait()
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        usage = Usage(input_tokens=self.tokens, output_tokens=self.tokens, calls=1)
        return Completion(body=self._body(shown), usage=usage)

    def _body(self, shown: Shown) -> Any:
        seen = f" having seen {fingerprint(shown)}" if self.fingerprint else ""
        agreed = shown.round >= self.agree_from
        score = self.scores[shown.round - 1] if shown.round <= len(self.scores) else (95.0 if agreed else 40.0)
        if shown.protocol == "compound":
            return {"split": parts.split, "join": parts.join, "sign": parts.sign}[shown.kind](shown)
        if shown.kind == "compare":
            said = {other.post: other.body.answer for other in shown.others}
            apart = () if agreed else ("the answer",)
            return comparison(
                shown.brief, {w.post: said[w.post] for w in shown.brief.positions}, score, key_disagreements=apart
            )
        if shown.kind in ("rank", "approve", "score", "judge"):
            return ballot(shown)
        if shown.kind == "conclude":
            answer, why = AGREED, f"all say so{seen}"
            return Conclusion(group=shown.brief.label, reasoning=why, answer=answer)
        if shown.kind == "sign" and shown.question == HOLDS_OUT and shown.seat.endswith("_3"):
            return Signature(states="neither", differs=shown.brief.first.sentence)
        if shown.kind == "sign":
            brief = shown.brief
            if AGREED in brief.first.sentence:
                return Signature(states="first")
            second = brief.second is not None and AGREED in brief.second.sentence
            return Signature(states="second" if second else "neither", differs=brief.first.sentence)
        own = AGREED if shown.seat.endswith("_1") else f"{AGREED}, as {shown.seat} words it"
        answer = own if agreed else f"the answer of {shown.seat}"
        moved = shown.kind == "revise" and shown.own is not None and shown.own.answer != answer
        return Position(
            answer=answer,
            reasoning=f"{shown.seat} in round {shown.round}{seen}",
            confidence=0.8,
            change="partly" if moved else "kept",
            change_reason="the others were right" if moved else "",
        )


def ballot(shown: Shown) -> Any:
    """Everybody puts the answers in the order of the alphabet."""
    ranked = sorted(range(len(shown.brief.choices)), key=lambda n: shown.brief.choices[n].sentence)
    order = tuple(n + 1 for n in ranked)
    match shown.kind:
        case "rank":
            return RankBallot(order=order)
        case "approve":
            return ApprovalBallot(approved=order[:1])
        case "score":
            return ScoreBallot(scores=tuple(10.0 - ranked.index(n) for n in range(len(ranked))))
    first = shown.others[0]
    return Ruling(
        reasoning="r", because="It is the first.", post=first.post, quote=first.body.reasoning, choice=order[0]
    )


def fingerprint(shown: Shown) -> str:
    """Question, brief, peers in the order shown, own position: 64 bits, hex."""
    parts = [shown.question, shown.brief, [(o.post, o.body) for o in shown.others], shown.own]
    return hashlib.blake2b(encode(parts), digest_size=8).hexdigest()


def late(options: Mapping[str, Any]) -> StubModel:
    """For `model: tests.support.model:late`: made once the file of option `until` is there, as on a busy machine."""
    deadline = time.monotonic() + 60
    while not os.path.exists(options["until"]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return StubModel(options)


def make(options: Mapping[str, Any]) -> StubModel:
    """For `model: tests.support.model:make`."""
    return StubModel(options)
