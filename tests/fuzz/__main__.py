"""`make fuzz`: a million random inputs for everything that reads what others wrote."""

import sys
from pathlib import Path
from typing import Annotated

import click
import typer

from tests.fuzz.readers import READERS, Failed, fuzz


def run(
    inputs: Annotated[int, typer.Option(min=1, help="Altogether; each kind has its share.")] = 1_000_000,
    seed: Annotated[int, typer.Option(help="Of the inputs: the same seed, the same inputs.")] = 1,
    only: Annotated[str, typer.Option(click_type=click.Choice([*READERS]), help="One kind of input alone.")] = "",
    failed: Annotated[Path, typer.Option(metavar="DIR", help="Where the first input that fails is saved.")] = Path(
        ".cache/fuzz"
    ),
) -> None:
    """Random inputs, until one raises what its reader does not say that it raises.

    Exit status: 0 none did, 1 one did, and it is saved."""
    for kind in [only] if only else READERS:
        share = inputs if only else -(-inputs * READERS[kind].share // 100)
        try:
            taken = fuzz(kind, share, seed)
        except Failed as error:
            print(f"FAILED: {error}\nseed {seed}; saved as {error.save(failed)}", flush=True)
            sys.exit(1)
        print(f"{kind}: {share:,} inputs, {taken:,} taken", flush=True)


if __name__ == "__main__":
    typer.run(run)
