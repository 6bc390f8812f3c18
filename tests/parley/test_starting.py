"""Commands start at once: what takes long to import is not, before it is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

from parley import sessions
from parley.client.records import Record
from parley.schemas.wire import encode
from tests.protocols.madp.play import SRE, Play, done

HEAVY = ("numpy", "scipy", "matplotlib", "nats", "aiohttp", "openai", "mcp", "opentelemetry", "rich", "jinja2")
RUN = f"""
import sys
from parley.cli.app import main
try:
    main()
except SystemExit as end:
    print(end.code or 0, *sorted(set({HEAVY}) & sys.modules.keys()), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished task."""
    play = Play().working()
    play.reply(SRE, done())
    play.approve()
    path = tmp_path_factory.mktemp("light") / "session.jsonl"
    record = Record(sid="s1", entries=tuple(encode(e).decode() for e in play.entries))
    path.write_text("\n".join([*sessions.export(record, "jsonl"), ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "command",
    [
        "--help", "sessions list --state DIR", "inbox --state DIR", "explain FILE", "sessions export FILE",
        "ask x --protocol consensus --dry-run --evidence FILE --state DIR", "bus config --dir DIR/keys",
        "experts check DIR/none.yaml",
    ],
)  # fmt: skip
def test_a_light_command_imports_nothing_heavy(command: str, exported: Path, tmp_path: Path) -> None:
    words = [w.replace("FILE", str(exported)).replace("DIR", str(tmp_path)) for w in command.split()]
    run = [sys.executable, "-c", RUN, *words]
    said = subprocess.run(run, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60)
    status = "2" if "none.yaml" in command else "0"
    assert said.stderr.splitlines()[-1] == status, said.stdout + said.stderr
    assert said.stdout
