"""When a debate ends, and the certificate that says why (eq. 10, D.5, D.6, E.7).

Checked with the gates that were in force in the round. A certificate names every test of all four stops, its value and
its limit, and carries the history that they were computed from: whoever has it can compute them again.
"""

from collections.abc import Callable, Sequence
from operator import ge, gt, le, lt
from typing import Any

from schemas.control import Control, Signals, Verdict

_RELATIONS: dict[str, Callable[[float, float], bool]] = {">=": ge, ">": gt, "<=": le, "<": lt}
_HISTORY = (
    "round", "jsd", "dispersion", "overlap", "entropy", "information_gain", "r_i", "r_d", "pi_i", "pi_d", "q", "crit",
    "crit_variance", "held", "cl", "tau_q", "tau_crit", "tokens",
)  # fmt: skip
ROUND_LIMIT = "round_limit"
Test = dict[str, Any]


def verdict(
    config: Control, rounds: Sequence[Signals], *, ordered: bool = False, short: str = "", limit: str = ROUND_LIMIT
) -> Verdict | None:
    """Whether the debate ends after its last round, for the first of four reasons that holds; None: it goes on.

    Parameters
    ----------
    rounds
        All so far, the blind one first.
    ordered
        Whether the disagreement is Wasserstein's.
    short
        Why the next round does not fit what is left of the budget, with figures; empty: it fits.
    limit
        What the stop after the last round allowed is called.
    """
    last = rounds[-1]
    predicates = {
        "plateau": plateau(config, rounds),
        "stalemate": stalemate(config, rounds),
        "budget": [
            {"test": "what the next round lacks", "value": short, "relation": "!=", "limit": "", "holds": bool(short)}
        ],
        limit: [_test("rounds played", last.round, ">=", config.round_limit)],
    }
    holds = {name: all(test["holds"] for test in tests) for name, tests in predicates.items()}
    reason = next((name for name, held in holds.items() if held), None)
    if reason is None:
        return None
    first = rounds[min(1, len(rounds) - 1)]  # no gate is in force in the blind round
    agreement = _test("disagreement", last.jsd, "<=", config.near_consensus)
    converged = reason == "plateau" and agreement["holds"]
    tokens = sum(r.tokens for r in rounds)
    certificate = {
        "reason": reason,
        "round": last.round,
        "converged": converged,
        "stops": {name: {"holds": holds[name], "tests": tests} for name, tests in predicates.items()},
        "near_consensus": agreement,
        "disagreement": "wasserstein" if ordered else "jsd",
        "plateau": config.plateau,
        "window": {"w": config.w, "eta": config.eta, "eps_i": config.eps_i, "eps_d": config.eps_d},
        "gates": {"tau_q": last.tau_q, "tau_crit": last.tau_crit},
        "gates_first": {"tau_q": first.tau_q, "tau_crit": first.tau_crit},
        "held": [r.round for r in rounds if r.held],
        "spent": {"tokens": tokens} if tokens else {},
        "history": [{name: getattr(r, name) for name in _HISTORY} for r in rounds],
    }
    return Verdict(reason=reason, round=last.round, converged=converged, certificate=certificate)


def plateau(config: Control, rounds: Sequence[Signals]) -> list[Test]:
    """Equation 10: both flags up for tau_stop rounds, Q and O sufficient; E.7 where it is on. A round that the monotone
    gate held does not count as a plateau of disagreement."""
    last, recent = rounds[-1], rounds[-config.tau_stop :]
    tests = [
        _test("rounds with a plateau of information", sum(bool(r.pi_i) for r in recent), ">=", config.tau_stop),
        _test(
            "rounds with a plateau of disagreement",
            sum(bool(r.pi_d) and not r.held for r in recent), ">=", config.tau_stop,
        ),
        _test("evidence quality", last.q, ">=", last.tau_q),
        _test("overlap", last.overlap, ">=", config.tau_o),
    ]  # fmt: skip
    if config.evaluator_stability:
        for back, when in ((2, "of the round before"), (1, "of this round")):
            variance = rounds[-back].crit_variance if len(rounds) >= back else None
            tests += [
                _test(f"variance across judges {when}", variance, "<", config.crit_variance),
                _test(f"change of mean CRIT {when}", _change(rounds, back), "<", config.crit_change),
            ]
    return tests


def _change(rounds: Sequence[Signals], back: int) -> float | None:
    """|mean CRIT of the round so far back - that of the one before it|; None: one of them has none."""
    here, before = (rounds[-back].crit, rounds[-back - 1].crit) if len(rounds) > back else (None, None)
    return None if here is None or before is None else abs(here - before)


def stalemate(config: Control, rounds: Sequence[Signals]) -> list[Test]:
    """Mean CRIT below the gate of its round, for so many rounds. A round without arguments has no mean CRIT: it breaks
    the run, for nobody argued badly in it."""
    low = 0
    for seen in reversed(rounds):
        if seen.crit is None or seen.tau_crit is None or not seen.crit < seen.tau_crit:
            break
        low += 1
    return [_test("rounds with mean CRIT below its gate, without a break", low, ">=", config.stalemate_rounds)]


def _test(name: str, value: float | None, relation: str, limit: float | None) -> Test:
    """One comparison; what is not known does not hold."""
    holds = value is not None and limit is not None and _RELATIONS[relation](value, limit)
    return {"test": name, "value": value, "relation": relation, "limit": limit, "holds": holds}
