"""What the posts and the result of a competition say: speeches of two sides, the judge's marks, and the score."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from parley.client.protocols.competition import files, scores
from parley.client.protocols.competition.scores import Speaking, clock, marks_words, measured, points, team_of
from parley.client.protocols.competition.setup import SETUP
from parley.client.show.answer import ResultSummary
from parley.client.show.card import Card, CardPart, Chip, Row, Series, Table, by_round, paragraphs, quotes_of
from parley.client.show.palette import seat_name
from parley.client.show.show import FIELDS, Form, Show, saved_part
from parley.client.text import line
from parley.client.untrusted import object_of
from parley.coordinator.protocols.competition.speech_words import count as words_in
from parley.schemas import log
from parley.schemas.post import WITHHELD, Post
from parley.schemas.protocols.competition.format import DIMENSIONS, TEAMS, Format, Pace, other, seats_of
from parley.schemas.protocols.competition.messages import (
    AnswerBrief,
    AudienceVotes,
    Ballot,
    Bid,
    Decision,
    Fine,
    Note,
    Outcome,
    QuestionBrief,
    Reviewed,
    Scored,
    Settings,
    Silence,
    SpeechBrief,
    SpeechPost,
    StageSummary,
)
from parley.schemas.result import Result
from parley.schemas.wire import SchemaError, decode, encode, figure

_WIDE = 300
SIDES = {"pro": "one", "con": "two", "judge": "bench"}
_ACTS = {
    "speech": "speech",
    "summary": "summary",
    "question": "questions",
    "answer": "answer",
    "free": "free debate",
    "closing": "closing speech",
}
_DOES = {
    "confer": "confers",
    "speak": "speaks",
    "question": "asks",
    "answer": "answers",
    "captain": "decides who speaks",
    "bid": "bids",
    "score": "scores",
    "summarize": "sums up",
    "review": "reviews",
    "vote": "votes",
}
_BRIEFS: Mapping[str, Any] = {"speak": SpeechBrief, "question": QuestionBrief, "answer": AnswerBrief}


FORM = Form(
    asks={
        "confer": "Say to your team what it should do.",
        "speak": "Give your speech.",
        "question": "Ask the other side.",
        "answer": "Answer what you were asked.",
        "captain": "Choose who of your team speaks.",
        "bid": "Say whether you want to speak next.",
        "score": "Mark the speech, from 1 to 10 in each row.",
        "vote": "Say which side convinced you.",
        "review": "Sum up the debate.",
        "summarize": "Sum up this part of the debate.",
    },
    fields={
        **FIELDS,
        "text": ("What you say", ""),
        "answerer": ("Whom you ask", ""),
        "speaker": ("Who speaks next", ""),
        "direction": ("What the speech is to do", ""),
        "wants": ("I want to speak", ""),
        "urgency": ("How urgent it is", "0 to 1."),
        "violations.kind": ("Which rule", ""),
        "choice": ("Your vote", ""),
        **{name: (name.replace("_", " ").capitalize(), "1 to 10.") for name in DIMENSIONS},
    },
)
"""How a person is asked for a turn."""


class CompetitionShow(Show):
    """Shows two sides, a judge, and the score."""

    setup = SETUP
    form = FORM
    round_name = "Stage"
    left_out = "on the teams' own channels and in the judge's notes"
    kinds: ClassVar[Mapping[str, type]] = {
        "speech": SpeechPost,
        "scored": Scored,
        "fine": Fine,
        "silent": Silence,
        "summary": StageSummary,
        "review": Reviewed,
        "ballot": Ballot,
        "tally": AudienceVotes,
        "note": Note,
        "bid": Bid,
        "decision": Decision,
    }
    certificate_names: ClassVar[Mapping[str, str]] = {
        "of_substance": "speeches that say something",
        "swing": "votes of the audience won over",
        "pro": "Proposition",
        "con": "Opposition",
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._rules = _rules(self.settings)
        self._format: Format | None = self._rules.format if self._rules is not None else None
        """None: nobody has said it; it stands in the session's opening."""
        self._titles = {n: s.title for n, s in enumerate(self._format.stages, 1)} if self._format else {}
        self._round = 0
        self._speeches: list[Speaking] = []
        self._totals: dict[str, float] = {}
        """By seat and by team, after the last marks."""
        self._fines: list[Fine] = []
        self._ballots: dict[str, tuple[int, str]] = {}
        """Choice -> the post of the last vote for it, and why."""
        self._review: int | None = None
        """Number of the review's post."""
        self._reviewed = ""

    @classmethod
    def seen_by_clients(cls, opened: log.Opened) -> log.Opened:
        """Without the texts of documents that one team alone holds."""
        teams = {s.role for s in opened.seats if s.role in TEAMS}
        roles = {s.seat: s.role for s in opened.seats}
        documents = tuple(
            d if not d.holders or teams <= {roles.get(h) for h in d.holders} else msgspec.structs.replace(d, text="")
            for d in opened.evidence
        )
        return msgspec.structs.replace(opened, documents=documents)

    @classmethod
    def what_if(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """A format may be a built-in name or a file."""
        changed = dict(settings)
        if isinstance(changed.get("format"), str):
            changed["format"] = msgspec.to_builtins(files.read_format(changed["format"]))
        return changed

    @classmethod
    def tells_why(cls, say: log.Say) -> str:
        """A silence that gives its reason."""
        body = object_of(say.body) if say.kind == "silent" else {}
        return str(body.get("seat")) if body and body.get("why") != WITHHELD else ""

    # -- names
    @property
    def _names(self) -> dict[str, str]:
        """Team -> the name that the format gives it."""
        given = self._format.teams if self._format is not None else {}
        return {t: line(given[t].name, 24) if t in given else t.capitalize() for t in TEAMS}

    def _speaker(self, seat: str) -> str:
        """`Proposition`, and the style in which it debates."""
        style = self._rules.styles.get(seat, "") if self._rules is not None else ""
        return ", ".join(part for part in (self._names.get(team_of(seat), ""), style) if part)

    def _seats(self, team: str) -> tuple[str, ...]:
        """The team's seats by position: of its format, or those heard of so far."""
        if self._format is not None:
            return seats_of(self._format, team)
        heard = {*self._totals, *(s.seat for s in self._speeches)}
        return tuple(sorted(s for s in heard if team_of(s) == team and s != team))

    # -- posts
    def said(self, post: Post, body: Any) -> Card:
        """A post."""
        self._round = post.round
        side = SIDES.get(team_of(post.seat), "")
        match body:
            case SpeechPost():
                return self._speech(post, body)
            case Scored():
                return self._scored(body)
            case Fine():
                self._fines.append(body)
                return Card(
                    place="line",
                    tone="warn",
                    side=SIDES.get(body.team, ""),
                    text=f"{seat_name(body.seat)}: {scores.fine_words(body)}",
                )
            case Silence():
                self._titles.setdefault(post.round, body.stage)
                asked = f"{_DOES.get(body.asked, body.asked)} in {body.stage}"
                text = f"{seat_name(body.seat)} is silent ({asked}): {body.why}"
                return Card(place="line", tone="warn", text=text)
            case StageSummary():
                return Card(place="note", side="bench", head="after this stage", text=body.text)
            case Reviewed():
                self._review, self._reviewed = post.n, body.text
                wrong = (Chip(text=_departing(body.departs), tone="warn"),) if body.departs else ()
                return Card(
                    place="note", side="bench", head="final review", text=body.text, chips=wrong, more=not wrong
                )
            case Ballot():
                why = f": {body.why}" if body.why else ""
                self._ballots[body.choice] = post.n, f"{seat_name(post.seat)} voted for it{why}"
                return Card(place="line", more=True, text=f"votes {self._names.get(body.choice, body.choice)}{why}")
            case AudienceVotes():
                return Card(
                    place="score",
                    head=f"the audience {body.name} the debate",
                    text=scores.tally_words(body, self._names),
                )
            case Note():
                alone = "on what was said" if side == "bench" else "to its team alone"
                return Card(place="note", more=side != "bench", side=side, head=alone, text=body.text)
            case Bid():
                bids = f"bids, to its team alone ({body.urgency:.2f}): {body.point}" if body.wants else "does not bid"
                return Card(place="line", more=True, side=side, text=bids)
            case Decision():
                text = f"captain, to its team alone: {seat_name(body.speaker)} speaks: {body.direction}"
                return Card(place="line", more=True, side=side, text=text)
        return super().said(post, body)

    def _speech(self, post: Post, body: SpeechPost) -> Card:
        self._titles.setdefault(post.round, body.stage)
        self._speeches.append(Speaking(post.n, post.round, post.seat, body))
        chips = [
            Chip(text=self._speaker(post.seat), tone="quiet"),
            Chip(text=measured(body), tone="warn" if body.overtime else "quiet"),
        ]
        if body.overtime:
            chips.append(Chip(text=f"overtime: {points(body.words - body.limit)} words beyond the limit", tone="warn"))
        if body.left:
            left = ", ".join(f"{self._names[t]} {clock(body.left.get(t, 0))}" for t in TEAMS)
            chips.append(Chip(text=f"time left: {left}", tone="quiet"))
        to = f" to {seat_name(body.answerer)}" if body.answerer else ""
        asked = "\n\n".join(f"{i}. {' '.join(q.split())}" for i, q in enumerate(body.questions, 1))
        return Card(
            head=f"{_ACTS[body.act]}{to}",
            side=SIDES.get(team_of(post.seat), ""),
            text=asked or body.text,
            chips=tuple(chips),
            quotes=quotes_of(body.citations),
        )

    def _scored(self, body: Scored) -> Card:
        self._totals = dict(body.totals)
        self._fines += body.fines
        for speech in self._speeches:
            if speech.post == body.post:
                speech.scored = body
        head = "is unscored: the judge could not score it" if body.marks is None else f"scores {points(body.score)}"
        so_far = ", ".join(f"{self._names[t]} {points(body.totals.get(t, 0))}" for t in TEAMS)
        chips = [Chip(text=text, tone="warn") for text in scores.violations(body)]
        return Card(
            place="score",
            side=SIDES.get(team_of(body.seat), ""),
            head=head,
            refers=(body.post,),
            reply=False,
            tone="warn" if body.marks is None else "plain",
            chips=(*chips, Chip(text=so_far, tone="quiet")),
            text=paragraphs(body.marks.comment if body.marks is not None else "", marks_words(body)),
        )

    def series(self) -> tuple[Series, ...]:
        """Each team's points after each speech, the lead, and each speech's score."""
        steps = [s for s in self._speeches if s.scored is not None]
        if not steps:
            return ()
        found: list[Series] = []
        for t, name in self._names.items():
            points_ = [(n, s.scored.totals.get(t)) for n, s in enumerate(steps, 1) if s.scored]
            mine = [(n, s.scored.score) for n, s in enumerate(steps, 1) if s.scored and team_of(s.seat) == t]
            look: dict[str, Any] = {"side": SIDES[t]}
            found.append(by_round(t, f"Points of {name}", points_, "Points after each speech", form="steps", **look))
            if mine:
                label = f"Speeches of {name}"
                found.append(by_round(f"speeches_{t}", label, mine, "Score of each speech", form="bars", **look))
        return tuple(found)

    def round_title(self, round_: int) -> str:
        """`Stage 2 of 4: Cross-examination`"""
        of = f" of {len(self._format.stages)}" if self._format is not None else ""
        title = self._titles.get(round_, "")
        return (f"Stage {round_}{of}" + (f": {title}" if title else "")) if round_ else "Beginning"

    def board(self) -> Table | None:
        """The scoreboard: each team, and below it its seats by position."""
        if not self._totals:
            return None
        mean, rows = scores.means(self._speeches), list[Row]()
        for team in TEAMS:
            for name in (team, *self._seats(team)):
                team_row = name == team
                cells = (
                    self._names[team] if team_row else f"  {seat_name(name)}",
                    str(sum(name in (s.seat, team_of(s.seat)) for s in self._speeches)),
                    f"{mean[name][0]:.2f}" if name in mean else "–",
                    points(self._taken(name)),
                    points(self._totals.get(name, 0.0)),
                )
                rows.append(Row(cells=cells, side=SIDES[team], strong=team_row, about=self._about(name)))
        return Table(head=("Scoreboard", "Speeches", "Mean", "Taken", "Total"), rows=tuple(rows))

    def _about(self, name: str) -> str:
        """A team's stance, a seat's style."""
        if self._rules is None:
            return ""
        stances: Mapping[Any, str] = self._rules.stances
        return stances.get(name, "") or self._rules.styles.get(name, "")

    def _taken(self, name: str) -> float:
        """Points that were taken from a seat, or from a team (its own fines and those of its seats)."""
        if name in TEAMS:
            return sum(f.team_points + f.individual_points for f in self._fines if f.team == name)
        return sum(f.individual_points for f in self._fines if f.seat == name)

    def doing(self, ask: log.Ask, text: str) -> str:
        """What a seat does, with words and time of a text that is under way."""
        does = _DOES.get(ask.kind, ask.kind)
        try:
            brief: Any = decode(ask.brief, _BRIEFS[ask.kind]) if ask.kind in _BRIEFS else None
        except SchemaError:
            brief = None
        if not text or brief is None:
            return does
        said, limit = words_in(text, self._format.pace if self._format is not None else Pace()), brief.words
        return f"{does}: {figure(said, 2, ',')} of {limit:,} words" + (" OVERTIME" if said > limit else "")

    def foot(self) -> str:
        """The stage that is played."""
        return self.round_title(self._round) if self._round else ""

    # -- the result
    def told(self, result: Result) -> ResultSummary:
        """Who won, by what, and what speaks against it."""
        outcome = msgspec.convert(result.outcome, Outcome)
        names = {**self._names, **{team: line(name, 24) for team, name in outcome.names.items()}}
        self._settle(outcome)
        decided = tuple(scores.decided(outcome, self._speeches, names))
        text = scores.verdict(outcome, names)
        mean = scores.means(self._speeches)
        best = max(
            (seat for seat in mean if seat not in TEAMS and team_of(seat) in TEAMS),
            key=lambda s: mean[s][0],
            default="",
        )
        behind = scores.lead_words(outcome) if outcome.winner in TEAMS else "" if text else scores.no_verdict(outcome)
        sides = (outcome.winner, other(outcome.winner)) if outcome.winner in TEAMS else ()
        review = self._reviewed or outcome.review
        judged = [scores.told_for(team, names, "" if outcome.departs else review, self._speeches) for team in sides]
        voted = self._ballots.get(outcome.winner) if outcome.decided_by == "votes" else None
        post, why = voted or (judged[0] if judged else (None, review if text else ""))
        why = f"the judge: {why}" if post is None and why else why
        post = self._review if post is None else post
        return ResultSummary(
            word="Verdict",
            text=text,
            behind=behind,
            why=why,
            posts=() if post is None else (post,),
            dissent=judged[1][1] if judged else "",
            weak=(*self._weak(outcome), *decided, *(["who wins is not who is right"] if text else [])),
            parts=tuple(self._parts(result, outcome, decided, best, mean)),
        )

    def _settle(self, outcome: Outcome) -> None:
        """Take the outcome's figures where not every post was read."""
        totals = {**outcome.individual_totals, **outcome.team_totals}
        if totals != self._totals:
            self._totals, self._fines = totals, list(outcome.fines)

    def _weak(self, outcome: Outcome) -> Iterator[str]:
        """What speaks against a clean debate."""
        if outcome.departs:
            yield _departing(outcome.departs)
        if outcome.unscored and outcome.winner:
            yield scores.unscored_words(outcome)
        if outcome.silent:
            who = (said.partition(": ") for said in outcome.silent)
            yield "silent: " + ", ".join(f"{seat_name(seat)} ({line(what)})" for seat, _, what in who)

    def _parts(
        self,
        result: Result,
        outcome: Outcome,
        decided: tuple[str, ...],
        best: str,
        mean: Mapping[str, tuple[float, int]],
    ) -> Iterator[CardPart]:
        """The review, the scoreboard, fines, votes, stages."""
        if self._reviewed or outcome.review or outcome.departing:
            told = [f"It departs from the count; its words: {outcome.departing}"] if outcome.departing else []
            yield CardPart(
                name="review",
                title="The judge's review",
                lines=(*told, *(self._reviewed or outcome.review).split("\n")),
                finding=True,
                first=True,
            )
        lines = []
        if best:
            given, n = mean[best]
            spoke = f"{n} speech{'' if n == 1 else 'es'}, sum {points(outcome.individual_totals.get(best, 0))}"
            lines.append(f"Best debater: {seat_name(best)}, {given:.2f} a speech ({spoke})")
        yield CardPart(
            name="scoreboard", title="Scoreboard", table=self.board(), lines=tuple(lines), finding=True, first=True
        )
        against = [f"{text[:1].upper()}{text[1:]}" for text in decided]
        if outcome.violations:
            found = ", ".join(f"{scores.words_of(k)} {n}" for k, n in outcome.violations.items())
            against.append(f"Violations found: {found}")
        if outcome.fines:
            against.append(f"Fines: {len(outcome.fines)}; {scores.fines_words(outcome.fines)}")
            against += [f"  {seat_name(f.seat)}, {scores.fine_words(f)}" for f in outcome.fines]
        if against:
            yield CardPart(name="fines", title="What went against the rules, and what decided", lines=tuple(against))
        if outcome.votes:
            votes = (f"{t.name.capitalize()} the debate: {scores.tally_words(t, self._names)}" for t in outcome.votes)
            yield CardPart(name="votes", title="Votes of the audience", lines=tuple(votes))
        yield from self._who()
        yield from saved_part(result.outcome)

    def _who(self) -> Iterator[CardPart]:
        """Stances of the teams, and styles of their seats."""
        if self._rules is None:
            return
        told = [f"{self._names[t]} holds: {line(stance, _WIDE)}" for t, stance in self._rules.stances.items()]
        told += [f"{seat_name(seat)}: {style}" for seat, style in self._rules.styles.items()]
        weights = self._format.weights if self._format is not None and hasattr(self._format, "weights") else {}
        if weights:
            told.append(
                "Marks weigh: " + ", ".join(f"{name} {weights[name]:g}" for name in DIMENSIONS if name in weights)
            )
        if told:
            yield CardPart(name="sides", title="Stances and styles", lines=tuple(told))


def _departing(departs: str) -> str:
    """Of a review that says otherwise than it was counted."""
    return f"the judge's review departs from the count: {line(departs, _WIDE)}"


def _rules(settings: Mapping[str, Any]) -> Settings | None:
    """A session's settings, where this version can read them."""
    try:
        return decode(encode(settings), Settings) if settings else None
    except SchemaError:
        return None


SHOW = CompetitionShow
