"""Sections 3.2 and 3.3 of the source (seeds/madp.md) to the letter: the baseline `words`, and the complexity factors.

The score is how many of an expert's triggers stand in the prompt as bare strings, so `test` is found in `latest`. The
confidence that 4.1 goes by is computed by nothing in the source; for the baseline it is the score itself.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate
from functools import lru_cache
from itertools import combinations

from parley.agents.expert_matching.word_roots import read_prompt, roots, share, stands_in
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import MOST_CANDIDATES, Candidate, Factors, Matched, Profile, Task

VAGUE_VERBS = ("improve", "fix", "update", "change", "make better", "optimize")  # 3.2
PRIMARY, SECONDARY, FILE = 0.3, 0.15, 0.1  # 3.3
_PHRASE, _NEAR = 0.4, 0.6
"""What a phrase of an expert's own that the task is like adds, and from which share of its words on it is."""
_NO_WILDCARDS = str.maketrans("", "", "*?[]!")
HARDLY_LEADS = 0.15
"""Confidence below which an expert's domain is not held against those of others: that two hardly lead says nothing."""
CLOSE = 0.15
"""Confidences that differ by no more are close."""
SAME = 0.5
"""Owned phrases that share more than this of the shorter one's words are about the same."""
SECURITY = "security"
"""The category of the experts whose matter makes a task security-critical (9.3)."""


def score(spec: ExpertSpec, task: Task) -> float:
    """computeRelevance of 3.3: 0 to 1."""
    prompt = task.prompt.lower()
    total = sum(PRIMARY for t in spec.triggers.primary if t.lower() in prompt)
    total += sum(SECONDARY for t in spec.triggers.secondary if t.lower() in prompt)
    total += FILE * files(spec, task)
    return min(round(total, 6), 1.0)


def own_words(spec: ExpertSpec, wanted: Sequence[str]) -> float:
    """How much of a task is an expert's by its own words, from 0 on; `wanted`: the roots of what the task wants.

    As 3.3, but by whole words in any inflection, and only by those that are wanted; a phrase that it owns, or an
    example of its tasks, most of whose words stand there, counts too.
    """
    among = frozenset(wanted)
    total = PRIMARY * sum(stands_in(p, wanted) for p, own in keys(spec.triggers.primary) if own <= among)
    total += SECONDARY * sum(stands_in(p, wanted) for p, own in keys(spec.triggers.secondary) if own <= among)
    phrases = (*keys(spec.domain.owns), *keys(spec.triggers.examples))
    near = max((len(own & among) / len(own) for _, own in phrases if len(own) > 1), default=0.0)
    return total + (_PHRASE * near if near >= _NEAR else 0.0)


@lru_cache(maxsize=4_000)
def keys(phrases: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    """Roots of each phrase, in order and as a set: an expert compares the same ones with every task."""
    return tuple((phrase_roots, frozenset(phrase_roots)) for phrase_roots in map(roots, phrases))


def files(spec: ExpertSpec, task: Task) -> int:
    """How many of the files that a task mentions fit a pattern, each counted once."""
    return sum(fit(spec, name) > 0 for name in task.files_mentioned)


def fit(spec: ExpertSpec, name: str) -> int:
    """How well a file fits: characters of the most telling pattern of an expert's that it fits, but for wildcards;
    those of the file's name count twice, since a folder says less.

    3.3's `file.match(p)` finds a pattern anywhere; here from any folder of the path on.
    """
    parts = name.replace("\\", "/").lower().strip("/").split("/")
    tails = ["/".join(parts[i:]) for i in range(len(parts))]
    patterns = map(_compiled, spec.triggers.files)
    return max((telling for fits, telling in patterns if any(map(fits, tails))), default=0)


@lru_cache(maxsize=20_000)
def _compiled(pattern: str) -> tuple[Callable[[str], object], int]:
    """(whether a path fits a pattern, how telling it is)."""
    return re.compile(translate(pattern.lower())).match, _telling(pattern) + _telling(pattern.rpartition("/")[2])


def _telling(pattern: str) -> int:
    return len(pattern.translate(_NO_WILDCARDS))


def contains_vague_verbs(prompt: str) -> bool:
    """containsVagueVerbs of 3.2."""
    lowered = prompt.lower()
    return any(verb in lowered for verb in VAGUE_VERBS)


def variance(values: Sequence[float]) -> float:
    """statisticalVariance of 3.2: of the population; 0 for fewer than two."""
    if len(values) < 2:
        return 0.0
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values) / len(values)


def has_overlapping_domains(candidates: Sequence[tuple[ExpertSpec, float]], prompt: str) -> bool:
    """hasOverlappingDomains of 3.2, which says no more than its name.

    Two candidates overlap where their confidences are close (CLOSE) and neither leaves to the other what the prompt
    speaks of; or where a phrase that one owns shares most of its words with one that the other owns (SAME).
    """
    wanted = read_prompt(prompt).wanted
    return any(
        (abs(p - q) <= CLOSE and not _defers(a, b, wanted) and not _defers(b, a, wanted))
        or _own_the_same(a.domain.owns, b.domain.owns)
        for (a, p), (b, q) in combinations(candidates, 2)
    )


def _defers(one: ExpertSpec, other: ExpertSpec, wanted: Sequence[str]) -> bool:
    return share(roots(one.domain.defers.get(other.id, "")), wanted) > 0


@lru_cache(maxsize=20_000)
def _own_the_same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    for mine in one:
        for theirs in other:
            a, b = set(roots(mine)), set(roots(theirs))
            if len(a & b) > max(1.0, SAME * min(len(a), len(b))):
                return True
    return False


def by_rank(candidates: Iterable[tuple[ExpertSpec, Candidate]]) -> list[tuple[ExpertSpec, Candidate]]:
    """The most confident first; then by relevance, priority and id."""
    return sorted(candidates, key=lambda c: (-c[1].confidence, -c[1].relevance, c[0].priority, c[0].id))


def triggered(spec: ExpertSpec, task: Task) -> str:
    """Which triggers and files matched, for whoever asks."""
    prompt = task.prompt.lower()
    triggers = [t for t in (*spec.triggers.primary, *spec.triggers.secondary) if t.lower() in prompt]
    count = files(spec, task)
    return ", ".join([*triggers, *([f"{count} files"] if count else [])])[:200]


def match(task: Task, specs: Sequence[ExpertSpec], *, name: str = "words") -> Matched:
    """The baseline: every expert with a score above 0 is a candidate (2.3), and its confidence is its score."""
    candidates = [
        (spec, Candidate(expert=spec.id, relevance=value, confidence=value, why=triggered(spec, task)))
        for spec in specs
        if not spec.general and (value := score(spec, task)) > 0
    ]
    ranked = by_rank(candidates)[:MOST_CANDIDATES]
    factors = Factors(
        candidate_count=len(ranked),
        confidence_variance=variance([c.confidence for _, c in ranked]),
        domain_overlap=has_overlapping_domains([(s, c.confidence) for s, c in ranked], task.prompt),
        action_clarity=not contains_vague_verbs(task.prompt),
        scope_definition=bool(ranked),  # hasClearDomainSignals: somebody's trigger or file pattern matches
    )
    return assembled(task, specs, ranked, factors, name)


def assembled(
    task: Task, specs: Sequence[ExpertSpec], ranked: Sequence[tuple[ExpertSpec, Candidate]], factors: Factors, name: str
) -> Matched:
    """The reply to the turn `match`: candidates with whoever reviews such work, and the general-purpose expert."""
    reviewers = reviewing(task, specs, {spec.id for spec, _ in ranked[:1]})
    general = min((s for s in specs if s.general), key=lambda s: (s.priority, s.id), default=None)
    wanted = {s.id: s for s in (*(s for s, _ in ranked), *reviewers, *([general] if general else []))}
    return Matched(
        candidates=tuple(c for _, c in ranked),
        factors=factors,
        profiles=tuple(map(Profile.of, wanted.values())),
        reviewers=tuple(s.id for s in reviewers),
        general=general.id if general else "",
        security=any(s.category == SECURITY and c.relevance >= s.deliberation.confidence.low for s, c in ranked),
        matcher=name,
    )


def reviewing(task: Task, specs: Sequence[ExpertSpec], leads: set[str]) -> list[ExpertSpec]:
    """Who reviews such work (6.1): first whom its words call for, then who reviews everything; likely leads last."""
    wanted = frozenset(read_prompt(task.prompt).wanted)
    reviewers = []
    for spec in specs:
        if spec.reviews is None:
            continue
        called = sum(wanted.issuperset(roots(words)) for words in spec.reviews.of)
        if called or spec.reviews.always:
            reviewers.append((spec.id in leads, not called, -called, spec.priority, spec.id, spec))
    return [row[-1] for row in sorted(reviewers, key=lambda row: row[:-1])][:MOST_CANDIDATES]
