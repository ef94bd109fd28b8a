"""A billion cells on one machine: diagnosed, and diagnosed again with a kill on the way

python benchmarks/billion.py [FOLDER]. `make bench` leaves it out: it takes 4 GB of disk and ten minutes.

10,000 learners × 100,000 samples of a 2PL world with 30 % missing, in Parquet files of one row per response.
`camilla diagnose FOLDER --with irt:precision=1 --shards SHARDS` runs to its end. A second run, with other
shards, is killed (SIGKILL) after its first kept state and started again. Both diagnoses must have the same
bytes.
"""

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

from jobs import Row, print_table
from large import simulate

SHAPE = (10_000, 100_000, 0.7)


def main() -> None:
    """Writes the files where there are none, then runs the command three times."""
    with tempfile.TemporaryDirectory() as above:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else above, "runs")
        if not folder.exists():
            folder.mkdir(parents=True)
            simulate(str(folder), *map(str, SHAPE), "1")
        size = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{len(list(folder.iterdir()))} files, {size / 1e9:.2f} GB", flush=True)
        rows = [_run("from the files", folder, "whole")]
        rows += [_run("killed", folder, "parted", kill=True), _run("started again", folder, "parted")]
        print_table("A billion cells", rows)
        same = _digests(folder.with_name("whole")) == _digests(folder.with_name("parted"))
        print("the diagnoses have the same bytes" if same else "the diagnoses DIFFER")
        table = pl.read_parquet(folder.with_name("whole") / "learners.parquet").sort("learner")
        truth = np.load(f"{folder}.ability.npy")
        print(f"correlation with the true abilities: {np.corrcoef(truth, table['ability'])[0, 1]:.5f}")


def _run(name: str, folder: Path, out: str, *, kill: bool = False) -> Row:
    """The command, its seconds and its memory; killed once it has kept a state."""
    output, shards = folder.with_name(out), folder.with_name(f"{out}.shards")
    words = ["diagnose", str(folder), "--with", "irt:precision=1", "--shards", str(shards), "-o", str(output)]
    began = time.perf_counter()
    process = subprocess.Popen(
        [Path(sys.executable).with_name("camilla"), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if kill:
        threading.Thread(target=_killed, args=(process.pid, shards)).start()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    assert (status == signal.SIGKILL) if kill else status == 0, status
    return {
        "run": name,
        "seconds": f"{time.perf_counter() - began:.0f}",
        "CPU seconds": f"{used.ru_utime + used.ru_stime:.0f}",
        "peak MB": f"{used.ru_maxrss / 1024:,.0f}",
        "GB of shards": f"{sum(one.stat().st_size for one in shards.rglob('*') if one.is_file()) / 1e9:.2f}",
    }


def _killed(process: int, shards: Path) -> None:
    """Ends a process as soon as it has kept the state of its fit."""
    while not any(shards.glob("*state*")):
        time.sleep(0.05)
    os.kill(process, signal.SIGKILL)


def _digests(folder: Path) -> dict[str, str]:
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(folder.iterdir())}


if __name__ == "__main__":
    main()
