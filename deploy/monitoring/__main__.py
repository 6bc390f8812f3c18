"""`python -m deploy.monitoring [FOLDER]`: write all that is made from the tables, under the project's root."""

import sys
from pathlib import Path

from deploy.monitoring import dashboards
from deploy.monitoring.boards import outcomes
from deploy.monitoring.page import objectives, runbooks
from deploy.monitoring.rules import groups, render


def files() -> dict[str, str]:
    """What is made, by its path under the project's root."""
    return {
        "deploy/observability/rules.yml": render(groups(outcomes())),
        **{f"deploy/observability/dashboards/{name}": text for name, text in dashboards.files().items()},
        "docs/operations/slis.md": objectives(),
        "docs/operations/runbooks.md": runbooks(),
    }


def main(root: Path) -> None:
    """Write the files."""
    for path, text in files().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
