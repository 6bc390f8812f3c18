"""The words that sessions of every protocol share: limits, stops, failed turns."""

import re
from collections.abc import Iterator, Sequence

from parley.client.text import count, line
from parley.schemas.result import ResultUsage, SeatUsage
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


def limit_words(what: str) -> str:
    """Which limit would have been passed, as a certificate says it, in words."""
    seconds = re.fullmatch(r"budget\.seconds: limit (\S+) s", what)
    if seconds:
        return f"budget.seconds: the {seconds[1]} s of the session were over"
    figures = re.fullmatch(r"(\S+): limit (\S+), used or reserved (\S+), the next turns may take (\S+)", what)
    if not figures:
        return what
    name, limit, has, wants = figures.groups()
    return f"{name}: limit {limit}; {has} are used or reserved, {wants} is the most that the next turns may take"


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
