"""Checks of validity on what was recorded: order, judges, identities, wording. What no data can answer says "not run".

Each check reads its own files, since most of these sets have no gold. A check whose data is not there is not run.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from parley_research.debates.agreement import alpha
from parley_research.debates.record import RecordedDebate
from parley_research.debates.sets import rows
from parley_research.debates.sets.answered import ford_read
from parley_research.debates.sets.judged import quality
from parley_research.debates.sets.panels import PAIR, SWAPPED
from parley_research.debates.sets.samples import game24
from parley_research.debates.statistics import difference, equivalent, mcnemar, of_questions, share, wilcoxon
from parley_research.loaders import NoData
from parley_research.statistics import Interval, wilson

Kind = Literal["order", "judges", "identities", "dial", "wording", "contamination", "agreement"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of validity, or why there is none."""

    kind: Kind
    what: str
    """What is measured, of which data."""
    figure: Interval | None = None
    """None: not run."""
    says: str = ""
    """What the figure means, or why it was not run."""
    count: int = 0
    """Of what the figure is made."""
    p: float | None = None


def checks(data: Path) -> list[Check]:
    """Every check, in the order of the page."""
    made: list[Check] = []
    for check in (_judges_in_two_orders, _pairs_in_two_orders, _speaking_first, _moderators, _judges_apart):
        made += _tried(check, data)
    made += _tried(_unmasked, data)
    made.append(
        Check(
            kind="dial",
            what="Does the tone follow the dial of contentiousness?",
            says="not run: nobody recorded debates under different dials; a live run with documents and judges can",
        )
    )
    made += _tried(_two_wordings, data)
    made += _tried(_arguments, data)
    made.append(
        Check(
            kind="contamination",
            what="Did the models see the questions, with their answers, in training?",
            says=(
                "not known, and likely: FORD's tasks, GSM8K, MMLU-Pro, TriviaQA and QuALITY are public and older than "
                "most of the models. Differences between methods on the same answers suffer less than accuracies do"
            ),
        )
    )
    return made


def _tried(check: Callable[[Path], Iterator[Check]], data: Path) -> list[Check]:
    try:
        return list(check(data))
    except NoData as error:
        return [Check(kind="order", what=(check.__doc__ or "").strip(), says=f"not run: {error}")]


def _share(kind: Kind, what: str, part: int, whole: int, says: str, *, p: bool = False) -> Check:
    """A share with Wilson's interval; `p`: against one half, by the exact test."""
    return Check(
        kind=kind,
        what=what,
        figure=wilson(part, whole),
        says=says,
        count=whole,
        p=mcnemar(part, whole - part) if p else None,
    )


def _judges_in_two_orders(data: Path) -> Iterator[Check]:
    """JudgeBench: each judge saw each pair in both orders."""
    by_judge: dict[str, list[dict[str, Any]]] = {}
    for row in rows.lines(data / "judgebench_order" / "judgments.jsonl"):
        by_judge.setdefault(row["judge"], []).append(row)
    for judge, judged in sorted(by_judge.items()):
        both = [tuple(row["decisions"]) for row in judged]
        firm = [(a, b) for a, b in both if a in PAIR and b in PAIR]
        stays = sum(SWAPPED[b] == a for a, b in firm)
        name = judge.partition("/")[2]
        yield _share(
            "order", f"JudgeBench, {name}: same verdict when the order is swapped", stays, len(firm),
            "of the pairs on which it was firm both times",
        )  # fmt: skip
        turned = [a for a, b in firm if SWAPPED[b] != a]
        if turned:
            yield _share(
                "order", f"JudgeBench, {name}: of verdicts that turned, for what was shown first",
                turned.count("A>B"), len(turned), "one half: no preference for a place", p=True,
            )  # fmt: skip


def _pairs_in_two_orders(data: Path) -> Iterator[Check]:
    """MT-Bench: GPT-4 saw each pair in both orders."""
    pairs = rows.array(data / "mtbench_pair" / "gpt4_pair.json")
    firm = [(r["g1_winner"], r["g2_winner"]) for r in pairs]
    firm = [(a, b) for a, b in firm if a.startswith("model") and b.startswith("model")]
    yield _share(
        "order", "MT-Bench, gpt-4: same winner when the order is swapped", sum(a == b for a, b in firm), len(firm),
        "of the pairs with a winner both times",
    )  # fmt: skip
    turned = [a for a, b in firm if a != b]
    yield _share(
        "order", "MT-Bench, gpt-4: of winners that turned, for what was shown first", turned.count("model_1"),
        len(turned), "one half: no preference for a place", p=True,
    )  # fmt: skip


def _speaking_first(data: Path) -> Iterator[Check]:
    """QuALITY and FORD: who speaks first."""
    first = [(d, d.rounds[0].statements[0].answer, d.rounds[-1].verdict) for d in quality(data) if d.group == "debate"]
    leans = [(d.gold == answer, belief[answer] > 0.5) for d, answer, belief in first if answer is not None]
    gold, chosen = sum(g for g, _ in leans), sum(c for _, c in leans)
    yield _share(
        "order", "QuALITY: the judge ends with the debater who spoke first", chosen, len(leans),
        f"that one was right in {gold} of {len(leans)}; orders were not swapped within a question", p=True,
    )  # fmt: skip
    settled = [_first_won(d) for d in ford_read(data)]
    won = [w for w in settled if w is not None]
    yield _share(
        "order", "FORD: of pairs that began apart and ended agreed, agreed on what the first speaker held", sum(won),
        len(won), "each pair spoke in one order only: order and model cannot be told apart", p=True,
    )  # fmt: skip


def _first_won(debate: RecordedDebate) -> bool | None:
    """Whether both ended with what the first member held; None: they did not begin apart, or did not end agreed."""
    standing = list(debate.standing())
    begun, ended = standing[0], standing[-1]
    if begun[0] == begun[1] or ended[0] != ended[1] or ended[0] not in begun:
        return None
    return ended[0] == begun[0]


def _moderators(data: Path) -> Iterator[Check]:
    """Common MT: a moderator who names the side that he supports."""
    debates = list(rows.lines(data / "mad_commonmt" / "debates.jsonl"))
    named = [r["moderator"]["supported"] for d in debates for r in d["rounds"]]
    sides = [side for side in named if side in ("Affirmative", "Negative")]
    yield _share(
        "order", "Common MT: of moderators who named a side, for the one who spoke first", sides.count("Affirmative"),
        len(sides), f"{len(named) - len(sides)} of {len(named)} rounds named none; the set has no gold", p=True,
    )  # fmt: skip


def _judges_apart(data: Path) -> Iterator[Check]:
    """JudgeBench: other judges of the same pairs."""
    by_pair: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows.lines(data / "judgebench_order" / "judgments.jsonl"):
        if row["response_model"].startswith("gpt-4o"):
            by_pair.setdefault(row["pair_id"], {})[row["judge"]] = row
    units = [[float(PAIR.index(r["decisions"][0])) for r in judged.values() if r["decisions"][0] in PAIR]
             for judged in by_pair.values()]  # fmt: skip
    judges = sorted({judge for judged in by_pair.values() for judge in judged})
    yield Check(
        kind="judges", what=f"JudgeBench: alpha of {len(judges)} judges on the same pairs, first order",
        figure=alpha(units), says="1: they agree; 0: as chance would have it", count=len(units),
    )  # fmt: skip
    right = {
        judge: {pair: float(judged[judge]["decisions"][0] == judged[judge]["label"])
                for pair, judged in by_pair.items() if judge in judged}
        for judge in judges
    }  # fmt: skip
    ranked = sorted(judges, key=lambda judge: -float(np.mean(list(right[judge].values()))))
    best, worst = ranked[0], ranked[-1]
    pairs = sorted(set(right[best]) & set(right[worst]))
    first, second = ([right[judge][pair] for pair in pairs] for judge in (best, worst))
    yield Check(
        kind="judges",
        what=f"JudgeBench: accuracy of {best.partition('/')[2]} less that of {worst.partition('/')[2]}",
        figure=difference(first, second, pairs), count=len(pairs), p=wilcoxon(of_questions(first, second, pairs)),
        says="the best and the worst judge of the same pairs, picked afterwards",
    )  # fmt: skip


SCALE = {"Negative": -2.0, "SomewhatNegative": -1.0, "Neutral": 0.0, "SomewhatPositive": 1.0, "Positive": 2.0}
UNMASKED_MARGIN = 0.1
"""Points of a scale from -2 to 2 that make no difference to anybody."""


def _unmasked(data: Path) -> Iterator[Check]:
    """News articles: one rater saw where the article appeared, the other did not."""
    table = csv.DictReader(
        rows.text(data / "budak_news" / "newsArticlesWithLabels.tsv").splitlines(),
        delimiter="\t",
        quoting=csv.QUOTE_NONE,
    )
    by_article: dict[str, dict[str, dict[str, str]]] = {}
    for row in table:
        by_article.setdefault(row["url"], {})[row["perceived"]] = row
    both = [pair for pair in by_article.values() if {"0", "1"} <= set(pair)]
    for party in ("democrat_vote", "republican_vote"):
        seen = [SCALE[pair["1"][party]] for pair in both]
        masked = [SCALE[pair["0"][party]] for pair in both]
        names = [str(place) for place in range(len(both))]
        differences = of_questions(seen, masked, names)
        same = equivalent(differences, UNMASKED_MARGIN)
        yield Check(
            kind="identities",
            what=f"News, stance towards {party.partition('_')[0]}s: rating with the source shown less without",
            figure=difference(seen, masked, names), count=len(both), p=wilcoxon(differences),
            says=f"scale -2 to 2; the same within {UNMASKED_MARGIN:g}: p {same:.2g}",
        )  # fmt: skip
        yield Check(
            kind="agreement", what=f"News, stance towards {party.partition('_')[0]}s: alpha of the two raters",
            figure=alpha([[a, b] for a, b in zip(seen, masked, strict=True)], "interval"), count=len(both),
            says="interval scale",
        )  # fmt: skip
    yield Check(
        kind="identities", what="Do debaters or judges answer otherwise when they see who speaks?",
        says="not run: no recorded debate was held both ways",
    )  # fmt: skip


def _two_wordings(data: Path) -> Iterator[Check]:
    """Game of 24: the same puzzles with two prompts."""
    shares: dict[str, dict[str, float]] = {"gpt4_standard": {}, "gpt4_cot": {}}
    for debate in game24(data):
        answers = [s.answer in debate.right for s in debate.rounds[0].statements]
        shares[debate.group][debate.question] = float(np.mean(answers))
    names = sorted(set(shares["gpt4_standard"]) & set(shares["gpt4_cot"]))
    first, second = ([shares[group][name] for name in names] for group in ("gpt4_cot", "gpt4_standard"))
    yield Check(
        kind="wording", what="Game of 24, gpt-4: accuracy asked to reason less that asked for the answer",
        figure=difference(first, second, names), count=len(names), p=wilcoxon(of_questions(first, second, names)),
        says="100 samples a puzzle and prompt",
    )  # fmt: skip
    yield Check(
        kind="wording", what="Game of 24, gpt-4, asked to reason: accuracy of one sample",
        figure=share(first, names), count=len(names), says="the published figure is 4.0 %",
    )  # fmt: skip


def _arguments(data: Path) -> Iterator[Check]:
    """Quality of arguments: several novices rated each."""
    dimensions: dict[str, dict[str, list[float]]] = {}
    for row in csv.DictReader(rows.text(data / "novice_argquality" / "ratings.csv").splitlines()):
        if row["rating"] != "?":
            of = dimensions.setdefault(row["dimension"], {})
            of.setdefault(row["argument_id"], []).append(float(row["rating"]))
    values: list[tuple[str, Interval, int]] = []
    for name, units in dimensions.items():
        rated: Sequence[Sequence[float]] = [ratings for ratings in units.values() if len(ratings) > 1]
        values.append((name, alpha(rated, "ordinal"), len(rated)))
    for name, figure, count in sorted(values, key=lambda one: -one[1].value):
        yield Check(
            kind="agreement", what=f"Argument quality, {name}: alpha of novices", figure=figure, count=count,
            says="ordinal scale 1 to 3",
        )  # fmt: skip
