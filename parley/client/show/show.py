"""Says what one session's posts and result mean. The base says it of any protocol; a protocol's `show.py` says more.

A show is made when a session is opened or read, and takes its posts in their order: `card` folds a post and gives its
card. The base reads nothing but the frame that all protocols share (parley.schemas.post, parley.schemas.result) and an
`answer` with its reasons, and gives the rest as `name: value`. Whoever draws cards falls back on the base where a
protocol's own finds another shape than it expects, so nothing here needs to be careful.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import msgspec

from parley.client.errors import BadInput
from parley.client.setup.lesson import Lesson
from parley.client.setup.setup import Setup
from parley.client.show.answer import ResultSummary
from parley.client.show.card import MOST_TEXT, Card, CardPart, Quote, Series, Table, quotes_of
from parley.client.show.control import control_card
from parley.client.show.palette import ACRONYMS, seat_name
from parley.client.text import count, line
from parley.client.untrusted import figures, figures_of, items, mapping, number, shaped, value_as_text
from parley.schemas import log
from parley.schemas.post import CLOSED, Post, decode_body
from parley.schemas.result import Result
from parley.schemas.session import EVERYBODY

if TYPE_CHECKING:
    from parley.coordinator.table import Session

Shown = TypeVar("Shown")
_CERTIFICATE = {
    "by": "ended by", "why": "why it was ended", "what": "limit that was in the way", "cost_usd": "US dollars",
    "source": "who measured it", "trend": "scores by round", "round_limit": "largest number of rounds",
    "unaccounted_tokens": "tokens at most of turns that were lost", "spent": "used so far",
    "missing": "who was missing", "document": "document that all quote",
}  # fmt: skip
"""Names in certificates of any protocol, in words."""
_SHOWN_ELSEWHERE = frozenset({"reason", "round", "converged", "reliability", "preferences"})
"""Of a certificate: what stands with the stop, and what past outcomes did (parley.client.show.words)."""
_ANSWER = ("answer", "reasoning", "citations", "confidence", "passages", "saved")
"""Of an outcome: told in words of their own."""
_PASSAGES = 5
_CHIPS = 24
_PARTS = 100
"""Of a card: what another version wrote may have more."""
_AS_SAID = frozenset({"position", "code", "who", "missing", "next"})
"""Fields that hold answers, lines as they stand, seats' ids and commands."""


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """How a person is asked for a turn."""

    asks: Mapping[str, str] = {}
    """Kind of turn -> what is wanted of the person who has it, in a sentence."""
    fields: Mapping[str, tuple[str, str]] = {}
    """Field of a reply, `citations.quote` of one inside another, or its own name wherever it stands -> what it asks a
    person, and what helps to fill it; of others the name says it."""
    choices: Mapping[str, str] = {}
    """`change.kept` -> what a person reads for this choice."""
    later: frozenset[str] = frozenset()
    """Fields that make no sense before the seat has said something."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody found who compared the answers last."""

    agreements: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    """What divides them, without saying who."""
    open: str = ""
    """What one more round could settle; empty: nothing is said."""
    missing: str = ""
    """What the question needs, and no answer shows; empty: nothing is missed."""


FIELDS: Mapping[str, tuple[str, str]] = {
    "answer": ("Your answer", "In one line."),
    "reasoning": ("Your reasons", ""),
    "confidence": ("How sure you are", "From 0, a guess, to 1, certain."),
    "citations": ("Quotations for it", "Words of your documents, exactly as they stand there."),
    "quote": ("Quoted words", "Exactly as they stand there."),
    "spans": ("Evidence", "Words of a passage, exactly as they stand there."),
    "passage": ("Passage", "For example p7."),
}
"""Fields that replies of several protocols have."""


class Show:
    """What one session says.

    Parameters
    ----------
    settings
        Those with which it was opened; empty where nobody knows them.
    """

    setup: ClassVar[Setup] = Setup("")
    kinds: ClassVar[Mapping[str, type]] = {}
    """Kind of post -> what its body is."""
    form: ClassVar[Form] = Form(fields=FIELDS)
    round_name: ClassVar[str] = "Round"
    measured: ClassVar[bool] = True
    """Whether its confidence without a language model is the measured share of such answers that is right."""
    left_out: ClassVar[str] = "on channels that not everybody reads"
    """Where posts were said that are not shown."""
    certificate_names: ClassVar[Mapping[str, str]] = {}
    """Name or value in a certificate -> what it is in words, where underscores made spaces do not say it."""
    decisions: ClassVar[Mapping[str, str]] = {}
    """What a human may decide unasked: what stands for the item, and what a choice of it does."""
    teaches: ClassVar[bool] = False
    """Whether `lesson` reads what its sessions teach those to come."""
    traces: ClassVar[bool] = False
    """Whether `trace` makes a trace."""

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        self.settings = settings or {}

    # -- what is known before a session is there
    @classmethod
    def knows(cls, post: Post) -> bool:
        """Whether a post is one of this protocol's: for sessions of which whoever asks may not read the opening."""
        return bool(cls.kinds) and decode_body(post, cls.kinds) is not None

    @classmethod
    def seen_by_clients(cls, opened: log.Opened) -> log.Opened:
        """The opening of a session of which clients may not read every channel: without the texts that some seats
        alone hold."""
        documents = tuple(
            d if not d.holders or EVERYBODY in d.holders else msgspec.structs.replace(d, text="")
            for d in opened.evidence
        )
        return msgspec.structs.replace(opened, documents=documents)

    @classmethod
    def what_if(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings that somebody typed as a recorded session has them. Raises BadInput."""
        return dict(settings)

    @classmethod
    def recount(cls, session: "Session", rule: str) -> dict[str, Any]:
        """The ballots of a closed session counted by another rule: JSON values, with `words`. Raises BadInput where
        they cannot be."""
        raise BadInput("--decide", f"the session ran {cls.setup.name}, which counts no ballots")

    @classmethod
    def tells_why(cls, say: log.Say) -> str:
        """The seat of whose turn a post says that it came to nothing, and why; empty: of none."""
        return ""

    @classmethod
    def alone(cls, result: Result) -> dict[str, tuple[str, ...]]:
        """Seat -> names of the answer that it gave before it heard another; a seat that gave none is left out. Empty
        for a protocol in which nobody answers alone."""
        return {}

    @classmethod
    def held(cls, result: Result) -> tuple[dict[str, tuple[str, ...]], ...]:
        """The same after each round, of protocols in which seats answer anew in each; a seat that missed a round keeps
        its answer."""
        return ()

    @classmethod
    def answered(cls, result: Result) -> tuple[str, ...]:
        """Names of the result's answer, as `alone` names answers."""
        answer = result.outcome.get("answer")
        return (answer,) if isinstance(answer, str) and answer else ()

    @classmethod
    def lesson(
        cls, session: str, entries: Sequence[log.Entry], posts: Sequence[Post], result: Result | None
    ) -> Lesson | None:
        """What a closed session teaches; None: nothing. Asked where `teaches` says that there may be something."""
        raise NotImplementedError

    @classmethod
    def trace(cls, session: str, entries: Iterable[log.Entry]) -> Any:
        """The session's trace, from its whole log; asked where `traces` says that there is one."""
        raise NotImplementedError

    # -- posts
    def card(self, post: Post) -> Card:
        """Fold a post, and say what it says; of one that is none of `kinds`, as of any protocol's."""
        body = decode_body(post, self.kinds)
        return plain_card(post) if body is None else self.said(post, body)

    def said(self, post: Post, body: Any) -> Card:
        """What a post of `kinds` says. `body`: as its kind's type."""
        return plain_card(post)

    def series(self) -> tuple[Series, ...]:
        """What was measured by the posts so far, by round."""
        return ()

    def round_title(self, round_: int) -> str:
        """What stands above the posts of a round."""
        return f"{self.round_name} {round_}" if round_ else "Beginning"

    def round_note(self, round_: int) -> str:
        """What is to be said of a round before its posts; empty: nothing."""
        return ""

    def compared(self) -> Compared:
        """What was found of the posts so far by whoever compares answers; of a protocol without one, nothing."""
        return Compared()

    def board(self) -> Table | None:
        """What is counted so far, for whoever watches; None: nothing is."""
        return None

    def doing(self, ask: log.Ask, text: str) -> str:
        """What a seat does with the turn that it is at. `text`: what it has said so far."""
        return ""

    def foot(self) -> str:
        """The figures so far on one line; empty: there are none."""
        latest = [(s, next((v for v in reversed(s.values) if v is not None), None)) for s in self.series()]
        return ", ".join(
            f"{s.label.partition(',')[0].lower()} {value:.4g}" for s, value in latest[:1] if value is not None
        )

    def cautions(self, opened: log.Opened) -> Iterator[str]:
        """What a reader must know of how it was opened, before anything was said. Here: that nobody can look things up
        who may."""
        role = self.setup.several.role if self.setup.several else ""
        if opened.settings.get("look_ups") and not any(w.tools for w in opened.workers if role in w.roles):
            yield f"look-ups: no {role} has a language model with tools, so nothing is looked up"

    @classmethod
    def seated(cls, chosen: Any) -> str:
        """Who was chosen to sit and why, as the protocol says it (Protocol.chosen), in words."""
        return str(chosen)

    def goes_on(self, asks: Sequence[log.Ask]) -> Iterator[str]:
        """What is told of whom a transition asks, after its posts. Nobody asks for it where the log is not to be
        read."""
        return iter(())

    # -- the result
    def told(self, result: Result) -> ResultSummary:
        """What it came to."""
        return ResultSummary(
            text=value_as_text(result.outcome.get("answer") or ""),
            why=value_as_text(result.outcome.get("reasoning") or ""),
            quote=next(iter(quotes_of(result.outcome.get("citations"))), None),
            parts=(*passages(result), *outcome_part(result), *rounds_part(result, self.round_name)),
        )

    def of_log(self, session: str, entries: Sequence[log.Entry]) -> tuple[CardPart, ...]:
        """Parts that the whole log alone tells."""
        return ()

    def certificate(self, result: Result) -> Iterator[tuple[str, str]]:
        """(name, value) in words, of what its other parts do not tell."""
        return self.certificate_rows(result.stop.certificate)

    def certificate_rows(self, certificate: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The same of any mapping."""
        for name, value in certificate.items():
            if name in _SHOWN_ELSEWHERE or value in (None, "", [], {}, ()):
                continue
            named = self.certificate_names.get(name) or _CERTIFICATE.get(name) or str(name).replace("_", " ")
            yield named[:1].upper() + named[1:], value_as_text(self._worded(value))

    def _worded(self, value: Any) -> Any:
        """A value of a certificate, where names stand in it: in words."""
        names = {**_CERTIFICATE, **self.certificate_names}
        if isinstance(value, Mapping):
            return {names.get(str(k), k): self._worded(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._worded(v) for v in value]
        return names.get(value, value) if isinstance(value, str) else value


def card_of(show: Show, post: Post, seats: Iterable[str]) -> Card:
    """The card of a post, with no more than a page shows; as any protocol's where another version wrote it. `seats`:
    those that its texts call by their names."""
    (card,) = shaped(lambda: [control_card(post) or show.card(post)], lambda: [plain_card(post)])
    card = _bounded(card)
    return in_names(card, seats)


def _bounded(card: Card) -> Card:
    """With no more than a page shows: of a post that another version wrote, anything may be long."""
    parts = tuple(msgspec.structs.replace(p, text=p.text[:MOST_TEXT]) for p in card.parts[:_PARTS])
    cut = {name: getattr(card, name)[:MOST_TEXT] for name in ("text", "position", "code")}
    return msgspec.structs.replace(card, **cut, chips=card.chips[:_CHIPS], parts=parts)


def in_names(what: Shown, seats: Iterable[str]) -> Shown:
    """A card or a part of one in which texts call seats by their names: `Panelist 2` for `panelist_2`. A quotation, and
    a question whose choices somebody types, stay as they are."""
    ids = "|".join(re.escape(seat) for seat in seats if re.search("[-_]", seat) or seat in ACRONYMS - {"it"})
    known = re.compile(rf"(?<![\w/.`-])(?:{ids})(?![\w/`-]|\.\w)", re.IGNORECASE)
    named: Shown = _named(what, known) if ids else what
    return named


def _named(what: Any, ids: re.Pattern[str]) -> Any:
    if isinstance(what, str):
        return ids.sub(lambda found: seat_name(found[0].lower()), what)
    if isinstance(what, tuple):
        return tuple(_named(one, ids) for one in what)
    if not isinstance(what, msgspec.Struct) or isinstance(what, Quote) or getattr(what, "asks", None) is not None:
        return what
    fields = {name: getattr(what, name) for name in what.__struct_fields__ if name not in _AS_SAID}
    return msgspec.structs.replace(what, **{name: _named(value, ids) for name, value in fields.items()})


def plain_card(post: Post) -> Card:
    """The card of a post of any protocol."""
    if post.kind in ("stop", CLOSED):
        return Card(place="hidden")
    if (said := decode_body(post, {post.kind: _Said})) is not None:
        return Card(position=said.answer, text=said.reasoning, confidence=said.confidence, quotes=said.citations)
    text = figures_of(post.body, MOST_TEXT)
    head = post.kind.replace("_", " ")
    return Card(place="line" if "\n" not in text else "post" if post.seat else "note", head=head, text=text)


class _Said(msgspec.Struct, frozen=True):
    """What answers of many protocols have."""

    answer: str
    reasoning: str = ""
    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    citations: tuple[Quote, ...] = ()


def passages(result: Result) -> Iterator[CardPart]:
    """What bears on a question that nobody answers, the nearest first."""
    found = [mapping(p) for p in items(result.outcome.get("passages"))][:_PASSAGES]
    if found:
        told = (
            f"{n}. “{line(value_as_text(p.get('quote', '')), 300)}” ({line(value_as_text(p.get('document', '')))})"
            for n, p in enumerate(found, 1)
        )
        yield CardPart(name="passages", title="Passages that bear on it", lines=tuple(told))


def outcome_part(result: Result) -> Iterator[CardPart]:
    """What an outcome holds beside the answer, as `name: value`."""
    if told := tuple(figures(result.outcome, _ANSWER)):
        yield CardPart(name="outcome", title="Beside the answer", lines=told)


def rounds_part(result: Result, round_name: str) -> Iterator[CardPart]:
    """The rounds of a result, as `name: value`."""
    told: list[str] = []
    for played in result.rounds:
        told.append(f"{round_name} {line(value_as_text(mapping(played).get('round')))}:")
        told += [f"  {text}" for text in figures(mapping(played), ("round",))]
    if told:
        yield CardPart(name="rounds", title=f"{round_name}s", lines=tuple(told))


_SAVED = {
    "unchanged": "nothing changed",
    "same_words": "all said the same",
    "counted": "a vote is counted",
    "known": "the answer was known",
    "idle": "nothing was added",
}


def saved_part(outcome: Mapping[str, Any]) -> Iterator[CardPart]:
    """`2 calls saved: nothing changed`; nothing: none was saved."""
    given = mapping(outcome.get("saved"))
    each = {words: n for why, words in _SAVED.items() if (n := int(number(given.get(why)) or 0)) > 0}
    if each:
        told = ", ".join(why if len(each) == 1 else f"{why} ({n})" for why, n in each.items())
        yield CardPart(name="saved", title="Calls saved", lines=(f"{count(sum(each.values()), 'call')} saved: {told}",))
