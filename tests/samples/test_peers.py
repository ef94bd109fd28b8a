"""Scores drawn to what the models missed in learners that answered alike."""

import numpy as np
import pytest
from scipy.optimize import minimize

import camilla
from camilla.samples.bank import Answers, Bank, BankModel, Peers, Score, calibrate, missed_in_peers
from camilla.samples.replay import play
from camilla.table.responses import ResponseTable

N_SAMPLES = 12


def bank_of_one_model(n_peers: int = 6) -> Bank:
    rng = np.random.default_rng(4)
    loading, intercept = rng.lognormal(0, 0.3, (N_SAMPLES, 1)), rng.normal(size=N_SAMPLES)
    ability = rng.normal(size=(n_peers, 1))
    model = BankModel(loading, intercept, np.array([0.2]), np.array([[1.5]]), ability)
    response = (rng.random((n_peers, N_SAMPLES)) < 0.6).astype(float)
    return Bank(tuple(f"s{j}" for j in range(N_SAMPLES)), (model,), Peers(np.arange(n_peers), response))


def logistic(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_what_is_missed_is_the_mean_of_the_formula() -> None:
    """Each peer placed by scipy on the five samples asked, its expectations by MacKay's σ(m/√(1 + πv/8)), and
    the weights exp(.7 √5 cos − (Δscore / 2 se)² / 2) written out. Newton's four steps and scipy's end within
    1e-6 of each other."""
    bank = bank_of_one_model()
    model, peers = bank.models[0], bank.peers
    assert peers is not None
    a, c = model.loading[:, 0], model.intercept
    asked, answers = np.array([0, 3, 4, 7, 11]), np.array([1.0, 0, 1, 1, 0])
    rest = np.setdiff1d(np.arange(N_SAMPLES), asked)
    unseen = np.isin(np.arange(N_SAMPLES), rest)
    own, score, se = np.full(N_SAMPLES, 0.55), 0.57, 0.08
    numerator, denominator = 0.0, 3.0
    for response in peers.response:

        def loss(theta: np.ndarray, x: np.ndarray = response[asked]) -> float:
            logit = a[asked] * theta[0] + c[asked]
            return float((np.logaddexp(0, logit) - x * logit).sum() + (theta[0] - 0.2) ** 2 / 3)

        theta = minimize(loss, [0.0], tol=1e-12).x[0]
        q = logistic(a[asked] * theta + c[asked])
        variance = a**2 / (1 / 1.5 + (a[asked] ** 2 * q * (1 - q)).sum())
        p = logistic((a * theta + c) / np.sqrt(1 + np.pi * variance / 8))
        u, v = response[asked] - p[asked], answers - own[asked]
        level = (response[asked].sum() + p[rest].sum()) / N_SAMPLES
        cosine = u @ v / np.sqrt((u @ u) * (v @ v))
        weight = np.exp(0.7 * np.sqrt(5) * cosine - ((level - score) / (2 * se)) ** 2 / 2)
        numerator += weight * (response[rest] - p[rest]).sum() / N_SAMPLES
        denominator += weight
    given = Answers(asked[None], answers[None], unseen[None], np.array([N_SAMPLES]))
    found = missed_in_peers(bank, given, own[None], Score(np.array([score]), np.array([se])))
    assert found[0] == pytest.approx(numerator / denominator, abs=1e-6)
    assert abs(found[0]) > 1e-3


def families(seed: int, n_learners: int, n_samples: int) -> np.ndarray:
    """Right or wrong by ability, difficulty and a taste, sd 2, that the learners of a family share and that
    is fresh on every sample: no few dimensions hold eight tastes."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(0, 2, (8, n_samples))[rng.integers(8, size=n_learners)]
    logit = rng.normal(size=(n_learners, 1)) - rng.normal(size=n_samples) + taste
    return (rng.random(logit.shape) < logistic(logit)).astype(float)


def test_peers_bring_the_score_of_a_family_nearer() -> None:
    """A bank of one dimension knows no tastes; the peers do. 60 of each of 3 worlds tested by 30 of 200
    samples: the squared error falls by more than twice the standard error of its paired fall."""
    falls = []
    for seed in range(3):
        x = families(seed, 140, 200)
        bank = calibrate(ResponseTable.from_matrix(x[:80]), dimensions=1)
        with_peers, without = (play(b, x[80:], [30]).score[0] for b in (bank, bank._replace(peers=None)))
        truth = x[80:].mean(axis=1)
        falls.append((without - truth) ** 2 - (with_peers - truth) ** 2)
    fall = np.concatenate(falls)
    assert fall.mean() > 2 * fall.std(ddof=1) / np.sqrt(len(fall))


def test_peers_are_whole_rows_evenly_spaced_by_score() -> None:
    x = (np.random.default_rng(1).random((300, 9)) < 0.5).astype(float)
    x[0, 3] = np.nan
    peers = calibrate(ResponseTable.from_matrix(x), dimensions=1).peers
    assert peers is not None
    assert len(peers.learner) == 200
    assert 0 not in peers.learner
    np.testing.assert_array_equal(peers.response, x[peers.learner])
    means = x[1:].mean(axis=1)
    assert {peers.response.mean(axis=1).min(), peers.response.mean(axis=1).max()} == {
        means.min(),
        means.max(),
    }


def test_below_ten_whole_rows_there_are_no_peers() -> None:
    x = camilla.simulate(12, 10, seed=2).table.matrix()
    x[:2, 0] = np.nan
    peers = calibrate(ResponseTable.from_matrix(x), dimensions=1).peers
    assert peers is not None
    assert len(peers.learner) == 10
    x[2, 0] = np.nan
    assert calibrate(ResponseTable.from_matrix(x), dimensions=1).peers is None
