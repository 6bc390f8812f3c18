"""What experts' specifications say, prepared once, and how a task compares with each: the features of the matcher.

Nothing here names an expert. Words of a task count whole, in any inflection, put right where they are misspelt, and
only where the task wants what they say; what an encoder makes of its sentences is compared with the sentences of each
specification.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agents.matching import topics
from agents.matching.plain import plain
from agents.matching.reading import Reading, read, roots, stands_in
from agents.matching.spelling import Speller
from agents.matching.words import files
from schemas.expert import ExpertSpec
from schemas.madp import Task

NAMES = (
    "example", "examples", "middle", "owns", "claim", "triggers", "cues", "subject", "primary", "secondary", "files",
    "words", "unwanted",
)  # fmt: skip
"""Of the features of one expert, in their order; the first six and `subject` are by an encoder, and 0 without one."""
BY_ENCODER = (0, 1, 2, 3, 4, 5, 7)
SCOPE = ("nearest", "own nearest", "cues", "words", "triggered", "none", "sure", "short", "files")
"""Of the features of a task as a whole: how much of it anybody's specification speaks to."""
_NEAREST = 3
_MOST_PARTS = 6
"""Sentences of a long task that are encoded, beside the whole."""
_SHORT = 3
"""Words of meaning up to which a task says hardly anything."""
_WEIGHTS = {"primary": 3.0, "secondary": 2.0, "owns": 2.0, "claim": 2.0, "examples": 1.0}

Vectors = NDArray[np.float32]
Floats = NDArray[np.float64]


def sentences(spec: ExpertSpec) -> dict[str, tuple[str, ...]]:
    """What of a specification is encoded, by part."""
    return {
        "examples": spec.triggers.examples or spec.domain.owns,
        "owns": spec.domain.owns,
        "claim": (spec.deliberation.claim,),
        "triggers": (*spec.triggers.primary, *spec.triggers.secondary),
    }


@dataclass(frozen=True, slots=True)
class Heard:
    """A task as it is matched."""

    task: Task
    reading: Reading
    unwanted: str
    """The words that the task says it does not want."""
    parts: tuple[str, ...]
    """Texts to encode: all of it, then its sentences if it is long. None: it says nothing."""
    cues: Floats
    """As topics.by_cues gives them."""


class Prepared:
    """Specifications, prepared for words. General-purpose ones are left out: nothing of theirs is matched.

    Parameters
    ----------
    specs
        Of the experts that are there.
    vectors
        Those of each specification's sentences, by id and part (`sentences`); None: there is no encoder.
    """

    def __init__(self, specs: Sequence[ExpertSpec], vectors: Mapping[str, Mapping[str, Vectors]] | None = None) -> None:
        self.specs = tuple(s for s in specs if not s.general)
        self.ids = tuple(s.id for s in specs)
        self.encoded = vectors is not None and bool(self.specs)
        texts = [t for s in self.specs for part in sentences(s).values() for t in part]
        own = (w for t in texts for w in re.findall(r"[a-z]+", t.lower()))
        self.speller = Speller((*own, *topics.vocabulary()))
        self._index_triggers()
        self._index_words()
        self._subjects = self._by_cues()
        if vectors is not None and self.specs:
            self._index_vectors(vectors)
        shares = self._subjects / np.maximum(self._subjects.sum(axis=0), 1e-9)
        self._whose = np.where(self._subjects.sum(axis=0) > 1e-6, shares, 0.0)
        """(experts, subjects): whose a subject is, as shares."""
        places = [i for i, s in enumerate(topics.subjects()) if s.name == topics.NONE]
        self._none = places[0]
        self._none_theirs = float(self._subjects[:, self._none].max(initial=0.0))

    # -- preparing
    def _index_triggers(self) -> None:
        self._triggers: dict[str, list[tuple[int, int, tuple[str, ...]]]] = {}
        """First root -> (expert, 0 primary or 1 secondary, all roots)."""
        for i, spec in enumerate(self.specs):
            for column, phrases in enumerate((spec.triggers.primary, spec.triggers.secondary)):
                for phrase in phrases:
                    key = roots(phrase)
                    if key:
                        self._triggers.setdefault(key[0], []).append((i, column, key))

    def _index_words(self) -> None:
        counts: dict[str, Floats] = {}
        n = len(self.specs)
        for i, spec in enumerate(self.specs):
            t, d = spec.triggers, spec.domain
            parts = {"primary": t.primary, "secondary": t.secondary, "owns": d.owns, "examples": t.examples}
            for part, phrases in (*parts.items(), ("claim", (spec.deliberation.claim,))):
                for phrase in phrases:
                    for word in set(roots(phrase)):
                        counts.setdefault(word, np.zeros(n))[i] += _WEIGHTS[part]
            for other, what in d.defers.items():  # what others leave to an expert is its own
                if other in self.ids and (place := self._place(other)) is not None:
                    for word in set(roots(what)):
                        counts.setdefault(word, np.zeros(n))[place] += _WEIGHTS["owns"]
        self._words = {}
        for word, row in counts.items():
            log = np.log1p(row)
            self._words[word] = log / log.sum() * math.log(1 + n / np.count_nonzero(row))

    def _place(self, expert: str) -> int | None:
        return next((i for i, s in enumerate(self.specs) if s.id == expert), None)

    def _by_cues(self) -> Floats:
        found = np.zeros((len(self.specs), len(topics.subjects())))
        for i, spec in enumerate(self.specs):
            weighed = [(p, 1.0) for p in (*spec.triggers.primary, *spec.domain.owns, spec.deliberation.claim)]
            weighed += [(p, 0.5) for p in spec.triggers.secondary]
            for phrase, weight in weighed:
                row = topics.by_cues(phrase)
                found[i] += weight * row / max(1.0, row.sum())
        return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-9))

    def _index_vectors(self, vectors: Mapping[str, Mapping[str, Vectors]]) -> None:
        rows = [vectors[s.id] for s in self.specs]
        self._parts = {part: _Rows([row[part] for row in rows]) for part in rows[0]}
        middles = np.stack([row["examples"].mean(axis=0) for row in rows])
        self._middles = middles / np.maximum(np.linalg.norm(middles, axis=1, keepdims=True), 1e-9)
        weights = {"examples": 0.3, "owns": 1.0, "claim": 1.0, "triggers": 0.5}
        total = np.zeros_like(self._subjects)
        mass = np.zeros((len(rows), 1))
        for i, row in enumerate(rows):
            for part, weight in weights.items():
                total[i] += weight * topics.by_encoder(row[part]).sum(axis=0)
                mass[i] += weight * len(row[part])
        self._subjects = (self._subjects + total / mass) / 2

    # -- comparing
    def hear(self, task: Task) -> Heard:
        """A task, read."""
        said = self.speller.right(plain(task.prompt, self.ids))
        reading = read(said)
        if len(reading.words) <= _SHORT and task.prior_conversation:
            before = next((m.text for m in reversed(task.prior_conversation) if m.role == "user"), "")
            said = f"{said}\n{plain(before, self.ids)[:1_000]}".strip()
            reading = read(said)
        parts: tuple[str, ...] = ()
        if reading.words:
            pieces = [p for p in re.split(r"(?<=[.!?;])\s+|\n+", reading.kept) if len(read(p).words) >= _SHORT]
            parts = (reading.kept, *(pieces[-_MOST_PARTS:] if len(pieces) > 1 else ()))
        code = " ".join(s[:400] for s in task.code_snippets[:3])
        return Heard(
            task=task, reading=reading, unwanted=" ".join(w.text for w in reading.words if not w.wanted),
            parts=parts, cues=topics.by_cues(f"{reading.kept}\n{code}" if code else reading.kept),
        )  # fmt: skip

    def features(self, heard: Heard, vectors: Vectors | None) -> tuple[Floats, Floats]:
        """(experts' features, shape (experts, NAMES); the task's, shape (SCOPE,)).

        Parameters
        ----------
        vectors : shape (parts, dimension)
            Of `heard.parts`; None: there are none.
        """
        n = len(self.specs)
        found = np.zeros((n, len(NAMES)))
        wanted = heard.reading.wanted
        mass = heard.cues.sum()
        found[:, 6] = self._whose @ heard.cues / max(1.5, mass)
        for word in set(wanted):
            for i, column, key in self._triggers.get(word, ()):
                if stands_in(key, wanted):
                    found[i, 8 + column] += 1
        found[:, 10] = [files(s, heard.task) for s in self.specs] if heard.task.files_mentioned else 0
        found[:, 8:11] = np.minimum(found[:, 8:11], 2)
        known = [self._words[w] for w in set(wanted) if w in self._words]
        found[:, 11] = sum(known) / max(1, len(set(wanted))) if known else 0
        if heard.unwanted:
            row = topics.by_cues(heard.unwanted)
            found[:, 12] = self._whose @ row / max(1.5, row.sum())
            for word in set(heard.reading.unwanted):
                for i, _, key in self._triggers.get(word, ()):
                    found[i, 12] += 0.5 * stands_in(key, heard.reading.unwanted)
        sure = none = 0.0
        if vectors is not None and len(vectors) and self.encoded:
            sure, none = self._compare(found, vectors)
        scope = np.array([
            found[:, 1].max(initial=0), found[:, 3].max(initial=0), min(mass, 3.0), found[:, 11].max(initial=0),
            min(2.0, found[:, 8:10].sum(axis=1).max(initial=0)), none, sure, float(len(set(wanted)) <= 2),
            min(2.0, found[:, 10].max(initial=0)),
        ])  # fmt: skip
        return found, scope

    def _compare(self, found: Floats, vectors: Vectors) -> tuple[float, float]:
        """Fill in the features that an encoder gives: (the likeliest subject's probability, that of none of theirs)."""
        chances = topics.by_encoder(vectors)
        rows = np.zeros((len(vectors), len(self.specs), len(BY_ENCODER)))
        for k, vector in enumerate(vectors):
            rows[k, :, 0], rows[k, :, 1] = self._parts["examples"].nearest(vector)
            rows[k, :, 2] = self._middles @ vector
            rows[k, :, 3] = self._parts["owns"].nearest(vector)[0]
            rows[k, :, 4] = self._parts["claim"].nearest(vector)[0]
            rows[k, :, 5] = self._parts["triggers"].nearest(vector)[1]
        rows[:, :, 6] = chances @ self._whose.T
        mixed = rows[0] if len(rows) == 1 else (rows[0] + rows[1:].mean(axis=0)) / 2
        found[:, list(BY_ENCODER)] = mixed
        mean = chances[0] if len(chances) == 1 else (chances[0] + chances[1:].mean(axis=0)) / 2
        return float(mean.max()), float(mean[self._none]) * (1 - self._none_theirs)


class _Rows:
    """Sentences of one part of all specifications."""

    def __init__(self, rows: Sequence[Vectors]) -> None:
        self._all = np.concatenate(rows)
        longest = max(map(len, rows))
        starts = np.cumsum([0, *map(len, rows)])
        self._of = np.full((len(rows), longest), len(self._all))
        for i, row in enumerate(rows):
            self._of[i, : len(row)] = np.arange(starts[i], starts[i] + len(row))
        self._counts = np.minimum(_NEAREST, np.array([len(r) for r in rows]))

    def nearest(self, vector: Vectors) -> tuple[Floats, Floats]:
        """Of each specification: (the greatest cosine, the mean of the greatest three)."""
        cosines = np.append(self._all @ vector, np.float32(-2.0))[self._of]
        if cosines.shape[1] > _NEAREST:
            cosines = -np.partition(-cosines, _NEAREST - 1, axis=1)[:, :_NEAREST]
        best = np.where(cosines > -2, cosines, 0.0)
        return cosines.max(axis=1).astype(np.float64), best.sum(axis=1) / self._counts
