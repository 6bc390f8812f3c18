"""Adds up the posts of a MACI session: rounds, arguments, passages, blind answers, plan. Pictures, the page and
explanations use it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.text import line
from parley.client.untrusted import items, mapping
from parley.schemas.belief import Belief, Share
from parley.schemas.post import Post, decode_body
from parley.schemas.protocols.maci.messages import (
    Blind,
    Case,
    Crit,
    Merged,
    Passage,
    Passages,
    Plan,
    Round,
    Ruled,
    Score,
)

replace = msgspec.structs.replace
NAME = 60
"""Characters of an outcome's name in a row of several."""

KINDS: dict[str, type] = {
    "passages": Passages,
    "blind": Blind,
    "outcomes": Merged,
    "case": Case,
    "crit": Crit,
    "argument": Ruled,
    "refused": Ruled,
    "signals": Round,
    "plan": Plan,
}
"""Kind of post -> what its body is."""


class GatedArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument after the gates, whose it was, and what each judge made of it."""

    round: int
    seat: str
    ruled: Ruled
    scores: tuple[tuple[str, Score], ...] = ()


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a debater replied in a round, gates aside."""

    round: int
    seat: str
    case: Case


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """One session."""

    rounds: tuple[Round, ...] = ()
    arguments: tuple[GatedArgument, ...] = ()
    cases: tuple[Told, ...] = ()
    passages: tuple[Passage, ...] = ()
    found_by: dict[str, tuple[str, ...]] = {}
    """Passage -> the queries that found it; the task's own have none."""
    blind: dict[str, Blind] = {}
    groups: Merged | None = None
    plan: Plan | None = None
    """The last one."""


def body_of(post: Post) -> Any:
    """The post's body as its type; None for a kind that MACI has not, or a body that another version wrote."""
    return decode_body(post, KINDS)


def story(posts: Iterable[Post]) -> Story:
    """Fold them; what cannot be read is left out."""
    held: dict[type, list[tuple[Post, Any]]] = {kind: [] for kind in KINDS.values()}
    for post in posts:
        body = body_of(post)
        if body is not None:
            held[type(body)].append((post, body))
    scores: dict[str, list[tuple[str, Score]]] = {}
    for post, crit in held[Crit]:
        for score in crit.scores:
            scores.setdefault(f"a{score.item}", []).append((post.seat, score))
    merged, plans = held[Merged], held[Plan]
    return Story(
        rounds=tuple(r for _, r in held[Round]),
        arguments=tuple(
            GatedArgument(round=p.round, seat=p.seat, ruled=r, scores=tuple(scores.get(r.id, ())))
            for p, r in held[Ruled]
        ),
        cases=tuple(Told(round=p.round, seat=p.seat, case=c) for p, c in held[Case]),
        passages=tuple(passage for _, body in held[Passages] for passage in body.passages),
        found_by={passage.id: body.queries for _, body in held[Passages] for passage in body.passages},
        blind={p.seat: b for p, b in held[Blind]},
        groups=merged[-1][1] if merged else None,
        plan=plans[-1][1] if plans else None,
    )


def top(belief: Belief | Mapping[str, float], most: int, answer: str = "") -> list[Share]:
    """The most probable outcomes, at most `most` of them; of equals the answer first, then those named first."""
    shares: Sequence[Share] = (
        [Share(outcome=o, p=p) for o, p in belief.items()] if isinstance(belief, Mapping) else belief
    )
    return sorted(shares, key=lambda s: (-s.p, s.outcome != answer))[:most]


def merged(told: Story, blind: Blind) -> Belief:
    """A blind belief over the outcomes that its words count as."""
    groups = told.groups.groups if told.groups else ()
    named = {member: group.name for group in groups for member in group.members}
    total: dict[str, float] = {}
    for share in blind.belief:
        name = named.get(share.outcome, share.outcome)
        total[name] = total.get(name, 0.0) + share.p
    return tuple(Share(outcome=name, p=p) for name, p in total.items())


def blind_tie(told: Story, winner: str) -> str:
    """How many held each outcome in the blind round, where no outcome had more than all others: `dengue 1, zika 1`;
    empty where the winner of the vote had more."""
    votes = {winner: 0}
    for blind in told.blind.values():
        if first := top(merged(told, blind), 1, winner):
            votes[first[0].outcome] = votes.get(first[0].outcome, 0) + 1
    most = max(votes.values())
    tied = {outcome: n for outcome, n in votes.items() if n == most}
    if len(tied) < 2 or winner not in tied:
        return ""
    return ", ".join(f"{line(outcome, NAME)} {n}" for outcome, n in tied.items())


def why_refused(ruled: Ruled) -> str:
    """Which gate, with the value and the threshold, or what nobody found out, and which gate it passed; empty for what
    was admitted."""
    if ruled.admitted:
        return ""
    gates = tuple(_gates(ruled))
    failed = [words for words, reached in gates if reached is False]
    if not failed:
        return " and ".join(words for words, _ in gates)
    others = [words for words, reached in gates if reached]
    return " and ".join(failed) + (f", although {others[0]}" if others else "")


def unlike_alone(rounds: Iterable[Mapping[str, Any]]) -> list[float]:
    """q of every argument that was refused by its evidence alone, though the judges passed it; `rounds` as a result has
    them."""
    return [
        ruled["q"]
        for told in rounds
        for ruled in map(mapping, items(told.get("refused")))
        if ruled.get("q") is not None and ruled["q"] < ruled["tau_q"]
        and ruled.get("crit") is not None and ruled["crit"] >= ruled["tau_crit"]
    ]  # fmt: skip


def unlike_words(rounds: Sequence[Mapping[str, Any]], record: Iterable[Ruled] = ()) -> Iterator[str]:
    """What the gate on evidence kept out though the judges passed it, or would have kept out of the record were it on,
    and why that says nothing against it."""
    if figures := unlike_alone(rounds):
        yield (
            f"The judges passed {len(figures)} of the refused, and q alone refused them ({_range(figures)}). "
            f"{_NOT_WORTH} maci.q_gate=false admits all that the judges pass."
        )
        claims = (mapping(one).get("claim") for told in rounds for one in items(told.get("refused")))
        for claim in dict.fromkeys(claim for claim in claims if isinstance(claim, str)):
            yield f"  judges passed it, q refused it: {line(claim, 200)}"
    if doubted := [ruled.q or 0.0 for ruled in record if ruled.doubted]:
        yield (
            f"q alone would have refused {len(doubted)} of the admitted ({_range(doubted)}), and is not asked. "
            f"{_NOT_WORTH} maci.q_gate=true refuses them."
        )


_NOT_WORTH = "It measures how near quotations are to the subject of the question, not what they prove."


def _range(figures: Sequence[float]) -> str:
    low, high = (f"{figure:.2f}" for figure in (min(figures), max(figures)))
    return low if low == high else f"{low} to {high}"


def passed(ruled: Ruled) -> str:
    """Both values beside their thresholds."""
    return ", ".join(words for words, _ in _gates(ruled))


def _gates(ruled: Ruled) -> Iterable[tuple[str, bool | None]]:
    """Of each gate: the value beside its threshold, and whether it is reached; None: it is off, at 0."""
    for name, value, at, unknown in (
        ("q", ruled.q, ruled.tau_q, "evidence not measured"), ("CRIT", ruled.crit, ruled.tau_crit, "not judged"),
    ):  # fmt: skip
        shown = unknown if value is None else f"{name} {short(value, at)}"
        reached = at <= 0 if value is None else value >= at
        yield shown, None if reached and at <= 0 else reached


def short(value: float, threshold: float) -> str:
    """`0.31 < 0.50`, with as many decimals as it takes to tell them apart."""
    apart = (d for d in (2, 3, 4, 6) if f"{value:.{d}f}" != f"{threshold:.{d}f}")
    decimals = 2 if value == threshold else next(apart, 9)
    return f"{value:.{decimals}f} {'<' if value < threshold else '≥'} {threshold:.{decimals}f}"
