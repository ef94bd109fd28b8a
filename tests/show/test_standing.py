"""Ties, paired counts and strengths against formulas written here."""

import numpy as np
import pytest
from scipy.stats import norm, ttest_rel

import camilla
from camilla.show.report.diagnosed import paired, strengths
from camilla.statistics.standing import standing_by_errors


def test_pairs_are_tested_with_added_variances_and_holm() -> None:
    """Abilities 3, 2.9, 0 with errors .3: z is .24 for the first pair and over 6 for the others."""
    ability, se = np.array([3.0, 2.9, 0.0]), np.full(3, 0.3)
    found = standing_by_errors(ability, se)
    assert found is not None
    assert found.ties == [(0, 1)]
    assert (found.rank_low.tolist(), found.rank_high.tolist()) == ([1, 1, 3], [2, 2, 3])


def test_ties_are_rarely_broken_by_chance() -> None:
    """Thirty equal learners in 200 worlds: some pair differs in at most 5 % of worlds, 10 allowed for chance.

    Sd of the share is √(.05 · .95 / 200) = .015; three of them above .05 is .096.
    """
    rng = np.random.default_rng(3)
    broken = 0
    for _ in range(200):
        ability = np.sort(rng.normal(0, 0.4, 30))[::-1]
        found = standing_by_errors(ability, np.full(30, 0.4))
        assert found is not None
        broken += found.ties != [tuple(range(30))]
    assert broken <= 0.096 * 200


def test_without_errors_nothing_is_said() -> None:
    assert standing_by_errors(np.array([1.0, 0.0]), np.array([0.1, np.nan])) is None


def test_paired_numbers_are_those_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    responses = rng.random((4, 60))
    responses[1, :7] = np.nan
    found = paired(responses)
    both = np.isfinite(responses[0]) & np.isfinite(responses[1])
    one, other = responses[0, both], responses[1, both]
    truth = ttest_rel(one, other)
    assert found.shared[0, 1] == 53
    assert found.only is None
    assert found.difference is not None
    assert found.low is not None
    assert found.high is not None
    assert found.p is not None
    assert found.difference[0, 1] == pytest.approx((one - other).mean())
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx(tuple(truth.confidence_interval()))
    assert found.p[0, 1] == pytest.approx(truth.pvalue)


def test_discordant_samples_are_counted() -> None:
    rng = np.random.default_rng(2)
    responses = (rng.random((5, 40)) < 0.6).astype(float)
    responses[2, 5:9] = np.nan
    found = paired(responses)
    assert found.only is not None
    for i in range(5):
        for j in range(5):
            assert found.only[i, j] == ((responses[i] == 1) & (responses[j] == 0)).sum()


def test_a_strength_is_ability_on_the_skill_less_ability_overall() -> None:
    """Recomputed learner by learner from the readout; significance by Holm's definition."""
    world = camilla.simulate(12, 120, skills=3, seed=4)
    found = camilla.diagnose(world.table, "camilla-base", precision=3.0, skill_correlation=0.5)
    made = strengths(found, None)
    assert made is not None
    ability, covariance = found.readout.ability, found.readout.covariance
    weight = found.readout.skill_weight.mean(axis=0)  # type: ignore[union-attr]
    for i in range(12):
        own = ability[i] - ability.mean(axis=0)
        contrast = np.eye(3) - weight
        difference = [contrast[k] @ own for k in range(3)]
        se = [np.sqrt(contrast[k] @ covariance[i] @ contrast[k]) for k in range(3)]
        np.testing.assert_allclose(made.difference[i], difference, atol=1e-12)
        np.testing.assert_allclose(made.se[i], se, rtol=1e-9)
        p = 2 * norm.sf(np.abs(np.array(difference) / se))
        order, sure, still = np.argsort(p), np.zeros(3, bool), True
        for place, k in enumerate(order):
            still = still and p[k] < 0.05 / (3 - place)
            sure[k] = still
        assert made.sure[i].tolist() == sure.tolist()
