"""What a panel's members said beside each other, for programs: where they agree and where not, what nobody saw, and who
failed. The shape is that of OpenRouter's Fusion, but what all hold is called agreements: more is signed before anything
is called a consensus. Every part was measured: it stands in posts, in the result or in the log, and no model is asked
for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from parley.client.protocols import setup_of
from parley.client.text import clean, hung
from parley.client.untrusted import items, mapping, number, value_as_text
from parley.client.view.fold import Fold
from parley.client.view.shapes import PostCard
from parley.schemas.result import Result

_BLIND = ("one_family", "no_language_model", "left_out")
"""Kinds of warnings that say what a panel may not see."""
_NOT_EVIDENCE = ("instructions.md", "previous/")
"""How names of documents begin that need not be quoted."""


def compares(protocol: str) -> bool:
    """Whether it seats a panel, so that there is something to compare."""
    return setup_of(protocol).several is not None


_UNSIGNED = (
    "agreements, contradictions without stances and blind spots are the analyst's words; no member was asked about them"
)


def fused(fold: Fold) -> dict[str, Any]:
    """`analysis`, `responses` and `failed_models` of a closed session; empty where its protocol seats no panel. A model
    is named as far as who asks may read the session's opening; else its seat stands for it."""
    result = fold.result
    if result is None or not compares(fold.protocol):
        return {}
    compared, quoted, held, silent = fold.show.compared(), _quoted(fold), *_held(fold, result)
    points: dict[str, list[dict[str, Any]]] = {"partial_coverage": [], "unique_insights": []}
    for (document, quote), seats in quoted.items():
        if len(seats) == 1 < len(fold.last):
            points["unique_insights"].append({**_model(fold, seats[0]), "insight": quote, "document": document})
        elif len(seats) < len(fold.last):
            models = [_model(fold, seat)["model"] for seat in seats]
            points["partial_coverage"].append({"models": models, "point": quote, "document": document})
    analysis = {
        "note": _UNSIGNED,
        "agreements": list(map(hung, compared.agreements)),
        "contradictions": _contradictions(fold, result, held, compared.disagreements),
        **points,
        "blind_spots": list(dict.fromkeys(hung(clean(text)).rstrip(".") for text in _blind_spots(fold, result))),
    }
    responses = [
        {
            **_model(fold, seat),
            "content": clean(card.position),
            "reasoning": clean(card.text),
            "confidence": card.confidence,
        }
        for seat, card in held.items()
    ]
    responses += [
        {**_model(fold, seat), "content": "", "reasoning": clean(why), "confidence": None}
        for seat, why in silent.items()
    ]
    return {"analysis": analysis, "responses": responses, "failed_models": _failed(fold, result)}


def _held(fold: Fold, result: Result) -> tuple[dict[str, PostCard], dict[str, str]]:
    """(Seat -> the answer that it holds in the end, seat without one -> its reasons)."""
    silent: dict[str, str] = {}
    for played in result.rounds:
        for seat, said in mapping(mapping(played).get("positions")).items():
            silent.pop(seat, None)
            if mapping(said).get("abstains"):
                silent[seat] = value_as_text(mapping(said).get("reasoning", ""))
    return {seat: card for seat, card in fold.last.items() if seat not in silent}, silent


def _model(fold: Fold, seat: str) -> dict[str, Any]:
    known = fold.seats.get(seat)
    return {"model": (known.model if known else "") or seat, "seat": seat}


def _quoted(fold: Fold) -> dict[tuple[str, str], list[str]]:
    """(Document, quotation) -> seats that quoted it, in the order in which it was said."""
    quoted: dict[tuple[str, str], list[str]] = {}
    for card in fold.cards:
        for quote in card.quotes if card.seat in fold.last else ():
            seats = quoted.setdefault((quote.document, quote.quote), [])
            if card.seat not in seats:
                seats.append(card.seat)
    return quoted


def _contradictions(
    fold: Fold, result: Result, held: Mapping[str, PostCard], disagreements: Sequence[str]
) -> list[dict[str, Any]]:
    """The answers that are held in the end where they are not the same; then what divides them, of which the analyst
    does not say who."""
    rounds = fold.show.held(result)
    names = rounds[-1] if rounds else {}
    stances = [{**_model(fold, seat), "stance": clean(card.position)} for seat, card in held.items()]
    sides = {(names.get(seat) or (card.position,))[0] for seat, card in held.items()}
    answer = [{"topic": "The answer", "stances": stances}] if len(sides) > 1 else []
    return answer + [{"topic": hung(text), "stances": []} for text in disagreements]


def _blind_spots(fold: Fold, result: Result) -> Iterator[str]:
    """What was left out or is weak, what nobody quoted, and what the analyst misses."""
    card, compared = fold.answer(), fold.show.compared()
    if card is not None:
        yield from (text for text in card.weak if text != card.open)
    yield from (warning.text for warning in fold.warnings() if warning.kind in _BLIND)
    if compared.missing:
        yield f"No member knows {compared.missing}."
    if compared.open and not result.stop.converged:
        yield compared.open
    named = {document for document, _ in _quoted(fold)}
    for document in fold.opened.evidence if fold.opened is not None else ():
        if document.name not in named and not document.name.startswith(_NOT_EVIDENCE):
            yield f"Nobody quoted {document.name}."


def _failed(fold: Fold, result: Result) -> list[dict[str, Any]]:
    """Seats of which a turn came to nothing, with the last reason, and the rounds in which it did."""
    whys: dict[str, dict[int, str]] = {}
    for played in result.rounds:
        for seat in map(value_as_text, items(mapping(played).get("missing"))):
            told = value_as_text(mapping(mapping(played).get("why_missing")).get(seat, ""))
            whys.setdefault(seat, {})[int(number(mapping(played).get("round")) or 0)] = told
    for one in fold.turns.nothing:
        whys.setdefault(one.seat, {})[one.round] = one.why
    return [{**_model(fold, seat), "error": clean(why[max(why)]), "rounds": sorted(why)} for seat, why in whys.items()]
