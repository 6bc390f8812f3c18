"""What experts' specifications say, prepared once, and how a task compares with each.

Nothing here names an expert. Words of a task count whole, in any inflection, put right where they are misspelt, and
only where the task wants what they say. Its vector is compared with those of a specification's title, of what it owns
and of its examples.
"""

import math
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto

import numpy as np
from numpy.typing import NDArray

from parley.agents.encoders import Encoder, Spent
from parley.agents.encoders.base import Vectors
from parley.agents.matching.sanitize import sanitized
from parley.agents.matching.spelling import Speller
from parley.agents.matching.word_roots import PromptReading, read_prompt, roots, stands_in
from parley.agents.matching.words import fit
from parley.agents.text.languages import is_foreign
from parley.schemas.expert import ExpertSpec, pin
from parley.schemas.routing import Task

Floats = NDArray[np.float64]


class Feature(IntEnum):
    """Columns of what is known of one expert beside a task."""

    PRIMARY = 0
    """Primary triggers that the task wants, up to 2."""
    SECONDARY = auto()
    FILES = auto()
    """Files of its patterns, up to 2."""
    WORDS = auto()
    """Its share of the task's words; of a short task, of so many words as make it long: one word says little."""
    UNWANTED = auto()
    """Triggers of its own that the task says it does not want, up to 2."""
    TITLE = auto()
    """The task's vector beside those of its name and its claim: the greatest cosine."""
    OWNS = auto()
    """Beside what it owns: the greatest."""
    EXAMPLES = auto()
    """Beside its examples, or what it owns where it has none: the mean of the greatest three."""


_SHORT = 3
"""Words of meaning up to which a task says hardly anything."""
_BESIDE = 0.15
"""How much what a file is counts beside a task that says something."""
_CODE = 400
"""Characters of a snippet that are read."""
_MOST = 2
_NEAREST = 3
KEPT = 2_000
"""Specifications whose vectors a process keeps: some 200 MB where each says 60 things."""
_WEIGHTS = {"primary": 3.0, "secondary": 2.0, "owns": 2.0, "claim": 2.0, "examples": 1.0}
"""How much a word in each part of a specification makes it the expert's own."""


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A task as it is matched."""

    task: Task
    reading: PromptReading
    """Without words where it only sets something aside."""
    unwanted: tuple[str, ...]
    """Roots of the words that the task says it does not want."""
    text: str
    """What is encoded; empty: it says nothing."""
    foreign: bool = False
    """It is in another language than English."""

    @property
    def speaks(self) -> bool:
        """Whether anybody can be found by it."""
        return bool(self.text or self.task.files_mentioned) and not self.foreign


@dataclass(frozen=True, slots=True)
class Encoded:
    """What an encoder makes of one specification: of each part (sentences, dimension)."""

    title: Vectors
    owns: Vectors
    examples: Vectors


def sentences(spec: ExpertSpec) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """What of a specification is encoded: title, owns, examples."""
    return (spec.name, spec.deliberation.claim), spec.domain.owns, spec.triggers.examples or spec.domain.owns


class SpecVectors:
    """Vectors of what specifications say, computed once for each specification, by its pin."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._cache: OrderedDict[str, Encoded] = OrderedDict()

    async def of(self, specs: Sequence[ExpertSpec], spent: Spent | None = None) -> dict[str, Encoded]:
        """What the encoder makes of each specification, by id.

        Raises
        ------
        EncoderError
        """
        vectors: dict[str, Encoded] = {}
        for spec in specs:
            own = pin(spec)
            if own not in self._cache:
                parts = sentences(spec)
                texts = list(dict.fromkeys(t for part in parts for t in part))
                rows = dict(zip(texts, await self._encoder.encode(texts, spent), strict=True))
                self._cache[own] = Encoded(*(np.stack([rows[t] for t in part]) for part in parts))
            self._cache.move_to_end(own)
            vectors[spec.id] = self._cache[own]
        while len(self._cache) > max(KEPT, len(specs)):
            self._cache.popitem(last=False)
        return vectors


class Prepared:
    """Specifications, prepared for words; `index` prepares them for vectors too. General-purpose ones are left out:
    nothing of theirs is matched."""

    def __init__(self, specs: Sequence[ExpertSpec]) -> None:
        self.specs = tuple(s for s in specs if not s.general)
        self.beside = tuple(s for s in specs if s.general or s.reviews is not None)
        """Who takes what nobody does, and who reviews."""
        self.ids = tuple(s.id for s in specs)
        self.encoded = False
        self._vectors: list[Encoded] = []
        self.speller = Speller(w for s in self.specs for w in re.findall(r"[a-z]+", _all_of(s).lower()))
        self._index_triggers()
        self._index_words()

    # -- preparing
    def _index_triggers(self) -> None:
        self._triggers: dict[str, list[tuple[int, Feature, tuple[str, ...]]]] = {}
        """First root -> (expert, Feature.PRIMARY or SECONDARY, all roots)."""
        for i, spec in enumerate(self.specs):
            by_column = {Feature.PRIMARY: spec.triggers.primary, Feature.SECONDARY: spec.triggers.secondary}
            for column, phrases in by_column.items():
                for phrase in phrases:
                    key = roots(phrase)
                    if key:
                        self._triggers.setdefault(key[0], []).append((i, column, key))

    def _index_words(self) -> None:
        counts: dict[str, Floats] = {}
        n = len(self.specs)
        places = {s.id: i for i, s in enumerate(self.specs)}
        for i, spec in enumerate(self.specs):
            t, d = spec.triggers, spec.domain
            parts = {"primary": t.primary, "secondary": t.secondary, "owns": d.owns, "examples": t.examples}
            for part, phrases in (*parts.items(), ("claim", (spec.deliberation.claim,))):
                for phrase in phrases:
                    for word in set(roots(phrase)):
                        counts.setdefault(word, np.zeros(n))[i] += _WEIGHTS[part]
            for other, what in d.defers.items():  # what others leave to an expert is its own
                if (place := places.get(other)) is not None:
                    for word in set(roots(what)):
                        counts.setdefault(word, np.zeros(n))[place] += _WEIGHTS["owns"]
        self._words = {}
        for word, row in counts.items():
            log = np.log1p(row)
            self._words[word] = log / log.sum() * math.log(1 + n / np.count_nonzero(row)) / math.log(1 + n)

    def index(self, vectors: Mapping[str, Encoded]) -> None:
        """Take what the encoder makes of each, by id."""
        self._vectors = [vectors[s.id] for s in self.specs]
        self.encoded = True

    # -- comparing
    def read_task(self, task: Task) -> ReadTask:
        """A task, read."""
        prompt = self.speller.right(sanitized(task.prompt, self.ids))
        reading = read_prompt(prompt)
        if task.prior_conversation and (len(reading.words) <= _SHORT or not reading.wanted_text):
            before = next((m.text for m in reversed(task.prior_conversation) if m.role == "user"), "")
            prompt = f"{prompt}\n{sanitized(before, self.ids)[:1_000]}".strip()
            reading = read_prompt(prompt)
        unwanted = tuple(w.root for w in reading.words if not w.wanted)
        if not reading.wanted_text:
            reading = PromptReading((), "")
        code = " ".join(s[:_CODE] for s in task.code_snippets[:3])
        text = f"{reading.wanted_text}\n{code}".strip() if reading.words or code else ""
        return ReadTask(task=task, reading=reading, unwanted=unwanted, text=text, foreign=is_foreign(task.prompt))

    def features(self, task_read: ReadTask, vector: Vectors | None) -> Floats:
        """What is known of each expert: shape (experts, Feature).

        Parameters
        ----------
        vector
            What the encoder makes of the task's text; None: it was not asked.
        """
        features = np.zeros((len(self.specs), len(Feature)))
        wanted = task_read.reading.wanted
        for word in set(wanted):
            for i, column, key in self._triggers.get(word, ()):
                if stands_in(key, wanted):
                    features[i, column] += 1
        for word in set(task_read.unwanted):
            for i, _, key in self._triggers.get(word, ()):
                features[i, Feature.UNWANTED] += stands_in(key, task_read.unwanted)
        for name in task_read.task.files_mentioned:  # whoever has the most telling pattern has the file, others a share
            fits = np.array([fit(s, name) for s in self.specs])
            features[:, Feature.FILES] += fits / max(1, fits.max(initial=0))
        features = np.minimum(features, _MOST)
        if len(set(wanted)) > _SHORT:
            features[:, Feature.FILES] *= _BESIDE
        known = [self._words[w] for w in set(wanted) if w in self._words]
        if known:
            features[:, Feature.WORDS] = sum(known) / max(_SHORT, len(set(wanted)))
        if vector is not None:
            for i, own in enumerate(self._vectors):
                nearest = np.sort(own.examples @ vector)[-_NEAREST:]
                features[i, Feature.TITLE] = (own.title @ vector).max()
                features[i, Feature.OWNS] = (own.owns @ vector).max()
                features[i, Feature.EXAMPLES] = nearest.mean()
        return features


def _all_of(spec: ExpertSpec) -> str:
    triggers = (*spec.triggers.primary, *spec.triggers.secondary)
    return " ".join(t for part in (*sentences(spec), triggers) for t in part)
