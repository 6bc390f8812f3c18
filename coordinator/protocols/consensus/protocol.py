"""consensus: a panel answers apart, sees everybody's answers, and revises until its seats sign one answer, it is stuck,
or it meets its round limit.

Source: seeds/iterative-debate.md. One round is: all panelists (`answer`, then `revise`), whose positions are posted
together when the last is in; the analyst (`compare`), who proposes which of them are the same answer, unless all say
the same word for word; the moderator's score, assessment and decision. An answer that may be agreed is put to be signed
(signing.py): in a seat's own words where they are a sentence, else in the analyst's (`conclude`). Too few signatures
send it back to be worded anew, once in a session. Where too few answer the blind round because the others abstain,
nothing is scored: who abstained reads the answers in the next round.

    ANSWERING -> [REVISING ->] SCORING -> [WORDING ->] SIGNING -> [WORDING -> SIGNING ->] REVISING ... -> DONE

With a rule (`consensus.decide`) nothing is put to be signed: VOTING follows the debate (deciding.py).

Positions live in posts; the state refers to them by number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from parley.coordinator.commands import Finish, SayOn, Stop, Wish
from parley.coordinator.protocol_parts import say
from parley.coordinator.protocols.consensus import deciding
from parley.coordinator.protocols.consensus.assessing import (
    assess_answers,
    by_words,
    corrected,
    figures,
    is_unchanged,
    sole_source,
    unchanged,
)
from parley.coordinator.protocols.consensus.check import check, departs
from parley.coordinator.protocols.consensus.choosing import seated
from parley.coordinator.protocols.consensus.outcome import COUNTED, ends_round, outcome
from parley.coordinator.protocols.consensus.score import is_stuck
from parley.coordinator.protocols.consensus.seating import changes, decided, heard_first, missed
from parley.coordinator.protocols.consensus.seats import ROLES, joining, seat
from parley.coordinator.protocols.consensus.signing import (
    SIGNS,
    below_least,
    booked,
    can_reach,
    is_sentence,
    rival,
    seats_to_ask,
    tally,
)
from parley.coordinator.protocols.consensus.state import (
    ANALYST,
    LEXICAL,
    PANELIST,
    PUBLIC,
    SAME,
    VOTED,
    Phase,
    Round,
    State,
    is_over_half,
    is_tied,
    position,
    shown_order,
    sides,
    sitting,
    voters,
    weights,
)
from parley.coordinator.protocols.consensus.turns import (
    ANSWER,
    COMPARE,
    CONCLUDE,
    REVISE,
    SIGN,
    ask_analyst,
    ask_conclusion,
    ask_panelist,
    ask_revise,
    ask_signatures,
)
from parley.coordinator.protocols.consensus.usual import plan, usual
from parley.coordinator.signals.count_contradictions import all_of_one_mind
from parley.coordinator.table import (
    Answered,
    AnsweredLate,
    Decided,
    Missed,
    Protocol,
    Step,
    Table,
    Unaffordable,
    View,
    to,
    with_said,
)
from parley.schemas.protocols.consensus import (
    Assessment,
    Comparison,
    Conclusion,
    Position,
    Put,
    Settings,
    Signature,
    SoFar,
)
from parley.schemas.stops import ONE_SOURCE
from parley.schemas.text import answer_key, plain, same
from parley.schemas.wire import decode, raw

replace = msgspec.structs.replace

MAX_WHY = 300
"""Characters that are kept of why a seat is missing."""
Says = tuple[Wish, ...]
Posts = tuple[SayOn, ...]


# ---------------------------------------------------------------- asking


def _start(v: View) -> Step:
    """Round 1: everybody answers, and nobody is shown anything."""
    chosen = (say("seating", 1, x) for x in seated(v.opened))
    asks = (ask_panelist(v, s, ANSWER, 1) for s in v.seats(PANELIST))
    return State(phase=Phase.ANSWERING), (*chosen, *asks)


# ---------------------------------------------------------------- a round


def _on_position(s: State, e: Answered, v: View) -> Step:
    """A position came. It is kept back until the round's last seat has answered or missed."""
    s = replace(s, pending={**s.pending, e.seat: raw(e.body)})
    return (s, ()) if v.open_turns else _close_round(s, v)


def _on_late(s: State, e: AnsweredLate, v: View) -> Step:
    """An answer came after its round was told that the seat is missing. A position is the seat's in the round that runs
    now, or in the next one: nobody has read it before. A signature counts while the sentence that it is of is out."""
    if e.kind == SIGN:
        put = next((p for p in reversed(v.posts) if p.kind == "put"), None)
        if s.phase is not Phase.SIGNING or put is None or int(e.turn.split("-")[0]) < put.transition:
            return s, ()
    elif s.phase not in (Phase.ANSWERING, Phase.REVISING):
        return replace(s, late={**s.late, e.seat: raw(e.body)}), ()
    absent = {seat: why for seat, why in s.absent.items() if seat != e.seat}
    return replace(s, pending={**s.pending, e.seat: raw(e.body)}, absent=absent), ()


def _may_close(s: State, v: View) -> bool:
    """Whether the round would be scored, or the signatures counted, without the seats that are still out."""
    if s.phase is Phase.VOTING:
        return deciding.may_close(s, v)
    if s.phase is Phase.SIGNING:
        out = {*s.absent, *(t.ask.seat for t in v.open_turns)}
        return bool(sum(seat not in out for seat in s.held) >= v.settings.quorum)
    if s.phase not in (Phase.ANSWERING, Phase.REVISING) or len(s.pending) < v.settings.quorum:
        return False
    s, _, v = _reveal(s, v)
    return bool(len(voters(v, s.held)) >= v.settings.quorum and can_reach(s, v))


def _on_absent(s: State, e: Missed, v: View) -> Step:
    """The seat keeps its last position, and is marked as missing."""
    s = replace(s, short=s.short or e.short, absent={**s.absent, e.seat: e.why[:MAX_WHY]})
    return (s, ()) if v.open_turns else _close_round(s, v)


def _close_round(s: State, v: View) -> Step:
    s, says, v = _reveal(s, v)
    current = {seat: position(v, post) for seat, post in s.held.items()}
    speaking = {seat: p for seat, p in current.items() if p.speaks}
    if len(speaking) < v.settings.quorum:
        if _reads_on(s, v, len(speaking), len(current)):
            s, asks = ask_revise(s, v, speaking, None)
            return s, (*says, *asks)
        measured = {**figures(s, v), "positions": len(speaking)}
        heard = len(current) >= v.settings.quorum
        alone = _all_say_the_same(s, v) and heard and not s.short and not v.settings.least and not deciding.is_ruled(v)
        if alone and can_reach(s, v):  # who abstains may accept the one answer
            s, more, _ = by_words(replace(s, ending="quorum"), v, SAME)
            return _put(s, with_said(v, more), (*says, *more))
        silent = not speaking and heard
        if s.short:
            return _stop(s, "budget", {**measured, "what": s.short}, says)
        return _stop(s, "unanswered" if silent else "quorum", measured, says)
    if not can_reach(s, v) and not changes(s, v):
        return _stop(s, "incomplete", figures(s, v), says)
    if not v.settings.least and _all_say_the_same(s, v):
        s, more, assessment = by_words(s, v, SAME)
        return _decide(s, with_said(v, more), assessment, (*says, *more))
    if is_unchanged(s, v):
        s, more, assessment = unchanged(s, v)
        return _decide(s, with_said(v, more), assessment, (*says, *more))
    if v.settings.round_limit == 1 and not v.settings.least and is_over_half(sides(s, v)):  # a vote
        s, more, _ = by_words(replace(s, ending="round_limit"), v, VOTED)
        return _put(s, with_said(v, more), (*says, *more))
    return replace(s, phase=Phase.SCORING), (*says, ask_analyst(s, v, speaking))


def _all_say_the_same(s: State, v: View) -> bool:
    """Whether all who hold an answer say the same, word for word."""
    return len({answer_key(p.answer) for p in voters(v, s.held).values()}) == 1


def _reads_on(s: State, v: View, speaking: int, heard: int) -> bool:
    """Whether seats that abstained in the blind round may still make up the quorum once they read the others'
    quotations: with dealt documents one seat may hold the only one that answers. So may others where somebody joins
    or leaves."""
    settings: Settings = v.settings
    if changes(s, v) and not s.short:
        return True
    first = s.round == 1 and settings.round_limit > 1 and not s.short
    return first and 0 < speaking < heard and heard >= settings.quorum


def _reveal(s: State, v: View) -> tuple[State, Posts, View]:
    """Post all positions of this round at once. Returns (state, posts, the view with them)."""
    fresh = [seat for seat in weights(v) if seat in s.pending]
    order = shown_order(v, s.round, "", fresh)
    posts = {seat: v.next_post + order.index(seat) for seat in fresh}
    played = Round(
        number=s.round,
        posts=posts,
        missing=tuple(seat for seat in sitting(s, v) if seat not in s.pending),
        why=s.absent,
    )
    says = tuple(
        SayOn(channel=PUBLIC, kind="position", round=s.round, body=s.pending[seat], seat=seat) for seat in order
    )
    s = replace(s, pending={}, absent={}, held={**s.held, **posts}, rounds=(*s.rounds, played))
    return s, says, with_said(v, says)


# ---------------------------------------------------------------- the score


def _on_scored(s: State, e: Answered, v: View) -> Step:
    """Post what the analyst found, and assess the round by it."""
    shown = say("analysis", s.round, e.body, e.seat)
    s, says, assessment = assess_answers(s, v, e.body, ANALYST, (shown,))
    s, proposes = missed(s, v, e.body.missing)
    posts = (*says, *(wish for wish in proposes if isinstance(wish, SayOn)))
    return _decide(s, with_said(v, posts), assessment, (*says, *proposes))


def _on_unscored(s: State, e: Missed, v: View) -> Step:
    """The analyst failed, or parted equal words to the end: words are compared, marked as such."""
    s, says, assessment = by_words(s, v, LEXICAL)
    return _decide(s, with_said(v, says), assessment, says)


def _decide(s: State, v: View, a: Assessment, says: Says) -> Step:
    """Decide, in this order: an answer that may be agreed is put to be signed; stuck; the last round; another round."""
    settings: Settings = v.settings
    answer_groups = sides(s, v)
    share = 100 * answer_groups[0].weight / sum(g.weight for g in answer_groups)
    near = max(share, a.score) >= settings.threshold and not is_tied(answer_groups)
    if near and not _blocked(s, v) and not heard_first(s, v):
        return _put(s, v, says)
    return _go_on(s, v, says)


def _go_on(s: State, v: View, says: Says) -> Step:
    """Another round; or the end, before which an answer that more than half hold is put to be signed, once."""
    settings: Settings = v.settings
    ending = ""
    if is_stuck(s.trend(), settings) and not heard_first(s, v):
        ending = "stuck"
    elif s.round >= settings.round_limit:
        ending = "round_limit"
    answer_groups = sides(s, v)
    if ending and deciding.is_ruled(v):
        return deciding.begin(s, v, says, ending)
    if ending:
        if is_over_half(answer_groups) and not s.is_put(len(s.rounds)) and not _blocked(s, v):
            return _put(replace(s, ending=ending), v, says)
        return _stop(s, ending, _ended(s, v, ending), says)
    played: Assessment = decode(v.posts[_assessment(s)].body, Assessment)
    so_far = SoFar(agreements=played.agreements, key_disagreements=played.key_disagreements, comment=played.comment)
    if s.is_put(len(s.rounds)) and not (counted := tally(s, v, sentence := s.puts[-1].sentence)).reached:
        stands = counted.stands
        so_far = replace(so_far, put=sentence, differs=tuple(x.differs for x in stands if x.differs))
    s, asks = ask_revise(s, v, voters(v, s.held), so_far)
    return s, (*says, *asks)


def _blocked(s: State, v: View) -> dict[str, dict[str, float]]:
    """Dimension -> its value, and the least that the user set, of those that keep an answer from being put."""
    n = s.rounds[-1].assessment if s.rounds else None
    measured = {} if n is None else decode(v.posts[n].body, Assessment).dimensions
    least = v.settings.least
    return {name: {"value": x, "least": least[name]} for name, x in below_least(measured, v.settings).items()}


def _assessment(s: State) -> int:
    n = s.rounds[-1].assessment
    assert n is not None, "a round is assessed before the session goes on"
    return n


# ---------------------------------------------------------------- the signatures


def _put(s: State, v: View, says: Says) -> Step:
    """Put the words of whoever is surest of the first answer, where they are a sentence or all say them; else ask for
    one. What is held back for the end pays signatures alone. What all who can sign have answered for is not put
    again. With a rule the debate is over, and it decides."""
    if deciding.is_ruled(v):
        return deciding.begin(s, v, says, s.ending or "threshold")
    best = sides(s, v)[0]
    known = next((p for p in reversed(s.puts) if p.label == best.label and not seats_to_ask(s, v, p.sentence)), None)
    if known is not None and not tally(s, v, known.sentence).reached:
        return _short_of_it(s, v, says)
    own = _all_say_the_same(s, v) or s.ending == "budget" or s.rounds[-1].source == VOTED
    if own or is_sentence(best.answer):
        return _sign(s, v, plain(best.answer), best.seats[0], says)
    return replace(s, phase=Phase.WORDING), (*says, ask_conclusion(s, v))


def _sign(s: State, v: View, sentence: str, worded_by: str, says: Says, seats: tuple[str, ...] | None = None) -> Step:
    """Post the sentence, and ask every seat that has not said it, and did not answer for it before; or `seats`."""
    answer_groups = sides(s, v)
    other = rival(answer_groups)
    seats = seats_to_ask(s, v, sentence) if seats is None else seats
    put = Put(
        sentence=sentence,
        label=answer_groups[0].label,
        rival=plain(other.answer) if other else "",
        worded_by=worded_by,
        asked=seats,
        round=len(s.rounds),
    )
    s = replace(s, puts=(*s.puts, put), phase=Phase.SIGNING)
    said = say("put", put.round, put)
    if not seats:
        return _count(s, v, (*says, said))
    return s, (*says, said, *ask_signatures(s, v, sentence, seats))


def _on_worded(s: State, e: Answered, v: View) -> Step:
    """Put what the analyst worded. Words for another answer, and those that were just put, are shown, and not put."""
    post = say("synthesis", e.round, e.body, e.seat)
    answer_groups = sides(s, v)
    if departs(e.body, answer_groups) or all_of_one_mind(e.body.answer):
        return _unworded(replace(s, departing=v.next_post), v, (post,))
    if s.is_put(len(s.rounds)) and same(e.body.answer, s.puts[-1].sentence):
        return _unworded(s, v, (post,))
    return _sign(s, v, plain(e.body.answer), e.seat, (post,))


def _on_unworded(s: State, e: Missed | Unaffordable, v: View) -> Step:
    if isinstance(e, Unaffordable):
        s = replace(s, ending="budget", short=e.what)
    return _unworded(s, v, ())


def _unworded(s: State, v: View, says: Says) -> Step:
    """Without a sentence of the analyst's: a seat's own words, however many; or the one that was put stays."""
    best = sides(s, v)[0]
    if s.is_put(len(s.rounds)) and s.puts[-1].label == best.label:
        return _short_of_it(s, v, says)
    return _sign(s, v, plain(best.answer), best.seats[0], says)


def _on_signed(s: State, e: Answered, v: View) -> Step:
    """A signature came. It is kept back until the last one is in."""
    s = replace(s, pending={**s.pending, e.seat: raw(e.body)})
    return (s, ()) if v.open_turns else _close_signing(s, v)


def _on_unsigned(s: State, e: Missed, v: View) -> Step:
    """No form that holds is no signature."""
    s = replace(s, absent={**s.absent, e.seat: e.why[:MAX_WHY]})
    return (s, ()) if v.open_turns else _close_signing(s, v)


def _on_signing_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The turns to sign, or another one of them, do not fit, or the time is over."""
    if not e.seconds and not s.ending and not s.pending and not s.absent:
        s = replace(s, ending="budget", short=e.what)  # from what is held back for the end
        return s, ask_signatures(s, v, s.puts[-1].sentence, s.puts[-1].asked)
    s = replace(s, ending="budget", short=e.what)
    return _close_signing(s, v)


def _close_signing(s: State, v: View) -> Step:
    """Post what every asked seat said, and count."""
    s, posts = booked(s, v)
    return _count(corrected(s, v), v, posts)


def _count(s: State, v: View, says: Says) -> Step:
    """Enough have signed, and nobody who joins is to be heard first; or more than half showed that they hold another
    answer, which is put then; or the sentence goes back, once, unless all others chose its rival; or the session goes
    on, or ends, without agreement."""
    counted = tally(s, v, s.puts[-1].sentence)
    if counted.reached and not heard_first(s, v):
        return _agreed(s, v, counted.signers, says)
    if counted.reached:
        return _go_on(s, v, says)
    answer_groups = sides(s, v)  # as they signed
    if answer_groups[0].label != s.puts[-1].label and is_over_half(answer_groups):
        return _put(s, v, says)
    apart = {x.stands for x in counted.stands} - {*SIGNS, "never"}
    if s.puts[-1].asked and apart != {"rival"} and not s.reworded and s.ending != "budget":
        s = replace(s, reworded=True, phase=Phase.WORDING)
        return s, (*says, ask_conclusion(s, v))
    return _short_of_it(s, v, says)


def _agreed(s: State, v: View, signers: Sequence[str], says: Says) -> Step:
    """Enough have signed. Copies of one reader that quote one document are no agreement."""
    source = sole_source(s, v, signers)
    if source is None:
        return _stop(s, "threshold", figures(s, v), says)
    return _stop(s, ONE_SOURCE, {**figures(s, v), "document": source.document}, says)


def _short_of_it(s: State, v: View, says: Says) -> Step:
    """Too few signed: end where that was the last, else go on."""
    if s.ending:
        return _stop(s, s.ending, _ended(s, v, s.ending), says)
    return _go_on(s, v, says)


# ---------------------------------------------------------------- the end


def _stop(s: State, reason: str, certificate: Mapping[str, Any], says: Says) -> Step:
    stop = Stop(reason=reason, certificate=raw(certificate))
    return replace(s, phase=Phase.DONE), (*says, stop, Finish())


def _ended(s: State, v: View, reason: str) -> dict[str, Any]:
    """The certificate of an end without agreement: the figures, the limit that ended it, and the least values that were
    missed."""
    settings: Settings = v.settings
    more: dict[str, Any] = {}
    if reason == "stuck":
        more = {"stuck_rounds": settings.stuck_rounds}
    elif reason == "round_limit":
        more = {"round_limit": settings.round_limit}
    elif reason == "budget":
        more = {"what": s.short}
    if low := _blocked(s, v):
        more["least"] = low
    return {**figures(s, v), **more}


def _on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The next round does not fit, or the time is over within one: post what came, and end the session."""
    says: Posts = ()
    if s.pending:
        s, says, v = _reveal(s, v)
    return _out_of_budget(s, e, v, says)


def _on_score_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """Measure the last round without the analyst, for the record; then the session ends."""
    s, says, _ = by_words(s, v, LEXICAL)
    return _out_of_budget(s, e, with_said(v, says), says)


def _out_of_budget(s: State, e: Unaffordable, v: View, says: Says) -> Step:
    """An answer that more than half hold is still put to be signed, from the budget that was held back for it. If the
    time is over, nobody can be asked, and what enough seats have said word for word is agreed."""
    s = replace(s, ending="budget", short=e.what)
    answer_groups = sides(s, v)
    if deciding.may_begin(s, v, e):
        return deciding.begin(s, v, says, "budget")
    if not deciding.is_ruled(v) and is_over_half(answer_groups) and not s.is_put(len(s.rounds)) and not _blocked(s, v):
        best = answer_groups[0]
        if not e.seconds:
            return _put(s, v, says)
        if tally(s, v, plain(best.answer)).reached:
            return _sign(s, v, plain(best.answer), best.seats[0], says, ())
    return _stop(s, "budget", _ended(s, v, "budget"), says)


# Which event is legal in which phase is decided here and nowhere else. A pair that is absent is illegal.
_HEARD = (Phase.REVISING, Phase.SCORING, Phase.SIGNING, Phase.VOTING, Phase.DONE)
_NEXT = (Phase.REVISING, Phase.WORDING, Phase.SIGNING, Phase.DONE)
TABLE: Table = {
    Phase.ANSWERING: {
        Answered: to(_on_position, Phase.ANSWERING, *_HEARD),
        AnsweredLate: to(_on_late, Phase.ANSWERING),
        Decided: to(decided, Phase.ANSWERING),
        Missed: to(_on_absent, Phase.ANSWERING, *_HEARD),
        Unaffordable: to(_on_unaffordable, Phase.DONE),
    },
    Phase.REVISING: {
        Answered: to(_on_position, *_HEARD, Phase.WORDING),
        AnsweredLate: to(_on_late, Phase.REVISING),
        Decided: to(decided, Phase.REVISING),
        Missed: to(_on_absent, *_HEARD, Phase.WORDING),
        Unaffordable: to(_on_unaffordable, Phase.SIGNING, Phase.VOTING, Phase.DONE),
    },
    Phase.SCORING: {
        Answered: to(_on_scored, *_NEXT, Phase.VOTING),
        AnsweredLate: to(_on_late, Phase.SCORING),
        Decided: to(decided, Phase.SCORING),
        Missed: to(_on_unscored, *_NEXT, Phase.VOTING),
        Unaffordable: to(_on_score_unaffordable, Phase.SIGNING, Phase.VOTING, Phase.DONE),
    },
    Phase.WORDING: {
        Answered: to(_on_worded, Phase.REVISING, Phase.SIGNING, Phase.DONE),
        AnsweredLate: to(_on_late, Phase.WORDING),
        Decided: to(decided, Phase.WORDING),
        Missed: to(_on_unworded, Phase.REVISING, Phase.SIGNING, Phase.DONE),
        Unaffordable: to(_on_unworded, Phase.SIGNING, Phase.DONE),
    },
    Phase.SIGNING: {
        Answered: to(_on_signed, *_NEXT),
        AnsweredLate: to(_on_late, Phase.SIGNING),
        Decided: to(decided, Phase.SIGNING),
        Missed: to(_on_unsigned, *_NEXT),
        Unaffordable: to(_on_signing_unaffordable, Phase.SIGNING, Phase.DONE),
    },
    Phase.VOTING: deciding.ROW,
    Phase.DONE: {},
}

PROTOCOL = Protocol(
    name="consensus",
    version=1,
    settings=Settings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={
        ANSWER: Position,
        REVISE: Position,
        COMPARE: Comparison,
        CONCLUDE: Conclusion,
        SIGN: Signature,
        **deciding.REPLIES,
    },
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=_start,
    final=lambda v: tuple((seat, most) for seat, _, most in deciding.last_turns(v)),
    check=check,
    outcome=outcome,
    stops=(
        "threshold",
        ONE_SOURCE,
        "incomplete",
        "stuck",
        "round_limit",
        "budget",
        "unanswered",
        "quorum",
        *deciding.STOPS,
    ),
    plan=plan,
    usual=usual,
    counted=COUNTED,
    shows_refused=True,
    ends_round=ends_round,
    trusts=PANELIST,
    may_close=_may_close,
    spares=(ANALYST,),
    opens_without=(ANALYST,),
    joining=joining,
    chosen=seated,
    look_ups=lambda settings, kind: settings.look_ups if kind in (ANSWER, REVISE) else 0,
)
