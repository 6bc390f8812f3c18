"""The first look at recorded debates: docs/reports/stop-rules.md, made of the data alone.

The sentences state figures and what follows from how the data was recorded. Where one says that something helps or does
not, the interval beside it chose the word.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from textwrap import fill

from parley_research import loaders
from parley_research.comparison import (
    ABSOLUTE,
    FULL,
    NO_DEBATE,
    ORACLE,
    RELATIVE,
    STOPPING,
    UNANIMITY,
    UNCHANGED,
    UNGATED,
    Comparison,
)
from parley_research.loaders import Debate
from parley_research.made import line as made_line
from parley_research.statistics import SAMPLES, SEED, Interval

PAGE = Path(__file__).with_suffix(".md")
"""The prose, with a place for each figure."""
EITHER = ("first agent", "second agent")
COLUMNS = ("rule", "accuracy, %", "against the full debate", "better / worse", "words, %", "rounds", "stopped early")


def points(x: float) -> str:
    """A share in hundredths, signed."""
    rounded = f"{100 * x:+.2f}"
    return "0.00" if float(rounded) == 0 else rounded.replace("-", "−")


def percent(interval: Interval) -> str:
    """`61.2 [60.1, 62.3]`"""
    return f"{100 * interval.value:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def signed(interval: Interval) -> str:
    """`+1.2 [−0.1, +2.3]`"""
    return f"{points(interval.value)} [{points(interval.low)}, {points(interval.high)}]"


POINT = 0.01
BETTER, WORSE, SAME = "better", "worse", "no difference that shows"


def word(interval: Interval) -> str:
    """What to call a difference."""
    return BETTER if interval.low > 0 else WORSE if interval.high < 0 else SAME


def judged(interval: Interval) -> str:
    """A difference and what to call it; one that is wholly smaller than a point says so."""
    small = word(interval) != SAME and max(abs(interval.low), abs(interval.high)) < POINT
    return f"{signed(interval)}, {word(interval)}{' by less than a point' if small else ''}"


def item(text: str, depth: int = 0) -> str:
    """One of a list, in lines of a page's width."""
    lead = "  " * depth
    return fill(text, 128, initial_indent=f"{lead}- ", subsequent_indent=f"{lead}  ", break_on_hyphens=False)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown; the first column is text, the others are figures."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def rules_table(shown: Comparison) -> str:
    """Every rule beside the full debate."""
    rows = []
    for rule in shown.rules:
        better, worse = shown.differ(rule, FULL)
        other = rule != FULL
        rows.append([
            rule,
            percent(shown.accuracy(rule)),
            signed(shown.gain(rule, FULL)) if other else "",
            f"{better:,} / {worse:,}" if other else "",
            f"{100 * shown.words(rule).value:.1f}",
            f"{shown.rounds(rule):.2f}",
            f"{shown.early(rule):,}" if other and rule in STOPPING else "",
        ])  # fmt: skip
    return table(COLUMNS, rows)


def by_task(debates: Sequence[Debate]) -> str:
    """One row a pair and task."""
    rules = (NO_DEBATE, FULL, UNCHANGED, RELATIVE, ABSOLUTE, ORACLE)
    rows = []
    for group, task in sorted({(d.group, d.task) for d in debates}):
        shown = Comparison([d for d in debates if (d.group, d.task) == (group, task)], EITHER)
        rows.append([
            f"{group}, {task}",
            f"{len(shown.debates):,}",
            *(f"{100 * shown.accuracy(rule).value:.1f}" for rule in (*shown.alone, *rules)),
            *(signed(shown.gain(*pair)) for pair in ((FULL, NO_DEBATE), (UNCHANGED, FULL), (RELATIVE, FULL))),
            *(f"{100 * shown.words(rule).value:.1f}" for rule in (UNCHANGED, RELATIVE)),
        ])  # fmt: skip
    head = [
        "pair, task", "debates", "first alone", "second alone", "no debate", "full", "unchanged", "relative",
        "absolute", "oracle", "full − no debate", "unchanged − full", "relative − full", "words, unchanged",
        "words, relative",
    ]  # fmt: skip
    return table(head, rows)


def data_table(sets: Sequence[tuple[str, Sequence[Debate]]]) -> str:
    """What was read."""
    rows = []
    for name, debates in sets:
        last = [d.rounds[-1].answers for d in debates]
        numbers = (
            len(debates),
            sum(sum(r.words) for d in debates for r in d.rounds),
            sum(None not in answers and len(set(answers)) == 1 for answers in last),
            sum(d.unread for d in debates),
            sum(d.blank > 0 for d in debates),
        )
        rows.append([name, ", ".join(debates[0].agents), *(f"{n:,}" for n in numbers)])
    head = [
        "set",
        "agents",
        "debates",
        "words",
        "end in agreement",
        "answers not read",
        "debates with such a first answer",
    ]
    return table(head, rows)


def stops_said(shown: Comparison) -> list[str]:
    """Which stops were better or worse than playing on, then each with what it saved."""
    tried = {rule: shown.gain(rule, FULL) for rule in (UNANIMITY, UNCHANGED, RELATIVE, ABSOLUTE, UNGATED)}
    sorted_out = {name: [rule for rule, gain in tried.items() if word(gain) == name] for name in (BETTER, WORSE)}
    lists = [f"{name} than the full debate: {'; '.join(rules) or 'none'}" for name, rules in sorted_out.items()]
    return [
        item(
            f"Stops {lists[0]}. Stops {lists[1]}. The words that each stop saves, and its accuracy against the full "
            "debate:"
        ),
        *(
            item(f"{rule}: {100 * (1 - shown.words(rule).value):.1f} %; {judged(gain)}", 1)
            for rule, gain in tried.items()
        ),
    ]


def findings(shown: Comparison) -> str:
    """What the intervals say, as a list."""
    played = shown.played[RELATIVE]
    agreed, split = (sum(p.plateau == how for p in played) for how in ("agreed", "split"))
    longer = sum(len(d.rounds) > 3 for d in shown.debates)
    apart = sum(a != b for a, b in zip(played, shown.played[ABSOLUTE], strict=True))
    return "\n".join([
        item(f"The full debate against the vote of round 0: {judged(shown.gain(FULL, NO_DEBATE))}."),
        *stops_said(shown),
        item(
            f"Equation 10 (relative) was met in {agreed + split:,} debates. In {split:,} of them the agents were still "
            f"split (no convergence). It cannot be met before round 2, so it can save words only in the {longer:,} "
            f"debates that went on after that round. The absolute form differs in {apart:,} debates. The monotone gate "
            f"kept old beliefs in {sum(p.held > 0 for p in played):,}."
        ),
        item(
            f"The oracle stop: {signed(shown.gain(ORACLE, FULL))} over the full debate for "
            f"{100 * shown.words(ORACLE).value:.1f} % of the words. It knows the answer and takes the best round. "
            "It is an upper bound. No rule can be expected to reach it."
        ),
    ])  # fmt: skip


def against_alone(debates: Sequence[Debate]) -> str:
    """The full debate against its best agent alone, in debates that begin with answers from all."""
    shown = Comparison([d for d in debates if not d.blank], debates[0].agents)
    best = shown.best_alone()
    return item(
        f"{debates[0].group}, {len(shown.debates):,} debates: the full debate against {best}: "
        f"{judged(shown.gain(FULL, best))}."
    )


def text(data: Path) -> str:
    """The whole page.

    Raises
    ------
    loaders.NoData, loaders.BadData
    """
    ford, gsm8k = loaders.ford(data), loaders.gsm8k(data)
    whole, six = Comparison(ford, EITHER), Comparison(gsm8k, gsm8k[0].agents)
    read, unread = (Comparison([d for d in ford if bool(d.blank) == blank], EITHER) for blank in (False, True))
    pairs = [(group, [d for d in ford if d.group == group]) for group in loaders.FORD_GROUPS]
    compared = [(group, Comparison(debates, debates[0].agents)) for group, debates in pairs]
    return Template(PAGE.read_text(encoding="utf-8")).substitute(
        made=made_line("python -m parley_research"),
        worth="[What a debate was worth](debates/worth.md)",
        samples=f"{SAMPLES:,}",
        seed=SEED,
        ford_says=findings(whole),
        read_says=findings(read),
        unread_says=item(f"The full debate against the vote of round 0: {judged(unread.gain(FULL, NO_DEBATE))}."),
        alone_says="\n".join(against_alone(debates) for debates in (*(debates_of for _, debates_of in pairs), gsm8k)),
        gsm8k_says=findings(six),
        data=data_table([*pairs, (loaders.GSM8K, gsm8k)]),
        ford_count=f"{len(ford):,}",
        ford=rules_table(whole),
        read_count=f"{len(read.debates):,}",
        ford_read=rules_table(read),
        unread_count=f"{len(unread.debates):,}",
        ford_unread=rules_table(unread),
        ford_speeches=rules_table(Comparison(loaders.ford(data, by="speech"), EITHER)),
        ford_pairs="\n\n".join(f"### {group}\n\n{rules_table(shown)}" for group, shown in compared),
        ford_tasks=by_task(ford),
        gsm8k_count=f"{len(gsm8k):,}",
        gsm8k=rules_table(six),
    )
