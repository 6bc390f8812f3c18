"""The part of a session's page that a task has: who took it, candidates, claims, challenges, reviews, the diff."""

from collections.abc import Iterable
from typing import Any

from parley.client.protocols.madp import transcript, work_words
from parley.client.protocols.madp.story import Story, body_of
from parley.schemas.post import Post
from parley.schemas.protocols.madp.messages import HandedOver, Reviewed
from parley.schemas.protocols.madp.work import Supported, Work
from parley.schemas.result import Result


def facts_of(posts: Iterable[Post], result: Result | None) -> dict[str, Any]:
    """The values that the template shows."""
    posts = tuple(posts)
    story = Story(posts)
    bodies = [(p, body_of(p)) for p in posts]
    work = [b for _, b in bodies if isinstance(b, Work)]
    outcome = result.outcome if result is not None else {}
    return {
        "who": transcript.who_words(story.consensus, story) if story.consensus is not None else "",
        "task": story.task,
        "factors": transcript.factor_words(story.task.factors) if story.task is not None else "",
        "matcher": transcript.matcher_words(story.task.matcher) if story.task is not None else "",
        "claims": story.claims.claims if story.claims is not None else (),
        "claim_words": transcript.claim_words,
        "passed": story.claims.passed if story.claims is not None else (),
        "silent": story.claims.silent if story.claims is not None else (),
        "challenges": [c for by in story.challenges for c in by.challenges],
        "consensus": story.consensus,
        "handoffs": [b for _, b in bodies if isinstance(b, HandedOver)],
        "reviews": [b for _, b in bodies if isinstance(b, Reviewed)],
        "calls": [c for _, b in bodies if isinstance(b, Work | Supported) for c in b.calls],
        "diff": str((outcome.get("work") or {}).get("diff") or (work[-1].diff if work else "")),
        "diff_note": work_words.diff_note(outcome.get("work") or {}),
        "steps": work_words.summaries(result.rounds) if result is not None else (),
        "notes": [text for _, text in transcript.outcome_lines(outcome, story, diff=False)] if outcome else [],
    }
