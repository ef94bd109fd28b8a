"""Every sample judged: what is flagged, in which order, and with which intervals."""

from functools import lru_cache
from importlib.metadata import version

import numpy as np
import polars as pl
import pytest
from item_worlds import ItemWorld, curve, item_world

import camilla
from camilla.errors import DataError, SettingError
from camilla.samples.items import items
from camilla.samples.sample_quality import SampleQuality
from camilla.table.responses import ResponseTable


def covered(seed: int) -> tuple[float, ...]:
    """Shares of samples with discrimination, difficulty, item–rest correlation and accuracy inside."""
    world = item_world(seed)
    found = items(ResponseTable.from_matrix(world.responses)).samples.sort("sample")
    truths = {
        "discrimination": world.discrimination,
        "difficulty": world.difficulty,
        "item_rest": world.item_rest(),
        "accuracy": world.accuracy(),
    }
    # A difficulty's end that is not given lies farther out than any learner.
    found = found.with_columns(
        pl.col("difficulty_low").fill_null(-np.inf), pl.col("difficulty_high").fill_null(np.inf)
    )
    ends = {name: [found[f"{name}_{end}"].to_numpy() for end in ("low", "high")] for name in truths}
    return tuple(
        float(np.mean(((low <= truths[name]) & (truths[name] <= high))[~np.isnan(low)]))
        for name, (low, high) in ends.items()
    )


def test_intervals_of_samples_cover() -> None:
    """12 tables of 150 samples: 1,800 intervals that hang together by table, the share good to about .007."""
    for share in np.mean([covered(seed) for seed in range(12)], axis=0):
        assert 0.925 < share < 0.975


@pytest.mark.slow
def test_intervals_of_samples_cover_over_500_tables() -> None:
    for share in np.mean([covered(seed) for seed in range(500)], axis=0):
        assert 0.93 < share < 0.97


def spoiled() -> ResponseTable:
    """Sample 0 reversed, 1 all right, 2 all wrong, 3 a coin, 5 nearly a copy of 4."""
    ability, _, _, x = item_world(3, n_learners=120)
    rng = np.random.default_rng(1)
    x[:, 0] = rng.random(120) < 1 / (1 + np.exp(3 * ability))
    x[:, 1], x[:, 2] = 1, 0
    x[:, 3] = rng.random(120) < 0.5
    x[:, 5] = x[:, 4] = rng.random(120) < 0.5
    x[:3, 5] = 1 - x[:3, 4]
    return ResponseTable.from_matrix(x)


@lru_cache
def judged_spoiled() -> SampleQuality:
    return items(spoiled())


def test_spoiled_samples_are_flagged_for_what_they_are_and_come_first() -> None:
    found = judged_spoiled()
    flags = dict(found.samples.select("sample", "flags").iter_rows())
    assert flags["sample-000"] == "doubtful, negative"
    assert flags["sample-001"] == "everyone right"
    assert flags["sample-002"] == "everyone wrong"
    assert "twin" in flags["sample-004"]
    assert "twin" in flags["sample-005"]
    assert found.samples["sample"][0] == "sample-000"
    assert found.flagged().height <= 8
    assert ("sample-004", "sample-005") in found.twins.select("sample", "twin").rows()
    assert found.samples["look"].to_list() == list(range(1, 151))


def test_contradicting_learners_are_the_ablest_that_fail_and_the_weakest_that_solve() -> None:
    table = spoiled()
    row = judged_spoiled().samples.row(0, named=True)
    accuracy = dict(zip(table.learners, table.learner_means().mean, strict=True))
    x = dict(zip(table.learners, table.matrix()[:, 0], strict=True))
    median = np.median(list(accuracy.values()))
    assert len(row["failed_by"]) == len(row["solved_by"]) == 3
    assert all(x[name] == 0 and accuracy[name] > median for name in row["failed_by"])
    assert all(x[name] == 1 and accuracy[name] < median for name in row["solved_by"])


def with_trials(
    seed: int, trials: int, *, missing: float = 0.0
) -> tuple[ItemWorld, np.ndarray, ResponseTable]:
    """A world whose cells are answered several times, the trials [learners, samples, trials], their table."""
    world, rng = item_world(seed), np.random.default_rng(seed)
    p = curve(world.ability, world.slope, world.place)
    each = (rng.random((*p.shape, trials)) < p[..., None]).astype(float)
    each[rng.random(each.shape) < missing] = np.nan
    learner, sample, _ = (part.ravel() for part in np.indices(each.shape))
    rows = {"learner": [f"m{i:03d}" for i in learner], "sample": [f"s{j:03d}" for j in sample]}
    return world, each, ResponseTable.from_long(pl.DataFrame(rows | {"response": each.ravel()}))


@pytest.mark.parametrize("trials", [1, 5])
def test_columns_are_what_their_formulas_say_and_counting(trials: int) -> None:
    """P = σ(discrimination (ability − difficulty)/temperature), abilities in their standard deviations; infit
    and outfit are sums over all trials of squares around it, as if each were a row. Rounding only."""
    _, each, table = with_trials(3, trials, missing=0.2)
    found = items(table).samples.sort("sample")
    by_irt = camilla.diagnose(table, "irt")
    ability = by_irt.learners.sort("learner")["ability"].to_numpy()
    logit = found["discrimination"].to_numpy() * (ability[:, None] - found["difficulty"].to_numpy())
    p = 1 / (1 + np.exp(-logit / by_irt.temperature))[..., None]
    square, variance = (each - p) ** 2, np.where(np.isnan(each), np.nan, p * (1 - p))
    infit = np.nansum(square, axis=(0, 2)) / np.nansum(variance, axis=(0, 2))
    np.testing.assert_allclose(found["infit"], infit, rtol=1e-6)
    np.testing.assert_allclose(found["outfit"], np.nanmean(square / variance, axis=(0, 2)), rtol=1e-6)
    np.testing.assert_allclose(found["accuracy"], np.nanmean(each, axis=(0, 2)), rtol=1e-12)
    assert found["n"].to_list() == (~np.isnan(each)).any(axis=2).sum(axis=0).tolist()


def test_trials_of_a_true_model_are_not_odd_and_their_intervals_cover() -> None:
    """Four tables of 150 samples, eight trials a cell: 600 intervals that hang together by table, the share
    good to about .012. Infit is 1 but for what the fit takes, 60 + 300 numbers of 9,000 cells."""
    inside = []
    for seed in range(4):
        world, _, table = with_trials(seed, 8)
        quality = items(table)
        found = quality.samples.sort("sample")
        low, high = (found[f"discrimination_{end}"].to_numpy() for end in ("low", "high"))
        inside.append(np.mean((low <= world.discrimination) & (world.discrimination <= high)))
        assert found["infit"].mean() == pytest.approx(0.96, abs=0.02)
        assert found["infit_z"].null_count() == 150
        assert quality.flagged().height <= 1
    assert 0.91 < np.mean(inside) < 0.98


def test_the_order_of_learners_and_samples_changes_nothing() -> None:
    table = spoiled()
    rng = np.random.default_rng(4)
    mixed = table.take_learners(rng.permutation(120)).take_samples(rng.permutation(150))
    assert items(mixed).samples.equals(judged_spoiled().samples)


def test_fractional_responses_are_judged_without_tests_made_for_right_and_wrong() -> None:
    table = camilla.simulate(30, 60, fractional=True, seed=1).table
    found = items(table).samples
    assert found["infit_z"].null_count() == 60
    assert found["item_rest"].null_count() == 0
    assert not found["flags"].str.contains("noisy").any()


def test_digits_shows_the_samples_whose_label_is_doubtful() -> None:
    """digit-1553 is answered right by a guesser and a stump of a tree and wrong by every good classifier."""
    first = items(camilla.digits()).samples.row(0, named=True)
    assert (first["sample"], first["flags"]) == ("digit-1553", "doubtful")
    assert "svm rbf" in first["failed_by"]


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(DataError, match="has 2 learners"):
        items(ResponseTable.from_matrix([[0, 1, 1], [1, 0, 1]]))
    with pytest.raises(SettingError, match="rate is a false discovery rate"):
        items(spoiled(), rate=5)


def test_provenance_says_what_it_rests_on() -> None:
    table = spoiled()
    found = items(table, rate=0.1, seed=3)
    made = found.provenance
    assert (made["n_learners"], made["n_samples"], made["n_responses"]) == (120, 150, 120 * 150)
    assert (made["settings"]["rate"], made["settings"]["seed"]) == (0.1, 3)
    for name in ("numpy", "scipy", "polars"):
        assert made["versions"][name] == version(name)
    assert made["twin_pairs"] == found.twins.height > 0
    again = {name: made["settings"][name] for name in ("rate", "seed")}
    assert items(table, **again).samples.equals(found.samples)
    matrix = table.matrix()
    matrix[7, 9] = 1 - matrix[7, 9]
    hashes = {ResponseTable.from_matrix(x).digest() for x in (table.matrix(), matrix)}
    assert made["data_hash"] in hashes
    assert len(hashes) == 2


def test_samples_that_all_solve_or_fail_have_no_discrimination() -> None:
    rng = np.random.default_rng(5)
    ability = rng.normal(size=(40, 1))
    x = (rng.random((40, 12)) < 1 / (1 + np.exp(rng.normal(size=12) - ability))).astype(float)
    x[:, 3], x[:, 7], x[:, 8] = 0, 1, 1
    found = items(ResponseTable.from_matrix(x))
    names = ResponseTable.from_matrix(x).samples
    alike = {names[3], names[7], names[8]}
    rows = found.samples.filter(pl.col("sample").is_in(alike))
    assert rows["discrimination"].null_count() == rows["item_rest"].null_count() == 3
    assert found.samples.filter(~pl.col("sample").is_in(alike))["discrimination"].null_count() == 0
