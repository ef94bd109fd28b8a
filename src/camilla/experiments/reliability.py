"""Reliability: how well each diagnoser predicts responses it has not seen."""

from typing import Any

import numpy as np

from camilla import auto
from camilla.data.responses import ResponseTable
from camilla.engine import fit as engine
from camilla.metrics.prediction import accuracy, auc, log_loss, macro_f1, mae, rmse

SCORES = ("acc", "f1", "auc", "rmse", "mae", "log_loss")


def reliability(found: auto.Found, test: ResponseTable) -> list[dict[str, Any]]:
    """Scores on cells that no fit saw; acc, f1 and auc of right/wrong responses only."""
    cells = test.cells()
    logits = engine.logit(found.fit.diagnoser, found.fit.solution.params, cells.learner, cells.sample)
    logits = logits / found.fit.temperature
    predicted = 0.5 * (np.tanh(0.5 * logits) + 1)
    scores = {
        "rmse": rmse(cells.response, predicted),
        "mae": mae(cells.response, predicted),
        "log_loss": log_loss(cells.response, logits),
    }
    if not found.fit.diagnoser.size.fractional:
        scores |= {
            "acc": accuracy(cells.response, predicted),
            "f1": macro_f1(cells.response, predicted),
            "auc": auc(cells.response, predicted),
        }
    return [{"score": name, "value": value} for name, value in scores.items()]
