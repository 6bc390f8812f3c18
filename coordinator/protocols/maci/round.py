"""maci: the result of a round. Its arguments with their evidence and scores, the dual gate, and the controller's
observation."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from parley.coordinator.budget import least, reservation
from parley.coordinator.protocol_parts import caps
from parley.coordinator.protocols.maci.state import ANALYST, DEBATER, State, body_of
from parley.coordinator.schedulers import controller
from parley.coordinator.signals import crit
from parley.coordinator.signals.beliefs import parse_belief
from parley.coordinator.signals.crit import Similarities
from parley.coordinator.signals.reliability import trust
from parley.coordinator.table import View
from parley.schemas.belief import Belief, Share, printed
from parley.schemas.protocols.maci.messages import Argument, Blind, Case, CountsAs, Ruled, Score, Span
from parley.schemas.text import ClosedList, Similar, answer_key, gives_reason, squeeze
from parley.schemas.wire import decode

MOST_MEASURED = 200
"""Quotations that are measured at once, at most: each is compared with each."""


class NumberedArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of the running round."""

    number: int
    """The 7 of `a7`; numbers go on over all rounds."""
    seat: str
    argument: Argument
    members: tuple[int, ...]
    """The round's quotations that it cites, each once (eq. 1 is of a set)."""


def cases(s: State) -> dict[str, Case]:
    """The running round's cases, without debaters that missed."""
    return {seat: decode(s.pending[seat], Case) for seat in s.debaters if seat in s.pending}


def numbered_arguments(s: State, case_of: Mapping[str, Case]) -> tuple[NumberedArgument, ...]:
    """The running round's arguments, numbered in the order of seats."""
    places: dict[tuple[str, str], int] = {}
    numbered: list[NumberedArgument] = []
    for seat, case in case_of.items():
        for argument in case.arguments:
            members = {places.setdefault(_key(span), len(places)) for span in argument.spans}
            number = s.arguments + len(numbered) + 1
            numbered.append(
                NumberedArgument(number=number, seat=seat, argument=argument, members=tuple(sorted(members)))
            )
    return tuple(numbered)


def quotations(arguments: Iterable[NumberedArgument]) -> tuple[Span, ...]:
    """The round's quotations, each once, in the order that `members` count in."""
    spans: dict[tuple[str, str], Span] = {}
    for a in arguments:
        for span in a.argument.spans:
            spans.setdefault(_key(span), span)
    return tuple(spans.values())


def measured(s: State, v: View, arguments: Iterable[NumberedArgument]) -> tuple[Span, ...]:
    """The quotations that the helper measures: the round's, then other ones of the record, the newest first, up to
    MOST_MEASURED altogether."""
    spans = {_key(span): span for span in quotations(arguments)}
    for span in reversed(_recorded(s, v)):
        if len(spans) < MOST_MEASURED:
            spans.setdefault(_key(span), span)
    return tuple(spans.values())


def _recorded(s: State, v: View) -> tuple[Span, ...]:
    """Quotations of the record before the round, the oldest first. The paper's reading uses the round alone."""
    if v.settings.reading == "paper":
        return ()
    return tuple(span for entry in s.record for span in body_of(v, entry.post, Ruled).spans)


def _stood(s: State, v: View) -> float:
    """Q if nothing was measured: that of the record before the round, which the paper's reading does not use."""
    last = s.dials.rounds[-1]
    return last.q if last.round and v.settings.reading != "paper" else 0.0


def _key(span: Span) -> tuple[str, str]:
    return span.passage, squeeze(span.quote)


def cited(spans: Iterable[Span]) -> tuple[str, ...]:
    """Evidence in the form that overlap counts (eq. 3): two quotations of one passage are the same evidence."""
    return tuple(dict.fromkeys(span.passage for span in spans))


def widened(outcomes: tuple[str, ...], c: Case) -> tuple[str, ...]:
    """The outcomes, and a debater's words that are apart from them: all that its belief may name. Two that differ in
    case are two."""
    known = {answer_key(name) for name in outcomes}
    return (*outcomes, *(words for words in c.apart if answer_key(words) not in known))


def with_outcome_names(outcomes: tuple[str, ...], c: Case) -> Case:
    """A case whose belief names each outcome in the words of the list."""
    known = ClosedList(widened(outcomes, c))
    belief = tuple(msgspec.structs.replace(x, outcome=known.find(x.outcome) or x.outcome) for x in c.belief)
    return msgspec.structs.replace(c, belief=belief)


def answered(c: Case, outcomes: tuple[str, ...], shared: str, before: float) -> frozenset[str]:
    """A devil's advocate's arguments that a case answers: with a reason, and where an argument takes
    something from the shared answer, with a belief in it that is lower than `before`."""
    now = parse_belief(c.belief, widened(outcomes, c))[outcomes.index(shared)]
    lower = printed(now) < printed(before)
    return frozenset(met.argument for met in c.answers if gives_reason(met.why) and (met.fails or lower))


def waits(s: State, case_of: Mapping[str, Case], attacks: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Debater -> a devil's advocate's arguments that it has still to answer after the round."""
    others = [seat for seat in s.debaters if seat != s.advocate] if s.advocate else []
    waiting = {seat: attacks for seat in others} | s.waiting
    shared = s.dials.rounds[-1].shared
    for seat, case in case_of.items():
        if names := s.waiting.get(seat):
            assert shared, "who answers shares an answer"
            before = s.dials.beliefs[seat][s.outcomes.index(shared)]
            done = answered(case, s.outcomes, shared, before)
            waiting[seat] = tuple(name for name in names if name not in done)
    return {seat: names for seat, names in waiting.items() if names}


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The round's arguments after the dual gate."""

    ruled: tuple[Ruled, ...]
    """In the order of the arguments, with the judges' scores."""
    observed: controller.Observation
    """What scores and measurements come to, without the beliefs. Q is of all quotations of the record together (eq. 1);
    in the paper's reading, of those admitted in the round."""


def judge(s: State, v: View, arguments: tuple[NumberedArgument, ...], scores: tuple[tuple[Score, ...], ...]) -> Judged:
    """The dual gate (3.2): admitted is an argument whose q_i and CRIT_i reach the gates in force.

    Parameters
    ----------
    arguments
        The round's arguments.
    scores
        One row for each judge that replied: its score of each argument, in the order of `arguments`. Without any
        row there is no CRIT, and an argument is admitted only where that gate is off. Without any
        measurement the same holds of q.
    """
    settings, dials = v.settings, s.dials
    evidence = Similarities(s.similar) if s.similar is not None else None
    panel = crit.panel([[score.composite for score in row] for row in scores])
    ruled = []
    for i, a in enumerate(arguments):
        q = evidence.quality(a.members) if evidence else None
        quality = panel.means[i] if panel.means else None
        arg, admitted = a.argument, controller.admits(settings, dials, q, quality)
        rule = Ruled(
            id=f"a{a.number}",
            claim=arg.claim,
            reasons=arg.reasons,
            spans=arg.spans,
            q=q,
            crit=quality,
            tau_q=dials.tau_q,
            tau_crit=dials.tau_crit,
            admitted=admitted,
            scores=tuple(row[i] for row in scores),
            doubted=not settings.q_gated and (q is None or q < settings.constants.tau_q),
            rebuts=arg.rebuts or None,
            rebuts_id=body_of(v, arg.rebuts, Ruled).id if arg.rebuts else "",
            **(_attack(s, [row[i] for row in scores]) if a.seat == s.advocate else {}),
        )
        ruled.append(rule)
    members = {m for a, r in zip(arguments, ruled, strict=True) if r.admitted for m in a.members}
    places = {_key(span): i for i, span in enumerate(measured(s, v, arguments))}
    members |= {places[key] for span in _recorded(s, v) if (key := _key(span)) in places}
    observed = controller.Observation(
        beliefs={},
        q=evidence.quality(sorted(members)) if evidence else _stood(s, v),
        crit=crit.by_agent(panel.means, [a.seat for a in arguments]) if panel.means else {},
        crit_mean=panel.mean,
        crit_variance=panel.variance,
        judges=len(scores),
        arguments=len(ruled),
        reached_q=tuple(r.q for r in ruled if r.q is not None),
        reached_crit=tuple(r.crit for r in ruled if r.crit is not None),
    )
    return Judged(ruled=tuple(ruled), observed=observed)


def _attack(s: State, scores: list[Score]) -> dict[str, Any]:
    """What is said of a devil's advocate's argument: what it speaks for, and whether more than half of the judges hold
    that it speaks against the answer that all share, and pass it. One judge alone makes no test of what the others
    refuse."""
    shared = s.dials.rounds[-1].shared
    others = [name for name in s.outcomes if name != shared]
    named = decode(s.pending[s.advocate], Case).speaks_for
    speaks_for = (ClosedList(others).find(named) if named else None) or others[0]
    tests = sum(score.against and score.composite >= s.dials.tau_crit for score in scores)
    return {"speaks_for": speaks_for, "tests": 2 * tests > len(scores)}


def good(v: View, ruled: Ruled) -> bool:
    """Whether the judges passed an argument that the gate on evidence alone refused; debaters are shown it as such. In
    the paper's reading they are shown what is admitted and nothing else."""
    passed = ruled.crit is not None and ruled.crit >= ruled.tau_crit
    return v.settings.reading == "debate" and not ruled.admitted and passed


def observe(
    s: State, v: View, case_of: Mapping[str, Case], judged: Judged, asked: Iterable[str], unanswered: int
) -> controller.Observation:
    """What the controller observes of the round. Who missed keeps its belief, as does who was not asked. The evidence
    is that of the record with this round; in the paper's reading, what was cited in the round."""
    spans = {seat: [span for a in case.arguments for span in a.spans] for seat, case in case_of.items()}
    if v.settings.reading == "debate":
        spans = {seat: [] for seat in s.debaters}
        for entry in s.record:
            spans[entry.seat] += body_of(v, entry.post, Ruled).spans
        for a, ruled in zip(numbered_arguments(s, case_of), judged.ruled, strict=True):
            spans[a.seat] += ruled.spans if ruled.admitted else ()
    advocate = s.advocate if s.advocate in case_of else ""
    heard = zip(numbered_arguments(s, case_of), judged.ruled, strict=True)
    kept = {seat: s.dials.beliefs[seat] for seat in s.debaters if seat not in asked}
    return msgspec.structs.replace(
        judged.observed,
        beliefs={**kept, **{seat: parse_belief(case.belief, s.outcomes) for seat, case in case_of.items()}},
        evidence={seat: cited(own) for seat, own in spans.items()},
        advocate=advocate,
        attacks=sum(a.seat == advocate and r.admitted and r.tests is True for a, r in heard),
        unanswered=unanswered,
        tokens=tokens(v) - s.spent,
        tokens_left=tokens_left(v),
    )


def tokens_left(v: View) -> float | None:
    """Tokens of the budget that the rounds may still use; None: there is no such limit."""
    limit = v.opened.budget.tokens
    if limit is None:
        return None
    final = caps(v) if v.opened.fits is msgspec.UNSET else least(caps(v), 0)
    held_back = reservation(v.seats(ANALYST)[0], final).tokens
    return max(0, limit - tokens(v) - held_back)


def tokens(v: View) -> int:
    """Tokens that the session's turns have used. If a turn's calls were lost: the most that it may have used."""
    return v.ledger.used().tokens + v.ledger.lost.tokens


# ---------------------------------------------------------------- round 0


def proposals(blind: Mapping[str, Blind]) -> tuple[str, ...]:
    """Open outcomes as they were proposed, each once."""
    names: dict[str, str] = {}
    for body in blind.values():
        for share in body.belief:
            names.setdefault(answer_key(share.outcome), share.outcome)
    return tuple(names.values())


def merged(belief: Belief, names: Mapping[str, str]) -> Belief:
    """A blind belief over the merged outcomes, renormalised. `names` maps each proposal to its group."""
    known = ClosedList(names)
    total = math.fsum(share.p for share in belief)
    parts: dict[str, list[float]] = {}
    for share in belief:
        proposal = known.find(share.outcome)
        assert proposal is not None, "a checked belief names a known outcome"
        parts.setdefault(names[proposal], []).append(share.p)
    return tuple(Share(outcome=name, p=math.fsum(shares) / total) for name, shares in parts.items())


def blind_observation(
    v: View, q: float, outcomes: tuple[str, ...], blind: Mapping[str, Blind], beliefs: Mapping[str, Belief]
) -> controller.Observation:
    """What the controller begins with: Q(0) of the passages, D(0) and the overlap of the blind round."""
    return controller.Observation(
        beliefs={seat: parse_belief(belief, outcomes) for seat, belief in beliefs.items()},
        evidence={seat: cited(body.spans) for seat, body in blind.items()},
        q=q,
        tokens=tokens(v),
    )


def begin(s: State, v: View, observation: controller.Observation) -> controller.State:
    """The dials after the blind round. Debaters with known records are weighted by them."""
    settings = v.settings
    return controller.begin(
        settings,
        s.outcomes,
        observation,
        ordered=settings.ordered,
        positions=settings.positions,
        trust=trust(v.opened, v.seats(DEBATER), len(s.outcomes)),
    )


def vote(observation: controller.Observation, dials: controller.State) -> str:
    """The majority of the debaters' most probable outcomes; ties by the mixture, then by the order of the outcomes."""
    mixture = dials.rounds[0].mixture
    names = dials.outcomes
    votes = dict.fromkeys(names, 0)
    for belief in observation.beliefs.values():
        votes[max(zip(names, belief, strict=True), key=lambda pair: (pair[1], mixture[pair[0]]))[0]] += 1
    return max(names, key=lambda name: (votes[name], mixture[name]))


def merges(blind: Mapping[str, Blind], names: Mapping[str, str]) -> dict[str, tuple[CountsAs, ...]]:
    """Debater -> its proposals that were merged into an outcome of another name. `names`: proposal -> its group."""
    known = ClosedList(names)
    told: dict[str, list[CountsAs]] = {}
    for seat, body in blind.items():
        for share in body.belief:
            proposal = known.find(share.outcome)
            assert proposal is not None, "a checked belief names a known outcome"
            if answer_key(names[proposal]) != answer_key(share.outcome):
                told.setdefault(seat, []).append(CountsAs(proposed=share.outcome, outcome=names[proposal]))
    return {seat: tuple(words) for seat, words in told.items()}


def passages_quality(similar: Similar) -> float:
    """Q(0) of the retrieved passages (F.1)."""
    return Similarities(similar).quality(range(len(similar.dots)))
