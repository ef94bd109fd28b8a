"""Prints the oldest version of each package that pyproject.toml admits, as constraints for pip.

    python scripts/minimum_versions.py > constraints-minimum.txt

`make test-minimum` runs the tests with them. Tools such as pytest are not constrained: no user runs them.
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
LOWEST = re.compile(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)")
NOT_TESTED = ("boosting", "cluster", "docs")  # `make test` installs none of these
TOOLS = ("httpx2", "hypothesis", "import-linter", "mypy", "playwright", "pytest", "ruff", "schemathesis")


def lowest_versions(pyproject: Path = PYPROJECT) -> dict[str, str]:
    """The lower bound of each package that Camilla runs on."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    tested = [package for name in extras if name not in NOT_TESTED for package in extras[name]]
    packages = [one for one in [*project["dependencies"], *tested] if not one.startswith(TOOLS)]
    bounds = [LOWEST.match(one) for one in packages]
    return {bound[1]: bound[2] for bound in bounds if bound is not None}


if __name__ == "__main__":
    for name, version in lowest_versions().items():
        print(f"{name}=={version}")
