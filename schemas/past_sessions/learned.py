"""What past outcomes say, as a session's opening carries it: how reliable its members were, how its confidence is to be
read, and who should lead a task.

It is frozen in the opening, so a replay needs no file. Nothing in it comes from the question at hand.
"""

from typing import Literal

import msgspec

from parley.schemas.folders.notes import MOST_RECALLED, Note
from parley.schemas.wire import InvalidValue, few, in_range

FORMAT = 1
"""Of these messages."""
MOST_ROWS = 1_000
MOST_KIND = 64
"""Characters of a kind of question."""
MOST_KNOTS = 200
MOST_FOLDER = 160
"""Characters of a folder's name."""


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How often one model, or one seat, was right when it answered alone."""

    name: str
    by: Literal["model", "seat"] = "model"
    kind: str = ""
    """Of question; empty: all kinds together."""
    right: float
    wrong: float
    """Past answers, each counted less the older it is: 0 or more."""
    mean: float
    """Of the posterior: 0 to 1."""
    low: float
    high: float
    """95 % of the posterior lie between."""

    def __post_init__(self) -> None:
        in_range("reliability.right", self.right, 0, 1e9)
        in_range("reliability.wrong", self.wrong, 0, 1e9)
        for name in ("mean", "low", "high"):
            in_range(f"reliability.{name}", getattr(self, name), 0, 1)
        if not self.low <= self.high:
            raise InvalidValue("reliability.low", self.low, f"allowed is at most high, which is {self.high:g}")


class Reliability(msgspec.Struct, frozen=True, kw_only=True):
    """The records of members, and what they were made from."""

    format: int = FORMAT
    rows: tuple[Standing, ...]
    sessions: int
    """Past sessions that count."""
    left_out: int = 0
    """Past sessions with the question at hand: they do not count."""
    as_of_ns: int
    """Unix time up to which outcomes count; what is older counts less."""
    half_life_days: float
    """After so many days an outcome counts half."""
    prior: tuple[float, float] = (1.0, 1.0)
    """Right and wrong answers that everybody begins with."""
    kind_prior: float = 4.0
    """Answers that a record over all kinds counts for in the record of one kind."""
    learned_from: str = ""
    """In words: feedback, known answers, or agreement alone."""

    def __post_init__(self) -> None:
        if len(self.rows) > MOST_ROWS:
            raise InvalidValue("reliability.rows", len(self.rows), f"allowed are at most {MOST_ROWS:,}")
        in_range("reliability.half_life_days", self.half_life_days, 0.01, 1e6)


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """From the confidence that a protocol states to the share of such answers that were right."""

    format: int = FORMAT
    version: str
    """Names the fit: method, date or hash."""
    protocol: str = ""
    """Whose confidence; empty: any."""
    method: Literal["isotonic", "beta"]
    knots: tuple[tuple[float, float], ...] = ()
    """isotonic: (stated, calibrated), both rising; between two the line, outside them the nearest."""
    beta: tuple[float, float, float] | None = None
    """beta: a, b, c of 1 / (1 + 1 / (e^c p^a / (1 - p)^b)) (Kull, Silva Filho and Flach, 2017)."""
    fitted_on: str
    """Which outcomes, in words."""
    outcomes: int
    """How many."""

    def __post_init__(self) -> None:
        if self.method == "beta" and self.beta is None:
            raise InvalidValue("calibration.beta", None, "the method beta needs its three figures")
        if self.method == "isotonic" and not 1 <= len(self.knots) <= MOST_KNOTS:
            raise InvalidValue("calibration.knots", len(self.knots), f"allowed are 1 to {MOST_KNOTS}")
        before = (-1.0, -1.0)
        for stated, share in self.knots:
            in_range("calibration.knots", stated, 0, 1)
            in_range("calibration.knots", share, 0, 1)
            if stated <= before[0] or share < before[1]:
                raise InvalidValue("calibration.knots", stated, "both figures of a knot rise from knot to knot")
            before = (stated, share)


MOST_CHOICES = 24
MOST_TAUGHT = 5
"""Sessions that one choice names."""


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """An expert, and how far past tasks like the one at hand speak for it."""

    expert: str
    instead_of: str
    """Whom routing had found for those tasks; the same as `expert`: it was confirmed."""
    weight: float
    """Of those tasks, each by its likeness, its age and what became of it: 0 or more."""
    times: int = 0
    """How often a person chose it there."""
    sessions: tuple[str, ...] = ()
    """Those tasks, the newest first."""

    def __post_init__(self) -> None:
        in_range("preferences.weight", self.weight, 0, 1e6)


class Preferences(msgspec.Struct, frozen=True, kw_only=True):
    """What past tasks of the same folder say of who should lead one like this, how deep it should be coordinated, and
    how sure routing is."""

    format: int = FORMAT
    choices: tuple[Choice, ...] = ()
    depth: Literal[-1, 0, 1] = 0
    """Steps from the depth that the rule gives."""
    depth_times: int = 0
    """How often a person said so."""
    depth_sessions: tuple[str, ...] = ()
    confidence: Calibration | msgspec.UnsetType = msgspec.UNSET
    """From the confidence that routing has in its first candidate to the share of such that were right."""
    tasks: int
    """Past tasks of the folder that were looked at."""
    as_of_ns: int
    half_life_days: float

    def __post_init__(self) -> None:
        if len(self.choices) > MOST_CHOICES:
            raise InvalidValue("preferences.choices", len(self.choices), f"allowed are at most {MOST_CHOICES}")
        in_range("preferences.half_life_days", self.half_life_days, 0.01, 1e6)


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a panel that feedback on one kind of question speaks for."""

    kind: str = ""
    """Of question; empty: of those that name none."""
    threshold: float
    round_limit: int
    quorum: int
    """As parley.schemas.protocols.consensus.Settings has them."""
    outcomes: int
    """Sessions with feedback that they were learned from."""
    at_ns: int
    """Unix time at which somebody applied them."""

    def settings(self) -> dict[str, float | int]:
        """Name of the setting -> its value."""
        return {name: getattr(self, name) for name in ("threshold", "round_limit", "quorum")}


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of that kind that one session is opened with."""

    kind: str = ""
    """What kind of question it is, in the asker's word; empty: none is named."""
    reliability: Reliability | msgspec.UnsetType = msgspec.UNSET
    calibration: Calibration | msgspec.UnsetType = msgspec.UNSET
    notes: tuple[Note, ...] | msgspec.UnsetType = msgspec.UNSET
    """Of accepted tasks in the same folder."""
    folder: str | msgspec.UnsetType = msgspec.UNSET
    """The folder of a task, by its name and a hash of where it lies. Left out: it has none, or nothing is learned."""
    preferences: Preferences | msgspec.UnsetType = msgspec.UNSET
    thresholds: Thresholds | msgspec.UnsetType = msgspec.UNSET
    """Those that stand in the session's settings where whoever asked named no others."""

    def __post_init__(self) -> None:
        few("learned.notes", self.notes or (), MOST_RECALLED)
        if len(self.kind) > MOST_KIND:
            raise InvalidValue("kind", f"{len(self.kind)} characters", f"allowed are at most {MOST_KIND}")
        if len(self.folder or "") > MOST_FOLDER:
            raise InvalidValue("learned.folder", f"{len(self.folder or '')} characters", f"at most {MOST_FOLDER}")


class Calibrated(msgspec.Struct, frozen=True, kw_only=True):
    """A result's confidence after calibration, and what that rests on."""

    stated: float
    confidence: float
    version: str
    fitted_on: str
    outcomes: int
