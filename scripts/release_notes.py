"""Prints the changelog's section of a version; an error if tag, version and changelog do not agree.

python scripts/release_notes.py v0.1.0
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def version() -> str:
    """The version of the package, which is written in one place."""
    found = VERSION.search((ROOT / "src/camilla/__init__.py").read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def notes(changelog: str, wanted: str) -> str:
    """The section of a version, which has a heading such as `## [0.1.0] - 2026-12-01`."""
    parts = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    sections = {part.partition("]")[0].removeprefix("["): part for part in parts}
    if wanted not in sections:
        sys.exit(f"CHANGELOG.md has no section [{wanted}]; it has {', '.join(sections)}.")
    head, _, text = sections[wanted].partition("\n")
    if not re.search(r"\d{4}-\d{2}-\d{2}$", head):
        sys.exit(f"The section [{wanted}] of CHANGELOG.md has no date: ## [{wanted}] - YYYY-MM-DD.")
    return text.strip()


def main() -> None:
    """Checks the tag and prints the notes."""
    tag = sys.argv[1]
    if tag != f"v{version()}":
        sys.exit(f"The tag {tag} is not v{version()}, the version in src/camilla/__init__.py.")
    print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version()))


if __name__ == "__main__":
    main()
