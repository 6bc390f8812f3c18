"""Shows one session in words. The base shows any protocol, and each protocol's presenter overrides what it says
differently.

A presenter is made when a session is opened or read, takes its posts in their order, and knows then what lines, the
result, an explanation, the page and the live view are made of. The base reads nothing but the frame that all protocols
share (parley.schemas.post, parley.schemas.result) and an `answer` with its reasons, and shows the rest as `name:
value`. It never raises, whatever a post, a round, a certificate or an outcome is shaped like.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from parley.client.show import cards
from parley.client.show.cards import Card, Series, StopRule
from parley.client.show.learned_words import TOLD
from parley.client.show.lines import Piece, StyledLine
from parley.client.show.open_items import OpenItem
from parley.client.show.words import REASON, because, is_settled, limit_words, reason_words, usage_words
from parley.client.text import clean, count, line
from parley.client.untrusted import body_of, figures, items, mapping, number, object_of, words
from parley.schemas import log
from parley.schemas.post import CLOSED, Post
from parley.schemas.result import Result, Stop
from parley.schemas.text import same

if TYPE_CHECKING:
    from rich.console import RenderableType

_QUOTES = 5
_BRIEF_QUOTES = 2
_BRIEF = 160
"""Characters of a quotation, and of what speaks against an answer, in a brief view."""
_BRIEF_REASONING = 240
_CERTIFICATE = {
    "by": "ended by", "why": "why it was ended", "what": "limit that was in the way", "cost_usd": "US dollars",
    "source": "who measured it", "trend": "scores by round", "round_limit": "largest number of rounds",
    "unaccounted_tokens": "tokens at most of turns that were lost", "spent": "used so far",
    "missing": "who was missing",
}  # fmt: skip
"""Names in certificates of any protocol, in words."""
_SHOWN_ELSEWHERE = frozenset({"reason", "round", "converged", *TOLD})
"""Of a certificate: what stands with the stop, and what past outcomes did (parley.client.show.learned_words)."""
_CERTIFIED = 300
"""Characters of one value of a certificate in an explanation."""
_WIDTH = 20_000
_HIDDEN = ("stop", CLOSED)
"""Kinds of posts that are told with the result."""
_ANSWER = ("answer", "reasoning", "citations", "confidence")
"""Of an outcome: told in words of their own."""


SEAT_WORDS: Mapping[str, tuple[str, str]] = {
    "answer": ("Your answer", "In one line."),
    "reasoning": ("Your reasons", ""),
    "confidence": ("How sure you are", "From 0, a guess, to 1, certain."),
    "citations": ("Quotations for it", "Words of your documents, exactly as they stand there."),
    "citations.document": ("Document", ""),
    "citations.quote": ("Quoted words", ""),
    "comment": ("Comment", ""),
}
"""Fields that replies of several protocols have."""


class NoPicture(ValueError):
    """A session of which no picture can be drawn: why, as it follows its name."""


class PagePart(msgspec.Struct, frozen=True, kw_only=True):
    """What a protocol adds to a session's page."""

    template: Path | None = None
    """Extends `page.html` (parley/client/rendering/templates) by its blocks; None: the page as it is."""
    facts: dict[str, Any] = {}
    """What the template shows."""
    transcript: bool = True
    """Whether the posts are told by rounds, as for any protocol."""


class Presenter:
    """Shows one session.

    Parameters
    ----------
    settings
        Those with which it was opened; empty where nobody knows them.
    """

    answer_word: ClassVar[str] = "Answer"
    """Stands before the answer in an explanation."""
    round_name: ClassVar[str] = "Round"
    measured: ClassVar[bool] = True
    """Whether its confidence without a language model is the measured share of such answers that is right."""
    agreement: ClassVar[str] = ""
    """Stands before the reason of a stop that is convergence."""
    left_out: ClassVar[str] = "on channels that not everybody reads"
    """Where posts were said that are not shown."""
    picture: ClassVar[str] = ""
    """What `draw` draws; empty: nothing."""
    colours: ClassVar[Mapping[str, str]] = {}
    """Styles of its own -> colours of a terminal."""
    certificate_names: ClassVar[Mapping[str, str]] = {}
    """Name or value in a certificate -> what it is in words, where underscores made spaces do not say it."""
    quiet_turns: ClassVar[frozenset[str]] = frozenset()
    """Kinds of turns of which a brief view does not tell."""
    seat_words: ClassVar[Mapping[str, tuple[str, str]]] = SEAT_WORDS
    """Field of a reply, `citations.quote` of one inside another -> what it asks a person, and what helps to fill it."""
    choice_words: ClassVar[Mapping[str, str]] = {}
    """`change.kept` -> what a person reads for this choice."""
    asks: ClassVar[Mapping[str, str]] = {}
    """Kind of turn -> what is wanted of the person who has it, in a sentence."""
    decisions: ClassVar[Mapping[str, str]] = {}
    """What a human may decide unasked, beside open items: what stands for the item, and what a choice of it does."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = settings or {}
        self.brief = False
        """Leave out what a person who waits for the result need not see."""
        self.where = ""
        """Options that name the bus, for commands that are shown."""
        self.ending: Result | None = None
        """What it came to, where the posts are told after it has ended and the result follows them: what the result
        says at length need not stand in a post, too."""

    @classmethod
    def not_asked(cls, kind: str, *, first: bool) -> frozenset[str]:
        """Fields of a reply that make no sense for a person yet. `first`: the seat has said nothing before."""
        return frozenset()

    # -- posts

    def take(self, post: Post) -> None:
        """Fold one post. Those of one session, in their order."""

    def lines(self, post: Post, width: int) -> Iterator[Piece]:
        """A post that was just taken. `width`: characters of what is said in passing."""
        who = line(post.seat) or f"[{line(post.channel)}]"
        body = body_of(post.body)
        yield (
            "seat",
            f"  {who}, {line(post.kind)}" + ("" if isinstance(body, dict) else f": {line(words(body), width)}"),
        )
        for text in figures(mapping(body), width=width):
            yield "quiet", f"      {text}"

    def missing(self, post: Post) -> tuple[str, ...] | None:
        """Seats that a post says were missing in its round; None: it does not count them."""
        return None

    def is_reply(self, post: Post) -> bool:
        """Whether a post that names a seat is what this seat replied."""
        return True

    def card(self, post: Post) -> Card:
        """A post that was just taken, as data for a page."""
        if post.kind in _HIDDEN:
            return Card(place="hidden")
        card = cards.answered(body_of(post.body))
        return card or cards.from_lines(list(self.lines(post, _WIDTH)), post.kind, seated=bool(post.seat))

    def signals(self) -> tuple[Series, ...]:
        """What was measured by the posts that were taken, by round."""
        return ()

    def round_note(self, round_: int) -> str:
        """What is to be said of a round before its posts; empty: nothing."""
        return ""

    # -- questions to a human

    def asked(self, post: Post) -> OpenItem | None:
        """What a post asks a human."""
        return None

    def open_items(self) -> tuple[OpenItem, ...]:
        """Questions that nobody has answered."""
        return ()

    def was_asked(self, item: str) -> bool:
        """Whether there is, or was, a question of this id."""
        return False

    # -- the stop and the result

    def stop_lines(self, reason: str, certificate: Mapping[str, Any]) -> Iterator[StyledLine]:
        """Below a stop: what decided."""
        return iter(())

    def kept_apart(self, certificate: Mapping[str, Any]) -> str:
        """What kept the session from convergence, in short; empty where nothing did, or nobody knows."""
        return ""

    def why_stopped(self, stop: Stop, rounds: Sequence[Mapping[str, Any]] = ()) -> str:
        """Why it ended, in words. `rounds`: the result's, where it is there."""
        return reason_words(stop.reason, stop.converged)

    def cautions(self, opened: log.Opened) -> Iterator[str]:
        """What a reader must know of how it was opened, before anything was said."""
        return iter(())

    def goes_on(self, asks: Sequence[log.Ask]) -> Iterator[StyledLine]:
        """What is told of whom a transition asks, after its posts. Nobody asks for it where the log is not to be
        read."""
        return iter(())

    def stop_words(self, result: Result) -> str:
        """Why it ended, on one line."""
        stop = result.stop
        reason = self.why_stopped(stop, result.rounds) or stop.reason
        why = self.kept_apart(stop.certificate)
        agreed = f"{self.agreement}: " if stop.converged and self.agreement else ""
        return f"{agreed}{line(reason)} ({line(stop.reason)})" + (f": {why}" if why else "")

    def answer(self, result: Result) -> str:
        """What a session came to in one sentence; empty: nothing."""
        answer = result.outcome.get("answer")
        return words(answer) if answer else ""

    def answer_words(self, result: Result, usual: str) -> str:
        """How the answer of this result is called."""
        return usual

    def not_settled(self, result: Result) -> Iterator[str]:
        """What was found, where the answer alone is wanted and nothing is settled."""
        yield f"Found so far: {clean(self.answer(result))}"

    def beside_answer(self, result: Result) -> Iterator[str]:
        """What whoever reads the answer alone is told on stderr."""
        return iter(())

    def steps(self, result: Result) -> Sequence[str]:
        """What was done in each of its revisions, in order, where its answer is of the last one alone; nothing: the
        answer says it all."""
        return ()

    def failed(self, result: Result) -> bool:
        """Whether it failed, or ended without an answer."""
        return result.status == "failed" or not self.answer(result)

    def result_lines(
        self, result: Result, why: Mapping[tuple[int, str], str], nothing: Sequence[str]
    ) -> Iterator[StyledLine]:
        """What it came to.

        Parameters
        ----------
        why
            (round, seat) -> why its turn came to nothing.
        nothing
            Turns that came to nothing, a line for each reason.
        """
        if self.brief:
            yield from self.brief_lines(result, why, nothing)
            return
        answer = self.answer(result)
        yield "answer", f"{self.answer_words(result, 'Answer')}: {clean(answer)}" if answer else "No answer."
        yield from self.bearing(result)
        reasoning = self.reasoning(result)
        if reasoning:
            yield "", f"  {clean(reasoning)}"
        quotes = self.quotes(result.outcome)
        for document, quote in quotes[:_QUOTES]:
            yield "quiet", f"  {line(document)}: “{line(quote, 300)}”"
        if len(quotes) > _QUOTES:
            yield "quiet", f"  and {len(quotes) - _QUOTES} more quotations"
        yield "stop" if result.stop.converged else "score", "; ".join(self._facts(result))
        yield from self._absent(result, why)
        if self.failed(result):
            yield from (("score", text) for text in nothing)
        yield from self.beside(result)
        yield from self.closing_lines(result)
        yield "quiet", self.usage_words(result)

    def bearing(self, result: Result) -> Iterator[StyledLine]:
        """What bears on a question that nobody answers, the nearest first."""
        passages = [mapping(p) for p in items(result.outcome.get("passages"))]
        if passages:
            yield "", "These passages bear on it:"
        for rank, p in enumerate(passages, 1):
            yield "", f"  {rank}. “{line(str(p.get('quote', '')), 300)}” ({line(str(p.get('document', '')))})"

    def brief_lines(
        self, result: Result, why: Mapping[tuple[int, str], str], nothing: Sequence[str]
    ) -> Iterator[StyledLine]:
        """The same in a few lines: the answer, what it rests on, how sure it is, who dissents, why it stopped."""
        answer, reasoning = self.answer(result), self.reasoning(result)
        word = self.answer_words(result, self.answer_word)
        yield "answer", f"{word}: {clean(answer)}" if answer else f"No {self.answer_word.lower()}."
        yield from self.bearing(result)
        if reasoning:
            yield "", f"  {line(reasoning, _BRIEF_REASONING)}"
        for document, quote in self.quotes(result.outcome)[:_BRIEF_QUOTES]:
            yield "quiet", f"  {line(document)}: “{line(quote, _BRIEF)}”"
        yield "stop" if result.stop.converged else "score", "; ".join(self._facts(result))
        dissent = self.dissent(result)
        if dissent:
            yield "", f"Dissent: {dissent}"
        yield from self._absent(result, why)
        if self.failed(result):
            yield from (("score", text) for text in nothing)
        yield from self.brief_beside(result)
        yield "quiet", self.usage_words(result)

    def brief_beside(self, result: Result) -> Iterator[StyledLine]:
        """The lines beside the answer in a brief view."""
        return iter(())

    def dissent(self, result: Result) -> str:
        """Who holds something else in the end, and what; `nobody`; empty: the protocol has no such thing."""
        return ""

    def carried(self, result: Result, held: Mapping[str, tuple[int, str]]) -> tuple[int, ...]:
        """Numbers of the posts that carried the answer. `held`: seat -> (post, position) of what it held last."""
        answer = self.answer(result)
        return tuple(n for n, position in held.values() if answer and same(position, answer))

    def in_short(self, result: Result) -> str:
        """What a reader needs, in one sentence: the last line of a brief view."""
        answer = self.answer(result)
        reason = self.why_stopped(result.stop, result.rounds) or "it ended"
        return f"{line(answer, _BRIEF) if answer else 'no answer'}; {reason}"

    def from_one_source(self, result: Result, *more: str) -> str:
        """`found in one document by one reader: “…”, 0.62`: in one sentence, where copies of a reader alone say it."""
        answer = f"“{line(self.answer(result), _BRIEF)}”, {self.confidence(result)}"
        return "; ".join(filter(None, (f"{self.why_stopped(result.stop)}: {answer}", *more)))

    def reasoning(self, result: Result) -> str:
        """What the answer rests on, in the session's own words."""
        reasoning = result.outcome.get("reasoning")
        return words(reasoning) if reasoning else ""

    def quotes(self, body: Mapping[str, Any]) -> list[tuple[str, str]]:
        """(document, span) of what an outcome, or a post's body, cites."""
        cited = (mapping(c) for c in items(body.get("citations")))
        return [(words(c["document"]), words(c["quote"])) for c in cited if "document" in c and "quote" in c]

    def confidence(self, result: Result) -> str:
        """`0.62`; empty where the outcome has none."""
        confidence = number(result.outcome.get("confidence"))
        return "" if confidence is None else f"{confidence:.2f}"

    def reads(self, result: Result) -> str:
        """How past outcomes say that the confidence should be read, or that they do not say it; empty where there is no
        confidence, or no answer that it is of."""
        if not self.confidence(result) or not self.answer(result):
            return ""
        if self.measured and result.keyless is True and is_settled(result.stop.reason, result.stop.converged):
            return f"answers like this were right in {10 * (number(result.outcome['confidence']) or 0.0):.0f} of 10"
        if result.calibrated is msgspec.UNSET:
            return "not calibrated"
        return f"reads as {result.calibrated.confidence:.2f} by past outcomes"

    def _facts(self, result: Result) -> Iterator[str]:
        """How sure it is, as stated and as past outcomes say where they were fitted; why it stopped."""
        confidence, reads = self.confidence(result), self.reads(result)
        if confidence:
            yield f"confidence {confidence}" + (f", {reads}" if reads else "")
        yield self.stop_words(result)

    def _absent(self, result: Result, why: Mapping[tuple[int, str], str]) -> Iterator[StyledLine]:
        """How many seats took part in the last round, where not all did."""
        last = result.rounds[-1] if result.rounds else {}
        gone = [words(seat) for seat in items(last.get("missing"))]
        if gone:
            seats, round_ = self.seats(result), int(number(last.get("round")) or 0)
            seats_words = ", ".join(f"{line(s)} missing{because(why.get((round_, s)))}" for s in gone)
            yield "score", f"{max(0, seats - len(gone))} of {seats} seats; {seats_words}"

    def seats(self, result: Result) -> int:
        """How many took part."""
        return len(result.usage.by_seat)

    def beside(self, result: Result) -> Iterator[StyledLine]:
        """What stands beside the answer wherever a result is shown."""
        for text in figures(result.outcome, _ANSWER):
            yield "quiet", text

    def closing_lines(self, result: Result) -> Iterator[StyledLine]:
        """Further lines at the end of a transcript."""
        return iter(())

    def findings(self, result: Result) -> Iterator[str]:
        """What a session that follows up this one is told, beside question, answer and quotations."""
        reasoning = self.reasoning(result)
        if reasoning:
            yield f"Reasoning: {clean(reasoning)}"

    def played(self, result: Result) -> str:
        """How many rounds."""
        return count(len(result.rounds), self.round_name.lower())

    def usage_words(self, result: Result) -> str:
        """What was used, on one line."""
        return usage_words(self.played(result), result.usage, result.duration_s)

    # -- the explanation

    def certificate_words(self, certificate: Mapping[str, Any]) -> Iterator[str]:
        """The figures that the stop rests on."""
        yield from self.certificate_figures(certificate)

    def certificate_figures(self, certificate: Mapping[str, Any], told: Sequence[str] = ()) -> Iterator[str]:
        """`Name: value` of those that are not `told` otherwise: the rows that the page shows."""
        rest = {name: value for name, value in certificate.items() if name not in told}
        yield from (f"  {line(name)}: {line(value, _CERTIFIED)}" for name, value in self.certificate_rows(rest))

    def certificate_rows(self, certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
        """(name, value) in words, for an explanation and for the page, of those that they do not show elsewhere."""
        shown = {k: v for k, v in _with_limit(certificate).items() if k not in _SHOWN_ELSEWHERE}
        rows = [
            (self._named(str(k)), words(self._worded(v))) for k, v in shown.items() if v not in (None, "", [], {}, ())
        ]
        return [(name[:1].upper() + name[1:], value) for name, value in rows]

    def stop_rules(self, certificate: Mapping[str, Any]) -> Sequence[StopRule]:
        """Every reason to stop that the certificate tests, in the order in which they are asked."""
        return ()

    def _named(self, name: str) -> str:
        return self.certificate_names.get(name) or _CERTIFICATE.get(name) or name.replace("_", " ")

    def _worded(self, value: Any) -> Any:
        """A value of a certificate, where names stand in it: in words."""
        names = {**_CERTIFICATE, **self.certificate_names}
        if isinstance(value, Mapping):
            return {names.get(str(k), k): self._worded(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._worded(v) for v in value]
        return names.get(value, value) if isinstance(value, str) else value

    def round_figures(self, figures: dict[str, Any]) -> dict[str, Any]:
        """As much of a round of a result as an explanation gives as JSON."""
        return figures

    def round_words(self, shown: Mapping[str, Any]) -> Iterator[str]:
        """A round, as `round_figures` gives it."""
        yield f"{self.round_name} {line(words(shown.get('round')))}:"
        yield from (f"  {text}" for text in figures(shown, ("round",)))

    def explained(self, session: str, entries: Sequence[log.Entry]) -> Iterator[str]:
        """What the posts that were taken add up to, before the rounds. `entries`: the whole log."""
        return iter(())

    def explained_figures(self, session: str, entries: Sequence[log.Entry]) -> dict[str, Any]:
        """The same as JSON values, by name."""
        return {}

    def concluded(self, result: Result) -> Iterator[str]:
        """What an explanation says below the answer."""
        return (text for _, text in self.beside(result))

    # -- the page and the picture

    def page(self, posts: Sequence[Post], result: Result | None) -> PagePart:
        """What its page has beside what every session's has. Before its first post was taken: the posts are given."""
        return PagePart()

    def draw(self, stop: Stop | None, form: str) -> bytes:
        """The picture of the posts that were taken, as a file of this format. Raises NoPicture."""
        raise NoPicture("has nothing that can be drawn")

    # -- the live view

    def foot(self, round_: int) -> str:
        """The figures so far on one line. `round_`: the latest that anything is known of."""
        return f"round {round_ or 1}"

    def rows(
        self, seats: Mapping[str, tuple[str, str]], asks: Mapping[str, log.Ask], width: int, height: int
    ) -> "Sequence[RenderableType] | None":
        """What stands below the transcript of a running session; None: a table of the seats.

        Parameters
        ----------
        seats
            Seat -> (state, text so far), of those that are at something.
        asks
            What they were asked for, as far as the log may be read.
        """
        return None


def stop_post(presenter: Presenter, post: Post) -> Iterator[StyledLine]:
    """The post that says why a session stops."""
    body = object_of(post.body)
    reason, converged = words(body.get("reason")), bool(body.get("converged"))
    certificate = mapping(body.get("certificate"))
    reason_words = presenter.why_stopped(Stop(reason=reason, converged=converged, certificate=dict(certificate)))
    why = presenter.kept_apart(certificate)
    yield "stop" if converged else "score", f"stop: {line(reason)}: {line(reason_words)}" + (f": {why}" if why else "")
    yield from presenter.stop_lines(reason, certificate)
    what = certificate.get("what")
    if what:
        yield "quiet", f"      {limit_words(line(words(what)))}"
    if reason == "cancelled" and certificate.get("why"):
        yield "quiet", f"      {line(words(certificate.get('by')))}: {line(words(certificate['why']), REASON)}"


def _with_limit(certificate: Mapping[str, Any]) -> Mapping[str, Any]:
    """The limit that would have been passed (parley.coordinator.budget), in words."""
    if not certificate.get("what"):
        return certificate
    return {**certificate, "what": limit_words(words(certificate["what"]))}
