"""Power against statsmodels where it has it, and against simulated evaluations where it has not."""

import re
from importlib.metadata import version

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.stats import binom, chi, norm
from scipy.stats import t as student
from statsmodels.stats.power import TTestPower

import camilla
from camilla.errors import DataError, SettingError
from camilla.learners.power import design_of, power
from camilla.statistics.clusters import spread_of
from camilla.statistics.paired import mcnemar_p
from camilla.statistics.power import Design, difference_for, power_of, samples_for
from camilla.table.responses import ResponseTable


@pytest.mark.parametrize("ratio", [0.05, 0.125, 0.4])
def test_samples_for_scores_are_statsmodels(ratio: float) -> None:
    """The same non-central t; ours is the next whole number."""
    expected = TTestPower().solve_power(ratio, power=0.8, alpha=0.05)
    assert samples_for(Design(sd=0.4), ratio * 0.4) == int(np.ceil(expected))


def test_the_difference_that_samples_show_is_statsmodels() -> None:
    """The search ends within 1e-5."""
    expected = TTestPower().solve_power(nobs=200, power=0.9, alpha=0.01) * 0.4
    assert difference_for(Design(sd=0.4), 200, power=0.9, alpha=0.01) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(
    ("n", "discordance", "difference"), [(50, 0.3, 0.2), (100, 0.2, 0.1), (500, 0.1, 0.04)]
)
def test_the_power_of_mcnemar_is_what_simulation_finds(n: int, discordance: float, difference: float) -> None:
    """20,000 evaluations: a standard error of at most .0036; allow four."""
    rng = np.random.default_rng(1)
    shares = [(discordance - difference) / 2, (discordance + difference) / 2, 1 - discordance]
    lost, won, _ = rng.multinomial(n, shares, size=20_000).T
    found = power_of(Design(discordance=discordance), difference, n)
    assert found == pytest.approx(np.mean(mcnemar_p(lost, won) <= 0.05), abs=0.0144)


def test_the_power_of_mcnemar_where_every_sample_flips_is_a_sum_over_wins() -> None:
    """Discordance 1: all 50 samples flip, so that wins ~ Binomial(50, .6). Rounding only."""
    won = np.arange(51)
    rejects = 2 * binom.cdf(np.minimum(won, 50 - won), 50, 0.5) <= 0.05
    found = power_of(Design(discordance=1), 0.2, 50)
    assert found == pytest.approx(binom.pmf(won, 50, 0.6)[rejects].sum(), rel=1e-9)
    assert found == pytest.approx(power_of(Design(discordance=1 - 1e-9), 0.2, 50), abs=1e-6)
    n = samples_for(Design(discordance=1), 0.2)
    assert n is not None
    assert power_of(Design(discordance=1), 0.2, n) >= 0.8 > power_of(Design(discordance=1), 0.2, n - 3)


@pytest.mark.parametrize("shift", [36.5, 38.5, 39, 60, 1e6])
@pytest.mark.parametrize("n", [21, 1000, 10_000])
def test_a_difference_far_beyond_chance_is_always_shown(shift: float, n: int) -> None:
    """Non-centralities 36 and more, 34 beyond where the test rejects: power is 1 to all digits."""
    assert power_of(Design(sd=0.01), shift * 0.01 / np.sqrt(n), n) == 1


def test_a_small_spread_shows_a_small_difference() -> None:
    """10,000 samples of σ = .01: (z₀.₉₇₅ + z₀.₈) σ/√n, Student's t being the normal; the search ends within
    1e-5."""
    expected = (norm.ppf(0.975) + norm.ppf(0.8)) * 0.01 / 100
    assert difference_for(Design(sd=0.01), 10_000) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("df", "alpha"), [(1, 0.05), (1.5, 0.001), (30, 0.05)])
def test_power_of_scores_is_the_integral_it_stands_for(df: float, alpha: float) -> None:
    """E[P(|Z + δ| > t s)] over s = χ/√df, by quadrature, to its 1e-7; δ = 3 and 38."""
    for shift in (3.0, 38.0):
        n = round(2 * (df + 1))
        reach = student.ppf(1 - alpha / 2, df)

        def rejects(c: float, shift: float = shift, reach: float = reach) -> float:
            s = reach * c / np.sqrt(df)
            return float(chi.pdf(c, df) * (norm.cdf(shift - s) + norm.cdf(-shift - s)))

        turn = min(shift * np.sqrt(df) / reach, 15.0)
        expected = quad(rejects, 0, turn, limit=200)[0] + quad(rejects, turn, 16, limit=200)[0]
        design = Design(sd=0.5, cluster_size=2)
        assert power_of(design, shift * 0.5 / np.sqrt(n), n, alpha=alpha) == pytest.approx(expected, abs=1e-7)


def test_samples_and_difference_are_inverse() -> None:
    design = Design(discordance=0.2)
    n = samples_for(design, 0.05)
    assert n is not None
    assert power_of(design, 0.05, n) >= 0.8 > power_of(design, 0.05, n - 3)
    assert difference_for(design, n) == pytest.approx(0.05, abs=2e-4)


def test_clusters_and_trials_are_a_design_effect_that_simulation_confirms() -> None:
    """Differences with σ² = .16, half of it chance within samples; 4 trials; 50 clusters of 8, ρ = .1.

    2,000 evaluations tested by clusters: a standard error of .01; allow four.
    """
    design = Design(sd=0.4, trial_share=0.5, trials=4, cluster_size=8, icc=0.1)
    variance = 0.16 * (0.5 + 0.5 / 4)
    assert design.effect == pytest.approx((0.5 + 0.5 / 4) * (1 + 7 * 0.1))
    rng, group = np.random.default_rng(2), np.repeat(np.arange(50), 8)
    shared = rng.normal(size=(2000, 50))[:, group]
    d = 0.07 + np.sqrt(variance) * (np.sqrt(0.1) * shared + np.sqrt(0.9) * rng.normal(size=(2000, 400)))
    spread = spread_of(d, group)
    p = 2 * student.sf(np.abs(spread.mean) / np.sqrt(spread.variance), spread.df)
    assert power_of(design, 0.07, 400) == pytest.approx(np.mean(p < 0.05), abs=0.04)


def test_a_design_is_read_off_a_table() -> None:
    """Discordance .3 by construction, on 4,000 samples: a standard error of .007; allow four."""
    rng = np.random.default_rng(3)
    u = rng.random(4000)
    table = ResponseTable.from_matrix(
        np.array([u < 0.6, (u > 0.15) & (u < 0.75)], float), learners=["a", "b"]
    )
    for found in (design_of(table), design_of(table, ("a", "b"))):
        assert found.design.discordance == pytest.approx(0.3, abs=0.03)


def test_trials_of_a_table_are_taken_apart() -> None:
    """p ~ Beta(2, 2) for A and for B: a difference varies by .1 between samples and, with one trial each, by
    2 E[p(1 − p)] = .4 within: σ² = .5, share .8. From 3 trials of 3,000 samples; 5 % tolerance."""
    rng = np.random.default_rng(4)
    rows = []
    for name in "ab":
        p = np.repeat(rng.beta(2, 2, 3000), 3)
        right = (rng.random(9000) < p).astype(float)
        rows.append(
            pl.DataFrame({"learner": name, "sample": np.repeat(np.arange(3000), 3), "response": right})
        )
    frame = pl.concat(rows)
    design = design_of(ResponseTable.from_long(frame)).design
    merged = frame.group_by("learner", "sample", "response", maintain_order=True).len("weight")
    assert design_of(ResponseTable.from_long(merged, weight="weight")).design == design
    assert design.sd == pytest.approx(np.sqrt(0.5), rel=0.05)
    assert design.trial_share == pytest.approx(0.8, rel=0.05)
    assert (design.trials, power(design, trials=10).design.trials) == (3, 10)


def test_differences_that_cancel_within_clusters_are_planned_as_if_they_did_not_correlate() -> None:
    """Two samples a cluster, ±¼ each: the correlation is −1 by construction, and 20 clusters are taken for 40
    samples of σ = ¼ √(40/39), which its note says."""
    half = np.tile([0.25, -0.25], 20)
    table = ResponseTable.from_matrix([np.full(40, 0.5), 0.5 + half], learners=["a", "b"])
    pages = (
        pl.col("sample").cast(pl.String).replace({name: f"{j // 2}" for j, name in enumerate(table.samples)})
    )
    table = ResponseTable.from_long(table.to_long().with_columns(page=pages), cluster="page")
    design, note = design_of(table, ("a", "b"))
    assert (design.icc, design.effect, design.cluster_size) == (0, 1, 2)
    assert design.sd == pytest.approx(0.25 * np.sqrt(40 / 39))
    assert "correlate by -1.000, which is taken as 0" in note


@pytest.mark.parametrize("trials", [1, 3])
def test_the_range_over_neighbours_is_of_what_the_design_says(trials: int) -> None:
    """The median lies within 10–90 % of its pairs: of discordance, and of σ with one trial each."""
    rng = np.random.default_rng(7)
    right = rng.random((8, 200, trials)) < rng.beta(2, 2, 200)[:, None]
    learner, sample, _ = (place.ravel() for place in np.indices(right.shape))
    frame = pl.DataFrame({"learner": learner, "sample": sample, "response": right.ravel().astype(float)})
    design, note = design_of(ResponseTable.from_long(frame))
    word, value = ("discordance", design.discordance) if trials == 1 else ("σ of one trial", design.sd)
    low, high = re.search(rf"{word} ([\d.]+) to ([\d.]+) ", note).groups()
    assert value is not None
    assert float(low) <= value <= float(high)


def test_a_plan_answers_what_was_asked() -> None:
    found = power(Design(sd=0.4), differences=0.05, samples=[300])
    assert found.chance == pytest.approx(TTestPower().power(0.125, 300, 0.05))
    document = found.to_document()
    assert document["needed"] == [{"difference": 0.05, "samples": 505}]
    assert [row["samples"] for row in power(Design(discordance=0.05)).to_document()["seen"]][:2] == [100, 300]
    assert [row.difference for row in power(Design(discordance=0.05)).needed] == [0.01, 0.02, 0.05]


def test_a_plan_says_what_it_rests_on_with_a_table_and_without() -> None:
    table = ResponseTable.from_matrix([[1, 0, 1, 1], [0, 0, 1, 0]])
    for made in (power(table).provenance, power(Design(sd=0.4), alpha=0.01).provenance):
        assert made["versions"]["scipy"] == version("scipy")
        assert made["versions"]["camilla"] == camilla.__version__
    assert made["settings"]["alpha"] == 0.01
    assert made["settings"]["sd"] == 0.4
    assert power(table).provenance["data_hash"] == table.digest()


@pytest.mark.parametrize(
    "wrong", [{}, {"sd": 0.1, "discordance": 0.1}, {"sd": 0}, {"discordance": 1.5}, {"sd": 0.2, "trials": 0}]
)
def test_designs_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingError):
        Design(**wrong)  # type: ignore[arg-type]


def test_what_cannot_be_planned_is_said() -> None:
    with pytest.raises(SettingError, match="most"):
        samples_for(Design(discordance=0.1), 0.2)
    with pytest.raises(SettingError, match="alpha"):
        samples_for(Design(sd=0.1), 0.2, power=0.01)
    with pytest.raises(DataError, match="share"):
        design_of(ResponseTable.from_matrix([[1, np.nan], [np.nan, 1]]))
    assert difference_for(Design(discordance=0.02), 20) is None
