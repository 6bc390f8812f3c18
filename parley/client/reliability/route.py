"""When to debate at all: one model, a vote or a debate, by their results and costs on past questions. Pure.

Of every past session of several members that was said to be right or wrong, three things are known: what it came to,
whether the majority of its members was right when they answered alone, and whether one of them was. So the three ways
are compared on the same questions. Each share has a Beta posterior with one right and one wrong answer to begin with.
The way with the greatest share less the price of its tokens is taken. Sessions of one member alone say nothing of a
vote or a debate on their questions, and are left out.
"""

from collections.abc import Collection, Iterable, Sequence

from parley.client.errors import BadInput
from parley.client.reliability.table import PRIOR, interval, posterior_mean
from parley.client.reliability.verdicts import Member, Verdict, question_hash
from parley.client.reliability.ways import PRICE, WORDS, Expected, Route, protocols, ways
from parley.client.text import count

LEAST = 10
"""Past sessions below which nothing is routed by them."""
UNKNOWN = "debate"
"""The way where nothing is known."""


def route(
    verdicts: Iterable[Verdict],
    question: str,
    kind: str = "",
    price: float = PRICE,
    *,
    model: str = "",
    able: Collection[str] | None = None,
) -> Route:
    """Where a question goes. What is known of the same words is left out.

    Parameters
    ----------
    kind
        Past questions of this kind decide, where there are `LEAST` of them; else those of all kinds.
    price
        For 1,000 tokens, as a share of right answers: 0 or more.
    model
        The one that would answer alone: its answers count for `one`, where it sat in every session that decides.
        Else a member stands for one model as it comes: the share of right members.
    able
        Only ways of these protocols are compared: they are seated. None: all ways.

    Raises
    ------
    BadInput
        No way's protocol is seated.
    """
    seated = [way for way, (name, _) in ways().items() if able is None or name in able]
    if not seated:
        raise BadInput(
            "protocol",
            f"auto chooses between {' and '.join(protocols())}, and {' or '.join(able or ()) or 'neither'} is seated",
        )
    at_hand = question_hash(question)
    known = [v for v in verdicts if v.right is not None and len(v.members) > 1 and v.question != at_hand]
    mine = [v for v in known if v.kind == kind] if kind else []
    used, of_kind = (mine, kind) if len(mine) >= LEAST else (known, "")
    if len(used) < LEAST:
        way = UNKNOWN if UNKNOWN in seated else seated[0]
        why = (
            f"nothing is fitted: {count(len(used), 'past session')} with a word on whether members and result were "
            f"right, {LEAST} are needed; so it is {WORDS[way]}"
        )
        return _route(way, seated, why, kind=kind, sessions=0, price=price)
    alone = model if model and all(_of(v, model) for v in used) else ""
    every = (_one(used, alone, price), _vote(used, price), _debate(used, price))
    found = tuple(one for one in every if one.way in seated)
    best = max(found, key=lambda one: one.worth)
    figures = "; ".join(
        f"{WORDS[one.way]} {one.worth:.3f} ({one.share:.2f} right at {one.tokens:,.0f} tokens)" for one in found
    )
    who = f"; one model is {alone}" if alone else "; one model is any of the members"
    who = who if found[0].way == "one" else "; nobody is seated who answers alone"
    why = f"{WORDS[best.way]} is chosen, by {count(len(used), 'past session')}. Worth: {figures}{who}"
    return _route(best.way, seated, why, kind=of_kind, sessions=len(used), price=price, expected=found, model=alone)


def _route(
    way: str,
    seated: Sequence[str],
    why: str,
    *,
    kind: str,
    sessions: int,
    price: float,
    expected: tuple[Expected, ...] = (),
    model: str = "",
) -> Route:
    known = ways()
    protocol, settings = known[way]
    others = [known[other] for other in WORDS if other in seated and other != way]
    return Route(
        way=way, protocol=protocol, settings=settings, kind=kind, sessions=sessions, price=price, expected=expected,
        model=model, why=why, otherwise=tuple(_options(*other) for other in others),
    )  # fmt: skip


def _options(protocol: str, settings: dict[str, int]) -> str:
    """What is typed to choose a way."""
    return " ".join([f"--protocol {protocol}", *(f"--set {protocol}.{name}={v}" for name, v in settings.items())])


def _of(verdict: Verdict, model: str) -> list[Member]:
    """The members of that model; of no name: all."""
    return [member for member in verdict.members if not model or member.model == model]


def _one(used: Sequence[Verdict], model: str, price: float) -> Expected:
    """One member's part of one round. Where its tokens are not known: an even part, one for whoever compares."""
    rights, tokens = [], []
    for v in used:
        mine = _of(v, model)
        rights.append(sum(member.right for member in mine) / len(mine))
        spent = [member.tokens for member in mine if member.tokens]
        part = sum(spent) / len(spent) if spent else v.tokens / (len(v.members) + 1)
        tokens.append(part / max(1, v.rounds))
    return _expected("one", rights, tokens, price)


def _vote(used: Sequence[Verdict], price: float) -> Expected:
    """One round of a session's; one that played none has cost one."""
    return _expected("vote", [_majority(v) for v in used], [v.tokens / max(1, v.rounds) for v in used], price)


def _debate(used: Sequence[Verdict], price: float) -> Expected:
    return _expected("debate", [float(bool(v.right)) for v in used], [float(v.tokens) for v in used], price)


def _expected(way: str, rights: Sequence[float], tokens: Sequence[float], price: float) -> Expected:
    right, cost = sum(rights), sum(tokens) / len(tokens)
    share = posterior_mean(right, len(rights) - right, PRIOR)
    low, high = interval(right, len(rights) - right, PRIOR)
    return Expected(way=way, share=share, low=low, high=high, tokens=cost, worth=share - price * cost / 1_000)


def _majority(verdict: Verdict) -> float:
    """1 where most members were right alone; a half where half of them were."""
    right = sum(member.right for member in verdict.members) / len(verdict.members)
    return 1.0 if right > 0.5 else 0.5 if right == 0.5 else 0.0
