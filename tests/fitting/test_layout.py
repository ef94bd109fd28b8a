"""The two layouts of responses give the same loss and slopes, and the slopes are those of the loss."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from camilla.fitting.layout import DenseLayout, Layout, SparseLayout, layout_of


def table(
    seed: int, *, n_learners: int = 7, n_samples: int = 11, share: float = 0.6
) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    sample, learner = np.nonzero(rng.random((n_samples, n_learners)) < share)
    return learner, sample, rng.random(len(learner)), rng.uniform(0.5, 2, len(learner))


def both(seed: int) -> tuple[Layout, Layout]:
    learner, sample, response, weight = table(seed)
    full_weight, full_response = np.zeros((11, 7)), np.full((11, 7), np.nan)
    full_weight[sample, learner], full_response[sample, learner] = weight, response
    sparse = SparseLayout(learner, sample, weight, response, n_learners=7, n_samples=11)
    return DenseLayout(full_weight, full_response), sparse


def factors(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(7, 2)), rng.normal(size=(11, 2)), rng.normal(size=11), rng.uniform(0.05, 0.3, 11)


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25)
def test_dense_and_sparse_agree(seed: int, guessing: bool) -> None:
    dense, sparse = both(seed)
    ability, loading, intercept, guess = factors(seed)
    one = dense.slopes(ability, loading, intercept, guess if guessing else None)
    other = sparse.slopes(ability, loading, intercept, guess if guessing else None)
    for a, b in zip(one, other, strict=True):
        if a is not None and b is not None:
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def textbook_loss(layout: DenseLayout, ability: np.ndarray, loading: np.ndarray, intercept: np.ndarray,
                  guess: np.ndarray) -> float:  # fmt: skip
    """−Σ w [x log p + (1 − x) log(1 − p)], p = g + (1 − g) / (1 + e⁻ˡ)."""
    p = guess[:, None] + (1 - guess[:, None]) / (1 + np.exp(-(loading @ ability.T + intercept[:, None])))
    return -float(np.sum(layout.right * np.log(p) + (layout.weight - layout.right) * np.log(1 - p)))


@pytest.mark.parametrize("guessing", [False, True])
def test_loss_is_the_textbook_and_slopes_are_its_derivatives(guessing: bool) -> None:
    """Central differences of step 1e-6 are good to about 1e-8 here."""
    dense, _ = both(3)
    assert isinstance(dense, DenseLayout)
    ability, loading, intercept, guess = factors(4)
    guess = guess if guessing else np.zeros(11)
    found = dense.slopes(ability, loading, intercept, guess if guessing else None)
    np.testing.assert_allclose(
        found.loss, textbook_loss(dense, ability, loading, intercept, guess), rtol=1e-12
    )
    arrays = {"ability": ability, "loading": loading, "intercept": intercept}
    if guessing:
        arrays["guessing"] = guess
    for name, array in arrays.items():
        slope = np.empty(array.shape)
        for index in np.ndindex(array.shape):
            kept = array[index]
            sides = []
            for step in (1e-6, -1e-6):
                array[index] = kept + step
                sides.append(textbook_loss(dense, ability, loading, intercept, guess))
            array[index] = kept
            slope[index] = (sides[0] - sides[1]) / 2e-6
        np.testing.assert_allclose(getattr(found, name), slope, rtol=1e-5, atol=1e-7)


def test_mostly_missing_tables_are_stored_sparse() -> None:
    learner, sample, response, weight = table(0, n_learners=50, n_samples=60, share=0.1)
    layout = layout_of(learner, sample, response, weight, n_learners=50, n_samples=60)
    assert isinstance(layout, SparseLayout)
    right, total = layout.sample_totals()
    np.testing.assert_allclose(total, np.bincount(sample, weight, 60))
    np.testing.assert_allclose(right, np.bincount(sample, weight * response, 60))


def test_extreme_logits_keep_loss_and_slopes_finite() -> None:
    layout = DenseLayout(np.ones((1, 2)), np.array([[1.0, 0.0]]))
    found = layout.slopes(np.array([[800.0], [-800.0]]), np.ones((1, 1)), np.zeros(1))
    assert found.loss == 0
    assert np.isfinite(found.ability).all()
