"""Split-R̂ beside ArviZ, and what it is for: chains that differ in where they are, or in how wide they are."""

import numpy as np
import pytest
from numpy.typing import NDArray

from camilla.statistics.posterior import effective_draws, r_hat

WORLDS = ("alike", "shifted", "wider", "slow", "counts")
# Where ArviZ is installed beside camilla:
# PYTHONPATH=tests/statistics python -c "import arviz; from test_r_hat import WORLDS, world
# print([float(arviz.rhat(world(name), method='rank')) for name in WORLDS])"
# These are of ArviZ 0.23.4 with NumPy 2.4.6.
ARVIZ = (0.9984905466124508, 1.1165973053486653, 1.1264741183763163, 1.814913238780831, 1.0112240927423768)


def world(name: str) -> NDArray[np.float64]:
    """Four chains of 101 draws, an odd number, so that a draw of each belongs to neither half."""
    rng = np.random.default_rng(WORLDS.index(name))
    noise = rng.standard_normal((4, 101))
    if name == "shifted":
        noise[0] += 1
    elif name == "wider":
        noise[0] *= 3
    elif name == "slow":
        noise = np.cumsum(noise, axis=1)
    elif name == "counts":
        noise = np.floor(2 * noise)  # with many ties
    return noise


@pytest.mark.parametrize(("name", "published"), list(zip(WORLDS, ARVIZ, strict=True)))
def test_it_is_the_number_of_arviz(name: str, published: float) -> None:
    found = r_hat(world(name).reshape(-1, 1), [101] * 4)
    assert found[0] == pytest.approx(published, rel=1e-12)


def test_chains_that_differ_are_found_and_others_are_not() -> None:
    """By the threshold of Vehtari et al. (2021), 1.01; long chains, so that chance does not reach it."""
    rng = np.random.default_rng(0)
    same = rng.standard_normal((4, 2000))
    shifted, wider = same.copy(), same.copy()
    shifted[2] += 0.3
    wider[2] *= 1.5
    draws = np.stack([same, shifted, wider], axis=2).reshape(8000, 3)
    alike, moved, spread = r_hat(draws, [2000] * 4)
    assert alike < 1.01 < min(moved, spread)


def test_learners_are_told_apart_and_chains_may_differ_in_length() -> None:
    """The first draws of the longer chain are those that go."""
    rng = np.random.default_rng(1)
    one, other = rng.standard_normal((53, 3)), rng.standard_normal((50, 3))
    together = r_hat(np.concatenate([one, other]), [53, 50])
    assert together == pytest.approx(r_hat(np.concatenate([one[3:], other]), [50, 50]))
    assert together[1] == r_hat(np.concatenate([one, other])[:, 1:2], [53, 50])[0]


def test_what_does_not_move_agrees_unless_chains_stand_apart() -> None:
    still = np.full((40, 1), 0.5)
    apart = np.repeat([0.2, 0.7], 20)[:, None]
    assert r_hat(still, [20, 20])[0] == 1
    assert r_hat(apart, [20, 20])[0] == np.inf


def test_effective_draws_of_chains_are_added_up() -> None:
    """Of independent draws each chain has about as many as it has draws."""
    draws = np.random.default_rng(2).standard_normal((1000, 20))
    lengths = [400, 600]
    assert np.array_equal(
        effective_draws(draws, lengths), effective_draws(draws[:400]) + effective_draws(draws[400:])
    )
    assert effective_draws(draws, lengths).mean() == pytest.approx(1000, rel=0.1)
