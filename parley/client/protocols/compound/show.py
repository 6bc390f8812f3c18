"""What the posts and the result of a question of several parts say: each part with its session, and the whole."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from parley.client.protocols.compound.setup import SETUP
from parley.client.show.answer import ResultSummary
from parley.client.show.card import Card, CardPart, CardQuote, Chip, Row, Table, quotes_of
from parley.client.show.open_items import OpenItem
from parley.client.show.palette import seat_name
from parley.client.show.show import Form, Show
from parley.client.text import count, line
from parley.coordinator.protocols.compound.protocol import ITEM
from parley.schemas.post import Post
from parley.schemas.protocols.compound import Begun, Joined, Outcome, Proposed, Signature
from parley.schemas.protocols.compound import Part as Ended
from parley.schemas.result import Result
from parley.schemas.stops import STOPS

_WIDE = 300
_HOW = {
    "given": "as they were given",
    "unasked": "as the analyst proposes them; nobody was asked",
    "unanswered": "as the analyst proposes them; nobody answered",
    "confirmed": "as {by} confirmed them",
    "changed": "as {by} has them",
}


class CompoundShow(Show):
    """A tree: the whole, and below it a session for each part."""

    setup = SETUP
    form = Form(
        fields={
            "signs": ("You sign it", "It says of each part what the panel came to."),
            "differs": ("What is not what a panel came to", ""),
        },
        asks={"sign": "Say whether the synthesis says of each part what its panel came to."},
    )
    kinds: ClassVar[Mapping[str, type]] = {
        "proposed": Proposed,
        "begun": Begun,
        "part": Ended,
        "synthesis": Joined,
        "signature": Signature,
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._parts: dict[str, tuple[str, Ended | None]] = {}
        """Session -> its part, and what it came to; None: it runs."""

    def said(self, post: Post, body: Any) -> Card:
        """A post."""
        match body:
            case Proposed():
                return _proposed(body, post.at_ns)
            case Begun():
                self._parts = {sid: (part, None) for part, sid in zip(body.parts, body.sessions, strict=False)}
                how = _HOW[body.how].format(by=body.by)
                return Card(
                    place="note",
                    head=f"{count(len(self._parts), 'part')} begin, {how}",
                    text=", ".join(f"“{part}”" for part in body.parts),
                    parts=tuple(CardQuote(head=sid, text=part) for sid, (part, _) in self._parts.items()),
                )
            case Ended():
                self._parts[body.session] = (body.part, body)
                chips = (Chip(text=f"session {body.session}", tone="quiet"),)
                text = body.answer or ("" if body.why in _how(body) else body.why)
                return Card(
                    place="note",
                    head=f"“{line(body.part, 120)}” {_how(body)}",
                    text=text,
                    chips=chips,
                    tone="good" if body.converged else "plain" if body.answer else "warn",
                )
            case Signature():
                head = "signs the whole" if body.signs else "does not sign the whole"
                return Card(place="note", head=head, text=body.differs, tone="good" if body.signs else "warn")
        return Card(head="puts the parts together", position=body.answer, text=body.reasoning)

    def board(self) -> Table | None:
        """Each part, with a way to its session."""
        rows = tuple(
            Row(cells=(line(part, 200), sid, *_cells(ended)), session=sid) for sid, (part, ended) in self._parts.items()
        )
        return Table(head=("Part", "Session", "Ended", "Confidence"), rows=rows) if rows else None

    def told(self, result: Result) -> ResultSummary:
        """The whole, and each part with its answer, confidence and dissent."""
        outcome = msgspec.convert(result.outcome, Outcome)
        parts, agreed = outcome.parts, sum(p.converged for p in outcome.parts)
        asked = len(outcome.signed) + len(outcome.unsigned)
        signed = f"the whole signed by {len(outcome.signed)} of {asked}" if asked else "nobody signs the whole"
        return ResultSummary(
            text=outcome.answer,
            why=f"the analyst puts it together: “{outcome.synthesis}”" if outcome.synthesis else outcome.reasoning,
            quote=next(iter(quotes_of(outcome.citations)), None),
            behind=f"{agreed} of {count(len(parts), 'part')} agreed; {signed}" if parts else "",
            open="; ".join(f"“{line(p.part, 80)}” has no answer: {line(p.why, 80)}" for p in parts if not p.answer),
            dissent="; ".join(f"{line(p.part, 60)}: {line(d, 60)}" for p in parts for d in p.dissent),
            weak=tuple(f"“{line(p.part, 80)}” {_how(p)}" for p in parts if p.answer and not p.converged),
            parts=(CardPart(name="parts", title="The parts", lines=tuple(_lines(outcome)), finding=True),),
        )


def _how(p: Ended) -> str:
    """How a part ended."""
    if p.converged:
        return "is agreed"
    why = STOPS[p.reason].in_words(False) if p.reason in STOPS else p.status
    return f"is not agreed: {why}" if p.answer else f"has no answer: {why}"


def _cells(p: Ended | None) -> tuple[str, str]:
    if p is None:
        return "runs", ""
    return "agreed" if p.converged else p.reason or p.status, f"{p.confidence:.2f}" if p.answer else ""


def _proposed(body: Proposed, at_ns: int) -> Card:
    draft = "\n".join(body.parts)
    question = f"The question would be split into these parts. Answer ok, or give others, a line each.\n{draft}"
    return Card(
        place="note",
        tone="warn",
        text=question,
        asks=OpenItem(
            item=ITEM,
            kind="parts",
            question=question,
            choices=(),
            default="ok",
            deadline_ns=at_ns + int(body.seconds * 1e9),
            draft=draft,
        ),
    )


def _lines(outcome: Outcome) -> Iterator[str]:
    for p in outcome.parts:
        came = (
            f"{line(p.answer, _WIDE)} (confidence {p.confidence:.2f})"
            if p.answer
            else f"no answer: {line(p.why, _WIDE)}"
        )
        yield f"{line(p.part, _WIDE)} {came}"
        yield f"  {_how(p) if p.answer else p.reason or p.status}; its session: {p.session}"
        against = "against it" if p.answer else "held by some"
        yield from (f"  {against}: {line(d, _WIDE)}" for d in p.dissent)
    if outcome.signed or outcome.unsigned:
        yield f"Signed by {', '.join(map(seat_name, outcome.signed)) or 'nobody'}"
    for seat, why in outcome.unsigned.items():
        yield f"  not by {seat_name(seat)}: {line(why, _WIDE) or 'no reason given'}"


SHOW = CompoundShow
