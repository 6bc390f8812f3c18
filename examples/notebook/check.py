"""Run every cell of the notebook."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient


def main() -> None:
    """Raises CellExecutionError where a cell does."""
    notebook = nbformat.read(Path(__file__).with_name("panel.ipynb"), as_version=4)
    NotebookClient(notebook, timeout=180).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("parley-result" in output.get("data", {}).get("text/html", "") for output in shown), "no result is shown"
    print(f"{len(notebook.cells)} cells ran, and the result shows itself")


if __name__ == "__main__":
    main()
