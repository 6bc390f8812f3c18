"""Adds up the posts of a competition: speeches with their marks, clocks, totals, fines. The terminal view, the page
and the exports use it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from parley.coordinator.protocols.competition.speech_words import count
from parley.schemas import log
from parley.schemas.post import Post, decode_body
from parley.schemas.protocols.competition.format import TEAMS, Format, Free, Pace, seats_of
from parley.schemas.protocols.competition.messages import (
    AnswerBrief,
    Ballot,
    Bid,
    Decision,
    Fine,
    Note,
    QuestionBrief,
    Reviewed,
    Said,
    Scored,
    Settings,
    Silence,
    SpeechBrief,
    StageSummary,
    Tally,
)
from parley.schemas.wire import SchemaError, decode, encode

KINDS: dict[str, type] = {
    "speech": Said,
    "scored": Scored,
    "fine": Fine,
    "silent": Silence,
    "summary": StageSummary,
    "review": Reviewed,
    "ballot": Ballot,
    "tally": Tally,
    "note": Note,
    "bid": Bid,
    "decision": Decision,
}
"""Kind of post -> what its body is."""


class Speaking(msgspec.Struct):
    """A speech, and what became of it."""

    post: int
    """Number of its post."""
    round: int
    seat: str
    said: Said
    scored: Scored | None = None
    """None: it is not scored, or not yet."""


class Due(msgspec.Struct, frozen=True):
    """A turn that a seat was asked for: what it is, and within what."""

    seat: str
    kind: str
    round: int
    act: str = ""
    words: int | None = None
    """None: no limit."""
    seconds_left: float | None = None
    """Of the team's time in free debate."""


class Story:
    """One session, folded post by post; what cannot be read is left out."""

    def __init__(self, format_: Format | None = None) -> None:
        self.format = format_
        """None: nobody has said it; it stands in the session's opening."""
        self.round = 0
        """The stage that is being played, from 1; 0: none yet."""
        self.titles: dict[int, str] = {}
        self.speeches: list[Speaking] = []
        self.totals: dict[str, float] = {}
        """By seat and by team, after the last marks."""
        self.fines: list[Fine] = []
        self.silences: list[tuple[int, Silence]] = []
        """(stage, silence)"""
        self.tallies: list[Tally] = []
        self.summaries: dict[int, str] = {}
        self.review = ""
        self.left: dict[str, float] = {}
        """Seconds that each team has left in the free debate that is being played; empty outside one."""
        self._by_post: dict[int, Speaking] = {}
        if format_ is not None:
            self.titles.update({i: stage.title for i, stage in enumerate(format_.stages, 1)})

    @property
    def began(self) -> bool:
        """Whether it is a competition at all, as far as is known."""
        return self.format is not None or bool(self.speeches or self.silences or self.tallies)

    def take(self, post: Post) -> Any:
        """Fold one post. Its body as its type; None for what is no post of a competition."""
        body = body_of(post)
        if body is None:
            return None
        if post.round != self.round:
            self.round, self.left = post.round, self._first_clock(post.round)
        match body:
            case Said():
                self.titles.setdefault(post.round, body.stage)
                self.left = dict(body.left) or self.left
                self._by_post[post.n] = speaking = Speaking(post.n, post.round, post.seat, body)
                self.speeches.append(speaking)
            case Scored():
                self.totals = dict(body.totals)
                self.fines += body.fines
                if body.post in self._by_post:
                    self._by_post[body.post].scored = body
            case Fine():
                self.fines.append(body)
            case Silence():
                self.titles.setdefault(post.round, body.stage)
                self.silences.append((post.round, body))
            case Tally():
                self.tallies.append(body)
            case StageSummary():
                self.summaries[post.round] = body.text
            case Reviewed():
                self.review = body.text
        return body

    def _first_clock(self, round_: int) -> dict[str, float]:
        """Both teams' time before the first word of a free debate."""
        if self.format is None or not 0 < round_ <= len(self.format.stages):
            return {}
        free = [item for item in self.format.stages[round_ - 1].agenda if isinstance(item, Free)]
        return dict.fromkeys(TEAMS, free[0].seconds) if free else {}

    @property
    def last(self) -> bool:
        """Whether the stage that is being played is known to be the last."""
        return self.format is not None and self.round >= len(self.format.stages)

    # -- who, and what it is called

    def seats(self, team: str) -> tuple[str, ...]:
        """The team's seats by position: of its format, or those heard of so far."""
        if self.format is not None:
            return seats_of(self.format, team)
        heard = {*self.totals, *(s.seat for s in self.speeches)}
        return tuple(sorted(s for s in heard if team_of(s) == team and s != team))

    def team_name(self, team: str) -> str:
        """The name that the format gives a team."""
        return self.format.teams[team].name if self.format is not None else team.capitalize()  # type: ignore[index]

    def stage_words(self, round_: int) -> str:
        """`Stage 2 of 4: Cross-examination`."""
        of = f" of {len(self.format.stages)}" if self.format is not None else ""
        title = self.titles.get(round_, "")
        return f"Stage {round_}{of}" + (f": {title}" if title else "")

    # -- figures

    def words(self, text: str) -> float:
        """Words of a text as the rules of this session count them."""
        return count(text, self.format.pace if self.format is not None else Pace())

    def seconds(self, words: float) -> float:
        """What so many words take, as the rules of this session count."""
        pace = self.format.pace if self.format is not None else Pace()
        return words / pace.words_per_minute * 60

    def total(self, name: str) -> float:
        """The total of a seat or a team so far."""
        return self.totals.get(name, 0.0)

    def spoken(self, seat: str) -> int:
        """Speeches of a seat."""
        return sum(s.seat == seat for s in self.speeches)

    def taken(self, name: str) -> float:
        """Points that were taken from a seat, or from a team (its own fines and those of its seats)."""
        if name in TEAMS:
            return sum(f.team_points + f.individual_points for f in self.fines if f.team == name)
        return sum(f.individual_points for f in self.fines if f.seat == name)

    def cumulative(self) -> list[tuple[Speaking, dict[str, float]]]:
        """After each speech that has marks, or was to have them: the totals."""
        return [(s, s.scored.totals) for s in self.speeches if s.scored is not None]


def body_of(post: Post) -> Any:
    """The post's body as its type; None for a kind that a competition has not, or a body that another protocol or
    version wrote."""
    return decode_body(post, KINDS)


def is_reply(post: Post) -> bool:
    """Whether a post is what its seat replied. Of a competition's posts some name a seat and are not its words."""
    if body_of(post) is None:
        return True
    return post.kind in ("speech", "note", "bid", "decision") and team_of(post.seat) in TEAMS


def fold(story: Story, posts: Iterable[Post]) -> Story:
    """The story after these posts too."""
    for post in posts:
        story.take(post)
    return story


def of_settings(settings: Mapping[str, Any]) -> Story:
    """A session before its first post, knowing its format where this version can read it."""
    try:
        return Story(decode(encode(settings), Settings).format) if settings else Story()
    except SchemaError:
        return Story()


def team_of(seat: str) -> str:
    """pro | con | judge | audience: the first word of a seat's name, or the name."""
    return seat.rpartition("_")[0] or seat


def due(ask: log.Ask) -> Due:
    """What a turn asks for."""
    briefs: dict[str, type] = {"speak": SpeechBrief, "question": QuestionBrief, "answer": AnswerBrief}
    plain = Due(ask.seat, ask.kind, ask.round)
    if ask.kind not in briefs:
        return plain
    try:
        brief: Any = decode(ask.brief, briefs[ask.kind])
    except SchemaError:
        return plain
    act = brief.act if isinstance(brief, SpeechBrief) else ask.kind
    left = brief.seconds_left if isinstance(brief, SpeechBrief) else None
    return Due(ask.seat, ask.kind, ask.round, act, brief.words, left)
