"""Python's statistics and the page's (web/test/golden.test.ts) agree with one file of SciPy's numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from camilla.statistics.intervals import Z, tango
from camilla.statistics.paired import mcnemar_p
from camilla.statistics.power import Design, power_of, samples_for
from camilla.statistics.wald import two_sided_p

GOLDEN = Path(__file__).parents[2] / "web/test/golden.json"


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def test_the_file_holds_what_scipy_says(golden: dict[str, Any]) -> None:
    for case in golden["mcnemar"]:
        flips = case["won"] + case["lost"]
        assert case["p"] == pytest.approx(binomtest(case["won"], flips).pvalue if flips else 1, rel=1e-12)
    for case in golden["normal"]:
        assert case["cdf"] == pytest.approx(norm.cdf(case["z"]), rel=1e-12)
        assert case["two_sided"] == pytest.approx(2 * norm.sf(abs(case["z"])), rel=1e-12)
    assert golden["critical"] == pytest.approx(norm.ppf(0.975), rel=1e-14)


def test_mcnemar_is_the_binomial_test(golden: dict[str, Any]) -> None:
    won, lost, p = (np.array([case[name] for case in golden["mcnemar"]]) for name in ("won", "lost", "p"))
    np.testing.assert_allclose(mcnemar_p(lost, won), p, rtol=1e-10)


def test_tango_solves_its_equation(golden: dict[str, Any]) -> None:
    """The golden ends come from a numerical maximum of the likelihood, good to about 1e-8."""
    won, lost, n, low, high = (
        np.array([case[name] for case in golden["tango"]]) for name in ("won", "lost", "n", "low", "high")
    )
    found = tango(won, lost, n, 0.95)
    np.testing.assert_allclose(found.low, low, atol=1e-7)
    np.testing.assert_allclose(found.high, high, atol=1e-7)


def test_normal_quantiles_and_tails(golden: dict[str, Any]) -> None:
    assert pytest.approx(golden["critical"], rel=1e-12) == Z
    for case in golden["normal"]:
        assert float(two_sided_p(case["z"])) == pytest.approx(case["two_sided"], rel=1e-12)


def test_power_and_samples_needed(golden: dict[str, Any]) -> None:
    for case in golden["power"]:
        found = power_of(Design(discordance=case["discordance"]), case["difference"], case["n"])
        assert found == pytest.approx(case["power"], abs=1e-9)
    for case in golden["samples"]:
        found = samples_for(Design(discordance=case["discordance"]), case["difference"])
        assert found == case["samples"]
    for case in golden["samples_of_means"]:
        assert samples_for(Design(sd=case["sd"]), case["difference"]) == case["samples"]
