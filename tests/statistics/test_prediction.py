"""Prediction metrics against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as truth

from camilla.arrays import log_loss
from camilla.statistics import prediction


@given(st.integers(0, 100_000), st.integers(2, 60), st.booleans())
def test_metrics_agree_with_scikit_learn(seed: int, n: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    response = rng.integers(0, 2, n).astype(float)
    response[:2] = 0, 1
    predicted = rng.integers(0, 5, n) / 4 if ties else rng.random(n)
    label = predicted >= 0.5
    assert prediction.auc(response, predicted) == pytest.approx(
        truth.roc_auc_score(response, predicted), abs=1e-12
    )
    assert prediction.accuracy(response, predicted) == pytest.approx(truth.accuracy_score(response, label))
    wanted = truth.f1_score(response, label, average="macro", zero_division=0)
    assert prediction.macro_f1(response, predicted) == pytest.approx(wanted)
    assert prediction.rmse(response, predicted) == pytest.approx(
        truth.root_mean_squared_error(response, predicted)
    )
    assert prediction.mae(response, predicted) == pytest.approx(
        truth.mean_absolute_error(response, predicted)
    )


def test_log_loss_is_finite_for_certain_predictions() -> None:
    assert log_loss(np.array([1.0, 0.0]), np.array([1000.0, -1000.0])) == 0


def test_auc_of_one_class_is_not_a_number() -> None:
    assert np.isnan(prediction.auc(np.ones(3), np.array([0.1, 0.2, 0.3])))
