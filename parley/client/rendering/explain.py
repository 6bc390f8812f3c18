"""Why a session stopped, in words and figures, from what its log holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from parley.bus.channels import CLIENTS, may_read
from parley.client.errors import BadInput
from parley.client.protocols import FACES, face_of
from parley.client.records import Record, entries_of, opening, result_of
from parley.client.rendering.transcript import feedback_words, forked
from parley.client.session_view import Seen, seen
from parley.client.show.learned_words import TOLD, learned_figures, learned_words
from parley.client.show.plotting import form_of
from parley.client.show.presenter import NoPicture, Presenter
from parley.client.show.words import cost_words, one_family, tokens_words
from parley.client.text import clean, count, line
from parley.client.turns import Turns
from parley.client.untrusted import shaped
from parley.schemas import log
from parley.schemas.afterwards.feedback import feedback_of
from parley.schemas.result import Result
from parley.schemas.stops import STOPS

CLOSED_LOG = (
    "Settings, models with their families, and replies that were refused stand in the log. "
    "An owner's credentials read it."
)


def figures(source: Record | Seen) -> dict[str, Any]:
    """Everything that the words rest on, as JSON values. Of a session whose log is closed to whoever asks (Seen): what
    its posts, its result and its row in the list say; the rest is None."""
    session = seen(source, everything=True)
    if session.record is None:
        return _seen_figures(session)
    result, entries, opened = session.result, entries_of(session.record), opening(session.record)
    presenter = _presenter(session)
    invited = (c.seat for e in entries for c in e.commands if isinstance(c, log.Invite))
    seats = (*opened.seats, *invited)
    return {
        **_result_figures(presenter, result),
        "session": session.sid,
        "protocol": opened.protocol,
        "question": opened.question,
        "settings": opened.settings,
        "seats": [{"seat": s.seat, "role": s.role, "weight": s.weight, "model": s.model} for s in seats],
        "transitions": len(entries),
        "failures": Turns(entries, lambda channel: may_read(CLIENTS, channel), sid=session.sid).failures,
        "fork": None if opened.fork is msgspec.UNSET else msgspec.to_builtins(opened.fork),
        "feedback": [msgspec.to_builtins(f) for f in feedback_of(session.posts)],
        "duration_s": result.duration_s if result else (entries[-1].at_ns - entries[0].at_ns) / 1e9,
        **presenter.explained_figures(session.sid, entries),
    }


def _seen_figures(session: Seen) -> dict[str, Any]:
    result, fork = session.result, session.fork
    seats = dict.fromkeys(post.seat for post in session.posts if post.seat)
    return {
        **_result_figures(_presenter(session), result),
        "session": session.sid,
        "protocol": session.protocol,
        "question": session.question,
        "settings": None,
        "seats": [{"seat": seat, "role": None, "weight": None, "model": None} for seat in seats],
        "transitions": None,
        "failures": None,
        "fork": None if fork is None else msgspec.to_builtins(fork),
        "feedback": [msgspec.to_builtins(f) for f in feedback_of(session.posts)],
        "duration_s": result.duration_s if result else None,
    }


def _result_figures(presenter: Presenter, result: Result | None) -> dict[str, Any]:
    row = STOPS.get(result.stop.reason) if result else None
    return {
        "open": result is None,
        "stop": None if result is None else msgspec.to_builtins(result.stop),
        "calibrated": _calibrated(result),
        "words": row.in_words(result.stop.converged) if row and result else "",
        "exit_status": row.exit_status(result.stop.converged) if row and result else None,
        "status": result.status if result else "open",
        "outcome": result.outcome if result else None,
        "rounds": [_round(presenter, r) for r in result.rounds] if result else [],
        "usage": msgspec.to_builtins(result.usage) if result else None,
    }


def _calibrated(result: Result | None) -> Any:
    """What the confidence is calibrated to, as JSON values; None: it is not."""
    known = result is not None and result.calibrated is not msgspec.UNSET
    return msgspec.to_builtins(result.calibrated) if result is not None and known else None


def _presenter(session: Seen) -> Presenter:
    """The presenter of the session, after its last post."""
    presenter = session.presenter()
    for post in session.posts:
        presenter.take(post)
    return presenter


def _round(presenter: Presenter, figures: dict[str, Any]) -> dict[str, Any]:
    return dict(shaped(lambda: presenter.round_figures(figures).items(), figures.items))


def words(given: Record | Seen) -> Iterator[str]:
    """The explanation in lines."""
    session = seen(given, everything=True)
    explained = figures(session)
    entries = entries_of(session.record) if session.record else []
    result = session.result
    presenter = _presenter(session)
    protocol = line(explained["protocol"] or "protocol unknown")
    yield f"Session {line(session.sid)}, {protocol}: {line(explained['question'], 200)}"
    yield from forked(session.fork)
    if result is None:
        so_far = f"{explained['transitions']} transitions" if entries else count(len(session.posts), "post")
        yield f"It is still open after {so_far}."
        yield from presenter.explained(session.sid, entries) if entries else ()
        yield from _failures(explained)
        return
    certificate = {name: value for name, value in result.stop.certificate.items() if name not in TOLD}
    base = Presenter()
    (why,) = shaped(lambda: [presenter.stop_words(result)], lambda: [base.stop_words(result)])
    yield f"It ended with status {line(result.status)}: {why}."
    row = STOPS.get(result.stop.reason)
    if row is None or row.converged or row.exit_code:  # else it ended as planned, and sought no agreement
        yield f"Converged: {'yes' if result.stop.converged else 'no'}."
    yield from shaped(lambda: presenter.certificate_words(certificate), lambda: base.certificate_words(certificate))
    yield from presenter.explained(session.sid, entries) if entries else ()
    for r in explained["rounds"]:
        yield from _round_words(presenter, r)
    yield from _failures(explained)
    (answer,) = shaped(lambda: [presenter.answer(result)], lambda: [base.answer(result)])
    yield (
        f"{presenter.answer_words(result, presenter.answer_word)}: {clean(answer)}" if answer else "There is no answer."
    )
    if (record := session.record) is not None:
        families = [seat.family for seat in opening(record).seats if seat.metered]
        yield from one_family(f"All {len(families)} seats with a language model", families)
        yield from shaped(lambda: presenter.cautions(opening(record)), lambda: ())
    yield from shaped(lambda: learned_words(result), lambda: learned_figures(result))
    yield from shaped(lambda: presenter.concluded(result), lambda: base.concluded(result))
    yield from feedback_words(feedback_of(session.posts))
    yield f"Used: {presenter.usage_words(result)}."
    for seat, used in result.usage.by_seat.items():
        turns, calls = count(used.turns, "turn"), count(used.calls, "call")
        yield f"  {line(seat)}: {turns}, {calls}, {tokens_words(used)}, {cost_words(used)}"


def _failures(figures: dict[str, Any]) -> Iterator[str]:
    """Attempts that were no good, where they are known."""
    if figures["failures"] is None:
        yield CLOSED_LOG
    else:
        yield from map(_failure, figures["failures"])


def _round_words(presenter: Presenter, figures: dict[str, Any]) -> list[str]:
    return shaped(lambda: presenter.round_words(figures), lambda: Presenter.round_words(presenter, figures))


def _failure(failure: dict[str, Any]) -> str:
    """One attempt at a turn that was no good."""
    who = ""
    if "seat" in failure:
        attempt = f", attempt {failure['attempt']}" if failure["attempt"] > 1 or not failure["last"] else ""
        end = ", nothing came of it" if failure["last"] else ""
        who = f"{line(failure['seat'])}, round {failure['round']} ({line(failure['kind'])}{attempt}{end}): "
    return f"Transition {failure['transition']}: {who}{line(str(failure['why']), 300).rstrip('.')}."


def draw(record: Record, path: Path) -> None:
    """Draw a record's picture into a file.

    Raises
    ------
    BadInput
        An unknown format, a session of which no picture can be drawn, a file that cannot be written.
    """
    form = form_of(path)
    protocol = opening(record).protocol
    if not face_of(protocol).presenter.picture:
        those = " and ".join(name for name in FACES if FACES[name].presenter.picture)
        why = f"which has no picture; {those} have one"
        raise BadInput("--plot", f"session {line(record.sid)} ran {line(protocol)}, {why}")
    result = result_of(record)
    try:
        drawn = _presenter(seen(record, everything=True)).draw(result.stop if result else None, form)
    except NoPicture as error:
        raise BadInput("--plot", f"session {line(record.sid)} {error}") from error
    try:
        path.write_bytes(drawn)
    except OSError as error:
        raise BadInput("--plot", f"cannot write {path}: {error.strerror}") from error
