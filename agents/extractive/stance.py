"""Decides by words whether a sentence praises, blames or denies.

This is a word count and no understanding. It takes irony literally, and it knows only English.
"""

from functools import lru_cache

from parley.agents.retrieval.corpus import Sentence, word_set
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
