"""Runs every benchmark and writes docs/results/speed.md."""

import platform
from importlib import import_module
from pathlib import Path

from jobs import markdown_table

BENCHMARKS = ("irt_peers", "mirt_titanic", "camilla_titanic", "growth", "epp", "load_logs", "classifiers")
PAGE = Path(__file__).parents[1] / "docs/results/speed.md"
PAGE_OF_LARGE = PAGE.with_name("large.md")

HEAD = f"""# Speed

Every figure here comes from one session of `make bench` on 2 cores with Python {platform.python_version()}.
Times are CPU seconds, user and system. Each job ran in its own process on one thread, and the best of three
runs is shown. Jobs of the table on growing sizes ran once. Other packages ran in the same session on the same
data.
"""


def main() -> None:
    sections, skipped = [HEAD], []
    for name in BENCHMARKS:
        benchmark = import_module(name)
        rows = benchmark.main()
        if not rows:
            skipped.append(name)
            continue
        title, about = str(benchmark.__doc__).strip().split("\n\n", 1)
        sections.append(f"## {title}\n\n{about}\n\n{markdown_table(rows)}\n")
    if skipped:
        print(f"\n{', '.join(skipped)} skipped, so {PAGE.name} stays as it is")
        return
    PAGE.write_text("\n".join(sections))
    large = import_module("large")
    title, about = str(large.__doc__).strip().split("\n\n", 1)
    PAGE_OF_LARGE.write_text(f"# {title}\n\n{about}\n\n{markdown_table(large.main())}\n")
    print(f"\nwritten to {PAGE.relative_to(PAGE.parents[2])} and {PAGE_OF_LARGE.name}")


if __name__ == "__main__":
    main()
