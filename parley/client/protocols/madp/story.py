"""Adds up the posts of a MADP task: candidates, claims, who leads and why, work, reviews, questions to a human. The
terminal view, the page and explanations use it.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from parley.schemas.post import Post, decode_body
from parley.schemas.protocols.madp.messages import (
    Answered,
    Challenges,
    ClaimsPosted,
    Consensus,
    Deliberated,
    HandedOver,
    Item,
    Reviewed,
    TaskPosted,
    Warned,
    Worded,
)
from parley.schemas.protocols.madp.work import Checked, Supported, Work

KINDS: dict[str, type] = {
    "task": TaskPosted,
    "claims": ClaimsPosted,
    "worded": Worded,
    "challenges": Challenges,
    "consensus": Consensus,
    "work": Work,
    "support": Supported,
    "handoff": HandedOver,
    "checked": Checked,
    "review": Reviewed,
    "item": Item,
    "answered": Answered,
    "warning": Warned,
    "deliberation": Deliberated,
}
"""Kind of post -> what its body is."""

_STEPS = (Work, Supported, Checked, Reviewed, Deliberated)


class Story:
    """One task, folded post by post; what cannot be read is left out."""

    def __init__(self, posts: Iterable[Post] = ()) -> None:
        self.task: TaskPosted | None = None
        self.claims: ClaimsPosted | None = None
        self.challenges: list[Challenges] = []
        self.consensus: Consensus | None = None
        self.reviews: list[Reviewed] = []
        self.steps: list[tuple[Post, Any]] = []
        """Work, support, checks, reviews and sessions beneath, in their order."""
        self.items: dict[str, Item] = {}
        self.open: dict[str, Item] = {}
        """Items that nobody has answered."""
        self.revisions = 0
        """How often work went back to its lead."""
        self._judged = False
        """The last work was reviewed or checked."""
        for post in posts:
            self.take(post)

    def take(self, post: Post) -> Any:
        """Fold one post. Its body as its type; None for what is no post of a task."""
        if post.kind == "closed" and post.channel == "control":
            self.open.clear()
        body = body_of(post)
        if isinstance(body, _STEPS):
            self.steps.append((post, body))
        match body:
            case Work() | HandedOver():
                self._judged = False
            case Reviewed():
                self._judged = True
                self.reviews.append(body)
            case Checked():
                self._judged = body.when == "after"
            case TaskPosted():
                self.task = body
            case ClaimsPosted():
                self.claims = body
            case Worded() if self.claims is not None:
                self.claims = in_words(self.claims, body)
            case Challenges():
                self.challenges.append(body)
            case Consensus():
                self.consensus = body
            case Item():
                self.items[body.id] = self.open[body.id] = body
            case Answered():
                self.open.pop(body.id, None)
        return body

    def goes_back(self) -> bool:
        """Take that the lead is asked for work: whether that is a revision of what was reviewed or checked."""
        again, self._judged = self._judged, False
        self.revisions += again
        return again

    def sure(self, expert: str) -> tuple[str, float | None]:
        """(relevance as it claims it, confidence): its own, else the matcher's; empty and None where nobody knows."""
        claims = self.claims.claims if self.claims else ()
        matched = self.task.candidates if self.task else ()
        claim = next((c for c in claims if c.agent_id == expert), None)
        candidate = next((c for c in matched if c.expert == expert), None)
        own = claim.confidence if claim is not None and claim.confidence else None
        return (
            claim.relevance if claim is not None else "",
            own if own is not None else candidate.confidence if candidate is not None else None,
        )

    def words(self, expert: str) -> str:
        """What an expert claims; empty: it claimed nothing."""
        return next((c.claim for c in (self.claims.claims if self.claims else ()) if c.agent_id == expert), "")


def in_words(claims: ClaimsPosted, worded: Worded) -> ClaimsPosted:
    """The claims as a model words them."""
    said = {c.agent_id: c for c in worded.claims}
    return msgspec.structs.replace(
        claims,
        claims=tuple(
            msgspec.structs.replace(c, claim=said[c.agent_id].claim, relevance=said[c.agent_id].relevance)
            if c.agent_id in said
            else c
            for c in claims.claims
        ),
    )


def body_of(post: Post) -> Any:
    """The post's body as its type; None for a kind that MADP has not, or a body that is not of its type."""
    return decode_body(post, KINDS)
