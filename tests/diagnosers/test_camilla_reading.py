"""How Camilla's abilities are read: expected responses, or the paper's masks."""

import numpy as np
import pytest

from camilla import ResponseTable, diagnose


@pytest.fixture(scope="module")
def table():
    """σ(θ − b), 12 learners on 80 samples."""
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(-(rng.normal(size=(12, 1)) * 1.5 - rng.normal(size=80))))
    return ResponseTable.from_matrix((rng.random((12, 80)) < p).astype(float))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def expected_responses(params):
    """Eqs. 6–10 of the Camilla paper on the raw parameters, in double precision: [learners, samples]."""
    mastery, difficulty = sigmoid(params.ability.astype(float)), sigmoid(params.difficulty.astype(float))
    raised = np.exp(params.skill_mask.astype(float))
    asked = sigmoid(params.discrimination.astype(float)) * raised / raised.sum(axis=1, keepdims=True)
    layer = asked[None] * (mastery[:, None] - difficulty[None])
    for weight, bias in zip(params.weights, params.biases, strict=True):
        layer = sigmoid(layer @ weight.astype(float) + bias.astype(float))
    return layer[..., 0]


def test_ability_is_the_mean_expected_response_on_any_samples(table):
    """Parameters are single precision, which the formula does not notice: 1e-6."""
    found = diagnose(table, "camilla", dimensions=3, precision=1.0)
    expected = expected_responses(found.params)
    some = [1, 5, 40]
    on_some = found.ability([found.sample_names[j] for j in some])
    place = {name: i for i, name in enumerate(found.learner_names)}
    rows = [place[name] for name in on_some["learner"]]
    np.testing.assert_allclose(on_some["ability"], expected[rows][:, some].mean(axis=1), atol=1e-6)
    overall = dict(zip(found.learners["learner"], found.learners["ability"], strict=True))
    np.testing.assert_allclose(
        [overall[name] for name in found.learner_names], expected.mean(axis=1), atol=1e-6
    )


def test_masks_are_the_papers_reading(table):
    """Eqs. 13–14: Σ q̄ₖ Aᵢₖ, q̄ the mean of the masks."""
    found = diagnose(table, "camilla", dimensions=3, precision=1.0, reading="masks")
    raised = np.exp(found.params.skill_mask.astype(float))
    mask = raised / raised.sum(axis=1, keepdims=True)
    mastery = sigmoid(found.params.ability.astype(float))
    masses = dict(zip(found.learner_names, mastery @ mask.mean(axis=0), strict=True))
    for name, ability in zip(found.learners["learner"], found.learners["ability"], strict=True):
        assert ability == pytest.approx(masses[name])


def test_learners_are_ordered_as_they_were_made(table):
    """The responses are one-dimensional: with 80 of them the order of accuracy is hardly missed (τ > .8)."""
    from scipy.stats import kendalltau

    found = diagnose(table, "camilla", dimensions=10, precision=10.0)
    assert kendalltau(found.learners["ability"], found.learners["accuracy"]).statistic > 0.8
