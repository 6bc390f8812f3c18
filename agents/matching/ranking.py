"""Experts of any field, ranked by what their specifications say: for registries whose experts no subject of software
work tells apart (agents/matching/features.py).

Compared are a task's vector (agents/matching/task_encoder.py) and its words with every phrase of a specification: what
it owns, its triggers, its examples, its claim and how it works; and with what others leave to it. What the task does
not want is cut off before. Weights are of such features and of no expert, in ranking.json, fitted by evaluation
.fit_ranking on registries of many fields (research/parley_research/registries/fit); which tasks are nobody's, too.
"""

import math
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum, auto
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from parley.agents.encoders.base import Vectors
from parley.agents.matching import fitted
from parley.agents.matching.fitted import Weights, standing
from parley.agents.matching.subjects import Floats
from parley.schemas.expert import ExpertSpec

FILE = Path(__file__).parent / "ranking.json"
OTHERS = Path(__file__).parent / "others.npz"
"""`rows`: vectors of tasks of many fields, by the same encoder, that a specification's nearness is held against."""
_NEAR = 8
"""Phrases of a specification that are nearest to a task."""
_FEW = 3
_USUAL_COUNT = 12
"""Experts of a registry as they mostly are; the more there are beyond, the nearer somebody lies to anything."""
_DRAWN = 400
"""Examples, at most, by which it is found how near a registry's own tasks lie to it."""
_SAME = 0.995
"""Cosine from which on two phrases are the same."""
_AS_USUAL = (4.0, 1.5)
"""Mean and standard deviation of Rank.BEYOND of a registry's own tasks, before any example is seen."""
_ENOUGH_EXAMPLES, _RARE = 20, 0.02
"""From so many examples an expert on they tell how near its tasks lie: what is further off than all but this share of
them is nobody's."""
_PRIOR = 10
"""How many examples that counts as."""
_WORD = re.compile(r"[a-z0-9]+")
_PIECES = (3, 4, 5)
"""Lengths of pieces of words, in characters."""
_LONGEST = 24
_HOW = 12
"""Lines of how an expert works that are compared."""


class Rank(IntEnum):
    """Columns of what is known of one expert beside a task; ranking.json has one weight for each, in this order."""

    NEAREST = 0
    """The task's vector beside those of all phrases: the greatest cosine."""
    NEAR = auto()
    """The mean of the greatest eight."""
    TRIGGERS = auto()
    """Beside its triggers: the mean."""
    EXAMPLES = auto()
    """Beside its examples, or what it owns where it has none: the mean of the greatest three."""
    PROFILE = auto()
    """Beside all of it in one text."""
    BEYOND = auto()
    """NEAR, beside that of tasks of many other fields: how far above their mean, in standard deviations. So what lies
    near to everything counts less."""
    PRIMARY = auto()
    """Primary triggers that the task wants, up to 2."""
    SECONDARY = auto()
    FILES = auto()
    """Files of its patterns."""
    FILE_NAMES = auto()
    """Words of the files' names beside its phrases."""
    WORDS = auto()
    """Its share of the task's words."""
    PIECES = auto()
    """Pieces of the task's words that stand in its specification: words made of each other, and misspelt ones."""
    GIVEN = auto()
    """Beside what others leave to it."""


BY_ENCODER = (
    Rank.NEAREST, Rank.NEAR, Rank.TRIGGERS, Rank.EXAMPLES, Rank.PROFILE, Rank.BEYOND, Rank.FILE_NAMES, Rank.GIVEN,
)  # fmt: skip
_TOLD = [
    Rank.NEAREST, Rank.NEAR, Rank.PROFILE, Rank.BEYOND, Rank.PRIMARY, Rank.SECONDARY, Rank.FILES, Rank.WORDS,
    Rank.PIECES,
]  # fmt: skip
"""What confidence goes by, of the expert itself."""
SIGNS = (0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, 1)
"""Of what `task_features` says: the more of a task anybody speaks to, the more it is somebody's."""


def weights() -> Weights:
    """The shipped ones."""
    return fitted.weights(FILE)


@lru_cache(maxsize=1)
def others() -> Vectors:
    """The shipped ones."""
    with np.load(OTHERS) as data:
        return np.asarray(data["rows"].astype(np.float32))


def phrases(spec: ExpertSpec) -> dict[str, tuple[str, ...]]:
    """What of a specification is encoded, by part."""
    t, d = spec.triggers, spec.domain
    how = [line.strip(" -*#\t") for line in spec.instructions.splitlines()]
    how = [line for line in how if len(line) > 12][:_HOW]
    triggers = (*t.primary, *t.secondary)
    claim = f"{spec.name}: {spec.deliberation.claim}"
    return {
        "triggers": triggers,
        "examples": t.examples or d.owns,
        "owns": (*d.owns, claim, *how),
        "profile": (f"{claim} {'; '.join(d.owns)}. {', '.join(triggers)}",),
        "leaves": tuple(d.defers.values()),
    }


class Parts(NamedTuple):
    """What the encoder makes of one specification, by part."""

    every: Vectors
    """All phrases that are its own."""
    triggers: Vectors
    examples: Vectors
    profile: Vectors
    leaves: Vectors

    @classmethod
    def of(cls, read_as: Mapping[str, Vectors]) -> "Parts":
        """From its phrases' vectors."""
        own = np.concatenate([read_as["owns"], read_as["triggers"], read_as["examples"]])
        return cls(own, read_as["triggers"], read_as["examples"], read_as["profile"], read_as["leaves"])


class Pieces:
    """Pieces of words that specifications are made of, rare ones counting more."""

    def __init__(self, specs: Sequence[ExpertSpec]) -> None:
        of = [pieces(" ".join(t for part in ("owns", "triggers", "examples") for t in phrases(s)[part])) for s in specs]
        who_has: dict[str, list[int]] = {}
        for i, own in enumerate(of):
            for piece in own:
                who_has.setdefault(piece, []).append(i)
        n = len(specs)
        self._count = n
        self._new = math.log(n + 1) ** 2
        rare = [0.0, *(math.log((n + 1) / (count + 0.5)) ** 2 for count in range(1, n + 1))]
        self._places = {piece: i for i, piece in enumerate(who_has)}
        self._rare = np.array([rare[len(who)] for who in who_has.values()])
        self._who = [np.array(who, np.int32) for who in who_has.values()]

    def shares(self, text: str) -> Floats:
        """(experts,): how much of a text's pieces each specification has, 0 to 1."""
        every = pieces(text)
        known = sorted(k for piece in every if (k := self._places.get(piece)) is not None)
        if not known:
            return np.zeros(self._count)
        rare, who = self._rare[known], [self._who[k] for k in known]
        total = float(rare.sum()) + self._new * (len(every) - len(known))
        sums = np.bincount(np.concatenate(who), np.repeat(rare, list(map(len, who))), self._count)
        return np.asarray(np.sqrt(sums / max(total, 1e-9)))


def pieces(text: str) -> frozenset[str]:
    """The pieces of a text's words."""
    return frozenset().union(*map(_pieces_of, set(_WORD.findall(text.lower()))))


@lru_cache(maxsize=20_000)
def _pieces_of(word: str) -> frozenset[str]:
    edged = f"<{word[:_LONGEST]}>"
    return frozenset(edged[i : i + size] for size in _PIECES for i in range(len(edged) - size + 1))


class Compared:
    """Vectors of all specifications, in one table.

    Parameters
    ----------
    beside
        Tasks of other fields; None: the shipped ones.
    """

    def __init__(self, specs: Sequence[ExpertSpec], parts: Sequence[Parts], beside: Vectors | None = None) -> None:
        self._every = _Table([p.every for p in parts])
        self._triggers = _Table([p.triggers for p in parts])
        self._examples = _Table([p.examples for p in parts])
        self._profiles = np.concatenate([p.profile for p in parts])
        ids = {s.id: i for i, s in enumerate(specs)}
        deferred: list[list[Vectors]] = [[] for _ in specs]
        for spec, own in zip(specs, parts, strict=True):
            for other, row in zip(spec.domain.defers, own.leaves, strict=True):
                if other in ids:
                    deferred[ids[other]].append(row)
        width = self._profiles.shape[1]
        self._deferred = _Table([np.array(rows).reshape(len(rows), width) for rows in deferred])
        beside = others() if beside is None else beside
        self._near = _usual([p.every for p in parts], beside)
        near = self._own_tasks(parts)
        middle = (sum(near) + _PRIOR * _AS_USUAL[0]) / (len(near) + _PRIOR)
        squares = sum((f - middle) ** 2 for f in near) + _PRIOR * _AS_USUAL[1] ** 2
        self.usual: tuple[float, float] = middle, math.sqrt(squares / (len(near) + _PRIOR))
        """(mean, standard deviation) of the greatest Rank.BEYOND that tasks of this registry have, by its examples."""
        many = sum(len(p.examples) for p in parts) >= _ENOUGH_EXAMPLES * len(parts)
        self._least = float(np.quantile(near, _RARE)) if many else -math.inf

    def is_far(self, ranks: Floats) -> bool:
        """Whether a task lies further off than nearly all examples of this registry do from the others; False where
        there are too few to tell."""
        return bool(ranks[:, Rank.BEYOND].max() < self._least)

    def _own_tasks(self, parts: Sequence[Parts]) -> list[float]:
        """The greatest Rank.BEYOND of each example, beside all other phrases."""
        examples = np.concatenate([p.examples for p in parts])
        drawn = examples[:: -(-len(examples) // _DRAWN) or 1]
        mean, spread = self._near
        return [float(((_mean(self._every.sorted(example, _SAME), _NEAR) - mean) / spread).max()) for example in drawn]

    def fill(self, ranks: Floats, task_vector: Vectors, names: Vectors | None) -> None:
        """The columns by the encoder, of a task's vector and that of its files' names."""
        every = self._every.sorted(task_vector)
        ranks[:, Rank.NEAREST] = every[:, 0]
        ranks[:, Rank.NEAR] = _mean(every, _NEAR)
        triggers = self._triggers.sorted(task_vector)
        ranks[:, Rank.TRIGGERS] = _mean(triggers, triggers.shape[1])
        ranks[:, Rank.EXAMPLES] = _mean(self._examples.sorted(task_vector), _FEW)
        ranks[:, Rank.PROFILE] = self._profiles @ task_vector
        mean, spread = self._near
        ranks[:, Rank.BEYOND] = (ranks[:, Rank.NEAR] - mean) / spread
        ranks[:, Rank.GIVEN] = _mean(self._deferred.sorted(task_vector), 1)
        if names is not None:
            ranks[:, Rank.FILE_NAMES] = _mean(self._every.sorted(names), _FEW)


class _Table:
    """Vectors of one part of all specifications; of each a row, those of one expert together."""

    def __init__(self, rows: Sequence[Vectors]) -> None:
        self._rows = np.concatenate(rows)
        counts = np.array([len(r) for r in rows])
        self._present = np.arange(max(1, int(counts.max(initial=0)))) < counts[:, None]

    def sorted(self, vector: Vectors, below: float = math.inf) -> Floats:
        """(experts, most): cosines, the greatest first; NaN where there are no more, and for those that are not below a
        bound."""
        cosines = self._rows @ vector
        values = np.full(self._present.shape, np.nan)
        values[self._present] = cosines if below == math.inf else np.where(cosines < below, cosines, np.nan)
        return np.asarray(-np.sort(-values, axis=1))


def _usual(parts: Sequence[Vectors], beside: Vectors) -> tuple[Floats, Floats]:
    """(mean, standard deviation) of Rank.NEAR of tasks of other fields, of each specification."""
    samples = []
    for rows in parts:
        cosines = -np.sort(-(beside @ rows.T), axis=1)[:, :_NEAR]
        each = cosines.mean(axis=1)
        samples.append((float(each.mean()), max(float(each.std()), 1e-3)))
    mean, spread = np.array(samples).reshape(len(samples), 2).T
    return mean, spread


def _mean(cosines: Floats, most: int) -> Floats:
    """Of the greatest so many; 0 of none."""
    few = cosines[:, :most]
    present = ~np.isnan(few)
    return np.asarray(np.where(present, few, 0.0).sum(axis=1) / np.maximum(1, present.sum(axis=1)))


def described(scores: Floats, ranks: Floats, task_row: Floats) -> Floats:
    """What confidence and relevance are computed from: (experts, 4 + _TOLD + `task_features` without its constant)."""
    n = len(scores)
    count = np.full((n, 1), math.log(n))
    return np.hstack([standing(scores), count, ranks[:, _TOLD], np.broadcast_to(task_row[1:], (n, len(task_row) - 1))])


def task_features(ranks: Floats, roots: int, usual: tuple[float, float] | None) -> Floats:
    """Of a task, how much of it anybody's specification speaks to.

    Parameters
    ----------
    roots
        Words of meaning that it has.
    usual
        As of Compared; None: the encoder was not asked.
    """
    most = ranks.max(axis=0, initial=0.0)
    beyond = 0.0 if usual is None else (most[Rank.BEYOND] - usual[0]) / usual[1]
    return np.array([
        1.0, most[Rank.NEAREST], most[Rank.NEAR], most[Rank.PROFILE], most[Rank.WORDS], most[Rank.PIECES],
        min(2.0, float((ranks[:, Rank.PRIMARY] + ranks[:, Rank.SECONDARY]).max(initial=0.0))),
        most[Rank.FILES], most[Rank.TRIGGERS], most[Rank.BEYOND], float(roots <= 2),
        math.log(max(1.0, len(ranks) / _USUAL_COUNT)), max(-4.0, min(4.0, beyond)),
    ])  # fmt: skip
