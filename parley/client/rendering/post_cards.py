"""The cards of a session's posts, as the web page and the exported page show them."""

from collections.abc import Iterable, Iterator

import msgspec

from parley.bus.channels import CONTROL
from parley.client.rendering.transcript import feedback_words, forked
from parley.client.session_view import fork_of
from parley.client.show.cards import Card, bounded
from parley.client.show.presenter import Presenter
from parley.client.turns import SEAT, WITHDRAWN
from parley.client.untrusted import number, object_of, shaped, words
from parley.schemas.afterwards.feedback import feedback_of, is_feedback
from parley.schemas.afterwards.fork import FORK
from parley.schemas.post import Post


class Shown(msgspec.Struct, frozen=True):
    """A post and its card."""

    post: Post
    card: Card


class RoundOfCards(msgspec.Struct, frozen=True):
    """A round and what was said in it."""

    number: int
    name: str
    """`Round 2`; `Beginning` of what comes before the first."""
    note: str
    cards: tuple[Shown, ...]


def card_of(post: Post, presenter: Presenter) -> Card:
    """The card of a post that the presenter just took, as any protocol's where another version wrote it."""
    cards = shaped(lambda: [presenter.card(post)], lambda: [Presenter().card(post)])
    return control_card(post) or bounded(cards[0])


def control_card(post: Post) -> Card | None:
    """What a moderator says in every protocol; None: another post."""
    if post.channel != CONTROL:
        return None
    body = object_of(post.body)
    seat = words(body.get("seat", ""))
    if post.kind == SEAT:
        return Card(place="line", text=f"{seat}: {seat_words(post)}")
    if post.kind == FORK:
        return Card(place="line", text=". ".join(forked(fork_of([post]))))
    if is_feedback(post):
        return Card(place="line", text="; ".join(t.strip() for t in feedback_words(feedback_of([post]))))
    if post.kind == WITHDRAWN:
        return Card(place="line", text=f"{seat}: turns withdrawn")
    return None


def seat_words(post: Post) -> str:
    """Whose turns a seat's are from this post on."""
    body = object_of(post.body)
    if not body.get("human"):
        return "its agent goes on"
    if seconds := number(body.get("waits")):
        return f"its turns wait for a person, at most {seconds:g} s each; then its agent takes them"
    return "a person sits down"


def rounds_of(posts: Iterable[Post], presenter: Presenter) -> Iterator[RoundOfCards]:
    """All cards that a reader needs, by rounds. What comes after the last round stays with it. `presenter`: new."""
    held: list[tuple[int, list[Shown]]] = []
    for post in posts:
        presenter.take(post)
        card = card_of(post, presenter)
        if card.place == "hidden":
            continue
        if not held or post.round > held[-1][0]:
            held.append((post.round, []))
        held[-1][1].append(Shown(post, card))
    for n, shown in held:
        name = f"{presenter.round_name} {n}" if n else "Beginning"
        yield RoundOfCards(n, name, presenter.round_note(n), tuple(shown))
