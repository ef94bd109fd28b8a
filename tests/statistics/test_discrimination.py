"""Intervals of discriminations: against statsmodels, covered as promised for dull and sharp samples alike."""

import numpy as np
import pytest
import statsmodels.api as sm
from item_worlds import ItemWorld, item_world
from scipy.stats import t as student

import camilla
from camilla.statistics.discrimination import STEEPEST, DiscriminationCurves, discrimination_ends
from camilla.statistics.intervals import Ends
from camilla.table.responses import ResponseTable


def by_truth(world: ItemWorld) -> Ends:
    """With the true curves in place of fitted ones."""
    curves = DiscriminationCurves(world.ability, world.slope, -world.slope * world.place)
    return discrimination_ends(world.responses, curves)


def fitted(world: ItemWorld) -> Ends:
    """As `items` has them."""
    found = camilla.diagnose(ResponseTable.from_matrix(world.responses), "irt")
    curves = DiscriminationCurves(
        found.params.ability[:, 0], found.params.loading[:, 0], found.params.intercept
    )
    return discrimination_ends(world.responses, curves, dispersion=found.readout.dispersion)


def test_with_sure_abilities_it_is_the_profile_likelihood_of_statsmodels() -> None:
    """Without the responses that are missing. 6,000 samples leave a standard error of .03 in abilities, which
    moves the likelihood ratio by some percent."""
    world = item_world(1, 80, 6000)
    world.responses[50:, 7] = np.nan
    ends = by_truth(world)
    z = (world.ability - world.ability.mean()) / world.ability.std()
    for j in (0, 7, 99, 1234):
        seen = ~np.isnan(world.responses[:, j])
        x, design = world.responses[seen, j], sm.add_constant(z[seen])
        top = sm.GLM(x, design, family=sm.families.Binomial()).fit().llf
        for end in (ends.low[j], ends.high[j]):
            held = sm.GLM(x, design[:, 0], family=sm.families.Binomial(), offset=end * z[seen]).fit().llf
            assert 2 * (top - held) == pytest.approx(student.ppf(0.975, seen.sum() - 2) ** 2, rel=0.15)


def shares(n_learners: int, n_samples: int, tables: int, dispersion: float = 1.0) -> tuple[float, float]:
    """Shares of intervals that hold the truth: of all samples, and of the sharpest fifth."""
    inside, slopes = [], []
    for seed in range(tables):
        world = item_world(seed, n_learners, n_samples, dispersion=dispersion)
        ends, truth = fitted(world), world.discrimination
        known = np.isfinite(ends.low)
        inside.append(((ends.low <= truth) & (truth <= ends.high))[known])
        slopes.append(world.slope[known])
    held, slope = np.concatenate(inside), np.concatenate(slopes)
    return float(held.mean()), float(held[slope > np.quantile(slope, 0.8)].mean())


@pytest.mark.parametrize(
    ("n_learners", "n_samples", "tables", "dispersion"),
    [(60, 150, 20, 1.0), (200, 100, 20, 1.0), (200, 20, 60, 1.0), (30, 100, 30, 1.0), (60, 150, 20, 0.1)],
)
def test_95_percent_intervals_cover_sharp_samples_too(
    n_learners: int, n_samples: int, tables: int, dispersion: float
) -> None:
    """1,200 to 3,000 intervals that hang together by table: the share of all is good to about .006, that of
    the sharpest fifth, of which the 2PL's own intervals hold 40 to 85 %, to about .012; three of that."""
    every, sharpest = shares(n_learners, n_samples, tables, dispersion)
    assert 0.93 < every < 0.97
    assert 0.91 < sharpest < 0.985


@pytest.mark.slow
@pytest.mark.parametrize("size", [(30, 100), (50, 500), (200, 100), (200, 20)])
def test_95_percent_intervals_cover_over_500_tables(size: tuple[int, int]) -> None:
    """The share of all samples is good to .001, that of the sharpest fifth to .003."""
    every, sharpest = shares(*size, 500)
    assert 0.93 < every < 0.97
    assert 0.93 < sharpest < 0.97


def test_a_sample_that_parts_strong_from_weak_has_no_upper_end_and_constant_ones_no_interval() -> None:
    world = item_world(2, 40, 30)
    x = world.responses
    x[:, 0], x[:, 1], x[:, 2] = world.ability > 0.2, 1, 0
    ends = by_truth(world)
    assert ends.high[0] == STEEPEST
    assert 1 < ends.low[0] < STEEPEST
    assert np.isnan(ends.low[1:3]).all()
    assert np.isnan(ends.high[1:3]).all()


def test_a_reversed_sample_has_the_interval_with_its_signs_turned() -> None:
    """1 − x in place of x, curve and all: σ(−l) = 1 − σ(l). The search stops within .001."""
    world = item_world(3, 70, 40)
    intercept = -world.slope * world.place
    plain = discrimination_ends(world.responses, DiscriminationCurves(world.ability, world.slope, intercept))
    turned = discrimination_ends(
        1 - world.responses, DiscriminationCurves(world.ability, -world.slope, -intercept)
    )
    np.testing.assert_allclose(turned.low, -plain.high, atol=0.01)
    np.testing.assert_allclose(turned.high, -plain.low, atol=0.01)


def test_five_learners_are_the_fewest() -> None:
    world = item_world(4, 50, 25)
    world.responses[5:, 0], world.responses[4:, 1] = np.nan, np.nan
    world.responses[:4, :2] = [[0, 0], [1, 1], [0, 0], [1, 1]]
    ends = by_truth(world)
    assert ends.low[0] < ends.high[0]
    assert np.isnan(ends.low[1])
