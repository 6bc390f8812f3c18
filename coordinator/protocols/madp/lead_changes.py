"""madp: the experts agree who leads, or the lead changes (seeds/madp.md 4.5, 5.2, 9.1)."""

import msgspec

from parley.coordinator.commands import CloseWindow, Tell, Wish, Withdraw
from parley.coordinator.protocols.madp import who_leads
from parley.coordinator.protocols.madp.depth import SUPPORT, worded
from parley.coordinator.protocols.madp.evidence.risk import must_ask
from parley.coordinator.protocols.madp.items import end, open_item, warn
from parley.coordinator.protocols.madp.preferred import Preferred, preferred
from parley.coordinator.protocols.madp.state import (
    BREAKER,
    COORDINATION,
    STOP_HERE,
    Phase,
    Says,
    State,
    announced_experts,
    confidence,
    number,
    say,
)
from parley.coordinator.protocols.madp.turns import ask_words, no_words, to_work
from parley.coordinator.protocols.madp.who_leads import ResolutionInput, responsibility
from parley.coordinator.table import Answered, Missed, Step, View, WindowClosed
from parley.schemas.artifact import Artifact
from parley.schemas.protocols.madp.messages import (
    Challenges,
    Consensus,
    Exclusion,
    HandedOver,
    Outcome,
    Settings,
    Worded,
)
from parley.schemas.protocols.madp.work import Assignment, TaskState
from parley.schemas.routing import TaskOutcome
from parley.schemas.wire import raw

MOST_ARTIFACTS = 20
"""Artifacts that a task's state names: the last ones."""
replace = msgspec.structs.replace


_USUAL = Settings()
_BOUNDS = ("coordination_s", "claim_window_s", "max_input_tokens", "max_output_tokens")


def tell_breaker(v: View, failure: str) -> Wish:
    """9.2: whether the coordination of this task failed, and why."""
    return Tell(session=BREAKER, kind="outcome", body=raw(TaskOutcome.of(v.sid, failure, not failure or _usual(v))))


def _usual(v: View) -> bool:
    """Whether the coordination had at least its default limits, and the work at most. Otherwise a failure may be caused
    by the asker's settings, and would count against everybody's tasks."""
    settings: Settings = v.settings
    if v.opened.waits or v.opened.turn_timeout_s < _USUAL.coordination_s:
        return False
    bounded = any(getattr(settings, name) < getattr(_USUAL, name) for name in _BOUNDS)
    return not (bounded or settings.ask_below > _USUAL.ask_below or settings.wording == "standard")


def assign(
    s: State, v: View, says: Says, decision: Consensus, *, failure: str = "", contenders: tuple[str, ...] = ()
) -> Step:
    """Post the consensus, and let its lead begin. If the lead is in doubt, a human is asked first (9.3)."""
    lead = decision.outcome.lead
    assert lead is not None, "a task that nobody takes ends"
    chosen = None
    if decision.how not in ("override", "human"):
        chosen = preferred(v, lead.agent_id, found=decision.how != "general")
    if chosen is not None:
        decision = _by_preference(s, decision, chosen)
        lead, s = decision.outcome.lead or lead, replace(s, learned=(chosen.why, *s.learned))
    s = replace(
        s,
        phase=Phase.WORKING,
        consensus=number(v, says),
        conflict=decision.conflict,
        team=decision.outcome.support,
        excluded=decision.outcome.excluded,
        folder=v.settings.folder,
    )
    says = (*says, say(s, "consensus", decision), tell_breaker(v, failure), CloseWindow(name=COORDINATION))
    s = replace(s, lead=lead.agent_id, responsibility=lead.responsibility)
    if decision.conflict:
        question = f"{decision.conflict}. Who leads?"
        return open_item(s, v, says, "conflict", question, contenders or (s.lead,), s.lead)
    if decision.how in ("override", "human"):
        return to_work(s, v, says)
    return unless_unsafe(s, v, says, 0.0 if chosen is None else chosen.sure)


def _by_preference(s: State, decision: Consensus, chosen: Preferred) -> Consensus:
    """The consensus with whom people chose for such tasks before as its lead; who would have led supports, as far as
    the depth has support."""
    before = decision.outcome.lead
    assert before is not None
    team = (before, *(a for a in decision.outcome.support if a.agent_id != chosen.expert))
    support = team[: SUPPORT[s.depth or "instant"]]
    own = next((a for a in decision.outcome.support if a.agent_id == chosen.expert), None) or alone(s, chosen.expert)
    left = tuple(Exclusion(agent_id=a.agent_id, reason=chosen.why) for a in team[len(support) :])
    excluded = (*left, *(x for x in decision.outcome.excluded if x.agent_id != chosen.expert))
    return replace(
        decision,
        outcome=Outcome(lead=own, support=support, excluded=excluded),
        rationale=chosen.why,
        how="preference",
        instead_of=before.agent_id,
        conflict="",
        notes=(f"else {before.agent_id} would lead: {decision.rationale}", *decision.notes),
    )


def unless_unsafe(s: State, v: View, says: Says, learned: float = 0.0) -> Step:
    """9.3: a human confirms the lead of a security-critical task, if the lead is not confident; and any lead, where the
    helper is away or the coordination degraded: nobody can say how sure the lead is then. `learned`: how sure past
    choices of people are of it."""
    sure, least = max(learned, confidence(s, s.lead)), v.settings.security_confidence
    if must_ask(v, s.security, bool(s.unmatched)):
        question = f"The task is security-critical, and {s.lead} was found by words alone."
    elif s.security and sure < least:
        doubt = f"would lead with confidence {sure:.2f} (wanted: {least:g})"
        question = f"The task is security-critical, and {s.lead} {doubt}."
    else:
        return to_work(s, v, says)
    others = tuple(dict.fromkeys((*s.claims, *(c.expert for c in s.candidates), *s.reviewers)))
    choices = (s.lead, *(x for x in others if x != s.lead and x in announced_experts(v)), STOP_HERE)
    return open_item(s, v, says, "security", f"{question} Who leads?", choices, s.lead)


def consensus(
    v: View, lead: Assignment | None, rationale: str, how: str, *, support: tuple[Assignment, ...] = (),
    excluded: tuple[Exclusion, ...] = (), conflict: str = "", notes: tuple[str, ...] = (),
) -> Consensus:  # fmt: skip
    """4.5's message, with the model tokens that the coordination took so far."""
    return Consensus(
        task_id=v.sid, deliberation_id=v.sid, outcome=Outcome(lead=lead, support=support, excluded=excluded),
        rationale=rationale, token_cost=v.ledger.used().tokens, how=how, conflict=conflict, notes=notes,  # type: ignore[arg-type]
    )  # fmt: skip


def alone(s: State, expert: str) -> Assignment:
    """The assignment of an expert that leads without a consensus."""
    return Assignment(agent_id=expert, responsibility=responsibility(s.profiles, expert, s.claims.get(expert)))


def left_out(s: State, lead: str, why: str) -> tuple[Exclusion, ...]:
    """All candidates and claimants except the lead."""
    all_ = dict.fromkeys((*(c.expert for c in s.candidates), *s.claims))
    return tuple(Exclusion(agent_id=x, reason=why) for x in all_ if x != lead)


def general(s: State, v: View, says: Says, why: str, failure: str = "") -> Step:
    """9.1: general-purpose mode, with a warning. Without a general-purpose expert nobody takes the task."""
    depth = s.depth or "instant"
    if not s.general:
        s, says = warn(replace(s, depth=depth), says, f"{why}; no general-purpose expert is there either")
        decision = consensus(v, None, why, "general", excluded=left_out(s, "", "it passed"), notes=(why,))
        s = replace(s, consensus=number(v, says), excluded=decision.outcome.excluded)
        return end(s, v, (*says, say(s, "consensus", decision), tell_breaker(v, failure)), "nobody", why=why)
    s = replace(s, depth=depth)
    if preferred(v, s.general, found=False) is None:
        s, says = warn(s, says, f"{why}: {s.general} takes it, as a general-purpose expert")
    excluded = left_out(s, s.general, "it passed" if s.passed else why)
    decision = consensus(v, alone(s, s.general), why, "general", excluded=excluded, notes=(why,))
    return assign(s, v, says, decision, failure=failure)


# ---------------------------------------------------------------- another lead


def swap(s: State, lead: str) -> tuple[Assignment, tuple[Assignment, ...]]:
    """(The new lead's assignment, the others'): the former lead becomes a supporter."""
    assignment = next((a for a in s.team if a.agent_id == lead), None) or alone(s, lead)
    before = (Assignment(agent_id=s.lead, responsibility=s.responsibility),) if s.lead else ()
    return assignment, (*before, *(a for a in s.team if a.agent_id != lead))


def reassign(s: State, v: View, says: Says, lead: str, rationale: str) -> Step:
    """A human settles who leads before the work began."""
    assignment, team = swap(s, lead)
    excluded = tuple(x for x in s.excluded if x.agent_id != lead)
    decision = consensus(v, assignment, rationale, "human", support=team, excluded=excluded)
    s = replace(
        s, lead=lead, responsibility=assignment.responsibility, team=team, excluded=excluded, consensus=number(v, says),
        overrides=s.overrides + 1, conflict="",
    )  # fmt: skip
    return to_work(s, v, (*says, say(s, "consensus", decision)))


def hand_over(s: State, v: View, says: Says, lead: str, reason: str, by: str, state: TaskState | None = None) -> Step:
    """5.2: somebody else leads from here on, with the state of the task."""
    assignment, team = swap(s, lead)
    state = state or s.task_state
    handover = HandedOver(from_agent=s.lead, to_agent=lead, reason=reason, task_state=state)
    says = (*says, say(s, "handoff", handover, seat=s.lead if by == s.lead else ""))
    s = replace(
        s,
        lead=lead,
        responsibility="; ".join(state.remaining) or assignment.responsibility,
        team=team,
        excluded=tuple(x for x in s.excluded if x.agent_id != lead),
        task_state=state,
        handoff=f"{by}: {reason}",
    )
    return to_work(s, v, says)


def with_artifact(state: TaskState, artifact: Artifact | None) -> TaskState:
    """The state of the task with one more artifact, named once."""
    if artifact is None:
        return state
    others = [a for a in state.artifacts if a.id != artifact.id]
    return replace(state, artifacts=(*others, artifact)[-MOST_ARTIFACTS:])


# ---------------------------------------------------------------- from claims to the consensus (4.4, 4.5)


DECLARED = "not every claim and challenge is worded by a model, the budget is kept for the work"
NOT_WORDED = "claims and challenges stand as declared, no model worded them"


def to_consensus(s: State, v: View, says: Says) -> Step:
    """All was said: it is worded first, where that is wanted and somebody can."""
    s, warned, words = _wanted(s, v)
    says = (*says, *warned)
    if words:
        return replace(s, phase=Phase.WORDING), (*says, *ask_words(s, v))
    return _agree(s, v, (*says, *posted_challenges(s)))


def _wanted(s: State, v: View) -> tuple[State, Says, bool]:
    """(.., a warning, whether a model is asked). Nothing is paid for words where nobody objects to a claim, or where
    the work could then not be paid."""
    words = bool(s.challenges) and worded(s.depth or "instant", v.settings)
    by = announced_experts(v).get(s.general)
    if not words or by is None or not by.metered:
        return s, (), False
    short = no_words(s, v, s.general)
    return (*warn(s, (), f"{DECLARED} ({short})"), False) if short else (s, (), True)


def on_worded(s: State, e: Answered, v: View) -> Step:
    """Its words take the place of the declared ones."""
    words: Worded = e.body
    claims = dict(s.claims)
    for c in words.claims:
        claims[c.agent_id] = replace(claims[c.agent_id], claim=c.claim, relevance=c.relevance)
    s = replace(s, claims=claims, challenges=words.challenges)
    return _agree(s, v, (say(s, "worded", words, e.seat), *posted_challenges(s)))


def on_not_worded(s: State, e: Missed, v: View) -> Step:
    """What was declared stands."""
    return _as_declared(s, v, (), e.why)


def on_words_late(s: State, e: WindowClosed, v: View) -> Step:
    """9.1's time budget is over: what was declared is enough to agree, so it is no failure of the coordination."""
    withdrawals = tuple(Withdraw(seat=x) for x in dict.fromkeys(t.ask.seat for t in v.open_turns))
    return _as_declared(s, v, withdrawals, "the coordination took longer than it may")


def _as_declared(s: State, v: View, says: Says, why: str) -> Step:
    s, says = warn(s, says, f"{NOT_WORDED}: {why[:400]}")
    return _agree(s, v, (*says, *posted_challenges(s)))


def posted_challenges(s: State) -> Says:
    """One post an expert that objects."""
    by = dict.fromkeys(c.challenger_id for c in s.challenges)
    return tuple(
        say(s, "challenges", Challenges(challenges=tuple(c for c in s.challenges if c.challenger_id == x)), seat=x)
        for x in by
    )


def _agree(s: State, v: View, says: Says) -> Step:
    """4.5: out of those who claimed."""
    r = who_leads.resolve(
        ResolutionInput(
            claims=s.claims,
            challenges=s.challenges,
            candidates=s.candidates,
            profiles=s.profiles,
            passed=s.passed,
            silent=tuple(c.expert for c in s.candidates if c.expert not in s.claims and c.expert not in s.passed),
            announced=frozenset(announced_experts(v)),
            most_support=SUPPORT[s.depth or "instant"],
        )
    )
    decision = consensus(
        v, r.lead, r.rationale, "implicit" if s.depth == "quick" else "explicit", support=r.support,
        excluded=r.excluded, conflict=r.conflict, notes=r.notes,
    )  # fmt: skip
    return assign(s, v, says, decision, contenders=r.contenders)
