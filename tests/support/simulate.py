"""The examples of `examples/`, and sessions of them in memory (parley.testing.in_memory)."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from parley.client.evidence import read
from parley.schemas.session import Document
from parley.testing.in_memory import Played, played_out

EXAMPLES = Path(__file__).parents[2] / "examples"
S = TypeVar("S", bound=Played)


def example(name: str, roles: Sequence[str]) -> tuple[str, tuple[Document, ...]]:
    """(question, documents) of an example."""
    root = EXAMPLES / name
    return (root / "question.txt").read_text(encoding="utf-8").strip(), read(root / "evidence", roles).documents


def simulate(ended: S, *asked: Any, **more: Any) -> S:
    """Play a session to its end, outside an event loop."""
    return asyncio.run(played_out(ended, *asked, **more))
