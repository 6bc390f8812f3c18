"""`python -m parley_research.quotations`: which gate on evidence lets findings in and keeps out what is off the topic.

`labelled.jsonl` has 100 quotations from five fields, each in its passage, with a claim that a debater would rest on it:
40 findings that decide, 30 lines of hearsay, 30 off the topic. They were written before any gate was tried. A gate is a
figure and a threshold; the threshold is fitted on one half, and the other half is printed.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from parley.agents.encoders.embedded import Embedded
from parley.agents.retrieval.dense import prototype, relevant, subject
from parley.schemas.control import CONSTANTS

FILE = Path(__file__).with_name("labelled.jsonl")
FINDING, HEARSAY, OFF_TOPIC = "finding", "hearsay", "off topic"
FIT, HELD_OUT = "fit", "held out"
WANTED = 0.9
"""Of the findings admitted, and of what is off the topic refused."""


class Quotation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the file."""

    field: str
    question: str
    outcomes: tuple[str, ...]
    document: str
    passage: str
    quote: str
    claim: str
    label: str
    half: str


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate does, as shares."""

    findings_in: float
    hearsay_in: float
    off_topic_out: float

    @property
    def suffices(self) -> bool:
        """Whether the gate may be on by default."""
        return self.findings_in >= WANTED and self.off_topic_out >= WANTED


def read(file: Path = FILE) -> tuple[Quotation, ...]:
    """The labelled quotations."""
    return tuple(msgspec.json.decode(line, type=Quotation) for line in file.read_bytes().splitlines())


def cosines(quotations: Sequence[Quotation]) -> dict[str, list[float]]:
    """With the prototype of a debate on the field's question and passages: of the quotation (q, eq. 1), and of the
    quotation with the passage around it."""
    encoder = Embedded.checked()

    def encoded(texts: Sequence[str]) -> np.ndarray:
        return np.asarray(asyncio.run(encoder.encode(texts)), dtype=np.float64)

    thetas = {}
    for q in quotations:
        if q.field not in thetas:
            passages = list(dict.fromkeys(other.passage for other in quotations if other.field == q.field))
            (about,) = encoded([subject(q.question, q.outcomes)])
            thetas[q.field] = prototype(about, relevant(about, encoded(passages), CONSTANTS.relevant_from))
    theta = np.array([thetas[q.field] for q in quotations])
    return {
        "topic cosine": np.sum(encoded([q.quote for q in quotations]) * theta, axis=1).tolist(),
        "cosine with the passage around": np.sum(encoded([q.passage for q in quotations]) * theta, axis=1).tolist(),
    }


def rates(quotations: Sequence[Quotation], figures: Sequence[float], threshold: float, half: str) -> Rates:
    """Of one half, with that threshold."""

    def admitted(label: str) -> float:
        of = [f for q, f in zip(quotations, figures, strict=True) if (q.label, q.half) == (label, half)]
        return sum(f >= threshold for f in of) / len(of)

    return Rates(findings_in=admitted(FINDING), hearsay_in=admitted(HEARSAY), off_topic_out=1 - admitted(OFF_TOPIC))


def fitted(quotations: Sequence[Quotation], figures: Sequence[float]) -> float:
    """The threshold with the best of the worse of the two rates, on the half for fitting; of equals the lowest."""

    def worth(threshold: float) -> float:
        of = rates(quotations, figures, threshold, FIT)
        return min(of.findings_in, of.off_topic_out)

    return max(sorted(set(figures)), key=worth)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison; 0."""
    parser = argparse.ArgumentParser(prog="python -m parley_research.quotations", description=__doc__)
    parser.parse_args(arguments)
    quotations = read()
    figures = {**cosines(quotations), "no gate": [0.0] * len(quotations)}
    rows = [(name, values, fitted(quotations, values)) for name, values in figures.items()]
    rows.insert(1, ("topic cosine, gate of 0.50", figures["topic cosine"], CONSTANTS.tau_q))
    print("| gate | threshold | half | findings in | off topic out | hearsay in | suffices |")
    print("|---|---|---|---|---|---|---|")
    for name, values, threshold in rows:
        for half in (FIT, HELD_OUT):
            of = rates(quotations, values, threshold, half)
            shares = f"{of.findings_in:.0%} | {of.off_topic_out:.0%} | {of.hearsay_in:.0%}"
            print(f"| {name} | {threshold:.2f} | {half} | {shares} | {'yes' if of.suffices else 'no'} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
