"""What a worker does when it hears a post, apart from the turns that it serves."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from parley.schemas.post import Post
from parley.schemas.turn import Speak


class Hear(NamedTuple):
    """How a process reacts to posts."""

    posts: tuple[tuple[str, str], ...]
    """(channel, kind) of the posts that it hears; the server sends it no others."""
    react: Callable[[Post], Speak | None]
    """Returns what to say, or nothing. Never calls a model."""


def join_hearers(parts: Sequence[Hear]) -> Hear | None:
    """All of them as one: of those that hear a post, the first that has something to say is taken. None: there are
    none."""
    if len(parts) < 2:
        return parts[0] if parts else None

    def react(post: Post) -> Speak | None:
        replies = (part.react(post) for part in parts if (post.channel, post.kind) in part.posts)
        return next((speak for speak in replies if speak is not None), None)

    return Hear(tuple(dict.fromkeys(heard for part in parts for heard in part.posts)), react)
