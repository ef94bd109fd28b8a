"""Responses as the fitting sees them: sample-major arrays, weight 0 where a cell is missing; their means."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from camilla.arrays import Floats
from camilla.table.encoding import Encoder
from camilla.table.features import Features
from camilla.table.responses import ResponseTable, check_diagnosable

BLOCK_CELLS = 65_536  # cells a block: its few temporaries stay in the second-level cache
DENSE_SHARE = 0.3  # below this share of observed cells gathering beats multiplying zeros
DOUBLE_CELLS = 4_000_000  # up to here passes run in float64, above in float32
PIECE_CELLS = 4_000_000  # cells that are listed at a time
HELD_OUT = 0.1  # share of cells that settings and temperature are chosen on when none are given

CellArrays = tuple[NDArray[np.integer], NDArray[np.integer], Floats, Floats]


class Encoded(NamedTuple):
    """Features as numbers: columns of mean 0, and for each the number of the block it shrinks with."""

    columns: Floats  # [samples or learners, columns]
    block: NDArray[np.intp]  # [columns]

    def take(self, rows: NDArray[np.integer]) -> "Encoded":
        """Of these samples or learners."""
        return Encoded(self.columns[rows], self.block)


@dataclass(frozen=True, eq=False)
class Size:
    """What a diagnoser knows of a table before it sees a response."""

    n_learners: int
    n_samples: int
    skill_mask: NDArray[np.bool_] | None = None  # [samples, skills]
    fractional: bool = False
    skill_edges: tuple[tuple[int, int], ...] | None = None  # (parent, child) of the skill graph
    sample_features: Encoded | None = None
    learner_features: Encoded | None = None

    @property
    def n_skills(self) -> int:
        return 0 if self.skill_mask is None else self.skill_mask.shape[1]


class Slopes(NamedTuple):
    """The summed loss and its derivatives by learner factors, loadings, intercepts and guessing."""

    loss: float
    ability: Floats  # [learners, dims]
    loading: Floats  # [samples, dims]
    intercept: Floats  # [samples]
    guessing: Floats | None  # [samples]


class Layout(Protocol):
    """What a solver asks of the responses."""

    drawn: ClassVar[bool]  # the cells are too many to be listed: they come in pieces, or are drawn
    n_learners: int
    n_samples: int

    @property
    def total_weight(self) -> float: ...

    @property
    def n_cells(self) -> int:
        """How many cells have a response."""
        ...

    def slopes(
        self, ability: Floats, loading: Floats, intercept: Floats, guessing: Floats | None = None
    ) -> Slopes: ...

    def block(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """(weight, weight × response) of these samples, each [samples, learners]."""
        ...

    def of_learners(self, learners: slice) -> tuple[Floats, Floats]:
        """(weight, weight × response) of these learners, each [learners, samples]."""
        ...

    def sample_totals(self) -> tuple[Floats, Floats]:
        """(Σ weight × response, Σ weight) of each sample."""
        ...

    def learner_totals(self) -> tuple[Floats, Floats]:
        """(Σ weight × response, Σ weight) of each learner."""
        ...

    def cells(self) -> CellArrays:
        """(learner, sample, weight, weight × response) of the observed cells, ordered by sample."""
        ...

    def pieces(self) -> Iterator[CellArrays]:
        """The same, some at a time."""
        ...

    def parted(self, seed: int) -> "tuple[Layout, Layout]":
        """The cells without a tenth of them, and that tenth."""
        ...


def _cell_terms(
    logit: Floats, weight: Floats, right: Floats, guessing: Floats | None
) -> tuple[float, Floats, Floats | None]:
    """Loss of a block, its slope by the logit and by the guessing probability.

    With p = g + (1 − g) σ(l) the slope is (w p − r) σ / p, which is finite for every l.
    """
    chance = np.tanh(0.5 * logit)
    chance += 1
    chance *= 0.5  # σ(l)
    softplus = np.maximum(chance, 1 - chance)
    np.log(softplus, out=softplus)
    np.subtract(np.maximum(logit, 0), softplus, out=softplus)
    if guessing is None:
        loss = float(np.vdot(weight, softplus) - np.vdot(right, logit))
        chance *= weight
        chance -= right
        return loss, chance, None
    p = guessing + (1 - guessing) * chance
    loss = -float(np.vdot(right, np.log(p)) + np.vdot(weight - right, np.log1p(-guessing) - softplus))
    excess = (weight * p - right) / p
    return loss, excess * chance, excess / (1 - guessing)


def _kind(n_cells: int) -> type[np.floating]:
    return np.float64 if n_cells <= DOUBLE_CELLS else np.float32


class DenseLayout:
    """Every cell stored: the layout for tables that are mostly complete."""

    drawn: ClassVar[bool] = False

    def __init__(self, weight: Floats, response: Floats) -> None:
        """weight, response: [samples, learners]; a response under weight 0 is ignored."""
        self.weight = weight.astype(_kind(weight.size))
        self.right = np.zeros_like(self.weight)
        np.multiply(weight, response, out=self.right, where=weight > 0, casting="same_kind")
        self.n_samples, self.n_learners = weight.shape
        self.total_weight = float(weight.sum(dtype=np.float64))

    def slopes(
        self, ability: Floats, loading: Floats, intercept: Floats, guessing: Floats | None = None
    ) -> Slopes:
        kind = self.weight.dtype
        u, v, c = ability.astype(kind), loading.astype(kind), intercept.astype(kind)
        g = None if guessing is None else guessing.astype(kind)
        loss, slope_u, slope_v, slope_c = 0.0, np.zeros(u.shape), np.empty(v.shape), np.empty(c.shape)
        slope_g = None if g is None else np.empty(c.shape)
        step = max(1, BLOCK_CELLS // self.n_learners)
        for start in range(0, self.n_samples, step):
            rows = slice(start, start + step)
            guess = None if g is None else g[rows, None]
            part, slope, by_guess = _cell_terms(
                v[rows] @ u.T + c[rows, None], self.weight[rows], self.right[rows], guess
            )
            loss += part
            slope_u += slope.T @ v[rows]
            slope_v[rows] = slope @ u
            slope_c[rows] = slope.sum(axis=1)
            if slope_g is not None and by_guess is not None:
                slope_g[rows] = by_guess.sum(axis=1)
        return Slopes(loss, slope_u, slope_v, slope_c, slope_g)

    @property
    def n_cells(self) -> int:
        return int(np.count_nonzero(self.weight))

    def block(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        return self.weight[rows], self.right[rows]

    def of_learners(self, learners: slice) -> tuple[Floats, Floats]:
        return self.weight[:, learners].T, self.right[:, learners].T

    def sample_totals(self) -> tuple[Floats, Floats]:
        return self.right.sum(axis=1, dtype=np.float64), self.weight.sum(axis=1, dtype=np.float64)

    def learner_totals(self) -> tuple[Floats, Floats]:
        return _learner_totals(self)

    def cells(self) -> CellArrays:
        return self._listed(slice(0, self.n_samples))

    def pieces(self) -> Iterator[CellArrays]:
        step = max(1, PIECE_CELLS // max(self.n_learners, 1))
        for start in range(0, self.n_samples, step):
            yield self._listed(slice(start, start + step))

    def _listed(self, rows: slice) -> CellArrays:
        weight, right = self.weight[rows], self.right[rows]
        sample, learner = np.nonzero(weight)
        return learner, sample + rows.start, weight[sample, learner], right[sample, learner]

    def parted(self, seed: int) -> tuple[Layout, Layout]:
        return _parted(self, seed)


class SparseLayout:
    """Only observed cells stored, ordered by sample: the layout for mostly missing tables."""

    drawn: ClassVar[bool] = False

    def __init__(
        self, learner: NDArray[np.integer], sample: NDArray[np.integer], weight: Floats, response: Floats,
        *, n_learners: int, n_samples: int,
    ) -> None:  # fmt: skip
        order = np.lexsort((learner, sample))
        self.learner, self.sample = learner[order], sample[order]
        self.weight = weight[order].astype(np.float64)
        self.right = self.weight * response[order]
        self.n_learners, self.n_samples = n_learners, n_samples
        self.total_weight = float(self.weight.sum())
        self._starts = np.searchsorted(self.sample, np.arange(n_samples + 1))

    def slopes(
        self, ability: Floats, loading: Floats, intercept: Floats, guessing: Floats | None = None
    ) -> Slopes:
        logit = intercept[self.sample].astype(np.float64)
        for start in range(0, len(logit), BLOCK_CELLS):
            rows = slice(start, start + BLOCK_CELLS)
            logit[rows] += np.einsum("ck,ck->c", ability[self.learner[rows]], loading[self.sample[rows]])
        guess = None if guessing is None else guessing[self.sample]
        loss, slope, by_guess = _cell_terms(logit, self.weight, self.right, guess)
        by_cell = self._matrix(slope)
        slope_g = None if by_guess is None else np.asarray(self._matrix(by_guess).sum(axis=1)).ravel()
        return Slopes(
            loss, by_cell.T @ loading, by_cell @ ability, np.asarray(by_cell.sum(axis=1)).ravel(), slope_g
        )

    def _matrix(self, values: Floats) -> sparse.csr_array:
        return sparse.csr_array((values, self.learner, self._starts), shape=(self.n_samples, self.n_learners))

    @property
    def n_cells(self) -> int:
        return len(self.learner)

    def block(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        return self._matrix(self.weight)[rows].toarray(), self._matrix(self.right)[rows].toarray()

    def of_learners(self, learners: slice) -> tuple[Floats, Floats]:
        weight, right = (self._matrix(part)[:, learners].toarray() for part in (self.weight, self.right))
        return weight.T, right.T

    def sample_totals(self) -> tuple[Floats, Floats]:
        size = self.n_samples
        return np.bincount(self.sample, self.right, size), np.bincount(self.sample, self.weight, size)

    def learner_totals(self) -> tuple[Floats, Floats]:
        return _learner_totals(self)

    def cells(self) -> CellArrays:
        return self.learner, self.sample, self.weight, self.right

    def pieces(self) -> Iterator[CellArrays]:
        for start in range(0, len(self.learner), PIECE_CELLS):
            rows = slice(start, start + PIECE_CELLS)
            yield self.learner[rows], self.sample[rows], self.weight[rows], self.right[rows]

    def parted(self, seed: int) -> tuple[Layout, Layout]:
        return _parted(self, seed)


def _learner_totals(layout: Layout) -> tuple[Floats, Floats]:
    right, weight = np.zeros(layout.n_learners), np.zeros(layout.n_learners)
    for learner, _, weighed, scored in layout.pieces():
        right += np.bincount(learner, scored, layout.n_learners)
        weight += np.bincount(learner, weighed, layout.n_learners)
    return right, weight


def _parted(layout: Layout, seed: int) -> tuple[Layout, Layout]:
    rng = np.random.default_rng(seed)
    learner, sample, weight, right = layout.cells()
    out = np.zeros(len(learner), bool)
    out[rng.permutation(len(out))[: max(1, round(HELD_OUT * len(out)))]] = True

    def part(rows: NDArray[np.bool_]) -> Layout:
        return layout_of(
            learner[rows], sample[rows], right[rows] / weight[rows], weight[rows],
            n_learners=layout.n_learners, n_samples=layout.n_samples,
        )  # fmt: skip

    return part(~out), part(out)


def layout_of(
    learner: NDArray[np.integer], sample: NDArray[np.integer], response: Floats, weight: Floats,
    *, n_learners: int, n_samples: int,
) -> Layout:  # fmt: skip
    """The layout that fits how full the table is. Each (learner, sample) occurs at most once."""
    if len(learner) < DENSE_SHARE * n_learners * n_samples:
        return SparseLayout(learner, sample, weight, response, n_learners=n_learners, n_samples=n_samples)
    full_weight = np.zeros((n_samples, n_learners), _kind(n_learners * n_samples))
    full_response = np.zeros_like(full_weight)
    full_weight[sample, learner] = weight
    full_response[sample, learner] = response
    return DenseLayout(full_weight, full_response)


class Encoders(NamedTuple):
    """How features of samples and learners became numbers."""

    samples: Encoder | None = None
    learners: Encoder | None = None

    @classmethod
    def fit(cls, table: ResponseTable) -> "Encoders":
        """Fitted to all rows of the table's features."""
        both = (table.sample_features, table.learner_features)
        return cls(*(None if features is None else Encoder.fit(features) for features in both))


def encoded(encoder: Encoder | None, features: Features | None) -> Encoded | None:
    """Numbers shrink together, every category, text and vector on its own."""
    if encoder is None or features is None:
        return None
    kinds = encoder.kinds
    own = ["" if kinds[name] == "number" else name for name in encoder.feature]
    return Encoded(encoder.matrix(features), np.unique(own, return_inverse=True)[1].astype(np.intp))


def size_of(table: ResponseTable, encoders: Encoders | None = None) -> Size:
    """What a diagnoser knows of the table."""
    encoders = Encoders.fit(table) if encoders is None else encoders
    graph, skill_map = table.skill_graph, table.skill_map
    mask = None if skill_map is None else skill_map.mask
    edges = None if graph is None or skill_map is None else graph.among(skill_map.skills)
    return Size(
        table.n_learners, table.n_samples, mask, not table.is_binary, edges,
        encoded(encoders.samples, table.sample_features),
        encoded(encoders.learners, table.learner_features),
    )  # fmt: skip


def layout_of_table(table: ResponseTable) -> Layout:
    """The responses as the engines take them."""
    cells = table.cells()
    return layout_of(
        cells.learner, cells.sample, cells.response, cells.weight,
        n_learners=table.n_learners, n_samples=table.n_samples,
    )  # fmt: skip


NO_ENCODERS = Encoders()


class Prepared(NamedTuple):
    """A table as it is fitted, and what it is recognised by."""

    table: ResponseTable  # in the order of fitting
    size: Size
    layout: Layout
    digest: str  # of the table in any order
    encoders: Encoders = NO_ENCODERS


def prepared(table: ResponseTable) -> Prepared:
    """A table checked and put into the order of fitting."""
    check_diagnosable(table)
    digest, ordered = table.digest(), table.in_fitting_order()
    encoders = Encoders.fit(ordered)
    return Prepared(ordered, size_of(ordered, encoders), layout_of_table(ordered), digest, encoders)


CLIP = 1e-7  # keeps the logit of a mean of 0 or 1 finite


class GroupMeans(NamedTuple):
    """Means and their sampling variances; without responses the mean of all and the variance ¼."""

    mean: Floats
    variance: Floats


def learner_means(layout: Layout) -> GroupMeans:
    """Of each learner over its samples."""
    learner, _, weight, right = layout.cells()
    return grouped_means(learner, weight, right, layout.n_learners)


def sample_means(layout: Layout) -> GroupMeans:
    """Of each sample over its learners."""
    _, sample, weight, right = layout.cells()
    return grouped_means(sample, weight, right, layout.n_samples)


def grouped_means(group: NDArray[np.integer], weight: Floats, right: Floats, n_groups: int) -> GroupMeans:
    """m = Σ wx / W with variance n/(n − 1) Σ (w (x − m))² / W² over the n cells of each group."""
    total = np.bincount(group, weight, n_groups)
    whole = right.sum() / weight.sum()
    mean = np.where(total > 0, np.bincount(group, right, n_groups) / np.where(total > 0, total, 1), whole)
    n = np.bincount(group, minlength=n_groups)
    spread = np.bincount(group, (right - weight * mean[group]) ** 2, n_groups)
    variance = spread / np.where(total > 0, total, 1) ** 2 * n / np.maximum(n - 1, 1)
    return GroupMeans(mean, np.where(n > 1, variance, 0.25))


def clipped_logit(p: Floats) -> Floats:
    """log(p / (1 − p)), finite at 0 and 1."""
    inside = np.clip(p, CLIP, 1 - CLIP)
    return np.log(inside) - np.log1p(-inside)
