"""The board: pairs against scipy and statsmodels, error rates as promised, ranks that hold, gaps said."""

import numpy as np
import polars as pl
import pytest
from compare_worlds import NULLS, WORLDS
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, ttest_rel
from scipy.stats import t as student
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from camilla.diagnosing import diagnose
from camilla.errors import DataError
from camilla.learners.compare import compare
from camilla.learners.rank import learner_ends, rank
from camilla.learners.standing import decide
from camilla.statistics.all_pairs import pair_tests
from camilla.statistics.clusters import learner_spread, spread_of
from camilla.statistics.multiplicity import holm_over_pairs
from camilla.table.responses import ResponseTable


def gappy(seed: int, *, binary: bool, n_learners: int = 7, n_samples: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level, hard = rng.normal(size=(n_learners, 1)), rng.normal(size=n_samples)
    p = 1 / (1 + np.exp(hard - level))
    matrix = (rng.random(p.shape) < p).astype(float) if binary else rng.beta(4 * p, 4 * (1 - p))
    matrix[rng.random(p.shape) < 0.2] = np.nan
    return matrix


@given(st.integers(0, 1000))
def test_right_or_wrong_pairs_are_statsmodels_mcnemar_on_shared_samples(seed: int) -> None:
    """Double precision but for what statsmodels and sums of 60 terms round: ten digits."""
    matrix = gappy(seed, binary=True)
    found = pair_tests(matrix, None)
    for i, j in ((0, 1), (3, 6)):
        shared = ~np.isnan(matrix[i]) & ~np.isnan(matrix[j])
        x, y = matrix[i, shared], matrix[j, shared]
        counts = np.array([[np.sum(x * y), np.sum(x > y)], [np.sum(y > x), np.sum((1 - x) * (1 - y))]])
        assert found.p_value[i, j] == pytest.approx(min(mcnemar(counts, exact=True).pvalue, 1), rel=1e-10)
        assert found.difference[i, j] == pytest.approx(np.mean(x - y), rel=1e-12, abs=1e-15)
        assert (found.shared()[i, j], found.p_value[j, i]) == (shared.sum(), found.p_value[i, j])


@given(st.integers(0, 1000))
def test_pairs_of_scores_are_scipys_paired_t(seed: int) -> None:
    matrix = gappy(seed, binary=False)
    found = pair_tests(matrix, None)
    for i, j in ((0, 1), (3, 6)):
        expected = ttest_rel(matrix[i], matrix[j], nan_policy="omit")
        assert found.p_value[i, j] == pytest.approx(expected.pvalue, rel=1e-4)


@given(st.integers(0, 1000))
def test_clustered_pairs_are_the_pair_alone(seed: int) -> None:
    """All pairs at once by matrix products, one pair by sums: single precision."""
    matrix = gappy(seed, binary=True)
    group = np.arange(60) % 11
    found = pair_tests(matrix, group)
    shared = ~np.isnan(matrix[2]) & ~np.isnan(matrix[5])
    alone = spread_of((matrix[2] - matrix[5])[shared], group[shared])
    if alone.variance > 1e-9:
        t = float(alone.mean / np.sqrt(alone.variance))
        assert found.p_value[2, 5] == pytest.approx(2 * student.sf(abs(t), alone.df), rel=1e-4)


def test_a_large_board_looks_p_values_up_and_a_small_one_computes_them() -> None:
    matrix = gappy(5, binary=True, n_learners=40, n_samples=30)
    small = pair_tests(matrix[:10], None)
    np.testing.assert_array_equal(pair_tests(matrix, None).p_value[:10, :10], small.p_value)


@settings(max_examples=15)  # statsmodels takes a twentieth of a second each
@given(st.integers(0, 1000), st.integers(2, 12))
def test_pairs_told_apart_are_statsmodels_holm(seed: int, n: int) -> None:
    p = np.random.default_rng(seed).beta(0.15, 1, (n, n))
    p = np.triu(p, 1) + np.triu(p, 1).T + np.eye(n)
    upper = np.triu_indices(n, 1)
    assert ((holm_over_pairs(p) < 0.05)[upper] == multipletests(p[upper], 0.05, method="holm")[0]).all()


@pytest.mark.parametrize("kind", NULLS)
def test_boards_of_equals_are_rarely_torn_apart(kind: str) -> None:
    """600 null tables, 66 pairs each: at most 5 % of tables with any pair told apart, plus two standard
    errors of .9 points, for what is measured is a share of 600."""
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(600):
        matrix, group = NULLS[kind](rng)
        wrong += bool(
            (decide(matrix, [f"s{k}" for k in range(matrix.shape[1])], group).adjusted < 0.05).any()
        )
    assert wrong / 600 <= 0.05 + 2 * 0.009


@pytest.mark.parametrize("kind", WORLDS)
def test_intervals_of_means_cover_what_they_promise(kind: str) -> None:
    """1,000 tables: coverage of 95 % has a standard error of .7 points; 93 to 97 is nearly three of them."""
    world = WORLDS[kind](np.random.default_rng(3), 1000)
    ends = learner_ends(world.a, learner_spread(world.a, world.group), world.group, 0.95)
    assert 0.93 <= np.mean((ends.low <= world.mean_a) & (world.mean_a <= ends.high)) <= 0.97


def test_rank_intervals_hold_all_true_ranks_together() -> None:
    """500 boards of 8 learners with means .7 down to .35: 95 %, less two standard errors of a point."""
    rng = np.random.default_rng(4)
    p, true, held = np.linspace(0.7, 0.35, 8), np.arange(1, 9), []
    for _ in range(500):
        matrix = (rng.random((8, 150)) < p[:, None]).astype(float)
        found = decide(matrix, [f"s{k}" for k in range(150)]).standing
        held.append(((found.rank_low <= true) & (true <= found.rank_high)).all())
    assert np.mean(held) >= 0.95 - 2 * 0.01


def test_the_board_by_hand() -> None:
    """Two equals far above a third: ranks 1–2, 1–2, 3; Wilson's interval as statsmodels has it."""
    matrix = np.zeros((3, 60))
    matrix[0, :50], matrix[1, 5:55], matrix[2, 57:] = 1, 1, 1
    found = rank(ResponseTable.from_matrix(matrix, learners=["x", "y", "z"]))
    assert found.learners == ("x", "y", "z")
    assert found.rows.select("rank_low", "rank_high").rows() == [(1, 2), (1, 2), (3, 3)]
    assert found.ties == ((0, 1),)
    assert found.rows["rank"].to_list() == [1, 1, 3]
    expected = proportion_confint(50, 60, method="wilson")
    assert found.rows.select("low", "high").row(0) == pytest.approx(expected)
    pairs = found.pairs()
    assert pairs["told_apart"].to_list() == [False, True, True]
    assert pairs["adjusted_p"][0] == pytest.approx(1)


def test_a_board_counts_samples_and_plain_accuracy_counts_trials() -> None:
    """A: s1 nine times right, s2 and s3 wrong: 1/3 of its samples, 9/11 of its trials. B: two of three."""
    frame = pl.DataFrame(
        {
            "learner": ["A"] * 11 + ["B"] * 3,
            "sample": ["s1"] * 9 + ["s2", "s3", "s1", "s2", "s3"],
            "response": [1] * 9 + [0, 0, 1, 1, 0],
        }
    )
    table = ResponseTable.from_long(frame)
    board = rank(table).rows
    assert board["learner"].to_list() == ["B", "A"]
    assert board["mean"].to_list() == pytest.approx([2 / 3, 1 / 3])
    by_trials = diagnose(table, "vanilla").learners
    assert by_trials["learner"].to_list() == ["A", "B"]
    assert by_trials["accuracy"].to_list() == pytest.approx([9 / 11, 2 / 3])


@pytest.mark.parametrize("partial", [False, True])
def test_rank_and_compare_tell_one_story(partial: bool) -> None:
    """The same numbers for pairs that are right or wrong on what they share, also where g, which answered
    every other sample, scores ½ on one: pairs that share it are scipy's paired t then. Only sums round."""
    matrix = gappy(8, binary=True)
    matrix[6, ::2] = np.nan
    matrix[6, 7] = 0.5 if partial else 1
    table = ResponseTable.from_matrix(matrix, learners=list("abcdefg"))
    kinds = []
    for row in rank(table).pairs().to_dicts():
        alone = compare(table, row["a"], row["b"]).overall
        a, b = matrix["abcdefg".index(row["a"])], matrix["abcdefg".index(row["b"])]
        kinds.append(alone.test)
        p = alone.p_value
        if alone.test != "exact McNemar":
            p = ttest_rel(a, b, nan_policy="omit").pvalue
        assert row["difference"] == pytest.approx(alone.difference, rel=1e-10, abs=1e-15)
        assert (row["p_value"], row["shared"]) == (pytest.approx(p, rel=1e-8), alone.n)
    assert kinds.count("exact McNemar") == 21 - partial * int((~np.isnan(matrix[:6, 7])).sum())


def test_one_partial_score_elsewhere_leaves_the_interval_of_right_or_wrong_learners() -> None:
    """Wilson's as statsmodels has it for 50 of 60, whoever else is on the board."""
    matrix = np.zeros((2, 60))
    matrix[0, :50], matrix[1, :20], matrix[1, 0] = 1, 1, 0.5
    rows = rank(ResponseTable.from_matrix(matrix, learners=["x", "y"])).rows
    assert rows.select("low", "high").row(0) == pytest.approx(proportion_confint(50, 60, method="wilson"))


def test_p_values_do_not_end_where_single_precision_does() -> None:
    """394 flips one way: 2 · 2^−394; the difference is B less A and to the last digit."""
    matrix = np.zeros((2, 500))
    matrix[0, :394] = 1
    pair = rank(ResponseTable.from_matrix(matrix, learners=["a", "b"])).pairs().row(0, named=True)
    assert pair["p_value"] == pytest.approx(2.0**-393, rel=1e-9)
    assert pair["difference"] == -0.788


def test_equal_means_go_by_name_however_their_sums_round() -> None:
    """Thirds in two orders: the same mean, but for the last digit of its sum."""
    row = np.array([1 / 3, 2 / 3, 1, 0, 0.1, 0.7, 0.2, 0.6])
    sums = {float(np.roll(row, k).mean()): k for k in range(8)}
    assert len(sums) > 1
    matrix = np.array([np.roll(row, sums[mean]) for mean in (min(sums), max(sums))])
    assert rank(ResponseTable.from_matrix(matrix, learners=["a", "b"])).learners == ("a", "b")


def test_few_clusters_are_said() -> None:
    frame = ResponseTable.from_matrix(gappy(1, binary=True)).to_long()
    for clusters, said in ((19, True), (20, False)):
        number = pl.col("sample").rank("dense") % clusters
        table = ResponseTable.from_long(frame.with_columns(page=number.cast(pl.String)), cluster="page")
        assert any(f"only {clusters} clusters" in note for note in rank(table).notes) == said


def test_a_constant_difference_is_judged_by_its_signs() -> None:
    """Two samples on which a learner is exactly .1 ahead are no proof: 2^(1 − 2) = ½."""
    found = pair_tests(np.array([[0.6, 0.4], [0.5, 0.3]]), None)
    assert found.p_value[0, 1] == pytest.approx(0.5)
    assert pair_tests(np.array([[0.6, 0.4], [0.6, 0.4]]), None).p_value[0, 1] == 1


@pytest.mark.parametrize("n", range(2, 24))
@pytest.mark.parametrize("others", [0, 3])
def test_a_constant_difference_is_judged_by_its_signs_however_many_samples_round(n: int, others: int) -> None:
    """Exactly .1 ahead on n samples is 2^(1 − n), alone or among others; single precision holds it. A spread
    of 1e-4 around .1 is one, and scipy's paired t on the same numbers is right to the 1e-4 that the
    cancellation of squares around 1 leaves of variances of 1e-8."""
    rng = np.random.default_rng(n)
    base = rng.integers(0, 9, n) / 10
    extra = rng.random((others, n))
    found = pair_tests(np.vstack([base + 0.1, base, extra]), None)
    assert found.p_value[0, 1] == pytest.approx(2.0 ** (1 - n), rel=1e-6)
    clustered = pair_tests(np.vstack([base + 0.1, base, extra]), np.arange(n))
    assert clustered.p_value[0, 1] == pytest.approx(2.0 ** (1 - n), rel=1e-6)
    near = base + 0.1 + 1e-4 * rng.normal(size=n)
    found = pair_tests(np.vstack([near, base, extra]), None)
    assert found.p_value[0, 1] == pytest.approx(ttest_rel(near, base).pvalue, rel=1e-3, abs=1e-37)


@pytest.mark.parametrize("group", [None, np.arange(11)])
def test_fractions_that_do_not_differ_have_no_interval_and_right_answers_have_wilsons(
    group: np.ndarray | None,
) -> None:
    """.1 on 11 samples shows no spread. All right: Wilson's low end e solves 1 − e = z √(e(1 − e)/11), with
    Student's t on 10 degrees of freedom over clusters."""
    matrix = np.vstack([np.full(11, 0.1), np.linspace(0, 1, 11), np.ones(11)])
    ends = learner_ends(matrix, learner_spread(matrix, group), group, 0.95)
    assert np.isnan([ends.low[0], ends.high[0]]).all()
    e = ends.low[2]
    critical = norm.ppf(0.975) if group is None else student.ppf(0.975, 10)
    assert 1 - e == pytest.approx(critical * np.sqrt(e * (1 - e) / 11))


def test_rank_says_why_a_learner_has_no_interval() -> None:
    found = rank(ResponseTable.from_matrix([[0.5, 0.5, 0.5], [1, 0, 1], [0.2, 0.9, 0.1]]))
    flat = found.rows.row(by_predicate=pl.col("mean") == 0.5, named=True)
    assert (flat["low"], flat["high"]) == (None, None)
    assert found.rows.filter(pl.col("mean") != 0.5)["low"].null_count() == 0
    name = found.learners[found.rows["mean"].to_list().index(0.5)]
    assert any(note.startswith(f"{name} scores 0.5 on every sample") for note in found.notes)


def test_learners_that_answered_different_samples_are_said() -> None:
    matrix = np.array([[1, 0, 1, np.nan, np.nan], [np.nan, np.nan, np.nan, 1, 1.0], [1, 1, 0, 0, 1]])
    found = rank(ResponseTable.from_matrix(matrix, learners=["a", "b", "c"]))
    assert "different samples, 2 to 5 of 5" in found.notes[0]
    assert "1 pairs share no sample" in found.notes[1]


def test_one_learner_is_no_board() -> None:
    with pytest.raises(DataError, match="ranking needs at least two"):
        rank(ResponseTable.from_matrix([[1, 0], [np.nan, np.nan]]))


def test_learners_of_equal_means_share_the_first_place_in_words() -> None:
    rows = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]]
    table = ResponseTable.from_matrix(rows, learners=["a", "b", "c"], samples=list("1234"))
    first = str(rank(table)).splitlines()[0]
    assert first == "2 of 3 learners share the highest mean: a, b. c may be first too."


def test_two_learners_apart_are_called_by_their_names() -> None:
    table = ResponseTable.from_matrix(
        [[1] * 40, [0] * 40], learners=["good", "poor"], samples=[str(j) for j in range(40)]
    )
    assert str(rank(table)).startswith("good is first: it is significantly ahead of poor.")
