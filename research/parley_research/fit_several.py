"""`python -m parley_research.fit_several`: which tasks are work for several experts (agents/matching/several.py),
fitted on the tasks to train on; after parley_research.training.reader. Writes several.json, and prints how it does on
the tasks that were held back and on the half to develop on, which it was not fitted on.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from parley.agents.encoders import Encoder
from parley.agents.experts import builtin
from parley.agents.matching import several
from parley.agents.matching.features import Prepared
from parley.agents.matching.fitted import chance
from parley.agents.matching.subject_model import make_readers
from parley.agents.matching.subjects import Floats
from parley.schemas.routing import Task
from parley_research.fit_routing import fit_sure
from parley_research.fit_subjects import HELD_BACK
from parley_research.routing import Case
from parley_research.routing_data import GOLDEN, golden

KINDS = ("multi", "ambiguous")
"""Of tasks for several experts."""
EVERY = 3
"""Of the tasks for one expert, of which there are ten times as many, so many are used, which count so much more."""
PENALTY = 10.0
"""Of the squared weights: of 1 and 10, this did a little better on what was not fitted on."""
ASK, FEW, MANY = 0.1, 0.1, 0.5
"""As of several.Weights: of 0.3 to 0.7 for MANY, with this the depth by 4.1 agreed most often on the half to develop
on. That half takes instant and quick for the same, so FEW is set and not fitted: nine of ten such tasks are for one."""


async def rows_of(cases: Sequence[Case], reader: Encoder) -> tuple[Floats, Floats, Floats]:
    """(what words tell of each, what words and the reader do, 1 where several experts are needed)."""
    prepared = Prepared(builtin())
    words, read = [], []
    for case in cases:
        heard = prepared.read_task(Task(prompt=case.prompt, files_mentioned=case.files))
        words.append(several.by_words(heard.reading.wanted_text, heard.reading.wanted, len(heard.parts)))
        read.append(several.combined(words[-1], (await reader.encode([heard.parts[0] if heard.parts else "-"]))[0]))
    return np.array(words), np.array(read), np.array([float(c.kind in KINDS) for c in cases])


async def fit_all(folder: Path, to: Path) -> list[str]:
    """Write several.json; lines of figures."""
    reader = make_readers().apart
    every = golden("train", builtin(), folder).cases
    kept_cases = [c for i, c in enumerate(every) if i % HELD_BACK and c.kind != "saying"]
    used = [c for i, c in enumerate(kept_cases) if c.kind in KINDS or i % EVERY == 0]
    words, read, y = await rows_of(used, reader)
    counts = np.where(y > 0, 1.0, float(EVERY))
    by_words, by_both = (fit_sure(x, y, counts=counts, penalty=PENALTY) for x in (words, read))
    weights = several.Weights(words=_rounded(by_words), read=_rounded(by_both), ask=ASK, few=FEW, many=MANY)
    (to / several.FILE.name).write_bytes(msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n")
    lines = []
    for name, cases in (("held back", every[::HELD_BACK]), ("half to develop on", golden("dev", builtin()).cases)):
        words, read, y = await rows_of([c for c in cases if c.kind != "saying"], reader)
        for by, x, w, at in (("words", words, by_words, ASK), ("both", read, by_both, MANY)):
            said = chance(w, x) >= at
            lines.append(
                f"{name}, by {by}: {said[y > 0].mean():.1%} of {int(y.sum())} for several are told, "
                f"and {said[y == 0].mean():.1%} of {int((1 - y).sum())} for one"
            )
    return lines


def _rounded(w: Floats) -> tuple[float, ...]:
    return tuple(round(float(v), 4) for v in w)


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m parley_research.fit_several", description=__doc__)
    parser.add_argument("--golden", type=Path, default=GOLDEN, metavar="DIR")
    parser.add_argument("--to", type=Path, default=several.FILE.parent, metavar="DIR")
    options = parser.parse_args(arguments)
    print("\n".join(asyncio.run(fit_all(options.golden, options.to))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
