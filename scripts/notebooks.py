"""Runs every notebook in docs/notebooks and keeps what it prints: python scripts/notebooks.py.

Needs the extra `docs`. tests/test_notebooks.py says when what is kept is out of date.
"""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs/notebooks"
KEPT = ("text/plain",)  # of a result: dataframes and results are printed where they matter


def run(path: Path) -> None:
    """Executes one notebook in its folder and writes it back without what changes from run to run."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(FOLDER)}}).execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if "outputs" in cell:  # progress goes to standard error
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            if "data" in output:
                output.data = {kind: text for kind, text in output.data.items() if kind in KEPT}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        run(path)
        print(path.name)
