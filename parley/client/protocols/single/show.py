"""What the posts and the result of one seat that answers alone say: as any protocol's, and never an agreement."""

from typing import ClassVar

from parley.client.protocols.single.setup import SETUP
from parley.client.show.answer import Told
from parley.client.show.card import Card, quotes_of, share
from parley.client.show.show import FIELDS, Form, Show, passages, plain_card
from parley.client.untrusted import items, object_of, words
from parley.schemas.post import Post
from parley.schemas.result import Result


class SingleShow(Show):
    """One answer."""

    setup = SETUP
    form = Form(fields=FIELDS, asks={"answer": "Answer the question. Nobody checks your answer."})
    certificate_names: ClassVar[dict[str, str]] = {
        "answers": "answers that were given",
        "checked": "somebody checked it",
    }

    @classmethod
    def alone(cls, result: Result) -> dict[str, tuple[str, ...]]:
        """The one seat that answered."""
        answered = cls.answered(result)
        seats = [str(seat) for seat in result.usage.by_seat if seat not in items(result.rounds[0].get("missing"))]
        return {seats[0]: answered} if answered and len(seats) == 1 else {}

    def card(self, post: Post) -> Card:
        """The answer with its reasons; that there is none."""
        body = object_of(post.body)
        if post.kind != "answer" or not body.get("abstains"):
            return plain_card(post)
        return Card(
            head="has nothing to go on", text=words(body.get("reasoning") or ""),
            confidence=share(body.get("confidence")), quotes=quotes_of(body.get("citations")),
        )  # fmt: skip

    def told(self, result: Result) -> Told:
        """The answer alone: nobody else was asked."""
        outcome = result.outcome
        return Told(
            text=words(outcome.get("answer") or ""), why=words(outcome.get("reasoning") or ""),
            quote=next(iter(quotes_of(outcome.get("citations"))), None), parts=tuple(passages(result)),
        )  # fmt: skip


SHOW = SingleShow
