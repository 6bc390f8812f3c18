"""The messages of the protocol `single`: one seat answers once, and nobody checks its answer."""

from typing import Annotated

import msgspec

from parley.schemas.text import Citation
from parley.schemas.turn import InputTokens, OutputTokens
from parley.schemas.wire import InvalidValue, Limited, between, chars, items


class Settings(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one session."""

    where = "single."
    max_input_tokens: InputTokens = 16_000
    max_output_tokens: OutputTokens = 1_500


class AnswerBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of `answer`: the question and the documents say everything."""


class Answer(Limited, frozen=True, kw_only=True):
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
        super().__post_init__()
        if not self.abstains and not self.answer.strip():
            raise InvalidValue("answer", self.answer, "it must not be empty")


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
