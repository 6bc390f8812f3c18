"""maci: what every certificate holds beside the controller's figures, and what a session came to, for the result
frame."""

from collections import Counter
from typing import Any

import msgspec

from parley.coordinator.protocols.maci.plan import top
from parley.coordinator.protocols.maci.round import good
from parley.coordinator.protocols.maci.seats import foreign
from parley.coordinator.protocols.maci.state import (
    DEBATER,
    JUDGE,
    ClosedRound,
    State,
    body_of,
    passages,
)
from parley.coordinator.schedulers import controller, stop_rule
from parley.coordinator.schedulers.dials import bins as initial_bins
from parley.coordinator.signals import regime
from parley.coordinator.table import Measured, Sample, Session, SessionCounts, View
from parley.schemas import log
from parley.schemas.belief import Belief, leading
from parley.schemas.control import Signals
from parley.schemas.protocols.maci.messages import Blind, Outcome, RetrievalPlan, Ruled
from parley.schemas.protocols.maci.messages import RoundSignals as Post
from parley.schemas.wire import decode

_FULL_BYTES = 2_000_000
"""Bytes of posts that the result repeats. Above it, beliefs and the texts of arguments are cut: the result is one
message."""


def ends_round(post: log.Say) -> str:
    """The disagreement that ends a round, in words; empty for another post."""
    return f"disagreement {decode(post.body, Post).signals.jsd:.2f}" if post.kind == "signals" else ""


def figures(s: State, v: View) -> dict[str, Any]:
    """What every certificate holds."""
    last = s.rounds[-1].number if s.rounds else None
    missing = [f"{seat} in round {r.number}" for r in s.rounds for seat in r.missing]
    if s.round != last:
        missing += [f"{seat} in round {s.round}" for seat in s.missing]
    used, lost = v.ledger.used(), v.ledger.lost
    judging = {seat.queue for seat in v.seats(JUDGE)}
    return {
        "spent": {
            "tokens": used.tokens,
            "calls": used.calls,
            "cost_usd": used.cost_usd,
            "unaccounted_tokens": lost.tokens,
            **({"unpriced": True} if any(s.unpriced for s in v.ledger.by_seat.values()) else {}),
        },
        "dropped_round": s.dropped,
        "missing": missing,
        "left_out": list(s.left_out),
        "unjudged_rounds": [r.number for r in s.rounds if r.unjudged],
        "unmeasured_rounds": [r.number for r in s.rounds if r.unmeasured],
        "admitted": len(s.record),
        "refused": sum(len(r.refused) for r in s.rounds),
        "merged_by": s.merged_by,
        "debater_families": {seat.seat: seat.family for seat in v.seats(DEBATER)},
        "judge_families": {seat.seat: seat.family for seat in v.seats(JUDGE)},
        "judges_unused": {
            w.queue: w.family
            for w in v.opened.workers
            if JUDGE in w.roles and not w.draining and w.queue not in judging
        },
        "cross_family": cross_family(v),
        "judges": {"wanted": v.settings.judges, "seated": len(v.seats(JUDGE))},
        **({"advocates": advocates} if (advocates := _advocates(s)) else {}),
        **({"trust": s.control.trust} if s.control is not None and s.control.trust else {}),
    }


def _advocates(s: State) -> list[dict[str, Any]]:
    """The devil's advocate of each round, and which of its arguments were admitted."""
    advocates = []
    for r in s.rounds:
        if r.attacks is not None:
            seat = s.dials.rounds[r.number].advocate
            admitted = sum(entry.seat == seat for entry in r.admitted)
            tests = sum(entry.tests for entry in r.admitted)
            advocates.append(
                {"round": r.number, "seat": seat, "arguments": r.attacks, "admitted": admitted, "tests": tests}
            )
    return advocates


def cross_family(v: View) -> bool:
    """Whether every judge is of another model family than every debater (E.1)."""
    return foreign((j.family for j in v.seats(JUDGE)), (d.family for d in v.seats(DEBATER)))


def outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(Outcome as builtins, one object a round)."""
    posts = [n for r in s.rounds for n in (r.post, *(entry.post for entry in r.admitted))]
    full = sum(len(bytes(v.posts[n].body)) for n in posts) <= _FULL_BYTES
    mixture = s.control.rounds[-1].mixture if s.control else {}
    best = top(s.control, v.settings.constants.top_k) if s.control else ()
    known = bool(best) and len(leading(mixture)) == 1
    result = Outcome(
        answer=best[0].outcome if known else "",
        confidence=best[0].p if known else 0.0,
        calibrated=False,
        source="mixture" if best else "none",
        mixture=mixture,
        top=best,
        vote=s.vote,
        regime=_regime(s, v),
        record=tuple(_ruled(entry.post, v, full) for entry in s.record),
        refused=sum(len(r.refused) for r in s.rounds),
        plan=None if s.plan is None else body_of(v, s.plan, RetrievalPlan),
        cross_family=cross_family(v),
        left_out=s.left_out,
    )
    ends = s.rounds[-1].number if s.rounds else None
    rounds = tuple(_round(r, v, full, s.ended if r.number == ends else "") for r in s.rounds)
    return msgspec.to_builtins(result), rounds


def _regime(s: State, v: View) -> dict[str, Any]:
    """Whether a vote would have done, by the signals before any argument (K.1, K.5)."""
    if s.control is None:
        return {}
    blind = s.control.rounds[0]
    bins = initial_bins(v.settings)
    citing = sum(bool(body_of(v, post, Blind).spans) for post in s.blind.values())
    sources = {p.document for p in passages(s, v)}
    classified = regime.classify(
        v.settings,
        outcomes=len(s.control.outcomes),
        q=blind.q,
        d=blind.jsd,
        overlap=blind.overlap if citing > 1 else None,
        documents=len(sources),
        q_lo=bins.q_lo,
        d_hi=bins.d_hi,
    )
    regime_fields: dict[str, Any] = msgspec.to_builtins(classified)
    return regime_fields


def _ruled(post: int, v: View, full: bool) -> Ruled:
    argument = body_of(v, post, Ruled)
    return (
        argument
        if full
        else msgspec.structs.replace(argument, claim=argument.claim[:200], reasons=(), spans=(), scores=())
    )


def _figures(post: int, v: View) -> dict[str, Any]:
    argument = body_of(v, post, Ruled)
    told = ("id", "q", "crit", "tau_q", "tau_crit", *(["claim"] if good(v, argument) else []))
    return {name: getattr(argument, name) for name in told} | {"post": post}


def _round(r: ClosedRound, v: View, full: bool, ended: str) -> dict[str, Any]:
    """The post `signals` of a round, with the figures of its refused arguments. Debaters read the result, so the words
    of these are on `scores` alone, but for the claims that they were shown."""
    shown: dict[str, Any] = msgspec.to_builtins(body_of(v, r.post, Post))
    shown["round"] = r.number
    shown["refused"] = [_figures(n, v) for n in r.refused]
    if ended:
        shown["signals"]["stop"] = ended
    if not full:
        shown["beliefs"] = {}
    return shown


# ---------------------------------------------------------------- figures that are counted


def measured(session: Session, view: View) -> Measured:
    """Agreement is the share of debaters that hold the most widely held answer; disagreement that of the controller."""
    s: State = session.inner
    if s.control is None:
        return Measured()
    rounds = s.control.rounds
    last = rounds[-1]
    return Measured(
        agreement=_sharing(s.control) / len(s.control.beliefs),
        disagreement=min(1.0, max(0.0, last.jsd)),
        plateau=any(_is_plateau(view, rounds[: t + 1]) for t in range(len(rounds))),
        flips=_flips(s, view),
        judge_variance=tuple(r.crit_variance for r in rounds if r.crit_variance is not None),
        samples=(Sample("arguments_refused_total", value=sum(len(r.refused) for r in s.rounds)),),
    )


def _sharing(control: controller.State) -> int:
    """The number of debaters that share the most widely held answer; in the paper's reading it is counted here."""
    sharing = control.rounds[-1].sharing
    if isinstance(sharing, int):
        return sharing
    leading = Counter(belief.index(max(belief)) for belief in control.beliefs.values() if _decided(belief))
    return max(leading.values(), default=0)


def _decided(belief: tuple[float, ...]) -> bool:
    return belief.count(max(belief)) == 1


def _is_plateau(view: View, rounds: tuple[Signals, ...]) -> bool:
    return all(test["holds"] for test in stop_rule.plateau(view.settings, rounds))


def _flips(s: State, view: View) -> dict[str, int]:
    """Debaters whose most probable answer has changed since the round before. Quoted: in that round an argument of
    somebody else with evidence was admitted, which the debater was shown. Argued: one without evidence."""
    counts: Counter[str] = Counter()
    for before, now in zip(s.rounds, s.rounds[1:], strict=False):
        beliefs_before, beliefs_now = (body_of(view, r.post, Post).beliefs for r in (before, now))
        for seat in beliefs_before.keys() & beliefs_now.keys():
            if _leading(beliefs_before[seat]) != _leading(beliefs_now[seat]):
                counts[_because(view, before, seat)] += 1
    return dict(counts)


def _leading(belief: Belief) -> frozenset[str]:
    most = max((share.p for share in belief), default=0.0)
    return frozenset(share.outcome for share in belief if share.p == most)


def _because(view: View, before: ClosedRound, seat: str) -> str:
    shown = [body_of(view, entry.post, Ruled) for entry in before.admitted if entry.seat != seat]
    return "quoted" if any(a.spans for a in shown) else "argued" if shown else "unexplained"


COUNTED = SessionCounts(measured=measured)
