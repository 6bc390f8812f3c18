"""An analyst without a language model: how far positions agree, counted from their answers and the evidence they quote.

    facts      weight of the seats whose answer is that of the most central one, itself left out     0 to 100
    approach   the same, with what share of their evidence they have in common                       0 to 100
    priority   how near their confidence in those answers is                                         0 to 100

Three with one answer come to 90 or more, three with three answers to less than 50.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parley.agents.context import Shown
from parley.agents.extractive.same_answer import grouped
from parley.agents.extractive.stance import is_negated
from parley.agents.retrieval.corpus import clean, sentence, stems
from parley.schemas.protocols.consensus import (
    AnswerGroup,
    CompareBrief,
    Comparison,
    ConcludeBrief,
    Conclusion,
    Position,
    Weighted,
)
from parley.schemas.text import normalise, same

MAX_LABEL = 200
"""Characters of a label."""
SHOWN = 160
"""Characters of an answer quoted in a disagreement."""


@dataclass(frozen=True)
class _Voice:
    post: int
    position: Position
    weight: float
    evidence: frozenset[str]
    """Stems of what it quotes."""


@dataclass(frozen=True)
class _Group:
    answer: str
    voices: tuple[_Voice, ...]

    @property
    def weight(self) -> float:
        return sum(v.weight for v in self.voices)


def compare(shown: Shown) -> Comparison:
    """Which positions give the same answer, and how near the rest are. The moderator counts."""
    brief: CompareBrief = shown.brief
    voices = _voices(shown, brief.positions)
    groups = _groups(voices)
    dimensions = _dimensions(voices)
    known = {normalise(named.label): named.label for named in brief.labels}
    return Comparison(
        comment=_comment(groups, voices),
        agreements=_agreements(groups, voices),
        key_disagreements=_disagreements(groups),
        groups=tuple(AnswerGroup(label=_label(g, known), posts=tuple(v.post for v in g.voices)) for g in groups),
        approach=dimensions["approach"],
        priority=dimensions["priority"],
    )


def _label(group: _Group, known: Mapping[str, str]) -> str:
    label = clean(group.answer)[:MAX_LABEL]
    return known.get(normalise(label), label)


def conclude(shown: Shown) -> Conclusion:
    """The panel's answer with the best that was quoted for it, and what others held."""
    brief: ConcludeBrief = shown.brief
    groups = _groups(_voices(shown, brief.positions))
    if not groups:
        return Conclusion(group=brief.label, reasoning="No seat took a position.", answer=brief.answer or "No answer")
    answer = brief.answer or groups[0].answer
    holding = next((g for g in groups if any(same(v.position.answer, answer) for v in g.voices)), groups[0])
    share = holding.weight / sum(g.weight for g in groups)
    tied = any(g is not holding and g.weight >= holding.weight for g in groups)
    apart = "There is no consensus but a tie; one side stands" if tied else "There is no consensus; most weight stands"
    how = "The panel agrees" if brief.converged else apart
    seats = sum(len(g.voices) for g in groups)
    parts = [f"{how} on {_shown(answer)}: {len(holding.voices)} of {seats} seats, {share:.0%} of the weight."]
    best = _best_quotes(holding)
    if best:
        parts.append("The evidence quoted most: " + "; ".join(best) + ".")
    for other in (g for g in groups if g is not holding):
        quotes = _best_quotes(other)[:1]
        who = "The other side" if tied else "A minority"
        parts.append(f"{who} answers {_shown(other.answer)}" + (f", on {quotes[0]}" if quotes else "") + ".")
    return Conclusion(group=brief.label, reasoning=" ".join(parts), answer=answer)


def _voices(shown: Shown, wanted: Sequence[Weighted]) -> list[_Voice]:
    bodies = {o.post: o.body for o in shown.others}
    voices = []
    for w in wanted:
        body = bodies.get(w.post)
        if isinstance(body, Position) and not body.abstains and w.weight > 0:
            quoted = frozenset(s for c in body.citations for s in stems(c.quote))
            voices.append(_Voice(w.post, body, w.weight, quoted))
    return voices


def _groups(voices: Sequence[_Voice]) -> list[_Group]:
    """Voices by their answers, the weightiest group first."""
    groups = ([voices[place] for place in group] for group in grouped([v.position.answer for v in voices]))
    typed = (_Group(min(v.position.answer for v in g), tuple(g)) for g in groups)
    return sorted(typed, key=lambda g: (-g.weight, g.answer))


def _dimensions(voices: Sequence[_Voice]) -> dict[str, float]:
    if not voices:
        return {"facts": 0.0, "approach": 0.0, "priority": 0.0}
    if len(voices) == 1:
        return {"facts": 100.0, "approach": 100.0, "priority": 100.0}
    best = (0.0, 0.0, 0.0)
    for centre in voices:
        rest = [v for v in voices if v is not centre]
        total = sum(v.weight for v in rest)
        near = [(v, agreement(centre.position.answer, v.position.answer)) for v in rest]
        facts = sum(v.weight * a for v, a in near) / total
        approach = sum(v.weight * a * (0.75 + 0.25 * _common(centre, v)) for v, a in near) / total
        priority = sum(
            v.weight * (0.25 + 0.75 * a) * (1 - abs(centre.position.confidence - v.position.confidence))
            for v, a in near
        )
        best = max(best, (facts, approach, priority / total))
    return {name: round(100 * min(1.0, v), 1) for name, v in zip(("facts", "approach", "priority"), best, strict=True)}


def _common(a: _Voice, b: _Voice) -> float:
    """Share of the words of the smaller evidence that the other quotes too."""
    least = min(len(a.evidence), len(b.evidence))
    return len(a.evidence & b.evidence) / least if least else 0.0


def agreement(a: str, b: str) -> float:
    """How near two answers are, 0 to 1: 1 the same; up to 0.5 texts that share less than most of their words."""
    if same(a, b):
        return 1.0
    first, second = sentence(a), sentence(b)
    if is_negated(first) != is_negated(second):
        return 0.0
    figures = [{w for w in s.words if w[0].isdigit()} for s in (first, second)]
    if figures[0] != figures[1]:
        return 0.0
    left, right = set(first.stems or first.words), set(second.stems or second.words)
    shared = len(left & right) / max(1, len(left | right))
    return 0.5 * shared if shared < 0.6 else shared


def _agreements(groups: Sequence[_Group], voices: Sequence[_Voice]) -> tuple[str, ...]:
    sentences = [f"{len(g.voices)} of {len(voices)} answer {_shown(g.answer)}." for g in groups if len(g.voices) > 1]
    counts: dict[str, int] = {}
    for v in voices:
        for quote in {clean(c.quote) for c in v.position.citations}:
            counts[quote] = counts.get(quote, 0) + 1
    shared = sorted((q for q, n in counts.items() if n > 1), key=lambda q: (-counts[q], q))
    return (*sentences, *(f"{counts[q]} quote {_shown(q)}." for q in shared[:2]))


def _disagreements(groups: Sequence[_Group]) -> tuple[str, ...]:
    if len(groups) < 2:
        return ()
    first, rest = groups[0], groups[1:4]
    sentences = []
    for g in rest:
        first_quotes, other_quotes = _best_quotes(first)[:1], _best_quotes(g)[:1]
        text = f"{_shown(first.answer)} or {_shown(g.answer)}"
        if first_quotes and other_quotes and first_quotes != other_quotes:
            text += f": {first_quotes[0]} against {other_quotes[0]}"
        sentences.append(text)
    return tuple(sentences)


def _best_quotes(group: _Group) -> list[str]:
    """What is quoted for an answer: by most weight first, then in the order of quoting."""
    weight: dict[tuple[str, str], float] = {}
    for v in group.voices:
        for rank, c in enumerate(v.position.citations):
            key = clean(c.quote), clean(c.document)
            weight[key] = weight.get(key, 0.0) + v.weight * v.position.confidence / (1 + rank)
    ordered = sorted(weight, key=lambda k: (-weight[k], k))
    return [f"{_shown(quote)} ({document})" for quote, document in ordered[:3]]


def _comment(groups: Sequence[_Group], voices: Sequence[_Voice]) -> str:
    if not voices:
        return "There is no position to compare."
    moved = sum(1 for v in voices if v.position.change != "kept")
    n = len(groups)
    what = f"{len(voices)} positions with {n} answer{'' if n == 1 else 's'}; {moved} moved."
    return what + " Counted without a language model."


def _shown(answer: str) -> str:
    text = clean(answer)
    return f"“{text if len(text) <= SHOWN else text[: SHOWN - 1] + '…'}”"
