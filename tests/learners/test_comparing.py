"""Two learners: by hand, against scipy, covered as promised, and read from tables as they come."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from compare_worlds import WORLDS
from scipy.stats import ttest_rel

from camilla.errors import DataError, SettingError
from camilla.learners.compare import compare
from camilla.learners.two_sources import two_tables
from camilla.statistics.paired import estimate, noise_of, pair_of, paired_test
from camilla.table.responses import ResponseTable


def table_of(a: np.ndarray, b: np.ndarray, **columns: list[str]) -> ResponseTable:
    n = len(a)
    frame = pl.DataFrame(
        {
            "learner": ["a"] * n + ["b"] * n,
            "sample": [f"s{j:04d}" for j in range(n)] * 2,
            "response": np.concatenate([a, b]),
            **{name: values * 2 for name, values in columns.items()},
        }
    )
    return ResponseTable.from_long(frame, **{name: name for name in columns})


def test_right_or_wrong_by_hand() -> None:
    """30 samples, B wins 9 and loses 2: difference 7/30. At both ends of Tango's (1998) interval
    |7 − 30d| = 1.96 √(30 (2q + d(1 − d))), with q the root of 60q² + (53d − 11)q − 2d(1 − d)."""
    a = np.array([0] * 9 + [1] * 2 + [1] * 19, float)
    b = np.array([1] * 9 + [0] * 2 + [1] * 19, float)
    found = compare(table_of(a, b), "a", "b")
    overall = found.overall
    for d in (overall.low, overall.high):
        q = max(np.roots([60, 53 * d - 11, -2 * d * (1 - d)]))
        assert abs(7 - 30 * d) == pytest.approx(1.959964 * np.sqrt(30 * (2 * q + d * (1 - d))))
    assert overall.difference == pytest.approx(7 / 30)
    assert 0 < overall.low < 7 / 30 < overall.high
    assert overall.p_value == pytest.approx(2 * (1 + 11 + 55) / 2**11)
    assert (overall.test, overall.won, overall.lost, overall.n) == ("exact McNemar", 9, 2, 30)
    assert found.flipped["sample"].to_list() == ["s0009", "s0010", *(f"s{j:04d}" for j in range(9))]


def test_scores_have_the_paired_t_interval_of_scipy() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random(50), rng.random(50)
    overall = compare(table_of(a, b), "a", "b").overall
    expected = ttest_rel(b, a).confidence_interval()
    np.testing.assert_allclose((overall.low, overall.high), expected, rtol=1e-9)
    assert overall.test == "Student's t over samples"
    assert overall.p_value == pytest.approx(ttest_rel(b, a).pvalue, rel=1e-9)


@pytest.mark.parametrize("kind", WORLDS)
def test_intervals_of_differences_cover_what_they_promise(kind: str) -> None:
    """1,000 tables: coverage of 95 % has a standard error of .7 points; 93 to 97 is nearly three of them."""
    world = WORLDS[kind](np.random.default_rng(2), 1000)
    found = [estimate(pair, 0.95) for pair in world.pairs()]
    covered = np.mean([one.low <= world.difference <= one.high for one in found])
    assert 0.93 <= covered <= 0.97


def test_without_clusters_the_same_tables_are_not_covered() -> None:
    """ρ = .3 in clusters of 2 to 12: counting samples as independent promises far too much."""
    world = WORLDS["clusters"](np.random.default_rng(2), 500)
    naive = [estimate(pair._replace(group=None), 0.95) for pair in world.pairs()]
    assert np.mean([one.low <= world.difference <= one.high for one in naive]) < 0.85


def test_tests_reject_a_true_null_as_often_as_they_say() -> None:
    """400 null tables, A and B swapped in whole clusters: 5 % with a standard error of 1.1 points; allow
    three either way. Counting samples as independent would reject more than twice as many."""
    world = WORLDS["clusters"](np.random.default_rng(3), 400)
    rng = np.random.default_rng(4)
    swap = rng.random((400, len(set(world.group)))) < 0.5  # type: ignore[arg-type]
    flip = swap[:, world.group]
    null = world._replace(a=np.where(flip, world.b, world.a), b=np.where(flip, world.a, world.b))
    p = np.array([paired_test(pair).p_value for pair in null.pairs()])
    assert 0.05 - 3 * 0.011 <= np.mean(p < 0.05) <= 0.05 + 3 * 0.011
    naive = np.array([paired_test(pair._replace(group=None)).p_value for pair in null.pairs()])
    assert np.mean(naive < 0.05) > 0.1


def test_swapping_the_learners_turns_the_sign() -> None:
    rng = np.random.default_rng(5)
    table = table_of(rng.random(40), rng.random(40), cluster=[f"c{j % 8}" for j in range(40)])
    ab, ba = compare(table, "a", "b").overall, compare(table, "b", "a").overall
    assert ab.difference == pytest.approx(-ba.difference)
    assert (ab.low, ab.high) == pytest.approx((-ba.high, -ba.low))
    assert ab.p_value == ba.p_value


def test_each_sample_counts_once_whatever_its_trials() -> None:
    """q1 twenty times right and q2, q3 once wrong is a mean of 1/3, not 20/22."""
    rows = [("a", "q1", 1)] * 20 + [("a", "q2", 0), ("a", "q3", 0)] + [("b", f"q{j}", 0) for j in (1, 2, 3)]
    table = ResponseTable.from_long(
        pl.DataFrame(rows, schema=["learner", "sample", "response"], orient="row")
    )
    assert compare(table, "a", "b").overall.mean_a == pytest.approx(1 / 3)


def test_trial_noise_is_found_again() -> None:
    """Differences N(0, .1²) between samples and noise of variance .02/4 a learner: share .01/(.01 + .01) = ½.

    2,000 samples: the share's standard error is about .02; allow four.
    """
    rng = np.random.default_rng(6)
    level = rng.normal(0, 0.1, 2000)
    rows = []
    for learner, true in (("a", np.full(2000, 0.5)), ("b", 0.5 + level)):
        noisy = np.clip(true[:, None] + rng.normal(0, np.sqrt(0.02), (2000, 4)), 0, 1)
        rows.append(
            pl.DataFrame(
                {"learner": learner, "sample": np.repeat(np.arange(2000), 4), "response": noisy.ravel()}
            )
        )
    found = noise_of(pair_of(ResponseTable.from_long(pl.concat(rows)), 0, 1))
    assert found is not None
    assert found.share == pytest.approx(0.5, abs=0.08)
    assert found.se_rerun == pytest.approx(np.sqrt(0.01 / 2000), rel=0.1)


def test_a_rerun_moves_the_difference_by_no_more_than_its_standard_error() -> None:
    """Both right in one of two trials of every sample but one: of a difference d of variance v its trials say
    that more than v is chance, ¼ a sample and learner; all of v is then, and √(v/n) is the se."""
    trials = np.tile([0.0, 1.0], (2, 8, 1))
    trials[1, 0] = 1
    learner, sample, _ = (place.ravel() for place in np.indices(trials.shape))
    frame = pl.DataFrame({"learner": learner, "sample": sample, "response": trials.ravel()})
    found = compare(ResponseTable.from_long(frame), "0", "1")
    assert found.noise is not None
    d = trials.mean(axis=2)[1] - trials.mean(axis=2)[0]
    assert found.noise.share == 1
    assert found.noise.se_rerun == pytest.approx(np.std(d, ddof=1) / np.sqrt(8))
    assert found.noise.se_rerun == pytest.approx(found.overall.se)


def test_a_row_of_weight_2_is_two_trials() -> None:
    """Two right of three and one right of four: as three and four rows, or as two of weights. The noise of
    a sample is Σ s²/k, s² = numpy's with ddof 1."""
    trials = {"a": [[1, 1, 0], [0, 0, 1]], "b": [[1, 0, 0, 0], [0.5, 0.5, 1, 1]]}
    rows = [
        (name, f"q{j}", float(r), 1.0)
        for name, samples in trials.items() for j, sample in enumerate(samples) for r in sample
    ]  # fmt: skip
    merged = [(*row[:3], float(rows.count(row))) for row in dict.fromkeys(rows)]
    schema = ["learner", "sample", "response", "weight"]
    each, weighed = (
        ResponseTable.from_long(pl.DataFrame(some, schema=schema, orient="row"), weight="weight")
        for some in (rows, merged)
    )
    assert each.digest() == weighed.digest()
    expected = [sum(np.var(trials[name][j], ddof=1) / len(trials[name][j]) for name in "ab") for j in (0, 1)]
    for table in (each, weighed):
        np.testing.assert_allclose(pair_of(table, 0, 1).noise, expected, rtol=1e-12)
    found = [compare(table, "a", "b") for table in (each, weighed)]
    assert found[0].noise == found[1].noise
    assert found[0].overall == found[1].overall


def test_samples_of_one_learner_are_left_out_and_counted() -> None:
    matrix = np.array([[1, 1, 0, 1, np.nan], [1, 0, 0, np.nan, 1.0]])
    found = compare(ResponseTable.from_matrix(matrix, learners=["a", "b"]), "a", "b")
    assert (found.overall.n, found.only_a, found.only_b) == (3, 1, 1)
    assert "left out" in found.notes[0]


def test_tasks_are_tested_each_with_holm_over_them() -> None:
    rng = np.random.default_rng(7)
    a, b = (rng.random((2, 90)) < [[0.5], [0.6]]).astype(float)
    found = compare(table_of(a, b, task=[f"t{j % 3}" for j in range(90)]), "a", "b")
    assert [task.task for task in found.tasks] == ["t0", "t1", "t2"]
    assert sum(task.won for task in found.tasks) == found.overall.won
    alone = sorted(task.p_value for task in found.tasks)
    assert min(task.holm_p for task in found.tasks) == pytest.approx(min(1, 3 * alone[0]))


def test_learners_with_the_same_responses_are_not_told_apart_and_not_sure_to_be_equal() -> None:
    same = np.tile([0.25, 0.5, 1.0, 0.0], 10)
    overall = compare(table_of(same, same), "a", "b").overall
    assert (overall.difference, overall.p_value) == (0, 1)
    assert overall.low < 0 < overall.high


@pytest.mark.parametrize("n", [5, 6, 7, 10, 11, 40])
@pytest.mark.parametrize("clusters", [False, True])
def test_the_same_difference_everywhere_is_not_known_exactly(n: int, clusters: bool) -> None:
    """.1 on every sample is as if n/10 of n had flipped. With x won, none lost, Tango's ends d have
    |x − nd| = 1.96 √(n (2q + d(1 − d))), q = max(0, (x − (2n − x) d)/2n)."""
    a = np.random.default_rng(n).integers(0, 9, n) / 10
    columns = {"cluster": [f"c{j}" for j in range(n)]} if clusters else {}
    overall = compare(table_of(a, a + 0.1, **columns), "a", "b").overall
    x = n / 10
    for d in (overall.low, overall.high):
        q = max(0.0, (x - (2 * n - x) * d) / (2 * n))
        assert abs(x - n * d) == pytest.approx(1.959964 * np.sqrt(n * (2 * q + d * (1 - d))), abs=1e-6)
    assert overall.low < 0.1 < overall.high
    assert overall.difference == pytest.approx(0.1)


def test_one_cluster_has_no_interval_and_a_margin_is_not_shown() -> None:
    found = compare(table_of(np.ones(6), np.r_[np.ones(5), 0], cluster=["c"] * 6), "a", "b")
    assert np.isnan((found.overall.low, found.overall.high)).all()
    assert "no interval" in found.notes[0]
    assert "on 6 shared samples in 1 cluster, too few" in found.text()
    assert found.is_worse(0.5)


def test_worse_without_and_with_a_margin() -> None:
    """B loses 20 of 100: worse. B equal to A on 40 samples is not shown to be within .01."""
    a, b = np.ones(100), np.r_[np.zeros(20), np.ones(80)]
    worse = compare(table_of(a, b), "a", "b")
    assert worse.is_worse()
    assert worse.is_worse(0.1)
    assert not worse.is_worse(0.5)
    assert not compare(table_of(b, a), "a", "b").is_worse()
    even = compare(table_of(a[:40], a[:40]), "a", "b")
    assert not even.is_worse()
    assert even.is_worse(0.01)


def test_two_tables_with_one_learner_each_become_one() -> None:
    one = ResponseTable.from_matrix([[1, 0, 1]], learners=["m"], samples=["x", "y", "z"])
    other = ResponseTable.from_matrix([[1, 1, 1]], learners=["m"], samples=["y", "z", "w"])
    table = two_tables(one, other, labels=("runs/a", "runs/b"))
    assert table.learners == ("runs/a", "runs/b")
    assert compare(table, "runs/a", "runs/b").overall.n == 2
    with pytest.raises(DataError, match="2 learners"):
        two_tables(table, other, labels=("t", "o"))


def test_what_one_table_says_of_samples_holds_for_both() -> None:
    """Clusters and tasks of one table alone give what both tables with them give, in either order. Samples of
    the bare table alone are left out either way."""
    rng = np.random.default_rng(9)
    whole = table_of(
        (rng.random(40) < 0.5).astype(float), (rng.random(40) < 0.8).astype(float),
        cluster=[f"c{j // 10}" for j in range(40)], task=[f"t{j % 2}" for j in range(40)],
    )  # fmt: skip
    a, b = whole.take_learners([0]), whole.take_learners([1])
    short = a.take_samples(range(38))
    for bare in (replace(b, cluster=None), replace(b, task=None), replace(b, task=None, cluster=None)):
        expected = compare(two_tables(short, b, labels=("a", "b")), "a", "b")
        assert expected.overall.n_clusters == 4
        found = compare(two_tables(short, bare, labels=("a", "b")), "a", "b")
        assert found.overall == expected.overall
        assert (found.tasks, found.only_b) == (expected.tasks, 2)
        turned = compare(two_tables(bare, short, labels=("b", "a")), "a", "b")
        assert turned.overall == expected.overall
    with pytest.raises(DataError, match="Give each sample one cluster"):
        two_tables(a, replace(b, cluster=("c0",) * 40), labels=("a", "b"))


def test_weights_and_trials_of_one_table_are_kept() -> None:
    """A is right in two of three trials, as rows or as weights; B has one response a sample."""
    rows = [(f"q{j}", r) for j in range(4) for r in (1, 1, 0)]
    frame = pl.DataFrame(rows, schema=["sample", "response"], orient="row").with_columns(learner=pl.lit("a"))
    merged = frame.group_by("learner", "sample", "response", maintain_order=True).len("weight")
    b = ResponseTable.from_matrix([[0, 0, 1, 0]], learners=["b"], samples=[f"q{j}" for j in range(4)])
    for a in (ResponseTable.from_long(frame), ResponseTable.from_long(merged, weight="weight")):
        overall = compare(two_tables(a, b, labels=("a", "b")), "a", "b").overall
        assert (overall.mean_a, overall.mean_b) == (pytest.approx(2 / 3), 0.25)


def test_what_cannot_be_compared_is_said() -> None:
    table = ResponseTable.from_matrix([[1, np.nan], [np.nan, 1]], learners=["a", "b"])
    with pytest.raises(DataError, match="share 0 samples"):
        compare(table, "a", "b")
    with pytest.raises(DataError, match="Did you mean 'a'"):
        compare(table, "aa", "b")
    with pytest.raises(SettingError, match="itself"):
        compare(table, "a", "a")
    with pytest.raises(SettingError, match="level"):
        compare(table, "a", "b", level=95)


def test_the_test_of_scores_is_named_in_words() -> None:
    rows = [[0.1, 0.5, 0.9, 0.2], [0.3, 0.4, 0.7, 0.1]]
    table = ResponseTable.from_matrix(rows, learners=["a", "b"], samples=list("1234"))
    assert "Student's t test over samples)." in str(compare(table, "a", "b")).replace("\n", " ")
