"""Checks find what was put there, and nothing where nothing is."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from camilla.experiments.control import check_with_fit, permutation_control, permuted_within_samples
from camilla.learners.check import Checked, check
from camilla.statistics.dimensions import parallel_analysis
from camilla.statistics.missingness import missingness_of, overlap_of, rank_correlation
from camilla.table.examples import simulate
from camilla.table.responses import ResponseTable


def levels(found: Checked) -> dict[str, str]:
    return {finding.about: finding.level for finding in found.findings}


def test_a_good_table_is_fine() -> None:
    table = simulate(30, 120, kind="1pl", seed=1).table
    found = levels(check(table))
    assert set(found.values()) <= {"fine", "note"}
    assert found["missing responses"] == "fine"


def test_constants_and_copies_are_named() -> None:
    matrix = (np.random.default_rng(2).random((25, 60)) < 0.5).astype(float)
    matrix[:, 7], matrix[3], matrix[5] = 1, 0, matrix[4]
    matrix[3, 7] = 0
    matrix[:, 8] = matrix[:, 9]
    table = ResponseTable.from_matrix(matrix)
    found = {finding.about: finding for finding in check(table).findings}
    assert found["constant learners"].names == ("learner-03",)
    assert found["copies of learners"].names == ("learner-04", "learner-05")
    assert found["copies of samples"].names == ("sample-08", "sample-09")
    matrix[3, 7] = 1
    constant = {finding.about: finding for finding in check(ResponseTable.from_matrix(matrix)).findings}
    assert constant["constant samples"].names == ("sample-07",)
    assert "1 all right" in constant["constant samples"].says


def worlds_with_gaps(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses, their probabilities and a random number for each cell."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(rng.normal(size=200) - rng.normal(size=(40, 1))))
    return (rng.random(p.shape) < p).astype(float), p, rng.random(p.shape)


def test_gaps_at_random_are_fine_and_gaps_on_hard_samples_are_not() -> None:
    """200 samples: a rank correlation of chance has a standard error of .07, so .01 is rarely met by it."""
    matrix, p, u = worlds_with_gaps(3)
    random = missingness_of(np.where(u < 0.2, np.nan, matrix))
    assert random.share == pytest.approx(0.2, abs=0.02)
    assert not random.in_blocks
    assert min(random.by_sample_p, random.by_learner_p) > 0.01
    hard = missingness_of(np.where(u < 0.6 * (1 - p.mean(axis=0)), np.nan, matrix))
    assert hard.by_sample < -0.5
    table = ResponseTable.from_matrix(np.where(u < 0.6 * (1 - p.mean(axis=0)), np.nan, matrix))
    assert levels(check(table))["missing at random"] == "warning"


def test_samples_and_learners_without_responses_are_no_sign_of_anything() -> None:
    """Gaps at random, then 40 of 200 samples that nobody answered and a learner that answered none: what is
    known of the others, by scipy over them alone, is as it was."""
    matrix, _, u = worlds_with_gaps(3)
    matrix = np.where(u < 0.2, np.nan, matrix)
    matrix[:, np.random.default_rng(1).permutation(200)[:40]] = np.nan
    matrix[5] = np.nan
    found = missingness_of(matrix)
    asked, present = ~np.isnan(matrix).all(axis=0), ~np.isnan(matrix).all(axis=1)
    easy = np.nanmean(matrix[:, asked], axis=0)
    doing = np.nanmean(matrix[np.ix_(present, asked)] - easy, axis=1)
    gaps = np.isnan(matrix)
    assert found.by_sample == pytest.approx(spearmanr(gaps.mean(axis=0)[asked], easy).statistic)
    assert found.by_learner == pytest.approx(spearmanr(gaps.mean(axis=1)[present], doing).statistic)
    checked = {finding.about: finding for finding in check(ResponseTable.from_matrix(matrix)).findings}
    assert checked["missing at random"].level == "fine"
    assert "40 samples were answered by nobody" in checked["missing responses"].says


def test_whole_blocks_are_seen() -> None:
    matrix, _, _ = worlds_with_gaps(4)
    matrix[:20, :100], matrix[20:, 150:] = np.nan, np.nan
    found = missingness_of(matrix)
    assert (found.blocks, found.in_blocks) == (3, True)
    overlap = overlap_of(~np.isnan(matrix))
    assert (overlap.fewest, overlap.none, overlap.parts) == (50, 0, 1)
    matrix[:20, 100:150] = np.nan
    assert overlap_of(~np.isnan(matrix))._replace(median=0) == (0, 0, 400, 2)
    assert levels(check(ResponseTable.from_matrix(matrix)))["overlap"] == "warning"


def test_rank_correlation_is_scipys() -> None:
    """ρ to rounding; the normal limit's p within a tenth of the t's at n = 60."""
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 9, 60).astype(float), rng.normal(size=60)
    expected, found = spearmanr(x, y), rank_correlation(x, y)
    assert found.rho == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue, rel=0.1)


@pytest.mark.parametrize("true", [0, 1, 3])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_dimensions_that_were_put_in_are_counted(true: int, gaps: float) -> None:
    """120 learners, 90 samples, strong orthogonal factors on 30 samples each; noise passes at 5 %."""
    rng = np.random.default_rng(6)
    loading = np.zeros((true, 90))
    for k in range(true):
        loading[k, 30 * k : 30 * k + 30] = 1.5
    matrix = (rng.normal(size=(120, true)) @ loading + rng.normal(size=(120, 90)) > 0).astype(float)
    matrix[rng.random(matrix.shape) < gaps] = np.nan
    assert parallel_analysis(matrix, seed=1).number == true


def test_what_was_looked_at_is_said_beside_what_there_is() -> None:
    """25 learners × 900 samples of which 100 are constant; 400 samples are looked at, constant ones too."""
    rng = np.random.default_rng(6)
    matrix = (rng.normal(size=(25, 1)) + rng.normal(size=(25, 900)) > 0).astype(float)
    matrix[:, 450:550] = 1
    found = check(ResponseTable.from_matrix(matrix))
    (line,) = [one.says for one in found.findings if one.about == "dimensions"]
    vary = int((matrix.min(axis=0) < matrix.max(axis=0)).sum())
    looked = parallel_analysis(matrix).n_samples
    assert looked < 400
    assert f"(25 learners × {looked} of {vary} samples that vary)" in line
    small = check(ResponseTable.from_matrix(matrix[:, :60]))
    assert any("(25 learners × 60 samples that vary)" in one.says for one in small.findings)


def test_noise_has_no_dimensions_more_often_than_promised() -> None:
    """60 tables of noise, each passing with probability .05: more than 8 would happen once in 500 tries."""
    rng = np.random.default_rng(7)
    found = [parallel_analysis((rng.random((20, 30)) < 0.5).astype(float), seed=s).number for s in range(60)]
    assert np.sum(np.array(found) > 0) <= 8


def test_permuting_within_samples_keeps_samples_and_mixes_learners() -> None:
    table = simulate(20, 40, missing=0.2, seed=8).table
    permuted = permuted_within_samples(table, np.random.default_rng(1))
    np.testing.assert_allclose(permuted.sample_means().mean, table.sample_means().mean)
    assert (np.isnan(permuted.matrix()) == np.isnan(table.matrix())).all()
    assert np.nanstd(permuted.learner_means().mean) < 0.7 * np.nanstd(table.learner_means().mean)


def test_permuting_moves_cells_with_all_their_trials_and_weights() -> None:
    """Right/wrong in 1 to 3 trials of two weights: every sample keeps its bundles of trials, each under one
    learner, and a fit of the permuted table meets the same kind of responses."""
    rng = np.random.default_rng(5)
    learner, sample = np.repeat(np.arange(12), 8), np.tile(np.arange(8), 12)
    times = rng.integers(1, 4, len(learner))
    rows = rng.permutation(times.sum())
    trial = np.concatenate([np.arange(n) for n in times])[rows]
    learner, sample = np.repeat(learner, times)[rows], np.repeat(sample, times)[rows]
    table = ResponseTable(
        tuple(f"l{i:02}" for i in range(12)), tuple(f"s{j}" for j in range(8)), learner, sample,
        rng.integers(0, 2, len(rows)).astype(float), weight=rng.choice([1.0, 2.0], len(rows)), trial=trial,
    )  # fmt: skip
    permuted = permuted_within_samples(table, np.random.default_rng(1))

    def bundles(one: ResponseTable, j: int) -> list[list[tuple[int, float, float]]]:
        return sorted(
            sorted(zip(one.trial[mine], one.response[mine], one.weight[mine], strict=True))  # type: ignore[index]
            for i in range(12)
            for mine in [(one.learner == i) & (one.sample == j)]
        )

    assert permuted.is_binary
    assert [bundles(permuted, j) for j in range(8)] == [bundles(table, j) for j in range(8)]
    assert (permuted.learner != table.learner).mean() > 0.8


def test_a_fit_loses_its_learner_signal_when_there_is_none() -> None:
    """Abilities of standard deviation 1 take some .03 off the error of sample means; noise takes nothing."""
    table = simulate(40, 100, seed=9).table
    control = permutation_control(table, "irt", seed=1)
    assert control.holds
    assert control.is_clean
    assert control.real.gain > 0.02
    assert max(abs(one.gain) for one in control.permuted) < 0.01
    noise = ResponseTable.from_matrix((np.random.default_rng(2).random((40, 100)) < 0.5).astype(float))
    assert not permutation_control(noise, "irt", seed=1).holds


def test_the_verdict_on_a_fit_is_part_of_the_result() -> None:
    """Abilities of standard deviation 1 are found, coins are not; both in words, levels and plain data."""
    found = check_with_fit(simulate(40, 100, seed=9).table, "irt", seed=1)
    assert levels(found)["irt fit"] == "fine"
    assert found.to_document()["control"]["holds"] is True
    noise = ResponseTable.from_matrix((np.random.default_rng(2).random((40, 100)) < 0.5).astype(float))
    found = check_with_fit(noise, "irt", seed=1)
    assert levels(found)["irt fit"] == "warning"
    assert "irt finds nothing about learners here" in found.text().split("\n")[0]
    assert found.to_document()["answer"] == found.answer


def test_what_a_table_is_too_small_to_answer_is_said_with_the_reason() -> None:
    """Three learners and six samples: no copies can be told from chance, and no five learners stand out."""
    table = ResponseTable.from_matrix(
        np.array([[1, 1, 0, 1, 0, 1], [0, 1, 0, 0, 1, 1], [1, 0, 0, 1, 1, 0.0]])
    )
    found = check(table)
    assert found.unanswered == ("copies of learners", "copies of samples")
    assert found.to_document()["unanswered"] == ["copies of learners", "copies of samples"]
    assert "2 without an answer. This table is too small or too uniform to answer: copies" in found.text()
    says = {finding.about: finding.says for finding in found.findings}
    assert (
        "5 samples on which responses differ; two learners and 20 samples are needed"
        in says["copies of learners"]
    )
    one = check(ResponseTable.from_matrix(np.array([[1.0, 0.0, 1.0]])))
    assert {"constant samples", "copies of learners", "dimensions"} <= set(one.unanswered)


def test_a_table_with_nothing_against_it_says_so() -> None:
    rng = np.random.default_rng(1)
    p = 1 / (1 + np.exp(rng.normal(size=60) * 0.5 - rng.normal(size=(40, 1))))
    found = check(ResponseTable.from_matrix((rng.random(p.shape) < p).astype(float)))
    assert set(levels(found).values()) == {"fine"}
    assert found.answer.endswith("No problem was found.")
