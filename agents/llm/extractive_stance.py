"""Whether a sentence speaks for or against something, by words: praise, blame, what turns them round, how firm it is.

This is a word count and no understanding. It takes irony literally, and it knows only English.
"""

import re

from agents.retrieval.corpus import Sentence, stem, words


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in words(text))


GOOD = _stems(
    """recommend recommended prefer preferred best better good works worked reliable safe safer safely cheap cheaper
    fast faster quick quickly meets met satisfies fits suits suitable adequate enough sufficient suffices sufficed
    succeeds succeeded success successful passes passed protects protected saves saved caught catches detected
    recovered recovers restorable improved improves improvement benefit benefits advantage advantages ideal simple
    simpler simplest easy easier stable robust secure comfortable comfortably affordable right correct well-suited
    healthy complies compliant complied covers covered supports wins won pays worthwhile worth wise essential
    valuable resilient proven confirms confirmed"""
)
BAD = _stems(
    """bad worse worst fails failed failing lost loses losing loss lose risky danger dangerous expensive costly slow
    slower delayed slowly breached cannot unable violates violated violation insufficient inadequate missed misses
    broke broken breaks breaking wrong incorrect unsafe unreliable trouble troubled damage damaged damages corrupt
    corrupted corruption overrun exceeded exceeds exceeding burden wasteful waste wasted fragile brittle vulnerable
    impossible impractical unacceptable unsuitable disadvantage drawback drawbacks harm harmful harms penalty fine
    fined disruption overload overloaded abandoned regret regretted irrecoverable unrecoverable gone downtime hard
    difficult complex complexity overkill too shortfall"""
)
TOPICS = _stems(
    """risk error incident delay failure fault outage breach complaint problem defect accident shortage threat issue"""
)
"""Bad things as topics: a sentence may be about them without blaming anything, so they count half, and once."""
_NEGATORS = _stems(
    """not no never nor neither without hardly cannot can't don't doesn't didn't isn't aren't wasn't weren't won't
    wouldn't shouldn't couldn't hasn't haven't nobody nothing none"""
)
_REDUCERS = _stems(
    """reduce reduced reduces cut cuts prevent prevented prevents avoid avoided avoids fewer less lower lowered lowers
    eliminate eliminated eliminates remove removed removes halve halved shrank drop dropped spare spared minimise
    minimised minimize minimized limit limited limits contain contained"""
)
_REVERSED = _stems(
    """stop stopping drop dropping remove removing abandon abandoning ban banning avoid avoiding delay delaying retire
    retiring disable disabling quit quitting cancel cancelling end ending leave leaving reject"""
)
_NORMS = _stems("""must require required requires requirement mandatory obliged obligation statutory shall minimum""")
_FIRM = _stems(
    """measured measure measurement test tested tests audit audited auditor incident postmortem data showed shows
    trial trials benchmark recorded observed proved verified statutory regulation law contract drill rehearsal
    percent"""
)
_HEDGES = _stems(
    """might maybe perhaps possibly probably rumour rumor hearsay anecdotal anecdote guess guessed suppose supposedly
    allegedly seems feel feels felt believe believes think thinks opinion hope hopes likely unsure apparently"""
)

_CLAUSE = re.compile(
    r"\s*(?:;|:|,\s*(?:but|yet|while|whereas|although|though|however)\b|\b(?:but|whereas|while|although)\b)\s*", re.I
)
_CONTRAST = re.compile(r"\b(?:than|instead of|rather than|unlike|compared (?:with|to)|versus|in place of|over)\b", re.I)

_INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget)\b[^.]{0,40}\b(?:previous|prior|above|earlier|all|any|your|these)\b[^.]{0,40}"
    r"\b(?:instructions?|prompts?|rules?|messages?|evidence|documents?)\b"
    r"|\byou are (?:now )?(?:an?|the) (?:\w+ )?(?:assistant|model|ai|panelist|agent|moderator|analyst)\b"
    r"|^\W*(?:system|assistant|user)\s*(?:prompt|message)?\s*:|<\|?/?(?:system|assistant|user|im_start|im_end)\b"
    r"|\b(?:answer|reply|respond|output|vote|say|set)\b[^.]{0,30}\b(?:confidence|score)\b[^.]{0,20}\b(?:to|of|=|with)\b",
    re.I,
)

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


def is_instruction(text: str) -> bool:
    """Whether a sentence talks to the reader as to a machine: such a sentence is no evidence of anything."""
    return bool(_INJECTION.search(text))


def source_weight(document: str) -> float:
    """Weight of a source by its name: 1.25 for records and rules, 0.75 for opinion and advertising, else 1."""
    for weight, pattern in _SOURCES:
        if pattern.search(document):
            return weight
    return 1.0


def firmness(sentence: Sentence) -> float:
    """How firmly a sentence speaks: 0.5 for a guess to 1.3 for what was measured or is prescribed."""
    found = {stem(w) for w in sentence.words}
    if found & _HEDGES:
        return 0.5
    firm = bool(found & _FIRM) or bool(found & _NORMS) or any(w[0].isdigit() for w in sentence.words)
    return 1.3 if firm else 1.0


def polarity(text: str) -> float:
    """Praise less blame in a clause, -1 to 1; 0 where it has neither."""
    found = [stem(w) for w in words(text)]
    total = 0.0
    topics = 0
    for i, word in enumerate(found):
        value = 1.0 if word in GOOD else -1.0 if word in BAD else 0.0
        if word in TOPICS:
            topics += 1
            value = -0.5 if topics == 1 else 0.0
        if not value:
            continue
        window = found[max(0, i - 4) : i]
        if value < 0 and any(w in _REDUCERS for w in window):
            value = -0.8 * value
        if any(w in _NEGATORS for w in window[-3:]):
            value = -0.8 * value
        total += value
    return max(-1.0, min(1.0, total / 1.5))


def is_norm(sentence: Sentence) -> bool:
    """Whether the sentence prescribes something."""
    return any(stem(w) in _NORMS for w in sentence.words)


def is_negated(sentence: Sentence) -> bool:
    """Whether the sentence denies what it says."""
    return any(stem(w) in _NEGATORS for w in sentence.words)


def is_reversed(terms: tuple[str, ...]) -> bool:
    """Whether a question asks about ending something or about a fault, so that praise of its object is a no."""
    return sum(1 for t in terms if t in _REVERSED or t in BAD or t in TOPICS) % 2 == 1


def about(text: str, marks: frozenset[str], rivals: frozenset[str]) -> tuple[float, float]:
    """(how far a sentence names something, 0 to 1; how it speaks of it, -1 to 1).

    A clause counts when it names the thing. What stands behind "than", "instead of" and the like is judged the other way
    round; a clause that names a rival too, without such a word, says little about either.
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
    found = {stem(w) for w in words(text)}
    return len(found & marks) / len(marks)
