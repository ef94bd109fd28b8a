"""Words of the page that depend on the diagnoser or on the responses: each must be true of its numbers."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

import camilla
from camilla.show.report.diagnosed import Diagnosed
from camilla.show.report.verdicts import ranking_verdict
from camilla.show.report.words import headline


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("vanilla", {}, "1 minus the mean response"),
        ("dina", {}, "1 minus the mean expected response"),
        ("gaussian", {"dimensions": 2, "precision": 10.0}, "1 minus the mean expected response"),
    ],
)
def test_a_difficulty_that_is_a_mean_is_not_called_a_level(
    name: str, settings: dict[str, Any], words: str
) -> None:
    """A mean of expected responses follows the mean of the responses over 90 samples; both lie in [0, 1]."""
    table = camilla.simulate(30, 90, kind="camilla_base", skills=3, seed=4).table
    found = camilla.diagnose(table, name, **settings)
    assert Diagnosed("found", found).difficulty_means == words
    samples = found.samples
    assert samples["difficulty"].is_between(0, 1).all()
    assert np.corrcoef(1 - samples["accuracy"], samples["difficulty"])[0, 1] > 0.9


@pytest.mark.parametrize(("form", "words"), [("2pl", "right half the time"), ("3pl", "half way between")])
def test_with_guessing_a_difficulty_is_not_where_a_learner_is_right_half_the_time(
    form: str, words: str
) -> None:
    """At θ = b the 3PL gives c + (1 − c)/2, more than a half."""
    found = camilla.diagnose(camilla.simulate(40, 60, seed=1).table, "irt", form=form, precision=3.0)
    assert words in Diagnosed("found", found).difficulty_means
    if form == "3pl":
        assert found.samples["guessing"].min() > 0


@pytest.mark.parametrize("name", ["vanilla", "skill-vanilla"])
def test_only_intervals_of_right_and_wrong_responses_are_called_wilsons(name: str) -> None:
    """Of fractions it is as wide as m ± t √(Σ(x − m)²/(n − 1)/n), t on n − 1, to a hundredth."""
    table = camilla.simulate(12, 200, kind="camilla_base", skills=1, seed=2).table
    matrix, one_skill = table.matrix(), table.skill_map
    assert one_skill is not None
    fractions = camilla.ResponseTable.from_matrix(0.3 + 0.2 * matrix)
    fractions = fractions.with_skills(one_skill)
    assert camilla.diagnose(table, name).provenance["interval"] == "95 %, Wilson's, over samples"
    found = camilla.diagnose(fractions, name)
    assert found.provenance["interval"] == "95 %, Student's t, over samples"
    row = found.learners.row(0, named=True)
    x = fractions.matrix()[list(fractions.learners).index(row["learner"])]
    half = student.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half, rel=0.01)


def test_a_leader_does_not_lead_itself() -> None:
    """One of three learners is ahead of two: of the three it comes first."""
    right = np.repeat([[0.9], [0.5], [0.1]], 300, axis=1) > np.linspace(0, 1, 300, endpoint=False)
    table = camilla.ResponseTable.from_matrix(right.astype(float))
    first = headline(Diagnosed("found", camilla.diagnose(table, "vanilla")))
    ranked = ranking_verdict(camilla.rank(table).to_document())
    for statement in (first, ranked):
        said = "".join(part if isinstance(part, str) else "*" for part in statement.parts)
        assert re.search(r" comes first of 3 learners, and the lead is clear", said), said
