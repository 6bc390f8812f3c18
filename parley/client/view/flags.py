"""What workers noticed about replies, in words."""

from collections.abc import Iterator

from parley.client.show.words import REASON
from parley.client.text import line
from parley.client.turns import Flagged

_UNPRICED = "unpriced"
_RECORDED = "recorded"
_PRICES = "LLM_USD_PER_MILLION_INPUT and LLM_USD_PER_MILLION_OUTPUT"
_HOW_IT_WAS_HAD = frozenset({"extracted", "repaired", "estimated"})
"""Flags that say nothing of the answer (docs/requests.md)."""
_IN_WORDS = {
    "extracted": "its reply was taken out of prose",
    "repaired": "its first reply could not be used",
    "estimated": "its tokens are an estimate",
    "cut": "not all that others said, or the documents hold, fitted what the model takes",
    "cut_documents": "not all that the documents hold fitted what the model takes",
    "summed_up": "its own summaries stood for what was said in earlier rounds",
    "rescaled": "its numbers came as percent",
    "reasoned": "its answer stood among its thoughts, and nothing after them",
    "quotes_dropped": "quotations that stand in no document were left out",
    "declined": "it declined, as its provider says, and counts as abstaining",
    "injection": "something that it read looks like instructions to a model",
    "overstated": "its worker reports more than the turn was allowed",
}


class FlagWords:
    """Tells flags; that no price of a model is known is said once, with what to set, and so is that replies are
    recorded."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._recorded = False

    def words(self, of: Flagged) -> Iterator[tuple[str, bool]]:
        """(text, whether one screen leaves it out) of each line."""
        flags = [flag for flag in of.flags if flag not in (_UNPRICED, _RECORDED)]
        if flags:
            told = "; ".join(_IN_WORDS.get(flag) or line(flag, REASON) for flag in flags)
            yield f"note: {told}", all(flag in _HOW_IT_WAS_HAD for flag in flags)
        if _RECORDED in of.flags and not self._recorded:
            self._recorded = True
            yield "note: replies are recorded: no model is asked for them", False
        if _UNPRICED in of.flags and of.model not in self._told:
            self._told.add(of.model)
            whose = f"the price of {line(of.model)}" if of.model else "the price of its model"
            yield f"{whose} is unknown, so its cost is not counted: set {_PRICES}", False
