"""Sessions of every protocol with a real, weak model, one after the other: how many come to something.

    python -m tests.small_model.runs [--out FILE] [PROTOCOL ...]

Each run is a line of FILE as soon as it is over, and is not made again; so it can be stopped and taken up.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.small_model.server import serving

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs" / "reports" / "small-model.jsonl"
TEN_MINUTES_S = 600
QUESTIONS = (
    "Should a small team begin with a monolith or with microservices?",
    "Is tea or coffee better in the morning?",
    "Should a school start at eight or at nine?",
    "Is it better to rent or to buy a flat in a city?",
    "Which is safer for a night trip, the train or the car?",
    "Should a bakery open on Sundays?",
    "Is a cat or a dog the better pet for a small flat?",
    "Should a garden be watered in the morning or in the evening?",
    "Is Python or C better for a first program?",
    "Should old phones be repaired or replaced?",
)
SMALLEST: Mapping[str, tuple[str, ...]] = {
    "consensus": ("--panel", "2", "--round-limit", "1"),
    "critic": ("--round-limit", "1"),
    "maci": (
        "--debaters", "2", "--round-limit", "1", "--outcomes", "yes, no", "--evidence", "examples/diagnosis/evidence",
    ),
    "competition": (
        "--topic", "examples/competition/topics.yaml#free_transport", "--format", "tests/small_model/short.yaml",
    ),
    "madp": (),
}  # fmt: skip
OFTEN = {"consensus": 10, "critic": 10}
Run = dict[str, Any]


def done(path: Path) -> list[Run]:
    """Runs that are over."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


def run(protocol: str, n: int, url: str) -> Run:
    """One session, and what it came to."""
    environ = {**os.environ, "LLM_PROVIDER": "llama.cpp", "LLM_MODEL": "smollm2-135m", "LLM_BASE_URL": url}
    question = () if "--topic" in SMALLEST[protocol] else (QUESTIONS[n % len(QUESTIONS)],)
    command = [sys.executable, "-m", "parley", "ask", *question, "--protocol", protocol, *SMALLEST[protocol],
               "--budget-seconds", str(TEN_MINUTES_S - 30), "--json", "--ephemeral"]  # fmt: skip
    started = time.monotonic()
    try:
        ended = subprocess.run(
            command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=TEN_MINUTES_S + 60
        )
        code, out, err = ended.returncode, ended.stdout, ended.stderr
    except subprocess.TimeoutExpired:
        code, out, err = -1, "", "it did not end"
    took_s = round(time.monotonic() - started, 1)
    made = {"protocol": protocol, "n": n, "exit": code, "seconds": took_s}
    try:
        result = json.loads(out)
    except ValueError:
        return {**made, "positions": 0, "error": err.strip()[-400:]}
    positions = sum(len(r.get("positions", ())) for r in result["rounds"])
    return {**made, "stop": result["stop"], "outcome": result["outcome"], "positions": positions}


def main() -> None:
    """Make what is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("protocols", nargs="*", default=list(SMALLEST))
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    with serving() as url:
        for protocol in given.protocols:
            there = {r["n"] for r in done(given.out) if r["protocol"] == protocol}
            for n in set(range(OFTEN.get(protocol, 1))) - there:
                made = run(protocol, n, url)
                with given.out.open("a") as file:
                    file.write(json.dumps(made) + "\n")
                print(json.dumps(made), flush=True)


if __name__ == "__main__":
    main()
