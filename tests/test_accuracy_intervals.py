"""Plain accuracy beside an ability: its interval by formulas written out, and the same in every command."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest
from scipy.stats import t as student

import camilla
from camilla.learners.rank import rank
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap


def board() -> np.ndarray:
    """Six learners with scores, one of them with gaps, two that are right or wrong, one always right."""
    rng = np.random.default_rng(5)
    matrix = np.vstack([rng.beta(0.7, 0.5, (6, 40)), rng.integers(0, 2, (2, 40)), np.ones((1, 40))])
    matrix[0, 3:9] = np.nan
    return matrix


def ends(matrix: np.ndarray, what: str, row: int) -> tuple[float, float]:
    """accuracy_low and accuracy_high of a learner or sample."""
    table = ResponseTable.from_matrix(matrix, learners=[f"l{i}" for i in range(len(matrix))])
    found = camilla.diagnose(table, "vanilla")
    frame = found.samples if what == "sample" else found.learners.sort("learner")
    return frame["accuracy_low"][row], frame["accuracy_high"][row]


@pytest.mark.parametrize(("what", "row"), [("learner", 0), ("learner", 3), ("sample", 2), ("sample", 5)])
def test_scores_have_ends_that_solve_wilsons_equation(what: str, row: int) -> None:
    """|p − e| = t √(e(1 − e)/m) with m = p(1 − p)/(s²/n) and t on n − 1: rounding only."""
    matrix = board()
    drawn = matrix[:, row] if what == "sample" else matrix[row]
    drawn = drawn[~np.isnan(drawn)]
    p, n = drawn.mean(), len(drawn)
    m = p * (1 - p) / (drawn.var(ddof=1) / n)
    low, high = ends(matrix, what, row)
    assert low < p < high
    for e in (low, high):
        assert abs(p - e) == pytest.approx(student.ppf(0.975, n - 1) * np.sqrt(e * (1 - e) / m), rel=1e-9)


@pytest.mark.parametrize("row", [6, 8])
def test_right_and_wrong_responses_beside_scores_keep_wilsons_own(row: int) -> None:
    """Also 40 right of 40, of which a standard error says 0."""
    matrix = board()
    expected = binomtest(int(matrix[row].sum()), 40).proportion_ci(method="wilson")
    assert ends(matrix, "learner", row) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_diagnosis_and_a_ranking_have_one_interval_of_a_mean() -> None:
    """To rounding: what a learner's mean is worth does not depend on the command that is asked."""
    table = ResponseTable.from_matrix(board(), learners=list("abcdefghi"))
    told = camilla.diagnose(table, "vanilla").learners.sort("learner")
    ranked = rank(table).rows.sort("learner")
    for ours, theirs in (("accuracy", "mean"), ("accuracy_low", "low"), ("accuracy_high", "high")):
        assert told[ours].to_numpy() == pytest.approx(ranked[theirs].to_numpy(), abs=1e-12)


def test_few_scores_are_covered() -> None:
    """8 learners of scores with mean .7 on 4,000 samples: 95 % of the samples' intervals hold it.

    Their mean is Beta(1.4, .6)'s. A share of 4,000 has a standard error of .34 points; intervals of 8 skewed
    scores are asked for 93 to 97 %. Mean ± 1.96 se, cut at 0 and 1, holds 89 %.
    """
    drawn = np.random.default_rng(6).beta(1.4, 0.6, (8, 4000))
    found = camilla.diagnose(ResponseTable.from_matrix(drawn), "vanilla").samples
    low, high = found["accuracy_low"].to_numpy(), found["accuracy_high"].to_numpy()
    assert 0.93 <= np.mean((low <= 0.7) & (high >= 0.7)) <= 0.97
    half = 1.959964 * drawn.std(axis=0, ddof=1) / np.sqrt(8)
    assert np.mean(np.abs(drawn.mean(axis=0) - 0.7) <= half) < 0.91


def test_an_ability_that_is_a_mean_has_the_means_interval() -> None:
    """Right on all of 30 samples of two skills: overall, on a skill, as difficulty, and placed anew."""
    matrix = np.vstack([np.ones(30), np.tile([1, 0, 0], 10), np.tile([1, 1, 0, 0, 1], 6)])
    skills = SkillMap.from_labels(["a"] * 12 + ["b"] * 18)
    table = ResponseTable.from_matrix(matrix, learners=["all", "third", "most"]).with_skills(skills)
    whole = binomtest(30, 30).proportion_ci(method="wilson").low
    part = binomtest(12, 12).proportion_ci(method="wilson").low
    found = camilla.diagnose(table, "vanilla")
    board = found.learners.filter(pl.col("learner") == "all")
    assert (board["low"][0], board["high"][0]) == pytest.approx((whole, 1), abs=1e-12)
    assert found.samples["difficulty_high"][0] == pytest.approx(
        1 - binomtest(3, 3).proportion_ci(method="wilson").low, abs=1e-12
    )
    by_skill = camilla.diagnose(table, "skill-vanilla")
    new = ResponseTable.from_matrix(np.ones((1, 30)), learners=["new"])
    for frame in (by_skill.skills.filter(pl.col("learner") == "all"), by_skill.place_skills(new)):
        assert frame.filter(pl.col("skill") == "a")["low"][0] == pytest.approx(part, abs=1e-12)
    assert found.place(new)["low"][0] == pytest.approx(whole, abs=1e-12)
