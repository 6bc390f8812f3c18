"""The rules made from the tables of objectives and alerts, as Prometheus itself reads and evaluates them."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from deploy.monitoring.__main__ import files
from deploy.monitoring.alerts import ALERTS, Alert
from deploy.monitoring.boards import outcomes
from deploy.monitoring.rules import RUNBOOK, groups, hurried, render
from deploy.monitoring.slos import SLOS, Slo

ROOT = Path(__file__).parents[2]
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="NOT CHECKED: promtool is not installed")


def promtool(*arguments: str) -> str:
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


Expected = dict[str, Any]
"""What promtool is to compare: of an alert (alertname, exp_alerts), or of an expression (expr, exp_samples)."""
Case = tuple[Iterable[tuple[str, str]], str, Iterable[Expected]]
"""A minute-wise history of series, a time, and what is to be found then."""


def judged(folder: Path, *cases: Case, about: str = "") -> None:
    """Have promtool feed each case to the rules that speak of something, and compare what comes out."""
    made = {name: [r for r in rules if about in json.dumps(r)] for name, rules in groups(outcomes()).items()}
    made["parley-copies"] = groups(outcomes())["parley-copies"]
    (folder / "rules.yml").write_text(render({name: rules for name, rules in made.items() if rules}))
    tests: list[Any] = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series],
            "alert_rule_test": [{"eval_time": at, **e} for e in expect if "alertname" in e],
            "promql_expr_test": [{"eval_time": at, **e} for e in expect if "expr" in e],
        }
        for series, at, expect in cases
    ]
    (folder / "test.yml").write_text(
        json.dumps({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests})
    )
    promtool("test", "rules", str(folder / "test.yml"))


def test_what_is_committed_is_what_the_tables_make() -> None:
    for path, text in files().items():
        assert (ROOT / path).read_text(encoding="utf-8") == text, f"{path}: run `make monitoring`"


@needs_promtool
def test_prometheus_takes_the_rules(tmp_path: Path) -> None:
    for name, text in {"rules": render(groups(outcomes())), "hurried": hurried(render(groups(outcomes())), 60)}.items():
        (tmp_path / f"{name}.yml").write_text(text)
        assert "SUCCESS" in promtool("check", "rules", str(tmp_path / f"{name}.yml"))


def test_every_alert_has_a_runbook() -> None:
    page = (ROOT / RUNBOOK).read_text(encoding="utf-8")
    for name in [*(s.alert for s in SLOS), *(a.name for a in ALERTS)]:
        assert f"\n## {name}\n" in page
    for group in groups(outcomes()).values():
        for rule in group:
            if "alert" in rule:
                notes = rule["annotations"]
                assert isinstance(notes, dict)
                assert notes["runbook"] == f"{RUNBOOK}#{str(rule['alert']).lower()}"


def _raw(selector: str, copy: str = "") -> str:
    """The series that a process exposes for a selector of a rule: `parley:x:max` is recorded from `parley_x`."""
    name = selector.replace("parley:", "parley_").replace(":max", "")
    name, _, labels = name.partition("{")
    labels = labels.removesuffix("}")
    for pattern, value in (("accepted|retried|missed", "accepted"), ("web|openai|mcp|login", "web"), ("5..", "503")):
        labels = labels.replace(f'=~"{pattern}"', f'="{value}"')
    return name + "{" + ",".join(x for x in (labels, f'instance="{copy}"' if copy else "") if x) + "}"


def _history(slo: Slo, share: float, events: int, minutes: int, copy: str = "") -> list[tuple[str, str]]:
    """Series of `events` a minute of which `share` are bad, as counters from zero on."""
    bad = share * events
    if " + " in slo.total:  # of the first of its counters
        closed = "parley_sessions_closed_total{protocol='x',status='%s'}"
        return [(closed % "failed", f"0+{bad:g}x{minutes}"), (closed % "finished", f"0+{events - bad:g}x{minutes}")]
    if slo.bad:
        if slo.bad.partition("{")[0] != slo.total.partition("{")[0]:
            return [
                (_raw(slo.total, copy), f"0+{events:g}x{minutes}"),
                (_raw(slo.bad, copy), f"0+{bad:g}x{minutes}"),
            ]
        other = (
            slo.bad.replace("failed", "finished")
            .replace("missed", "accepted")
            .replace("busy", "accepted")
            .replace('=~"5.."', '="200"')
        )
        return [
            (_raw(other, copy), f"0+{events - bad:g}x{minutes}"),
            (_raw(slo.bad, copy), f"0+{bad:g}x{minutes}"),
        ]
    if slo.good.partition("{")[0] == slo.total.partition("{")[0]:
        return [
            (_raw(slo.good, copy), f"0+{events - bad:g}x{minutes}"),
            (_raw(slo.good.replace("right", "wrong"), copy), f"0+{bad:g}x{minutes}"),
        ]
    return [
        (_raw(slo.total, copy), f"0+{events:g}x{minutes}"),
        (_raw(slo.good, copy), f"0+{events - bad:g}x{minutes}"),
    ]


def _is(expr: str, value: float) -> Expected:
    return {"expr": expr, "exp_samples": [{"labels": "{}", "value": value}]}


def _fired(slo: Slo, share: float) -> Expected:
    """The one alert of an objective, where its share of bad events is this."""
    rule = next(r for r in groups(outcomes())["parley-budgets"] if r["alert"] == slo.alert)
    labels, notes = rule["labels"], rule["annotations"]
    assert isinstance(labels, dict) and isinstance(notes, dict)
    summary = str(notes["summary"]).replace("{{ $value | humanizePercentage }}", f"{share * 100:.4g}%")
    alert = {
        "exp_labels": {"slo": slo.name, "severity": slo.severity, **labels},
        "exp_annotations": {**notes, "summary": summary},
    }
    return {"alertname": slo.alert, "exp_alerts": [alert]}


def _silent(slo: Slo) -> Expected:
    return {"alertname": slo.alert, "exp_alerts": []}


@needs_promtool
@pytest.mark.parametrize("slo", SLOS, ids=lambda s: s.name)
def test_an_objective_raises_alerts_where_much_is_bad_and_only_there(slo: Slo, tmp_path: Path) -> None:
    """Not where little is bad, nor where one of one is, which is 100 % of too few, nor where there is no series."""
    few = [(name, values.partition("x")[0] + "x1 _x300") for name, values in _history(slo, 1.0, 1, 1)]
    judged(
        tmp_path,
        (_history(slo, 0.875, 8, 180), "180m", [_fired(slo, 0.875)]),
        (_history(slo, (1 - slo.objective) / 2, 100, 180), "180m", [_silent(slo)]),
        (few, "30m", [_silent(slo)]),
        ([("up", "1x180")], "180m", [_silent(slo)]),
        about=f"parley:{slo.name}:",
    )


@needs_promtool
def test_refusals_and_synthetic_questions_count_as_questions(tmp_path: Path) -> None:
    """Of 20 a minute 10 had nobody to answer them, and the synthetic one was not answered. What the asker got wrong is
    not counted. No session closed: its series are not even there."""
    history = [
        ("parley_sessions_refused_total{protocol='maci',reason='worker'}", "0+10x60"),
        ("parley_sessions_refused_total{protocol='maci',reason='input'}", "0+90x60"),
        ("parley_sessions_closed_total{instance='a',protocol='maci',status='finished'}", "0+9x60"),
        ("parley_asked_total{outcome='unanswered'}", "0+1x60"),
    ]
    share = _is("round(sum(parley:questions_answered:bad_share_1h), 0.001)", 0.55)
    without = _is("round(sum(parley:questions_answered:bad_share_1h), 0.001)", 1)
    judged(tmp_path, (history, "60m", [share]), (history[:1], "60m", [without]), about="parley:questions_answered:")


@needs_promtool
def test_a_restart_of_the_exporter_is_no_event(tmp_path: Path) -> None:
    """It comes back with the totals that it had, under another address: nothing is counted anew, and nothing lost."""
    history = [
        ("parley_tasks_ended_total{instance='a'}", "0 0 5 10 15 20 stale"),
        ("parley_overrides_total{instance='a'}", "0 0 1 2 3 4 stale"),
        ("parley_tasks_ended_total{instance='b'}", "_ _ _ _ _ _ 20 20 25 30 30 30"),
        ("parley_overrides_total{instance='b'}", "_ _ _ _ _ _ 4 4 5 6 6 6"),
    ]
    expected = [
        _is("sum(parley:tasks_ended_total:max)", 30),
        _is("round(sum(parley:overrides:bad_share_1h), 0.001)", 0.2),
    ]
    judged(tmp_path, (history, "11m", expected), about="parley:overrides:")


ON: dict[str, tuple[list[tuple[str, str]], str, str]] = {
    "ParleyQuestionsRefused": (
        [("parley_sessions_refused_total{protocol='maci',reason='worker'}", "0+2x20")],
        "parley_sessions_refused_total{protocol='maci',reason='worker'}", "0x20",
    ),
    "ParleyQuestionsUnanswered": (
        [("parley_asked_total{outcome='unanswered'}", "0+1x20"), ("parley_asked_total{outcome='answered'}", "0x20")],
        "parley_asked_total{outcome='unanswered'}", "0x10 1x10",
    ),
    "ParleyQueueWithoutWorker": (
        [
            ("parley_moderator{state='ready'}", "1x20"),
            ("parley_queue_workers{queue='sre'}", "0x20"),
            ("parley_queue_pending{queue='sre'}", "2x20"),
            ("parley_queue_unacknowledged{queue='sre'}", "0x20"),
        ],
        "parley_queue_workers{queue='sre'}", "1x20",
    ),
    "ParleyQueueWaits": (
        [("parley_queue_oldest_seconds{queue='sre'}", "300x20"), ("parley_queue_pending{queue='sre'}", "3x20")],
        "parley_queue_oldest_seconds{queue='sre'}", "3x20",
    ),
    "ParleyQueueFull": (
        [("parley_queue_pending{queue='sre'}", "201x20")], "parley_queue_pending{queue='sre'}", "200x20",
    ),
    "ParleyEndpointFailing": (
        [
            ("parley_model_errors_total{model='m',kind='timeout'}", "0+6x20"),
            ("parley_model_calls_total{model='m'}", "0+8x20"),
            ("parley_model_retries_total{model='m'}", "0x20"),
        ],
        "parley_model_errors_total{model='m',kind='timeout'}", "0+3x20",
    ),
    "ParleySpendNearBudget": (
        [("parley_spend_today_usd{tenant='t'}", "8x20"), ("parley_budget_today_usd{tenant='t'}", "10x20")],
        "parley_spend_today_usd{tenant='t'}", "7.9x20",
    ),
    "ParleyCoordinationDegraded": ([("parley_breaker_degraded", "1x20")], "parley_breaker_degraded", "0x20"),
    "ParleyItemsWait": ([("parley_items_waited_share", "0.3x20")], "parley_items_waited_share", "0.2x20"),
    "ParleyClientRunsAway": (
        [("parley_openings_total{owner='o'}", "0+900x20"), ("parley_queue_pending{queue='sre'}", "900x20")],
        "parley_openings_total{owner='o'}", "0+9x20",
    ),
    "ParleyPoison": (
        [("parley_aside_total{kind='undecodable'}", "0+900x20")], "parley_aside_total{kind='undecodable'}", "0+9x20",
    ),
    "ParleyQueueMixed": ([("parley_queue_models{queue='sre'}", "2x20")], "parley_queue_models{queue='sre'}", "1x20"),
    "ParleyModeratorsGone": ([("parley_moderator{state='ready'}", "_x20")], "parley_moderator{state='ready'}", "1x20"),
    "ParleyLogsDamaged": ([("parley_logs_damaged", "1x20")], "parley_logs_damaged", "0x20"),
    "ParleySessionsUnreadable": (
        [("parley_sessions_unreadable{reason='version'}", "1x20")],
        "parley_sessions_unreadable{reason='version'}", "0x20",
    ),
    "ParleyBusDisconnected": (
        [("parley_bus_connected{instance='a'}", "0x20")], "parley_bus_connected{instance='a'}", "1x20",
    ),
    "ParleyStoreNearlyFull": (
        [("parley_store_used_bytes", "81x20"), ("parley_store_limit_bytes", "100x20")],
        "parley_store_used_bytes", "79x20",
    ),
    "ParleyLateCalls": ([("parley_late_calls_total", "0+1x20")], "parley_late_calls_total", "0x20"),
    "ParleyServiceDown": (
        [("up{job='parley',instance='a'}", "0x20")], "up{job='parley',instance='a'}", "1x20",
    ),
    "ParleyOutcomesMissing": (
        [("parley_outcomes_position", "5x20"), ("parley_outcomes_lag", "20000x20")], "parley_outcomes_lag", "0x20",
    ),
    "ParleyTokensTried": (
        [("parley_gateway_requests_total{door='web',status='401'}", "0+120x20")],
        "parley_gateway_requests_total{door='web',status='401'}", "0+30x20",
    ),
    "ParleyGatewayBusy": (
        [("parley_gateway_requests_total{door='openai',status='429'}", "0+120x20")],
        "parley_gateway_requests_total{door='openai',status='429'}", "0+30x20",
    ),
    "ParleyBusStoresNothing": ([("parley_bus_unstored_seconds", "9x20")], "parley_bus_unstored_seconds", "0x20"),
    "ParleyCertificateEnds": (
        [("parley_nats_certificate_ends_seconds", "5000000x20")],
        "parley_nats_certificate_ends_seconds", "9000000x20",
    ),
    "ParleyNatsDown": ([("parley_nats_up", "0x20")], "parley_nats_up", "1x20"),
}  # fmt: skip
"""By alert: series under which it is on, and what one of them is where it is off."""


def _judged(folder: Path, alert: Alert, *cases: tuple[list[tuple[str, str]], int]) -> None:
    """Of each series, how many instances of the alert are on after 15 minutes, or a little over its waiting time."""
    at = max(15, alert.for_s // 60 + 5)
    there = [("parley_outcomes_position", f"1x{at}"), ("parley_outcomes_lag", f"0x{at}")]
    steady = [] if alert.name == "ParleyOutcomesMissing" else there
    expr = f'count(ALERTS{{alertname="{alert.name}",alertstate="firing"}}) or vector(0)'
    about = f'"{alert.name}"'
    judged(folder, *(([*series, *steady], f"{at}m", [_is(expr, count)]) for series, count in cases), about=about)


@needs_promtool
@pytest.mark.parametrize("alert", ALERTS, ids=lambda a: a.name)
def test_an_alert_is_on_and_off_where_it_should_be(alert: Alert, tmp_path: Path) -> None:
    """And off without any series, unless that is what it tells."""
    series, changed, values = ON[alert.name]
    quiet = [(name, values if name == changed else v) for name, v in series]
    assert quiet != series
    without = 1 if alert.name in ("ParleyOutcomesMissing", "ParleyModeratorsGone") else 0
    _judged(tmp_path, alert, (series, 1), (quiet, 0), ([("something_else", "1x30")], without))
