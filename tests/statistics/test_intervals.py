"""Ends of intervals against scipy, a published table and likelihoods written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest

from camilla.statistics.intervals import tango, wilson


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int, int]:
    """Samples won, lost and all."""
    won, lost = draw(st.integers(0, 40)), draw(st.integers(0, 40))
    return won, lost, max(won + lost + draw(st.integers(0, 300)), 1)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(counts: tuple[int, int]) -> None:
    """The same closed form: rounding only, absolute because an end may be 0."""
    right, n = counts
    expected = binomtest(right, n).proportion_ci(method="wilson")
    found = wilson(right / n, n, 1.959963984540054)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(
    ("won", "lost", "n", "low", "high", "digits"),
    [(1, 7, 21, -0.517, -0.026, 3), (6, 16, 161, -0.1240, -0.0054, 4)],
    ids=["airway hyper-responsiveness", "complete response"],
)
def test_tango_is_published_examples(
    won: int, lost: int, n: int, low: float, high: float, digits: int
) -> None:
    """Bentur et al. (2009) in Fagerland, Lydersen and Laake (2014), and Cavo et al. (2012) as R's
    contingencytables, of the same authors, prints it: as many digits as they give."""
    found = tango(won, lost, n, 0.95)
    assert (round(float(found.low), digits), round(float(found.high), digits)) == (low, high)


def score_by_likelihood(difference: float, won: int, lost: int, n: int) -> float:
    """The efficient score over its standard error, the share lost being that of the highest likelihood.

    Shares are d + q, q and 1 − d − 2q; the score is ∂/∂d of their log likelihood, its variance, q being
    estimated, I_dd − I_dq²/I_qq with I the information of a multinomial.
    """
    low, high = max(0.0, -difference) + 1e-12, (1 - difference) / 2 - 1e-12

    def loss(q: float) -> float:
        shares = np.array([difference + q, q, 1 - difference - 2 * q])
        return -float(np.array([won, lost, n - won - lost]) @ np.log(np.maximum(shares, 1e-300)))

    q = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-14}).x
    up, down, rest = difference + q, q, 1 - difference - 2 * q
    score = won / up - (n - won - lost) / rest
    own, cross, other = 1 / up + 1 / rest, 1 / up + 2 / rest, 1 / up + 1 / down + 4 / rest
    return score / np.sqrt(n * (own - cross**2 / other))


@settings(max_examples=60)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 200))
def test_tango_inverts_the_score_test_of_the_likelihood(won: int, lost: int, rest: int) -> None:
    """The statistic at both ends is ±1.96; the search for q is good to some 1e-7, the ratio to 1e-4."""
    n = won + lost + rest
    found = tango(won, lost, n, 0.95)
    for end, expected in ((found.low, 1.959964), (found.high, -1.959964)):
        assert score_by_likelihood(float(end), won, lost, n) == pytest.approx(expected, abs=1e-4)


def test_one_sided_flips_have_wilsons_interval() -> None:
    """With nothing lost the far end is that of Wilson's interval of the share won: z²/(n + z²) for none."""
    z = 1.959963984540054
    none = tango(0, 0, 40, 0.95)
    assert (none.low, none.high) == pytest.approx((-(z**2) / (40 + z**2), z**2 / (40 + z**2)))
    some = tango(np.array([3, 9]), 0, 40, 0.95)
    np.testing.assert_allclose(some.high, wilson(np.array([3, 9]) / 40, 40, z).high)


@given(counts())
def test_tango_holds_the_difference_and_turns_with_the_sides(counted: tuple[int, int, int]) -> None:
    won, lost, n = counted
    found, turned = tango(won, lost, n, 0.9), tango(lost, won, n, 0.9)
    assert -1 <= found.low <= (won - lost) / n <= found.high <= 1
    assert (found.low, found.high) == pytest.approx((-turned.high, -turned.low), abs=1e-12)
