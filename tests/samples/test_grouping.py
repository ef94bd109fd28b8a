"""Average linkage against SciPy's, rank vectors against SciPy's Spearman."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import spearmanr

from camilla.samples.grouping import MOST_LEAVES, grouped, rank_vectors, refined


def families(rng: np.random.Generator, n_learners: int, sizes: tuple[int, ...], noise: float) -> np.ndarray:
    """Samples of one family share one order of learners, up to noise."""
    ability = rng.normal(size=(n_learners, len(sizes)))
    truth = np.repeat(np.arange(len(sizes)), sizes)
    return ability[:, truth] + noise * rng.normal(size=(n_learners, len(truth)))


def test_inner_products_are_spearman_correlations() -> None:
    """Both are ranks, centred and divided by their length: equal to a few roundings."""
    rng = np.random.default_rng(1)
    responses = rng.integers(0, 6, (30, 8)) / 5
    vectors = rank_vectors(responses)
    np.testing.assert_allclose(vectors.T @ vectors, spearmanr(responses).statistic, atol=1e-12)


def test_a_missing_response_takes_no_part_and_a_constant_sample_is_nothing() -> None:
    rng = np.random.default_rng(2)
    responses = rng.random((12, 3))
    responses[4, 0] = np.nan
    responses[:, 2] = 0.5
    vectors = rank_vectors(responses)
    seen = np.arange(12) != 4
    alone = rank_vectors(responses[seen][:, :1])
    np.testing.assert_allclose(vectors[seen, 0], alone[:, 0], atol=1e-12)
    assert vectors[4, 0] == 0
    assert (vectors[:, 2] == 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_linkage_is_that_of_scipy(seed: int) -> None:
    """With no least size the cut into k groups is SciPy's cut into k clusters, whatever their numbers."""
    rng = np.random.default_rng(seed)
    vectors = rank_vectors(families(rng, 25, (9, 7, 5, 3), 0.8))
    likeness = vectors.T @ vectors
    distance = squareform(np.maximum(1 - likeness, 0), checks=False)
    wanted = fcluster(linkage(distance, "average"), 5, "maxclust")
    found = grouped(vectors, 5, least=1, rng=rng)
    pairs = {(a, b) for a, b in zip(wanted.tolist(), found.tolist(), strict=True)}
    assert len(pairs) == 5


def test_families_are_found_whatever_their_size_and_constants_are_left_out() -> None:
    """Noise of half the ability's spread: ρ is .8 within a family, about 0 between."""
    rng = np.random.default_rng(4)
    responses = families(rng, 60, (40, 25, 10), 0.5)
    responses[:, 3] = 0.7
    found = grouped(rank_vectors(responses), 3, least=2, rng=rng)
    wanted = np.repeat([0, 1, 2], (40, 25, 10))
    wanted[3] = -1
    assert found.tolist() == wanted.tolist()


def test_small_groups_join_the_one_most_like_them() -> None:
    """A lone sample of its own would take one of two groups; with a least size of 5 it may not."""
    rng = np.random.default_rng(5)
    responses = np.column_stack([families(rng, 60, (20, 20), 0.4), rng.random(60)])
    found = grouped(rank_vectors(responses), 2, least=5, rng=rng)
    assert sorted(np.bincount(found).tolist()) == [20, 21]


def test_ten_thousand_samples_are_grouped_by_a_sketch() -> None:
    """Far more samples than linkage starts from; families this clear are still found to the last sample."""
    rng = np.random.default_rng(6)
    sizes = (5000, 3000, 2000)
    assert sum(sizes) > 10 * MOST_LEAVES
    found = grouped(rank_vectors(families(rng, 80, sizes, 0.6)), 3, least=100, rng=rng)
    assert found.tolist() == np.repeat([0, 1, 2], sizes).tolist()


def weighted_ceiling(responses: np.ndarray, labels: np.ndarray) -> float:
    """Mean over samples of the ceiling of their group: max(W, 1 − W) averaged over pairs of learners."""
    a, b = np.triu_indices(len(responses), 1)
    total = 0.0
    for group in np.unique(labels[labels >= 0]):
        part = responses[:, labels == group]
        wins = (part[a] > part[b]).mean(axis=1)
        total += part.shape[1] * np.maximum(wins, 1 - wins).mean()
    return total / np.sum(labels >= 0)


def test_refining_raises_the_ceiling_and_mends_what_was_put_wrong() -> None:
    """Five samples of each family start in the other one; all go home, none of the left-out is touched."""
    rng = np.random.default_rng(7)
    responses = families(rng, 40, (20, 15), 0.6)
    truth = np.repeat([0, 1], (20, 15))
    start = truth.copy()
    start[[0, 1, 2, 3, 4]], start[[20, 21, 22, 23, 24]] = 1, 0
    start[10] = -1
    found = refined(responses, start, least=3, rng=rng)
    assert found.tolist() == np.where(start < 0, -1, truth).tolist()
    assert weighted_ceiling(responses, found) > weighted_ceiling(responses, start)


def test_refining_empties_no_group_below_the_least_size() -> None:
    rng = np.random.default_rng(8)
    responses = families(rng, 30, (30,), 0.3)
    start = np.repeat([0, 1], (24, 6))
    found = refined(responses, start, least=6, rng=rng)
    assert np.bincount(found).min() >= 6


def test_last_bits_of_likenesses_decide_no_group() -> None:
    """Right/wrong responses of six learners have few likenesses, so that nearly all merges are ties."""
    responses = (np.random.default_rng(4).random((6, 40)) < 0.5).astype(float)
    vectors = rank_vectors(responses)
    noisy = vectors * (1 + 1e-14 * np.random.default_rng(5).normal(size=vectors.shape))
    first, again = (grouped(one, 4, least=3, rng=np.random.default_rng(6)) for one in (vectors, noisy))
    np.testing.assert_array_equal(first, again)
