"""The dashboards: what Grafana reads, made from one table."""

import json
from typing import Any

import pytest

from deploy.monitoring.boards import BOARDS
from deploy.monitoring.dashboards import render
from deploy.monitoring.panels import FIGURE, Board


def _panels(made: Any) -> list[Any]:
    out = []
    for panel in made["panels"]:
        out += [panel, *panel.get("panels", [])]
    return out


@pytest.mark.parametrize("board", BOARDS, ids=lambda b: b.uid)
def test_no_two_panels_cover_each_other(board: Board) -> None:
    cells: set[tuple[int, int]] = set()
    for panel in _panels(json.loads(render(board))):
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        taken = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not taken & cells, panel["title"]
        cells |= taken


def test_every_figure_says_from_where_on_it_is_not_good() -> None:
    figures = [p for board in BOARDS for row in board.rows for p in row.panels if p.kind == FIGURE]
    assert [p.title for p in figures if p.bar is None and p.floor is None] == []
