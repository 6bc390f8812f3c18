"""Finds the experts for a task, and how sure each match is (seeds/madp.md 3; docs/madp.md).

    words     the source's own score: triggers that stand in the prompt as bare strings (agents/matching/words.py)
    better    words that are wanted, in any inflection and spelling, and how near the task's vector is to those of what
              a specification says (agents/matching/scoring.py)

One Matcher is kept by whoever matches: it prepares the specifications once, and again when they are others.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parley.agents.matching import words
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Candidate, Matched, Task

if TYPE_CHECKING:  # numpy: not for an expert's process, which reads but does not match
    from parley.agents.encoders import Encoder, Spent, Vectors
    from parley.agents.matching.prepared import Prepared, ReadTask

__all__ = ["Matcher", "embedded", "match"]


class Matcher:
    """Finds candidates. Safe for several tasks at once on one event loop.

    Parameters
    ----------
    encoder
        The embedded one, for which the figures of agents/matching/scoring.py were chosen. None: words alone decide.
    """

    def __init__(self, encoder: "Encoder | None" = None) -> None:
        from parley.agents.matching.prepared import SpecVectors

        self._encoder = encoder
        self._vectors = SpecVectors(encoder) if encoder is not None else None
        self._prepared: dict[bool, tuple[tuple[ExpertSpec, ...], Prepared]] = {}
        self._preparing = asyncio.Lock()

    async def match(self, task: Task, specs: Sequence[ExpertSpec], spent: "Spent | None" = None) -> Matched:
        """The candidates for a task, the most confident first; none: it abstains.

        Raises
        ------
        EncoderError
            The encoder cannot be used; `by_words` needs none.
        """
        return (await self.match_all((task,), specs, spent))[0]

    async def match_all(
        self, tasks: Sequence[Task], specs: Sequence[ExpertSpec], spent: "Spent | None" = None
    ) -> list[Matched]:
        """The same for many tasks, in their order."""
        from parley.agents.matching.scoring import decide

        prepared = await self._ready(tuple(specs), self._encoder is not None, spent)
        read = [prepared.read_task(task) for task in tasks]
        vectors = await self._encoded(read, spent)
        return [decide(prepared, task, vector) for task, vector in zip(read, vectors, strict=True)]

    async def by_words(self, task: Task, specs: Sequence[ExpertSpec]) -> Matched:
        """As `match`, without the encoder."""
        from parley.agents.matching.scoring import decide

        prepared = await self._ready(tuple(specs), False, None)
        return decide(prepared, prepared.read_task(task), None)

    async def everybody(
        self, task: Task, specs: Sequence[ExpertSpec], *, by_words: bool = False
    ) -> list[tuple[ExpertSpec, Candidate]]:
        """All experts but general-purpose ones, the most confident first, whether they are candidates or not.

        None: nothing is left of the prompt that anybody could be found by. Raises EncoderError, unless `by_words`.
        """
        from parley.agents.matching.scoring import everybody

        encodes = self._encoder is not None and not by_words
        prepared = await self._ready(tuple(specs), encodes, None)
        read = prepared.read_task(task)
        (vector,) = await self._encoded((read,), None) if encodes else (None,)
        return everybody(prepared, read, vector)

    async def _encoded(self, read: "Sequence[ReadTask]", spent: "Spent | None") -> "list[Vectors | None]":
        """The vector of each task; None where nothing of it is to be encoded, or by nobody."""
        vectors: list[Vectors | None] = [None] * len(read)
        places = [i for i, task in enumerate(read) if task.text]
        if self._encoder is not None and places:
            rows = await self._encoder.encode([read[i].text for i in places], spent)
            for i, row in zip(places, rows, strict=True):
                vectors[i] = row
        return vectors

    async def _ready(self, specs: tuple[ExpertSpec, ...], encodes: bool, spent: "Spent | None") -> "Prepared":
        """The specifications, prepared; again only where one of them is another object than before."""
        from parley.agents.matching.prepared import Prepared

        async with self._preparing:
            cached = self._prepared.get(encodes)
            if (
                cached is not None
                and len(cached[0]) == len(specs)
                and all(a is b for a, b in zip(cached[0], specs, strict=True))
            ):
                return cached[1]
            prepared = await asyncio.to_thread(Prepared, specs)
            if encodes and self._vectors is not None:
                prepared.index(await self._vectors.of(prepared.specs, spent))
            self._prepared[encodes] = specs, prepared
            return prepared


def embedded() -> "Encoder":
    """The encoder that matching uses, whatever else its process compares with. Raises EncoderError."""
    from parley.agents.encoders.embedded import Embedded

    return Embedded.checked()


def match(task: Task, specs: Sequence[ExpertSpec], *, keyword: bool = False) -> Matched:
    """The source's own score: the baseline; with `keyword` as 9.2's degraded mode, and called that."""
    return words.match(task, specs, name="keyword" if keyword else "words")
