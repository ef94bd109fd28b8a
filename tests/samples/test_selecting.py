"""Subsets: what they lose on held-out learners, what is written, what a new learner is estimated at."""

import json
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

import camilla
from camilla.errors import DataError, SettingError
from camilla.samples.crossfit import Candidate, Crossfit, SubsetErrors, chosen_elsewhere, surest
from camilla.samples.forms import document, inspect_sample_id, lm_eval_samples, write
from camilla.samples.select import Subset, _row, expected_errors, select
from camilla.statistics.prediction import error_gain
from camilla.table.responses import ResponseTable


@pytest.fixture(scope="module")
def world() -> ResponseTable:
    return camilla.simulate(120, 300, seed=8).table


@pytest.fixture(scope="module")
def chosen(world: ResponseTable) -> Subset:
    return select(world.take_learners(range(80)), 40, repeats=1)


def test_it_is_ahead_of_random_and_stratified_subsets(world: ResponseTable) -> None:
    """120 learners × 300 samples, five folds twice: the error's standard error is about .0015."""
    found = expected_errors(world, [20, 60])
    for n in (20, 60):
        by = {row["way"]: row for row in found.filter(pl.col("n") == n).to_dicts()}
        for other in ("random", "stratified"):
            assert by["chosen"]["mae"] < by[other]["mae"]
            assert by["chosen"]["kendall"] > by[other]["kendall"]
        assert by["chosen"]["mae_low"] < by["chosen"]["mae"] < by["chosen"]["mae_high"]


def test_the_expected_error_is_what_new_learners_have(world: ResponseTable, chosen: Subset) -> None:
    """40 learners that had no part: their root mean square error is the promised one up to a factor of 1.3,
    three times the 1/√80 by which 40 squares vary; intervals of 95 % hold at least 34 of 40 scores."""
    new = world.take_learners(range(80, 120))
    found = chosen.estimate(new)
    off = found["score"].to_numpy() - new.learner_means().mean
    assert chosen.error is not None
    assert 1 / 1.3 < np.sqrt(np.mean(off**2)) / chosen.error < 1.3
    inside = (found["low"].to_numpy() <= new.learner_means().mean) & (
        new.learner_means().mean <= found["high"].to_numpy()
    )
    assert inside.sum() >= 34


def test_an_estimate_is_the_intercept_and_the_weighted_responses(
    world: ResponseTable, chosen: Subset
) -> None:
    weight = dict(chosen.samples.select("sample", "weight").iter_rows())
    x = world.matrix()[100]
    by_hand = chosen.intercept + sum(
        weight[name] * x[j] for j, name in enumerate(world.samples) if name in weight
    )
    found = chosen.estimate(world.take_learners([100]))
    assert found["score"][0] == pytest.approx(by_hand, abs=1e-12)
    assert found["n_missing"][0] == 0
    part = world.take_learners([100]).take_samples([world.samples.index(name) for name in list(weight)[:30]])
    assert chosen.estimate(part)["n_missing"][0] == 10


def test_accuracy_is_the_share_of_right_answers_and_none_where_there_are_none() -> None:
    """Counted by NumPy over the learners that answered; a sample nobody answered has an expectation alone."""
    matrix = camilla.simulate(30, 12, missing=0.3, seed=1).table.matrix()
    matrix[:, 4] = np.nan
    names = [f"s{j:02}" for j in range(12)]
    found = select(ResponseTable.from_matrix(matrix, samples=names), 11).samples
    answered = ~np.isnan(matrix)
    for row in found.to_dicts():
        j = names.index(row["sample"])
        n = int(answered[:, j].sum())
        assert row["accuracy"] == (pytest.approx(np.nansum(matrix[:, j]) / n) if n else None)
        assert 0 < row["expected_response"] < 1


def test_a_missing_response_stands_at_what_is_expected(world: ResponseTable, chosen: Subset) -> None:
    first = chosen.samples.row(0, named=True)
    part = world.take_learners([100]).take_samples(
        [world.samples.index(name) for name in chosen.samples["sample"] if name != first["sample"]]
    )
    whole = chosen.estimate(world.take_learners([100]))["score"][0]
    response = world.matrix()[100, world.samples.index(first["sample"])]
    by_hand = whole + first["weight"] * (first["expected_response"] - response)
    assert chosen.estimate(part)["score"][0] == pytest.approx(by_hand, abs=1e-12)


def test_the_candidate_is_chosen_on_other_folds() -> None:
    """A is better on fold 0, B on fold 1: each fold must get what did well on the other, the worse one."""
    fold = np.array([[0, 0, 1, 1]])
    tau = np.full((1, 2), 0.5)

    def errors(*values: float) -> SubsetErrors:
        each = np.array([values])
        return SubsetErrors(each, each**2, tau)

    by = {
        ("A by m", 5): errors(1, 1, 9, 9),
        ("B by m", 5): errors(9, 9, 1, 1),
    }
    found = chosen_elsewhere(Crossfit(by, fold), [Candidate("m", "A"), Candidate("m", "B")], 5)
    assert found.absolute.tolist() == [[9, 9, 9, 9]]


def test_errors_of_three_learners_have_intervals_within_their_scores() -> None:
    """|errors| of .01, .02 and .3, τ of .8 and 1: Student's lower end of the one is below 0, the upper end of
    the other above 1."""
    each = np.array([[0.01, 0.02, 0.3]])
    row = _row(SubsetErrors(each, each**2, np.array([[0.8, 1.0]])))
    assert row["mae_low"] == 0
    assert row["mae_high"] == pytest.approx(0.11 + t.ppf(0.975, 2) * each.std(ddof=1) / np.sqrt(3))
    assert row["kendall_high"] == 1
    assert row["kendall_low"] == pytest.approx(0.9 - t.ppf(0.975, 1) * 0.1)


def test_another_way_is_taken_only_where_it_is_surely_better() -> None:
    """Gains over the first: .1 with a standard error of .25, 1 with .25, 2 with 4. Only the 1 is sure."""
    first = np.full((1, 4), 10.0)
    spread = np.array([[-1.0, 1.0, -1.0, 1.0]])
    sure, slight, wild = first - 1 - 0.43 * spread, first - 0.1 - 0.43 * spread, first - 2 - 7 * spread
    assert surest([first, slight, wild]) == 0
    assert surest([first, slight, sure, wild]) == 2


def test_many_learners_are_described_by_principal_components() -> None:
    table = camilla.simulate(520, 60, seed=9).table
    found = select(table, 10, repeats=1)
    assert "components" in found.provenance["settings"]["chosen"]
    assert found.samples.height == 10


def test_many_learners_and_a_sample_that_nobody_answered() -> None:
    """Its mean is not known, but the estimates of all others are numbers; no way can be judged without it."""
    matrix = camilla.simulate(510, 40, seed=9).table.matrix()
    matrix[:, 7] = np.nan
    table = ResponseTable.from_matrix(matrix)
    found = select(table, 10, repeats=1)
    assert np.isfinite(found.intercept)
    assert np.isfinite(found.samples["weight"].to_numpy()).all()
    off = found.estimate(table)["score"].to_numpy() - np.nanmean(matrix, axis=1)
    assert np.sqrt(np.mean(off**2)) < np.nanmean(matrix, axis=1).std()
    assert found.error is None


def test_where_nobody_answered_everything_the_error_is_not_known() -> None:
    table = camilla.simulate(30, 40, missing=0.3, seed=1).table
    found = select(table, 10)
    assert found.error is None
    assert found.expected.height == 0
    assert found.estimate(table)["low"].null_count() == 30
    with pytest.raises(DataError, match="there is no full score"):
        expected_errors(table, [10])


def subset_of(samples: list[str], tasks: list[str | None]) -> Subset:
    frame = pl.DataFrame({"sample": samples, "task": tasks}, schema_overrides={"task": pl.String})
    frame = frame.with_columns(weight=0.5, accuracy=0.5, expected_response=0.5)
    return Subset(frame, 0.1, 0.02, pl.DataFrame(), None, {})


def test_harness_arguments_name_documents_by_number_and_task() -> None:
    found = subset_of(["gsm8k/17", "arc#3", "arc#11"], ["gsm8k", "arc", "arc"])
    assert lm_eval_samples(found) == {"arc": [3, 11], "gsm8k": [17]}
    assert lm_eval_samples(subset_of(["17", "3"], ["gsm8k", "arc"])) == {"arc": [3], "gsm8k": [17]}
    assert lm_eval_samples(subset_of(["django__django-1", "x"], [None, None])) == {}


def test_without_a_column_of_tasks_they_are_read_off_names_and_never_made_up() -> None:
    nameless: list[str | None] = [None, None, None]
    found = subset_of(["gsm8k/17", "hendrycks/arc#3", "gsm8k/4"], nameless)
    assert lm_eval_samples(found) == {"gsm8k": [4, 17], "hendrycks/arc": [3]}
    assert lm_eval_samples(subset_of(["4", "2", "gsm8k/1"], nameless)) == {}


def asked(text: str, task: str, names: list[str]) -> list[str]:
    """What Inspect runs of a task's samples: it splits at commas and strips, takes what stands before the
    first colon for a task whatever its case, and matches the rest by `fnmatch`."""
    patterns = []
    for part in text.split(","):
        scope, colon, rest = part.strip().partition(":")
        if not colon or scope.lower() == task.lower():
            patterns.append(rest if colon else scope)
    return [name for name in names if any(fnmatch(name, pattern) for pattern in patterns)]


def test_ids_come_through_inspects_parsing_as_they_are() -> None:
    names = ["a,2", "a", "2", "what [is] it?", "what is its", "x*y", "xzy", "t:3", "3", " b", "b", "c  "]
    text = inspect_sample_id(subset_of(names, [None] * len(names)))
    assert len(text.split(",")) == len(names)
    assert asked(text, "any", names) == names
    for name in names:
        assert asked(inspect_sample_id(subset_of([name], [None])), "any", names) == [name]


def test_every_task_is_asked_its_own_ids_alone() -> None:
    """Both tasks have samples 3, 17 and a,b; 17 was chosen of the one, 3 and a,b of the other."""
    found = subset_of(["gsm8k/17", "arc#3", "a,b"], ["gsm8k", "arc", "arc"])
    text = inspect_sample_id(found)
    assert asked(text, "gsm8k", ["3", "17", "a,b"]) == ["17"]
    assert asked(text, "arc", ["3", "17", "a,b"]) == ["3", "a,b"]
    assert inspect_sample_id(subset_of(["1", "2"], ["mmlu:subject=a,b", "mmlu"])) == ""


def test_a_subset_is_written_whole_or_not_at_all(chosen: Subset, tmp_path: Path) -> None:
    folder = write(chosen, tmp_path / "subset")
    assert json.loads((folder / "subset.json").read_text())["intercept"] == chosen.intercept
    assert pl.read_csv(folder / "weights.csv").height == 40
    assert (folder / "inspect_sample_ids.txt").read_text().count(",") == 39
    assert sorted(path.name for path in tmp_path.iterdir()) == ["subset"]
    with pytest.raises(DataError, match="exists already"):
        write(chosen, folder)
    with pytest.raises(DataError, match="there is no folder"):
        write(chosen, tmp_path / "nowhere" / "subset")
    assert set(document(chosen)) >= {"provenance", "intercept", "error", "samples", "expected"}


def test_what_cannot_be_selected_is_refused(world: ResponseTable, chosen: Subset) -> None:
    with pytest.raises(SettingError, match="300 of 300 samples"):
        select(world, 300)
    with pytest.raises(SettingError, match="at least 2 folds"):
        select(world, 10, folds=1)
    with pytest.raises(DataError, match="has 4 learners"):
        select(world.take_learners(range(4)), 10)
    with pytest.raises(DataError, match="the table has 1 sample; choosing a subset takes at least 2"):
        select(world.take_samples(np.array([0])), 1)
    with pytest.raises(DataError, match="no response to any of the 40 chosen"):
        chosen.estimate(ResponseTable.from_matrix([[0, 1]], samples=["x", "y"]))


def test_the_order_of_learners_and_samples_changes_nothing(world: ResponseTable, chosen: Subset) -> None:
    rng = np.random.default_rng(4)
    part = world.take_learners(rng.permutation(80)).take_samples(rng.permutation(300))
    assert select(part, 40, repeats=1).samples.equals(chosen.samples)


def learners_of(slope: np.ndarray, n_learners: int, seed: int) -> ResponseTable:
    """P(right) = σ(slope · θ), θ standard normal."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(size=(n_learners, 1)) * slope))
    return ResponseTable.from_matrix((rng.random(p.shape) < p).astype(float))


def test_choosing_helps_where_few_samples_tell_anything() -> None:
    """40 of 200 samples carry all signal: 15 of these know a learner, of 15 random ones 12 are coins."""
    found = select(learners_of(np.where(np.arange(200) < 40, 3.0, 0.0), 100, 1), 15, repeats=1)
    assert found.offer is not None
    assert found.offer.helps
    assert "did not" not in found.text().split("\n")[0]
    assert document(found)["offer"]["helps"] is True
    assert document(found)["offer"]["over_random"]["low"] > 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_choosing_does_not_help_where_samples_are_alike(seed: int) -> None:
    """Every sample has the same curve, so that any 20 are as good as any other 20; a linear estimate of them
    may still beat their plain mean, since it draws scores together."""
    found = select(learners_of(np.ones(120), 60, seed), 20, repeats=1)
    assert found.offer is not None
    assert found.offer.as_good in ("random", "random, weighted")
    first = found.text().split("\n")[0]
    assert first.startswith("Choosing did not ")
    assert "95 % CI" in first
    row = {row["way"]: row["mae"] for row in found.expected.to_dicts()}
    assert f"error of {row['chosen']:.3f}" in first
    assert f"{row[found.offer.as_good]:.3f} (difference" in first
    assert document(found)["offer"]["helps"] is False


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_coins_tell_nothing_about_a_learner(seed: int) -> None:
    """Scores of 120 coins have a standard deviation of .046, of which 20 coins know a sixth of the variance;
    guessing one half is as good up to what 60 learners show."""
    found = select(learners_of(np.zeros(120), 60, seed), 20, repeats=1)
    assert found.offer is not None
    assert found.offer.as_good == "guess"
    assert "say nothing" in found.text().split("\n")[0]


def test_a_gain_is_paired_and_as_unsure_as_its_folds() -> None:
    """Four learners, differences .1, .3, .1, .3: Student's interval over learners by scipy. In folds of two
    with means .1 and .3 the standard error over folds, .1, is larger than the .058 over learners."""
    difference = np.array([0.1, 0.3, 0.1, 0.3])
    learner = np.arange(4)
    plain = error_gain(difference, learner)
    expected = t.interval(0.95, 3, 0.2, difference.std(ddof=1) / 2)
    assert (plain.gain, plain.low, plain.high) == pytest.approx((0.2, *expected))
    folded = error_gain(difference, learner, np.array([0, 1, 0, 1]))
    assert folded.high - folded.gain == pytest.approx(t.ppf(0.975, 3) * 0.1)
    assert plain.is_sure
    assert not folded.is_sure
