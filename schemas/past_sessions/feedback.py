"""What a person says of a session after its end: that its result is right or wrong, and which of its notes stay. The
last word counts, all are kept."""

from collections.abc import Iterable

import msgspec

from parley.schemas.folders.notes import Note
from parley.schemas.post import Post
from parley.schemas.wire import decode_or_none

FEEDBACK = "feedback"
"""Kind of the posts that say it, on `control`: those of a session that come behind the one that closed it."""
NOTES = "notes"
"""Kind of the posts with which a person changes what is remembered of it."""
RIGHT, WRONG = "right", "wrong"
MOST_FEEDBACK = 100
"""Words of either kind on one session that are kept."""
CHANNEL = "control"
"""Where they stand."""


class Feedback(msgspec.Struct, frozen=True, kw_only=True):
    """Body of such a post."""

    author: str
    """Who said it: the user that the credential stands for."""
    right: bool
    answer: str = ""
    """What the answer should have been, where the person says it."""
    note: str = ""

    @property
    def verdict(self) -> str:
        """In one word."""
        return RIGHT if self.right else WRONG


def is_feedback(post: Post) -> bool:
    """Whether a person says with this post what it thinks of the result."""
    return post.kind == FEEDBACK and post.channel == CHANNEL


def feedback_of(posts: Iterable[Post]) -> tuple[Feedback, ...]:
    """All that was said of a session, in its order: the last one counts."""
    said = (decode_or_none(post.body, Feedback) for post in posts if is_feedback(post))
    return tuple(feedback for feedback in said if feedback is not None)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """Body of a post NOTES: what is left of the session's notes, as a person has them."""

    author: str
    notes: tuple[Note, ...] = ()


def kept_of(posts: Iterable[Post]) -> Kept | None:
    """The notes as a person left them last; None: nobody changed them."""
    said = (decode_or_none(p.body, Kept) for p in reversed(list(posts)) if p.kind == NOTES and p.channel == CHANNEL)
    return next((kept for kept in said if kept is not None), None)
