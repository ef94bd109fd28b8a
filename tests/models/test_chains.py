"""Several chains of bayes: the same wherever they run, and the posterior of one long chain."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.diagnosis import Diagnosis
from camilla.errors import ConvergenceWarning, SettingError
from camilla.table.responses import ResponseTable


@pytest.fixture(scope="module")
def table() -> ResponseTable:
    """Responses of a 2PL: σ(a(θ − b))."""
    rng = np.random.default_rng(3)
    ability, difficulty, slope = rng.normal(size=15), rng.normal(size=(60, 1)), rng.lognormal(0, 0.3, (60, 1))
    p = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    responses = (rng.random(p.shape) < p).astype(float)
    return camilla.ResponseTable.from_matrix(responses.T)


def same(one: Diagnosis, other: Diagnosis) -> bool:
    """Bit for bit."""
    parts = zip(one.params, other.params, strict=True)
    return all(np.array_equal(a, b) for a, b in parts if isinstance(a, np.ndarray)) and one.learners.equals(
        other.learners
    )


@pytest.mark.parametrize("where", [{"jobs": 2}, {"jobs": 2, "backend": "threading"}])
def test_chains_are_the_same_wherever_they_run(table: ResponseTable, where: dict[str, object]) -> None:
    here = camilla.diagnose(table, "bayes", chains=3, draws=60, seed=5)
    assert same(here, camilla.diagnose(table, "bayes", chains=3, draws=60, seed=5, **where))
    assert not same(here, camilla.diagnose(table, "bayes", chains=3, draws=60, seed=6))


def test_chains_with_features_are_the_same_on_processes(table: ResponseTable) -> None:
    features = pl.DataFrame({"sample": table.samples, "x": np.arange(60) % 7})
    known = table.with_features(samples=features)
    here, there = (camilla.diagnose(known, "bayes", chains=2, draws=40, jobs=jobs) for jobs in (1, 2))
    assert same(here, there)
    assert here.params.sample_weight is not None
    assert len(here.params.sample_weight) == len(here.params.ability) == 40


@pytest.mark.parametrize("fractional", [False, True])
def test_four_chains_draw_from_the_posterior_of_one_long_chain(fractional: bool) -> None:
    """Means within 4.5 Monte Carlo errors, of about 30 learners; spreads within 15 %.

    The errors are of as many independent draws as ArviZ's kind of estimate finds.
    """
    rng = np.random.default_rng(8)
    p = 1 / (1 + np.exp(-(rng.normal(size=(80, 1)) + rng.normal(size=15))))
    responses = rng.beta(3 * p, 3 * (1 - p)) if fractional else (rng.random(p.shape) < p) * 1.0
    world = camilla.ResponseTable.from_matrix(responses.T)
    long = camilla.diagnose(world, "bayes", dimensions=2, draws=3000, seed=1)
    four = camilla.diagnose(world, "bayes", dimensions=2, draws=3000, chains=4, seed=2)
    assert len(four.params.chain) == 4
    (a, n), (b, m) = ((one.params.scores, one.readout.effective_draws) for one in (long, four))
    assert n is not None
    assert m is not None
    error = np.sqrt(a.var(axis=0) / n + b.var(axis=0) / m)
    assert np.abs((a.mean(axis=0) - b.mean(axis=0)) / error).max() < 4.5
    assert b.std(axis=0) == pytest.approx(a.std(axis=0), rel=0.15)
    assert four.params.dispersion[0] == pytest.approx(long.params.dispersion[0], rel=0.02)
    assert np.abs(four.params.logit - long.params.logit).mean() < 0.1


def test_chains_that_are_too_short_are_flagged_and_long_ones_are_not(table: ResponseTable) -> None:
    """Ten draws for each of four chains say little of where a learner is; a thousand say it."""
    short = camilla.diagnose(table, "bayes", chains=4, draws=40)
    long = camilla.diagnose(table, "bayes", chains=4, draws=4000)
    assert any("do not agree yet" in note for note in short.provenance["notes"])
    assert short.provenance["r_hat"]["above"] > 5
    assert short.provenance["r_hat"]["highest"] == short.learners["r_hat"].max()
    assert not any("do not agree" in note for note in long.provenance["notes"])
    assert long.provenance["r_hat"]["above"] == 0
    assert long.learners["r_hat"].max() < 1.01


def test_chains_that_stand_apart_have_not_converged() -> None:
    """Eight learners so far from each other that most of them have nearly every response alike.

    Priors alone then say how far, and a chain hardly moves along it. One chain cannot know: its draws count
    as enough.
    """
    rng = np.random.default_rng(3)
    p = 1 / (1 + np.exp(-(8 * rng.normal(size=8) - rng.normal(size=(40, 1)))))
    table = camilla.ResponseTable.from_matrix(((rng.random(p.shape) < p) * 1.0).T)
    with pytest.warns(ConvergenceWarning, match="the chains of bayes do not agree: split-R̂"):
        found = camilla.diagnose(table, "bayes", chains=4)
    assert not found.provenance["converged"]
    assert camilla.diagnose(table, "bayes").provenance["converged"]


def test_one_chain_is_what_it_was_and_has_no_r_hat(table: ResponseTable) -> None:
    plain, one = (
        camilla.diagnose(table, "bayes", draws=60),
        camilla.diagnose(table, "bayes", draws=60, chains=1),
    )
    assert same(plain, one)
    assert plain.provenance["r_hat"] is None
    assert plain.params.chain is None
    assert "r_hat" not in plain.learners.columns


def test_auto_reads_several_chains(table: ResponseTable, tmp_path: Path) -> None:
    found = camilla.diagnose(table, "auto:chains=2", draws=80)
    alone = camilla.diagnose(table, "bayes:chains=2", draws=80)
    assert found.params.chain.tolist() == [40, 40]
    assert np.array_equal(found.params.scores, alone.params.scores)
    again = Diagnosis.load(found.save(tmp_path / "saved"))
    assert same(again, found)
    assert np.array_equal(again.readout.r_hat, found.readout.r_hat)


@pytest.mark.parametrize("name", ["bayes", "auto"])
def test_the_note_asks_for_what_can_be_had(
    table: ResponseTable, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """What it names is accepted, and draws four times as much in as many chains."""
    short = camilla.diagnose(table, f"{name}:chains=4", draws=40)
    (advice,) = re.findall(r"[\w:=]+draws=\d+", " ".join(short.provenance["notes"]))
    assert advice.split(":")[0] == name
    assert camilla.diagnose(table, advice).params.chain.tolist() == [40] * 4
    # a table that affords no more than the fewest draws gets no more by asking
    monkeypatch.setattr("camilla.models.bayes.SECONDS", 0.0)
    monkeypatch.setattr("camilla.models.bayes.FEWEST_DRAWS", 10)
    capped = camilla.diagnose(table, f"{name}:chains=4", draws=600)
    said = " ".join(capped.provenance["notes"])
    assert "A table of this size gets 40 draws at most with 13 dimensions" in said
    assert "Ask for more draws" not in said


def test_what_is_named_in_place_of_too_many_chains_is_accepted(table: ResponseTable) -> None:
    with pytest.raises(SettingError) as refused:
        camilla.diagnose(table, "bayes", chains=210, draws=40)
    chains, draws = (int(number) for number in re.findall(r"\d+", str(refused.value).partition("Ask")[2]))
    assert (chains, draws) == (4, 2100)
    assert len(camilla.diagnose(table, "bayes", chains=chains, draws=40).params.chain) == chains


def test_what_cannot_be_is_refused(table: ResponseTable) -> None:
    with pytest.raises(SettingError, match="Ask for draws=10 or more"):
        camilla.diagnose(table, "bayes", draws=1)
    with pytest.raises(SettingError, match="too few for 7 chains; each chain needs 10 draws"):
        camilla.diagnose(table, "bayes", chains=7, draws=60)
    with pytest.raises(SettingError, match="cannot be split over processes"):
        camilla.diagnose(table, "bayes", jobs=2)
    with pytest.raises(SettingError, match="cannot be split over processes"):
        camilla.diagnose(table, "irt", backend="ray")
    with pytest.raises(SettingError, match="got 0"):
        camilla.diagnose(table, "bayes", chains=2, jobs=0)
