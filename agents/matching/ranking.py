"""Experts of any field, ranked by what their specifications say: for registries whose experts no subject of software
work tells apart (agents/matching/features.py).

Compared are a task's vector, by the plain encoder, and its words with every phrase of a specification: what it owns,
its triggers, its examples, its claim and how it works; what it leaves to others speaks against it, and what others
leave to it speaks for it. Weights are of such features and of no expert, in ranking.json, fitted by evaluation
.fit_ranking on registries of many fields (evaluation/registries/train); which tasks are nobody's, too.
"""

import math
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum, auto
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from agents.encoders.base import Vectors
from agents.matching.subjects import Floats
from schemas.expert import ExpertSpec

FILE = Path(__file__).parent / "ranking.json"
OTHERS = Path(__file__).parent / "others.npz"
"""`rows`: vectors of tasks of many fields, by the plain encoder, that a specification's nearness is held against."""
_NEAR = 8
"""Phrases of a specification that are nearest to a task."""
_FEW = 3
_FAR = 6.0
"""At this much a logarithm of a chance and a lead are cut."""
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
    TRIGGERS_BEYOND = auto()
    """The same of TRIGGERS."""
    LAST = auto()
    """As NEAR, of the task's last clause, which often says what is wanted; where it has but one, NEAR."""
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
    UNWANTED = auto()
    """What the task does not want, beside its phrases."""
    LEAVES = auto()
    """The task beside what it leaves to others."""
    GIVEN = auto()
    """Beside what others leave to it."""


AGAINST = (Rank.UNWANTED, Rank.LEAVES)
BY_ENCODER = (
    Rank.NEAREST, Rank.NEAR, Rank.TRIGGERS, Rank.EXAMPLES, Rank.PROFILE, Rank.BEYOND, Rank.TRIGGERS_BEYOND, Rank.LAST,
    Rank.FILE_NAMES, Rank.UNWANTED, Rank.LEAVES, Rank.GIVEN,
)  # fmt: skip
_TOLD = [
    Rank.NEAREST, Rank.NEAR, Rank.PROFILE, Rank.BEYOND, Rank.PRIMARY, Rank.SECONDARY, Rank.FILES, Rank.WORDS,
    Rank.PIECES,
]  # fmt: skip
"""What confidence goes by, of the expert itself."""
SIGNS = (0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
"""Of what `whole` says: the more of a task anybody speaks to, the more it is somebody's."""


class Fitted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One set of weights."""

    score: tuple[float, ...]
    """For each Rank."""
    lead: tuple[float, ...]
    """For what `described` says: that an expert is a right lead."""
    part: tuple[float, ...]
    """The same, for those who are not the likeliest lead: that one leads or supports."""
    inside: tuple[float, ...]
    """For what `whole` says: that the task is anybody's."""
    abstain: float
    """Nobody leads where the chance of that is below this."""
    takes_part: float
    """From which chance of having a part on an expert is a candidate beside the first."""


class Weights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """ranking.json."""

    read: Fitted
    words: Fitted
    """Without the encoder."""
    enough: float
    """Confidence by words alone from which on the encoder is not asked."""


@lru_cache(maxsize=1)
def weights() -> Weights:
    """The shipped ones."""
    return msgspec.json.decode(FILE.read_bytes(), type=Weights)


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
        for i, found in enumerate(of):
            for piece in found:
                who_has.setdefault(piece, []).append(i)
        n = len(specs)
        self._count = n
        self._new = math.log(n + 1) ** 2
        rare = [0.0, *(math.log((n + 1) / (count + 0.5)) ** 2 for count in range(1, n + 1))]
        self._known = {piece: (rare[len(who)], np.array(who)) for piece, who in who_has.items()}

    def shares(self, text: str) -> Floats:
        """(experts,): how much of a text's pieces each specification has, 0 to 1."""
        every = pieces(text)
        known = [k for piece in every if (k := self._known.get(piece)) is not None]
        if not known:
            return np.zeros(self._count)
        total = sum(rare for rare, _ in known) + self._new * (len(every) - len(known))
        weights = np.repeat([rare for rare, _ in known], [len(who) for _, who in known])
        found = np.bincount(np.concatenate([who for _, who in known]), weights, self._count)
        return np.asarray(np.sqrt(found / max(total, 1e-9)))


def pieces(text: str) -> frozenset[str]:
    """The pieces of a text's words."""
    return frozenset(
        edged[i : i + size]
        for word in set(_WORD.findall(text.lower()))
        for edged in (f"<{word[:_LONGEST]}>",)
        for size in _PIECES
        for i in range(len(edged) - size + 1)
    )


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
        self._leaves = _Table([p.leaves for p in parts])
        given: list[list[Vectors]] = [[] for _ in specs]
        for spec, own in zip(specs, parts, strict=True):
            for other, row in zip(spec.domain.defers, own.leaves, strict=True):
                if other in ids:
                    given[ids[other]].append(row)
        width = self._profiles.shape[1]
        self._given = _Table([np.array(rows).reshape(len(rows), width) for rows in given])
        beside = others() if beside is None else beside
        self._near = _usual([p.every for p in parts], beside, _NEAR)
        self._near_triggers = _usual([p.triggers for p in parts], beside, None)

    def fill(
        self, found: Floats, said: Vectors, last: Vectors | None, unwanted: Vectors | None, names: Vectors | None
    ) -> None:
        """The columns by the encoder, of a task's vector, that of its last clause, of what it does not want and of its
        files' names."""
        every = self._every.sorted(said)
        found[:, Rank.NEAREST] = every[:, 0]
        found[:, Rank.NEAR] = _mean(every, _NEAR)
        triggers = self._triggers.sorted(said)
        found[:, Rank.TRIGGERS] = _mean(triggers, triggers.shape[1])
        found[:, Rank.EXAMPLES] = _mean(self._examples.sorted(said), _FEW)
        found[:, Rank.PROFILE] = self._profiles @ said
        for to, of, (mean, spread) in (
            (Rank.BEYOND, Rank.NEAR, self._near), (Rank.TRIGGERS_BEYOND, Rank.TRIGGERS, self._near_triggers),
        ):  # fmt: skip
            found[:, to] = (found[:, of] - mean) / spread
        found[:, Rank.LAST] = found[:, Rank.NEAR] if last is None else _mean(self._every.sorted(last), _NEAR)
        found[:, Rank.LEAVES] = _mean(self._leaves.sorted(said), 1)
        found[:, Rank.GIVEN] = _mean(self._given.sorted(said), 1)
        if unwanted is not None:
            found[:, Rank.UNWANTED] = _mean(self._every.sorted(unwanted), _FEW)
        if names is not None:
            found[:, Rank.FILE_NAMES] = _mean(self._every.sorted(names), _FEW)


class _Table:
    """Vectors of one part of all specifications; of each a row, those of one expert together."""

    def __init__(self, rows: Sequence[Vectors]) -> None:
        self._rows = np.concatenate(rows)
        counts = np.array([len(r) for r in rows])
        self._there = np.arange(max(1, int(counts.max(initial=0)))) < counts[:, None]

    def sorted(self, vector: Vectors) -> Floats:
        """(experts, most): cosines, the greatest first; NaN where there are no more."""
        found = np.full(self._there.shape, np.nan)
        found[self._there] = self._rows @ vector
        return np.asarray(-np.sort(-found, axis=1))


def _usual(parts: Sequence[Vectors], beside: Vectors, most: int | None) -> tuple[Floats, Floats]:
    """(mean, standard deviation) of what tasks of other fields come to, of each specification."""
    found = []
    for rows in parts:
        if len(rows) == 0:
            found.append((0.0, 1.0))
            continue
        cosines = -np.sort(-(beside @ rows.T), axis=1)[:, :most]
        each = cosines.mean(axis=1)
        found.append((float(each.mean()), max(float(each.std()), 1e-3)))
    mean, spread = np.array(found).reshape(len(found), 2).T
    return mean, spread


def _mean(cosines: Floats, most: int) -> Floats:
    """Of the greatest so many; 0 of none."""
    few = cosines[:, :most]
    there = ~np.isnan(few)
    return np.asarray(np.where(there, few, 0.0).sum(axis=1) / np.maximum(1, there.sum(axis=1)))


def described(scores: Floats, found: Floats, whole_: Floats) -> Floats:
    """What confidence and relevance are computed from: (experts, 4 + _TOLD + `whole` without its constant)."""
    top = np.sort(scores)[::-1]
    chances = scores - top[0] - np.log(np.exp(scores - top[0]).sum())
    best = np.where(scores == top[0], top[1] if len(top) > 1 else top[0] - _FAR, top[0])
    rows = np.empty((len(scores), 4 + len(_TOLD) + len(whole_) - 1))
    rows[:, 0] = 1
    rows[:, 1] = np.maximum(chances, -_FAR)
    rows[:, 2] = np.clip(scores - best, -_FAR, _FAR)
    rows[:, 3] = math.log(len(scores))
    rows[:, 4 : 4 + len(_TOLD)] = found[:, _TOLD]
    rows[:, 4 + len(_TOLD) :] = whole_[1:]
    return rows


def whole(found: Floats, roots: int) -> Floats:
    """Of a task, how much of it anybody's specification speaks to.

    Parameters
    ----------
    roots
        Words of meaning that it has.
    """
    most = found.max(axis=0, initial=0.0)
    return np.array([
        1.0, most[Rank.NEAREST], most[Rank.NEAR], most[Rank.PROFILE], most[Rank.WORDS], most[Rank.PIECES],
        min(2.0, float((found[:, Rank.PRIMARY] + found[:, Rank.SECONDARY]).max(initial=0.0))),
        most[Rank.FILES], most[Rank.TRIGGERS], most[Rank.BEYOND], float(roots <= 2),
    ])  # fmt: skip


def chance(weights_: Sequence[float], rows: Floats) -> Floats:
    """Logistic."""
    return np.asarray(1 / (1 + np.exp(-(rows @ np.array(weights_)))))
