"""The coordination trace of a MADP task (seeds/madp.md 7.2): a pure fold over its log.

Traces are stored because the log is: nothing is written beside it, and a trace can be made of every session that the
log, or an exported file, still holds.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from parley.schemas import log
from parley.schemas.protocols.madp.messages import Challenge, Challenges, ClaimsPosted, Consensus, TaskPosted, Worded
from parley.schemas.protocols.madp.trace import CoordinationTrace, Intake, Phases, PhaseUsage, TokenUsage, TracedTurn
from parley.schemas.wire import Json, SchemaError, decode

COORDINATION = {"match": "intake", "words": "claims"}
"""Kind of turn -> the phase whose tokens it took (8.1); one turn words claims and challenges, and counts as claims."""
EXECUTION, REVIEW = ("work", "support"), ("review",)
PROTOCOL = "madp"


class NoTrace(ValueError):
    """A log of which no coordination trace can be made, and why."""


def trace(session: str, entries: Iterable[log.Entry]) -> CoordinationTrace:
    """The trace of one task, as far as its log goes.

    Parameters
    ----------
    entries
        From the opening on, in order.

    Raises
    ------
    NoTrace
        The log does not begin with an opening, or is another protocol's.
    """
    fold = _Fold(session)
    for entry in entries:
        fold.take(entry)
    return fold.trace()


class _Fold:
    def __init__(self, session: str) -> None:
        self._session = session
        self._opened: log.Entry | None = None
        self._open: dict[str, tuple[log.Ask, int]] = {}
        self._tokens = dict.fromkeys((*COORDINATION.values(), "consensus"), 0)
        self._steps: list[TracedTurn] = []
        self._children = PhaseUsage()
        self._task: TaskPosted | None = None
        self._claims: ClaimsPosted | None = None
        self._challenges: list[Challenge] = []
        self._consensus: Consensus | None = None
        self._assigned_ns: int | None = None
        self._overrides = 0

    def take(self, entry: log.Entry) -> None:
        if self._opened is None:
            self._opens(entry)
        match entry.event:
            case log.Replied():
                self._replied(entry, entry.event)
            case log.Decided(item="expert"):
                self._overrides += 1
            case log.ChildEnded() if entry.event.ended.result is not None:
                usage = entry.event.ended.result.usage
                self._children = PhaseUsage(
                    turns=self._children.turns + usage.turns,
                    tokens=self._children.tokens + usage.input_tokens + usage.output_tokens,
                    seconds=self._children.seconds + entry.event.ended.result.duration_s,
                )
        for index, command in enumerate(entry.commands):
            if isinstance(command, log.Ask):
                self._open[f"{entry.n}-{index}"] = (command, entry.at_ns)
            elif isinstance(command, log.Say):
                self._said(entry, command)

    def _opens(self, entry: log.Entry) -> None:
        event = entry.event
        if not isinstance(event, log.Opened):
            raise NoTrace(f"session {self._session}: its log does not begin with its opening")
        if event.protocol != PROTOCOL:
            raise NoTrace(f"session {self._session} ran {event.protocol}; a coordination trace is {PROTOCOL}'s")
        self._opened = entry

    def _replied(self, entry: log.Entry, event: log.Replied) -> None:
        opened = self._open.pop(event.turn, None)
        if opened is None:
            return
        ask, asked_ns = opened
        tokens = event.usage.input_tokens + event.usage.output_tokens
        if ask.kind in COORDINATION:
            self._tokens[COORDINATION[ask.kind]] += tokens
        elif ask.kind in (*EXECUTION, *REVIEW):
            self._steps.append(
                TracedTurn(
                    round=ask.round,
                    seat=ask.seat,
                    kind=ask.kind,
                    outcome=_outcome(event),
                    tokens=tokens,
                    duration_ms=_ms(asked_ns, entry.at_ns),
                )
            )

    def _said(self, entry: log.Entry, say: log.Say) -> None:
        match say.kind:
            case "task":
                self._task = _body(say.body, TaskPosted)
            case "claims":
                self._claims = _body(say.body, ClaimsPosted)
            case "worded":
                worded = _body(say.body, Worded)
                if self._claims is not None and worded is not None:
                    self._claims = in_words(self._claims, worded)
            case "challenges":
                challenges = _body(say.body, Challenges)
                self._challenges += challenges.challenges if challenges is not None else ()
            case "consensus":
                self._consensus = _body(say.body, Consensus) or self._consensus
                self._assigned_ns = self._assigned_ns or entry.at_ns
                self._overrides += self._consensus is not None and self._consensus.how == "override"
            case "closed":
                body = _body(say.body, dict[str, Any]) or {}
                self._overrides = int((body.get("outcome") or {}).get("overrides") or self._overrides)

    def trace(self) -> CoordinationTrace:
        if self._opened is None:
            raise NoTrace(f"session {self._session}: its log is empty")
        began_ns, consensus = self._opened.at_ns, self._consensus
        return CoordinationTrace(
            id=consensus.deliberation_id if consensus else self._session,
            task_id=self._session,
            timestamp=datetime.fromtimestamp(began_ns / 1e9, UTC).isoformat(timespec="milliseconds"),
            duration_ms=None if self._assigned_ns is None else _ms(began_ns, self._assigned_ns),
            phases=Phases(
                intake=_intake(self._task),
                claims=self._claims.claims if self._claims else (),
                challenges=tuple(self._challenges),
                consensus=consensus,
                passed=self._claims.passed if self._claims else (),
                silent=self._claims.silent if self._claims else (),
                excluded=consensus.outcome.excluded if consensus else (),
            ),
            token_usage=TokenUsage(**self._tokens, total=sum(self._tokens.values())),
            execution=self._usage(EXECUTION),
            review=self._usage(REVIEW),
            deliberation=self._children,
            steps=tuple(self._steps),
            overrides=self._overrides,
        )

    def _usage(self, kinds: tuple[str, ...]) -> PhaseUsage:
        steps = [s for s in self._steps if s.kind in kinds]
        return PhaseUsage(
            turns=len(steps), tokens=sum(s.tokens for s in steps), seconds=sum(s.duration_ms for s in steps) / 1e3
        )


def in_words(claims: ClaimsPosted, worded: Worded) -> ClaimsPosted:
    """The claims as a model words them."""
    said = {c.agent_id: c for c in worded.claims}
    return msgspec.structs.replace(
        claims,
        claims=tuple(
            msgspec.structs.replace(c, claim=said[c.agent_id].claim, relevance=said[c.agent_id].relevance)
            if c.agent_id in said
            else c
            for c in claims.claims
        ),
    )


def _intake(task: TaskPosted | None) -> Intake:
    if task is None:
        return Intake()
    return Intake(
        candidates=tuple(c.expert for c in task.candidates),
        complexity_factors=task.factors,
        coordination_depth=task.depth,
        matched=task.candidates,
        matcher=task.matcher,
    )


def _outcome(event: log.Replied) -> str:
    """What a reply says became of it: `outcome` of work, `verdict` of a review."""
    if event.error:
        return "failed"
    body = _body(event.body, dict[str, Any]) or {}
    return str(body.get("outcome") or body.get("verdict") or "")


def _body(body: Json, wanted: Any) -> Any:
    """The body as this type; None if it is none."""
    try:
        return decode(body, wanted)
    except SchemaError:
        return None


def _ms(from_ns: int, to_ns: int) -> float:
    return round(max(0, to_ns - from_ns) / 1e6, 3)
