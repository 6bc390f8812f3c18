"""maci: debaters with beliefs and evidence, judges that never argue, and a controller with two dials and a stop.

Source: seeds/maci.md, resolved in docs/maci.md. Round 0 is blind (`blind`). A round then is: arguments with a belief
(`argue`), scores (`crit`), similarities of quotations (`measure`), the dual gate, signals, dials, the stop.
What is measured and decided is the controller's (parley.coordinator.schedulers); here is who is asked what, and who
sees it.

    RETRIEVING -> BLIND [-> MERGING] (-> ARGUING [-> JUDGING] [-> PLANNING [-> RETRIEVING_MORE]])* -> CONCLUDING -> DONE
"""

import msgspec

from parley.coordinator.commands import Finish, SayOn, Stop
from parley.coordinator.protocol_parts import caps
from parley.coordinator.protocols.maci import plan as maci_plan
from parley.coordinator.protocols.maci import round as maci_round
from parley.coordinator.protocols.maci.check import check
from parley.coordinator.protocols.maci.closing import (
    PUBLIC,
    SCORES,
    Says,
    looked_up,
    part,
    posts_of,
    say,
    scored_by,
    signals_of,
)
from parley.coordinator.protocols.maci.lexical import by_words
from parley.coordinator.protocols.maci.outcome import COUNTED, ends_round, figures, outcome
from parley.coordinator.protocols.maci.round import cases, numbered_arguments
from parley.coordinator.protocols.maci.seats import ROLES, seat
from parley.coordinator.protocols.maci.state import (
    ANALYST,
    DEBATER,
    HELPER,
    JUDGE,
    LEAST_DEBATERS,
    NONE_OF_THESE,
    ClosedRound,
    Phase,
    State,
    body_of,
    only_seat,
    passages,
)
from parley.coordinator.protocols.maci.turns import (
    ANSWER,
    ARGUE,
    ATTACK,
    BLIND,
    CRIT,
    MEASURE,
    MERGE,
    PLAN,
    RETRIEVE,
    advocate,
    ask_argue,
    ask_blind,
    ask_judges,
    ask_merge,
    ask_plan,
    ask_retrieve,
    look_ups,
    next_round,
    next_turn_kinds,
    plan,
    remember,
    usual,
)
from parley.coordinator.schedulers import controller
from parley.coordinator.signals.beliefs import parse_belief
from parley.coordinator.signals.reliability import trust
from parley.coordinator.table import Answered, AnsweredLate, Missed, Protocol, Step, Table, Unaffordable, View, to
from parley.schemas.control import Verdict
from parley.schemas.protocols.maci.messages import (
    Blind,
    Case,
    Crit,
    Group,
    Measured,
    Merged,
    Passage,
    Passages,
    Retrieved,
    Tests,
)
from parley.schemas.protocols.maci.settings import Settings, TunedSettings
from parley.schemas.text import ClosedList, squeeze
from parley.schemas.wire import decode, raw

replace = msgspec.structs.replace


# ---------------------------------------------------------------- passages


def _start(v: View) -> Step:
    s = State(phase=Phase.RETRIEVING)
    return s, (ask_retrieve(s, v),)


def _on_retrieved(s: State, e: Answered, v: View) -> Step:
    """The task's passages came: number them, take their Q(0), and ask every debater what it believes."""
    r: Retrieved = e.body
    passages = tuple(Passage(id=f"p{i}", document=p.document, text=p.text) for i, p in enumerate(r.passages, 1))
    body = Passages(passages=passages, q=maci_round.passages_quality(r.similar))
    s = replace(s, phase=Phase.BLIND, passages=(v.next_post,) if passages else ())
    return s, (say(PUBLIC, "passages", 0, body), *ask_blind(s, v))


def _on_nothing_retrieved(s: State, e: Missed, v: View) -> Step:
    """The helper failed: passages that share words with the question are found, and nobody says how near they are."""
    s = replace(s, missing=_with(s.missing, e.seat))
    body = Passages(passages=by_words(v))
    s = replace(s, phase=Phase.BLIND, passages=(v.next_post,))
    return s, (say(PUBLIC, "passages", 0, body), *ask_blind(s, v))


# ---------------------------------------------------------------- round 0


def _on_blind(s: State, e: Answered, v: View) -> Step:
    """A blind belief came. It is kept back until the last debater has answered or missed."""
    s = replace(s, pending={**s.pending, e.seat: raw(e.body)})
    return (s, ()) if v.open_turns else _close_blind(s, v)


def _on_not_blind(s: State, e: Missed, v: View) -> Step:
    """A debater without a blind belief is left out for good."""
    s = replace(s, missing=_with(s.missing, e.seat), short=s.short or e.short)
    return (s, ()) if v.open_turns else _close_blind(s, v)


def _close_blind(s: State, v: View) -> Step:
    s, says, blind = _reveal(s, v)
    if len(blind) < LEAST_DEBATERS:
        return _fail(s, s.short, v, f"{len(blind)} debaters have a blind belief, {LEAST_DEBATERS} are needed", says)
    if v.settings.outcomes:
        names = {name: name for name in v.settings.outcomes}
        return _begin(replace(s, outcomes=v.settings.outcomes), v, blind, names, says)
    proposed = maci_round.proposals(blind)
    if len(proposed) == 1:
        return _merge(s, v, blind, tuple(Group(name=name, members=(name,)) for name in proposed), "names", says)
    return replace(s, phase=Phase.MERGING), (*says, ask_merge(v, proposed))


def _reveal(s: State, v: View) -> tuple[State, Says, dict[str, Blind]]:
    """Post the blind replies, all at once, where debaters do not read. Returns (state, posts, replies by debater)."""
    seats = [d.seat for d in v.seats(DEBATER)]
    replied = tuple(name for name in seats if name in s.pending)
    blind = {name: decode(s.pending[name], Blind) for name in replied}
    says = tuple(say(SCORES, "blind", 0, blind[name], name) for name in replied)
    s = replace(
        s,
        pending={},
        debaters=replied,
        left_out=tuple(name for name in seats if name not in replied),
        blind={name: v.next_post + i for i, name in enumerate(replied)},
    )
    return remember(s, 0, blind), says, blind


def _on_merged(s: State, e: Answered, v: View) -> Step:
    return _merge(s, v, _blind(s, v), e.body.groups, ANALYST, (), e.seat)


def _on_not_merged(s: State, e: Missed, v: View) -> Step:
    """The analyst failed: only outcomes of one name are merged, and this is marked."""
    s = replace(s, missing=_with(s.missing, e.seat))
    return _merge(s, v, _blind(s, v), _by_name(s, v), "names", ())


def _on_merge_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """Outcomes are merged by name, so that round 0 counts; then the session ends."""
    return _merge(s, v, _blind(s, v), _by_name(s, v), "names", (), end=e)


def _blind(s: State, v: View) -> dict[str, Blind]:
    return {name: body_of(v, post, Blind) for name, post in s.blind.items()}


def _by_name(s: State, v: View) -> tuple[Group, ...]:
    return tuple(Group(name=name, members=(name,)) for name in maci_round.proposals(_blind(s, v)))


def _merge(
    s: State,
    v: View,
    blind: dict[str, Blind],
    groups: tuple[Group, ...],
    by: str,
    says: Says,
    seat_: str = "",
    end: Unaffordable | None = None,
) -> Step:
    """A single outcome gets `none of these` beside it: else nothing is measured. From here on one is added only where a
    debater says that its words are no part of what they were merged into."""
    if len(groups) == 1:
        groups = (*groups, Group(name=NONE_OF_THESE, members=()))
    says = (*says, say(PUBLIC, "outcomes", 0, Merged(groups=groups), seat_))
    names = {member: group.name for group in groups for member in group.members}
    s = replace(
        s,
        outcomes=tuple(group.name for group in groups),
        merged_by=by,
        groups=groups,
        unconfirmed=maci_round.merges(blind, names),
    )
    return _begin(s, v, blind, names, says, end)


def _begin(
    s: State, v: View, blind: dict[str, Blind], names: dict[str, str], says: Says, end: Unaffordable | None = None
) -> Step:
    """The signals of round 0, and the dials that follow from them."""
    beliefs = {name: maci_round.merged(body.belief, names) for name, body in blind.items()}
    q = (body_of(v, s.passages[0], Passages).q or 0.0) if s.passages else 0.0
    observation = maci_round.blind_observation(v, q, s.outcomes, blind, beliefs)
    dials = maci_round.begin(s, v, observation)
    s = replace(s, control=dials, vote=maci_round.vote(observation, dials))
    return _decide(s, v, says, ClosedRound(number=0, post=0, missing=s.missing), end)


# ---------------------------------------------------------------- arguments


def _next_round(s: State, v: View, says: Says) -> Step:
    late = {seat: body for seat, body in s.late.items() if seat in s.debaters}
    s, says = _joined(s, v, says)
    s, says = looked_up(s, v, says)
    s = replace(s, phase=Phase.ARGUING, round=len(s.rounds), pending={}, scores={}, similar=None, missing=(), late={})
    s = replace(s, advocate=advocate(s, v, s.round))
    s = replace(s, pending={seat: body for seat, body in late.items() if _stands(s, v, seat)})
    return s, (*says, *(ask for ask in ask_argue(s, v) if ask.seat not in s.pending))


def _stands(s: State, v: View, seat: str) -> bool:
    """Whether a debater's argument of an earlier round may be its argument of the running one: not where it is asked to
    attack, or to answer an attack."""
    return next_turn_kinds(s, v, s.advocate).get(seat) == ARGUE


def _joined(s: State, v: View, says: Says) -> tuple[State, Says]:
    """Debaters whose blind belief came late take part from now on. Left out stays who names an outcome that is not
    among those which were fixed; and everybody in the paper's reading, whose beliefs may not move apart."""
    names = {name: name for name in s.outcomes}
    said = [*((p.kind, p.body) for p in v.posts), *((w.kind, w.body) for w in says if isinstance(w, SayOn))]
    for body in (body for kind, body in said if kind == "outcomes"):
        names |= {member: group.name for group in decode(body, Merged).groups for member in group.members}
    known = ClosedList(names)
    for debater in [name for name in s.left_out if name in s.late]:
        blind = decode(s.late[debater], Blind)
        if v.settings.gated or any(known.find(share.outcome) is None for share in blind.belief):
            continue
        belief = parse_belief(maci_round.merged(blind.belief, names), s.outcomes)
        weight = trust(v.opened, v.seats(DEBATER), len(s.outcomes)).get(debater, 1.0)
        posts = {**s.blind, debater: v.next_post + sum(isinstance(w, SayOn) for w in says)}
        says = (*says, say(SCORES, "blind", 0, blind, debater))
        left_out = tuple(name for name in s.left_out if name != debater)
        dials = controller.join(s.dials, debater, belief, weight)
        s = replace(s, debaters=(*s.debaters, debater), left_out=left_out, blind=posts, control=dials)
        s = remember(s, 0, {debater: blind})
    return s, says


def _on_late(s: State, e: AnsweredLate, v: View) -> Step:
    """A reply came after its step was told that the seat missed it. A blind belief makes the seat a debater from the
    next round on; an argument is its argument in the round that runs now, or in the next one."""
    runs = {BLIND: Phase.BLIND, CRIT: Phase.JUDGING, MEASURE: Phase.JUDGING}.get(e.kind, Phase.ARGUING)
    missing = tuple(seat for seat in s.missing if seat != e.seat)
    if s.phase is not runs:
        kept = e.kind in (BLIND, ARGUE)
        return (replace(s, late={**s.late, e.seat: raw(e.body)}) if kept else s), ()
    if e.round != s.round and not (e.kind == ARGUE and _stands(s, v, e.seat)):
        return s, ()
    if e.kind == CRIT:
        return replace(s, scores={**s.scores, e.seat: raw(e.body)}, missing=missing), ()
    if e.kind == MEASURE:
        return replace(s, similar=e.body.similar, missing=missing), ()
    body = replace(e.body, arguments=()) if e.kind == ANSWER else e.body
    return replace(s, pending={**s.pending, e.seat: raw(body)}, missing=missing), ()


def _may_close(s: State, v: View) -> bool:
    """Whether more than half have answered, and two of the debaters; where the helper measures, it too."""
    if s.phase is Phase.JUDGING:
        return s.similar is not None and 2 * len(s.scores) > len(v.seats(JUDGE))
    if s.phase not in (Phase.BLIND, Phase.ARGUING):
        return False
    of = len(v.seats(DEBATER)) if s.phase is Phase.BLIND else len(next_turn_kinds(s, v, s.advocate))
    return len(s.pending) >= LEAST_DEBATERS and 2 * len(s.pending) > of


def _on_argued(s: State, e: Answered, v: View) -> Step:
    """An argument came. It is kept back until the round is closed: no debater sees what a gate refuses."""
    case: Case = e.body
    if e.kind == ANSWER:  # it answers, and argues again where that was not the end
        case = replace(case, arguments=())
    s = replace(s, pending={**s.pending, e.seat: raw(case)})
    return (s, ()) if v.open_turns else _judge(s, v)


def _on_not_argued(s: State, e: Missed, v: View) -> Step:
    """A debater sits the round out: it keeps its last belief, and makes no argument."""
    s = replace(s, missing=_with(s.missing, e.seat))
    if e.short:
        return _drop(s, Unaffordable(what=e.short), v)
    return (s, ()) if v.open_turns else _judge(s, v)


def _judge(s: State, v: View) -> Step:
    arguments = numbered_arguments(s, cases(s))
    if not arguments:
        return _close_round(s, v)
    return replace(s, phase=Phase.JUDGING), ask_judges(s, v, arguments)


def _on_judged(s: State, e: Answered, v: View) -> Step:
    if e.kind == MEASURE:
        measured: Measured = e.body
        s = replace(s, similar=measured.similar)
    else:
        s = replace(s, scores={**s.scores, e.seat: raw(e.body)})
    return (s, ()) if v.open_turns else _close_round(s, v)


def _on_not_judged(s: State, e: Missed, v: View) -> Step:
    """A judge that failed is left out of the mean. Without similarities the evidence of every argument is 0."""
    s = replace(s, missing=_with(s.missing, e.seat))
    if e.short:
        return _drop(s, Unaffordable(what=e.short), v)
    return (s, ()) if v.open_turns else _close_round(s, v)


def _close_round(s: State, v: View) -> Step:
    """Close the round: the dual gate, the round's posts, and the controller's next state."""
    debaters = cases(s)
    arguments = numbered_arguments(s, debaters)
    scored = scored_by(s, v, arguments)
    judged = maci_round.judge(s, v, arguments, tuple(scored.values()))
    says, admitted, refused, good = posts_of(s, v, debaters, scored, arguments, judged)
    attacks = tuple(entry.id for entry in admitted if entry.tests)
    waiting = maci_round.waits(s, debaters, attacks)
    unanswered = len({name for names in waiting.values() for name in names} - set(attacks))
    seats = next_turn_kinds(s, v, s.advocate)
    s, added, debaters = part(s, debaters)
    says = (*says, *added)
    dials = controller.advance(v.settings, s.dials, maci_round.observe(s, v, debaters, judged, seats, unanswered))
    shown = (r.admitted or maci_round.good(v, r) for r in judged.ruled)
    posted = [(a.seat, a.argument.claim) for a, on in zip(arguments, shown, strict=True) if on]
    closed = ClosedRound(
        number=s.round,
        post=0,
        admitted=admitted,
        refused=refused,
        good=good,
        missing=s.missing,
        unjudged=bool(arguments) and not scored,
        unmeasured=bool(arguments) and s.similar is None,
        attacks=len(debaters[s.advocate].arguments) if s.advocate in debaters else None,
    )
    s = replace(
        s,
        control=dials,
        arguments=s.arguments + len(arguments),
        pending={},
        scores={},
        similar=None,
        waiting=waiting if controller.answering(v.settings, dials) else {},
    )
    return _decide(remember(s, s.round, debaters, posted), v, says, closed)


# ---------------------------------------------------------------- after a round


def _decide(s: State, v: View, says: Says, closed: ClosedRound, end: Unaffordable | None = None) -> Step:
    short = end.what if end else v.affords(next_round(s, v, closed.number + 1))
    verdict = controller.verdict(v.settings, s.dials, short, len(s.unconfirmed))
    closed = replace(closed, post=v.next_post + sum(isinstance(w, SayOn) for w in says))
    says = (*says, say(PUBLIC, "signals", closed.number, signals_of(s, v, closed, verdict)))
    s = replace(s, rounds=(*s.rounds, closed), spent=maci_round.tokens(v), missing=())
    if verdict is not None:
        return _conclude(s, v, verdict, says, over=end is not None and end.seconds)
    if v.settings.close_the_loop and closed.number and not controller.agrees(v.settings, s.dials):
        return replace(s, phase=Phase.PLANNING), (*says, ask_plan(s, v))
    return _next_round(s, v, says)


def _on_planned(s: State, e: Answered, v: View) -> Step:
    """Run those queries of the plan that were not run before."""
    t: Tests = e.body
    ranked = maci_plan.rank(t.tests, maci_plan.contention(s.dials, v.settings))
    says: Says = (say(PUBLIC, "plan", e.round, ranked, e.seat),)
    run = {squeeze(query).casefold() for query in s.asked}
    queries: list[str] = []
    for test in ranked.tests:
        key = squeeze(test.query).casefold()
        if key not in run:
            run.add(key)
            queries.append(test.query)
    if not queries:
        return _next_round(s, v, says)
    s = replace(s, phase=Phase.RETRIEVING_MORE, looking=tuple(queries))
    return s, (*says, ask_retrieve(s, v, s.looking))


def _on_found_more(s: State, e: Answered, v: View) -> Step:
    """New passages may be cited from the next round on."""
    r: Retrieved = e.body
    queries = s.looking
    s = replace(s, asked=(*s.asked, *queries), looking=())
    known = {squeeze(p.text) for p in passages(s, v)}
    number = len(passages(s, v))
    new = [p for p in r.passages if squeeze(p.text) not in known]
    if not new:
        return _next_round(s, v, ())
    added = tuple(Passage(id=f"p{number + i}", document=p.document, text=p.text) for i, p in enumerate(new, 1))
    s = replace(s, passages=(*s.passages, v.next_post))
    return _next_round(s, v, (say(PUBLIC, "passages", e.round, Passages(passages=added, queries=queries)),))


def _on_nothing_more(s: State, e: Missed, v: View) -> Step:
    """Without a plan, or without its passages, the next round is like any other. Whose fault it was is noted."""
    s, asks = _next_round(replace(s, looking=()), v, ())
    return replace(s, missing=(e.seat,)), asks


# ---------------------------------------------------------------- the end


def _conclude(s: State, v: View, verdict: Verdict, says: Says, over: bool = False) -> Step:
    """Post the stop decision with its certificate, and ask the retrieval plan unless the time is over, or nothing is
    left to tell apart."""
    reason, certificate = verdict.reason, {**verdict.certificate, **figures(s, v)}
    s = replace(s, ended=reason)
    stop = Stop(reason=reason, certificate=raw(certificate), converged=verdict.converged)
    if over or maci_plan.settled(s.dials, verdict):
        return replace(s, phase=Phase.DONE), (*says, stop, Finish())
    return replace(s, phase=Phase.CONCLUDING), (*says, stop, ask_plan(s, v, final=True))


def _fail(s: State, short: str, v: View, why: str, says: Says) -> Step:
    """Round 0 is not complete, so the session cannot go on. If the budget kept a seat from another attempt, that is the
    reason."""
    reason = "budget" if short else "quorum"
    s = replace(s, phase=Phase.DONE, ended=reason)
    certificate = {"reason": reason, "what": short or why, "converged": False, **figures(s, v)}
    return s, (*says, Stop(reason=reason, certificate=raw(certificate)), Finish())


def _on_no_beginning(s: State, e: Unaffordable, v: View) -> Step:
    """The first turns do not fit, or the time is over before round 0 is complete. Post what came."""
    says: Says = ()
    if s.phase == Phase.BLIND:
        s, says, _ = _reveal(s, v)
    return _fail(s, e.what, v, "", says)


def _drop(s: State, e: Unaffordable, v: View) -> Step:
    """The running round cannot be finished, so it does not count. What was said in it is posted for the record, where
    debaters do not read."""
    running = s.round >= len(s.rounds)
    says = tuple(say(SCORES, "case", s.round, case, name) for name, case in cases(s).items())
    s = replace(s, pending={}, scores={}, similar=None, dropped=s.round if running else None)
    verdict = controller.verdict(v.settings, s.dials, e.what, len(s.unconfirmed))
    assert verdict is not None, "what does not fit the budget ends it"
    return _conclude(s, v, verdict, says, over=e.seconds)


def _on_final_plan(s: State, e: Answered, v: View) -> Step:
    t: Tests = e.body
    ranked = maci_plan.rank(t.tests, maci_plan.contention(s.dials, v.settings))
    post = say(PUBLIC, "plan", e.round, ranked, e.seat)
    return replace(s, phase=Phase.DONE, plan=v.next_post), (post, Finish())


def _on_no_plan(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The closing plan failed: the result has none."""
    return replace(s, phase=Phase.DONE), (Finish(),)


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return names if name in names else (*names, name)


# Which event is legal in which phase is decided here and nowhere else. A pair that is absent is illegal.
_AFTER_ROUND = (Phase.ARGUING, Phase.PLANNING, Phase.CONCLUDING, Phase.DONE)
TABLE: Table = {
    Phase.RETRIEVING: {
        Answered: to(_on_retrieved, Phase.BLIND),
        Missed: to(_on_nothing_retrieved, Phase.BLIND),
        Unaffordable: to(_on_no_beginning, Phase.DONE),
    },
    Phase.BLIND: {
        Answered: to(_on_blind, Phase.BLIND, Phase.MERGING, Phase.ARGUING, Phase.CONCLUDING, Phase.DONE),
        AnsweredLate: to(_on_late, Phase.BLIND),
        Missed: to(_on_not_blind, Phase.BLIND, Phase.MERGING, Phase.ARGUING, Phase.CONCLUDING, Phase.DONE),
        Unaffordable: to(_on_no_beginning, Phase.DONE),
    },
    Phase.MERGING: {
        Answered: to(_on_merged, Phase.ARGUING, Phase.CONCLUDING),
        AnsweredLate: to(_on_late, Phase.MERGING),
        Missed: to(_on_not_merged, Phase.ARGUING, Phase.CONCLUDING),
        Unaffordable: to(_on_merge_unaffordable, Phase.CONCLUDING, Phase.DONE),
    },
    Phase.ARGUING: {
        Answered: to(_on_argued, *_AFTER_ROUND, Phase.JUDGING),
        AnsweredLate: to(_on_late, Phase.ARGUING),
        Missed: to(_on_not_argued, *_AFTER_ROUND, Phase.JUDGING),
        Unaffordable: to(_drop, Phase.CONCLUDING, Phase.DONE),
    },
    Phase.JUDGING: {
        Answered: to(_on_judged, *_AFTER_ROUND, Phase.JUDGING),
        AnsweredLate: to(_on_late, Phase.JUDGING),
        Missed: to(_on_not_judged, *_AFTER_ROUND, Phase.JUDGING),
        Unaffordable: to(_drop, Phase.CONCLUDING, Phase.DONE),
    },
    Phase.PLANNING: {
        Answered: to(_on_planned, Phase.RETRIEVING_MORE, Phase.ARGUING),
        AnsweredLate: to(_on_late, Phase.PLANNING),
        Missed: to(_on_nothing_more, Phase.ARGUING),
        Unaffordable: to(_drop, Phase.DONE),
    },
    Phase.RETRIEVING_MORE: {
        Answered: to(_on_found_more, Phase.ARGUING),
        AnsweredLate: to(_on_late, Phase.RETRIEVING_MORE),
        Missed: to(_on_nothing_more, Phase.ARGUING),
        Unaffordable: to(_drop, Phase.DONE),  # the helper computes: only time runs out, and no plan is asked for then
    },
    Phase.CONCLUDING: {
        Answered: to(_on_final_plan, Phase.DONE),
        Missed: to(_on_no_plan, Phase.DONE),
        Unaffordable: to(_on_no_plan, Phase.DONE),
    },
    Phase.DONE: {},
}

PROTOCOL = Protocol(
    name="maci",
    version=1,
    settings=Settings,
    tuned=TunedSettings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={
        RETRIEVE: Retrieved,
        BLIND: Blind,
        MERGE: Merged,
        ARGUE: Case,
        ATTACK: Case,
        ANSWER: Case,
        MEASURE: Measured,
        CRIT: Crit,
        PLAN: Tests,
    },
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=_start,
    final=lambda v: ((only_seat(v, ANALYST), caps(v)),),
    check=check,
    outcome=outcome,
    stops=("agreement", "plateau", "stalemate", "round_limit", "budget", "quorum"),
    plan=plan,
    usual=usual,
    counted=COUNTED,
    shows_refused=True,
    readers=(HELPER,),
    ends_round=ends_round,
    trusts=DEBATER,
    may_close=_may_close,
    look_ups=look_ups,
    spares=(ANALYST, HELPER),
    opens_without=(ANALYST, HELPER),
    needs_model=(DEBATER, JUDGE, ANALYST),
)
