"""The analyst without a language model: it splits a text at its question marks, and lists the answers of the parts."""

import re
from collections.abc import Mapping

from parley.agents.context import Shown
from parley.agents.extractive.turn_method import TurnMethod, reads
from parley.schemas.protocols.threads import MOST_PART, MOST_PARTS, JoinBrief, Joined, Split

_QUESTION = re.compile(r"[^?\n]+\?")


def split(shown: Shown) -> Split:
    """Each question of the text is a part; a text without several is one."""
    found = dict.fromkeys(m.group().strip(" -*\t0123456789.)")[:MOST_PART] for m in _QUESTION.finditer(shown.question))
    parts = tuple(part for part in found if part)[:MOST_PARTS]
    return Split(parts=parts if len(parts) > 1 else (shown.question[:MOST_PART],))


def join(shown: Shown) -> Joined:
    """The answers of the parts, one after the other."""
    brief: JoinBrief = shown.brief
    lines = [f"{p.part} {p.answer}" if p.answer else f"{p.part} No answer: {p.why}" for p in brief.parts]
    return Joined(answer="\n".join(lines)[:4_000], reasoning="The answers of the parts, without a language model.")


METHODS: Mapping[str, TurnMethod] = {
    "split": reads(lambda shown, _: (split(shown), False), lambda body: " ".join(body.parts)),
    "join": reads(lambda shown, _: (join(shown), False)),
}
