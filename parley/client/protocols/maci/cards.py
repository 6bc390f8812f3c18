"""A debate's posts and signals as data for pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from parley.client.protocols.maci.story import passed, top, why_refused
from parley.client.protocols.maci.transcript import COLUMNS, advocate_words, dial_words, figure, met_words, title
from parley.client.show.cards import Card, Changed, Chip, Quote, Series
from parley.client.text import count
from parley.schemas.belief import Belief
from parley.schemas.control import Signals
from parley.schemas.protocols.maci.messages import Argument, Blind, Case, Crit, Passages, Round, Ruled, Score

SHOWN = ("jsd", "overlap", "q", "crit", "entropy", "information_gain", "cl")
_GATES = {"q": "tau_q", "crit": "tau_crit"}
_NAMES = {name: (sign, what) for name, sign, what in COLUMNS}
_MOST_SHARES = 5


def card(body: Any, documents: Mapping[str, str], before: str) -> Card | None:
    """The card of a post's body; None: of a kind that is shown by its lines.

    Parameters
    ----------
    documents
        Passage -> its document.
    before
        The outcome that the seat held most probable before; empty: it held none.
    """
    match body:
        case Passages():
            return Card(place="line", text=f"{count(len(body.passages), 'passage')} found", chips=_quality(body.q))
        case Blind():
            held = most_probable(body.belief)
            return Card(
                head="alone", position=held, confidence=dict(_shares(body.belief)).get(held), text=body.reasoning,
                chips=_chips(body.belief), quotes=_quotes(body, documents),
            )  # fmt: skip
        case Case():
            held = most_probable(body.belief)
            moved = bool(before) and held != before
            why = body.changed or " ".join(met.why for met in body.answers)
            changed = Changed(by="by argument" if why else "without a reason that was found", why=why,
                              explained=bool(why)) if moved else None  # fmt: skip
            answers = "\n\n".join(met_words(met) for met in body.answers)
            head = "answers the devil's advocate" if answers else count(len(body.arguments), "argument")
            return Card(
                head=head, position=held, text=answers or body.changed, changed=changed,
                confidence=dict(_shares(body.belief)).get(held), chips=_chips(body.belief),
            )  # fmt: skip
        case Ruled():
            return _ruled(body, documents)
        case Crit():
            scores = ", ".join(f"a{score.item} {score.composite:.2f}" for score in body.scores)
            return Card(place="line", head="scores", text=scores or "nothing")
        case Round():
            return _round(body)
    return None


def most_probable(belief: Belief | Mapping[str, float]) -> str:
    """The outcome that is held most probable; empty: the belief has none."""
    likeliest = top(belief, 1)
    return likeliest[0].outcome if likeliest else ""


def _shares(belief: Belief | Mapping[str, float]) -> list[tuple[str, float]]:
    return [(s.outcome, s.p) for s in top(belief, _MOST_SHARES)]


def _chips(belief: Belief | Mapping[str, float]) -> tuple[Chip, ...]:
    return tuple(Chip(text=f"{outcome[:80]} {p:.2f}") for outcome, p in _shares(belief))


def _quality(q: float | None) -> tuple[Chip, ...]:
    return () if q is None else (Chip(text=f"evidence quality {figure(q)}"),)


def _quotes(body: Blind | Argument, documents: Mapping[str, str]) -> tuple[Quote, ...]:
    return tuple(Quote(document=documents.get(s.passage, s.passage), quote=s.quote) for s in body.spans)


def _ruled(body: Ruled, documents: Mapping[str, str]) -> Card:
    advocate = [f"{advocate_words(body)[0].upper()}{advocate_words(body)[1:]}."] if body.speaks_for else []
    reasons = [
        *advocate,
        *body.reasons,
        *(_judged(k, score) for k, score in enumerate(body.scores, 1) if score.justification),
    ]
    chip = Chip(text=passed(body), tone="good") if body.admitted else Chip(text="refused", tone="warn")
    return Card(
        head=f"argument {title(body)}", text="\n\n".join((body.claim, *reasons)), quotes=_quotes(body, documents),
        chips=(chip,), refused="" if body.admitted else why_refused(body),
    )  # fmt: skip


def _judged(number: int, score: Score) -> str:
    return f"Judge {number}: {score.composite:.2f}; {score.justification}"


def _round(body: Round) -> Card:
    s = body.signals
    chips = [Chip(text=f"{_NAMES[n][0]} {figure(getattr(s, n))}") for n in SHOWN if getattr(s, n) is not None]
    paragraphs = [f"{seat}: {', '.join(f'{o} {p:.2f}' for o, p in _shares(b))}" for seat, b in body.beliefs.items()]
    paragraphs.append(f"mixture: {', '.join(f'{o} {p:.2f}' for o, p in _shares(s.mixture))}")
    if s.cl is not None:
        paragraphs.append(f"dials: {dial_words((s.cl, s.tau_q, s.tau_crit))}")
    if s.round:
        paragraphs.append(f"arguments: {len(body.admitted)} admitted, {body.refused} refused")
    return Card(place="score", head=f"signals of round {s.round}", text="\n\n".join(paragraphs), chips=tuple(chips))


def signals(rounds: Sequence[Round]) -> tuple[Series, ...]:
    """Each signal by round; of those that have a gate, the gate of the last round."""
    return tuple(series for name in SHOWN if (series := _series(name, [r.signals for r in rounds])) is not None)


def _series(name: str, rounds: Sequence[Signals]) -> Series | None:
    values = tuple(getattr(s, name) for s in rounds)
    if all(v is None for v in values):
        return None
    sign, what = _NAMES[name]
    gate = getattr(rounds[-1], _GATES[name]) if name in _GATES else None
    return Series(
        name=name, label=f"{sign}, {what}", rounds=tuple(float(s.round) for s in rounds), values=values, threshold=gate,
        threshold_label=f"gate {gate:.2f}" if gate is not None else "", least=0.0,
        most=None if name == "information_gain" else 1.0,
    )  # fmt: skip
