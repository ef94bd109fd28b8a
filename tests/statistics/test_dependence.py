"""Learners that agree more often than their levels explain: found where answers were copied."""

import numpy as np
import pytest

import camilla
from camilla.arrays import Floats, sigmoid
from camilla.statistics.dependence import agreement_of
from camilla.table.responses import ResponseTable


def world(seed: int, copied: float, n: int = 12, m: int = 200) -> Floats:
    """A Rasch world whose learners copy a share of an earlier learner's answers."""
    rng = np.random.default_rng(seed)
    ability, difficulty = 0.5 * rng.normal(size=n), 1.2 * rng.normal(size=m)
    right = (rng.random((n, m)) < sigmoid(ability[:, None] - difficulty)).astype(float)
    for i in range(1, n):
        taken = rng.random(m) < copied
        right[i, taken] = right[rng.integers(0, i), taken]
    return right


def test_copied_answers_are_found_and_independent_ones_are_not() -> None:
    """20 worlds each. Of independent ones at most 1 % names a pair: three or more would be one in 1,000."""
    found = {share: [agreement_of(world(seed, share)) for seed in range(20)] for share in (0.0, 0.6)}
    named = {share: sum(one is not None and one.n_alike > 0 for one in ones) for share, ones in found.items()}
    assert named[0.0] <= 2
    assert named[0.6] == 20


def test_expected_differences_are_those_of_the_formula() -> None:
    """Σ p (1 − p′) + p′ (1 − p), pair by pair, with gaps."""
    matrix = world(3, 0.6)
    matrix[np.random.default_rng(1).random(matrix.shape) < 0.2] = np.nan
    found = agreement_of(matrix)
    assert found is not None
    assert found.n_pairs == 66
    a, b = found.closest
    seen = ~np.isnan(matrix)
    level = (np.nansum(matrix, axis=1) + 0.5) / (seen.sum(axis=1) + 1)
    easy = (np.nansum(matrix, axis=0) + level.mean()) / (seen.sum(axis=0) + 1)
    logit = lambda share: np.log(share / (1 - share))  # noqa: E731
    p, q = (sigmoid(logit(level[i]) + logit(easy) - logit(level.mean())) for i in (a, b))
    both = seen[a] & seen[b]
    assert found.expected == pytest.approx(np.sum((p * (1 - q) + q * (1 - p))[both]))
    assert found.differ == np.sum(matrix[a, both] != matrix[b, both])


def test_dependence_is_said_by_check_and_beside_what_draws_decide() -> None:
    """Where responses are missing; with a complete table the responses decide, and the note is not needed."""
    gaps = np.random.default_rng(2).random((12, 200)) < 0.05
    copied, apart = (ResponseTable.from_matrix(np.where(gaps, np.nan, world(1, one))) for one in (0.6, 0.0))
    findings = {one.about: one for one in camilla.check(copied).findings}
    assert findings["copies of learners"].level == "fine"
    assert findings["learners that agree"].level == "note"
    says = findings["learners that agree"].says
    assert "pairs of learners agree more often than their levels explain" in says
    assert any(one.startswith(says) and "P(best)" in one for one in notes(copied))
    assert not any("levels explain" in one for one in notes(apart))
    assert not any("levels explain" in one for one in notes(ResponseTable.from_matrix(world(1, 0.6))))
    assert {one.about: one.level for one in camilla.check(apart).findings}["learners that agree"] == "fine"


def notes(table: ResponseTable) -> list[str]:
    found = camilla.diagnose(table, "bayes").provenance["notes"]
    assert isinstance(found, list)
    return found
