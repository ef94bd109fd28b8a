"""Every sample judged: what is flagged, in which order, and with which intervals."""

import numpy as np
import polars as pl
import pytest
from item_worlds import item_world

import camilla
from camilla.data.responses import ResponseTable
from camilla.errors import DataError, SettingError
from camilla.quality.items import sample_quality


def covered(seed: int) -> tuple[float, ...]:
    """Shares of samples with discrimination, difficulty, item–rest correlation and accuracy inside."""
    world = item_world(seed)
    found = sample_quality(ResponseTable.from_matrix(world.responses)).samples.sort("sample")
    truths = {
        "discrimination": world.discrimination,
        "difficulty": world.difficulty,
        "item_rest": world.item_rest(),
        "accuracy": world.accuracy(),
    }
    ends = {name: [found[f"{name}_{end}"].to_numpy() for end in ("low", "high")] for name in truths}
    return tuple(
        float(np.mean(((low <= truths[name]) & (truths[name] <= high))[np.isfinite(low)]))
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


def test_spoiled_samples_are_flagged_for_what_they_are_and_come_first() -> None:
    found = sample_quality(spoiled())
    flags = dict(found.samples.select("sample", "flags").iter_rows())
    assert flags["sample-000"] == "mislabelled, negative"
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
    row = sample_quality(table).samples.row(0, named=True)
    accuracy = dict(zip(table.learners, table.learner_means().mean, strict=True))
    x = dict(zip(table.learners, table.matrix()[:, 0], strict=True))
    median = np.median(list(accuracy.values()))
    assert len(row["failed_by"]) == len(row["solved_by"]) == 3
    assert all(x[name] == 0 and accuracy[name] > median for name in row["failed_by"])
    assert all(x[name] == 1 and accuracy[name] < median for name in row["solved_by"])


def test_columns_agree_with_the_diagnosis_and_with_counting() -> None:
    table = camilla.simulate(30, 40, missing=0.2, seed=2).table
    found = sample_quality(table).samples.sort("sample")
    by_irt = camilla.diagnose(table, "irt").samples.sort("sample")
    for name in ("difficulty", "discrimination", "infit", "outfit"):
        np.testing.assert_allclose(found[name].to_numpy(), by_irt[name].to_numpy(), rtol=1e-6)
    np.testing.assert_allclose(found["accuracy"].to_numpy(), np.nanmean(table.matrix(), axis=0))
    assert found["n"].to_list() == (~np.isnan(table.matrix())).sum(axis=0).tolist()


def test_the_order_of_learners_and_samples_changes_nothing() -> None:
    table = spoiled()
    rng = np.random.default_rng(4)
    mixed = table.take_learners(rng.permutation(120)).take_samples(rng.permutation(150))
    assert sample_quality(mixed).samples.equals(sample_quality(table).samples)


def test_fractional_responses_are_judged_without_tests_made_for_right_and_wrong() -> None:
    table = camilla.simulate(30, 60, fractional=True, seed=1).table
    found = sample_quality(table).samples
    assert found["infit_z"].null_count() == 60
    assert found["item_rest"].null_count() == 0
    assert not found["flags"].str.contains("noisy").any()


def test_digits_shows_the_samples_whose_label_is_doubtful() -> None:
    """digit-1553 is answered right by a guesser and a stump of a tree and wrong by every good classifier."""
    first = sample_quality(camilla.digits()).samples.row(0, named=True)
    assert (first["sample"], first["flags"]) == ("digit-1553", "mislabelled")
    assert "svm rbf" in first["failed_by"]


def test_what_cannot_be_judged_is_refused() -> None:
    with pytest.raises(DataError, match="has 2 learners"):
        sample_quality(ResponseTable.from_matrix([[0, 1, 1], [1, 0, 1]]))
    with pytest.raises(SettingError, match="rate is a share"):
        sample_quality(spoiled(), rate=5)


def test_provenance_says_what_it_rests_on() -> None:
    table = spoiled()
    made = sample_quality(table, rate=0.1, seed=3).provenance
    assert made["data_hash"] == table.digest()
    assert made["settings"]["rate"] == 0.1
    assert made["settings"]["seed"] == 3
    assert isinstance(sample_quality(table).samples, pl.DataFrame)
