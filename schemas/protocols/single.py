"""The messages of the protocol `single`: one seat answers once, and nobody checks its answer."""

from typing import Annotated

import msgspec

from parley.schemas.text import Citation
from parley.schemas.wire import InvalidValue, at_most, between, chars, few, in_range, items


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session."""

    max_input_tokens: int = 16_000
    max_output_tokens: int = 1_500

    def __post_init__(self) -> None:
        in_range("single.max_input_tokens", self.max_input_tokens, 100, 10_000_000)
        in_range("single.max_output_tokens", self.max_output_tokens, 20, 1_000_000)


class AnswerBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `answer`: the question and the documents say everything."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to `answer`, and the body of its post."""

    answer: Annotated[str, chars(4_000)]
    """The answer in one line."""
    reasoning: Annotated[str, chars(40_000)]
    confidence: Annotated[float, between(0, 1)]
    """0 to 1: its own."""
    citations: Annotated[tuple[Citation, ...], items(20)] = ()
    abstains: bool = False
    """It has nothing to go on."""

    def __post_init__(self) -> None:
        in_range("confidence", self.confidence, 0, 1)
        if not self.abstains and not self.answer.strip():
            raise InvalidValue("answer", self.answer, "it must not be empty")
        at_most("answer", self.answer, 4_000)
        at_most("reasoning", self.reasoning, 40_000)
        few("citations", self.citations, 20)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`outcome` of a session's result."""

    answer: str
    """Empty: there is none."""
    confidence: float
    """0 to 1, as the seat stated it. Nobody checked it."""
    reasoning: str
    source: str
    """answer | none"""
    checked: bool = False
    """Always false: nobody checks."""
    citations: tuple[Citation, ...] = ()
    passages: tuple[Citation, ...] = ()
    """What bears on a question that the seat did not answer."""
