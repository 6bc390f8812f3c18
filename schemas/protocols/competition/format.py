"""The format of a competition: stages with their agenda, times and word counts, what is scored, what a violation costs.

Rules are data (source: seeds/ai-debate.md, cited as "seed" by its headings): a file that decodes to a Format is a
competition. Marks are 1 to 10, weights 0 to 1, times seconds.
"""

from typing import Annotated, Literal

import msgspec

from parley.schemas.wire import InvalidValue, Limited, between, chars, few, in_range, one_line

TEAMS = ("pro", "con")
Team = Literal["pro", "con"]
DIMENSIONS = ("logic", "persuasion", "expression", "teamwork", "rule_compliance")
"""Scoring dimensions (seed, "JudgeAgent")."""
Violation = Literal[
    "counter_question", "not_direct_answer", "attacker_answered", "off_topic", "scripted_summary", "personal_attack"
]
"""What the judge looks for (seed, "JudgeAgent": violation detection)."""
LEAST_WORDS = 10
"""A team in free debate with less than the time of these has none left."""
Act = Literal["speech", "summary", "question", "answer", "free", "closing"]
"""What is said, and so which violations it can be of."""
Words = Annotated[int, between(10, 5_000)]
"""The limit of a speech."""


class Side(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A team."""

    name: str
    """As people call it: Proposition."""
    seats: int
    """Its seats are pro_1, pro_2, ... in the order of their positions."""
    captain: int = 1
    """The position whose seat decides who speaks where that is open."""


class Pace(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How words stand for time."""

    where = "format.pace."
    words_per_minute: Annotated[float, between(20, 1_000)] = 250.0  # seed, "Position Responsibilities": 750 in 3 min
    characters_per_word: Annotated[float, between(0.5, 10)] = 1.0
    """Of scripts that put no spaces between words (Han, Kana, Thai, ...): so many letters count as a word."""


class Speech(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="t", tag="speech"):
    """One seat speaks."""

    where = "format.agenda."
    seat: str
    act: Literal["speech", "summary", "closing"] = "speech"
    task: Annotated[str, chars(2_000, least=1)]
    """What this speech is for, as its speaker is told."""
    words: Words
    scored: bool = True


class Exchange(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="t", tag="exchange"):
    """One seat asks, and says which of the other team answers."""

    where = "format.agenda."
    asker: str
    answerers: tuple[str, ...]
    questions: Annotated[int, between(1, 20)] = 3  # seed, "Stage 2": 3+ questions
    """At least."""
    question_words: Words = 125
    answer_words: Words = 250


class Free(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="t", tag="free"):
    """Teams alternate; each team's captain decides who speaks."""

    where = "format.agenda."
    first: Team = "pro"
    seconds: Annotated[float, between(1, 86_400)] = 240.0  # seed, "Stage 3": 4 minutes a team, by words
    words: Words = 150
    """Of one speech."""
    everybody: bool = True
    """Each debater must have spoken: those who have not go first."""
    mode: Literal["sequential", "concurrent"] = "sequential"
    """sequential: the captain decides; concurrent: everybody bids, and the captain picks among the bids."""
    bid_seconds: Annotated[float, between(0.25, 3_600)] = 20.0
    """Concurrent: the window for bids."""
    speeches: Annotated[int, between(1, 200)] = 24
    """Of one team, at most: so that speeches of a few words end too."""


class Vote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="t", tag="vote"):
    """The audience votes."""

    name: Literal["before", "after"]


Item = Speech | Exchange | Free | Vote


class Stage(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stage: what the teams may confer before it, and its agenda."""

    where = "format.stages."
    name: str
    title: str
    confer: Annotated[int, between(0, 5)] = 1
    """Turns that each seat of a team may take on its own channel before the stage."""
    summary: bool = True
    """Whether the judge sums it up."""
    agenda: tuple[Item, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        one_line("format.stages.name", self.name, 64)
        one_line("format.stages.title", self.title, 200)
        if not self.agenda:
            raise InvalidValue(f"format.stages.{self.name}.agenda", "nothing", "at least one item is wanted")
        few(f"format.stages.{self.name}.agenda", self.agenda, 200)


class Penalty(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the rule engine takes, as negative points (seed, "Three-Layer Scoring")."""

    team: float = 0.0
    individual: float = 0.0


class Format(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of a competition."""

    name: str
    title: str
    about: str = ""
    teams: dict[Team, Side]
    positions: tuple[str, ...] = ()
    """What each position is responsible for, as its debater is told; the first is position 1."""
    pace: Pace = Pace()
    stages: tuple[Stage, ...]
    weights: dict[str, float]
    """Of the scoring dimensions; they add up to 1."""
    penalties: dict[str, Penalty]
    """overtime, consecutive, and violations by their names; what is absent costs nothing."""
    audience: int = 0
    """Seats that vote."""
    decided_by: Literal["points", "votes"] = "points"
    """votes: who wins more of the audience over between the two votes."""

    def __post_init__(self) -> None:
        one_line("format.name", self.name, 64)
        one_line("format.title", self.title, 200)
        check_format(self)


def seats_of(format_: Format, team: str) -> tuple[str, ...]:
    """A team's seats by position: pro_1, pro_2, ..."""
    return tuple(f"{team}_{i}" for i in range(1, format_.teams[team].seats + 1))  # type: ignore[index]


def captain_of(format_: Format, team: str) -> str:
    """The seat that decides for the team."""
    return f"{team}_{format_.teams[team].captain}"  # type: ignore[index]


def other(team: str) -> Team:
    """The opposing team."""
    return "con" if team == "pro" else "pro"


PENALTIES = ("overtime", "consecutive", *Violation.__args__)  # type: ignore[attr-defined]
"""What a format may set a price on."""


def check_format(f: Format) -> None:
    """Raise InvalidValue for an agenda that cannot be played; names the stage and the item."""
    if set(f.teams) != set(TEAMS):
        raise InvalidValue("format.teams", sorted(f.teams), "wanted are pro and con")
    for team, side in f.teams.items():
        one_line(f"format.teams.{team}.name", side.name, 80)
        in_range(f"format.teams.{team}.seats", side.seats, 1, 8)
        in_range(f"format.teams.{team}.captain", side.captain, 1, side.seats)
    if set(f.weights) != set(DIMENSIONS):
        raise InvalidValue("format.weights", sorted(f.weights), "wanted are " + ", ".join(DIMENSIONS))
    for name, weight in f.weights.items():
        in_range(f"format.weights.{name}", weight, 0, 1)
    if abs(sum(f.weights.values()) - 1) > 1e-6:
        raise InvalidValue("format.weights", sum(f.weights.values()), "they must add up to 1")
    for name, price in f.penalties.items():
        if name not in PENALTIES:
            raise InvalidValue("format.penalties", name, "known are " + ", ".join(PENALTIES))
        in_range(f"format.penalties.{name}.team", price.team, -100, 0)
        in_range(f"format.penalties.{name}.individual", price.individual, -100, 0)
    if not f.stages:
        raise InvalidValue("format.stages", "nothing", "at least one stage is wanted")
    few("format.stages", f.stages, 50)
    names = [s.name for s in f.stages]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue("format.stages", name, "two stages have this name")
    if len(f.positions) > max(t.seats for t in f.teams.values()):
        raise InvalidValue("format.positions", len(f.positions), "there are more than a team has seats")
    in_range("format.audience", f.audience, 0, 30)
    votes = [i.name for s in f.stages for i in s.agenda if isinstance(i, Vote)]
    if votes and not f.audience:
        raise InvalidValue("format.audience", 0, "the agenda has a vote, and nobody to vote")
    if f.decided_by == "votes" and votes != ["before", "after"]:
        raise InvalidValue("format.decided_by", "votes", "the agenda must have one vote before and one after")
    everybody = {*seats_of(f, "pro"), *seats_of(f, "con")}
    for stage in f.stages:
        for i, item in enumerate(stage.agenda):
            _check_item(f, f"format.stages.{stage.name}.agenda[{i}]", item, everybody)


def _check_item(f: Format, where: str, item: Item, everybody: set[str]) -> None:
    match item:
        case Speech():
            _check_seat(f"{where}.seat", item.seat, everybody)
        case Exchange():
            _check_seat(f"{where}.asker", item.asker, everybody)
            if not item.answerers:
                raise InvalidValue(f"{where}.answerers", "nobody", "at least one seat must be able to answer")
            for seat in item.answerers:
                _check_seat(f"{where}.answerers", seat, everybody)
                if seat.split("_")[0] == item.asker.split("_")[0]:
                    raise InvalidValue(f"{where}.answerers", seat, f"it is of {item.asker}'s own team")
        case Free():
            for team in TEAMS:
                seats = f.teams[team].seats if item.everybody else 1  # type: ignore[index]
                if item.speeches < seats:
                    raise InvalidValue(f"{where}.speeches", item.speeches, f"{seats} seats of {team} must speak in it")
                needed = seats * LEAST_WORDS / f.pace.words_per_minute * 60
                if item.seconds < needed:
                    who = f"the {seats} seats of {team} cannot each" if item.everybody else "nobody can"
                    allowed = f"{who} speak in it; it takes {needed:.4g} s"
                    raise InvalidValue(f"{where}.seconds", item.seconds, allowed)


def _check_seat(where: str, seat: str, everybody: set[str]) -> None:
    if seat not in everybody:
        raise InvalidValue(where, seat, "there is no such seat; seats are " + ", ".join(sorted(everybody)))
