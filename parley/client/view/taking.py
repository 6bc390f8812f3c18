"""What a fold takes: the entries of a session's log, its posts and signs of life, one after the other.

An owner's fold reads the log, which has every post in its order, who is asked and what is used; a client's reads the
channels of its credentials.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from parley.agents.retrieval.places import place_of
from parley.bus.channels import CLIENTS, CONTROL, may_read
from parley.client.protocols import show_of, show_of_posts
from parley.client.records import Altered, Record, closing, posts_in
from parley.client.show.answer import ResultCard
from parley.client.show.card import Card, Quote
from parley.client.show.control import Seated, fork_of, seating
from parley.client.show.open_items import OpenItem
from parley.client.show.palette import seat_name
from parley.client.show.show import Show, card_of
from parley.client.show.words import REASON
from parley.client.text import line
from parley.client.turns import Flagged, FlagWords, SubmissionRefused, Turns
from parley.client.untrusted import shaped
from parley.client.view.passages import number_of
from parley.client.view.seats import WAITS, Scene
from parley.client.view.shapes import PLACE, MindChange, PostCard
from parley.coordinator.admission import build_settings
from parley.coordinator.budget import booked
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.past_sessions.fork import CAUSE, Fork
from parley.schemas.post import CLOSED, Live, Post, SessionRow
from parley.schemas.result import Result
from parley.schemas.session import Seat
from parley.schemas.text import same
from parley.schemas.tools import LookUpResult, main_argument
from parley.schemas.turn import Usage
from parley.schemas.wire import SchemaError, decode

HAS_TURN = "person's turn"
"""A person sits on the seat, and is asked."""
_STATES = {"answered": "done", "text": "thinking", "tool": "thinking"}
BUSY = ("queued", "thinking", "retrying", "no worker", WAITS, HAS_TURN)
_FOUND = 120
"""Characters of what was looked up, and of what came back, in a line."""
_KNOWN = frozenset({"idle", *BUSY, "done", "failed"})


class Notice(NamedTuple):
    """What the log knows and no post says, for whoever watches: a turn that came to nothing, work that goes back."""

    text: str
    more: bool = False
    """It is left out where one screen is wanted."""


class Taking:
    """What was taken of one session.

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
        self.used: dict[str, Usage] = {}
        """Seat -> what its turns took."""
        self.requests = 0
        """Calls in which a model used tokens."""
        self.answered: dict[str, int] = {}
        """Seat -> its turns that brought something."""
        self.since: dict[str, tuple[str, int]] = {}
        """Seat -> what it does, and since which millisecond."""
        self._said: dict[str, int] = {}
        """Channel -> posts that the log has had there, those that are not shown too."""
        self.not_accepted: list[SubmissionRefused] = []
        """Posts that were refused."""
        self._notices: list[Notice] = []
        self._told_nothing = self._told_flags = 0
        self._told_found = set[str]()
        """Ids of what was looked up and is told."""
        self._waiting: list[Flagged] = []
        """Replies that no post was found for yet."""
        self._flags = FlagWords()
        self._card: ResultCard | None = None

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
        return sum(self._said.values()) - len(self.posts) if self.opened else 0

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

    def recognised(self, posts: Iterable[Post]) -> None:
        """Take what it runs from what is said, where nobody has told it."""
        if not self.protocol and (show := show_of_posts(posts)) is not None:
            self.protocol, self.show = show.setup.name, show()

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
        posts = [post for post in posts_in(self.sid, entry, self._said) if self._shows(post.channel)]
        cards = [card for post in posts if (card := self.post(post)) is not None]
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
            if event.found and self.opened:
                self._found(event.found, ask, entry.at_ns)
            if ask.queue and not event.error:
                self.spoke.add(ask.seat)
            if ask.seat in self.seats:
                usage = booked(self.seats[ask.seat], ask.caps, usage, person=bool(ask.queue))
            if not entry.cause.startswith(CAUSE):  # else another session paid
                self.used[ask.seat] = self.used.get(ask.seat, Usage()) + usage
                self.requests += usage.calls if usage.input_tokens + usage.output_tokens else 0
                self.answered[ask.seat] = self.answered.get(ask.seat, 0) + (not event.error)
        elif isinstance(event, log.Sat):
            (self.sat.discard if event.left else self.sat.add)(event.seat)
        for index, command in enumerate(entry.commands):
            if isinstance(command, log.Invite):
                self.seats.setdefault(command.seat.seat, command.seat)
            elif isinstance(command, log.Ask):
                self._asks[f"{entry.n}-{index}"] = command
        self._note_since(entry.at_ns)

    def post(self, post: Post) -> PostCard | None:
        """Take one post of a channel that is shown; None: it was taken before."""
        if post.k < self.position.get(post.channel, 0):
            return None
        self.position[post.channel] = post.k + 1
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
        card = card_of(self.show, post, (*self.seats, *self.last, post.seat))
        if card.asks is not None:
            self.items[card.asks.item] = card.asks
            self.asked.add(card.asks.item)
        self.items.pop(card.settles, None)
        fields = {name: getattr(card, name) for name in Card.__struct_fields__}
        fields |= {name: getattr(post, name) for name in PLACE}
        fields["quotes"] = tuple(self.placed(quote) for quote in card.quotes)
        flags = (*self._looked_up(post, card), *self._flags_of(post, card))
        return PostCard(**fields, at_ms=post.at_ns // 1_000_000, flags=flags)

    def _found(self, found: tuple[LookUpResult, ...], ask: log.Ask, at_ns: int) -> None:
        """Note what a seat looked up."""
        assert self.opened is not None
        protocol = PROTOCOLS[self.opened.protocol]
        most = protocol.look_ups(build_settings(protocol, self.opened.settings), ask.kind)
        self.opened = self.opened.with_found(ask, found[:most], at_ns)

    def _looked_up(self, post: Post, card: Card) -> Iterator[str]:
        """What a seat looked up for a post, before anybody else did, and how what came back begins; once."""
        documents = self.opened.documents if self.opened and card.reply else ()
        for d in documents:
            if d.looked and (d.looked.seat, d.looked.round) == (post.seat, post.round) and d.id not in self._told_found:
                self._told_found.add(d.id)
                what = line(main_argument(d.looked.source.partition(" ")[2]), _FOUND)
                yield f"looked up {f'“{what}” in ' if what else ''}{d.name}: “{line(d.text, _FOUND)}”"

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

    def placed(self, quote: Quote) -> Quote:
        """With the document that it is of, and its place there."""
        documents = self.opened.documents if self.opened else ()
        file = number_of(documents, quote)
        place = "" if file is None else place_of(documents[file], quote.quote)
        return msgspec.structs.replace(quote, file=file, place=place)

    def _seated(self, post: Post) -> None:
        """Note whose turns a seat's are from a post on."""
        body = seating(post)
        if not isinstance(body, Seated):
            return
        (self.people.add if body.human else self.people.discard)(body.seat)
        if not body.waits or not body.human:
            (self.sat.add if body.human else self.sat.discard)(body.seat)

    def _held(self, card: PostCard) -> None:
        """Note a change of mind, and what was refused."""
        if card.refused:
            self.not_accepted.append(
                SubmissionRefused(
                    seat=card.seat,
                    round=card.round,
                    kind=card.kind,
                    why=card.refused,
                    last=True,
                    transition=card.transition,
                    post=card.n,
                )
            )
        if not card.seat or not card.position or card.place != "post" or card.refused:
            return
        before = self.last.get(card.seat)
        self.last[card.seat] = card
        if card.changed is not None and not (before is not None and same(before.position, card.position)):
            self.changes.append(
                MindChange(
                    seat=card.seat,
                    round=card.round,
                    post=card.n,
                    before=before.position if before else "",
                    after=card.position,
                    by=card.changed.by,
                    why=card.changed.why,
                    because=card.changed.post,
                    explained=card.changed.explained,
                )
            )

    def _note_since(self, at_ns: int) -> None:
        for name in self.scene.seats:
            state = self.state(name)
            if self.since.get(name, ("", 0))[0] != state:
                self.since[name] = state, at_ns // 1_000_000

    def state(self, name: str) -> str:
        """What a seat does."""
        state = self.scene.shown(name)
        state = _STATES.get(state, state)
        if name in self.people and state in BUSY:
            if self.opened is None:  # whose turn it is stands in the log: a seat of a person that writes has one
                return HAS_TURN if name in self.sat or state == "thinking" else WAITS
            ask = self.scene.asks().get(name)
            if ask and ask.queue:
                return HAS_TURN if name in self.sat else WAITS
        return state if state in _KNOWN else "idle"
