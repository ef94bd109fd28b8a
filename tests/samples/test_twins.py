"""Pairs of samples with nearly the same responses."""

import numpy as np
from scipy.stats import binom

import camilla
from camilla.samples.items import items
from camilla.samples.twins import log_chance, twins


def world(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-(rng.normal(size=(80, 1)) - rng.normal(0, 0.7, 120))))
    return (rng.random(p.shape) < p).astype(float), p


def test_a_copy_with_a_few_changes_is_found_and_nothing_else() -> None:
    x, p = world(1)
    p[:, 7] = p[:, 3]
    x[:, 7] = x[:, 3]
    x[:4, 7] = 1 - x[:4, 7]
    found = twins(x, p)
    assert list(zip(found.one, found.other, strict=True)) == [(3, 7)]
    r, s = x[:, 3] - p[:, 3], x[:, 7] - p[:, 7]
    np.testing.assert_allclose(found.correlation, r @ s / np.sqrt((r @ r) * (s @ s)), atol=1e-5)
    assert found.low[0] < found.correlation[0] < found.high[0]


def test_every_copy_is_a_twin_however_many_there_are() -> None:
    """300 samples and a copy of each: 600 twins in 300 pairs or more, of which the closest 200 are listed."""
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(-(rng.normal(size=(80, 1)) - rng.normal(0, 0.3, 300))))
    x = (rng.random(p.shape) < p).astype(float)
    found = twins(np.hstack([x, x]), np.hstack([p, p]))
    assert found.is_twin.sum() == 600
    assert found.n_pairs >= 300
    assert len(found.one) == 200
    assert (found.other - found.one == 300).all()


def test_independent_samples_have_no_twins() -> None:
    """7,140 pairs in each of ten worlds, Bonferroni at .05: one world with a pair is within chance."""
    assert sum(len(twins(*world(seed)).one) > 0 for seed in range(10)) <= 1


def test_independent_samples_with_gaps_have_no_twins() -> None:
    """2,100 pairs or so of 15 and of 8 shared learners in each of 12 tables, Bonferroni at .05: three tables
    with a false pair have a chance of .02."""
    tables = [
        camilla.simulate(30, 80, missing=gaps, seed=seed).table for gaps in (0.3, 0.5) for seed in range(6)
    ]
    assert sum(items(table).provenance["twin_pairs"] > 0 for table in tables) <= 2


def test_few_learners_that_agree_throughout_are_no_twins() -> None:
    """Coins of 20 learners, 1,200 samples: 719,400 pairs, of which .69 agree throughout (2^−20 each) and one
    in 50,000 nearly does. Fisher's scale knows nothing of such steps; 2^−20 is above .05/719,400."""
    x = np.random.default_rng(3).integers(0, 2, (20, 1200)).astype(float)
    assert twins(x, np.full(x.shape, 0.5)).n_pairs == 0


def test_the_bound_on_chance_lies_above_the_binomial_and_near_it() -> None:
    """n coins each, k agree: Σ rs = (2k − n)/4, and the chance is binomial. Chernoff's bound exceeds it, and
    by less than the factor n + 1 (method of types), times 1.1 for tilts between those looked at."""
    n = 30
    for k in range(18, 31):
        p = np.full((n, 1), 0.5)
        bound = float(np.exp(log_chance(p, p, np.ones((n, 1), bool), np.array([(2 * k - n) / 4]))[0]))
        exact = binom.sf(k - 1, n, 0.5)
        assert exact * (1 - 1e-9) <= bound <= 1.1 * (n + 1) * exact


def test_a_pair_needs_right_and_wrong_responses_of_learners_that_answered_both() -> None:
    """Two copies, 40 learners each, share 30 of whom 4 are wrong; with 5 more of these wrong they are."""
    for wrong, expected in ((4, 0), (9, 1)):
        x = np.full((50, 2), np.nan)
        x[:40, 0], x[10:, 1] = 1, 1
        x[:10, 0] = x[40:, 1] = 0
        x[10 : 10 + wrong] = 0
        assert twins(x, np.full(x.shape, 0.6)).n_pairs == expected


def test_samples_nearly_all_get_right_are_not_compared() -> None:
    x, p = world(2)
    x[:, :2] = 1.0
    x[0, :2] = 0.0
    assert not {0, 1} & {*twins(x, p).one, *twins(x, p).other}
