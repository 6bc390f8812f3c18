"""What a debater without a language model goes by: sentences of its documents, and what was said so far.

A sentence speaks for a team as far as it praises or blames what the motion wants; one in the team's own folder (`pro/`,
`con/`) was given to it as its case, and counts for it. Speeches are read without the sentences that talk to their
reader as to a machine.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from parley.agents.context import Shown
from parley.agents.extractive.stance import firmness, is_reversal, polarity, source_weight
from parley.agents.model.injection import is_instruction, is_suspicious
from parley.agents.retrieval.bm25 import relevance
from parley.agents.retrieval.corpus import (
    Sentence,
    Text,
    clean,
    collapse,
    cut,
    sentence,
    sentence_ends,
    stem,
    word_set,
    words,
)
from parley.schemas.protocols.competition.format import TEAMS, Team, other
from parley.schemas.protocols.competition.messages import Identity, Note, Said, SpeechBrief

OWN = 1.0
"""How far a sentence of the team's own folder speaks for the team, whatever its words."""
PRAISE = 0.5
"""The same of praise or blame in its words."""
FAVOURABLE = 0.3
"""From here on a sentence speaks for the team."""
LEAST = 6
"""Words of a sentence that is quoted."""
SCRAP = 3
"""Words below which what stands behind a sentence that was left out is left out too."""
ENOUGH = 4
"""Shared words of meaning from which two texts are about the same as far as words can tell."""
_QUOTE = re.compile("“([^“”]+)”")
_IDLE = word_set(
    "house would believe believes regret regrets support supports oppose opposes think thinks motion make makes"
)
_LINE_END = re.compile(r"[\r\n\u2028\u2029]+")
_PIECE_END = re.compile(r"(?<=[.!?])\s+")
_WORDS = re.compile(r"[^\W_]+")
_SPACED_TO = "\u0dff"
_HANGUL = ("\uac00", "\ud7a3")

STYLES = {
    "logical": word_set(
        """because therefore since so hence thus follows follow causes caused leads if then means unless whatever
        logical logic syllogism syllogisms causal cause causes premise premises inference conclusion rigorous"""
    ),
    "emotional": word_set(
        """he she her his mother mothers father child children daughter son family families wife man woman girl boy
        nurse baker teacher cleaner driver pensioners old young people afraid fear ashamed lonely home friend friends
        sleep emotional emotion emotions vivid lives life story stories feel feeling empathy resonance"""
    ),
    "data_driven": word_set(
        """percent million thousand billion half third quarter data figure figures statistics statistical study studies
        measurement measurements measured survey numbers number research report reports"""
    ),
    "aggressive": word_set(
        "aggressive attack attacks weak loopholes loophole gap relentless press pursuit pursue hard"
    ),
    "diplomatic": word_set(
        "diplomatic grant grants concede concedes common defuse polite transform bridge agree sharpness"
    ),
}
"""Words that sentences of a style have, and that descriptions of it have."""


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """A sentence of a document that the seat holds."""

    document: str
    sentence: Sentence
    relevance: float
    """0 to 1, to the motion."""
    favour: float
    """Above FAVOURABLE it speaks for the seat's team."""

    @property
    def text(self) -> str:
        """Verbatim, white space aside."""
        return self.sentence.text


@dataclass(frozen=True, slots=True)
class PublicSpeech:
    """A public speech, without what talks to the reader as to a machine."""

    body: Said
    text: str

    @property
    def team(self) -> str:
        """pro | con"""
        return self.body.seat.partition("_")[0]

    @property
    def claims(self) -> tuple[Sentence, ...]:
        """What it rests on: sentences that it quotes; where it quotes nothing, its own."""
        if self.body.act == "question":
            return ()
        quoted = [collapse(c.quote) for c in self.body.citations] or quotes(self.text)
        claims = [q for q in quoted if not is_suspicious(q)] or [s for s in sentences(self.text) if not s.endswith("?")]
        return tuple(s for s in map(sentence, dict.fromkeys(claims)) if len(s.words) >= ENOUGH)


@dataclass(frozen=True)
class DebaterView:
    """What a debater is shown."""

    seat: str
    team: Team
    motion: str
    terms: frozenset[str]
    """Stems of the motion's words of meaning."""
    lines: tuple[DocumentLine, ...]
    heard: tuple[PublicSpeech, ...]
    notes: tuple[str, ...]
    """What the team noted, in order."""
    direction: str
    """The captain's, for this very speech."""
    style: str
    """Of STYLES; empty: none."""
    injected: bool

    @cached_property
    def team_text(self) -> str:
        """All that the seat's team has said in public."""
        return collapse(" ".join(h.text for h in self.heard if h.team == self.team))

    @cached_property
    def opposing(self) -> tuple[PublicSpeech, ...]:
        """What the other team has said, in order."""
        return tuple(h for h in self.heard if h.team == other(self.team))

    def own_notes(self, seat: str) -> str:
        """What a seat of the team noted: its notes begin with its name."""
        return collapse(" ".join(n for n in self.notes if n.startswith(f"{seat}:")))

    def apart(self, s: Sentence) -> set[str]:
        """Words of meaning of a sentence but the motion's, which everybody has."""
        return set(s.stems) - self.terms


def reading(shown: Shown, me: Identity) -> DebaterView:
    """What a debater goes by in this turn."""
    heard, injected = speeches(shown)
    notes = [o.body.text for o in shown.others if isinstance(o.body, Note)]
    seat = f"{me.team}_{me.position}"
    direction = shown.brief.direction if isinstance(shown.brief, SpeechBrief) else ""
    texts = [*(d.text for d in shown.documents), *notes, direction, shown.question, me.stance, me.role]
    injected |= any(map(is_suspicious, texts))
    clean_notes = tuple(without_orders(n) for n in notes)
    return DebaterView(
        seat=seat, team=me.team, motion=motion_of(shown.question), terms=terms_of(shown.question),
        lines=_lines(shown, me.team), heard=heard, notes=clean_notes, direction=without_orders(direction),
        style=style_of(me),
        injected=injected,
    )  # fmt: skip


def speeches(shown: Shown) -> tuple[tuple[PublicSpeech, ...], bool]:
    """(the public speeches in order, whether something in one talks to the reader as to a machine)."""
    bodies = [o.body for o in shown.others if isinstance(o.body, Said)]
    injected = any(is_suspicious(t) for s in bodies for t in (s.text, *s.questions, *(c.quote for c in s.citations)))
    return tuple(PublicSpeech(s, without_orders(s.text)) for s in bodies), injected


def motion_of(question: str) -> str:
    """The motion in one line; nothing where it talks as to a machine."""
    return clean(without_orders(question))


@lru_cache(maxsize=256)
def terms_of(text: str) -> frozenset[str]:
    """Stems of a text's words of meaning, those left out that every motion has."""
    plain = " ".join(w.removesuffix("'s") for w in words(text) if w not in _IDLE)
    return frozenset(s for s in sentence(plain).stems)


@lru_cache(maxsize=2_000)
def without_orders(text: str) -> str:
    """A text without the sentences that talk to the reader as to a machine, and without the scrap behind one."""
    if not is_suspicious(text):
        return text
    lines = []
    left_out = False
    for line in _LINE_END.split(text):
        pieces = []
        for piece in _PIECE_END.split(line):
            bad = is_instruction(piece.strip())
            if piece.strip() and not bad and not (left_out and len(words(piece)) < SCRAP):
                pieces.append(piece.strip())
            left_out = bad or (left_out and not piece.strip())
        lines += [" ".join(pieces)] if pieces else []
    return "\n".join(lines)


def _cut_at(text: str, ends: Sequence[int]) -> list[str]:
    bounds = [0, *ends, len(text)]
    return [text[a:b] for a, b in pairwise(bounds) if text[a:b].strip()]


def masked(text: str) -> str:
    """A text of the same length in which quotations are blotted out, but that they may end a sentence."""
    return _QUOTE.sub(lambda m: f"“{'x' * (len(m[1]) - 1)}{'.' if m[1][-1] in '.!?' else 'x'}”", text)


def sentences(text: str) -> list[str]:
    """Its sentences, verbatim; what is quoted does not end one."""
    parts = []
    for line in _LINE_END.split(text):
        parts += [s.strip() for s in _cut_at(line, sentence_ends(masked(line)))]
    return parts


def quotes(text: str) -> list[str]:
    """What it quotes, from a few words on."""
    return [collapse(q) for q in _QUOTE.findall(text) if len(words(q)) >= ENOUGH]


def counted(text: str) -> int:
    """Words of a text, never fewer than the moderator counts: it may count a letter of a script without spaces as two
    words, and a long run of letters as several."""
    return sum(_weight(m) for m in _WORDS.findall(text))


def _weight(run: str) -> int:
    dense = sum(1 for c in run if c > _SPACED_TO and not _HANGUL[0] <= c <= _HANGUL[1])
    return 2 * dense + -(-len(run) // 30)


def shared(a: Iterable[str], b: Iterable[str]) -> float:
    """0 to 1: how far two sets of stems are about the same."""
    return min(1.0, len(set(a) & set(b)) / ENOUGH)


def style_of(me: Identity) -> str:
    """The style that a personality's words come nearest to; its name counts most."""
    if me.personality is None:
        return ""
    name = word_set(" ".join(words(me.personality.name)))
    traits = set(words(me.personality.characteristics))
    joined = "_".join(words(me.personality.name))
    scores = {s: 9 * (s == joined) + 3 * len(name & w) + len(traits & w) for s, w in STYLES.items()}
    best = max(scores, key=lambda s: (scores[s], s))
    return best if scores[best] else ""


def fits_style(style: str, s: Sentence) -> float:
    """0 to 1: how far a sentence is of a style."""
    if style == "data_driven" and any(w[0].isdigit() for w in s.words):
        return 1.0
    return min(1.0, 0.5 * len(set(s.words) & STYLES.get(style, frozenset())))


@lru_cache(maxsize=64)
def _text(text: str) -> Text:
    return cut(text)


def _lines(shown: Shown, team: Team) -> tuple[DocumentLine, ...]:
    """Sentences of the documents held, in their order; what talks as to a machine and scraps are left out."""
    lines = [
        (d.name, s)
        for d in shown.documents
        for s in _text(d.text).sentences
        if len(s.words) >= LEAST and not is_instruction(s.text) and "“" not in s.text and "”" not in s.text
    ]
    terms = sorted(terms_of(shown.question))
    near = relevance(terms, [[*s.stems, *s.context] for _, s in lines])
    turned = frozenset(stem(w) for w in words(shown.question) if is_reversal(w))
    return tuple(
        DocumentLine(name, s, r, _favour(name, s, team, turned)) for (name, s), r in zip(lines, near, strict=True)
    )


def _favour(document: str, s: Sentence, team: Team, turned: frozenset[str]) -> float:
    """Praise speaks for a motion that wants something; where it wants something ended, praise of what does not speak of
    the ending speaks against it."""
    side = document.partition("/")[0]
    own = OWN if side == team else -OWN if side in TEAMS else 0.0
    value = polarity(s.text) * firmness(s) * source_weight(document)
    if turned and turned.isdisjoint(s.stems):
        value = -value
    return own + PRAISE * (value if team == "pro" else -value)
