"""madp: from the task to who leads (seeds/madp.md 4.2): intake, claims, challenges, consensus.

Nobody is made to claim. Each expert that hears the task's post speaks for itself, from the floor.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from parley.coordinator.commands import CloseWindow, OpenWindow, Wish, Withdraw
from parley.coordinator.protocols.madp import preferred
from parley.coordinator.protocols.madp.check import challenges_fault, claim_fault
from parley.coordinator.protocols.madp.depth import assessed, claims_wanted, determine_depth, ranked
from parley.coordinator.protocols.madp.evidence.risk import SECURITY
from parley.coordinator.protocols.madp.items import end, warn
from parley.coordinator.protocols.madp.lead_changes import (
    alone,
    assign,
    consensus,
    general,
    left_out,
    posted_challenges,
    to_consensus,
)
from parley.coordinator.protocols.madp.state import (
    COORDINATION,
    HELPER,
    MOST_TASK,
    PUBLIC,
    Phase,
    Says,
    State,
    announced_experts,
    degraded,
    expert_list,
    own_queue,
    say,
    task_of,
)
from parley.coordinator.protocols.madp.turns import ask_match, coordination_s, has_helper
from parley.coordinator.protocols.madp.who_leads import most_confident, needs_challenges
from parley.coordinator.table import (
    NOBODY,
    Answered,
    Awaited,
    Illegal,
    Inadmissible,
    Missed,
    Session,
    Spoke,
    Step,
    View,
    WindowClosed,
)
from parley.schemas.expert import ExpertSpec, pin
from parley.schemas.protocols.madp.messages import CHALLENGES, CLAIMS, Challenges, Claim, ClaimsPosted, Pass, TaskPosted
from parley.schemas.routing import Candidate, Depth, Factors, Matched, Profile
from parley.schemas.wire import SchemaError, decode, encode

replace = msgspec.structs.replace
BY_CLAIMS = "claims"
"""The name of the matcher if nobody matched the task."""
MOST_CLAIMS = 24
"""Experts of one task, at most: candidates, and others that speak up."""
MOST_AWAITED = 32
"""If so many experts or fewer may claim, all are waited for within the window. If there are more, the window stays open
until its end."""
LATE = "the coordination took longer than it may"
BY_WORDS, FITS_LESS = "coordination is degraded: the task's words choose", "the task's words fit it less"
NO_HELPER = "the task could not be matched: no helper is there"


# ---------------------------------------------------------------- intake


def start(v: View) -> Step:
    """The helper matches the task; where there is none, its words decide. Whom a human names must be there. Raises
    Inadmissible: `madp.expert` is not announced; the task is too long."""
    wanted, experts = v.settings.expert, announced_experts(v)
    if wanted and wanted not in experts:
        why = f"madp.expert: no expert {wanted!r} is there; there are {expert_list(experts)}"
        raise Inadmissible("madp.expert", why, worker=True)
    size = len(encode(task_of(v)))
    if size > MOST_TASK:
        raise Inadmissible("madp.code_snippets", f"the task has {size:,} bytes, allowed are at most {MOST_TASK:,}")
    window = OpenWindow(name=COORDINATION, seconds=coordination_s(v))
    if not has_helper(v):
        return _unmatched(State(phase=Phase.INTAKE), v, (window,), NO_HELPER)
    return State(phase=Phase.INTAKE), (window, ask_match(v))


def on_matched(s: State, e: Answered, v: View) -> Step:
    """Candidates must be announced, with the specification that they were announced with. The depth is 4.1's."""
    m: Matched = e.body
    experts = announced_experts(v)
    pinned = {p.expert: p for p in m.profiles if p.expert in experts and p.pin == experts[p.expert].pin}
    found = ranked([c for c in m.candidates if c.expert in pinned and not pinned[c.expert].general])
    candidates = preferred.corrected(found, v)
    factors = assessed(m.factors, candidates)
    depth, learned = _depth(factors, candidates, v)
    if candidates and (told := preferred.confidence_words(found[0], candidates[0], v)):
        learned = (*learned, told)
    s = replace(
        s, depth=depth, factors=factors, candidates=candidates, learned=learned,
        profiles=pinned, security=m.security, matcher=m.matcher,
        reviewers=tuple(x for x in m.reviewers if x in pinned), general=m.general if m.general in experts else "",
    )  # fmt: skip
    says: Says = ()
    dropped = sorted({c.expert for c in m.candidates} - {c.expert for c in candidates})
    if dropped:
        what = "not announced, or with another specification than they were announced with"
        s, says = warn(s, says, f"candidates left out: {expert_list(dropped)}: {what}")
    return _route(s, v, says, factors)


def _depth(factors: Factors, candidates: tuple[Candidate, ...], v: View) -> tuple[Depth, tuple[str, ...]]:
    """(The depth, what was learned of it): what a human asks for, else 4.1's, at most a step from it where past tasks
    say so."""
    if v.settings.depth or not candidates:
        return v.settings.depth or "instant", ()
    depth, why = preferred.depth(determine_depth(factors, candidates), v)
    return depth, (why,) if why else ()


def _route(s: State, v: View, says: Says, factors: Factors) -> Step:
    """4.2: the deeper, the more phases."""
    wanted, skip = v.settings.expert, degraded(v)
    depth = s.depth or "instant"
    claims_mode = claims_wanted(depth) if s.candidates and not wanted and not skip else "none"
    post = TaskPosted(
        task=task_of(v), depth=depth, candidates=s.candidates, factors=factors, claims=claims_mode, matcher=s.matcher,
        override=wanted, degraded=skip,
        everyone=claims_mode != "none" and len(_may_claim(s, v)) <= MOST_AWAITED,
    )  # fmt: skip
    says = (*says, say(s, "task", post))
    if wanted:
        return named_by_human(s, v, says, wanted)
    if not s.candidates:
        return general(s, v, says, "no expert matches the task" if v.opened.experts else "no expert is there")
    if claims_mode == "none":
        return _implicit(s, v, says, skip)
    s = replace(s, phase=Phase.CLAIMING)
    return s, (*says, OpenWindow(name=CLAIMS, seconds=v.settings.claim_window_s))


def named_by_human(s: State, v: View, says: Says, expert: str) -> Step:
    """`--expert`: this expert leads whatever intake found. It counts as an override."""
    excluded = left_out(s, expert, f"a human chose {expert}")
    decision = consensus(v, alone(s, expert), f"a human chose {expert}", "override", excluded=excluded)
    return assign(replace(s, overrides=s.overrides + 1), v, says, decision)


def _implicit(s: State, v: View, says: Says, skip: bool) -> Step:
    """One clear match, or the degraded mode: the most confident candidate leads."""
    only = len(s.candidates) == 1
    why = "the only match, and a clear one" if only else "the most confident: nobody claims at this depth"
    how = "degraded" if skip else "implicit"
    confidence = {c.expert: c.confidence for c in s.candidates}
    return _surest(s, v, says, confidence, BY_WORDS if skip else why, how, left=FITS_LESS)


def _surest(
    s: State, v: View, says: Says, confidence: dict[str, float], why: str, how: str, *, left: str, failure: str = ""
) -> Step:
    """9.1's second row: the most confident leads, ties by priority. `left`: why nobody else does."""
    lead, tie = most_confident(confidence, s.profiles)
    notes = tuple(x for x in (s.unmatched, tie) if x)
    decision = consensus(v, alone(s, lead), f"{lead}: {why}", how, excluded=left_out(s, lead, left), notes=notes)
    return assign(s, v, says, decision, failure=failure)


def on_unmatched(s: State, e: Missed, v: View) -> Step:
    """The helper failed: the words of the task decide. It counts as a failure of coordination."""
    if e.short:
        return end(s, v, (), "budget", what=e.short)
    return _unmatched(s, v, (), f"the task could not be matched: {e.why}")


def _unmatched(s: State, v: View, says: Says, why: str) -> Step:
    """9.2's keyword score without a matcher. Each expert claims a task that has some of its words, and the one with the
    most leads. It still counts as a failure of coordination."""
    s = replace(
        s,
        general=next((k.id for k in v.opened.experts if k.general), ""),
        depth=v.settings.depth or "instant",
        unmatched=why,
    )
    if v.settings.expert:
        s, says = warn(s, says, why)
        return named_by_human(s, v, says, v.settings.expert)
    if all(k.general for k in v.opened.experts):
        return general(s, v, says, why, failure=why)
    factors = Factors(
        candidate_count=0, confidence_variance=0.0, domain_overlap=False, action_clarity=True, scope_definition=False
    )
    s, says = warn(replace(s, phase=Phase.CLAIMING, factors=factors, matcher=BY_CLAIMS), says, why)
    post = TaskPosted(
        task=task_of(v),
        depth=s.depth or "instant",
        candidates=(),
        factors=factors,
        claims="brief",
        matcher=BY_CLAIMS,
        unmatched=True,
    )
    return s, (*says, say(s, "task", post), OpenWindow(name=CLAIMS, seconds=v.settings.claim_window_s))


def on_intake_late(s: State, e: WindowClosed, v: View) -> Step:
    """9.1: the time budget ended before there were candidates: the words of the task decide."""
    return _unmatched(s, v, withdraw_turns(v), LATE)


def withdraw_turns(v: View) -> Says:
    """Withdraw all open turns."""
    return tuple(Withdraw(seat=x) for x in dict.fromkeys(t.ask.seat for t in v.open_turns))


# ---------------------------------------------------------------- claims


def on_claim_heard(s: State, e: Spoke, v: View) -> Step:
    """An expert claims the task, or passes. A candidate speaks once. Another announced expert may claim too, and brings
    its specification. Raises Illegal: it is not the speaker's own claim, was made before, comes late, or is not well
    formed."""
    body = _decode_spoken(e, CLAIMS, {"claim": Claim, "pass": Pass})
    expert = body.agent_id
    _own(e, expert, "agent_id", v)
    candidates = {c.expert for c in s.candidates}
    if expert in s.claims or expert in s.passed or expert in s.heard:
        raise Illegal(f"{expert} has spoken already")
    if isinstance(body, Pass):
        if expert not in candidates:
            return _spoken(_passed_by(s, v, expert), v)
        return _spoken(replace(s, passed={**s.passed, expert: body.why or "it passed"}), v)
    if len(s.claims) >= MOST_CLAIMS:
        raise Illegal(f"{len(s.claims)} experts have claimed it; no more are heard")
    if expert not in candidates:
        spec = _uncalled(body, v)
        s = replace(s, profiles={**s.profiles, expert: Profile.of(spec)})
        if s.unmatched and spec.category == SECURITY:
            s = replace(s, security=True)
    fault = claim_fault(body, expert, v)
    if fault:
        raise Illegal(fault)
    return _spoken(replace(s, claims={**s.claims, expert: replace(body, spec=None)}), v)


def _passed_by(s: State, v: View, expert: str) -> State:
    """An expert that intake did not name passes: it is not waited for any longer."""
    if expert not in announced_experts(v):
        raise Illegal(f"{expert} was not announced when the task came: it is heard from the next one on")
    return replace(s, heard=(*s.heard, expert))


def _decode_spoken(e: Spoke, window: str, kinds: dict[str, type]) -> Any:
    """The decoded body of what an expert said. Raises Illegal if it does not belong here."""
    if e.window != window or e.channel != PUBLIC:  # the machine has checked that the window is open
        raise Illegal(f"window {e.window} is not open here, on {e.channel}")
    if e.kind not in kinds:
        raise Illegal(f"kind: got {e.kind!r}, here are heard: {', '.join(kinds)}")
    try:
        return decode(e.body, kinds[e.kind])
    except SchemaError as fault:
        raise Illegal(f"{e.kind}: {fault}") from fault


def _own(e: Spoke, expert: str, field: str, v: View) -> None:
    """Nobody speaks for another expert: the broker pins who speaks."""
    if own_queue(v.opened, expert) != e.author:
        raise Illegal(f"{field}: got {expert!r}, but {e.author} speaks")


def _uncalled(body: Claim, v: View) -> ExpertSpec:
    """The specification of an expert that intake did not name."""
    known = announced_experts(v).get(body.agent_id)
    if known is None:
        raise Illegal(f"{body.agent_id} was not announced when the task came: it is heard from the next one on")
    if body.spec is None or body.spec.id != body.agent_id:
        raise Illegal(f"claim.spec: {body.agent_id} is no candidate, so its claim needs its specification")
    if pin(body.spec) != known.pin:
        raise Illegal(f"claim.spec: {body.agent_id} was announced with another specification (pin {known.pin})")
    if body.spec.general:
        raise Illegal(f"{body.agent_id} takes only what nobody else does, and there are candidates")
    return body.spec


def _spoken(s: State, v: View) -> Step:
    """The window closes when everybody has spoken."""
    if s.unmatched or silent(s) or _unheard(s, v):
        return s, ()
    return _close_claims(s, v, (CloseWindow(name=CLAIMS),))


def on_claims_over(s: State, e: WindowClosed, v: View) -> Step:
    """The window's deadline, or 9.1's time budget."""
    if s.unmatched:
        closed = (CloseWindow(name=CLAIMS),) if e.name == COORDINATION else ()
        posts, s = posted_claims(s, v, False)
        return _by_words(s, v, (*closed, *posts))
    if e.name == COORDINATION:
        says, s = posted_claims(s, v, False)
        return _out_of_time(s, v, (CloseWindow(name=CLAIMS), *says))
    return _close_claims(s, v, ())


def _may_claim(s: State, v: View) -> list[str]:
    """Experts that may claim the task. The general-purpose one takes only what nobody else does."""
    candidates = {c.expert for c in s.candidates}
    return [k.id for k in v.opened.experts if not k.general or k.id in candidates]


def _unheard(s: State, v: View) -> bool:
    """Whether somebody who may claim has not spoken yet. If very many may claim, the window stays open until its
    end."""
    spoken, may = {*s.claims, *s.passed, *s.heard}, _may_claim(s, v)
    return len(may) > MOST_AWAITED or any(x not in spoken for x in may)


def silent(s: State) -> tuple[str, ...]:
    """Candidates that did not speak."""
    return tuple(c.expert for c in s.candidates if c.expert not in s.claims and c.expert not in s.passed)


def awaited(session: Session, window: str) -> Awaited:
    """Experts that may still claim, or object; of the time budget also the helper that matches the task."""
    s: State = session.inner
    if window == CHALLENGES:
        return Awaited(surely=_queues(session, (x for x in s.claims if x not in s.spoken)))
    if window == CLAIMS:
        spoken, called = {*s.claims, *s.passed, *s.heard}, silent(s)
        others = (k.id for k in session.opened.experts if k.id not in spoken and not k.general)
        return Awaited(_queues(session, called), _queues(session, others))
    if window != COORDINATION:
        return NOBODY
    helpers = {seat.seat: seat.queue for seat in session.opened.seats if seat.role == HELPER}
    matching = (helpers[t.ask.seat] for t in session.turns.values() if t.ask.seat in helpers)
    speaking = (awaited(session, name) for name in (CLAIMS, CHALLENGES) if name in session.windows)
    return Awaited(maybe=frozenset(matching).union(*(queues for one in speaking for queues in one)))


def _queues(session: Session, experts: Iterable[str]) -> frozenset[str]:
    return frozenset(own_queue(session.opened, expert) for expert in experts)


def posted_claims(s: State, v: View, challenges: bool) -> tuple[Says, State]:
    """Post all claims at once: nobody who claims has read another claim."""
    body = ClaimsPosted(
        claims=tuple(s.claims.values()),
        silent=silent(s),
        challenges=challenges,
        passed=tuple(Pass(agent_id=x, why=why) for x, why in s.passed.items()),
    )
    return (say(s, "claims", body),), replace(s, silent=body.silent)


def _close_claims(s: State, v: View, says: Says) -> Step:
    """4.2: overlaps are resolved if needed at standard depth, and always at extended depth."""
    overlap = s.factors is not None and s.factors.domain_overlap
    contested = len(s.claims) > 1 and (
        s.depth == "extended" or (s.depth == "standard" and needs_challenges(s.claims, overlap))
    )
    posts, s = posted_claims(s, v, contested)
    says = (*says, *posts)
    if not s.claims:
        if silent(s):
            return _out_of_time(s, v, says)
        return general(s, v, says, "every candidate passed")
    if not contested:
        return to_consensus(s, v, says)
    s = replace(s, phase=Phase.CHALLENGING)
    return s, (*says, OpenWindow(name=CHALLENGES, seconds=v.settings.claim_window_s))


def _out_of_time(s: State, v: View, says: Says) -> Step:
    """9.1: go on with the most confident expert: of those who claimed, else of the candidates that did not pass."""
    matched = {c.expert: c.confidence for c in s.candidates}
    if s.claims:
        sure = {x: claim.confidence or matched.get(x, 0.0) for x, claim in s.claims.items()}
    else:
        sure = {x: matched[x] for x in silent(s)}
    if not sure:
        return general(s, v, says, LATE, failure=LATE)
    failure = LATE if s.claims else "no candidate claimed it in time"
    lead, _ = most_confident(sure, s.profiles)
    s, says = warn(s, says, f"{failure}: {lead} leads, as the most confident")
    return _surest(s, v, says, sure, f"{failure}: the most confident leads", "timeout", left=failure, failure=failure)


def _by_words(s: State, v: View, says: Says) -> Step:
    """Nobody matched the task: of those who claimed, the one with the most of its words leads. If nobody claimed: 9.1's
    first row."""
    if not s.claims:
        return general(s, v, says, "no expert's words are in the task", failure=s.unmatched)
    confidence = {x: claim.confidence for x, claim in s.claims.items()}
    return _surest(s, v, says, confidence, BY_WORDS, "degraded", left=FITS_LESS, failure=s.unmatched)


# ---------------------------------------------------------------- challenges


def on_challenge_heard(s: State, e: Spoke, v: View) -> Step:
    """Each claimant speaks once, and may object to several claims, or to none. Raises Illegal: as of a claim; or it
    challenges who did not claim, or itself."""
    body = _decode_spoken(e, CHALLENGES, {"challenges": Challenges})
    expert = next((x for x in s.claims if own_queue(v.opened, x) == e.author), "")
    if not expert:
        raise Illegal(f"{e.author} claimed nothing; who claimed: {expert_list(s.claims)}")
    if expert in s.spoken:
        raise Illegal(f"{expert} has spoken already")
    fault = challenges_fault(body, expert, s.claims)
    if fault:
        raise Illegal(fault)
    s = replace(s, spoken=(*s.spoken, expert), challenges=(*s.challenges, *body.challenges))
    if any(x not in s.spoken for x in s.claims):
        return s, ()
    return to_consensus(s, v, (CloseWindow(name=CHALLENGES),))


def on_challenges_over(s: State, e: WindowClosed, v: View) -> Step:
    """A claimant that said nothing objects to nothing. After 9.1's time budget the most confident leads."""
    if e.name == COORDINATION:
        says: tuple[Wish, ...] = (CloseWindow(name=CHALLENGES), *posted_challenges(s))
        return _out_of_time(s, v, says)
    return to_consensus(s, v, ())
