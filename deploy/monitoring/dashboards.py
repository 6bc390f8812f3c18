"""The dashboards as Grafana reads them, made from the table of panels.

Needs grafana-foundation-sdk, which the `dev` extra brings.
"""

import json

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as models

from deploy.monitoring.boards import BOARDS
from deploy.monitoring.panels import BARS, FIGURE, LINES, RANGE, Board, Panel, Query

HEIGHT = 7
SOURCE = "${source}"
"""The data source: chosen at the top of the board."""
TRACED = ("parley_model_seconds", "parley_session_seconds_bucket")
"""Series of whose values some lead to a trace."""


def render(board: Board) -> str:
    """One dashboard as JSON, the same for the same table."""
    made = (
        dashboard.Dashboard(board.title)
        .uid(board.uid)
        .description(board.help)
        .tags(["parley"])
        .refresh("30s")
        .time("now-6h", "now")
        .timezone("browser")
        .link(
            dashboard.DashboardLink("Parley").type(models.DashboardLinkType.DASHBOARDS).tags(["parley"]).keep_time(True)
        )
        .with_variable(dashboard.DatasourceVariable("source").label("Prometheus").type("prometheus"))
    )
    number = 0
    for row in board.rows:
        made.with_row(dashboard.Row(row.title))
        for panel in row.panels:
            number += 1
            made.with_panel(_panel(panel).id(number))
    return json.dumps(made.build(), cls=JSONEncoder, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


Made = timeseries.Panel | stat.Panel | bargauge.Panel


def _panel(panel: Panel) -> Made:
    made: Made = timeseries.Panel()
    if panel.kind == FIGURE:
        made = stat.Panel()
    elif panel.kind == BARS:
        made = bargauge.Panel()
    made.title(panel.title).description(panel.help).unit(panel.unit).span(panel.wide).height(HEIGHT)
    made.datasource(_source())
    if isinstance(made, bargauge.Panel):
        made.orientation(shapes.VizOrientation.HORIZONTAL)
    if isinstance(made, timeseries.Panel):
        made.fill_opacity(8).show_points(shapes.VisibilityMode.NEVER)
        made.legend(
            common.VizLegendOptions()
            .display_mode(shapes.LegendDisplayMode.LIST)
            .placement(shapes.LegendPlacement.BOTTOM)
            .show_legend(True)
        )
    at = panel.bar if panel.floor is None else panel.floor
    if at is not None:
        low, high = ("green", "red") if panel.floor is None else ("red", "green")
        steps = [models.Threshold(value=None, color=low), models.Threshold(value=at, color=high)]
        made.thresholds(dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps))
        if isinstance(made, timeseries.Panel):
            made.thresholds_style(common.GraphThresholdsStyleConfig().mode(shapes.GraphThresholdsStyleMode.DASHED))
    for letter, query in zip("ABCDEF", panel.queries, strict=False):
        made.with_target(_target(letter, query, instant=panel.kind != LINES))
    return made


def _target(letter: str, query: Query, instant: bool) -> prometheus.Dataquery:
    made = prometheus.Dataquery().ref_id(letter).expr(query.expr).legend_format(query.legend or "__auto")
    made.datasource(_source())
    if instant or RANGE in query.expr:
        return made.instant()
    return made.range().exemplar(any(series in query.expr for series in TRACED))


def _source() -> models.DataSourceRef:
    return models.DataSourceRef(type_val="prometheus", uid=SOURCE)


def files() -> dict[str, str]:
    """All dashboards, by file name."""
    return {f"{board.uid}.json": render(board) for board in BOARDS}
