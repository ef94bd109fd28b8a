"""Known worlds found again. The formula of each world is written here, not taken from the package."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

import camilla
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

Matrix = NDArray[np.float64]


def responses(rng: np.random.Generator, p: Matrix) -> Matrix:
    return (rng.random(p.shape) < p).astype(float)


def two_parameter_world(
    seed: int, n_learners: int, n_samples: int
) -> tuple[ResponseTable, Matrix, Matrix, Matrix]:
    """p = 1 / (1 + exp(−a (θ − b))), θ and b standard normal, log a ~ N(0, .3²)."""
    rng = np.random.default_rng(seed)
    theta, b = rng.normal(size=n_learners), rng.normal(size=n_samples)
    a = np.exp(rng.normal(0, 0.3, n_samples))
    p = 1 / (1 + np.exp(-a * (theta[:, None] - b)))
    return ResponseTable.from_matrix(responses(rng, p)), theta, a, b


def in_order(found: camilla.Diagnosis, table: ResponseTable, column: str) -> Matrix:
    frame = dict(zip(found.learners["learner"], found.learners[column], strict=True))
    return np.array([frame[name] for name in table.learners])


def test_abilities_of_200_learners_on_2000_samples_correlate_at_least_99_percent() -> None:
    table, theta, a, b = two_parameter_world(0, 200, 2000)
    found = camilla.diagnose(table, "irt", seed=0)
    assert np.corrcoef(in_order(found, table, "ability"), theta)[0, 1] >= 0.99
    samples = found.samples
    assert np.corrcoef(samples["difficulty"].to_numpy(), b)[0, 1] > 0.95
    assert np.corrcoef(samples["discrimination"].to_numpy(), a)[0, 1] > 0.5


def test_a_sample_with_its_key_swapped_comes_out_negative() -> None:
    """Five samples answered upside down by 150 learners: slopes about −1, three errors away from 0."""
    table, *_ = two_parameter_world(3, 150, 200)
    matrix = table.matrix()
    matrix[:, :5] = 1 - matrix[:, :5]
    found = camilla.diagnose(ResponseTable.from_matrix(matrix), "irt", precision=3.0)
    assert (found.samples["discrimination_high"].to_numpy()[:5] < 0).all()
    assert (found.samples["discrimination"].to_numpy()[5:] > 0).mean() > 0.99


@pytest.mark.parametrize(("guessing", "low", "high"), [(0.25, 0.15, 0.27), (0.0, 0.0, 0.12)])
def test_guessing_is_found_where_the_weak_guess(guessing: float, low: float, high: float) -> None:
    """3PL with one c for all, 1,500 learners on 60 samples.

    Estimating abilities and samples together pulls c towards 0 and its prior pulls it to .2, so the
    limits only tell guessing from none.
    """
    rng = np.random.default_rng(1)
    theta, b = rng.normal(size=1500), rng.normal(size=60)
    p = guessing + (1 - guessing) / (1 + np.exp(-1.5 * (theta[:, None] - b)))
    table = ResponseTable.from_matrix(responses(rng, p))
    found = camilla.diagnose(table, "irt", form="3pl", precision=1.0)
    assert low < found.samples["guessing"].to_numpy().mean() < high
    assert np.corrcoef(in_order(found, table, "ability"), theta)[0, 1] > 0.9


def skill_world(seed: int, n_learners: int, n_samples: int, n_skills: int) -> tuple[ResponseTable, Matrix]:
    """p = σ(Σₖ Qⱼₖ bⱼₖ (Aᵢₖ − Dⱼ)), A, D ~ N(0, 1), b ~ U(.7, 1.7); a third of samples need two skills."""
    rng = np.random.default_rng(seed)
    ability, difficulty = rng.normal(size=(n_learners, n_skills)), rng.normal(size=n_samples)
    mask = np.zeros((n_samples, n_skills), bool)
    mask[np.arange(n_samples), np.arange(n_samples) % n_skills] = True
    double = np.arange(n_samples) % 3 == 0
    mask[double, rng.integers(n_skills, size=double.sum())] = True
    b = np.where(mask, rng.uniform(0.7, 1.7, mask.shape), 0)
    p = 1 / (1 + np.exp(-(ability @ b.T - b.sum(axis=1) * difficulty)))
    names = tuple(f"skill {k}" for k in range(n_skills))
    return ResponseTable.from_matrix(responses(rng, p)).with_skills(SkillMap(names, mask)), ability


@pytest.mark.parametrize("seed", range(4))
def test_camilla_base_recovers_the_order_on_every_skill(seed: int) -> None:
    table, truth = skill_world(seed, 100, 600, 6)
    found = camilla.diagnose(table, "camilla-base", seed=seed)
    rows = found.skills.sort("learner", "skill")["ability"].to_numpy().reshape(100, 6)
    truth = truth[np.argsort(table.learners)]
    for k in range(6):
        assert spearmanr(rows[:, k], truth[:, k]).statistic >= 0.9


@pytest.mark.slow
def test_camilla_ranks_learners_as_a_one_skill_world_made_them() -> None:
    """Latent skills of a one-ability world: the weighted ability must follow the one ability."""
    table, theta, *_ = two_parameter_world(5, 60, 300)
    found = camilla.diagnose(table, "camilla", precision=3.0, dimensions=4, seed=1)
    assert spearmanr(in_order(found, table, "ability"), theta).statistic > 0.9


def test_dina_finds_who_has_which_skill() -> None:
    """Slip .1, guess .15, three skills, 60 samples: de la Torre's setting; fewer than one error in twenty."""
    rng = np.random.default_rng(2)
    has = rng.random((200, 3)) < 0.5
    mask = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1]] * 12, bool)
    able = (has[:, None, :] | ~mask).all(axis=2)
    table = ResponseTable.from_matrix(responses(rng, np.where(able, 0.9, 0.15)))
    found = camilla.diagnose(table.with_skills(SkillMap(("a", "b", "c"), mask)), "dina")
    mastery = (
        found.skills.pivot(on="skill", index="learner", values="mastery").select("a", "b", "c").to_numpy()
    )
    assert np.mean((mastery > 0.5) == has) > 0.95
    assert abs(found.params.slip.mean() - 0.1) < 0.02
    assert abs(found.params.guess.mean() - 0.15) < 0.02


def test_ninety_five_percent_intervals_of_abilities_cover_93_to_97_percent() -> None:
    """100 worlds of 60 abilities: learners of a world share its samples, so the coverage's own spread is
    about .7 points, a third of the two that are allowed. Standard errors a fifth too small cover 88.3
    percent, 2Φ(.8 × 1.96) − 1, which no such run misses; a tenth too small (92.2) one in eight misses."""
    inside = []
    for seed in range(100):
        table, theta, *_ = two_parameter_world(1000 + seed, 60, 150)
        found = camilla.diagnose(table, "irt", precision=3.0, seed=seed)
        truth = (theta - theta.mean()) / theta.std()
        inside.append((in_order(found, table, "low") <= truth) & (truth <= in_order(found, table, "high")))
    assert 0.93 <= np.mean(inside) <= 0.97


@pytest.mark.slow
def test_intervals_of_skill_abilities_cover_93_to_97_percent() -> None:
    """200 worlds of 60 learners on 3 skills, 180 samples."""
    inside = []
    for seed in range(200):
        table, truth = skill_world(2000 + seed, 60, 180, 3)
        found = camilla.diagnose(table, "camilla-base", precision=1.0, skill_correlation=0.0, seed=seed)
        standard = (truth - truth.mean(axis=0)) / truth.std(axis=0)
        rows = found.skills.sort("learner", "skill")
        order = np.argsort(table.learners)
        low, high = (rows[name].to_numpy().reshape(60, 3) for name in ("low", "high"))
        inside.append((low <= standard[order]) & (standard[order] <= high))
    assert 0.93 <= np.mean(inside) <= 0.97


@pytest.mark.parametrize(("mean", "sd", "seen"), [(0.0, 1.0, 200), (0.0, 1.0, 20), (2.0, 2.5, 30)])
def test_the_interval_of_a_placed_learner_covers_its_ability(mean: float, sd: float, seen: int) -> None:
    """400 new learners of a known world, samples calibrated on 300, with all or few of the 200 responses,
    in a pool at the prior's place or far from it: between 92 and 98 percent inside, three binomial
    standard errors (1.1 points) around 95."""
    rng = np.random.default_rng(11)
    b, a = rng.normal(size=200), np.exp(rng.normal(0, 0.3, 200))
    theta = rng.normal(mean, sd, size=700)
    matrix = responses(rng, 1 / (1 + np.exp(-a * (theta[:, None] - b))))
    found = camilla.diagnose(ResponseTable.from_matrix(matrix[:300]), "irt", precision=3.0)
    new = matrix[300:]
    new[rng.random(new.shape).argsort(axis=1) >= seen] = np.nan
    placed = found.place(ResponseTable.from_matrix(new))
    truth = (theta[300:] - theta[:300].mean()) / theta[:300].std()
    inside = (placed["low"].to_numpy() <= truth) & (truth <= placed["high"].to_numpy())
    assert 0.92 <= inside.mean() <= 0.98
