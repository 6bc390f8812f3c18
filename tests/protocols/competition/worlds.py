"""The whole reachable state graph of the competition in small worlds: every edge is taken.

Alphabet of a turn: a good reply, one in overtime (11 words where 10 are allowed), the judge's marks without and with a
violation that costs, a review that contradicts the count, a bad reply that was the last attempt, silence to the
deadline; beside them the timer before it is due, words from the floor by a seat of each team, and a cancel. In every
state no team's post is shown to the other team, to the judge or to the audience, and nobody but clients reads `scores`;
teams alternate in free debate, who has not spoken goes first, and totals are those recomputed from the posts. Every
path ends with a stop.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec

from parley.coordinator.commands import SayOn
from parley.coordinator.machine import Session
from parley.schemas import log
from parley.schemas.protocols.competition.format import Violation
from parley.schemas.protocols.competition.messages import (
    Ballot,
    Bid,
    Breach,
    CaptainBrief,
    Decision,
    FinalReview,
    Note,
    QuestionBrief,
    Questions,
    ScoreBrief,
    Spoken,
    StageSummary,
)
from parley.schemas.session import Budget
from parley.schemas.wire import decode, encode, raw
from tests.protocols.competition.play import (
    COMPETITION,
    PENALTIES,
    WEIGHTS,
    Play,
    exchange,
    free,
    marks,
    small,
    speech,
    vote,
    words,
)
from tests.support.walk import Move, Walk, attempts, expect, replies

COSTLY: dict[str, Violation] = {"answer": "counter_question", "question": "attacker_answered"}


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world: its format, and what may be said in it."""

    format: dict[str, Any]
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    budget: Budget = dataclasses.field(default_factory=Budget)
    spent: int = 0
    """Tokens that each turn takes."""
    overtime: bool = False
    violations: bool = False
    misses: bool = True
    floor: bool = False
    """Whether seats speak up unasked."""
    past: bool = False
    """Whether states are told apart by all that was said."""
    late: bool = False
    """Whether replies may also come at the very end of their deadline."""

    def opening(self) -> log.Opened:
        caps = {"max_input_tokens": 100, "max_output_tokens": 20, "attempts": 1, **self.settings}
        return Play(self.format, caps, budget=self.budget, metered=bool(self.budget.tokens)).session.opened


def stages(*all_: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Several stages, each a keyword set of `small`'s one stage."""
    f = small(speech("pro_1"), seats=1, **more)
    f["stages"] = [
        {"name": f"s{i}", "title": f"S{i}", "confer": 0, "summary": False, **stage} for i, stage in enumerate(all_)
    ]  # fmt: skip
    return dict(f)


SPEAK, SPEAK_CON = speech("pro_1"), speech("con_1")
ASK, FREE = exchange("pro_1", "con_1"), free(10, speeches=1)
BIDS = free(10, speeches=1, mode="concurrent")
BEGINS: dict[str, dict[str, Any]] = {
    "speech": SPEAK_CON, "exchange": ASK, "free": FREE, "bids": BIDS, "vote": vote("before"),
}  # fmt: skip
"""What an item may be followed by."""


def pairs() -> Iterator[tuple[str, Small]]:
    """Each kind of item before each other, and before what ends a stage."""
    for name, first in BEGINS.items():
        for after, second in BEGINS.items():
            yield f"{name}, {after}", Small(stages({"agenda": [first, second]}, audience=1))
        yield f"{name}, summary", Small(stages({"agenda": [first], "summary": True}, audience=1))
        yield f"{name}, conferring", Small(stages({"agenda": [first]}, {"agenda": [SPEAK], "confer": 1}, audience=1))
    quiet = speech("pro_1", scored=False)
    for after, second in BEGINS.items():
        yield f"unscored, {after}", Small(stages({"agenda": [quiet, second]}, audience=1))
        yield f"confer, {after}", Small(stages({"agenda": [second], "confer": 1}, audience=1))
        yield f"summary, {after}", Small(
            stages({"agenda": [SPEAK], "summary": True}, {"agenda": [second]}, audience=1)
        )  # fmt: skip
    yield "unscored, summary", Small(stages({"agenda": [quiet], "summary": True}))
    yield "unscored, conferring", Small(stages({"agenda": [quiet]}, {"agenda": [SPEAK], "confer": 1}))
    yield "summary, conferring", Small(stages({"agenda": [SPEAK], "summary": True}, {"agenda": [SPEAK], "confer": 1}))


WORLDS: dict[str, Small] = {
    **dict(pairs()),
    "rich": Small(
        small(speech("pro_1"), exchange("con_1", "pro_1"), free(20, speeches=1), seats=1),
        overtime=True, violations=True, misses=False, floor=True, past=True,
    ),
    "free of two": Small(small(free(30, speeches=2)), overtime=True, misses=False, past=True),
    "silent in a free debate": Small(small(free(30, speeches=2)), floor=True),
    "silent in an exchange": Small(small(exchange("con_1", "pro_1", "pro_2")), past=True),
    "bids of two": Small(small(free(20, speeches=2, mode="concurrent")), misses=False, floor=True),
    "bids missed": Small(small(free(10, speeches=1, mode="concurrent", everybody=False))),
    "votes": Small(
        small(vote("before"), speech("pro_1"), vote("after"), seats=1, audience=2, decided_by="votes"), past=True
    ),
    "unscored at the end": Small(stages({"agenda": [speech("pro_1", scored=False)]})),
    "two attempts": Small(stages({"agenda": [ASK], "summary": True}), {"attempts": 2}),
    "seconds": Small(
        stages({"agenda": [SPEAK, ASK, BIDS, vote("before")], "confer": 1, "summary": True}, audience=1),
        budget=Budget(seconds=5), late=True, misses=False,
    ),
    "seconds, captain": Small(stages({"agenda": [FREE]}), budget=Budget(seconds=5), late=True, misses=False),
    **{
        f"{n} turns": Small(
            stages(
                {"agenda": [SPEAK, SPEAK_CON, ASK, BIDS, vote("before")], "confer": 1, "summary": True},
                {"agenda": [SPEAK], "confer": 1}, audience=1,
            ),
            budget=Budget(tokens=240 * (n + 1)), spent=240, misses=False,
        )
        for n in range(2, 22)
    },
    **{
        f"too dear: {name}": Small(
            stages({"agenda": [speech("pro_1", scored=False), second]}, audience=1),
            budget=Budget(tokens=240 * 2), spent=240,
        )
        for name, second in BEGINS.items()
    },
    "too dear: summary": Small(
        stages({"agenda": [speech("pro_1", scored=False)], "summary": True}), budget=Budget(tokens=240 * 2), spent=240
    ),
    "captain too dear": Small(stages({"agenda": [SPEAK, FREE]}), budget=Budget(tokens=240 * 3), spent=240),
}  # fmt: skip


def bodies(world: Small, ask: log.Ask) -> Iterator[object]:
    match ask.kind:
        case "confer":
            yield Note(text="n")
        case "speak" | "answer":
            yield Spoken(text=f"well said by {ask.seat}")
            if world.overtime:
                yield Spoken(text=words(11))
        case "question":
            for answerer in decode(ask.brief, QuestionBrief).answerers:
                yield Questions(answerer=answerer, questions=("why", "how", "when"))
        case "captain":
            yield from (Decision(speaker=x, direction="d") for x in decode(ask.brief, CaptainBrief).may)
        case "bid":
            yield from (Bid(wants=wants) for wants in (True, False))
        case "score":
            yield marks(5)
            act = decode(ask.brief, ScoreBrief).act
            if world.violations and act in COSTLY:
                yield marks(5, Breach(kind=COSTLY[act], quote="why" if act == "question" else "w"))
        case "summarize":
            yield StageSummary(text="s")
        case "review":
            yield FinalReview(text="r")
            if ask.attempt == 1 and world.violations:
                yield FinalReview(text="Pro has won. Con has won.")  # whatever was counted
        case "vote":
            yield from (Ballot(choice=choice) for choice in ("pro", "con"))


def moves(world: Small, session: Session) -> Iterator[Move]:
    """Everything that may happen next, and when. Of turns of a kind that are open at once the first moves first; the
    judge's may come before or after another's, but where states are told apart by all that was said."""
    now = session.at_ns
    kinds = {t.ask.kind: t for t in reversed(session.turns.values())}
    first = next(iter(session.turns.values()))
    for turn in (first,) if world.past else kinds.values():
        yield from replies(turn, bodies(world, turn.ask), now, tokens=world.spent, late=world.late, misses=world.misses)
    assert session.timer_ns is not None
    if world.misses or world.budget.seconds:
        yield log.TimerFired(), max(session.timer_ns, max(t.ask.deadline_ns for t in session.turns.values()))
    yield log.TimerFired(), now
    if world.floor:
        for author in ("pro_2", "con_2"):
            yield log.Spoke(author=author, channel="public", window=str(session.n), kind="speech", body=raw(None)), now


def key(world: Small, session: Session) -> bytes:
    """What a session's future depends on, and in a world that is told apart by its past too, all that was said: not why
    a seat was silent, nor, without a limit of seconds, since when."""
    s = session.inner
    asks = [[t.ask.seat, t.ask.kind, t.ask.attempt, t.ask.brief] for t in session.turns.values()]
    late = session.at_ns - session.opened_ns if session.opened.budget.seconds else 0
    spent = session.ledger if session.opened.budget.tokens else None
    past: Any = (s.phase, s.short, s.stage, s.item, s.conferred, s.here(), s.complete, len(s.bids), len(s.ballots), any(
        x.post is not None for x in s.lines))  # fmt: skip
    if world.past:
        said = [[p.kind, p.seat, p.body if p.kind != "silent" else None] for p in session.posts if p.kind != "closed"]
        past = (s, said)
    else:
        asks = [ask[:3] for ask in asks]
    return encode([past, asks, spent, late, session.stopped is None, session.closed])


ORDER = ("conferring", "scoring", "speaking", "questioning", "answering", "voting", "bidding", "deciding", "debating")


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    s = session.inner
    ended = session.closed + (session.stopped is not None)
    phase = ORDER.index(s.phase) if s.phase in ORDER else len(ORDER)
    place = (bool(s.short), s.stage, s.item, sum(s.conferred), len(s.here())) if not ended else ()
    return (ended, *place, phase, -len(session.turns), len(s.interruptions), attempts(session))


def watch(phase: str, event: str, before: Any, after: Any, wishes: Iterable[Any]) -> None:
    """What a team or the judge says to itself goes nowhere else."""
    for w in wishes:
        if isinstance(w, SayOn) and w.kind in ("note", "bid", "decision"):
            assert w.channel in (f"team_{w.seat.split('_')[0]}", "judge_notes")


def hold(session: Session) -> None:
    """What is true in every state."""
    roles = {s.seat: s.role for s in session.opened.seats}
    for turn in session.turns.values():
        role = roles[turn.ask.seat]
        may = {"pro": {"public", "team_pro"}, "con": {"public", "team_con"}, "judge": {"public", "judge_notes"}}
        seen = {session.posts[n].channel for n in turn.ask.sees}
        assert seen <= may.get(role, {"public"}), (turn.ask.seat, seen)
    for p in session.posts:
        assert p.kind not in ("scored", "fine", "silent", "summary", "tally", "ballot") or p.channel == "scores"
        assert p.kind not in ("decision", "bid") or p.channel == f"team_{p.seat.split('_')[0]}"
    alternate(session)
    totals(session)


def alternate(session: Session) -> None:
    """In free debate the teams alternate, and whoever has not had a place goes first."""
    debated = [x for x in session.inner.lines if x.act == "free"]
    by_item: dict[tuple[int, int], list[Any]] = {}
    for line in debated:
        by_item.setdefault((line.stage, line.item), []).append(line)
    for lines in by_item.values():
        assert all(a.team != b.team for a, b in pairwise(lines))
        assert lines[0].team == "pro"
        for team in ("pro", "con"):
            seats = [x.seat for x in lines if x.team == team]
            size = session.settings.format.teams[team].seats
            if session.settings.format.stages[lines[0].stage].agenda[lines[0].item].everybody:
                assert len(set(seats[:size])) == len(seats[:size])


def totals(session: Session) -> None:
    """The last totals posted are the sums of all marks and fines posted until then."""
    expected: dict[str, float] = {}
    last: dict[str, float] = {}
    for p in session.posts:
        if p.kind not in ("scored", "fine"):
            continue
        body = msgspec.json.decode(p.body)
        given = body.get("marks")
        gains = [(p.seat, sum(WEIGHTS[k] * given[k] for k in WEIGHTS) if given else 0.0, 0.0)]
        gains += [(x["seat"], x["individual_points"], x["team_points"]) for x in body.get("fines", [])]
        if p.kind == "fine":
            gains = [(body["seat"], body["individual_points"], body["team_points"])]
            assert body["rule"] in PENALTIES
        for seat, own, team in gains:
            expected[seat] = expected.get(seat, 0) + own
            expected[seat[:3]] = expected.get(seat[:3], 0) + own + team
        last = body.get("totals") or last
        if p.kind == "scored":
            assert all(abs(last[who] - points) < 1e-6 for who, points in expected.items())


EXPECTED = {
    "rich": expect("nothing_said", "played", states=300),
    "votes": expect("nothing_said", "played", states=500),
    "seconds": expect("budget", "played", states=30),
    "4 turns": expect("budget", states=5),
}
WALK = Walk(COMPETITION, WORLDS, EXPECTED, moves, rank, key, hold=hold, watch=watch, may_be_refused=(log.Spoke,))
