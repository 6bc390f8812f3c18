"""The prototype of a task, and what texts are like beside it: the figures from which Q is computed (eq. 1, D.1, F).

Vectors stay here: what goes over the bus is the Gram matrix of the texts and their cosines with the prototype.
"""

from collections.abc import Sequence

import numpy as np

from parley.agents.retrieval.dense import Rows, unit
from parley.schemas.text import Similar

DECIMALS = 6


NAMED = 20
"""Outcomes that a subject names at most: the question must not drown in them, and an encoder reads some 200 words."""


def subject(task: str, outcomes: Sequence[str]) -> str:
    """The task's text, and after it its outcomes where they are few: what a passage must be near to be relevant."""
    return f"{task} {', '.join(outcomes)}" if 0 < len(outcomes) <= NAMED else task


def prototype(task: Rows, passages: Rows) -> Rows:
    """Unit mean of the unit vectors of the task's text and of its passages.

    Parameters
    ----------
    task
        Shape (dimension,).
    passages
        Shape (n, dimension); n may be 0, the prototype is then the task.

    Returns
    -------
    ndarray, shape (dimension,)
        Of length 1; all 0 where the mean has no direction.
    """
    return unit(np.vstack([task[None, :], passages]).mean(axis=0))


def relevant(subject: Rows, passages: Rows, at_least: float) -> Rows:
    """The passages whose cosine with the subject is that high: the others do not say what the subject is like."""
    return np.asarray(passages[passages @ subject >= at_least])


def similar(rows: Rows, theta: Rows) -> Similar:
    """Cosines of n texts with each other and with the prototype, to 6 decimals.

    Parameters
    ----------
    rows
        Unit vectors, shape (n, dimension).
    theta
        The prototype, shape (dimension,).
    """
    if not len(rows):
        return Similar()
    gram = np.clip(rows @ rows.T, -1.0, 1.0)
    upper = gram[np.triu_indices(len(rows))]
    dots = np.clip(rows @ theta, -1.0, 1.0)
    return Similar(gram=_rounded(upper), dots=_rounded(dots))


def _rounded(values: Rows) -> tuple[float, ...]:
    # 0.0 is added so that no -0.0 goes into the log.
    return tuple((np.round(values, DECIMALS) + 0.0).tolist())
