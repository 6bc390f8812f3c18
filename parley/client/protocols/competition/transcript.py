"""The competition's posts, scoreboard and outcome in words."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.protocols.competition.decided import decided
from parley.client.protocols.competition.story import Story, team_of
from parley.client.show.lines import Block, Piece, StyledLine
from parley.client.text import clean, line
from parley.schemas.post import Post
from parley.schemas.protocols.competition.format import DIMENSIONS, TEAMS, other
from parley.schemas.protocols.competition.messages import (
    Ballot,
    Bid,
    Decision,
    Fine,
    Note,
    Outcome,
    Reviewed,
    Said,
    Scored,
    Silence,
    StageSummary,
    Tally,
)
from parley.schemas.wire import figure

_WIDE = 300
_BRIEF = 160
"""Characters of what is told in passing in a brief view."""
_NARROW = 0.05
"""A share of the points below which a lead is called little."""
_ACTS = {
    "speech": "speech", "summary": "summary", "question": "questions", "answer": "answer", "free": "free debate",
    "closing": "closing speech",
}  # fmt: skip
SHORT = {"rule_compliance": "rules"}
WARNING = "!"
"""Stands before what went against the rules, so that it is seen without colour."""


def clock(seconds: float) -> str:
    """`2:05`."""
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02}"


def points(value: float) -> str:
    """`7.25`, `-3`, `0`."""
    return figure(value, 2)


def pieces(post: Post, body: Any, story: Story) -> Iterator[Piece]:
    """One post that `story` has just taken."""
    match body:
        case Said():
            yield _speech(post, body, story)
        case Scored():
            yield from _scored(body, story)
        case Fine():
            yield "warning", f"  {_fine(body)}"
        case Silence():
            yield "warning", f"  {_silent(body, _WIDE)}"
        case StageSummary():
            title = f"{line(post.seat)} sums up {line(story.titles.get(post.round, 'the stage'))}"
            yield Block(style="judge", title=title, text=clean(body.text))
        case Reviewed():
            if body.departs:
                yield "warning", f"  {WARNING} {departing(body.departs)}"
            yield Block(style="judge", title=f"{line(post.seat)}, final review", text=clean(body.text))
        case Ballot():
            why = f": {line(body.why, _WIDE)}" if body.why else ""
            yield "quiet", f"  {line(post.seat)} votes {_choice(body.choice, story)}{why}"
        case Tally():
            yield "score", f"  the audience {body.name} the debate: {tally_words(body, story)}"
        case Note() | Bid() | Decision():
            yield from _private(post, body)


def _silent(body: Silence, width: int) -> str:
    return f"{WARNING} {line(body.seat)} is silent ({line(body.asked)} in {line(body.stage)}): {line(body.why, width)}"


def _private(post: Post, body: Note | Bid | Decision) -> Iterator[Piece]:
    """What is said on a team's channel, or in the judge's notes."""
    who, style = line(post.seat), team_of(post.seat)
    match body:
        case Note():
            title = f"{who} notes" if style == "judge" else f"{who} to its team alone"
            yield Block(style=style, title=title, text=clean(body.text))
        case Bid(wants=True):
            yield style, f"  {who} bids, to its team alone ({body.urgency:.2f}): {line(body.point, _WIDE)}"
        case Bid():
            yield "quiet", f"  {who} does not bid, to its team alone"
        case Decision():
            direction = line(body.direction, 2_000)
            yield style, f"  {who}, captain, to its team alone: {line(body.speaker)} speaks: {direction}"


def _speech(post: Post, body: Said, story: Story) -> Block:
    foot: list[StyledLine] = []
    if body.overtime:
        over = body.words - body.limit
        foot.append(("warning", f"{WARNING} overtime: {points(over)} words beyond the limit of {body.limit:,}"))
    if body.left:
        left = ", ".join(f"{line(story.team_name(t))} {clock(body.left.get(t, 0))}" for t in TEAMS)
        foot.append(("quiet", f"time left: {left}"))
    foot += (("quiet", text) for text in _cited(body))
    to = f" to {line(body.answerer)}" if body.answerer else ""
    title = f"{speaker(post.seat, story)}, {_ACTS[body.act]}{to}: {measured(body)}"
    return Block(style=team_of(post.seat), title=title, text=clean(said_text(body)), foot=tuple(foot))


def _cited(body: Said) -> Iterator[str]:
    """What a speech rests on: documents, and quotations that do not stand in the speech itself."""
    counts = Counter(c.document for c in body.citations)
    if counts:
        yield "rests on " + ", ".join(f"{line(d)}" + (f" ({n})" if n > 1 else "") for d, n in counts.items())
    flat = line(body.text)
    for c in body.citations:
        quote = line(c.quote)
        if quote not in flat:
            yield f"{line(c.document)}: “{line(quote, _WIDE)}”"


def said_text(body: Said) -> str:
    """What was said; questions are numbered."""
    if not body.questions:
        return body.text
    return "\n".join(f"{i}. {' '.join(q.split())}" for i, q in enumerate(body.questions, 1))


def speaker(seat: str, story: Story) -> str:
    """`pro_1 (Proposition)`."""
    team = team_of(seat)
    return f"{line(seat)} ({line(story.team_name(team))})" if team in TEAMS else line(seat)


def words_told(words: float) -> str:
    """`1,204.5`"""
    return figure(words, 2, ",")


def measured(body: Said) -> str:
    """`612 of 750 words, 2:27 of 3:00`."""
    limit = body.seconds * body.limit / body.words if body.words else 0.0
    time = f", {clock(body.seconds)} of {clock(limit)}" if limit else ""
    return f"{words_told(body.words)} of {body.limit:,} words{time}"


def _scored(body: Scored, story: Story) -> Iterator[StyledLine]:
    who = line(body.seat)
    if body.marks is None:
        yield "warning", f"  {WARNING} unscored: the judge could not score the speech of {who}"
    else:
        yield "score", f"  {who} scores {points(body.score)} ({marks_words(body)})"
    yield from (("warning", f"  {text}") for text in violations(body))
    teams = ", ".join(f"{line(story.team_name(t))} {points(body.totals.get(t, 0))}" for t in TEAMS)
    yield "quiet", f"      {who} {points(body.totals.get(body.seat, 0))}; {teams}"


def marks_words(body: Scored) -> str:
    """`logic 8, persuasion 7, ...`; empty without marks."""
    if body.marks is None:
        return ""
    return ", ".join(f"{SHORT.get(name, name)} {points(getattr(body.marks, name))}" for name in DIMENSIONS)


def violations(body: Scored) -> Iterator[str]:
    """What went against the rules in a speech, and what it costs."""
    priced = {fine.rule for fine in body.fines}
    yield from (_fine(fine) for fine in body.fines)
    for breach in body.marks.violations if body.marks is not None else ():
        if breach.kind not in priced:
            reason = line(breach.quote or breach.note, _WIDE)
            yield f"{WARNING} {words_of(breach.kind)}, costs nothing" + (f": “{reason}”" if reason else "")


def _fine(fine: Fine) -> str:
    costs = [f"{line(fine.seat)} {points(fine.individual_points)}"] if fine.individual_points else []
    costs += [f"team {points(fine.team_points)}"] if fine.team_points else []
    note = f" ({line(fine.note, _WIDE)})" if fine.note else ""
    return f"{WARNING} {words_of(fine.rule)}: {', '.join(costs) or 'costs nothing'}{note}"


def words_of(rule: str) -> str:
    """A rule's name in words."""
    return line({"consecutive": "same team twice in a row"}.get(rule, rule.replace("_", " ")))


def _choice(choice: str, story: Story) -> str:
    return line(story.team_name(choice) if choice in TEAMS else choice)


def tally_words(body: Tally, story: Story) -> str:
    """`Proposition 2, Opposition 1, undecided 2`."""
    teams = [f"{line(story.team_name(t))} {body.votes.get(t, 0)}" for t in TEAMS]
    return ", ".join((*teams, f"undecided {body.votes.get('undecided', 0)}"))


def brief_lines(post: Post, body: Any, story: Story) -> Iterator[StyledLine]:
    """One post on one line at most: silences, what a stage came to, the audience, the judge's last word."""
    match body:
        case Silence():
            yield "warning", f"  {_silent(body, _BRIEF)}"
        case StageSummary():
            teams = ", ".join(f"{line(story.team_name(t))} {points(story.total(t))}" for t in TEAMS)
            yield "score", f"  {teams} after it"
            yield "quiet", f"  {line(post.seat)}: {line(body.text, _BRIEF)}"
        case Reviewed(departs=""):
            yield "judge", f"  {line(post.seat)}, final review: {line(body.text, _BRIEF)}"
        case Tally():
            yield "score", f"  the audience {body.name} the debate: {tally_words(body, story)}"


def brief_outcome(body: Mapping[str, Any], story: Story) -> Iterator[StyledLine]:
    """The scores of each team on one line, and what speaks against a clean debate."""
    outcome = outcome_of(body)
    known = story
    if known.totals != {**outcome.individual_totals, **outcome.team_totals}:
        known = _recounted(outcome, known)
    for team in TEAMS:
        seats = ", ".join(f"{line(seat)} {points(known.total(seat))}" for seat in known.seats(team))
        yield team, f"  {line(known.team_name(team))} {points(known.total(team))}" + (f": {seats}" if seats else "")
    yield from (("warning", text) for text in facts(outcome))
    yield from (("warning", f"{WARNING} {text}") for text in decided(outcome, known))


def in_short(body: Mapping[str, Any], story: Story) -> str:
    """Who won, by how much, and whether that is much."""
    outcome = outcome_of(body)
    if outcome.winner not in TEAMS:
        return verdict(body, story) + ("" if _nothing_said(outcome) else "; no side has shown more")
    first = outcome.team_totals.get(outcome.winner, 0.0)
    second = outcome.team_totals.get(other(outcome.winner), 0.0)
    by = abs(first - second)
    little = (
        "; that is little: another judge may see it otherwise" if by < _NARROW * max(abs(first), abs(second)) else ""
    )
    little += f"; {unscored_words(outcome)}" if outcome.unscored else ""
    little += "".join(f"; {text.partition(': ')[0]}" for text in decided(outcome, story))  # without the figures
    won = f"{line(story.team_name(outcome.winner))} won"
    how = "by votes" if outcome.decided_by == "votes" else f"by {points(by)} points of {points(max(first, second))}"
    return f"{won} {how}{little}; who wins is not who is right"


# ---------------------------------------------------------------- scoreboard


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the scoreboard."""

    name: str
    """Seat, or pro or con."""
    shown: str
    speeches: int | None
    """None: not known."""
    taken: float
    total: float

    @property
    def shown_speeches(self) -> str:
        """How many, or a dash."""
        return "–" if self.speeches is None else str(self.speeches)

    @property
    def team(self) -> bool:
        """Whether it is a team's row."""
        return self.name in TEAMS


def standings(story: Story) -> list[Standing]:
    """The scoreboard: each team, and below it its seats by position."""
    rows: list[Standing] = []
    known = bool(story.speeches)
    for team in TEAMS:
        seats = story.seats(team)
        spoken = {seat: story.spoken(seat) if known else None for seat in seats}
        rows.append(
            _row(team, line(story.team_name(team)), sum(n or 0 for n in spoken.values()) if known else None, story)
        )
        rows += (_row(seat, line(seat), n, story) for seat, n in spoken.items())
    return rows


def _row(name: str, shown: str, speeches: int | None, story: Story) -> Standing:
    return Standing(name=name, shown=shown, speeches=speeches, taken=story.taken(name), total=story.total(name))


def scoreboard(story: Story) -> Iterator[StyledLine]:
    """The scoreboard in lines of at most 60 columns."""
    if not story.totals:
        return
    yield "score", f"  {'scoreboard':24} {'speeches':>8} {'taken':>7} {'total':>8}"
    for row in standings(story):
        name = line(row.shown, 24) if row.team else f"  {line(row.shown, 22)}"
        style = row.name if row.team else "quiet"
        yield (
            style,
            f"  {name:24} {row.shown_speeches:>8} {points(row.taken):>7} {points(row.total):>8}",
        )


# ---------------------------------------------------------------- the end


def outcome_of(body: Mapping[str, Any]) -> Outcome:
    """A result's outcome."""
    return msgspec.convert(body, Outcome)


def verdict(body: Mapping[str, Any], story: Story | None = None) -> str:
    """Who won, by what, and the best debater, in one sentence."""
    outcome, known = outcome_of(body), story or Story()
    if outcome.winner not in (*TEAMS, "draw"):
        if _nothing_said(outcome):
            return "nobody won: neither side said anything"
        why = "not every stage was played" if not outcome.complete else "there was nothing to decide by"
        if outcome.complete and outcome.unscored and outcome.best:
            why = f"{unscored_words(outcome)}, and their marks might turn it"
        totals = ", ".join(f"{line(known.team_name(t))} {points(outcome.team_totals.get(t, 0))}" for t in TEAMS)
        return f"no verdict: {why}; points so far {totals}"
    first = outcome.winner if outcome.winner in TEAMS else TEAMS[0]
    by = f"points {_figures(outcome.team_totals, first, points)}"
    if outcome.decided_by == "votes":
        by = f"votes won over {_figures(outcome.swing, first, lambda n: f'{n:+g}')}; {by}"
    said = "a draw" if outcome.winner == "draw" else f"{line(known.team_name(first))} wins"
    return f"{said}: {by}" + (f"; {best_words(outcome)}" if outcome.best else "")


def _nothing_said(outcome: Outcome) -> bool:
    return outcome.complete and bool(outcome.of_substance) and not any(outcome.of_substance.values())


def _figures(values: Mapping[Any, float], first: str, shown: Callable[[float], str]) -> str:
    """`61.25 to 58.1`, the winner's first."""
    return f"{shown(values.get(first, 0))} to {shown(values.get(other(first), 0))}"


def best_words(outcome: Outcome) -> str:
    """`best debater pro_2 (18.5)`; several where they tie."""
    ties = " and ".join(f"{line(s)} ({points(outcome.individual_totals.get(s, 0))})" for s in outcome.best)
    return f"best debater{'s' if len(outcome.best) > 1 else ''} {ties}"


def outcome_lines(body: Mapping[str, Any], story: Story | None = None) -> Iterator[StyledLine]:
    """The lines below the verdict: scoreboard, violations, votes, silences."""
    outcome, known = outcome_of(body), story or Story()
    if known.totals != {**outcome.individual_totals, **outcome.team_totals}:
        known = _recounted(outcome, known)
    yield from scoreboard(known)
    yield from (("warning", text) for text in facts(outcome))
    yield from (("warning", f"{WARNING} {text}") for text in decided(outcome, known))
    for tally in outcome.votes:
        yield "quiet", f"Audience {tally.name} the debate: {tally_words(tally, known)}"


def unscored_words(outcome: Outcome) -> str:
    """`2 of 16 speeches could not be scored`."""
    speeches = "speech" if outcome.to_score == 1 else "speeches"
    return f"{len(outcome.unscored)} of {outcome.to_score} {speeches} could not be scored"


def departing(departs: str) -> str:
    """Of a review that says otherwise than it was counted."""
    return f"the judge's review departs from the count: {line(departs, _WIDE)}"


def facts(outcome: Outcome) -> Iterator[str]:
    """What speaks against a clean debate, a line each; none: nothing did."""
    if outcome.departs:
        yield f"{WARNING} {departing(outcome.departs)}"
        yield f"  its words: {line(outcome.departing, _WIDE)}"
    if outcome.violations:
        counts = ", ".join(f"{words_of(kind)} {n}" for kind, n in outcome.violations.items())
        yield f"{WARNING} violations found: {counts}"
    if outcome.fines:
        yield f"{WARNING} fines: {len(outcome.fines)}; " + _sums(outcome.fines)
    if outcome.unscored:
        yield f"{WARNING} {unscored_words(outcome)}"
    if outcome.silent:
        yield f"{WARNING} silent: " + "; ".join(line(s) for s in outcome.silent)


def _sums(fines: Sequence[Fine]) -> str:
    rules = dict.fromkeys(f.rule for f in fines)
    return ", ".join(
        f"{words_of(rule)} {points(sum(f.team_points + f.individual_points for f in fines if f.rule == rule))}"
        for rule in rules
    )


def _recounted(outcome: Outcome, story: Story) -> Story:
    """The figures of the outcome, where not every post was read."""
    recounted = Story(story.format)
    recounted.speeches = story.speeches
    recounted.fines = list(outcome.fines)
    recounted.totals = {**outcome.individual_totals, **outcome.team_totals}
    return recounted


def stage_words(r: Mapping[str, Any]) -> Iterator[str]:
    """One stage of a result, for an explanation."""
    yield f"Stage {r.get('round')}, {line(str(r.get('title')))}:"
    for s in r.get("speeches") or ():
        if s.get("post") is None:
            yield f"  {line(str(s.get('seat')))}: a place without a word, {figure(s.get('seconds') or 0)} s"
            continue
        score = "unscored" if s.get("score") is None else f"score {points(s['score'])}"
        over = ", overtime" if s.get("overtime") else ""
        act = _ACTS.get(str(s.get("act")), line(str(s.get("act"))))
        words = f"{figure(s.get('words') or 0)} of {s.get('limit')} words"
        yield f"  {line(str(s.get('seat')))}, {act}: {words}{over}, {score}"
        yield from (f"    {_fine(msgspec.convert(fine, Fine))}" for fine in s.get("fines") or ())
    yield from (f"  silent: {line(str(seat))}" for seat in r.get("silent") or ())
    if r.get("summary"):
        yield f"  the judge: {line(str(r['summary']), _WIDE)}"
