"""How well tasks find their experts: accuracy, abstention, calibration, support and depth, with intervals.

A task is routed right where who leads is one of those who may; where nobody should, it is right to abstain.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from parley.schemas.routing import DEPTHS
from parley_research import statistics
from parley_research.statistics import Interval

"""Of the normal distribution: 95 % lie within so many standard deviations."""
BINS = 10
"""Of confidence, of equal width."""
NOBODY = "nobody"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt, and what is right for it. A line of a golden file."""

    prompt: str
    files: tuple[str, ...] = ()
    lead: str | None = None
    """Who should lead; None: nobody."""
    leads: tuple[str, ...] = ()
    """Who may, `lead` among them."""
    support: tuple[str, ...] = ()
    """Who may support."""
    depth: tuple[str, ...] | str = ()
    """How deep the coordination may go; empty: that is not judged."""
    kind: str = "plain"
    half: str = ""
    """`dev`: what is fitted on; `test`: what is only reported; empty: as its file is named."""

    @property
    def right(self) -> frozenset[str]:
        """Who may lead; empty: nobody."""
        return frozenset(self.leads) | ({self.lead} if self.lead is not None else set())

    @property
    def depths(self) -> frozenset[str]:
        """How deep it may go."""
        return frozenset((self.depth,) if isinstance(self.depth, str) else self.depth) - {""}


class Routed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one prompt."""

    lead: str | None
    """None: it abstains."""
    confidence: float = 0.0
    """That the lead is right, 0 to 1."""
    team: tuple[str, ...] = ()
    """The other experts that take part."""
    depth: str = ""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """So many of so many, with Wilson's 95 % interval."""

    hits: int
    of: int
    share: Interval


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """Routed prompts whose confidence lies between two figures."""

    low: float
    high: float
    count: int
    confidence: float
    """Their mean."""
    right: float
    """The share that is right."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Of one matcher on one set."""

    set: str
    matcher: str
    accuracy: Share
    by_kind: dict[str, Share]
    by_depth: dict[str, Share]
    """By the golden depth, the first one of several."""
    abstention_precision: Share
    """Of the prompts that it abstained on: how many nobody should lead."""
    abstention_recall: Share
    """Of the prompts that nobody should lead: how many it abstained on."""
    support_recall: Share
    """Of the experts that the set names as support of prompts that were routed: how many take part."""
    depth_agreement: Share
    calibration_error: float
    """Expected calibration error: |confidence - share that is right|, over the bins, weighted by their counts."""
    reliability: tuple[Bin, ...]
    confusion: dict[str, dict[str, int]]
    """Who should lead -> who does -> how often, where that is wrong."""
    depths: dict[str, dict[str, int]] = {}
    """The depths that a prompt may have -> the one that it has -> how often."""


def wilson(hits: int, of: int) -> Share:
    """A share with its interval (parley_research.statistics.wilson)."""
    return Share(hits=hits, of=of, share=statistics.wilson(hits, of))


def is_right(case: Case, routed: Routed) -> bool:
    """Whether the lead is one that may, or nobody leads where nobody should."""
    return routed.lead in case.right if case.right else routed.lead is None


def report(name: str, matcher: str, cases: Sequence[Case], routed: Sequence[Routed]) -> Report:
    """All figures.

    Parameters
    ----------
    cases, routed
        One of each, in the same order.
    """
    pairs = list(zip(cases, routed, strict=True))
    right = [is_right(case, r) for case, r in pairs]
    nobody = [not case.right for case in cases]
    abstained = [r.lead is None for r in routed]
    both = sum(n and a for n, a in zip(nobody, abstained, strict=True))
    wanted = [(case.support, r) for case, r in pairs if r.lead is not None and case.right]
    supported = sum(s in (r.lead, *r.team) for support, r in wanted for s in support)
    deep = [(case.depths, r.depth) for case, r in pairs if case.depths and r.depth]
    judged = zip(routed, right, strict=True)
    bins, error = reliability([(r.confidence, ok) for r, ok in judged if r.lead])
    return Report(
        set=name,
        matcher=matcher,
        accuracy=wilson(sum(right), len(right)),
        by_kind=_grouped(cases, right, lambda case: case.kind),
        by_depth=_grouped(cases, right, _first_depth),
        abstention_precision=wilson(both, sum(abstained)),
        abstention_recall=wilson(both, sum(nobody)),
        support_recall=wilson(supported, sum(len(support) for support, _ in wanted)),
        depth_agreement=wilson(sum(depth in may for may, depth in deep), len(deep)),
        calibration_error=error,
        reliability=bins,
        confusion=_confusion(pairs, right),
        depths=_depths(deep),
    )


def _first_depth(case: Case) -> str:
    return case.depth if isinstance(case.depth, str) else next(iter(case.depth), "")


def _grouped(cases: Sequence[Case], right: Sequence[bool], key: Callable[[Case], str]) -> dict[str, Share]:
    groups: dict[str, list[bool]] = {}
    for case, ok in zip(cases, right, strict=True):
        if key(case):
            groups.setdefault(key(case), []).append(ok)
    return {name: wilson(sum(groups[name]), len(groups[name])) for name in sorted(groups)}


def _depths(deep: Sequence[tuple[frozenset[str], str]]) -> dict[str, dict[str, int]]:
    counts = Counter((" or ".join(d for d in DEPTHS if d in may), depth) for may, depth in deep)
    by_label: dict[str, dict[str, int]] = {}
    for (may, depth), count in sorted(counts.items()):
        by_label.setdefault(may, {})[depth] = count
    return by_label


def _confusion(pairs: Iterable[tuple[Case, Routed]], right: Sequence[bool]) -> dict[str, dict[str, int]]:
    wrong = Counter(
        (case.lead or NOBODY, r.lead or NOBODY) for (case, r), ok in zip(pairs, right, strict=True) if not ok
    )
    counts: dict[str, dict[str, int]] = {}
    for (wanted, got), count in sorted(wrong.items(), key=lambda w: (-w[1], w[0])):
        counts.setdefault(wanted, {})[got] = count
    return counts


def reliability(sure: Sequence[tuple[float, bool]]) -> tuple[tuple[Bin, ...], float]:
    """(the bins that are not empty, the expected calibration error) of (confidence, right) pairs; (, 0) of none."""
    groups: dict[int, list[tuple[float, bool]]] = {}
    for confidence, ok in sure:
        groups.setdefault(min(BINS - 1, int(confidence * BINS)), []).append((confidence, ok))
    bins = tuple(
        Bin(
            low=place / BINS,
            high=(place + 1) / BINS,
            count=len(rows),
            confidence=sum(c for c, _ in rows) / len(rows),
            right=sum(ok for _, ok in rows) / len(rows),
        )
        for place, rows in sorted(groups.items())
    )
    error = sum(b.count * abs(b.confidence - b.right) for b in bins) / len(sure) if sure else 0.0
    return bins, error


# ---------------------------------------------------------------- as text


def text(reports: Sequence[Report]) -> str:
    """Tables of reports, for a terminal."""
    lines = []
    for r in reports:
        lines += [f"{r.set}: {r.matcher}", f"  right lead        {_share(r.accuracy)}"]
        if len(r.by_kind) > 1:
            lines += [f"    {name:<16}{_share(s)}" for name, s in r.by_kind.items()]
        if r.by_depth:
            lines.append("  by depth")
            lines += [f"    {name:<16}{_share(s)}" for name, s in r.by_depth.items()]
        lines += [
            f"  {name:<18}{_share(s)}"
            for name, s in (
                ("abstains rightly", r.abstention_precision), ("finds nobody's", r.abstention_recall),
                ("support found", r.support_recall), ("depth agrees", r.depth_agreement),
            )
            if s.of
        ]  # fmt: skip
        lines.append(f"  calibration error {r.calibration_error:.3f}")
        lines += [
            f"    {b.low:.1f} to {b.high:.1f}: {b.count:>5} prompts, said {b.confidence:.2f}, right {b.right:.2f}"
            for b in r.reliability
        ]
        lines += _confused(r)
        lines.append("")
    return "\n".join(lines)


def confused(r: Report) -> list[tuple[int, str, str]]:
    """(how often, who should lead, who does), the most frequent first."""
    rows = [(n, wanted, got) for wanted, row in r.confusion.items() for got, n in row.items()]
    return sorted(rows, key=lambda x: (-x[0], x[1:]))


def _confused(r: Report) -> list[str]:
    rows = confused(r)
    more = [f"    ... and {len(rows) - 20} further pairs"] if len(rows) > 20 else []
    head = ["  taken for another"] if rows else []
    return head + [f"    {wanted} -> {got}: {n}" for n, wanted, got in rows[:20]] + more


def _share(s: Share) -> str:
    if not s.of:
        return "-"
    return f"{s.share.value:>6.1%}  [{s.share.low:.1%}, {s.share.high:.1%}]  {s.hits:,} of {s.of:,}"
