"""Counts what nobody disturbed and was booked as lost all the same: runs of each protocol, each with a budget, in a
state folder that was used before.

    python -m tests.played.undisturbed [--cold 100] [--warm 100] [--budget-tokens 400000] [PROTOCOL ...]

Cold: each question starts its own moderators and workers, in a folder where others were before. Warm: they stand. The
models are `tests/played/endpoint.py`. It fails where a run has unaccounted turns, or stops for its budget.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.parley.support import Front
from tests.played.endpoint import endpoint, variables
from tests.played.sessions import SESSIONS

SEATS = (
    "panelist_1", "panelist_2", "panelist_3", "panelist_4", "analyst", "answerer", "critic", "judge", "judge_1",
    "judge_2", "judge_3", "debater_1", "debater_2", "pro_1", "pro_2", "con_1", "con_2", "expert_qa-engineer",
    "expert_implementation-engineer", "expert_implementation-auditor",
)  # fmt: skip


def runs(name: str, n: int, budget: int, *, warm: bool) -> Counter[str]:
    """What so many runs of a protocol came to."""
    played, found = SESSIONS[name], Counter[str]()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made, endpoint(name) as (url, player):
        folder = Path(made)
        front = Front(folder, "", variables(url, *SEATS))
        if warm:
            front.run("up", "--detach")
        try:
            for i in range(n + (not warm)):
                player.again()
                played.write_files(front.folder)
                code, out, err = front.run(*played.command, "--budget-tokens", str(budget), "--json")
                if i == 0 and not warm:
                    continue  # the folder is not used yet
                found["runs"] += 1
                if not out:
                    print(name, code, err[-500:], file=sys.stderr)
                    found["no result"] += 1
                    continue
                result = json.loads(out)
                usage = result["usage"]
                found["unaccounted turns"] += usage["unaccounted_turns"]
                found[f"stops as {result['stop']['reason']}"] += 1
                found["tokens"] += usage["input_tokens"] + usage["output_tokens"]
        finally:
            if warm:
                front.run("down")
    return found


def main() -> int:
    """Run them, and print a line for each protocol."""
    parser = argparse.ArgumentParser(description="Count turns that were booked as lost in undisturbed runs.")
    parser.add_argument("protocols", nargs="*", default=[*SESSIONS])
    parser.add_argument("--cold", type=int, default=100)
    parser.add_argument("--warm", type=int, default=100)
    parser.add_argument("--budget-tokens", type=int, default=400_000)
    given = parser.parse_args()
    wrong = 0
    for name in given.protocols:
        for warm, n in ((False, given.cold), (True, given.warm)):
            found = runs(name, n, given.budget_tokens, warm=warm) if n else Counter()
            wrong += found["unaccounted turns"] + found["stops as budget"] + found["no result"]
            print(f"{name}, {'warm' if warm else 'cold'}: {dict(found)}", flush=True)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
