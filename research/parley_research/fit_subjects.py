"""`python -m parley_research.fit_subjects`: what subject a text is about, by its words; writes
agents/matching/subjects.npz.

Fitted on train.jsonl of the golden set and on the sentences of the shipped specifications, by multinomial logistic
regression with a squared penalty. Its labels are experts; each shipped one stands for one subject.
"""

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from parley.agents.experts import builtin
from parley.agents.matching import subjects
from parley.agents.matching.sanitize import sanitized
from parley.agents.matching.spelling import Speller
from parley.agents.matching.subjects import BUCKETS, SUBJECTS, Floats
from parley.agents.matching.vectors import sentences
from parley.agents.matching.word_roots import read_prompt
from parley.schemas.expert import ExpertSpec
from parley_research.routing import Case
from parley_research.routing_data import GOLDEN, golden

SUBJECT = {
    "security-architect": "security", "database-engineer": "databases", "systems-architect": "architecture",
    "sre": "operations", "build-release-engineer": "delivery", "frontend-engineer": "web", "ux-designer": "usability",
    "mobile-engineer": "mobile", "qa-engineer": "testing", "technical-writer": "writing", "data-scientist": "data",
    "implementation-engineer": "building", "implementation-auditor": "auditing",
}  # fmt: skip
"""Of the shipped experts."""
HELD_BACK = 16
"""One training task of so many is fitted on by nothing but the matcher's weights."""
OFTEN = 5
"""A word that so many training tasks use is taken as rightly spelt."""
SEEN = 2
"""What fewer texts hold says nothing."""
PENALTY = 0.1
"""Of the squared weights, halved: of 0.02 to 0.2, all did about as well on the half to develop on."""
STEPS = 150


class Training(NamedTuple):
    """Texts, and what they are about."""

    texts: list[str]
    lead: Floats
    """(texts, SUBJECTS): which one it is about; rows sum to 1."""
    part: Floats
    """(texts, SUBJECTS): 1 for those that have a part in it."""
    task: list[bool]
    """It is a task, of which it is known who has a part in it; else a sentence."""


def speller(cases: Sequence[Case], specs: Sequence[ExpertSpec]) -> tuple[Speller, list[str]]:
    """(one that knows the words of the tasks and of the specifications, the former)."""
    right = [c.prompt.lower() for c in cases if c.kind != "misspelt"]
    used = Counter(w for text in right for w in set(re.findall(r"[a-z]+", text)))
    known = sorted(w for w, count in used.items() if count >= OFTEN and len(w) > 2)
    said = (t for s in specs for part in sentences(s).values() for t in part)
    return Speller((*(w for t in said for w in re.findall(r"[a-z]+", t.lower())), *known)), known


def training(folder: Path = GOLDEN) -> tuple[Training, list[str], tuple[Case, ...]]:
    """(what is fitted on, words that are rightly spelt, the tasks held back)."""
    specs = [s for s in builtin() if not s.general]
    every = golden("train", builtin(), folder).cases
    ids = tuple(s.id for s in specs)
    put, known = speller(every, specs)
    texts, lead, part, task = [], [], [], []
    for case in (c for i, c in enumerate(every) if i % HELD_BACK):
        texts.append(read_prompt(put.right(sanitized(case.prompt, ids))).wanted_text or case.prompt)
        named = [SUBJECT[e] for e in case.leads] or ["none"]
        lead.append(_row(named) / len(named))
        part.append(np.maximum(_row(named), _row([SUBJECT[e] for e in case.support if e in SUBJECT])))
        task.append(case.kind != "saying")
    for spec in specs:
        for text in (*spec.triggers.examples, *spec.domain.owns, spec.deliberation.claim):
            texts.append(text)
            lead.append(_row([SUBJECT[spec.id]]))
            part.append(lead[-1])
            task.append(False)
    return Training(texts, np.array(lead), np.array(part), task), known, every[::HELD_BACK]


def _row(named: Sequence[str]) -> Floats:
    indicator = np.zeros(len(SUBJECTS))
    indicator[[SUBJECTS.index(n) for n in named]] = 1
    return indicator


def fit(texts: Sequence[str], wanted: Floats) -> subjects.SubjectWeights:
    """The model, not rounded yet."""
    seen = np.zeros(BUCKETS)
    for text in texts:
        seen[np.unique(subjects.grams(text)[0])] += 1
    rarity = np.where(seen >= SEEN, np.log((1 + len(texts)) / (1 + seen)) + 1, 0).astype(np.float32)
    rows = [subjects.weighed(t, rarity) for t in texts]
    ends = np.cumsum([0, *(len(p) for p, _ in rows)])
    x = csr_matrix(
        (np.concatenate([v for _, v in rows]), np.concatenate([p for p, _ in rows]), ends), shape=(len(texts), BUCKETS)
    )
    xt, count = x.T.tocsr(), len(SUBJECTS)

    def loss(flat: Floats) -> tuple[float, Floats]:
        w, bias = flat[: BUCKETS * count].reshape(BUCKETS, count), flat[BUCKETS * count :]
        scores = x @ w + bias
        scores -= scores.max(axis=1, keepdims=True)
        e = np.exp(scores)
        total = e.sum(axis=1, keepdims=True)
        off = e / total - wanted
        value = -(wanted * (scores - np.log(total))).sum() + PENALTY / 2 * (w**2).sum()
        return float(value), np.concatenate([(xt @ off + PENALTY * w).ravel(), off.sum(axis=0)])

    flat = minimize(loss, np.zeros((BUCKETS + 1) * count), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
    weights = flat[: BUCKETS * count].reshape(BUCKETS, count).astype(np.float32)
    return subjects.SubjectWeights(weights, rarity, flat[BUCKETS * count :])


def write(model: subjects.SubjectWeights, known: Sequence[str], to: Path) -> None:
    """subjects.npz."""
    scale = np.abs(model.weights).max(axis=0) / 127
    np.savez_compressed(
        to, weights=np.round(model.weights / scale).astype(np.int8), scale=scale.astype(np.float32),
        rarity=model.rarity.astype(np.float16), bias=model.bias, known=np.array(" ".join(known)),
    )  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m parley_research.fit_subjects", description=__doc__)
    parser.add_argument("--golden", type=Path, default=GOLDEN, metavar="DIR")
    parser.add_argument("--to", type=Path, default=subjects.FILE, metavar="FILE")
    options = parser.parse_args(arguments)
    data, known, held_back = training(options.golden)
    write(fit(data.texts, data.lead), known, options.to)
    subjects.fitted.cache_clear()
    subjects.by_words.cache_clear()
    right = sum(_names(subjects.by_words(c.prompt), c) for c in held_back)
    print(f"{len(data.texts)} texts; right of {len(held_back)} held back: {right / len(held_back):.1%}")
    return 0


def _names(chances: Floats, case: Case) -> bool:
    return SUBJECTS[int(chances.argmax())] in ([SUBJECT[e] for e in case.leads] or ["none"])


if __name__ == "__main__":
    raise SystemExit(main())
