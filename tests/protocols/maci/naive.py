"""MACI's equations written out once more, as they are printed and without a thought of speed: tests compare."""

import itertools
import math

import numpy as np

Dist = list[float]


def kl(p: Dist, q: Dist) -> float:
    return sum(a * (math.log(a) - math.log(b)) / math.log(2) for a, b in zip(p, q, strict=True) if a > 0)


def entropy(p: Dist) -> float:
    return -sum(a * math.log(a, 2) for a in p if a > 0)


def middle(beliefs: list[Dist]) -> Dist:
    return [sum(column) / len(beliefs) for column in zip(*beliefs, strict=True)]


def dispersion(beliefs: list[Dist]) -> float:
    m = middle(beliefs)
    return sum(kl(p, m) for p in beliefs) / len(beliefs)


def jsd(beliefs: list[Dist]) -> float:
    if len(beliefs) == 2:  # eq. 2 as printed
        m = middle(beliefs)
        return kl(beliefs[0], m) / 2 + kl(beliefs[1], m) / 2
    return (entropy(middle(beliefs)) - sum(map(entropy, beliefs)) / len(beliefs)) / math.log2(len(beliefs))


def wasserstein(beliefs: list[Dist], positions: list[float]) -> float:
    """Every pair by the integral of |F - G|."""
    found = []
    for p, q in itertools.combinations(beliefs, 2):
        area = 0.0
        for i in range(len(positions) - 1):
            area += abs(sum(p[: i + 1]) - sum(q[: i + 1])) * (positions[i + 1] - positions[i])
        found.append(area / (positions[-1] - positions[0]))
    return sum(found) / len(found)


def transport(p: Dist, q: Dist) -> float:
    """Wasserstein-1 on unit spacing as what it is defined to be: the cheapest plan, by moving from the left."""
    carried, cost = 0.0, 0.0
    for a, b in zip(p, q, strict=True):
        cost += abs(carried)
        carried += a - b
    return cost / (len(p) - 1)


def overlap(sets: list[set[str]]) -> float:
    pairs = list(itertools.combinations(sets, 2))
    return sum(len(a & b) / len(a | b) if a | b else 0.0 for a, b in pairs) / len(pairs)


def moving(values: list[float], w: int) -> float:
    last = values[-w:]
    return float(np.mean(last)) if last else 0.0


def debate(
    rounds: list[dict[str, dict[str, Dist]]], crits: list[dict[str, float]], either_way: bool = False, **given: float
) -> list[dict[str, float]]:
    """Signals of rounds 1, 2, ... without the monotone gate, with B.1's defaults: what eqs. 2, 4, 5, 6 come to.
    `either_way`: a rise counts as a fall does."""
    w, eta, lam, eps = int(given.get("w", 3)), 1e-3, 0.8, 1e-6
    size = len(next(iter(rounds[0]["beliefs"].values())))
    g = dict.fromkeys(rounds[0]["beliefs"], 0.5)
    h, d, gains, drops, found = [], [], [], [], []
    least = -math.inf if either_way else 0.0
    for number, (seen, crit) in enumerate(zip(rounds, crits, strict=True)):
        beliefs = {u: [(1 - 1e-6) * x + 1e-6 / size for x in p] for u, p in seen["beliefs"].items()}
        if number:
            g = {u: lam * g[u] + (1 - lam) * crit[u] if u in crit else g[u] for u in g}
        total = sum(v + eps for v in g.values())
        omega = {u: (v + eps) / total for u, v in g.items()}
        mixed = [sum(omega[u] * beliefs[u][y] for u in beliefs) for y in range(size)]
        h.append(entropy(mixed) / math.log2(size))
        d.append(jsd(list(beliefs.values())))
        row = {"entropy": h[-1], "jsd": d[-1], "dispersion": dispersion(list(beliefs.values()))}
        row |= {f"weight {u}": x for u, x in omega.items()}
        if number:
            gains.append(abs(max(least, h[-2] - h[-1])))
            drops.append(abs(max(least, d[-2] - d[-1])))
            row["information_gain"] = max(0.0, h[-2] - h[-1])
            row["r_i"] = moving(gains, w) / (moving(h[:-1], w) + eta)
            row["r_d"] = moving(drops, w) / (moving(d[:-1], w) + eta)
        found.append(row)
    return found
