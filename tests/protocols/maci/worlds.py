"""The reachable state graph of maci under a finite alphabet and a cap of three rounds: every edge is taken.

The alphabet. Beliefs over two outcomes: FOR (.9, .1), NEARLY (.8, .2), EVEN (.5, .5), AGAINST (.1, .9), SURE (1, 0). A
debater's reply: a belief, with or without one argument that cites a passage; to a devil's advocate a reason or an "ok";
of words that were merged that they are another answer, or nothing. A judge's reply: every argument at 0.8, or every one
at 0.1; a devil's advocate's speaks against what all hold, or does not. The helper's: every quotation at 0.8, or at 0.1.
Any turn may come to nothing, and may use nothing of the budget, or all that was reserved for it. No world has all of
it: each lists its own letters, and is walked whole.

Shown on the way, in every state: every edge makes progress (so there is no cycle), an open session waits for somebody
by an armed timer, `done` is the only sink and has a stop and a certificate, the dispersion never rises where the
monotone gate is on, contentiousness never rises and no gate falls, what is refused is shown to no debater, what is
admitted passed both gates, one debater at most is told to argue against an answer and all hold it, and the budget is
kept. And every cell of the table leads to each of the phases that it names.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec

from parley.bus.channels import ACCOUNT_OF_ROLE, may_read
from parley.coordinator.machine import Session
from parley.schemas import log
from parley.schemas.belief import Share
from parley.schemas.protocols.maci import messages as maci
from parley.schemas.protocols.maci.messages import (
    ArgueBrief,
    Blind,
    Case,
    Crit,
    CritBrief,
    Excerpt,
    Group,
    MeasureBrief,
    Measured,
    MergeBrief,
    Merged,
    Met,
    PlanBrief,
    Retrieved,
    Ruled,
    Score,
)
from parley.schemas.session import Budget
from parley.schemas.wire import decode, encode
from tests.protocols.maci.play import TEXTS, Play, argument, belief, case, retrieved, similar
from tests.support.tuned import TUNED
from tests.support.walk import Move, Walk, attempts, awaited, expect, failing, fails, replies, some, ticks

FOR, EVEN, AGAINST = belief(0.9, 0.1), belief(0.5, 0.5), belief(0.1, 0.9)
NEARLY, SURE = belief(0.8, 0.2), belief(1.0, 0.0)
UNLIMITED = Budget()
MISS = object()


def said(given: Any) -> Case:
    return case(given, argument("claim"))


@dataclasses.dataclass(frozen=True)
class World:
    """One small world: its settings, and what may be said in it."""

    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    blind: tuple[tuple[Any, ...], ...] = ((FOR,), (AGAINST,))
    """For each debater, its letters."""
    argue: tuple[tuple[Any, ...], ...] = ((said(FOR),), (said(AGAINST),))
    scores: tuple[Any, ...] = (0.8,)
    quality: tuple[Any, ...] = (0.8,)
    others: tuple[Any, ...] = (True,)
    """Of retrieving, merging and planning: True is a good reply, False one that brings nothing new."""
    budget: Budget = UNLIMITED
    usages: tuple[int, ...] = (0,)
    """Tokens of a reply, 120 at most."""
    timers: bool = False
    """Whether the timer may fire, and a client cancel, in every state, and replies come in any order."""
    fails: str = ""
    """The seat whose calls fail and are made again."""
    late: bool = False
    """Whether replies may also come at the very end of their deadline."""

    def opening(self) -> log.Opened:
        caps = {"max_input_tokens": 100, "max_output_tokens": 20, "attempts": 1, "round_limit": 3, **self.settings}
        metered: dict[str, Any] = {"metered": bool(self.budget.tokens), **({"turn_s": 1.0} if self.fails else {})}
        return Play(caps, debaters=len(self.blind), budget=self.budget, q0=None, **metered).session.opened


NOTHING_NEW: dict[str, Any] = {"others": (True, False, MISS), "timers": True}
IN_TIME: dict[str, Any] = {"budget": Budget(seconds=100), "timers": True, "late": True}
DEAR: dict[str, Any] = {
    "argue": ((said(FOR),), (said(AGAINST), MISS)), "scores": (0.8, MISS), "others": (True, MISS), "usages": (240,)
}  # fmt: skip
"""Turns that use all that was reserved for them, and fail."""
LEARNED: dict[str, Any] = {"argue": ((said(FOR), said(EVEN)), (said(AGAINST), said(EVEN))), "scores": (0.8, 0.1, MISS)}
"""One more round is worth it while they differ, for three rounds."""
WORLDS = {
    "beliefs": World(
        {"reading": "paper"},
        blind=((FOR, EVEN, AGAINST), (FOR, EVEN, AGAINST)),
        argue=((said(FOR), said(EVEN), said(AGAINST)), (said(FOR), said(EVEN), said(AGAINST))),
    ),
    "agreement": World(
        blind=((FOR,), (FOR, AGAINST)),
        argue=((said(FOR), case(FOR), MISS), (said(FOR), said(NEARLY), said(AGAINST))),
    ),
    "certain": World(
        {"tau_stop": 3}, blind=((SURE,), (SURE,)),
        argue=((said(SURE), case(SURE), MISS), (said(SURE), case(SURE), MISS)), scores=(0.8, MISS),
    ),
    "certain, paper": World(
        {"reading": "paper", "q_gate": False, "tau_o": 0.0, "tau_stop": 1}, blind=((SURE,), (SURE,)),
        argue=((case(SURE),), (case(SURE), MISS)),
    ),
    "scores": World(
        argue=((said(FOR), MISS), (said(AGAINST), case(EVEN))), scores=(0.8, 0.1, MISS), quality=(0.8, MISS)
    ),
    "evidence": World(
        {"q_gate": True}, argue=((said(FOR),), (said(EVEN), case(FOR))), scores=(0.8, 0.1), quality=(0.8, 0.1, MISS)
    ),
    "blind": World({"round_limit": 1}, blind=((FOR, MISS), (AGAINST, MISS)), others=(True, MISS), timers=True),
    "open": World(
        {"round_limit": 1, "outcomes": ()}, blind=((FOR,), (FOR, AGAINST, (Share(outcome="dengue", p=1),))),
        **NOTHING_NEW,
    ),
    "loop": World(
        {"close_the_loop": True}, argue=((said(FOR), case(FOR)), (case(AGAINST), MISS)),
        others=(True, False, MISS),
    ),
    "loop and time": World({"close_the_loop": True, "round_limit": 2}, argue=((said(FOR),), (MISS,)), **IN_TIME),
    "time": World({"round_limit": 1, "outcomes": ()}, argue=((said(FOR), MISS), (said(AGAINST),)), **IN_TIME),
    "grace": World(
        {"round_limit": 2, "close_the_loop": True}, blind=((FOR,), (AGAINST,), (FOR,)),
        argue=((said(FOR),), (case(AGAINST),), (case(FOR),)), fails="debater_3",
    ),
    "grace of five": World({"round_limit": 1}, blind=((FOR,),) * 5, argue=((case(FOR),),) * 5, fails="debater_3"),
    "grace of a judge": World({"round_limit": 1, "judges": 3}, fails="judge_3"),
    "grace, open": World(
        {"round_limit": 1, "outcomes": ()}, blind=((FOR,), (FOR,), (AGAINST,)),
        argue=((case(FOR),), (case(FOR),), (case(AGAINST),)), fails="debater_3",
    ),
    "three turns": World(
        {"round_limit": 1}, blind=((FOR,), (AGAINST,), (FOR, MISS)), budget=Budget(tokens=240 * 4), usages=(0, 240),
    ),
    "order": World({"round_limit": 1, "judges": 2}, scores=(0.8, MISS), quality=(0.8, MISS), timers=True),
    "stalemate": World(scores=(0.1, 0.8)),
    "learned, ucb": World({"schedule": "learned"}, **LEARNED),
    "learned, linucb": World({"schedule": "learned", "policy": "linucb"}, **LEARNED),
    "budget": World(
        {"round_limit": 1, "attempts": 2}, argue=((said(FOR),), (said(AGAINST), MISS)), scores=(0.8, MISS),
        budget=Budget(tokens=240 * 7), usages=(0, 240),
    ),
    **{
        f"{n} turns, and patience": World(
            {"attempts": 8, "close_the_loop": True}, others=(True, MISS), usages=(240,), budget=Budget(tokens=240 * n)
        )
        for n in (14, 15, 16)
    },
    **{f"{n} turns": World({"attempts": 2}, **DEAR, budget=Budget(tokens=240 * n)) for n in range(3, 13)},
    **{
        f"{n} turns, open and looped": World(
            {"attempts": 2, "close_the_loop": True, "outcomes": ()}, **DEAR, budget=Budget(tokens=240 * n)
        )
        for n in range(3, 17)
    },
}  # fmt: skip


def letters(world: World, session: Session, ask: log.Ask) -> Iterator[Any]:
    """Everything that the seat may reply to this turn."""
    seats = [s.seat for s in session.opened.seats]
    match ask.kind:
        case "blind":
            yield from (Blind(belief=x) if isinstance(x, tuple) else x for x in world.blind[seats.index(ask.seat)])
        case "argue" | "attack" | "answer":
            for x in world.argue[seats.index(ask.seat)]:
                yield from [x] if x is MISS else replied(decode(ask.brief, ArgueBrief), x)
        case "crit":
            brief = decode(ask.brief, CritBrief)
            for x, against in itertools.product(world.scores, (True, False) if brief.against else (False,)):
                scored = tuple(score(i.item, len(i.reasons), x, against) for i in brief.items) if x is not MISS else ()
                yield x if x is MISS else Crit(scores=scored)
        case "measure":
            spans = decode(ask.brief, MeasureBrief).spans
            for x in world.quality:
                yield x if x is MISS else Measured(similar=similar([x] * len(spans)))
        case _:
            yield from (x if x is MISS else other(ask, x) for x in world.others)


def replied(brief: ArgueBrief, said: Case) -> Iterator[Case]:
    """A case as the turn asks for it: it speaks for another answer, answers what it is to answer or does not, goes
    along with what its words count as or does not."""
    others = [name for name in brief.outcomes if brief.against not in ("", name)]
    said = msgspec.structs.replace(said, speaks_for=next(iter(others), ""))
    yield from [msgspec.structs.replace(said, apart=(one.proposed,)) for one in brief.counts_as[:1]]
    for why in ("the platelets fell", "ok") if brief.answers else ("",):
        met = tuple(Met(argument=name, why=why, fails=True) for name in brief.answers)
        yield msgspec.structs.replace(said, answers=met)


def score(item: int, links: int, x: float, against: bool) -> Score:
    return Score(item=item, links=(x,) * links, evidence=x, logic=x, relevance=x, against=against)


def other(ask: log.Ask, new: bool) -> object:
    match ask.kind:
        case "retrieve" if ask.round == 0:
            return retrieved(0.6, TEXTS[:1]) if new else Retrieved()
        case "retrieve":
            text = TEXTS[1] if new else TEXTS[0]
            return Retrieved(passages=(Excerpt(document="notes.md", text=text),))
        case "merge":
            proposed = decode(ask.brief, MergeBrief).proposed
            if not new:
                return Merged(groups=(Group(name=proposed[0], members=proposed),))
            return Merged(groups=tuple(Group(name=name, members=(name,)) for name in proposed))
        case _:
            mixture = decode(ask.brief, PlanBrief).mixture
            positive = tuple(Share(outcome=s.outcome, p=0.5) for s in mixture)
            asked = maci.Test(what="x", kind="test", query=f"query {ask.round}", positive=positive)
            return maci.Tests(tests=(asked,) if new else ())


def moves(world: World, session: Session) -> Iterator[Move]:
    """Everything that may happen next, and when."""
    now = session.at_ns
    turns = list(session.turns.values())
    for turn in some(session, world.fails) if world.fails else turns if world.timers else turns[:1]:
        said = list(letters(world, session, turn.ask))
        bodies = [x for x in said if x is not MISS]
        for tokens in world.usages:
            yield from replies(turn, bodies, now, tokens=tokens, late=world.late, misses=MISS in said)
    yield from fails(session, world.fails)
    if world.timers or world.fails:
        yield from ticks(session, graces=bool(world.fails))


PLACE = {"planning": 0, "retrieving": 0, "retrieving_more": 1, "blind": 1, "arguing": 2, "merging": 2, "judging": 3}


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    s = session.inner
    ended = session.stopped is not None
    return (
        session.closed,
        ended,
        len(s.rounds),
        PLACE.get(s.phase, 4),
        -awaited(session),
        -len(session.turns),
        attempts(session),
        failing(session),
    )


def holds(session: Session) -> None:
    """What is true of every state."""
    s, settings = session.inner, session.settings
    assert decode(encode(s), type(s)) == s
    if session.closed and session.stopped is not None and session.stopped.reason != "cancelled":
        certificate = msgspec.json.decode(session.stopped.certificate)
        assert certificate["reason"] == session.stopped.reason and "missing" in certificate
    assert len(s.rounds) <= settings.round_limit + 1
    roles = {seat.seat: ACCOUNT_OF_ROLE[seat.role] for seat in session.opened.seats}
    refused = {n for r in s.rounds for n in r.refused if n not in r.good}
    for turn in session.turns.values():
        assert not refused & set(turn.ask.sees) or roles[turn.ask.seat] != "PANEL"
        assert all(may_read(roles[turn.ask.seat], session.posts[n].channel) for n in turn.ask.sees)
    for entry in s.record:
        ruled = decode(session.posts[entry.post].body, Ruled)
        assert ruled.crit is not None and ruled.scores == () and ruled.crit >= ruled.tau_crit
        assert not settings.q_gated or (ruled.q is not None and ruled.q >= ruled.tau_q)
    if s.control is not None:
        history = s.control.rounds
        moved = settings.reading == "debate" and isinstance(history[-1].moved, float) and history[-1].moved >= 0.05
        assert s.ended != "plateau" or not moved, "what no longer changes did not move in that round"
        for before, after in pairwise(history):
            rose = settings.reading == "debate" and after.jsd > before.jsd + 1e-9
            assert not (rose and (after.pi_i or after.pi_d)), "moving apart is no standing still"
            assert after.dispersion <= before.dispersion or not settings.gated
            if before.cl is not None:
                assert after.cl <= before.cl and after.tau_q >= before.tau_q and after.tau_crit >= before.tau_crit
        assert abs(sum(history[-1].mixture.values()) - 1) < 1e-9
    asked = [turn.ask for turn in session.turns.values() if turn.ask.kind in ("argue", "attack", "answer")]
    told = [ask for ask in asked if ask.kind == "attack"]
    assert all((ask.kind == "attack") is bool(decode(ask.brief, ArgueBrief).against) for ask in asked)
    assert s.ended != "agreement" or (not s.waiting and not s.unconfirmed)
    assert len(told) <= 1 and all(a.seat == s.advocate and s.control.rounds[-1].shared for a in told)
    limit = session.opened.budget.tokens
    if limit is not None:
        assert session.ledger.used().tokens + session.ledger.lost.tokens <= limit


EXPECTED = {
    "beliefs": expect("round_limit", "plateau", states=5),
    "agreement": expect("agreement", "plateau", "round_limit", states=5),
    "certain": expect("agreement", "plateau", "round_limit", states=5),
    "scores": expect("round_limit", "plateau", "stalemate", states=5),
    "evidence": expect("agreement", "plateau", "round_limit", "stalemate", states=5),
    "blind": expect("round_limit", "quorum", states=5),
    "open": expect("round_limit", "quorum", states=5),
    "loop": expect("plateau", "round_limit", states=5),
    "loop and time": expect("budget", "round_limit", states=5),
    "time": expect("budget", "round_limit", states=5),
    "order": expect("round_limit", "quorum", states=5),
    "stalemate": expect("plateau", "stalemate", states=5),
    "learned, ucb": expect("round_limit", "plateau", "stalemate", states=5),
    "learned, linucb": expect("round_limit", "plateau", "stalemate", states=5),
    "three turns": expect("budget", "round_limit", states=5),
    "budget": expect("budget", "round_limit", states=5),
    "12 turns": expect("budget", "plateau", states=5),
    "16 turns, and patience": expect("budget", "plateau", states=5),
}
WALK = Walk(TUNED, WORLDS, EXPECTED, moves, rank, hold=holds, cancels=lambda world: world.timers)
