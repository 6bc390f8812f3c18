"""What the posts and the result of a question of several parts say: each part with its session, and the whole."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from parley.client.protocols.threads.setup import SETUP
from parley.client.show.answer import Told
from parley.client.show.card import Card, Chip, Part
from parley.client.show.open_items import OpenItem
from parley.client.show.show import Show
from parley.client.text import count, line
from parley.coordinator.protocols.threads.protocol import ITEM
from parley.schemas.post import Post
from parley.schemas.protocols.threads import Begun, Joined, Outcome, Proposed
from parley.schemas.protocols.threads import Part as Row
from parley.schemas.result import Result

_WIDE = 300


class ThreadsShow(Show):
    """A tree of two levels."""

    setup = SETUP
    kinds: ClassVar[Mapping[str, type]] = {"proposed": Proposed, "begun": Begun, "part": Row, "synthesis": Joined}
    certificate_names: ClassVar[Mapping[str, str]] = {
        "parts": "parts of the question", "answered": "parts that have an answer", "agreed": "parts that are agreed",
        "failed": "parts without an answer", "signed": "the seats of the parts signed the whole",
    }  # fmt: skip

    def said(self, post: Post, body: Any) -> Card:
        """A post."""
        match body:
            case Proposed():
                return _proposed(body)
            case Begun():
                rows = [f"{sid}: {part}" for part, sid in zip(body.parts, body.sessions, strict=False)]
                by = f", as {body.by} has them" if body.by else ""
                return Card(place="note", head=f"{count(len(rows), 'part')} begin{by}", text="\n\n".join(rows))
            case Row():
                head = "is agreed" if body.converged else f"ended: {body.reason or body.status}"
                text = body.answer or f"no answer: {body.why}"
                chips = (Chip(text=f"session {body.session}", tone="quiet"),)
                return Card(place="note", head=f"“{line(body.part, 120)}” {head}", text=text, chips=chips)
        return Card(place="note", head="puts the parts together", position=body.answer, text=body.reasoning)

    def told(self, result: Result) -> Told:
        """The whole, and each part with its answer, confidence and dissent."""
        outcome = msgspec.convert(result.outcome, Outcome)
        rows, failed = outcome.parts, [p for p in outcome.parts if not p.answer]
        agreed = sum(p.converged for p in rows)
        return Told(
            text=outcome.answer, why=outcome.reasoning,
            behind=f"{agreed} of {count(len(rows), 'part')} agreed; nobody signed the whole" if rows else "",
            open="; ".join(f"“{line(p.part, 80)}” has no answer: {line(p.why, 80)}" for p in failed),
            dissent="; ".join(f"{line(p.part, 60)}: {line(d, 60)}" for p in rows for d in p.dissent),
            parts=(Part(name="parts", title="The parts", lines=tuple(_lines(rows))),),
        )  # fmt: skip


def _proposed(body: Proposed) -> Card:
    question = "The question would be split so. Answer `ok`, or give other parts, a line each:\n" + "\n".join(
        body.parts
    )
    return Card(
        place="note", tone="warn", text=question, asks=OpenItem(
            item=ITEM, kind="parts", question=question, choices=(), default="ok", deadline_ns=body.deadline_ns,
        ),
    )  # fmt: skip


def _lines(rows: tuple[Row, ...]) -> Iterator[str]:
    for p in rows:
        sure = f" ({p.confidence:.2f})" if p.answer else ""
        came = f"{line(p.answer, _WIDE)}{sure}" if p.answer else f"no answer: {line(p.why, _WIDE)}"
        how = "agreed" if p.converged else f"not agreed, {p.reason or p.status}"
        yield f"{line(p.part, _WIDE)} {came} [{how}; parley explain {p.session}]"
        yield from (f"  against it: {line(d, _WIDE)}" for d in p.dissent)


SHOW = ThreadsShow
