"""What controllers learned across sessions, as the next session would use it, with the cost of each action."""

from collections.abc import Iterator, Mapping

from parley.client.protocols import FACES
from parley.client.reliability.policy import LEAST
from parley.client.reliability.steered import policy_of
from parley.client.text import count, line
from parley.coordinator.schedulers.bandit import ACTIONS
from parley.reliability.learning import kept_in
from parley.schemas.afterwards.policy import Arm, Choice, Policy
from parley.settings import Settings


def learned_policies(settings: Settings, kind: str = "", now_ns: int | None = None) -> dict[str, Policy]:
    """By protocol with a controller that learns: what past sessions say, as a session that opens then would have it.

    Parameters
    ----------
    kind
        Of question; empty: any.
    now_ns
        Unix time; None: now.

    Raises
    ------
    BadInput
        The file cannot be read, or none is named for a bus that runs elsewhere.
    """
    path, section = kept_in(settings, to_read=True), settings.learned
    learned = {
        name: policy_of(name, path, price=section.price, kind=kind, given=settings.of(name), now_ns=now_ns)
        for name in FACES
    }
    return {name: known for name, known in learned.items() if known is not None}


def policy_words(policies: Mapping[str, Policy], on: bool, kind: str = "") -> Iterator[str]:
    """What was learned, in lines. `on`: whether sessions use it. `kind`: of question, that was asked for."""
    for protocol, learned in policies.items():
        if kind and not learned.kind:
            yield (
                f"{protocol}: fewer than {LEAST} past sessions are of the kind {line(kind)}, "
                "so those of all kinds count"
            )
        of_kind = f" on questions of the kind {line(learned.kind)}" if learned.kind else ""
        yield (
            f"{protocol}: {count(learned.sessions, 'past session')} with feedback{of_kind}; "
            f"a session counts half after {learned.half_life_days:g} days; "
            f"1,000 tokens may cost {learned.price:g} of a right answer"
        )
        yield from _choices(learned)
        yield from _arms(learned)
    yield "sessions use it" if on else "sessions do not use it: learned.policy is off (--set learned.policy=on)"


def _choices(learned: Policy) -> Iterator[str]:
    if not learned.choices:
        yield (
            f"too little for settings: fewer than {LEAST} of these sessions show what the published settings come to. "
            "Give feedback (parley feedback ID right), then parley reliability learn"
        )
        return
    yield f"{'settings':<20} {'sessions':>8} {'right':>6} {'tokens':>9} {'rounds':>6}   gain, 95 % for all rows"
    for choice in learned.choices:
        yield _choice(choice)
    if learned.settings:
        yield f"chosen: {', '.join(f'{name} {value:g}' for name, value in learned.settings.items())}"
    else:
        yield "no setting is chosen: none is surely better than the published ones"


def _choice(choice: Choice) -> str:
    gain = f"{choice.gain:+.3f} [{choice.low:+.3f}, {choice.high:+.3f}]" if choice.settings else "0"
    if not choice.sessions:
        return f"{choice.name:<20} {0:>8} {'no session shows what it comes to':>33}"
    return (
        f"{choice.name:<20} {choice.sessions:>8.1f} {choice.right:>6.2f} {choice.tokens:>9,.0f} {choice.rounds:>6.1f}"
        f"   {gain}"
    )


def _arms(learned: Policy) -> Iterator[str]:
    if not learned.arms:
        yield "too little for the bandit: no session with `schedule: learned` has feedback, so it begins anew"
        return
    yield f"{'action (steps)':<20} {'pulls':>8} {'reward':>6} {'tokens':>9}"
    for number, ((alpha, gamma), arm) in enumerate(zip(ACTIONS, learned.arms, strict=True)):
        yield _arm(f"alpha {alpha:+d}, gamma {gamma:+d}" if number else "no-op", arm)


def _arm(name: str, arm: Arm) -> str:
    tokens = f"{arm.tokens:>9,.0f}" if arm.pulls else f"{'unknown':>9}"
    return f"{name:<20} {arm.pulls:>8.1f} {arm.mean:>6.3f} {tokens}"
