"""`python -m parley_research.fit_ranking`: how experts of any field are ranked (agents/matching/ranking.py), fitted on
invented registries that the encoder was not trained on (research/parley_research/registries/fit); writes ranking.json.

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

from parley.agents.encoders import Cached, Encoder
from parley.agents.encoders.base import Vectors
from parley.agents.matching import ranking
from parley.agents.matching.features import Prepared
from parley.agents.matching.fitted import Fitted, Weights, chance
from parley.agents.matching.ranking import BY_ENCODER, SIGNS, Rank, described
from parley.agents.matching.subjects import Floats
from parley.agents.matching.task_encoder import TaskEncoder
from parley.agents.matching.vectors import SpecVectors
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Task
from parley_research.fit_routing import enough, fit_sure
from parley_research.routing import Case, wilson
from parley_research.routing_data import RoutingSet
from parley_research.routing_registries import FIT, LARGE, registries

PENALTY = 3.0
"""Of the squared weights of the score: of 0.3 to 30, all did about as well on registries left out."""
TAKES_PART = 0.15
PRECISION = 0.6
"""Of the tasks that nobody takes, at least so many shall be nobody's."""
SMALLER = (1, 2, 3, 5)
"""Experts of the registries, drawn from each invented one, that confidence and abstention are fitted for beside the
whole: most of its tasks are nobody's there."""
SMALL_COUNTS = 0.15
LARGER = (40, 80, 150)
"""Experts of registries put together of several invented ones, which confidence and abstention are fitted for, too.
Prompts of all others are nobody's there."""
LARGE_COUNTS, EVERY = 0.5, 3
"""How much a prompt there counts; every third one is used."""
LIKELY = 20
"""Experts of each prompt, the likeliest, that confidence is fitted on."""
NOBODYS = 0.35
"""How much all of nobody's count there, beside all others."""
KEPT = 100_000
"""Texts whose vectors are kept meanwhile."""
OF_EACH, SEED = 12, 7
"""Prompts of each registry that are kept as tasks of other fields."""


class Rows(NamedTuple):
    """One registry: features of its prompts, and what is right."""

    name: str
    found: Floats
    """(prompts, experts, Rank)."""
    whole: Floats
    """(prompts, what ranking.task_features says)."""
    lead: Floats
    part: Floats
    """(prompts, experts)."""
    counts: Floats
    """(prompts,): how much each counts."""
    kinds: tuple[str, ...]
    source: NDArray[np.int64]
    """(prompts,): the registry that each was written for, by its place."""

    @property
    def anybody(self) -> NDArray[np.bool_]:
        """(prompts,): somebody should take it."""
        return np.asarray(self.lead.any(axis=1))


async def rows_of(
    of: RoutingSet, counts: Sequence[float], source: Sequence[int], said_by: SpecVectors[ranking.Parts] | None,
    plain: Encoder | None, beside: Vectors | None = None,
) -> Rows:  # fmt: skip
    """Of a registry. Prompts in other languages are left out: the matcher abstains of itself.

    Parameters
    ----------
    counts, source
        As of Rows, for each prompt.
    said_by
        What the encoder makes of specifications.
    plain
        The encoder of tasks; None: by words.
    beside
        As of ranking.Compared.
    """
    prepared = Prepared(of.specs)
    prepared.apart = False
    if said_by is not None:
        prepared.compare_by(await said_by.of(prepared.specs), beside)
    feature_rows, wholes, cases, kept = [], [], [], []
    for n, case in enumerate(of.cases):
        heard = prepared.read_task(Task(prompt=case.prompt, files_mentioned=case.files))
        if heard.foreign or not (heard.parts or case.files):
            continue
        rows = None if plain is None else np.stack(list(await plain.encode(heard.texts)))
        features, said = prepared.ranks(heard, rows)
        feature_rows.append(features)
        wholes.append(said)
        cases.append(case)
        kept.append(n)
    ids = [s.id for s in prepared.specs]

    def right(named: Callable[[Case], frozenset[str]]) -> Floats:
        return np.array([[float(i in named(c)) for i in ids] for c in cases])

    return Rows(
        of.name, np.array(feature_rows), np.array(wholes), right(lambda c: c.right),
        right(lambda c: c.right | frozenset(c.support)), np.array(counts)[kept],
        tuple(c.kind for c in cases), np.array(source)[kept],
    )  # fmt: skip


def fit_score(sets: Sequence[Rows], columns: Sequence[int]) -> Floats:
    """Weights of the score: the chance that somebody who may lead has by softmax is made as large as it gets."""
    middle = [s.found - s.found.mean(axis=1, keepdims=True) for s in sets]
    scale = np.concatenate([m.reshape(-1, m.shape[2]) for m in middle]).std(axis=0) + 1e-9
    some = [(s.found[s.anybody][:, :, columns] / scale[columns], s.lead[s.anybody], s.counts[s.anybody]) for s in sets]

    def loss(w: Floats) -> tuple[float, Floats]:
        value, slope = PENALTY / 2 * float(w @ w), PENALTY * w
        for x, y, n in some:
            scores = x @ w
            e = np.exp(scores - scores.max(axis=1, keepdims=True))
            p = e / e.sum(axis=1, keepdims=True)
            right = (p * y).sum(axis=1)
            value -= float((n * np.log(right)).sum())
            slope = slope - ((n[:, None] * ((p * y) / right[:, None] - p))[:, :, None] * x).sum(axis=(0, 1))
        return value, slope

    bounds = [(0.0, None)] * len(columns)
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

    def without(self, registry: int) -> "LeftOut":
        """Less the prompts that were written for one registry."""
        use = self.rows.source != registry
        of = self.rows
        features, whole, lead, part, counts = (a[use] for a in (of.found, of.whole, of.lead, of.part, of.counts))
        rows = Rows(of.name, features, whole, lead, part, counts, (), of.source[use])
        return LeftOut(rows, self.told[use], self.first[use])


class Found(NamedTuple):
    """One set of weights, and how it does on registries left out."""

    fitted: Fitted
    right: Floats
    confidence: Floats
    taken: NDArray[np.bool_]
    anybody: NDArray[np.bool_]
    kinds: tuple[str, ...]
    names: tuple[str, ...]


def fit(
    sets: Sequence[Rows], columns: Sequence[int], smaller: Sequence[Sequence[Rows]] = (), larger: Sequence[Rows] = ()
) -> Found:
    """See Found.

    Parameters
    ----------
    smaller
        Of each registry, the same prompts among fewer experts.
    larger
        Registries put together of several.
    """
    left, few = [], []
    for i, s in enumerate(sets):
        score = fit_score([o for o in sets if o is not s], columns)
        left.append(_left_out(s, score))
        few.append([_left_out(rows, score) for rows in (smaller[i] if smaller else ())])

    def sure(of: Sequence[LeftOut], *, parts: bool) -> Floats:
        x, y, n = [], [], []
        for left_out in of:
            use = left_out.told[:, :, 1] >= np.sort(left_out.told[:, :, 1], axis=1)[:, -LIKELY:][:, :1]
            if parts:
                use[np.arange(len(use)), left_out.first] = False
            x.append(left_out.told[use])
            y.append((left_out.rows.part if parts else left_out.rows.lead)[use])
            n.append(np.broadcast_to(left_out.rows.counts[:, None], use.shape)[use])
        return fit_sure(np.concatenate(x), np.concatenate(y), counts=np.concatenate(n))

    def somebody(of: Sequence[LeftOut]) -> Floats:
        x = np.concatenate([left_out.rows.whole for left_out in of])
        y = np.concatenate([left_out.rows.anybody for left_out in of]).astype(np.float64)
        return fit_sure(x, y, SIGNS, np.concatenate([left_out.rows.counts for left_out in of]))

    every_score = fit_score(sets, columns)
    large = [_left_out(rows, every_score) for rows in larger]
    everything = [*left, *(left_out for some in few for left_out in some), *large]
    chances, said = [], []
    for i, left_out in enumerate(left):
        same_source = {id(o) for o in (left_out, *few[i])}
        others = [o.without(i) for o in everything if id(o) not in same_source]
        chances.append(chance(tuple(somebody(others)), left_out.rows.whole))
        every = chance(tuple(sure(others, parts=False)), left_out.told)
        said.append(every[np.arange(len(left_out.first)), left_out.first])
    hit = np.concatenate([left_out.hit for left_out in left])
    anybody = np.concatenate([left_out.rows.anybody for left_out in left])
    counts = np.concatenate([left_out.rows.counts for left_out in left])
    abstain = _threshold(np.concatenate(chances), hit, anybody, counts)
    taken = np.concatenate(chances) >= abstain
    fitted = Fitted(
        score=_rounded(every_score), lead=_rounded(sure(everything, parts=False)),
        part=_rounded(sure(left, parts=True)), inside=_rounded(somebody(everything)), abstain=abstain,
        takes_part=TAKES_PART,
    )  # fmt: skip
    return Found(
        fitted, np.where(taken, hit, ~anybody), np.where(taken, np.concatenate(said), 0.0), taken, anybody,
        tuple(k for left_out in left for k in left_out.rows.kinds),
        tuple(left_out.rows.name for left_out in left for _ in left_out.first),
    )  # fmt: skip


def _left_out(rows: Rows, score: Floats) -> LeftOut:
    scores = rows.found @ score
    descriptions = np.stack([described(*row) for row in zip(scores, rows.found, rows.whole, strict=True)])
    return LeftOut(rows, descriptions, scores.argmax(axis=1))


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


def together(sets: Sequence[RoutingSet], count: int, draw: np.random.Generator) -> tuple[RoutingSet, list[int]]:
    """(a registry of about so many experts, put together of some; of each prompt, the place of the one that it was
    written for). Prompts that are nobody's in their own registry are left out where that is not among them."""
    specs: list[ExpertSpec] = []
    cases: list[Case] = []
    source: list[int] = []
    for place in draw.permutation(len(sets)):
        of = sets[place]
        specialists = [s for s in of.specs if not s.general]
        joins = len(specs) + len(specialists) <= count + SMALLER[-1]
        renamed = {s.id: f"{s.id[:36]}-{place}" for s in specialists} if joins else {}
        for s in specialists if joins else ():
            left = {renamed[other]: what for other, what in s.domain.defers.items() if other in renamed}
            domain = msgspec.structs.replace(s.domain, defers=left)
            specs.append(msgspec.structs.replace(s, id=renamed[s.id], domain=domain))
        for c in of.cases[::EVERY]:
            if joins or c.right:
                leads = tuple(renamed[x] for x in c.leads if x in renamed)
                lead = renamed.get(c.lead or "")
                cases.append(msgspec.structs.replace(c, leads=leads, lead=lead, support=()))
                source.append(int(place))
    crowd = msgspec.structs.replace(sets[0], name=f"{len(specs)} experts", specs=tuple(specs), cases=tuple(cases))
    return crowd, source


def _large_counts(of: RoutingSet) -> list[float]:
    right = [bool(c.right) for c in of.cases]
    nobodys = NOBODYS * sum(right) / max(1, len(right) - sum(right))
    return [LARGE_COUNTS * (1.0 if r else nobodys) for r in right]


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


def _rounded(w: Floats) -> tuple[float, ...]:
    return tuple(round(float(v), 5) for v in w)


async def fit_all(folders: Sequence[Path], to: Path) -> tuple[dict[str, Found], list[str]]:
    """Write ranking.json; (what each set came to on registries left out, lines of figures of large ones)."""
    sets = [r for folder in folders for r in registries(folder)]
    plain = Cached(TaskEncoder.checked(), KEPT)
    draw = np.random.Generator(np.random.PCG64(SEED))
    beside = []
    for of in sets:  # as many of each field
        prompts = [c.prompt for c in of.cases]
        some = sorted(draw.permutation(len(prompts))[:OF_EACH])
        beside.append(await plain.encode([prompts[i] for i in some]))
    np.savez_compressed(to / ranking.OTHERS.name, rows=np.concatenate(beside).astype(np.float16))
    drawn = [[fewer(of, count, draw) for count in SMALLER] for of in sets]
    large = [together(sets, count, draw) for count in LARGER]
    said_by = SpecVectors(plain, ranking.phrases, ranking.Parts.of)
    fits, large_lines = {}, []
    for name in ("read", "words"):
        mine, vectors = (plain, said_by) if name == "read" else (None, None)
        columns = [c for c in Rank if mine is not None or c not in BY_ENCODER]
        rows, smaller = [], []
        for i, of in enumerate(sets):
            other = np.concatenate([b for j, b in enumerate(beside) if j != i])
            n = len(of.cases)
            rows.append(await rows_of(of, [1.0] * n, [i] * n, vectors, mine, other))
            few_counts = [SMALL_COUNTS] * n
            smaller.append([await rows_of(few, few_counts, [i] * n, vectors, mine, other) for few in drawn[i]])
        every = np.concatenate(beside)
        larger = [await rows_of(of, _large_counts(of), source, vectors, mine, every) for of, source in large]
        fits[name] = fit(rows, columns, smaller, larger)
        large_lines += [f"{name}:", *large_told(fits[name].fitted, larger)]
    weights = Weights(read=fits["read"].fitted, words=fits["words"].fitted, enough=enough(fits["words"], fits["read"]))
    (to / ranking.FILE.name).write_bytes(msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n")
    return fits, large_lines


def large_told(fitted: Fitted, larger: Sequence[Rows]) -> list[str]:
    """Lines of figures of large registries, which abstention was fitted on: how often a task is refused."""
    lines = []
    for rows in larger:
        out, anybody = chance(fitted.inside, rows.whole) < fitted.abstain, rows.anybody
        lines.append(
            f"  {rows.lead.shape[1]:>3} experts: refused {out[anybody].mean():.1%} of {anybody.sum()} of theirs, "
            f"{out[~anybody].mean():.1%} of {(~anybody).sum()} of others'"
        )
    return lines


def told(result: Found) -> list[str]:
    """Lines of figures, of registries left out."""
    right = result.right.astype(np.bool_)
    share = wilson(int(right.sum()), len(right))
    lines = [f"  all registries: {share.hits} of {share.of}, {share.share.value:.1%} "
             f"[{share.share.low:.1%}, {share.share.high:.1%}]"]  # fmt: skip
    for by in (result.names, result.kinds):
        for name in dict.fromkeys(by):
            use = np.array([n == name for n in by])
            lines.append(f"  {name:<20} {right[use].sum():>4} of {use.sum():>4}  {right[use].mean():.1%}")
    out = ~result.taken
    lines.append(f"  abstains rightly {(out & ~result.anybody).sum()} of {out.sum()}")
    lines.append(f"  finds nobody's {(out & ~result.anybody).sum()} of {(~result.anybody).sum()}")
    for low in np.arange(0, 1, 0.1):
        use = result.taken & (result.confidence >= low) & (result.confidence < low + 0.1)
        if use.any():
            said = result.confidence[use].mean()
            lines.append(f"  {low:.1f}: {use.sum():>4} tasks, said {said:.2f}, right {right[use].mean():.2f}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m parley_research.fit_ranking", description=__doc__)
    parser.add_argument("--registries", type=Path, nargs="+", default=[FIT], metavar="DIR")
    parser.add_argument("--to", type=Path, default=ranking.FILE.parent, metavar="DIR")
    parser.add_argument("--figures", type=Path, metavar="FILE", help="write what is printed there too")
    options = parser.parse_args(arguments)
    lines = []
    sets, large = asyncio.run(fit_all(options.registries, options.to))
    for name, result in sets.items():
        lines.append(f"{name}: {result.right.mean():.1%} right, each registry by weights fitted on others")
        lines += told(result)
    print("\n".join([*lines, *large]))
    if options.figures is not None:
        options.figures.with_name(LARGE.name).write_text("\n".join(large) + "\n", encoding="utf-8")
        options.figures.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
