"""The whole reachable state graph of consensus with small example events: every edge is taken.

Shown on the way: every edge makes progress (so there is no cycle), an open session always waits for somebody by an
armed timer, `done` is the only sink, and every cell of the table leads to each of the phases that it names.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import msgspec

from parley.coordinator.machine import Session
from parley.coordinator.protocols.consensus.deciding import REPLIES
from parley.schemas import log
from parley.schemas.presence import EXTRACTIVE
from parley.schemas.protocols.consensus import (
    AnswerGroup,
    BallotBrief,
    CompareBrief,
    Comparison,
    ConcludeBrief,
    Conclusion,
    MovingArgument,
    Seating,
    Signature,
    SignBrief,
)
from parley.schemas.session import Budget, Seat
from parley.schemas.text import Citation, answer_key, same
from parley.schemas.voting import ApprovalBallot, RankBallot, Ruling, ScoreBallot
from parley.schemas.wire import decode
from tests.protocols.consensus.play import CONSENSUS, Play, document, says, workers
from tests.support.walk import (
    Move,
    Walk,
    attempts,
    awaited,
    expect,
    failing,
    fails,
    key_with_posts,
    replies,
    some,
    ticks,
)

UNLIMITED = Budget()


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world: its settings, and what may be said in it."""

    settings: dict[str, Any]
    answers: tuple[str, ...] = ("a", "b", "")
    """The empty one abstains."""
    scores: tuple[float, ...] = (10, 50, 95)
    panel: int = 2
    budget: Budget = UNLIMITED
    usages: tuple[int, ...] = (0,)
    each: bool = False
    """Whether the first seat says the first answer alone, and so on, to the end."""
    misses: bool = True
    """Whether turns also fail."""
    fails: str = ""
    """The seat whose calls fail and are made again."""
    late: bool = False
    """Whether replies may also come at the very end of their deadline."""
    changes: tuple[str, ...] = ()
    """What a person may decide of who sits, each once."""
    reader: bool = False
    """Whether copies of the reader without a language model sit there, and quote the one document."""

    def opening(self) -> log.Opened:
        caps = {"max_input_tokens": 100, "max_output_tokens": 20, **self.settings}
        more: dict[str, Any] = {"turn_s": 1.0} if self.fails else {"family": EXTRACTIVE} if self.reader else {}
        there = workers(self.panel, metered=bool(self.budget.tokens), **more)
        documents = (document("d.md", "It is a."),) if self.reader else ()
        return Play(caps, panel=self.panel, there=there, budget=self.budget, documents=documents).session.opened


LONG = "a is right. So is its other half"
"""More than a sentence, so that the analyst words what is put."""
WORLDS = {
    "round_limit": Small({"round_limit": 2, "attempts": 1}, answers=("a", "b"), scores=(10,)),
    "going on": Small({"round_limit": 2, "attempts": 1}, answers=("a", "b"), scores=(95,), each=True),
    "stuck": Small(
        {"round_limit": 3, "attempts": 1, "stuck_rounds": 2}, answers=("a", "b"), scores=(10,), each=True, misses=False,
    ),
    "grace": Small(
        {"round_limit": 2, "attempts": 1, "threshold": 60}, answers=("a", "b", "a"), scores=(), panel=3, each=True,
        misses=False, fails="panelist_3",
    ),
    "grace of five": Small(
        {"round_limit": 1, "attempts": 1}, answers=("a",) * 5, scores=(), panel=5, each=True, misses=False,
        fails="panelist_3",
    ),
    "retries": Small({"round_limit": 1, "attempts": 2}, answers=("a", "b"), scores=(95,)),
    "three": Small({"round_limit": 1, "attempts": 1, "threshold": 60}, answers=(LONG, "b"), scores=(10,), panel=3),
    "one holder": Small({"round_limit": 2, "attempts": 1}, answers=("a", "a", ""), scores=(), panel=3, each=True),
    "at once": Small({"round_limit": 1, "attempts": 1}, answers=("a", "a", ""), scores=(), panel=3, each=True),
    "wording": Small({"round_limit": 2, "attempts": 1}, answers=(LONG, "a"), scores=(95,), each=True),
    "one reader": Small({"round_limit": 1, "attempts": 1}, answers=("a", "a"), scores=(), each=True, reader=True),
    "silent": Small({"round_limit": 1, "attempts": 1}, answers=("a", ""), scores=()),
    "seconds": Small(
        {"round_limit": 1, "attempts": 1}, answers=("a", "b"), scores=(95,), budget=Budget(seconds=5), late=True,
    ),
    "seats": Small(
        {"round_limit": 3, "attempts": 1}, answers=(LONG, "b", "", LONG), scores=(), each=True, misses=False,
        changes=("add dora", "remove panelist_2"),
    ),
    **{
        rule: Small(
            {"round_limit": 1, "attempts": 1, "decide": rule}, answers=("a", "b", "b"), scores=(10,), panel=3,
            each=True,
        )
        for rule in ("majority", "unanimity", "approval", "borda", "condorcet", "score", "ranking", "judge")
    },
    "ballots again": Small(
        {"round_limit": 1, "attempts": 2, "decide": "instant-runoff"}, answers=("a", "b"), scores=(10,), each=True,
    ),
    "a judge of the unmoved": Small(
        {"round_limit": 2, "attempts": 1, "decide": "judge"}, answers=("a", "b"), scores=(10,), each=True,
    ),
    "a judge of a vote": Small(
        {"round_limit": 1, "attempts": 1, "decide": "judge"}, answers=("a", "a", "b", "a"), scores=(), panel=4,
        each=True,
    ),
    "late ballots": Small(
        {"round_limit": 1, "attempts": 1, "decide": "score"}, answers=("a", "b", "b"), scores=(10,), panel=3, each=True,
        misses=False, fails="panelist_3",
    ),
    "seconds for ballots": Small(
        {"round_limit": 1, "attempts": 1, "decide": "approval"}, answers=("a", "b"), scores=(95,),
        budget=Budget(seconds=5), late=True,
    ),
    "seconds for no ballots": Small(
        {"round_limit": 2, "attempts": 1, "decide": "majority"}, answers=("a", "b"), scores=(10,),
        budget=Budget(seconds=5), late=True, each=True,
    ),
    **{
        f"{tokens} tokens for ballots": Small(
            {"round_limit": 2, "attempts": 1, "decide": "borda"}, answers=("a", "a", "b"), scores=(10,),
            budget=Budget(tokens=tokens), usages=(240,), panel=3, each=True, misses=False,
        )
        for tokens in (1_500, 1_800, 2_000)
    },
    **{
        f"{tokens} tokens": Small(
            {"round_limit": 2, "attempts": 1}, answers=(LONG, LONG, "b"), scores=(10,), budget=Budget(tokens=tokens),
            usages=(240,), panel=3, each=True, misses=False,
        )
        for tokens in (1_500, 1_800, 2_000, 2_600, 2_900)
    },
}  # fmt: skip


def bodies(world: Small, session: Session, ask: log.Ask) -> Iterator[object]:
    if ask.kind == "compare":
        yield from comparisons(world, session, decode(ask.brief, CompareBrief))
    elif ask.kind == "conclude":
        label = decode(ask.brief, ConcludeBrief).label
        yield Conclusion(group=label, reasoning="r", answer="in other words")
        if not world.changes:
            yield Conclusion(group="another", reasoning="r", answer="what nobody said")
    elif ask.kind == "sign":
        brief = decode(ask.brief, SignBrief)
        yield Signature(states="first", differs=brief.first.sentence)
        yield Signature(states="neither", differs=brief.first.sentence)
        if brief.second:
            yield Signature(states="second", differs=brief.first.sentence)
    elif ask.kind in REPLIES:
        yield from ballots(ask, len(decode(ask.brief, BallotBrief).choices))
    else:
        own = None if ask.own is None else _answer(session, ask.own)
        mine = world.answers
        if world.each:
            mine = (world.answers[[x.seat for x in session.opened.seats].index(ask.seat)],)
        for answer in mine:
            if not answer:
                yield says("", abstains=True)
            elif not own or same(own, answer):
                quoted = (Citation(document="d.md", quote="It is a."),) if world.reader else ()
                yield says(answer, citations=quoted)
            else:
                moved = says(answer, change="partly", change_reason="moved")
                yield moved
                if ask.sees:
                    yield msgspec.structs.replace(moved, argument=MovingArgument(post=ask.sees[0], claim="because"))


def ballots(ask: log.Ask, many: int) -> Iterator[object]:
    """Two ballots that differ, or the rulings."""
    places = tuple(range(1, many + 1))
    if ask.kind == "rank":
        yield from (RankBallot(order=places), RankBallot(order=places[::-1]))
    elif ask.kind == "approve":
        yield from (ApprovalBallot(approved=places[:1]), ApprovalBallot(reason="none"))
    elif ask.kind == "score":
        yield from (ScoreBallot(scores=(5.0,) * many), ScoreBallot(scores=tuple(map(float, places))))
    else:
        yield from (Ruling(reasoning="r", because="so", post=ask.sees[0], quote="because", choice=n) for n in places)


def comparisons(world: Small, session: Session, brief: CompareBrief) -> Iterator[Comparison]:
    """By the answers' words, as near as each score; and all the same. Whoever names an argument is believed, or not."""
    apart: dict[str, list[int]] = {}
    for w in brief.positions:
        apart.setdefault(answer_key(_answer(session, w.post)), []).append(w.post)
    argued = tuple(m.post for m in brief.moves)
    for near in world.scores:
        groups = tuple(AnswerGroup(label=label, posts=tuple(posts)) for label, posts in apart.items())
        yield Comparison(groups=groups, approach=near, priority=near, argued=argued)
    if len(apart) > 1:
        both = AnswerGroup(label="a", posts=tuple(w.post for w in brief.positions))
        yield Comparison(groups=(both,), approach=90, priority=90)


def _answer(session: Session, n: int) -> str:
    return str(msgspec.json.decode(session.posts[n].body)["answer"])


def moves(world: Small, session: Session) -> Iterator[Move]:
    """Everything that may happen next, and when."""
    now = session.at_ns
    for turn in some(session, world.fails) if world.fails or world.changes else session.turns.values():
        for tokens in world.usages:
            yield from replies(
                turn, bodies(world, session, turn.ask), now, tokens=tokens, late=world.late, misses=world.misses
            )
    told = [decode(p.body, Seating).seat for p in session.posts if p.kind == "seating"]
    for choice in world.changes:
        if (name := choice.split()[1]) not in told:
            seat = Seat(seat=name, role="panelist", queue=name) if choice.startswith("add") else msgspec.UNSET
            yield log.Decided(item="seat", choice=choice, author="client", seat=seat), now
    yield from fails(session, world.fails)
    if not world.changes:  # nobody is late there: each of them is so in other worlds
        yield from ticks(session, graces=bool(world.fails))


ORDER = {"answering": 0, "revising": 0, "scoring": 1, "wording": 2, "signing": 3, "voting": 3, "done": 4}


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    s = session.inner
    return (
        session.closed,
        session.stopped is not None,
        s.round,
        sum(p.kind == "seating" for p in session.posts),
        len(s.signatures),
        s.reworded,
        len(s.puts),
        ORDER[s.phase],
        -awaited(session),
        -len(session.turns),
        attempts(session),
        failing(session),
    )


EXPECTED = {
    "round_limit": expect("round_limit", "quorum", "threshold", states=30),
    "stuck": expect("quorum", "incomplete", "stuck", "threshold", "round_limit", states=30),
    "one reader": expect("one_source", "quorum", states=10),
    "silent": expect("quorum", "threshold", "unanswered", states=10),
    "borda": expect("decided", "undecided", "quorum", states=10),
    "seconds for ballots": expect("budget", "decided", "undecided", "quorum", states=10),
    "seats": expect("incomplete", "stuck", "threshold", states=30),
    **{f"{tokens} tokens": expect("budget", "quorum", "threshold") for tokens in (1_500, 1_800)},
}
WALK = Walk(
    CONSENSUS,
    WORLDS,
    EXPECTED,
    moves,
    rank,
    key_with_posts,
    may_be_refused=(log.Decided,),
    tries=lambda world: world.settings.get("attempts", 2),
)
