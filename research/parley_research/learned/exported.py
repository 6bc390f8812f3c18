"""`python -m parley_research.learned.exported`: the learned stop as a constant of maci, in YAML.

It is fitted on the fit half of a recorded set, all its groups together. Members weigh by their records there, as in
sessions with records. `parley replay --constants` computes a recorded session with it.
"""

import argparse
import sys
from pathlib import Path

import msgspec

from parley.schemas.control import RoundValue
from parley_research.debates.record import of_half
from parley_research.debates.registry import loaded
from parley_research.learned.records import counted
from parley_research.learned.stopping import fitted
from parley_research.loaders import DATA, BadData, NoData


def exported(name: str, price: float, data: Path) -> RoundValue:
    """The fit. Raises NoData, BadData, and KeyError where there is no such set."""
    data_set = {data_set.name: data_set for data_set in loaded().sets()}[name]
    debates = of_half(data_set.split or name, list(data_set.load(data)), "fit")
    groups = sorted({debate.group for debate in debates})
    records = {group: counted([d for d in debates if d.group == group]) for group in groups}
    merged = {f"{group}/{kind}": means for group, known in records.items() for kind, means in known.items()}
    apart = [msgspec.structs.replace(d, kind=f"{d.group}/{d.kind}") for d in debates]
    fit = fitted(apart, {**merged, "": ()}, price, f"{name}-fit-1")
    return msgspec.structs.replace(fit, fitted_on=f"{len(debates):,} debates of the fit half of {name}")


def main(arguments: list[str] | None = None) -> int:
    """Print it. 0, or 2 where the data is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m parley_research.learned.exported", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, metavar="DIR", help="where the data sets lie")
    parser.add_argument("--set", default="ford", metavar="NAME", help="the recorded set (default: ford)")
    parser.add_argument("--price", type=float, default=0.5, help="share of right answers for 1,000 tokens")
    options = parser.parse_args(arguments)
    try:
        value = exported(options.set, options.price, options.data)
    except (NoData, BadData, KeyError) as error:
        print(error, file=sys.stderr)
        return 2
    print(msgspec.yaml.encode({"round_value": msgspec.to_builtins(value)}).decode(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
