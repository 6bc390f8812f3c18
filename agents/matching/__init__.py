"""Which experts does a task call for, and how surely (seeds/madp.md 3; docs/madp.md).

    words     the source's own score: triggers that stand in the prompt as bare strings (agents/matching/words.py)
    better    words that are wanted, in any inflection and spelling, and what the embedded encoder makes of everything
              a specification says, weighed (agents/matching/better.py)

One Matcher is kept by whoever matches: it prepares the specifications once, and again when they are others.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agents.matching import words
from schemas.expert import ExpertSpec
from schemas.madp import Matched, Task

if TYPE_CHECKING:  # numpy: not for an expert's process, which reads but does not match
    from agents.encoders import Encoder, Spent
    from agents.matching.features import Prepared
    from agents.matching.topics import Vectors
    from agents.matching.vectors import SpecVectors

__all__ = ["Matcher", "match"]

_AT_ONCE = 2
"""Threads that encode: a core each."""


class Matcher:
    """Finds candidates. Safe for several tasks at once on one event loop.

    Parameters
    ----------
    encoder
        The embedded one: weights are fitted to it, so another one is not used. None: words alone decide.
    """

    def __init__(self, encoder: "Encoder | None" = None) -> None:
        from agents.matching.better import weights

        self._encoder = encoder if encoder is not None and encoder.name == weights().encoder else None
        self._vectors: SpecVectors | None = None
        self._prepared: dict[bool, tuple[tuple[ExpertSpec, ...], Prepared]] = {}
        self._preparing = asyncio.Lock()

    async def match(self, task: Task, specs: Sequence[ExpertSpec], spent: "Spent | None" = None) -> Matched:
        """The candidates for a task, the most confident first; none: it abstains.

        Raises
        ------
        EncoderError
            The encoder has no vectors; `by_words` needs none.
        """
        return (await self.match_all((task,), specs, spent))[0]

    async def match_all(
        self, tasks: Sequence[Task], specs: Sequence[ExpertSpec], spent: "Spent | None" = None
    ) -> list[Matched]:
        """The same for many tasks, in their order."""
        from agents.matching.better import decide

        prepared = await self._ready(tuple(specs), self._encoder, spent)
        heard = [prepared.hear(task) for task in tasks]
        if self._encoder is None:
            return [decide(prepared, h, None, specs) for h in heard]
        texts = [list(h.parts) for h in heard]
        size = -(-len(texts) // _AT_ONCE)
        rows = await asyncio.gather(*(self._encoded(texts[i : i + size], spent) for i in range(0, len(texts), size)))
        flat = [r for some in rows for r in some]
        return [decide(prepared, h, r, specs) for h, r in zip(heard, flat, strict=True)]

    async def by_words(self, task: Task, specs: Sequence[ExpertSpec]) -> Matched:
        """As `match`, without the encoder."""
        from agents.matching.better import decide

        prepared = await self._ready(tuple(specs), None, None)
        return decide(prepared, prepared.hear(task), None, specs)

    async def _encoded(self, texts: Sequence[list[str]], spent: "Spent | None") -> list["Vectors"]:
        assert self._encoder is not None
        rows = await self._encoder.encode([t for some in texts for t in some], spent)
        found, start = [], 0
        for some in texts:
            found.append(rows[start : start + len(some)])
            start += len(some)
        return found

    async def _ready(
        self, specs: tuple[ExpertSpec, ...], encoder: "Encoder | None", spent: "Spent | None"
    ) -> "Prepared":
        """The specifications, prepared; again only where one of them is another object than before."""
        from agents.matching.features import Prepared
        from agents.matching.vectors import SpecVectors

        async with self._preparing:
            kept = self._prepared.get(encoder is not None)
            if (
                kept is not None
                and len(kept[0]) == len(specs)
                and all(a is b for a, b in zip(kept[0], specs, strict=True))
            ):
                return kept[1]
            vectors = None
            if encoder is not None:
                self._vectors = self._vectors or SpecVectors(encoder)
                vectors = await self._vectors.of([s for s in specs if not s.general], spent)
            prepared = await asyncio.to_thread(Prepared, specs, vectors)
            self._prepared[encoder is not None] = specs, prepared
            return prepared


def match(task: Task, specs: Sequence[ExpertSpec], *, keyword: bool = False) -> Matched:
    """The source's own score: the baseline; with `keyword` as 9.2's degraded mode, and called that."""
    return words.match(task, specs, name="keyword" if keyword else "words")
