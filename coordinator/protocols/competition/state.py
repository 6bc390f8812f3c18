"""competition: the state of a session. What was said and what the judge made of it live in posts; the state refers to
them by number, and every total is computed from them."""

from enum import StrEnum, auto
from typing import TypeVar

import msgspec

from parley.coordinator.commands import SayOn, Wish
from parley.coordinator.protocols.competition.speech_words import seconds
from parley.coordinator.table import View
from parley.schemas.post import Post
from parley.schemas.protocols.competition.format import (
    LEAST_WORDS,
    TEAMS,
    Act,
    Format,
    Free,
    Item,
    Stage,
    Team,
    other,
    seats_of,
)
from parley.schemas.protocols.competition.messages import Marks, Scored, SpeechPost
from parley.schemas.wire import decode

PRO, CON, JUDGE, AUDIENCE = "pro", "con", "judge", "audience"
PUBLIC, SCORES, JUDGE_NOTES = "public", "scores", "judge_notes"

T = TypeVar("T")


class Phase(StrEnum):
    """Where a session stands."""

    CONFERRING = auto()
    """Both teams, each on its own channel, before a stage."""
    SPEAKING = auto()
    """A speech that the agenda gives to a seat."""
    QUESTIONING = auto()
    ANSWERING = auto()
    BIDDING = auto()
    """Free debate: who of the team wants to speak?"""
    DECIDING = auto()
    """Free debate: the captain says who speaks."""
    DEBATING = auto()
    """Free debate: a seat speaks."""
    SCORING = auto()
    """The judge scores what was just said."""
    VOTING = auto()
    SUMMARIZING = auto()
    """The judge sums a stage up."""
    REVIEWING = auto()
    """The stop decision has fallen; the judge reviews the debate."""
    DONE = auto()


class Utterance(msgspec.Struct, frozen=True, kw_only=True):
    """Something said, or a place in free debate that stayed silent."""

    seat: str
    act: Act
    stage: int
    """Index in the format."""
    item: int
    """Index in the stage's agenda."""
    post: int | None
    """None: silence."""
    seconds: float
    """What it takes of the team's time."""
    scored: int | None = None
    """Post of the judge's marks, or of their absence; None: it is not to be scored, or not yet."""

    @property
    def team(self) -> Team:
        """pro | con"""
        return team_of(self.seat)


class Interruption(msgspec.Struct, frozen=True, kw_only=True):
    """A seat of the team that spoke last took the floor that was the other team's."""

    seat: str
    after: int
    """Number of lines before it: one a place in the debate is recorded, not each repeat of it."""


class Silent(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that came to nothing."""

    seat: str
    asked: str
    stage: int


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a session of this protocol remembers beside its posts."""

    phase: Phase
    stage: int = 0
    item: int = 0
    """The place in the agenda: what is being played."""
    conferred: tuple[int, int] = (0, 0)
    """Turns that pro and con have taken, or need not take, on their channels before this stage."""
    idle: int = 0
    """Turns to confer that were not asked for: the seat had nothing new to say when it was asked last."""
    short: str = ""
    """The limit of the budget that ended the debate, while the last speech is still scored."""
    bids: tuple[int, ...] = ()
    """Posts of the bids for the next place in the free debate."""
    ballots: tuple[int, ...] = ()
    """Posts of the ballots of the vote that is being taken."""
    lines: tuple[Utterance, ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    silent: tuple[Silent, ...] = ()
    tallies: tuple[int, ...] = ()
    summaries: tuple[tuple[int, int], ...] = ()
    """(stage, post)"""
    review: int | None = None
    complete: bool = False
    """Every stage was played."""

    def here(self) -> tuple[Utterance, ...]:
        """What was said in the item that is being played."""
        return tuple(x for x in self.lines if (x.stage, x.item) == (self.stage, self.item))


Says = tuple[Wish, ...]
"""Wishes of the transition in the making: its posts are numbered from `view.next_post` on."""


def format_of(v: View) -> Format:
    """The rules of this session."""
    format_: Format = v.settings.format
    return format_


def stage_of(s: State, v: View) -> Stage:
    """The stage that is being played."""
    return format_of(v).stages[s.stage]


def item_of(s: State, v: View) -> Item:
    """The item that is being played."""
    return stage_of(s, v).agenda[s.item]


def item_as(s: State, v: View, kind: type[T]) -> T:
    """The item that is being played, which is of this kind."""
    item = item_of(s, v)
    assert isinstance(item, kind), f"the agenda has a {kind.__name__} here"
    return item


def team_of(seat: str) -> Team:
    """The team of a debater: pro | con."""
    return "pro" if seat.startswith("pro_") else "con"


def channel_of(team: str) -> str:
    """A team's own channel."""
    return f"team_{team}"


def debaters(f: Format) -> tuple[str, ...]:
    """All seats of both teams."""
    return tuple(seat for team in TEAMS for seat in seats_of(f, team))


def new_post(v: View, says: Says) -> int:
    """The number that the next post of this transition gets."""
    return v.next_post + sum(isinstance(w, SayOn) for w in says)


def on_channel(v: View, says: Says, channel: str, but: str = "") -> tuple[int, ...]:
    """Numbers of a channel's posts, those of this transition included, and those of kind `but` left out."""
    before = [p.n for p in v.posts if p.channel == channel and p.kind != but]
    now = [w for w in says if isinstance(w, SayOn)]
    return (*before, *(v.next_post + i for i, w in enumerate(now) if w.channel == channel and w.kind != but))


def post_of(v: View, says: Says, post: int) -> Post | SayOn:
    """A post, which may be one of this transition."""
    if post < v.next_post:
        return v.posts[post]
    return [w for w in says if isinstance(w, SayOn)][post - v.next_post]


def body_of(v: View, says: Says, post: int, as_type: type[T]) -> T:
    """The body of a post, which may be one of this transition."""
    return decode(post_of(v, says, post).body, as_type)


def speech_of(v: View, says: Says, line: Utterance) -> SpeechPost | None:
    """What was said; None for silence."""
    return None if line.post is None else body_of(v, says, line.post, SpeechPost)


def marks(v: View, says: Says, line: Utterance) -> Marks | None:
    """What the judge made of it; None where there is nothing."""
    return None if line.scored is None else body_of(v, says, line.scored, Scored).marks


def turn_of(s: State, v: View) -> Team | None:
    """Whose place it is in a free debate: teams alternate, whatever came of a place, and one that is through passes.
    None: both are."""
    here = s.here()
    next_ = other(here[-1].team) if here else item_as(s, v, Free).first
    return next((team for team in (next_, other(next_)) if not through(s, v, team)), None)


def through(s: State, v: View, team: Team) -> bool:
    """Whether a team has had its places in a free debate, or has no time for another one. Whoever must still speak has
    a place, whatever those before took of the time."""
    free = item_as(s, v, Free)
    if sum(x.team == team for x in s.here()) >= free.speeches:
        return True
    return not must_speak(s, v, team) and time_left(s, free)[team] < seconds(LEAST_WORDS, format_of(v).pace)


def time_left(s: State, free: Free) -> dict[str, float]:
    """Seconds that each team has left in a free debate."""
    spent = {team: sum(x.seconds for x in s.here() if x.team == team) for team in TEAMS}
    return {team: round(max(0.0, free.seconds - spent[team]), 2) for team in TEAMS}


def unspoken(s: State, f: Format, team: str) -> tuple[str, ...]:
    """Seats of a team that have not had a place in the free debate yet."""
    had = {x.seat for x in s.here()}
    return tuple(seat for seat in seats_of(f, team) if seat not in had)


def must_speak(s: State, v: View, team: str) -> tuple[str, ...]:
    """Seats of a team that a free debate is not over without."""
    return unspoken(s, format_of(v), team) if item_as(s, v, Free).everybody else ()


def longest_silent(s: State, f: Format, seats: tuple[str, ...]) -> str:
    """Who speaks where nobody decides: who has not spoken in this debate, then who last had the floor the longest time
    ago, then the first position."""
    last = {x.seat: i for i, x in enumerate(s.lines)}
    had = {x.seat for x in s.here()}
    return min(seats, key=lambda seat: (seat in had, last.get(seat, -1), seats.index(seat)))
