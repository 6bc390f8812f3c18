"""Sessions of consensus that run by themselves: the real machine, a script in each seat, and an audit of the result.

A script gets what its turn shows and returns the reply. The audit goes by what the scripts replied, never by what the
machine says of it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from parley.agents.model.base import ModelMisconfigured
from parley.agents.prompts import prompting
from parley.agents.show_turn import show
from parley.coordinator.briefing import build, turn_transition
from parley.coordinator.machine import OpenTurn
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.protocols.consensus import (
    AnswerGroup,
    CompareBrief,
    Comparison,
    ConcludeBrief,
    Conclusion,
    Outcome,
    PanelBrief,
    Position,
    Put,
    Signature,
    SignBrief,
)
from parley.schemas.stops import STOPS
from parley.schemas.text import same, says_something
from parley.schemas.wire import decode
from tests.protocols.consensus.play import Play, says

BRIEFS: Mapping[str, type[Any]] = {
    "answer": PanelBrief,
    "revise": PanelBrief,
    "compare": CompareBrief,
    "conclude": ConcludeBrief,
    "sign": SignBrief,
}
STANDS_BY = ("said", "signed", "reserved")
MOST_EVENTS = 1_000
"""In one session: more, and it does not end."""


class Silent(Enum):
    """Instead of a reply."""

    FAILS = "its model fails"
    LATE = "its deadline passes"
    GONE = "its worker is gone"


@dataclass(frozen=True)
class Seen:
    """What a script is shown of its turn."""

    seat: str
    ask: log.Ask
    attempt: int
    brief: Any
    posts: Mapping[int, Position]
    """Positions: those that the turn shows; for the analyst those that its brief names."""
    own: str
    """The seat's own last answer, "" without one."""

    @property
    def kind(self) -> str:
        return self.ask.kind


Script = Callable[[Seen], object]


@dataclass(frozen=True)
class Taken:
    """One reply, or the lack of one."""

    seen: Seen
    reply: object
    prompt: str


@dataclass
class Ended:
    """A session that is over, and all that was replied in it."""

    play: Play
    taken: list[Taken]
    members: Mapping[str, Script] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        return decode(msgspec.json.encode(self.play.outcome), Outcome)

    @property
    def reason(self) -> str:
        return str(self.play.result.stop.reason)

    @property
    def exit_status(self) -> int:
        """Of the command that followed it."""
        stop = self.play.result.stop
        return STOPS[stop.reason].exit_status(stop.converged)

    @property
    def stands(self) -> dict[str, str]:
        """Seat -> where it stands, as the result says."""
        return {s.seat: s.stands for s in self.outcome.signatures}

    def signing(self) -> list[Taken]:
        return [t for t in self.taken if t.seen.kind == "sign"]

    def untruths(self) -> list[str]:
        """What the result says that is not so."""
        return list(_untruths(self))


def run(play: Play, panel: Mapping[str, Script] | Sequence[Script], analyst: Script) -> Ended:
    """Play a session to its end: whatever turn is open is put to the script of its seat."""
    named = dict(panel) if isinstance(panel, Mapping) else dict(zip(play.panel, panel, strict=True))
    scripts = {**named, "analyst": analyst}
    ended = Ended(play, [], named)
    late: set[str] = set()
    for _ in range(MOST_EVENTS):
        if play.session.closed:
            return ended
        turns = list(play.session.turns.values())
        assert turns, "an open session waits for somebody"
        waiting = [t for t in turns if t.id not in late]
        if not waiting:
            play.expire()
            continue
        turn = waiting[0]
        seen = _seen(play, turn)
        try:
            prompt, reply = _prompt(play, turn), scripts[turn.ask.seat](seen)
        except ModelMisconfigured as why:  # as its worker would find: no model can be asked this
            prompt, reply = str(why), Silent.FAILS
        ended.taken.append(Taken(seen, reply, prompt))
        if reply is Silent.LATE:
            late.add(turn.id)
            continue
        if reply is Silent.FAILS:
            play.reply(turn.ask.seat, None, error="429: too many requests")
        elif reply is Silent.GONE:
            queue = next(s.queue for s in play.session.opened.seats if s.seat == turn.ask.seat)
            play.event(log.TimerFired(gone=(queue,)))
            late.add(turn.id)
        else:
            play.reply(turn.ask.seat, reply)
    raise AssertionError(f"not over after {MOST_EVENTS} events: {play.phase}")


def _seen(play: Play, turn: OpenTurn) -> Seen:
    ask = turn.ask
    brief = decode(ask.brief, BRIEFS[ask.kind])
    named = [w.post for w in brief.positions] if ask.kind in ("compare", "conclude") else ask.sees
    posts = {n: play.session.posts[n] for n in named}
    own = [p for p in play.posts("position") if p.seat == ask.seat]
    return Seen(
        seat=ask.seat,
        ask=ask,
        attempt=ask.attempt,
        brief=brief,
        posts={n: decode(p.body, Position) for n, p in posts.items() if p.kind == "position"},
        own=decode(own[-1].body, Position).answer if own else "",
    )


def _prompt(play: Play, turn: OpenTurn) -> str:
    """The messages that a language model would be sent for this turn."""
    entry = play.entries[turn_transition(turn.id)]
    for sent in build(play.session, entry.n, entry.commands, key=b"k" * 32, lane="a", decided_ns=play.now_ns):
        for asked in sent.work.turns:
            if asked.id == turn.id:
                shown = show(sent.work, asked, play.session.opened.documents)
                return "\n".join(m["content"] for m in prompting.build(shown).messages)
    raise AssertionError(f"turn {turn.id} is not sent")


# ---------------------------------------------------------------- members


@dataclass
class Member:
    """A panelist: answers round by round (the last one lasts), and what sentences state what it holds.

    It is honest where `signs` is not given: it signs a sentence only if `holds` says so, and quotes the sentence that
    it does not sign.
    """

    answers: Sequence[str | Position | Silent]
    holds: Callable[[str], bool] | None = None
    """Whether a sentence states its answer. None: only its own last answer, word for word."""
    signs: Callable[[Seen], object] | None = None

    @property
    def honest(self) -> bool:
        return self.signs is None

    def accepts(self, sentence: str, own: str) -> bool:
        """Whether a sentence states its answer."""
        return same(sentence, own) or (self.holds is not None and self.holds(sentence))

    def __call__(self, seen: Seen) -> object:
        if seen.kind == "sign":
            return self.signs(seen) if self.signs else self._sign(seen)
        said = self.answers[min(seen.ask.round, len(self.answers)) - 1]
        if isinstance(said, str):
            change = "kept" if not seen.own or said == seen.own else "adopted"
            said = says(said, change=change, change_reason="" if change == "kept" else "it convinced me")
        return said

    def _sign(self, seen: Seen) -> Signature:
        brief: SignBrief = seen.brief
        if self.accepts(brief.first.sentence, seen.own):
            return Signature(states="first", differs=brief.second.sentence[:1_000] if brief.second else "")
        if brief.second and self.accepts(brief.second.sentence, seen.own):
            return Signature(states="second", differs=brief.first.sentence[:1_000])
        return Signature(states="neither", differs=brief.first.sentence[:1_000])


def member(*answers: str | Position | Silent, also: Collection[str] = (), **more: Any) -> Member:
    """An honest member that also holds these other words for its answer."""
    return Member(answers, **{"holds": lambda sentence: sentence in also, **more})


def anything(seen: Seen) -> Signature:
    """Signs what is put: whichever of both is not the rival cannot be told, so the first that is not its own."""
    brief: SignBrief = seen.brief
    if brief.second and same(brief.first.sentence, seen.own):
        return Signature(states="second", differs=brief.first.sentence[:1_000])
    return Signature(states="first", differs=brief.second.sentence[:1_000] if brief.second else "")


# ---------------------------------------------------------------- analysts


@dataclass
class Analyst:
    """An analyst: how it groups, and what it words. Honest where both are: `means` tells what an answer means."""

    means: Callable[[str], str]
    """Answer -> the label of its group."""
    words: Callable[[ConcludeBrief], str] = lambda brief: brief.answer
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of each comparison."""

    def __call__(self, seen: Seen) -> object:
        if seen.kind == "conclude":
            return Conclusion(group=seen.brief.label, reasoning="the panel says so", answer=self.words(seen.brief))
        groups: dict[str, list[int]] = {}
        for n, position in seen.posts.items():
            groups.setdefault(self.means(position.answer), []).append(n)
        made = tuple(AnswerGroup(label=label, posts=tuple(posts)) for label, posts in groups.items())
        return Comparison(**{"groups": made, "approach": 90, "priority": 90, **self.more})


def meaning(**groups: Collection[str]) -> Callable[[str], str]:
    """Label -> answers that mean it; any other answer stands by itself."""
    of = {answer: label for label, answers in groups.items() for answer in answers}
    return lambda answer: of.get(answer, answer[:200])


def lumps(words: str = "", label: str = "what all say") -> Analyst:
    """All is one answer, and all agree."""
    return Analyst(
        lambda answer: label,
        (lambda brief: words) if words else (lambda brief: brief.answer),
        {"approach": 100, "priority": 100, "agreements": ("All agree on everything.",)},
    )


def fails(seen: Seen) -> object:
    """Never a reply."""
    return Silent.FAILS


# ---------------------------------------------------------------- the audit


def _untruths(ended: Ended) -> Iterator[str]:
    play, outcome = ended.play, ended.outcome
    weight = {s.seat: s.weight for s in play.session.opened.seats if s.role == "panelist"}
    last = {p.seat: decode(p.body, Position) for p in play.posts("position")}
    by = {s.seat: s for s in outcome.signatures}
    if set(by) != set(weight):
        yield f"signatures of {sorted(by)}, seats are {sorted(weight)}"
        return
    for seat, signature in by.items():
        own = last[seat].answer if seat in last and last[seat].speaks else ""
        if signature.stands == "said" and not (own and same(own, outcome.answer)):
            yield f"{seat} is to have said {outcome.answer!r}, and said {own!r}"
        if signature.stands in ("signed", "reserved"):
            asked = [t for t in ended.signing() if t.seen.seat == seat and outcome.answer in _asked_for(ended, t)]
            bound = [t for t in asked if not own or same(t.seen.brief.yours, own)]
            form = bound[-1].reply if bound else None
            if not isinstance(form, Signature) or _chosen(bound[-1]) != outcome.answer:
                yield f"{seat} is to have signed {outcome.answer!r} with {own!r}; it did not"
            elif (form.reservation, bool(form.reservation)) != (signature.reservation, signature.stands == "reserved"):
                yield f"{seat} reserves {form.reservation!r}, told is {signature.reservation!r}"
        if signature.stands in STANDS_BY:
            script = ended.members.get(seat)
            if isinstance(script, Member) and script.honest and not script.accepts(outcome.answer, own):
                yield f"{seat} stands by {outcome.answer!r} and holds {own!r}"
        heard = any(t.seen.seat == seat and isinstance(t.reply, Position) for t in ended.taken)
        if signature.stands == "never" and seat in last:
            yield f"{seat} is to have never answered, and did"
        if signature.stands == "abstains" and (not heard or own):
            yield f"{seat} is to abstain, and answered {own!r}"
    yield from _asked_twice(ended)
    found = replay(PROTOCOLS.get, "s1", play.log)
    if found.entries != tuple(play.entries):
        yield "its log leads elsewhere when it is recomputed"
    if ended.exit_status == 0:
        yield from _agreed(ended, weight, last)


def _agreed(ended: Ended, weight: Mapping[str, float], last: Mapping[str, Position]) -> Iterator[str]:
    """Of a session that is called agreed."""
    play, outcome = ended.play, ended.outcome
    if not says_something(outcome.answer):
        yield f"agreed on {outcome.answer!r}"
    behind = [s for s, stands in ended.stands.items() if stands in STANDS_BY]
    settings = play.session.settings
    share_of = [s for s in weight if s in last or settings.absent == "counts"]
    signed, of = sum(weight[s] for s in behind), sum(weight[s] for s in share_of)
    if 2 * len(behind) <= len(weight):
        yield f"agreed by {len(behind)} of {len(weight)} seats"
    if signed < settings.threshold / 100 * of - 1e-9:
        yield f"agreed by {signed} of {of}, wanted is {settings.threshold} %"
    told = outcome.signed
    if told is msgspec.UNSET:
        yield "no share is told"
    else:
        if (told.weight, told.of_weight) != (signed, of):
            yield f"share {told.weight} of {told.of_weight}, it is {signed} of {of}"
        if (told.seats, told.of_seats) != (len(behind), len(weight)):
            yield f"seats {told.seats} of {told.of_seats}, it is {len(behind)} of {len(weight)}"
    if outcome.agree is not msgspec.UNSET and outcome.agree != len(behind):
        yield f"{outcome.agree} are to hold it, {len(behind)} stand by it"
    apart = {s for s, p in last.items() if p.speaks and s not in behind}
    if {m.seat for m in outcome.minority} != apart:
        yield f"the minority is told as {sorted(m.seat for m in outcome.minority)}, it is {sorted(apart)}"
    if outcome.tied:
        yield "agreed on a tie"


def _chosen(taken: Taken) -> str:
    """The sentence that a reply to `sign` chose."""
    brief: SignBrief = taken.seen.brief
    if not isinstance(taken.reply, Signature):
        return ""
    if taken.reply.states == "first":
        return brief.first.sentence
    return brief.second.sentence if taken.reply.states == "second" and brief.second else ""


def _asked_for(ended: Ended, taken: Taken) -> list[str]:
    """The sentence that a turn asks for; both, of two that were put against each other. Empty: nothing that was put to
    its seat in this round."""
    brief: SignBrief = taken.seen.brief
    shown = {brief.first.sentence, brief.second.sentence if brief.second else ""}
    return [
        put.sentence
        for put in (decode(post.body, Put) for post in ended.play.posts("put"))
        if put.round == taken.seen.ask.round and taken.seen.seat in put.asked and shown == {put.sentence, put.rival}
    ]


def _asked_twice(ended: Ended) -> Iterator[str]:
    """Nobody is asked for what he said himself, and nobody is asked the same twice."""
    seen: set[tuple[str, str, str]] = set()
    for t in ended.signing():
        brief: SignBrief = t.seen.brief
        asked = _asked_for(ended, t)
        if not asked:
            yield f"{t.seen.seat} is shown what was not put to it: {brief.first.sentence!r}"
            continue
        sentence = next((x for x in asked if (t.seen.seat, brief.yours, x) not in seen), asked[0])
        if same(brief.yours, sentence):
            yield f"{t.seen.seat} is asked to sign its own words {sentence!r}"
        place = (t.seen.seat, brief.yours, sentence)
        if t.seen.attempt > 1:
            continue
        if place in seen:
            yield f"{t.seen.seat} is asked twice for {sentence!r}"
        seen.add(place)
