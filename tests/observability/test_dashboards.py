"""The dashboards: what Grafana reads, made from one table."""

import json
from typing import Any

import pytest

from deploy.monitoring.boards import BOARDS
from deploy.monitoring.dashboards import SOURCE, render
from deploy.monitoring.panels import FIGURE, Board


def _panels(made: Any) -> list[Any]:
    out = []
    for panel in made["panels"]:
        out += [panel, *panel.get("panels", [])]
    return out


@pytest.mark.parametrize("board", BOARDS, ids=lambda b: b.uid)
def test_a_board_has_every_panel_once_with_its_source_and_words(board: Board) -> None:
    made = json.loads(render(board))
    shown = [p for p in _panels(made) if p["type"] != "row"]
    wanted = [p for row in board.rows for p in row.panels]
    assert [p["title"] for p in shown] == [p.title for p in wanted]
    assert len({p["id"] for p in shown}) == len(shown)
    for panel, table in zip(shown, wanted, strict=True):
        assert panel["description"] and panel["datasource"]["uid"] == SOURCE
        assert [t["expr"] for t in panel["targets"]] == [q.expr for q in table.queries]
        assert all(t["datasource"]["uid"] == SOURCE for t in panel["targets"])
        assert len({t["refId"] for t in panel["targets"]}) == len(panel["targets"])


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
