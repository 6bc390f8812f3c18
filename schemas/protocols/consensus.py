"""The consensus protocol's messages (source: seeds/iterative-debate.md, cited as "seed" by its headings)."""

from typing import Annotated, Literal

import msgspec

from parley.schemas.strategies import MAX_OWN, Strategy
from parley.schemas.text import Citation, names_none
from parley.schemas.tools import MOST_LOOK_UPS
from parley.schemas.turn import InputTokens, OutputTokens
from parley.schemas.voting import AGREEMENT, Decision, rule_of
from parley.schemas.wire import InvalidValue, Limited, between, chars, in_range, items, points

SHARES = {"facts": 0.6, "approach": 0.25, "priority": 0.15}  # facts decide; the three add up to 1
"""Dimension of agreement (seed, "Future Enhancements", 4) -> its share of the score."""
RATED = ("approach", "priority")
"""Those of them that the analyst rates, and that may have a least value."""
MOST_PANEL = 16
AUTO = 0
"""As `panel`: the question says how many."""
Change = Literal["kept", "partly", "adopted"]
"""Position update (seed, "Iteration Dynamics", 2)."""


class Settings(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session. Scores are 0 to 100."""

    where = "consensus."
    threshold: float = 90.0  # seed, "IterativeDebateOrchestrator": 90 %
    """Share of the weight, in percent, that must sign an answer. From this share of one answer (or score) on, the
    answer is put to be signed. A number up to 1 is read as a share: 0.9 is 90."""
    round_limit: Annotated[int, between(1, 50)] = 5  # seed, "IterativeDebateOrchestrator": 5
    """Largest number of rounds. 1 is a vote: if more than half say the same, word for word, nobody is asked again."""
    panel: int = 3
    """Seats, 2 to 16. Of more members those are seated who fit the question. 0 (auto): as many as it calls for."""
    quorum: Annotated[int, between(2, 16)] = 2
    """Positions without which a round cannot be scored. Seats that abstain in the blind round are asked once more, with
    what the others quote, before it is missed."""
    stuck_rounds: Annotated[int, between(2, 50)] = 3  # seed, "IterativeDebateOrchestrator": no progress after 3 rounds
    expertise_weight: Annotated[float, between(1, 10)] = 2.0
    """Weight of a seat whose worker declares expertise in the question's subject; 1 switches it off."""
    absent: Literal["leaves", "counts"] = "leaves"
    """Whether the weight of a seat that never answered leaves the share that must sign. More than half of all seats
    must sign in any case."""
    missing: Literal["ask", "add", "off"] = "ask"
    """What comes of an expertise that the analyst misses, and a member without a seat has: a person is asked whether
    that member joins, it is added, or the analyst is not asked."""
    least: dict[str, float] = msgspec.field(default_factory=dict)
    """Dimension -> value, 0 to 100, below which no answer is put to be signed. Without one, they are only reported."""
    styles: dict[str, str] = msgspec.field(default_factory=dict)
    """Seat -> the strategy that it works by; `*` -> that of all others, or their style: mixed (of all strategies),
    adversarial, collaborative (of those of this style) or none. Without it: mixed where three seats or more have no
    documents, else none."""
    own_strategies: Annotated[tuple[Strategy, ...], items(MAX_OWN)] = ()
    """Strategies beside those that ship; a style deals them too. Where whoever asks sits, the name of a folder of
    Markdown files stands for them."""
    decide: str = AGREEMENT
    """How it is decided: `agreement` (seats sign), `majority`, `supermajority` (2/3 of the weight, or a share:
    `supermajority:0.75`), `unanimity`, `approval`, `borda`, `instant-runoff`, `condorcet`, `score`, `ranking` or
    `judge`. A rule other than `agreement` counts after the debate."""
    look_ups: Annotated[int, between(0, MOST_LOOK_UPS)] = 0
    """Calls of tools that a panelist may make before it answers in a round, at most 8: what they return is evidence."""
    max_input_tokens: InputTokens = 16_000
    max_output_tokens: OutputTokens = 1_500

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "threshold", points("consensus.threshold", self.threshold))
        super().__post_init__()
        if self.panel != AUTO:
            in_range("consensus.panel", self.panel, 2, MOST_PANEL)
        for name, value in self.least.items():
            if name not in RATED:
                raise InvalidValue("consensus.least", name, f"allowed are {', '.join(RATED)}")
            in_range(f"consensus.least.{name}", value, 0, 100)
        rule_of(self.decide, "consensus.decide")


class MovingArgument(Limited, frozen=True, kw_only=True):
    """What another said that moved a seat: the post that it stands in, and the claim."""

    where = "argument."
    post: int
    claim: Annotated[str, chars(1_000, least=1)]


class Position(Limited, frozen=True, kw_only=True):
    """A panelist's reply to `answer` and `revise`, and the body of its post."""

    answer: Annotated[str, chars(2_000)]
    """The answer in one line: what is compared, counted and adopted."""
    reasoning: Annotated[str, chars(40_000)]
    confidence: Annotated[float, between(0, 1)]
    """0 to 1."""
    citations: Annotated[tuple[Citation, ...], items(20)] = ()
    change: Change = "kept"
    """kept | partly | adopted, against the seat's own last position; `kept` in the first round."""
    change_reason: Annotated[str, chars(4_000)] = ""
    """Required for partly and adopted."""
    moved_by: Annotated[tuple[Citation, ...], items(20)] = ()
    """The evidence shown by others, new to this seat, that moved it. Empty: no evidence did."""
    abstains: bool = False
    """It has nothing to go on: no vote, not scored."""
    argument: MovingArgument | None = None
    """The argument of another that moved it."""

    @property
    def speaks(self) -> bool:
        """Whether it holds an answer: it does not abstain, and the answer names one."""
        return not self.abstains and not names_none(self.answer)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.abstains and not self.answer.strip():
            raise InvalidValue("answer", self.answer, "it must not be empty")
        if self.change != "kept" and not self.change_reason.strip():
            raise InvalidValue("change_reason", self.change_reason, f"a position that was {self.change} needs a reason")


class SoFar(msgspec.Struct, frozen=True, kw_only=True):
    """What the panel is told of the last round: what the analyst found, and no score, which only invites conformity."""

    agreements: tuple[str, ...]
    key_disagreements: tuple[str, ...]
    comment: str = ""
    put: str = ""
    """The sentence that was put to be signed and that too few signed; empty: none was."""
    differs: tuple[str, ...] = ()
    """What members quoted from it as different from their answers."""


class PanelBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `answer` and `revise`."""

    iteration: int
    """From 1."""
    round_limit: int
    """Rounds at most."""
    so_far: SoFar | None = None
    """None in `answer`, and where the blind round was not scored."""
    strategy: str | msgspec.UnsetType = msgspec.UNSET
    """How the seat works on it in this round. Left out: as it likes."""
    look_ups: int | msgspec.UnsetType = msgspec.UNSET
    """Calls of tools that it may make first. Left out: none."""


class Weighted(msgspec.Struct, frozen=True, kw_only=True):
    """A position to be compared, and its seat's weight; no name."""

    post: int
    weight: float


class Moved(msgspec.Struct, frozen=True, kw_only=True):
    """A position that names the argument that moved it."""

    post: int
    by: MovingArgument


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer was called before, and the answer in the words of one that gave it."""

    label: str
    answer: str


class CompareBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `compare`: which posts are positions, what answers were called before, who names an argument."""

    iteration: int
    round_limit: int
    positions: tuple[Weighted, ...]
    labels: tuple[Named, ...] = ()
    """Of all answers that were given so far."""
    moves: tuple[Moved, ...] = ()
    key_disagreements: tuple[str, ...] = ()
    """Of the round before."""
    spare: tuple[str, ...] = ()
    """What members without a seat declare to know: any of it may be missed."""


class AnswerGroup(Limited, frozen=True, kw_only=True):
    """Positions that give the same answer, in whatever words."""

    where = "groups."
    label: Annotated[str, chars(200, least=1)]
    """The answer in a few words; the same words in every round."""
    posts: Annotated[tuple[int, ...], items(16)]


class Comparison(Limited, frozen=True, kw_only=True):
    """The analyst's reply to `compare`, and the body of its post: what is the same, never who is right.

    The moderator computes the score from it (coordinator/protocols/consensus/score.py)."""

    comment: Annotated[str, chars(4_000)] = ""
    """What another round could settle."""
    agreements: Annotated[tuple[Annotated[str, chars(1_000)], ...], items(20)] = ()
    key_disagreements: Annotated[tuple[Annotated[str, chars(1_000)], ...], items(20)] = ()
    groups: Annotated[tuple[AnswerGroup, ...], items(16)]
    """Every position in exactly one."""
    approach: Annotated[float, between(0, 100)]
    """0 to 100: would they do the same?"""
    priority: Annotated[float, between(0, 100)]
    """0 to 100: do the same things matter to them?"""
    argued: Annotated[tuple[int, ...], items(16)] = ()
    """Posts of `moves` whose claim stands in the post that they name."""
    missing: Annotated[str, chars(200)] = ""
    """The expertise in `spare` that the question needs and no position shows; empty: none."""


class AnswerSide(msgspec.Struct, frozen=True, kw_only=True):
    """Seats with the same answer, as an assessment tells them."""

    label: str
    seats: tuple[str, ...]
    weight: float


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence that is put to be signed, and a line of what speaks for it."""

    sentence: str
    reason: str = ""
    quotation: str = ""
    """What is quoted for it, word for word."""
    two_ways: tuple[str, ...] = ()
    """Its numbers that may be read in two ways: `1.000` is 1 or 1000."""


class SignBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `sign`."""

    yours: str
    """The seat's own last answer; empty: it has none."""
    first: Offered
    second: Offered | None = None
    """The sentence and its strongest rival, in an order of the seat's own; None: there is no rival."""


class BallotBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `rank`, `approve`, `score` and `judge`: a ballot names the choices by their place, from 1."""

    choices: tuple[Offered, ...]
    """The answers, in an order of the seat's own."""
    yours: str = ""
    """The seat's own last answer; empty: it has none, or it is not among the choices."""


class Signature(Limited, frozen=True, kw_only=True):
    """A panelist's reply to `sign`."""

    states: Literal["first", "second", "both", "neither"]
    """Which sentence states its answer. both: they say the same."""
    differs: Annotated[str, chars(1_000)] = ""
    """The clause that differs from its answer, word for word, of a sentence that does not state it."""
    reservation: Annotated[str, chars(1_000)] = ""
    """What it holds beside; it signs all the same. A reservation that contradicts the sentence is no signature."""


class Put(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator on `public`: the sentence that is put to be signed."""

    sentence: str
    label: str
    """What the answer was called that it states."""
    rival: str = ""
    """The surest words for the next answer; empty: there is none."""
    worded_by: str
    """The seat whose own words it is, or the analyst's."""
    asked: tuple[str, ...]
    """Seats that have not said it word for word, and did not answer for it before."""
    round: int


class Signed(msgspec.Struct, frozen=True, kw_only=True):
    """Post of a seat on `public`: what it said to a sentence."""

    sentence: str
    answer: str
    """The seat's own last answer; empty: it had none."""
    states: Literal["sentence", "rival", "neither", "none"]
    """none: it gave no form that holds, or could not be asked."""
    binds: str
    """Hash of the sentence, the seat's own last answer and the seat."""
    differs: str = ""
    reservation: str = ""
    why: str = ""
    """Why there is no form."""


class Seating(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator on `public`: a change of who sits, or why a member was chosen."""

    seat: str
    does: Literal["sits", "joins", "leaves", "stays"]
    """sits: chosen at the opening. joins, leaves: from `round` on. stays: it is not added after all."""
    round: int = 1
    by: str = ""
    """Who decided it; empty: the opening."""
    why: str = ""
    strategy: str | msgspec.UnsetType = msgspec.UNSET
    """The name of the strategy by which whoever joins works. Left out: by none."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator on `inbox`: the analyst misses an expertise, and a member that has it may join."""

    expertise: str
    seat: str
    deadline_ns: int
    """When the session is over at the latest."""


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator on `inbox`: what a person answered to the proposal."""

    choice: str
    author: str


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator on `public` after each round: the score that counts, and where it came from."""

    score: float
    band: str
    direction: str
    source: str
    """analyst | lexical_fallback; or, where no analyst was asked: same_words (all say the same) | unchanged (no answer
    changed since it was) | counted (a vote)"""
    dimensions: dict[str, float]
    agreements: tuple[str, ...]
    key_disagreements: tuple[str, ...]
    trend: tuple[float, ...]
    changes: dict[str, str]
    """Seat -> kept | partly | adopted | missing."""
    flips_without_evidence: tuple[str, ...]
    """Seats whose answer changed this round with no new evidence shown for it."""
    comment: str = ""
    groups: tuple[AnswerSide, ...]
    """The heaviest first."""
    moved: dict[str, str]
    """Seat whose answer changed in this round -> quotation | argument | unexplained."""


class Stood(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that somebody held in some round."""

    label: str
    seats: int
    """How many hold it at the end."""
    argument: str = ""
    """The reasoning that moved somebody to it; else that of whoever was surest of it in the round in which it was given
    first, before anybody had to answer others. Empty: it stands in a position that is shown."""
    left: tuple[str, ...] = ()
    """Why seats that held it left it."""


class ConcludeBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `conclude`: a sentence is wanted that those who hold this answer can sign."""

    label: str
    """The answer that most weight stands for, by its label: what is to be worded."""
    answer: str
    """The same in the words of whoever is surest of it."""
    positions: tuple[Weighted, ...]
    """The last position of every seat."""
    stood: tuple[Stood, ...]
    key_disagreements: tuple[str, ...] = ()
    put: str = ""
    """The sentence that was put and that too few signed; empty: this is the first."""
    differs: tuple[str, ...] = ()
    """What members quoted from it as different from their answers."""
    reservations: tuple[str, ...] = ()


class Conclusion(Limited, frozen=True, kw_only=True):
    """The analyst's reply to `conclude`, and the body of its post."""

    group: Annotated[str, chars(200)] = ""
    """The label of the answer that it words; empty: of the one that it was asked for."""
    reasoning: Annotated[str, chars(40_000)]
    answer: Annotated[str, chars(2_000, least=1)]


class SeatSignature(msgspec.Struct, frozen=True, kw_only=True):
    """Where a seat stands to the answer of the result."""

    seat: str
    stands: Literal["said", "signed", "reserved", "rival", "neither", "none", "abstains", "never", "left"]
    """said: its own answer is the same word for word. reserved: signed with a reservation. none: no form that holds.
    abstains: heard, without an answer, and not asked. never: it never answered. left: it was removed before it ever
    answered, and does not count."""
    weight: float
    binds: str = ""
    """Hash of sentence, own answer and seat, of a signature."""
    differs: str = ""
    reservation: str = ""
    why: str = ""
    """Why there is none, of `none` and `never`."""
    strategy: str | msgspec.UnsetType = msgspec.UNSET
    """The name of the strategy that it worked by. Left out: of none."""


class SignedShare(msgspec.Struct, frozen=True, kw_only=True):
    """How much stands behind the answer."""

    weight: float
    of_weight: float
    """Of the seats that ever answered (`consensus.absent`)."""
    seats: int
    of_seats: int
    """All seats that were ever seated, but for those that left before they ever answered."""


class MinorityReport(msgspec.Struct, frozen=True, kw_only=True):
    """A seat with an answer that neither said nor signed the result's: its position, kept in the result."""

    seat: str
    answer: str
    reasoning: str
    confidence: float
    citations: tuple[Citation, ...]
    strategy: str | msgspec.UnsetType = msgspec.UNSET
    """The name of the strategy that it worked by. Left out: of none."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` of a consensus session's result."""

    answer: str
    confidence: float
    reasoning: str
    source: str
    """seat (a seat's own words) | synthesis (the analyst's, signed) | none"""
    minority: tuple[MinorityReport, ...]
    first_round_majority: str | None
    """The plain majority of the first round, word for word, one seat one vote; None: no answer had more than half."""
    flips_without_evidence: int
    citations: tuple[Citation, ...] = ()
    """Evidence quoted for the answer by the seats that hold it."""
    passages: tuple[Citation, ...] = ()
    """Where nobody answers: what bears on the question, by those who abstain, the nearest first."""
    label: str | msgspec.UnsetType = msgspec.UNSET
    """The answer in a few words. Unset where nobody answers, like what follows."""
    agree: int | msgspec.UnsetType = msgspec.UNSET
    """Seats that hold it."""
    changed: dict[str, int] | msgspec.UnsetType = msgspec.UNSET
    """quotation | argument | signature | unexplained -> changes of answer in all rounds."""
    departing: str | msgspec.UnsetType = msgspec.UNSET
    """A synthesis that words another answer than the panel's, also after it was told: shown, never taken."""
    signatures: tuple[SeatSignature, ...] = ()
    """One for each seat, in the order of the opening."""
    signed: SignedShare | msgspec.UnsetType = msgspec.UNSET
    tied: tuple[str, ...] = ()
    """Answers with equal weight, where that leaves none in front; `answer` is then empty."""
    two_ways: tuple[str, ...] = ()
    """Numbers of the answer that may be read in two ways."""
    decision: Decision | msgspec.UnsetType = msgspec.UNSET
    """What the rule came to; unset: none was counted."""
    seating: tuple[Seating, ...] = ()
    """Who was chosen for the question, joined and left."""
    saved: dict[str, int] = {}
    """same_words | unchanged | counted | known -> calls that were not made, as their result was known."""
