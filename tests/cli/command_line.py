"""The command line in a process of its own, on one thread and without colours."""

import os
import subprocess
import sys
from pathlib import Path

CAMILLA = [sys.executable, "-c", "from camilla.cli.main import main; main()"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "120", "NO_COLOR": "1"}


def camilla(*arguments: object, cwd: Path, said: str = "") -> subprocess.CompletedProcess[str]:
    """What a command prints and how it ends; `said` is its standard input."""
    return subprocess.run(
        [*CAMILLA, *map(str, arguments)],
        cwd=cwd, env=ENVIRONMENT, input=said, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
