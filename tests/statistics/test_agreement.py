"""DOA, DOC, their ceiling and R², against worked cases, definitions written out, and scikit-learn."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import r2_score

from camilla.statistics import agreement
from camilla.statistics.concordance import inversions, pair_counts


def array(rows: list) -> np.ndarray:
    return np.array([[np.nan if value is None else value for value in row] for row in rows], float)


def same(found: np.ndarray, wanted: list) -> None:
    """A handful of fractions of small whole numbers: equal to the last few bits, NaN for null."""
    expected = np.array([np.nan if value is None else value for value in wanted], float)
    np.testing.assert_allclose(found, expected, rtol=1e-14, equal_nan=True)


def test_worked_cases(data_folder: Path) -> None:
    cases = json.loads((data_folder.parent / "expected/doa_cases.json").read_text())["cases"]
    assert len(cases) == 9
    for case in cases:
        responses, mastery, mask = array(case["responses"]), array(case["mastery"]), np.array(case["Q"], bool)
        wanted = case["expected"]
        pairs, counts = (
            agreement.pair_agreement(responses, mastery, mask),
            pair_counts(responses, mastery, mask),
        )
        doa = agreement.doa(pairs.wins, mastery)
        same(doa, wanted["doa_per_skill"])
        same(counts.doa(), wanted["doa_pooled_per_skill"])
        same(pairs.doc, wanted["doc_per_item"])
        same(counts.doc(), wanted["doc_pooled_per_item"])
        means = [agreement.overall(part) for part in (doa, counts.doa(), pairs.doc, counts.doc())]
        same(np.array(means), [wanted[name] for name in ("doa", "doa_pooled", "doc", "doc_pooled")])
        if case["predictions"] is not None:
            predicted = array(case["predictions"])
            assert agreement.r_squared(responses, predicted) == pytest.approx(wanted["r2"], rel=1e-14)
            within = agreement.r_squared_within(responses, predicted)
            assert within == pytest.approx(wanted["r2_within"], rel=1e-14)


def world(seed: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Responses with ties and holes, mastery with ties, samples of one to three skills."""
    rng = np.random.default_rng(seed)
    responses = rng.integers(0, 5, (n, 6)) / 4
    responses[rng.random(responses.shape) < 0.2] = np.nan
    mask = rng.random((6, 3)) < 0.5
    mask[np.arange(6), rng.integers(0, 3, 6)] = True
    return responses, rng.integers(0, 4, (n, 3)) / 3, mask


def mean_share(wins: np.ndarray, counted: np.ndarray) -> float | None:
    """Mean of wins of a over wins of a or b, over the counted ordered pairs (a, b) that have any."""
    shares = []
    for a, b in permutations(range(len(wins)), 2):
        told = wins[a, b].sum() + wins[b, a].sum()
        if counted[a, b] and told:
            shares.append(wins[a, b].sum() / told)
    return np.mean(shares) if shares else None


@settings(max_examples=60)
@given(st.integers(0, 100_000), st.integers(2, 21), st.sampled_from([None, 0.3]))
def test_the_definitions_written_out_agree(seed: int, n: int, margin: float | None) -> None:
    responses, mastery, mask = world(seed, n)
    apart = responses[:, None] - responses[None]  # [a, b, samples]
    won, ahead = apart > (margin or 0), (mastery[:, None] - mastery[None]) > 0
    doa = [mean_share(won[..., mask[:, k]], ahead[..., k]) for k in range(3)]
    doc = [mean_share(ahead[..., mask[j]], won[..., j]) for j in range(6)]
    pairs = agreement.pair_agreement(responses, mastery, mask, margin=margin)
    same(agreement.doa(pairs.wins, mastery), doa)
    same(pairs.doc, doc)


@settings(max_examples=60)
@given(st.integers(0, 100_000), st.integers(2, 70))
def test_pairs_are_counted_as_kendall_counts_them(seed: int, n: int) -> None:
    """τ-b's numerator is C − D: whole numbers, compared after rounding away SciPy's own square root."""
    responses, mastery, mask = world(seed, n)
    counts = pair_counts(responses, mastery, mask)
    for j, k in zip(*np.nonzero(mask), strict=True):
        seen = ~np.isnan(responses[:, j])
        x, m = responses[seen, j], mastery[seen, k]
        apart = [(x[a] - x[b]) * (m[a] - m[b]) for a in range(len(x)) for b in range(a)]
        assert counts.concordant[j, k] == sum(value > 0 for value in apart)
        assert counts.discordant[j, k] == sum(value < 0 for value in apart)
        if len(set(x)) > 1 and len(set(m)) > 1:
            up, down = counts.concordant[j, k], counts.discordant[j, k]
            ties = [sum((v[a] == v[b]) for a in range(len(v)) for b in range(a)) for v in (x, m)]
            root = np.sqrt(np.prod([len(x) * (len(x) - 1) / 2 - tie for tie in ties]))
            assert (up - down) / root == pytest.approx(kendalltau(x, m).statistic, abs=1e-12)
    assert (counts.concordant[~mask] == 0).all()


def test_a_reversed_row_of_a_thousand_has_all_inversions() -> None:
    rows = np.array([np.arange(1000)[::-1], np.arange(1000)])
    assert inversions(rows).tolist() == [1000 * 999 // 2, 0]


def test_no_order_of_learners_exceeds_the_ceiling() -> None:
    """All 720 orders of six learners are tried: the bound is proved, so not one may lie above it."""
    for seed in range(10):
        responses, _, mask = world(seed, 6)
        wins = agreement.pair_wins(responses, mask)
        orders = [np.tile(np.array(order, float)[:, None], 3) for order in permutations(range(6))]
        best = np.max([agreement.doa(wins, order) for order in orders], axis=0)
        assert (best <= agreement.ceiling(wins) + 1e-12).all()


def test_borda_is_the_share_won_and_comes_near_the_ceiling() -> None:
    """40 learners of unlike ability on 120 samples with as much noise as ability.

    On real pools the score comes within about .01 of the bound; so it must here, where one order is true.
    """
    rng = np.random.default_rng(7)
    responses = rng.normal(size=(40, 1)) + rng.normal(size=(40, 120))
    mask = np.eye(3, dtype=bool)[np.arange(120) % 3]
    wins = agreement.pair_wins(responses, mask)
    score = agreement.borda(wins)
    first = responses[:, mask[:, 0]]
    shares = [np.mean(first[4] > first[other]) for other in range(40) if other != 4]
    assert score[4, 0] == pytest.approx(np.mean(shares), rel=1e-12)
    assert agreement.doa(wins, score) == pytest.approx(agreement.ceiling(wins), abs=0.01)


def test_random_mastery_agrees_by_half() -> None:
    """Each pair's W and 1 − W are equally likely: the mean over 300 shuffles of 30 learners is .5 to .01."""
    responses, _, mask = world(1, 30)
    wins, rng = agreement.pair_wins(responses, mask), np.random.default_rng(0)
    values = [
        agreement.doa(wins, rng.permuted(np.tile(np.arange(30.0)[:, None], 3), axis=0)) for _ in range(300)
    ]
    assert np.mean(values) == pytest.approx(0.5, abs=0.01)


def test_r_squared_is_that_of_scikit_learn() -> None:
    """Within a sample it is R² about the sample's mean: 0 for the sample means themselves."""
    rng = np.random.default_rng(5)
    x, p = rng.random((20, 8)), rng.random((20, 8))
    assert agreement.r_squared(x, p) == pytest.approx(r2_score(x.ravel(), p.ravel()), rel=1e-12)
    assert agreement.r_squared_within(x, np.tile(x.mean(axis=0), (20, 1))) == pytest.approx(0, abs=1e-12)


def test_adjusted_and_weighted_values() -> None:
    assert agreement.adjusted(0.6, 0.7) == pytest.approx(0.5)
    assert np.isnan(agreement.adjusted(0.5, 0.5))
    mask = np.array([[1, 0], [1, 0], [1, 1]], bool)
    assert agreement.sample_weighted(np.array([0.8, 0.4]), mask) == pytest.approx((3 * 0.8 + 0.4) / 4)
    assert agreement.sample_weighted(np.array([0.8, np.nan]), mask) == pytest.approx(0.8)
