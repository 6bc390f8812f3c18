"""The report of a live run, from its sessions alone: it can be written while some are still missing."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from parley.client.text import count
from parley_research.debates.blocks import Block, Heading, Items, Words, html, markdown, table
from parley_research.debates.harness import Scored, scored
from parley_research.debates.measures import Compared, Measures, compared, measured
from parley_research.debates.statistics import adjusted, detectable
from parley_research.debates.tone_words import LEVELS
from parley_research.first_look import signed
from parley_research.live.rows import Answered, Live, Question, Row, answered
from parley_research.statistics import wilson

TITLE = "Live sessions: methods and their answers"
TITLES = {
    "single": "single model (one blind answer)",
    "consensus": "consensus",
    "critic": "critic",
    "maci": "MACI",
    "competition": "competition, the judge's winner",
    "madp": "madp, the expert's work",
}
BASELINE = "single"
MARGIN = 0.01
_DETAIL = re.compile(r": |; no usable reply of ")
"""Between what ended a session and what went wrong in its turns."""
_MOST_DETAIL = 120


class LiveManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a live run is made of. A run goes on only with the same."""

    format: int = 1
    questions: str
    """SHA-256 of the file."""
    models: tuple[str, ...]
    panel: int
    rounds: int | None = None
    commit: str = ""
    changed: bool = False
    command: str = ""
    """That began it."""

    def differs(self, other: "LiveManifest") -> list[str]:
        """What another run does not share with this one, in words."""
        shared = ("questions", "models", "panel", "rounds")
        return [name for name in shared if getattr(self, name) != getattr(other, name)]


class LiveRow(msgspec.Struct, frozen=True, kw_only=True):
    """One method of a live run."""

    measures: Measures
    tokens: float
    usd: float
    unpriced: bool
    seconds: float
    """Of the session, which may hold more than this method's part."""
    converged: int
    reasons: dict[str, int]


class LiveReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the page is made of."""

    manifest: LiveManifest
    questions: int
    wanted: int
    """Sessions."""
    held: int
    failed: int
    """Sessions without a usable result. No figure of a method contains them."""
    rows: tuple[LiveRow, ...]
    comparisons: tuple[Compared, ...]
    not_run: tuple[str, ...]
    wordings: tuple[str, ...]
    """What the second wording changed, in words."""
    dial: str = ""
    """Whether the tone follows the dial, in words."""
    detectable: float | None = None
    ended: str = ""
    """Why the run ended before all sessions were held."""
    failures: tuple[str, ...] = ()
    """By cell, how many sessions failed and why, in words."""
    again: int = 0
    """Sessions that failed in an earlier run, and were held again."""


def report(
    manifest: LiveManifest,
    asked: Sequence[Question],
    wanted: Sequence[tuple[str, str, int]],
    rows: Sequence[Row],
    ended: str = "",
    unfit: Sequence[str] = (),
) -> LiveReport:
    """From the sessions that are there.

    Parameters
    ----------
    wanted
        The key of every session of the run.
    unfit
        Which cells could not be asked, and why.
    """
    by_id = {question.id: question for question in asked}
    keys = set(wanted)
    size = len({question for question, *_ in wanted})
    mine = [row for row in rows if row.key in keys]
    usable = [row for row in mine if not row.failure]
    first = [one for one in answered(usable, by_id) if one.wording == 0]
    methods: dict[str, list[Answered]] = {}
    for one in first:
        methods.setdefault(one.method, []).append(one)
    results = {name: [scored(by_id[a.question].debate(), a.outcome) for a in given] for name, given in methods.items()}
    return LiveReport(
        manifest=manifest,
        questions=size,
        wanted=len(wanted),
        held=len(mine),
        failed=len(mine) - len(usable),
        rows=tuple(_row(name, methods[name], results[name]) for name in results),
        comparisons=tuple(_comparisons(results)),
        not_run=(*unfit, *_missing(wanted, mine, unfit)),
        wordings=tuple(_wordings(usable, by_id)),
        dial=_dial(usable),
        detectable=detectable(size, 0.2) if size else None,
        ended=ended,
        failures=tuple(_failures(mine)),
        again=sum(row.attempt > 1 for row in mine),
    )


def _failures(rows: Sequence[Row]) -> Iterator[str]:
    """In words, the commonest first."""
    held = Counter(row.cell for row in rows)
    failed: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.failure:
            why, *more = _DETAIL.split(row.failure, maxsplit=1)
            failed.setdefault((row.cell, why), []).append(more[0] if more else "")
    for (cell, why), details in sorted(failed.items(), key=lambda pair: -len(pair[1])):
        example = details[0] if len(details[0]) <= _MOST_DETAIL else f"{details[0][:_MOST_DETAIL]}…"
        yield f"{cell}: {len(details)} of {held[cell]} failed: {why}" + (f". The first: {example}" if example else "")


def _row(name: str, given: Sequence[Answered], results: Sequence[Scored]) -> LiveRow:
    title = TITLES.get(name, f"self-consistency, {name.removeprefix('sc')} samples")
    return LiveRow(
        measures=measured(Live(name, title), results, words=False),
        tokens=float(np.mean([a.outcome.tokens for a in given])),
        usd=float(np.mean([a.row.cost_usd for a in given])),
        unpriced=any(a.row.unpriced for a in given),
        seconds=float(np.mean([a.row.seconds for a in given])),
        converged=sum(a.row.converged for a in given),
        reasons=dict(Counter(a.row.reason or "no result" for a in given).most_common()),
    )


def _comparisons(results: Mapping[str, list[Scored]]) -> list[Compared]:
    """Each against a single answer, on the questions that both were asked."""
    if BASELINE not in results:
        return []
    asked = {one.debate for one in results[BASELINE]}
    others = {n: r for n, r in results.items() if n != BASELINE and any(one.debate in asked for one in r)}
    plain = [compared(n, r, BASELINE, results[BASELINE], MARGIN) for n, r in others.items()]
    corrected = adjusted([c.wilcoxon for c in plain])
    return [msgspec.structs.replace(c, adjusted=q) for c, q in zip(plain, corrected, strict=True)]


def _missing(wanted: Sequence[tuple[str, str, int]], rows: Sequence[Row], unfit: Sequence[str]) -> Iterator[str]:
    held = {row.key for row in rows}
    missing = Counter(cell for key in wanted if key not in held for cell in key[1:2])
    for cell, number in missing.items():
        yield f"{cell}: {number} of {sum(key[1] == cell for key in wanted)} sessions were not held"
    for cell in ("panel", "consensus", "critic", "maci", "competition", "madp"):
        if not any(key[1] == cell for key in wanted) and not any(line.startswith(f"{cell}:") for line in unfit):
            yield f"{cell}: not asked for"


def _wordings(rows: Sequence[Row], asked: Mapping[str, Question]) -> Iterator[str]:
    """What changed under the second wording."""
    given: dict[str, dict[int, Answered]] = {}
    for one in answered(rows, asked):
        if one.method == BASELINE:
            given.setdefault(one.question, {})[one.wording] = one
    both = [pair for pair in given.values() if {0, 1} <= set(pair)]
    if not both:
        yield "not run: the questions were put in one wording (`--wordings 2` puts them in two)"
        return
    same = sum(pair[0].outcome.leading == pair[1].outcome.leading for pair in both)
    share = wilson(same, len(both))
    right = [
        sum(asked[q].debate().gold in pair[w].outcome.leading for q, pair in given.items() if {0, 1} <= set(pair))
        for w in (0, 1)
    ]
    yield (
        f"A single model gave the same answer to {same} of {len(both)} questions in both wordings "
        f"({100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}]). It was right {right[0]} times "
        f"in the first and {right[1]} times in the second."
    )


def _dial(rows: Sequence[Row]) -> str:
    """Whether debaters contradict more where they are told to."""
    by_question: dict[str, dict[int, float]] = {}
    for row in rows:
        if row.cell == "dial" and row.tone is not None:
            by_question.setdefault(row.question, {})[row.wording] = row.tone
    both = [pair for pair in by_question.values() if len(pair) == len(LEVELS)]
    if not both:
        return "The dial of contentiousness: not run (`--cell dial=5` holds sessions at its two ends)."
    high, low = (float(np.mean([pair[place] for pair in both])) for place in (0, 1))
    more = wilson(sum(pair[0] > pair[1] for pair in both), len(both))
    return (
        f"The dial of contentiousness: contradicting less agreeing words for each hundred are {high:.1f} at "
        f"{LEVELS[0]:g} and {low:.1f} at {LEVELS[1]:g}; more at {LEVELS[0]:g} in {100 * more.value:.0f} % "
        f"[{100 * more.low:.0f}, {100 * more.high:.0f}] of {count(len(both), 'question')}. It counts words of two "
        "lists, and is no judge of tone."
    )


def blocks(told: LiveReport) -> Iterator[Block]:
    """Everything that the page says."""
    made = told.manifest
    yield Heading(1, TITLE)
    yield Items(
        (
            f"{told.held} of {told.wanted} sessions were held, about {told.questions} questions."
            + (f" {told.failed} of them failed; no figure contains them." if told.failed else ""),
            *(f"{line}." for line in told.failures),
            *((f"{told.again} of them failed in an earlier run and were held again.",) if told.again else ()),
            f"Models: {', '.join(made.models)}.",
            f"Commit {made.commit or 'unknown'}{', with files that differ from it' if made.changed else ''}.",
            f"Power: {_power(told)}.",
            *((f"It ended early: {told.ended}.",) if told.ended else ()),
        )
    )
    yield Words(
        "Intervals are 95 % (BCa bootstrap over questions; Wilson's where all are alike). An answer that names no "
        "option counts as wrong, and its MRR is 0. A vote that is tied shares the credit, as if one were drawn. Tokens "
        "are of the method's own part; money and time are of the whole session. Methods are of different numbers of "
        "questions where the table says so, and comparisons are on those that both were asked. They are “better” or "
        "“worse” only where the adjusted p is below .05 and the interval of the gain lies wholly on that side of 0."
    )
    yield table("Methods", _HEAD, map(_cells, told.rows))
    if told.comparisons:
        yield table(f"Against {BASELINE}, in points", _PAIRS, map(_pair, told.comparisons))
        undecided = [c.method for c in told.comparisons if c.word == "not decided"]
        yield Words(f"Not decided, neither a difference nor the same: {', '.join(undecided) or 'none'}.")
    yield Heading(2, "Not run")
    yield Items(told.not_run)
    yield Heading(2, "Checks of validity")
    yield Items(
        (
            *told.wordings,
            "Order of debaters, judges swapped, identities unmasked: not run.",
            told.dial,
        )
    )


def _power(told: LiveReport) -> str:
    where = "where two methods differ on 20 % of the questions"
    if told.detectable is None:
        return f"{where}, no gain would show reliably"
    return f"{where}, a gain of {100 * told.detectable:.1f} points shows four times in five"


_HEAD = (
    "method", "questions", "accuracy, %", "no option", "MRR", "ECE, debiased", "Brier", "log loss", "tokens", "USD",
    "seconds", "rounds", "converged", "stops",
)  # fmt: skip
_PAIRS = ("method", "questions", "gain", "better / worse", "Wilcoxon, adjusted", "McNemar", "equivalence", "verdict")


def _cells(row: LiveRow) -> list[str]:
    m, c = row.measures, row.measures.calibration
    a = m.accuracy
    stops = ", ".join(f"{reason} {number}" for reason, number in row.reasons.items())
    return [
        f"{m.title} (`{m.method}`)", f"{m.debates}", f"{100 * a.value:.0f} [{100 * a.low:.0f}, {100 * a.high:.0f}]",
        f"{m.abstained}", f"{m.reciprocal_rank:.2f}", "–" if m.ece is None else f"{m.ece.value:.2f}",
        "–" if c is None else f"{c.brier:.2f}", "–" if c is None else f"{c.log_loss:.2f}", f"{row.tokens:,.0f}",
        "not known" if row.unpriced or not row.usd else f"{row.usd:.4f}", f"{row.seconds:.0f}", f"{m.rounds:.1f}",
        f"{row.converged}", stops,
    ]  # fmt: skip


def _pair(c: Compared) -> list[str]:
    return [
        c.method, f"{c.better + c.worse} differ", signed(c.gain), f"{c.better} / {c.worse}", f"{c.adjusted:.3f}",
        f"{c.mcnemar:.3f}", f"{c.equivalent:.3f}", c.word,
    ]  # fmt: skip


def written(told: LiveReport, out: Path) -> list[Path]:
    """Write report.html, report.md and report.json; which files, the page first."""
    page = list(blocks(told))
    texts = {
        "report.html": html(TITLE, page),
        "report.md": markdown(page, ""),
        "report.json": msgspec.json.format(msgspec.json.encode(told), indent=1).decode() + "\n",
    }
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in texts]
