"""compound: a question of several parts, each decided by a session beneath this one, all at once; then one synthesis.

Source: seeds/iterative-debate.md, "Future Enhancements", 6. The parts are given, or the analyst proposes them (`split`)
and a person may change them. Each becomes a consensus session with a panel, documents and a share of the budget of its
own. When the last has ended, the analyst puts them together (`join`), and those who sat in the parts sign that this is
what the parts came to (`sign`). A part that failed is named, and sinks nothing.

    [SPLITTING -> [EDITING ->]] RUNNING -> [JOINING -> SIGNING ->] DONE

The answer lists what each part came to, which each part's own panel answers for. With S those who signed, A those who
answered and N all who were asked, the synthesis stands below it where 3|S| >= 2|A| and 2|S| > |N|.
"""

from enum import StrEnum, auto
from typing import Any, Literal

import msgspec

from parley.coordinator.commands import (
    CloseWindow,
    Finish,
    Notify,
    OpenWindow,
    StartChild,
    Stop,
    Wish,
)
from parley.coordinator.protocol_parts import ask, caps, say, seat_of
from parley.coordinator.protocols.compound.seats import ANALYST, PANELIST, ROLES, beneath, child, seat
from parley.coordinator.signals.count_contradictions import all_of_one_mind
from parley.coordinator.table import (
    Answered,
    ChildEnded,
    Decided,
    Illegal,
    Missed,
    OpenTurn,
    Planned,
    Protocol,
    Step,
    Table,
    TurnPlan,
    Unaffordable,
    Usual,
    View,
    WindowClosed,
    to,
)
from parley.schemas.protocols.compound import (
    MOST_ANSWER,
    MOST_PARTS,
    Asked,
    Begun,
    JoinBrief,
    Joined,
    Outcome,
    Part,
    Proposed,
    Settings,
    Signature,
    SignBrief,
    Split,
    SplitBrief,
    check_parts,
)
from parley.schemas.stops import STOPS
from parley.schemas.text import Citation
from parley.schemas.turn import Caps
from parley.schemas.wire import InvalidValue, decode, in_range, raw

PUBLIC, INBOX = "public", "inbox"
SPLIT, JOIN, SIGN = "split", "join", "sign"
ITEM, WINDOW = "1", "parts"
"""The item of the proposal, and the window that is open as long as it may be changed."""
SIGN_TOKENS = 400
"""Output of a turn to sign, at most."""
MOST_DISSENT, MOST_CITATIONS = 5, 2
USUAL_PARTS = 3
"""Of a question that the analyst splits, as an estimate has it."""
How = Literal["given", "unasked", "unanswered", "confirmed", "changed"]
replace = msgspec.structs.replace


class Phase(StrEnum):
    """Where a session is."""

    SPLITTING = auto()
    EDITING = auto()
    """A person may change the parts that are proposed."""
    RUNNING = auto()
    JOINING = auto()
    SIGNING = auto()
    DONE = auto()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a session remembers."""

    phase: Phase
    parts: tuple[Part, ...] = ()
    proposed: tuple[str, ...] = ()
    joined: int | None = None
    """The number of the synthesis' post."""
    signed: dict[str, Signature] = {}
    absent: dict[str, str] = {}
    """Seats that were asked to sign and gave no answer, and why."""

    @property
    def reached(self) -> bool:
        """Whether enough have signed the synthesis, of those who were asked."""
        signers, answered = sum(x.signs for x in self.signed.values()), len(self.signed)
        return 3 * signers >= 2 * answered and 2 * signers > len(signing(self))


# ---------------------------------------------------------------- the parts


def _start(v: View) -> Step:
    """Begin the parts that are given, or have the analyst propose some."""
    if asked := v.settings.asked:
        return _begin(State(phase=Phase.RUNNING), v, asked, "given")
    return State(phase=Phase.SPLITTING), (ask(v, seat_of(v, ANALYST), SPLIT, 1, SplitBrief()),)


def _on_split(s: State, e: Answered, v: View) -> Step:
    """Show the parts to whoever would change them, and begin them where nobody is asked."""
    body: Split = e.body
    s, seconds = replace(s, proposed=body.parts), v.settings.confirm_s
    if not seconds:
        return _begin(s, v, _plain(body.parts), "unasked")
    item = Proposed(parts=body.parts, seconds=seconds)
    return replace(s, phase=Phase.EDITING), (
        say("proposed", 1, item, channel=INBOX),
        OpenWindow(name=WINDOW, seconds=seconds),
        Notify(severity="info", text=f"a question is split into {len(body.parts)} parts; they may be changed"),
    )


def _plain(parts: tuple[str, ...]) -> tuple[Asked, ...]:
    return tuple(Asked(question=part) for part in parts)


def _on_not_split(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """Nobody says how to split it."""
    short = e.what if isinstance(e, Unaffordable) else e.short
    reason = "budget" if short else "quorum"
    why = {"what": short} if short else {"missing": [seat_of(v, ANALYST)]}
    return replace(s, phase=Phase.DONE), (Stop(reason=reason, certificate=raw({"parts": 0, **why})), Finish())


def _on_decided(s: State, e: Decided, v: View) -> Step:
    """A person takes the parts as they are (`ok`), or gives others, a line each."""
    if e.item != ITEM:
        raise Illegal(f"there is no item {e.item}; open is {ITEM}")
    close = CloseWindow(name=WINDOW)
    if e.choice.strip().lower() == "ok":
        return _begin(s, v, _plain(s.proposed), "confirmed", e.author, (close,))
    parts = tuple(line.strip() for line in e.choice.splitlines() if line.strip())
    try:
        in_range("choice", len(parts), 1, MOST_PARTS)
        check_parts("choice", parts)
    except InvalidValue as error:
        raise Illegal(str(error)) from error
    return _begin(s, v, _plain(parts), "changed", e.author, (close,))


def _on_window_closed(s: State, e: WindowClosed, v: View) -> Step:
    """Nobody changed them."""
    return _begin(s, v, _plain(s.proposed), "unanswered")


def _begin(s: State, v: View, asked: tuple[Asked, ...], how: How, by: str = "", says: tuple[Wish, ...] = ()) -> Step:
    sessions = tuple(v.child(place) for place in range(len(asked)))
    parts = tuple(part.question for part in asked)
    rows = tuple(Part(part=part, session=sid, status="open") for part, sid in zip(parts, sessions, strict=True))
    begun = Begun(parts=parts, sessions=sessions, how=how, by=by)
    starts = (StartChild(opening=child(v.opened, v.settings, part)) for part in asked)
    said = say("begun", 1, begun)
    return replace(s, phase=Phase.RUNNING, parts=rows), (*says, said, *starts)


def _on_child_ended(s: State, e: ChildEnded, v: View) -> Step:
    """Keep what a part came to; after the last, have them put together."""
    ended = next((_ended(p, e, v) for p in s.parts if p.session == e.session), None)
    if ended is None:
        return s, ()
    s = replace(s, parts=tuple(ended if p.session == e.session else p for p in s.parts))
    says = (say("part", 1, ended),)
    if any(p.status == "open" for p in s.parts):
        return s, says
    if sum(bool(p.answer) for p in s.parts) < 2:  # there is nothing to put together
        return _end(s, says)
    before = tuple((seat, caps(v, SIGN_TOKENS)) for seat in v.seats(PANELIST) if seat.seat in signing(s))
    brief = JoinBrief(parts=s.parts)
    join = ask(v, seat_of(v, ANALYST), JOIN, 2, brief, stream=True, final=True, before=before)
    return replace(s, phase=Phase.JOINING), (*says, join)


def _ended(p: Part, e: ChildEnded, v: View) -> Part:
    result: dict[str, Any] = {} if e.result is None else decode(e.result, dict[str, Any])
    outcome, stop = result.get("outcome") or {}, result.get("stop") or {}
    answer = str(outcome.get("answer") or "")[:MOST_ANSWER] if e.status == "finished" else ""
    others = dict.fromkeys(str(m.get("answer", "")) for m in outcome.get("minority") or ())
    sat = (result.get("usage") or {}).get("by_seat") or {}
    return replace(
        p,
        status=e.status,
        reason=e.reason,
        converged=bool(stop.get("converged") and answer),
        answer=answer,
        confidence=float(outcome.get("confidence") or 0.0) if answer else 0.0,
        dissent=tuple(x for x in others if x)[:MOST_DISSENT],
        seats=tuple(s.seat for s in v.seats(PANELIST) if s.seat in sat),
        citations=msgspec.convert((outcome.get("citations") or ())[:MOST_CITATIONS], tuple[Citation, ...]),
        why="" if answer else e.why or (STOPS[e.reason].words if e.reason in STOPS else e.status),
    )


# ---------------------------------------------------------------- the whole


def signing(s: State) -> tuple[str, ...]:
    """Seats that answer for the synthesis: those who sat in a part that has an answer."""
    return tuple(dict.fromkeys(seat for p in s.parts if p.answer for seat in p.seats))


def join_part_answers(parts: tuple[Part, ...]) -> str:
    """The answers of the parts, one after the other; of those that have none, why."""
    return "\n".join(f"{p.part} {p.answer}" if p.answer else _nothing(p) for p in parts)


def _nothing(p: Part) -> str:
    return f"{p.part} No answer: {p.why}"


def synthesis(s: State, joined: Joined) -> str:
    """What is signed: the analyst's words, and below them each part that has no answer."""
    return "\n".join((joined.answer, *(_nothing(p) for p in s.parts if not p.answer)))


def _on_joined(s: State, e: Answered, v: View) -> Step:
    """The analyst put the parts together: those who sat in them are asked to sign it."""
    body: Joined = e.body
    post = say("synthesis", 2, body, e.seat)
    s = replace(s, joined=v.next_post, phase=Phase.SIGNING)
    brief = SignBrief(parts=s.parts, synthesis=synthesis(s, body), reasoning=body.reasoning)
    asks = tuple(ask(v, seat, SIGN, 2, brief, caps=caps(v, SIGN_TOKENS), final=True) for seat in signing(s))
    return (s, (post, *asks)) if asks else _end(s, (post,))


def _on_not_joined(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The parts' answers stand one after the other."""
    return _end(s, ())


def _on_signed(s: State, e: Answered, v: View) -> Step:
    post = say("signature", 2, e.body, e.seat)
    return _signed(replace(s, signed={**s.signed, e.seat: e.body}), v, (post,))


def _on_not_signed(s: State, e: Missed, v: View) -> Step:
    """A seat says nothing of it."""
    return _signed(replace(s, absent={**s.absent, e.seat: e.why}), v, ())


def _on_none_signs(s: State, e: Unaffordable, v: View) -> Step:
    """The time is over, or the budget holds no signatures."""
    waits = (seat for seat in signing(s) if seat not in s.signed)
    return _end(replace(s, absent={**dict.fromkeys(waits, e.what), **s.absent}), ())


def _signed(s: State, v: View, says: tuple[Wish, ...]) -> Step:
    return (s, says) if v.open_turns else _end(s, says)


def _on_out_of_time(s: State, e: Unaffordable, v: View) -> Step:
    """The time is over while parts run, or the budget does not begin them: what has ended counts."""
    cut = tuple(replace(p, status="cancelled", why=e.what) if p.status == "open" else p for p in s.parts)
    s = replace(s, phase=Phase.DONE, parts=cut)
    return s, (Stop(reason="budget", certificate=raw({**_figures(s), "what": e.what})), Finish())


def _end(s: State, says: tuple[Wish, ...]) -> Step:
    if not any(p.answer for p in s.parts):
        reason = "no_part"
    elif s.reached and all(p.converged for p in s.parts):
        reason = "joined"
    else:
        reason = "in_parts" if all(map(_is_settled, s.parts)) else "partly"
    return replace(s, phase=Phase.DONE), (*says, Stop(reason=reason, certificate=raw(_figures(s))), Finish())


def _is_settled(p: Part) -> bool:
    return bool(p.answer) and p.reason in STOPS and STOPS[p.reason].exit_status(p.converged) == 0


def _figures(s: State) -> dict[str, Any]:
    return {
        "parts": len(s.parts),
        "answered": sum(bool(p.answer) for p in s.parts),
        "agreed": sum(p.converged for p in s.parts),
        "failed": [p.part for p in s.parts if not p.answer],
        "signed": list(_signers(s)),
        "unsigned": _unsigned(s),
    }


def _signers(s: State) -> tuple[str, ...]:
    return tuple(seat for seat in signing(s) if seat in s.signed and s.signed[seat].signs)


def _unsigned(s: State) -> dict[str, str]:
    """Who was asked and did not sign, and why."""
    why = s.absent | {seat: x.differs for seat, x in s.signed.items() if not x.signs}
    return {seat: why[seat] for seat in signing(s) if seat in why}


def _outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    sure = [p.confidence for p in s.parts if p.answer]
    joined = decode(v.posts[s.joined].body, Joined) if s.joined is not None and s.reached else None
    outcome = Outcome(
        answer=join_part_answers(s.parts) if sure else "",
        synthesis=joined.answer if joined else "",
        confidence=min(sure, default=0.0),
        reasoning=joined.reasoning if joined else "",
        parts=s.parts,
        citations=tuple(c for p in s.parts if p.answer for c in p.citations),
        source="synthesis" if joined else "parts" if sure else "none",
        signed=_signers(s),
        unsigned=_unsigned(s),
    )
    failed = [p.part for p in s.parts if not p.answer]
    return msgspec.to_builtins(outcome), ({"round": 1, "missing": sorted(s.absent), "failed": failed},)


def _check(s: State, turn: OpenTurn, body: object, v: View) -> str:
    """A synthesis does not say that all agree: nobody has signed the whole yet, and some parts may not be agreed."""
    if not isinstance(body, Joined) or not all_of_one_mind(f"{body.answer}\n{body.reasoning}"):
        return ""
    open_ = next((p.part for p in s.parts if not p.converged), "")
    if open_:
        return f"it says that all agree, and this part is not agreed: {open_[:200]!r}; word the answers alone"
    if turn.ask.attempt == 1:
        return "it says that all agree, and nobody was asked about the whole; word the answers alone"
    return ""


def _final(v: View) -> tuple[tuple[str, Caps], ...]:
    panel = tuple((s.seat, caps(v, SIGN_TOKENS)) for s in v.seats(PANELIST))
    return ((seat_of(v, ANALYST), caps(v)), *panel)


def _plan(v: View) -> TurnPlan:
    split = () if v.settings.parts else (Planned(seat_of(v, ANALYST), SPLIT, caps(v)),)
    join = Planned(seat_of(v, ANALYST), JOIN, caps(v))
    signs = tuple(Planned(seat, SIGN, most) for seat, most in _final(v)[1:])
    each = (*split, join, *signs)
    most = tuple(Planned(p.seat, p.kind, p.caps, v.attempts) for p in each)
    return TurnPlan(rounds=1, least=each, most=most)


TABLE: Table = {
    Phase.SPLITTING: {
        Answered: to(_on_split, Phase.EDITING, Phase.RUNNING),
        Missed: to(_on_not_split, Phase.DONE),
        Unaffordable: to(_on_not_split, Phase.DONE),
    },
    Phase.EDITING: {
        Decided: to(_on_decided, Phase.RUNNING),
        WindowClosed: to(_on_window_closed, Phase.RUNNING),
        Unaffordable: to(_on_not_split, Phase.DONE),
    },
    Phase.RUNNING: {
        ChildEnded: to(_on_child_ended, Phase.RUNNING, Phase.JOINING, Phase.DONE),
        Unaffordable: to(_on_out_of_time, Phase.DONE),
    },
    Phase.JOINING: {
        Answered: to(_on_joined, Phase.SIGNING),
        Missed: to(_on_not_joined, Phase.DONE),
        Unaffordable: to(_on_not_joined, Phase.DONE),
    },
    Phase.SIGNING: {
        Answered: to(_on_signed, Phase.SIGNING, Phase.DONE),
        Missed: to(_on_not_signed, Phase.SIGNING, Phase.DONE),
        Unaffordable: to(_on_none_signs, Phase.DONE),
    },
    Phase.DONE: {},
}

PROTOCOL = Protocol(
    name="compound",
    version=1,
    settings=Settings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={SPLIT: Split, JOIN: Joined, SIGN: Signature},
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=_start,
    final=_final,
    check=_check,
    outcome=_outcome,
    stops=("joined", "in_parts", "partly", "no_part", "budget", "quorum"),
    plan=_plan,
    usual=lambda v, rounds: (
        Usual(seat_of(v, ANALYST), JOIN, heard=400, answer=200),
        *(Usual(seat, SIGN, heard=600, answer=30) for seat, _ in _final(v)[1:]),
    ),
    shows_refused=True,
    fixed=True,
    beneath=beneath,
    beneath_count=lambda settings: (len(settings.parts) or USUAL_PARTS, len(settings.parts) or MOST_PARTS),
    beneath_by=("parts", "part_settings"),
    may_close=lambda s, v: s.phase == Phase.SIGNING and s.reached,
)
