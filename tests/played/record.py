"""Plays the sessions of tests/played/sessions again, and keeps the log of each for tests/client/golden, as
`logs/NAME.jsonl`.

The models are tests/played/endpoint.py, so the seats are metered as any that are asked over a network.

python -m tests.played.record [NAME ...]
"""

import argparse
import json
import tempfile
from pathlib import Path

from tests.parley.support import Front
from tests.played.endpoint import SEATS, endpoint, variables
from tests.played.sessions import LOGS, SESSIONS


def record(name: str) -> None:
    """Play one, and keep its log."""
    played = SESSIONS[name]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made, endpoint(name) as (url, _):
        front = Front(Path(made), "", variables(url, *SEATS))
        played.write_files(front.folder)
        front.run("up", "--detach")
        try:
            _, out, err = front.run(*played.command, "--json")
            assert out, err
            code, log, err = front.run("sessions", "export", json.loads(out)["session"], "--all")
            assert code == 0, err
        finally:
            front.run("down")
    (LOGS / f"{name}.jsonl").write_text(log, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Play the written sessions again, and keep their logs.")
    parser.add_argument("names", nargs="*", default=[*SESSIONS])
    for each in parser.parse_args().names:
        record(each)
