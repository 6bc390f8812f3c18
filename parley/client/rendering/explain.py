"""Why a session stopped: one screen, and the parts behind it opened by their names."""

from collections.abc import Iterator
from pathlib import Path

from parley.client.errors import BadInput, bad_input
from parley.client.records import Record, opening
from parley.client.rendering import picture
from parley.client.rendering.terminal import answer_lines, bare, card_lines, part_lines
from parley.client.show.card import CardPart
from parley.client.show.control import feedback_words, fork_lines
from parley.client.show.words import one_family, preference_words
from parley.client.text import count, line, wrapped
from parley.client.untrusted import shaped
from parley.client.view.fold import Fold, fold_of
from parley.client.view.result import failure_words
from parley.schemas.past_sessions.feedback import feedback_of
from parley.schemas.stops import STOPS

EVERY = "all"
"""Instead of a part's name: every part."""
CLOSED_LOG = (
    "Settings, models with their families, and replies that were refused stand in the log. "
    "An owner's credentials read it."
)
_WIDE = 80
_OPEN = 200
"""Characters of a question, and of what kept it from being settled, where one screen is to hold them."""


def explanation_lines(
    source: Record | Fold, part: str = "", *, cut: bool = False, named: str = "", where: str = ""
) -> Iterator[str]:
    """The explanation in lines. Raises BadInput where there is no such part.

    Parameters
    ----------
    part
        Only what has this name, or `all`.
    cut
        One screen is to hold it.
    named, where
        The session as the command named it, and the options that name the bus, for the command that is shown.
    """
    fold = fold_of(source)
    fold.led = True  # the parts' names are the next step
    parts = _parts(fold)
    if part and part != EVERY:
        wanted = [p for p in parts if p.name == part]
        if not wanted:
            raise BadInput("part", f"got {part!r}; session {fold.sid} has {', '.join(p.name for p in parts)}, {EVERY}")
        yield from bare(told for p in wanted for told in part_lines(p))
        return
    most = _OPEN if cut else 0
    yield f"Session {line(fold.sid)}, {line(fold.protocol or 'protocol unknown')}: {line(fold.question, most)}"
    yield from fork_lines(fold.fork)
    card = fold.answer()
    if card is None:
        many = count(len(fold.entries), "step") if fold.entries else count(len(fold.posts), "post")
        yield f"It is still open after {many}."
    else:
        yield from bare(answer_lines(card, cut=cut))
        why = f": {line(card.open, most)}" if card.open else ""
        yield f"It ended with status {line(card.status)}: {line(card.stop)} ({line(card.reason)}){why}."
        row = STOPS.get(card.reason)
        if row is None or row.converged or row.exit_code:  # else it ended as planned, and sought no agreement
            yield f"Converged: {'yes' if card.converged else 'no'}."
    if (result := fold.result) is not None:
        yield from shaped(lambda: preference_words(result), lambda: ())
    if (opened := fold.opened) is not None:
        families = [seat.family for seat in opened.seats if seat.metered]
        yield from one_family(f"All {len(families)} seats with a language model", families)
        yield from shaped(lambda: fold.show.cautions(opened), lambda: ())
    else:
        yield CLOSED_LOG
    yield from feedback_words(feedback_of(fold.posts))
    if card is not None:
        yield f"Used: {card.used}."
    if part == EVERY:
        for one in parts:
            yield ""
            yield from bare(part_lines(one))
    elif parts:
        again = f"parley explain {line(named or fold.sid)} NAME{where}"
        yield from wrapped(f"More, by name ({again}): {', '.join(p.name for p in parts)}, {EVERY}.", _WIDE)


def _parts(fold: Fold) -> tuple[CardPart, ...]:
    """What stands behind the answer, and what was said; of an open session what is known so far."""
    told = list(bare(x for r in fold.rounds() for x in (("", r.name), *(y for c in r.posts for y in card_lines(c)))))
    posts = CardPart(name="posts", title="What was said", lines=tuple(told))
    card = fold.answer()
    if card is not None:
        return (*card.parts, posts)
    failures = tuple(map(failure_words, fold.turns.failures))
    logged = shaped(lambda: fold.show.of_log(fold.sid, fold.entries) if fold.entries else (), lambda: ())
    refused = [CardPart(name="failures", title="Replies that were not accepted", lines=failures)] if failures else []
    return (*logged, *refused, posts)


def draw(record: Record, path: Path) -> str:
    """Draw a record's picture into a file; what it shows, in words. Raises BadInput: an unknown format, a session of
    which no picture can be drawn, a file that cannot be written."""
    form = picture.form_of(path)
    fold = fold_of(record)
    series = fold.signals()
    groups = picture.grouped(series)
    if not groups:
        why = "nothing was measured by round" if fold.entries else "nothing is known of it"
        raise BadInput("--plot", f"session {line(record.sid)} ({line(opening(record).protocol)}) has no picture: {why}")
    with bad_input("--plot", OSError, what=f"cannot write {path}"):
        path.write_bytes(picture.draw(series, fold.answer(), fold.show.round_name, form))
    return f"{path}: {', '.join(title.lower() for title in groups)}, by {fold.show.round_name.lower()}"
