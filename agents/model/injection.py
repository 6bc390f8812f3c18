"""Finds text that talks to its reader as to a machine, for every model: in any line, wherever a sentence could begin.

A pattern is no defence: fences and checks are (agents/prompts/prompting.py). What is found here is shown to people as
the flag `injection`, and the extractive model leaves it out of the evidence."""

import re
from collections.abc import Iterable
from functools import lru_cache

_BEGINS, _ENDS = r"(?:^|(?<=[.!?])\s)[^\w\n]{0,20}", r"[^\w\n]{0,20}(?:$|(?<=[.!?])\s)"
_INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget)\b[^.!?\n]{0,40}\b(?:previous|prior|above|earlier|all|any|your|these)\b[^.!?\n]{0,40}"
    r"\b(?:instructions?|prompts?|rules?|messages?|evidence|documents?)\b"
    r"|\byou are (?:now )?(?:an?|the) (?:\w+ )?(?:assistant|model|ai|panelist|agent|moderator|analyst|judge|critic)\b"
    rf"|{_BEGINS}(?:system|assistant|user|developer)\s*(?:prompt|message)?\s*:"
    r"|<\|?/?(?:system|assistant|user|im_start|im_end)\b"
    r"|\b(?:answer|reply|respond|output|vote|say|set|give|award|assign)\b[^.!?\n]{0,30}\b(?:confidence|score)\b"
    r"[^.!?\n]{0,20}\b(?:to|of|=|with)\b"
    r"|\b(?:score|rate|grade|rank)\s+(?:it|this|that|me|us|them|him|her|my|our|the \w+)\b[^.!?\n]{0,40}"
    r"\b(?:\d+|full|highest|maximum|perfect)\b"
    rf"|{_BEGINS}(?:final\s+)?(?:score|verdict|confidence|ruling)\s*[:=]?\s*"
    rf"(?:\d+(?:\s*(?:/|of|out of)\s*\d+)?|pass|accepted?|approved?|won){_ENDS}"
    r"|\b(?:judges?|analysts?|moderators?|panelists?|graders?|evaluators?|reviewers?)\s*(?:,|:)\s*[^.!?\n]{0,20}"
    r"\b(?:must|should|rule|award|give|declare|score|accept|vote)\b"
    r"|\[\[\s*(?:BEGIN|END)\b",
    re.I | re.M,
)
_LINE_END = re.compile("[\r\u2028\u2029]+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\U000e0000-\U000e007f]")


def gives_orders(text: str) -> bool:
    """Whether a text talks to the reader as to a machine, in any of its lines: some 0.2 s for a million characters."""
    return bool(_INJECTION.search(_LINE_END.sub("\n", _INVISIBLE.sub("", text))))


is_instruction = lru_cache(maxsize=20_000)(gives_orders)
"""The same, remembered: for sentences of documents, which are asked for in every turn."""


def suspicious(texts: Iterable[str]) -> bool:
    """Whether any of the texts does."""
    return any(is_suspicious(text) for text in texts)


is_suspicious = lru_cache(maxsize=64)(gives_orders)
"""The same, remembered: for whole texts."""
