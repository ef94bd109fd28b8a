import numpy as np
import pytest

from camilla.errors import SettingError
from camilla.table.examples import simulate
from camilla.table.skills import SkillMap


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("kind", ["1pl", "2pl", "3pl"])
def test_probabilities_follow_the_written_formula(kind):
    truth = simulate(5, 7, kind=kind, seed=1).truth
    for i in range(5):
        for j in range(7):
            a, d, c = truth.discrimination[j], truth.difficulty[j], truth.guessing[j]
            assert truth.probability[i, j] == pytest.approx(c + (1 - c) * sigmoid(a * (truth.ability[i] - d)))
    assert (truth.discrimination == 1).all() == (kind == "1pl")
    assert (truth.guessing > 0).all() == (kind == "3pl")


def test_camilla_base_sums_over_the_needed_skills_only():
    table, truth = simulate(4, 6, kind="camilla_base", skills=3, seed=2)
    for i in range(4):
        for j in range(6):
            needed = np.flatnonzero(table.skill_map.mask[j])
            logit = sum(
                truth.discrimination[j, k] * (truth.ability[i, k] - truth.difficulty[j]) for k in needed
            )
            assert truth.probability[i, j] == pytest.approx(sigmoid(logit))


@pytest.mark.parametrize("fractional", [False, True])
def test_responses_average_to_their_probability(fractional):
    """400 trials a cell: standard error at most 1/40; 4.5 of them for the largest of 100 cells."""
    table, truth = simulate(10, 10, trials=400, fractional=fractional, seed=3)
    assert np.abs(table.matrix() - truth.probability).max() < 4.5 / 40
    assert table.is_binary != fractional


def test_the_share_of_missing_cells_is_as_asked():
    """10,000 cells: the share's standard error is under half a point; allow two points."""
    table = simulate(100, 100, missing=0.3, seed=4).table
    assert table.n_responses + table.n_missing == 10_000
    assert abs(table.n_missing / 10_000 - 0.3) < 0.02


def test_a_seed_is_a_world():
    assert simulate(5, 5, seed=1).table.digest() == simulate(5, 5, seed=1).table.digest()
    assert simulate(5, 5, seed=1).table.digest() != simulate(5, 5, seed=2).table.digest()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "4pl"}, "kind must be one of 1pl"),
        ({"kind": "camilla_base"}, "needs skills"),
        ({"skills": 9}, "between 1 and the number of samples, 4"),
        ({"skills": SkillMap(("s",), np.ones((3, 1)))}, "3 rows for 4 samples"),
        ({"missing": 1.0}, "0 ≤ missing < 1"),
        ({"trials": 0}, "at least one"),
    ],
)
def test_an_impossible_world_is_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        simulate(4, 4, **settings)
