"""Why a session stopped, in words and figures, from what its log holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bus.channels import CLIENTS, may_read
from client.errors import BadInput
from client.protocols import FACES, face_of
from client.records import Record, entries_of, opening, posts_of, result_of
from client.show.learned_words import learned_words
from client.show.plotting import form_of
from client.show.presenter import NoPicture, Presenter
from client.show.transcript import feedback_words, forked
from client.show.untrusted import shaped
from client.show.words import cost_words, tokens_words
from client.text import clean, count, line
from client.turns import Turns
from schemas import log
from schemas.afterwards.feedback import feedback_of
from schemas.result import Result
from schemas.stops import STOPS


def figures(record: Record) -> dict[str, Any]:
    """Everything that the words rest on, as JSON values."""
    result = result_of(record)
    entries = entries_of(record)
    opened = opening(record)
    presenter = _presenter(record)
    invited = (c.seat for e in entries for c in e.commands if isinstance(c, log.Invite))
    seats = (*opened.seats, *invited)
    row = STOPS.get(result.stop.reason) if result else None
    return {
        "session": record.sid,
        "protocol": opened.protocol,
        "question": opened.question,
        "settings": opened.settings,
        "seats": [{"seat": s.seat, "role": s.role, "weight": s.weight, "model": s.model} for s in seats],
        "transitions": len(entries),
        "open": result is None,
        "stop": None if result is None else msgspec.to_builtins(result.stop),
        "calibrated": _calibrated(result),
        "words": row.told(result.stop.converged) if row and result else "",
        "exit_status": row.exit_status(result.stop.converged) if row and result else None,
        "status": result.status if result else "open",
        "outcome": result.outcome if result else None,
        "rounds": [_round(presenter, r) for r in result.rounds] if result else [],
        "failures": Turns(entries, lambda channel: may_read(CLIENTS, channel), sid=record.sid).failures,
        "fork": None if opened.fork is msgspec.UNSET else msgspec.to_builtins(opened.fork),
        "feedback": [msgspec.to_builtins(f) for f in feedback_of(posts_of(record))],
        "usage": msgspec.to_builtins(result.usage) if result else None,
        "duration_s": result.duration_s if result else (entries[-1].at_ns - entries[0].at_ns) / 1e9,
        **presenter.explained_figures(record.sid, entries),
    }


def _calibrated(result: Result | None) -> Any:
    """What the confidence is calibrated to, as JSON values; None: it is not."""
    known = result is not None and result.calibrated is not msgspec.UNSET
    return msgspec.to_builtins(result.calibrated) if result is not None and known else None


def _presenter(record: Record) -> Presenter:
    """The presenter of the session, after its last post."""
    opened = opening(record)
    presenter = face_of(opened.protocol).present(opened.settings)
    for post in posts_of(record):
        presenter.take(post)
    return presenter


def _round(presenter: Presenter, found: dict[str, Any]) -> dict[str, Any]:
    return dict(shaped(lambda: presenter.round_figures(found).items(), found.items))


def words(record: Record) -> Iterator[str]:
    """The explanation in lines."""
    found = figures(record)
    result = result_of(record)
    presenter = _presenter(record)
    yield f"Session {line(record.sid)}, {line(found['protocol'])}: {line(found['question'], 200)}"
    fork = opening(record).fork
    yield from forked(None if fork is msgspec.UNSET else fork)
    if result is None:
        yield f"It is still open after {found['transitions']} transitions."
        yield from presenter.explained(record.sid, entries_of(record))
        yield from map(_failure, found["failures"])
        return
    certificate, base = result.stop.certificate, Presenter()
    yield f"It ended with status {line(result.status)}: {presenter.stop_words(result)}."
    yield f"Converged: {'yes' if result.stop.converged else 'no'}."
    yield from shaped(lambda: presenter.certificate_words(certificate), lambda: base.certificate_words(certificate))
    yield from presenter.explained(record.sid, entries_of(record))
    for r in found["rounds"]:
        yield from _round_words(presenter, r)
    yield from map(_failure, found["failures"])
    (answer,) = shaped(lambda: [presenter.answer(result)], lambda: [base.answer(result)])
    yield f"{presenter.answer_word}: {clean(answer)}" if answer else "There is no answer."
    yield from learned_words(result)
    yield from shaped(lambda: presenter.concluded(result), lambda: base.concluded(result))
    yield from feedback_words(feedback_of(posts_of(record)))
    yield f"Used: {presenter.usage_words(result)}."
    for seat, used in result.usage.by_seat.items():
        turns, calls = count(used.turns, "turn"), count(used.calls, "call")
        yield f"  {line(seat)}: {turns}, {calls}, {tokens_words(used)}, {cost_words(used)}"


def _round_words(presenter: Presenter, found: dict[str, Any]) -> list[str]:
    return shaped(lambda: presenter.round_words(found), lambda: Presenter.round_words(presenter, found))


def _failure(found: dict[str, Any]) -> str:
    """One attempt at a turn that was no good."""
    who = ""
    if "seat" in found:
        attempt = f", attempt {found['attempt']}" if found["attempt"] > 1 or not found["last"] else ""
        end = ", nothing came of it" if found["last"] else ""
        who = f"{line(found['seat'])}, round {found['round']} ({line(found['kind'])}{attempt}{end}): "
    return f"Transition {found['transition']}: {who}{line(str(found['why']), 300).rstrip('.')}."


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
        drawn = _presenter(record).draw(result.stop if result else None, form)
    except NoPicture as error:
        raise BadInput("--plot", f"session {line(record.sid)} {error}") from error
    try:
        path.write_bytes(drawn)
    except OSError as error:
        raise BadInput("--plot", f"cannot write {path}: {error.strerror}") from error
