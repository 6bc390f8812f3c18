"""Decides by words whether a sentence speaks for or against something: praise, blame, negation, firmness.

This is a word count and no understanding. It takes irony literally, and it knows only English.
"""

import re
from functools import lru_cache

from parley.agents.retrieval.corpus import Sentence, stem, word_set
from parley.agents.text.words import words

KEPT = 20_000
"""Sentences whose reading is kept: a seat is asked about the same ones in every round."""

GOOD = word_set(
    """recommend recommends recommended recommending prefer prefers preferred good better best works worked reliable
    reliably safe safer safest safely cheap cheaper cheapest fast faster fastest quick quicker quickly meets met
    satisfies satisfied fits suits suitable adequate enough sufficient suffices sufficed succeed succeeds succeeded
    success successful successfully passes passed protects protected saves saved caught catches detects detected
    recovered recovers restorable improves improved improvement benefit benefits advantage advantages ideal simple
    simpler simplest easy easier easiest easily stable robust secure comfortable comfortably affordable correct
    correctly healthy complies compliant complied supports wins won worthwhile worth wise essential valuable
    resilient proven confirms confirmed liked likes popular helps helped effective efficient"""
)
BAD = word_set(
    """bad worse worst badly fail fails failed failing lost loses losing loss losses lose risky riskier danger
    dangerous expensive costly slow slower slowest delayed breached cannot unable violate violates violated
    violation insufficient inadequate missed misses broke broken breaks breaking wrong wrongly incorrect unsafe
    unreliable unstable trouble troubled damage damaged damages corrupt corrupted corruption overran overrun
    exceeded exceeds exceeding burden wasteful waste wasted fragile brittle vulnerable impossible impractical
    unacceptable unsuitable disadvantage disadvantages drawback drawbacks harm harmful harms penalty penalties
    fined disruption disruptions overload overloaded abandoned regret regretted irrecoverable unrecoverable
    downtime difficult complex complexity overkill too shortfall rejected refused hurts hurt suffers suffered
    useless pointless faulty defective leaks leaked leaking crashed crashes"""
)
TOPICS = word_set(
    """risk risks error errors incident incidents delay delays failure failures fault faults outage outages breach
    breaches complaint complaints problem problems defect defects accident accidents shortage shortages threat
    threats issue issues"""
)
"""Bad things as topics: a sentence may be about them without blaming anything, so they count half, and once."""
_NEGATORS = word_set(
    """not no never nor neither without hardly cannot can't don't doesn't didn't isn't aren't wasn't weren't won't
    wouldn't shouldn't couldn't hasn't haven't nobody nothing none"""
)
_REDUCERS = word_set(
    """reduce reduced reduces reducing cut cuts cutting prevent prevented prevents avoid avoided avoids fewer less
    lower lowered lowers eliminate eliminated eliminates remove removed removes halve halved halves shrank drop
    dropped spare spared minimise minimised minimize minimized limit limited limits contain contained contains
    caught catches detects detected"""
)
_PREDICATING = word_set("and but is was are were be been")
"""Words behind which a thing is no longer what is reduced: "was dropped and is broken"."""
_REVERSED = word_set(
    """stop stopping drop dropping remove removing abandon abandoning ban banning avoid avoiding delay delaying retire
    retiring disable disabling quit quitting cancel cancelling end ending leave leaving reject
    rejecting replace replacing scrap scrapping demolish demolishing"""
)
_NORMS = word_set("""must require requires required requirement mandatory obliged obligation statutory shall minimum""")
_FIRM = word_set(
    """measured measurement measurements test tests tested audit audited auditors auditor incident postmortem data
    showed shows trial trials benchmark benchmarks recorded record records observed proved verified statutory
    regulation law contract drill drills rehearsal percent"""
)
_HEDGES = word_set(
    """might maybe perhaps possibly probably rumour rumor hearsay anecdotal anecdote guess guessed suppose supposedly
    allegedly seems feel feels felt believe believes think thinks opinion hope hopes likely unsure apparently"""
)

_CLAUSE = re.compile(
    r"\s*(?:;|:|,\s*(?:but|yet|while|whereas|although|though|however)\b|\b(?:but|whereas|while|although)\b)\s*", re.I
)
_CONTRAST = re.compile(r"\b(?:than|instead of|rather than|unlike|compared (?:with|to)|versus|in place of|over)\b", re.I)

_SOURCES = (
    (
        1.25,
        re.compile(
            r"polic|regulat|law|audit|incident|post-?mortem|measure|benchmark|drill|trial|report|record|standard|log",
            re.I,
        ),
    ),
    (0.75, re.compile(r"opinion|blog|rumou?r|chat|vendor|marketing|brochure|anecdote|memo", re.I)),
)


def source_weight(document: str) -> float:
    """Weight of a source by its name: 1.25 for records and rules, 0.75 for opinion and advertising, else 1."""
    for weight, pattern in _SOURCES:
        if pattern.search(document):
            return weight
    return 1.0


@lru_cache(maxsize=KEPT)
def firmness(sentence: Sentence) -> float:
    """How firmly a sentence speaks: 0.5 for a guess to 1.3 for what was measured or is prescribed."""
    present = set(sentence.words)
    if present & _HEDGES:
        return 0.5
    firm = bool(present & _FIRM) or bool(present & _NORMS) or any(w[0].isdigit() for w in sentence.words)
    return 1.3 if firm else 1.0


@lru_cache(maxsize=KEPT)
def polarity(text: str) -> float:
    """Praise less blame in a clause, -1 to 1; 0 where it has neither."""
    present = words(text)
    total = 0.0
    topics = 0
    for i, word in enumerate(present):
        value = 1.0 if word in GOOD else -1.0 if word in BAD else 0.0
        if word in TOPICS:
            topics += 1
            value = -0.5 if topics == 1 else 0.0
        if not value:
            continue
        window = present[max(0, i - 4) : i]
        joined = max((j for j, w in enumerate(window, 1) if w in _PREDICATING), default=0)
        if value < 0 and any(w in _REDUCERS for w in window[joined:]):
            value = -0.8 * value
        if any(w in _NEGATORS for w in window[-3:]):
            value = -0.8 * value
        total += value
    return max(-1.0, min(1.0, total / 1.5))


def is_negated(sentence: Sentence) -> bool:
    """Whether the sentence denies what it says."""
    return not _NEGATORS.isdisjoint(sentence.words)


def is_reversed(question: str) -> bool:
    """Whether a question asks about ending something or about a fault, so that praise of its object is a no."""
    return sum(1 for w in set(words(question)) if w in _REVERSED or w in BAD or w in TOPICS) % 2 == 1


@lru_cache(maxsize=KEPT)
def about(text: str, marks: frozenset[str], rivals: frozenset[str]) -> tuple[float, float]:
    """(how far a sentence names something, 0 to 1; how it speaks of it, -1 to 1).

    A clause counts when it names the thing. What stands behind "than", "instead of" and the like is judged the other
    way round; a clause that names a rival too, without such a word, says little about either.
    """
    named, total = 0.0, 0.0
    for clause in _clauses(text):
        share = _share(clause, marks)
        if share < 0.5:
            continue
        contrast = _CONTRAST.search(clause)
        value = polarity(clause)
        if (
            contrast
            and _share(clause[contrast.end() :], marks) >= 0.5
            and _share(clause[: contrast.start()], marks) < 0.5
        ):
            value = -abs(polarity(clause[: contrast.start()]) or 0.5)
        elif rivals and _share(clause, rivals) > 0 and not contrast:
            value *= 0.4
        named = max(named, share)
        total += value
    return named, max(-1.0, min(1.0, total))


def _clauses(text: str) -> list[str]:
    return [c for c in _CLAUSE.split(text) if c]


def _share(text: str, marks: frozenset[str]) -> float:
    if not marks:
        return 0.0
    stems = {stem(w) for w in words(text)}
    return len(stems & marks) / len(marks)
