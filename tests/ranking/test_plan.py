"""Plans: against textbook sample sizes, and against simulated power."""

import numpy as np
import pytest
from scipy.stats import nct, t

from camilla.errors import DataError, SettingError
from camilla.ranking.epp import epp
from camilla.ranking.plan import plan, telling_rounds, units_for
from camilla.table.tournament import Tournament
from epp_designs import world
from epp_plan import pilots, power, strengths, tournament


@pytest.mark.parametrize(("effect", "n"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_units_are_the_textbooks_for_a_paired_t_test(effect, n):
    """Cohen's (1988) small, medium and large effects at power .8 and α .05, two-sided."""
    assert units_for(1.0, effect) == n
    reach = t.ppf(0.975, n - 1)
    assert nct.sf(reach, n - 1, effect * np.sqrt(n)) + nct.cdf(-reach, n - 1, effect * np.sqrt(n)) >= 0.8


def test_a_planned_design_has_the_power_it_promises():
    """A pilot of 2,000 rounds knows the variance; 200 worlds have an error of .028. Two points below to five
    above are allowed on top of two errors."""
    truth = strengths(0.8)
    made = tournament(truth, 2000, 1, np.random.default_rng(1))
    found = plan(epp(made), made, 0.8, pair=("a", "b"))
    assert 0.78 - 0.056 < power(truth, found.needed, 1, worlds=200, seed=2) < 0.85 + 0.056


def test_ranges_of_small_pilots_hold_the_right_number_in_eight_of_ten():
    """120 pilots of ten rounds: an error of .037; allow two and a half."""
    truth = strengths(0.8)
    made = tournament(truth, 2000, 1, np.random.default_rng(1))
    right = plan(epp(made), made, 0.8, pair=("a", "b")).needed
    low, high = pilots(truth, 0.8, 10, 120, seed=3).T
    assert 0.7 < np.mean((low <= right) & (right <= high)) < 0.92


def test_folds_help_no_further_than_the_variance_between_tasks():
    """Half of the variance lies between tasks: k folds need about (1/2 + 1/2k) of the tasks of one fold."""
    made = world((5,) * 200, np.random.default_rng(4), n=10)
    found = plan(epp(made.tournament), made.tournament, 0.5)
    need = found.by_folds
    assert found.units == "clusters"
    assert need[1] > need[2] > need[5] > need[10]
    assert need[10] > 0.8 * need[5]
    assert need[5] / need[1] == pytest.approx(0.6, abs=0.12)
    assert "Ten folds instead of five" in found.line()


def test_pooling_over_pairs_narrows_the_range():
    made = tournament(strengths(0.8), 12, 1, np.random.default_rng(6))
    board = epp(made)
    pooled, own = plan(board, made, 0.5), plan(board, made, 0.5, pair=("a", "b"))
    assert pooled.high / pooled.low < own.high / own.low


def test_a_round_of_noise_is_the_least_telling():
    rng = np.random.default_rng(7)
    scores = np.linspace(-3, 3, 8)[:, None] + 0.3 * rng.normal(size=(8, 9))
    scores[:, 4] = rng.normal(size=8)
    scores[:, 5] = np.repeat([0.0, 1.0], 4)
    made = Tournament(tuple("abcdefgh"), tuple(f"r{k}" for k in range(9)), scores)
    told = telling_rounds(epp(made, prior=1), made)
    assert told["round"][-1] == "r4"
    ties = dict(told.select("round", "ties").iter_rows())
    assert ties["r5"] == pytest.approx(12 / 28)
    assert ties["r0"] == 0


def test_what_cannot_be_planned_is_said():
    made = tournament(strengths(0.8), 12, 1, np.random.default_rng(8))
    board = epp(made)
    with pytest.raises(SettingError, match="other than 0"):
        plan(board, made, 0.0)
    with pytest.raises(DataError, match="no player 'z'"):
        plan(board, made, 0.5, pair=("a", "z"))
