"""Pairs of samples with nearly the same responses."""

import numpy as np

from camilla.quality.twins import twins


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


def test_samples_nearly_all_get_right_are_not_compared() -> None:
    x, p = world(2)
    x[:, :2] = 1.0
    x[0, :2] = 0.0
    assert not {0, 1} & {*twins(x, p).one, *twins(x, p).other}
