"""Means of a Gibbs chain's factors as features times weights, drawn with everything else.

Row j of the factors has the mean W'zⱼ. The weights of a block of features in one factor have a normal prior
with a half-t standard deviation of their own, so that blocks that tell nothing of a factor shrink to nothing:
the strength of the regression is drawn, not chosen (docs/design/features.md). Beside the features themselves
stand low-rank kernel expansions of them, which makes the mean a Gaussian process.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from camilla.arrays import Floats

FREEDOM = 1.0  # of the half-t standard deviations: half-Cauchy
LANDMARKS = 500  # of a kernel expansion, at most
REACHES = (4.0,)  # of the kernels, over the root mean square distance between rows
TINY = 1e-10


class Kernel(NamedTuple):
    """A Nyström expansion of exp(−d/ℓ), the Matérn kernel of a rough function.

    Features of a row are its kernels to landmarks, decorrelated.
    """

    landmark: Floats  # [landmarks, columns]
    reach: float  # ℓ
    root: Floats  # [landmarks, rank]
    centre: Floats  # [rank]

    @classmethod
    def fit(cls, rows: Floats, reach: float) -> Self | None:
        """Landmarks by pivoted Cholesky; None where all rows are alike."""
        if not reach > TINY:
            return None
        chosen = _pivots(rows, reach, min(LANDMARKS, len(rows)))
        landmark = rows[chosen]
        value, vector = np.linalg.eigh(_kernel(landmark, landmark, reach))
        kept = value > 1e-8 * value[-1]
        root = vector[:, kept] / np.sqrt(value[kept])
        plain = _kernel(rows, landmark, reach) @ root
        centre = plain.mean(axis=0)
        value, vector = np.linalg.eigh(np.atleast_2d(np.cov(plain.T, bias=True)))
        kept = value > 1e-7 * max(value.sum(), TINY)
        if not kept.any():
            return None
        root = root @ vector[:, kept][:, ::-1] / np.sqrt(value[kept].sum())
        return cls(landmark, reach, root, centre @ vector[:, kept][:, ::-1] / np.sqrt(value[kept].sum()))

    def of(self, rows: Floats) -> Floats:
        """[rows, rank], with mean 0 and total variance 1 over the rows it was fitted to."""
        return _kernel(rows, self.landmark, self.reach) @ self.root - self.centre

    def left(self, rows: Floats) -> Floats:
        """Variance of the kernel at these rows that no landmark tells of, in the columns' unit."""
        inner = _kernel(self.landmark, self.landmark, self.reach)
        unit = self.root[:, 0] @ inner @ self.root[:, 0]
        across = _kernel(rows, self.landmark, self.reach)
        known = np.linalg.solve(inner + 1e-8 * np.eye(len(inner)), across.T)
        return np.asarray(unit * np.maximum(1 - (across * known.T).sum(axis=1), 0))


def _squared_distance(one: Floats, other: Floats) -> Floats:
    square = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T
    return np.maximum(square, 0)


def _kernel(one: Floats, other: Floats, reach: float) -> Floats:
    return np.asarray(np.exp(-np.sqrt(_squared_distance(one, other)) / reach))


def _pivots(rows: Floats, reach: float, most: int) -> NDArray[np.intp]:
    """Rows that the others are least known from, one after the other."""
    left, found = np.ones(len(rows)), list[int]()
    factor = np.zeros((len(rows), most))
    for step in range(most):
        row = int(np.argmax(np.round(left, 9)))
        if left[row] < 1e-6:
            break
        column = _kernel(rows, rows[row : row + 1], reach)[:, 0] - factor[:, :step] @ factor[row, :step]
        factor[:, step] = column / np.sqrt(left[row])
        left = np.maximum(left - factor[:, step] ** 2, 0)
        found.append(row)
    return np.array(found, np.intp)


class Expansion(NamedTuple):
    """Encoded features → the columns of a regression: themselves, then kernels of them."""

    kernels: tuple[Kernel, ...]
    block: NDArray[np.intp]  # of each column

    @classmethod
    def fit(cls, rows: Floats, block: NDArray[np.intp], reaches: Sequence[float] = REACHES) -> Self:
        """`block` numbers the columns that share a standard deviation."""
        distance = float(np.sqrt(2 * rows.var(axis=0).sum()))
        found = [Kernel.fit(rows, reach * distance) for reach in reaches]
        kernels = tuple(one for one in found if one is not None)
        number = int(block.max(initial=-1)) + 1
        own = [np.full(one.root.shape[1], number + k) for k, one in enumerate(kernels)]
        return cls(kernels, np.concatenate([block, *own]).astype(np.intp))

    @property
    def n_orthogonal(self) -> int:
        """Columns of the last kernel, principal directions of the rows it was fitted to."""
        return self.kernels[-1].root.shape[1] if self.kernels else 0

    def arrays(self) -> tuple[Floats, ...]:
        """Everything that `restored` needs, as arrays."""
        parts: list[Floats] = [self.block.astype(np.float64)]
        for one in self.kernels:
            parts += [one.landmark, np.array([one.reach]), one.root, one.centre]
        return tuple(parts)

    @classmethod
    def restored(cls, arrays: Sequence[Floats]) -> Self:
        """What `arrays` came from."""
        block, rest = arrays[0], arrays[1:]
        four = (rest[at : at + 4] for at in range(0, len(rest), 4))
        kernels = [Kernel(a, float(b[0]), c, d) for a, b, c, d in four]
        return cls(tuple(kernels), block.astype(np.intp))

    def of(self, rows: Floats) -> Floats:
        """[rows, columns]"""
        return np.hstack([rows, *(one.of(rows) for one in self.kernels)])


class _ArrowGram(NamedTuple):
    """Z'Z of columns of which the last are orthogonal to one another: dense, beside a diagonal."""

    dense: Floats  # [first, first]
    across: Floats  # [first, orthogonal]
    square: Floats  # [orthogonal]

    @classmethod
    def of(cls, design: Floats, n_first: int) -> Self:
        first, last = design[:, :n_first], design[:, n_first:]
        return cls(first.T @ first, first.T @ last, (last**2).sum(axis=0))

    def times(self, weight: Floats) -> Floats:
        """Z'Z weight"""
        first, last = np.split(weight, [len(self.dense)])
        return np.concatenate(
            [self.dense @ first + self.across @ last, first @ self.across + self.square * last]
        )

    def draw(self, rng: np.random.Generator, by: float, prior: Floats, linear: Floats) -> Floats:
        """N(P⁻¹ linear, P⁻¹) with P = by · Z'Z + diag(prior): the first columns, then the others."""
        of_first, of_last = np.split(prior, [len(self.dense)])
        towards, rest = np.split(linear, [len(self.dense)])
        own = by * self.square + of_last
        onto = by * self.across / own
        information = by * (self.dense - onto @ self.across.T) + np.diag(of_first)
        root = np.linalg.cholesky(information)
        noise = rng.standard_normal(len(linear))
        first = solve_triangular(root, towards - onto @ rest, lower=True, check_finite=False)
        first = solve_triangular(root, first + noise[: len(first)], lower=True, trans=1, check_finite=False)
        last = rest / own - first @ onto + noise[len(first) :] / np.sqrt(own)
        return np.concatenate([first, last])


class Regression:
    """Weights in a chain: `draw` draws them, and their standard deviations, given the factors."""

    def __init__(
        self, design: Floats, block: NDArray[np.intp], scale: Floats, n_orthogonal: int = 0,
        n_explained: int | None = None,
    ) -> None:  # fmt: skip
        """`design` has columns of mean 0; `scale` [factors] is of the half-t standard deviations.

        The last `n_orthogonal` columns are orthogonal to one another, which makes hundreds of them cheap.
        Only the first `n_explained` factors are regressed, by default all.
        """
        self.n_explained = len(scale) if n_explained is None else n_explained
        self.design, self.block = design, block
        self.n_blocks = int(block.max()) + 1
        self.sizes = np.bincount(block, minlength=self.n_blocks)
        self.scale = np.broadcast_to(scale, (self.n_blocks, len(scale)))
        self.gram = _ArrowGram.of(design, design.shape[1] - n_orthogonal)
        self.weight = np.zeros((design.shape[1], len(scale)))
        self.variance: Floats = 0.1 * self.scale**2  # of weights: [blocks, factors]
        self.mean: Floats = np.zeros((len(design), len(scale)))

    def draw(self, rng: np.random.Generator, target: Floats, precision: Floats) -> None:
        """Weights given factors less their overall mean, whose residuals have this precision."""
        left = self.design.T @ (target - self.mean)
        for k in range(self.n_explained):
            own, last = precision[k, k], self.weight[:, k]
            linear: Floats = left @ precision[:, k] + own * self.gram.times(last)
            drawn = self.gram.draw(rng, own, 1 / self.variance[self.block, k], linear)
            left[:, k] -= self.gram.times(drawn - last)
            self.weight[:, k] = drawn
        self._draw_variances(rng)
        self.mean = self.design @ self.weight

    def _draw_variances(self, rng: np.random.Generator) -> None:
        """Half-t deviations by their auxiliary numbers (Wand et al. 2011)."""
        rate = FREEDOM / self.variance + 1 / self.scale**2
        auxiliary = rate / rng.standard_gamma((FREEDOM + 1) / 2, size=rate.shape)
        square = np.zeros_like(self.variance)
        np.add.at(square, self.block, self.weight**2)
        rate = FREEDOM / auxiliary + 0.5 * square
        shape = 0.5 * (FREEDOM + self.sizes)[:, None]
        self.variance[:] = np.maximum(rate / rng.standard_gamma(shape, size=rate.shape), TINY)

    def shift_gain(self, shift: Floats) -> float:
        """What a change of origin, c − v·shift, makes of the weights' density."""
        own = self.variance[self.block, 0]
        tried = self.weight[:, 0] - self.weight[:, 1:] @ shift
        return float(-0.5 * ((tried**2 - self.weight[:, 0] ** 2) / own).sum())

    def stretch_gain(self, factor: int, by: float) -> float:
        """What a change of unit makes of the deviations' density, which move along with the weights."""
        if factor >= self.n_explained:
            return 0.0
        width = FREEDOM * self.scale[:, factor] ** 2
        before, after = self.variance[:, factor] / width, by**2 * self.variance[:, factor] / width
        gain = -0.5 * (FREEDOM + 1) * (np.log1p(after) - np.log1p(before)).sum()
        return float(gain + self.n_blocks * np.log(by))

    def intercept_gain(self, shift: Floats) -> Floats:
        """What so much more of each weight in the first factor makes of that weight's density."""
        own, weight = self.variance[self.block, 0], self.weight[:, 0]
        return np.asarray(-0.5 * ((weight + shift) ** 2 - weight**2) / own)

    def intercept_shifted(self, shift: Floats) -> None:
        """With so much more of each weight in the first factor."""
        self.weight[:, 0] += shift
        self.mean[:, 0] += self.design @ shift

    def shifted(self, shift: Floats) -> None:
        """Under another origin of the abilities."""
        self.weight[:, 0] -= self.weight[:, 1:] @ shift
        self.mean[:, 0] -= self.mean[:, 1:] @ shift

    def stretched(self, by: Floats) -> None:
        """Under other units of the factors."""
        self.weight *= by
        self.mean *= by
        self.variance = self.variance * by**2
