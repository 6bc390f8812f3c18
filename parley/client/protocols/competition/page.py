"""The part of a session's page that a competition has: verdict, scoreboard, chart, speeches with their marks."""

import base64
from collections.abc import Iterable
from typing import Any

import msgspec

from parley.client.protocols.competition.decided import decided
from parley.client.protocols.competition.plot import draw
from parley.client.protocols.competition.story import Story
from parley.client.protocols.competition.transcript import (
    SHORT,
    Standing,
    best_words,
    facts,
    marks_words,
    outcome_of,
    pieces,
    points,
    standings,
    tally_words,
    verdict,
    violations,
)
from parley.client.show.lines import Block
from parley.schemas.post import Post
from parley.schemas.protocols.competition.format import DIMENSIONS
from parley.schemas.protocols.competition.messages import Said, Scored
from parley.schemas.result import Result


class Article(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was said at length, with what the judge made of it."""

    block: Block
    score: str = ""
    marks: str = ""
    violations: tuple[str, ...] = ()
    anchor: str = ""


class Chapter(msgspec.Struct, kw_only=True):
    """A stage."""

    heading: str
    parts: list[Article | tuple[str, str]]
    """Articles, and lines (style, text)."""


def facts_of(posts: Iterable[Post], result: Result | None, story: Story) -> dict[str, Any]:
    """The values that the template shows. `story` has no post yet."""
    chapters = _chapters(posts, story)
    outcome = outcome_of(result.outcome) if result is not None else None
    return {
        "verdict": verdict(result.outcome, story) if result is not None else "",
        "best": best_words(outcome) if outcome is not None and outcome.best else "",
        "notes": [*facts(outcome), *decided(outcome, story)] if outcome is not None else [],
        "votes": [f"Audience {t.name} the debate: {tally_words(t, story)}" for t in story.tallies],
        "standings": [_row(s) for s in standings(story)] if story.totals else [],
        "chart": base64.b64encode(draw(story, "svg")).decode() if story.cumulative() else "",
        "dimensions": [SHORT.get(name, name) for name in DIMENSIONS],
        "scores": [_score(i, s.scored, story) for i, s in enumerate(story.speeches, 1) if s.scored is not None],
        "chapters": chapters,
    }


def _row(s: Standing) -> dict[str, Any]:
    return {
        "shown": s.shown, "team": s.team, "style": s.name.partition("_")[0], "speeches": s.shown_speeches,
        "taken": points(s.taken), "total": points(s.total),
    }  # fmt: skip


def _score(number: int, scored: Scored, story: Story) -> dict[str, Any]:
    marks = [points(getattr(scored.marks, name)) if scored.marks is not None else "–" for name in DIMENSIONS]
    fined = sum(f.team_points + f.individual_points for f in scored.fines)
    return {
        "number": number, "seat": scored.seat, "marks": marks, "score": points(scored.score),
        "fined": points(fined) if fined else "", "totals": [points(scored.totals.get(t, 0)) for t in ("pro", "con")],
    }  # fmt: skip


def _chapters(posts: Iterable[Post], story: Story) -> list[Chapter]:
    """The debate by stages. What the judge made of a speech stands with it."""
    chapters: list[Chapter] = []
    places: dict[int, tuple[Chapter, int]] = {}
    for post in posts:
        body = story.take(post)
        if body is None:
            continue
        if not chapters or chapters[-1].heading != story.stage_words(story.round):
            chapters.append(Chapter(heading=story.stage_words(story.round), parts=[]))
        here = chapters[-1]
        if isinstance(body, Scored) and body.post in places:
            chapter, at = places[body.post]
            article = chapter.parts[at]
            assert isinstance(article, Article), "speeches are articles"
            chapter.parts[at] = _judged(article, body)
            continue
        for piece in pieces(post, body, story):
            if isinstance(piece, Block):
                here.parts.append(Article(block=piece, anchor=f"speech-{len(story.speeches)}"))
                if isinstance(body, Said):
                    places[post.n] = (here, len(here.parts) - 1)
            else:
                here.parts.append((piece[0], piece[1].strip()))
    return chapters


def _judged(article: Article, body: Scored) -> Article:
    score = points(body.score) if body.marks is not None else "unscored"
    return msgspec.structs.replace(
        article,
        score=score,
        marks=marks_words(body),
        violations=tuple(violations(body)) if body.fines or body.marks else (),
    )
