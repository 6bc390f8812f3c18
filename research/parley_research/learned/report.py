"""`python -m parley_research.learned.report`: the figures of what was learned, written to docs/reports/learned.md.

Everything is fitted on the fit half and reported on the test half. The page is made by this module alone.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any

import msgspec
import numpy as np

from parley_research.debates.calibration import debiased_interval
from parley_research.debates.harness import Scored, play, prepared
from parley_research.debates.method import Method
from parley_research.debates.page import shown_share
from parley_research.debates.record import RecordedDebate, of_half
from parley_research.debates.registry import DataSet, loaded
from parley_research.debates.statistics import ALPHA, difference, equivalent, of_questions, share
from parley_research.loaders import DATA, BadData, NoData
from parley_research.made import line as made_line
from parley_research.statistics import Interval

PAGE = Path(__file__).parents[3] / "docs" / "reports" / "learned.md"
HEAD = Path(__file__).with_name("report.md")
MARGIN = 0.01
"""One point: within it two methods are called the same, where the equivalence test says so."""
_LISTED = msgspec.json.decode(Path(__file__).with_name("tables.json").read_bytes(), type=dict[str, dict[str, Any]])
TABLES = {name: (str(listed["against"]), tuple(listed["methods"])) for name, listed in _LISTED.items()}
"""Set -> (method that others are compared with, methods)."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One method on the test half of one set."""

    title: str
    accuracy: Interval
    gain: Interval
    same: float
    """p of the equivalence test within MARGIN."""
    words: float
    """Of the words of the method that it is compared with."""
    rounds: float
    """The same, of rounds, the blind one counted."""
    ece: Interval | None
    """Of the answers that name an option."""
    answered: float
    """Share of debates in which it named an option."""


def rows(data_set: DataSet, debates: Sequence[RecordedDebate], against: str, names: Sequence[str]) -> Iterator[Row]:
    """A row a method, in this order; a method that cannot be run here is left out (`not_run` names it)."""
    key = data_set.split or data_set.name
    fit, test = of_half(key, debates, "fit"), of_half(key, debates, "test")
    methods = {method.name: method for method in loaded().methods()}
    base = _played(methods[against], fit, test)
    for name in names:
        if name in methods:
            yield _row(methods[name], _played(methods[name], fit, test), base)


def not_run(names: Sequence[str]) -> list[str]:
    """Methods of a table that cannot be run here, each with why and what to do."""
    missing = loaded().missing
    return [f"`{name}` was not run: {missing[name]}." for name in names if name in missing]


def _played(method: Method, fit: Sequence[RecordedDebate], test: Sequence[RecordedDebate]) -> list[Scored]:
    return play(method, prepared(method, fit), test)


def _row(method: Method, results: Sequence[Scored], base: Sequence[Scored]) -> Row:
    credits, others = [r.credit for r in results], [r.credit for r in base]
    questions = [r.question for r in results]
    answered = [r for r in results if r.outcome.leading]
    sure, right = [r.confidence for r in answered], [r.credit for r in answered]
    spent, whole = (sum(r.outcome.words for r in rs) for rs in (results, base))
    return Row(
        title=method.title,
        accuracy=share(credits, questions),
        gain=difference(credits, others, questions),
        same=equivalent(of_questions(credits, others, questions), MARGIN),
        words=spent / whole if whole else 1.0,
        rounds=sum(r.outcome.rounds + 1 for r in results) / sum(r.outcome.rounds + 1 for r in base),
        ece=debiased_interval(sure, right, [r.question for r in answered])
        if answered and float(np.ptp(sure))
        else None,
        answered=len(answered) / len(results),
    )


def _interval(interval: Interval, *, sign: bool = False) -> str:
    form = "+.1f" if sign else ".1f"
    low, value, high = (format(100 * x, form) for x in (interval.low, interval.value, interval.high))
    return f"{value} [{low}, {high}]".replace("-", "\N{MINUS SIGN}")


def table(rows: Sequence[Row], against: str) -> str:
    """The rows as Markdown."""
    lines = [
        f"| method | accuracy, % | against {against} | same within a point | words, % | rounds, % | answered, % | "
        "debiased ECE, % |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        same = "yes" if row.same < ALPHA else "no"
        ece = "" if row.ece is None else _interval(row.ece)
        right, gain = _interval(row.accuracy), _interval(row.gain, sign=True)
        lines.append(
            f"| {row.title} | {right} | {gain} | {same} (p {row.same:.2f}) | "
            f"{100 * row.words:.0f} | {100 * row.rounds:.0f} | {shown_share(row.answered)} | "
            f"{ece} |"
        )
    return "\n".join(lines)


def page(data: Path) -> str:
    """The whole page. Raises NoData and BadData."""
    sets = {data_set.name: data_set for data_set in loaded().sets()}
    made = made_line("python -m parley_research.learned.report")
    parts = [
        Template(HEAD.read_text(encoding="utf-8"))
        .substitute(made=made, reliability="[Reliability](../reliability.md)")
        .rstrip()
    ]
    for name, (against, names) in TABLES.items():
        data_set = sets[name]
        debates = list(data_set.load(data))
        test = of_half(data_set.split or name, debates, "test")
        titles = {method.name: method.title for method in loaded().methods()}
        parts += [
            f"## {data_set.title}",
            f"{len(test):,} debates about {len({d.question for d in test}):,} questions in the test half. "
            f"Seen before: {data_set.seen_before or 'nowhere that is known'}.",
            table(list(rows(data_set, debates, against, names)), titles[against]),
            *not_run(names),
        ]
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write the page. 0, or 2 where the data is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m parley_research.learned.report", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="where the data sets lie")
    parser.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help="the page")
    given = parser.parse_args(arguments)
    try:
        given.out.write_text(page(given.data), encoding="utf-8")
    except (NoData, BadData) as error:
        print(error, file=sys.stderr)
        return 2
    for line in not_run(sorted({name for _, names in TABLES.values() for name in names})):
        print(f"{line} Its rows are not in {given.out}.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
