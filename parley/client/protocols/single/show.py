"""What the posts and the result of one seat that answers alone say: as any protocol's, and never an agreement."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from parley.client.protocols.single.setup import SETUP
from parley.client.show.answer import ResultSummary
from parley.client.show.card import Card, quotes_of
from parley.client.show.show import FIELDS, Form, Show, passages
from parley.client.untrusted import items
from parley.schemas.post import Post
from parley.schemas.protocols.single import Answer
from parley.schemas.result import Result


class SingleShow(Show):
    """One answer."""

    setup = SETUP
    form = Form(fields=FIELDS, asks={"answer": "Answer the question. Nobody checks your answer."})
    kinds: ClassVar[Mapping[str, type]] = {"answer": Answer}

    @classmethod
    def alone(cls, result: Result) -> dict[str, tuple[str, ...]]:
        """The one seat that answered."""
        answered = cls.answered(result)
        seats = [str(seat) for seat in result.usage.by_seat if seat not in items(result.rounds[0].get("missing"))]
        return {seats[0]: answered} if answered and len(seats) == 1 else {}

    def said(self, post: Post, body: Any) -> Card:
        """The answer with its reasons; that there is none."""
        head = "has nothing to go on" if body.abstains else ""
        position = "" if body.abstains else body.answer
        return Card(
            head=head,
            position=position,
            text=body.reasoning,
            confidence=body.confidence,
            quotes=quotes_of(body.citations),
        )

    def told(self, result: Result) -> ResultSummary:
        """The answer alone: nobody else was asked."""
        return msgspec.structs.replace(super().told(result), parts=tuple(passages(result)))


SHOW = SingleShow
