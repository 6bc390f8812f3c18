"""A session in words: each post as lines, the stop and the result as lines. Everything from outside is cleaned here."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from parley import transcript_competition, transcript_critic, transcript_maci
from parley.competition_story import Story
from parley.text import clean, line
from parley.transcript_competition import Piece
from schemas.post import Post
from schemas.result import Result
from schemas.stops import STOPS

Line = tuple[str, str]
"""(style, text): heading, seat, score, quiet, stop, answer, warning, pro, con, judge, or empty for plain."""

Why = Mapping[tuple[int, str], str]
"""(round, seat) -> why it was missing (parley.turns)."""
NOTHING_KNOWN: Why = {}

_WIDE = 160
_QUOTES = 5


def opening(sid: str, protocol: str, question: str, continues: str = "") -> Iterator[Line]:
    """What stands above a session."""
    yield "heading", f"{line(protocol)}: {line(question, _WIDE)}"
    yield "quiet", f"session {line(sid)}" + (f", which follows up {line(continues)}" if continues else "")


class Teller:
    """Tells posts one after another, as far as they are told by what was said before them: a competition's stages, and
    its scoreboard."""

    def __init__(self, story: Story | None = None) -> None:
        self.story = story or Story()
        self._stage = 0

    def pieces(self, post: Post, width: int = _WIDE, why: Why = NOTHING_KNOWN) -> Iterator[Piece]:
        """The next post: lines, and blocks of what a competition's seats say at length."""
        body = self.story.take(post)
        if body is None:
            yield from post_lines(post, width, why)
            return
        if self._stage != self.story.round:
            self._stage = self.story.round
            yield "", ""
            yield "heading", self.story.stage_words(self._stage)
        yield from transcript_competition.pieces(post, body, self.story)
        if post.kind == "summary" and not self.story.last:
            yield from transcript_competition.scoreboard(self.story)

    def lines(self, post: Post, width: int = _WIDE, why: Why = NOTHING_KNOWN) -> Iterator[Line]:
        """The same, blocks in lines."""
        for piece in self.pieces(post, width, why):
            if isinstance(piece, transcript_competition.Block):
                yield from piece.lines()
            else:
                yield piece


def missing(post: Post) -> tuple[str, ...]:
    """Seats that a post says were missing in its round."""
    if post.kind == "assessment":
        return tuple(s for s, change in (_decoded(post.body).get("changes") or {}).items() if change == "missing")
    return tuple(_decoded(post.body).get("missing") or ()) if post.kind in ("tally", "signals") else ()


def post_lines(post: Post, width: int = _WIDE, why: Why = NOTHING_KNOWN) -> Iterator[Line]:
    """One post. `why`: what is known about seats that were missing."""
    for seat in missing(post):
        yield "score", f"  {line(seat)} is missing{_because(why.get((post.round, seat)))}"
    yield from _said(post, width)


def _because(reason: str | None) -> str:
    return f": {line(reason, 300)}" if reason else ""


def _said(post: Post, width: int) -> Iterator[Line]:
    body = _decoded(post.body)
    if post.kind == "closed":
        return
    if post.kind == "stop":
        yield from _stop(body)
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


def result_lines(result: Result, why: Why = NOTHING_KNOWN, story: Story | None = None) -> Iterator[Line]:
    """What a session came to. `why`: what is known about seats that were missing. `story`: of a competition."""
    outcome = result.outcome
    if transcript_competition.is_outcome(outcome):
        yield "answer", f"Verdict: {answer_of(result, story)}"
        yield "stop" if outcome.get("complete") else "score", stop_words(result)
        yield from transcript_competition.outcome_lines(outcome, story)
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
    yield from _absent(result, why)
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


def beside(outcome: Mapping[str, Any], story: Story | None = None) -> Iterator[Line]:
    """What a protocol has beside its answer. `story`: of a competition."""
    if "objections" in outcome:
        yield from transcript_critic.outcome_lines(outcome)
    if "mixture" in outcome:
        yield from transcript_maci.outcome_lines(outcome)
    if transcript_competition.is_outcome(outcome):
        yield from transcript_competition.outcome_lines(outcome, story)


def _absent(result: Result, why: Why) -> Iterator[Line]:
    """How many seats took part in the last round, where not all did."""
    last = result.rounds[-1] if result.rounds else {}
    gone = [str(seat) for seat in last.get("missing") or ()]
    if gone:
        seats = len(result.stop.certificate.get("weights") or result.usage.by_seat)
        told = ", ".join(f"{line(s)} missing{_because(why.get((int(last.get('round') or 0), s)))}" for s in gone)
        yield "score", f"{seats - len(gone)} of {seats} seats; {told}"


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
            return _count(played, "stage")
        case "maci" if played:
            return f"a blind round and {_count(played - 1, 'round')}"
    return _count(played, "round")


def usage_words(result: Result) -> str:
    """What was used, on one line."""
    u = result.usage
    about = "about " if u.estimated else ""
    parts = [
        _played(result),
        _count(u.turns, "turn"), _count(u.calls, "call"),
        f"{about}{u.input_tokens + u.output_tokens:,} tokens", f"{u.cost_usd:.4f} USD", f"{result.duration_s:.1f} s",
    ]  # fmt: skip
    if u.unaccounted_turns:
        parts.append(f"{u.unaccounted_turns} turns unaccounted (at most {u.unaccounted_tokens:,} tokens)")
    return " · ".join(parts)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


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
