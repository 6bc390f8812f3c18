"""A session as one page for a browser. It has no script and loads nothing, and no text can break out of its place.

Whatever is said passes one place, `_shown`: control characters and bidirectional overrides are written out, as on a
terminal, and the template escapes the rest. The page holds what a client may read of a session: its question, what was
said on the channels that clients read, and its result; not what the log alone knows, such as models and failures.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined
from markupsafe import Markup

from client.records import Record, entries_of
from client.session_view import Seen, seen
from client.show.lines import StyledLine
from client.show.presenter import PagePart, Presenter
from client.show.transcript import Teller, feedback_words, forked
from client.show.untrusted import shaped
from client.show.words import cost_words
from client.text import clean, line
from schemas.afterwards.feedback import feedback_of
from schemas.result import Result, SeatUsage

_TITLE = 80
_WIDTH = 20_000
_PAGE = "page.html"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One round of the transcript: its heading and its lines."""

    heading: str
    lines: tuple[StyledLine, ...]


def html(session: Record | Seen) -> Iterator[str]:
    """The page's lines, as far as the session may be seen."""
    session = seen(session)
    result = session.result
    own, end = _of_protocol(session.presenter(), session, result)
    facts: dict[str, Any] = {
        "sid": session.sid,
        "title": line(session.question or f"Session {session.sid}", _TITLE),
        "protocol": session.protocol,
        "question": session.question or f"Session {session.sid}",
        "continues": session.opened.continues if session.opened else "",
        "began": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(_began_ns(session) / 1e9)),
        "left_out": session.left_out_words(),
        "result": result,
        "end": end,
        "forked": forked(session.fork),
        "feedback": feedback_words(feedback_of(session.posts)),
        "own": own.facts,
        "transcript": own.transcript,
        "parts": list(_parts(session)) if own.transcript else [],
    }
    template = own.template.name if own.template is not None else _PAGE
    yield _environment(own.template).get_template(template).render(facts)


def _of_protocol(presenter: Presenter, session: Seen, result: Result | None) -> tuple[PagePart, dict[str, Any] | None]:
    """What the protocol adds, and the end; those of any protocol where another version wrote what is shown."""

    def facts(shows: Presenter) -> Iterator[tuple[PagePart, dict[str, Any] | None]]:
        yield shows.page(session.posts, result), _end(result, shows) if result else None

    (made,) = shaped(lambda: facts(presenter), lambda: facts(Presenter()))
    return made


def _began_ns(session: Seen) -> int:
    """When it began, or what was posted first."""
    if session.record is not None:
        return entries_of(session.record)[0].at_ns
    return min((post.at_ns for post in session.posts), default=0)


def _environment(template: Path | None) -> Environment:
    """Everything that a template puts out is cleaned and escaped; a name that is not there is an error. `template`: the
    protocol's own, which extends the page."""
    general = PackageLoader("client.show")
    loader = general if template is None else ChoiceLoader([general, FileSystemLoader(template.parent)])
    return Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, finalize=_shown, trim_blocks=True, lstrip_blocks=True
    )


def _shown(value: Any) -> Any:
    """What stands for a value on the page, before it is escaped."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _end(result: Result, presenter: Presenter) -> dict[str, Any]:
    """The answer, why it ended, what was used."""
    return {
        "answer": presenter.answer(result),
        "reasoning": presenter.reasoning(result),
        "quotes": presenter.quotes(result.outcome),
        "confidence": presenter.confidence(result),
        "words": presenter.stop_words(result),
        "certificate": presenter.certificate_rows(result.stop.certificate),
        "beside": [text for _, text in presenter.beside(result)],
        "usage": presenter.usage_words(result),
        "by_seat": [
            (seat, (u.turns, u.calls, _input(u), f"{u.output_tokens:,}", cost_words(u).removesuffix(" USD")))
            for seat, u in result.usage.by_seat.items()
        ],
    }


def _input(u: SeatUsage) -> str:
    return f"{u.input_tokens:,}" + (f" ({u.cached_tokens:,} cached)" if u.cached_tokens else "")


def _parts(session: Seen) -> Iterator[Part]:
    """The transcript by rounds; what comes after the last round, such as the stop, stays with it."""
    held: list[tuple[int, list[StyledLine]]] = []
    teller = Teller(session.presenter())
    for post in session.posts:
        lines = [(style, text.strip()) for style, text in teller.lines(post, _WIDTH)]
        if not lines:
            continue
        if not held or post.round > held[-1][0]:
            held.append((post.round, []))
        held[-1][1].extend(lines)
    for number, said in held:
        name = teller.presenter.round_name
        yield Part(heading=f"{name} {number}" if number else "Beginning", lines=tuple(said))
