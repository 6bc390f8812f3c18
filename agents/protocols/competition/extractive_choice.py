"""Which sentence a debater without a language model takes next."""

from collections.abc import Iterable, Sequence

from parley.agents.protocols.competition.extractive_reading import (
    FAVOURABLE,
    DebaterView,
    DocumentLine,
    PublicSpeech,
    fits_style,
    shared,
)
from parley.agents.retrieval.corpus import Sentence, collapse, sentence

USED, PLANNED_BY_MATES, PLANNED = -10.0, -1.0, 0.6
"""What it counts that the team has said a sentence in public, that a mate has noted it, that the seat itself has."""
RELEVANT, STYLISH, TO_THE_POINT = 0.4, 0.8, 2.0
LATEST = 60
"""Claims of the other side that are looked at: the last ones."""


def ranked(r: DebaterView, target: Iterable[str] = ()) -> list[DocumentLine]:
    """Sentences for the seat's side, the best first: unused, to the point, of its style.

    `target` holds the stems of what is to be answered.
    """
    wanted = set(target) - r.terms
    used, own_notes = r.team_text, r.own_notes(r.seat)
    mates = collapse(" ".join(n for n in r.notes if not n.startswith(f"{r.seat}:")))

    def worth(line: DocumentLine) -> float:
        plan = PLANNED if line.text in own_notes else PLANNED_BY_MATES if line.text in mates else 0.0
        return (
            USED * (line.text in used)
            + plan
            + line.favour
            + RELEVANT * line.relevance
            + STYLISH * fits_style(r.style, line.sentence)
            + TO_THE_POINT * shared(wanted, r.apart(line.sentence))
        )

    favourable = [line for line in r.lines if line.favour > FAVOURABLE]
    return sorted(favourable, key=lambda x: (-round(worth(x), 6), x.document, x.text))


def fresh(r: DebaterView, lines: Sequence[DocumentLine]) -> list[DocumentLine]:
    """Those that the team has not said yet; all of them where none is left."""
    used = r.team_text
    return [x for x in lines if x.text not in used] or list(lines)


def clashes(r: DebaterView, speeches: Sequence[PublicSpeech]) -> list[tuple[Sentence, DocumentLine]]:
    """(claim of the other side, what stands against it), the nearest pairs first; each is in one pair only."""
    claims = list(dict.fromkeys(c for h in reversed(speeches) for c in h.claims))[:LATEST]
    lines = fresh(r, ranked(r))
    about = [r.apart(c) for c in claims]
    pairs = []
    for j, line in enumerate(lines):
        has, style = r.apart(line.sentence), fits_style(r.style, line.sentence)
        pairs += [(-shared(a, has) - 0.1 * style, i, j) for i, a in enumerate(about) if a & has]
    clashing: list[tuple[Sentence, DocumentLine]] = []
    met: set[int] = set()
    used: set[int] = set()
    for _, i, j in sorted(pairs):
        if i not in met and j not in used:
            clashing.append((claims[i], lines[j]))
            met.add(i)
            used.add(j)
    return clashing


def last(r: DebaterView) -> tuple[PublicSpeech, ...]:
    """The other side's last speech that is more than questions."""
    return tuple(h for h in r.opposing if h.claims)[-1:]


def target_of(r: DebaterView) -> set[str]:
    """Stems of what is to be answered."""
    stems = {s for h in last(r) for c in h.claims for s in c.stems}
    return stems | set(sentence(r.direction).stems)
