"""Decides when a debate ends, and writes the certificate that says why (eq. 10, D.5, D.6, E.7; agreement is not the
paper's).

Checked with the gates that were in force in the round. A certificate names every test of all stops, its value and its
limit, and carries the history that they were computed from: whoever has it can compute them again.
"""

import math
from collections.abc import Callable, Sequence
from operator import ge, gt, le, lt
from typing import Any

import msgspec

from parley.schemas.belief import leading, printed
from parley.schemas.control import Control, Signals, Verdict

_RELATIONS: dict[str, Callable[[float, float], bool]] = {">=": ge, ">": gt, "<=": le, "<": lt}
_HISTORY = (
    "round",
    "jsd",
    "dispersion",
    "overlap",
    "entropy",
    "information_gain",
    "r_i",
    "r_d",
    "pi_i",
    "pi_d",
    "q",
    "crit",
    "crit_variance",
    "held",
    "cl",
    "tau_q",
    "tau_crit",
    "tokens",
)
_MINDS = ("shared", "sharing", "least", "moved", "yielded", "advocate", "attacks", "unanswered", "arguments", "absent")
"""Of the history too, where the signals have them."""
Test = dict[str, Any]
HALF = 0.5
"""Of a belief: an answer with more is more probable than all others together."""


def verdict(
    config: Control, rounds: Sequence[Signals], *, ordered: bool = False, short: str = "", unconfirmed: int = 0
) -> Verdict | None:
    """Whether the debate ends after its last round, for the first of the reasons that holds; None: it goes on.

    It converges only on one answer. In D.5 debaters that hold all outcomes as likely as one another have no
    disagreement, and so have converged; but they have no answer. Except in the paper's reading it is the answer of each
    debater by its own belief, with more than one half.

    Parameters
    ----------
    rounds
        All so far, the blind one first.
    ordered
        Whether the disagreement is Wasserstein's.
    short
        Why the next round does not fit what is left of the budget, with figures; empty: it fits.
    unconfirmed
        Debaters whose words were merged into an outcome of another name, and that were not shown it.
    """
    last, constants = rounds[-1], config.constants
    predicates = {
        **({"agreement": agreement(config, rounds)} if config.agreement_ends else {}),
        "plateau": plateau(config, rounds),
        "stalemate": stalemate(config, rounds),
        "budget": [
            {"test": "what the next round lacks", "value": short, "relation": "!=", "limit": "", "holds": bool(short)}
        ],
        "round_limit": [_test("rounds played", last.round, ">=", config.round_limit)],
    }
    holds = {name: all(test["holds"] for test in tests) for name, tests in predicates.items()}
    reason = next((name for name, holds_now in holds.items() if holds_now), None)
    if reason is None:
        return None
    first = rounds[min(1, len(rounds) - 1)]  # no gate is in force in the blind round
    near = _near(config, last)
    one_answer = _test("most probable outcomes", float(len(leading(last.mixture))), "<=", 1.0)
    one_mind = [_one_mind(last)] if config.follows_minds else []
    confirmed = _test("debaters that were not shown what their merged words count as", unconfirmed, "<=", 0)
    missing = last.absent if config.reading == "debate" else 0
    heard = [_test("debaters that were missing in the last round", missing, "<=", 0)] if missing else []
    converged = reason in ("agreement", "plateau") and all(
        test["holds"] for test in (near, one_answer, confirmed, *one_mind, *heard)
    )
    tokens = sum(r.tokens for r in rounds)
    certificate = {
        "reason": reason,
        "round": last.round,
        "converged": converged,
        "stops": {name: {"holds": holds[name], "tests": tests} for name, tests in predicates.items()},
        "near_consensus": near,
        "one_answer": one_answer,
        **({"one_mind": one_mind[0]} if one_mind else {}),
        **({"confirmed": confirmed} if unconfirmed else {}),
        **({"heard": heard[0]} if heard else {}),
        "disagreement": "wasserstein" if ordered else "jsd",
        "plateau": constants.plateau,
        "window": {"w": constants.w, "eta": constants.eta, "eps_i": constants.eps_i, "eps_d": constants.eps_d},
        "gates": {"tau_q": last.tau_q, "tau_crit": last.tau_crit},
        "gates_first": {"tau_q": first.tau_q, "tau_crit": first.tau_crit},
        "held": [r.round for r in rounds if r.held],
        "spent": {"tokens": tokens} if tokens else {},
        "history": [_history_row(r) for r in rounds],
    }
    return Verdict(reason=reason, round=last.round, converged=converged, certificate=certificate)


def _history_row(r: Signals) -> dict[str, Any]:
    minds = {name: value for name in _MINDS if (value := getattr(r, name)) is not msgspec.UNSET}
    return {**{name: getattr(r, name) for name in _HISTORY}, **minds}


def _near(config: Control, r: Signals) -> Test:
    return _test("disagreement", r.jsd, "<=", config.constants.near_consensus)


def _one_mind(r: Signals) -> Test:
    """By the share as it is printed."""
    least = printed(r.least) if isinstance(r.least, float) else None
    return _test("least that a debater gives to the answer that all hold", least, ">", HALF)


def agrees(config: Control, r: Signals) -> bool:
    """Whether each debater holds one and the same answer more probable than not after a round, with a disagreement of
    at most `near_consensus`."""
    return bool(r.shared) and bool(_one_mind(r)["holds"]) and bool(_near(config, r)["holds"])


def attacked(config: Control, rounds: Sequence[Signals]) -> bool:
    """Whether after the last round arguments of a devil's advocate against what all hold wait for an answer, and all
    held it before: the others are to answer them in the next one."""
    if len(rounds) < 2:
        return False
    before, last = rounds[-2:]
    stands = agrees(config, before) and agrees(config, last) and last.shared == before.shared
    return bool(_waiting(last)) and stands


def _waiting(r: Signals) -> int:
    """Admitted arguments of a devil's advocate that a debater has still to answer after a round."""
    return (r.attacks or 0) + (r.unanswered or 0)


def still(config: Control, r: Signals) -> bool:
    """Whether every debater was there in a round, and none moved."""
    stood = isinstance(r.moved, float) and r.moved < config.constants.least_move
    return config.reading == "debate" and r.absent == 0 and stood


def silent(config: Control, r: Signals) -> bool:
    """Whether in a round in which nobody moved, and nothing drew apart, nobody had an argument."""
    return r.arguments == 0 and bool(r.pi_d) and still(config, r)


def agreement(config: Control, rounds: Sequence[Signals]) -> list[Test]:
    """All agree, as they did before a devil's advocate argued against it and after its admitted arguments were shown.
    In this round the last of them was answered, and nobody gave way since they were brought."""
    last, before = rounds[-1], rounds[-2] if len(rounds) > 1 else rounds[-1]
    met = last.absent == 0 and not last.unanswered
    stands = attacked(config, rounds[:-1]) and met and last.shared == before.shared
    since = next((i for i in range(len(rounds) - 1, 0, -1) if rounds[i].attacks), 0)
    yielded = math.fsum(r.yielded or 0.0 for r in rounds[since:]) if stands else None
    return [
        _test("debaters that hold the most widely held answer", last.sharing or 0, ">=", len(last.weights)),
        _near(config, last),
        _one_mind(last),
        _test(
            "admitted arguments of a devil's advocate against it, which all others were shown and answered",
            _waiting(before) if stands else 0,
            ">=",
            1,
        ),
        _test(
            "most that a debater took from it in each round since, together", yielded, "<", config.constants.least_move
        ),
    ]


def plateau(config: Control, rounds: Sequence[Signals]) -> list[Test]:
    """Equation 10: both flags up for tau_stop rounds, Q and O sufficient; E.7 where it is on. A round that the monotone
    gate held does not count as a plateau of disagreement. In place of all that, but not in the paper's reading, so many
    rounds in which nobody had anything to add."""
    last, recent = rounds[-1], rounds[-config.tau_stop :]
    quiet = sum(silent(config, r) for r in recent)
    if quiet >= config.tau_stop:
        silence = _test("rounds in which nobody had anything to add, and nobody moved", quiet, ">=", config.tau_stop)
        return [silence, *_standing(config, rounds)]
    tests = [
        _test("rounds with a plateau of information", sum(bool(r.pi_i) for r in recent), ">=", config.tau_stop),
        _test(
            "rounds with a plateau of disagreement",
            sum(bool(r.pi_d) and not r.held for r in recent),
            ">=",
            config.tau_stop,
        ),
        *([_test("evidence quality", last.q, ">=", last.tau_q)] if config.q_gated or config.reading == "paper" else []),
        _test("overlap", last.overlap, ">=", config.tau_o),
        *_standing(config, rounds),
    ]
    if config.constants.evaluator_stability:
        for back, when in ((2, "of the round before"), (1, "of this round")):
            variance = rounds[-back].crit_variance if len(rounds) >= back else None
            judges = rounds[-back].judges if len(rounds) >= back else msgspec.UNSET
            tests += [
                *([] if judges is msgspec.UNSET else [_test(f"different judges {when}", judges, ">=", config.judges)]),
                _test(f"variance across judges {when}", variance, "<", config.constants.crit_variance),
                _test(f"change of mean CRIT {when}", _change(rounds, back), "<", config.constants.crit_change),
            ]
    return tests


def _standing(config: Control, rounds: Sequence[Signals]) -> list[Test]:
    """That minds stand still: no belief moved, and no devil's advocate waits for an answer. None in the paper's
    reading."""
    if config.reading != "debate":
        return []
    waiting = _waiting(rounds[-1]) if attacked(config, rounds) else 0
    return [
        _motion(config, rounds),
        _test("admitted arguments of a devil's advocate that the others have not answered", waiting, "<", 1),
    ]


def _motion(config: Control, rounds: Sequence[Signals]) -> Test:
    """Small moves of several rounds add up: who takes a little in each of them does not stand still. Nobody knows where
    a debater stands that was missing in them, or in the last two: in one of two it may not have been asked."""
    recent = rounds[-config.tau_stop :]
    missing = any(r.absent for r in rounds[-max(config.tau_stop, 2) :])
    moves = [r.moved for r in recent if isinstance(r.moved, float) and not missing]
    together = math.fsum(moves) if len(moves) == len(recent) else None
    return _test("farthest moves of a belief in these rounds, together", together, "<", config.constants.least_move)


def _change(rounds: Sequence[Signals], back: int) -> float | None:
    """|mean CRIT of the round so far back - that of the one before it|; None: one of them has none."""
    here, before = (rounds[-back].crit, rounds[-back - 1].crit) if len(rounds) > back else (None, None)
    return None if here is None or before is None else abs(here - before)


def stalemate(config: Control, rounds: Sequence[Signals]) -> list[Test]:
    """Mean CRIT below the gate of its round, for so many rounds. A round without arguments has no mean CRIT: it breaks
    the run, for nobody argued badly in it."""
    low = 0
    for signals in reversed(rounds):
        if signals.crit is None or signals.tau_crit is None or not signals.crit < signals.tau_crit:
            break
        low += 1
    return [
        _test("rounds with mean CRIT below its gate, without a break", low, ">=", config.constants.stalemate_rounds)
    ]


def _test(name: str, value: float | None, relation: str, limit: float | None) -> Test:
    """One comparison; what is not known does not hold."""
    holds = value is not None and limit is not None and _RELATIONS[relation](value, limit)
    return {"test": name, "value": value, "relation": relation, "limit": limit, "holds": holds}
