"""A session as one page for a browser. It has no script and loads nothing, and no text can break out of its place.

Whatever is said passes one place, `_shown`: control characters and bidirectional overrides are written out, as on a
terminal, and the template escapes the rest. The page holds what a client may read of a session: its question, what was
said on the channels that clients read, and its result; not what the log alone knows, such as models and failures.
"""

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined
from markupsafe import Markup

from parley.client.records import Record, entries_of
from parley.client.rendering.post_cards import rounds_of
from parley.client.rendering.transcript import feedback_words, forked
from parley.client.session_view import Seen, seen
from parley.client.show.learned_words import learned_figures, learned_words
from parley.client.show.presenter import PagePart, Presenter
from parley.client.show.words import cost_words, seat_name
from parley.client.text import clean, line
from parley.client.untrusted import shaped
from parley.schemas.afterwards.feedback import feedback_of
from parley.schemas.result import Result, SeatUsage

_TITLE = 80
_PAGE = "page.html"


def html(session: Record | Seen) -> Iterator[str]:
    """The page's lines, as far as the session may be seen."""
    session = seen(session)
    result = session.result
    own, end = _of_protocol(session.presenter(), session, result)
    presenter = session.presenter()
    rounds = list(rounds_of(session.posts, presenter)) if own.transcript else []
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
        "rounds": rounds,
        "anchors": {shown.post.n: shown.post for r in rounds for shown in r.cards},
        "round_name": presenter.round_name.lower(),
        "seat_name": seat_name,
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


@lru_cache(maxsize=32)
def _environment(template: Path | None) -> Environment:
    """Everything that a template puts out is cleaned and escaped; a name that is not there is an error. `template`: the
    protocol's own, which extends the page."""
    general = PackageLoader("parley.client.rendering")
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
        "reads": presenter.reads(result),
        "learned": shaped(lambda: learned_words(result), lambda: learned_figures(result)),
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
