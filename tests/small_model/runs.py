"""Sessions of every protocol with a real, weak model, one after the other: how many come to something.

    python -m tests.small_model.runs [--out FILE] [--url URL] [PROTOCOL ...]

Each run is a line of FILE as soon as it is over, and is not made again; so it can be stopped and taken up.
`--table` prints what is there.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
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
    return {"protocol": protocol, "n": n, "exit": code, "seconds": took_s, **_told(protocol, out, err)}


def _told(protocol: str, out: str, err: str) -> Run:
    try:
        result = json.loads(out)
        usage = result["usage"]
    except (ValueError, KeyError, TypeError):
        return {"reason": "", "positions": 0, "error": err.strip()[-400:]}
    return {
        "reason": result["stop"]["reason"], "converged": result["stop"]["converged"],
        "positions": positions(protocol, result), "answer": str(result["outcome"].get("answer", ""))[:120],
        "calls": usage["calls"], "tokens": usage["input_tokens"] + usage["output_tokens"],
        "what": str(result["stop"]["certificate"].get("what", ""))[:200],
    }  # fmt: skip


def positions(protocol: str, result: Mapping[str, Any]) -> int:
    """Answers that seats gave: of a consensus every seat's, of a critic session that which was debated."""
    if protocol == "consensus":
        return sum(len(r.get("positions", ())) for r in result["rounds"])
    return int(bool(result["outcome"].get("answer")))


def table(runs: list[Run]) -> Iterator[str]:
    """A row a protocol."""
    yield "| protocol | runs | with positions | converged | seconds, median | reasons |"
    yield "|---|---|---|---|---|---|"
    for protocol in SMALLEST:
        mine = [r for r in runs if r["protocol"] == protocol]
        if mine:
            median = sorted(r["seconds"] for r in mine)[len(mine) // 2]
            reasons = sorted({r["reason"] or "none" for r in mine})
            having = sum(r["positions"] > 0 for r in mine)
            agreed = sum(bool(r.get("converged")) for r in mine)
            yield f"| {protocol} | {len(mine)} | {having} | {agreed} | {median:.0f} | {', '.join(reasons)} |"


def main() -> None:
    """Make what is missing."""
    parser = argparse.ArgumentParser()
    parser.add_argument("protocols", nargs="*", default=list(SMALLEST))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--url", help="a server that runs already")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if not given.table:
        with nullcontext(given.url) if given.url else serving() as url:
            for protocol in given.protocols:
                there = {r["n"] for r in done(given.out) if r["protocol"] == protocol}
                for n in range(OFTEN.get(protocol, 1)):
                    if n not in there:
                        made = run(protocol, n, url)
                        with given.out.open("a") as file:
                            file.write(json.dumps(made) + "\n")
                        print(json.dumps(made), flush=True)
    print("\n".join(table(done(given.out))))


if __name__ == "__main__":
    main()
