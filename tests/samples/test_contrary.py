"""Samples whose key is wrong are found, and few others."""

import numpy as np
import pytest

from camilla.samples.wrong_keys import below_rate, wrong_keys


def world(
    seed: int, *, wrong: int, hit: float, n_learners: int = 60, n_samples: int = 800
) -> tuple[np.ndarray, ...]:
    """Responses to a table whose first `wrong` samples have a wrong key: 1 where a learner that does not know
    the right answer happens to give the one the key says, with probability `hit`."""
    rng = np.random.default_rng(seed)
    ability, a, b = (
        rng.normal(size=n_learners),
        rng.lognormal(0.3, 0.3, n_samples),
        rng.normal(-0.7, 1, n_samples),
    )
    knows = rng.random((n_learners, n_samples)) < 1 / (1 + np.exp(-a * (ability[:, None] - b)))
    x = knows.astype(float)
    x[:, :wrong] = (~knows[:, :wrong]) & (rng.random((n_learners, wrong)) < hit)
    return x, ability


@pytest.mark.parametrize(("hit", "recall"), [(1.0, 0.8), (1 / 3, 0.8)])
def test_wrong_keys_are_found_at_the_promised_rate_of_false_flags(hit: float, recall: float) -> None:
    """Ten worlds with 24 wrong keys in 800: 240 in all, so that a share of .05 is good to .015. Some wrong
    keys cannot be told: those of samples so hard that hardly anybody knew the answer."""
    flagged, true = 0, 0
    for seed in range(10):
        found = wrong_keys(*world(seed, wrong=24, hit=hit))
        flagged += int(found.flagged.sum())
        true += int(found.flagged[:24].sum())
    assert true / flagged > 0.9
    assert true / 240 > recall


def test_nothing_is_flagged_where_every_key_is_right() -> None:
    """Twenty worlds of 800 right keys: the share of worlds with any flag is near the rate, .05."""
    worlds = [wrong_keys(*world(seed, wrong=0, hit=1.0)) for seed in range(20)]
    assert sum(found.flagged.any() for found in worlds) <= 3
    assert max(found.share for found in worlds) < 0.01


def test_flags_are_as_many_as_keep_the_expected_false_share() -> None:
    """Mean of 1 − p of the first k: .01, .02, .0467, .085: three are within .05."""
    assert below_rate(np.array([0.8, 0.99, 0.9, 0.97]), 0.05).tolist() == [False, True, True, True]
