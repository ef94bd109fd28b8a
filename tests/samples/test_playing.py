"""Standard errors of adaptive tests on worlds whose learners differ in more than the models know."""

import numpy as np
import pytest

import camilla
from camilla.errors import DataError
from camilla.samples.bank import Answers, Bank, Score, after, at_start, calibrate, full_score
from camilla.samples.replay import ScoreErrors, calibrate_with_misfit, misfit, play
from camilla.table.responses import ResponseTable

N_WORLDS, N_CALIBRATED, N_TESTED, N_SAMPLES = 5, 40, 80, 200


def world(seed: int, *, blocks: int, fractional: bool = False) -> np.ndarray:
    """Logit = ability − difficulty + an effect of learner and block, sd 1: as many dimensions as blocks.

    Fractional responses are means of four right/wrong ones.
    """
    rng = np.random.default_rng(seed)
    n = N_CALIBRATED + N_TESTED
    effect = rng.normal(size=(n, max(1, blocks)))[:, np.arange(N_SAMPLES) % max(1, blocks)] * (blocks > 0)
    logit = rng.normal(size=(n, 1)) - rng.normal(size=N_SAMPLES) + effect
    return rng.binomial(4 if fractional else 1, 1 / (1 + np.exp(-logit))) / (4 if fractional else 1)


def covered(*, blocks: int, fractional: bool, stop: int) -> float:
    """How many of the full-table scores of N_WORLDS × N_TESTED new learners lie within 1.96 errors."""
    inside = []
    for seed in range(N_WORLDS):
        x = world(seed, blocks=blocks, fractional=fractional)
        bank = calibrate_with_misfit(ResponseTable.from_matrix(x[:N_CALIBRATED]))
        played = play(bank, x[N_CALIBRATED:], [stop])
        inside.append(np.abs(played.score[0] - x[N_CALIBRATED:].mean(axis=1)) <= 1.96 * played.se[0])
    return float(np.mean(inside))


@pytest.mark.slow
@pytest.mark.parametrize(("blocks", "fractional"), [(0, False), (10, True)])
def test_intervals_cover_the_full_score_of_new_learners(blocks: int, fractional: bool) -> None:
    """400 learners in 5 worlds: 95 % has a standard error of .011, and the misfit, common to a world's 80
    learners and known from 40 others to a sixth, adds as much: three times .015 is allowed."""
    found = covered(blocks=blocks, fractional=fractional, stop=40)
    assert 0.95 - 0.045 < found < 0.95 + 0.045


def test_misfit_widens_errors_by_the_share_not_seen() -> None:
    """Ten blocks with effects of sd 1 from 40 learners: the models cannot know all of them. A score's
    variance grows by misfit² × (share not seen)², as the formula in the test says."""
    x = world(1, blocks=10)
    bank = calibrate_with_misfit(ResponseTable.from_matrix(x[:N_CALIBRATED]))
    assert bank.misfit > 0.01
    with_it, without = (play(one, x, [40]).se[0] for one in (bank, bank._replace(misfit=0.0)))
    np.testing.assert_allclose(with_it**2 - without**2, (bank.misfit * 160 / 200) ** 2, rtol=1e-9)


def test_misfit_is_found_beside_errors_that_differ() -> None:
    """20,000 learners, their own errors from .005 to .05, a misfit of .02 on four fifths of the samples: the
    standardised squares have mean 1 up to √(2 / 20,000) = .01, and so δ is good to about .0004."""
    rng = np.random.default_rng(2)
    se = rng.uniform(0.005, 0.05, 20_000)
    off = rng.normal(size=20_000) * np.sqrt(se**2 + (0.02 * 0.8) ** 2)
    assert misfit(ScoreErrors(off, se, np.full(20_000, 0.8))) == pytest.approx(0.02, abs=0.0012)
    assert misfit(ScoreErrors(off / 9, se, np.full(20_000, 0.8))) == 0


def test_models_are_averaged_and_their_disagreement_counts() -> None:
    """Mean and variance of an even mixture of two: ((s − t) / 2)² more than the mean of the two variances."""
    x = world(3, blocks=3)
    bank = calibrate(ResponseTable.from_matrix(x[:40]))
    bank = bank._replace(models=bank.models[:2], peers=None)
    asked = np.tile(np.arange(20), (5, 1))
    unseen = np.ones((5, N_SAMPLES), bool)
    unseen[:, :20] = False
    answers = Answers(asked, x[40:45, :20], unseen, np.full(5, N_SAMPLES))

    def of(one: Bank) -> Score:
        return full_score(one, after(one, at_start(one, 5), asked, x[40:45, :20]), answers)

    both = of(bank)
    lean, rich = (of(bank._replace(models=(model,))) for model in bank.models)
    np.testing.assert_allclose(both.score, (lean.score + rich.score) / 2)
    variance = (lean.se**2 + rich.se**2) / 2 + ((lean.score - rich.score) / 2) ** 2
    np.testing.assert_allclose(both.se**2, variance)


def test_what_a_misfit_cannot_be_seen_on_is_refused() -> None:
    with pytest.raises(DataError, match="2 learners"):
        calibrate_with_misfit(ResponseTable.from_matrix([[0, 1, 1], [1, 0, 1]]))


@pytest.mark.parametrize(
    ("n_learners", "held_out"), [(1000, [200]), (999, [200, 200, 200, 200, 199]), (4, [1, 1, 1, 1])]
)
def test_many_learners_are_held_out_once_and_few_in_five_folds(n_learners: int, held_out: list[int]) -> None:
    """From 1,000 learners on one fold of 200, the cost that of two calibrations; else all in turn."""
    said: list[str] = []
    table = camilla.simulate(n_learners, 8, seed=3).table
    calibrate_with_misfit(table, dimensions=1, watch=said.append)
    assert said == [
        "on all learners",
        *(
            f"without {count} learners that are then tested, {number} of {len(held_out)}"
            for number, count in enumerate(held_out, 1)
        ),
    ]


def test_the_misfit_of_many_learners_is_that_of_the_200_held_out() -> None:
    """Errors of the 200, tested by what the other 800 calibrated, in Paule and Mandel's equation."""
    table = ResponseTable.from_matrix(
        np.concatenate([world(seed, blocks=10)[:, :40] for seed in range(9)])[:1000]
    )
    order = np.random.default_rng(7).permutation(1000)
    bank = calibrate(table.take_learners(np.sort(order[200:])), dimensions=1, seed=7)
    x = table.matrix()[np.sort(order[:200])]
    played = play(bank, x, [8])  # a fifth of 40 samples
    found = calibrate_with_misfit(table, dimensions=1, seed=7).misfit
    assert found > 0.01
    assert np.mean(
        (played.score[0] - x.mean(axis=1)) ** 2 / (played.se[0] ** 2 + (found * 32 / 40) ** 2)
    ) == pytest.approx(1, abs=1e-6)
