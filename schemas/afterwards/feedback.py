"""What a person says of a session's result, after its end: right or wrong. The last word counts, all are kept."""

from collections.abc import Iterable

import msgspec

from parley.schemas.post import Post
from parley.schemas.wire import SchemaError, decode

FEEDBACK = "feedback"
"""Kind of the posts that say it, on `control`: those of a session that come behind the one that closed it."""
RIGHT, WRONG = "right", "wrong"
MOST_FEEDBACK = 100
"""Words on one session that are kept."""
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
    feedback: list[Feedback] = []
    for post in posts:
        if is_feedback(post):
            try:
                feedback.append(decode(post.body, Feedback))
            except SchemaError:  # of another release
                continue
    return tuple(feedback)
