"""What the library pref_voting says of random elections: writes votes.json, which the tests compare ours with.

It takes 0.8 GB and another NumPy than ours, so it is no dependency, and runs in an environment of its own:

    python3 -m venv /tmp/votes && /tmp/votes/bin/pip install pref_voting==1.18.2
    /tmp/votes/bin/python tests/coordinator/signals/recorded_votes.py > tests/coordinator/signals/votes.json
"""

import json
import random
import sys
from typing import Any

ELECTIONS = 150


def record() -> dict[str, Any]:
    """Elections of two to six options, one to nine ballots, half of them with weights."""
    import pref_voting  # type: ignore[import-not-found]
    from pref_voting.profiles import Profile  # type: ignore[import-not-found]
    from pref_voting.voting_methods import borda, instant_runoff_put, top_cycle  # type: ignore[import-not-found]

    dice, elections = random.Random(44), []
    for n in range(ELECTIONS):
        many, voters = dice.randint(2, 6), dice.randint(1, 9)
        orders = [dice.sample(range(many), many) for _ in range(voters)]
        weights = [dice.randint(1, 4) if n % 2 else 1 for _ in orders]
        profile = Profile(orders, weights)
        elections.append(
            {
                "orders": orders, "weights": weights,
                "borda": [int(x) for x in borda(profile)],
                "points": {int(k): int(x) for k, x in profile.borda_scores().items()},
                "instant_runoff": [int(x) for x in instant_runoff_put(profile)],
                "condorcet": profile.condorcet_winner(),
                "top": [int(x) for x in top_cycle(profile)],
            }
        )  # fmt: skip
    return {"library": f"pref_voting {pref_voting.__version__}", "elections": elections}


if __name__ == "__main__":
    json.dump(record(), sys.stdout, separators=(",", ":"), default=int)
