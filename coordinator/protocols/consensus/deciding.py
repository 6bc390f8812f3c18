"""consensus: decides by a rule (`consensus.decide`) where no agreement is sought.

When the debate is over, the seats that were heard cast one blind ballot each, or a judge rules, or the answers that are
held are counted at once. Then the session ends as `decided`, or as `undecided`. Nothing is put to be signed.

A ballot names the answers by number, in an order of the seat's own. What is kept of it names them by name, with that
order, so that a recount needs no more than the certificate.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from parley.coordinator.commands import AskSeat, Finish, SayOn, Stop, Wish
from parley.coordinator.protocol_parts import ask, caps, say, seat_of
from parley.coordinator.protocols.consensus.assessing import figures
from parley.coordinator.protocols.consensus.signing import gone, offered, own_answer
from parley.coordinator.protocols.consensus.state import (
    ANALYST,
    PANELIST,
    Phase,
    State,
    counted,
    labels_by_words,
    position,
    shown_order,
    sides,
    voters,
    weights,
)
from parley.coordinator.protocols.consensus.turns import SIGN, ask_ballot, sign_caps
from parley.coordinator.signals.counting import count
from parley.coordinator.table import (
    Answered,
    AnsweredLate,
    Cell,
    Missed,
    OpenTurn,
    Step,
    Unaffordable,
    View,
    to,
)
from parley.schemas.protocols.consensus import BallotBrief, Position
from parley.schemas.text import plain, standing
from parley.schemas.turn import Caps
from parley.schemas.voting import (
    AGREEMENT,
    BALLOTS,
    ApprovalBallot,
    Cast,
    Decision,
    HeldAnswer,
    Poll,
    RankBallot,
    Rule,
    Ruling,
    ScoreBallot,
    rule_of,
)
from parley.schemas.wire import Json, decode, raw

replace = msgspec.structs.replace

REPLIES: Mapping[str, type] = {
    "rank": RankBallot,
    "approve": ApprovalBallot,
    "score": ScoreBallot,
    "judge": Ruling,
}
"""Kind of a ballot's turn -> its reply."""
DECIDED, UNDECIDED = STOPS = ("decided", "undecided")
MAX_WHY = 300
"""Characters that are kept of why there is no ballot."""
_CHOICE = 800
"""Bytes of an answer on a ballot, with a reason and a quotation, as they usually are."""
Says = tuple[Wish, ...]


def rule(v: View) -> Rule:
    """The rule of the session."""
    return rule_of(v.settings.decide)


def is_ruled(v: View) -> bool:
    """Whether a rule decides, and no signatures."""
    return rule(v).name != AGREEMENT


def last_turns(v: View) -> tuple[tuple[str, str, Caps], ...]:
    """The turns (seat, kind, caps) that follow the debate, each once: ballots, the judge's, or signatures."""
    kind = BALLOTS.get(rule(v).name, "" if is_ruled(v) else SIGN)
    if kind == "judge":
        return ((seat_of(v, ANALYST), kind, caps(v)),)
    panel = v.seats(PANELIST)
    most = sign_caps(v) if kind == SIGN else sign_caps(v, _CHOICE * len(panel))
    return tuple((s.seat, kind, most) for s in panel) if kind else ()


def begin(s: State, v: View, says: Says, ending: str) -> Step:
    """The debate is over: ask for ballots, or count at once where the rule needs none, or one answer is left. `ending`:
    why it is over. Answers that nobody compared are the same where their words are."""
    bare = {x: s.held[x] for x in voters(v, s.held) if not s.label(s.held[x])}
    labels = {**s.labels, **labels_by_words(s, v, bare)}
    s = replace(s, phase=Phase.VOTING, ending=ending, pending={}, absent={}, late={}, labels=labels)
    kind = BALLOTS.get(rule(v).name, "")
    asks = () if len(sides(s, v)) == 1 else _judge(s, v) if kind == "judge" else _ballots(s, v, kind)
    return (s, (*says, *asks)) if asks else _close(s, v, says)


def may_begin(s: State, v: View, e: Unaffordable) -> bool:
    """Whether a session whose debate cannot go on is decided all the same: enough seats hold an answer, and what the
    rule asks for can still be asked."""
    enough = is_ruled(v) and len(voters(v, s.held)) >= v.settings.quorum
    return enough and (not e.seconds or not last_turns(v) or len(sides(s, v)) == 1)


def _ballots(s: State, v: View, kind: str) -> tuple[AskSeat, ...]:
    asks = []
    for seat in _asked(s, v) if kind else ():
        yours = "" if rule(v).name == "ranking" else own_answer(s, v, seat)
        brief = BallotBrief(choices=_choices(s, v, _shown(s, v, seat)), yours=yours)
        asks.append(ask_ballot(s, v, seat, kind, brief, final=True))
    return tuple(asks)


def _judge(s: State, v: View) -> tuple[AskSeat, ...]:
    seat = seat_of(v, ANALYST)
    sees = tuple(s.held[x] for x in shown_order(v, len(s.rounds), seat, voters(v, s.held)))
    brief = BallotBrief(choices=_choices(s, v, _shown(s, v, seat)))
    return (ask(v, seat, "judge", len(s.rounds), brief, sees=sees, final=True),)


def _asked(s: State, v: View) -> tuple[str, ...]:
    """Seats that cast a ballot: they were heard, and did not miss the last two rounds; with `ranking`, those that have
    two answers of others to rank."""
    left = gone(s)
    return tuple(x for x in weights(v) if x in s.held and x not in left and len(_shown(s, v, x)) > 1)


def _shown(s: State, v: View, seat: str) -> list[str]:
    """The names of the answers in the order in which this seat sees them. With `ranking` every seat's answer is one of
    its own, by the name of the seat."""
    others = [x for x in voters(v, s.held) if x != seat]
    names = others if rule(v).name == "ranking" else [g.label for g in sides(s, v)]
    return shown_order(v, len(s.rounds), f"ballot {seat}", names)


def _choices(s: State, v: View, names: list[str]) -> tuple[Any, ...]:
    """The answers of these names, each with a line of reasons and a quotation."""
    spoken = {g.label: g.seats[0] for g in sides(s, v)}
    return tuple(offered(s, v, own_answer(s, v, x), x) for x in (spoken.get(name, name) for name in names))


# ---------------------------------------------------------------- what comes


def on_ballot(s: State, e: Answered, v: View) -> Step:
    """A ballot came, or the ruling. It is kept back until the last one is in."""
    s = replace(s, pending={**s.pending, e.seat: raw(e.body)})
    return (s, ()) if v.open_turns else _close(s, v, ())


def on_late(s: State, e: AnsweredLate, v: View) -> Step:
    """A ballot came after its seat was given up, and others are still out: it counts. Positions no longer do."""
    if e.kind not in REPLIES:
        return s, ()
    absent = {seat: why for seat, why in s.absent.items() if seat != e.seat}
    return replace(s, pending={**s.pending, e.seat: raw(e.body)}, absent=absent), ()


def on_none(s: State, e: Missed, v: View) -> Step:
    """A seat casts no ballot."""
    s = replace(s, absent={**s.absent, e.seat: e.why[:MAX_WHY]})
    return (s, ()) if v.open_turns else _close(s, v, ())


def on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The ballots do not fit the budget, or the time is over before the last one is in: what came is posted, and not
    counted."""
    posts = tuple(_post(s, cast) for cast in _casts(s, v) if not cast.why)
    stop = Stop(reason="budget", certificate=raw({**figures(s, v), "what": e.what, "rule": v.settings.decide}))
    s = replace(s, phase=Phase.DONE, ending="budget", short=e.what)
    return s, (*posts, stop, Finish())


def may_close(s: State, v: View) -> bool:
    """Whether the ballots that are in could be counted without the seats that are still out."""
    return len(s.pending) >= int(v.settings.quorum)


ROW: Mapping[type, Cell] = {
    Answered: to(on_ballot, Phase.VOTING, Phase.DONE),
    AnsweredLate: to(on_late, Phase.VOTING),
    Missed: to(on_none, Phase.VOTING, Phase.DONE),
    Unaffordable: to(on_unaffordable, Phase.DONE),
}
"""What may happen in VOTING. Who sits stays as it is: no round follows."""


# ---------------------------------------------------------------- counting


def _close(s: State, v: View, says: Says) -> Step:
    """Post the ballots, count, and end the session."""
    casts = _casts(s, v)
    poll = poll_of(s, v, casts)
    s = replace(s, phase=Phase.DONE, poll=poll)
    found = decision(s, v)
    more = {"rule": v.settings.decide, "debate": s.ending, "poll": poll, "decision": found}
    stop = Stop(reason=DECIDED if found.winner else UNDECIDED, certificate=raw({**figures(s, v), **more}))
    return s, (*says, *(_post(s, cast) for cast in casts), stop, Finish())


def poll_of(s: State, v: View, casts: tuple[Cast, ...] = ()) -> Poll:
    """What was counted; of a session that counted nothing: the answers that its seats hold."""
    if s.poll is not msgspec.UNSET:
        return s.poll
    return Poll(
        rule=v.settings.decide,
        candidates=tuple(HeldAnswer(name=g.label, answer=plain(g.answer), seats=g.seats) for g in sides(s, v)),
        weights=counted(s, v),
        heard=tuple(x for x in counted(s, v) if x in s.held or v.settings.absent == "counts"),
        least=v.settings.quorum,
        casts=casts,
    )


def decision(s: State, v: View) -> Decision:
    """What the poll comes to by the session's rule."""
    assert s.poll is not msgspec.UNSET, "it is counted after the ballots"
    return count(s.poll, rule(v))


def _post(s: State, cast: Cast) -> SayOn:
    return say("ballot", len(s.rounds), cast, cast.seat)


def _casts(s: State, v: View) -> tuple[Cast, ...]:
    """What each seat has cast, or why it has not; nothing where no ballots were asked for."""
    kind = BALLOTS.get(rule(v).name, "")
    if not kind or len(sides(s, v)) == 1:
        return ()
    if kind == "judge":
        return (_cast(s, v, seat_of(v, ANALYST), kind),)
    asked = _asked(s, v)
    return tuple(
        _cast(s, v, x, kind) if x in asked else Cast(seat=x, form=kind, shown=(), why=_not_asked(s, v, x))  # type: ignore[arg-type]
        for x in weights(v)
        if x in s.held
    )


def _not_asked(s: State, v: View, seat: str) -> str:
    if seat in s.left:
        return f"it left after round {s.left[seat] - 1}"
    return "it missed the last two rounds" if seat in gone(s) else "it has fewer than two answers of others to rank"


def _cast(s: State, v: View, seat: str, kind: Any) -> Cast:
    shown = tuple(_shown(s, v, seat))
    if seat not in s.pending:
        return Cast(seat=seat, form=kind, shown=shown, why=s.absent.get(seat, "no reply came") or "no reply came")
    match decode(s.pending[seat], REPLIES[kind]):
        case RankBallot(reason=reason, order=numbers) | ApprovalBallot(reason=reason, approved=numbers):
            return Cast(seat=seat, form=kind, shown=shown, reason=reason, chosen=tuple(shown[n - 1] for n in numbers))
        case ScoreBallot(reason=reason, scores=scores):
            return Cast(seat=seat, form=kind, shown=shown, reason=reason, scores=scores)
        case Ruling(because=reason, post=post, quote=quote, choice=n):
            by, words = v.posts[post].seat, standing(quote, _said(position(v, post)))
            return Cast(seat=seat, form=kind, shown=shown, reason=reason, chosen=(shown[n - 1],), by=by, quote=words)
    raise AssertionError(f"no ballot: {kind}")


def _said(p: Position) -> str:
    return "\n".join((p.answer, p.reasoning, p.change_reason, *(c.quote for c in p.citations)))


def check(turn: OpenTurn, body: object, v: View) -> str:
    """The first fault of a ballot; empty: there is none, or it is none."""
    match body:
        case RankBallot(order=order):
            every = range(1, _many(turn.ask.brief) + 1)
            if sorted(order) != list(every):
                return f"order: got {_listed(order)}; name each of {_listed(every)} exactly once, the best first"
        case ApprovalBallot(approved=(), reason=reason) if not reason.strip():
            return "approved: got nothing; name the answers that you could accept, or say in reason why you accept none"
        case ApprovalBallot(approved=approved):
            every = range(1, _many(turn.ask.brief) + 1)
            if len(set(approved)) < len(approved) or not set(approved) <= set(every):
                return f"approved: got {_listed(approved)}; name some of {_listed(every)}, each once, or none"
        case ScoreBallot(scores=scores):
            if len(scores) != (many := _many(turn.ask.brief)):
                return f"scores: got {len(scores)}, give {many}: one for each answer, in their order"
        case Ruling(choice=choice, post=post, quote=quote):
            if not 1 <= choice <= (many := _many(turn.ask.brief)):
                return f"choice: got {choice}, name one of {_listed(range(1, many + 1))}"
            if post not in turn.ask.sees:
                return f"post: got {post}, name one of {_listed(sorted(turn.ask.sees))}, where the argument stands"
            if not standing(quote, _said(position(v, post))):
                return f"quote: this does not stand in post {post}, copy its words exactly: {quote[:200]!r}"
    return ""


def _many(brief: Json) -> int:
    return len(decode(brief, BallotBrief).choices)


def _listed(numbers: Any) -> str:
    return ", ".join(map(str, numbers)) or "nothing"
