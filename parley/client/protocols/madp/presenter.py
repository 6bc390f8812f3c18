"""How one MADP task is shown."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

from parley.client.protocols.madp import cards, check_words, evidence_words, page, trace, transcript, work_words
from parley.client.protocols.madp.story import Story, body_of
from parley.client.protocols.madp.work_words import WIDE
from parley.client.show.cards import Card
from parley.client.show.lines import Piece, StyledLine
from parley.client.show.open_items import OpenItem
from parley.client.show.presenter import PagePart, Presenter
from parley.client.show.words import raw_post
from parley.client.text import clean, count, line
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.protocols.madp.messages import Item
from parley.schemas.protocols.madp.work import Checked, Work
from parley.schemas.result import Result, Stop

NOT_SHOWN = frozenset({"unproven", "unchecked"})
"""Reasons of tasks whose work nothing bears out."""

_DIFF_LINES = 600
"""Of the last diff, for a session that follows up."""


class MadpPresenter(Presenter):
    """Shows a task: who claims it, who leads, the work, the reviews. Brief: without the coordination."""

    certificate_names: ClassVar[Mapping[str, str]] = {
        "check": "what the check came to",
        "evidence": "what the machine saw",
        "depth": "depth of the coordination",
        "handoffs": "times the task was handed over",
        "items": "questions to a human",
        "lead": "who led",
        "overrides": "choices of a human",
        "reviews": "rounds of review",
        "revisions": "revisions of the work",
        "rounds": "rounds of work",
        "verdicts": "what reviewers said",
    }
    quiet_turns = frozenset({"words"})
    decisions: ClassVar[Mapping[str, str]] = {"expert": "an expert's id changes who leads"}

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self.story = Story()
        self._work: int | None = None
        """Number of the post with the last work."""

    def take(self, post: Post) -> None:
        """Fold one post."""
        if isinstance(self.story.take(post), Work):
            self._work = post.n

    def lines(self, post: Post, width: int) -> Iterator[Piece]:
        """A post in lines."""
        body = body_of(post)
        if body is None:
            return raw_post(post, width)
        ending = self.ending.outcome if self.ending is not None else {}
        lines = transcript.lines(post, body, self.story, width, brief=self.brief, where=self.where, ending=ending)
        if isinstance(body, Checked) and self.ending is None:
            ends = f"Ctrl-C in parley ask, or parley sessions cancel {line(post.session)}{self.where}"
            return chain(lines, check_words.cautions(body, ends))
        return lines

    def card(self, post: Post) -> Card:
        """A post as data."""
        body = body_of(post)
        return (cards.card(body, self.story) if body is not None else None) or super().card(post)

    def carried(self, result: Result, held: Mapping[str, tuple[int, str]]) -> tuple[int, ...]:
        """The last work."""
        return (self._work,) if self._work is not None and self.answer(result) else ()

    def goes_on(self, asks: Sequence[log.Ask]) -> Iterator[StyledLine]:
        """That work goes back to its lead, and how often it may."""
        for ask in asks:
            if ask.kind == "work" and ask.attempt == 1 and self.story.goes_back():
                yield work_words.goes_back(ask.seat, self.story.revisions, self.settings.get("max_reviews"))
                if isinstance(self.story.steps[-1][1], Checked):  # findings of reviews stand there already
                    yield from work_words.finding_lines(work_words.told_findings(ask.brief), "      ")

    # -- questions to a human

    def asked(self, post: Post) -> OpenItem | None:
        """The question of an item."""
        body = body_of(post)
        return transcript.open_item(body) if isinstance(body, Item) else None

    def open_items(self) -> tuple[OpenItem, ...]:
        """Items that nobody has answered."""
        return tuple(map(transcript.open_item, self.story.open.values()))

    def was_asked(self, item: str) -> bool:
        """Whether the task has, or had, this item."""
        return item in self.story.items

    # -- the stop and the result

    def answer(self, result: Result) -> str:
        """The work in words; marked as the lead's word alone where nothing was done or the check speaks against it."""
        answer = super().answer(result)
        if answer and result.stop.reason in NOT_SHOWN:
            return f"not shown to be right; {work_words.lead_says(answer)}"
        return work_words.whose_word(answer, result.outcome.get("work") or {})

    def steps(self, result: Result) -> Sequence[str]:
        """The summaries of its turns of work, where there were several that handed something in."""
        return work_words.summaries(result.rounds)

    def why_stopped(self, stop: Stop, rounds: Sequence[Mapping[str, Any]] = ()) -> str:
        """Why it ended, as far as the table of stops leaves that open."""
        reviewed = bool(self.story.reviews) or any(r.get("verdicts") for r in rounds)
        return work_words.why_stopped(stop, reviewed=reviewed) or super().why_stopped(stop, rounds)

    def result_lines(
        self, result: Result, why: Mapping[tuple[int, str], str], nothing: Sequence[str]
    ) -> Iterator[StyledLine]:
        """The result, who made it, what reviews found, the diff."""
        answer = self.answer(result)
        if evidence_words.nothing_run(result.outcome) and not answer.startswith(evidence_words.NOTHING_RUN):
            yield "score", evidence_words.NOTHING_RUN
        yield "answer", f"Result: {clean(answer)}" if answer else "No result."
        if steps := self.steps(result):
            yield "", f"All turns of work on the task: {line(work_words.asked(result), WIDE)}"
            yield from (("", f"  {text}") for text in steps)
        yield "stop" if result.stop.converged else "score", self.stop_words(result)
        if self.failed(result):
            yield from (("score", text) for text in nothing)
        shown = not self.brief and self.ending is None
        yield from transcript.outcome_lines(result.outcome, self.story, brief=self.brief, above=shown)
        yield "quiet", self.usage_words(result)

    def in_short(self, result: Result) -> str:
        """Who led, what reviews said, and how it ended."""
        return transcript.in_short(result.outcome, super().in_short(result).rpartition("; ")[2])

    def beside(self, result: Result) -> Iterator[StyledLine]:
        """Who made it, what reviews found, the diff."""
        return transcript.outcome_lines(result.outcome)

    def findings(self, result: Result) -> Iterator[str]:
        """Who made it, what reviews found, and the last diff."""
        yield from super().findings(result)
        yield from (text for _, text in transcript.outcome_lines(result.outcome, diff=False))
        diff = next((d for name in ("work", "kept") if (d := (result.outcome.get(name) or {}).get("diff"))), "")
        if diff:
            yield "The last change of the folder, as a diff:"
            yield from (text for _, text in work_words.diff_lines(str(diff), most=_DIFF_LINES))

    def played(self, result: Result) -> str:
        """How many rounds of work."""
        return f"{count(len(result.rounds), 'round')} of work"

    # -- the explanation

    def certificate_rows(self, certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
        """The figures that the stop rests on; of a check without a result that, and why."""
        return super().certificate_rows(self._with_check(certificate))

    def _with_check(self, certificate: Mapping[str, Any]) -> Mapping[str, Any]:
        """The certificate with its check in words."""
        if certificate.get("evidence"):
            certificate = {**certificate, "evidence": evidence_words.certified(certificate["evidence"])}
        if not certificate.get("check"):
            return certificate
        runs = (body for _, body in self.story.steps if isinstance(body, Checked))
        return {**certificate, "check": check_words.certified(certificate["check"], runs)}

    def round_words(self, figures: Mapping[str, Any]) -> Iterator[str]:
        """One turn of work."""
        return transcript.round_words(figures)

    def explained(self, session: str, entries: Sequence[log.Entry]) -> Iterator[str]:
        """The coordination with its cost, then tools, support and reviews."""
        if self.story.task is None:
            return
        yield "Coordination:"
        yield from transcript.explained(self.story)
        yield from transcript.trace_words(trace.trace(session, entries))
        if self.story.steps:
            yield "Tools, support and reviews:"
            yield from transcript.steps_words(self.story)

    def explained_figures(self, session: str, entries: Sequence[log.Entry]) -> dict[str, Any]:
        """The coordination trace."""
        return {"trace": trace.trace(session, entries)}

    # -- the page and the live view

    def page(self, posts: Sequence[Post], result: Result | None) -> PagePart:
        """Who took it, claims and challenges, reviews, the diff."""
        template = Path(__file__).with_name("templates") / "madp.html"
        return PagePart(template=template, facts=page.facts_of(posts, result))
