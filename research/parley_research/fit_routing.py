"""`python -m parley_research.fit_routing`: the matcher's weights, fitted on the golden set's half to develop on and on
the training tasks that were held back; after parley_research.fit_subjects and parley_research.training.reader, which
fit on the others.

Written are, in agents/matching: vectors.npz (of what the shipped experts' specifications say) and weights.json. The
half to be tested on is not read. Confidence is fitted on scores of prompts that the scores were not fitted on, in
turns; so are the thresholds.
"""

import argparse
import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from parley.agents.encoders import Encoder
from parley.agents.experts import builtin
from parley.agents.matching import features, vectors, weighted
from parley.agents.matching.features import Prepared
from parley.agents.matching.fitted import Fitted, Weights
from parley.agents.matching.subject_model import make_readers
from parley.agents.matching.subjects import Floats
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Task
from parley_research.fit_subjects import training
from parley_research.routing import Case
from parley_research.routing_data import GOLDEN, golden

SCORE_PENALTY, SURE_PENALTY = 1.0, 1.0
"""Of the squared weights."""
TAKES_PART = 0.1
"""Chance of having a part from which on an expert is a candidate: of 0.06 to 0.3, with this the depth by 4.1 agreed
most often on the half to develop on."""
_SIGNS = (0, 1, 1, -1, 1, 1, -1, 1, 0, 1, 0, 1, 1)
"""Of a constant and features.Scope: the more of a task a specification speaks to, the more it is somebody's."""
FOLDS, SEED = 10, 7
HARDLY = 1 / 160
"""Of all tasks: so many may be right less for not being read; for that, most are decided in a fifth of the time."""
SMALLER = (1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8, 10)
"""Experts of the registries, drawn from the shipped ones, that confidence is fitted for beside the whole: most tasks
are nobody's there."""


class Rows(NamedTuple):
    """Features of all prompts, and what is right."""

    features: Floats
    """(prompts, experts, features.Feature)."""
    scope: Floats
    """(prompts, features.Scope)."""
    lead: Floats
    """(prompts, experts): 1 for who may lead."""
    part: Floats
    """(prompts, experts): 1 for who may lead or support."""
    speaks: NDArray[np.bool_]
    """(prompts,): something is left of it."""


def fit_score(rows: Rows, use: NDArray[np.bool_], columns: Sequence[int]) -> Floats:
    """Weights of the score: the chance that somebody who may lead has by softmax is made as large as it gets."""
    scale = rows.features.std(axis=(0, 1)) + 1e-9
    x = (rows.features / scale)[use][:, :, list(columns)]
    y = rows.lead[use]

    def loss(w: Floats) -> tuple[float, Floats]:
        s = x @ w
        e = np.exp(s - s.max(axis=1, keepdims=True))
        p = e / e.sum(axis=1, keepdims=True)
        right = (p * y).sum(axis=1)
        slope = -((((p * y) / right[:, None] - p)[:, :, None] * x).sum(axis=(0, 1))) + SCORE_PENALTY * w
        return float(-np.log(right).sum() + SCORE_PENALTY / 2 * w @ w), slope

    # What a specification says speaks for its expert, and never against it; so it holds for other specifications too.
    bounds = [(None, 0.0) if c == features.Feature.UNWANTED else (0.0, None) for c in columns]
    coefficients = np.zeros(rows.features.shape[2])
    coefficients[list(columns)] = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.asarray(coefficients / scale)


def fit_sure(
    x: Floats, y: Floats, signs: Sequence[int] = (), counts: Floats | None = None, penalty: float = SURE_PENALTY
) -> Floats:
    """Logistic regression; the constant is not penalised.

    Parameters
    ----------
    y
        1 for yes, 0 for no.
    signs
        For each column: 1, its weight is not below 0; -1, not above; 0, it is free. Empty: all are free.
    counts
        How much each row counts; None: 1.
    penalty
        Of the squared weights.
    """
    n = np.ones(len(x)) if counts is None else counts
    scale = x.std(axis=0)
    scale[scale < 1e-9] = 1.0
    z = x / scale

    def loss(w: Floats) -> tuple[float, Floats]:
        s = z @ w
        value = (n * np.logaddexp(0, np.where(y > 0, -s, s))).sum() + penalty / 2 * (w[1:] ** 2).sum()
        slope = z.T @ (n * (1 / (1 + np.exp(-s)) - y))
        slope[1:] += penalty * w[1:]
        return float(value), slope

    bounds = [(0.0 if sign > 0 else None, 0.0 if sign < 0 else None) for sign in signs or [0] * x.shape[1]]
    return np.asarray(minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds).x / scale)


class Found(NamedTuple):
    """One set of weights, and how good it is on prompts that it was not fitted on."""

    fitted: Fitted
    right: Floats
    """(prompts,): 1 where it is right."""
    confidence: Floats
    """(prompts,): of the lead; 0 where it abstains."""


class Among(NamedTuple):
    """Prompts among one registry, each scored by weights that it was not used for."""

    rows: Rows
    told: Floats
    """(prompts, experts, what weighted.described says)."""
    first: NDArray[np.bool_]
    """(prompts, experts): the likeliest."""
    scope: Floats
    """(prompts, a constant and features.Scope)."""

    @property
    def anybody(self) -> Floats:
        """(prompts,): 1 where it is anybody's."""
        return np.asarray(self.rows.lead.max(axis=1), np.float64)

    @property
    def hit(self) -> Floats:
        """(prompts,): 1 where the likeliest may lead."""
        return np.asarray(np.where(self.first, self.rows.lead, 0.0).sum(axis=1))


def among(rows: Rows, weights: Sequence[Floats], fold: NDArray[np.int64]) -> Among:
    """Weights are one set a fold."""
    scores = np.einsum("pef,pf->pe", rows.features, np.array(weights)[fold])
    described = np.stack([weighted.described(*row) for row in zip(scores, rows.features, rows.scope, strict=True)])
    first = np.zeros(scores.shape, np.bool_)
    first[np.arange(len(first)), scores.argmax(axis=1)] = True
    return Among(rows, described, first, np.column_stack([np.ones(len(rows.scope)), rows.scope]))


def fit(rows: Rows, smaller: Sequence[Rows], columns: Sequence[int]) -> Found:
    """See Found.

    Parameters
    ----------
    smaller
        The same prompts, among fewer experts each: together they count as much as the whole.
    """
    inside = rows.lead.any(axis=1) & rows.speaks
    fold = np.random.Generator(np.random.PCG64(SEED)).permutation(len(inside)) % FOLDS
    scores = [fit_score(rows, inside & (fold != k), columns) for k in range(FOLDS)]
    whole, *few = [among(each, scores, fold) for each in (rows, *smaller)]
    counts = [1.0, *[1 / max(1, len(few))] * len(few)]

    def sure(of: Callable[[Among], NDArray[np.bool_]], wanted: Callable[[Among], Floats]) -> tuple[float, ...]:
        x = np.concatenate([each.told[of(each)] for each in (whole, *few)])
        y = np.concatenate([wanted(each)[of(each)] for each in (whole, *few)])
        each_counts = np.concatenate([np.full(of(e).sum(), n) for e, n in zip((whole, *few), counts, strict=True)])
        return _rounded(fit_sure(x, y, counts=each_counts))

    def somebody(use: NDArray[np.bool_]) -> Floats:
        x = np.concatenate([each.scope[use] for each in (whole, *few)])
        y = np.concatenate([each.anybody[use] for each in (whole, *few)])
        return fit_sure(x, y, _SIGNS, np.repeat(counts, use.sum()))

    chance = np.zeros((len(counts), len(fold)))
    for k in range(FOLDS):
        w = somebody(rows.speaks & (fold != k))
        for i, each in enumerate((whole, *few)):
            chance[i, fold == k] = 1 / (1 + np.exp(-(each.scope[fold == k] @ w)))
    chance = np.where(rows.speaks, chance, 0.0)
    abstain = _threshold(chance[0], whole.hit, 1 - whole.anybody)
    # What takes part is asked of those who do not lead: who leads has its confidence.
    fitted = Fitted(
        score=_rounded(fit_score(rows, inside, columns)),
        lead=sure(lambda e: e.rows.speaks[:, None] & np.ones_like(e.first), lambda e: e.rows.lead),
        part=sure(lambda e: e.rows.speaks[:, None] & ~e.first, lambda e: e.rows.part),
        inside=_rounded(somebody(rows.speaks)),
        abstain=abstain,
        takes_part=TAKES_PART,
    )
    said = 1 / (1 + np.exp(-(whole.told @ np.array(fitted.lead))))
    led = chance[0] >= abstain
    right = np.where(led, whole.hit, 1 - whole.anybody)
    return Found(fitted, right, np.where(led, np.where(whole.first, said, 0).sum(axis=1), 0.0))


class Judged(Protocol):
    """How a set of weights does on prompts that it was not fitted on."""

    @property
    def right(self) -> Floats:
        """(prompts,): 1 where it is right."""

    @property
    def confidence(self) -> Floats:
        """(prompts,): of the lead; 0 where it abstains."""


def enough(by_words: Judged, read: Judged) -> float:
    """The least confidence by words alone from which on to ask an encoder would make hardly a task more right."""
    threshold = 1.01
    for t in np.round(np.arange(0.99, 0.5, -0.01), 2):
        right = np.where(by_words.confidence >= t, by_words.right, read.right)
        if right.mean() < read.right.mean() - HARDLY:
            break
        threshold = float(t)
    return threshold


def _threshold(chance: Floats, hit: Floats, nobody: Floats) -> float:
    """The chance below which nobody leads: the middle of those with which most are right."""
    tries = np.round(np.arange(0.1, 0.9, 0.01), 2)
    shares = np.array([np.where(chance >= t, hit, nobody).mean() for t in tries])
    best = tries[shares >= shares.max() - 1e-9]
    return float(best[len(best) // 2])


def _rounded(w: Floats) -> tuple[float, ...]:
    return tuple(round(float(v), 5) for v in w)


async def rows_of(cases: Sequence[Case], prepared: Prepared, reader: Encoder | None) -> Rows:
    """Features of cases."""
    features, scopes, speaks = [], [], []
    for case in cases:
        heard = prepared.read_task(Task(prompt=case.prompt, files_mentioned=case.files))
        rows = await reader.encode(heard.parts[:1]) if reader is not None and heard.parts else None
        values, scope = prepared.features(heard, rows[0] if rows is not None else None)
        features.append(values)
        scopes.append(scope)
        speaks.append(bool(heard.reading.words) or bool(case.files))
    ids = [s.id for s in prepared.specs]
    lead = np.array([[float(i in case.right) for i in ids] for case in cases])
    part = np.array([[float(i in case.right or i in case.support) for i in ids] for case in cases])
    return Rows(np.array(features), np.array(scopes), lead, part, np.array(speaks))


async def fit_all(folder: Path, to: Path) -> dict[str, float]:
    """Write both files; the share of the prompts that are right, by set, on prompts not fitted on."""
    reader = make_readers().apart
    specs = builtin()
    texts = list(dict.fromkeys(t for s in specs for part in vectors.sentences(s).values() for t in part))
    np.savez_compressed(
        to / vectors.FILE.name, name=np.array(reader.name), rows=(await reader.encode(texts)).astype(np.float16),
        keys=np.frombuffer(b"".join(vectors.key(t) for t in texts), np.uint8),
    )  # fmt: skip
    vectors.shipped.cache_clear()
    cases = (*golden("dev", specs, folder).cases, *training(folder)[2])
    sets: dict[str, Found] = {}
    draw = np.random.Generator(np.random.PCG64(SEED))
    experts = [s for s in specs if not s.general]
    drawn = [[experts[i] for i in sorted(draw.permutation(len(experts))[:count])] for count in SMALLER]
    for name in ("read", "words"):
        mine = name == "read"

        async def rows(of: Sequence[ExpertSpec], mine: bool = mine) -> Rows:
            prepared = Prepared(of)
            prepared.apart = True
            if mine:
                said = vectors.SpecVectors(reader, vectors.sentences, vectors.Encoded.of)
                prepared.index(await said.of(prepared.specs))
            return await rows_of(cases, prepared, reader if mine else None)

        every = list(features.Feature)
        columns = [c for c in every if c not in features.PARTS and (mine or c not in features.BY_READER)]
        sets[name] = fit(await rows(specs), [await rows(few) for few in drawn], columns)
    weights = Weights(
        reader=reader.name, read=sets["read"].fitted, words=sets["words"].fitted,
        enough=enough(sets["words"], sets["read"]),
    )  # fmt: skip
    (to / weighted.FILE.name).write_bytes(msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n")
    return {name: float(result.right.mean()) for name, result in sets.items()}


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m parley_research.fit_routing", description=__doc__)
    parser.add_argument("--golden", type=Path, default=GOLDEN, metavar="DIR")
    parser.add_argument("--to", type=Path, default=weighted.FILE.parent, metavar="DIR")
    options = parser.parse_args(arguments)
    for name, share in asyncio.run(fit_all(options.golden, options.to)).items():
        print(f"{name}: {share:.1%} right, each prompt by weights fitted on others")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
