"""How a session of the maci protocol is set up."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.client.setup.options import LOOK_UPS, PANEL, ROUND_LIMIT, Option
from parley.client.setup.setup import Command, Setup, Several

MOST_OUTCOMES = 1_000_000
"""Bytes of a file of outcomes."""


def read_outcomes(text: str) -> list[str]:
    """The lines of a file that is there (empty ones, and those that begin with `#`, are passed over), else what stands
    between commas. Raises BadInput: a file that cannot be read; one word that is no file; a name with characters that
    cannot be shown. Whether they are outcomes is for the protocol to say."""
    from parley.client.errors import BadInput
    from parley.client.text import clean

    found = [part.strip() for part in text.split(",")]
    if _is_there(text):
        found = [line for line in _lines_of(text) if line and not line.startswith("#")]
    elif len(found) < 2:
        raise BadInput("outcomes", f"got {text!r}: no such file, and no list of outcomes between commas")
    for name in found:
        if clean(name) != name or "\t" in name:
            raise BadInput("outcomes", f"got {name!r}: a name has no control characters")
    return found


def _is_there(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long for a path, and so a list
        return False


def _lines_of(name: str) -> list[str]:
    from parley.bus.files.plain import read_plain
    from parley.client.errors import BadInput, bad_input

    with bad_input("outcomes", OSError, UnicodeDecodeError, what=f"cannot read {name}"):
        data = read_plain(Path(name), MOST_OUTCOMES)
        if len(data) > MOST_OUTCOMES:
            raise BadInput("outcomes", f"{name} has more than the {MOST_OUTCOMES:,} bytes that are allowed")
        return [line.strip() for line in data.decode("utf-8-sig").split("\n")]


def _signals(path: str, preset: str | None, lines: bool) -> Any:
    from parley.client.protocols.maci import signals_file

    return signals_file.read_debates(path, preset=preset, lines=lines)


class MaciSetup(Setup):
    """Debaters, as many judges as the settings want, each on a queue of its own, and the two helpers."""

    def queues(self, settings: Mapping[str, Any], size: int | None = None) -> tuple[str, ...]:
        """The first judge's queue is that of every protocol with one judge."""
        from parley.schemas.control import Control

        judges = settings.get("judges") or Control().judges
        more = tuple(f"judge_{i}" for i in range(2, judges + 1))
        queues = super().queues(settings, size)
        after = queues.index("judge") + 1
        return (*queues[:after], *more, *queues[after:])


_PRESET = Option(
    "--preset",
    str | None,
    "maci: paper uses the published settings. With debate (default), agents can change their minds.",
    sets="reading",
)
_SIGNALS_HELP = """Compute MACI's signals and stop over a recorded debate.

The result is one JSON document, with the dials. No model is called. The first round is the blind one. An agent that
is absent from a later round keeps its last belief. Besides beliefs, a round may have evidence, crit, crit_mean,
crit_variance, q, tokens, advocate, attacks, unanswered, arguments and judges.

A file of many debates has one debate on each line. The output then has one document on each line, in the same order.
The document of a bad line has its number and the reason. Exit status: 0 all were read, 1 some lines were bad, 2 all
lines were bad.

\b
Examples:
  parley signals debate.json
  parley signals debate.json --preset paper
  parley signals debates.jsonl > signals.jsonl
  record-debates | parley signals - --lines
where debate.json is
  {"outcomes": ["a", "b"], "config": {"tau_stop": 2}, "constants": {"w": 4},
   "rounds": [{"beliefs": {"u": [0.6, 0.4], "v": [0.1, 0.9]}, "q": 0.6},
              {"beliefs": {"u": [0.5, 0.5]}, "q": 0.7,
               "evidence": {"u": ["e1", "e2"]}, "crit": {"u": 0.8}}]}
"""


SETUP = MaciSetup(
    name="maci",
    about="Debaters say how likely each outcome is, and argue with evidence. "
    "Judges mark the arguments, and measured rules end the debate.",
    opening_only=("debaters", "judges", "cross_family", "frames"),
    rank=3,
    several=Several(role="debater", setting="debaters", size=2),
    others=("judge", "analyst", "helper"),
    options=(
        ROUND_LIMIT,
        PANEL,
        LOOK_UPS,
        Option("--debaters", int | None, "Number of debaters, the same as --panel."),
        Option(
            "--outcomes",
            str | None,
            "maci: the possible answers, 'a, b, c' or a file with one on each line (default: debaters propose them).",
            read=read_outcomes,
        ),
        _PRESET,
        Option("--ordered", bool, "The outcomes are points on a scale, in this order.", default=False),
        Option(
            "--close-the-loop",
            bool,
            "maci: run the plan's queries on the evidence after each round.",
            default=False,
        ),
    ),
    stack_options=(
        PANEL._replace(least=2, most=16, words=()),
        Option("--debaters", int | None, "Debaters of maci (default: 2).", least=2, most=8),
    ),
    key_options=(Option("--debaters", int, "Debaters of maci.", least=2, most=8, default=2),),
    examples=('parley ask "..." --protocol maci --evidence docs/ --outcomes "yes, no, not yet"',),
    commands=(
        Command(
            "signals",
            _SIGNALS_HELP,
            "FILE",
            "JSON with outcomes and rounds, or one debate on each line; - reads standard input.",
            _signals,
            options=(
                _PRESET._replace(
                    help="Preset of debates that name none: paper (the published settings) or debate (default)."
                ),
                Option(
                    "--lines",
                    bool,
                    "Read one debate from each line, whatever the file's name and first line are.",
                    default=False,
                ),
            ),
        ),
    ),
)
