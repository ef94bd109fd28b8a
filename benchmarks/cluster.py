"""A 2PL on a Ray cluster, beside the same fit in one process

python benchmarks/cluster.py [--nodes], with the extra `cluster`. `make bench` leaves it out.

10⁸ responses (4,000 × 35,700 with 30 % missing) in 18 shards, fitted by one process, by one and two Ray
workers, and by two of which one is killed after the third sweep. Wall-clock seconds, and the largest
difference of an ability from the fit in one process. With --nodes, Ray runs on two nodes in network
namespaces, joined by a virtual cable: a head and a worker with an address and one core each. That needs
root, and `ip` from iproute2.
"""

import argparse
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from jobs import Row, print_table
from large import simulate

SHAPE = (4_000, 35_700, 0.7)
SHARD_BYTES = 8_000_000  # smaller ones than by default, so that two workers have as many
KILLED_AFTER = 3  # sweeps
NODES = {"camilla-head": "10.99.0.1", "camilla-worker": "10.99.0.2"}
PORT = 6379
CLUSTER = f"{NODES['camilla-head']}:{PORT}"
RAY = [sys.executable, "-m", "ray.scripts.scripts"]


def compared(folder: Path) -> list[Row]:
    """One process, then workers of the cluster that RAY_ADDRESS names, or of one that is started here."""
    import ray

    from camilla.fitting.cluster import RayWorkers
    from camilla.fitting.shards import Threads
    from camilla.parallel import cluster
    from camilla.table import shards as making
    from camilla.table.shards import LongColumns, make_shards, table_files

    making.SHARD_BYTES = SHARD_BYTES
    shards = make_shards(table_files(folder), Path(f"{folder}.shards"), LongColumns(), lambda line: None)
    rows, expected = [], None
    with cluster():
        nodes = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]]
        print(f"{len(shards.shards)} shards; nodes: {', '.join(nodes)}", flush=True)
        for name, n_workers, kill in (
            ("one process, one thread", 0, False),
            ("one Ray worker", 1, False),
            ("two workers", 2, False),
            ("two workers, one killed", 2, True),
        ):
            began = time.perf_counter()
            workers: Any = RayWorkers(shards, jobs=n_workers) if n_workers else Threads(shards.shards, 1)
            processes = workers.processes() if n_workers else []
            started = time.perf_counter() - began
            began = time.perf_counter()
            ability, sweeps = _fit(shards, workers, processes[-1] if kill else None)
            took = time.perf_counter() - began
            expected = ability if expected is None else expected
            rows.append({
                "workers": name,
                "seconds to start": f"{started:.1f}" if n_workers else "–",
                "seconds of the fit": f"{took:.2f}",
                "sweeps": sweeps,
                "replaced": getattr(workers, "replaced", 0),
                "largest difference of an ability": f"{np.abs(ability - expected).max():.1e}",
            })  # fmt: skip
            workers.close()
    return rows


def _fit(shards: Any, workers: Any, victim: int | None) -> tuple[Any, int]:
    """Abilities of the 2PL, and its sweeps; the victim is killed on the way."""
    from camilla.diagnosing_large import start_of_shards
    from camilla.fitting.alternating import fit_by_turns
    from camilla.fitting.layout import Size
    from camilla.fitting.shard_layout import ShardLayout
    from camilla.models.irt import IRT

    problem = IRT(Size(len(shards.learners), len(shards.samples)), precision=1.0).problem()
    lines: list[str] = []

    def watch(line: str) -> None:
        lines.append(line)
        if victim is not None and len(lines) == KILLED_AFTER:
            os.kill(victim, signal.SIGKILL)  # namespaces of networks share the numbers of processes

    reached = fit_by_turns(problem, workers, start_of_shards(ShardLayout(shards.shards), 1, 0), watch)
    assert reached.converged
    return reached.ability, reached.sweeps


@contextmanager
def two_nodes() -> Iterator[None]:
    """A Ray head and a Ray worker in network namespaces of their own."""
    head, worker = NODES
    for name in NODES:
        _call("ip", "netns", "add", name)
    try:
        _call("ip", "link", "add", "cable0", "netns", head, "type", "veth", "peer", "cable1", "netns", worker)
        for (name, address), device in zip(NODES.items(), ("cable0", "cable1"), strict=True):
            _call("ip", "-n", name, "addr", "add", f"{address}/24", "dev", device)
            _call("ip", "-n", name, "link", "set", device, "up")
            _call("ip", "-n", name, "link", "set", "lo", "up")
        of_head = ["--head", f"--port={PORT}", "--include-dashboard=false"]
        for (name, address), further in zip(NODES.items(), (of_head, [f"--address={CLUSTER}"]), strict=True):
            start = [*RAY, "start", "--num-cpus=1", f"--node-ip-address={address}", "--disable-usage-stats"]
            _call("ip", "netns", "exec", name, *start, *further)
        yield
    finally:
        subprocess.run([*RAY, "stop", "--force"], check=False)
        for name in NODES:
            subprocess.run(["ip", "netns", "del", name], check=False)


def _call(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Files, then the fits; with nodes these run in the namespace of the head."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", action="store_true")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder is not None:
        print_table("2PL on a Ray cluster", compared(given.folder))
        return
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}  # of all nodes
    with tempfile.TemporaryDirectory() as above:
        folder = Path(above, "runs")
        folder.mkdir()
        simulate(str(folder), *map(str, SHAPE), "1")
        command = [sys.executable, __file__, "--folder", str(folder)]
        if not given.nodes:
            subprocess.run(command, check=True)
            return
        with two_nodes():
            inside = ["ip", "netns", "exec", next(iter(NODES))]
            subprocess.run([*inside, *command], check=True, env=os.environ | {"RAY_ADDRESS": CLUSTER})


if __name__ == "__main__":
    main()
