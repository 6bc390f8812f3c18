"""What encoders are worth: pairs of texts told apart, sentences routed, seconds, memory. Writes the table in
docs/encoders.md.

    python -m parley_research.benchmarks.encoders [--data ../shared/data] [--sentence-transformers MODEL] [--dry]

Always measured: the words of helper and moderator, and the embedded encoder. Beside them a sentence-transformers model
if one is named and the extra is installed, and the encoder that ENCODER and its variables name. Data sets that are not
there are left out, and said to be.
"""

import argparse
import asyncio
import atexit
import csv
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from parley.agents.encoders import Encoder, EncoderError, make_encoder
from parley.agents.encoders.settings import chosen
from parley.agents.protocols.critic.extractive_compare import REPEATS_BY_ENCODER, REPEATS_BY_WORDS, by_encoder
from parley.agents.protocols.critic.extractive_judge import alike

ROOT = Path(__file__).parents[3]
DOC = ROOT / "docs" / "reports" / "encoders.md"
OBJECTIONS = ROOT / "tests" / "encoders" / "objections.tsv"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
SHIFT = 17
"""Of the rows of OBJECTIONS, for pairs that have nothing to do with each other."""
PAIRS = 300
"""Of each kind from a data set."""

Like = Callable[[str, str], float]
Pair = tuple[str, str, str]
"""(one text, the other, kind)"""
GRADES = {"reworded": 2, "same": 2, "related": 1, "unrelated": 0}


_RUNNER = asyncio.Runner()
atexit.register(_RUNNER.close)
run = _RUNNER.run
"""One event loop for all: making one costs as much as encoding a text."""


# ---------------------------------------------------------------- pairs


def objections() -> list[Pair]:
    """Pairs of our own: each point reworded, said in other words altogether, a related point, an unrelated one."""
    with OBJECTIONS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    kinds = ("reworded", "same", "related")
    pairs = [(row["point"], row[kind], kind) for kind in kinds for row in rows]
    return pairs + [(r["point"], rows[(i + SHIFT) % len(rows)]["point"], "unrelated") for i, r in enumerate(rows)]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [r for r in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if r["intent"] != "oos"]


def requests(data: Path) -> list[Pair]:
    """clinc150: two requests of one intent; of one domain; of two domains."""
    rows, dice, pairs = _rows(data / "clinc150" / "test.tsv"), random.Random(0), []
    fits: dict[str, Callable[[dict[str, str], dict[str, str]], bool]] = {
        "same": lambda a, b: a["intent"] == b["intent"] and a["text"] != b["text"],
        "related": lambda a, b: a["domain"] == b["domain"] and a["intent"] != b["intent"],
        "unrelated": lambda a, b: a["domain"] != b["domain"],
    }
    for kind, fit in fits.items():
        for a in dice.sample(rows, PAIRS):
            b = dice.choice([row for row in rows if fit(a, row)])
            pairs.append((a["text"], b["text"], kind))
    return pairs


def translations(data: Path) -> list[Pair]:
    """mad_commonmt: a sentence's right translation beside another right one, a wrong one, and another sentence's."""
    lines = (data / "mad_commonmt" / "debates.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [r for r in map(json.loads, lines) if r.get("correct_reference") and r.get("debate_translation")]
    other = rows[SHIFT:] + rows[:SHIFT]
    pairs = [(r["correct_reference"], r["debate_translation"], "same") for r in rows]
    pairs += [(r["correct_reference"], r["incorrect_reference"], "related") for r in rows]
    return pairs + [
        (r["correct_reference"], o["correct_reference"], "unrelated") for r, o in zip(rows, other, strict=True)
    ]


def routing(data: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """clinc150: (known, asked), each (text, intent): five known requests an intent, four that are asked."""
    pairs = []
    for name, count in (("train.tsv", 5), ("test.tsv", 4)):
        by_intent: dict[str, list[str]] = {}
        for row in _rows(data / "clinc150" / name):
            by_intent.setdefault(row["intent"], []).append(row["text"])
        pairs.append([(text, intent) for intent, texts in sorted(by_intent.items()) for text in texts[:count]])
    return pairs[0], pairs[1]


# ---------------------------------------------------------------- figures


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0, equal values sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts + 1) / 2)[inverse])


def spearman(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Rank correlation, -1 to 1."""
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def auc(values: NDArray[np.float64], hits: NDArray[np.bool_]) -> float:
    """Share of (hit, miss) pairs in which the hit has the higher value, ties by half (Mann-Whitney)."""
    n, m = int(hits.sum()), int((~hits).sum())
    return float((ranks(values)[hits].sum() - n * (n - 1) / 2) / (n * m))


def best_f1(values: NDArray[np.float64], hits: NDArray[np.bool_]) -> tuple[float, float]:
    """(highest F1, the threshold that gives it): a pair is a duplicate from the threshold on."""
    scores = []
    for limit in np.unique(values):
        taken = values >= limit
        scores.append((2 * float((taken & hits).sum()) / float(taken.sum() + hits.sum()), float(limit)))
    return max(scores)


def told_apart(like: Like, pairs: Sequence[Pair]) -> dict[str, float]:
    """Figures of one measure on one set."""
    values = np.array([like(a, b) for a, b, _ in pairs])
    grades = np.array([GRADES[kind] for *_, kind in pairs], dtype=np.float64)
    f1, at = best_f1(values, grades == 2)
    return {"rho": spearman(values, grades), "auc": auc(values, grades == 2), "f1": f1, "at": at}


def found_at(like: Like, pairs: Sequence[Pair], limit: float) -> dict[str, int]:
    """How many of each kind are at least so like."""
    counts = dict.fromkeys(GRADES, 0)
    for a, b, kind in pairs:
        counts[kind] += like(a, b) >= limit
    return counts


def routed(encoder: Encoder | None, like: Like, data: Path) -> float:
    """Share of requests whose nearest known request has their intent."""
    known, asked = routing(data)
    if encoder is None:
        nearest = [max(range(len(known)), key=lambda i: like(text, known[i][0])) for text, _ in asked]
    else:
        rows = run(encoder.encode([text for text, _ in asked])) @ run(encoder.encode([text for text, _ in known])).T
        nearest = [int(i) for i in rows.argmax(1)]
    return sum(known[i][1] == intent for i, (_, intent) in zip(nearest, asked, strict=True)) / len(asked)


def cost(own: dict[str, Any]) -> dict[str, float]:
    """Seconds until the first vector, MB that it takes, texts a second one at a time. In a process of its own."""
    texts = sorted({text for a, b, _ in objections() for text in (a, b)})
    before = psutil.Process().memory_info().rss
    started = time.perf_counter()
    encoder = _encoder(own)
    run(encoder.encode(["warm"]))
    load_s = time.perf_counter() - started
    rates = []
    for part in (texts[:70], texts[70:140], texts[140:]):
        started = time.perf_counter()
        for text in part:
            run(encoder.encode([text]))
        rates.append(len(part) / (time.perf_counter() - started))
    return {"load_s": load_s, "mb": (psutil.Process().memory_info().rss - before) / 1e6, "rate": max(rates)}


def _encoder(own: dict[str, Any]) -> Encoder:
    encoder = make_encoder(own["name"], {k: v for k, v in own.items() if k != "name"})
    assert encoder is not None
    return encoder


# ---------------------------------------------------------------- the table


def measures(named: Sequence[dict[str, Any]]) -> Iterator[tuple[str, Like, Encoder | None, dict[str, Any], float]]:
    """(name, likeness, encoder, its options, default threshold) of everything that can be measured here."""
    yield "words", alike, None, {}, REPEATS_BY_WORDS
    for own in named:
        try:
            encoder = _encoder(own)
            run(encoder.encode(["warm"]))
        except EncoderError as error:
            print(f"left out: {own['name']}: {error.why}", file=sys.stderr)
            continue

        def like(a: str, b: str, encoder: Encoder = encoder) -> float:
            return run(by_encoder(encoder, a, (b,)))[0]

        yield f"{own['name']}: {encoder.name}", like, encoder, own, REPEATS_BY_ENCODER


def table(named: Sequence[dict[str, Any]], data: Path) -> str:
    """The tables, in Markdown."""
    own_pairs = objections()
    sets: dict[str, list[Pair]] = {
        "objections, reworded": [p for p in own_pairs if p[2] != "same"],
        "objections, other words": [p for p in own_pairs if p[2] != "reworded"],
    }
    for name, folder, read in (("requests", "clinc150", requests), ("translations", "mad_commonmt", translations)):
        if (data / folder).is_dir():
            sets[name] = read(data)
        else:
            print(f"left out: the pairs of {folder}: no such folder in {data}", file=sys.stderr)
    quality = ["| pairs | measure | rank correlation | AUC | best F1 | at |", "|---|---|---|---|---|---|"]
    limits = ["| measure | from | reworded | in other words | related | unrelated |", "|---|---|---|---|---|---|"]
    use = ["| measure | requests routed | texts a second | first vector | memory |", "|---|---|---|---|---|"]
    rows: dict[str, list[str]] = {name: [] for name in sets}
    for name, like, encoder, own, limit in measures(named):
        print(name, file=sys.stderr)
        for of, pairs in sets.items():
            f = told_apart(like, pairs)
            rows[of].append(f"| {of} | {name} | {f['rho']:.2f} | {f['auc']:.2f} | {f['f1']:.2f} | {f['at']:.2f} |")
        counts = found_at(like, own_pairs, limit)
        limits.append(f"| {name} | {limit:.2f} | " + " | ".join(str(counts[kind]) for kind in GRADES) + " |")
        right = f"{routed(encoder, like, data):.0%}" if "requests" in sets else "not measured"
        use.append(f"| {name} | {right} | " + _cost(own, like) + " |")
    quality += [row for of in rows.values() for row in of]
    return "\n\n".join("\n".join(part) for part in (quality, limits, use))


def _cost(own: dict[str, Any], like: Like) -> str:
    if not own:
        pairs = objections()
        started = time.perf_counter()
        for a, b, _ in pairs:
            like(a, b)
        return f"{2 * len(pairs) / (time.perf_counter() - started):,.0f} | at once | none"
    command = [sys.executable, "-m", "parley_research.benchmarks.encoders", "--cost", json.dumps(own)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    costs = json.loads(done.stdout)
    return f"{costs['rate']:,.0f} | {costs['load_s']:.2f} s | {costs['mb']:.0f} MB"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--sentence-transformers", metavar="MODEL", help="a name or a folder")
    parser.add_argument("--dry", action="store_true", help="print, and leave the document as it is")
    parser.add_argument("--cost", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cost:
        print(json.dumps(cost(json.loads(given.cost))))
        return
    named: list[dict[str, Any]] = [{"name": "embedded"}]
    if given.sentence_transformers:
        named.append({"name": "sentence-transformers", "model": given.sentence_transformers})
    from_environment = chosen(None, ("",), os.environ)
    if from_environment and from_environment.get("name") not in (None, "none", "embedded"):
        named.append(from_environment)
    page = table(named, given.data)
    print(page)
    if not given.dry:
        text = DOC.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        DOC.write_text(before + BEGIN + "\n" + page + "\n" + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
