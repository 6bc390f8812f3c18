"""Violations found by rule: marks of punctuation, words shared, a list of insults. Each is quoted from the speech.

counter_question    an answer has a sentence with a question mark, outside quotations
not_direct_answer   an answer shares no word of meaning with the questions
attacker_answered   questions have a statement between them, that does not speak to the other side
off_topic           a speech shares no word with the motion, and none with what was said before it
scripted_summary    a summary takes up nothing of the cross-examination
personal_attack     an insult in a sentence about a person
"""

import re
from collections.abc import Callable, Sequence

from parley.agents.protocols.competition.extractive_reading import PublicSpeech, masked, sentences, terms_of
from parley.agents.retrieval.corpus import word_set, words
from parley.schemas.protocols.competition.format import Violation
from parley.schemas.protocols.competition.messages import Breach, ScoreBrief

STATEMENT = 4
"""Words from which a sentence between questions is a statement."""
TAKEN_UP = 2
"""Words of meaning that a summary shares with the cross-examination, at least, beside the motion's."""
SAYS = 3
"""Words of meaning from which a speech says something."""
NEAR = 1
"""Words of meaning that a speech shares with what was said before, if it has none of the motion's."""
INSULTS = word_set(
    """idiot idiots idiotic stupid moron morons liar liars lying fool fools pathetic dishonest ignorant clown clowns
    incompetent coward cowards hypocrite hypocrites disgrace disgraceful imbecile crook crooks scum brainless"""
)
_PERSONS = word_set(
    """you your yours yourself he she his her they their them opponent opponents debater debaters speaker speakers team
    these those this that side"""
)
_THE_OTHERS = re.compile(r"\b(?:you|your|yours|they|their|opponents?|other side)\b", re.I)
Found = tuple[str, str]
"""(words of the speech, why); the words are empty where there is nothing."""
NOTHING: Found = ("", "")


def breaches(
    brief: ScoreBrief, it: PublicSpeech, before: Sequence[PublicSpeech], terms: frozenset[str]
) -> tuple[Breach, ...]:
    """The violations of a speech, among those that its kind can have."""
    rules: dict[Violation, Callable[[], Found]] = {
        "counter_question": lambda: _counter_question(it),
        "not_direct_answer": lambda: _not_direct(it, before),
        "attacker_answered": lambda: _attacker_answered(it),
        "off_topic": lambda: _off_topic(it, before, terms),
        "scripted_summary": lambda: _scripted(it, before, terms),
        "personal_attack": lambda: _personal(it),
    }
    faults = []
    for kind in brief.violations:
        quote, why = rules[kind]()
        if quote:
            faults.append(Breach(kind=kind, quote=quote[:2_000], note=why))
    return tuple(faults)


def _counter_question(it: PublicSpeech) -> Found:
    asks = [s for s in sentences(it.text) if "?" in masked(s)]
    return (asks[0], "The answer asks back.") if asks else NOTHING


def _attacker_answered(it: PublicSpeech) -> Found:
    for s in sentences(it.text):
        plain = masked(s)
        if "?" not in plain and len(words(plain)) >= STATEMENT and not _THE_OTHERS.search(plain):
            return s, "It is a statement, where only questions are wanted."
    return NOTHING


def _not_direct(it: PublicSpeech, before: Sequence[PublicSpeech]) -> Found:
    question = next((h for h in reversed(before) if h.body.act == "question"), None)
    if question is None or not terms_of(question.text) or _has(it) & terms_of(question.text):
        return NOTHING
    return _first(it), "It has no word of the questions."


def _off_topic(it: PublicSpeech, before: Sequence[PublicSpeech], terms: frozenset[str]) -> Found:
    around = frozenset(x for h in before[-3:] for x in _has(h))
    has = _has(it)
    if not terms or has & terms or len(has & around) >= NEAR or len(has) < SAYS:
        return NOTHING
    return _first(it), "It has no word of the motion."


def _scripted(it: PublicSpeech, before: Sequence[PublicSpeech], terms: frozenset[str]) -> Found:
    crossed = frozenset(x for h in before if h.body.act in ("question", "answer") for x in _has(h)) - terms
    if not crossed or len(_has(it) & crossed) >= TAKEN_UP:
        return NOTHING
    return _first(it), "It takes up nothing that was asked or answered."


def _personal(it: PublicSpeech) -> Found:
    for s in sentences(it.text):
        present = set(words(masked(s)))
        if present & INSULTS and present & _PERSONS:
            return s, "It is about a person, not about an argument."
    return NOTHING


def _has(h: PublicSpeech) -> frozenset[str]:
    return terms_of(h.text)


def _first(it: PublicSpeech) -> str:
    return next(iter(sentences(it.text)), "")
