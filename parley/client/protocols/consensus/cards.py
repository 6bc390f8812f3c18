"""A panel's posts and scores as data for pages."""

from collections.abc import Mapping
from typing import Any

from parley.client.protocols.consensus.signatures import signature_words
from parley.client.show.cards import MOST_TEXT, Card, Changed, Chip, Series, quotes_of, share
from parley.client.untrusted import items, mapping, number, words

BY = {
    "quotation": "by what was quoted", "argument": "by argument", "signature": "by signing another answer",
    "unexplained": "without a reason that was found",
}  # fmt: skip
"""What moved a seat, in words."""
SOURCES = {
    "same_words": "all answers are the same, no analyst was asked",
    "lexical_fallback": "words were compared, without an analyst",
    "unchanged": "no answer changed, no analyst was asked",
    "counted": "a vote: equal words were counted",
}
"""Where a score is from that is not the analyst's, in words."""
_BANDS = {"none": "no agreement"}
Body = Mapping[str, Any]


def card(kind: str, body: Body) -> Card | None:
    """The card of a post; None: of a kind that needs no words of its own."""
    match kind:
        case "position":
            return _position(body)
        case "analysis":
            return Card(place="note", text=words(body.get("comment", ""))) if body.get("comment") else _hidden(body)
        case "assessment":
            return _assessment(body)
        case "synthesis":
            return Card(
                place="note", head="words a sentence", position=words(body.get("answer", "")),
                text=words(body.get("reasoning", "")),
            )  # fmt: skip
        case "put":
            asked = ", ".join(words(seat) for seat in items(body.get("asked")))
            return Card(
                place="note", head="put to be signed", position=words(body.get("sentence", "")),
                text=f"Asked: {asked}" if asked else "Nobody need be asked.",
            )  # fmt: skip
        case "signature":
            return Card(place="line", text=signature_words(body, MOST_TEXT))
    return None


def _hidden(body: Body) -> Card:
    return Card(place="hidden")


def _position(body: Body) -> Card:
    text, quotes = words(body.get("reasoning", "")), quotes_of(body.get("citations"))
    if body.get("abstains"):
        return Card(head="abstains", text=text, quotes=quotes, chips=(Chip(text="no answer", tone="quiet"),))
    argument = mapping(body.get("argument"))
    post, by = number(argument.get("post")), quotes_of(body.get("moved_by"))
    change = words(body.get("change", "kept"))
    changed = None
    if change in ("partly", "adopted"):
        moved = "argument" if post is not None else "quotation" if by else "unexplained"
        changed = Changed(
            by=BY[moved], why=words(argument.get("claim") or body.get("change_reason", "")),
            post=None if post is None else int(post), explained=moved != "unexplained",
        )  # fmt: skip
    chips = (Chip(text=change, tone="good" if changed and changed.explained else "warn" if changed else "quiet"),)
    return Card(
        position=words(body.get("answer", "")), confidence=share(body.get("confidence")), text=text, quotes=quotes,
        changed=changed, refers=() if post is None else (int(post),), chips=chips if changed else (),
    )  # fmt: skip


KEPT = "kept"
PUT_ELSEWHERE = "says that it kept its answer, but the comparison put it with another answer than before"


def put_elsewhere(moved: Any, change: Any) -> bool:
    """Whether a position counts as another answer though its seat says that it kept its own: the comparison of the
    answers may be wrong, so nobody is said to have changed its mind."""
    return bool(moved == "unexplained" and change == KEPT)


def _changed(by: Any) -> str:
    return f"changed its answer {BY.get(str(by), words(by))}"


def _assessment(body: Body) -> Card:
    score = number(body.get("score"))
    groups = [mapping(g) for g in items(body.get("groups"))]
    moved = mapping(body.get("moved"))
    paragraphs = [f"{words(g.get('label'))}: {', '.join(words(s) for s in items(g.get('seats')))}" for g in groups]
    paragraphs += [f"They disagree: {words(d)}" for d in items(body.get("key_disagreements"))]
    said = mapping(body.get("changes"))
    paragraphs += [
        f"{words(seat)} {PUT_ELSEWHERE if put_elsewhere(by, said.get(seat)) else _changed(by)}"
        for seat, by in moved.items()
    ]
    chips = [
        Chip(text=_BANDS.get(words(body[name]), words(body[name]))) for name in ("band", "direction") if body.get(name)
    ]
    if body.get("source") not in (None, "analyst"):
        source = words(body["source"])
        chips.append(Chip(text=SOURCES.get(source, source), tone="warn" if source == "lexical_fallback" else "quiet"))
    head = "agreement" if score is None else f"agreement {score:g}"
    return Card(place="score", head=head, text="\n\n".join(paragraphs), chips=tuple(chips))


def signals(scores: Mapping[int, Any], settings: Body) -> tuple[Series, ...]:
    """The score by round, against the threshold. A round in which nobody could be scored has none."""
    values = tuple(number(score) for score in scores.values())
    if not values:
        return ()
    threshold = number(settings.get("threshold"))
    return (
        Series(
            name="score", label="Agreement", rounds=tuple(float(n) for n in scores), values=values,
            threshold=threshold, threshold_label=f"threshold {threshold:g}" if threshold is not None else "",
            stops="above" if threshold is not None else "", least=0.0, most=100.0,
        ),
    )  # fmt: skip
