"""What past outcomes did in a session, in words: whose records counted, what its controller took over, and how its
confidence is to be read."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from client.text import line
from schemas.result import Result


def learned_words(result: Result) -> Iterator[str]:
    """The confidence, calibrated or said not to be, the record of every seat that weighed by one, and what the
    controller took over."""
    stated = result.outcome.get("confidence")
    if result.calibrated is not msgspec.UNSET:
        c = result.calibrated
        yield (
            f"Confidence {c.stated:.2f} reads as {c.confidence:.2f}: {line(c.fitted_on)} "
            f"({c.outcomes:,} outcomes, fit {line(c.version)})."
        )
    elif isinstance(stated, int | float) and result.outcome.get("answer"):
        yield f"Confidence {stated:.2f} is not calibrated: no past outcomes were fitted."
    known = result.stop.certificate.get("reliability")
    if isinstance(known, Mapping):
        yield from _records(known)
    taken = result.stop.certificate.get("policy")
    if isinstance(taken, Mapping):
        yield from _policy(taken)


def _records(known: Mapping[str, Any]) -> Iterator[str]:
    of_kind = f" on questions of the kind {line(str(known['kind']))}" if known.get("kind") else ""
    yield f"Seats weighed by their records{of_kind}, from {known.get('sessions', 0):,} past sessions and known answers:"
    for seat, row in known.get("seats", {}).items():
        told = "no record"
        if "mean" in row:
            told = (
                f"right {row['mean']:.2f} [{row['low']:.2f}, {row['high']:.2f}] as {row['by']} {line(row['name'])}"
                f"{', ' + line(row['kind']) if row['kind'] else ''}"
            )
        yield f"  {line(seat)}: {told}; weight times {row['factor']:.2f}"


def _policy(taken: Mapping[str, Any]) -> Iterator[str]:
    of_kind = f" on questions of the kind {line(str(taken['kind']))}" if taken.get("kind") else ""
    from_ = f"from {taken.get('sessions', 0):,} past sessions{of_kind}"
    settings = taken.get("settings", {})
    if settings:
        yield f"Settings learned {from_}: {', '.join(f'{line(name)} {value:g}' for name, value in settings.items())}."
    for row in taken.get("choices", ()):
        gain = f"; gain {row['gain']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]" if row["settings"] else ""
        yield (
            f"  {line(row['name'])}: right {row['right']:.2f}, {row['tokens']:,.0f} tokens, "
            f"{row['rounds']:.1f} rounds{gain}"
        )
    arms = taken.get("arms", ())
    if arms:
        yield f"The bandit carried over {sum(arm['pulls'] for arm in arms):.1f} pulls {from_}."
