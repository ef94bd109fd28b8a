"""Samples in the order that a learner's probabilities say, with weights that sum to their number."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.diagnosis import Diagnosis
from camilla.errors import CamillaError, DataError, SettingError
from camilla.samples.curriculum import ORDERS, WEIGHTS, curriculum

LEARNER = "learner-05"


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    """12 learners, 60 samples, a fifth of the responses missing, three skills."""
    table = camilla.simulate(12, 60, kind="camilla_base", skills=3, missing=0.2, seed=2).table
    return camilla.diagnose(table, "irt", precision=3.0)


@pytest.fixture(scope="module")
def expected(found: Diagnosis) -> dict[str, float]:
    return dict(found.predict([LEARNER]).select("sample", "probability").iter_rows())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weigh", WEIGHTS)
def test_every_sample_comes_once_and_weights_sum_to_their_number(
    found: Diagnosis, order: str, weigh: str
) -> None:
    plan = curriculum(found, LEARNER, order=order, weigh=weigh).samples
    assert sorted(plan["sample"]) == sorted(found.sample_names)
    assert plan["position"].to_list() == list(range(1, 61))
    assert plan["weight"].sum() == pytest.approx(60)
    assert (plan["weight"] >= 0).all()


def test_orders_are_those_of_the_probabilities(found: Diagnosis, expected: dict[str, float]) -> None:
    for order, key in (
        ("easy-to-hard", lambda p: -p),
        ("hard-to-easy", lambda p: p),
        ("edge", lambda p: abs(p - 0.5)),
    ):
        names = curriculum(found, LEARNER, order=order).samples["sample"].to_list()
        keys = [key(expected[name]) for name in names]
        assert all(one <= other + 1e-9 for one, other in pairwise(keys))


def test_information_is_that_of_a_2pl(found: Diagnosis, expected: dict[str, float]) -> None:
    """a² p (1 − p), the derivative of the expected response times the slope of its logit."""
    slope = dict(found.samples.select("sample", "discrimination").iter_rows())
    plan = curriculum(found, LEARNER, order="information").samples
    told = np.array([slope[name] ** 2 * expected[name] * (1 - expected[name]) for name in plan["sample"]])
    np.testing.assert_allclose(plan["information"].to_numpy(), told)
    assert (np.diff(told) < 1e-9).all()
    np.testing.assert_allclose(plan["weight"].to_numpy(), told * 60 / told.sum())


def test_skills_come_in_blocks_the_weakest_first(found: Diagnosis, expected: dict[str, float]) -> None:
    mask = found.diagnoser.size.skill_mask
    p = np.array([expected[name] for name in found.sample_names])
    mean = {name: p[mask[:, k]].mean() for k, name in enumerate(found.skill_names)}
    weakest = sorted(mean, key=lambda name: mean[name])
    plan = curriculum(found, LEARNER, by_skill=True)
    blocks = plan.samples["skill"].to_list()
    assert list(dict.fromkeys(blocks)) == weakest
    assert blocks == sorted(blocks, key=weakest.index)
    first = plan.samples.filter(pl.col("skill") == weakest[0])
    needed = np.flatnonzero(mask[:, found.skill_names.index(weakest[0])])
    assert set(first["sample"]) == {found.sample_names[j] for j in needed}
    alone = curriculum(found, LEARNER, skills=weakest[2])
    assert set(alone.samples["skill"]) == {weakest[2]}
    assert alone.samples["weight"].sum() == pytest.approx(alone.samples.height)


def test_parts_are_what_the_learner_answered(found: Diagnosis) -> None:
    index = found.learner_names.index(LEARNER)
    own = found.cells.take(found.cells.learner == index)
    wrong = {found.sample_names[j] for j, r in zip(own.sample, own.response, strict=True) if r == 0}
    answered = {found.sample_names[j] for j in own.sample}
    assert set(curriculum(found, LEARNER, only="wrong").samples["sample"]) == wrong
    assert set(curriculum(found, LEARNER, only="right").samples["sample"]) == answered - wrong
    unanswered = curriculum(found, LEARNER, only="unanswered").samples["sample"]
    assert set(unanswered) == set(found.sample_names) - answered


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_file_is_read_back_in_order(found: Diagnosis, tmp_path: Path, ending: str) -> None:
    plan = curriculum(found, LEARNER, order="edge")
    path = plan.write(tmp_path / f"plan.{ending}")
    back = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending](path)
    assert back["sample"].to_list() == plan.samples["sample"].to_list()
    np.testing.assert_allclose(back["weight"].to_numpy(), plan.samples["weight"].to_numpy())


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"learner": "learner-5"}, DataError, "no learner 'learner-5'.*Did you mean 'learner-05'"),
        ({"order": "random"}, SettingError, "order is one of easy-to-hard"),
        ({"weigh": "gold"}, SettingError, "weigh is one of equal"),
        ({"only": "hard"}, SettingError, "only is one of all"),
        ({"skills": "skill-9"}, DataError, "no skill 'skill-9'"),
    ],
)
def test_what_does_not_fit_is_refused(
    found: Diagnosis, settings: dict[str, Any], kind: type[CamillaError], message: str
) -> None:
    learner = settings.pop("learner", LEARNER)
    with pytest.raises(kind, match=message):
        curriculum(found, learner, **settings)


def test_a_diagnosis_without_skills_has_no_blocks() -> None:
    plain = camilla.diagnose(camilla.simulate(8, 30, seed=1).table, "irt", precision=3.0)
    assert curriculum(plain, "learner-0").skills.height == 0
    with pytest.raises(DataError, match="no skill map"):
        curriculum(plain, "learner-0", by_skill=True)
    with pytest.raises(DataError, match="keeps none of 30"):
        curriculum(plain, "learner-0", only="unanswered")


def test_one_sample_is_the_first_sample(found: Diagnosis) -> None:
    text = curriculum(found, LEARNER).text(samples=1)
    assert ("\nThe first sample\n" in text, "\nThe last sample\n" in text) == (True, True)


def test_information_takes_a_discrimination(found: Diagnosis) -> None:
    """Else the order would be that of the names, and called the most informative first."""
    samples = found.samples.with_columns(discrimination=pl.lit(None, pl.Float64))
    blind = replace(found, samples=samples)
    for given in ({"order": "information"}, {"weigh": "information"}):
        with pytest.raises(DataError, match="the discrimination of none of 60 samples is known"):
            curriculum(blind, LEARNER, **given)
    (note,) = curriculum(blind, LEARNER).notes
    assert note == "60 samples without a known discrimination count as not informative."
