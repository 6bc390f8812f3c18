"""Analyst and panelists without a language model: a text is split at its question marks, answers are listed, and a
synthesis is signed that has all of them."""

import re
from collections.abc import Mapping

from parley.agents.context import Shown
from parley.agents.extractive.turn_method import TurnMethod, reads
from parley.schemas.protocols.compound import (
    MOST_ANSWER,
    MOST_PART,
    MOST_PARTS,
    JoinBrief,
    Joined,
    Signature,
    SignBrief,
    Split,
)
from parley.schemas.text import stands_in

_QUESTION = re.compile(r"[^?\n]+\?")


def split(shown: Shown) -> Split:
    """Each question of the text is a part; a text without several is one."""
    found = dict.fromkeys(m.group().strip(" -*\t0123456789.)")[:MOST_PART] for m in _QUESTION.finditer(shown.question))
    parts = tuple(part for part in found if part)[:MOST_PARTS]
    return Split(parts=parts if len(parts) > 1 else (shown.question[:MOST_PART],))


def join(shown: Shown) -> Joined:
    """The answers of the parts, one after the other."""
    brief: JoinBrief = shown.brief
    lines = [f"{p.part} {p.answer}" for p in brief.parts if p.answer]
    return Joined(answer="\n".join(lines)[:MOST_ANSWER], reasoning="The answers of the parts, one after the other.")


def sign(shown: Shown) -> Signature:
    """Signed where each answer stands in it, word for word."""
    brief: SignBrief = shown.brief
    missing = next((p for p in brief.parts if p.answer and not stands_in(p.answer, brief.synthesis)), None)
    differs = f"The answer to this part does not stand in it word for word: {missing.part}"[:1_000] if missing else ""
    return Signature(differs=differs, signs=missing is None)


METHODS: Mapping[str, TurnMethod] = {
    "split": reads(lambda shown, _: (split(shown), False), lambda body: " ".join(body.parts)),
    "join": reads(lambda shown, _: (join(shown), False)),
    "sign": reads(lambda shown, _: (sign(shown), False), lambda body: body.differs),
}
