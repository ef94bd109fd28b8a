"""How Camilla's abilities are read: expected responses, or the paper's masks."""

import jax
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import kendalltau

from camilla import ResponseTable, diagnose


@pytest.fixture(autouse=True, scope="module")
def _quickly_compiled():
    """Formulas hold for whatever code the compiler makes; optimising it costs more than it gains here."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture
def _optimised():
    """For fits that train longer than they compile."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture(scope="module")
def table():
    """σ(θ − b), 12 learners on 80 samples."""
    rng = np.random.default_rng(5)
    p = 1 / (1 + np.exp(-(rng.normal(size=(12, 1)) * 1.5 - rng.normal(size=80))))
    return ResponseTable.from_matrix((rng.random((12, 80)) < p).astype(float))


@pytest.fixture(scope="module")
def found(table):
    return diagnose(table, "camilla", dimensions=3, precision=1.0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def logits(params, raised_by=0.0):
    """Eqs. 6–10 of the Camilla paper on the raw parameters, in double precision: [learners, samples]."""
    mastery = sigmoid(params.ability.astype(float) + raised_by)
    difficulty = sigmoid(params.difficulty.astype(float))
    raised = np.exp(params.skill_mask.astype(float))
    asked = sigmoid(params.discrimination.astype(float)) * raised / raised.sum(axis=1, keepdims=True)
    layer = asked[None] * (mastery[:, None] - difficulty[None])
    for weight, bias in zip(params.weights[:-1], params.biases[:-1], strict=True):
        layer = sigmoid(layer @ weight.astype(float) + bias.astype(float))
    return (layer @ params.weights[-1].astype(float) + params.biases[-1].astype(float))[..., 0]


def slopes_on_the_mean(logit):
    """Of each sample's logits on the learners' mean logits, by least squares."""
    return np.array([np.polyfit(logit.mean(axis=1), column, 1)[0] for column in logit.T])


def read_off(weighted, slope, logit):
    """The mean of σ(a + g ℓ) at the level where its mean weighted by g is this one."""

    def gap(level):
        return np.average(sigmoid(logit + slope * level), weights=slope) - weighted

    return sigmoid(logit + slope * brentq(gap, -100, 100, xtol=1e-13)).mean()


def abilities(found, frame):
    by_name = dict(zip(frame["learner"], frame["ability"], strict=True))
    return [by_name[name] for name in found.learner_names]


def test_ability_is_the_expected_response_samples_counting_by_their_slopes(found):
    """At the level which the weighted count says. Parameters are single precision: 1e-6."""
    logit = logits(found.params)
    weight = np.maximum(slopes_on_the_mean(logit), 0.01)
    shown = dict(zip(found.samples["sample"], found.samples["weight"], strict=True))
    np.testing.assert_allclose([shown[name] for name in found.sample_names], weight, atol=1e-5)
    for some in (range(80), [1, 5, 40]):
        frame = found.ability([found.sample_names[j] for j in some])
        counts = np.average(sigmoid(logit)[:, some], axis=1, weights=weight[some])
        wanted = [read_off(count, weight[some], logit.mean(axis=0)[some]) for count in counts]
        np.testing.assert_allclose(abilities(found, frame), wanted, atol=1e-6)
    alone = abilities(found, found.ability([found.sample_names[7]]))
    np.testing.assert_allclose(alone, sigmoid(logit)[:, 7], atol=1e-6)


def test_predicting_for_nobody_gives_an_empty_frame(found):
    """As a report does that has no surprise to show."""
    assert found.predict(learners=[]).columns == ["learner", "sample", "probability", "low", "high"]
    assert found.predict(learners=[]).height == 0


def test_fractional_responses_count_alike():
    """A slope on the logit says how well right and wrong tell learners apart; of shares it says nothing."""
    rng = np.random.default_rng(6)
    shares = sigmoid(rng.normal(size=(8, 1)) - rng.normal(size=30) + 0.3 * rng.normal(size=(8, 30)))
    found = diagnose(ResponseTable.from_matrix(shares), "camilla", dimensions=3, precision=1.0)
    assert "weight" not in found.samples.columns
    wanted = sigmoid(logits(found.params)).mean(axis=1)
    np.testing.assert_allclose(abilities(found, found.learners), wanted, atol=1e-6)


def test_levels_keep_the_weighted_count_of_right_responses(table, found):
    """c Σ g (x − p) = τ Σ r for every learner, c the mean slope of its logits by its level.

    The level moves by less than .05 of a raw unit after c is taken, and c with it by a few percent: of a
    count of 80 that leaves .1. Unweighted counts are off by more.
    """
    logit = logits(found.params)
    missed = table.in_fitting_order().matrix() - sigmoid(logit)
    by_level = (logits(found.params, 1e-4) - logits(found.params, -1e-4)).mean(axis=1) / 2e-4
    pull = found.params.ability.astype(float).sum(axis=1)
    kept = missed @ slopes_on_the_mean(logit) - pull / by_level
    np.testing.assert_allclose(kept, 0, atol=0.1)
    assert np.abs(missed.sum(axis=1) - pull / by_level).max() > 0.2


@pytest.mark.slow
@pytest.mark.usefixtures("_optimised")
def test_abilities_follow_a_world_of_unequal_discriminations_closer_than_accuracy():
    """Σ a x is sufficient for θ in a 2PL world and Σ x is not. What the true a gain on accuracy (Kendall
    with θ) is more than half gained by estimated weights; weighing all samples alike gains a third."""
    gained, to_gain = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        theta, a = rng.normal(size=(60, 1)), np.exp(0.8 * rng.normal(size=250))
        x = (rng.random((60, 250)) < sigmoid(a * (theta - rng.normal(size=250)))).astype(float)
        table = ResponseTable.from_matrix(x)
        found = diagnose(table, "camilla", dimensions=5, precision=3.0)  # one seed, one compilation
        ability = dict(zip(found.learners["learner"], found.learners["ability"], strict=True))
        plain = kendalltau(x.mean(axis=1), theta[:, 0]).statistic
        gained.append(kendalltau([ability[name] for name in table.learners], theta[:, 0]).statistic - plain)
        to_gain.append(kendalltau(x @ a, theta[:, 0]).statistic - plain)
    assert np.mean(gained) > np.mean(to_gain) / 2


@pytest.mark.slow
@pytest.mark.usefixtures("_optimised")
def test_intervals_of_abilities_cover_93_to_97_percent():
    """12 worlds of 60 abilities, the truth being what is expected under the true 2PL, counted by the fit's
    weights and read off its curves; the coverage's own spread is about one point."""
    inside = []
    for seed in range(12):
        rng = np.random.default_rng(900 + seed)
        theta, a = rng.normal(size=(60, 1)), np.exp(0.4 * rng.normal(size=150))
        p = sigmoid(a * (theta - rng.normal(size=150)))
        table = ResponseTable.from_matrix((rng.random(p.shape) < p).astype(float))
        found = diagnose(table, "camilla", seed=seed)
        slope = found.readout.sample_weight
        place = [table.samples.index(name) for name in found.sample_names]
        counts = np.average(p[:, place], axis=1, weights=slope)
        truth = [read_off(count, slope, found.readout.sample_logit) for count in counts]
        of = dict(zip(table.learners, truth, strict=True))
        told = found.learners.select("learner", "low", "high").rows()
        inside += [low <= of[name] <= high for name, low, high in told]
    assert 0.93 <= np.mean(inside) <= 0.97


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
    found = diagnose(table, "camilla", dimensions=10, precision=10.0)
    assert kendalltau(found.learners["ability"], found.learners["accuracy"]).statistic > 0.8
