"""critic: an answerer, a critic that keeps a profile of its objections, and a judge that says when it is enough.

Source: seeds/madcap.md. The judge rewrites the question; everybody sees beside it what was asked. A round is: an
answer (`answer`, afresh), one new objection (`critique`), and, where there is something to rule on, the judge's ruling
(`judge`), which also says whether the objection repeats an earlier one. The judge's bias is measured on request
(`judge` once more, in the opposite order). A verdict that narrows is signed by the answerer (`sign`). What ends with
exit status 0 the critic has seen as it stands (`countersign`).

    REWRITING -> (ANSWERING -> CRITIQUING [-> JUDGING] [-> REJUDGING])*
    -> CONCLUDING [-> SIGNING [-> CONCLUDING]] [-> COUNTERSIGNING [-> CONCLUDING]] -> DONE

What was said lives in posts; the state refers to them by number.
"""

import msgspec

from parley.coordinator.commands import Finish, Rephrase, SayOn, Stop
from parley.coordinator.protocol_parts import caps, say, seat_of
from parley.coordinator.protocols.critic.check import check
from parley.coordinator.protocols.critic.confidence import WORTHLESS, of_state, refutes
from parley.coordinator.protocols.critic.ending import (
    conclude,
    on_countersigned,
    on_no_verdict,
    on_not_signed,
    on_signed,
    on_unseen,
    on_verdict,
)
from parley.coordinator.protocols.critic.outcome import COUNTED, figures, outcome
from parley.coordinator.protocols.critic.rewriting import compare_rewriting
from parley.coordinator.protocols.critic.ruling import met, repeats, weighs
from parley.coordinator.protocols.critic.seats import ROLES, seat
from parley.coordinator.protocols.critic.state import (
    ANSWERER,
    CRITIC,
    JUDGE,
    PUBLIC,
    Phase,
    ProfileChange,
    Round,
    Says,
    State,
    answer_first,
    body_of,
    direction,
    label,
    move,
    raised,
    stands,
)
from parley.coordinator.protocols.critic.turns import (
    ANSWER,
    COUNTERSIGN,
    CRITIQUE,
    JUDGING,
    REWRITE,
    SIGN,
    VERDICT,
    ask_answer,
    ask_critique,
    ask_judge,
    ask_rewrite,
    plan,
    usual,
)
from parley.coordinator.table import Answered, Missed, Protocol, Step, Table, Unaffordable, View, to
from parley.schemas.protocols.critic import (
    AS_ASKED,
    START,
    Answer,
    Bias,
    Countersignature,
    Critique,
    Judgement,
    Objection,
    Question,
    Raised,
    Repeated,
    Rewritten,
    RoundTally,
    Settings,
    Signature,
    Verdict,
)
from parley.schemas.text import same
from parley.schemas.wire import raw

replace = msgspec.structs.replace


# ---------------------------------------------------------------- the question


def _start(v: View) -> Step:
    return State(phase=Phase.REWRITING, confidence=START), (ask_rewrite(v),)


def _on_rewritten(s: State, e: Answered, v: View) -> Step:
    """From here on everybody is shown this one, and beside it what was asked. A neutral one may be kept as it was."""
    if same(e.body.question, v.opened.question):
        as_asked = Question(question=v.opened.question, note="kept as asked")
        return _next_round(replace(s, question=v.next_post), v, (say("question", 0, as_asked, e.seat),))
    found = compare_rewriting(v.opened.question, e.body.question)
    post = Question(question=e.body.question, note=e.body.note, left_out=found.left_out, added=found.added)
    both = f"{e.body.question}{AS_ASKED}{v.opened.question}"
    says = (Rephrase(question=both), say("question", 0, post, e.seat))
    return _next_round(replace(s, question=v.next_post), v, says)


def _on_not_rewritten(s: State, e: Missed, v: View) -> Step:
    """The question stands as it was asked, and the post says so; nothing is asked further where the budget is short."""
    if e.short:
        return _fail(s, e, v, "the judge did not rewrite the question")
    original = Question(
        question=v.opened.question, note=f"as it was asked, since no rewriting could be used: {e.why}"[:4_000]
    )
    return _next_round(replace(s, question=v.next_post), v, (say("question", 0, original, ""),))


def _next_round(s: State, v: View, says: Says) -> Step:
    s = replace(s, phase=Phase.ANSWERING, rounds=(*s.rounds, Round(number=len(s.rounds) + 1)))
    return s, (*says, ask_answer(s, v))


# ---------------------------------------------------------------- answer


def _on_answered(s: State, e: Answered, v: View) -> Step:
    s = replace(s, answer=v.next_post, heard=_with(s.heard, ANSWERER))
    s = s.mark(answer=v.next_post, stands=stands(s, v, e.body.answer))
    return replace(s, phase=Phase.CRITIQUING), (say("answer", e.round, e.body, e.seat), ask_critique(s, v))


def _on_no_answer(s: State, e: Missed, v: View) -> Step:
    """The answer of the round before stands; where there is none, there is no debate."""
    s = s.mark(missing=_with(s.now.missing, e.seat))
    if s.answer is None:
        return _fail(s, e, v, "the answerer gave no answer")
    s = s.mark(stands=s.rounds[-2].stands)
    return replace(s, phase=Phase.CRITIQUING), (ask_critique(s, v),)


# ---------------------------------------------------------------- critique


def _on_objected(s: State, e: Answered, v: View) -> Step:
    """A new objection, the words of one that stands already, or none."""
    c: Critique = e.body
    number = 0 if c.exhausted else len(s.profile) + 1
    post = Raised(number=number, objection=c.objection, citations=c.citations, checked=c.calculation or msgspec.UNSET)
    says: Says = (say("objection", e.round, post, e.seat),)
    s = replace(s, heard=_with(s.heard, CRITIC), seen=s.answer).mark(raised=v.next_post)
    known = next((o for o in s.profile if not o.answered and same(c.objection, o.text)), None)
    if c.exhausted:
        return _judge(s.mark(exhausted=True), v, says, c.calculation)
    if known is not None:
        repeated = Repeated(objection=c.objection, repeats=known.number, text=known.text, weight=_weight(known))
        return _judge(s.mark(exhausted=True, repeats=v.next_post + 1), v, (*says, say("repeated", e.round, repeated)))
    return _judge(s.mark(objection=v.next_post), v, says)


def _weight(o: Objection) -> float:
    return 0.0 if o.weight is msgspec.UNSET else o.weight


def _on_no_objection(s: State, e: Missed, v: View) -> Step:
    """A critic that is not there has not run out of objections."""
    s = s.mark(missing=_with(s.now.missing, e.seat))
    if len(s.heard) < v.settings.quorum:
        return _fail(s, e, v, "the critic has said nothing")
    return _judge(s, v, ())


# ---------------------------------------------------------------- judge


def _judge(s: State, v: View, says: Says, checked: str = "") -> Step:
    """Asked where there is something to rule on: an objection, a check, or whether this answer meets those before."""
    if s.now.objection is None and not checked and not s.at_issue():
        s, says = _count(s, v, None, says, "nothing")
        return _decide(s, v, says)
    s = replace(s, phase=Phase.JUDGING)
    return s, (*says, ask_judge(s, v, checked=checked))


def _on_judged(s: State, e: Answered, v: View) -> Step:
    """The ruling. Where the objection repeats one of the profile, there was nothing new. A check that does not hold is
    no silence: before `min_rounds` the debate goes on."""
    j: Judgement = e.body
    says: Says = (say("judgement", e.round, j, e.seat),)
    s = s.mark(judgement=v.next_post, score=j.score)
    said = raised(v, s.now.raised)
    if said is not None and not said.number and said.checked:
        holds = j.check_holds and not refutes(said.checked)
        s = s.mark(checked=holds, exhausted=holds or s.now.number >= v.settings.min_rounds)
    number = repeats(s, v, j)
    if said is not None and number:
        s, post = _repeated(s, v, said, number, weighs(j))
        says = (*says, post)
    if v.settings.measure_bias and s.now.objection is not None:
        return replace(s, phase=Phase.REJUDGING), (*says, ask_judge(s, v, swapped=True))
    s, says = _count(s, v, j, says)
    return _decide(s, v, says)


def _repeated(s: State, v: View, said: Raised, number: int, weight: float) -> tuple[State, SayOn]:
    """Nothing is lost by a repetition: the objection that it repeats weighs what weighs more."""
    o = s.profile[number - 1]
    o = replace(o, weight=max(_weight(o), weight))
    s = replace(s, profile=(*s.profile[: number - 1], o, *s.profile[number:]))
    s = s.mark(objection=None, exhausted=True, repeats=v.next_post + 1)
    post = Repeated(objection=said.objection, repeats=number, text=o.text, weight=_weight(o))
    return s, say("repeated", s.now.number, post)


def _on_unjudged(s: State, e: Missed, v: View) -> Step:
    """The judge failed: the objection is appended unjudged, and the session goes on."""
    s, says = _count(s.mark(missing=_with(s.now.missing, e.seat)), v, None, ())
    return _decide(s, v, says)


def _on_rejudged(s: State, e: Answered, v: View) -> Step:
    """The first judgement counts; the second one measures."""
    j: Judgement = e.body
    first_score = s.now.score
    assert first_score is not None
    first, second = (first_score, j.score) if answer_first(v, s.now.number) else (j.score, first_score)
    bias = Bias(round=e.round, answer_first=first, objection_first=second, difference=round(first - second, 4))
    s, says = _count(s.mark(bias=bias), v, _counted(s, v), (say("judgement_swapped", e.round, j, e.seat),))
    return _decide(s, v, says)


def _on_not_rejudged(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The round's bias is not known; its judgement counts all the same."""
    s, says = _count(s, v, _counted(s, v), ())
    if isinstance(e, Unaffordable) and e.seconds:
        return _out_of_budget(s, e, v, says)
    return _decide(s, v, says)


def _counted(s: State, v: View) -> Judgement | None:
    return body_of(v, s.now.judgement, Judgement)


def _count(s: State, v: View, j: Judgement | None, says: Says, unruled: str = "unjudged") -> tuple[State, Says]:
    """Append the round's objection to the profile, count confidence, and post both behind `says`. `unruled`: what there
    is instead where there is no judgement: unjudged | nothing."""
    raised_post = raised(v, s.now.objection)
    moved = ProfileChange()
    if j is not None:
        meets = met(s, v, j)
        moved = move(s, meets)
        s = replace(s, profile=tuple(_ruled(o, meets) for o in s.profile))
    if raised_post is not None:
        new = Objection(
            number=raised_post.number, round=s.now.number, text=raised_post.objection, citations=raised_post.citations
        )
        s = replace(s, profile=(*s.profile, _weighed(new, j)))
    source = unruled if j is None else "judge"
    weight = weighs(j) if j is not None and raised_post is not None else 0.0
    s = s.mark(source=source)
    confidence = of_state(s)
    trend = (*s.trend(), confidence)
    tally = RoundTally(
        confidence=confidence,
        trend=trend,
        direction=direction(trend, START),
        label=label(confidence),
        answered=moved.answered,
        reopened=moved.reopened,
        found=raised_post.number if raised_post else 0,
        weight=weight,
        profile=s.profile,
        source=source,
        missing=s.now.missing,
        bias=s.now.bias,
    )
    s = replace(s, confidence=confidence)
    s = s.mark(confidence=confidence, tally=v.next_post + sum(isinstance(w, SayOn) for w in says))
    return s, (*says, say("tally", s.now.number, tally))


def _ruled(o: Objection, meets: dict[int, str]) -> Objection:
    if o.closed:
        return o
    return replace(o, answered=o.number in meets, met_by=meets.get(o.number, msgspec.UNSET))


def _weighed(o: Objection, j: Judgement | None) -> Objection:
    """With its weight and what it contradicts; one that has nothing to it is closed at once."""
    if j is None:
        return o
    if j.contradicts:
        o = replace(o, contradicts=j.contradicts)
    worthless = j.score >= WORTHLESS
    return replace(o, weight=weighs(j), closed=worthless, answered=worthless)


def _decide(s: State, v: View, says: Says) -> Step:
    """Nothing new, confident enough and not too early, the last round, or another one: in this order."""
    if s.now.exhausted:
        return conclude(s, v, "objections_exhausted", says)
    early = s.now.number < v.settings.min_rounds
    if s.confidence >= v.settings.threshold and not early:
        return conclude(s, v, "confidence", says)
    if s.now.number >= v.settings.round_limit:
        return conclude(s, v, "round_limit", says)
    return _next_round(s, v, says)


# ---------------------------------------------------------------- the end


def _fail(s: State, e: Missed, v: View, why: str) -> Step:
    """Without this seat nothing goes on; where it was the budget that kept it from another attempt, that is why."""
    if e.short:
        return _out_of_budget(s, Unaffordable(what=e.short), v, ())
    stop = Stop(reason="quorum", certificate=raw({**figures(s, v, ()), "what": why, "quorum": v.settings.quorum}))
    return replace(s, phase=Phase.DONE), (stop, Finish())


def _on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The next turn cannot be had, or time is over while one is out. A round in which nothing came was none."""
    if s.phase == Phase.ANSWERING:
        s = replace(s, rounds=s.rounds[:-1])
    return _out_of_budget(s, e, v, ())


def _on_judge_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The round's objection is appended unjudged, for the record; then the session ends."""
    s, says = _count(s, v, None, ())
    return _out_of_budget(s, e, v, says)


def _out_of_budget(s: State, e: Unaffordable, v: View, says: Says) -> Step:
    """The verdict is still asked, from what was held back for it; when time is over, or without an answer, nothing
    is."""
    if s.answer is not None and not e.seconds:
        return conclude(s, v, "budget", says, e.what)
    stop = Stop(reason="budget", certificate=raw({**figures(s, v, says), "what": e.what}))
    return replace(s, phase=Phase.DONE), (*says, stop, Finish())


def _with(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return names if name in names else (*names, name)


# Which event is legal in which phase is decided here and nowhere else. A pair that is absent is illegal.
TABLE: Table = {
    Phase.REWRITING: {
        Answered: to(_on_rewritten, Phase.ANSWERING),
        Missed: to(_on_not_rewritten, Phase.ANSWERING, Phase.DONE),
        Unaffordable: to(_on_unaffordable, Phase.DONE),
    },
    Phase.ANSWERING: {
        Answered: to(_on_answered, Phase.CRITIQUING),
        Missed: to(_on_no_answer, Phase.CRITIQUING, Phase.DONE),
        Unaffordable: to(_on_unaffordable, Phase.CONCLUDING, Phase.DONE),
    },
    Phase.CRITIQUING: {
        Answered: to(_on_objected, Phase.JUDGING, Phase.CONCLUDING),
        Missed: to(_on_no_objection, Phase.JUDGING, Phase.ANSWERING, Phase.CONCLUDING, Phase.DONE),
        Unaffordable: to(_on_unaffordable, Phase.CONCLUDING, Phase.DONE),
    },
    Phase.JUDGING: {
        Answered: to(_on_judged, Phase.REJUDGING, Phase.ANSWERING, Phase.CONCLUDING),
        Missed: to(_on_unjudged, Phase.ANSWERING, Phase.CONCLUDING),
        Unaffordable: to(_on_judge_unaffordable, Phase.CONCLUDING, Phase.DONE),
    },
    Phase.REJUDGING: {
        Answered: to(_on_rejudged, Phase.ANSWERING, Phase.CONCLUDING),
        Missed: to(_on_not_rejudged, Phase.ANSWERING, Phase.CONCLUDING),
        Unaffordable: to(_on_not_rejudged, Phase.ANSWERING, Phase.CONCLUDING, Phase.DONE),
    },
    Phase.CONCLUDING: {
        Answered: to(on_verdict, Phase.SIGNING, Phase.COUNTERSIGNING, Phase.DONE),
        Missed: to(on_no_verdict, Phase.COUNTERSIGNING, Phase.DONE),
        Unaffordable: to(on_no_verdict, Phase.COUNTERSIGNING, Phase.DONE),
    },
    Phase.SIGNING: {
        Answered: to(on_signed, Phase.COUNTERSIGNING, Phase.CONCLUDING, Phase.DONE),
        Missed: to(on_not_signed, Phase.COUNTERSIGNING, Phase.DONE),
        Unaffordable: to(on_not_signed, Phase.COUNTERSIGNING, Phase.DONE),
    },
    Phase.COUNTERSIGNING: {
        Answered: to(on_countersigned, Phase.CONCLUDING, Phase.DONE),
        Missed: to(on_unseen, Phase.DONE),
        Unaffordable: to(on_unseen, Phase.DONE),
    },
    Phase.DONE: {},
}

PROTOCOL = Protocol(
    name="critic",
    version=1,
    settings=Settings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={
        REWRITE: Rewritten,
        ANSWER: Answer,
        CRITIQUE: Critique,
        JUDGING: Judgement,
        VERDICT: Verdict,
        SIGN: Signature,
        COUNTERSIGN: Countersignature,
    },
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=_start,
    final=lambda v: ((seat_of(v, JUDGE), caps(v)),),
    check=check,
    outcome=outcome,
    stops=(
        "objections_exhausted",
        "confidence",
        "overturned",
        "unsettled",
        "round_limit",
        "budget",
        "quorum",
    ),
    plan=plan,
    usual=usual,
    counted=COUNTED,
    shows_refused=True,
    readers=(ANSWERER, CRITIC),
    spares=(JUDGE,),
    needs_model=(ANSWERER, CRITIC, JUDGE),
)
