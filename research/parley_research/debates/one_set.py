"""One data set: every method on its test half, compared, at equal budgets, and what could not be run."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from parley.client.text import count
from parley_research.debates.harness import NotRun, Scored, apart, missing, play, prepared, reads_gold
from parley_research.debates.measures import Compared, Measures, compared, front, measured
from parley_research.debates.method import Budget, Method
from parley_research.debates.record import RecordedDebate, of_half
from parley_research.debates.registry import DataSet
from parley_research.debates.statistics import adjusted, detectable

BASELINES = ("vote", "judge", "sample")
"""What others are compared with: the first of these that the data allows. It is no debate, or the judge's last word."""
ALSO = "full"
"""And this, where there is a debate."""
SHARES = (0.25, 0.5, 0.75, 1.0)
"""Budgets of words, of the mean that a full debate spends."""
CALLS = (1, 3, 5, 10, 20, 40)
PEEKED = 25
"""Debates on which each method is tried for reading the gold."""
DISCORDANT = 0.2
"""Share of questions on which just one of two methods is right, for the power that is said before the run."""

WHY = {
    "rounds": "the data has no rounds",
    "members": "nobody else answered, or members argue for answers that were given to them",
    "pair": "every debate has one member",
    "samples": "the data has no samples of one model",
    "verdicts": "the data has no judge's belief after each round",
    "words": "the data does not record words",
    "beliefs": "the data records no beliefs",
    "confidence": "the data records no stated confidence",
    "evidence": "the data does not record what was quoted",
    "objections": "no recorded data set has objections and rulings; a live run plays it",
}
"""What a method needs -> why it is not run."""


Ready = tuple[Method, Mapping[str, Method] | None]
"""A method, and what it is for each group once it has learned."""


class AtBudget(msgspec.Struct, frozen=True, kw_only=True):
    """Accuracy of each method where each may spend the same on a question."""

    unit: str
    """words or calls."""
    most: int
    accuracy: dict[str, float]


class OfGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Accuracy in one group of the data set."""

    group: str
    debates: int
    accuracy: dict[str, float]


class SetReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page says of one data set."""

    name: str
    title: str
    licence: str
    note: str
    seen_before: str
    debates: int
    fit: int
    test: int
    questions: int
    """Of the test half."""
    unanswerable: int
    """Debates of the test half in which no option is right: every method is wrong there."""
    members: str = ""
    """How many answer a question, such as `2` or `3-6`."""
    chance: float | None = None
    """Share right of who draws an option. None: options are known only afterwards."""
    detectable: float | None
    baseline: str
    margin: float
    rows: tuple[Measures, ...]
    comparisons: tuple[Compared, ...]
    not_run: tuple[NotRun, ...]
    budgets: tuple[AtBudget, ...]
    groups: tuple[OfGroup, ...]
    front: tuple[str, ...]
    seconds: float


def evaluated(
    data_set: DataSet,
    data: Path,
    methods: Sequence[Method],
    *,
    margin: float,
    told: Callable[[str], None] = lambda line: None,
    absent: Mapping[str, str] | None = None,
) -> SetReport:
    """The report of one data set.

    Parameters
    ----------
    data
        The folder of the data sets.
    margin
        Of the equivalence tests, a share.
    told
        Takes lines of progress.
    absent
        Methods that cannot be run on this machine -> why. The report says so.

    Raises
    ------
    loaders.NoData, loaders.BadData
    """
    began = time.monotonic()
    debates = list(data_set.load(data))
    fit, test = (of_half(data_set.split or data_set.name, debates, which) for which in ("fit", "test"))
    apart(fit, test)
    questions = len({debate.question for debate in test})
    power = detectable(questions, DISCORDANT)
    size = f"{count(len(test), 'debate')} about {count(questions, 'question')}"
    told(f"{data_set.name}: {size} in the test half; {said(power)}")
    not_run = [NotRun(name, why) for name, why in (absent or {}).items()]
    results: dict[str, list[Scored]] = {}
    ready: dict[str, Ready] = {}
    for method in methods:
        lacks = missing(method, data_set, debates)
        if lacks or not test:
            why = "; ".join(WHY.get(need, need) for need in lacks) or "the test half is empty"
            not_run.append(NotRun(method.name, why))
            continue
        ready[method.name] = (method, prepared(method, fit))
        if _leaks(ready[method.name], test[:PEEKED]):
            not_run.append(NotRun(method.name, "it reads the gold: other gold, other answers"))
            del ready[method.name]
            continue
        results[method.name] = play(*ready[method.name], test)
        if not results[method.name]:
            not_run.append(NotRun(method.name, "the fit half is empty"))
            del results[method.name], ready[method.name]
    told(f"{data_set.name}: {len(results)} methods were run, {len(not_run)} not; figures follow")
    rows = _rows(results, ready, words="words" in data_set.records)
    return SetReport(
        name=data_set.name,
        title=data_set.title,
        licence=data_set.origin.licence if data_set.origin else "",
        note=data_set.note,
        seen_before=data_set.seen_before,
        debates=len(debates),
        fit=len(fit),
        test=len(test),
        questions=questions,
        unanswerable=sum(not debate.right for debate in test),
        members=_sizes([len(debate.members) for debate in test]),
        chance=_chance(test),
        detectable=power,
        baseline=next((name for name in BASELINES if name in results), ""),
        margin=margin,
        rows=tuple(rows),
        comparisons=tuple(_comparisons(results, rows, margin)),
        not_run=tuple(not_run),
        budgets=tuple(_budgets(ready, rows, test)),
        groups=tuple(_groups(results, rows)),
        front=tuple(front(rows)),
        seconds=time.monotonic() - began,
    )


def _sizes(sizes: Sequence[int]) -> str:
    ends = sorted({min(sizes), max(sizes)}) if sizes else []
    return "-".join(str(n) for n in ends)


def _chance(debates: Sequence[RecordedDebate]) -> float | None:
    if not debates or any(debate.open_answers for debate in debates):
        return None
    return float(np.mean([len(debate.right) / len(debate.options) for debate in debates]))


def _leaks(ready: Ready, debates: Sequence[RecordedDebate]) -> bool:
    """Whether a method that is no bound reads the gold."""
    method, by_group = ready
    if method.hindsight:
        return False
    if by_group is None:
        return reads_gold(method, debates)
    return any(reads_gold(by_group[d.group], [d]) for d in debates if d.group in by_group)


def said(power: float | None) -> str:
    """The power in words."""
    known = f"where two methods differ on {DISCORDANT:.0%} of the questions"
    if power is None:
        return f"{known}, no gain would show reliably"
    return f"{known}, a gain of {100 * power:.1f} points shows four times in five"


def _rows(results: dict[str, list[Scored]], ready: dict[str, Ready], *, words: bool) -> list[Measures]:
    """One row a method; what is the same everywhere as a method before it takes over its figures."""
    rows: list[Measures] = []
    seen: dict[int, list[str]] = {}
    for name, scored in results.items():
        method = ready[name][0]
        key = hash(tuple(r.outcome.leading for r in scored))
        twin = next((other for other in seen.get(key, []) if _alike(results[other], scored)), "")
        if twin and not method.hindsight:
            row = next(row for row in rows if row.method == twin)
            plain = {"method": name, "title": method.title, "family": method.family, "fits": method.fits}
            rows.append(msgspec.structs.replace(row, **plain, same_as=twin))
        else:
            rows.append(measured(method, scored, words=words))
            if not method.hindsight:
                seen.setdefault(key, []).append(name)
    return rows


def _alike(first: Sequence[Scored], second: Sequence[Scored]) -> bool:
    """Whether both said and spent the same in every debate."""
    if [r.debate for r in first] != [r.debate for r in second]:
        return False
    pairs = [(a.outcome, b.outcome) for a, b in zip(first, second, strict=True)]
    return all(a == msgspec.structs.replace(b, stop=a.stop) for a, b in pairs)


def _comparisons(results: dict[str, list[Scored]], rows: Sequence[Measures], margin: float) -> list[Compared]:
    """Each method that anybody can use against the baselines, adjusted together."""
    usable = [row.method for row in rows if not row.hindsight and not row.same_as]
    against = [name for name in (next((b for b in BASELINES if b in results), ""), ALSO) if name in results]
    plain = [
        compared(name, results[name], other, results[other], margin)
        for other in against
        for name in usable
        if name != other and not (name in against and other != against[0])
    ]
    corrected = adjusted([c.wilcoxon for c in plain])
    return [msgspec.structs.replace(c, adjusted=q) for c, q in zip(plain, corrected, strict=True)]


def _budgets(ready: dict[str, Ready], rows: Sequence[Measures], test: Sequence[RecordedDebate]) -> list[AtBudget]:
    """Every method that anybody can use, at equal words and at equal calls."""
    usable = {row.method: row for row in rows if not row.hindsight and not row.same_as}
    limits: list[tuple[str, int, Budget]] = []
    spent = [row.words for row in usable.values() if row.words]
    if spent:
        limits += [("words", round(s * max(spent)), Budget(words=round(s * max(spent)))) for s in SHARES]
    most = max((row.calls for row in usable.values()), default=0)
    limits += [("calls", n, Budget(calls=n)) for n in CALLS if n <= most]
    tables = []
    for unit, limit, budget in limits:
        accuracy = {}
        for name in usable:
            method, by_group = ready[name]
            accuracy[name] = float(np.mean([r.credit for r in play(method, by_group, test, budget)]))
        tables.append(AtBudget(unit=unit, most=limit, accuracy=accuracy))
    return tables


def _groups(results: dict[str, list[Scored]], rows: Sequence[Measures]) -> list[OfGroup]:
    """Accuracy by group, where there are several."""
    usable = [row.method for row in rows if not row.same_as]
    names = sorted({r.group for scored in results.values() for r in scored})
    tables = []
    for group in names if len(names) > 1 else []:
        mine = {name: [r.credit for r in results[name] if r.group == group] for name in usable}
        tables.append(
            OfGroup(
                group=group,
                debates=max(len(credits) for credits in mine.values()),
                accuracy={name: float(np.mean(credits)) for name, credits in mine.items() if credits},
            )
        )
    return tables
