"""`parley thresholds`: what feedback says of a panel's settings, and what new sessions get of it."""

import time
from collections.abc import Iterator

import msgspec

from parley.client.errors import BadInput
from parley.client.learned import store
from parley.client.learned.thresholds import Dials, Ends, SettingsComparison, ThresholdFinding, defaults, found
from parley.client.text import count, line
from parley.learned.learning import kept_in
from parley.schemas.past_sessions.learned import Thresholds
from parley.settings import Settings


def thresholds_of(settings: Settings, kind: str) -> tuple[ThresholdFinding, Thresholds | None]:
    """(What feedback on a kind of question says, what was applied to it). Raises BadInput."""
    kept = store.read(kept_in(settings, to_read=True))
    return found(kept.verdicts, kind), next((row for row in kept.thresholds if row.kind == kind), None)


def apply(settings: Settings, kind: str) -> Thresholds:
    """Let new sessions of a kind open with what was found. Raises BadInput: there is too little feedback, nothing was
    better than the defaults, or it was worse where it was not chosen."""
    file = kept_in(settings)
    kept = store.read(file)
    best = found(kept.verdicts, kind)
    if best.chosen is None or best.held_out is None or not best.holds:
        raise BadInput("thresholds", f"nothing is applied: {_why(best)}")
    new = Thresholds(
        kind=kind, outcomes=best.outcomes, at_ns=time.time_ns(), **msgspec.structs.asdict(best.chosen.dials)
    )
    store.update(file, lambda now: msgspec.structs.replace(now, thresholds=(*_without(now, kind), new)))
    return new


def undo(settings: Settings, kind: str) -> None:
    """Let new sessions of a kind open with the defaults. Raises BadInput where nothing was applied."""
    file = kept_in(settings)
    kept = store.read(file)
    if _without(kept, kind) == kept.thresholds:
        raise BadInput("thresholds", f"nothing was applied{_of_kind(kind)}: sessions have the defaults")
    store.update(file, lambda now: msgspec.structs.replace(now, thresholds=_without(now, kind)))


def _without(kept: store.Store, kind: str) -> tuple[Thresholds, ...]:
    return tuple(row for row in kept.thresholds if row.kind != kind)


def threshold_lines(best: ThresholdFinding, applied: Thresholds | None, where: str = "") -> Iterator[str]:
    """What was found, in lines. `where`: the options that name the bus, behind a command."""
    yield f"{count(best.outcomes, 'panel')} with feedback{_of_kind(best.kind)}"
    if best.defaults is not None:
        yield f"{'':<10}{'threshold':>9} {'rounds':>6} {'quorum':>6}   right wrong  none unknown   rounds played"
        yield _row("defaults", best.defaults)
    if best.chosen is not None:
        yield _row("best", best.chosen)
    if best.held_out is not None:
        yield f"on the half that did not choose: {_against(best.held_out)}"
    if best.holds:
        yield f"use it: parley thresholds apply{f' --kind {line(best.kind)}' if best.kind else ''}{where}"
    else:
        yield f"nothing to apply: {_why(best)}"
    if applied is not None:
        yield from applied_words(applied, best.kind)


def applied_words(applied: Thresholds | None, kind: str) -> Iterator[str]:
    """What new sessions open with."""
    dials = defaults() if applied is None else Dials(**applied.settings())  # type: ignore[arg-type]
    which = f"of the kind {line(kind)}" if kind else "that name no kind"
    yield (
        f"new panels on questions {which} open with threshold {dials.threshold:g}, "
        f"{count(dials.round_limit, 'round')}, quorum {dials.quorum}{' (defaults)' if applied is None else ''}"
    )


def _row(name: str, ends: Ends) -> str:
    d = ends.dials
    return (
        f"{name:<10}{d.threshold:>9g} {d.round_limit:>6} {d.quorum:>6}   {ends.right:>5} {ends.wrong:>5} "
        f"{ends.none:>5} {ends.unknown:>7}   {ends.rounds:g}"
    )


def _against(held_out: SettingsComparison) -> str:
    if not held_out.sessions:
        return "no session's end is known under both"
    return (
        f"{held_out.better:+.2f} [{held_out.low:+.2f}, {held_out.high:+.2f}] a session against the defaults, of "
        f"{count(held_out.sessions, 'session')} (right 1, none 0, wrong -1)"
    )


def _why(best: ThresholdFinding) -> str:
    if best.defaults is None:
        return (
            f"that takes {best.needed} panels with feedback, and there are {best.outcomes}; give it (parley feedback ID"
            " right), then parley reliability learn"
        )
    if best.chosen is None:
        return "no settings did better than the defaults"
    return f"what did better on one half did not on the other ({_against(best.held_out)})" if best.held_out else ""


def _of_kind(kind: str) -> str:
    return f" on questions of the kind {line(kind)}" if kind else ""
