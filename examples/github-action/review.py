"""A panel reads what a branch changes, and says whether it may be merged.

Exit status: 0 they agree that it may; 1 they agree that it may not; 2 the input is bad; 3 nothing is settled.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

QUESTION = (
    "May this change be merged as it is? change.md holds its commits and its diff. Look for faults that would hurt "
    "users: wrong results, lost data, security, missing tests. Begin your answer with the one word merge or hold. "
    "After hold, name the worst fault with its file and line."
)
MOST = 400_000
"""Characters of the change that a panel gets."""


def change_of(base: str) -> str:
    """The commits and the diff since the branch left its base."""
    texts = []
    for arguments in (["log", "--format=%h %s%n%b", f"{base}..HEAD"], ["diff", f"{base}...HEAD"]):
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, errors="replace")
        if done.returncode:
            print(f"--base {base}: {done.stderr.strip()}", file=sys.stderr)
            sys.exit(2)
        texts.append(done.stdout)
    log, diff = texts
    if len(diff) > MOST:
        print(f"::warning::the diff has {len(diff):,} characters; the panel reads the first {MOST:,}")
    return f"# Commits\n\n{log}\n# Diff\n\n{diff[:MOST]}" if diff.strip() else ""


def ask(change: str, panel_file: str, budget_usd: str) -> dict[str, object]:
    """The result of the session, as `parley ask --json` prints it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "change.md").write_text(change)
        command = ["parley", "ask", QUESTION, "--evidence", f"{folder}/change.md", "--json", "--ephemeral"]
        command += ["--panel-file", panel_file] if panel_file else ["--protocol", "consensus"]
        command += ["--budget-usd", budget_usd] if budget_usd else []
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode == 2:
        sys.exit(2)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def verdict_of(result: dict[str, object]) -> tuple[str, int]:
    """(The word, the exit status). Only what a panel agreed on opens or closes the gate."""
    stop, outcome = result["stop"], result["outcome"]
    assert isinstance(stop, dict) and isinstance(outcome, dict)
    words = str(outcome.get("answer", "")).split()
    first = words[0].strip(".,:;!*").lower() if words else ""
    if not stop["converged"] or first not in ("merge", "hold"):
        return "unsettled", 3
    return first, 0 if first == "merge" else 1


def main() -> int:
    """Review, tell and give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="origin/main")
    parser.add_argument("--panel-file", default="")
    parser.add_argument("--budget-usd", default="")
    given = parser.parse_args()
    change = change_of(given.base)
    if not change:
        print("Nothing is changed.")
        return 0
    result = ask(change, given.panel_file, given.budget_usd)
    verdict, status = verdict_of(result)
    outcome, stop, usage = result["outcome"], result["stop"], result["usage"]
    assert isinstance(outcome, dict) and isinstance(stop, dict) and isinstance(usage, dict)
    told = [
        f"## Panel: {verdict}",
        "",
        str(outcome.get("answer") or "No answer."),
        "",
        str(outcome.get("reasoning", "")),
    ]
    told += [f"- {m['seat']} holds: {m['answer']}" for m in outcome.get("minority", ())]
    told += ["", f"Stopped by `{stop['reason']}`, {usage['calls']} calls, {usage['cost_usd']:.4f} USD."]
    print("\n".join(told))
    for variable, text in (("GITHUB_STEP_SUMMARY", "\n".join(told)), ("GITHUB_OUTPUT", f"verdict={verdict}")):
        if path := os.environ.get(variable):
            with Path(path).open("a") as file:
                file.write(f"{text}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
