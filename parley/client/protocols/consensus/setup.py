"""How a session of the consensus protocol is set up."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.client.setup.options import HERE, LOOK_UPS, PANEL, ROUND_LIMIT, STYLE, Option
from parley.client.setup.setup import Setup, Several
from parley.schemas.protocols.consensus import MOST_PANEL


class ConsensusSetup(Setup):
    """A panel of several, and an analyst."""

    def whole(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Strategies of a folder and of packages are read in."""
        if not {"own_strategies", "styles"} & settings.keys():
            return dict(settings)
        from parley.client.setup.strategies import whole

        return whole(settings)

    def refuse_local_files(self, settings: Mapping[str, Any]) -> None:
        """A folder of strategies is of this machine."""
        if isinstance(settings.get("own_strategies"), str):
            from parley.client.errors import BadInput

            raise BadInput("own_strategies", "a folder is of the machine that asks; give the strategies themselves")

    def template(self) -> Mapping[str, str]:
        """A panel of three, and a question with documents."""
        from importlib import resources

        root = Path(str(resources.files(__package__))) / "template"
        files = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
        return {".env" if name == "env" else name: path.read_text(encoding="utf-8") for name, path in files.items()}


SETUP = ConsensusSetup(
    name="consensus",
    about="A panel answers apart. Then each seat sees all answers and may change its own, "
    "until they agree, are stuck, or reach the round limit.",
    opening_only=("panel", "expertise_weight", "styles", "own_strategies"),
    hidden=("own_strategies",),
    rank=1,
    learns=True,
    counts=("decide",),
    several=Several(role="panelist", setting="panel", size=3, chooses=MOST_PANEL),
    others=("analyst",),
    options=(
        Option(
            "--threshold",
            float | None,
            "Share of the weight, in percent, that must sign an answer, above 0 to 100. 0.9 is read as 90.",
        ),
        Option(
            "--decide",
            str | None,
            "How it is decided: agreement, majority, supermajority (2/3, or a share, such as supermajority:0.75), "
            "unanimity, approval, borda, instant-runoff, condorcet, score, ranking, judge.",
            metavar="RULE",
        ),
        ROUND_LIMIT,
        PANEL,
        STYLE,
        LOOK_UPS,
        Option(
            "--strategies",
            str | None,
            "consensus: folder of strategies beside those that ship.",
            sets="own_strategies",
            metavar="DIR",
            doors=HERE,
        ),
    ),
    stack_options=(PANEL._replace(least=2, most=16, words=()),),
    key_options=(Option("--panel", int, "Panelists.", least=2, most=16, default=3),),
)
