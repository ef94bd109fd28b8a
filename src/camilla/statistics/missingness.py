"""Which responses are missing: whole blocks, or here and there, and whether that depends on the answer."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.display import counted
from camilla.errors import DataError
from camilla.names import in_quotes
from camilla.statistics.all_pairs import side_of
from camilla.table.responses import ResponseTable

MOST_BLOCKS = 3  # named in a sentence


class Missingness(NamedTuple):
    """Where responses are missing."""

    share: float  # of the cells
    blocks: int  # sets of samples that the same learners answered
    in_blocks: bool  # whether few such sets explain all that is missing
    by_sample: float  # rank correlation: a sample's missing share with its mean response
    by_sample_p: float
    by_learner: float  # rank correlation: a learner's missing share with how it does on what it answered
    by_learner_p: float


class Overlap(NamedTuple):
    """Samples that pairs of learners share."""

    fewest: int
    median: int
    none: int  # pairs that share no sample
    parts: int  # sets of learners that are joined by no shared sample


def missingness_of(matrix: Floats) -> Missingness:
    """How the gaps of a matrix [learners, samples] lie.

    A learner's doing is its mean response less the mean of the same samples over all who answered them.
    How hard a sample is that nobody answered is not known, nor how a learner does without a response: they
    count in the share and the blocks alone.
    """
    seen = ~np.isnan(matrix)
    blocks = len(side_of(np.zeros(seen.shape, np.float32), seen).size)
    filled = np.where(seen, matrix, 0)
    n_sample, n_learner = seen.sum(axis=0), seen.sum(axis=1)
    easy = filled.sum(axis=0) / np.maximum(n_sample, 1)
    doing = np.where(seen, filled - easy, 0).sum(axis=1) / np.maximum(n_learner, 1)
    asked, present = n_sample > 0, n_learner > 0
    by_sample = rank_correlation(1 - seen.mean(axis=0)[asked], easy[asked])
    by_learner = rank_correlation(1 - seen.mean(axis=1)[present], doing[present])
    in_blocks = 1 < blocks <= max(2, matrix.shape[1] // 5)
    return Missingness(float(1 - seen.mean()), blocks, in_blocks, *by_sample, *by_learner)


class RankCorrelation(NamedTuple):
    """Spearman's, with a two-sided p-value."""

    rho: float
    p_value: float


def rank_correlation(x: Floats, y: Floats) -> RankCorrelation:
    """Spearman's correlation, p by the normal limit of √(n − 1) ρ; 0 and 1 where either is constant."""
    a, b = (_ranks(values) for values in (x, y))
    spread = a.std() * b.std()
    if spread == 0 or len(x) < 4:
        return RankCorrelation(0.0, 1.0)
    rho = float(np.mean((a - a.mean()) * (b - b.mean())) / spread)
    return RankCorrelation(rho, math.erfc(abs(rho) * math.sqrt((len(x) - 1) / 2)))


def _ranks(values: Floats) -> Floats:
    """Ranks, the mean of them where values are equal."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def overlap_of(seen: NDArray[np.bool_]) -> Overlap:
    """Shared samples of all pairs of rows, counted between the different sets of samples that occur."""
    side = side_of(np.zeros(seen.shape, np.float32), seen)
    kinds, count = np.unique(side.seen, axis=0, return_counts=True)
    shared = kinds * side.size @ kinds.T
    pairs = np.outer(count, count).astype(np.float64)
    np.fill_diagonal(pairs, count * (count - 1))
    inside = pairs > 0
    if not inside.any():
        return Overlap(0, 0, 0, 1)
    order = np.argsort(shared[inside], kind="stable")
    ordered, total = shared[inside][order], np.cumsum(pairs[inside][order])
    median = ordered[np.searchsorted(total, total[-1] / 2)]
    none = int(np.sum(pairs[inside & (shared == 0)])) // 2
    row, column = np.nonzero(kinds)
    parts = len(blocks_of(row, column, kinds.shape)) if none else 1
    return Overlap(int(ordered[0]), int(median), none, parts)


def overlap_of_pairs(shared: NDArray[np.floating]) -> Overlap:
    """The same of counts of shared samples [learners, learners]."""
    pairs = shared[np.triu_indices(len(shared), 1)]
    if not len(pairs):
        return Overlap(0, 0, 0, 1)
    none = int(np.sum(pairs == 0))
    middle = np.partition(pairs, (len(pairs) - 1) // 2)[(len(pairs) - 1) // 2]
    parts = int(_parts(shared > 0).max()) + 1 if none else 1
    return Overlap(int(pairs.min()), int(middle), none, parts)


def _parts(joined: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Which connected part each row of a symmetric matrix is in, from 0."""
    from scipy.sparse import csr_array  # here, because comparing two learners does without
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(csr_array(joined), directed=False)[1])


class Block(NamedTuple):
    """Learners that shared samples join, directly or through others, and how many samples they answered."""

    learners: NDArray[np.int64]
    n_samples: int


def blocks_of(
    learner: NDArray[np.integer], sample: NDArray[np.integer], shape: tuple[int, int]
) -> list[Block]:
    """The connected parts of the graph of observed cells, most learners first.

    `learner` and `sample` are the places of the cells in a table of `shape`. Learners without a response and
    samples that nobody answered are in no block.
    """
    from scipy.sparse import coo_array  # here, because comparing two learners does without
    from scipy.sparse.csgraph import connected_components

    n_learners = shape[0]
    cells = (np.ones(len(learner), np.int8), (learner, sample.astype(np.int64) + n_learners))
    _, part = connected_components(coo_array(cells, shape=(sum(shape),) * 2), directed=False)
    answered = np.unique(learner)
    labels, place = np.unique(part[answered], return_inverse=True)
    columns = np.bincount(
        np.searchsorted(labels, part[np.unique(sample) + n_learners]), minlength=len(labels)
    )
    blocks = [Block(answered[place == k], int(columns[k])) for k in range(len(labels))]
    return sorted(blocks, key=lambda block: (-len(block.learners), block.learners[0]))


ACROSS = (
    "Ranks across blocks rest on accuracies over different samples: within a block they compare learners, "
    "across blocks they do not."
)


def block_notes(table: ResponseTable, *, across_blocks: bool) -> list[str]:
    """What to say of a table that falls apart, if its blocks are to be ranked together all the same.

    Raises a DataError if they are not: no learner and no sample puts them on one scale.
    """
    cells = table.cells()
    everybody = len(np.unique(cells.learner))
    if everybody == 0 or np.bincount(cells.sample).max() == everybody:  # one sample joins them all
        return []
    blocks = blocks_of(cells.learner, cells.sample, (table.n_learners, table.n_samples))
    return _apart_notes(blocks, table.learners, across_blocks=across_blocks)


def shared_block_notes(
    joined: NDArray[np.bool_], first: NDArray[np.integer], names: Sequence[str], *, across_blocks: bool
) -> list[str]:
    """The same where pairs that share a sample are known, and one learner of each sample, −1 for none."""
    if joined.all():
        return []
    return _apart_notes(_blocks_by(_parts(joined), first), names, across_blocks=across_blocks)


def streamed_block_notes(
    cells: Iterable[tuple[NDArray[np.integer], NDArray[np.integer]]], counts: tuple[Floats, Floats],
    names: Sequence[str], *, across_blocks: bool,
) -> list[str]:  # fmt: skip
    """The same of cells that come some at a time: (learner, sample). No more of them are read than it takes.

    counts: how many responses each learner and each sample has.
    """
    answered = np.flatnonzero(counts[0])
    if counts[1].max() == len(answered):  # one sample joins them all
        return []
    part: NDArray[np.integer] = np.arange(len(names))
    first = np.full(len(counts[1]), -1)
    for learner, sample in cells:
        unseen = first[sample] < 0
        first[sample[unseen]] = learner[unseen]
        part = _further_joined(part, learner, first[sample])
        if len(np.unique(part[answered])) == 1:
            return []
    blocks = [block for block in _blocks_by(part, first) if counts[0][block.learners].any()]
    return _apart_notes(blocks, names, across_blocks=across_blocks)


def _further_joined(
    part: NDArray[np.integer], learner: NDArray[np.integer], other: NDArray[np.integer]
) -> NDArray[np.integer]:
    """The part of each learner, named by one of its learners, once these pairs are joined too."""
    from scipy.sparse import coo_array  # here, because comparing two learners does without
    from scipy.sparse.csgraph import connected_components

    ends = np.append(learner, np.arange(len(part))), np.append(other, part)
    pairs = coo_array((np.ones(len(ends[0]), np.float32), ends), shape=(len(part), len(part)))
    _, label = connected_components(pairs, directed=False)
    _, member, place = np.unique(label, return_index=True, return_inverse=True)
    return np.asarray(member[place])


def _blocks_by(part: NDArray[np.integer], first: NDArray[np.integer]) -> list[Block]:
    """Blocks by the part of each learner, and one learner of each sample, −1 for none."""
    columns = np.bincount(part[first[first >= 0]], minlength=part.max() + 1)
    return [Block(np.flatnonzero(part == k), int(columns[k])) for k in np.unique(part)]


def _apart_notes(blocks: Sequence[Block], names: Sequence[str], *, across_blocks: bool) -> list[str]:
    if len(blocks) < 2:
        return []
    members = {min(names[i] for i in block.learners): block for block in blocks}
    sizes = {
        name: f"{counted(len(block.learners), 'learner')} × {counted(block.n_samples, 'sample')}"
        for name, block in sorted(members.items(), key=lambda one: (-len(one[1].learners), one[0]))
    }
    falls_apart = f"The table {in_blocks(sizes)} that share neither a learner nor a sample."
    if across_blocks:
        return [f"{falls_apart} {ACROSS}"]
    raise DataError(
        f"{falls_apart} Nothing puts them on one scale, so learners cannot be ranked across blocks. Give "
        "each block by itself, or add responses that join them. To list all learners together anyway, use "
        "across_blocks=True (--across-blocks)."
    )


def in_blocks(sizes: Mapping[str, str]) -> str:
    """How many blocks there are, and their sizes, each with the name of one member."""
    named = [f"{size} (such as {in_quotes(name)})" for name, size in sizes.items()]
    more = [f"{len(named) - MOST_BLOCKS} more"] if len(named) > MOST_BLOCKS else []
    *first, last = named[:MOST_BLOCKS] + more
    return f"falls into {len(named)} blocks, {', '.join(first)} and {last},"
