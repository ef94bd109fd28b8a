"""Groups of samples that rank learners alike: average linkage on 1 − Spearman's ρ."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from camilla.arrays import Floats

Labels = NDArray[np.int64]

MOST_LEAVES = 600  # beyond it, samples that are nearly alike are joined before linkage
DIMENSIONS = 48  # of the sketch in which they are found
ROUNDS = 15
SWEEPS = 10
TELLING = 9  # decimals of a likeness that two are compared by
MOST_PAIRS = 8000  # of learners that a refinement looks at
MOST_SIGNS = 4e7  # numbers it holds


class Merge(NamedTuple):
    """One step of a linkage: the two that were joined; the first keeps its number."""

    kept: int
    gone: int


def rank_vectors(responses: Floats) -> Floats:
    """Ranks of learners on each sample [learners, samples], centred and of length 1.

    Inner products are Spearman's ρ. A missing response is 0, so that samples which few learners share are
    taken as unrelated; a sample that ranks nobody (all equal, or fewer than two responses) is 0 throughout.
    """
    seen = ~np.isnan(responses)
    ranks = rankdata(np.where(seen, responses, np.inf), axis=0)
    count = np.maximum(seen.sum(axis=0), 1)
    centred = np.where(seen, ranks - np.where(seen, ranks, 0.0).sum(axis=0) / count, 0.0)
    length = np.sqrt((centred**2).sum(axis=0))
    return np.divide(centred, length, out=np.zeros_like(centred), where=length > 1e-9)


def grouped(vectors: Floats, n_groups: int, *, least: int, rng: np.random.Generator) -> Labels:
    """A group 0 … n_groups − 1 for each column, numbered by size, or −1 for columns of zeros.

    The linkage is cut where n_groups groups have at least `least` columns; smaller ones join the group
    that is most like them. With fewer columns than asked for, each is a group.
    """
    labels = np.full(vectors.shape[1], -1, np.int64)
    ranking = np.flatnonzero(np.any(vectors != 0, axis=0))
    if len(ranking) == 0:
        return labels
    columns = vectors[:, ranking]
    leaf = _leaves(columns, rng)
    sizes = np.bincount(leaf)
    means = _means(columns, leaf, len(sizes))
    cut = _cut(_linkage(means.T @ means, sizes), sizes, min(n_groups, len(sizes)), least)
    labels[ranking] = _settled(columns, cut[leaf], min(n_groups, len(sizes)))
    return labels


def refined(responses: Floats, labels: Labels, *, least: int, rng: np.random.Generator) -> Labels:
    """Moves samples to other groups while that raises the ceiling of DOA, all groups' samples counted.

    The ceiling of a group is the mean over pairs of learners of ½ + |Σⱼ sign(xₐⱼ − x_bⱼ)|/2J, so a move is
    worth the change of two such sums. No group falls below `least`; columns labelled −1 stay out.
    """
    a, b = np.triu_indices(len(responses), 1)
    most = int(min(MOST_PAIRS, MOST_SIGNS / max(1, responses.shape[1])))
    if len(a) > most:
        chosen = rng.choice(len(a), most, replace=False)
        a, b = a[chosen], b[chosen]
    sign = np.sign(np.nan_to_num(responses[a] - responses[b])).T.astype(np.int32)  # [samples, pairs]
    label, size = labels.copy(), np.bincount(labels[labels >= 0])
    total = np.stack([sign[label == group].sum(axis=0, dtype=np.int32) for group in range(len(size))])
    for _ in range(SWEEPS):
        before = label.copy()
        for sample in rng.permutation(np.flatnonzero(labels >= 0)):
            here = label[sample]
            if size[here] <= least:
                continue
            total[here] -= sign[sample]
            gain = np.abs(total + sign[sample]).sum(axis=1) - np.abs(total).sum(axis=1)
            there = int(np.argmax(gain)) if gain.max() > gain[here] else int(here)
            total[there] += sign[sample]
            size[here] -= 1
            size[there] += 1
            label[sample] = there
        if np.array_equal(before, label):
            break
    return _by_size(label)


def _leaves(columns: Floats, rng: np.random.Generator) -> Labels:
    """What linkage starts from: each column, or, of very many, the groups that k-means finds in a sketch."""
    n = columns.shape[1]
    if n <= MOST_LEAVES:
        return np.arange(n)
    sketch = columns
    if len(columns) > DIMENSIONS:
        _, axes = np.linalg.eigh(columns @ columns.T)
        sketch = axes[:, -DIMENSIONS:].T @ columns
    centres = sketch[:, rng.choice(n, MOST_LEAVES, replace=False)]
    label = np.zeros(n, np.int64)
    for _ in range(ROUNDS):
        label = np.argmax(np.round(_unit(centres).T @ sketch, TELLING), axis=0)
        filled = np.unique(label, return_inverse=True)[1]
        centres, label = _means(sketch, filled, int(filled.max()) + 1), filled
    return label


def _linkage(likeness: Floats, sizes: Labels) -> list[Merge]:
    """Average linkage: the two most alike are joined, again and again; likeness is averaged over columns.

    The mean likeness of columns of two groups is the inner product of the groups' mean vectors, so groups
    that were joined beforehand cost nothing in exactness. Of pairs whose likeness agrees to nine decimals the
    first is joined: right/wrong responses of few learners have many.
    """
    likeness, weight = np.round(likeness, TELLING), sizes.astype(np.float64)
    np.fill_diagonal(likeness, -np.inf)
    merges = []
    for _ in range(len(weight) - 1):
        a, b = sorted(divmod(int(np.argmax(likeness)), len(weight)))
        row = (weight[a] * likeness[a] + weight[b] * likeness[b]) / (weight[a] + weight[b])
        likeness[a] = likeness[:, a] = np.round(row, TELLING)
        likeness[b], likeness[:, b] = -np.inf, -np.inf
        likeness[a, a] = -np.inf
        weight[a] += weight[b]
        merges.append(Merge(a, b))
    return merges


def _cut(merges: list[Merge], sizes: Labels, n_groups: int, least: int) -> Labels:
    """The group of each leaf where as many groups as asked for are large enough, −1 in the small ones.

    Walks the merges from none to all and keeps the last state with n_groups large groups; if there never were
    as many, the state with the most of them.
    """
    label, size = np.arange(len(sizes)), sizes.astype(np.int64)
    best, most = label.copy(), -1
    for step in range(len(merges) + 1):
        large = int(np.sum(size >= least))
        if min(large, n_groups) >= most and large > 0:
            best, most = np.where(size[label] >= least, label, -1), min(large, n_groups)
        if step < len(merges):
            kept, gone = merges[step]
            label[label == gone] = kept
            size[kept], size[gone] = size[kept] + size[gone], 0
    return best


def _settled(columns: Floats, label: Labels, n_groups: int) -> Labels:
    """The n_groups largest groups, numbered by size; columns of others go to the group most like them."""
    names, counts = np.unique(label[label >= 0], return_counts=True)
    kept = names[np.argsort(-counts, kind="stable")[:n_groups]]
    place = {name: number for number, name in enumerate(kept.tolist())}
    out = np.array([place.get(one, -1) for one in label.tolist()], np.int64)
    homeless = out < 0
    if homeless.any():
        means = _means(columns[:, ~homeless], out[~homeless], len(kept))
        out[homeless] = np.argmax(np.round(_unit(means).T @ columns[:, homeless], TELLING), axis=0)
    return _by_size(out)


def _by_size(labels: Labels) -> Labels:
    """The same groups, numbered from the largest; −1 stays."""
    order = np.argsort(-np.bincount(labels[labels >= 0]), kind="stable")
    return np.where(labels < 0, -1, np.argsort(order)[labels])


def _means(columns: Floats, label: Labels, n_groups: int) -> Floats:
    """Mean vector of each group [dims, groups]."""
    total = np.zeros((n_groups, len(columns)))
    np.add.at(total, label, columns.T)
    return total.T / np.bincount(label, minlength=n_groups)


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=0)
    return vectors / np.where(length > 0, length, 1.0)
