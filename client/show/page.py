"""A session as one page for a browser: no script, nothing from elsewhere, nothing in it that a text can break out of.

Whatever is said passes one place, `_shown`: control characters and bidirectional overrides are written out, as on a
terminal, and the template escapes the rest. The page holds what a client may read of a session: its question, what was
said on the channels that clients read, and its result; not what the log alone knows, such as models and failures.
"""

import base64
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from client import records
from client.protocols.competition import page as page_competition
from client.protocols.competition import transcript as transcript_competition
from client.protocols.maci import plot as signals_plot
from client.protocols.maci import story as maci_story
from client.protocols.maci import transcript as transcript_maci
from client.protocols.maci.story import Heard, Story
from client.protocols.madp import page as page_madp
from client.protocols.madp import story as madp_story
from client.records import Record, Seen
from client.show import transcript
from client.text import clean, line, plain
from schemas.belief import Share
from schemas.post import Post
from schemas.protocols.maci.messages import Outcome, Round
from schemas.result import Result

_TITLE = 80
_WIDTH = 20_000
_OUTCOMES = 10
"""Outcomes of the mixture that are drawn as bars; those of the beliefs' table are the same."""


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """A probability, its name, and what each debater gives it."""

    name: str
    p: str
    percent: str
    by_seat: tuple[str, ...] = ()


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One round of the transcript: its heading and its lines."""

    heading: str
    lines: tuple[transcript.Line, ...]


def html(found: Record | Seen) -> Iterator[str]:
    """The page's lines, as far as the session may be seen."""
    found = records.seen(found)
    posts, result, story = found.posts, found.result, found.story()
    competes = story.format is not None or found.protocol == "competition"
    facts: dict[str, Any] = {
        "sid": found.sid,
        "title": line(found.question or f"Session {found.sid}", _TITLE),
        "protocol": found.protocol,
        "question": found.question or f"Session {found.sid}",
        "continues": found.opened.continues if found.opened else "",
        "began": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(_began_ns(found) / 1e9)),
        "left_out": found.left_out_words(),
        "result": result,
        "end": _end(result) if result else None,
        "parts": [] if competes else list(_parts(posts)),
        "maci": _maci(posts, result) if found.protocol == "maci" else None,
        "task": page_madp.facts_of(posts, result) if found.protocol == "madp" else None,
        "competition": page_competition.facts_of(posts, result, story) if competes else None,
    }
    yield _environment().get_template("page.html").render(facts)


def _began_ns(found: Seen) -> int:
    """When it began, or what was posted first."""
    if found.record is not None:
        return records.entries_of(found.record)[0].at_ns
    return min((post.at_ns for post in found.posts), default=0)


def _environment() -> Environment:
    """Everything that a template puts out is cleaned and escaped; a name that is not there is an error."""
    return Environment(
        loader=PackageLoader("parley"), autoescape=True, undefined=StrictUndefined, finalize=_shown, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip


def _shown(value: Any) -> Any:
    """What stands for a value on the page, before it is escaped."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _end(result: Result) -> dict[str, Any]:
    """The answer, why it ended, what was used."""
    outcome, certificate = result.outcome, result.stop.certificate
    rest = {name: value for name, value in certificate.items() if name not in transcript_maci.TOLD}
    if "what" in rest:
        rest["what"] = transcript.limit_words(str(rest["what"]))
    return {
        "answer": transcript.answer_of(result),
        "reasoning": str(outcome.get("reasoning") or ""),
        "citations": outcome.get("citations") or (),
        "confidence": f"{float(outcome.get('confidence') or 0):.2f}",
        "words": transcript.stop_words(result),
        "stops": transcript_maci.stops_of(certificate),
        "agreement": transcript_maci.agreement(certificate) if certificate.get("near_consensus") else "",
        "certificate": [(name, plain(value)) for name, value in rest.items() if value not in (None, "", [], {}, ())],
        "beside": []
        if "mixture" in outcome or madp_story.is_outcome(outcome) or transcript_competition.is_outcome(outcome)
        else [text for _, text in transcript.beside(outcome)],
        "minority": outcome.get("minority") or (),
        "usage": transcript.usage_words(result),
        "by_seat": [
            (seat, (u.turns, u.calls, f"{u.input_tokens:,}", f"{u.output_tokens:,}", f"{u.cost_usd:.4f}"))
            for seat, u in result.usage.by_seat.items()
        ],
    }


def _parts(posts: Sequence[Post]) -> Iterator[Part]:
    """The transcript by rounds; what comes after the last round, such as the stop, stays with it."""
    held: list[tuple[int, list[transcript.Line]]] = []
    teller = transcript.Teller()
    for post in posts:
        lines = [(style, text.strip()) for style, text in teller.lines(post, _WIDTH)]
        if not lines:
            continue
        if not held or post.round > held[-1][0]:
            held.append((post.round, []))
        held[-1][1].extend(lines)
    for number, said in held:
        yield Part(heading=f"Round {number}" if number else "Beginning", lines=tuple(said))


# ---------------------------------------------------------------- maci


def _maci(posts: Sequence[Post], result: Result | None) -> dict[str, Any]:
    found = maci_story.story(posts)
    outcome = _outcome(result)
    mixture = found.rounds[-1].signals.mixture if found.rounds else {}
    seats = list(found.rounds[-1].beliefs) if found.rounds else []
    return {
        "columns": transcript_maci.COLUMNS,
        "rows": [_row(r) for r in found.rounds],
        "held": [r.signals.round for r in found.rounds if r.signals.held],
        "next": _next(found),
        "chart": _chart(found, result),
        "seats": seats,
        "bars": _bars(found, maci_story.top(mixture, _OUTCOMES, outcome.answer if outcome else ""), seats),
        "others": max(0, len(mixture) - _OUTCOMES),
        "rounds": [
            (
                r,
                [h for h in found.arguments if h.round == r.signals.round],
                [c for c in found.cases if c.round == r.signals.round],
            )
            for r in found.rounds
        ],
        "fate": _fate,
        "score": transcript_maci.score_words,
        "document": _documents(found),
        "blind": found.blind,
        "shares": transcript_maci.shares,
        "groups": found.groups.groups if found.groups else (),
        "plan": found.plan,
        "passages": [(p, found.found_by.get(p.id, ())) for p in found.passages],
        "vote": outcome.vote if outcome else "",
        "notes": _notes(outcome),
    }


def _outcome(result: Result | None) -> Outcome | None:
    if result is None or "mixture" not in result.outcome:
        return None
    return transcript_maci.outcome_of(result.outcome)


def _notes(outcome: Outcome | None) -> list[str]:
    if outcome is None:
        return []
    same = "the same as" if outcome.vote == outcome.answer else "not"
    vote = [f"The vote of the blind round was {outcome.vote}, {same} the answer."] if outcome.vote else []
    return [*vote, *transcript_maci.regime_words(outcome.regime), *transcript_maci.warnings(outcome)]


def _row(body: Round) -> dict[str, Any]:
    """A round in the table of signals: figures, and which of them are flags that are up."""
    s = body.signals
    cells = [
        (transcript_maci.figure(getattr(s, name)), getattr(s, name) is True) for name, _, _ in transcript_maci.COLUMNS
    ]
    return {"round": s.round, "cells": cells, "held": s.held}


def _next(found: Story) -> str:
    dials = transcript_maci.coming(found.rounds[-1]) if found.rounds else None
    return transcript_maci.dial_words(dials) if dials else ""


def _chart(found: Story, result: Result | None) -> str:
    """The picture, base64: as an image it can neither run nor load anything, whatever its texts are."""
    if not found.rounds:
        return ""
    return base64.b64encode(signals_plot.draw(found, result.stop if result else None, "svg")).decode()


def _bars(found: Story, shares: list[Share], seats: list[str]) -> list[Bar]:
    if not found.rounds:
        return []
    beliefs = {seat: {s.outcome: s.p for s in found.rounds[-1].beliefs[seat]} for seat in seats}
    return [
        Bar(
            name=share.outcome, p=f"{share.p:.2f}", percent=f"{100 * min(1.0, max(0.0, share.p)):.1f}",
            by_seat=tuple(f"{beliefs[seat].get(share.outcome, 0.0):.2f}" for seat in seats),
        )
        for share in shares
    ]  # fmt: skip


def _fate(heard: Heard) -> str:
    ruled = heard.ruled
    return maci_story.passed(ruled) if ruled.admitted else maci_story.why_refused(ruled)


def _documents(found: Story) -> Callable[[str], str]:
    names = {p.id: p.document for p in found.passages}
    return lambda passage: names.get(passage, "")
