"""The pages made from the tables: the objectives (docs/operations/slis.md) and the runbooks of all alerts."""

import re
from collections.abc import Iterable

from deploy.monitoring.alerts import ALERTS, WHO
from deploy.monitoring.slos import BURNS, SLOS

_WRITTEN = "Written by `make monitoring` from `deploy/monitoring`, not by hand.\n"


def objectives() -> str:
    """The page of the objectives."""
    lines = [
        "# Service level objectives\n",
        _WRITTEN,
        "An objective says which share of events must be good over 30 days. The rest is its error budget.\n",
        "Behind each stand its gravest alert, and from how many events on it comes.\n",
    ]
    lines += [
        f'- <a id="{s.name}"></a>{s.title}: {s.objective * 100:g} % '
        f"([{s.severity}](runbooks.md#{s.alert.lower()}), {s.least})"
        for s in SLOS
    ]
    lines += [
        "\n## When somebody is told\n",
        "If more than the allowed share is bad, in a long window and in a short one",
        "(queries: `deploy/observability/rules.yml`):\n",
    ]
    lines += [f"- {b.severity}: {b.rate:g} times the share in {b.long} and {b.short}" for b in BURNS]
    lines.append(
        "\nAn objective whose gravest alert is a ticket raises tickets only. Other alerts: [runbooks](runbooks.md).\n"
    )
    return "\n".join(lines)


def runbooks() -> str:
    """The page of runbooks: what each alert means, and what to look at first."""
    lines = ["# Runbooks\n", _WRITTEN, _HOW]
    for slo in SLOS:
        lines += _section(slo.alert, f"{slo.why} [Objective](slis.md#{slo.name})", slo.steps)
    for alert in ALERTS:
        lines += _section(alert.name, general(alert.summary), alert.steps)
    return "\n".join(lines)


_HOW = """Each alert names its section here. With Compose, put `docker compose run --rm` before each `parley`. On
Kubernetes, [forward the port of the bus](deploy.md#asking-from-outside) and use `--creds owner.json`.
"""


def general(summary: str) -> str:
    """An alert's sentence for a page: the name of a label in capitals in place of its value, and N for the number."""
    units = {"humanizePercentage": "N %", "humanizeDuration": "N seconds"}
    text = summary.replace(WHO, "A service")
    text = re.sub(r"\{\{ \$labels\.(\w+) }}", lambda match: match[1].upper(), text)
    return re.sub(r"\{\{ \$value(?: \| (\w+))? }}", lambda match: units.get(match[1] or "", "N"), text)


def _section(name: str, means: str, steps: tuple[str, ...]) -> Iterable[str]:
    listed = steps if len(steps) == 1 else tuple(f"{n}. {step}" for n, step in enumerate(steps, 1))
    return (f"## {name}\n", f"{means}\n", *listed, "")
