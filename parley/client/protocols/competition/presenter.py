"""How one competition is shown."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from parley.client.protocols.competition import cards, live, page, transcript
from parley.client.protocols.competition.plot import draw
from parley.client.protocols.competition.story import body_of, due, is_reply, of_settings
from parley.client.show.cards import Card, Series
from parley.client.show.lines import Piece, StyledLine
from parley.client.show.presenter import SEAT_WORDS, NoPicture, PagePart, Presenter
from parley.client.show.saved import saved_words
from parley.client.show.words import raw_post
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.result import Result, Stop

if TYPE_CHECKING:
    from rich.console import RenderableType


_NOTHING = 3
"""Reasons of turns that came to nothing that a brief view tells."""


class CompetitionPresenter(Presenter):
    """Shows stages, speeches with their marks, clocks and the scoreboard."""

    answer_word = "Verdict"
    round_name = "Stage"
    left_out = "on the teams' own channels and in the judge's notes"
    picture = "scores"
    certificate_names: ClassVar[Mapping[str, str]] = {
        "best": "best debater", "decided_by": "what decided", "fines": "number of fines",
        "format": "rules", "four_stage": "four stages",
        "of_substance": "speeches that say something",
        "individual_totals": "points of each debater", "team_totals": "points of each team",
        "swing": "votes of the audience won over",
        "stages": "stages of the rules", "pro": "Proposition", "con": "Opposition",
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = live.COLOURS

    seat_words: ClassVar[Mapping[str, tuple[str, str]]] = {
        **SEAT_WORDS,
        "text": ("What you say", ""), "answerer": ("Whom you ask", ""), "questions": ("Your questions", ""),
        "speaker": ("Who speaks next", ""), "direction": ("What the speech is to do", ""),
        "wants": ("I want to speak", ""), "urgency": ("How urgent it is", "0 to 1."), "point": ("Your point", ""),
        "rule_compliance": ("Keeping the rules", "1 to 10."), "violations": ("Violation", ""),
        "violations.kind": ("Which rule", ""), "violations.quote": ("Its words", "As they stand in the speech."),
        "violations.note": ("Note", ""), "choice": ("Your vote", ""), "why": ("Why", ""),
        **{name: (name.capitalize(), "1 to 10.") for name in ("logic", "persuasion", "expression", "teamwork")},
    }  # fmt: skip
    asks: ClassVar[Mapping[str, str]] = {
        "confer": "Say to your team what it should do.", "speak": "Give your speech.",
        "question": "Ask the other side.",
        "answer": "Answer what you were asked.", "captain": "Choose who of your team speaks.",
        "bid": "Say whether you want to speak next.", "score": "Mark the speech, from 1 to 10 in each row.",
        "vote": "Say which side convinced you.", "review": "Sum up the debate.",
        "summarize": "Sum up this part of the debate.",
    }  # fmt: skip

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self.story = of_settings(self.settings)
        self._stage = 0
        """The last one whose heading was told."""

    # -- posts

    def take(self, post: Post) -> None:
        """Fold one post."""
        self.story.take(post)

    def lines(self, post: Post, width: int) -> Iterator[Piece]:
        """A post in lines and blocks; the first of a stage below its heading."""
        body = body_of(post)
        if body is None:
            yield from raw_post(post, width)
            return
        if self._stage != self.story.round:
            self._stage = self.story.round
            if not self.brief:
                yield "", ""
            yield "heading", self.story.stage_words(self._stage)
        if self.brief:
            yield from transcript.brief_lines(post, body, self.story)
            return
        yield from transcript.pieces(post, body, self.story)
        if post.kind == "summary" and not self.story.last:
            yield from transcript.scoreboard(self.story)

    def card(self, post: Post) -> Card:
        """A post as data."""
        return cards.card(body_of(post), self.story) or super().card(post)

    def signals(self) -> tuple[Series, ...]:
        """Each team's points after each speech."""
        return cards.signals(self.story)

    def is_reply(self, post: Post) -> bool:
        """Of a competition's posts some name a seat and are not its words."""
        return is_reply(post)

    # -- the result

    def answer(self, result: Result) -> str:
        """Who won, by what, and the best debater."""
        return transcript.verdict(result.outcome, self.story)

    def failed(self, result: Result) -> bool:
        """Whether it failed, or ended without a winner or a draw."""
        return result.status == "failed" or not result.outcome.get("winner")

    def result_lines(
        self, result: Result, why: Mapping[tuple[int, str], str], nothing: Sequence[str]
    ) -> Iterator[StyledLine]:
        """The verdict, the scoreboard, what went against the rules."""
        yield "answer", f"Verdict: {self.answer(result)}"
        yield "stop" if result.outcome.get("complete") else "score", self.stop_words(result)
        yield from transcript.brief_outcome(result.outcome, self.story) if self.brief else self.beside(result)
        yield from (("score", text) for text in (nothing[:_NOTHING] if self.brief else nothing))
        yield "quiet", self.usage_words(result)

    def in_short(self, result: Result) -> str:
        """Who won, by how much, and whether that is much."""
        return transcript.in_short(result.outcome, self.story)

    def beside(self, result: Result) -> Iterator[StyledLine]:
        """The scoreboard, what went against the rules, the audience's votes."""
        yield from transcript.outcome_lines(result.outcome, self.story)
        if told := saved_words(result.outcome):
            yield "quiet", told

    # -- the explanation

    def round_words(self, figures: Mapping[str, Any]) -> Iterator[str]:
        """A stage, with the judge's summary: the result, which debaters read, has its number alone."""
        if figures.get("summary_post") is None:
            return transcript.stage_words({**figures, "summary": ""})
        return transcript.stage_words({**figures, "summary": self.story.summaries.get(figures.get("round", 0), "")})

    # -- the page and the picture

    def page(self, posts: Sequence[Post], result: Result | None) -> PagePart:
        """Verdict, scoreboard, chart, speeches by stages in place of the transcript by rounds."""
        template = Path(__file__).with_name("templates") / "competition.html"
        facts = page.facts_of(posts, result, self.story)
        return PagePart(template=template, facts=facts, transcript=False)

    def draw(self, stop: Stop | None, form: str) -> bytes:
        """Draws each speech's score, and the totals after it."""
        if not self.story.cumulative():
            raise NoPicture("has no speech that was scored: there are no scores to draw")
        return draw(self.story, form)

    # -- the live view

    def foot(self, round_: int) -> str:
        """The stage that is played."""
        if not self.story.began:
            return super().foot(round_)
        return self.story.stage_words(self.story.round) if self.story.round else ""

    def rows(
        self, seats: Mapping[str, tuple[str, str]], asks: Mapping[str, log.Ask], width: int, height: int
    ) -> "Sequence[RenderableType] | None":
        """Who speaks, with words and clock running, and the scoreboard."""
        if not self.story.began:
            return None
        dues = {seat: due(ask) for seat, ask in asks.items()}
        return list(live.under_way(self.story, seats, dues, width, height))
