"""A small data set with numbers and labels that every pool test can afford."""

import numpy as np
import polars as pl
import pytest

from camilla.pools.description import DataSet
from camilla.pools.sources import binary_data_set


@pytest.fixture(scope="session")
def frame() -> pl.DataFrame:
    """120 rows: two numbers and a label that carry the class, one number that does not."""
    rng = np.random.default_rng(7)
    truth = rng.random(120) < 0.35
    return pl.DataFrame(
        {
            "height": rng.normal(truth * 1.2, 1.0),
            "weight": rng.normal(truth * 0.6, 2.0) * 10 + 50,
            "noise": rng.normal(size=120),
            "colour": np.where(rng.random(120) < 0.3 + 0.4 * truth, "red", "blue"),
            "class": np.where(truth, "ill", "well"),
        }
    )


@pytest.fixture(scope="session")
def data(frame: pl.DataFrame) -> DataSet:
    return binary_data_set(frame, "small")
