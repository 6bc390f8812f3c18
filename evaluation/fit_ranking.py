"""`python -m evaluation.fit_ranking`: how experts of any field are ranked (agents/matching/ranking.py), fitted on the
invented registries (evaluation/registries/train), and on the half of the golden set to develop on among the shipped
experts; writes ranking.json.

Every figure that is printed, and all that confidence and abstention are fitted on, is of a registry that the ranking
was not fitted on (`left out`): it goes round, one registry at a time.
"""

import argparse
import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from agents.encoders import Encoder
from agents.encoders.base import Vectors
from agents.experts import builtin
from agents.matching import ranking
from agents.matching.features import Prepared
from agents.matching.ranking import AGAINST, BY_ENCODER, SIGNS, Rank, described
from agents.matching.subject_model import make_readers
from agents.matching.subjects import Floats
from agents.matching.vectors import SpecVectors
from evaluation.fit_routing import fit_sure
from evaluation.routing import Case, wilson
from evaluation.routing_data import RoutingSet, golden
from evaluation.routing_registries import TRAIN, TRAIN_MORE, registries
from schemas.routing import Task

PENALTY = 3.0
"""Of the squared weights of the score: of 0.3 to 30, all did about as well on registries left out."""
GOLDEN_COUNTS = 0.3
"""How much a task of the golden set counts: they are all of one registry."""
TAKES_PART = 0.15
PRECISION = 0.6
"""Of the tasks that nobody takes, at least so many shall be nobody's."""
HARDLY = 1 / 160
SMALLER = (1, 2, 3, 5)
"""Experts of the registries, drawn from each invented one, that confidence and abstention are fitted for beside the
whole: most of its tasks are nobody's there."""
SMALL_COUNTS = 0.15
OF_EACH, SEED = 12, 7
"""Prompts of each registry that are kept as tasks of other fields."""


class Rows(NamedTuple):
    """One registry: features of its prompts, and what is right."""

    name: str
    found: Floats
    """(prompts, experts, Rank)."""
    whole: Floats
    """(prompts, what ranking.whole says)."""
    lead: Floats
    part: Floats
    """(prompts, experts)."""
    counts: float
    kinds: tuple[str, ...]

    @property
    def anybody(self) -> NDArray[np.bool_]:
        """(prompts,): somebody should take it."""
        return np.asarray(self.lead.any(axis=1))


async def rows_of(of: RoutingSet, counts: float, plain: Encoder | None, beside: Vectors | None = None) -> Rows:
    """Of a registry. Prompts in other languages are left out: the matcher abstains of itself.

    Parameters
    ----------
    plain
        The plain encoder; None: by words.
    beside
        As of ranking.Compared.
    """
    prepared = Prepared(of.specs)
    prepared.apart = False
    if plain is not None:
        said_by = SpecVectors(plain, ranking.phrases, ranking.Parts.of)
        prepared.compare_by(await said_by.of(prepared.specs), beside)
    found, wholes, cases = [], [], []
    for case in of.cases:
        heard = prepared.read_task(Task(prompt=case.prompt, files_mentioned=case.files))
        if heard.foreign or not (heard.parts or case.files):
            continue
        rows = None if plain is None else np.stack(list(await plain.encode(heard.texts)))
        features, said = prepared.ranks(heard, rows)
        found.append(features)
        wholes.append(said)
        cases.append(case)
    ids = [s.id for s in prepared.specs]

    def right(named: Callable[[Case], frozenset[str]]) -> Floats:
        return np.array([[float(i in named(c)) for i in ids] for c in cases])

    return Rows(
        of.name, np.array(found), np.array(wholes), right(lambda c: c.right),
        right(lambda c: c.right | frozenset(c.support)), counts, tuple(c.kind for c in cases),
    )  # fmt: skip


def fit_score(sets: Sequence[Rows], columns: Sequence[int]) -> Floats:
    """Weights of the score: the chance that somebody who may lead has by softmax is made as large as it gets."""
    middle = [s.found - s.found.mean(axis=1, keepdims=True) for s in sets]
    scale = np.concatenate([m.reshape(-1, m.shape[2]) for m in middle]).std(axis=0) + 1e-9
    some = [(s.found[s.anybody][:, :, columns] / scale[columns], s.lead[s.anybody], s.counts) for s in sets]

    def loss(w: Floats) -> tuple[float, Floats]:
        value, slope = PENALTY / 2 * float(w @ w), PENALTY * w
        for x, y, n in some:
            scores = x @ w
            e = np.exp(scores - scores.max(axis=1, keepdims=True))
            p = e / e.sum(axis=1, keepdims=True)
            right = (p * y).sum(axis=1)
            value -= n * float(np.log(right).sum())
            slope = slope - n * (((p * y) / right[:, None] - p)[:, :, None] * x).sum(axis=(0, 1))
        return value, slope

    bounds = [(None, 0.0) if c in AGAINST else (0.0, None) for c in columns]
    weights = np.zeros(len(Rank))
    weights[columns] = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.asarray(weights / scale)


class LeftOut(NamedTuple):
    """One registry, scored by weights that it was not used for."""

    rows: Rows
    told: Floats
    """(prompts, experts, what ranking.described says)."""
    first: NDArray[np.int64]
    """(prompts,): the likeliest."""

    @property
    def hit(self) -> Floats:
        """(prompts,): 1 where the likeliest may lead."""
        return np.asarray(self.rows.lead[np.arange(len(self.first)), self.first])


class Found(NamedTuple):
    """One set of weights, and how it does on registries left out."""

    fitted: ranking.Fitted
    right: Floats
    confidence: Floats
    taken: NDArray[np.bool_]
    anybody: NDArray[np.bool_]
    kinds: tuple[str, ...]
    names: tuple[str, ...]


def fit(sets: Sequence[Rows], columns: Sequence[int], smaller: Sequence[Sequence[Rows]] = ()) -> Found:
    """See Found.

    Parameters
    ----------
    smaller
        Of each registry, the same prompts among fewer experts.
    """
    left, few = [], []
    for i, s in enumerate(sets):
        score = fit_score([o for o in sets if o is not s], columns)
        left.append(_left_out(s, score))
        few.append([_left_out(one, score) for one in (smaller[i] if smaller else ())])

    def sure(of: Sequence[LeftOut], *, parts: bool) -> Floats:
        x, y, n = [], [], []
        for one in of:
            use = np.ones(one.rows.lead.shape, np.bool_)
            if parts:
                use[np.arange(len(use)), one.first] = False
            x.append(one.told[use])
            y.append((one.rows.part if parts else one.rows.lead)[use])
            n.append(np.full(int(use.sum()), one.rows.counts))
        return fit_sure(np.concatenate(x), np.concatenate(y), counts=np.concatenate(n))

    def somebody(of: Sequence[LeftOut]) -> Floats:
        x = np.concatenate([one.rows.whole for one in of])
        y = np.concatenate([one.rows.anybody for one in of]).astype(np.float64)
        return fit_sure(x, y, SIGNS, np.concatenate([np.full(len(one.first), one.rows.counts) for one in of]))

    everything = [*left, *(one for some in few for one in some)]
    chance, said = [], []
    for i, one in enumerate(left):
        own = {id(o) for o in (one, *few[i])}
        others = [o for o in everything if id(o) not in own]
        chance.append(ranking.chance(tuple(somebody(others)), one.rows.whole))
        every = ranking.chance(tuple(sure(others, parts=False)), one.told)
        said.append(every[np.arange(len(one.first)), one.first])
    hit = np.concatenate([one.hit for one in left])
    anybody = np.concatenate([one.rows.anybody for one in left])
    counts = np.concatenate([np.full(len(one.first), one.rows.counts) for one in left])
    abstain = _threshold(np.concatenate(chance), hit, anybody, counts)
    taken = np.concatenate(chance) >= abstain
    fitted = ranking.Fitted(
        score=_rounded(fit_score(sets, columns)), lead=_rounded(sure(everything, parts=False)),
        part=_rounded(sure(left, parts=True)), inside=_rounded(somebody(everything)), abstain=abstain,
        takes_part=TAKES_PART,
    )  # fmt: skip
    return Found(
        fitted, np.where(taken, hit, ~anybody), np.where(taken, np.concatenate(said), 0.0), taken, anybody,
        tuple(k for one in left for k in one.rows.kinds), tuple(one.rows.name for one in left for _ in one.first),
    )  # fmt: skip


def _left_out(rows: Rows, score: Floats) -> LeftOut:
    scores = rows.found @ score
    told = np.stack([described(*row) for row in zip(scores, rows.found, rows.whole, strict=True)])
    return LeftOut(rows, told, scores.argmax(axis=1))


def fewer(of: RoutingSet, count: int, draw: np.random.Generator) -> RoutingSet:
    """A registry with so many of its experts."""
    experts = [s for s in of.specs if not s.general]
    specs = tuple(experts[i] for i in sorted(draw.permutation(len(experts))[:count]))
    left = {s.id for s in specs}
    cases = tuple(
        msgspec.structs.replace(
            c, leads=tuple(x for x in c.leads if x in left), lead=c.lead if c.lead in left else None,
            support=tuple(x for x in c.support if x in left),
        )
        for c in of.cases
    )  # fmt: skip
    return msgspec.structs.replace(of, specs=specs, cases=cases)


def _threshold(chance: Floats, hit: Floats, anybody: NDArray[np.bool_], counts: Floats) -> float:
    """The chance below which nobody leads: with which most are right, of those that abstain rightly often enough."""
    best, most = 0.05, -1.0
    for t in np.round(np.arange(0.05, 0.9, 0.01), 2):
        out = chance < t
        if out.any() and counts[out & ~anybody].sum() < PRECISION * counts[out].sum():
            continue
        share = float((counts * np.where(out, ~anybody, hit)).sum())
        if share > most:
            best, most = float(t), share
    return best


def enough(by_words: Found, read: Found) -> float:
    """The least confidence by words alone from which on to ask the encoder would make hardly a task more right."""
    found = 1.01
    for t in np.round(np.arange(0.99, 0.5, -0.01), 2):
        right = np.where(by_words.confidence >= t, by_words.right, read.right)
        if right.mean() < read.right.mean() - HARDLY:
            break
        found = float(t)
    return found


def _rounded(w: Floats) -> tuple[float, ...]:
    return tuple(round(float(v), 5) for v in w)


async def fit_all(folders: Sequence[Path], to: Path) -> dict[str, Found]:
    """Write ranking.json; what each set came to on registries left out."""
    sets = [(r, 1.0) for folder in folders for r in registries(folder)] + [(golden("dev", builtin()), GOLDEN_COUNTS)]
    plain = make_readers().alike
    draw = np.random.Generator(np.random.PCG64(SEED))
    beside = []
    for of, _ in sets:  # as many of each field
        prompts = [c.prompt for c in of.cases]
        some = sorted(draw.permutation(len(prompts))[:OF_EACH])
        beside.append(await plain.encode([prompts[i] for i in some]))
    np.savez_compressed(to / ranking.OTHERS.name, rows=np.concatenate(beside).astype(np.float16))
    drawn = [[fewer(of, count, draw) for count in SMALLER] for of, _ in sets]
    found = {}
    for name in ("read", "words"):
        mine = plain if name == "read" else None
        columns = [c for c in Rank if mine is not None or c not in BY_ENCODER]
        rows, smaller = [], []
        for i, (of, counts) in enumerate(sets):
            other = np.concatenate([b for j, b in enumerate(beside) if j != i])
            rows.append(await rows_of(of, counts, mine, other))
            smaller.append([await rows_of(few, counts * SMALL_COUNTS, mine, other) for few in drawn[i]])
        found[name] = fit(rows, columns, smaller)
    weights = ranking.Weights(
        read=found["read"].fitted, words=found["words"].fitted, enough=enough(found["words"], found["read"])
    )
    (to / ranking.FILE.name).write_bytes(msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n")
    return found


def told(found: Found) -> list[str]:
    """Lines of figures, of registries left out."""
    right = found.right.astype(np.bool_)
    ours = np.array([n.startswith("golden") for n in found.names])
    share = wilson(int(right[~ours].sum()), int((~ours).sum()))
    lines = [f"  invented registries: {share.hits} of {share.of}, {share.share.value:.1%} "
             f"[{share.share.low:.1%}, {share.share.high:.1%}]"]  # fmt: skip
    for by in (found.names, found.kinds):
        for name in dict.fromkeys(by):
            use = np.array([n == name for n in by])
            lines.append(f"  {name:<20} {right[use].sum():>4} of {use.sum():>4}  {right[use].mean():.1%}")
    out = ~found.taken & ~ours
    lines.append(f"  abstains rightly {(out & ~found.anybody).sum()} of {out.sum()}")
    lines.append(f"  finds nobody's {(out & ~found.anybody).sum()} of {(~found.anybody & ~ours).sum()}")
    for low in np.arange(0, 1, 0.1):
        use = found.taken & (found.confidence >= low) & (found.confidence < low + 0.1)
        if use.any():
            said = found.confidence[use].mean()
            lines.append(f"  {low:.1f}: {use.sum():>4} tasks, said {said:.2f}, right {right[use].mean():.2f}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.fit_ranking", description=__doc__)
    parser.add_argument("--registries", type=Path, nargs="+", default=[TRAIN, TRAIN_MORE], metavar="DIR")
    parser.add_argument("--to", type=Path, default=ranking.FILE.parent, metavar="DIR")
    parser.add_argument("--figures", type=Path, metavar="FILE", help="write what is printed there too")
    given = parser.parse_args(arguments)
    lines = []
    for name, found in asyncio.run(fit_all(given.registries, given.to)).items():
        lines.append(f"{name}: {found.right.mean():.1%} right, each registry by weights fitted on others")
        lines += told(found)
    print("\n".join(lines))
    if given.figures is not None:
        given.figures.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
