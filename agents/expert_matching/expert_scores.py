"""Finds the experts for a task: how sure it is of each, and when it finds nobody (docs/experts.md).

    score         weighed sum of what an expert's own words say (keyword_baseline.py), of the files of its pattern,
                  and of the cosines of the task's vector with those of what it owns and of its examples
    confidence    logistic of the score, and of how far it is above the best other one: that this expert is a right lead
    relevance     logistic of the score, and of how far it is below the best one: that it has a part
    abstention    where the best score is below a bound; where the only expert is no likely lead; where nothing is left
                  of the prompt; where it is in a language that is not read

No name counts: experts that say the same are equally sure, and their priority decides. The figures below were chosen on
the golden set's half to develop on and on the invented registries to develop on (research/parley_research/golden,
research/parley_research/registries/dev.jsonl). They are of features, not of experts.
"""

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parley.agents.encoders import Encoder, Vectors
from parley.agents.encoders.embedded import Embedded
from parley.agents.expert_matching import keyword_baseline
from parley.agents.expert_matching.sanitize import sanitized
from parley.agents.expert_matching.word_roots import PromptReading, read_prompt, root, roots, roots_of, stands_in
from parley.agents.text.languages import is_foreign
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import MOST_CANDIDATES, Candidate, Factors, Matched, Task

Floats = NDArray[np.float64]
CANDIDATE = 0.4
"""Relevance from which on an expert is a candidate; from 0.5 on it claims (seeds/madp.md 2.1)."""
_TAKES_PART = 0.3
"""Chance of a part in the task that counts as CANDIDATE: few experts have one, so the chance is small where it
matters."""
_ALONE = 0.5
"""Confidence from which on an expert without others takes a task: nothing but its own score speaks for it."""
_SHORT = 3
"""Words of meaning up to which a task says hardly anything."""
_BESIDE = 0.15
"""How much what a file is counts beside a task that says something."""
_CODE = 400
"""Characters of a snippet that are read."""
_NEAREST = 3
KEPT = 2_000
"""Specifications whose vectors a process keeps: some 200 MB where each says 60 things."""
_VAGUE = frozenset(root(v) for v in keyword_baseline.VAGUE_VERBS if " " not in v)


class Scale(NamedTuple):
    """How a score is made, and read."""

    weights: tuple[float, float, float, float]
    """Of its own words, its files, what it owns, its examples."""
    least: float
    """Score of the best below which a task is nobody's."""
    lead: tuple[float, float, float]
    """Of 1, the score, and how far it is above the best other: the logit of confidence."""
    part: tuple[float, float, float]
    """Of 1, the score, and how far it is below the best: the logit of having a part."""


# Both chosen on the development halves (see the head); no program that fits them is kept.
BY_ENCODER = Scale(weights=(0.19, 1.6, 0.35, 0.5), least=0.18, lead=(-2.4, 8.0, 6.0), part=(-3.6, 12.6, -9.8))
BY_WORDS = Scale(weights=(0.5, 1.9, 0.05, 0.5), least=0.1, lead=(-1.2, 6.5, 1.1), part=(-2.6, 13.0, -4.9))


class Roots:
    """The encoder where there is none: texts are as near as they share roots of words."""

    name, dimension = "words", 4_096

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """A place for each root."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[[zlib.crc32(r.encode()) % self.dimension for r in roots_of(text)]] = 1
        return np.asarray(rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True)))


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A task as it is matched."""

    task: Task
    reading: PromptReading
    text: str
    """What is encoded; empty: it says nothing."""

    @property
    def asks(self) -> bool:
        """Whether anything is left that somebody could be wanted for."""
        return bool(self.text or self.task.files_mentioned)


@dataclass(frozen=True, slots=True)
class Encoded:
    """What an encoder makes of one specification: of each part (sentences, dimension)."""

    owns: Vectors
    examples: Vectors


def matching_encoder() -> Encoder:
    """The encoder that matching uses, whatever else its process compares with. Raises EncoderError."""
    return Embedded.checked()


def read_task(task: Task, ids: tuple[str, ...]) -> ReadTask:
    """A task without what would steer who gets it, and with what it follows where it says hardly anything itself."""
    prompt = sanitized(task.prompt, ids)
    reading = read_prompt(prompt)
    if task.prior_conversation and (len(reading.words) <= _SHORT or not reading.wanted_text):
        before = next((m.text for m in reversed(task.prior_conversation) if m.role == "user"), "")
        reading = read_prompt(f"{prompt}\n{sanitized(before, ids)[:1_000]}".strip())
    if not reading.wanted_text:
        reading = PromptReading((), "")
    code = " ".join(s[:_CODE] for s in task.code_snippets[:3])
    text = f"{reading.wanted_text}\n{code}".strip() if reading.words or code else ""
    return ReadTask(task, reading, text)


class Matcher:
    """Finds candidates. Safe for several tasks at once on one event loop.

    Parameters
    ----------
    encoder
        The embedded one, for which the figures above were chosen. None: shared words alone say what is near.
    """

    def __init__(self, encoder: Encoder | None = None) -> None:
        self._encoder: Encoder = encoder or Roots()
        self._scale = BY_WORDS if encoder is None else BY_ENCODER
        self._name = "better, by words" if encoder is None else "better"
        self._encoded: OrderedDict[tuple[tuple[str, ...], tuple[str, ...]], Encoded] = OrderedDict()
        self._encoding = asyncio.Lock()

    async def match(self, task: Task, specs: Sequence[ExpertSpec]) -> Matched:
        """The candidates for a task, the most confident first; none: it abstains. Raises EncoderError: the encoder
        cannot be used; a matcher without one needs none."""
        return (await self.match_all((task,), specs))[0]

    async def match_all(self, tasks: Sequence[Task], specs: Sequence[ExpertSpec]) -> list[Matched]:
        """The same for many tasks, in their order."""
        return [self._decide(read, specs, each) for read, each in await self._judged(tasks, specs)]

    async def everybody(self, task: Task, specs: Sequence[ExpertSpec]) -> list[tuple[ExpertSpec, Candidate]]:
        """All experts but general-purpose ones, the most confident first, whether they are candidates or not; none:
        nothing is left of the prompt. Raises EncoderError."""
        ((read, each),) = await self._judged((task,), specs)
        return keyword_baseline.by_rank([(spec, candidate) for spec, candidate, _ in each]) if read.asks else []

    async def _judged(
        self, tasks: Sequence[Task], specs: Sequence[ExpertSpec]
    ) -> list[tuple[ReadTask, list[tuple[ExpertSpec, Candidate, bool]]]]:
        """Each task, with (expert, how sure it is, whether the task is anybody's)."""
        ids, known = tuple(s.id for s in specs), [s for s in specs if not s.general]
        vectors = await self._vectors(known)
        read = [read_task(task, ids) for task in tasks]
        texts = [r.text for r in read if r.text]
        rows = iter(await self._encoder.encode(texts) if texts else ())
        judged = []
        for r in read:
            near = next(rows) if r.text else None
            judged.append((r, self._judge(known, features(r, known, vectors, near)) if known else []))
        return judged

    async def _vectors(self, specs: Sequence[ExpertSpec]) -> list[Encoded]:
        """What the encoder makes of each specification, computed once."""
        async with self._encoding:
            keys = [(spec.domain.owns, spec.triggers.examples or spec.domain.owns) for spec in specs]
            for owns, examples in keys:
                if (owns, examples) not in self._encoded:
                    rows = await self._encoder.encode((*owns, *examples))
                    self._encoded[owns, examples] = Encoded(rows[: len(owns)], rows[len(owns) :])
                self._encoded.move_to_end((owns, examples))
            found = [self._encoded[key] for key in keys]
            while len(self._encoded) > max(KEPT, len(specs)):
                self._encoded.popitem(last=False)
            return found

    def _judge(self, specs: list[ExpertSpec], features: Floats) -> list[tuple[ExpertSpec, Candidate, bool]]:
        """Of at least one expert; relevance is not below confidence."""
        scale = self._scale
        scores = np.round(features @ np.array(scale.weights), 6)
        best = scores.max()
        others = np.where(scores == best, np.partition(scores, -2)[-2] if len(scores) > 1 else best, best)
        one = np.ones_like(scores)
        lead = _chance(np.column_stack([one, scores, scores - others]) @ np.array(scale.lead))
        part = _chance(np.column_stack([one, scores, best - scores]) @ np.array(scale.part))
        odds = part / (1 - part) * (1 - _TAKES_PART) / _TAKES_PART
        part = np.maximum(lead, odds / (odds + 1 / CANDIDATE - 1))
        taken = bool(best >= scale.least and (len(scores) > 1 or lead[0] >= _ALONE))
        return [
            (spec, Candidate(expert=spec.id, relevance=round(float(p), 4), confidence=round(float(c), 4)), taken)
            for spec, c, p in zip(specs, lead, part, strict=True)
        ]

    def _decide(
        self, read: ReadTask, specs: Sequence[ExpertSpec], each: list[tuple[ExpertSpec, Candidate, bool]]
    ) -> Matched:
        taken = read.asks and not is_foreign(read.task.prompt)
        candidates = keyword_baseline.by_rank((spec, c) for spec, c, anybodys in each if taken and anybodys)
        wanted = [c for i, c in enumerate(candidates) if not i or c[1].relevance >= CANDIDATE]
        ranked = [(spec, _with_why(c, spec, read)) for spec, c in wanted[:MOST_CANDIDATES]]
        leading = [(s, c.confidence) for s, c in ranked if c.confidence >= keyword_baseline.HARDLY_LEADS]
        factors = Factors(
            candidate_count=len(ranked),
            confidence_variance=keyword_baseline.variance([c.confidence for _, c in ranked]),
            domain_overlap=keyword_baseline.has_overlapping_domains(leading, read.reading.wanted_text),
            action_clarity=not (set(read.reading.wanted) & _VAGUE) and "make better" not in read.task.prompt.lower(),
            scope_definition=bool(ranked),
        )
        return keyword_baseline.assembled(read.task, specs, ranked, factors, self._name)


def features(read: ReadTask, specs: Sequence[ExpertSpec], vectors: Sequence[Encoded], near: Vectors | None) -> Floats:
    """What is known of each expert beside a task: shape (experts, 4), the columns of Scale.weights. `near`: what the
    encoder makes of the task's text; None: it has none."""
    wanted = read.reading.wanted
    columns = np.zeros((len(specs), 4))
    columns[:, 0] = [keyword_baseline.own_words(spec, wanted) for spec in specs]
    for name in read.task.files_mentioned:  # whoever has the most telling pattern has the file, others a share
        fits = np.array([keyword_baseline.fit(s, name) for s in specs])
        columns[:, 1] += fits / max(1, fits.max(initial=0))
    columns[:, 1] = np.minimum(columns[:, 1], 2) * (_BESIDE if len(set(wanted)) > _SHORT else 1)
    if near is not None:
        columns[:, 2] = [(own.owns @ near).max() for own in vectors]
        columns[:, 3] = [np.sort(own.examples @ near)[-_NEAREST:].mean() for own in vectors]
    return columns


def _chance(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))


def _with_why(candidate: Candidate, spec: ExpertSpec, read: ReadTask) -> Candidate:
    """With what matched, for whoever asks."""
    wanted = read.reading.wanted
    triggers = [t for t in (*spec.triggers.primary, *spec.triggers.secondary) if stands_in(roots(t), wanted)]
    near = [p for p in (*spec.domain.owns, *spec.triggers.examples) if len(set(wanted).intersection(roots(p))) > 1]
    count = keyword_baseline.files(spec, read.task)
    why = ", ".join([*triggers, *([f"{count} files"] if count else []), *near[:2]])
    return Candidate(
        expert=spec.id, relevance=candidate.relevance, confidence=candidate.confidence, why=why[:200] or "its meaning"
    )
