"""`python -m evaluation.route`: how well tasks find their experts, for the baseline and the better matcher, as tables.

The golden set's two halves, and the public sets that are there; one that is not is named and left out.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from agents.encoders import make_encoder
from agents.experts import builtin
from agents.matching import Matcher, match
from evaluation import routing, routing_data
from evaluation.loaders import DATA, BadData, NoData
from evaluation.routing import Report, Routed
from evaluation.routing_data import RoutingSet
from schemas.madp import Matched, Task

MATCHERS = ("words", "better, by words", "better")


def routed(found: Matched) -> Routed:
    """What a match comes to before anybody claims: its first candidate leads."""
    first = found.candidates[0] if found.candidates else None
    return Routed(
        lead=first.expert if first else None,
        confidence=first.confidence if first else 0.0,
        team=tuple(c.expert for c in found.candidates[1:]),
    )


async def matched(name: str, of: RoutingSet) -> list[Matched]:
    """What one of MATCHERS makes of a set's prompts."""
    tasks = [Task(prompt=case.prompt, files_mentioned=case.files) for case in of.cases]
    if name == "words":
        return [match(task, of.specs) for task in tasks]
    encoder = make_encoder("embedded") if name == "better" else None
    return await Matcher(encoder).match_all(tasks, of.specs)


async def measured(of: RoutingSet, matchers: Sequence[str] = MATCHERS) -> list[Report]:
    """A report of each matcher."""
    return [routing.report(of.name, m, of.cases, [routed(r) for r in await matched(m, of)]) for m in matchers]


def sets(names: Sequence[str], data: Path) -> list[RoutingSet]:
    """The sets that are there; one that is not is told on stderr."""
    found = []
    for name in names:
        try:
            found.append(
                routing_data.golden(name, builtin())
                if name in ("dev", "test")
                else routing_data.PUBLIC[name](data)
            )  # fmt: skip
        except NoData as error:
            print(f"left out: {error}", file=sys.stderr)
    return found


def main(arguments: list[str] | None = None) -> int:
    """0, or 2 where a set is not as it should be."""
    every = ("dev", "test", *routing_data.PUBLIC)
    parser = argparse.ArgumentParser(prog="python -m evaluation.route", description=__doc__)
    parser.add_argument("set", nargs="*", choices=[*every, []], help="all of them if none is named")
    parser.add_argument("--matcher", action="append", choices=MATCHERS, help="all of them if none is named")
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="where the public sets lie")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    try:
        found = sets(given.set or every, given.data)
    except BadData as error:
        print(error, file=sys.stderr)
        return 2
    reports = [r for s in found for r in asyncio.run(measured(s, given.matcher or MATCHERS))]
    print(msgspec.json.encode(reports).decode() if given.json else routing.text(reports))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
