"""Scores to metrics to responses to mastery, and new classifiers among the old."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, rankdata
from sklearn.metrics import roc_auc_score

from camilla.classifiers import (
    attribute_map,
    classifier_table,
    diagnose_classifiers,
    load_classifiers,
    ranked,
)
from camilla.classifiers.mastery import mastery_agreement, mastery_matrix, one_mastery, plain_means
from camilla.classifiers.metrics import ATTRIBUTE_EDGES, ATTRIBUTES, METRIC_ATTRIBUTES, METRICS
from camilla.classifiers.scores import ClassifierScores, ScoreColumns, read_scores
from camilla.errors import DataError, FormatError, SettingError
from camilla.table.skills import SkillGraph, SkillMap


def scores(n_classifiers: int = 14, n: int = 60) -> pl.DataFrame:
    """Three data sets on which classifier c separates the classes by c's own strength, plus noise."""
    rng = np.random.default_rng(5)
    frames = []
    for name in ("birds", "coins", "leaves"):
        y = (rng.random(n) < 0.4).astype(int)
        y[:2] = 0, 1
        columns = {f"c{i:02d}": y * i * 0.25 + rng.normal(size=n) for i in range(n_classifiers)}
        head = {"data_set": [name] * n, "sample": [f"{name} {j}" for j in range(n)], "truth": y}
        frames.append(pl.DataFrame(head | columns))
    return pl.concat(frames)


def test_samples_are_metrics_on_data_sets() -> None:
    frame = scores()
    table = classifier_table(ClassifierScores.from_frame(frame))
    assert (table.n_learners, table.n_samples) == (14, 66)
    part = frame.filter(pl.col("data_set") == "coins")
    wanted = roc_auc_score(part["truth"], part["c05"])
    found = table.matrix()[5, table.samples.index("AUC @ coins")]
    assert found == pytest.approx(wanted, abs=1e-12)
    assert table.task is not None
    assert table.task[22:44] == ("coins",) * 22


def test_attributes_are_those_of_the_preprint() -> None:
    """Its Table 5 has 27 ones, 1, 1, 3, 6, 6, 8, 2 by attribute; its graph has C0 and C1 for roots."""
    found = attribute_map()
    assert found.mask.sum(axis=0).tolist() == [1, 1, 3, 6, 6, 8, 2]
    assert list(METRIC_ATTRIBUTES) == list(METRICS)
    assert found.skills == tuple(ATTRIBUTES)
    assert found.never_alone() == ("C0", "C1", "BC")
    graph = SkillGraph(ATTRIBUTE_EDGES)
    assert [skill for skill in graph.skills if not graph.parents(skill)] == ["C0", "C1"]
    assert len(graph.edges) == 8


def test_a_classifier_that_did_not_answer_is_missing_there_and_not_zero() -> None:
    frame = scores().with_columns(
        c03=pl.when(pl.col("data_set") == "birds").then(None).otherwise(pl.col("c03"))
    )
    table = classifier_table(ClassifierScores.from_frame(frame))
    row = table.matrix()[3]
    assert np.isnan(row[:22]).all()
    assert not np.isnan(row[22:]).any()


def test_copies_are_left_out_and_said() -> None:
    """A strictly increasing change of the scores changes no metric."""
    frame = scores().with_columns(copy=pl.col("c04") * 3 + 1)
    found = diagnose_classifiers(frame, "skill-vanilla")
    assert found.duplicates == {"copy": "c04"}
    assert "copy" not in found.table.learners


def test_stronger_classifiers_lead_and_plain_means_stand_beside_mastery() -> None:
    """c13 separates the classes by 3.25 standard deviations, c00 not at all: no noise reverses them."""
    found = diagnose_classifiers(scores())
    board = found.leaderboard()
    assert board["learner"][0] in ("c11", "c12", "c13")
    assert board["learner"][-1] in ("c00", "c01", "c02")
    plain = plain_means(found.table)
    row = found.table.learners.index("c07")
    for k, skill in enumerate(ATTRIBUTES):
        of_board = board.filter(pl.col("learner") == "c07")
        assert of_board[f"{skill} mean"][0] == pytest.approx(plain[row, k], abs=1e-12)
        low, level, high = (of_board[name][0] for name in (f"{skill} low", skill, f"{skill} high"))
        assert 0 < low < level < high < 1


def test_seven_masteries_that_are_one_number_are_shown_as_one() -> None:
    """Classifiers of one strength: τ and differences by scipy and by hand. Skills of their own stay apart."""
    found = diagnose_classifiers(scores())
    masteries = found.leaderboard().select(list(ATTRIBUTES)).to_numpy()
    same = found.one_mastery()
    assert same is not None
    assert same.largest_difference == pytest.approx((masteries.max(axis=1) - masteries.min(axis=1)).max())
    pairs = [kendalltau(masteries[:, a], masteries[:, b]).statistic for a in range(7) for b in range(a)]
    assert same.least_kendall == pytest.approx(min(pairs))
    text = found.text(learners=3)
    assert same.holds
    assert "The 7 masteries are effectively one number" in text
    assert "camilla skills" in text
    assert "C0            C1" not in text
    apart = one_mastery(np.column_stack([masteries[:, 0], masteries[::-1, 0]]))
    assert apart is not None
    assert not apart.holds
    assert one_mastery(masteries[:, :1]) is None


def test_agreement_comes_with_everything_that_puts_it_in_place() -> None:
    """Skill means of one-dimensional classifiers come near the ceiling; the random control is .5 to .1."""
    found = diagnose_classifiers(scores())
    summary = found.agreement.summary
    assert set(summary) >= {"r2", "r2_within", "doa", "doc", "ceiling", "borda", "random", "null", "doa_star"}
    assert all(value is not None for value in summary.values())
    assert summary["doa"] == pytest.approx(np.mean(found.agreement.skills["doa"].to_list()))
    assert summary["doa"] <= summary["ceiling"]  # type: ignore[operator]
    assert summary["doa_star"] == pytest.approx((summary["doa"] - 0.5) / (summary["ceiling"] - 0.5))  # type: ignore[operator]
    assert summary["random"] == pytest.approx(0.5, abs=0.1)
    assert summary["null"] < summary["borda"]  # type: ignore[operator]
    plain = mastery_agreement(found.table, plain_means(found.table)).summary
    assert plain["r2"] is None
    assert plain["doa"] > 0.9 * summary["ceiling"]  # type: ignore[operator]


def test_mastery_stands_in_the_order_of_the_table() -> None:
    found = diagnose_classifiers(scores())
    matrix = mastery_matrix(found.diagnosis, found.table)
    rows = found.diagnosis.skills.filter((pl.col("learner") == "c03") & (pl.col("skill") == "S1"))
    assert matrix[3, list(ATTRIBUTES).index("S1")] == rows["mastery"][0]


def test_a_new_classifier_lands_where_its_like_are() -> None:
    """c07 placed again, samples frozen, lies where the fit had it; the prior and the fit share one scale.

    Its own responses helped to place the samples, so the two differ by less than its standard error.
    """
    frame = scores()
    whole = diagnose_classifiers(frame, skill_correlation=0.5, precision=1.0)
    again = whole.place(frame.select("data_set", "sample", "truth", "c07"))
    old = whole.diagnosis.learners.filter(pl.col("learner") == "c07")
    assert again.learners["ability"][0] == pytest.approx(old["ability"][0], abs=old["se"][0])
    assert again.skills["skill"].to_list() == list(ATTRIBUTES)
    without = diagnose_classifiers(frame, new=["c07"], skill_correlation=0.5, precision=1.0)
    assert without.placed is not None
    assert "c07" not in without.table.learners
    assert 3 <= without.placed.learners["rank"][0] <= 11
    assert (without.placed.skills["mastery_low"] < without.placed.skills["mastery_high"]).all()


def test_a_saved_pool_places_the_same(tmp_path: Path) -> None:
    frame = scores()
    new = frame.select("data_set", "sample", "truth", "c07")
    found = diagnose_classifiers(frame.drop("c07"), rule="discrete", ks="one_sided")
    found.save(tmp_path / "pool")
    saved = load_classifiers(tmp_path / "pool")
    assert saved.taken == ("discrete", "one_sided", False)
    assert saved.place(new).skills.equals(found.place(new).skills)
    with pytest.raises(FormatError, match=r"classifiers\.json"):
        load_classifiers(tmp_path)


def test_ranks_are_places_in_the_pool_and_leave_the_order_alone(tmp_path: Path) -> None:
    """(rank − ½)/n of each metric, ties sharing; a newcomer's place is among the same n classifiers."""
    frame = scores().with_columns(c03=pl.when(pl.col("data_set") != "birds").then("c03"))
    table = classifier_table(ClassifierScores.from_frame(frame))
    found = ranked(table, table).matrix()
    for j in range(66):
        column = table.matrix()[:, j]
        seen = ~np.isnan(column)
        np.testing.assert_allclose(found[seen, j], (rankdata(column[seen]) - 0.5) / seen.sum(), atol=1e-12)
        assert np.isnan(found[~seen, j]).all()
    new = frame.select("data_set", "sample", "truth", "c07")
    pool = diagnose_classifiers(frame, new=["c07"], ranks=True, skill_correlation=0.5, precision=1.0)
    assert pool.placed is not None
    assert pool.placed.learners["mean"][0] == pytest.approx(np.nanmean(table.matrix()[7]), abs=1e-12)
    pool.save(tmp_path / "pool")
    assert load_classifiers(tmp_path / "pool").place(new).skills.equals(pool.placed.skills)
    metrics = plain_means(pool.table)
    assert pool.leaderboard().filter(learner="c02")["EQ mean"][0] == pytest.approx(metrics[2, 5], abs=1e-12)


def test_skills_of_metrics_of_data_sets_and_of_samples(tmp_path: Path) -> None:
    frame = scores()
    table = classifier_table(ClassifierScores.from_frame(frame))
    kinds = ["curve" if name in ("AUC", "KS") else "label" for name in METRICS]
    pl.DataFrame({"metric": METRICS, "kind": kinds}).write_csv(tmp_path / "metrics.csv")
    found = diagnose_classifiers(frame, "skill-vanilla", skills=f"{tmp_path / 'metrics.csv'}:kind")
    assert found.table.skill_map is not None
    assert found.table.skill_map.mask.sum(axis=0).tolist() == [6, 60]
    pl.DataFrame({"set": ["coins", "birds", "leaves"], "flat": [1, 0, 1], "alive": [0, 1, 1]}).write_csv(
        tmp_path / "sets.csv"
    )
    found = diagnose_classifiers(frame, "skill-vanilla", skills=str(tmp_path / "sets.csv"))
    assert found.table.skill_map.mask.sum(axis=0).tolist() == [44, 44]  # type: ignore[union-attr]
    table.skill_map.to_frame(table.samples).write_csv(tmp_path / "samples.csv")  # type: ignore[union-attr]
    same = diagnose_classifiers(frame, "skill-vanilla", skills=str(tmp_path / "samples.csv"))
    assert same.diagnosis.skills.equals(diagnose_classifiers(frame, "skill-vanilla").diagnosis.skills)


def test_files_join_by_data_set_or_by_classifier(tmp_path: Path) -> None:
    frame = scores()
    head = ["data_set", "sample", "truth"]
    frame.select(*head, "c00", "c01").write_csv(tmp_path / "one.csv")
    frame.filter(pl.col("data_set") != "coins").select(*head, "c02").write_parquet(tmp_path / "two.parquet")
    both = read_scores([tmp_path / "one.csv", tmp_path / "two.parquet"])
    assert both.classifiers == ("c00", "c01", "c02")
    assert np.isnan(both.sets[1].scores[:, 2]).all()
    np.testing.assert_allclose(both.sets[2].scores[:, 2], frame.filter(pl.col("data_set") == "leaves")["c02"])
    with pytest.raises(DataError, match="'c00'"):
        read_scores([tmp_path / "one.csv", tmp_path / "one.csv"])
    frame.select(*head, "c03").with_columns(truth=1 - pl.col("truth")).write_csv(tmp_path / "other.csv")
    with pytest.raises(DataError, match="same samples in the same order"):
        read_scores([tmp_path / "one.csv", tmp_path / "other.csv"])


def test_a_file_without_data_sets_is_one_and_columns_may_be_called_otherwise(tmp_path: Path) -> None:
    frame = scores().filter(pl.col("data_set") == "coins").drop("data_set", "sample")
    frame.rename({"truth": "defect"}).with_columns(note=pl.lit("x")).write_csv(tmp_path / "coins.csv")
    read = read_scores([tmp_path / "coins.csv"], ScoreColumns(truth="defect", ignore=("note",)))
    assert read.data_sets == ("coins",)
    assert len(read.classifiers) == 14


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (pl.lit(1).alias("truth"), "both classes"),
        (pl.when(pl.col("sample") == "coins 3").then(np.inf).otherwise("c02").alias("c02"), "'c02' has inf"),
        (pl.when(pl.col("sample") == "coins 3").then(None).otherwise("c02").alias("c02"), "1 of 60 samples"),
        (pl.lit("high").alias("c02"), "'high'"),
        (pl.lit("coins 0").alias("sample"), "more than once"),
        ((pl.col("truth") + 1).alias("truth"), "0 or 1"),
    ],
)  # fmt: skip
def test_bad_scores_are_said_with_their_data_set(change: pl.Expr, said: str) -> None:
    with pytest.raises(DataError, match=said):
        classifier_table(ClassifierScores.from_frame(scores().with_columns(change)))


def test_what_is_not_there_is_said() -> None:
    frame = scores()
    with pytest.raises(DataError, match="which column is the truth"):
        ClassifierScores.from_frame(frame.rename({"truth": "outcome"}))
    with pytest.raises(SettingError, match="no classifier 'c99'"):
        diagnose_classifiers(frame, new=["c99"])
    with pytest.raises(DataError, match="none of which the diagnosis has"):
        diagnose_classifiers(frame).place(frame.with_columns(data_set=pl.lit("seas")).head(60))
    with pytest.raises(DataError, match="no column of scores"):
        ClassifierScores.from_frame(frame.select("data_set", "sample", "truth"))
    with pytest.raises(DataError, match="no skill map"):
        mastery_agreement(
            classifier_table(ClassifierScores.from_frame(frame)).with_skills(None), np.zeros((14, 7))
        )


def test_a_map_is_complete_once_each_skill_occurs_alone() -> None:
    assert SkillMap(("a", "b"), np.array([[1, 1], [1, 0]], bool)).never_alone() == ("b",)
    assert SkillMap(("a", "b"), np.array([[0, 1], [1, 0]], bool)).never_alone() == ()
