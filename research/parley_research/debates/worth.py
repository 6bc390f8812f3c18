"""What a debate was worth, one row a data set: chance, vote, best member, debate, and majorities mended and broken.

Each sentence is made from the comparison that it names, so it cannot say anything else than the table of its set.
"""

from collections.abc import Iterator, Sequence

from parley_research.debates.blocks import Block, Heading, Items, Words, table
from parley_research.debates.measures import Compared, Measures
from parley_research.debates.one_set import SetReport
from parley_research.first_look import signed
from parley_research.statistics import Interval

TITLE = "What a debate was worth"
NOTHING = "–"
ASKED = (
    ("A debate against the vote of its first answers", "full", ("vote",)),
    ("A debate against the member that was best on other questions", "best", ("full",)),
    ("The member that was best on other questions against the vote", "best", ("vote",)),
    ("MACI's published stop against playing on", "maci_paper", ("full", "judge")),
    ("A stop after one unchanged round against playing on", "unchanged", ("full",)),
    ("Twenty samples of one model against one", "sc20", ("sample",)),
)
"""(what is compared, method, against which of these)."""
_HEAD = (
    "set", "members", "debates", "chance", "best member", "vote", "debate", "debate − vote", "verdict",
    "answers mended / broken", "words of the vote, %",
)  # fmt: skip


def blocks(sets: Sequence[SetReport], made: str) -> Iterator[Block]:
    """The whole page."""
    yield Heading(1, TITLE)
    yield Words(made)
    yield Words(
        "Every figure is of the test half of a public set of recorded debates, in %, with 95 % intervals. The best "
        "member was chosen on the fit half. A verdict is the one of `report.md` beside this page: a test chose it. "
        "Mended are debates whose answer is better than the vote of the first answers, broken are those where it is "
        "worse. Words are those until the first answers, of all."
    )
    yield table("Each set", _HEAD, [row for one in sets if (row := _row(one))])
    yield Heading(2, "Claims")
    for claim, method, others in ASKED:
        found = [(one, pair) for one in sets for pair in one.comparisons if _is(pair, method, others)]
        if found:
            yield Words(f"{claim}:")
            yield Items(tuple(_said(one, pair) for one, pair in found))


def _is(pair: Compared, method: str, others: Sequence[str]) -> bool:
    return pair.method == method and pair.against in others


def _row(one: SetReport) -> list[str]:
    """Of a set whose members debated or voted; empty of another."""
    rows = {row.method: row for row in one.rows}
    if "vote" not in rows:
        return []
    pair = next((c for c in one.comparisons if _is(c, "full", ("vote",))), None)
    return [
        one.title, one.members, f"{one.test:,}", NOTHING if one.chance is None else f"{100 * one.chance:.1f}",
        *(_share(rows.get(name)) for name in ("best", "vote", "full")),
        signed(pair.gain) if pair else NOTHING, pair.word if pair else NOTHING,
        f"{pair.better:,} / {pair.worse:,}" if pair else NOTHING, _words(rows),
    ]  # fmt: skip


def _share(row: Measures | None) -> str:
    return NOTHING if row is None else _percent(row.accuracy)


def _words(rows: dict[str, Measures]) -> str:
    full, vote = rows.get("full"), rows["vote"]
    return f"{100 * vote.words / full.words:.0f}" if full and full.words and vote.words else NOTHING


def _percent(of: Interval) -> str:
    return f"{100 * of.value:.1f} [{100 * of.low:.1f}, {100 * of.high:.1f}]"


def _said(one: SetReport, pair: Compared) -> str:
    rows = {row.method: row for row in one.rows}
    mine, other = rows[pair.method].words, rows[pair.against].words
    share = f", at {100 * mine / other:.0f} % of the words" if mine and other else ""
    same = f" within {100 * one.margin:g} of 100" if pair.word == "the same" else ""
    return f"{one.title}: {pair.word}{same}, {signed(pair.gain)} points{share}."
