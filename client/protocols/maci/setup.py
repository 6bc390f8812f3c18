"""How a session of the maci protocol is set up."""

from typing import TYPE_CHECKING, Any

from client.protocols.setup import PANEL, ROUND_LIMIT, Command, Option, Setup, Several

if TYPE_CHECKING:
    pass


def _outcomes(given: str) -> list[str]:
    from client.protocols.maci import outcomes_file

    return outcomes_file.read(given)


def _signals(path: str) -> Any:
    from client.protocols.maci import signals_file

    return signals_file.read_debate(path)


_SIGNALS_HELP = """MACI's signals, dials and stop over a recorded debate, as one JSON document; no model is asked.

The first round is the blind one. What a round may have beside beliefs: evidence, crit, crit_mean, crit_variance, q,
tokens.

\b
Example:
  parley signals debate.json
where debate.json is
  {"outcomes": ["a", "b"], "config": {"tau_stop": 2},
   "rounds": [{"beliefs": {"u": [0.6, 0.4], "v": [0.1, 0.9]}, "q": 0.6},
              {"beliefs": {"u": [0.5, 0.5], "v": [0.2, 0.8]}, "q": 0.7,
               "evidence": {"u": ["e1", "e2"], "v": ["e2"]}, "crit": {"u": 0.8, "v": 0.7}}]}
"""


SETUP = Setup(
    name="maci",
    opening_only=("debaters", "judges", "cross_family"),
    rank=3,
    several=Several(role="debater", setting="debaters", size=2),
    others=("judge", "analyst", "helper"),
    options=(
        *ROUND_LIMIT,
        PANEL,
        Option("--debaters", int | None, "The same as --panel, of maci."),
        Option(
            "--outcomes",
            str | None,
            "What maci's answer may be: a file with one a line, or 'a, b, c' (default: they propose).",
            read=_outcomes,
        ),
        Option("--ordered", bool, "The outcomes stand on a scale, in this order.", default=False),
        Option(
            "--close-the-loop",
            bool,
            "maci: run the plan's queries on the evidence after each round.",
            default=False,
        ),
    ),
    stack_options=(
        PANEL._replace(least=2, most=16),
        Option("--debaters", int | None, "Debaters of maci (default: 2).", least=2, most=8),
    ),
    key_options=(Option("--debaters", int, "Debaters of maci.", least=2, most=8, default=2),),
    examples=('parley ask "..." --protocol maci --evidence docs/ --outcomes "yes, no, not yet"',),
    commands=(
        Command("signals", _SIGNALS_HELP, "FILE", "JSON of outcomes and rounds; - reads standard input.", _signals),
    ),
)
