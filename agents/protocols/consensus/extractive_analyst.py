"""An analyst without a language model: it groups positions by their answers, and names the evidence that they quote.
How near the rest is, it takes from the weight behind the first answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parley.agents.context import Shown
from parley.agents.expert_matching.word_roots import roots_of, stands_in
from parley.agents.extractive.same_answer import alike, grouped
from parley.agents.retrieval.corpus import clean
from parley.schemas.protocols.consensus import (
    AnswerGroup,
    CompareBrief,
    Comparison,
    ConcludeBrief,
    Conclusion,
    Position,
    Weighted,
)
from parley.schemas.text import answer_key

MAX_LABEL = 200
"""Characters of a label."""
SHOWN = 160
"""Characters of an answer quoted in a disagreement."""


@dataclass(frozen=True)
class _Voice:
    post: int
    position: Position
    weight: float


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
    near = round(100 * groups[0].weight / sum(g.weight for g in groups), 1) if groups else 0.0
    known = {answer_key(named.label): named.label for named in brief.labels}
    return Comparison(
        comment=_comment(groups, voices),
        agreements=_agreements(groups, voices),
        key_disagreements=_disagreements(groups),
        groups=tuple(AnswerGroup(label=_label(g, known), posts=tuple(v.post for v in g.voices)) for g in groups),
        approach=near,
        priority=near,
        missing=_missing(shown.question, brief.spare),
    )


def _missing(question: str, spare: Sequence[str]) -> str:
    """What a member without a seat knows, and the question names; empty: nothing."""
    wanted = roots_of(question)
    return next((words for words in spare if stands_in(roots_of(words), wanted)), "")


def _label(group: _Group, known: Mapping[str, str]) -> str:
    label = clean(group.answer)[:MAX_LABEL]
    return known.get(answer_key(label), label)


def conclude(shown: Shown) -> Conclusion:
    """The answer to be worded, in a member's own words, with the best that was quoted for it, and what others held."""
    brief: ConcludeBrief = shown.brief
    groups = _groups(_voices(shown, brief.positions))
    answer = brief.answer or "No answer"
    holding = next((g for g in groups if any(alike(v.position.answer, answer) for v in g.voices)), None)
    parts = []
    if holding is not None and (best := _best_quotes(holding)):
        parts.append("The evidence quoted most: " + "; ".join(best) + ".")
    for other in (g for g in groups if g is not holding):
        quotes = _best_quotes(other)[:1]
        parts.append(f"Another answer is {_shown(other.answer)}" + (f", on {quotes[0]}" if quotes else "") + ".")
    return Conclusion(group=brief.label, reasoning=" ".join(parts), answer=answer)


def _voices(shown: Shown, wanted: Sequence[Weighted]) -> list[_Voice]:
    bodies = {o.post: o.body for o in shown.others}
    voices = []
    for w in wanted:
        body = bodies.get(w.post)
        if isinstance(body, Position) and not body.abstains and w.weight > 0:
            voices.append(_Voice(w.post, body, w.weight))
    return voices


def _groups(voices: Sequence[_Voice]) -> list[_Group]:
    """Voices by their answers, the weightiest group first."""
    groups = ([voices[place] for place in group] for group in grouped([v.position.answer for v in voices]))
    typed = (_Group(min(v.position.answer for v in g), tuple(g)) for g in groups)
    return sorted(typed, key=lambda g: (-g.weight, g.answer))


def _agreements(groups: Sequence[_Group], voices: Sequence[_Voice]) -> tuple[str, ...]:
    sentences = [f"{_shown(g.answer)} is answered more than once." for g in groups if len(g.voices) > 1]
    counts: dict[str, int] = {}
    for v in voices:
        for quote in {clean(c.quote) for c in v.position.citations}:
            counts[quote] = counts.get(quote, 0) + 1
    shared = sorted((q for q, n in counts.items() if n > 1), key=lambda q: (-counts[q], q))
    return (*sentences, *(f"More than one quote {_shown(q)}." for q in shared[:2]))


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
    apart = "The positions give one answer." if len(groups) == 1 else "The positions give different answers."
    return apart + " Compared by words, without a language model."


def _shown(answer: str) -> str:
    text = clean(answer)
    return f"“{text if len(text) <= SHOWN else text[: SHOWN - 1] + '…'}”"
