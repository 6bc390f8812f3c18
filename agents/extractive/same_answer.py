"""Finds equal answers by their words, without a language model.

An analyst with one goes by the sentences of agents/prompts/same_answer.md.
"""

from collections.abc import Sequence

from parley.agents.retrieval.corpus import stem
from parley.schemas.belief import outcome_key
from parley.schemas.text import tokens


def grouped(answers: Sequence[str]) -> list[list[int]]:
    """Places of the answers that are the same but for case, punctuation, articles and the endings of words.

    Groups stand in the order of their first answers. Every other word counts, and so does their order: "no" and "over"
    make another answer. Answers that would be one outcome are in one group whatever their words are.

    Examples
    --------
    >>> grouped(["the worn impellers", "air", "Worn impeller", "no worn impeller"])
    [[0, 2], [1], [3]]
    """
    groups: dict[object, list[int]] = {}
    keys: dict[str, object] = {}
    for place, answer in enumerate(answers):
        meaning: object = tuple(stem(word) for word in tokens(answer)) or outcome_key(answer)
        groups.setdefault(keys.setdefault(outcome_key(answer), meaning), []).append(place)
    return list(groups.values())
