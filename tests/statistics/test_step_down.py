"""Step-down max-t against its definition with every flip of signs, and what it promises."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from camilla.learners.standing import decide
from camilla.statistics.multiplicity import tied_sets
from camilla.statistics.paired import mcnemar_p
from camilla.statistics.ranks import best_chances


def by_definition(matrix: np.ndarray, group: np.ndarray | None = None) -> np.ndarray:
    """Westfall and Young's (1993) adjusted p-values with all flips of samples or clusters, pair by pair."""
    n, m = matrix.shape
    unit = np.arange(m) if group is None else group
    pairs = list(itertools.combinations(range(n), 2))
    sums = np.zeros((len(pairs), unit.max() + 1))
    for row, (i, j) in enumerate(pairs):
        for sample in range(m):
            if not np.isnan(matrix[i, sample] - matrix[j, sample]):
                sums[row, unit[sample]] += matrix[i, sample] - matrix[j, sample]
    size = np.sqrt((sums**2).sum(axis=1))
    size[size == 0] = np.inf
    signs = np.array(list(itertools.product([-1, 1], repeat=sums.shape[1])))
    found, drawn = np.abs(sums.sum(axis=1)) / size, np.abs(signs @ sums.T) / size
    order = np.argsort(-found)
    p = np.ones((n, n))
    largest_so_far = 0.0
    for place, row in enumerate(order):
        share = np.mean(drawn[:, order[place:]].max(axis=1) >= found[row] - 1e-9)
        largest_so_far = max(largest_so_far, share)
        p[pairs[row]] = p[pairs[row][::-1]] = largest_so_far
    return p


@pytest.mark.parametrize("kind", ["complete", "missing", "clusters", "both", "fractional"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_adjusted_p_values_are_those_of_all_flips(kind: str, seed: int) -> None:
    """2,048 of the 4,096 to 16,384 flips: the share of a draw has a standard error of 1.1 points at most, and
    the largest of the 10 differences is within four of them. Never below the p-value of the pair alone."""
    rng = np.random.default_rng(seed)
    m = 14 if kind in ("complete", "missing", "fractional") else 30
    matrix = rng.random((5, m)) < np.linspace(0.15, 0.9, 5)[:, None]
    matrix = (
        rng.random((5, m)) * np.linspace(0.3, 1, 5)[:, None] if kind == "fractional" else matrix.astype(float)
    )
    group = np.arange(m) % 12 if kind in ("clusters", "both") else None
    if kind in ("missing", "both"):
        matrix[rng.random(matrix.shape) < 0.15] = np.nan
    found = decide(matrix, [f"{seed}-{sample}" for sample in range(m)], group)
    wanted = np.maximum(by_definition(matrix, group), found.tests.p_value)
    np.testing.assert_allclose(found.adjusted, wanted, atol=0.045)
    assert (found.adjusted >= found.tests.p_value - 1e-12).all()


def test_two_learners_have_the_exact_test() -> None:
    """The adjusted p-value of one pair is McNemar's, but for the flips that were drawn: 1.1 points."""
    matrix = np.zeros((2, 40))
    matrix[0, :14], matrix[1, 12:18] = 1, 1
    found = decide(matrix, [f"s{k}" for k in range(40)])
    assert found.adjusted[0, 1] == pytest.approx(float(mcnemar_p(4, 12)), abs=0.03)


def test_no_order_changes_a_decision() -> None:
    rng = np.random.default_rng(5)
    matrix = (rng.random((9, 80)) < np.linspace(0.4, 0.8, 9)[:, None]).astype(float)
    names = [f"s{k}" for k in range(80)]
    rows, columns = rng.permutation(9), rng.permutation(80)
    one = decide(matrix, names)
    other = decide(matrix[np.ix_(rows, columns)], [names[k] for k in columns])
    np.testing.assert_array_equal(one.adjusted[np.ix_(rows, rows)], other.adjusted)


def test_few_clusters_are_judged_by_holm() -> None:
    """Of eleven clusters there are too few flips to tell 45 pairs apart by."""
    rng = np.random.default_rng(6)
    matrix = (rng.random((10, 110)) < 0.5).astype(float)
    names = [f"s{k}" for k in range(110)]
    assert decide(matrix, names, np.arange(110) % 11).method == "Holm over all pairs"
    assert decide(matrix, names, np.arange(110) % 12).method == "step-down max-t over all pairs"


@given(st.integers(0, 10_000), st.integers(2, 12), st.floats(0.05, 0.95))
def test_tied_sets_hold_every_tied_pair_and_no_other(seed: int, n: int, share: float) -> None:
    differ = np.random.default_rng(seed).random((n, n)) < share
    differ = np.triu(differ, 1) | np.triu(differ, 1).T
    sets = [set(places) for places in tied_sets(differ)]
    assert not any(one < other for one in sets for other in sets)
    held = {pair for places in tied_sets(differ) for pair in itertools.combinations(places, 2)}
    assert held == {(i, j) for i, j in itertools.combinations(range(n), 2) if not differ[i, j]}


def test_chances_of_being_best_are_right_as_often_as_they_say() -> None:
    """600 boards of ten learners with true means N(0, τ²): what is said to be best with P is so in P of them.

    Of n boards with mean chance P the share has a standard error of √(P(1 − P)/n); three are allowed.
    """
    rng, said, right = np.random.default_rng(7), [], []
    for world in range(600):
        truth = rng.normal(0, (0.02, 0.05, 0.1)[world % 3], 10)
        root = rng.normal(size=(10, 40)) * 0.04 / np.sqrt(40)
        covariance = root @ root.T + 0.02**2 * np.eye(10)
        mean = truth + rng.multivariate_normal(np.zeros(10), covariance)
        chance = best_chances(0.5 + mean, covariance, 200, np.arange(10))
        assert chance.sum() == pytest.approx(1)
        said.append(chance.max())
        right.append(chance.argmax() == truth.argmax())
    said_, right_ = np.array(said), np.array(right)
    for low, high in ((0.0, 0.5), (0.5, 0.8), (0.8, 1.01)):
        inside = (said_ >= low) & (said_ < high)
        p = said_[inside].mean()
        assert abs(right_[inside].mean() - p) < 3 * np.sqrt(p * (1 - p) / inside.sum())


def test_a_copy_of_the_best_learner_lifts_nobody() -> None:
    """Copies share the chance of the learner they copy, and leave those of others as they were."""
    rng = np.random.default_rng(8)
    matrix = (rng.random((6, 120)) < np.linspace(0.7, 0.6, 6)[:, None]).astype(float)
    names = [f"s{k}" for k in range(120)]
    alone = decide(matrix, names).standing.p_best
    twice = decide(np.vstack([matrix[:1], matrix]), names).standing.p_best
    assert alone is not None
    assert twice is not None
    assert twice[0] == twice[1] == pytest.approx(alone[0] / 2, abs=0.01)
    np.testing.assert_allclose(twice[2:], alone[1:], atol=0.02)
