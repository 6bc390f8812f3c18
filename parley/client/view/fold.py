"""The one fold of a session, as far as somebody may see it: entry by entry and post by post into a SessionView.

Everything that shows a session takes it from here: the terminal and the page as it runs, exports, explanations, MCP and
the Python API when it is over. An owner's fold reads the log, which has every post in its order, who is asked and what
is used; a client's reads the channels of its credentials.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from parley.bus.channels import CLIENTS, CONTROL, may_read
from parley.client.protocols import setup_of, show_of, show_of_posts
from parley.client.records import Altered, Record, closing
from parley.client.show.answer import Answer
from parley.client.show.card import Card, Quote, bounded
from parley.client.show.open_items import OpenItem
from parley.client.show.palette import seat_name, seat_names
from parley.client.show.show import Show, plain_card
from parley.client.show.words import REASON, one_family, usage_words
from parley.client.text import clean, count, line
from parley.client.turns import SEAT, Flagged, Turns
from parley.client.untrusted import items, mapping, number, object_of, shaped, words
from parley.client.view.control import control_card, fork_of, forked
from parley.client.view.flags import FlagWords
from parley.client.view.passages import number_of
from parley.client.view.result import card_of_result, read_by_nobody
from parley.client.view.seats import WAITS, Scene
from parley.client.view.shapes import (
    DocumentRow,
    FeedbackView,
    Limits,
    MindChange,
    PostCard,
    Refused,
    RoundView,
    SeatUse,
    SeatView,
    SessionView,
    Use,
    Warn,
)
from parley.coordinator.budget import booked
from parley.schemas import log
from parley.schemas.afterwards.feedback import feedback_of
from parley.schemas.afterwards.fork import CAUSE, Fork
from parley.schemas.post import CLOSED, Live, Post, SessionRow
from parley.schemas.result import Result, SeatUsage
from parley.schemas.session import Seat
from parley.schemas.text import same
from parley.schemas.turn import Usage
from parley.schemas.wire import SchemaError, decode

MOST_REFUSED = 200
"""Refused replies that are told: the last ones."""
HAS_TURN = "person's turn"
"""A person sits on the seat, and is asked."""
_QUESTION = 20_000
_KEYLESS = "extractive"
_WEAK = 0.6
"""Below this confidence an answer that all share is called weakly founded."""
_STATES = {"answered": "done", "text": "thinking", "tool": "thinking"}
_BUSY = ("queued", "thinking", "retrying", "no worker", WAITS, HAS_TURN)
_KNOWN = frozenset({"idle", *_BUSY, "done", "failed"})


class Notice(NamedTuple):
    """What the log knows and no post says, for whoever watches: a turn that came to nothing, work that goes back."""

    text: str
    more: bool = False
    """It is left out where one screen is wanted."""


class Fold:
    """What is known of one session.

    Parameters
    ----------
    row
        What the list of sessions says of it: for those who may not read its log.
    everything
        Of every channel, and not of those alone that clients read.
    """

    def __init__(self, sid: str, row: SessionRow | None = None, *, everything: bool = False) -> None:
        self.sid, self.row, self.everything = sid, row, everything
        self.opened: log.Opened | None = None
        self.entries: list[log.Entry] = []
        """The log so far; empty for those who may not read it."""
        self.texts: list[str] = []
        """The same as stored."""
        self.posts: list[Post] = []
        self.cards: list[PostCard] = []
        self.position: dict[str, int] = {}
        """Channel -> posts that were taken."""
        self.changes: list[MindChange] = []
        self.items: dict[str, OpenItem] = {}
        """Questions to a human that nobody has answered."""
        self.asked: set[str] = set()
        """Ids of all questions."""
        self.result: Result | None = None
        self.scene = Scene()
        self.turns = Turns(may_see=self._shows, sid=sid)
        self.seats: dict[str, Seat] = {}
        self.last: dict[str, PostCard] = {}
        """Seat -> what it held last."""
        self.people: set[str] = set()
        """Seats whose turns are a person's: who sits there, or is waited for."""
        self.sat: set[str] = set()
        """Of these, seats on which a person is known to sit."""
        self.spoke: set[str] = set()
        """Seats of which a person said something."""
        self.opened_ns = row.opened_ns if row else 0
        self.closed_ns = row.closed_ns if row else None
        self.led = False
        """Whoever asked is told the next step otherwise."""
        self.show: Show = show_of(row.protocol if row else "")()
        self.protocol = row.protocol if row else ""
        """Empty: not known."""
        self._question = self._continues = ""
        self._asks: dict[str, log.Ask] = {}
        self._used: dict[str, Usage] = {}
        self._answered: dict[str, int] = {}
        self._since: dict[str, tuple[str, int]] = {}
        self._said: dict[str, int] = {}
        """Channel -> posts that the log has had there, those that are not shown too."""
        self._n = 0
        self._refused: list[Refused] = []
        self._notices: list[Notice] = []
        self._told_nothing = self._told_flags = 0
        self._waiting: list[Flagged] = []
        """Replies that no post was found for yet."""
        self._flags = FlagWords()
        self._card: Answer | None = None

    @property
    def question(self) -> str:
        """Its question; empty: not known."""
        return self.opened.question if self.opened else self.row.question if self.row else self._question

    @property
    def continues(self) -> str:
        """The session that it follows up; empty: none, or not known."""
        return self.opened.continues if self.opened else self._continues

    @property
    def author(self) -> str:
        """Who opened it; empty: not known."""
        return self.opened.author if self.opened else self.row.owner if self.row else ""

    @property
    def fork(self) -> Fork | None:
        """Where it comes from, if it carries another's record on."""
        if self.opened is not None:
            return None if self.opened.fork is msgspec.UNSET else self.opened.fork
        return fork_of(self.posts)

    @property
    def left_out(self) -> int:
        """Posts that are not shown."""
        return self._n - len(self.posts) if self.opened else 0

    @property
    def record(self) -> Record | None:
        """The whole record, where nothing in it is closed to whoever asks."""
        asked = (c.channel for e in self.entries for c in e.commands if isinstance(c, log.Ask) and c.channel)
        if not self.texts or self.left_out or not all(map(self._shows, asked)):
            return None
        return Record(sid=self.sid, entries=tuple(self.texts))

    @property
    def readable(self) -> log.Opened | None:
        """The opening as who asks may read it: without texts of documents that some seats alone hold, where not every
        channel is shown."""
        return self.opened if self.opened is None or self.record is not None else self.show.seen_by_clients(self.opened)

    def _shows(self, channel: str) -> bool:
        return self.everything or may_read(CLIENTS, channel)

    # -- taking
    def runs(self, protocol: str, settings: Mapping[str, Any], question: str = "", continues: str = "") -> None:
        """Take what it runs, by which settings, and what it was asked: also where the log is not to be read."""
        self._question, self._continues = question or self._question, continues or self._continues
        if not self.posts:
            self.protocol, self.show = protocol, show_of(protocol)(settings)

    def entry(self, text: str) -> list[PostCard]:
        """Take one entry of the log, and the posts in it that may be seen: their cards. Raises Altered."""
        try:
            entry = decode(text.encode(), log.Entry)
        except SchemaError as error:
            raise Altered(f"session {self.sid}, entry {len(self.texts) + 1}: {error}") from error
        self.texts.append(text)
        return self.take(entry)

    def take(self, entry: log.Entry) -> list[PostCard]:
        """The same of an entry that is decoded."""
        self.entries.append(entry)
        self.scene.entry(entry)
        self.turns.take(entry)
        self._event(entry)
        cards = [card for post in self._posts(entry) if (card := self.post(post)) is not None]
        self._noticed(entry.n)
        if any(isinstance(c, log.Say) for c in entry.commands):
            asks = self.turns.asks.get(entry.n, ())
            self._notices += map(Notice, shaped(lambda: self.show.goes_on(asks), lambda: ()))
        return cards

    def notices(self) -> list[Notice]:
        """What came since this was asked last."""
        told, self._notices = self._notices, []
        return told

    def _noticed(self, transition: int) -> None:
        """Turns that came to nothing, and flags of replies that no post shows."""
        while self._told_nothing < len(self.turns.nothing):
            one = self.turns.nothing[self._told_nothing]
            self._told_nothing += 1
            if not one.posted:
                why = f"{seat_name(one.seat)} is missing ({line(one.kind)}): {line(one.why, REASON)}"
                self._notices.append(Notice(why))
        due = [f for f in self._waiting if f.transition <= transition]
        self._waiting = [f for f in self._waiting if f.transition > transition]
        for f in due:
            told = self._flags.words(f)
            self._notices += [Notice(f"{seat_name(f.seat)} ({line(f.kind)}): {text}", more) for text, more in told]

    def _event(self, entry: log.Entry) -> None:
        """Who was asked, and what was used."""
        event = entry.event
        if isinstance(event, log.Opened):
            self.opened, self.opened_ns = event, entry.at_ns
            self.seats = {s.seat: s for s in event.seats}
            self.runs(event.protocol, event.settings)
            self._notices += [Notice(text) for text in shaped(lambda: self.show.cautions(event), lambda: ())]
        elif isinstance(event, log.Replied) and (ask := self._asks.pop(event.turn, None)) is not None:
            usage = event.usage
            if ask.queue and not event.error:
                self.spoke.add(ask.seat)
            if ask.seat in self.seats:
                usage = booked(self.seats[ask.seat], ask.caps, usage, person=bool(ask.queue))
            if not entry.cause.startswith(CAUSE):  # else another session paid
                self._used[ask.seat] = self._used.get(ask.seat, Usage()) + usage
                self._answered[ask.seat] = self._answered.get(ask.seat, 0) + (not event.error)
        elif isinstance(event, log.Sat):
            (self.sat.discard if event.left else self.sat.add)(event.seat)
        for index, command in enumerate(entry.commands):
            if isinstance(command, log.Invite):
                self.seats.setdefault(command.seat.seat, command.seat)
            elif isinstance(command, log.Ask):
                self._asks[f"{entry.n}-{index}"] = command
        self._note_since(entry.at_ns)

    def _posts(self, entry: log.Entry) -> Iterator[Post]:
        for say in (c for c in entry.commands if isinstance(c, log.Say)):
            k = self._said.get(say.channel, 0)
            self._said[say.channel] = k + 1
            self._n += 1
            if self._shows(say.channel):
                yield Post(
                    session=self.sid, channel=say.channel, k=k, n=self._n - 1, transition=entry.n, at_ns=entry.at_ns,
                    seat=say.seat, kind=say.kind, round=say.round, body=say.body,
                )  # fmt: skip

    def post(self, post: Post) -> PostCard | None:
        """Take one post of a channel that is shown; None: it was taken before."""
        if post.k < self.position.get(post.channel, 0):
            return None
        self.position[post.channel] = post.k + 1
        if not self.protocol and (show := show_of_posts([post])) is not None:
            self.protocol, self.show = show.setup.name, show()
        self.posts.append(post)
        self.scene.post(post)
        card = self._made(post)
        if post.seat and self.opened is None:  # who may not read the log knows seats by what they say
            self.seats.setdefault(post.seat, Seat(seat=post.seat, role="", queue=post.seat))
            if post.seat in self.people and card.reply:
                self.sat.add(post.seat)
                self.spoke.add(post.seat)
        self.cards.append(card)
        self._held(card)
        self._note_since(post.at_ns)
        if post.kind == CLOSED and post.channel == CONTROL:
            self.result, self.closed_ns = closing(self.sid, [post]), post.at_ns
        return card

    def live(self, live: Live) -> None:
        """Take one sign of life."""
        self.scene.live(live)
        self._note_since(time.time_ns())

    def _made(self, post: Post) -> PostCard:
        """The card of a post, as any protocol's where another version wrote it."""
        self._seated(post)
        (card,) = shaped(lambda: [self.show.card(post)], lambda: [plain_card(post)])
        card = control_card(post) or bounded(card)
        if card.asks is not None:
            self.items[card.asks.id] = card.asks
            self.asked.add(card.asks.id)
        self.items.pop(card.settles, None)
        fields = {name: getattr(card, name) for name in Card.__struct_fields__}
        fields["quotes"] = tuple(self._placed(quote) for quote in card.quotes)
        return PostCard(
            **fields, n=post.n, channel=post.channel, k=post.k, transition=post.transition,
            at_ms=post.at_ns // 1_000_000, round=post.round, seat=post.seat, kind=post.kind,
            flags=self._flags_of(post, card),
        )  # fmt: skip

    def _flags_of(self, post: Post, card: Card) -> tuple[str, ...]:
        """The flags of the reply behind a post."""
        replies = self.turns.flagged
        while self._told_flags < len(replies) and replies[self._told_flags].transition <= post.transition:
            self._waiting.append(replies[self._told_flags])
            self._told_flags += 1
        mine = next((f for f in self._waiting if (f.seat, f.round) == (post.seat, post.round)), None)
        if not post.seat or not card.reply or mine is None:
            return ()
        self._waiting.remove(mine)
        return tuple(text for text, _ in self._flags.words(mine))

    def _placed(self, quote: Quote) -> Quote:
        """With the document that it is of."""
        documents = self.opened.documents if self.opened else ()
        return msgspec.structs.replace(quote, file=number_of(documents, quote))

    def _seated(self, post: Post) -> None:
        """Note whose turns a seat's are from a post on."""
        if post.channel != CONTROL or post.kind != SEAT:
            return
        body = object_of(post.body)
        seat = words(body.get("seat", ""))
        if not body.get("human"):
            self.people.discard(seat)
            self.sat.discard(seat)
            return
        self.people.add(seat)
        if not number(body.get("waits")):
            self.sat.add(seat)

    def _held(self, card: PostCard) -> None:
        """Note a change of mind, and what was refused."""
        if card.refused:
            self._refused.append(
                Refused(seat=card.seat, round=card.round, kind=card.kind, why=card.refused, last=True,
                        transition=card.transition, post=card.n)
            )  # fmt: skip
        if not card.seat or not card.position or card.place != "post" or card.refused:
            return
        before = self.last.get(card.seat)
        self.last[card.seat] = card
        if card.changed is not None and not (before is not None and same(before.position, card.position)):
            self.changes.append(
                MindChange(
                    seat=card.seat, round=card.round, post=card.n, before=before.position if before else "",
                    after=card.position, by=card.changed.by, why=card.changed.why, because=card.changed.post,
                    explained=card.changed.explained,
                )
            )  # fmt: skip

    # -- telling
    def _note_since(self, at_ns: int) -> None:
        for name in self.scene.seats:
            state = self._state(name)
            if self._since.get(name, ("", 0))[0] != state:
                self._since[name] = state, at_ns // 1_000_000

    def _state(self, name: str) -> str:
        state = self.scene.shown(name)
        state = _STATES.get(state, state)
        if name in self.people and state in _BUSY:
            if self.opened is None:  # whose turn it is stands in the log: a seat of a person that writes has one
                return HAS_TURN if name in self.sat or state == "thinking" else WAITS
            ask = self.scene.asks().get(name)
            if ask and ask.queue:
                return HAS_TURN if name in self.sat else WAITS
        return state if state in _KNOWN else "idle"

    def seat_views(self) -> tuple[SeatView, ...]:
        """All seats as they are now."""
        asks = self.scene.asks()
        names = dict.fromkeys((*self.seats, *(name for name in self.scene.seats if name)))
        return tuple(self._seat_view(name, asks.get(name)) for name in names)

    def _seat_view(self, name: str, ask: log.Ask | None) -> SeatView:
        seat, since, closed = self.seats.get(name), self._since.get(name), self.result is not None
        state = self._state(name) if name in self.scene.seats else "idle"
        if closed:
            state = "done" if state in _BUSY else state
        text = "" if closed or name not in self.scene.seats else self.scene.seats[name].text
        does = ""
        if ask is not None and state in _BUSY:
            (does,) = shaped(lambda: [self.show.doing(ask, text)], lambda: [""])
        return SeatView(
            seat=name, role=seat.role if seat else "", model=seat.model if seat else "",
            family=seat.family if seat else "", state=state,  # type: ignore[arg-type]  # one of _KNOWN
            since_ms=since[1] if since else None, person=(name in self.people and not closed) or name in self.spoke,
            text=text, does=does,
        )  # fmt: skip

    def usage(self) -> Use:
        """What was used so far; of a session that is closed, as its result says."""
        if self.result is not None:
            u = self.result.usage
            played = count(len(self.result.rounds), self.show.round_name.lower())
            return Use(
                turns=u.turns, calls=u.calls, input_tokens=u.input_tokens, output_tokens=u.output_tokens,
                cost_usd=u.cost_usd, estimated=u.estimated, unpriced=bool(u.unpriced), seconds=self.result.duration_s,
                words=usage_words(played, u, self.result.duration_s),
                by_seat=tuple(_seat_use(seat, s, s.turns) for seat, s in u.by_seat.items()),
            )  # fmt: skip
        seats = tuple(_seat_use(seat, u, self._answered.get(seat, 0)) for seat, u in self._used.items())
        return Use(
            turns=sum(s.turns for s in seats), calls=sum(s.calls for s in seats),
            input_tokens=sum(s.input_tokens for s in seats), output_tokens=sum(s.output_tokens for s in seats),
            cost_usd=sum(s.cost_usd for s in seats), estimated=any(u.estimated for u in self._used.values()),
            unpriced=any(s.unpriced for s in seats), words=self.scene.used(), by_seat=seats,
        )  # fmt: skip

    def refused(self) -> tuple[Refused, ...]:
        """Replies and arguments that were not accepted, in their order."""
        failures = [_refusal(f) for f in self.turns.failures]
        in_order = sorted((*failures, *self._refused), key=lambda r: r.transition)
        return tuple(in_order[-MOST_REFUSED:])

    def rounds(self) -> tuple[RoundView, ...]:
        """Posts by rounds; what comes after the last round, such as the stop, stays with it."""
        by_round: list[tuple[int, list[PostCard]]] = []
        for card in self.cards:
            if not by_round or card.round > by_round[-1][0]:
                by_round.append((card.round, []))
            by_round[-1][1].append(card)
        return tuple(
            RoundView(round=n, name=self.show.round_title(n), note=self.show.round_note(n), posts=tuple(posts))
            for n, posts in by_round
        )

    def signals(self) -> tuple[Any, ...]:
        """What was measured so far."""
        return tuple(shaped(self.show.series, lambda: ()))

    def open_items(self) -> tuple[OpenItem, ...]:
        """Questions that wait for a human."""
        return tuple(self.items.values()) if self.result is None else ()

    def answer(self) -> Answer | None:
        """The card of the result; None: it is open. Made once: it is nothing but what was taken."""
        if self.result is None:
            return None
        if self._card is None:
            weighty = [w.text.rstrip(".") for w in self.warnings() if w.kind in ("no_language_model", "weak_evidence")]
            self._card = card_of_result(
                self.show, self.result, turns=self.turns, entries=self.entries, warnings=weighty, led=self.led
            )
        return self._card

    def warnings(self) -> tuple[Warn, ...]:
        """What a reader must know before believing the answer."""
        return tuple(self._warnings())

    def _warnings(self) -> Iterator[Warn]:
        unread = read_by_nobody(self.result) if self.result is not None else ""
        argue = self._arguing()
        models = [seat for seat in argue if seat.seat not in self.spoke | self.people]
        families = [seat.family for seat in models]
        which = "All seats" if len(models) == len(argue) else "All seats without a person"
        if unread and (self.opened is None or self.opened.documents):
            yield Warn(kind="no_language_model", text=f"{unread[:1].upper()}{unread[1:]}.")
        elif unread or set(families) == {_KEYLESS}:
            yield Warn(kind="no_language_model", text="No language model took part.")
        else:
            yield from (Warn(kind="one_family", text=text) for text in one_family(which, families))
        if (opened := self.opened) is not None:
            cautions = shaped(lambda: self.show.cautions(opened), lambda: ())
            yield from (Warn(kind="weights", text=f"{text[:1].upper()}{text[1:]}.") for text in cautions)
        if self.result is None:
            return
        if self.result.stop.converged and (why := self._weak(self.result)):
            yield Warn(kind="weak_evidence", text=f"Weak evidence: {why}.")
        away = items(mapping(self.result.rounds[-1]).get("missing")) if self.result.rounds else []
        if away:
            yield Warn(kind="missing_seats", text=f"Missing in the last round: {seat_names(away)}.")
        if self.result.usage.estimated:
            yield Warn(kind="estimated", text="Some of the token counts are estimates.")

    def _weak(self, result: Result) -> str:
        """Why what they agree on has little to rest on; empty: it has more, or nobody can say."""
        confidence = number(result.outcome.get("confidence"))
        if confidence is None:
            return ""  # a task, and what was counted
        cited = any(card.quotes for card in self.cards) or bool(result.outcome.get("citations"))
        parts = [] if cited else ["no document is quoted for it"]
        if confidence < _WEAK:
            parts.append(f"confidence is {confidence:.2f}")
        return ", and ".join(parts)

    def _arguing(self) -> list[Seat]:
        """Seats that argue: those of the role of which the protocol has several, else all."""
        several = setup_of(self.protocol).several
        seats = list(self.seats.values())
        return [s for s in seats if s.role == several.role] if several else seats

    def foot(self, now_ns: int = 0) -> str:
        """The session's figures on one line."""
        round_ = self.scene.round or 1
        title = f"{self.show.round_name.lower()} {round_}"
        (figures,) = shaped(lambda: [self.show.foot()], lambda: [""])
        eta = self.scene.eta(now_ns) if now_ns else ""
        return " · ".join(part for part in (title, figures, self.scene.used(), eta) if part)

    def board(self) -> Any:
        """What is counted so far; None: nothing is."""
        (board,) = shaped(lambda: [self.show.board()], lambda: [None])
        return board

    def view(self) -> SessionView:
        """The whole of it."""
        opened, result, row, fork = self.opened, self.result, self.row, self.fork
        budget = opened.budget if opened else None
        limit = (opened.settings if opened else {}).get("round_limit")
        left_out = f"{count(self.left_out, 'post')} {self.show.left_out} are not shown" if self.left_out else ""
        return SessionView(
            session=self.sid, question=self.question[:_QUESTION], protocol=self.protocol,
            status=result.status if result else (row.status if row and row.status != "finished" else "open"),
            opened_ms=self.opened_ns // 1_000_000, closed_ms=self.closed_ns // 1_000_000 if self.closed_ns else None,
            owner=row.owner if row else "", settings=dict(opened.settings) if opened else {},
            continues=self.continues, forked_from=fork.parent if fork else "",
            forked_at=fork.round if fork else None, fork_words=tuple(forked(fork)),
            parent=opened.parent if opened else "", round=self.scene.round,
            round_limit=limit if isinstance(limit, int) else None, round_name=self.show.round_name,
            documents=tuple(
                DocumentRow(name=d.name[:1_000], characters=len(d.text), holders=d.holders) for d in opened.documents
            ) if opened else (),
            seats=self.seat_views(), rounds=self.rounds(), signals=self.signals(), board=self.board(),
            refused=self.refused(), changes=tuple(self.changes),
            budget=Limits(tokens=budget.tokens, calls=budget.calls, cost_usd=budget.cost_usd, seconds=budget.seconds)
            if budget else Limits(),
            usage=self.usage(), result=self.answer(), warnings=self.warnings(), items=self.open_items(),
            left_out=left_out, feedback=self.feedback(),
        )  # fmt: skip

    def feedback(self) -> FeedbackView | None:
        """What somebody said last of the result; None: nobody did."""
        given = feedback_of(self.posts)
        if not given:
            return None
        last = given[-1]
        return FeedbackView(
            author=clean(last.author), right=last.right, answer=last.answer, note=last.note, times=len(given)
        )


def _seat_use(seat: str, u: SeatUsage | Usage, turns: int) -> SeatUse:
    return SeatUse(
        seat=seat, turns=turns, calls=u.calls, input_tokens=u.input_tokens, output_tokens=u.output_tokens,
        cached_tokens=u.cached_tokens or 0, cost_usd=u.cost_usd, unpriced=bool(u.unpriced),
    )  # fmt: skip


def _refusal(failure: dict[str, object]) -> Refused:
    """Of what a session's turns say went wrong (parley.client.turns)."""
    return msgspec.convert(
        {"seat": "", "round": 0, "kind": "", **{k: v for k, v in failure.items() if k != "turn"}}, Refused, strict=False
    )


def fold_of(source: Record | Fold, *, everything: bool = False) -> Fold:
    """The fold of a record as a client may see it, or of all of it; one that is made already stays as it is. Raises
    Altered."""
    if isinstance(source, Fold):
        return source
    fold = folded(source.sid, source.entries, everything=everything)
    if fold.opened is None:
        raise Altered(f"session {source.sid} has no opening entry")
    return fold


def folded(
    sid: str, texts: Iterable[str] = (), posts: Sequence[Post] = (), *, row: SessionRow | None = None,
    everything: bool = False,
) -> Fold:  # fmt: skip
    """The fold of a session's log, or of posts alone. Raises Altered."""
    fold = Fold(sid, row, everything=everything)
    for text in texts:
        fold.entry(text)
    for post in posts:
        fold.post(post)
    return fold


def of_result(result: Result, turns: Turns | None = None) -> Answer:
    """The card of a result whose posts nobody looked at."""
    return card_of_result(show_of(result.protocol)(), result, turns=turns)
