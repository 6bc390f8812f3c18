"""`python -m parley_research`: the first look at recorded debates, written to docs/reports/stop-rules.md.

`python -m parley_research extractive` measures the extractive model (research/parley_research/extractive.py).
"""

import argparse
import sys
from pathlib import Path

import msgspec

from parley_research import extractive, first_look, loaders, stops

RESULTS = Path(__file__).parents[2] / "docs" / "reports" / "stop-rules.md"


def main(arguments: list[str] | None = None) -> int:
    """Write the page, or print one debate for `parley signals`. 0, or 2 where the data is not as it should be."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["extractive"]:
        return extractive.main(words[1:])
    parser = argparse.ArgumentParser(prog="python -m parley_research", description="A first look at recorded debates.")
    parser.add_argument("--data", type=Path, default=loaders.DATA, metavar="DIR", help="where the data sets lie")
    parser.add_argument(
        "--out", type=Path, default=RESULTS, metavar="FILE", help="the page; docs/reports/stop-rules.md if not given"
    )
    parser.add_argument(
        "--signals", metavar="ID", help="print this debate as `parley signals` reads it, and nothing else"
    )
    options = parser.parse_args(words)
    try:
        if options.signals is None:
            options.out.write_text(first_look.text(options.data), encoding="utf-8")
            return 0
        source = loaders.gsm8k if options.signals.startswith("gsm8k") else loaders.ford
        debates = [debate for debate in source(options.data) if debate.id == options.signals]
    except (loaders.NoData, loaders.BadData) as error:
        print(error, file=sys.stderr)
        return 2
    if not debates:
        print(f"no debate {options.signals!r} in {options.data}", file=sys.stderr)
        return 2
    print(msgspec.json.encode(stops.document(debates[0])).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
