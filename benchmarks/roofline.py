"""What the machine allows, and what a sweep takes of it

One thread. The bound of a sweep is set by what it cannot do without: for each cell two sigmoids (tanh, in
blocks that stay in the cache) and the products of matrices, at the speed that each of them reaches alone, in
the same shapes and called in the same way. Decoding bytes, weights, sums and Newton steps are on top.

Camilla's network, forward and backward, is put beside the products of matrices it consists of, compiled
alone in the same shapes and run in turns with it: its sigmoids, biases and loss are what is on top. Beside it
stands the same network with sigmoids through tanh.
"""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from jobs import Row, print_table, serve

LEARNERS, SAMPLES = 1_000, 4_096
BLOCK = 128  # samples of a block
DIMENSIONS = (1, 8, 20)
STRETCH = 0.02  # CPU seconds
BATCH = 8_192  # rows of a step
NETWORKS = ((10, 32, 16, 1), (5, 128, 64, 1), (10, 256, 128, 1))  # the default, and two of the paper's widths


def _seconds(*works: Callable[[], object], least: float = 0.5) -> list[float]:
    """CPU seconds of one call of each, after one to compile: the best of many stretches, taken in turns.

    A stretch has as many calls as take 20 ms: the clock of a process is coarse about its other threads.
    """
    calls = [_calls(work) for work in works]
    best, spent = [float("inf")] * len(works), 0.0
    while spent < least * len(works):
        for k, (work, n) in enumerate(zip(works, calls, strict=True)):
            start = time.process_time()
            for _ in range(n):
                work()
            took = time.process_time() - start
            best[k], spent = min(best[k], took / n), spent + took
    return best


def _calls(work: Callable[[], object]) -> int:
    """How many take a stretch."""
    work()
    start, n = time.process_time(), 0
    while time.process_time() - start < STRETCH:
        work()
        n += 1
    return n


def main() -> list[Row]:
    """Run it with OPENBLAS_NUM_THREADS=1."""
    import numpy as np

    from camilla.fitting.alternating import pairs_of
    from camilla.fitting.layout import Size
    from camilla.fitting.shards import Held, product
    from camilla.models.irt import IRT
    from camilla.models.mirt import MIRT
    from camilla.table.shards import DenseShard

    rng = np.random.default_rng(0)
    large = rng.random(25_000_000, dtype=np.float32)
    other = np.empty_like(large)
    square = rng.random((1024, 1024), dtype=np.float32)
    block = rng.standard_normal((BLOCK, LEARNERS)).astype(np.float32)
    squashed = np.empty_like(block)
    copied, squared, curve = _seconds(
        lambda: np.copyto(other, large), lambda: square @ square, lambda: np.tanh(block, out=squashed)
    )
    copied, squared, curve = 2 * large.nbytes / copied / 1e9, 2 * 1024**3 / squared / 1e9, curve / block.size
    rows: list[Row] = []
    codes = rng.integers(0, 2, (SAMPLES, LEARNERS)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.3] = 255
    for dims in DIMENSIONS:
        size = Size(LEARNERS, SAMPLES)
        problem = (IRT(size) if dims == 1 else MIRT(size, dimensions=dims)).problem()
        held = Held(DenseShard(codes))
        held.start(problem, problem.free, None)
        ability = rng.standard_normal((LEARNERS, dims))
        u = np.column_stack([ability, np.ones(LEARNERS)]).astype(np.float32)
        w = rng.standard_normal((BLOCK, dims + 1)).astype(np.float32)
        v = w[:, :-1]
        pairs, of_v = pairs_of(np, u), pairs_of(np, v)

        def products(u=u, v=v, w=w, pairs=pairs, of_v=of_v) -> None:
            for _ in range(2):
                np.matmul(w, u.T, out=squashed)
            product(block, u)
            product(block, pairs)
            product(block.T, v)
            product(block.T, of_v)

        sweep, bound = _seconds(
            lambda held=held, ability=ability: held.sweep(ability, None), products, least=1.0
        )
        sweep, bound = sweep / codes.size, 2 * curve + bound / block.size
        rows.append(
            {
                "dimensions": dims,
                "copy, GB/s": f"{copied:.1f}",
                "products, GFLOP/s": f"{squared:.0f}",
                "sigmoid, ns": f"{curve * 1e9:.2f}",
                "bound of a sweep, ns per cell": f"{bound * 1e9:.1f}",
                "sweep, ns per cell": f"{sweep * 1e9:.1f}",
                "share of the bound": f"{bound / sweep:.0%}",
            }
        )
    print_table("What the machine allows, and what a sweep takes of it", rows)
    print_table(
        "Camilla's network beside its products of matrices", [_network(widths) for widths in NETWORKS]
    )
    return rows


def _network(widths: tuple[int, ...]) -> Row:
    """A value and its gradient by rows, weights and biases, and the products in it, each compiled alone."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    from camilla.fitting.neural import _cell_loss
    from camilla.fitting.training import READING
    from camilla.models.networks import sigmoid, through

    rng = np.random.default_rng(0)
    inner = [rng.standard_normal((BATCH, width), dtype=np.float32) for width in widths]
    weights = [rng.random(shape, dtype=np.float32) / shape[0] for shape in pairwise(widths)]
    biases = [np.zeros(width, np.float32) for width in widths[1:]]
    right = (rng.random(BATCH) < 0.5).astype(np.float32)

    def slopes(squash: Callable[[Any], Any]) -> Callable[[], object]:
        def loss(rows, weights, biases):
            logit = through(rows, zip(weights, biases, strict=True), squash, READING)
            return jnp.mean(_cell_loss(logit, right, "bce"))

        whole = jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2)))
        return lambda: jax.block_until_ready(whole(inner[0], weights, biases))

    @jax.jit
    def products(inner, weights):
        forward = [h @ w for h, w in zip(inner, weights, strict=False)]
        by_weight = [h.T @ after for h, after in pairwise(inner)]
        by_row = [after @ w.T for after, w in zip(inner[1:], weights, strict=True)]
        return forward, by_weight, by_row

    ours, by_tanh, alone = _seconds(
        slopes(lambda h: sigmoid(h, jnp)),
        slopes(lambda h: 0.5 * (jnp.tanh(0.5 * h) + 1)),
        lambda: jax.block_until_ready(products(inner, weights)),
        least=2.0,
    )
    work = 6 * BATCH * sum(a * b for a, b in pairwise(widths))
    return {
        "layers": " → ".join(map(str, widths)),
        "network, ns per row": f"{ours / BATCH * 1e9:.0f}",
        "with tanh, ns per row": f"{by_tanh / BATCH * 1e9:.0f}",
        "products, ns per row": f"{alone / BATCH * 1e9:.0f}",
        "products, GFLOP/s": f"{work / alone / 1e9:.0f}",
        "share of the products' speed": f"{alone / ours:.0%}",
    }


if __name__ == "__main__":
    serve((), main)
