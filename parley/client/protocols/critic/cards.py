"""A critic session's posts and confidence as data for pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from parley.client.show.cards import Card, Chip, Series, quotes_of, share
from parley.client.untrusted import items, mapping, number, words

Body = Mapping[str, Any]


def card(kind: str, body: Body) -> Card | None:
    """The card of a post; None: of a kind that is shown by its lines."""
    match kind:
        case "answer":
            return Card(
                head="answer", position=words(body.get("answer", "")), confidence=share(body.get("confidence")),
                text=words(body.get("reasoning", "")), quotes=quotes_of(body.get("citations")),
            )  # fmt: skip
        case "objection":
            return _objection(body)
        case "repeated":
            what = f"repeats objection {words(body.get('repeats'))}"
            return Card(place="line", text=f"{what}: {words(body.get('text', ''))}", refused=what)
        case "judgement" | "judgement_swapped":
            head = f"{number(body.get('score')) or 0:g} of 100"
            quotes = [
                f"Objection {words(m.get('objection'))} is met by: “{words(m.get('quote', ''))}”"
                for m in map(mapping, items(body.get("met")))
            ]
            return Card(place="note", head=head, text="\n\n".join([words(body.get("comment", "")), *quotes]))
        case "tally":
            return _tally(body)
    return None


def _objection(body: Body) -> Card:
    checked = f"It computed: {words(body['checked'])}" if body.get("checked") else ""
    if not body.get("number"):
        return Card(place="note", head="no new objection", text=checked)
    return Card(
        head=f"objection {words(body['number'])}", text="\n\n".join(filter(None, (words(body.get("objection", "")),
        checked))), quotes=quotes_of(body.get("citations")),
    )  # fmt: skip


def _tally(body: Body) -> Card:
    chips = [Chip(text=words(body[name])) for name in ("label", "direction") if body.get(name)]
    chips += [Chip(text=f"meets objection {words(n)}", tone="good") for n in items(body.get("answered"))]
    chips += [Chip(text=f"no longer meets {words(n)}", tone="warn") for n in items(body.get("reopened"))]
    confidence = number(body.get("confidence"))
    head = "confidence" if confidence is None else f"confidence {confidence:.0f}"
    return Card(place="score", head=head, chips=tuple(chips))


def signals(trend: Sequence[Any], settings: Body) -> tuple[Series, ...]:
    """The judge's confidence after each round, against the threshold."""
    values = tuple(number(score) for score in trend)
    if not values:
        return ()
    threshold = number(settings.get("threshold"))
    return (
        Series(
            name="confidence", label="Confidence, by the objections that are open", values=values,
            rounds=tuple(float(n) for n in range(1, len(values) + 1)), threshold=threshold,
            threshold_label=f"threshold {threshold:g}" if threshold is not None else "",
            stops="above" if threshold is not None else "", least=0.0, most=100.0,
        ),
    )  # fmt: skip
