"""critic: what a judgement comes to. The judge says; what decides over an objection is checked here.

An objection is met by a sentence of the answer, which the judge quotes; whether it does meet it the critic says at the
end (ending). It is a repetition only if nothing is lost by calling it one: what it weighs then weighs upon the
objection that it repeats. An objection that the answer does not hold against is new where that one is met, was closed,
or weighs less than half.
"""

import msgspec

from parley.coordinator.protocols.critic.confidence import HALF, weight_of
from parley.coordinator.protocols.critic.state import State, answer, raised_against
from parley.coordinator.table import View
from parley.schemas.protocols.critic import Judgement, Met
from parley.schemas.text import same, squeeze, stands_in

_LEAST_WORDS = 3
_LEAST_CHARACTERS = 12
"""A quotation says something from so many words, or characters, on; or it is the whole answer."""


def weighs(j: Judgement) -> float:
    """What this round's objection weighs: the share of 100 that the answer lacks against it."""
    return round((100 - j.score) / 100, 4)


def met(s: State, v: View, j: Judgement) -> dict[int, str]:
    """Numbers of the objections that the answer meets, with what meets them: those whose quotation holds."""
    return {m.objection: squeeze(m.quote) for m in j.met if not unmet(s, v, m)}


def unmet(s: State, v: View, m: Met) -> str:
    """Why a quotation meets nothing; empty: it does."""
    standing = answer(v, s.answer)
    assert standing is not None, "a judgement is on an answer"
    quote = squeeze(m.quote)
    if not (stands_in(quote, standing.answer) or stands_in(quote, standing.reasoning)):
        return f"met: this does not stand in the answer, quote the sentence word for word: {quote[:200]!r}"
    if len(quote.split()) < _LEAST_WORDS and len(quote) < _LEAST_CHARACTERS and not same(quote, standing.answer):
        return f"met: quote the whole sentence that meets objection {m.objection}, not {quote!r}"
    o = next(o for o in s.profile if o.number == m.objection)
    before = raised_against(s, v, o)
    judged = o.weight is not msgspec.UNSET and weight_of(o) >= HALF
    if judged and before is not None and (stands_in(quote, before.answer) or stands_in(quote, before.reasoning)):
        return (
            f"met: this stood in the answer already when objection {o.number} was raised, and you ruled that the"
            f" answer did not hold against it: {quote[:200]!r}; quote what is new in this answer"
        )
    return ""


def repeats(s: State, v: View, j: Judgement) -> int:
    """Number of the objection that this round's repeats; 0: it is new, or there is none."""
    o = next((o for o in s.profile if o.number == j.repeats), None)
    if o is None or s.now.objection is None:
        return 0
    slight = o.closed or weight_of(o) < HALF or o.number in met(s, v, j)
    return 0 if slight and weighs(j) >= HALF else o.number


def unfounded(s: State, v: View, j: Judgement) -> str:
    """What in a judgement does not hold, with the way out; empty: nothing. Given again, it does not count."""
    for m in j.met:
        if fault := unmet(s, v, m):
            return f"{fault}; or leave objection {m.objection} open"
    if j.repeats and s.now.objection is not None and not repeats(s, v, j):
        return (
            f"repeats: you say that this round's objection makes the point of objection {j.repeats}, which the answer"
            " meets or which weighs little, and that the answer does not hold against it; only one of the two can be"
        )
    return ""
