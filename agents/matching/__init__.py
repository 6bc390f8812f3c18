"""Finds the experts for a task, and how sure each match is (seeds/madp.md 3; docs/madp.md).

    words     the source's own score: triggers that stand in the prompt as bare strings (agents/matching/words.py)
    better    words that are wanted, in any inflection and spelling, what subjects they are of, and what a small
              language model makes of the task and of everything a specification says, weighed (weighted.py)

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
    from parley.agents.matching.features import Prepared, ReadTask
    from parley.agents.matching.ranking import Parts
    from parley.agents.matching.subject_model import Readers
    from parley.agents.matching.vectors import Encoded, SpecVectors

__all__ = ["Matcher", "match"]

_AT_ONCE = 2
"""Threads that encode: a core each."""


class Matcher:
    """Finds candidates. Safe for several tasks at once on one event loop.

    Parameters
    ----------
    readers
        As subject_model.make_readers makes them: weights are fitted to them, so others are not used. None: words alone
        decide.
    """

    def __init__(self, readers: "Readers | None" = None) -> None:
        from parley.agents.matching.weighted import weights

        self._readers = readers if readers is not None and readers.apart.name == weights().reader else None
        self._by_subject: SpecVectors[Encoded] | None = None
        self._by_phrase: SpecVectors[Parts] | None = None
        self._prepared: dict[bool, tuple[tuple[ExpertSpec, ...], Prepared]] = {}
        self._preparing = asyncio.Lock()

    async def match(
        self, task: Task, specs: Sequence[ExpertSpec], spent: "Spent | None" = None, *, always_read: bool = False
    ) -> Matched:
        """The candidates for a task, the most confident first; none: it abstains.

        Parameters
        ----------
        always_read
            Ask the reader also where words alone are sure enough.

        Raises
        ------
        EncoderError
            The reader cannot be used; `by_words` needs none.
        """
        return (await self.match_all((task,), specs, spent, always_read=always_read))[0]

    async def match_all(
        self,
        tasks: Sequence[Task],
        specs: Sequence[ExpertSpec],
        spent: "Spent | None" = None,
        *,
        always_read: bool = False,
    ) -> list[Matched]:
        """The same for many tasks, in their order."""
        from parley.agents.matching.weighted import decide, enough

        prepared = await self._ready(tuple(specs), self._readers, spent)
        tasks_read = [prepared.read_task(task) for task in tasks]
        rows: list[Vectors | None] = [None] * len(tasks_read)
        words_alone = self._readers is None or always_read
        by_words = [(None, False) if words_alone else enough(prepared, h) for h in tasks_read]
        if self._readers is not None:
            unsure = [i for i, h in enumerate(tasks_read) if h.parts and not by_words[i][1] and not h.foreign]
            each = [_texts(prepared, tasks_read[i]) for i in unsure]
            texts = [t for some in each for t in some]
            size = -(-len(texts) // _AT_ONCE) or 1
            read = _of(self._readers, prepared).encode
            parts = await asyncio.gather(*(read(texts[i : i + size], spent) for i in range(0, len(texts), size)))
            results = iter([row for some in parts for row in some])
            for i, some in zip(unsure, each, strict=True):
                rows[i] = _row(prepared, [next(results) for _ in some])
        return [decide(prepared, h, row, of) for h, row, (of, _) in zip(tasks_read, rows, by_words, strict=True)]

    async def by_words(self, task: Task, specs: Sequence[ExpertSpec]) -> Matched:
        """As `match`, without the reader."""
        from parley.agents.matching.weighted import decide

        prepared = await self._ready(tuple(specs), None, None)
        return decide(prepared, prepared.read_task(task), None)

    async def everybody(
        self, task: Task, specs: Sequence[ExpertSpec], *, by_words: bool = False
    ) -> list[tuple[ExpertSpec, Candidate]]:
        """All experts but general-purpose ones, the most confident first, whether they are candidates or not.

        None: nothing is left of the prompt that anybody could be found by. Raises EncoderError, unless `by_words`.
        """
        from parley.agents.matching.weighted import everybody

        readers = None if by_words else self._readers
        prepared = await self._ready(tuple(specs), readers, None)
        task_read = prepared.read_task(task)
        row = None
        if readers is not None and task_read.parts:
            row = _row(prepared, list(await _of(readers, prepared).encode(_texts(prepared, task_read))))
        return everybody(prepared, task_read, row)

    def _subjects(self, readers: "Readers") -> "SpecVectors[Encoded]":
        from parley.agents.matching.vectors import Encoded, SpecVectors, sentences

        self._by_subject = self._by_subject or SpecVectors(readers.apart, sentences, Encoded.of)
        return self._by_subject

    def _phrases(self, readers: "Readers") -> "SpecVectors[Parts]":
        from parley.agents.matching.ranking import Parts, phrases
        from parley.agents.matching.vectors import SpecVectors

        self._by_phrase = self._by_phrase or SpecVectors(readers.alike, phrases, Parts.of)
        return self._by_phrase

    async def _ready(
        self, specs: tuple[ExpertSpec, ...], readers: "Readers | None", spent: "Spent | None"
    ) -> "Prepared":
        """The specifications, prepared; again only where one of them is another object than before."""
        from parley.agents.matching.features import Prepared

        async with self._preparing:
            cached = self._prepared.get(readers is not None)
            if (
                cached is not None
                and len(cached[0]) == len(specs)
                and all(a is b for a, b in zip(cached[0], specs, strict=True))
            ):
                return cached[1]
            prepared = await asyncio.to_thread(Prepared, specs)
            if readers is not None:
                if prepared.apart:
                    prepared.index(await self._subjects(readers).of(prepared.specs, spent))
                else:
                    phrases = await self._phrases(readers).of(prepared.specs, spent)
                    await asyncio.to_thread(prepared.compare_by, phrases)
            self._prepared[readers is not None] = specs, prepared
            return prepared


def _texts(prepared: "Prepared", task_read: "ReadTask") -> tuple[str, ...]:
    """What is to be encoded of a task."""
    return task_read.parts[:1] if prepared.apart else task_read.texts


def _row(prepared: "Prepared", rows: "list[Vectors]") -> "Vectors":
    """What the matcher takes of it."""
    import numpy as np

    return rows[0] if prepared.apart else np.stack(rows)


def _of(readers: "Readers", prepared: "Prepared") -> "Encoder":
    return readers.apart if prepared.apart else readers.alike


def match(task: Task, specs: Sequence[ExpertSpec], *, keyword: bool = False) -> Matched:
    """The source's own score: the baseline; with `keyword` as 9.2's degraded mode, and called that."""
    return words.match(task, specs, name="keyword" if keyword else "words")
