"""What must hold of every session, however many processes died under it.

`check` takes what was gathered of a run and says what is wrong, in three heaps: lost (something accepted is not there),
doubled (something happened twice), wrong (anything else that an undisturbed run would not show).
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import groupby
from typing import Any

import msgspec

from parley.coordinator.machine import begin, step
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import Diverged, replay
from parley.coordinator.table import MachineError
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.wire import decode
from tests.support.model import Call, turn_name

LATE_NS = 50_000_000
"""A call begun so long after its turn's reply was stored may be the race of two copies; later never."""
LIVES_NS = 10_000_000_000
"""A worker that calls models for so long takes every turn of its queue that is there, and answers it: it is frozen for
3.5 s at most, and what a killed one had comes again after 1 s."""
NEAR_NS = 5_000_000_000
"""A worker that called a model so shortly ago has announced itself within the 15 s after which it counts as gone."""
AT_ONCE = ("review", "challenges", "signature")
"""Posts of turns that are asked at once, in the order in which they are answered."""

Text = tuple[str, str, str, int, str]
"""channel, seat, kind, round, body"""


class Stored(msgspec.Struct, frozen=True):
    """One entry of a session's log, and when the server stored it."""

    data: bytes
    at_ns: int


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What was gathered of one session once all was quiet."""

    sid: str
    stored: tuple[Stored, ...]
    asked: tuple[str, ...]
    """The log as an owner is given it."""
    history: Mapping[str, tuple[Post, ...]]
    """Channel -> posts, as asked for; every channel that the session's protocol has posts on."""
    followed: tuple[Post, ...]
    """What live followers saw, each channel in its order."""


class Findings(msgspec.Struct, kw_only=True):
    """Counts and violations, over all sessions checked."""

    sessions: int = 0
    turns: int = 0
    calls: int = 0
    late_calls: int = 0
    """Begun up to 50 ms after the turn's reply was stored: two copies racing."""
    latest_ms: float = 0.0
    extra_calls: int = 0
    """Beyond one a turn: lost with a killed process, reported as unaccounted."""
    redelivered_turns: int = 0
    """Accepted replies whose worker had been handed the turn more than once."""
    disturbed: int = 0
    """Tasks that began without some experts, or in which one was silent, because they had been killed: they take
    another course than an undisturbed one, and all else must hold of them."""
    missed: int = 0
    """Turns that nobody answered in their time, or whose worker was away for 15 s. The log says so. Their sessions take
    another course than undisturbed ones, and all else must hold of them."""
    late_timers: int = 0
    """Timers that outlived their sessions: they lead to nothing."""
    lost: list[str] = msgspec.field(default_factory=list)
    doubled: list[str] = msgspec.field(default_factory=list)
    wrong: list[str] = msgspec.field(default_factory=list)

    def figures(self) -> dict[str, object]:
        """The counts, by name."""
        counts = {f: getattr(self, f) for f in self.__struct_fields__ if f not in ("lost", "doubled", "wrong")}
        return {**counts, "latest_ms": round(self.latest_ms, 1)}

    @property
    def violations(self) -> list[str]:
        return [f"{kind}: {text}" for kind in ("lost", "doubled", "wrong") for text in getattr(self, kind)]


class Unanswered(msgspec.Struct, frozen=True):
    """A turn that was missed."""

    sid: str
    seat: str
    queue: str
    """Of the seat's workers."""
    key: tuple[str, int]
    """The turn's name and attempt, as in the journal."""
    asked_ns: int
    deadline_ns: int
    over_ns: int
    """When the session went on without it."""
    gone: bool
    """Its worker counted as gone before the turn's time was over."""


def missed(e: Evidence) -> list[Unanswered]:
    """The turns of a session that nobody answered in time, as its machine saw it; none if its log does not replay."""
    entries = [decode(s.data, log.Entry) for s in e.stored]
    try:
        return _missed(e.sid, entries) if entries else []
    except MachineError:
        return []


def _missed(sid: str, entries: Sequence[log.Entry]) -> list[Unanswered]:
    opening = entries[0]
    if not isinstance(opening.event, log.Opened):
        return []
    protocol = PROTOCOLS[opening.event.protocol]
    session, _ = begin(protocol, sid, opening.event, opening.at_ns)
    found: list[Unanswered] = []
    asked = dict.fromkeys(session.turns, opening.at_ns)
    for entry in entries[1:]:
        before, (session, _) = session.turns, step(protocol, session, entry.event, entry.at_ns)
        asked |= {id: entry.at_ns for id in session.turns.keys() - before.keys()}
        if not isinstance(entry.event, log.TimerFired):
            continue
        queues = {s.seat: s.queue for s in session.opened.seats}
        for id in before.keys() - session.turns.keys():
            a = before[id].ask
            late, gone = a.deadline_ns <= entry.at_ns, queues[a.seat] in entry.event.gone
            if late or gone:
                key = turn_name(a.seat, a.kind, a.round, a.sees), a.attempt
                found.append(
                    Unanswered(sid, a.seat, queues[a.seat], key, asked[id], a.deadline_ns, entry.at_ns, not late)
                )
    return found


def neglected(turn: Unanswered, calls: Sequence[Call]) -> str:
    """Why a missed turn should not have been missed, from all calls of all sessions; empty: its worker was away.

    One process that went on calling models for `LIVES_NS`, behind the asking or behind its own call for this turn, was
    there to take the turn and to answer it. One that is said to be gone did not call a model just before.
    """
    mine = [c for c in calls if c.turn.partition("/")[0] == turn.seat]
    if turn.queue != turn.seat:  # in another session the seat may be another worker's
        mine = [c for c in mine if c.session == turn.sid]
    if turn.gone and any(turn.over_ns - NEAR_NS < c.at_ns < turn.over_ns for c in mine):
        return "its worker was said to be gone, and was there"
    for pid in {c.pid for c in mine}:
        own = [c for c in mine if c.pid == pid and turn.asked_ns < c.at_ns < turn.over_ns]
        begun = [c.at_ns for c in own if (c.turn, c.attempt) == turn.key]
        if own and max(c.at_ns for c in own) - (begun[0] if begun else own[0].at_ns) > LIVES_NS:
            return "its worker was there" + (", and called a model for it" if begun else ", and never began it")
    return ""


def check(
    found: Findings,
    e: Evidence,
    calls: Sequence[Call],
    expected: Sequence[Text] | None,
    turns: int | None,
    without: Sequence[Unanswered] = (),
) -> None:
    """Check one session into `found`.

    Parameters
    ----------
    calls
        The model calls begun for this session.
    without
        Turns that were missed: a model may have been called for one, by a process that was killed then.
    expected
        What an undisturbed run of the same seed says, in its order; `turns` is how many turns it takes. None: that is
        not known.
    """
    found.sessions += 1
    _check_log(found, e, turns)
    _check_posts(found, e)
    texts = transcript(e.history)
    if expected is not None and texts != list(expected):
        missing = Counter(expected) - Counter(texts)
        twice = Counter(texts) - Counter(expected)
        what = (
            f"not said {list(missing)[:2]}, said instead {list(twice)[:2]}" if missing or twice else "in another order"
        )
        found.wrong.append(f"{e.sid}: not what an undisturbed run says: {what}")
    _check_calls(found, e, calls, {turn.key for turn in without})


def _check_log(found: Findings, e: Evidence, turns: int | None) -> None:
    raw = [s.data for s in e.stored]
    entries = [decode(data, log.Entry) for data in raw]
    if [data.decode() for data in raw] != list(e.asked):
        found.wrong.append(f"{e.sid}: the log as a moderator gives it is not the one that is stored")
    if [x.n for x in entries] != list(range(len(entries))):
        found.wrong.append(f"{e.sid}: entries are numbered {[x.n for x in entries]}")
    for cause, times in Counter(x.cause for x in entries).items():
        if times > 1:
            found.doubled.append(f"{e.sid}: cause {cause} taken {times} times")
    try:
        if not replay(PROTOCOLS.get, e.sid, raw).session.closed:
            found.lost.append(f"{e.sid}: not closed after {len(entries)} entries")
    except Diverged as error:
        found.wrong.append(f"{e.sid}: does not replay: {error}")
    replies = [x.event for x in entries if isinstance(x.event, log.Replied)]
    found.turns += len(replies)
    found.redelivered_turns += sum(r.deliveries > 1 for r in replies)
    if turns is not None and len(replies) != turns:
        (found.lost if len(replies) < turns else found.doubled).append(
            f"{e.sid}: {len(replies)} replies, expected {turns}"
        )
    found.wrong.extend(f"{e.sid}: turn {r.turn} failed: {r.error}" for r in replies if r.error)


def _check_posts(found: Findings, e: Evidence) -> None:
    for channel, posts in e.history.items():
        numbers = [p.k for p in posts]
        if numbers != list(range(len(posts))):
            heap = found.doubled if len(set(numbers)) < len(numbers) else found.lost
            heap.append(f"{e.sid}: posts on {channel} are numbered {numbers}")
        seen = [p for p in e.followed if p.channel == channel]
        if seen != list(posts):
            heap = found.lost if len(seen) < len(posts) else found.doubled if len(seen) > len(posts) else found.wrong
            heap.append(f"{e.sid}: a follower of {channel} saw {[p.k for p in seen]} of {numbers}")
    numbers = sorted(p.n for posts in e.history.values() for p in posts)
    if numbers != list(range(len(numbers))):
        found.wrong.append(f"{e.sid}: posts of the session are numbered {numbers}")


def _check_calls(found: Findings, e: Evidence, calls: Sequence[Call], without: Set[tuple[str, int]]) -> None:
    stored_ns = reply_times(e.stored)
    begun = Counter((c.turn, c.attempt) for c in calls)
    found.calls += len(calls)
    found.extra_calls += sum(begun.values()) - len(begun)
    for key in stored_ns.keys() - begun.keys():
        found.wrong.append(f"{e.sid}: turn {key[0]} was answered and no model was called")
    for call in calls:
        at_ns = stored_ns.get((call.turn, call.attempt))
        if at_ns is None and (call.turn, call.attempt) in without:
            found.extra_calls += 1
        elif at_ns is None:
            found.lost.append(f"{e.sid}: turn {call.turn} was given to a model and never answered")
        elif call.at_ns > at_ns:
            late_ns = call.at_ns - at_ns
            found.latest_ms = max(found.latest_ms, late_ns / 1e6)
            if late_ns > LATE_NS:
                found.wrong.append(
                    f"{e.sid}: a call for {call.turn} was begun {late_ns / 1e6:.1f} ms after its reply was stored"
                )
            else:
                found.late_calls += 1


def disturbed(e: Evidence, experts: int, expected: Sequence[Text]) -> bool:
    """Whether a task was opened without some of its experts, or after too many that were, or was matched without some,
    or waited for one that was killed."""
    if not experts or not e.stored:
        return False
    opened = decode(e.stored[0].data, log.Entry).event
    assert isinstance(opened, log.Opened)
    if len(opened.experts) < experts or opened.known.get("degraded"):
        return True
    kept = [[t for t in texts if t[2] in ("task", "warning")] for texts in (transcript(e.history), expected)]
    claims = [msgspec.json.decode(p.body) for p in e.history["public"] if p.kind == "claims"]
    return kept[0] != kept[1] or any(c["silent"] for c in claims) or _unheard(e)


def _unheard(e: Evidence) -> bool:
    """Whether the window of challenges ran out: somebody who claimed was killed after it."""
    spoke = [x.event for x in (decode(s.data, log.Entry) for s in e.stored) if isinstance(x.event, log.Spoke)]
    claimed = {s.author for s in spoke if s.kind == "claim"}
    challenged = {s.author for s in spoke if s.window == "challenges"}
    posted = [msgspec.json.decode(p.body) for p in e.history["public"] if p.kind == "claims"]
    return any(c["challenges"] for c in posted) and claimed != challenged


def started(e: Evidence) -> list[str]:
    """Sessions that it started beneath it."""
    commands = [c for s in e.stored for c in decode(s.data, log.Entry).commands]
    return [c.session for c in commands if isinstance(c, log.StartChild)]


def reply_times(stored: Sequence[Stored]) -> dict[tuple[str, int], int]:
    """(the turn's name, attempt) -> Unix ns at which the server stored the reply."""
    asks: dict[str, log.Ask] = {}
    times: dict[tuple[str, int], int] = {}
    for s in stored:
        entry = decode(s.data, log.Entry)
        if isinstance(entry.event, log.Replied):
            ask = asks[entry.event.turn]
            times[turn_name(ask.seat, ask.kind, ask.round, ask.sees), ask.attempt] = s.at_ns
        asks |= {f"{entry.n}-{i}": c for i, c in enumerate(entry.commands) if isinstance(c, log.Ask)}
    return times


def transcript(history: Mapping[str, Sequence[Post]]) -> list[Text]:
    """What was said, in order, without what differs from run to run: times, and what lost calls cost."""
    texts: list[Text] = []
    for posts in history.values():
        for kind, run in groupby(posts, key=lambda p: p.kind):
            said = [(p.channel, p.seat, p.kind, p.round, _body(p)) for p in run]
            texts += sorted(said) if kind in AT_ONCE else said
    return texts


def _body(post: Post) -> str:
    body: dict[str, Any] = msgspec.json.decode(post.body)
    if post.kind == "stop":
        body.pop("transition")  # a timer that fires early is a transition too
    if post.kind == "closed":
        for field in ("session", "usage", "duration_s"):
            body.pop(field)
        if body["protocol"] == "madp":
            _settled(body["outcome"])
    if post.kind in ("claims", "challenges", "consensus"):
        _settled(body)
    if post.kind == "deliberation":
        body.pop("session")  # named by the transition that starts it
        body["result"] = body.get("result", {}).get("answer")
    return msgspec.json.encode(body, order="sorted").decode()


def _settled(body: dict[str, Any]) -> None:
    """What a task says of its experts without the order in which they spoke, and without what lost calls cost."""
    for field in ("claims", "passed", "challenges", "findings", "support"):
        if isinstance(body.get(field), list):
            body[field] = sorted(body[field], key=lambda x: msgspec.json.encode(x, order="sorted"))
    for field in ("task_id", "deliberation_id", "token_cost", "tokens"):
        body.pop(field, None)
    if body.get("consensus"):
        _settled(body["consensus"])
    if isinstance(body.get("outcome"), dict):
        _settled(body["outcome"])
