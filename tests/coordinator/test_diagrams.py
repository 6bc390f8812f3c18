"""The committed diagrams are those of the tables."""

from pathlib import Path

import pytest

from docs.generators.diagrams import mermaid, page
from parley.coordinator.protocols import PROTOCOLS

DIAGRAMS = Path(__file__).parents[2] / "docs" / "diagrams"


@pytest.mark.parametrize("name", PROTOCOLS)
def test_committed_page_is_current(name: str) -> None:
    assert (DIAGRAMS / f"{name}.md").read_text(encoding="utf-8") == page(PROTOCOLS[name])


def test_every_cell_is_drawn() -> None:
    protocol = PROTOCOLS["consensus"]
    drawn = mermaid(protocol)
    arrows = {(p, t): events for p, row in protocol.table.items() for e, c in row.items() for t in c.targets
              for events in [e.__name__]}  # fmt: skip
    assert arrows
    for (phase, target), event in arrows.items():
        assert any(line.strip().startswith(f"{phase} --> {target}:") and event in line for line in drawn.splitlines())
