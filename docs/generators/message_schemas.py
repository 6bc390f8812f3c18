"""`docs/schemas`, made from the messages: python -m docs.generators.message_schemas docs/schemas"""

import sys
from pathlib import Path

from parley.schemas.export import documents


def write(folder: Path) -> None:
    """Make the folder hold exactly the schemas of today's code."""
    folder.mkdir(parents=True, exist_ok=True)
    new = documents()
    for old in folder.glob("*.json"):
        if old.name not in new:
            old.unlink()
    for name, text in new.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
