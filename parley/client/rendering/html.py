"""A session as one page for a browser. It has no script and loads nothing, and no text can break out of its place.

Whatever is said passes one place, `_shown`: control characters and bidirectional overrides are written out, as on a
terminal, and the template escapes the rest. The page holds what a client may read of a session: its question, what was
said on the channels that clients read, and its result; not what the log alone knows, such as models and failures.
"""

import base64
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from parley.client.records import Record
from parley.client.rendering.picture import draw
from parley.client.rendering.terminal import left_out_words
from parley.client.show.control import feedback_words
from parley.client.show.palette import css, seat_name
from parley.client.text import clean, line
from parley.client.view.fold import Fold, fold_of
from parley.schemas.past_sessions.feedback import feedback_of

_TITLE = 80


def html(source: Record | Fold) -> Iterator[str]:
    """The page's lines, as far as the session may be seen."""
    fold = fold_of(source)
    chart = _chart(fold) if fold.signals() else ""
    yield _rendered("page.html", fold, {"chart": chart, "left_out": left_out_words(fold), "colours": Markup(css())})


def notebook(fold: Fold) -> str:
    """The result, and folded away what was said and what stands behind it, for a cell of a notebook."""
    return _rendered("notebook.html", fold, {})


def _rendered(template: str, fold: Fold, more: dict[str, Any]) -> str:
    view = fold.view()
    began_ns = fold.entries[0].at_ns if fold.entries else min((post.at_ns for post in fold.posts), default=0)
    facts: dict[str, Any] = {
        "view": view,
        "title": line(view.question or f"Session {view.session}", _TITLE),
        "began": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(began_ns / 1e9)),
        "card": view.result,
        "feedback": feedback_words(feedback_of(fold.posts)),
        "anchors": {card.n: card for card in fold.cards if card.place != "hidden"},
        "seat_name": seat_name,
        **more,
    }
    return _environment().get_template(template).render(facts)


def _chart(fold: Fold) -> str:
    """The picture, base64: as an image it can neither run nor load anything, whatever its texts are."""
    return base64.b64encode(draw(fold.signals(), fold.answer(), fold.show.round_name, "svg")).decode()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Everything that a template puts out is cleaned and escaped; a name that is not there is an error."""
    return Environment(
        loader=PackageLoader("parley.client.rendering"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """What stands for a value on the page, before it is escaped."""
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value
