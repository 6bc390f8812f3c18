"""The critic protocol's messages (source: seeds/madcap.md, cited as "seed" by its headings).

Confidence and scores are points, 0 to 100. Objections are numbered from 1.
"""

from typing import Annotated, Literal

import msgspec

from parley.schemas.text import Citation
from parley.schemas.turn import InputTokens, OutputTokens
from parley.schemas.wire import InvalidValue, Limited, between, chars, items, points

NO_NEW_OBJECTION = "NO_NEW_OBJECTION"
"""What a critic says that finds nothing new (seed, "Conceptual Flow: Critic Profile Check")."""
ORDERS = ("answer_first", "objection_first")
START = 50.0  # points: as likely right as wrong
"""Confidence in an answer that the critic has not seen."""
AS_ASKED = "\n\nAs it was asked: "
"""Stands between the rewritten question and the user's own, where seats are shown both."""


class Settings(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session."""

    where = "critic."
    threshold: float = 80.0  # points; the seed discloses none ("Termination Conditions")
    """Confidence from which the judge ends the debate. A number up to 1 is read as a share: 0.8 is 80."""
    round_limit: Annotated[int, between(1, 50)] = 6  # seed, "Termination Conditions": a hard cap, without its number
    min_rounds: Annotated[int, between(1, 50)] = 3  # seed, "When Debate Breaks Down": "after one or two rounds"
    """In an earlier round confidence ends nothing, nor does a critic whose check the judge does not confirm."""
    measure_bias: bool = False  # seed, "When Debate Breaks Down": judge bias; doubles the judge's turns
    """Judge each pair of answer and objection a second time, in the opposite order."""
    quorum: Annotated[int, between(1, 2)] = 2
    """How many of answerer and critic must have spoken by the end of a round. 1 or 2."""
    max_input_tokens: InputTokens = 16_000
    max_output_tokens: OutputTokens = 1_500

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "threshold", points("critic.threshold", self.threshold))
        super().__post_init__()


class PastObjection(msgspec.Struct, frozen=True, kw_only=True):
    """An objection as it is shown while the debate runs: what was said, without what was ruled on it."""

    number: int
    round: int
    text: str
    citations: tuple[Citation, ...] = ()
    contradicts: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET
    """Earlier objections that cannot be right if this one is, by the judge. Unset where there is none."""


class Objection(PastObjection, frozen=True, kw_only=True):
    """One line of the profile: what the critic has objected to so far (seed, "State Management")."""

    answered: bool = False
    """Whether, by the judge, the last answer that it judged meets it."""
    weight: float | msgspec.UnsetType = msgspec.UNSET
    """The share of 100 that the judge did not give the answer against it; the most of them where it was repeated.
    Unset where nobody ruled on it, or the critic disputes that there is nothing to it."""
    closed: bool = False
    """Whether it was worthless when it was raised, and so is met for good."""
    met_by: str | msgspec.UnsetType = msgspec.UNSET
    """The sentence that meets it, as the judge last quoted it. Unset where there is none."""
    disputed: str | msgspec.UnsetType = msgspec.UNSET
    """Why it stays open, by the critic, although the judge took it for met or for worthless."""

    def past(self) -> PastObjection:
        """Without the ruling."""
        return PastObjection(
            number=self.number, round=self.round, text=self.text, citations=self.citations, contradicts=self.contradicts
        )


# ---------------------------------------------------------------- rewrite


class RewriteBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `rewrite`: the one turn that is shown the user's own question."""


class Rewritten(Limited, frozen=True, kw_only=True):
    """The judge's reply to `rewrite`, and the body of its post: from here on it stands before the user's own."""

    question: Annotated[str, chars(20_000, least=1)]
    """Neutral and precise (seed, "Architecture")."""
    note: Annotated[str, chars(4_000)] = ""
    """What was left out or made precise."""


class Question(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Post of the question that is debated."""

    question: str
    note: str = ""
    left_out: tuple[str, ...] = ()
    """What the question as it was asked has and this one has not: names, numbers, denials, limits, words of content, an
    order of what is compared."""
    added: tuple[str, ...] = ()
    """Numbers, denials and limits that are in this one alone."""


# ---------------------------------------------------------------- answer


class AnswerBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `answer`: the answerer starts fresh each round, with the objections that stand, and no answer of its
    own."""

    round: int
    profile: tuple[PastObjection, ...] = ()


class Answer(Limited, frozen=True, kw_only=True):
    """The answerer's reply to `answer`, and the body of its post."""

    answer: Annotated[str, chars(4_000, least=1)]
    reasoning: Annotated[str, chars(40_000)]
    confidence: Annotated[float, between(0, 1)]
    """0 to 1: its own."""
    citations: Annotated[tuple[Citation, ...], items(20)] = ()


# ---------------------------------------------------------------- critique


class CritiqueBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `critique`: the critic's profile."""

    round: int
    profile: tuple[PastObjection, ...] = ()


class Critique(Limited, frozen=True, kw_only=True):
    """The critic's reply to `critique`."""

    objection: Annotated[str, chars(4_000, least=1)]
    """One new objection, or NO_NEW_OBJECTION."""
    citations: Annotated[tuple[Citation, ...], items(20)] = ()
    checked: Annotated[str, chars(4_000)] | msgspec.UnsetType = msgspec.UNSET
    """A calculation that checks the answer, and what it came to; unset or empty: none was made."""

    @property
    def calculation(self) -> str:
        """What was calculated; empty: nothing. Words without a figure are no calculation."""
        return self.checked if self.checked and any(map(str.isdigit, self.checked)) else ""

    @property
    def exhausted(self) -> bool:
        """Whether the critic says that it has nothing new, and nothing else (seed, "Conceptual Flow: Critic Profile
        Check")."""
        return self.objection.strip(" \n\t.!\"'`*") == NO_NEW_OBJECTION


class Raised(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the critic: its objection under the number that it gets if it is new; 0: it has none."""

    number: int
    objection: str
    citations: tuple[Citation, ...] = ()
    checked: str | msgspec.UnsetType = msgspec.UNSET
    """How the critic computed that the answer is right, where it did."""


# ---------------------------------------------------------------- judge


class JudgeBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `judge`: the round's answer and objection are shown as posts, in this order."""

    round: int
    order: str
    """answer_first | objection_first"""
    profile: tuple[PastObjection, ...]
    """Of the rounds before: which of them does this answer meet?"""
    objects: bool
    """Whether there is an objection in this round."""
    closed: tuple[PastObjection, ...] = ()
    """Those that had nothing to them: this round's may repeat one."""
    checked: str = ""
    """The calculation by which the critic, which objects to nothing, checked the answer."""


class Met(Limited, frozen=True, kw_only=True):
    """An objection that the answer meets, with what meets it."""

    where = "met."
    objection: int
    quote: Annotated[str, chars(2_000, least=1)]
    """The sentence of the answer, or of its reasoning, word for word."""


class Judgement(Limited, frozen=True, kw_only=True):
    """The judge's reply to `judge`, and the body of its post."""

    score: Annotated[float, between(0, 100)] = 100.0
    """0 to 100: how well the answer holds against this round's objection (100: the objection has nothing to it)."""
    repeats: Annotated[int, between(0, 1_000)] = 0
    """Number of the profile's objection that makes the same point as this round's; 0: none."""
    met: Annotated[tuple[Met, ...], items(50)] = ()
    """The profile's objections that the answer meets."""
    comment: Annotated[str, chars(4_000)] = ""
    contradicts: Annotated[tuple[int, ...], items(50)] = ()
    """Numbers of the profile's objections that cannot be right if this round's objection is."""
    check_holds: bool = False
    """Whether the calculation by which the critic checked the answer is right, and shows that the answer is."""


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator: this round's objection makes the point of an earlier one, by the judge."""

    objection: str
    repeats: int
    text: str
    """The earlier one."""
    weight: float
    """What the earlier one weighs from now on."""


class Bias(msgspec.Struct, frozen=True, kw_only=True):
    """One pair judged in both orders."""

    round: int
    answer_first: float
    objection_first: float
    difference: float
    """Score with the answer first less that with the objection first: 0 where order does not matter."""


class RoundTally(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator after each round: the judge's confidence, and what moved it."""

    confidence: float
    trend: tuple[float, ...]
    """After each round so far."""
    direction: str
    """improving | stable | diverging"""
    label: str
    answered: tuple[int, ...]
    """Objections that this round's answer newly meets."""
    reopened: tuple[int, ...]
    """Objections that an answer met before, and this one does not."""
    found: int
    """The objection appended to the profile; 0: none."""
    weight: float
    """How much the objection found weighs, 0 to 1."""
    profile: tuple[Objection, ...]
    source: str
    """judge | unjudged (the judge failed) | nothing (there was nothing to rule on)"""
    missing: tuple[str, ...] = ()
    bias: Bias | None = None


# ---------------------------------------------------------------- verdict

Assumption = Annotated[str, chars(1_000, least=1)]

UPHOLDS, NARROWS, REVERSES = "upholds", "narrows", "reverses"
RULINGS = (UPHOLDS, NARROWS, REVERSES)


class VerdictBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `verdict`. The last answer is shown as a post."""

    reason: str
    converged: bool
    profile: tuple[Objection, ...]
    overturned_by: tuple[int, ...]
    """Open objections that weigh half or more."""
    unsigned: str = ""
    """Why the verdict before this one was not signed; empty: there was none."""


class Verdict(Limited, frozen=True, kw_only=True, omit_defaults=True):
    """The judge's reply to `verdict`, and the body of its post."""

    reasoning: Annotated[str, chars(40_000)]
    answer: Annotated[str, chars(10_000)] = ""
    """Of one that narrows or reverses. One that upholds has none: the answer is the answerer's, in its own words."""
    assumptions: Annotated[tuple[Assumption, ...], items(10)] = ()
    """What the answer rests on and nobody has shown."""
    ruling: str = ""
    """One of RULINGS: what the verdict does to the last answer. Empty: it says none, and is refused."""
    reversed_by: Annotated[int, between(0, 1_000)] = 0
    """Of one that reverses: the number of the objection that leaves nothing of the answer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ruling not in ("", *RULINGS):
            raise InvalidValue("ruling", self.ruling, f"allowed are {', '.join(RULINGS)}")


# ---------------------------------------------------------------- signatures


class SignBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `sign`: does a verdict that narrows claim less than the answer, and nothing else?"""

    yours: str
    verdict: str


class Signature(Limited, frozen=True, kw_only=True):
    """The answerer's reply to `sign`, and the body of its post."""

    states: Literal["yes", "no"]
    """Whether the verdict states its answer, or less of it and nothing else."""
    differs: Annotated[str, chars(1_000)] = ""
    """For "no": the clause of the verdict that differs, word for word."""


class Ruled(msgspec.Struct, frozen=True, kw_only=True):
    """An objection, and what the judge made of it."""

    number: int
    text: str
    ruling: str
    """open | met | nothing to it"""
    why: str = ""
    """The sentence that is said to meet it, or the judge's reason where it has nothing to it."""
    repeated: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Later objections in other words that make its point, by the judge. Unset where there is none."""


class CountersignBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `countersign`: the last look before the end. The answer is shown as a post."""

    narrowed: str = ""
    """What a verdict that narrows makes of it; empty: the answer stands as it is."""
    objections: tuple[Ruled, ...] = ()


class Countersignature(Limited, frozen=True, kw_only=True):
    """The critic's reply to `countersign`, and the body of its post."""

    reason: Annotated[str, chars(2_000)] = ""
    """Why those of `open` are."""
    open: Annotated[tuple[int, ...], items(50)] = ()
    """Numbers of objections that are open against what is shown."""
    fatal: Annotated[str, chars(2_000)] = ""
    """What makes the answer wrong or unsupported as it is worded: one of them, whatever it weighs by the judge, or a
    fault beside them; empty: nothing."""


# ---------------------------------------------------------------- outcome


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` of a critic session's result."""

    question: str
    """As the judge rewrote it."""
    answer: str
    confidence: float
    """0 to 1: the judge's, at the end."""
    label: str
    """high | medium | low: informational, no guarantee (seed, "Termination Conditions")."""
    label_note: str
    reasoning: str
    source: str
    """verdict | answer (no verdict could be had) | none"""
    objections: tuple[Objection, ...]
    """The profile at the end."""
    open_objections: tuple[int, ...]
    """Those that the last answer judged does not meet."""
    citations: tuple[Citation, ...] = ()
    ruling: str | msgspec.UnsetType = msgspec.UNSET
    """upholds | narrows | reverses: what the verdict does to the last answer of the debate. Unset where the verdict was
    not taken or could not be had."""
    assumptions: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the answer rests on and nobody has shown, by the judge. Unset as `ruling` is."""
    signed: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Seats that signed: the answerer a verdict that narrows, the critic what it holds nothing against. Unset
    where none did."""
    refused_by: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET
    """Open objections that weigh so much that the answer is refused. Unset where there is none."""
    reversed_by: int | msgspec.UnsetType = msgspec.UNSET
    """The objection that leaves nothing of the answer, by a verdict that reverses."""
    debated: str | msgspec.UnsetType = msgspec.UNSET
    """The answerer's answer, where the verdict reverses it."""
    departing: str | msgspec.UnsetType = msgspec.UNSET
    """The answer of a verdict that contradicts the debate or was not signed, and was not taken."""
    departs: str | msgspec.UnsetType = msgspec.UNSET
    """What it contradicts, or who did not sign."""
    unseen: str | msgspec.UnsetType = msgspec.UNSET
    """Why the critic did not say what it holds against the answer as it stands. Unset where it did, or was not to."""
    left_out: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the rewritten question has not of the one that was asked. Unset where there is nothing."""
    added: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """What the rewritten question alone has. Unset where there is nothing."""
