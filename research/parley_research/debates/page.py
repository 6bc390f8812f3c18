"""The report as a page. Where a sentence says that something helps or does not, a test chose the word."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from parley.client.text import count
from parley_research.debates import plots, worth
from parley_research.debates.blocks import Block, Code, Heading, Items, Picture, Words, html, markdown, table
from parley_research.debates.every_set import Report
from parley_research.debates.manifest import Manifest
from parley_research.debates.measures import Compared, Measures
from parley_research.debates.one_set import SetReport, said
from parley_research.debates.speed import Speed
from parley_research.debates.validity import Check
from parley_research.first_look import signed
from parley_research.statistics import Interval

TITLE = "Does a debate help? Recorded debates under many methods"
PICTURES = "plots"
BETTER, WORSE, SAME, OPEN = "better", "worse", "the same", "not decided"
NOTHING = "–"

_ROWS = (
    "method", "accuracy, %", "MRR", "answered, %", "ECE, debiased", "ECE, equal mass", "bias of this ECE",
    "if calibrated",
    "ECE, equal width", "Brier", "reliability", "resolution", "log loss", "words", "tokens", "calls", "rounds",
    "stopped early", "flips", "without evidence", "abstained",
)  # fmt: skip
_PAIRS = (
    "method", "against", "gain, points", "better / worse", "Wilcoxon, adjusted", "McNemar", "equivalence", "verdict",
)  # fmt: skip


def blocks(report: Report) -> Iterator[Block]:
    """Everything that the page says."""
    yield Heading(1, TITLE)
    yield Words(
        "This page is made by one command, from recorded debates and nothing else. No model was called. Methods that "
        "learn are fitted on the fit half of the questions. Every figure is of the test half. Halves are drawn by the "
        "question's name."
    )
    yield Code(report.manifest.command)
    yield Items(tuple(report.notes))
    yield Heading(2, "In short")
    yield Items(tuple(_short(one) for one in report.sets))
    yield Heading(2, "How to read the tables")
    yield Items(_READING)
    for one in report.sets:
        yield from _of_set(one)
    if report.checks:
        yield from _validity(report.checks)
    yield from _absent(report)
    if report.speed is not None:
        yield Heading(2, "Speed")
        yield Words(_speed(report.speed))
    yield from _manifest(report)


_READING = (
    "Intervals are 95 % (BCa bootstrap, 2,000 resamplings, questions drawn whole). They are not corrected for their "
    "number. The p values under “Wilcoxon, adjusted” are.",
    "A verdict is “better” or “worse” where two things agree: the adjusted p is below .05, and the interval of the "
    "gain lies wholly on that side of 0. It is “the same” where the equivalence test says so within the margin. Else "
    "it is “not decided”: neither a difference nor sameness is shown.",
    "The test alone does not decide. It ranks differences, and the gain is their mean. So p may be small while the "
    "interval of the gain contains 0. That is “not decided”, too.",
    "Tied answers share the credit, as if one were drawn. An answer that names no option counts as wrong, and its MRR "
    "is 0.",
    "ECE is the expected calibration error in ten bins. With few answers in a bin it comes out too high. “Bias of this "
    "ECE” estimates by how much the one of equal mass does, and “ECE, debiased” is without that part.",
    "ECE and Brier are of the answers that name an option: who abstains claims nothing that could be calibrated. "
    "“Answered” says of how many debates that is. Log loss is of all debates, since an abstention spreads its "
    "probability, too.",
    "“If calibrated” is what the ECE would be by chance, were every confidence right. Money and time are not in the "
    "tables: no set records them by round.",
    "Log loss counts no probability below .01. Flips are changes of a member's answer in the rounds played.",
    "Some methods said and spent the same in every debate. They share a row, and are named below it. On recorded "
    "debates nobody hears the dial of contentiousness, so settings that act through it alone cannot differ.",
    "Bounds know the answer. Nobody can use them, and they have no calibration.",
)


def _short(one: SetReport) -> str:
    """The most that can be said of one data set in one item."""
    usable = [row for row in one.rows if not row.hindsight and not row.same_as]
    if not usable:
        return f"{one.title}: no method could be run."
    best = max(usable, key=lambda row: row.accuracy.value)
    told = f"{one.title}: highest is {best.title}, {_percent(best.accuracy)} %."
    pairs = [c for c in one.comparisons if c.against == one.baseline]
    if not pairs:
        return told
    counts = {word: [c.method for c in pairs if c.word == word] for word in (BETTER, WORSE, SAME, OPEN)}
    sides = ". ".join(f"{word.capitalize()}: {_named(names)}" for word, names in counts.items())
    return f"{told} Against `{one.baseline}`. {sides}."


def _named(names: Sequence[str]) -> str:
    """The names, as code; "none" where there is none."""
    return f"`{', '.join(names)}`" if names else "none"


def _of_set(one: SetReport) -> Iterator[Block]:
    yield Heading(2, one.title)
    lines = [
        f"`{one.name}`: {count(one.debates, 'debate')}, {one.fit:,} in the fit half and {one.test:,} in the test half, "
        f"about {count(one.questions, 'question')}.",
        f"Power: {said(one.detectable)}.",
        f"Licence: {one.licence}.",
    ]
    if one.note:
        lines.append(one.note)
    if one.seen_before:
        lines.append(f"This project looked at the set before: {one.seen_before}. So nothing here is a first look.")
    if one.unanswerable:
        none_right = count(one.unanswerable, "debate")
        lines.append(f"In {none_right} of the test half no option is right, and every method is wrong.")
    yield Items(tuple(lines))
    own = [row for row in one.rows if not row.same_as]
    yield table(f"Every method on the {count(one.test, 'debate')} of the test half", _ROWS, map(_row, own))
    twins: dict[str, list[str]] = {}
    for row in one.rows:
        if row.same_as:
            twins.setdefault(row.same_as, []).append(row.method)
    yield Items(tuple(f"The same as `{name}` in every debate: {_named(others)}." for name, others in twins.items()))
    yield from _pictures(one)
    yield from _comparisons(one)
    if one.budgets:
        names = list(one.budgets[0].accuracy)
        head = ("method", *(f"{b.most:,} {b.unit}" for b in one.budgets))
        lines_of = [[name, *(f"{100 * b.accuracy[name]:.1f}" for b in one.budgets)] for name in names]
        yield table("Accuracy in %, where each may spend so much on a question", head, lines_of)
    if one.groups:
        names = [row.method for row in one.rows if not row.same_as]
        head = ("method", *(f"{g.group} ({g.debates:,})" for g in one.groups))
        shown = [
            [n, *(f"{100 * g.accuracy[n]:.1f}" if n in g.accuracy else NOTHING for g in one.groups)] for n in names
        ]
        yield table("Accuracy in %, by group", head, shown)
    if one.not_run:
        reasons: dict[str, list[str]] = {}
        for missing in one.not_run:
            reasons.setdefault(missing.why, []).append(missing.method)
        yield Words("Not run:")
        yield Items(tuple(f"{_named(names)}: {why}." for why, names in reasons.items()))


def shown_share(share: float) -> str:
    """Of 100; 100 only where it is all."""
    return "100" if share == 1 else f"{min(99.9, 100 * share):.1f}"


def _row(row: Measures) -> list[str]:
    name = f"{row.title} (`{row.method}`)"
    c = row.calibration
    known = [
        f"{row.ece.value:.3f} [{row.ece.low:.3f}, {row.ece.high:.3f}]", f"{c.equal_mass:.3f}", f"{c.bias:.3f}",
        f"{c.calibrated:.3f}", f"{c.equal_width:.3f}", f"{c.brier:.3f}", f"{c.reliability:.3f}", f"{c.resolution:.3f}",
        f"{c.log_loss:.3f}",
    ] if c is not None and row.ece is not None else [NOTHING] * 9  # fmt: skip
    return [
        name, _percent(row.accuracy), f"{row.reciprocal_rank:.3f}", shown_share(row.coverage), *known,
        NOTHING if row.words is None else f"{row.words:,.0f}", NOTHING if row.tokens is None else f"{row.tokens:,.0f}",
        f"{row.calls:.1f}", f"{row.rounds:.2f}", f"{row.early:,}", f"{row.flips:.2f}",
        NOTHING if row.unexplained is None else f"{row.unexplained:.2f}", f"{row.abstained:,}",
    ]  # fmt: skip


def _pictures(one: SetReport) -> Iterator[Block]:
    drawn = plots.cost(one)
    if drawn is not None:
        unit = "words" if all(row.words is not None for row in one.rows if not row.same_as) else "calls"
        says = f"{one.title}: accuracy against {unit}. On the Pareto front: {_named(one.front)}."
        yield Picture(f"{one.name}-cost", says, drawn)
    drawn = plots.calibration(one)
    if drawn is not None:
        yield Picture(f"{one.name}-calibration", f"{one.title}: share right against confidence, by method.", drawn)


def _comparisons(one: SetReport) -> Iterator[Block]:
    if not one.comparisons:
        return
    margin = 100 * one.margin
    caption = f"Differences in points. Equivalence: p that the two differ by more than {margin:g} points"
    yield table(caption, _PAIRS, (_pair(c) for c in one.comparisons))
    sides = list(dict.fromkeys(c.against for c in one.comparisons))
    rows = [
        [
            word,
            *(_named([c.method for c in one.comparisons if c.word == word and c.against == other]) for other in sides),
        ]
        for word in (BETTER, WORSE, SAME, OPEN)
    ]
    caption = f"Verdicts. “The same” is within {margin:g} points. “Not decided” is neither a difference nor the same"
    yield table(caption, ("verdict", *(f"against {other}" for other in sides)), rows)


def _pair(c: Compared) -> list[str]:
    return [
        c.method, c.against, signed(c.gain), f"{c.better:,} / {c.worse:,}", _p(c.adjusted), _p(c.mcnemar),
        _p(c.equivalent), c.word,
    ]  # fmt: skip


def _p(p: float) -> str:
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _percent(of: Interval) -> str:
    return f"{100 * of.value:.1f} [{100 * of.low:.1f}, {100 * of.high:.1f}]"


_KINDS = {
    "order": "Order",
    "judges": "Judges swapped",
    "identities": "Identities unmasked",
    "dial": "The dial of contentiousness",
    "wording": "Wording of the prompt",
    "contamination": "Contamination",
    "agreement": "Agreement of raters",
}


def _validity(checks: Sequence[Check]) -> Iterator[Block]:
    yield Heading(2, "Checks of validity")
    yield Words("On recorded judgements and debates. What was not recorded says so.")
    for kind, title in _KINDS.items():
        mine = [check for check in checks if check.kind == kind]
        made = [c for c in mine if c.figure is not None]
        yield Heading(3, title)
        if made:
            rows = [
                [c.what, _figure(c), "" if c.p is None else _p(c.p), f"{c.count:,}", c.says] for c in made
            ]  # fmt: skip
            yield table(title, ("what", "figure", "p", "of", "meaning"), rows)
        yield Items(tuple(f"{c.what} {c.says[0].upper()}{c.says[1:]}." for c in mine if c.figure is None))


def _figure(check: Check) -> str:
    figure = check.figure
    assert figure is not None
    return f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"


def _absent(report: Report) -> Iterator[Block]:
    if report.absent:
        yield Heading(2, "Data sets that were not there")
        yield Items(tuple(f"{one.name}: {one.why}" for one in report.absent))


def _speed(speed: Speed) -> str:
    return (
        f"In one thread the controller played {speed.controller:,.0f} recorded debates a second, from an empty cache "
        f"of courses. With no cache it played {speed.uncached:,.0f}. The floor of the same run counts votes alone: "
        f"{speed.votes:,.0f} a second. So the controller costs {speed.votes / speed.controller:.1f} times the floor. "
        f"There were {speed.debates:,} debates of {speed.rounds / max(1, speed.debates):.1f} rounds."
    )


def _manifest(report: Report) -> Iterator[Block]:
    made = report.manifest
    yield Heading(2, "What this run was made of")
    changed = ", with files that differ from it" if made.changed else ""
    yield Items(
        (
            f"Made on {made.day}, from commit {made.commit or 'unknown'}{changed}",
            f"Code that decides the figures: SHA-256 {made.code[:16]}…",
            f"Seed {made.seed}, {made.resamples:,} resamplings, halves drawn with “{made.split}”",
            f"Python {made.python}, " + ", ".join(f"{name} {number}" for name, number in made.libraries.items()),
        )
    )
    yield table("Data", ("file", "SHA-256"), [[name, f"{digest[:16]}…"] for name, digest in made.data.items()])
    yield Words("`manifest.json` beside this page has all of it in full. `--repeat manifest.json` runs it again.")


def _made(of: Manifest) -> str:
    changed = ", with files that differ from it" if of.changed else ""
    return f"Made on {of.day} by `{of.command}`, from commit {of.commit[:12] or 'unknown'}{changed}."


def written(report: Report, out: Path) -> list[Path]:
    """Write report.html, report.md, report.json, worth.md, manifest.json and the plots; which, the page first."""
    page = list(blocks(report))
    (out / PICTURES).mkdir(parents=True, exist_ok=True)
    for block in page:
        if isinstance(block, Picture):
            (out / PICTURES / f"{block.name}.svg").write_text(block.svg, encoding="utf-8")
    texts = {
        "report.html": html(TITLE, page),
        "report.md": markdown(page, PICTURES),
        "report.json": msgspec.json.format(msgspec.json.encode(report), indent=1).decode(),
        "worth.md": markdown(list(worth.blocks(report.sets, _made(report.manifest))), PICTURES),
        "manifest.json": msgspec.json.format(msgspec.json.encode(report.manifest), indent=1).decode(),
    }
    for name, text in texts.items():
        (out / name).write_text(text + ("" if text.endswith("\n") else "\n"), encoding="utf-8")
    return [out / name for name in texts]
