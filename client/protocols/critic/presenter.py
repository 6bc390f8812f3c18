"""How one session of the critic protocol is shown."""

from collections.abc import Iterator, Mapping
from typing import Any

from client.protocols.critic import transcript
from client.show.lines import Piece, StyledLine
from client.show.presenter import Presenter
from client.show.untrusted import items, object_of, words
from client.show.words import raw_post
from client.text import line
from schemas.post import Post
from schemas.result import Result


class CriticPresenter(Presenter):
    """Shows an answer, the objections to it and what the judge makes of both."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._trend: tuple[float, ...] = ()
        self._label = ""
        self._direction = ""

    def take(self, post: Post) -> None:
        """Fold one post."""
        if post.kind == "tally":
            body = object_of(post.body)
            self._trend = tuple(items(body.get("trend")))
            self._label, self._direction = words(body.get("label", "")), words(body.get("direction", ""))

    def lines(self, post: Post, width: int) -> Iterator[Piece]:
        """A post in lines."""
        if post.kind in transcript.POSTS:
            yield from transcript.POSTS[post.kind](post.seat, post.round, object_of(post.body), width)
        else:
            yield from raw_post(post, width)

    def missing(self, post: Post) -> tuple[str, ...] | None:
        """Seats that the tally of a round counts as missing."""
        return tuple(items(object_of(post.body).get("missing"))) if post.kind == "tally" else None

    def beside(self, result: Result) -> Iterator[StyledLine]:
        """The label and the objections."""
        return transcript.outcome_lines(result.outcome)

    def closing_lines(self, result: Result) -> Iterator[StyledLine]:
        """A warning where objections were compared by words alone."""
        return transcript.by_words(result.rounds)

    def findings(self, result: Result) -> Iterator[str]:
        """The reasoning and the objections."""
        yield from super().findings(result)
        for o in result.outcome.get("objections") or ():
            state = "met" if o.get("answered") else "open"
            yield f"Objection {o.get('number')} ({state}): {line(str(o.get('text', '')))}"

    def certificate_words(self, certificate: Mapping[str, Any]) -> Iterator[str]:
        """The scores by round, and the figures."""
        trend = certificate.get("trend") or []
        if trend:
            yield "Scores by round: " + " → ".join(f"{s:g}" for s in trend) + "."
        yield from self.certificate_figures(certificate, ("trend",))

    def round_words(self, found: Mapping[str, Any]) -> Iterator[str]:
        """What was answered, objected and compared."""
        return transcript.round_words(found)

    def foot(self, round_: int) -> str:
        """The judge's confidence so far."""
        trend = " → ".join(f"{s:.0f}" for s in self._trend) or "–"
        return f"{super().foot(round_)} · score {trend} {line(self._label)} {line(self._direction)}"
