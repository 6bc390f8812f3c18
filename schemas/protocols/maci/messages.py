"""The MACI protocol's messages (source: seeds/maci.md, whose equations are cited by their numbers; docs/maci.md).

Probabilities, scores and gates are 0 to 1, entropies base 2. Rounds are numbered from 0, the blind one. Passages are
`p1`, `p2`, ... and arguments `a1`, `a2`, ... in the order in which a session comes to them.
"""

from typing import Annotated, Any, Literal

import msgspec

from parley.schemas.belief import Belief, Share
from parley.schemas.control import Signals
from parley.schemas.protocols.maci.settings import MOST_OUTCOMES
from parley.schemas.text import Similar
from parley.schemas.wire import Limited, between, chars, items

# ---------------------------------------------------------------- parts


class Span(Limited, frozen=True, kw_only=True):
    """Evidence: words of a passage, as they stand there up to white space."""

    where = "spans."
    passage: Annotated[str, chars(20, least=1)]
    """`p7`"""
    quote: Annotated[str, chars(2_000, least=1)]


class Excerpt(Limited, frozen=True, kw_only=True):
    """A piece of a document, verbatim up to white space."""

    where = "passages."
    document: Annotated[str, chars(1_000, least=1)]
    text: Annotated[str, chars(4_000, least=1)]


class Passage(Excerpt, frozen=True, kw_only=True):
    """One that debaters may cite."""

    id: str


class Argument(Limited, frozen=True, kw_only=True):
    """A claim, the reasons for it, and the evidence that they rest on."""

    where = "arguments."
    claim: Annotated[str, chars(2_000, least=1)]
    reasons: Annotated[tuple[Annotated[str, chars(4_000, least=1)], ...], items(10)] = ()
    spans: Annotated[tuple[Span, ...], items(20)] = ()
    rebuts: int | None = None
    """Number of the post of another debater's argument that this one answers; None: it stands alone."""


# ---------------------------------------------------------------- retrieve (helper)


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What the prototype is made of beside the task: these outcomes, and the task's passages that are relevant."""

    outcomes: tuple[str, ...] = ()
    relevant_from: float
    """Cosine with the task and its outcomes from which on a passage is."""


class RetrieveBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `retrieve`: find passages in the documents."""

    queries: tuple[str, ...] = ()
    """None: the task itself."""
    k: int
    """At most so many passages, for each query."""
    tokens: int
    """At most so many together, estimated."""
    known: tuple[str, ...] = ()
    """Texts that are passages already: not found again."""
    subject: Subject | msgspec.UnsetType = msgspec.UNSET
    """What the prototype is made of, beside the task (D.1); unset: all of the task's passages."""


class Retrieved(Limited, frozen=True, kw_only=True):
    """The helper's reply to `retrieve`."""

    passages: Annotated[tuple[Excerpt, ...], items(400)] = ()
    similar: Similar = Similar()
    """Of the passages with one another and with the prototype; empty where queries were given."""


class Passages(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator: passages that may be cited from now on."""

    passages: tuple[Passage, ...]
    queries: tuple[str, ...] = ()
    """None: the task itself, or what debaters looked up."""
    looked: bool | msgspec.UnsetType = msgspec.UNSET
    """Debaters looked it up. Left out: the helper found it."""
    q: float | None = None
    """Q of the task's passages (F.1)."""


# ---------------------------------------------------------------- blind (debater)


class BlindBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `blind`: answer alone, with no argument to defend. The passages are shown as a post."""

    outcomes: tuple[str, ...] = ()
    """None: propose them."""
    ordered: bool = False
    frame: str | msgspec.UnsetType = msgspec.UNSET
    """The point of view from which this debater begins; unset: its own."""
    look_ups: int | msgspec.UnsetType = msgspec.UNSET
    """Calls of tools that it may make first. Left out: none."""


class Blind(Limited, frozen=True, kw_only=True):
    """A debater's reply to `blind`, and the body of its post on `scores`: other debaters are shown the belief alone."""

    belief: Annotated[Belief, items(MOST_OUTCOMES)]
    reasoning: Annotated[str, chars(20_000)] = ""
    spans: Annotated[tuple[Span, ...], items(20)] = ()


# ---------------------------------------------------------------- merge (analyst)


class MergeBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `merge`: which of the proposed outcomes are the same under two names?"""

    proposed: tuple[str, ...]


class Group(Limited, frozen=True, kw_only=True):
    """Proposals that are one outcome."""

    where = "groups."
    name: Annotated[str, chars(200, least=1)]
    members: Annotated[tuple[str, ...], items(MOST_OUTCOMES)]


class Merged(Limited, frozen=True, kw_only=True):
    """The analyst's reply to `merge`: every proposal in one group. Body of the post `outcomes`."""

    groups: Annotated[tuple[Group, ...], items(MOST_OUTCOMES)]


# ---------------------------------------------------------------- argue (debater)


class Speaker(msgspec.Struct, frozen=True, kw_only=True):
    """A debater as others are told of it."""

    label: str
    """A, B, ...; it means nothing in another session."""
    own: bool = False
    """It is the one that is asked."""
    arguments: tuple[str, ...] = ()
    """Its own in the record: `a7`."""


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """What a debater said in a round before, and nobody else was shown."""

    round: int
    claims: tuple[str, ...] = ()
    """Of arguments that it is not shown as posts."""
    reasoning: str = ""
    """Of the blind round why it held what it held, later what moved its belief; the beginning of it."""


class CountsAs(msgspec.Struct, frozen=True, kw_only=True):
    """What a debater proposed, and the outcome that it was merged into."""

    proposed: str
    outcome: str


class Met(Limited, frozen=True, kw_only=True):
    """A debater's answer to one argument of a devil's advocate."""

    where = "answers."
    argument: Annotated[str, chars(20, least=1)]
    """Its number in the debate: `a7`."""
    why: Annotated[str, chars(1_000)]
    """Why it does not hold or does not carry, or what it changes."""
    fails: bool
    """It takes nothing from the answer that all share; false: it takes something, and so the belief moved."""


class ArgueBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `argue`, of `attack` (a devil's advocate's) and of `answer` (to it): the anchor A(t) (3.1). Passages and
    the curated record are shown as posts."""

    round: int
    outcomes: tuple[str, ...]
    ordered: bool = False
    cl: float
    """Contentiousness in force."""
    tone: str
    """What that level asks for, in words (table 15)."""
    tau_q: float
    tau_crit: float
    belief: Belief
    """This debater's own, as it stands."""
    opponents: tuple[Belief, ...]
    """What each other debater holds, the most probable of it."""
    own: tuple[int, ...] = ()
    """Numbers of the shown posts that are this debater's own arguments."""
    most: int
    """Arguments at most."""
    earlier: tuple[Earlier, ...]
    """What this debater said itself, the blind round first."""
    quiet: bool = False
    """The debaters hold nearly the same, and `tone` says so in the place of what the level asks for."""
    speakers: tuple[Speaker, ...]
    """Everybody, with one label through the whole debate, in the order of the labels, as `opponents`."""
    against: str = ""
    """The answer that all share and this debater is to argue against, as devil's advocate; empty: it is none."""
    rebuttable: tuple[int, ...] = ()
    """Numbers of the shown posts that an argument may name in `rebuts`: admitted arguments, those of its own only as
    devil's advocate."""
    answers: tuple[str, ...] = ()
    """The devil's advocate's arguments against the answer that all share, each of which this debater is to answer:
    `a7`. They are among the posts that it is shown."""
    shared: str = ""
    """That answer, where it is to answer them."""
    counts_as: tuple[CountsAs, ...] = ()
    """This debater's own words that were merged into an outcome of another name, and that it has not seen yet."""
    look_ups: int | msgspec.UnsetType = msgspec.UNSET
    """Calls of tools that it may make first. Left out: none."""


class Case(Limited, frozen=True, kw_only=True):
    """A debater's reply to `argue`, `attack` or `answer`."""

    arguments: Annotated[tuple[Argument, ...], items(10)] = ()
    belief: Annotated[Belief, items(MOST_OUTCOMES)]
    """Over the outcomes, and over those of its own words that are `apart`."""
    changed: Annotated[str, chars(4_000)] = ""
    """What moved the belief, or why it stands."""
    speaks_for: Annotated[str, chars(200)] = ""
    """The outcome that a devil's advocate's arguments speak for; empty where there is one beside the shared one."""
    answers: Annotated[tuple[Met, ...], items(100)] = ()
    """To the devil's advocate's arguments, one each."""
    apart: Annotated[tuple[str, ...], items(20)] = ()
    """Its own words that are another answer than the outcome that they count as: each gets an outcome of its own."""


# ---------------------------------------------------------------- measure (helper), judge


class MeasureBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `measure`: similarities of these spans. The task's passages, of which the prototype is made, are shown
    as a post."""

    spans: tuple[Span, ...]
    subject: Subject | msgspec.UnsetType = msgspec.UNSET
    """What the prototype is made of, beside the task (D.1); unset: all of the task's passages."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The helper's reply to `measure`."""

    similar: Similar


class Rebutted(msgspec.Struct, frozen=True, kw_only=True):
    """The admitted argument that an item answers, as a judge is shown it."""

    claim: str
    reasons: tuple[str, ...]
    quotes: tuple[str, ...]


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a quotation stands."""

    document: str
    around: str
    """Of the passage, what stands around the quotation; with it."""


class AnonymousItem(msgspec.Struct, frozen=True, kw_only=True):
    """An argument as a judge is shown it: nothing says whose it is (E.4)."""

    item: int
    claim: str
    reasons: tuple[str, ...]
    quotes: tuple[str, ...]
    rebuts: Rebutted | msgspec.UnsetType = msgspec.UNSET
    """Its opposing reasons (E.1); unset: it stands alone."""
    sources: tuple[Source, ...]
    """Where each of the quotations stands, in their order."""


class CritBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `crit`: the round's arguments, in an order drawn by seed, round and judge."""

    items: tuple[AnonymousItem, ...]
    against: str = ""
    """The answer that a devil's advocate is to argue against, of which a judge says whether each argument does; empty:
    there is no devil's advocate."""


class Score(Limited, frozen=True, kw_only=True):
    """One argument's three sub-scores (E.1)."""

    where = "scores."
    item: int
    links: tuple[Annotated[float, between(0, 1)], ...] = ()
    """For each reason, in order: how validly the claim follows from it."""
    evidence: Annotated[float, between(0, 1)] = 0.0
    """0 without a quotation."""
    logic: Annotated[float, between(0, 1)]
    relevance: Annotated[float, between(0, 1)]
    justification: Annotated[str, chars(2_000)] = ""
    against: bool = False
    """It speaks against the answer that the brief names."""

    @property
    def composite(self) -> float:
        """Mean of the three (w_c = 1/3); rounded, since three times 0.3 are to reach a gate of 0.3."""
        return round((self.evidence + self.logic + self.relevance) / 3, 9)


class Crit(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's reply to `crit`."""

    scores: tuple[Score, ...]


# ---------------------------------------------------------------- what a round came to


class Ruled(Argument, frozen=True, kw_only=True):
    """Post of the moderator: an argument after the gates; `argument` on public, or `refused` on scores."""

    id: str
    q: float | None
    """Its evidence (eq. 1); None: the round was not measured."""
    crit: float | None
    """Mean of the judges' scores (E.2); None: no judge replied."""
    tau_q: float
    tau_crit: float
    admitted: bool
    scores: tuple[Score, ...] = ()
    """One a judge, in the order of the judges' seats; on public none: they are the judges'."""
    rebuts_id: str = ""
    """`a3`, of what it rebuts; empty: it stands alone."""
    doubted: bool = False
    """The gate on evidence is off; were it on, it would have refused this one."""
    speaks_for: str = ""
    """Of a devil's advocate: the outcome that it is brought for."""
    tests: bool | msgspec.UnsetType = msgspec.UNSET
    """Of a devil's advocate: whether more than half of the judges hold that it speaks against the answer that all
    share, and score it at the gate or above. Such an argument alone puts it to the test."""


class RoundSignals(msgspec.Struct, frozen=True, kw_only=True):
    """Post `signals` of the moderator after each round."""

    signals: Signals
    beliefs: dict[str, Belief]
    """As they stand after the round, by seat."""
    admitted: tuple[str, ...] = ()
    refused: int = 0
    missing: tuple[str, ...] = ()
    next_cl: float | None = None
    """In force in the next round, with the two gates."""
    next_tau_q: float | None = None
    next_tau_crit: float | None = None
    next_advocate: str = ""
    """Who is to argue in the next round against the answer that all share; empty: nobody."""


# ---------------------------------------------------------------- plan (analyst)


class PlanBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `plan`: what would separate the outcomes still in contention? Passages and record are shown as posts."""

    mixture: Belief
    """The outcomes in contention."""
    asked: tuple[str, ...] = ()
    """Queries that were run already."""
    most: int


class Test(Limited, frozen=True, kw_only=True):
    """Something to find out."""

    where = "tests."
    what: Annotated[str, chars(2_000, least=1)]
    kind: Literal["question", "test", "document"]
    query: Annotated[str, chars(500, least=1)]
    """A retriever can run it as it stands."""
    positive: Annotated[Belief, items(MOST_OUTCOMES)]
    """For each outcome in contention: how likely the finding is positive, were that the answer. Not a distribution."""


class Tests(Limited, frozen=True, kw_only=True):
    """The analyst's reply to `plan`."""

    tests: Annotated[tuple[Test, ...], items(20)] = ()


class Ranked(Test, frozen=True, kw_only=True):
    """A test and what it is worth."""

    gain: float
    """Expected information gain under the mixture over the outcomes in contention, bits."""


class RetrievalPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator: the retrieval plan, the most telling test first."""

    outcomes: tuple[str, ...]
    """In contention."""
    tests: tuple[Ranked, ...]


# ---------------------------------------------------------------- result


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` of a MACI session's result."""

    answer: str
    """The mixture's most probable outcome; empty: there is none."""
    confidence: float
    """Its probability."""
    calibrated: bool
    """Whether something has held these probabilities against what came true."""
    source: str
    """mixture | none"""
    mixture: dict[str, float]
    top: tuple[Share, ...]
    vote: str
    """Majority vote of the blind round, in the same run (ties by the mixture)."""
    regime: dict[str, Any]
    """K.1 and K.5: whether a vote would have done, and why."""
    record: tuple[Ruled, ...]
    """The curated record: what was admitted."""
    refused: int
    plan: RetrievalPlan | None
    cross_family: bool
    """Whether every judge is of another family than every debater."""
    left_out: tuple[str, ...] = ()
    """Debaters without a blind belief."""
