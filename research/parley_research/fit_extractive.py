"""`python -m parley_research.fit_extractive XQUAD QUESTIONS`: fit how sure the extractive model is of an answer.

A logistic regression over the first sentence's figures (agents/extractive/ranking.py), on the first half of
XQUAD's articles and on QUESTIONS that ask for a sentence; right is a sentence that holds the gold. What floors come to
is shown for groups that were left out of the fit: each article, and each first document.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parley.agents.encoders import Encoder, make_encoder
from parley.agents.extractive.answer_search import Search, as_answer
from parley.agents.extractive.evidence import EvidenceSentence
from parley.agents.extractive.question import OPTIONS, YES_NO, read_question
from parley.agents.extractive.ranking import figures_of
from parley.agents.retrieval.corpus import cut
from parley_research.extractive import Asked, own, verdict, xquad

PENALTY = 1.0
ROUNDS = 60
FLOORS = (0.5, 0.55, 0.6, 0.62, 0.65, 0.7, 0.75)
Rows = NDArray[np.float64]


def fitted(x: Rows, y: Rows) -> Rows:
    """Weights of the columns; the last column is 1 and is not held small."""
    w = np.zeros(x.shape[1])
    held = np.full(x.shape[1], PENALTY)
    held[-1] = 1e-6
    for _ in range(ROUNDS):
        p = 1 / (1 + np.exp(-x @ w))
        w -= np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + np.diag(held), x.T @ (p - y) + held * w)
    return w


async def _samples(questions: Sequence[Asked], encoder: Encoder | None) -> list[tuple[str, tuple[float, ...], float]]:
    """(group, figures, 1 if right) of each question that a sentence may answer."""
    samples = []
    for q in questions:
        if read_question(q.question).kind in (OPTIONS, YES_NO) or q.kind == "yesno":
            continue
        search = Search(q.question, _evidence(q))
        vectors = None
        if encoder is not None and search.texts:
            vectors = dict(zip(search.texts, await encoder.encode(search.texts), strict=True))
        looked = search.looked(vectors)
        if looked:
            right = verdict(q, as_answer(looked[0].evidence)) == "right"
            samples.append((q.group or q.documents[0][0], (*figures_of(looked), 1.0), float(right)))
    return samples


def _evidence(q: Asked) -> list[EvidenceSentence]:
    evidence = []
    for name, text in q.documents:
        document = cut(text)
        evidence += [EvidenceSentence(s, name, own=True) for s in document.sentences]
        evidence += [EvidenceSentence(s, name, own=True, heading=True) for s in document.headings]
    return evidence


def main(arguments: Sequence[str]) -> int:
    """Print the weights, with the encoder and without, and what floors come to."""
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        questions = [*xquad(Path(arguments[0]), "dev"), *own(Path(arguments[1]))]
    except (OSError, ValueError, KeyError) as error:
        print(f"cannot read the questions: {error}", file=sys.stderr)
        return 2
    for name in ("embedded", "none"):
        rows = asyncio.run(_samples(questions, make_encoder(name)))
        groups, x, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows]), np.array([r[2] for r in rows])
        p = np.zeros(len(y))
        for group in set(groups):
            p[groups == group] = 1 / (1 + np.exp(-x[groups == group] @ fitted(x[groups != group], y[groups != group])))
        print(f"encoder {name}: weights {[round(float(w), 2) for w in fitted(x, y)]}")
        for floor in FLOORS:
            right, wrong = int(((p >= floor) & (y == 1)).sum()), int(((p >= floor) & (y == 0)).sum())
            print(f"  floor {floor}: {right} right, {wrong} wrong, of {len(questions)} questions")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
