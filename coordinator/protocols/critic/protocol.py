"""critic: an answerer, a critic that keeps a profile of its objections, and a judge that says when it is enough.

Source: seeds/madcap.md. The judge rewrites the question, and only the rewritten one is debated. A round is: an answer
(`answer`, afresh), one new objection (`critique`), the judge's ruling (`judge`). Around it: the helper says whether an
objection is new (`compare`), a critic that finds nothing too early is asked again (`press`), and the judge's bias is
measured on request (`judge` once more, in the opposite order).

    REWRITING -> (ANSWERING -> CRITIQUING [-> COMPARING] [-> PRESSING [-> COMPARING]] -> JUDGING [-> REJUDGING])*
    -> CONCLUDING -> DONE

What was said lives in posts; the state refers to them by number.
"""

from typing import Any

import msgspec

from parley.coordinator.commands import Finish, Rephrase, SayOn, Stop, Wish
from parley.coordinator.protocols.critic.check import check
from parley.coordinator.protocols.critic.confidence import WORTHLESS, of_state
from parley.coordinator.protocols.critic.measures import COUNTED
from parley.coordinator.protocols.critic.outcome import figures, outcome
from parley.coordinator.protocols.critic.seats import ROLES, seat
from parley.coordinator.protocols.critic.state import (
    ANSWERER,
    CRITIC,
    JUDGE,
    Moved,
    Phase,
    Round,
    State,
    answer_first,
    body_of,
    direction,
    label,
    move,
    raised,
    seat_of,
)
from parley.coordinator.protocols.critic.turns import (
    ANSWER,
    COMPARE,
    CRITIQUE,
    JUDGING,
    PRESS,
    REWRITE,
    VERDICT,
    ask_answer,
    ask_compare,
    ask_critique,
    ask_judge,
    ask_rewrite,
    ask_verdict,
    caps,
    plan,
)
from parley.coordinator.signals import paraphrase
from parley.coordinator.table import Answered, Missed, Protocol, Step, Table, Unaffordable, View, to
from parley.schemas.protocols.critic import (
    DUPLICATE_AT,
    DUPLICATE_AT_LEXICAL,
    START,
    Answer,
    Bias,
    Comparison,
    Critique,
    Judgement,
    Objection,
    Pressed,
    Raised,
    Rewritten,
    Settings,
    Similarities,
    Tally,
    Verdict,
)
from parley.schemas.similarity import BY_ENCODER, BY_WORDS, WHY
from parley.schemas.text import same
from parley.schemas.wire import raw

PUBLIC = "public"
Says = tuple[Wish, ...]
replace = msgspec.structs.replace


def _say(kind: str, round_: int, body: object, seat_: str = "") -> SayOn:
    return SayOn(channel=PUBLIC, kind=kind, round=round_, body=raw(body), seat=seat_)


# ---------------------------------------------------------------- the question


def _start(v: View) -> Step:
    """The judge rewrites the question; nobody else is shown it."""
    return State(phase=Phase.REWRITING, confidence=START), (ask_rewrite(v),)


def _on_rewritten(s: State, e: Answered, v: View) -> Step:
    """From here on there is no other question than this. A neutral one may be kept as it was asked."""
    if same(e.body.question, v.opened.question):
        as_asked = Rewritten(question=v.opened.question, note="kept as asked")
        return _next_round(replace(s, question=v.next_post), v, (_say("question", 0, as_asked, e.seat),))
    says = (Rephrase(question=e.body.question), _say("question", 0, e.body, e.seat))
    return _next_round(replace(s, question=v.next_post), v, says)


def _on_not_rewritten(s: State, e: Missed, v: View) -> Step:
    """The question stands as it was asked, and the post says so; nothing is asked further where the budget is short."""
    if e.short:
        return _fail(s, e, v, "the judge did not rewrite the question")
    original = Rewritten(
        question=v.opened.question, note=f"as it was asked, since no rewriting could be used: {e.why}"[:4_000]
    )
    return _next_round(replace(s, question=v.next_post), v, (_say("question", 0, original, ""),))


def _next_round(s: State, v: View, says: Says) -> Step:
    s = replace(s, phase=Phase.ANSWERING, rounds=(*s.rounds, Round(number=len(s.rounds) + 1)))
    return s, (*says, ask_answer(s, v))


# ---------------------------------------------------------------- answer


def _on_answered(s: State, e: Answered, v: View) -> Step:
    s = replace(s, answer=v.next_post, heard=_with(s.heard, ANSWERER)).mark(answer=v.next_post)
    return replace(s, phase=Phase.CRITIQUING), (_say("answer", e.round, e.body, e.seat), ask_critique(s, v))


def _on_no_answer(s: State, e: Missed, v: View) -> Step:
    """The answer of the round before stands; where there is none, there is no debate."""
    s = s.mark(missing=_with(s.now.missing, e.seat))
    if s.answer is None:
        return _fail(s, e, v, "the answerer gave no answer")
    return replace(s, phase=Phase.CRITIQUING), (ask_critique(s, v),)


# ---------------------------------------------------------------- critique


def _on_objected(s: State, e: Answered, v: View) -> Step:
    """A new objection, one to be compared with the profile, or none."""
    c: Critique = e.body
    number = 0 if c.exhausted else len(s.profile) + 1
    post = Raised(
        number=number, objection=c.objection, citations=c.citations, pressed=s.now.pressed,
        checked=c.checked or msgspec.UNSET,
    )  # fmt: skip
    says = (_say("objection", e.round, post, e.seat),)
    s = replace(s, heard=_with(s.heard, CRITIC)).mark(raised=(*s.now.raised, v.next_post))
    if c.exhausted:
        if c.checked and any(r.pressed for r in s.rounds):
            return _judge(s.mark(exhausted=True), v, says)  # asked once, and computed: it is not asked again
        return _nothing_new(s, v, says, "You found nothing new, after too few rounds to believe it.")
    if not s.profile:
        return _judge(s.mark(objection=v.next_post), v, says)
    return replace(s, phase=Phase.COMPARING), (*says, ask_compare(s, v, c.objection))


def _on_no_objection(s: State, e: Missed, v: View) -> Step:
    """A critic that is not there has not run out of objections: the round is judged without one."""
    s = s.mark(missing=_with(s.now.missing, e.seat))
    if len(s.heard) < v.settings.quorum:
        return _fail(s, e, v, "the critic has said nothing")
    return _judge(s, v, ())


def _on_compared(s: State, e: Answered, v: View) -> Step:
    similar: Similarities = e.body
    by = next((flag for flag in (BY_ENCODER, BY_WORDS) if flag in e.flags), "helper")
    why = next((flag.removeprefix(WHY) for flag in e.flags if flag.startswith(WHY)), "")
    raised_post, comparison = _compare(s, v, similar.values, by, why)
    return _compared(s, v, raised_post, comparison)


def _on_not_compared(s: State, e: Missed, v: View) -> Step:
    """The helper failed: by words alone, marked as such, and the session goes on."""
    raised_post, comparison = _compare(s, v, _lexical(s, v), "lexical_fallback", f"{e.seat}: {e.why}"[:300])
    return _compared(s, v, raised_post, comparison)


def _lexical(s: State, v: View) -> tuple[float, ...]:
    raised_post = raised(v, s.now.raised[-1])
    assert raised_post is not None
    return tuple(round(paraphrase.similarity(raised_post.objection, o.text), 4) for o in s.profile)


def _compare(s: State, v: View, values: tuple[float, ...], source: str, why: str) -> tuple[Raised, Comparison]:
    """The nearest objection of the profile; the same words are the same objection whatever the helper says."""
    raised_post = raised(v, s.now.raised[-1])
    assert raised_post is not None
    similar = [1.0 if same(raised_post.objection, o.text) else x for x, o in zip(values, s.profile, strict=True)]
    nearest = max(range(len(similar)), key=lambda i: similar[i])
    of_source = {"helper": DUPLICATE_AT, BY_ENCODER: v.settings.duplicate_at_encoder}
    threshold = of_source.get(source, DUPLICATE_AT_LEXICAL)
    return raised_post, Comparison(
        objection=raised_post.objection,
        nearest=s.profile[nearest].number,
        nearest_text=s.profile[nearest].text,
        similarity=similar[nearest],
        threshold=threshold,
        duplicate=similar[nearest] >= threshold,
        source=source,
        why=why,
    )


def _compared(s: State, v: View, raised_post: Raised, c: Comparison) -> Step:
    says = (_say("comparison", s.now.number, c),)
    s = s.mark(comparisons=(*s.now.comparisons, v.next_post))
    if c.duplicate:
        again = f"Your objection says what objection {c.nearest} says already: {c.nearest_text}"
        return _nothing_new(s, v, says, again)
    return _judge(s.mark(objection=s.now.raised[-1]), v, says)


def _nothing_new(s: State, v: View, says: Says, why: str) -> Step:
    """Too early, the critic is asked once more in a sharper tone; else the debate ends with this round's judgement."""
    if s.now.number < v.settings.min_rounds and not s.now.pressed:
        s = replace(s, phase=Phase.PRESSING).mark(pressed=True)
        return s, (*says, _say("pressed", s.now.number, Pressed(why=why)), ask_critique(s, v, why))
    return _judge(s.mark(exhausted=True), v, says)


# ---------------------------------------------------------------- judge


def _judge(s: State, v: View, says: Says) -> Step:
    s = replace(s, phase=Phase.JUDGING)
    return s, (*says, ask_judge(s, v))


def _on_judged(s: State, e: Answered, v: View) -> Step:
    j: Judgement = e.body
    says: Says = (_say("judgement", e.round, j, e.seat),)
    s = s.mark(judgement=v.next_post, score=j.score)
    if v.settings.measure_bias and s.now.objection is not None:
        return replace(s, phase=Phase.REJUDGING), (*says, ask_judge(s, v, swapped=True))
    s, says = _count(s, v, j, says)
    return _decide(s, v, says)


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
    s, says = _count(s.mark(bias=bias), v, _counted(s, v), (_say("judgement_swapped", e.round, j, e.seat),))
    return _decide(s, v, says)


def _on_not_rejudged(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The round's bias is not known; its judgement counts all the same."""
    s, says = _count(s, v, _counted(s, v), ())
    if isinstance(e, Unaffordable) and e.seconds:
        return _out_of_budget(s, e, v, says)
    return _decide(s, v, says)


def _counted(s: State, v: View) -> Judgement | None:
    return body_of(v, s.now.judgement, Judgement)


def _count(s: State, v: View, j: Judgement | None, says: Says) -> tuple[State, Says]:
    """Append the round's objection to the profile, count confidence, and post both behind `says`; None: unjudged."""
    raised_post = raised(v, s.now.objection)
    moved = Moved()
    if j is not None:
        moved = move(s, j, raised_post is not None)
        s = replace(s, profile=tuple(_ruled(o, j) for o in s.profile))
    if raised_post is not None:
        new = Objection(
            number=raised_post.number, round=s.now.number, text=raised_post.objection, citations=raised_post.citations
        )
        s = replace(s, profile=(*s.profile, _weighed(new, j, moved.weight)))
    source = "unjudged" if j is None else "judge"
    s = s.mark(source=source)
    confidence = of_state(s, v)
    trend = (*s.trend(), confidence)
    tally = Tally(
        confidence=confidence, trend=trend, direction=direction(trend, START),
        label=label(confidence), answered=moved.answered, reopened=moved.reopened,
        found=raised_post.number if raised_post else 0, weight=moved.weight, profile=s.profile, source=source,
        missing=s.now.missing,
        bias=s.now.bias,
    )  # fmt: skip
    s = replace(s, confidence=confidence)
    s = s.mark(confidence=confidence, tally=v.next_post + sum(isinstance(w, SayOn) for w in says))
    return s, (*says, _say("tally", s.now.number, tally))


def _ruled(o: Objection, j: Judgement) -> Objection:
    return o if o.closed else replace(o, answered=o.number in j.answered)


def _weighed(o: Objection, j: Judgement | None, weight: float) -> Objection:
    """With its weight and what it contradicts; one that has nothing to it is closed at once."""
    if j is None:
        return o
    if j.contradicts:
        o = replace(o, contradicts=j.contradicts)
    worthless = j.score >= WORTHLESS
    return replace(o, weight=weight, closed=worthless, answered=worthless)


def _decide(s: State, v: View, says: Says) -> Step:
    """Nothing new, confident enough and not too early, the last round, or another one: in this order."""
    if s.now.exhausted:
        return _conclude(s, v, "objections_exhausted", says)
    early = s.now.number < v.settings.min_rounds
    if s.confidence >= v.settings.threshold and not early:
        return _conclude(s, v, "confidence", says)
    if s.now.number >= v.settings.round_limit:
        return _conclude(s, v, "round_limit", says)
    return _next_round(s, v, says)


# ---------------------------------------------------------------- the end


def _conclude(s: State, v: View, reason: str, says: Says, **more: Any) -> Step:
    """The stop decision with its certificate, and the judge's verdict."""
    stop = Stop(reason=reason, certificate=raw({**figures(s, v, says), **more}))
    return replace(s, phase=Phase.CONCLUDING), (*says, stop, ask_verdict(s, v, reason))


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


def _on_compare_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The objection is compared by words, for the record; then the session ends."""
    _, c = _compare(s, v, _lexical(s, v), "lexical_fallback", e.what)
    says: Says = (_say("comparison", s.now.number, c),)
    s = s.mark(comparisons=(*s.now.comparisons, v.next_post), objection=None if c.duplicate else s.now.raised[-1])
    s, says = _count(s, v, None, says)
    return _out_of_budget(s, e, v, says)


def _on_judge_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The round's objection is appended unjudged, for the record; then the session ends."""
    s, says = _count(s, v, None, ())
    return _out_of_budget(s, e, v, says)


def _out_of_budget(s: State, e: Unaffordable, v: View, says: Says) -> Step:
    """The verdict is still asked, from what was held back for it; when time is over, or without an answer, nothing
    is."""
    if s.answer is not None and not e.seconds:
        return _conclude(s, v, "budget", says, what=e.what)
    stop = Stop(reason="budget", certificate=raw({**figures(s, v, says), "what": e.what}))
    return replace(s, phase=Phase.DONE), (*says, stop, Finish())


def _on_verdict(s: State, e: Answered, v: View) -> Step:
    post = _say("verdict", e.round, e.body, e.seat)
    return replace(s, phase=Phase.DONE, verdict=v.next_post), (post, Finish())


def _on_no_verdict(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The result falls back on the answer that stands."""
    return replace(s, phase=Phase.DONE), (Finish(),)


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
        Answered: to(_on_objected, Phase.COMPARING, Phase.PRESSING, Phase.JUDGING),
        Missed: to(_on_no_objection, Phase.JUDGING, Phase.CONCLUDING, Phase.DONE),
        Unaffordable: to(_on_unaffordable, Phase.CONCLUDING, Phase.DONE),
    },
    Phase.COMPARING: {
        Answered: to(_on_compared, Phase.PRESSING, Phase.JUDGING),
        Missed: to(_on_not_compared, Phase.PRESSING, Phase.JUDGING),
        Unaffordable: to(_on_compare_unaffordable, Phase.CONCLUDING, Phase.DONE),
    },
    Phase.PRESSING: {
        Answered: to(_on_objected, Phase.COMPARING, Phase.JUDGING),
        Missed: to(_on_no_objection, Phase.JUDGING),
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
        Answered: to(_on_verdict, Phase.DONE),
        Missed: to(_on_no_verdict, Phase.DONE),
        Unaffordable: to(_on_no_verdict, Phase.DONE),
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
        REWRITE: Rewritten, ANSWER: Answer, CRITIQUE: Critique, PRESS: Critique, COMPARE: Similarities,
        JUDGING: Judgement, VERDICT: Verdict,
    },
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=_start,
    final=lambda v: ((seat_of(v, JUDGE), caps(v)),),
    check=check,
    outcome=outcome,
    stops=("objections_exhausted", "confidence", "round_limit", "budget", "quorum"),
    attempts=lambda settings: int(settings.attempts),
    plan=plan,
    counted=COUNTED,
    shows_refused=True,
    readers=(ANSWERER, CRITIC),
)  # fmt: skip
