"""What reviews come to: planted defects found, and false alarms."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from parley.schemas.protocols.madp.work import Finding
from parley_research.defects.asking import PROMPTS, Prompted, Reviewed
from parley_research.defects.cases import Case, Planted
from parley_research.loaders import BadData
from parley_research.routing import Share, wilson

NEAR = 5
"""Lines between the planted line and the one that a finding names."""
MOST_LINES = 20
"""Of a range of lines; a longer one points at its first line."""
SERIOUS = ("critical", "major")
_RANGE = r"L?\d+(?:\s*[-–]\s*L?\d+)?"
_PLACE = re.compile(
    r"(?P<path>[\w@+./-]*[A-Za-z_][\w@+./-]*)(?:\s*[:#(,]\s*|\s+)(?:lines?\s*)?"
    rf"(?P<lines>{_RANGE}(?:\s*(?:,|and|&)\s*(?:lines?\s*)?{_RANGE})*)"
)
_NUMBERS = re.compile(r"(\d+)(?:\s*[-–]\s*L?(\d+))?")


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """One review against what was planted."""

    case: str
    prompt: Prompted
    found: bool | None
    """None: nothing is planted in the case."""
    false_alarms: int
    """Findings, critical or major, that do not name the planted defect."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Of one prompt, with Wilson's 95 % intervals."""

    reviews: int
    found: Share
    """Of the cases with a defect."""
    alarmed_clean: Share
    """Of the cases without one: those with a false alarm."""
    alarmed: Share
    """The same of all cases."""
    false_alarms_clean: int
    false_alarms: int


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """Cases that were reviewed with both prompts, for one figure."""

    both: int
    only_expert: int
    only_plain: int
    neither: int
    p: float
    """Of a two-sided sign test over the cases in which the prompts differ."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All figures."""

    prompts: dict[str, Figures]
    found: Paired | None
    """None: no case was reviewed with both prompts."""
    alarmed: Paired | None
    scored: tuple[Scored, ...]


class Place(NamedTuple):
    """Lines of a file, the last one included."""

    path: str
    first: int
    last: int


def places(location: str) -> Iterator[Place]:
    """The places that a finding's `location` names: `a.py:3`, `a.py:3-8`, `a.py:3, 9`, `a.py, line 3`, `a.py#L3`."""
    for match in _PLACE.finditer(location):
        for first, last in _NUMBERS.findall(match["lines"]):
            begin, end = int(first), int(last or first)
            yield Place(match["path"], begin, end if begin <= end < begin + MOST_LINES else begin)


def points_at(location: str, planted: Planted) -> bool:
    """Whether a location names the planted file, and a line near enough to the planted one."""
    return any(
        _same_file(place.path, planted.file) and place.first - NEAR <= planted.line <= place.last + NEAR
        for place in places(location)
    )


def _same_file(named: str, planted: str) -> bool:
    """Whether one path is the end of the other: `a/src/x.py` or `x.py` for `src/x.py`."""
    mine, theirs = PurePosixPath(named).parts, PurePosixPath(planted).parts
    shorter = min(len(mine), len(theirs))
    return shorter > 0 and mine[-shorter:] == theirs[-shorter:]


def score(case: Case, reviewed: Reviewed) -> Scored:
    """One review. Raises BadData: its reader names a finding that it does not have."""
    findings = reviewed.review.findings
    if reviewed.judged is not None and not set(reviewed.judged) <= set(range(1, len(findings) + 1)):
        raise BadData(f"case {case.id}, {reviewed.prompt}: judged {reviewed.judged}, it has {len(findings)} findings")

    def names_it(n: int, finding: Finding) -> bool:
        if case.defect is None:
            return False
        return points_at(finding.location, case.defect) if reviewed.judged is None else n in reviewed.judged

    serious = [names_it(n, f) for n, f in enumerate(findings, 1) if f.severity in SERIOUS]
    detected = None if case.defect is None else any(serious)
    return Scored(case=case.id, prompt=reviewed.prompt, found=detected, false_alarms=serious.count(False))


def report(cases: Sequence[Case], reviewed: Sequence[Reviewed]) -> Report:
    """All figures. Raises BadData: a review is of no case, or there are two of one case with one prompt."""
    by_id = {case.id: case for case in cases}
    scored: dict[tuple[str, Prompted], Scored] = {}
    for review in reviewed:
        if review.case not in by_id:
            raise BadData(f"case {review.case}: there is none")
        if (review.case, review.prompt) in scored:
            raise BadData(f"case {review.case}, {review.prompt}: it is reviewed twice")
        scored[review.case, review.prompt] = score(by_id[review.case], review)
    every = tuple(scored[key] for key in sorted(scored))
    detected = {(s.case, s.prompt): s.found for s in every if s.found is not None}
    alarmed = {(s.case, s.prompt): s.false_alarms > 0 for s in every}
    figures = {p: _figures([s for s in every if s.prompt == p]) for p in PROMPTS}
    return Report(
        prompts={p: f for p, f in figures.items() if f.reviews}, found=_paired(detected), alarmed=_paired(alarmed),
        scored=every,
    )  # fmt: skip


def _figures(of: Sequence[Scored]) -> Figures:
    clean = [s for s in of if s.found is None]
    return Figures(
        reviews=len(of),
        found=wilson(sum(s.found is True for s in of), len(of) - len(clean)),
        alarmed_clean=wilson(sum(s.false_alarms > 0 for s in clean), len(clean)),
        alarmed=wilson(sum(s.false_alarms > 0 for s in of), len(of)),
        false_alarms_clean=sum(s.false_alarms for s in clean),
        false_alarms=sum(s.false_alarms for s in of),
    )


def _paired(said: Mapping[tuple[str, Prompted], bool]) -> Paired | None:
    cases = [case for case, prompt in said if prompt == "expert" and (case, "plain") in said]
    pairs = [(said[case, "expert"], said[case, "plain"]) for case in cases]
    if not pairs:
        return None
    mine, theirs = pairs.count((True, False)), pairs.count((False, True))
    return Paired(
        both=pairs.count((True, True)), only_expert=mine, only_plain=theirs, neither=pairs.count((False, False)),
        p=sign_test(mine, theirs),
    )  # fmt: skip


def sign_test(first: int, second: int) -> float:
    """Two-sided, exact: how likely the cases that differ divide at least so unevenly by chance."""
    n = first + second
    tail = sum(math.comb(n, k) for k in range(min(first, second) + 1))
    return min(1.0, tail / 2.0 ** (n - 1))


def text(figures: Report) -> str:
    """The figures for a person."""
    lines = []
    for prompt, f in figures.prompts.items():
        lines += [
            f"{prompt}: {f.reviews} reviews",
            f"  found                        {_share(f.found)}",
            f"  cases with a false alarm     {_share(f.alarmed)}, {f.false_alarms} false alarms",
            f"  of those without a defect    {_share(f.alarmed_clean)}, {f.false_alarms_clean} false alarms",
        ]
    for name, pairs in (("found", figures.found), ("false alarm", figures.alarmed)):
        if pairs is not None:
            lines.append(
                f"paired, {name}: both {pairs.both}, only expert {pairs.only_expert}, only plain {pairs.only_plain},"
                f" neither {pairs.neither}; sign test p = {pairs.p:.3f}"
            )
    return "\n".join(lines)


def _share(of: Share) -> str:
    if not of.of:
        return "none"
    share = of.share
    return f"{of.hits}/{of.of} = {share.value:.0%} ({share.low:.0%} to {share.high:.0%})"
