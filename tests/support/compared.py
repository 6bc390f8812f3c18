"""What an analyst of consensus would have to find for a score."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from parley.coordinator.protocols.consensus.score import facts
from parley.schemas.protocols.consensus import AnswerGroup, CompareBrief, Comparison
from parley.schemas.text import answer_key


def comparison(brief: CompareBrief, said: Mapping[int, str], score: float, **more: Any) -> Comparison:
    """Positions grouped by words, and as near as this score wants; by meaning where words cannot come to it.

    Parameters
    ----------
    said
        Number of the post -> answer.
    more
        Fields of the reply that are given.
    """
    posts: dict[str, list[int]] = {}
    for post, answer in said.items():
        posts.setdefault(answer_key(answer), []).append(post)
    weight = {w.post: w.weight for w in brief.positions}
    ways = (list(posts.values()), [list(said)], [[*said][:-1], [*said][-1:]], [[post] for post in said])
    rests = [(score - 0.6 * facts([[weight[p] for p in of] for of in way])) / 0.4 for way in ways]
    near, sides = next((n, w) for n, w in zip(rests, ways, strict=True) if -1e-9 <= n <= 100 + 1e-9)
    near = min(100.0, max(0.0, near))
    known = {answer_key(named.label): named.label for named in brief.labels}
    named = Counter(said[of[0]] for of in sides)
    groups = tuple(
        AnswerGroup(
            label=known.get(answer_key(said[of[0]][:200]), said[of[0]][:200])
            if named[said[of[0]]] == 1
            else f"{said[of[0]][:190]} {n}",
            posts=tuple(of),
        )
        for n, of in enumerate(sides)
    )
    return Comparison(**{"groups": groups, "approach": near, "priority": near, **more})
