"""How a session of the competition protocol is set up."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.client.setup.options import STYLE, Option
from parley.client.setup.setup import Setup


class CompetitionSetup(Setup):
    """The seats of its format, which may stand in a file; a topic may give the question."""

    def queues(self, settings: Mapping[str, Any], size: int | None = None) -> tuple[str, ...]:
        """The seats of the settings' format. Raises BadInput."""
        from parley.client.protocols.competition import files

        return files.seats(settings)

    def process(self, queue: str) -> str:
        """Each team by itself: nothing that could speak for one holds the other's key."""
        role = queue.rpartition("_")[0] or queue
        return {"pro": "team-pro", "con": "team-con", "judge": "judges", "audience": "judges"}.get(role, "")

    def due(self, settings: Mapping[str, Any]) -> Mapping[str, int]:
        """Seats of each role that the format has."""
        return Counter(seat.rpartition("_")[0] or seat for seat in self.queues(settings))

    def keyed(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """A judge, two teams and an audience, as large as they are to be at most."""
        sizes = {"pro": given["team"], "con": given["team"], "audience": given["audience"]}
        return ("judge", *(f"{role}_{i}" for role, most in sizes.items() for i in range(1, most + 1)))

    def whole(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with format and personalities read in. Raises BadInput."""
        from parley.client.protocols.competition import files

        return files.whole(settings)

    def refuse_local_files(self, settings: Mapping[str, Any]) -> None:
        """Raise BadInput where format or personalities are a file's."""
        from parley.client.protocols.competition import files

        files.refuse_paths(settings)

    def topic(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The topic that `--topic` names. Raises BadInput."""
        from parley.client.protocols.competition import files

        topic, folder = files.topic(given["topic"])
        stances = {str(team): text for team, text in topic.stances.items()}
        return {"question": topic.motion, "settings": {"stances": stances} if stances else {}, "evidence": folder}


_FORMAT = Option(
    "--format", str | None, "competition: the rules of the debate (default: four_stage).", metavar="NAME|FILE"
)

SETUP = CompetitionSetup(
    name="competition",
    about="Two teams debate a motion by the rules of a format, and a judge scores them.",
    hidden=("personalities",),
    opening_only=("stances", "personalities", "styles"),
    rank=4,
    options=(
        _FORMAT,
        Option(
            "--topic",
            str | None,
            "competition: a motion with stances and evidence from a file.",
            sets="stances",
            metavar="FILE#NAME",
            gives="question",
        ),
        STYLE,
        Option("--personalities", Path | None, "A file of personalities of your own.", read=str),
    ),
    stack_options=(_FORMAT,),
    key_options=(
        Option("--team", int, "Debaters of each team of a competition.", least=1, most=8, default=4),
        Option("--audience", int, "Seats that vote in a competition.", least=0, most=30, default=5),
    ),
    examples=(
        "parley ask --protocol competition --topic topics.yaml#free_transport --style pro_1=logical",
        "parley ask --protocol competition --human pro_2 --wait-for-human 600",
    ),
)
