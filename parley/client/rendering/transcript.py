"""A session in words: each post as lines, the stop and the result as lines, the whole as text and as Markdown.
Everything from outside is cleaned before it is shown."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from parley.client.protocols import face_of, face_of_posts
from parley.client.records import Record
from parley.client.session_view import Seen, seen
from parley.client.show.lines import Block, Piece, StyledLine
from parley.client.show.open_items import OpenItem
from parley.client.show.presenter import Presenter, stop_post
from parley.client.show.words import REASON, WHOLE, WIDE, bare, is_settled, nothing_came, opening_lines
from parley.client.text import count, line, rows
from parley.client.turns import SEAT, WITHDRAWN, Flagged, Turns
from parley.client.untrusted import items, number, object_of, shaped
from parley.schemas.afterwards.feedback import Feedback, feedback_of, is_feedback
from parley.schemas.afterwards.fork import FORK, Fork, carried_words, fork_words
from parley.schemas.post import CLOSED, Post, decode_body
from parley.schemas.result import Result
from parley.schemas.wire import figure

_CONTROL = "control"
T = TypeVar("T")


class Teller:
    """Tells posts one after another, with what the log knows and they do not say: turns that came to nothing, and flags
    of replies.

    Parameters
    ----------
    presenter
        What shows the session; None: that of the first post that a protocol knows as its own.
    turns
        What became of the turns; it may grow while posts are told.
    brief
        Leave out what a person who waits for the result need not see (how a task is coordinated).
    """

    def __init__(self, presenter: Presenter | None = None, turns: Turns | None = None, *, brief: bool = False) -> None:
        self._known = presenter is not None
        self._presenter = presenter or face_of("").present()
        self._brief = self._presenter.brief = brief
        self._where = ""
        self.kept = True
        """The session can be looked at later."""
        self.hints = True
        """Where to see more is told with the result."""
        self.turns = turns or Turns()
        self._nothing = 0
        self._flagged = 0
        self._waiting: list[Flagged] = []
        """Replies that no post was found for yet."""
        self._missing: set[str] = set()
        """Seats that were told to be missing since a post last counted them."""
        self._transition = -1
        self._cautioned = False
        """Whether it was told what a reader must know of the opening."""
        self._told_once: set[str] = set()
        """Models of which it was said that no price is known."""

    @property
    def presenter(self) -> Presenter:
        """The presenter of the session."""
        return self._presenter

    @presenter.setter
    def presenter(self, presenter: Presenter) -> None:
        presenter.brief, presenter.where = self._brief, self._where
        self._presenter, self._known = presenter, True

    @property
    def where(self) -> str:
        """Options that name the bus, for commands that are shown."""
        return self._where

    @where.setter
    def where(self, where: str) -> None:
        self._where = self._presenter.where = where

    def asked(self, post: Post) -> OpenItem | None:
        """What a post asks a human."""
        self._look_at(post)
        return self._presenter.asked(post)

    def pieces(self, post: Post, width: int = WIDE) -> Iterator[Piece]:
        """The next post: lines, and blocks of what is said at length."""
        self._look_at(post)
        yield from self._cautions()
        if post.transition != self._transition:
            yield from self._flags_up_to(self._transition)
            self._transition = post.transition
        yield from self._nothing_up_to(post.transition)
        yield from self._told(post, width)
        yield from self._flags_of(post)
        if post.n in self.turns.ends:
            yield from self._flags_up_to(post.transition)
            asks = self.turns.asks.get(post.transition, ())
            yield from shaped(lambda: self._presenter.goes_on(asks), lambda: iter(()))

    def lines(self, post: Post, width: int = WIDE) -> Iterator[StyledLine]:
        """The same, blocks in lines."""
        for piece in self.pieces(post, width):
            if isinstance(piece, Block):
                yield from piece.lines()
            else:
                yield piece

    def end(self, result: Result | None) -> Iterator[StyledLine]:
        """What the session came to; None: it is still open."""
        if result is not None:
            if not self._known:
                self.presenter = face_of(result.protocol).present()
            yield from result_lines(result, self._presenter, self.turns)
            if result.fork is not msgspec.UNSET:
                yield "quiet", forked(result.fork)[0]
            if self._brief:
                if self.hints:
                    yield "quiet", f"more: {self._more(result)}"
                yield _in_short(result, self._presenter)
            return
        yield from self._nothing_up_to(self.turns.read)
        read = self.turns.read
        yield "", "still open" + (f" after {read} transitions" if read else "")

    def _more(self, result: Result) -> str:
        """The hint that says where to see everything that was said."""
        again = "parley ask --verbose shows all of it as it comes"
        return f"parley sessions show {line(result.session)}{self._where}; {again}" if self.kept else again

    def _cautions(self) -> Iterator[StyledLine]:
        """What a reader must know of the opening, where that may be read: once."""
        opened = self.turns.opened
        if opened is not None and not self._cautioned:
            self._cautioned = True
            told = shaped(lambda: self._presenter.cautions(opened), lambda: ())
            yield from (("quiet", text) for text in told)

    def _look_at(self, post: Post) -> None:
        """Find the protocol by its posts, where nobody has said it."""
        face = None if self._known else face_of_posts([post])
        if face is not None:
            self.presenter = face.present()

    def _told(self, post: Post, width: int) -> Iterator[Piece]:
        presenter = self._presenter
        presenter.take(post)
        gone = presenter.missing(post)
        for seat in gone or ():
            if seat not in self._missing:
                yield "score", f"  {line(seat)} is missing"
        control = _control_lines(post, presenter)
        if control is not None:
            yield from control
        else:
            yield from shaped(lambda: presenter.lines(post, width), lambda: Presenter.lines(presenter, post, width))
        if gone is not None:
            self._missing.clear()

    def _nothing_up_to(self, transition: int) -> Iterator[StyledLine]:
        """Turns that came to nothing, those aside of which a post tells."""
        nothing = self.turns.nothing
        while self._nothing < len(nothing) and nothing[self._nothing].transition <= transition:
            one = nothing[self._nothing]
            self._nothing += 1
            self._missing.add(one.seat)
            if not one.posted:
                yield "score", f"  {line(one.seat)} is missing ({line(one.kind)}): {line(one.why, REASON)}"

    def _flags_of(self, post: Post) -> Iterator[StyledLine]:
        """The flags of the reply behind this post."""
        replies = self.turns.flagged
        while self._flagged < len(replies) and replies[self._flagged].transition <= post.transition:
            self._waiting.append(replies[self._flagged])
            self._flagged += 1
        if not post.seat or not self._presenter.is_reply(post):
            return
        mine = next((f for f in self._waiting if (f.seat, f.round) == (post.seat, post.round)), None)
        if mine is not None:
            self._waiting.remove(mine)
            if self._tells(mine):
                yield from self._flag_lines(mine, "      flags of this reply: ", "      ")

    def _flags_up_to(self, transition: int) -> Iterator[StyledLine]:
        """Those of replies that no post shows under their seat's name."""
        due = [f for f in self._waiting if f.transition <= transition]
        self._waiting = [f for f in self._waiting if f.transition > transition]
        for f in due:
            if self._tells(f):
                yield from self._flag_lines(f, f"  {line(f.seat)} ({line(f.kind)}): flags of this reply: ", "  ")

    def _tells(self, flagged: Flagged) -> bool:
        return not (self._brief and flagged.kind in self._presenter.quiet_turns)

    def _flag_lines(self, of: Flagged, head: str, indent: str) -> Iterator[StyledLine]:
        """Flags in words. A brief view leaves out how a reply was had; that no price of a model is known is said once,
        with what to set."""
        flags = [flag for flag in of.flags if flag != _UNPRICED]
        if self._brief:
            flags = [flag for flag in flags if flag not in _HOW_IT_WAS_HAD]
        if flags:
            yield "score", head + ", ".join(_IN_WORDS.get(flag) or line(flag, REASON) for flag in flags)
        if _UNPRICED in of.flags and not self._is_told(of.model):
            whose = f"the price of {line(of.model)}" if of.model else f"the price of {line(of.seat)}'s model"
            yield "score", f"{indent}{whose} is unknown, so its cost is not counted: set {_PRICES}"

    def _is_told(self, model: str) -> bool:
        """Whether it was said before; from now on it was."""
        before = model in self._told_once
        self._told_once.add(model)
        return before


_UNPRICED = "unpriced"
_PRICES = "LLM_USD_PER_MILLION_INPUT and LLM_USD_PER_MILLION_OUTPUT"
_HOW_IT_WAS_HAD = frozenset({"extracted", "repaired", "estimated"})
"""Flags that say nothing of the answer (docs/models.md)."""
_IN_WORDS = {
    "cut": "cut (not all that others said, or the documents hold, fitted what the model takes)",
    "cut_documents": "cut_documents (not all that the documents hold fitted either)",
    "summed_up": "summed_up (its own summaries stood for what was said in earlier rounds)",
    "rescaled": "rescaled (its numbers came as percent)",
    "reasoned": "reasoned (it stood among its thoughts, and nothing after them)",
    "quotes_dropped": "quotes_dropped (quotations that stand in no document were left out)",
    "declined": "declined (its provider says so, and it counts as abstaining)",
}


def _control_lines(post: Post, presenter: Presenter) -> Iterable[StyledLine] | None:
    """What a moderator says in every protocol; None for any other post."""
    if post.kind == CLOSED:
        return ()
    if post.kind == "stop":
        return shaped(lambda: stop_post(presenter, post), lambda: stop_post(Presenter(), post))
    if post.kind == SEAT and post.channel == _CONTROL:
        return [_seat_taken(post)]
    if post.kind == FORK and post.channel == _CONTROL:
        fork = decode_body(post, {FORK: Fork})
        return [("quiet", f"  {text}") for text in forked(fork)] if fork is not None else []
    if is_feedback(post):
        return [("score", f"  {text}") for text in feedback_words(feedback_of([post]))]
    if post.kind == WITHDRAWN and post.channel == _CONTROL:
        body = object_of(post.body)
        return [("quiet", f"  {line(str(body.get('seat')))}: {count(len(items(body.get('turns'))), 'turn')} withdrawn")]
    return None


def forked(fork: Fork | None) -> list[str]:
    """Where a session comes from and what it carries, in lines; nothing: it carries no other's record."""
    if fork is None:
        return []
    return [line(text, WHOLE) for text in (fork_words(fork), *carried_words(fork))]


def feedback_words(given: Sequence[Feedback]) -> list[str]:
    """What a person said last of the result, in lines; nothing: nobody did."""
    if not given:
        return []
    last, times = given[-1], len(given)
    before = f" (said {count(times, 'time')}; the last one counts)" if times > 1 else ""
    lines = [f"feedback by {line(last.author)}: the result is {last.verdict}{before}"]
    lines += [f"  the answer should have been: {line(last.answer, WHOLE)}"] if last.answer else []
    return lines + ([f"  {line(last.note, WHOLE)}"] if last.note else [])


def _seat_taken(post: Post) -> StyledLine:
    body = object_of(post.body)
    waits = number(body.get("waits"))
    sits = "a person sits down"
    if waits:
        sits = f"its turns wait for a person, {figure(waits)} s each, and then its agent has them"
    return "score", f"  {line(str(body.get('seat')))}: {sits if body.get('human') else 'its agent goes on'}"


# ---------------------------------------------------------------- the end


def result_lines(
    result: Result, presenter: Presenter | None = None, turns: Turns | None = None
) -> Iterator[StyledLine]:
    """What a session came to. `presenter`: what took its posts. `turns`: what is known about them."""
    shows, known = presenter or face_of(result.protocol).present(), turns or Turns()
    nothing = list(came_to_nothing(known))
    yield from shaped(
        lambda: shows.result_lines(result, known.why, nothing),
        lambda: Presenter().result_lines(result, known.why, nothing),
    )


def brief_result(result: Result, turns: Turns | None = None) -> list[StyledLine]:
    """What a session came to in a few lines, without the posts before it. `turns`: what is known about them."""
    presenter = face_of(result.protocol).present()
    presenter.brief = True
    return [*result_lines(result, presenter, turns), _in_short(result, presenter)]


def read_by_nobody(result: Result) -> str:
    """A caution for an answer that no language model had a part in; empty where one had, or nothing is settled."""
    if result.keyless is not True or not is_settled(result.stop.reason, result.stop.converged):
        return ""
    return "no language model read the documents, so check what is quoted"


def _in_short(result: Result, presenter: Presenter) -> StyledLine:
    """The last line."""
    (summary,) = shaped(lambda: [presenter.in_short(result)], lambda: [Presenter().in_short(result)])
    unread = read_by_nobody(result)
    return "answer", f"In short: {summary}{f'; {unread}' if unread else ''}"


def answer_of(result: Result) -> str:
    """What a session came to in one sentence; empty: nothing."""
    return _told_by(result, lambda shows: shows.answer(result))


def not_settled(result: Result) -> Sequence[str]:
    """What was found, in lines, where nothing is settled."""
    return _told_by(result, lambda shows: tuple(shows.not_settled(result)))


def beside_answer(result: Result) -> Sequence[str]:
    """What whoever reads the answer alone is told beside it."""
    unread = read_by_nobody(result)
    return (*([unread] if unread else []), *_told_by(result, lambda shows: tuple(shows.beside_answer(result))))


def steps_of(result: Result) -> Sequence[str]:
    """What was done in each of its revisions, a line each; nothing: its answer says it all."""
    return _told_by(result, lambda shows: shows.steps(result))


def failed(result: Result) -> bool:
    """Whether a session failed, or ended without an answer."""
    return _told_by(result, lambda shows: shows.failed(result))


def stop_words(result: Result) -> str:
    """Why it ended, on one line."""
    return _told_by(result, lambda shows: shows.stop_words(result))


def usage_words(result: Result) -> str:
    """What was used, on one line."""
    return _told_by(result, lambda shows: shows.usage_words(result))


def _told_by(result: Result, ask: Callable[[Presenter], T]) -> T:
    """What the protocol's presenter says of a result, without the posts before it."""
    (value,) = shaped(lambda: [ask(face_of(result.protocol).present())], lambda: [ask(Presenter())])
    return value


def came_to_nothing(turns: Turns) -> Iterator[str]:
    """Turns that came to nothing, by their reason: a line each, the last ones."""
    by_why: dict[str, list[str]] = {}
    for one in turns.nothing:
        by_why.setdefault(one.why, []).append(one.asked)
    return nothing_came(by_why)


# ---------------------------------------------------------------- the whole


def show(session: Record | Seen) -> Iterator[str]:
    """The whole session in lines, as far as it may be seen."""
    session = seen(session)
    first, teller = session.opened, _after(session)
    yield from bare(opening_lines(session.sid, session.protocol, session.question, first.continues if first else ""))
    yield from forked(session.fork)
    for post in session.posts:
        yield from bare(teller.lines(post, WHOLE))
    if session.result is not None:
        yield ""
    yield from bare(teller.end(session.result))
    if session.left_out:
        yield session.left_out_words()


def _after(session: Seen) -> Teller:
    """What tells a session whose result, if it has one, follows the posts."""
    presenter = session.presenter()
    presenter.ending = session.result
    return Teller(presenter, session.turns)


def markdown(session: Record | Seen) -> Iterator[str]:
    """The whole session as a Markdown page, as far as it may be seen; texts stand in code blocks, so that nothing in
    them is markup."""
    session = seen(session)
    first, teller = session.opened, _after(session)
    yield f"# Session {session.sid}"
    yield ""
    if first is not None:
        if first.continues:
            yield f"Follows up session {first.continues}."
        for text in forked(session.fork):
            yield f"{text[0].upper()}{text[1:]}."
        yield f"Protocol {first.protocol}, seed {first.seed}. Question:"
        yield ""
        yield from _block(rows(f"  {first.question}"))
    elif session.question:
        yield f"Protocol {line(session.protocol)}. Question:"
        yield ""
        yield from _block(rows(f"  {session.question}"))
    round_ = 0
    for post in session.posts:
        said = [text for text in bare(teller.lines(post, 20_000)) if text]
        if post.round > round_:
            round_ = post.round
            yield ""
            yield f"## {teller.presenter.round_name} {round_}"
            yield ""
        if said:
            yield from _block(said)
    yield ""
    yield "## Result"
    yield ""
    yield from _block(bare(teller.end(session.result)))
    if session.left_out:
        yield ""
        yield f"{session.left_out_words()}."


def _block(lines: Iterable[str]) -> Iterator[str]:
    shown = "\n".join(lines)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield shown
    yield fence
