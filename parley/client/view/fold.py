"""The one fold of a session, as far as somebody may see it: entry by entry and post by post into a SessionView.

Everything that shows a session takes it from here: the terminal and the page as it runs, exports, explanations, MCP and
the Python API when it is over.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from parley.client.protocols import setup_of, show_of
from parley.client.records import Altered, Record
from parley.client.show.answer import ResultCard
from parley.client.show.control import fork_lines
from parley.client.show.open_items import OpenItem
from parley.client.show.palette import seat_names
from parley.client.show.words import one_family, usage_words
from parley.client.text import clean, count, line
from parley.client.turns import SubmissionRefused, Turns
from parley.client.untrusted import items, mapping, number, shaped
from parley.client.view.result import card_of_result, read_by_nobody
from parley.client.view.shapes import (
    DocumentRow,
    FeedbackView,
    PostCard,
    RoundView,
    SeatView,
    SessionView,
    Use,
    Warn,
)
from parley.client.view.taking import BUSY, Taking
from parley.schemas import log
from parley.schemas.past_sessions.feedback import feedback_of
from parley.schemas.post import Post, SessionRow
from parley.schemas.result import Result, SeatUsage
from parley.schemas.session import Budget, Seat
from parley.schemas.turn import Usage

MOST_REFUSED = 200
"""Refused replies that are told: the last ones."""
_QUESTION = 20_000
_KEYLESS = "extractive"
_WEAK = 0.5
"""Below this confidence an answer that all share is called weakly founded."""
_WEAKLY = "Weak evidence: "
_WEIGHTY = ("no_language_model", "left_out", "weak_evidence")
"""Kinds of warnings that stand on the card of the answer."""


class Fold(Taking):
    """What is known of one session."""

    def seat_views(self) -> tuple[SeatView, ...]:
        """All seats as they are now."""
        asks = self.scene.asks()
        names = dict.fromkeys((*self.seats, *(name for name in self.scene.seats if name)))
        return tuple(self._seat_view(name, asks.get(name)) for name in names)

    def _seat_view(self, name: str, ask: log.Ask | None) -> SeatView:
        seat, since, closed = self.seats.get(name), self.since.get(name), self.result is not None
        state = self.state(name) if name in self.scene.seats else "idle"
        if closed:
            state = "done" if state in BUSY else state
        text = "" if closed or name not in self.scene.seats else self.scene.seats[name].text
        does = ""
        if ask is not None and state in BUSY:
            (does,) = shaped(lambda: [self.show.doing(ask, text)], lambda: [""])
        return SeatView(
            seat=name,
            role=seat.role if seat else "",
            model=seat.model if seat else "",
            family=seat.family if seat else "",
            weight=seat.weight if seat else 1.0,
            state=state,  # type: ignore[arg-type]  # one of _KNOWN
            since_ms=since[1] if since else None,
            person=(name in self.people and not closed) or name in self.spoke,
            text=text,
            does=does,
        )

    def usage(self) -> Use:
        """What was used so far; of a session that is closed, as its result says."""
        if self.result is not None:
            used, took = self.result.usage, self.result.duration_s
            played = count(len(self.result.rounds), self.show.round_name.lower())
            return Use(**msgspec.structs.asdict(used), seconds=took, words=usage_words(played, used, took))
        by_seat = {}
        for seat, u in self.used.items():
            kept = {name: getattr(u, name) for name in SeatUsage.__struct_fields__ if name != "turns"}
            by_seat[seat] = SeatUsage(turns=self.answered.get(seat, 0), **kept)
        return Use(
            **msgspec.structs.asdict(sum(self.used.values(), Usage())),
            turns=sum(self.answered.values()),
            unaccounted_turns=0,
            unaccounted_tokens=0,
            by_seat=by_seat,
            words=self.used_words(),
        )

    def used_words(self) -> str:
        """What was used so far; empty where seats have answered, and nothing is known of it: the log comes later, or
        may not be read."""
        total = sum(self.used.values(), Usage())
        if not total.calls and any(seat.answered >= 0 for seat in self.scene.seats.values()):
            return ""
        asked = count(self.requests, "model request") if self.requests else count(total.calls, "call")
        return f"{count(total.input_tokens + total.output_tokens, 'token')}, {asked}"

    def refused(self) -> tuple[SubmissionRefused, ...]:
        """Replies and arguments that were not accepted, in their order."""
        in_order = sorted((*self.turns.failures, *self.not_accepted), key=lambda r: r.transition)
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

    def answer(self) -> ResultCard | None:
        """The card of the result; None: it is open. Made once for each reader: it is nothing but what was taken."""
        if self.result is None:
            return None
        if self._card is None or bool(self._card.next) == self.led:
            weighty = [w.text.removeprefix(_WEAKLY).rstrip(".") for w in self.warnings() if w.kind in _WEIGHTY]
            self._card = card_of_result(
                self.show,
                self.result,
                turns=self.turns,
                entries=self.entries,
                warnings=weighty,
                led=self.led,
                placed=self.placed,
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
        if unread and (self.opened is None or self.opened.evidence):
            yield Warn(kind="no_language_model", text=f"{unread[:1].upper()}{unread[1:]}.")
        elif unread or set(families) == {_KEYLESS}:
            yield Warn(kind="no_language_model", text="No language model took part.")
        else:
            yield from (Warn(kind="one_family", text=text) for text in one_family(which, families))
        if (opened := self.opened) is not None:
            if told := opened.left_out or ():
                more = f"; and {len(told) - 1} more" if len(told) > 1 else ""
                yield Warn(kind="left_out", text=f"Left out of the documents: {line(told[0])}{more}.")
            cautions = shaped(lambda: self.show.cautions(opened), lambda: ())
            yield from (Warn(kind="weights", text=f"{text[:1].upper()}{text[1:]}.") for text in cautions)
        if self.result is None:
            return
        if self.result.stop.converged and (why := self._weak(self.result)):
            yield Warn(kind="weak_evidence", text=f"{_WEAKLY}{why}.")
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
        parts = [] if cited else ["no document quoted for it"]
        if confidence < _WEAK:
            parts.append(f"confidence is {confidence:.2f}")
        return ", and ".join(parts)

    def _arguing(self) -> list[Seat]:
        """Seats that argue: those of the role of which the protocol has several, else all."""
        several = setup_of(self.protocol).several
        seats = list(self.seats.values())
        return [s for s in seats if s.role == several.role] if several else seats

    def foot(self) -> str:
        """The session's figures on one line."""
        round_ = self.scene.round or 1
        title = f"{self.show.round_name.lower()} {round_}"
        (figures,) = shaped(lambda: [self.show.foot()], lambda: [""])
        return " · ".join(part for part in (title, figures, self.used_words()) if part)

    def board(self) -> Any:
        """What is counted so far; None: nothing is."""
        (board,) = shaped(lambda: [self.show.board()], lambda: [None])
        return board

    def view(self, *, posts: bool = True) -> SessionView:
        """The whole of it. `posts`: with what was said."""
        opened, result, row, fork = self.opened, self.result, self.row, self.fork
        limit = (opened.settings if opened else {}).get("round_limit")
        return SessionView(
            session=self.sid,
            question=self.question[:_QUESTION],
            protocol=self.protocol,
            status=result.status if result else (row.status if row and row.status != "finished" else "open"),
            opened_ms=self.opened_ns // 1_000_000,
            closed_ms=self.closed_ns // 1_000_000 if self.closed_ns else None,
            owner=row.owner if row else "",
            settings=dict(opened.settings) if opened else {},
            continues=self.continues,
            forked_from=fork.parent if fork else "",
            forked_at=fork.round if fork else None,
            fork_words=tuple(fork_lines(fork)),
            parent=opened.parent if opened else "",
            round=self.scene.round,
            round_limit=limit if isinstance(limit, int) else None,
            round_name=self.show.round_name,
            documents=tuple(
                DocumentRow(name=d.name[:1_000], characters=len(d.text), holders=d.holders) for d in opened.evidence
            )
            if opened
            else (),
            seats=self.seat_views(),
            rounds=self.rounds() if posts else (),
            signals=self.signals(),
            board=self.board(),
            refused=self.refused(),
            changes=tuple(self.changes),
            budget=opened.budget if opened else Budget(),
            usage=self.usage(),
            result=self.answer(),
            warnings=self.warnings(),
            items=self.open_items(),
            left_out=self._left_out_words(),
            feedback=self.feedback(),
        )

    def _left_out_words(self) -> str:
        """What is not shown; of a session of which nothing but its row is there, why."""
        if self.left_out:
            return f"{count(self.left_out, 'post')} {self.show.left_out} are not shown"
        row = self.row
        if row is not None and row.status == "erased":
            return "its texts were removed" + (f" by {clean(row.erased_by)}" if row.erased_by else "")
        return f"it was refused: {clean(row.reason)}" if row is not None and row.status == "refused" else ""

    def feedback(self) -> FeedbackView | None:
        """What somebody said last of the result; None: nobody did."""
        given = feedback_of(self.posts)
        if not given:
            return None
        last = given[-1]
        return FeedbackView(**{**msgspec.structs.asdict(last), "author": clean(last.author)}, times=len(given))


def fold_of(source: Record | Fold, *, everything: bool = False) -> Fold:
    """The fold of a record as a client may see it, or of all of it; one that is made already stays as it is. Raises
    Altered."""
    if isinstance(source, Fold):
        return source
    fold = fold_log(source.sid, source.entries, everything=everything)
    if fold.opened is None:
        raise Altered(f"session {source.sid} has no opening entry")
    return fold


def fold_log(
    sid: str,
    texts: Iterable[str] = (),
    posts: Sequence[Post] = (),
    *,
    row: SessionRow | None = None,
    everything: bool = False,
) -> Fold:
    """The fold of a session's log, or of posts alone. Raises Altered."""
    fold = Fold(sid, row, everything=everything)
    for text in texts:
        fold.entry(text)
    fold.recognised(posts)
    for post in posts:
        fold.post(post)
    return fold


def of_result(result: Result, turns: Turns | None = None) -> ResultCard:
    """The card of a result whose posts nobody looked at."""
    return card_of_result(show_of(result.protocol)(), result, turns=turns)
