"""Sessions whose replies were written by hand: those of `parley demo`, and those of this folder in the same form."""

from pathlib import Path

from parley.demos.demo import Demo, names, read, read_demo

LOGS = Path(__file__).parent / "logs"
SESSIONS: dict[str, Demo] = {name: read(name) for name in names()} | {
    path.stem: read_demo(path) for path in sorted(Path(__file__).parent.glob("*.yaml"))
}
