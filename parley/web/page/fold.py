"""One session as far as somebody may see it, folded entry by entry and post by post into what pages show."""

import time
from collections.abc import Iterable, Iterator

import msgspec

from parley.bus.channels import CLIENTS, may_read
from parley.client.protocols import face_of, face_of_posts
from parley.client.records import Altered, closing
from parley.client.rendering.post_cards import card_of
from parley.client.session_view import fork_of
from parley.client.show.cards import Card, Quote
from parley.client.show.live_seats import WAITS, Scene
from parley.client.show.presenter import Presenter
from parley.client.turns import SEAT, Turns
from parley.client.untrusted import number, object_of, words
from parley.coordinator.budget import booked
from parley.schemas import log
from parley.schemas.afterwards.fork import CAUSE, Fork
from parley.schemas.post import CLOSED, Live, Post, SessionRow
from parley.schemas.result import Result, SeatUsage
from parley.schemas.session import Seat
from parley.schemas.text import same
from parley.schemas.turn import Usage
from parley.schemas.wire import SchemaError, decode
from parley.web.page.passages import number_of
from parley.web.page.shapes import MindChange, PostCard, Refused, SeatUse, SeatView, Use

MOST_REFUSED = 200
"""Refused replies that are told: the last ones."""
HAS_TURN = "person's turn"
"""A person sits on the seat, and is asked."""
_CONTROL = "control"
_STATES = {"answered": "done", "text": "thinking", "tool": "thinking"}
_BUSY = ("queued", "thinking", "retrying", "no worker", WAITS, HAS_TURN)
_KNOWN = frozenset({"idle", *_BUSY, "done", "failed"})


class Fold:
    """What is known of one session.

    Parameters
    ----------
    row
        What the list of sessions says of it: for those who may not read its log.
    everything
        Of every channel, and not of those alone that clients read.
    """

    def __init__(self, sid: str, row: SessionRow | None, *, everything: bool = False) -> None:
        self.sid, self.row, self.everything = sid, row, everything
        self.opened: log.Opened | None = None
        self.entries: list[str] = []
        """The log so far, as stored; empty for those who may not read it."""
        self.posts: list[Post] = []
        self.cards: list[PostCard] = []
        self.position: dict[str, int] = {}
        """Channel -> posts that were taken."""
        self.changes: list[MindChange] = []
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
        self.presenter: Presenter = face_of(row.protocol if row else "").present()
        self._known = bool(row and row.protocol)
        self._asks: dict[str, log.Ask] = {}
        self._used: dict[str, Usage] = {}
        self._answered: dict[str, int] = {}
        self._since: dict[str, tuple[str, int]] = {}
        self._said: dict[str, int] = {}
        """Channel -> posts that the log has had there, those that are not shown too."""
        self._n = 0
        self._refused: list[Refused] = []

    @property
    def protocol(self) -> str:
        """Its protocol; empty: not known."""
        return self.opened.protocol if self.opened else self.row.protocol if self.row else ""

    @property
    def question(self) -> str:
        """Its question; empty: not known."""
        return self.opened.question if self.opened else self.row.question if self.row else ""

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

    def _shows(self, channel: str) -> bool:
        return self.everything or may_read(CLIENTS, channel)

    # -- taking
    def entry(self, text: str) -> list[PostCard]:
        """Take one entry of the log, and the posts in it that may be seen: their cards. Raises Altered."""
        try:
            entry = decode(text.encode(), log.Entry)
        except SchemaError as error:
            raise Altered(f"session {self.sid}, entry {len(self.entries) + 1}: {error}") from error
        self.entries.append(text)
        self.scene.entry(text)
        self.turns.take(entry)
        self._event(entry)
        return [card for post in self._posts(entry) if (card := self.post(post)) is not None]

    def _event(self, entry: log.Entry) -> None:
        """Who was asked, and what was used."""
        event = entry.event
        if isinstance(event, log.Opened):
            self.opened, self.opened_ns = event, entry.at_ns
            self.seats = {s.seat: s for s in event.seats}
            self.presenter, self._known = face_of(event.protocol).present(event.settings), True
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
        if not self._known and (face := face_of_posts([post])) is not None:
            self.presenter, self._known = face.present(), True
        self.posts.append(post)
        self.scene.post(post)
        if post.seat and self.opened is None:  # who may not read the log knows seats by what they say
            self.seats.setdefault(post.seat, Seat(seat=post.seat, role="", queue=post.seat))
            if post.seat in self.people and self.presenter.is_reply(post):
                self.sat.add(post.seat)
                self.spoke.add(post.seat)
        card = self._card(post)
        self.cards.append(card)
        self._held(card)
        self._note_since(post.at_ns)
        if post.kind == CLOSED and post.channel == _CONTROL:
            self.result, self.closed_ns = closing(self.sid, [post]), post.at_ns
        return card

    def live(self, live: Live) -> None:
        """Take one sign of life."""
        self.scene.live(live)
        self._note_since(time.time_ns())

    def _card(self, post: Post) -> PostCard:
        self.presenter.take(post)
        self._seated(post)
        card = card_of(post, self.presenter)
        before = self.last.get(post.seat)
        if card.changed is not None and before is not None and same(before.position, card.position):
            card = msgspec.structs.replace(card, changed=None)  # it gives way in something else than its answer
        fields = {name: getattr(card, name) for name in Card.__struct_fields__}
        fields["quotes"] = tuple(self._placed(quote) for quote in card.quotes)
        return PostCard(
            **fields, n=post.n, channel=post.channel, k=post.k, transition=post.transition,
            at_ms=post.at_ns // 1_000_000, round=post.round, seat=post.seat, kind=post.kind,
        )  # fmt: skip

    def _placed(self, quote: Quote) -> Quote:
        """With the document that it is of."""
        documents = self.opened.documents if self.opened else ()
        return msgspec.structs.replace(quote, file=number_of(documents, quote))

    def _seated(self, post: Post) -> None:
        """Note whose turns a seat's are from a post on."""
        if post.channel != _CONTROL or post.kind != SEAT:
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
        if card.changed is not None:
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
            if self._asks_person(name):
                return HAS_TURN if name in self.sat else WAITS
        return state if state in _KNOWN else "idle"

    def _asks_person(self, name: str) -> bool:
        """Whether the turn that a seat is at is its person's, as far as the log says it."""
        ask = self.scene.asks().get(name)
        return bool(ask and ask.queue)

    def seat_views(self) -> tuple[SeatView, ...]:
        """All seats as they are now."""
        names = dict.fromkeys((*self.seats, *(name for name in self.scene.seats if name)))
        closed = self.result is not None
        return tuple(self._seat_view(name, closed) for name in names)

    def _seat_view(self, name: str, closed: bool) -> SeatView:
        seat, since = self.seats.get(name), self._since.get(name)
        state = self._state(name) if name in self.scene.seats else "idle"
        if closed:
            state = "done" if state in _BUSY else state
        return SeatView(
            seat=name, role=seat.role if seat else "", model=seat.model if seat else "",
            family=seat.family if seat else "", state=state,  # type: ignore[arg-type]  # one of _KNOWN
            since_ms=since[1] if since else None, person=(name in self.people and not closed) or name in self.spoke,
            text="" if closed or name not in self.scene.seats else self.scene.seats[name].text,
        )  # fmt: skip

    def usage(self) -> Use:
        """What was used so far; of a session that is closed, as its result says."""
        if self.result is not None:
            u = self.result.usage
            return Use(
                turns=u.turns, calls=u.calls, input_tokens=u.input_tokens, output_tokens=u.output_tokens,
                cost_usd=u.cost_usd, estimated=u.estimated, unpriced=bool(u.unpriced),
                seconds=self.result.duration_s, words=self.presenter.usage_words(self.result),
                by_seat=tuple(_seat_use(seat, s) for seat, s in u.by_seat.items()),
            )  # fmt: skip
        seats = tuple(
            SeatUse(
                seat=seat, turns=self._answered.get(seat, 0), calls=u.calls, input_tokens=u.input_tokens,
                output_tokens=u.output_tokens, cached_tokens=u.cached_tokens or 0, cost_usd=u.cost_usd,
                unpriced=bool(u.unpriced),
            )
            for seat, u in self._used.items()
        )  # fmt: skip
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


def _seat_use(seat: str, u: SeatUsage) -> SeatUse:
    return SeatUse(
        seat=seat, turns=u.turns, calls=u.calls, input_tokens=u.input_tokens, output_tokens=u.output_tokens,
        cached_tokens=u.cached_tokens or 0, cost_usd=u.cost_usd, unpriced=bool(u.unpriced),
    )  # fmt: skip


def _refusal(failure: dict[str, object]) -> Refused:
    """Of what a session's turns say went wrong (parley.client.turns)."""
    return msgspec.convert(
        {"seat": "", "round": 0, "kind": "", **{k: v for k, v in failure.items() if k != "turn"}}, Refused, strict=False
    )


def folded(fold: Fold, entries: Iterable[str]) -> Fold:
    """The fold after these entries too."""
    for text in entries:
        fold.entry(text)
    return fold
