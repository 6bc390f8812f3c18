"""How a session of the protocol `single` is shown: as any protocol is, and never as an agreement."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from parley.client.faces.face import Face
from parley.client.protocols.single.setup import SETUP
from parley.client.show.lines import Piece, StyledLine
from parley.client.show.presenter import Presenter
from parley.client.text import line
from parley.client.untrusted import items, number, object_of, words
from parley.schemas.post import Post
from parley.schemas.result import Result


class SinglePresenter(Presenter):
    """One answer."""

    certificate_names: ClassVar[Mapping[str, str]] = {
        "answers": "answers that were given", "checked": "somebody checked it",
    }  # fmt: skip
    asks: ClassVar[Mapping[str, str]] = {"answer": "Answer the question. Nobody checks your answer."}

    def beside(self, result: Result) -> Iterator[StyledLine]:
        """Nothing: the stop says that nobody checked it, and passages stand in a part of their own."""
        return iter(())

    def lines(self, post: Post, width: int) -> Iterator[Piece]:
        """A post in lines: the answer, and with everything shown its reasons and quotations, too."""
        body = object_of(post.body)
        if post.kind != "answer":
            yield from super().lines(post, width)
            return
        sure = number(body.get("confidence"))
        stated = "" if sure is None else f" ({sure:.2f})"
        said = f"{stated}: {line(words(body.get('answer')), width)}"
        yield "seat", f"  {line(post.seat)}{' has nothing to go on' if body.get('abstains') else said}"
        if not self.brief:
            if reasoning := words(body.get("reasoning")):
                yield "", f"      {line(reasoning, width)}"
            for document, quote in self.quotes(body):
                yield "quiet", f"      {line(document)}: “{line(quote, width)}”"


class SingleFace(Face):
    """The face of one seat."""

    def alone(self, result: Result) -> dict[str, tuple[str, ...]]:
        """The one seat that answered."""
        answered = self.answered(result)
        seats = [str(seat) for seat in result.usage.by_seat if seat not in items(result.rounds[0].get("missing"))]
        return {seats[0]: answered} if answered and len(seats) == 1 else {}


FACE = SingleFace(setup=SETUP, presenter=SinglePresenter)
