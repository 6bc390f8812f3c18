"""The board of the gateway: what its doors answer, and what viewers get."""

from deploy.monitoring.panels import RATE, Board, Panel, Query, Row, panel, quantile

_ASKED = 'door=~"web|openai|mcp|login"'
"""Requests of people and programs: no probes, no files of the page."""

GATEWAY = Board(
    uid="parley-gateway",
    title="Parley: gateway",
    help="Requests by door, what was refused or failed, and the streams of those who watch.",
    rows=(
        Row(
            "Requests",
            (
                panel(
                    "Requests a second",
                    f"sum by (door) (rate(parley_gateway_requests_total[{RATE}]))",
                    "{{door}}",
                    "web: the page; openai: /v1; mcp: /mcp; static: files of the page; health: probes.",
                    unit="reqps",
                ),
                panel(
                    "Answers by status",
                    f"sum by (status) (rate(parley_gateway_requests_total{{{_ASKED}}}[{RATE}]))",
                    "{{status}}",
                    "400 and 409 are the asker's; 401 and 403 are refused; 429 came too often; 503: no bus.",
                    unit="reqps",
                ),
                panel(
                    "Share of requests that fail",
                    f'sum by (door) (rate(parley_gateway_requests_total{{{_ASKED},status=~"5.."}}[{RATE}]))'
                    f" / (sum by (door) (rate(parley_gateway_requests_total{{{_ASKED}}}[{RATE}])) > 0)",
                    "{{door}}",
                    "Answered with 500 or more. An alert tells where this lasts.",
                    unit="percentunit",
                    bar=0.001,
                ),
                panel(
                    "Refused in the last hour",
                    'sum by (status) (increase(parley_gateway_requests_total{status=~"401|403|421|429"}[1h]))'
                    " or vector(0)",
                    "{{status}}",
                    "401: no valid token; 403: not allowed; 421: another host name; 429: too many requests.",
                ),
            ),
        ),
        Row(
            "Viewers",
            (
                panel(
                    "Open streams",
                    "sum(parley_gateway_streams)",
                    "streams",
                    "One for each page that watches, all copies added up.",
                ),
                panel(
                    "Sessions that are heard",
                    "sum(parley_gateway_feeds)",
                    "sessions",
                    "For whoever watches them: one for each principal and session.",
                ),
                panel(
                    "Events a second",
                    f"sum by (event) (rate(parley_gateway_events_total[{RATE}]))",
                    "{{event}}",
                    "Sent to viewers.",
                ),
                Panel(
                    title="From a post to its viewers",
                    help="Median and 99th percentile, from a post's append to its sending to a viewer who was there.",
                    queries=(
                        Query(quantile(0.5, "parley_gateway_lag_seconds", ""), "p50"),
                        Query(quantile(0.99, "parley_gateway_lag_seconds", ""), "p99"),
                    ),
                    unit="s",
                    bar=1.0,
                ),
                panel(
                    "Viewers that were cut",
                    "sum(increase(parley_gateway_slow_total[1h]))",
                    "cut",
                    "In the last hour, because they read too slowly. Their pages go on from the last event.",
                ),
                panel(
                    "Copies",
                    "count(sum by (instance, pod) (parley_gateway_requests_total))",
                    "copies",
                    "Of the gateway, as far as they are scraped.",
                ),
            ),
        ),
    ),
)
