"""A session in words: each post as lines, the stop and the result as lines. Everything from outside is cleaned here."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

import msgspec

from client.protocols.competition import story as competition_story
from client.protocols.competition import transcript as transcript_competition
from client.protocols.competition.story import Story
from client.protocols.competition.transcript import Piece
from client.protocols.critic import transcript as transcript_critic
from client.protocols.maci import transcript as transcript_maci
from client.protocols.madp import story as madp_story
from client.protocols.madp import transcript as transcript_madp
from client.text import clean, count, line
from client.turns import WITHDRAWN, Flagged, Turns
from schemas.post import Post
from schemas.result import Result
from schemas.stops import STOPS
from schemas.wire import figure

Line = tuple[str, str]
"""(style, text): heading, seat, score, quiet, stop, answer, warning, pro, con, judge, or empty for plain."""

_WIDE = 160
_REASON = 300
_REASONS = 12
"""Reasons told at the end, and turns of each."""
_QUOTES = 5


def opening(sid: str, protocol: str, question: str, continues: str = "") -> Iterator[Line]:
    """What stands above a session."""
    yield "heading", f"{line(protocol)}: {line(question, _WIDE)}"
    yield "quiet", f"session {line(sid)}" + (f", which follows up {line(continues)}" if continues else "")


class Teller:
    """Tells posts one after another, with what the log knows and they do not say: turns that came to nothing, and flags
    of replies. A competition's posts are told by what was said before them: its stages, and its scoreboard.

    Parameters
    ----------
    turns
        What became of the turns; it may grow while posts are told.
    brief
        Leave out how a task's coordination went (madp): who leads is told.
    """

    def __init__(self, story: Story | None = None, turns: Turns | None = None, *, brief: bool = False) -> None:
        self.story = story or Story()
        self.task = madp_story.Story()
        self.where = ""
        """Options that name the bus, for commands that are shown."""
        self._brief = brief
        self.turns = turns or Turns()
        self._stage = 0
        self._nothing = 0
        self._flagged = 0
        self._waiting: list[Flagged] = []
        """Replies that no post was found for yet."""
        self._missing: set[str] = set()
        """Seats that were told to be missing since a post last counted them."""
        self._transition = -1

    def pieces(self, post: Post, width: int = _WIDE) -> Iterator[Piece]:
        """The next post: lines, and blocks of what a competition's seats say at length."""
        if post.transition != self._transition:
            yield from self._flags_up_to(self._transition)
            self._transition = post.transition
        yield from self._nothing_up_to(post.transition)
        yield from self._told(post, width)
        yield from self._flags_of(post)
        if post.n in self.turns.ends:
            yield from self._flags_up_to(post.transition)

    def lines(self, post: Post, width: int = _WIDE) -> Iterator[Line]:
        """The same, blocks in lines."""
        for piece in self.pieces(post, width):
            if isinstance(piece, transcript_competition.Block):
                yield from piece.lines()
            else:
                yield piece

    def end(self, result: Result | None) -> Iterator[Line]:
        """What the session came to; None: it is still open."""
        if result is not None:
            yield from result_lines(result, self.turns, self.story, self.task)
            return
        yield from self._nothing_up_to(self.turns.read)
        read = self.turns.read
        yield "", "still open" + (f" after {read} transitions" if read else "")

    def _told(self, post: Post, width: int) -> Iterator[Piece]:
        asked = self.task.take(post)
        if asked is not None:
            yield from transcript_madp.lines(post, asked, self.task, width, brief=self._brief, where=self.where)
            return
        body = self.story.take(post)
        if body is None:
            yield from post_lines(post, width, told=self._missing)
            if post.kind in _COUNTS_MISSING:
                self._missing.clear()
            return
        if self._stage != self.story.round:
            self._stage = self.story.round
            yield "", ""
            yield "heading", self.story.stage_words(self._stage)
        yield from transcript_competition.pieces(post, body, self.story)
        if post.kind == "summary" and not self.story.last:
            yield from transcript_competition.scoreboard(self.story)

    def _nothing_up_to(self, transition: int) -> Iterator[Line]:
        """Turns that came to nothing, those aside of which a post tells."""
        found = self.turns.nothing
        while self._nothing < len(found) and found[self._nothing].transition <= transition:
            one = found[self._nothing]
            self._nothing += 1
            self._missing.add(one.seat)
            if not one.posted:
                yield "score", f"  {line(one.seat)} is missing ({line(one.kind)}): {line(one.why, _REASON)}"

    def _flags_of(self, post: Post) -> Iterator[Line]:
        """Those that the reply behind this post came with."""
        replies = self.turns.flagged
        while self._flagged < len(replies) and replies[self._flagged].transition <= post.transition:
            self._waiting.append(replies[self._flagged])
            self._flagged += 1
        if not post.seat or not competition_story.is_reply(post):
            return
        mine = next((f for f in self._waiting if (f.seat, f.round) == (post.seat, post.round)), None)
        if mine is not None:
            self._waiting.remove(mine)
            if mine.flags and not (self._brief and mine.kind in _COORDINATION):
                yield "score", f"      flags of this reply: {_names(mine.flags)}"

    def _flags_up_to(self, transition: int) -> Iterator[Line]:
        """Those of replies that no post shows under their seat's name."""
        due = [f for f in self._waiting if f.transition <= transition]
        self._waiting = [f for f in self._waiting if f.transition > transition]
        for f in due:
            if f.flags and not (self._brief and f.kind in _COORDINATION):
                yield "score", f"  {line(f.seat)} ({line(f.kind)}): flags of this reply: {_names(f.flags)}"


def _names(flags: tuple[str, ...]) -> str:
    return ", ".join(line(flag, _REASON) for flag in flags)


_COORDINATION = ("claim", "challenge")
"""Kinds of a task's turns that a brief view does not show, nor their flags."""
_COUNTS_MISSING = ("assessment", "tally", "signals")


def missing(post: Post) -> tuple[str, ...]:
    """Seats that a post says were missing in its round."""
    if post.kind == "assessment":
        return tuple(s for s, change in (_decoded(post.body).get("changes") or {}).items() if change == "missing")
    return tuple(_decoded(post.body).get("missing") or ()) if post.kind in _COUNTS_MISSING else ()


def post_lines(post: Post, width: int = _WIDE, told: Container[str] = ()) -> Iterator[Line]:
    """One post by itself. `told`: seats of which it was said already that they are missing, and why."""
    for seat in missing(post):
        if seat not in told:
            yield "score", f"  {line(seat)} is missing"
    yield from _said(post, width)


def _said(post: Post, width: int) -> Iterator[Line]:
    asked = madp_story.body_of(post)
    if asked is not None:
        yield from transcript_madp.lines(post, asked, madp_story.Story([post]), width)
        return
    body = _decoded(post.body)
    if post.kind == "closed":
        return
    if post.kind == "stop":
        yield from _stop(body)
    elif post.kind == "seat" and post.channel == "control":
        waits = f"its turns wait for a person, {figure(body.get('waits') or 0)} s each, and then its agent has them"
        sits = waits if body.get("waits") else "a person sits down"
        who = sits if body.get("human") else "its agent goes on"
        yield "score", f"  {line(str(body.get('seat')))}: {who}"
    elif post.kind == WITHDRAWN and post.channel == "control":
        yield "quiet", f"  {line(str(body.get('seat')))}: {count(len(body.get('turns') or ()), 'turn')} withdrawn"
    elif post.kind == "position":
        yield from _position(post.seat, body, width)
    elif post.kind == "assessment":
        yield from _assessment(post.round, body)
    elif post.kind == "analysis":
        if body.get("comment"):
            yield "quiet", f"  {line(post.seat)}: {line(str(body['comment']), width)}"
    elif post.kind == "synthesis":
        yield "quiet", f"  {line(post.seat)} words the result: {line(str(body.get('answer', '')), width)}"
    elif post.kind in transcript_critic.POSTS:
        yield from transcript_critic.POSTS[post.kind](post.seat, post.round, body, width)
    else:
        yield from transcript_maci.post_lines(post, width) or _unknown(post, width)


def _unknown(post: Post, width: int) -> Iterator[Line]:
    who = f"{line(post.seat)}: " if post.seat else ""
    said = line(bytes(post.body).decode(errors="replace"), width)
    yield "", f"  [{line(post.channel)}] {who}{line(post.kind)} {said}"


def answer_of(result: Result, story: Story | None = None) -> str:
    """What a session came to in one sentence: its answer, or a competition's verdict; empty if there is none."""
    if transcript_competition.is_outcome(result.outcome):
        return transcript_competition.verdict(result.outcome, story)
    return str(result.outcome.get("answer") or "")


def result_lines(
    result: Result, turns: Turns | None = None, story: Story | None = None, task: madp_story.Story | None = None
) -> Iterator[Line]:
    """What a session came to. `turns`: what is known about them. `story`: of a competition. `task`: of one."""
    outcome, turns = result.outcome, turns or Turns()
    if madp_story.is_outcome(outcome):
        yield from _task_lines(result, turns, task)
        return
    if transcript_competition.is_outcome(outcome):
        yield "answer", f"Verdict: {answer_of(result, story)}"
        yield "stop" if outcome.get("complete") else "score", stop_words(result)
        yield from transcript_competition.outcome_lines(outcome, story)
        yield from (("score", text) for text in came_to_nothing(turns))
        yield "quiet", usage_words(result)
        return
    answer = answer_of(result)
    yield "answer", f"Answer: {clean(answer)}" if answer else "No answer."
    reasoning = str(outcome.get("reasoning") or "")
    if reasoning:
        yield "", f"  {clean(reasoning)}"
    citations = outcome.get("citations") or ()
    for citation in citations[:_QUOTES]:
        yield "quiet", f"  {line(str(citation['document']))}: “{line(str(citation['quote']), 300)}”"
    if len(citations) > _QUOTES:
        yield "quiet", f"  and {len(citations) - _QUOTES} more quotations"
    facts = [f"confidence {float(outcome.get('confidence') or 0):.2f}", stop_words(result)]
    yield "stop" if result.stop.converged else "score", "; ".join(facts)
    yield from _absent(result, turns.why)
    if failed(result):
        yield from (("score", text) for text in came_to_nothing(turns))
    yield from beside(outcome)
    if "objections" in outcome:
        yield from transcript_critic.by_words(result.rounds)
    for other in outcome.get("minority") or ():
        yield (
            "",
            f"Minority: {line(str(other['seat']))} holds {line(str(other['answer']), 300)} ({other['confidence']:.2f})",
        )
    first = outcome.get("first_round_majority")
    if first and first != answer:
        yield "quiet", f"First round's majority: {line(str(first), 300)}"
    yield "quiet", usage_words(result)


def _task_lines(result: Result, turns: Turns, task: madp_story.Story | None) -> Iterator[Line]:
    answer = answer_of(result)
    yield "answer", f"Result: {clean(answer)}" if answer else "No result."
    yield "stop" if result.stop.converged else "score", stop_words(result)
    if failed(result):
        yield from (("score", text) for text in came_to_nothing(turns))
    yield from transcript_madp.outcome_lines(result.outcome, task)
    yield "quiet", usage_words(result)


def beside(outcome: Mapping[str, Any], story: Story | None = None) -> Iterator[Line]:
    """What a protocol has beside its answer. `story`: of a competition."""
    if "objections" in outcome:
        yield from transcript_critic.outcome_lines(outcome)
    if "mixture" in outcome:
        yield from transcript_maci.outcome_lines(outcome)
    if transcript_competition.is_outcome(outcome):
        yield from transcript_competition.outcome_lines(outcome, story)
    if madp_story.is_outcome(outcome):
        yield from transcript_madp.outcome_lines(outcome)


def _absent(result: Result, why: Mapping[tuple[int, str], str]) -> Iterator[Line]:
    """How many seats took part in the last round, where not all did."""
    last = result.rounds[-1] if result.rounds else {}
    gone = [str(seat) for seat in last.get("missing") or ()]
    if gone:
        seats = len(result.stop.certificate.get("weights") or result.usage.by_seat)
        told = ", ".join(f"{line(s)} missing{_because(why.get((int(last.get('round') or 0), s)))}" for s in gone)
        yield "score", f"{seats - len(gone)} of {seats} seats; {told}"


def _because(reason: str | None) -> str:
    return f": {line(reason, _REASON)}" if reason else ""


def failed(result: Result) -> bool:
    """Whether a session failed, or ended without an answer (a competition: without a winner or a draw)."""
    outcome = result.outcome
    answered = outcome.get("winner") if transcript_competition.is_outcome(outcome) else outcome.get("answer")
    return result.status == "failed" or not answered


def came_to_nothing(turns: Turns) -> Iterator[str]:
    """Turns that came to nothing, by their reason: a line each, the last ones."""
    by_why: dict[str, list[str]] = {}
    for one in turns.nothing:
        by_why.setdefault(one.why, []).append(one.asked)
    for why, asked in list(by_why.items())[-_REASONS:]:
        more = f" and {len(asked) - _REASONS} more" if len(asked) > _REASONS else ""
        yield f"Nothing came of {', '.join(line(a) for a in asked[:_REASONS])}{more}: {line(why, _REASON)}"


def stop_words(result: Result) -> str:
    """Why it ended, on one line."""
    row = STOPS.get(result.stop.reason)
    words = row.words if row else result.stop.reason
    agreed = result.stop.converged and result.protocol == "consensus"
    note = transcript_maci.stop_note(result.stop.reason, result.stop.converged)
    return f"{'consensus: ' if agreed else ''}{line(words)}{note} ({line(result.stop.reason)})"


def _played(result: Result) -> str:
    played = len(result.rounds)
    match result.protocol:
        case "competition":
            return count(played, "stage")
        case "maci" if played:
            return f"a blind round and {count(played - 1, 'round')}"
        case "madp":
            return f"{count(played, 'round')} of work"
    return count(played, "round")


def usage_words(result: Result) -> str:
    """What was used, on one line."""
    u = result.usage
    about = "about " if u.estimated else ""
    parts = [
        _played(result),
        count(u.turns, "turn"), count(u.calls, "call"),
        f"{about}{u.input_tokens + u.output_tokens:,} tokens", f"{u.cost_usd:.4f} USD", f"{result.duration_s:.1f} s",
    ]  # fmt: skip
    if u.unaccounted_turns:
        parts.append(f"{count(u.unaccounted_turns, 'turn')} unaccounted (at most {u.unaccounted_tokens:,} tokens)")
    return " · ".join(parts)


def _stop(body: Mapping[str, Any]) -> Iterator[Line]:
    reason, converged = str(body.get("reason")), bool(body.get("converged"))
    words = STOPS[reason].words if reason in STOPS else ""
    note = transcript_maci.stop_note(reason, converged)
    yield "stop" if converged else "score", f"stop: {line(reason)}: {line(words)}{note}"
    certificate = body.get("certificate") or {}
    yield from transcript_maci.stop_lines(reason, certificate)
    what = certificate.get("what")
    if what:
        yield "quiet", f"      {limit_words(line(str(what)))}"
    if reason == "cancelled" and certificate.get("why"):
        yield "quiet", f"      {line(str(certificate.get('by')))}: {line(str(certificate['why']), _REASON)}"


def limit_words(what: str) -> str:
    """Which limit would have been passed, as a certificate says it, in words."""
    seconds = re.fullmatch(r"budget\.seconds: limit (\S+) s", what)
    if seconds:
        return f"budget.seconds: the {seconds[1]} s of the session were over"
    figures = re.fullmatch(r"(\S+): limit (\S+), used or reserved (\S+), the next turns may take (\S+)", what)
    if not figures:
        return what
    name, limit, has, wants = figures.groups()
    return f"{name}: limit {limit}; {has} are used or reserved, {wants} is the most that the next turns may take"


def _position(seat: str, body: Mapping[str, Any], width: int) -> Iterator[Line]:
    if body.get("abstains"):
        yield "seat", f"  {line(seat)} abstains: {line(str(body.get('reasoning', '')), width)}"
        return
    change = body.get("change", "kept")
    moved = "" if change == "kept" else f" [{line(str(change))}: {line(str(body.get('change_reason', '')), width)}]"
    yield (
        "seat",
        f"  {line(seat)} ({float(body.get('confidence', 0)):.2f}): {line(str(body.get('answer', '')), width)}{moved}",
    )
    if body.get("reasoning"):
        yield "quiet", f"      {line(str(body['reasoning']), width)}"


def _assessment(round_: int, body: Mapping[str, Any]) -> Iterator[Line]:
    trend = " → ".join(f"{score:.0f}" for score in body.get("trend") or ())
    source = "" if body.get("source") == "analyst" else f" ({line(str(body.get('source')))})"
    yield (
        "score",
        f"  round {round_}: score {float(body.get('score', 0)):.0f}{source}, {line(str(body.get('band')))}, "
        f"trend {trend}, {line(str(body.get('direction')))}",
    )
    for disagreement in body.get("key_disagreements") or ():
        yield "quiet", f"      they disagree: {line(str(disagreement), _WIDE)}"
    for seat in body.get("flips_without_evidence") or ():
        yield "quiet", f"      {line(str(seat))} changed its answer without new evidence"


def _decoded(body: msgspec.Raw) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
