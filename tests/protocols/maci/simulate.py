"""A MACI session in one process, without a bus."""

from collections.abc import Mapping, Sequence
from typing import Any

from parley.agents.models import Model
from parley.agents.models.computed import with_computed
from parley.schemas.protocols.maci.messages import RoundSignals
from parley.schemas.session import Document, OpenSession
from parley.schemas.wire import decode
from parley.testing.in_memory import Played
from tests.support import simulate
from tests.support.debater import Debater
from tests.support.simulate import EXAMPLES as EXAMPLES

ROLES = ("debater", "judge", "analyst", "helper")


class Ended(Played):
    """What a simulated session came to."""

    @property
    def rounds(self) -> list[RoundSignals]:
        """Signals of each round, the blind one first."""
        return [decode(p.body, RoundSignals) for p in self.posts if p.kind == "signals"]


def example(name: str) -> tuple[str, tuple[Document, ...], tuple[str, ...]]:
    """(question, documents, outcomes) of an example."""
    given = (EXAMPLES / name / "outcomes.txt").read_text().splitlines()
    return *simulate.example(name, ROLES), tuple(line.strip() for line in given if line.strip())


def run(
    question: str,
    documents: Sequence[Document],
    outcomes: Sequence[str] = (),
    models: Mapping[str, Model] | None = None,
    seed: int = 1,
    **settings: Any,
) -> Ended:
    """Play a session to its end; a seat without a model of its own has the debater's, the helper computes."""
    given = {"outcomes": tuple(outcomes), **settings}
    request = OpenSession(question=question, protocol="maci", settings=given, documents=tuple(documents))
    debaters = {f"debater_{i}": "debater" for i in range(1, settings.get("debaters", 2) + 1)}
    workers = debaters | {role: role for role in ROLES[1:]}
    return simulate.simulate(Ended(), request, workers, models, default=with_computed(Debater()), seed=seed)
