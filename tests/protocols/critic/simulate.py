"""A critic session in one process, without a bus."""

from collections.abc import Mapping, Sequence
from typing import Any

from parley.agents.models import Model
from parley.schemas.session import Document, OpenSession
from parley.testing.in_memory import Played
from tests.support import simulate
from tests.support.debater import Debater

ROLES = ("answerer", "critic", "judge")


def example(name: str) -> tuple[str, tuple[Document, ...]]:
    """(question, documents) of an example."""
    return simulate.example(name, ROLES)


def run(
    question: str, documents: Sequence[Document], models: Mapping[str, Model] | None = None, **settings: Any
) -> Played:
    """Play a session to its end; a seat without a model of its own has the debater's."""
    request = OpenSession(question=question, protocol="critic", settings=settings, documents=tuple(documents))
    return simulate.simulate(Played(), request, dict(zip(ROLES, ROLES, strict=True)), models, default=Debater())
