"""maci: builds the turns: what each seat is asked, and what it is shown.

Debaters see the passages and the curated record, nothing else that was said. Judges see texts of arguments, in an order
of their own. The helper sees passages and quotations, the analyst what may be seen by all.
"""

from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from string import ascii_uppercase

import msgspec

from parley.coordinator.commands import AskSeat
from parley.coordinator.protocol_parts import caps
from parley.coordinator.protocols.maci import plan as maci_plan
from parley.coordinator.protocols.maci.round import NumberedArgument, measured
from parley.coordinator.protocols.maci.state import (
    ANALYST,
    DEBATER,
    HELPER,
    JUDGE,
    State,
    body_of,
    only_seat,
    passages,
    shares,
)
from parley.coordinator.schedulers import controller
from parley.coordinator.schedulers.tone import QUIET, tone
from parley.coordinator.table import Planned, TurnPlan, Usual, View
from parley.schemas.belief import Belief
from parley.schemas.protocols.maci.messages import (
    AnonymousItem,
    ArgueBrief,
    Argument,
    Blind,
    BlindBrief,
    Case,
    CritBrief,
    Earlier,
    MeasureBrief,
    MergeBrief,
    Passage,
    PlanBrief,
    Rebutted,
    RetrieveBrief,
    Ruled,
    Source,
    Speaker,
    Subject,
)
from parley.schemas.protocols.maci.settings import Settings
from parley.schemas.text import squeeze
from parley.schemas.turn import Caps
from parley.schemas.wire import raw

MOST_RECALLED = 1_500
"""Characters of a debater's earlier reasoning that it is shown again."""
AROUND = 300
"""Characters of a passage that a judge is shown on either side of a quotation."""
MOST_TOLD = 40
"""Outcomes of another debater's belief that a debater is told."""
RETRIEVE, BLIND, MERGE = "retrieve", "blind", "merge"
ARGUE, ATTACK, ANSWER = "argue", "attack", "answer"
MEASURE, CRIT, PLAN = "measure", "crit", "plan"


def look_ups(settings: Settings, kind: str) -> int:
    """Calls of tools that a debater may make before a turn of this kind."""
    return settings.look_ups if kind in (BLIND, ARGUE, ATTACK) else 0


def _caps(v: View, kind: str) -> Caps:
    return caps(v).looking(look_ups(v.settings, kind))


def ask_retrieve(s: State, v: View, queries: tuple[str, ...] = ()) -> AskSeat:
    """Ask for the task's passages, or for those that a plan's queries find in addition."""
    known = tuple(p.text for p in passages(s, v))
    brief = RetrieveBrief(
        queries=queries,
        k=v.settings.k_ret,
        tokens=v.settings.constants.context_tokens,
        known=known,
        subject=msgspec.UNSET if queries else _subject(v),
    )
    return AskSeat(seat=only_seat(v, HELPER), kind=RETRIEVE, round=s.round, brief=raw(brief), caps=caps(v))


def _subject(v: View) -> Subject | msgspec.UnsetType:
    """The text of the prototype. Open outcomes are not in it: when passages are looked for there are none yet."""
    if not v.settings.by_relevance:
        return msgspec.UNSET
    return Subject(outcomes=v.settings.outcomes, relevant_from=v.settings.constants.relevant_from)


def ask_blind(s: State, v: View) -> tuple[AskSeat, ...]:
    """Ask all debaters at once, with the passages and no word of another debater."""
    seats, settings = v.seats(DEBATER), v.settings
    frames = settings.frames or (msgspec.UNSET,) * len(seats)
    return tuple(
        AskSeat(
            seat=d.seat,
            kind=BLIND,
            round=0,
            sees=s.passages,
            caps=_caps(v, BLIND),
            brief=raw(
                BlindBrief(
                    outcomes=settings.outcomes,
                    ordered=settings.ordered,
                    frame=frame,
                    look_ups=settings.look_ups or msgspec.UNSET,
                )
            ),
        )
        for d, frame in zip(seats, frames, strict=True)
    )


def ask_merge(v: View, proposed: tuple[str, ...]) -> AskSeat:
    """Ask the analyst to merge the proposals; it is shown only their names."""
    return AskSeat(
        seat=only_seat(v, ANALYST), kind=MERGE, round=0, brief=raw(MergeBrief(proposed=proposed)), caps=caps(v)
    )


def next_turn_kinds(s: State, v: View, advocate_: str) -> dict[str, str]:
    """Debater -> kind of its turn in the coming round. While a devil's advocate's arguments wait for an answer, those
    that owe one. Before that the advocate alone: what all hold needs no further argument for it. If it had nothing that
    was admitted, in the next round all."""
    if answering := {seat: ANSWER for seat in s.debaters if s.waiting.get(seat)}:
        return answering
    alone = advocate_ and not s.dials.rounds[-1].advocate
    return {seat: ATTACK if seat == advocate_ else ARGUE for seat in s.debaters if seat == advocate_ or not alone}


def ask_argue(s: State, v: View) -> tuple[AskSeat, ...]:
    """Send the anchor A(t) (3.1) to all debaters that are asked at once: record, contentiousness, gates, and what the
    others believe. It is never streamed: nobody may see an argument that a gate refuses."""
    settings, dials = v.settings, s.dials
    shares_of = {seat: shares(s.outcomes, dials.beliefs[seat]) for seat in s.debaters}
    gist_of = {seat: gist(belief) for seat, belief in shares_of.items()}
    labelled = drawn(v, 0, "labels", s.debaters)
    near = settings.reading == "debate" and dials.rounds[-1].jsd <= settings.constants.near_consensus
    shared = dials.rounds[-1].shared or ""
    asks = []
    for me, kind in next_turn_kinds(s, v, s.advocate).items():
        quiet = near and kind != ATTACK
        brief = ArgueBrief(
            round=s.round,
            outcomes=s.outcomes,
            ordered=settings.ordered,
            cl=dials.cl,
            tone=QUIET if quiet else tone(dials.cl),
            quiet=quiet,
            tau_q=dials.tau_q,
            tau_crit=dials.tau_crit,
            belief=shares_of[me],
            opponents=tuple(gist_of[seat] for seat in labelled if seat != me),
            own=tuple(entry.post for entry in s.record if entry.seat == me),
            most=settings.constants.max_arguments,
            speakers=_speakers(s, labelled, me),
            earlier=s.said.get(me, ()),
            against=shared if kind == ATTACK else "",
            shared=shared if kind == ANSWER else "",
            rebuttable=() if kind == ANSWER else rebuttable(s, v, "" if kind == ATTACK else me),
            answers=s.waiting.get(me, ()),
            counts_as=s.unconfirmed.get(me, ()),
            look_ups=look_ups(settings, kind) or msgspec.UNSET,
        )
        asks.append(AskSeat(seat=me, kind=kind, round=s.round, brief=raw(brief), sees=_curated(s), caps=_caps(v, kind)))
    return tuple(asks)


def rebuttable(s: State, v: View, me: str) -> tuple[int, ...]:
    """Posts of admitted arguments that this debater may rebut: those of the others, as devil's advocate all. None in
    the paper's reading, in which no judge is shown what another debater said (E.4)."""
    if v.settings.reading == "paper":
        return ()
    return tuple(entry.post for entry in s.record if entry.seat != me)


def _speakers(s: State, labelled: tuple[str, ...], me: str) -> tuple[Speaker, ...]:
    return tuple(
        Speaker(label=label, own=seat == me, arguments=tuple(entry.id for entry in s.record if entry.seat == seat))
        for label, seat in zip(ascii_uppercase, labelled, strict=False)
    )


def remember(
    s: State, round_: int, replies: Mapping[str, Blind | Case], posted: Collection[tuple[str, str]] = ()
) -> State:
    """The state with what debaters said in a round: each is shown its own words again, but for the claims that it is
    shown as posts (`posted`, with the seat)."""
    now = {seat: (*s.said.get(seat, ()), _earlier(round_, seat, body, posted)) for seat, body in replies.items()}
    return msgspec.structs.replace(s, said={**s.said, **now})


def _earlier(round_: int, seat: str, body: Blind | Case, posted: Collection[tuple[str, str]]) -> Earlier:
    if isinstance(body, Blind):
        return Earlier(round=round_, reasoning=body.reasoning[:MOST_RECALLED])
    claims = tuple(argument.claim for argument in body.arguments if (seat, argument.claim) not in posted)
    said = body.changed or " ".join(met.why for met in body.answers)
    return Earlier(round=round_, claims=claims, reasoning=said[:MOST_RECALLED])


def advocate(s: State, v: View, round_: int) -> str:
    """The devil's advocate of the coming round, drawn by seed and round, another than in the last one; empty: none,
    since the debaters do not agree, or are to answer the one before."""
    if not controller.agrees(v.settings, s.dials):
        return ""
    order = drawn(v, round_, "advocate", s.debaters)
    return next(seat for seat in order if seat != s.dials.rounds[-1].advocate)


def gist(belief: Belief) -> Belief:
    """The most probable outcomes of a belief, in their order: this is what other debaters are told of it. Seven at most
    are told, and all turns of a round are asked in one message."""
    if len(belief) <= MOST_TOLD:
        return belief
    least = sorted((share.p for share in belief), reverse=True)[MOST_TOLD - 1]
    return tuple(share for share in belief if share.p >= least)[:MOST_TOLD]


def _curated(s: State) -> tuple[int, ...]:
    """Posts that every debater may see: the passages, the record, and what the judges passed beside it."""
    return (*s.passages, *(entry.post for entry in s.record), *(post for r in s.rounds for post in r.good))


def ask_judges(s: State, v: View, arguments: tuple[NumberedArgument, ...]) -> tuple[AskSeat, ...]:
    """Ask the helper to measure the round's quotations, and each judge to score all arguments (E.4)."""
    measure = AskSeat(
        seat=only_seat(v, HELPER),
        kind=MEASURE,
        round=s.round,
        brief=raw(MeasureBrief(spans=measured(s, v, arguments), subject=_subject(v))),
        sees=s.passages[:1],
        caps=caps(v),
    )
    judges = (
        AskSeat(
            seat=j.seat, kind=CRIT, round=s.round, brief=raw(_items(s, v, s.round, j.seat, arguments)), caps=caps(v)
        )
        for j in v.seats(JUDGE)
    )
    return (measure, *judges)


def _items(s: State, v: View, round_: int, judge: str, arguments: tuple[NumberedArgument, ...]) -> CritBrief:
    items = []
    known = {p.id: p for p in passages(s, v)}
    for i, numbered in enumerate(item_order(v, round_, judge, arguments), 1):
        a = numbered.argument
        quotes = tuple(span.quote for span in a.spans)
        sources = tuple(_source(known[span.passage], span.quote) for span in a.spans)
        items.append(
            AnonymousItem(
                item=i, claim=a.claim, reasons=a.reasons, quotes=quotes, sources=sources, rebuts=_rebutted(v, a)
            )
        )
    return CritBrief(items=tuple(items), against=(s.dials.rounds[-1].shared or "") if s.advocate else "")


def _rebutted(v: View, a: Argument) -> Rebutted | msgspec.UnsetType:
    if not a.rebuts:
        return msgspec.UNSET
    ruled = body_of(v, a.rebuts, Ruled)
    return Rebutted(claim=ruled.claim, reasons=ruled.reasons, quotes=tuple(span.quote for span in ruled.spans))


def _source(passage: Passage, quote: str) -> Source:
    text, wanted = squeeze(passage.text), squeeze(quote)
    at = max(0, text.find(wanted))
    first, last = max(0, at - AROUND), min(len(text), at + len(wanted) + AROUND)
    around = ("… " if first else "") + text[first:last] + (" …" if last < len(text) else "")
    return Source(document=passage.document, around=around)


def item_order(
    v: View, round_: int, judge: str, arguments: tuple[NumberedArgument, ...]
) -> tuple[NumberedArgument, ...]:
    """The round's arguments in the order in which this judge is shown them."""
    numbers = {str(a.number): a for a in arguments}
    return tuple(numbers[n] for n in drawn(v, round_, judge, numbers))


def drawn(v: View, round_: int, seat: str, names: Iterable[str]) -> tuple[str, ...]:
    """An order drawn by seed, round and seat: a place tells nobody whose argument it is."""
    key = f"{v.opened.seed}|{round_}|{seat}|"
    return tuple(sorted(names, key=lambda name: blake2b((key + name).encode(), digest_size=8).digest()))


def ask_plan(s: State, v: View, final: bool = False) -> AskSeat:
    """Ask what would separate the outcomes in contention. The closing plan is paid from the budget that was held
    back."""
    most = v.settings.constants.plan_size
    brief = PlanBrief(mixture=maci_plan.contention(s.dials, v.settings), asked=s.asked, most=most)
    return AskSeat(
        seat=only_seat(v, ANALYST),
        kind=PLAN,
        round=s.round,
        brief=raw(brief),
        sees=_curated(s),
        caps=caps(v),
        final=final,
    )


def next_round(s: State, v: View, number: int) -> tuple[tuple[str, Caps], ...]:
    """(seat, caps) of every turn that the coming round needs, each once."""
    turns = next_turn_kinds(s, v, advocate(s, v, number))
    seats: list[str] = []
    if ANSWER not in turns.values():
        seats += [only_seat(v, HELPER), *(judge.seat for judge in v.seats(JUDGE))]
    if v.settings.close_the_loop and s.round:
        seats += [only_seat(v, ANALYST), only_seat(v, HELPER)]
    return (*((seat, _caps(v, kind)) for seat, kind in turns.items()), *((seat, caps(v)) for seat in seats))


def plan(v: View) -> TurnPlan:
    """One round: passages, blind beliefs, arguments, scores, the closing plan. If the loop is closed: also a plan and
    its retrieval between two rounds."""
    settings, c = v.settings, caps(v)
    rounds, attempts = settings.round_limit, v.attempts
    helper, analyst = only_seat(v, HELPER), only_seat(v, ANALYST)
    merge = () if settings.outcomes else (Planned(analyst, MERGE, c),)
    once = (
        Planned(helper, RETRIEVE, c),
        *(Planned(d.seat, BLIND, _caps(v, BLIND)) for d in v.seats(DEBATER)),
        *merge,
        Planned(analyst, PLAN, c),
    )
    a_round = (
        *(Planned(d.seat, ARGUE, _caps(v, ARGUE)) for d in v.seats(DEBATER)),
        Planned(helper, MEASURE, c),
        *(Planned(j.seat, CRIT, c) for j in v.seats(JUDGE)),
    )
    between = (Planned(analyst, PLAN, c), Planned(helper, RETRIEVE, c)) if settings.close_the_loop else ()
    most = (*_times(once, attempts), *_times(a_round, attempts * rounds), *_times(between, attempts * (rounds - 1)))
    return TurnPlan(rounds=rounds, least=(*once, *a_round), most=most)


def _times(turns: tuple[Planned, ...], n: int) -> tuple[Planned, ...]:
    return tuple(Planned(p.seat, p.kind, p.caps, n) for p in turns) if n else ()


# ---------------------------------------------------------------- a usual course


_ROUNDS = 2
_SHOWN, _STAND, _CASE = 400, 200, 750
"""Tokens of the passages' marks and of what a form names of them and of outcomes; of where the debate stands; of a
debater's arguments of one round as others are shown them."""
_SCORED, _SCORES = 230, 210
"""Tokens of what a judge is shown beside arguments, and of its scores of one case."""


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of so many rounds."""
    settings = v.settings
    rounds = min(rounds or _ROUNDS, settings.round_limit)
    helper, analyst = only_seat(v, HELPER), only_seat(v, ANALYST)
    debaters, judges = ([s.seat for s in v.seats(role)] for role in (DEBATER, JUDGE))
    turns = [Usual(helper, RETRIEVE), *(Usual(seat, BLIND, 1, _SHOWN, 560) for seat in debaters)]
    if not settings.outcomes:
        turns.append(Usual(analyst, MERGE, 1, len(debaters) * 200))
    tested = min(rounds, 2) if settings.agreement_ends else 0
    advocate, *others = debaters
    argued = 0
    for kind in (*[ARGUE] * (rounds - tested), *(ATTACK, ANSWER)[:tested]):
        heard = _SHOWN + _STAND + argued * _CASE
        if kind == ANSWER:
            turns += [Usual(seat, ANSWER, 1, heard, 300) for seat in others]
            continue
        seats = [advocate] if kind == ATTACK else debaters
        argued += len(seats)
        turns += [Usual(seat, kind, 1, heard, 945) for seat in seats]
        scores = (_SCORED + len(seats) * _CASE, (1 + len(seats)) * _SCORES)
        turns += [Usual(helper, MEASURE), *(Usual(seat, CRIT, 1, *scores) for seat in judges)]
    between = rounds - 1 if settings.close_the_loop else 0
    plan_shown = _SHOWN + argued * _CASE
    turns = [turn.looking(look_ups(settings, turn.kind)) for turn in turns]
    return (*turns, Usual(analyst, PLAN, 1 + between, plan_shown, 585), Usual(helper, RETRIEVE, between))
