"""What experts' specifications say, prepared once, and how a task compares with each: the features of the matcher.

Nothing here names an expert. Words of a task count whole, in any inflection, put right where they are misspelt, and
only where the task wants what they say. What subject it is about, by its words and by the reader, is compared with the
subjects that each specification speaks of; its vector with those of the specification's sentences.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from parley.agents.encoders.base import Vectors
from parley.agents.matching import ranking, subject_model, subjects
from parley.agents.matching.language import is_foreign
from parley.agents.matching.ranking import Compared, Parts, Pieces, Rank
from parley.agents.matching.sanitize import sanitized
from parley.agents.matching.spelling import Speller
from parley.agents.matching.subjects import NONE, SUBJECTS, Floats
from parley.agents.matching.vectors import Encoded, sentences, spoken
from parley.agents.matching.word_roots import PromptReading, count_words, read_prompt, root, roots, stands_in
from parley.agents.matching.words import fit
from parley.agents.retrieval.corpus import word_set
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Task


class Feature(IntEnum):
    """Columns of what is known of one expert beside a task; weights.json has one weight for each, in this order."""

    EXAMPLE = 0
    """The reader's vector beside those of its examples: the greatest cosine."""
    EXAMPLES = auto()
    """The mean of the greatest three."""
    OWNS = auto()
    """Beside what it owns: the greatest."""
    SUBJECT = auto()
    """How much its specification speaks of the task's subject, by the reader; a logarithm."""
    SUBJECT_BY_WORDS = auto()
    """The same by words."""
    PRIMARY = auto()
    """Primary triggers that the task wants, up to 2."""
    SECONDARY = auto()
    FILES = auto()
    """Files of its patterns."""
    WORDS = auto()
    """Its share of the task's words."""
    UNWANTED = auto()
    """How much of what the task does not want is its own."""
    A_PART = auto()
    """How much of the task it may have a part in, by the reader."""
    A_PART_BY_WORDS = auto()


class Scope(IntEnum):
    """Columns of what is known of a task as a whole: how much of it anybody's specification speaks to."""

    NEAREST = 0
    """The greatest Feature.EXAMPLES of anybody."""
    OWN_NEAREST = auto()
    """The greatest Feature.OWNS."""
    NONE_BY_WORDS = auto()
    """Chance that it is of no subject of theirs, by words."""
    WORDS = auto()
    TRIGGERED = auto()
    """The most triggers of anybody, up to 2."""
    NONE = auto()
    """As NONE_BY_WORDS, by the reader."""
    SURE = auto()
    """The likeliest subject's chance."""
    SHORT = auto()
    """It wants two words at most."""
    FILES = auto()
    UNSPECIFIC = auto()
    THEIRS = auto()
    """What the one who speaks most of its subject speaks of it, as Feature.SUBJECT; where subjects do not tell experts
    apart, 0."""
    THEIRS_BY_WORDS = auto()


BY_SUBJECT = (Feature.SUBJECT, Feature.SUBJECT_BY_WORDS)
"""Those that tell experts apart by what subjects they speak of; 0 where that does not."""
BY_READER = (Feature.EXAMPLE, Feature.EXAMPLES, Feature.OWNS, Feature.SUBJECT, Feature.A_PART)
"""Those by the reader: 0 without one."""
PARTS = (Feature.A_PART, Feature.A_PART_BY_WORDS)
"""Those by what an expert may have a part in: what it leads as little as it may, it may support."""
TRIGGERS = slice(Feature.PRIMARY, Feature.SECONDARY + 1)
TRIGGERS_AND_FILES = slice(Feature.PRIMARY, Feature.FILES + 1)
NAMED = slice(Feature.PRIMARY, Feature.WORDS + 1)
"""Those by what the task names of a specification."""
_LEAST = 0.03
"""Of an expert's specification that speaks of a task's subject: less is taken as so much."""
_NEAREST = 3
_MOST_PARTS = 6
"""Clauses that are compared, beside the whole: the last ones."""
_CLAUSE = re.compile(r"[,;:.!?]+\s+|\n+|\s(?:and|but|then)\s", re.I)
_CLAUSE_WORDS = 2
"""Words of meaning from which on it is one."""
_APART = 0.7
"""Of what an expert speaks of, by words, its first subject: the mean from which on subjects tell experts apart. Of the
shipped ones it is 0.99, of five repositories of software 0.31."""
_SPEAKS = 0.4
"""From which on an expert speaks of a subject at all: below, it says something else in words of any."""
FOREIGN = 0.1
"""Chance of no subject below which a task is surely of software."""
_MOST_FOREIGN = 0.34
"""Of the experts: where more are of something else than software, subjects do not tell them apart."""
_BESIDE = 0.2
"""How much what a file is counts beside a task that says something."""
_CODE = 400
"""Characters of a snippet that are read."""
_SHORT = 3
"""Words of meaning up to which a task says hardly anything."""
_VAGUE_WORDS = word_set("improve optimize optimise better faster quicker nicer quality reliable wrong slow clean mess")
_VAGUE = frozenset(map(root, _VAGUE_WORDS))
"""Roots of words that say that something should be otherwise, and not what."""
_PRONOUN = re.compile(r"\b(?:it|we|everything|nothing|us|nobody)\b|\bthis(?:\s*[.?!]|$)", re.I)
_APART_NAMES = re.compile(r"[\W_]+")
_BOTH = {
    Rank.PRIMARY: Feature.PRIMARY, Rank.SECONDARY: Feature.SECONDARY, Rank.FILES: Feature.FILES,
    Rank.WORDS: Feature.WORDS,
}  # fmt: skip
_NO_SUBJECT = np.zeros(len(SUBJECTS))
_WEIGHTS = {"primary": 3.0, "secondary": 2.0, "owns": 2.0, "claim": 2.0, "examples": 1.0}


def unspecific(reading: PromptReading) -> bool:
    """Whether a task names hardly anything: at most two words beside a vague one ("improve performance"), or beside
    one that stands for something ("it will not hold")."""
    rest = [w for w in reading.words if w.wanted and w.root not in _VAGUE]
    vague = len(rest) < sum(w.wanted for w in reading.words)
    return len(rest) <= _SHORT - 1 and (vague or _PRONOUN.search(reading.wanted_text) is not None)


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A task as it is matched."""

    task: Task
    reading: PromptReading
    """Without words where it only sets something aside."""
    unwanted: tuple[str, ...]
    """Roots of the words that the task says it does not want."""
    parts: tuple[str, ...]
    """All that is to be read, then its clauses if there are several. None: it says nothing."""
    chances: Floats
    """Of each subject, by words."""
    chances_of_parts: tuple[Floats, ...]
    """Those of each clause."""
    chances_unwanted: Floats | None
    """Those of what it does not want; None: there is nothing of the kind."""
    file_names: str = ""
    """Words of the names of the files that it mentions."""
    foreign: bool = False
    """It is in another language than English."""

    @property
    def texts(self) -> tuple[str, ...]:
        """What the encoder of tasks reads of it: first what it wants."""
        return tuple(t for t in (*self.parts[:1], self.file_names) if t)


class Prepared:
    """Specifications, prepared for words; `index` prepares them for vectors too. General-purpose ones are left out:
    nothing of theirs is matched."""

    def __init__(self, specs: Sequence[ExpertSpec]) -> None:
        self.specs = tuple(s for s in specs if not s.general)
        self.beside = tuple(s for s in specs if s.general or s.reviews is not None)
        """Who takes what nobody does, and who reviews."""
        self.ids = tuple(s.id for s in specs)
        self.encoded = False
        self._compared: Compared | None = None
        texts = [t for s in self.specs for part in sentences(s).values() for t in part]
        own = (w for t in texts for w in re.findall(r"[a-z]+", t.lower()))
        self.speller = Speller((*own, *subjects.known()))
        self._index_triggers()
        self._index_words()
        self._pieces = Pieces(self.specs)
        rows = [_subjects(tuple(sentences(s).items())) for s in self.specs]
        self._by_words = np.array(rows).reshape(len(self.specs), len(SUBJECTS))
        """(experts, subjects): what each speaks of; rows sum to 1."""
        of_none = self._by_words.argmax(axis=1) == NONE if self.specs else np.zeros(0, np.bool_)
        most = self._by_words[:, :NONE].max(axis=1, initial=0.0)
        home = ~of_none & (most >= _SPEAKS)
        telling = bool(home.any()) and float(most[home].mean()) >= _APART
        foreign = of_none | (most < _APART)
        self.apart = not self.specs or (telling and int(foreign.sum()) <= _MOST_FOREIGN * len(self.specs))
        """Subjects tell the experts apart: most are of software, and each of these speaks of one subject above all."""
        self.foreign = foreign & self.apart
        """(experts,): it speaks of no subject of software above all, while others speak of one each."""
        self._none_theirs = 0.0 if self.apart else float(self._by_words[:, NONE].max(initial=0.0))

    # -- preparing
    def _index_triggers(self) -> None:
        self._triggers: dict[str, list[tuple[int, Feature, tuple[str, ...]]]] = {}
        """First root -> (expert, Feature.PRIMARY or SECONDARY, all roots)."""
        for i, spec in enumerate(self.specs):
            by_column = {Feature.PRIMARY: spec.triggers.primary, Feature.SECONDARY: spec.triggers.secondary}
            for column, phrases in by_column.items():
                for phrase in phrases:
                    key = roots(phrase)
                    if key:
                        self._triggers.setdefault(key[0], []).append((i, column, key))

    def _index_words(self) -> None:
        counts: dict[str, Floats] = {}
        n = len(self.specs)
        places = {s.id: i for i, s in enumerate(self.specs)}
        for i, spec in enumerate(self.specs):
            t, d = spec.triggers, spec.domain
            parts = {"primary": t.primary, "secondary": t.secondary, "owns": d.owns, "examples": t.examples}
            for part, phrases in (*parts.items(), ("claim", (spec.deliberation.claim,))):
                for phrase in phrases:
                    for word in set(roots(phrase)):
                        counts.setdefault(word, np.zeros(n))[i] += _WEIGHTS[part]
            for other, what in d.defers.items():  # what others leave to an expert is its own
                if (place := places.get(other)) is not None:
                    for word in set(roots(what)):
                        counts.setdefault(word, np.zeros(n))[place] += _WEIGHTS["owns"]
        self._words = {}
        for word, row in counts.items():
            log = np.log1p(row)
            self._words[word] = log / log.sum() * math.log(1 + n / np.count_nonzero(row)) / math.log(1 + n)

    def compare_by(self, vectors: Mapping[str, Parts], beside: Vectors | None = None) -> None:
        """Take what the encoder of tasks makes of each, by id: where subjects do not tell them apart; `beside` as of
        ranking.Compared."""
        if self.specs:
            self._compared = Compared(self.specs, [vectors[s.id] for s in self.specs], beside)
            self.encoded = True

    def index(self, vectors: Mapping[str, Encoded]) -> None:
        """Take what the reader makes of each, by id: where subjects tell them apart."""
        if self.specs:
            rows = [vectors[s.id] for s in self.specs]
            self._parts = {part: _SentenceTable([row.parts[part] for row in rows]) for part in ("examples", "owns")}
            self._by_reader = np.stack([row.subjects for row in rows])
            self.encoded = True

    # -- comparing
    def read_task(self, task: Task) -> ReadTask:
        """A task, read."""
        prompt = self.speller.right(sanitized(task.prompt, self.ids))
        reading = read_prompt(prompt)
        if task.prior_conversation and (len(reading.words) <= _SHORT or not reading.wanted_text):
            before = next((m.text for m in reversed(task.prior_conversation) if m.role == "user"), "")
            prompt = f"{prompt}\n{sanitized(before, self.ids)[:1_000]}".strip()
            reading = read_prompt(prompt)
        unwanted = [w for w in reading.words if not w.wanted]
        if not reading.wanted_text:
            reading = PromptReading((), "")
        parts: tuple[str, ...] = ()
        if reading.words:
            pieces = [p for p in _CLAUSE.split(reading.wanted_text) if count_words(p) >= _CLAUSE_WORDS]
            parts = (reading.wanted_text, *(pieces[-_MOST_PARTS:] if len(pieces) > 1 else ()))
        code = " ".join(s[:_CODE] for s in task.code_snippets[:3])
        if code:
            parts = (f"{reading.wanted_text}\n{code}".strip(), *parts[1:])
        of = subjects.by_words if self.apart else _of_no_subject
        return ReadTask(
            task=task, reading=reading, unwanted=tuple(w.root for w in unwanted), parts=parts,
            chances=of(f"{reading.wanted_text}\n{code}" if code else reading.wanted_text),
            chances_of_parts=tuple(map(of, parts[1:])),
            chances_unwanted=of(" ".join(w.text for w in unwanted)) if unwanted else None,
            file_names=" ".join(_APART_NAMES.sub(" ", name) for name in task.files_mentioned[:8])[:_CODE],
            foreign=is_foreign(task.prompt),
        )  # fmt: skip

    def features(self, task_read: ReadTask, read_as: Vectors | None) -> tuple[Floats, Floats]:
        """(experts' features, shape (experts, Feature); the task's, shape (Scope,)).

        Parameters
        ----------
        read_as : shape (subject_model.WIDTH,)
            What the reader makes of all that is to be read; None: it was not asked.
        """
        n = len(self.specs)
        wanted = task_read.reading.wanted
        features, by_files = self._named(task_read)
        if self.apart:
            features[:, Feature.SUBJECT_BY_WORDS] = _log(self._by_words @ task_read.chances)
        if task_read.chances_unwanted is not None:
            features[:, Feature.UNWANTED] = self._by_words @ task_read.chances_unwanted
            for word in set(task_read.unwanted):
                for i, _, key in self._triggers.get(word, ()):
                    features[i, Feature.UNWANTED] += 0.5 * stands_in(key, task_read.unwanted)
        sure = none = 0.0
        if read_as is not None and self.encoded:
            sure, none = self._compare(features, read_as, task_read.chances[NONE])
        by_part = [self._by_words @ chances for chances in task_read.chances_of_parts]
        features[:, Feature.A_PART_BY_WORDS] = (
            np.max([self._by_words @ task_read.chances, *by_part], axis=0) if n else 0.0
        )
        scope = np.zeros(len(Scope))
        scope[Scope.NEAREST] = features[:, Feature.EXAMPLES].max(initial=0)
        scope[Scope.OWN_NEAREST] = features[:, Feature.OWNS].max(initial=0)
        scope[Scope.NONE_BY_WORDS] = task_read.chances[NONE] * (1 - self._none_theirs)
        scope[Scope.WORDS] = features[:, Feature.WORDS].max(initial=0)
        scope[Scope.TRIGGERED] = min(2.0, features[:, TRIGGERS].sum(axis=1).max(initial=0))
        scope[Scope.NONE] = none
        scope[Scope.SURE] = sure
        scope[Scope.SHORT] = len(set(wanted)) <= 2
        scope[Scope.FILES] = by_files
        scope[Scope.UNSPECIFIC] = unspecific(task_read.reading)
        if self.apart:
            theirs = features[:, list(BY_SUBJECT)].max(axis=0, initial=math.log(_LEAST))
            scope[Scope.THEIRS], scope[Scope.THEIRS_BY_WORDS] = theirs
        return features, scope

    def _named(self, task_read: ReadTask) -> tuple[Floats, float]:
        """(features NAMED, the others 0; how well the files fit whom they fit best)."""
        features = np.zeros((len(self.specs), len(Feature)))
        wanted = task_read.reading.wanted
        for word in set(wanted):
            for i, column, key in self._triggers.get(word, ()):
                if stands_in(key, wanted):
                    features[i, column] += 1
        for name in task_read.task.files_mentioned:  # whoever has the most telling pattern has the file, others a share
            fits = np.array([fit(s, name) for s in self.specs])
            features[:, Feature.FILES] += fits / max(1, fits.max(initial=0))
        features[:, TRIGGERS_AND_FILES] = np.minimum(features[:, TRIGGERS_AND_FILES], 2)
        by_files = float(features[:, Feature.FILES].max(initial=0))
        if len(set(wanted)) > _SHORT:
            features[:, Feature.FILES] *= _BESIDE
        known = [self._words[w] for w in set(wanted) if w in self._words]
        features[:, Feature.WORDS] = sum(known) / max(1, len(set(wanted))) if known else 0
        return features, by_files

    def ranks(
        self, task_read: ReadTask, read_as: Vectors | None, by_words: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """(experts' features where subjects do not tell them apart, shape (experts, Rank); ranking.task_features).

        Parameters
        ----------
        read_as : shape (texts, 384)
            What the encoder of tasks makes of `heard.texts`; None: it was not asked.
        by_words
            The features without it, where they are known already.
        """
        if by_words is None:
            ranks = np.zeros((len(self.specs), len(Rank)))
            ranks[:, list(_BOTH)] = self._named(task_read)[0][:, list(_BOTH.values())]
            prompt = task_read.reading.wanted_text or ("" if task_read.reading.words else task_read.task.prompt)
            ranks[:, Rank.PIECES] = self._pieces.shares(prompt)
        else:
            ranks = by_words.copy()
        usual = None
        if read_as is not None and self._compared is not None and len(read_as):
            usual = self._compared.usual
            names = read_as[-1] if task_read.parts and task_read.file_names else None
            self._compared.fill(ranks, read_as[0], names)
        return ranks, ranking.task_features(ranks, len(set(task_read.reading.wanted)), usual)

    def is_far(self, features: Floats) -> bool:
        """As of ranking.Compared, of features that the encoder was asked for."""
        return self._compared is not None and self._compared.is_far(features)

    def _compare(self, features: Floats, read_as: Vectors, none_by_words: float) -> tuple[float, float]:
        """Fill in the features by the reader: (the likeliest subject's chance, that of none of theirs)."""
        vector = subject_model.vectors(read_as)
        chances = subject_model.chances(read_as)
        features[:, Feature.SUBJECT] = _log(self._by_reader @ chances)
        features[:, Feature.A_PART] = self._by_reader @ subject_model.parts(read_as)
        sure, none = float(chances.max()), float(chances[NONE]) * (1 - self._none_theirs)
        of_software = max(chances[NONE], none_by_words) < FOREIGN
        # Hundreds may be of something else: who has not a word of what is surely of software is not compared.
        who = ~self.foreign | (features[:, NAMED].max(axis=1) > 0) if of_software else np.ones(len(features), np.bool_)
        nearest, near = self._parts["examples"].nearest(vector, who)
        features[who, Feature.EXAMPLE], features[who, Feature.EXAMPLES] = nearest, near
        features[who, Feature.OWNS] = self._parts["owns"].nearest(vector, who)[0]
        return sure, none


def _of_no_subject(text: str) -> Floats:
    """Where subjects do not tell experts apart, nobody asks what a task's is."""
    return _NO_SUBJECT


@lru_cache(maxsize=2_000)
def _subjects(sentences_by_part: tuple[tuple[str, tuple[str, ...]], ...]) -> Floats:
    """What a specification speaks of, by words, from its sentences by part."""
    return spoken({part: subjects.by_words("\n".join(texts))[None] for part, texts in sentences_by_part})


def _log(shares: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(shares, _LEAST)))


class _SentenceTable:
    """Sentences of one part of all specifications, in one table: of each a row, those of one expert together."""

    def __init__(self, rows: Sequence[Vectors]) -> None:
        self._rows = np.concatenate(rows)
        counts = np.array([len(r) for r in rows])
        self._of = np.repeat(np.arange(len(counts)), counts)
        self._present = np.arange(int(counts.max())) < counts[:, None]
        self._most = np.minimum(counts, _NEAREST)

    def nearest(self, vector: Vectors, who: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Of each of these specifications: (the greatest cosine, the mean of the greatest three)."""
        present = self._present[who]
        cosines = np.full(present.shape, -np.inf)
        cosines[present] = (self._rows if who.all() else self._rows[who[self._of]]) @ vector
        if self._present.shape[-1] > _NEAREST:
            cosines = np.partition(cosines, -_NEAREST, axis=1)[:, -_NEAREST:]
        few = np.where(np.isfinite(cosines), cosines, 0.0)
        return cosines.max(axis=1), few.sum(axis=1) / self._most[who]
