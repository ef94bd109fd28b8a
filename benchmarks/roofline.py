"""What the machine allows, and what a sweep takes of it

One thread. The bound of a sweep is set by what it cannot do without: for each cell two sigmoids (tanh, in
blocks that stay in the cache) and the products of matrices, at the speed that NumPy reaches for each of
them alone, in the same shapes. Decoding bytes, weights, sums and Newton steps are on top.
"""

import time
from collections.abc import Callable

from jobs import Row, print_table, serve

LEARNERS, SAMPLES = 1_000, 4_096
BLOCK = 128  # samples of a block
DIMENSIONS = (1, 8, 20)


def _seconds(work: Callable[[], object], least: float = 0.5) -> float:
    """CPU seconds of one call, the best of five rounds of at least `least` seconds together."""
    best, spent = float("inf"), 0.0
    while spent < least:
        start = time.process_time()
        work()
        took = time.process_time() - start
        best, spent = min(best, took), spent + max(took, 1e-6)
    return best


def main() -> list[Row]:
    """Run it with OPENBLAS_NUM_THREADS=1."""
    import numpy as np

    from camilla.fitting.alternating import pairs_of
    from camilla.fitting.layout import Size
    from camilla.fitting.shards import Held
    from camilla.models.irt import IRT
    from camilla.models.mirt import MIRT
    from camilla.table.shards import DenseShard

    rng = np.random.default_rng(0)
    large = rng.random(25_000_000, dtype=np.float32)
    other = np.empty_like(large)
    copied = 2 * large.nbytes / _seconds(lambda: np.copyto(other, large)) / 1e9
    square = rng.random((1024, 1024), dtype=np.float32)
    product = 2 * 1024**3 / _seconds(lambda: square @ square) / 1e9
    block = rng.standard_normal((BLOCK, LEARNERS)).astype(np.float32)
    curve = _seconds(lambda: np.tanh(block)) / block.size
    rows: list[Row] = []
    codes = rng.integers(0, 2, (SAMPLES, LEARNERS)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.3] = 255
    for dims in DIMENSIONS:
        size = Size(LEARNERS, SAMPLES)
        problem = (IRT(size) if dims == 1 else MIRT(size, dimensions=dims)).problem()
        held = Held(DenseShard(codes))
        held.start(problem, problem.free, None)
        ability = rng.standard_normal((LEARNERS, dims))
        sweep = _seconds(lambda held=held, ability=ability: held.sweep(ability, None), 2.0) / codes.size
        u = np.column_stack([ability, np.ones(LEARNERS)]).astype(np.float32)
        v = rng.standard_normal((BLOCK, dims)).astype(np.float32)
        pairs, of_v = pairs_of(np, u), pairs_of(np, v)

        def products(u=u, v=v, pairs=pairs, of_v=of_v) -> None:
            for _ in range(2):
                v @ u[:, :-1].T
            block @ u
            block @ pairs
            block.T @ v
            block.T @ of_v

        bound = 2 * curve + _seconds(products) / block.size
        rows.append(
            {
                "dimensions": dims,
                "copy, GB/s": f"{copied:.1f}",
                "products, GFLOP/s": f"{product:.0f}",
                "sigmoid, ns": f"{curve * 1e9:.2f}",
                "bound of a sweep, ns per cell": f"{bound * 1e9:.1f}",
                "sweep, ns per cell": f"{sweep * 1e9:.1f}",
                "share of the bound": f"{bound / sweep:.0%}",
            }
        )
    print_table("What the machine allows, and what a sweep takes of it", rows)
    return rows


if __name__ == "__main__":
    serve((), main)
