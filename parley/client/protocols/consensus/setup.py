"""How a session of the consensus protocol is set up."""

from collections.abc import Mapping

from parley.client.faces.options import PANEL, ROUND_LIMIT, Option
from parley.client.faces.setup import Setup, Several


class ConsensusSetup(Setup):
    """A panel of several, and an analyst."""

    def template(self) -> Mapping[str, str]:
        """A panel of three, and a question with documents."""
        from parley.client.protocols.consensus.template import FILES

        return FILES


SETUP = ConsensusSetup(
    name="consensus",
    about="A panel answers apart. Then each seat sees all answers and may change its own, "
    "until they agree, are stuck, or reach the round limit.",
    opening_only=("panel", "expertise_weight"),
    rank=1,
    learns=True,
    several=Several(role="panelist", setting="panel", size=3),
    others=("analyst",),
    options=(
        Option(
            "--threshold",
            float | None,
            "Share of the weight, in percent, that must sign an answer, above 0 to 100. 0.9 is read as 90.",
        ),
        ROUND_LIMIT,
        PANEL,
    ),
    stack_options=(PANEL._replace(least=2, most=16),),
    key_options=(Option("--panel", int, "Panelists.", least=2, most=16, default=3),),
)
