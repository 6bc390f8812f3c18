"""What a jury says in public: the count, and the card of its result. Every screen and export draws these."""

from typing import ClassVar

from parley.client.setup.options import Option
from parley.client.setup.setup import Setup, Several
from parley.client.show.answer import ResultSummary
from parley.client.show.card import Card, CardPart, Row, Table
from parley.client.show.show import Show
from parley.schemas.post import Post, decode_body
from parley.schemas.result import Result
from parley_jury.messages import Count
from parley_jury.rows import JUROR


class JuryShow(Show):
    """Shows a jury."""

    setup = Setup(
        name="jury",
        several=Several(role=JUROR, setting="jurors", size=3),
        options=(
            Option("--jurors", int | None, "Jurors of a jury."),
            Option("--ballots", int | None, "Ballots of a jury, at most."),
        ),
    )
    kinds: ClassVar[dict[str, type]] = {"count": Count}

    def card(self, post: Post) -> Card:
        """How many gave each choice."""
        match decode_body(post, self.kinds):
            case Count(choices=choices):
                return Card(place="score", head=", ".join(f"{choice} {n}" for choice, n in choices.items()))
        return super().card(post)

    def told(self, result: Result) -> ResultSummary:
        """The choice in front, and by how many votes."""
        counts = result.rounds[-1]["choices"] if result.rounds else {}
        answer, rows = str(result.outcome.get("answer", "")), tuple(Row(cells=(c, str(n))) for c, n in counts.items())
        votes = CardPart(name="votes", title="Votes", table=Table(head=("Choice", "Votes"), rows=rows))
        return ResultSummary(
            text=answer, behind=f"{counts.get(answer, 0)} of {sum(counts.values())} votes", parts=(votes,)
        )


SHOW = JuryShow
