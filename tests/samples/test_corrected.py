"""What broken samples do to the board, and the table without them."""

import json
from pathlib import Path

import numpy as np
import pytest

import camilla
from camilla.errors import DataError
from camilla.samples.items import items
from camilla.samples.sample_quality import SampleQuality


@pytest.fixture(scope="module")
def table() -> camilla.ResponseTable:
    """Forty classifiers of four classes. The key of the first three samples is wrong: what is right is 0."""
    rng = np.random.default_rng(0)
    ability = np.linspace(-1, 3, 40)
    right = rng.random((40, 100)) < 1 / (1 + np.exp(-(ability[:, None] - rng.normal(size=100))))
    answers = np.where(right, 0, rng.integers(1, 4, (40, 100)))
    key = np.where(np.arange(100) < 3, 1, 0)
    names = [f"s{j:02d}" for j in range(100)]
    return camilla.ResponseTable.from_predictions(
        {f"m{i:02d}": row for i, row in enumerate(answers)}, key, samples=names, classes=range(4)
    )


@pytest.fixture(scope="module")
def quality(table: camilla.ResponseTable) -> SampleQuality:
    return items(table, judged={"s00": 1, "s01": 1, "s02": 1, "s03": 0})


def test_boards_are_means_over_what_is_left(table: camilla.ResponseTable, quality: SampleQuality) -> None:
    board = quality.effect().board.sort("learner")
    x = dict(zip(table.learners, table.matrix(), strict=True))
    for row in board.to_dicts():
        own = x[row["learner"]]
        assert row["mean_all"] == pytest.approx(own.mean())
        assert row["mean_without"] == pytest.approx(own[3:].mean())
        answered_0 = [str(a) == "0" for a in _answers(table, row["learner"])[:3]]
        assert row["mean_rekeyed"] == pytest.approx((sum(answered_0) + own[3:].sum()) / 100)
        assert abs(row["mean_weighted"] - own[3:].mean()) < 0.05


def _answers(table: camilla.ResponseTable, learner: str) -> list[str]:
    own = table.to_long()
    return own.filter(learner=learner).sort("sample")["answer"].to_list()


def test_the_table_without_broken_samples_says_what_was_left_out(
    quality: SampleQuality, tmp_path: Path
) -> None:
    beside = quality.write_corrected(tmp_path / "corrected.csv")
    assert camilla.read(tmp_path / "corrected.csv").n_samples == 97
    document = json.loads(beside.read_text())
    assert [row["sample"] for row in document["left_out"]] == ["s00", "s01", "s02"]
    assert document["made_from"]["data_hash"] == quality.provenance["data_hash"]
    assert "answer 0" in document["left_out"][0]["why"]


def test_rank_leaves_samples_out(table: camilla.ResponseTable) -> None:
    board = camilla.rank(table, without={"s00": 1, "s01": 0})
    assert set(board.rows["n"]) == {99}
    assert board.notes[0] == "1 of 100 samples were left out, as listed in the verdicts."
    with pytest.raises(DataError, match="not in the table, such as 'nobody'"):
        camilla.rank(table, without={"nobody": 1})
    with pytest.raises(DataError, match="leaves out every sample"):
        camilla.rank(table, without=dict.fromkeys(table.samples, 1))


def test_without_a_broken_sample_the_board_stays(table: camilla.ResponseTable) -> None:
    found = items(table, judged={"s03": 0}).effect()
    assert found.board.height == 0
    assert "stays as it is" in found.sentences[0]
