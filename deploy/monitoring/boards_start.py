"""The board that is opened first: whether something is wrong, what, and where to look."""

from deploy.monitoring.panels import BARS, FIGURE, Board, Panel, Row, panel
from deploy.monitoring.slos import SLOS

_LEFT = " or ".join(f"(1 - parley:{slo.name}:bad_share_1d / {1 - slo.objective:g})" for slo in SLOS)


def _count(title: str, expr: str, help: str, **more: float) -> Panel:
    return panel(title, expr, "", help, kind=FIGURE, wide=4, **more)


START = Board(
    uid="parley-start",
    title="Parley: start",
    help="Whether something is wrong, what, and where to look. The links at the top lead to the other boards.",
    rows=(
        Row(
            "Now",
            (
                _count(
                    "Synthetic questions not answered",
                    'sum(increase(parley_asked_total{outcome=~"failed|refused|unanswered"}[10m])) or vector(0)',
                    "Of the last ten minutes, one is asked each minute.",
                    bar=0.5,
                ),
                _count("Services down", 'count(up{job="parley"} == 0) or vector(0)', "Not answering.", bar=0.5),
                _count(
                    "Queues without a worker",
                    "count(parley_queue_expected unless on (queue) (max by (queue) (parley_queue_workers) > 0))"
                    " or vector(0)",
                    "Of those that must have one (`watch.expect`).",
                    bar=0.5,
                ),
                _count(
                    "Moderators", "sum(parley_moderator) or vector(0)", "That take work.", floor=0.5,
                ),
                _count(
                    "The bus stores", "min(parley_nats_stores) and on () max(parley_nats_up) == 1 or vector(0)",
                    "1: nats-server answers, and stores what it is given.", floor=0.5,
                ),
                _count(
                    "Questions that wait for a person",
                    "sum(parley:items_opened_total:max) - sum(parley:items_closed_total:max) or vector(0)",
                    "`parley inbox` lists them.",
                    bar=0.5,
                ),
            ),
        ),
        Row(
            "What is wrong",
            (
                panel(
                    "Alerts that are on",
                    'sum by (alertname, service, queue, model, owner, reason) (ALERTS{alertstate="firing"})',
                    "{{alertname}} {{queue}}{{model}}{{owner}}{{reason}} {{service}}",
                    "Each has a section in docs/operations/runbooks.md. The one whose name tells of the bus, of "
                    "moderators or of a queue is the cause of the others.",
                    kind=BARS,
                    wide=12,
                ),
                panel(
                    "The three worst objectives: budget left over a day",
                    f"bottomk(3, {_LEFT})",
                    "{{slo}}",
                    "Below 0 the objective is missed. The dashboard *coordination* has all of them.",
                    kind=BARS,
                    unit="percentunit",
                    wide=12,
                    floor=0.0,
                ),
                panel(
                    "Services",
                    'sum by (service) (up{job="parley"})',
                    "{{service}}",
                    "Copies that answer Prometheus. One that vanished is not here at all.",
                    kind=BARS,
                    wide=12,
                    floor=0.5,
                ),
                panel(
                    "Questions refused, failed and answered, a minute",
                    '60 * (label_replace(sum by (reason) (rate(parley_sessions_refused_total[5m])), "what",'
                    ' "refused: $1", "reason", "(.*)") or label_replace(sum by (status)'
                    ' (rate(parley:sessions_closed_total:max[5m])), "what", "$1", "status", "(.*)"))',
                    "{{what}}",
                    "What the askers see.",
                    wide=12,
                ),
            ),
        ),
    ),
)  # fmt: skip
