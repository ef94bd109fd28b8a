"""Subsets, adaptive testing, sample quality and group differences on real logs: docs/results/logs.md.

    CAMILLA_DATA=… python scripts/logs.py [--parts FOLDER] [PART …]

Every part keeps its figures in FOLDER (build/logs) and is not run again while they are there; naming parts
runs only these. Seconds are CPU seconds of one thread.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import logs_adaptive
import logs_groups
import logs_quality
import logs_subsets

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/results/logs.md"
SECTIONS = (logs_subsets, logs_adaptive, logs_quality, logs_groups)
PARTS = {name: part for section in SECTIONS for name, part in section.PARTS.items()}
START = """# Subsets, adaptive testing, sample quality on real logs

Written by `python scripts/logs.py`; CPU seconds of one thread. SWE-bench Verified: 134 agents × 500 \
samples. HELM lite: 30 models × 10,200 samples, fractional. metabench: 6,349 models × 1,075 samples, a \
quarter missing; tested are the 2,001 models that answered everything. gsm8k: the 4,530 models that answered \
all of metabench's 486 problems."""


def measured(part: str, folder: Path) -> dict[str, Any]:
    """The figures of a part, run now unless they are there."""
    file = folder / f"{part.replace(' ', '-')}.json"
    if not file.exists():
        started = time.process_time()
        rows = PARTS[part]()
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"rows": rows, "seconds": time.process_time() - started}))
        print(f"{part}: {time.process_time() - started:.1f} s")
    return json.loads(file.read_text())


def page(found: dict[str, dict[str, Any]]) -> str:
    return "\n\n".join([START, *(text for section in SECTIONS for text in section.section(found))]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", type=Path, default=ROOT / "build/logs")
    parser.add_argument("part", nargs="*", choices=[[], *PARTS])
    given = parser.parse_args()
    for part in given.part or PARTS:
        measured(part, given.parts)
    if not given.part:
        PAGE.write_text(page({part: measured(part, given.parts) for part in PARTS}), encoding="utf-8")
        print(f"→ {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
