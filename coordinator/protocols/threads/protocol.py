"""threads: a question of several parts, each decided by a session beneath this one, all at once; then one synthesis.

Source: seeds/iterative-debate.md, "Future Enhancements", 6. The parts are given, or the analyst proposes them (`split`)
and a person may change them. Each becomes a consensus session with seats, documents and a share of the budget of its
own. When the last has ended, the analyst puts them together (`join`). A part that failed is named, and sinks nothing.

    [SPLITTING -> EDITING ->] RUNNING -> JOINING -> DONE

The seats of the parts answered for their own part. Nobody signs the whole, and the result says so: it never converges.
"""

from enum import StrEnum, auto
from typing import Any

import msgspec

from parley.coordinator.commands import (
    AskSeat,
    CloseWindow,
    Finish,
    Notify,
    OpenWindow,
    SayOn,
    StartChild,
    Stop,
    Wish,
)
from parley.coordinator.signals.retold import all_of_one_mind
from parley.coordinator.table import (
    Answered,
    ChildEnded,
    Decided,
    Illegal,
    Inadmissible,
    Missed,
    OpenTurn,
    Plan,
    Planned,
    Protocol,
    Role,
    Step,
    Table,
    Unaffordable,
    Usual,
    View,
    WindowClosed,
    to,
)
from parley.schemas.presence import Announcement
from parley.schemas.protocols.threads import (
    MOST_PARTS,
    Begun,
    JoinBrief,
    Joined,
    Outcome,
    Part,
    Proposed,
    Settings,
    Split,
    SplitBrief,
    check_parts,
)
from parley.schemas.session import Budget, OpenSession, Seat
from parley.schemas.stops import STOPS
from parley.schemas.turn import Caps
from parley.schemas.wire import InvalidValue, decode, in_range, raw

ANALYST, PUBLIC, INBOX = "analyst", "public", "inbox"
SPLIT, JOIN = "split", "join"
ITEM, WINDOW = "1", "parts"
"""The item of the proposal, and the window that is open as long as it may be changed."""
EDIT_S = 30.0
"""Seconds for which a person may change what the analyst proposes."""
OF = "consensus"
"""The protocol of the parts."""
MOST_DISSENT = 5
replace = msgspec.structs.replace


class Phase(StrEnum):
    """Where a session is."""

    SPLITTING = auto()
    EDITING = auto()
    """A person may change the parts that are proposed."""
    RUNNING = auto()
    JOINING = auto()
    DONE = auto()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a session remembers."""

    phase: Phase
    parts: tuple[Part, ...] = ()
    proposed: tuple[str, ...] = ()
    joined: int | None = None
    """The number of the synthesis' post."""


def _caps(v: View) -> Caps:
    return Caps(input_tokens=v.settings.max_input_tokens, output_tokens=v.settings.max_output_tokens)


def _analyst(v: View) -> str:
    return v.seats(ANALYST)[0].seat


# ---------------------------------------------------------------- the parts


def _start(v: View) -> Step:
    """Begin the parts that are given, or have the analyst propose some."""
    if v.settings.parts:
        return _begin(State(phase=Phase.RUNNING), v, v.settings.parts, "", ())
    ask = AskSeat(seat=_analyst(v), kind=SPLIT, round=1, brief=raw(SplitBrief()), caps=_caps(v))
    return State(phase=Phase.SPLITTING), (ask,)


def _on_split(s: State, e: Answered, v: View) -> Step:
    """Show the parts, and wait for whoever would change them."""
    body: Split = e.body
    item = Proposed(parts=body.parts, deadline_ns=v.at_ns + int(EDIT_S * 1e9))
    return replace(s, phase=Phase.EDITING, proposed=body.parts), (
        SayOn(channel=INBOX, kind="proposed", round=1, body=raw(item)),
        OpenWindow(name=WINDOW, seconds=EDIT_S),
        Notify(severity="info", text=f"a question is split into {len(body.parts)} parts; they may be changed"),
    )


def _on_not_split(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """Nobody says how to split it."""
    short = e.what if isinstance(e, Unaffordable) else e.short
    reason = "budget" if short else "quorum"
    why = {"what": short} if short else {"missing": [_analyst(v)]}
    return replace(s, phase=Phase.DONE), (Stop(reason=reason, certificate=raw({"parts": 0, **why})), Finish())


def _on_decided(s: State, e: Decided, v: View) -> Step:
    """A person takes the parts as they are (`ok`), or gives others, a line each."""
    if e.item != ITEM:
        raise Illegal(f"there is no item {e.item}; open is {ITEM}")
    parts = tuple(line.strip() for line in e.choice.splitlines() if line.strip())
    if e.choice.strip().lower() == "ok":
        return _begin(s, v, s.proposed, "", (CloseWindow(name=WINDOW),))
    try:
        in_range("choice", len(parts), 1, MOST_PARTS)
        check_parts("choice", parts)
    except InvalidValue as error:
        raise Illegal(str(error)) from error
    return _begin(s, v, parts, e.author, (CloseWindow(name=WINDOW),))


def _on_window_closed(s: State, e: WindowClosed, v: View) -> Step:
    """Nobody changed them."""
    return _begin(s, v, s.proposed, "", ())


def _begin(s: State, v: View, parts: tuple[str, ...], by: str, says: tuple[Wish, ...]) -> Step:
    """Begin all parts at once, each with its share of what is left."""
    sessions = tuple(v.child_at(place) for place in range(len(parts)))
    rows = tuple(Part(part=part, session=sid, status="open") for part, sid in zip(parts, sessions, strict=True))
    begun = SayOn(channel=PUBLIC, kind="begun", round=1, body=raw(Begun(parts=parts, sessions=sessions, by=by)))
    starts = (StartChild(opening=_opening(v, part, len(parts))) for part in parts)
    return replace(s, phase=Phase.RUNNING, parts=rows), (*says, begun, *starts)


def _opening(v: View, part: str, among: int) -> OpenSession:
    settings: Settings = v.settings
    limits, used = v.opened.budget, v.ledger.used() + v.ledger.lost
    keeps = _caps(v).all_tokens if v.seats(ANALYST)[0].metered else 0

    def share(limit: float | None, gone: float) -> float | None:
        return None if limit is None else max(limit - gone, 1.0) / among

    tokens, calls = share(limits.tokens, used.tokens + keeps), share(limits.calls, used.calls + settings.attempts)
    usd = None if limits.cost_usd is None else max(limits.cost_usd - used.cost_usd, 1e-6) / among
    return OpenSession(
        question=part, protocol=OF, settings=settings.part_settings, inherits=True,
        turn_timeout_s=v.opened.turn_timeout_s, learned=v.opened.learned,
        budget=Budget(
            tokens=None if tokens is None else max(1, int(tokens)), calls=None if calls is None else max(1, int(calls)),
            cost_usd=usd,
        ),
    )  # fmt: skip


def _on_child_ended(s: State, e: ChildEnded, v: View) -> Step:
    """Keep what a part came to; after the last, have them put together."""
    parts = tuple(_ended(p, e) if p.session == e.session else p for p in s.parts)
    s = replace(s, parts=parts)
    mine = next((p for p in parts if p.session == e.session), None)
    says = () if mine is None else (SayOn(channel=PUBLIC, kind="part", round=1, body=raw(mine)),)
    if any(p.status == "open" for p in parts):
        return s, says
    if not any(p.answer for p in parts):
        stop = Stop(reason="unanswered", certificate=raw(_figures(s)))
        return replace(s, phase=Phase.DONE), (*says, stop, Finish())
    brief = raw(JoinBrief(parts=parts))
    ask = AskSeat(seat=_analyst(v), kind=JOIN, round=2, brief=brief, caps=_caps(v), stream=True, final=True)
    return replace(s, phase=Phase.JOINING), (*says, ask)


def _ended(p: Part, e: ChildEnded) -> Part:
    """A part, with what its session came to."""
    result: dict[str, Any] = {} if e.result is None else decode(e.result, dict[str, Any])
    outcome, stop = result.get("outcome") or {}, result.get("stop") or {}
    answer = outcome.get("answer") or ""
    others = dict.fromkeys(str(m.get("answer", "")) for m in outcome.get("minority") or ())
    return replace(
        p, status=e.status, reason=e.reason, converged=bool(stop.get("converged")), answer=answer,
        confidence=float(outcome.get("confidence") or 0.0) if answer else 0.0,
        dissent=tuple(x for x in others if x)[:MOST_DISSENT],
        why="" if answer else e.why or (STOPS[e.reason].words if e.reason in STOPS else e.status),
    )  # fmt: skip


# ---------------------------------------------------------------- the whole


def _on_joined(s: State, e: Answered, v: View) -> Step:
    """The analyst put the parts together."""
    post = SayOn(channel=PUBLIC, kind="synthesis", round=2, body=raw(e.body), seat=e.seat)
    return _end(replace(s, joined=v.next_post), (post,))


def _on_not_joined(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The parts' answers stand one after the other."""
    return _end(s, ())


def _on_out_of_time(s: State, e: Unaffordable, v: View) -> Step:
    """The time is over while parts run, or the budget does not begin them: what has ended counts."""
    certificate = {**_figures(s), "what": e.what}
    return replace(s, phase=Phase.DONE), (Stop(reason="budget", certificate=raw(certificate)), Finish())


def _end(s: State, says: tuple[Wish, ...]) -> Step:
    reason = "joined" if all(p.converged for p in s.parts) else "partly"
    return replace(s, phase=Phase.DONE), (*says, Stop(reason=reason, certificate=raw(_figures(s))), Finish())


def _figures(s: State) -> dict[str, Any]:
    """What every certificate holds."""
    return {
        "parts": len(s.parts), "answered": sum(bool(p.answer) for p in s.parts),
        "agreed": sum(p.converged for p in s.parts), "failed": [p.part for p in s.parts if not p.answer],
        "signed": False,
    }  # fmt: skip


def told(parts: tuple[Part, ...]) -> str:
    """The answers of the parts, one after the other; of those that have none, why."""
    return "\n".join(f"{p.part} {p.answer}" if p.answer else f"{p.part} No answer: {p.why}" for p in parts)


def _outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(Outcome as builtins, one round)."""
    sure = [p.confidence for p in s.parts if p.answer]
    joined = None if s.joined is None else decode(v.posts[s.joined].body, Joined)
    outcome = Outcome(
        answer=joined.answer if joined else told(s.parts) if sure else "", confidence=min(sure, default=0.0),
        reasoning=joined.reasoning if joined else "", parts=s.parts,
        source="synthesis" if joined else "parts" if sure else "none",
    )  # fmt: skip
    failed = [p.part for p in s.parts if not p.answer]
    return msgspec.to_builtins(outcome), ({"round": 1, "missing": [], "failed": failed},)


def _check(_s: State, turn: OpenTurn, body: object, v: View) -> str:
    """A synthesis does not say that all agree: nobody was asked about the whole."""
    if isinstance(body, Joined) and turn.ask.attempt == 1 and all_of_one_mind(f"{body.answer}\n{body.reasoning}"):
        return "it says that all agree, and nobody was asked about the whole; word the answer alone"
    return ""


def _seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """The analyst: that which the request names, else the first queue alive. Raises Inadmissible."""
    named = [s for s in request.seats if s.role == ANALYST]
    if named:
        return (named[0],)
    queues = sorted(w.queue for w in workers if ANALYST in w.roles and not w.draining)
    if not queues:
        raise Inadmissible("seats", f"role {ANALYST}: 1 needed, 0 alive; start one: parley agent {ANALYST}")
    return (Seat(seat=ANALYST, role=ANALYST, queue=queues[0]),)


def _plan(v: View) -> Plan:
    split = () if v.settings.parts else (Planned(_analyst(v), SPLIT, _caps(v)),)
    join = Planned(_analyst(v), JOIN, _caps(v))
    most = tuple(Planned(p.seat, p.kind, p.caps, v.settings.attempts) for p in (*split, join))
    return Plan(rounds=1, least=(*split, join), most=most)


TABLE: Table = {
    Phase.SPLITTING: {
        Answered: to(_on_split, Phase.EDITING),
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
        Answered: to(_on_joined, Phase.DONE),
        Missed: to(_on_not_joined, Phase.DONE),
        Unaffordable: to(_on_not_joined, Phase.DONE),
    },
    Phase.DONE: {},
}

PROTOCOL = Protocol(
    name="threads",
    version=1,
    settings=Settings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={SPLIT: Split, JOIN: Joined},
    roles=(Role(ANALYST, 1),),
    channel=PUBLIC,
    seat=_seat,
    start=_start,
    final=lambda v: ((_analyst(v), _caps(v)),),
    check=_check,
    outcome=_outcome,
    stops=("joined", "partly", "budget", "unanswered", "quorum"),
    attempts=lambda settings: int(settings.attempts),
    plan=_plan,
    usual=lambda v, rounds: (Usual(_analyst(v), JOIN, heard=400, answer=200),),
    shows_refused=True,
    fixed=True,
)
