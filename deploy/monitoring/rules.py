"""The rules of Prometheus, made from the tables of objectives and alerts."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from deploy.monitoring.alerts import ALERTS, BUDGET
from deploy.monitoring.slos import COPIES, SLOS, WINDOWS, Slo

RUNBOOK = "docs/operations/runbooks.md"
Rule = Mapping[str, object]
_HEAD = "# Written by `make monitoring` from deploy/monitoring, not by hand.\n"
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def groups(names: Iterable[str]) -> dict[str, list[Rule]]:
    """All rules, by the group that they stand in.

    Parameters
    ----------
    names
        Series of outcomes, without `parley_`, of which the largest copy is recorded.
    """
    return {
        "parley-copies": [
            {"record": f"parley:{name}:max", "expr": f"max without ({COPIES}) (parley_{name})"} for name in names
        ],
        "parley-shares": [rule for slo in SLOS for rule in _shares(slo)],
        "parley-budgets": [_burning(slo) for slo in SLOS],
        "parley-alerts": [
            {
                "alert": alert.name,
                "expr": alert.expr,
                "for": f"{alert.for_s}s",
                "labels": {"severity": alert.severity, "depth": str(alert.depth)},
                "annotations": _notes(alert.summary, alert.name),
            }
            for alert in ALERTS
        ],
    }


def _shares(slo: Slo) -> Iterator[Rule]:
    for window in WINDOWS:
        name = f"parley:{slo.name}:bad_share_{window}"
        yield {"record": name, "expr": slo.bad_share(window), "labels": {"slo": slo.name}}


def _burning(slo: Slo) -> Rule:
    """The one alert of an objective: on where its budget burns too fast by any of the pairs of windows. Its severity is
    that of the gravest, which the expression gives it."""
    allowed = 1 - slo.objective
    pairs: dict[str, list[str]] = {}
    for burn in slo.burns():
        bar = f"{burn.rate * allowed:g}"
        pairs.setdefault(burn.severity, []).append(
            f"(parley:{slo.name}:bad_share_{burn.long} > {bar}"
            f" and parley:{slo.name}:bad_share_{burn.short} > {bar}"
            f" and on () {slo.events(burn.long)} >= {slo.least})"
        )
    graded = (f'label_replace({" or ".join(of)}, "severity", "{grade}", "", "")' for grade, of in pairs.items())
    return {
        "alert": slo.alert,
        "expr": " or on (slo) ".join(graded),
        "labels": {"depth": str(BUDGET)},
        "annotations": _notes(
            f"{slo.title}: the share of bad ones is {{{{ $value | humanizePercentage }}}},"
            f" allowed are {allowed * 100:g} % over {slo.window}.",
            slo.alert,
        ),
    }


def _notes(summary: str, alert: str) -> dict[str, str]:
    return {"summary": summary, "runbook": f"{RUNBOOK}#{alert.lower()}"}


def render(groups: Mapping[str, list[Rule]]) -> str:
    """The file of rules: YAML whose scalars are JSON's."""
    lines = [_HEAD + "groups:"]
    for group, rules in groups.items():
        lines += [f"  - name: {group}", "    rules:"]
        for rule in rules:
            start = "      - "
            for key, value in rule.items():
                if isinstance(value, Mapping):
                    lines.append(f"{start}{key}:")
                    lines += [f"          {k}: {json.dumps(v, ensure_ascii=False)}" for k, v in value.items()]
                else:
                    lines.append(f"{start}{key}: {json.dumps(value, ensure_ascii=False)}")
                start = "        "
    return "\n".join(lines) + "\n"


def hurried(text: str, times: float) -> str:
    """The rules with every window and waiting time divided, for a trial that cannot wait for days.

    Windows do not fall below ten seconds; names of series stay as they are.
    """

    def shorter(match: re.Match[str]) -> str:
        seconds = int(match[2]) * _UNITS[match[3]] / times
        return f"{match[1]}{max(10 if match[1] == '[' else 0, round(seconds))}s{match[4]}"

    text = re.sub(r"(\[)(\d+)([smhd])(\])", shorter, text)
    return re.sub(r'(for: ")(\d+)([smhd])(")', shorter, text)
