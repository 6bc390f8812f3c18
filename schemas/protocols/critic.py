"""The critic protocol's messages (source: seeds/madcap.md, cited as "seed" by its headings).

Confidence and scores are points, 0 to 100; similarities are 0 to 1. Objections are numbered from 1.
"""

from typing import Annotated

import msgspec

from parley.schemas.citation import Citation
from parley.schemas.wire import InvalidValue, at_most, between, chars, few, in_range, items, not_empty

NO_NEW_OBJECTION = "NO_NEW_OBJECTION"
"""What a critic says that finds nothing new (seed, "Conceptual Flow: Critic Profile Check")."""
ORDERS = ("answer_first", "objection_first")


DUPLICATE_AT = 0.8  # similarity 0 to 1; the seed has no such check
"""Similarity, as a model in the helper's seat judges it, from which an objection is one of the profile."""
DUPLICATE_AT_LEXICAL = 0.6  # similarity 0 to 1; of words alone, which paraphrases share less of
"""The same for the words' similarity: a helper without encoder, or no helper."""
START = 50.0  # points: as likely right as wrong
"""Confidence as long as nothing was tested: no round in which the critic was heard and the judge ruled."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session."""

    threshold: float = 80.0  # points; the seed discloses none ("Termination Conditions")
    """Confidence from which the judge ends the debate. A number up to 1 is read as a share: 0.8 is 80."""
    round_limit: int = 6  # rounds; seed, "Termination Conditions": a hard cap, without its number
    min_rounds: int = 3  # rounds; seed, "When Debate Breaks Down": premature agreement comes "after one or two rounds"
    """In an earlier round confidence ends nothing, and a critic that finds nothing new is asked once more, sharper."""
    duplicate_at_encoder: float = 0.75  # cosine; measured in docs/encoders.md for the embedded encoder
    """Similarity by the helper's encoder from which an objection is one of the profile. Each encoder has a scale of its
    own."""
    measure_bias: bool = False  # seed, "When Debate Breaks Down": judge bias; doubles the judge's turns
    """Judge each pair of answer and objection a second time, in the opposite order."""
    quorum: int = 2
    """How many of answerer and critic must have spoken by the end of a round. 1 or 2."""
    attempts: int = 2
    """How often a turn is asked before its seat counts as missing in that round."""
    max_input_tokens: int = 16_000
    max_output_tokens: int = 1_500

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 100:
            raise InvalidValue("critic.threshold", self.threshold, "allowed is above 0 to 100 (or a share up to 1)")
        if 1 < self.threshold < 2:
            raise InvalidValue("critic.threshold", self.threshold, "is it a share (up to 1) or points (from 2)?")
        if self.threshold <= 1:
            msgspec.structs.force_setattr(self, "threshold", self.threshold * 100)
        in_range("critic.round_limit", self.round_limit, 1, 50)
        in_range("critic.min_rounds", self.min_rounds, 1, 50)
        if not 0 < self.duplicate_at_encoder <= 1:
            raise InvalidValue("critic.duplicate_at_encoder", self.duplicate_at_encoder, "allowed is above 0 to 1")
        in_range("critic.quorum", self.quorum, 1, 2)
        in_range("critic.attempts", self.attempts, 1, 10)
        in_range("critic.max_input_tokens", self.max_input_tokens, 100, 10_000_000)
        in_range("critic.max_output_tokens", self.max_output_tokens, 20, 1_000_000)


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """An objection as it is shown while the debate runs: what was said, without what was ruled on it."""

    number: int
    round: int
    text: str
    citations: tuple[Citation, ...] = ()
    contradicts: tuple[int, ...] | msgspec.UnsetType = msgspec.UNSET
    """Earlier objections that cannot be right if this one is, by the judge. Unset where there is none."""


class Objection(Past, frozen=True, kw_only=True):
    """One line of the profile: what the critic has objected to so far (seed, "State Management")."""

    answered: bool = False
    """Whether, by the judge, the last answer that it judged meets it."""
    weight: float | msgspec.UnsetType = msgspec.UNSET
    """The share of 100 that the judge did not give the answer against it. Unset where nobody ruled on it."""
    closed: bool = False
    """Whether it was worthless when it was raised, and so is met for good."""

    def past(self) -> Past:
        """Without the ruling."""
        return Past(
            number=self.number, round=self.round, text=self.text, citations=self.citations, contradicts=self.contradicts
        )


# ---------------------------------------------------------------- rewrite


class RewriteBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `rewrite`: the one turn that is shown the user's own question."""


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's reply to `rewrite`, and the body of its post: from here on there is no other question."""

    question: Annotated[str, chars(20_000, least=1)]
    """Neutral and precise (seed, "Architecture")."""
    note: Annotated[str, chars(4_000)] = ""
    """What was left out or made precise. Shown to nobody who debates."""

    def __post_init__(self) -> None:
        not_empty("question", self.question, 20_000)
        at_most("note", self.note, 4_000)


# ---------------------------------------------------------------- answer


class AnswerBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `answer`: the answerer starts fresh each round, with the objections that stand, and no answer of its
    own."""

    round: int
    profile: tuple[Past, ...] = ()
    round_limit: int
    """Rounds at most."""


class Addressed(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer says to one objection."""

    objection: int
    how: Annotated[str, chars(2_000, least=1)]

    def __post_init__(self) -> None:
        not_empty("addresses.how", self.how, 2_000)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answerer's reply to `answer`, and the body of its post."""

    answer: Annotated[str, chars(4_000, least=1)]
    reasoning: Annotated[str, chars(40_000)]
    confidence: Annotated[float, between(0, 1)]
    """0 to 1: its own."""
    citations: Annotated[tuple[Citation, ...], items(20)] = ()
    addresses: Annotated[tuple[Addressed, ...], items(50)] = ()
    """Which objections this revision answers, and how."""

    def __post_init__(self) -> None:
        in_range("confidence", self.confidence, 0, 1)
        not_empty("answer", self.answer, 4_000)
        at_most("reasoning", self.reasoning, 40_000)
        few("citations", self.citations, 20)
        few("addresses", self.addresses, 50)


# ---------------------------------------------------------------- critique


class CritiqueBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `critique` and `press`: the critic's profile, and why it is asked again, if it is."""

    round: int
    profile: tuple[Past, ...] = ()
    again: str = ""
    """`press` alone: why its last word does not end the debate yet."""


class Critique(msgspec.Struct, frozen=True, kw_only=True):
    """The critic's reply to `critique` and `press`."""

    objection: Annotated[str, chars(4_000, least=1)]
    """One new objection, or NO_NEW_OBJECTION."""
    citations: Annotated[tuple[Citation, ...], items(20)] = ()
    checked: Annotated[str, chars(4_000)] | msgspec.UnsetType = msgspec.UNSET
    """A calculation that checks the answer, and what it came to; unset or empty: none was made."""

    def __post_init__(self) -> None:
        not_empty("objection", self.objection, 4_000)
        few("citations", self.citations, 20)
        at_most("checked", self.checked or "", 4_000)

    @property
    def exhausted(self) -> bool:
        """Whether the critic says that it has nothing new (seed, "Conceptual Flow: Critic Profile Check")."""
        return NO_NEW_OBJECTION in self.objection


class Raised(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the critic: its objection under the number that it gets if it is new; 0: it has none."""

    number: int
    objection: str
    citations: tuple[Citation, ...] = ()
    pressed: bool = False
    """Said after the critic was asked again, sharper."""
    checked: str | msgspec.UnsetType = msgspec.UNSET
    """How the critic computed that the answer is right, where it did."""


class Pressed(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator: the critic is asked again before it may end the debate."""

    why: str


# ---------------------------------------------------------------- compare


class CompareBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `compare`: how like is a new objection to each of the profile's?"""

    objection: str
    profile: tuple[str, ...]


class Similarities(msgspec.Struct, frozen=True, kw_only=True):
    """The helper's reply to `compare`: one similarity, 0 to 1, for each objection of the profile, in its order."""

    values: tuple[Annotated[float, between(0, 1)], ...]

    def __post_init__(self) -> None:
        for value in self.values:
            in_range("values", value, 0, 1)


class Comparison(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Post of the moderator: the objection of the profile that is nearest to the new one, and what follows."""

    objection: str
    nearest: int
    """Number of the profile's objection."""
    nearest_text: str
    similarity: float
    threshold: float
    duplicate: bool
    source: str
    """helper (a model's judgement) | encoder | words | lexical_fallback (no helper: the moderator's own, by words)"""
    why: str = ""
    """Why words were compared where an encoder, or a helper, was to do it; empty where nothing failed."""


# ---------------------------------------------------------------- judge


class JudgeBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `judge`: the round's answer and objection are shown as posts, in this order."""

    round: int
    order: str
    """answer_first | objection_first"""
    profile: tuple[Past, ...]
    """Of the rounds before: which of them does this answer meet?"""
    objects: bool
    """Whether there is a new objection in this round."""
    confidence: float
    """So far."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The judge's reply to `judge`, and the body of its post."""

    score: Annotated[float, between(0, 100)]
    """0 to 100: how well the answer holds against the new objection (100: the objection has nothing to it)."""
    answered: Annotated[tuple[int, ...], items(50)] = ()
    """Numbers of the profile's objections that the answer meets."""
    comment: Annotated[str, chars(4_000)] = ""
    contradicts: Annotated[tuple[int, ...], items(50)] | msgspec.UnsetType = msgspec.UNSET
    """Numbers of the profile's objections that cannot be right if this round's objection is."""

    def __post_init__(self) -> None:
        in_range("score", self.score, 0, 100)
        few("answered", self.answered, 50)
        few("contradicts", self.contradicts or (), 50)
        at_most("comment", self.comment, 4_000)


class Bias(msgspec.Struct, frozen=True, kw_only=True):
    """One pair judged in both orders."""

    round: int
    answer_first: float
    objection_first: float
    difference: float
    """Score with the answer first less that with the objection first: 0 where order does not matter."""


class Tally(msgspec.Struct, frozen=True, kw_only=True):
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
    """judge | unjudged (the judge failed)"""
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
    confidence: float
    label: str
    profile: tuple[Objection, ...]
    overturned_by: tuple[int, ...]
    """Open objections that weigh half or more."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The judge's reply to `verdict`, and the body of its post."""

    answer: Annotated[str, chars(10_000, least=1)]
    reasoning: Annotated[str, chars(40_000)]
    assumptions: Annotated[tuple[Assumption, ...], items(10)] = ()
    """What the answer rests on and nobody has shown."""
    ruling: str = ""
    """One of RULINGS: what the verdict does to the last answer. Empty: it says none, and is refused."""

    def __post_init__(self) -> None:
        not_empty("answer", self.answer, 10_000)
        at_most("reasoning", self.reasoning, 40_000)
        few("assumptions", self.assumptions, 10)
        for assumption in self.assumptions:
            not_empty("assumptions", assumption, 1_000)
        if self.ruling not in ("", *RULINGS):
            raise InvalidValue("ruling", self.ruling, f"allowed are {', '.join(RULINGS)}")


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
    departing: str | msgspec.UnsetType = msgspec.UNSET
    """The answer of a verdict that contradicts the debate, and was not taken."""
    departs: str | msgspec.UnsetType = msgspec.UNSET
    """What it contradicts."""
