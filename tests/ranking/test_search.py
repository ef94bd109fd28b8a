"""The chance of a better configuration, against distributions whose truth is known."""

import numpy as np
import polars as pl
import pytest

from camilla.errors import DataError, SettingError
from camilla.ranking.search import worth_searching


@pytest.mark.parametrize("draw", ["normal", "exponential", "uniform"])
def test_the_fitted_chance_averages_to_one_in_n_plus_one(draw):
    """Exchangeability gives exactly 1/61. Over 60 samples the mean fitted chance is within a third."""
    rng = np.random.default_rng(0)
    chances = [worth_searching(getattr(rng, draw)(size=60)).p_next for _ in range(60)]
    assert np.mean(chances) == pytest.approx(1 / 61, rel=0.33)


def test_an_outlying_best_leaves_less_hope_than_a_crowded_top():
    values = np.random.default_rng(1).normal(size=100)
    alone, crowded = values.copy(), values.copy()
    alone[np.argmax(alone)] += 2
    crowded[np.argsort(crowded)[-5:]] = crowded.max() - 0.01 * np.arange(5)
    assert worth_searching(alone).p_next < worth_searching(crowded).p_next


def test_half_of_the_second_halves_beat_the_first(data_folder):
    """Random halves of 400 real gbm configurations: 1/2 by symmetry, and so on average when fitted."""
    stored = pl.read_parquet(data_folder / "mementoml" / "epp_scores_openml100.parquet")
    epps = stored.filter(openml_id=1043, algorithm="gbm")["epp"].to_numpy()
    rng = np.random.default_rng(2)
    said = []
    for _ in range(20):
        first = rng.permutation(epps)[:200]
        said.append(worth_searching(first, budget=200).p_within)
    assert np.mean(said) == pytest.approx(0.5, abs=0.15)


def test_noise_in_the_epps_takes_the_shine_off_the_best():
    rng = np.random.default_rng(3)
    truth = rng.normal(size=200)
    seen = truth + rng.normal(size=200)
    found = worth_searching(seen, np.ones(200))
    assert found.best == pytest.approx(seen.mean() + 0.5 * (seen.max() - seen.mean()), abs=0.5)
    assert found.best < seen.max()


@pytest.mark.parametrize(
    ("epps", "settings", "error", "message"),
    [
        (np.arange(5.0), {}, DataError, "at least 20"),
        (np.ones(30), {}, DataError, "all 30 EPPs are 1"),
        (np.arange(30.0), {"budget": 0}, SettingError, "budget"),
        (np.arange(30.0), {"se": [1.0]}, DataError, "got 1 standard errors for 30"),
    ],
)
def test_what_cannot_be_searched_is_said(epps, settings, error, message):
    with pytest.raises(error, match=message):
        worth_searching(epps, **settings)
