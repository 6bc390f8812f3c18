"""`make fuzz`: a million random inputs for everything that reads what others wrote."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tests.fuzz.readers import READERS
from tests.fuzz.run import Failed, fuzz


class Kind(StrEnum):
    """Kinds of input: the keys of READERS."""

    MESSAGES = "messages"
    REPLIES = "replies"
    YAML = "yaml"
    ARCHIVES = "archives"
    RECORDS = "records"


def run(
    inputs: Annotated[int, typer.Option(min=1, help="Altogether; each kind has its share.")] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Of the inputs: the same seed, the same inputs.")] = 1,
    only: Annotated[Kind | None, typer.Option(help="One kind of input alone.")] = None,
    failed: Annotated[Path, typer.Option(metavar="DIR", help="Where the first input that fails is saved.")] = Path(
        ".cache/fuzz"
    ),
) -> None:
    """Random inputs, until one raises what its reader does not say that it raises.

    Exit status: 0 none did, 1 one did, and it is saved."""
    kinds = [only.value] if only is not None else list(READERS)
    for kind in kinds:
        try:
            share = inputs if only is not None else -(-inputs * READERS[kind].share // 100)
            report = fuzz(kind, share, seed, lambda text: print(text, file=sys.stderr, flush=True))
        except Failed as error:
            print(f"FAILED: {error}\nseed {seed}; saved as {error.save(failed)}", flush=True)
            sys.exit(1)
        print(report.words(), flush=True)


if __name__ == "__main__":
    typer.run(run)
