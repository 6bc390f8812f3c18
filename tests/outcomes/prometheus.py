"""A real Prometheus that scrapes some services by some rules."""

import json
import shutil
import subprocess
import time
import urllib.parse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.outcomes.test_command import fetch

PROMETHEUS = shutil.which("prometheus")
MISSING = "NOT CHECKED against a real Prometheus: no `prometheus` on PATH (.ci/run installs it)"


def start(folder: Path, port: int, targets: Sequence[str], rules: str) -> "subprocess.Popen[bytes]":
    """It scrapes these addresses and evaluates the rules every half second."""
    assert PROMETHEUS is not None
    (folder / "rules.yml").write_text(rules)
    config = {
        "global": {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "500ms"},
        "rule_files": [str(folder / "rules.yml")],
        "scrape_configs": [{"job_name": "parley", "static_configs": [{"targets": list(targets)}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    with (folder / "prometheus.log").open("wb") as log:
        return subprocess.Popen(
            [PROMETHEUS, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{port}", "--enable-feature=exemplar-storage"],
            stdout=log, stderr=log,
        )  # fmt: skip


def query(base: str, text: str) -> list[Any]:
    """What an expression gives; nothing while Prometheus is not up yet."""
    try:
        answer = json.loads(fetch(f"{base}/api/v1/query?query={urllib.parse.quote(text)}"))
    except OSError:
        return []
    found: list[Any] = answer["data"]["result"]
    return found


def exemplars(base: str, series: str) -> list[dict[str, Any]]:
    """Those of the last ten minutes, as Grafana asks for them: of each its labels and its value."""
    end = time.time()
    asked = urllib.parse.urlencode({"query": series, "start": end - 600, "end": end + 60})
    answer = json.loads(fetch(f"{base}/api/v1/query_exemplars?{asked}"))
    return [example for found in answer["data"] for example in found["exemplars"]]
