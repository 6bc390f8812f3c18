"""Removes from a prompt what tries to steer who gets it. The rest is the text that is matched.

A prompt is data. A sentence that talks to a machine, names an expert beside a word for choosing one, or is a heap of
words and no sentence, says nothing about the work; it is left out, and so are marks that look like our messages. This
decides only who is asked: the experts see the prompt as it is, fenced.
"""

import re
from functools import lru_cache

from parley.agents.model.injection import gives_orders
from parley.agents.retrieval.corpus import STOP
from parley.agents.text.languages import OTHERS
from parley.agents.text.sentences import sentences

LONGEST = 4_000
"""Characters of a prompt that are matched: its beginning and its end."""
_ASIDE = re.compile(r"[\r\n]+|\s--+\s|\s[—–]\s")
_MESSAGE = re.compile(
    r"\{[^{}]{0,2000}\"?(?:lead|expert|agent_id|confidence|relevance|depth|consensus|role)\"?\s*:[^{}]{0,2000}\}"
)
_TAG = re.compile(
    r"</?(?:task|consensus|claim|system|user|assistant|instructions?|lead|router|prompt)\b[^>]{0,100}>", re.I
)
_CHOICE = re.compile(
    r"\b(?:lead\s*[:=]|assign\w*|rout(?:e|er|ing)\b|choose|choice|select|pick|override|appoint|dispatch|experts?\b|"
    r"confidence|you (?:are|must|will)\b)",
    re.I,
)
_ASKS_FOR_OURS = re.compile(
    r"\b(?:system|initial|hidden) prompt\b|\blist of (?:the )?experts\b|\bchoose the best expert\b"
    r"|\b(?:ignore|disregard|forget|override)\b[^.]{0,30}\b(?:instructions?|rules|routing|prompts?)\b"
    r"|\bwhich experts\b|\byou are (?:now )?free\b|\b(?:reveal|print|show|repeat)\b[^.]{0,40}"
    r"\b(?:instructions|experts)\b"
    r"|^\s*(?:system|assistant|developer|admin(?:istrator)?)\s*:",
    re.I,
)
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.I)
_WORD = re.compile(r"[^\W\d_]{2,}")
_HEAP = 7
"""Words in a row, none of them one that holds a sentence together, from which on they are a list."""


def sanitized(prompt: str, experts: tuple[str, ...]) -> str:
    """The prompt without what would steer; empty: nothing is left. `experts`: ids of those that are there, for what
    names them."""
    text = prompt if len(prompt) <= LONGEST else f"{prompt[: LONGEST // 2]}\n{prompt[-LONGEST // 2 :]}"
    text = _TAG.sub(" ", _MESSAGE.sub(" ", text))
    names = _names(experts)
    kept = []
    for sentence in (s for part in _ASIDE.split(text) for s in sentences(part)):
        steers = gives_orders(sentence) or _ASKS_FOR_OURS.search(sentence)
        if steers or (_CHOICE.search(sentence) and _named(sentence, names)) or _heap(sentence):
            continue
        kept.append(_ID.sub(lambda m: " " if "-" in m.group() and m.group().lower() in names else m.group(), sentence))
    return "\n".join(s for s in (" ".join(s.split()) for s in kept) if s)


@lru_cache(maxsize=64)
def _names(experts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(experts)


def _named(sentence: str, names: frozenset[str]) -> bool:
    """Whether it names an expert, alone or at the beginning or the end of a longer word with hyphens."""
    ids = {m.lower() for m in _ID.findall(sentence)}
    return not names.isdisjoint(ids | {part for id_ in ids for part in id_.split("-")})


def _heap(sentence: str) -> bool:
    """Whether it is a list of words without any that holds a sentence together, long or with a word again and again.
    Of words in other letters than those of English nothing is known."""
    words = [w.lower() for w in _WORD.findall(sentence)]
    again = len(words) - len(set(words))
    is_list = len(words) >= _HEAP or (len(words) >= 3 and again >= 2)
    return is_list and all(w.isascii() and w not in STOP and w not in OTHERS for w in words)
