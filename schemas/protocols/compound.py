"""The messages of `compound`: a question of several parts, each decided by a panel of its own, and one synthesis."""

from typing import Annotated, Any, Literal

import msgspec

from parley.schemas.session import Budget
from parley.schemas.text import Citation
from parley.schemas.turn import InputTokens, OutputTokens
from parley.schemas.wire import InvalidValue, Limited, between, chars, few, in_range, items, not_empty

MOST_PARTS = 8
MOST_PART = 4_000
"""Characters of one part."""
MOST_ANSWER = 4_000
Parts = Annotated[tuple[Annotated[str, chars(MOST_PART, least=1)], ...], items(MOST_PARTS)]


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One part, and what it has of its own."""

    question: str
    evidence: tuple[str, ...] = ()
    """Names of documents; none: it has all of the whole question's."""
    panel: tuple[str, ...] = ()
    """Seats of its panel; none: of all panelists."""
    budget: Budget = Budget()
    """Limits of its own, beside its share of the whole question's."""


def check_parts(field: str, parts: tuple[str, ...]) -> None:
    """Raise InvalidValue where a question cannot be split so."""
    few(field, parts, MOST_PARTS)
    for part in parts:
        not_empty(field, part, MOST_PART)
    if len({" ".join(part.split()) for part in parts}) < len(parts):
        raise InvalidValue(field, len(parts), "two of them are the same")


class Settings(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session."""

    where = "compound."
    parts: tuple[str | Asked, ...] = ()
    """The parts, two to eight. None: the analyst proposes them."""
    confirm_s: Annotated[float, between(0, 86_400)] = 0.0
    """Seconds for which a person may change the parts that are proposed. 0: nobody is asked."""
    panel: Annotated[int, between(2, 16)] = 3
    """Panelists of each part. Of more that are there, those sit who fit the part."""
    part_settings: dict[str, Any] = msgspec.field(default_factory=dict)
    """Settings of each part's panel."""
    max_input_tokens: InputTokens = 16_000
    max_output_tokens: OutputTokens = 1_500

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parts:
            in_range("compound.parts", len(self.parts), 2, MOST_PARTS)
        check_parts("compound.parts", tuple(p.question for p in self.asked))
        for p in self.asked:
            if p.panel:
                in_range("compound.parts: seats of a panel", len(p.panel), 2, 16)

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The parts that are given."""
        return tuple(Asked(question=p) if isinstance(p, str) else p for p in self.parts)


class SplitBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `split`: the question is all that is needed."""


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """The analyst's reply to `split`."""

    parts: Parts

    def __post_init__(self) -> None:
        in_range("parts", len(self.parts), 1, MOST_PARTS)
        check_parts("parts", self.parts)


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator on `inbox`: how the question would be split. A person may change it for so long."""

    parts: tuple[str, ...]
    seconds: float


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator on `public`: the sessions of the parts, in the order of the parts."""

    parts: tuple[str, ...]
    sessions: tuple[str, ...]
    how: Literal["given", "unasked", "unanswered", "confirmed", "changed"] = "given"
    """Who says that these are the parts: whoever asked; the analyst, and nobody was asked, or nobody answered; a
    person, as the analyst proposed them or in other words."""
    by: str = ""
    """The person; empty: there was none."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What a part came to. Post of the moderator on `public`, and a row of the outcome."""

    part: str
    session: str
    status: str
    """finished | failed | cancelled | refused | erased | open, where the whole ended before it did"""
    reason: str = ""
    converged: bool = False
    answer: str = ""
    """Empty: it has none."""
    confidence: float = 0.0
    dissent: tuple[str, ...] = ()
    """Other answers that seats of its panel hold."""
    seats: tuple[str, ...] = ()
    """Its panel."""
    citations: tuple[Citation, ...] = ()
    """Evidence quoted for the answer."""
    why: str = ""
    """Why there is no answer."""


class JoinBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `join`."""

    parts: tuple[Part, ...]


class Joined(Limited, frozen=True, kw_only=True):
    """The analyst's reply to `join`, and the body of its post."""

    reasoning: Annotated[str, chars(40_000)] = ""
    answer: Annotated[str, chars(MOST_ANSWER, least=1)]


class SignBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `sign`: what the parts came to, and the synthesis of it."""

    parts: tuple[Part, ...]
    synthesis: str
    reasoning: str = ""


class Signature(Limited, frozen=True, kw_only=True):
    """A panelist's reply to `sign`, and the body of its post."""

    differs: Annotated[str, chars(1_000)] = ""
    """What of the synthesis is not what the parts came to."""
    signs: bool


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` of a compound session's result."""

    answer: str
    """What each part came to, one after the other, in the words of its panel. So nothing stands here that no panel
    decided, whoever signs the synthesis."""
    confidence: float
    """That of the least sure part that has an answer."""
    reasoning: str
    source: str
    """synthesis (the analyst put the answers together, and that is signed) | parts (it is not) | none"""
    synthesis: str = ""
    """The analyst's words in which it puts the answers together; empty: they are not signed."""
    parts: tuple[Part, ...]
    citations: tuple[Citation, ...] = ()
    """Evidence quoted for the parts."""
    signed: tuple[str, ...] = ()
    """Seats that signed the synthesis."""
    unsigned: dict[str, str] = {}
    """Seats that were asked and did not sign it, and why."""
