"""The words that sessions of every protocol share: limits, stops, usage, and what past outcomes say."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.show.palette import seat_name
from parley.client.text import count, line
from parley.client.untrusted import value_as_text
from parley.schemas import log
from parley.schemas.result import Result, ResultUsage, SeatUsage
from parley.schemas.stops import stop_row

WHOLE = 2_000
"""Characters of what is said in passing, where everything is shown."""
WIDE = 160
"""Characters of a question, and of what is said in passing."""
REASON = 300


def is_settled(reason: str, converged: bool) -> bool:
    """Whether a stop has exit status 0."""
    return not stop_row(reason).exit_status(converged)


def reason_words(reason: str, converged: bool) -> str:
    """A stop reason as the table says it."""
    return stop_row(reason).in_words(converged)


def one_family(which: str, families: Sequence[str]) -> Iterator[str]:
    """A caution where several seats with a language model, `which`, are all of one family; nothing where one of them
    names no family."""
    if len(families) > 1 and len(set(families)) == 1 and families[0]:
        told = f"{which} are of one model family, {line(families[0])}."
        yield f"{told} They agree more easily than different families would."


def all_of(n: int) -> str:
    """`both`, `all 3`."""
    return "both" if n == 2 else f"all {n}"


def usage_words(played: str, u: ResultUsage, duration_s: float) -> str:
    """What was used, on one line. `played`: the rounds, in words."""
    about = "about " if u.estimated else ""
    parts = [
        played,
        count(_turns(u), "turn") + calls_words(u),
        about + tokens_words(u),
        cost_words(u),
        f"{duration_s:.1f} s",
    ]
    if u.unaccounted_turns:
        parts.append(
            f"{count(u.unaccounted_turns, 'turn')} may be lost and paid (at most {u.unaccounted_tokens:,} tokens)"
        )
    return " · ".join(parts)


def _turns(u: ResultUsage) -> int:
    """Those of its seats, and those of sessions beneath it."""
    return max(u.turns, sum(row.turns for row in u.by_seat.values()))


def calls_words(u: ResultUsage) -> str:
    """How many requests models got, where that is not one a turn; what is computed without a model (a match by words)
    is none. Where no model counted tokens: how often seats were called."""
    asked = sum(seat.calls for seat in u.by_seat.values() if seat.input_tokens + seat.output_tokens)
    return (
        ""
        if (asked or u.calls) == _turns(u)
        else f" in {count(asked, 'model request') if asked else count(u.calls, 'call')}"
    )


def tokens_words(u: ResultUsage | SeatUsage) -> str:
    """How many tokens, and how many of them an endpoint had in its cache."""
    return f"{u.input_tokens + u.output_tokens:,} tokens" + (
        f" ({u.cached_tokens:,} cached)" if u.cached_tokens else ""
    )


def cost_words(u: ResultUsage | SeatUsage) -> str:
    """What it cost, as far as prices are known."""
    if not u.unpriced:
        return f"{u.cost_usd:.4f} USD"
    return f"{u.cost_usd:.4f} USD and what has no known price" if u.cost_usd else "price unknown"


def learned_words(result: Result) -> Iterator[str]:
    """How past outcomes correct the confidence, what past tasks changed, and the record of every seat that weighed by
    one. Raises what figures of another shape raise (parley.client.untrusted.shaped)."""
    if result.calibrated is not msgspec.UNSET and result.outcome.get("answer"):
        c = result.calibrated
        fit = f"{line(c.fitted_on)} ({c.outcomes:,} outcomes, fit {line(c.version)})"
        yield f"Confidence {c.stated:.2f} reads as {c.confidence:.2f}: {fit}."
    yield from preference_words(result)
    known = result.stop.certificate.get("reliability")
    if isinstance(known, Mapping):
        yield from _records(known)


def preference_words(result: Result) -> Iterator[str]:
    """What past tasks of the same folder changed in this one."""
    for told in map(value_as_text, result.stop.certificate.get("preferences") or ()):
        yield f"{line(told[:1].upper() + told[1:])}."


def thresholds_words(opened: log.Opened) -> Iterator[str]:
    """The settings that feedback spoke for, and how much of it; nothing where none were applied, or others were
    named."""
    learned = opened.learned
    applied = msgspec.UNSET if learned is msgspec.UNSET else learned.thresholds
    if applied is msgspec.UNSET:
        return
    stand = {name: value for name, value in applied.settings().items() if opened.settings.get(name) == value}
    if stand:
        named = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in stand.items())
        of_kind = f" on questions of the kind {line(applied.kind)}" if applied.kind else ""
        yield f"learned: {named}, from {count(applied.outcomes, 'outcome')}{of_kind}"


def _records(known: Mapping[str, Any]) -> Iterator[str]:
    kind = f" on questions of the kind {line(str(known['kind']))}" if known.get("kind") else ""
    yield f"Seats weighed by their records{kind}, from {count(known.get('sessions', 0), 'past session')}."
    for seat, row in known.get("seats", {}).items():
        figures = "no record"
        if "mean" in row:
            named = seat_name(row["name"]) if row["by"] == "seat" else line(row["name"])
            figures = f"right {row['mean']:.2f} [{row['low']:.2f}, {row['high']:.2f}] as {row['by']} {named}"
        yield f"  {seat_name(seat)}: {figures}; weight times {row['factor']:.2f}"
