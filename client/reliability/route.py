"""When to debate at all: a vote or a debate, by what each came to on past questions and what it cost. Pure.

Of every past session that was said to be right or wrong, both are known: what it came to, and whether the majority of
its members was right when they answered alone. Each share has a Beta posterior with one right and one wrong answer to
begin with. The way with the greatest share less the price of its tokens is taken.
"""

from collections.abc import Iterable, Sequence

import msgspec

from client.protocols import SETUPS
from client.reliability.table import PRIOR, interval, posterior_mean
from client.reliability.verdicts import Verdict, question_hash

LEAST = 10
"""Past sessions below which nothing is routed by them."""
PRICE = 0.005
"""Share of right answers that one would give for 1,000 tokens: half a point."""
UNKNOWN = "debate"
"""The way where nothing is known."""


def ways() -> dict[str, tuple[str, dict[str, int]]]:
    """Way -> protocol and settings of a session, as the protocol's setup says."""
    return {way: (name, dict(settings)) for name in SETUPS for way, settings in SETUPS[name].ways.items()}


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What one way came to."""

    way: str
    share: float
    """Of right answers: mean of the posterior."""
    low: float
    high: float
    tokens: float
    """Of a session, on average."""
    worth: float
    """The share less the price of the tokens."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """Where a question goes, and why."""

    way: str
    protocol: str
    settings: dict[str, int]
    kind: str
    """Of the past questions that decided; empty: of all kinds."""
    sessions: int
    """Past sessions that decided; 0: none did."""
    price: float
    expected: tuple[Expected, ...] = ()
    why: str


def route(verdicts: Iterable[Verdict], question: str, kind: str = "", price: float = PRICE) -> Route:
    """Where a question goes. What is known of the same words is left out.

    Parameters
    ----------
    kind
        Past questions of this kind decide, where there are `LEAST` of them; else those of all kinds.
    price
        For 1,000 tokens, as a share of right answers: 0 or more.
    """
    at_hand = question_hash(question)
    known = [v for v in verdicts if v.right is not None and len(v.members) > 1 and v.question != at_hand]
    mine = [v for v in known if v.kind == kind] if kind else []
    used, of_kind = (mine, kind) if len(mine) >= LEAST else (known, "")
    if len(used) < LEAST:
        why = (
            f"nothing is fitted: {len(used)} past sessions say whether members and result were right, "
            f"{LEAST} are needed; so it is a {UNKNOWN}"
        )
        protocol, settings = ways()[UNKNOWN]
        return Route(
            way=UNKNOWN, protocol=protocol, settings=settings, kind=kind, sessions=0, price=price, why=why
        )  # fmt: skip
    found = (_expected("vote", used, price), _expected("debate", used, price))
    best = max(found, key=lambda one: one.worth)
    other = next(one for one in found if one is not best)
    why = (
        f"a {best.way} is chosen. It is worth {best.worth:.3f}, a {other.way} {other.worth:.3f}: "
        f"{best.share:.2f} right at {best.tokens:,.0f} tokens against {other.share:.2f} at {other.tokens:,.0f}, "
        f"of {len(used)} past sessions"
    )
    protocol, settings = ways()[best.way]
    return Route(
        way=best.way, protocol=protocol, settings=settings, kind=of_kind, sessions=len(used), price=price,
        expected=found, why=why,
    )  # fmt: skip


def _expected(way: str, used: Sequence[Verdict], price: float) -> Expected:
    """A vote costs one round of a session's; a session that played none has cost one."""
    rights = [_vote(v) if way == "vote" else float(bool(v.right)) for v in used]
    tokens = [v.tokens / max(1, v.rounds) if way == "vote" else v.tokens for v in used]
    right, cost = sum(rights), sum(tokens) / len(tokens)
    share = posterior_mean(right, len(rights) - right, PRIOR)
    low, high = interval(right, len(rights) - right, PRIOR)
    return Expected(way=way, share=share, low=low, high=high, tokens=cost, worth=share - price * cost / 1_000)


def _vote(verdict: Verdict) -> float:
    """1 where most members were right alone; a half where half of them were."""
    right = sum(member.right for member in verdict.members) / len(verdict.members)
    return 1.0 if right > 0.5 else 0.5 if right == 0.5 else 0.0
