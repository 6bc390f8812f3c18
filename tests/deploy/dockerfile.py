"""The Dockerfile, read."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PATH = ROOT / "deploy" / "Dockerfile"


def lines() -> list[tuple[str, str]]:
    """(instruction, its text) of each line, continuations joined."""
    text = PATH.read_text().replace("\\\n", " ")
    found = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, " ".join(rest.split())) for word, _, rest in (line.partition(" ") for line in found)]
