"""The competition's messages: two teams, a judge, and a format that says who speaks when (source: seeds/ai-debate.md,
cited as "seed" by its headings). Marks are 1 to 10, times seconds.
"""

from typing import Annotated, Literal

import msgspec

from parley.schemas.protocols.competition.format import (
    Act,
    Format,
    Team,
    Violation,
    seats_of,
)
from parley.schemas.text import Citation
from parley.schemas.turn import InputTokens, OutputTokens
from parley.schemas.wire import (
    InvalidValue,
    Limited,
    between,
    chars,
    items,
    not_empty,
    one_line,
)

# ---------------------------------------------------------------- settings


class Personality(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A way to debate (seed, "Debater Personalities")."""

    name: str
    characteristics: str

    def __post_init__(self) -> None:
        one_line("personalities.name", self.name, 80)
        not_empty("personalities.characteristics", self.characteristics, 2_000)


def _no_format() -> Format:
    raise InvalidValue(
        "competition.format", "nothing", "name one: --format four_stage, --format oxford, or a file of your own"
    )


class Settings(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session. `format` and `personalities` are whole: the front door reads them from files."""

    where = "competition."
    format: Format = msgspec.field(default_factory=_no_format)
    """It must be given."""
    stances: dict[Team, str] = msgspec.field(default_factory=dict)
    """What each team is to hold; none: for and against the motion."""
    personalities: dict[str, Personality] = msgspec.field(default_factory=dict)
    """Styles by name."""
    styles: dict[str, str] = msgspec.field(default_factory=dict)
    """Seat -> the name of its style; a seat that is absent has none."""
    max_input_tokens: InputTokens = 32_000
    max_output_tokens: OutputTokens = 3_000

    def __post_init__(self) -> None:
        super().__post_init__()
        seats = {*seats_of(self.format, "pro"), *seats_of(self.format, "con")}
        for seat, style in self.styles.items():
            if seat not in seats:
                raise InvalidValue("competition.styles", seat, "seats are " + ", ".join(sorted(seats)))
            if style not in self.personalities:
                known = ", ".join(sorted(self.personalities)) or "none"
                raise InvalidValue(f"competition.styles.{seat}", style, f"no such personality; known are {known}")
        for team, stance in self.stances.items():
            not_empty(f"competition.stances.{team}", stance, 1_000)


# ---------------------------------------------------------------- turns of debaters


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The layers of a debater's prompt: identity, personality, role (seed, "DebaterAgent")."""

    team: Team
    team_name: str
    position: int
    stance: str
    role: str = ""
    """What the position is responsible for."""
    personality: Personality | None = None
    mates: tuple[str, ...] = ()
    """The other seats of the team."""


class ConferBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `confer`: the team's channel and what was said in public are shown as posts."""

    me: Identity
    stage: str
    ahead: tuple[str, ...]
    """What the stage asks of this team, a line an item."""
    turn: int
    turns: int


class Note(Limited, frozen=True, kw_only=True):
    """Reply to `confer`, and the body of its post on the team's channel."""

    text: Annotated[str, chars(8_000, least=1)]


class SpeechBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `speak`: a speech, a summary, a speech in free debate, a closing."""

    me: Identity
    stage: str
    act: Act
    task: str
    words: int
    """The limit; beyond it is overtime."""
    seconds_left: float | None = None
    """Of the team's time in free debate."""
    direction: str = ""
    """The captain's, for this very speech; empty: none was given."""


class Spoken(Limited, frozen=True, kw_only=True):
    """Reply to `speak`."""

    text: Annotated[str, chars(40_000, least=1)]
    citations: Annotated[tuple[Citation, ...], items(20)] = ()


class QuestionBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `question`: the asker chooses who answers."""

    me: Identity
    stage: str
    answerers: tuple[str, ...]
    least: int
    words: int


class Questions(Limited, frozen=True, kw_only=True):
    """Reply to `question`."""

    answerer: str
    questions: Annotated[tuple[Annotated[str, chars(4_000, least=1)], ...], items(20)]


class AnswerBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `answer`: the questions are shown as the last post."""

    me: Identity
    stage: str
    questions: tuple[str, ...]
    words: int


class CaptainBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `captain`: who speaks, and in what direction. Its inputs are the seed's seven ("Team Coordination
    Mechanism"): the task, the team's messages and the public record (both shown as posts), how often each has spoken,
    who has not, the time left, and the form of the answer."""

    me: Identity
    stage: str
    spoken: dict[str, int]
    """Speeches of each seat of the team in this stage."""
    unspoken: tuple[str, ...]
    may: tuple[str, ...]
    """Seats that may be chosen: the unspoken where there are any."""
    seconds_left: float
    words: int
    bids: dict[str, "Bid"] = {}
    """Concurrent: who wants to speak."""
    styles: dict[str, str] = {}
    """Of each seat that may be chosen: how it debates, where that is known."""


class Decision(Limited, frozen=True, kw_only=True):
    """Reply to `captain`, and the body of its post on the team's channel (seed: strict JSON, speaker and direction)."""

    speaker: Annotated[str, chars(64, least=1)]
    direction: Annotated[str, chars(2_000, least=1)]


class BidBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `bid`: who wants to speak next?"""

    me: Identity
    stage: str
    seconds_left: float
    words: int


class Bid(Limited, frozen=True, kw_only=True):
    """Reply to `bid`, and the body of its post on the team's channel."""

    wants: bool
    urgency: Annotated[float, between(0, 1)] = 0.5
    """0 to 1."""
    point: Annotated[str, chars(1_000)] = ""
    """What it would say, in a line."""


# ---------------------------------------------------------------- turns of the judge and the audience


class ScoreBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `score`: the speech is the last post shown."""

    stage: str
    act: Act
    seat: str
    task: str
    words: float
    limit: int
    violations: tuple[Violation, ...]
    """Which ones a speech of this kind can be of."""
    weights: dict[str, float] = {}
    """Of the dimensions, as the format has them."""


class Breach(Limited, frozen=True, kw_only=True):
    """A violation that the judge found."""

    where = "violations."
    kind: Violation
    quote: Annotated[str, chars(2_000)] = ""
    """The words it stands in, as they stand in the speech."""
    note: Annotated[str, chars(2_000)] = ""


class Marks(Limited, frozen=True, kw_only=True):
    """The judge's reply to `score`: 1 to 10 in each dimension."""

    logic: Annotated[float, between(1, 10)]
    persuasion: Annotated[float, between(1, 10)]
    expression: Annotated[float, between(1, 10)]
    teamwork: Annotated[float, between(1, 10)]
    rule_compliance: Annotated[float, between(1, 10)]
    violations: Annotated[tuple[Breach, ...], items(20)] = ()
    comment: Annotated[str, chars(4_000)] = ""


class SummaryBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `summarize`: a stage is over."""

    stage: str
    totals: dict[str, float]
    """By seat and by team, so far."""


class StageSummary(Limited, frozen=True, kw_only=True):
    """Reply to `summarize`, and the body of its post on `scores`."""

    text: Annotated[str, chars(8_000, least=1)]


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What a team's total is made of."""

    scored: int
    """Speeches with marks."""
    mean: float
    """Points of one of them."""
    marks: dict[str, float]
    """Mean by dimension."""
    fines: dict[str, float]
    """Points by reason."""
    without_fines: float


class ReviewBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `review`: all stages are over."""

    totals: dict[str, float]
    winner: str
    """pro | con | draw, by the points or votes."""
    best: str
    decided_by: str = ""
    """points | votes"""
    accounts: dict[str, Account] = {}
    """By team: what explains the totals."""
    votes: dict[str, dict[str, int]] = {}
    """Of the audience, before and after the debate."""
    swing: dict[str, int] = {}
    """By team: votes won between the two votes."""


class FinalReview(Limited, frozen=True, kw_only=True):
    """Reply to `review`."""

    text: Annotated[str, chars(20_000, least=1)]


class Reviewed(msgspec.Struct, frozen=True, kw_only=True):
    """Post of a review on `public`."""

    text: str
    departs: str = ""
    """What it says otherwise than it was counted, and what was counted; empty: nothing."""


class BallotBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `vote`: a member of the audience votes; before the debate it has heard nothing."""

    name: Literal["before", "after"]
    stances: dict[Team, str]


class Ballot(Limited, frozen=True, kw_only=True):
    """Reply to `vote`."""

    choice: Literal["pro", "con", "undecided"]
    why: Annotated[str, chars(4_000)] = ""


# ---------------------------------------------------------------- posts and the outcome


class SpeechPost(msgspec.Struct, frozen=True, kw_only=True):
    """Post of a speech on `public`, with what the clock says of it."""

    seat: str
    """Who spoke: whoever is shown the post is told, since sides are what a debate is about."""
    stage: str
    act: Act
    text: str
    words: float
    """As the rules count them: scripts without spaces by their letters."""
    limit: int
    seconds: float
    """What the words stand for."""
    overtime: bool
    left: dict[str, float] = {}
    """Free debate: seconds that each team has left after it."""
    answerer: str = ""
    """Of questions: who answers."""
    questions: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()


class Fine(msgspec.Struct, frozen=True, kw_only=True):
    """Points taken by the rule engine."""

    rule: str
    seat: str
    team: Team
    individual_points: float
    team_points: float
    note: str = ""


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """Post on `scores` after each speech: the marks, their weighted score, fines, and totals so far."""

    post: int
    """Number of the speech's post."""
    seat: str
    marks: Marks | None
    """None: the judge failed; the speech counts 0."""
    score: float
    fines: tuple[Fine, ...] = ()
    totals: dict[str, float]
    """By seat and by team."""


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """Post on `scores`: a turn came to nothing."""

    seat: str
    asked: str
    """Kind of the turn."""
    stage: str
    why: str


class AudienceVotes(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the audience's votes."""

    name: Literal["before", "after"]
    votes: dict[str, int]
    """pro, con, undecided."""
    ballots: dict[str, str]
    """By seat; one that is absent gave none."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` of a competition's result."""

    format: str
    names: dict[str, str] = {}
    """By team: how the format calls it."""
    winner: str
    """pro | con | draw; empty: not every stage was played, neither team said anything, nothing was there to decide by,
    or speeches that could not be scored might turn it."""
    decided_by: str
    complete: bool
    """Whether every stage was played."""
    review: str = ""
    """The judge's last word; empty where it departs from the count."""
    departing: str = ""
    """A review that says otherwise than it was counted."""
    departs: str = ""
    """What it says otherwise, and what was counted."""
    saved: dict[str, int] = {}
    """idle -> turns to confer that were not asked for: the seat had repeated itself."""
    of_substance: dict[str, int] = {}
    """By team: speeches that say something. Where neither team has one, nobody wins."""
    team_totals: dict[str, float]
    individual_totals: dict[str, float]
    best: tuple[str, ...]
    """Best debater; several where they tie."""
    fines: tuple[Fine, ...]
    violations: dict[str, int]
    """By kind, as the judge found them."""
    votes: tuple[AudienceVotes, ...] = ()
    swing: dict[str, int] = {}
    """By team: votes won between the two votes."""
    silent: tuple[str, ...] = ()
    """Turns that came to nothing: seat, what was asked, and in which stage."""
    unscored: tuple[int, ...]
    """Posts of speeches that the judge was to score and did not; they add nothing to the totals."""
    to_score: int
    """How many speeches the judge was to score."""
