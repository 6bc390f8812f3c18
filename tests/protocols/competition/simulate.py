"""A competition in one process, without a bus."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from parley.agents.context import Shown
from parley.agents.models import Model
from parley.agents.protocols.competition import personas
from parley.coordinator.protocols.competition.seats import due
from parley.schemas.protocols.competition.format import Format
from parley.schemas.protocols.competition.messages import SpeechPost
from parley.schemas.session import Document, OpenSession
from parley.schemas.wire import decode
from parley.testing.in_memory import Played
from tests.support import simulate
from tests.support.debater import Debater

ROOT = Path(__file__).parents[3]
ROLES = ("pro", "con", "judge", "audience")


class Ended(Played):
    """What a simulated session came to."""

    @property
    def speeches(self) -> list[SpeechPost]:
        """What was said in public, in order."""
        return [decode(p.body, SpeechPost) for p in self.posts if p.kind == "speech"]

    def of(self, kind: str) -> list[tuple[Shown, Any]]:
        """Turns of a kind, and their replies."""
        return [(s, c.body) for s, c in zip(self.shown, self.completions, strict=True) if s.kind == kind]


@lru_cache(maxsize=8)
def format_named(name: str) -> Format:
    """One that comes with Parley."""
    data = yaml.safe_load((ROOT / "schemas" / "formats" / f"{name}.yaml").read_text(encoding="utf-8"))
    return msgspec.convert(data, Format)


def example() -> tuple[str, tuple[Document, ...]]:
    """(motion, documents) of the example."""
    return simulate.example("competition", ROLES)


def run(
    question: str,
    documents: Sequence[Document],
    format_: Format,
    models: Mapping[str, Model] | None = None,
    **settings: Any,
) -> Ended:
    """Play a session to its end; a seat without a model of its own has the debater's."""
    given = {"format": msgspec.to_builtins(format_), **settings}
    if "styles" in given:
        given["personalities"] = msgspec.to_builtins(personas.load())
    request = OpenSession(question=question, protocol="competition", settings=given, documents=tuple(documents))
    return simulate.simulate(Ended(), request, due(format_), models, default=Debater())
