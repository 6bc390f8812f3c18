"""How a session of the protocol `compound` is set up."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.client.setup.options import Option
from parley.client.setup.setup import Beneath, Setup, Several


def parts_of(given: list[str]) -> list[Any]:
    """The parts that the option names: each is a text, or a file of them. Raises BadInput."""
    return [part for one in given for part in (_of_file(one) if os.path.isfile(one) else [one])]


def _of_file(name: str) -> list[Any]:
    """A line each, empty lines left out; of YAML the list `parts`, of texts and of parts with what is their own."""
    from parley.client.errors import BadInput, bad_input
    from parley.client.strict_files import read_yaml

    if name.lower().endswith((".yaml", ".yml")):
        parts = read_yaml(Path(name)).get("parts")
        if not isinstance(parts, list):
            raise BadInput("parts", f"{name} has no list `parts`")
        return parts
    with bad_input("parts", OSError, UnicodeDecodeError, what=f"cannot read {name}"):
        lines = Path(name).read_text(encoding="utf-8-sig").splitlines()
    return [line.strip() for line in lines if line.strip()]


class CompoundSetup(Setup):
    """An analyst, and a panel for each part."""

    def beneath(self, settings: Mapping[str, Any]) -> Beneath | None:
        """The panels of the parts."""
        return Beneath(protocol="consensus", settings=settings.get("part_settings") or {}, inner="part_settings")


SETUP = CompoundSetup(
    name="compound",
    about="A question of several parts is split. A panel decides each part, all at once; one answer names them all.",
    rank=6,
    several=Several(role="panelist", setting="panel", size=3),
    others=("analyst",),
    with_person={"confirm_s": 120.0},
    options=(
        Option(
            "--parts",
            list[str] | None,
            "compound: a part of the question, or a file of parts; repeatable (default: the analyst splits it).",
            metavar="FILE|TEXT",
            read=parts_of,
        ),
    ),
    examples=('parley ask "What do we move to?" --parts "Which database?" --parts "Which cloud?"',),
)
