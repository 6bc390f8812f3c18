"""What would be wrong is seen: gold that says nothing, gold that leaks, halves that overlap, broken statistics."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np
import pytest

from parley_research import statistics as shares
from parley_research.debates import agreement, calibration, statistics
from parley_research.debates.every_set import Idle, chosen
from parley_research.debates.harness import NotRun, play, prepared, reads_gold
from parley_research.debates.manifest import Settings
from parley_research.debates.measures import measured
from parley_research.debates.method import Budget, Method, Outcome
from parley_research.debates.one_set import SetReport, evaluated
from parley_research.debates.record import RecordedDebate, Round, Statement
from parley_research.debates.registry import DataSet, Registry, loaded

OPTIONS = 4


def recorded(count: int, seed: int = 1) -> list[RecordedDebate]:
    """Three members that are right in 80, 60 and 50 %; in a second round the last follows the first."""
    dice = random.Random(seed)
    debates = []
    for number in range(count):
        gold = dice.randrange(OPTIONS)
        said = [gold if dice.random() < skill else dice.randrange(OPTIONS) for skill in (0.8, 0.6, 0.5)]
        rounds = [said, [said[0], said[1], said[0]], [said[0], said[1], said[0]]]
        debates.append(
            RecordedDebate(
                id=f"q{number}",
                question=f"q{number}",
                options=tuple("abcd"),
                gold=gold,
                members=("a", "b", "c"),
                rounds=tuple(
                    Round(statements=tuple(Statement(member=m, answer=a, words=5) for m, a in enumerate(answers)))
                    for answers in rounds
                ),
            )
        )
    return debates


def as_set(debates: Sequence[RecordedDebate]) -> DataSet:
    return DataSet(name="made", title="made", files=(), load=lambda _: debates, records=frozenset({"rounds", "words"}))


def report(debates: Sequence[RecordedDebate], methods: Sequence[Method] | None = None) -> SetReport:
    chosen = [m for m in loaded().methods() if m.name in ("single", "best", "vote", "full", "maci_paper", "consensus")]
    return evaluated(as_set(debates), Path(), chosen if methods is None else methods, margin=0.01)


@pytest.mark.slow
def test_permuted_gold_gives_chance() -> None:
    """Every method is far above chance on the gold; where the gold is drawn again, each interval holds one in four."""
    debates, dice = recorded(600), random.Random(7)
    drawn = [msgspec.structs.replace(d, gold=dice.randrange(OPTIONS)) for d in debates]
    real, permuted = report(debates), report(drawn)
    assert len(real.rows) == len(permuted.rows) == 6
    for row in real.rows:
        assert row.accuracy.low > 0.6, row.method
    for row in permuted.rows:
        assert row.accuracy.low < 0.25 < row.accuracy.high, row.method
        assert row.ece is not None
    assert not [c for c in permuted.comparisons if c.word in ("better", "worse")]


class Peeker(Method):
    """Reads the gold, and does not say so."""

    name, title = "peeker", "peeker"

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        place = max(0, debate.gold)
        given = tuple(float(p == place) for p in range(len(debate.options)))
        return Outcome(probabilities=given, leading=(place,))


def test_a_method_that_reads_the_gold_gets_none_and_is_named() -> None:
    debates = recorded(200)
    played = play(Peeker(), None, debates)
    assert np.mean([r.credit for r in played]) < 0.4  # it was shown none, and answers the first option
    assert reads_gold(Peeker(), debates)
    told = report(debates, [Peeker()])
    assert not told.rows
    assert "reads the gold" in told.not_run[0].why


class Shy(Method):
    """Names the option of the first member where that is the first option, and else abstains."""

    name, title = "shy", "shy"

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        if debate.rounds[0].statements[0].answer == 0:
            return Outcome(probabilities=(0.7, 0.1, 0.1, 0.1), leading=(0,))
        return Outcome(probabilities=(0.25,) * OPTIONS, leading=())


def test_an_abstention_has_no_confidence_to_calibrate_and_is_counted() -> None:
    debates = recorded(200)
    results = play(Shy(), None, debates)
    row = measured(Shy(), results, words=True)
    named = [r for r in results if r.outcome.leading]
    assert 0 < len(named) < len(results) == row.abstained + len(named)
    assert row.coverage == len(named) / len(results) and row.calibration is not None and row.ece is not None
    share = float(np.mean([r.credit for r in named]))
    assert row.calibration.equal_mass == pytest.approx(abs(0.7 - share)), "the share that was right of those named"
    assert sum(b.count for b in row.calibration.bins) == len(named)
    assert row.ece.low <= row.calibration.debiased <= row.ece.high
    assert row.accuracy.value == pytest.approx(share * row.coverage), "in the accuracy an abstention is wrong"
    silent = measured(Shy(), [r for r in results if not r.outcome.leading], words=True)
    assert (silent.calibration, silent.ece, silent.coverage) == (None, None, 0.0)


def test_a_method_that_cannot_be_run_here_is_named_with_what_to_do() -> None:
    registry = Registry()
    registry.add_missing("ours", "a library is missing; pip install it")
    with pytest.raises(Idle, match="ours cannot be run here: a library is missing; pip install it"):
        chosen(registry, Settings(methods=("ours",)))
    told = evaluated(as_set(recorded(60)), Path(), [], margin=0.01, absent=registry.missing)
    assert told.not_run == (NotRun("ours", "a library is missing; pip install it"),)


def test_no_method_of_this_project_reads_the_gold() -> None:
    debates = recorded(20)
    for method in loaded().methods():
        if method.hindsight or method.needs - {"members", "rounds"}:
            continue
        by_group = prepared(method, debates)
        assert not reads_gold(method if by_group is None else by_group[""], debates), method.name


def test_a_question_in_both_halves_is_refused() -> None:
    """The halves go by question: with the same question under two names of one set they would overlap."""
    from parley_research.debates.harness import apart

    debates = recorded(4)
    apart(debates[:2], debates[2:])
    with pytest.raises(ValueError, match="1 questions lie in both halves, such as 'q1'"):
        apart(debates[:2], debates[1:])


KRIPPENDORFF: list[list[float]] = [
    [1, 1, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4], [4, 4, 4, 4], [1, 1, 2, 1],
    [2, 2, 2, 2], [5, 5, 5], [1, 1], [3],
]  # fmt: skip
BH = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1]
TRUE = [1.0] * 8 + [0.0] * 2 + [1.0] * 5 + [0.0] * 5


def near(value: float, wanted: float) -> bool:
    return abs(value - wanted) < 2e-3


EXAMPLES: dict[str, Callable[[ModuleType], bool]] = {
    "shares": lambda m: near(m.wilson(81, 263).low, 0.2553) and near(m.wilson(0, 20).high, 0.1611),
    "statistics": lambda m: (
        near(m.mcnemar(9, 1), 0.0215)
        and sum(q <= 0.05 for q in m.adjusted(BH)) == 4
        and near(m.wilcoxon(np.array([6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75.0])), 0.0413)
        and np.ceil(m.pairs_needed(0.15, 0.45)) == 155
        and m.equivalent(np.array([1.9, 2.1, 2.0, 2.2]), 1.0) > 0.9
        and m.equivalent(np.array([0.1, -0.1, 0.2, -0.2]), 1.0) < 0.01
        and 0.30 < m.share([1.0] * 60 + [0.0] * 40, [str(i // 2) for i in range(100)]).low < 0.49
    ),
    "calibration": lambda m: (
        near((c := m.calibration([0.8] * 10 + [0.3] * 10, TRUE, [0.8] * 20)).reliability, 0.02)
        and near(c.resolution, 0.0225)
        and near(c.uncertainty, 0.2275)
        and near(c.brier, 0.225)
        and near(c.equal_mass, 0.1)
        and c.bias > 0
        and near(c.log_loss, 0.2231)
    ),
    "agreement": lambda m: (
        near(m.alpha(KRIPPENDORFF, "nominal").value, 0.743)
        and near(m.alpha(KRIPPENDORFF, "ordinal").value, 0.815)
        and near(m.alpha(KRIPPENDORFF, "interval").value, 0.849)
    ),
}
"""Published examples of each module, as one question to it: do they all come out?"""
MODULES = {"shares": shares, "statistics": statistics, "calibration": calibration, "agreement": agreement}
BROKEN = [
    ("shares", "Z * Z / (4 * whole * whole)", "Z * Z / (whole * whole)"),
    ("shares", "(p + Z * Z / (2 * whole))", "p"),
    ("statistics", "better + worse, 0.5", "better + worse, 0.6"),
    ("statistics", "stats.false_discovery_control(np.asarray(values))", "np.asarray(values)"),
    ("statistics", "stats.wilcoxon(moved)", "stats.ttest_1samp(moved, 0)"),
    ("statistics", "at * np.sqrt(discordant) + power", "at * np.sqrt(discordant) - power"),
    ("statistics", "max(above, below, unseen)", "min(above, below, unseen)"),
    ("statistics", "sums[drawn].sum(axis) / counts[drawn].sum(axis)", "sums[drawn].sum(axis) / len(sums)"),
    ("calibration", "np.abs(means - shares)).sum() / whole", "(means - shares)).sum() / whole"),
    ("calibration", "(counts * (means - shares) ** 2)", "(counts * (means - base) ** 2)"),
    ("calibration", "(shares - base) ** 2", "(shares - means) ** 2"),
    ("calibration", "uncertainty = base * (1 - base)", "uncertainty = base"),
    ("calibration", "folded - gap", "gap - folded"),
    ("calibration", "-np.log(", "np.log("),
    ("agreement", "np.outer(counts, counts) - np.diag(counts)", "np.outer(counts, counts)"),
    ("agreement", "/ (len(ratings) - 1)", "/ len(ratings)"),
    ("agreement", "total - counts / 2", "total"),
    ("agreement", "/ (whole - 1)", "/ whole * 1.1"),
]


def broken(name: str, old: str, new: str) -> ModuleType:
    """The module, with this in its source replaced."""
    file = MODULES[name].__file__
    assert file is not None
    source = Path(file).read_text(encoding="utf-8")
    assert source.count(old) >= 1, f"{old!r} is no longer in {name}"
    module = ModuleType(f"broken_{name}")
    exec(compile(source.replace(old, new, 1), file, "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("name", MODULES)
def test_the_published_examples_come_out(name: str) -> None:
    assert EXAMPLES[name](MODULES[name])


@pytest.mark.parametrize(("name", "old", "new"), BROKEN)
def test_a_broken_statistic_is_seen(name: str, old: str, new: str) -> None:
    assert not EXAMPLES[name](broken(name, old, new))
