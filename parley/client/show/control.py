"""What a moderator says in every protocol: who sits where, forks, feedback, turns that were withdrawn."""

from collections.abc import Sequence
from typing import Any

import msgspec

from parley.bus.channels import CONTROL
from parley.client.show.card import Card
from parley.client.show.palette import seat_name
from parley.client.show.words import WHOLE
from parley.client.text import count, line
from parley.schemas import log
from parley.schemas.past_sessions.feedback import Feedback, feedback_of, is_feedback
from parley.schemas.past_sessions.fork import FORK, Fork, carried_words, fork_words
from parley.schemas.post import Post, decode_body
from parley.schemas.wire import figure

SEAT = "seat"
"""Kind of the post on `control` that says whether a person sits on a seat."""
WITHDRAWN = "withdrawn"
"""Kind of the post on `control` that names turns which a session took back."""


class Seated(msgspec.Struct, frozen=True):
    """Body of a SEAT post."""

    seat: str
    human: bool = False
    waits: float = 0.0
    """Seconds that a turn waits for the person; 0: one sits there."""


class Withdrawn(msgspec.Struct, frozen=True):
    """Body of a WITHDRAWN post."""

    seat: str = ""
    turns: tuple[str, ...] = ()


def seating(of: log.Say | Post) -> Any:
    """What such a post says; None: it is another one."""
    return decode_body(of, {SEAT: Seated, WITHDRAWN: Withdrawn}) if of.channel == CONTROL else None


def control_card(post: Post) -> Card | None:
    """The card of such a post; None: another one."""
    match seating(post):
        case Seated(seat=seat, human=human, waits=waits):
            wait = f"its turns wait for a person, at most {figure(waits)} s each; then its agent takes them"
            sits = (wait if waits else "a person sits down") if human else "its agent goes on"
            return Card(place="line", tone="warn", text=f"{seat_name(seat)}: {sits}")
        case Withdrawn(seat=seat, turns=turns):
            return Card(place="line", text=f"{seat_name(seat)}: {count(len(turns), 'turn')} withdrawn")
    if post.kind == FORK and post.channel == CONTROL:
        return Card(place="line", text=". ".join(fork_lines(fork_of([post]))))
    if is_feedback(post):
        return Card(place="line", tone="warn", text="; ".join(t.strip() for t in feedback_words(feedback_of([post]))))
    return None


def fork_of(posts: Sequence[Post]) -> Fork | None:
    """Where a session comes from, as its posts say it."""
    return next((decode_body(p, {FORK: Fork}) for p in reversed(posts) if p.kind == FORK), None)


def fork_lines(fork: Fork | None) -> list[str]:
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
