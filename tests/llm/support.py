"""Turns and models for these tests."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.models import make_model
from parley.agents.openai.model import OpenAIModel
from parley.agents.openai.options import parse
from parley.schemas.session import Document
from parley.schemas.turn import Caps
from tests.protocols.consensus.simulate import document, turn_shown

POSITION = {"answer": "A4", "reasoning": "It is measured.", "confidence": 0.75}
FULL = {
    **POSITION, "citations": [], "change": "kept", "change_reason": "", "moved_by": [], "abstains": False,
    "argument": None,
}  # fmt: skip
PROSE = "I would say that A4 is the better choice, all things considered."


def asked(
    documents: Sequence[Document] | None = None,
    *,
    seconds: float = 20.0,
    caps: Caps | None = None,
    stream: bool = False,
    **more: Any,
) -> Shown:
    """A turn of a panelist that ends in so many seconds."""
    held = [document("d.md", "A4 was measured.")] if documents is None else documents
    shown = turn_shown("A4 or letter?", held, **more)
    return msgspec.structs.replace(
        shown, deadline_ns=time.time_ns() + int(seconds * 1e9), caps=caps or Caps(), stream=stream
    )


@asynccontextmanager
async def model(url: str, seed: int | None = 1, **options: Any) -> AsyncIterator[OpenAIModel]:
    """A model at an address; pauses are shortest with the seed's dice held at 0."""
    given = {"provider": "openai_compatible", "base_url": url, "model": "m", "concurrency": 4} | options
    assert isinstance(make_model("openai", given), OpenAIModel)
    made = OpenAIModel(parse(given, {}), seed)
    made.dice = lambda: 0.0
    try:
        yield made
    finally:
        await made.aclose()


def silent(_text: str) -> None:
    """Takes live text and drops it."""


class Heard:
    """Takes live text and states."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.states: list[str] = []

    def __call__(self, text: str) -> None:
        self.pieces.append(text)

    def retrying(self, why: str) -> None:
        """The state `retrying`."""
        self.states.append(why)
