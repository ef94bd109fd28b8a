"""Feeds every loader damaged logs by the hundred thousand and writes docs/results/fuzz.md.

    python scripts/fuzz_loaders.py [--files 100000] [--only inspect] [--write]

Each loader runs in a process of its own, in memory-backed files. A file passes if it loads or ends in one of
our own errors, within 2 seconds of CPU, and if nothing was opened for writing meanwhile. Every tenth file
is also told by looking and collected, every fiftieth joined.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/reading"))
PAGE = ROOT / "docs/results/fuzz.md"
SECONDS = 2.0
MEGABYTES = 1024
SHOWN = 5
SLICE = 10_000
MATCHES = ("arena", "mt-bench-pairs")  # formats that hold no runs


class Watch:
    """Every way in which a file was made or changed since the last `start`."""

    seen: list[str] | None = None


CHANGES = (
    "os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link", "subprocess.Popen", "os.system",
)  # fmt: skip


def audit(event: str, arguments: tuple[Any, ...]) -> None:
    """Told by Python of every file that is opened, while a loader runs."""
    if Watch.seen is None:
        return
    for_writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    if event in CHANGES or (event == "open" and arguments[2] is not None and arguments[2] & for_writing):
        Watch.seen.append(f"{event} {arguments!r}"[:120])


def fuzz(format: str, numbers: range, folder: Path) -> dict[str, Any]:
    """One loader over its mutated files."""
    import log_seeds
    from mutations import mutated

    from camilla.errors import CamillaError

    sys.addaudithook(audit)
    warm_up(folder)
    seeds = [seed for make in log_seeds.LAYOUTS.values() if (seed := make()).format == format]
    count = {"loaded": 0, "refused": 0}
    faults: list[str] = []
    slowest = 0.0
    for number in numbers:
        rng = Random(f"{format} {number}")
        seed = rng.choice(seeds)
        hurt = seed.target if rng.random() < 0.8 else rng.choice(list(seed.files))
        path = lay_out(seed, hurt, mutated(rng, seed.files[hurt]), folder)
        start = time.process_time()
        fault = None
        try:
            one(format, path, number)
            count["loaded"] += 1
        except CamillaError:
            count["refused"] += 1
        except BaseException as error:  # noqa: BLE001, whatever it is, it is a fault
            fault = f"{type(error).__name__}: {str(error)[:80]}"
        spent = time.process_time() - start
        slowest = max(slowest, spent)
        if fault is None and spent > SECONDS:
            fault = f"took {spent:.1f} s"
        if fault is not None:
            faults.append(f"{format} {number}: {fault}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "format": format,
        "files": len(numbers),
        **count,
        "faults": faults,
        "slowest": slowest,
        "peak": peak,
    }


def warm_up(folder: Path) -> None:
    """Modules are loaded and code is compiled before the clock runs."""
    import log_seeds

    for number, make in enumerate(log_seeds.LAYOUTS.values()):
        seed = make()
        one(seed.format, lay_out(seed, "", b"", folder / str(number)), 0 if seed.format not in MATCHES else 4)


_laid: dict[Path, bytes] = {}


def lay_out(seed: Any, hurt: str, data: bytes, folder: Path) -> Path:
    """The log with one of its files replaced; a file that has not changed is not written again."""
    for name, whole in seed.files.items():
        path = folder / name
        wanted = data if name == hurt else whole
        if _laid.get(path) is not wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wanted)
            _laid[path] = wanted
    return folder / seed.target


def one(format: str, path: Path, number: int) -> None:
    """What `camilla load` does with one file, keeping its content, without what it prints."""
    from camilla.reading.formats import FORMATS
    from camilla.reading.inputs import loader_of
    from camilla.reading.joining import merge
    from camilla.reading.runs import Collection
    from camilla.reading.sniffing import match, peek

    Watch.seen = []
    try:
        if number % 10 == 0:
            match(peek(path), FORMATS)
        loader = loader_of(FORMATS[format])
        if loader.matches is not None:
            loader.matches(path)
        runs = list(loader.runs(path))
        keep_content(runs)
        if number % 10 == 0:
            collection = Collection()
            for run in runs:
                collection.add(run)
            if number % 50 == 0:
                merge(collection)
        written = Watch.seen
    finally:
        Watch.seen = None
    if written:
        raise AssertionError(f"wrote: {written[:3]}")


def keep_content(runs: list[Any]) -> None:
    """What was asked and answered, of runs that say."""
    for run in runs:
        if run.content is not None:
            run.content()


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| loader | files | loaded | refused | faults | slowest, CPU s | peak MB |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in results:
        cells = (
            one["format"], f"{one['files']:,}", f"{one.get('loaded', 0):,}", f"{one.get('refused', 0):,}",
            len(one["faults"]), f"{one['slowest']:.2f}", f"{one['peak']:.0f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


HEAD = """# Damaged logs

Made by `python scripts/fuzz_loaders.py --write`. Each loader reads logs of all its layouts with one to three
kinds of damage. Files are cut off, have bytes flipped, or have pieces missing, doubled or replaced by noise.
Values have other types, and keys are missing or renamed. There are nesting 100,000 deep, integers of 5,000
digits, 1e999 and NaN. Archives have entries that are damaged, renamed to escape their folder (path
traversal), duplicated, compressed in another way, or wrong about their size. There are zip bombs of half a
gigabyte.

Every file must load or be refused with one of Camilla's own errors. Any other error is a fault. It is also a
fault if a file takes more than {seconds:g} CPU seconds, or if a loader opens anything for writing or makes,
moves or removes a file. The process must stay below {megabytes} MB.

"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--only", help="one loader")
    parser.add_argument("--keep", type=Path, help="folder where results are kept, and taken up again")
    parser.add_argument("--write", action="store_true", help="write docs/results/fuzz.md")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--start", type=int, default=0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
            found = fuzz(asked.child, range(asked.start, asked.start + asked.files), Path(folder))
        print(json.dumps(found))
        return 0
    from camilla.reading.formats import FORMATS

    results = [run(format, asked) for format in FORMATS if asked.only in (None, format)]
    print(table(results))
    if asked.write and not asked.only:
        PAGE.write_text(HEAD.format(seconds=SECONDS, megabytes=MEGABYTES) + table(results) + "\n")
    return int(any(one["faults"] or one["peak"] > MEGABYTES for one in results))


def run(format: str, asked: argparse.Namespace) -> dict[str, Any]:
    """A loader's files in slices, each in a process of its own; one that dies is a fault."""
    if asked.keep is not None:
        asked.keep.mkdir(parents=True, exist_ok=True)
    kept = None if asked.keep is None else asked.keep / f"{format}.json"
    found = {
        "format": format,
        "files": 0,
        "loaded": 0,
        "refused": 0,
        "faults": [],
        "slowest": 0.0,
        "peak": 0.0,
    }
    if kept is not None and kept.is_file():
        found |= json.loads(kept.read_text())
    while found["files"] < asked.files:
        size = min(SLICE, asked.files - found["files"])
        part = child(format, found["files"], size)
        for name in ("files", "loaded", "refused", "faults"):
            found[name] += part[name]
        for name in ("slowest", "peak"):
            found[name] = max(found[name], part[name])
        if kept is not None:
            kept.write_text(json.dumps(found))
    for fault in found["faults"][:SHOWN]:
        print(f"fault: {fault}", file=sys.stderr)
    return found


def child(format: str, start: int, size: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", format, "--files", str(size), "--start", str(start)]
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    died = f"the process ended with {done.returncode}: {done.stderr[-300:]}"
    return {"files": size, "loaded": 0, "refused": 0, "faults": [died], "slowest": 0.0, "peak": 0.0}


if __name__ == "__main__":
    sys.exit(main())
