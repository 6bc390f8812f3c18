"""What a worker does when it hears a post, apart from the turns that it serves."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from schemas.post import Post
from schemas.turn import Speak


class Hear(NamedTuple):
    """What a process does about posts."""

    posts: tuple[tuple[str, str], ...]
    """(channel, kind) of those that it hears: of others the server tells it nothing."""
    react: Callable[[Post], Speak | None]
    """Speaks up, or does nothing. Never a model call."""


def joined(parts: Sequence[Hear]) -> Hear | None:
    """One for all: of those that hear a post, the first that speaks up is taken. None: there are none."""
    if len(parts) < 2:
        return parts[0] if parts else None

    def react(post: Post) -> Speak | None:
        said = (part.react(post) for part in parts if (post.channel, post.kind) in part.posts)
        return next((speak for speak in said if speak is not None), None)

    return Hear(tuple(dict.fromkeys(heard for part in parts for heard in part.posts)), react)
