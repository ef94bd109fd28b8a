"""Laws that hold for every diagnoser, each run on all of them."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import camilla
from camilla.diagnosis import Diagnosis
from camilla.fitting.engines import engine_of
from camilla.fitting.layout import layout_of_table
from camilla.fitting.learner_rows import levels, place_rows
from camilla.fitting.training import READING, Training, gathered
from camilla.models import DIAGNOSERS
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillGraph, SkillMap

ROUNDING = 1e-12
QUICK = Training(epochs=6, patience=6)
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "vanilla": ("vanilla", {}),
    "skill-vanilla": ("skill-vanilla", {}),
    "irt 1pl": ("irt", {"form": "1pl", "precision": 3.0}),
    "irt 2pl": ("irt", {"precision": 3.0}),
    "irt 3pl": ("irt", {"form": "3pl", "precision": 3.0}),
    "mirt": ("mirt", {"dimensions": 2, "precision": 3.0}),
    "mirt with skills": ("mirt", {"use_skills": True, "dimensions": 1, "precision": 3.0}),
    "mf": ("mf", {"dimensions": 2, "precision": 3.0}),
    "bayes": ("bayes", {"dimensions": 2, "draws": 150}),
    "gaussian": ("gaussian", {"dimensions": 2, "precision": 10.0}),
    "dina": ("dina", {}),
    "neural-cd": ("neural-cd", {"precision": 1.0, "training": QUICK}),
    "ka-ncd": ("ka-ncd", {"precision": 3.0, "training": QUICK}),
    "ka-ncd mf": ("ka-ncd", {"form": "mf", "precision": 3.0, "training": QUICK}),
    "ka-ncd ncf1": ("ka-ncd", {"form": "ncf1", "precision": 3.0, "training": QUICK}),
    "ka-ncd ncf2": ("ka-ncd", {"form": "ncf2", "precision": 3.0, "training": QUICK}),
    "hier-mirt": ("hier-mirt", {"precision": 3.0, "training": QUICK}),
    "hier-ncd": ("hier-ncd", {"precision": 3.0, "training": QUICK}),
    "qc-cdm": ("qc-cdm", {"precision": 3.0, "training": QUICK}),
    "qc-cdm full": ("qc-cdm", {"precision": 3.0, "hidden": (512, 256), "training": QUICK}),
    "qc-cdm 2": ("qc-cdm", {"mode": 2, "precision": 3.0, "training": QUICK}),
    "qc-cdm 12": ("qc-cdm", {"mode": 12, "precision": 3.0, "training": QUICK}),
    "qc-cdm 12 mf": ("qc-cdm", {"mode": 12, "augmentation": "mf", "precision": 3.0, "training": QUICK}),
    "camilla-base": ("camilla-base", {"precision": 1.0, "skill_correlation": 0.5}),
    "camilla-base free": ("camilla-base", {"signs": "free", "precision": 1.0, "skill_correlation": 0.5}),
    "camilla": ("camilla", {"precision": 3.0, "dimensions": 4, "training": QUICK}),
}
GRAPH = SkillGraph((("add", "carry"), ("borrow", "carry")))
SOME = ["sample-03", "sample-17"]
# A neural form takes ten seconds to compile; of each neural diagnoser one form is checked every time.
SLOW = ("ka-ncd mf", "ka-ncd ncf1", "ka-ncd ncf2", "qc-cdm full", "qc-cdm 2", "qc-cdm 12", "qc-cdm 12 mf")
# Coordinates of MF, latent MIRT and Gaussian may be rotated freely: none is a skill, so no law about one.
WITHOUT_SKILLS = ("mirt", "mf", "bayes", "gaussian")
# Placing lets responses update the samples too, so that a learner added again is near itself and not at it.
POSTERIOR = ("bayes",)
# Stop up to 2e-3 from the modes, where learners that near to each other change places.
TRAINED = tuple(form for form, (_, settings) in FORMS.items() if "training" in settings)

pytestmark = pytest.mark.filterwarnings("ignore::camilla.ConvergenceWarning")  # six epochs do not converge


def every_form(without: tuple[str, ...] = (), slow: tuple[str, ...] = ()) -> Any:
    """Runs a law on every form; `slow` ones among them take more than ten seconds of CPU."""
    forms = [form for form in FORMS if form not in without]
    return pytest.mark.parametrize(
        "form", [pytest.param(form, marks=[pytest.mark.slow] * (form in (*SLOW, *slow))) for form in forms]
    )


@pytest.fixture(autouse=True, scope="module")
def _quickly_compiled() -> Iterator[None]:
    """Laws hold for whatever code the compiler makes; optimised code costs more than it gains here."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def world() -> ResponseTable:
    """24 learners, 40 samples of 3 skills (some of two), one of which builds on two; a tenth is missing."""
    rng = np.random.default_rng(7)
    mask = np.zeros((40, 3), bool)
    mask[np.arange(40), rng.integers(3, size=40)] = True
    mask[:10, 0] = True
    ability, difficulty = rng.normal(size=(24, 3)), rng.normal(size=40)
    p = 1 / (1 + np.exp(-(1.5 * (ability @ mask.T) - difficulty)))
    responses = (rng.random((24, 40)) < p).astype(float)
    responses[rng.random((24, 40)) < 0.1] = np.nan
    table = ResponseTable.from_matrix(responses)
    return table.with_skills(SkillMap(("add", "carry", "borrow"), mask), graph=GRAPH)


@cache
def fitted(form: str) -> Diagnosis:
    name, settings = FORMS[form]
    return camilla.diagnose(world(), name, seed=3, **settings)


def refitted(form: str, table: ResponseTable) -> Diagnosis:
    name, settings = FORMS[form]
    return camilla.diagnose(table, name, seed=3, **settings)


def test_every_diagnoser_has_its_laws_checked() -> None:
    assert {name for name, _ in FORMS.values()} == set(DIAGNOSERS)


@every_form(WITHOUT_SKILLS)
def test_prediction_follows_ability_on_needed_skills_and_on_no_other(form: str) -> None:
    """It rises where the sample's discrimination is positive, falls where it is negative, else stays."""
    found = fitted(form)
    n_samples = len(found.sample_names)
    before = better(found, 0, by=0.0)
    for skill in range(found.readout.ability.shape[1]):
        change = better(found, skill) - before
        needed = asked(found, skill) if found.readout.explicit else np.ones(n_samples, bool)
        assert np.abs(change[:, ~needed]).max(initial=0) < ROUNDING
        direction = np.ones(n_samples)
        if "loading" in found.params._fields:
            direction = np.sign(found.params.loading[:, skill])
        assert np.min(change[:, needed] * direction[needed]) > -ROUNDING
        assert np.abs(change[:, needed]).max() > 1e-3


def asked(found: Diagnosis, skill: int) -> np.ndarray:
    """Samples that ask for the skill: those of the map, and those that an augmentation adds."""
    mask = found.diagnoser.size.skill_mask[:, skill]
    if found.diagnoser.name == "qc-cdm" and found.diagnoser.mode != 1:
        return mask | (found.diagnoser.model.added(found.params, np)[:, skill] > 0)
    return mask


def better(found: Diagnosis, skill: int, by: float = 0.5) -> np.ndarray:
    """Logits [learners, samples] with every learner better at one skill."""
    n, m = len(found.learner_names), len(found.sample_names)
    learner, sample = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    if found.diagnoser.engine != "neural":
        return (
            engine_of(found.diagnoser)
            .logit(found.diagnoser, raised(found, skill, by), learner, sample)
            .reshape(n, m)
        )
    model, mask = found.diagnoser.model, found.diagnoser.size.skill_mask
    at = gathered(model.axes, found.params, learner, sample)
    mastery = model.mastery(at, np).astype(np.float64)
    mastery[:, skill] += by * (1 - mastery[:, skill])
    return model.compare(mastery, at, None if mask is None else mask[sample], np, READING).reshape(n, m)


def raised(found: Diagnosis, skill: int, by: float) -> Any:
    """The parameters with every learner better at one skill."""
    params = found.params
    if found.diagnoser.name == "vanilla":
        return params._replace(mean=params.mean + by * (1 - params.mean))
    if found.diagnoser.name == "skill-vanilla":
        patterns = np.array(
            [found.diagnoser.mask[params.pattern == p][0] for p in range(params.by_pattern.shape[1])]
        )
        up = params.by_pattern + np.where(patterns[:, skill], by * (1 - params.by_pattern), 0)
        return params._replace(by_pattern=up)
    if found.diagnoser.name == "dina":
        states = np.arange(params.posterior.shape[1])
        moved = np.zeros_like(params.posterior)
        np.add.at(moved.T, states | (1 << skill), params.posterior.T)
        return params._replace(posterior=moved if by else params.posterior)
    ability = params.ability.astype(np.float64)
    ability[:, skill] += by
    return params._replace(ability=ability)


def test_positive_discriminations_are_kept_where_skills_must_keep_their_meaning() -> None:
    for form in ("mirt with skills", "camilla-base"):
        assert fitted(form).params.loading.min() >= 0
    for form in ("camilla", "hier-mirt", "hier-ncd", "qc-cdm"):
        assert all(weight.min() >= 0 for weight in fitted(form).params.weights)
    assert all(scale.min() >= 0 for scale in fitted("qc-cdm").params.scales)


@every_form()
def test_the_order_of_rows_learners_and_samples_does_not_matter(form: str) -> None:
    rng = np.random.default_rng(0)
    table = world()
    shuffled = table.take_learners(rng.permutation(24)).take_samples(rng.permutation(40))
    rows = rng.permutation(shuffled.n_responses)
    shuffled = ResponseTable(
        shuffled.learners, shuffled.samples, shuffled.learner[rows], shuffled.sample[rows],
        shuffled.response[rows], skill_map=shuffled.skill_map, skill_graph=shuffled.skill_graph,
    )  # fmt: skip
    same(refitted(form, shuffled), fitted(form))


@every_form(slow=("qc-cdm", "hier-ncd", "ka-ncd", "hier-mirt"))  # two tables, each compiled for
def test_a_row_of_weight_two_is_the_row_twice(form: str) -> None:
    table = world()
    heavy = np.arange(table.n_responses) % 5 == 0
    rows = np.concatenate([np.arange(table.n_responses), np.flatnonzero(heavy)])
    names = ("learners", "samples", "skill_map", "skill_graph")
    parts: dict[str, Any] = {name: getattr(table, name) for name in names}
    twice = ResponseTable(
        learner=table.learner[rows], sample=table.sample[rows], response=table.response[rows], **parts
    )
    weighted = ResponseTable(
        learner=table.learner, sample=table.sample, response=table.response, weight=1.0 + heavy, **parts
    )
    same(refitted(form, twice), refitted(form, weighted))


@every_form()
def test_a_missing_cell_changes_nothing(form: str) -> None:
    table = world()
    filled = table.to_long().with_columns(pl.col("response").cast(pl.Float64))
    absent = [(a, b) for a in table.learners for b in table.samples]
    given = set(filled.select("learner", "sample").iter_rows())
    gaps = pl.DataFrame(
        [(a, b, None) for a, b in absent if (a, b) not in given], schema=filled.schema, orient="row"
    )
    told = ResponseTable.from_long(pl.concat([gaps, filled]))
    assert told.n_missing == gaps.height
    order = {name: row for row, name in enumerate(table.samples)}
    assert table.skill_map is not None
    skills = table.skill_map.take(np.array([order[name] for name in told.samples]))
    told = told.with_skills(skills, graph=table.skill_graph)
    same(refitted(form, told), fitted(form))


@every_form()
def test_a_saved_diagnosis_comes_back_bit_for_bit(form: str, tmp_path: Path) -> None:
    found = fitted(form)
    again = Diagnosis.load(found.save(tmp_path / "saved"))
    for name in ("learners", "samples", "skills"):
        assert_frame_equal(getattr(again, name), getattr(found, name), check_exact=True)
    assert again.provenance == found.provenance
    np.testing.assert_array_equal(again.probabilities(), found.probabilities())
    assert_frame_equal(again.ability(SOME), found.ability(SOME), check_exact=True)


@every_form()
def test_relabelled_skills_give_relabelled_results(form: str) -> None:
    table = world()
    assert table.skill_map is not None
    names = {"add": "zeta", "carry": "alpha", "borrow": "mu"}
    order = [2, 0, 1]
    renamed = SkillMap(tuple(names[table.skill_map.skills[k]] for k in order), table.skill_map.mask[:, order])
    graph = SkillGraph(tuple((names[parent], names[child]) for parent, child in GRAPH.edges))
    found = refitted(form, table.with_skills(renamed, graph=graph))
    wanted = fitted(form).skills.with_columns(pl.col("skill").replace(names))
    assert_frame_equal(
        found.skills.sort("learner", "skill"), wanted.sort("learner", "skill"), check_exact=True
    )


@every_form(without=POSTERIOR)
def test_a_learner_added_again_gets_its_own_ability_back(form: str) -> None:
    """Within 2e-3 of the scale: what the fits leave between their stop and the exact mode.

    Six epochs may end before there is a mode that predicts as well; such a fit says that its learners are
    not placed, and the law is then about their exact places.
    """
    found = fitted(form)
    table = world()
    placed = found.place(table.take_learners([5, 11]))
    own = found.ability() if found.provenance["placed"] else at_their_modes(found, table)
    own = own.filter(pl.col("learner").is_in(placed["learner"].to_list()))
    both = placed.join(own, on="learner", suffix="_own")
    np.testing.assert_allclose(both["ability"], both["ability_own"], atol=2e-3)


def test_a_posterior_places_a_learner_of_its_pool_near_where_it_stands() -> None:
    """Its responses count once more, for the learner and for the samples: less than a standard error."""
    found = fitted("bayes")
    both = found.learners.join(found.place(world()), on="learner", suffix="_placed")
    off = (both["ability_placed"] - both["ability"]).abs() / both["se"]
    assert off.max() < 1
    assert off.mean() < 0.3


@every_form(without=(*TRAINED, *POSTERIOR))
def test_learners_of_the_pool_are_placed_at_their_own_ranks(form: str) -> None:
    """By their own responses; the copy is not below the original, and what the fit leaves decides nothing."""
    found = fitted(form)
    both = found.learners.join(found.place(world()), on="learner", suffix="_placed")
    assert both["rank_placed"].to_list() == both["rank"].to_list()


def at_their_modes(found: Diagnosis, table: ResponseTable) -> pl.DataFrame:
    """Ability of every learner moved from where it stopped to its mode, samples frozen."""
    weight, right = layout_of_table(table.in_fitting_order()).block(np.arange(table.n_samples))
    rows, covariance, _ = place_rows(found.diagnoser, found.params, weight.T, right.T, start=True)
    level = levels(found.diagnoser, found.params, rows, covariance)
    ability = found.ability_on(level, np.arange(table.n_samples))
    return pl.DataFrame({"learner": found.learner_names}).hstack(ability)


@every_form()
def test_placing_leaves_the_diagnosis_as_it_was(form: str) -> None:
    found = fitted(form)
    before = [np.copy(part) for part in flat(found.params)]
    found.place(world().take_learners([1]))
    for old, new in zip(before, flat(found.params), strict=True):
        np.testing.assert_array_equal(old, new)


def test_n_counts_cells_as_whole_numbers_however_often_they_were_tried() -> None:
    """Learner 0 answered three samples of four, each sample was asked three times."""
    matrix = np.array([[1, 0, 1, np.nan], [0, 1, 1, 0], [1, 1, 0, 1]])
    once = ResponseTable.from_matrix(matrix)
    rows = np.tile(np.arange(once.n_responses), 3)
    table = ResponseTable(
        once.learners, once.samples, once.learner[rows], once.sample[rows], once.response[rows]
    )
    found = camilla.diagnose(table, "vanilla")
    by_learner = found.learners.sort("learner")["n"]
    assert (by_learner.dtype, by_learner.to_list()) == (pl.Int64, [3, 4, 4])
    assert found.samples["n"].to_list() == [3, 3, 3, 2]
    assert found.place(table)["n"].to_list() == [3, 4, 4]


def test_an_all_right_learner_is_finite_and_first() -> None:
    table = world()
    matrix = np.vstack([table.matrix(), np.ones(40)])
    perfect = ResponseTable.from_matrix(matrix).with_skills(table.skill_map)
    for form in ("irt 2pl", "camilla-base", "mirt with skills"):
        board = refitted(form, perfect).learners
        assert board["ability"].is_finite().all()
        assert board["learner"][0] == "learner-24"


def flat(params: Any) -> list[np.ndarray]:
    out: list[np.ndarray] = []
    for part in params:
        out += list(part) if isinstance(part, tuple) else [] if part is None else [part]
    return out


def same(one: Diagnosis, other: Diagnosis) -> None:
    """Equal results, whatever order their rows come in."""
    assert_frame_equal(one.learners, other.learners, check_exact=True)
    assert_frame_equal(one.samples.sort("sample"), other.samples.sort("sample"), check_exact=True)
    by = ["learner", "skill"]
    assert_frame_equal(one.skills.sort(by), other.skills.sort(by), check_exact=True)
