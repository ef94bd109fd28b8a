"""KaNCD, HierMIRT, HierNCD and QCCDM against formulas written here."""

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from camilla.errors import DataError
from camilla.fitting.engines import engine_of
from camilla.fitting.layout import Size
from camilla.fitting.neural import InTraining, remembered
from camilla.fitting.training import READING, Start, gathered, logit_of
from camilla.models import DIAGNOSERS
from camilla.models import hier as hier_file

# The classifier preprint: skills, graph and the skills of its 22 metrics, each on 16 data sets.
SKILLS = ("C0", "C1", "BC", "S0", "S1", "EQ", "PR")
EDGES = ((0, 2), (1, 2), (0, 3), (1, 4), (3, 5), (4, 5), (3, 6), (4, 6))
METRICS = (
    "BC EQ", "S0", "S1", "S0", "S1", "EQ", "BC EQ", "PR", "S0", "C0 S0", "S1",
    "C1 S1", "BC EQ", "S0", "S1", "EQ", "S0", "S1", "EQ", "EQ", "PR", "EQ",
)  # fmt: skip
MASK = np.tile([[skill in metric.split() for skill in SKILLS] for metric in METRICS], (16, 1))
PREPRINT = Size(248, 352, MASK, fractional=True, skill_edges=EDGES)

TABLE_6: dict[str, tuple[int, str, dict[str, Any]]] = {
    "MIRT": (4552, "mirt", {"dimensions": 7}),
    "NeuralCD": (7177, "neural-cd", {"hidden": (64, 32)}),
    "KaNCD": (22467, "ka-ncd", {"dimensions": 32, "hidden": (64, 32)}),
    "HierMIRT": (9544, "hier-mirt", {"hidden": 64}),
    "HierNCD": (11657, "hier-ncd", {"hidden": 64}),
    "QCCDM small": (9882, "qc-cdm", {"mode": 12, "hidden": (64, 32)}),
    "QCCDM": (144282, "qc-cdm", {"mode": 12, "hidden": (512, 256)}),
}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "neural-cd": ("neural-cd", {}),
    "camilla": ("camilla", {}),
    "ka-ncd gmf": ("ka-ncd", {"dimensions": 4}),
    "ka-ncd mf": ("ka-ncd", {"dimensions": 4, "form": "mf"}),
    "ka-ncd ncf1": ("ka-ncd", {"dimensions": 4, "form": "ncf1"}),
    "ka-ncd ncf2": ("ka-ncd", {"dimensions": 4, "form": "ncf2"}),
    "hier-mirt": ("hier-mirt", {"hidden": 6}),
    "hier-ncd": ("hier-ncd", {"hidden": 6}),
    "qc-cdm 1": ("qc-cdm", {}),
    "qc-cdm 2": ("qc-cdm", {"mode": 2}),
    "qc-cdm 12": ("qc-cdm", {"mode": 12}),
    "qc-cdm 12 mf": ("qc-cdm", {"mode": 12, "augmentation": "mf"}),
    "qc-cdm softplus": ("qc-cdm", {"activation": "softplus"}),
    "qc-cdm tanh": ("qc-cdm", {"activation": "tanh"}),
}


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def started(form: str, *, precision: float) -> tuple[Any, Any]:
    """A diagnoser of 9 learners and the 22 metrics, and its projected start: ours, or the released one."""
    name, settings = FORMS[form]
    size = Size(9, 22, MASK[:22], skill_edges=EDGES)
    diagnoser: Any = DIAGNOSERS[name](size, precision=precision, **settings)  # type: ignore[call-arg]
    rng = np.random.default_rng(3)
    level = Start(rng.normal(size=9), rng.normal(size=22))
    return diagnoser, diagnoser.model.project(diagnoser.init(rng, level), np)


@pytest.mark.parametrize("model", TABLE_6)
def test_parameter_counts_are_those_of_table_6(model: str) -> None:
    """Table 6 of the preprint, 248 learners on 22 metrics × 16 data sets."""
    count, name, settings = TABLE_6[model]
    diagnoser = DIAGNOSERS[name](PREPRINT, **settings)  # type: ignore[call-arg]
    assert engine_of(diagnoser).parameter_count(diagnoser) == count


@pytest.mark.parametrize("form", ["gmf", "mf", "ncf1", "ncf2"])
def test_parameter_counts_of_kancds_forms(form: str) -> None:
    d, network = 8, 7 * 64 + 64 + 64 * 32 + 32 + 32 + 1
    maps = {"mf": 0, "gmf": 2 * (d + 1), "ncf1": 2 * (2 * d + 1), "ncf2": 2 * (2 * d * d + 2 * d + 1)}[form]
    diagnoser = DIAGNOSERS["ka-ncd"](PREPRINT, form=form, dimensions=d)  # type: ignore[call-arg]
    assert engine_of(diagnoser).parameter_count(diagnoser) == (248 + 352 + 7) * d + 352 + maps + network


def test_the_product_over_parents_is_the_sum_over_their_states() -> None:
    """Σ over the 2ⁿ states of the parents of Π (cp^{1/n} m or cn^{1/n} (1 − m)), three levels deep."""
    edges = ((0, 3), (1, 3), (2, 3), (3, 4), (0, 4))
    rng = np.random.default_rng(0)
    prior, cp, cn = rng.normal(size=(6, 5)), rng.normal(size=(6, 5)), rng.normal(size=(6, 5))
    nothing = np.zeros((1, 1))
    params = hier_file.HierParams(prior, cp, cn, nothing, nothing, (), ())
    found = hier_file.HierNetwork(edges, 1.0, crossed=False).mastery(params, np)
    wanted = sigmoid(prior)
    for child in (3, 4):
        into = [e for e, edge in enumerate(edges) if edge[1] == child]
        total = np.zeros(6)
        for state in product((True, False), repeat=len(into)):
            term = np.ones(6)
            for e, mastered in zip(into, state, strict=True):
                parent = wanted[:, edges[e][0]]
                chance = sigmoid((cp if mastered else cn)[:, e]) ** (1 / len(into))
                term = term * chance * (parent if mastered else 1 - parent)
            total += term
        wanted[:, child] = total
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_child_rises_with_its_parents_where_cp_exceeds_cn() -> None:
    rng = np.random.default_rng(1)
    prior, cn = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    params = hier_file.HierParams(prior, cn + rng.random((40, 2)), cn, *2 * [np.zeros((1, 1))], (), ())
    model = hier_file.HierNetwork(((0, 2), (1, 2)), 1.0, crossed=False)
    before = model.mastery(params, np)[:, 2]
    for parent in (0, 1):
        prior = params.prior.copy()
        prior[:, parent] += 0.5
        assert (model.mastery(params._replace(prior=prior), np)[:, 2] > before).all()


def test_the_penalty_is_the_mean_of_what_a_mastered_parent_would_cost() -> None:
    """λ mean Σ relu(cn − cp), less half of the .05 over which the hinge is round for each edge above it."""
    cp, cn = np.zeros((2, 3)), np.array([[1.0, -2.0, 3.0], [0.0, 0.0, -1.0]])
    nothing = np.zeros((1, 1))
    params = hier_file.HierParams(np.zeros((2, 3)), cp, cn, nothing, nothing, (), ())
    model = hier_file.HierNetwork(((0, 1), (0, 2), (1, 2)), 0.5, crossed=False)
    assert model.penalty(params, params, None, np) == pytest.approx(0.5 * (1 + 3 - 2 * 0.025) / 2)


@pytest.mark.parametrize("activation", ["sigmoid", "softplus", "tanh"])
def test_qccdms_levels_follow_from_the_inverse_of_the_graph(activation: str) -> None:
    """T = (I − A)⁻¹ with det(I − A) = 1, v = f(u) T, m = σ(v), or σ(f(v)) if f is not σ; read from ½ up."""
    form = "qc-cdm 1" if activation == "sigmoid" else f"qc-cdm {activation}"
    diagnoser, params = started(form, precision=1.0)
    weight = np.zeros((7, 7))
    for parent, child in EDGES:
        weight[parent, child] = params.graph[parent, child]
    assert np.linalg.det(np.eye(7) - weight) == pytest.approx(1.0, abs=1e-12)
    inverse = np.linalg.inv(np.eye(7) - weight)
    np.testing.assert_allclose(diagnoser.model.inherited(params.graph, np), inverse, atol=1e-6)
    f = {"sigmoid": sigmoid, "softplus": lambda x: np.log1p(np.exp(x)), "tanh": np.tanh}[activation]
    passed = f(params.ability.astype(float)) @ inverse
    mastery = sigmoid(passed if activation == "sigmoid" else f(passed))
    wanted = mastery if activation == "tanh" else 2 * mastery - 1
    np.testing.assert_allclose(diagnoser.model.mastery(params, np), wanted, atol=1e-6)


def test_qccdm_augments_the_map_by_what_lies_outside_it() -> None:
    """Q̂ = Q + (1 − Q) ∘ Qₙ: a gap of mastery counts Qₙ times where the map has none."""
    diagnoser, params = started("qc-cdm 12", precision=1.0)
    model, sample = diagnoser.model, np.arange(22)
    at = gathered(model.axes, params, np.zeros(22, int), sample)
    within = at._replace(augmentation=np.ones((22, 7)))
    everything = np.ones((22, 7), bool)
    mastery = np.tile(np.linspace(0.2, 0.8, 7), (22, 1))
    np.testing.assert_allclose(
        model.compare(mastery, within, MASK[:22], np, READING),
        model.compare(mastery, at, everything, np, READING), rtol=1e-12,
    )  # fmt: skip
    halves = params._replace(augmentation=np.where(MASK[:22], 0.9, 0.5))
    share = (~MASK[:22]).mean()
    assert model.penalty(halves, halves, MASK[:22], np) == pytest.approx(diagnoser.penalty * 0.5 * share)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("precision", [0.0, 1.0], ids=["released start", "our start"])
def test_no_prediction_falls_with_mastery(form: str, precision: float) -> None:
    diagnoser, params = started(form, precision=precision)
    learner, sample = np.repeat(np.arange(9), 22), np.tile(np.arange(22), 9)
    model, mask = diagnoser.model, diagnoser.size.skill_mask[sample]
    at = gathered(model.axes, params, learner, sample)
    mastery = model.mastery(at, np).astype(float)
    before = model.compare(mastery, at, mask, np, READING)
    for skill in range(mastery.shape[1]):
        up = mastery.copy()
        up[:, skill] += 0.5
        change = model.compare(up, at, mask, np, READING) - before
        assert change.min() > -1e-9
        if form not in ("camilla", "qc-cdm 2", "qc-cdm 12", "qc-cdm 12 mf"):
            assert np.abs(change[~mask[:, skill]]).max() == 0


@pytest.mark.parametrize("form", FORMS)
def test_numpy_and_jax_say_the_same(form: str) -> None:
    """To float32's rounding of sums of a hundred terms."""
    diagnoser, params = started(form, precision=1.0)
    learner, sample = np.repeat(np.arange(9), 22), np.tile(np.arange(22), 9)
    model, mask = diagnoser.model, diagnoser.size.skill_mask[sample]
    at = gathered(model.axes, params, learner, sample)
    ours = logit_of(model, at, mask, np, READING)
    compiled = jax.jit(lambda at, mask: logit_of(model, at, mask, jnp, READING))
    theirs = compiled(jax.tree.map(jnp.asarray, at), jnp.asarray(mask, jnp.float32))
    np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=1e-5)


def test_ncf1_ranks_learners_alike_on_every_skill() -> None:
    """It is additive in learner and skill: what its page warns of."""
    diagnoser, params = started("ka-ncd ncf1", precision=1.0)
    order = np.argsort(diagnoser.model.mastery(params, np), axis=0)
    assert (order == order[:, :1]).all()


def test_batches_are_normed_by_themselves_and_reading_by_what_was_kept() -> None:
    """Batch norm as torch has it: biased variance within, unbiased kept, a tenth of each batch, ε = 1e-5."""
    _, params = started("qc-cdm 1", precision=1.0)
    x = np.random.default_rng(0).normal(3, 2, (50, 64)).astype(np.float32)
    mode = InTraining(0.0, jax.random.key(0))
    normed = mode.norm(jnp.asarray(x), params.moments[0])
    np.testing.assert_allclose(normed, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), atol=1e-4)
    mode.norm(jnp.asarray(x[:, :32]), params.moments[1])
    kept = np.asarray(remembered(params, mode.seen, 0.1).moments[0])
    np.testing.assert_allclose(kept[0], 0.1 * x.mean(0), rtol=1e-4)
    np.testing.assert_allclose(kept[1], 0.9 + 0.1 * x.var(0, ddof=1), rtol=1e-4)
    np.testing.assert_allclose(
        READING.norm(x, kept), (x - kept[0]) / np.sqrt(kept[1] + 1e-5), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", ["hier-mirt", "hier-ncd", "qc-cdm"])
def test_a_graph_is_asked_for_where_it_is_needed(name: str) -> None:
    with pytest.raises(DataError, match=f"{name} needs a skill graph.*--skill-graph"):
        DIAGNOSERS[name](Size(3, 22, MASK[:22]))  # type: ignore[call-arg]
    with pytest.raises(DataError, match=f"{name} needs a skill map"):
        DIAGNOSERS[name](Size(3, 22, None))  # type: ignore[call-arg]
