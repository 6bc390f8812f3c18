"""What was learned of a controller, as a session uses it. Pure: it lies in the opening
(parley.schemas.afterwards.policy).

Settings that were chosen stand among the session's settings. Here is what the bandit begins with, and what the
certificate says of both.
"""

from typing import Any

import msgspec

from parley.schemas.afterwards.policy import Arm, Choice, Policy
from parley.schemas.log import Opened


def of(opened: Opened) -> Policy | None:
    """What the session was opened with; None: nothing."""
    learned = opened.learned
    return None if learned is msgspec.UNSET or learned.policy is msgspec.UNSET else learned.policy


def arms(opened: Opened) -> tuple[Arm, ...]:
    """What the bandit begins with; empty: it begins anew."""
    policy = of(opened)
    return () if policy is None else policy.arms


def certified(opened: Opened) -> dict[str, Any]:
    """For the certificate, under `policy`: the chosen settings that are in force, beside the published ones, what each
    action of the bandit earned and cost, and what that rests on; empty: nothing was learned."""
    policy = of(opened)
    if policy is None:
        return {}
    settings = {name: value for name, value in policy.settings.items() if opened.settings.get(name) == value}
    body = msgspec.to_builtins(policy)
    body["settings"] = settings
    body["choices"] = [msgspec.to_builtins(c) for c in policy.choices if not c.settings or _in_force(c, settings)]
    body["arms"] = [{"pulls": arm.pulls, "mean": arm.mean, "tokens": arm.tokens} for arm in policy.arms]
    return {"policy": body}


def _in_force(choice: Choice, settings: dict[str, Any]) -> bool:
    return choice.settings.items() <= settings.items()
