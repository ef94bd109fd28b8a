"""What the page needs to choose a learner: draws, strengths, and a file of what learners cost."""

from pathlib import Path

import numpy as np
import pytest

import camilla
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.show.report.build import report
from camilla.show.report.choosing import (
    STEPS,
    accuracy_draws,
    attributes_section,
    check_names,
    clustered,
    read_attributes,
    section,
)
from camilla.show.report.diagnosed import Diagnosed
from camilla.table.responses import ResponseTable


def two_learners(n: int) -> Diagnosis:
    """One that is right on three of four samples, one on every other, without draws."""
    first, second = np.arange(n) % 4 != 3, np.arange(n) % 2 == 0
    table = ResponseTable.from_matrix(np.stack([first, second]).astype(float), learners=["first", "second"])
    return camilla.diagnose(table, "vanilla")


def test_resampled_draws_are_the_posterior_of_a_share() -> None:
    """600 responses: Beta(450.5, 150.5) has mean .7496 and sd .01766; 4,000 draws know both to about 2 %."""
    found = two_learners(600)
    drawn = accuracy_draws(found, [np.arange(600)], 4000)[:, :, 0]
    place = found.learner_names.index("first")
    assert drawn[:, place].mean() == pytest.approx(450.5 / 601, abs=0.002)
    assert drawn[:, place].std() == pytest.approx(np.sqrt(0.7496 * 0.2504 / 602), rel=0.06)


def test_five_samples_decide_nothing_for_sure() -> None:
    """5 of 5 against 4 of 5 right: the better record is likelier to be the better learner, not surely so."""
    table = ResponseTable.from_matrix(
        np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0.0]]), learners=["all", "all but one"]
    )
    found = camilla.diagnose(table, "vanilla")
    drawn = accuracy_draws(found, [np.arange(5)], 4000)[:, :, 0]
    ahead = (
        drawn[:, found.learner_names.index("all")] > drawn[:, found.learner_names.index("all but one")]
    ).mean()
    assert 0.6 < ahead < 0.97


def test_a_strength_is_what_the_margins_do_not_explain(digits_diagnosis: Diagnosis) -> None:
    """`most frequent` mostly answers 3: right on four of five 3s, on little else, far above its level."""
    of = Diagnosed("digits", digits_diagnosis)
    found = section(of)["strengths"]
    row, column = of.learners.index("most frequent"), of.skills.index("3")
    assert found["difference"].values[row, column] > 0.5
    assert found["sure"][row, column]
    best = of.learners.index("svm rbf")
    assert np.abs(found["difference"].values[best]).max() < 0.05
    assert sorted(found["rows"]) == list(range(42))
    assert sorted(found["columns"]) == list(range(10))


def test_the_draws_of_the_page_have_the_accuracies_of_the_table(digits_diagnosis: Diagnosis) -> None:
    of = Diagnosed("digits", digits_diagnosis)
    draws = section(of)["draws"]
    assert draws["skills"] == of.skills
    assert np.abs(draws["mean"].values - of.by_skill["accuracy"]).max() < 0.02
    steps = draws["steps"].astype(float) - 128
    assert steps.std() == pytest.approx(STEPS, rel=0.05)


def test_alike_rows_become_neighbours() -> None:
    rows = np.array([[0.0, 1], [5, 5], [0.1, 1], [5, 5.1]])
    order = clustered(rows).tolist()
    assert abs(order.index(0) - order.index(2)) == 1
    assert abs(order.index(1) - order.index(3)) == 1


def test_a_file_of_learners_is_read_by_name(tmp_path: Path) -> None:
    file = tmp_path / "learners.csv"
    file.write_text("learner,cost,latency,family\nb,2.5,,trees\na,1,0.3,\n")
    found = attributes_section(read_attributes(file), ["a", "b", "c"])
    assert [one["name"] for one in found["numbers"]] == ["cost", "latency"]
    np.testing.assert_array_equal(found["numbers"][0]["value"], np.array([1, 2.5, np.nan], np.float32))
    assert found["family"] == ["", "trees", ""]
    assert check_names(read_attributes(file), ["a", "b", "c"], file) == (
        f"1 of 3 learners have no row in {file}; first 'c'."
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,cost\na,1\n", "no column 'learner'"),
        ("learner,cost\na,1\na,2\n", "'a' has several rows"),
        ("learner,colour\na,red\n", "no column of numbers"),
    ],
)
def test_a_file_of_learners_that_cannot_be_used_says_why(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "learners.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=said):
        read_attributes(file)


def test_names_that_match_no_learner_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    two_learners(8).save(tmp_path / "found")
    (tmp_path / "learners.csv").write_text("learner,cost\nx,1\n")
    with pytest.raises(DataError, match="none of its learners is in the diagnosis"):
        report([tmp_path / "found"], tmp_path / "page.html", learners=tmp_path / "learners.csv")
    assert not (tmp_path / "page.html").exists()
