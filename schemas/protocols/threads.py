"""The messages of `threads`: a question of several parts, each decided by a panel of its own, and one synthesis."""

from typing import Annotated, Any

import msgspec

from parley.schemas.wire import InvalidValue, at_most, chars, few, in_range, items, not_empty

MOST_PARTS = 8
MOST_PART = 4_000
"""Characters of one part."""
Parts = Annotated[tuple[Annotated[str, chars(MOST_PART, least=1)], ...], items(MOST_PARTS)]


def check_parts(field: str, parts: tuple[str, ...]) -> None:
    """Raise InvalidValue where a question cannot be split so."""
    few(field, parts, MOST_PARTS)
    for part in parts:
        not_empty(field, part, MOST_PART)
    if len({" ".join(part.split()) for part in parts}) < len(parts):
        raise InvalidValue(field, len(parts), "two of them are the same")


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session."""

    parts: tuple[str, ...] = ()
    """The parts, two to eight. None: the analyst proposes them, and a person may change them."""
    part_settings: dict[str, Any] = {}
    """Settings of each part's panel."""
    attempts: int = 2
    max_input_tokens: int = 16_000
    max_output_tokens: int = 1_500

    def __post_init__(self) -> None:
        if self.parts:
            in_range("threads.parts", len(self.parts), 2, MOST_PARTS)
        check_parts("threads.parts", self.parts)
        in_range("threads.attempts", self.attempts, 1, 10)
        in_range("threads.max_input_tokens", self.max_input_tokens, 100, 10_000_000)
        in_range("threads.max_output_tokens", self.max_output_tokens, 20, 1_000_000)


class SplitBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `split`: the question is all that is needed."""


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """The analyst's reply to `split`."""

    parts: Parts

    def __post_init__(self) -> None:
        in_range("parts", len(self.parts), 1, MOST_PARTS)
        check_parts("parts", self.parts)


class Proposed(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator on `inbox`: how the question would be split. A person may change it until the deadline."""

    parts: tuple[str, ...]
    deadline_ns: int


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """Post of the moderator on `public`: the sessions of the parts, in the order of the parts."""

    parts: tuple[str, ...]
    sessions: tuple[str, ...]
    by: str = ""
    """Who changed what the analyst proposed; empty: nobody."""


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
    why: str = ""
    """Why there is no answer."""


class JoinBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `join`."""

    parts: tuple[Part, ...]


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """The analyst's reply to `join`, and the body of its post."""

    reasoning: Annotated[str, chars(40_000)] = ""
    answer: Annotated[str, chars(4_000, least=1)]

    def __post_init__(self) -> None:
        not_empty("answer", self.answer, 4_000)
        at_most("reasoning", self.reasoning, 40_000)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` of a threads session's result."""

    answer: str
    confidence: float
    """That of the least sure part that has an answer."""
    reasoning: str
    source: str
    """synthesis (the analyst's words) | parts (the parts' answers, one after the other) | none"""
    parts: tuple[Part, ...]
    signed: bool = False
    """Whether the seats of the parts signed the whole. They are asked for their own part alone, so it is false."""
