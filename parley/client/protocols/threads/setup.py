"""How a session of the protocol `threads` is set up."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.client.errors import BadInput
from parley.client.faces.options import Option
from parley.client.faces.setup import Beneath, Setup


def parts_of(file: Path) -> list[str]:
    """The parts of a file, a line each; empty lines are none. Raises BadInput."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput("parts", f"cannot read {file}: {error}") from error
    return [line.strip() for line in lines if line.strip()]


class ThreadsSetup(Setup):
    """An analyst, and a panel for each part."""

    def beneath(self, settings: Mapping[str, Any]) -> Beneath | None:
        """The panels of the parts."""
        return Beneath(
            protocol="consensus", settings=settings.get("part_settings") or {}, setting="threads.parts",
            inner="part_settings", otherwise="its parts are refused",
        )  # fmt: skip


SETUP = ThreadsSetup(
    name="threads",
    about="A question of several parts is split. A panel decides each part, all at once; one answer names them all.",
    rank=6,
    others=("analyst",),
    options=(
        Option(
            "--parts", Path | None, "File with the parts of the question, a line each.", metavar="FILE", read=parts_of,
        ),
        Option("--part", list[str] | None, "A part of the question; repeatable.", sets="parts", read=list),
    ),
    examples=('parley ask "..." --protocol threads --part "Which database?" --part "Which cloud?"',),
)  # fmt: skip
