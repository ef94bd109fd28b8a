"""Table to diagnosis: the one place that puts names on parameters."""

import platform
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

import camilla
from camilla import auto
from camilla.auto import AUTO, diagnoser_named
from camilla.data.cells import Cells
from camilla.data.responses import ResponseTable
from camilla.data.validity import check_diagnosable
from camilla.diagnoser import Floats, Readout, Size, Spread, Watch
from camilla.diagnosis import Diagnosis, Z, accuracy_columns
from camilla.engine import fit as engine
from camilla.engine.layout import Layout, layout_of
from camilla.engine.settings import settings_as_data
from camilla.engine.threads import one_blas_thread
from camilla.errors import ConvergenceWarning, SettingError


def diagnose(
    table: ResponseTable, diagnoser: str = AUTO, *,
    seed: int = 0, as_published: bool = False, watch: Watch = lambda line: None, **settings: Any,
) -> Diagnosis:  # fmt: skip
    """The diagnosis of every learner and sample of a table.

    `diagnoser` is "auto", which chooses one, or its name; `settings` are its own (see its page). What is
    not set is chosen on a tenth of the responses, then fitted on all. `as_published` follows the
    paper's training instead. The same table, seed and settings give the same diagnosis in any order of rows,
    learners, samples and skills.
    """
    check_diagnosable(table)
    ordered = in_fitting_order(table)
    size, layout = size_of(ordered), layout_of_table(ordered)
    given = published_settings(diagnoser, size) | settings if as_published else settings
    with one_blas_thread():
        found = auto.fit(diagnoser, size, layout, settings=given, seed=seed, valid=None, watch=watch)
        watch("standard errors")
        spread = engine.spread(
            found.fit.diagnoser, found.fit.solution.params, layout, standard=not found.trials
        )
        readout = readout_of(found, spread)
    if not found.fit.solution.converged:
        warnings.warn(_what_to_try(found.fit), ConvergenceWarning, stacklevel=2)
    provenance = _provenance(table, found, readout, seed=seed, as_published=as_published)
    return named(table, ordered, found.fit, readout, provenance)


def readout_of(found: auto.Found, spread: Spread | None) -> Readout:
    """What a person reads of a fit: the diagnoser's own abilities, or expected responses where auto chose."""
    readout = found.fit.diagnoser.readout(found.fit.solution.params, spread)
    return auto.as_expected(readout) if found.trials else readout


def published_settings(name: str, size: Size) -> dict[str, Any]:
    """The paper's training of a diagnoser; those that need none have nothing to set."""
    if name == AUTO:
        raise SettingError("auto is of no paper; as_published wants the name of a diagnoser.")
    kind = diagnoser_named(name)
    return kind.as_published(size) if hasattr(kind, "as_published") else {}


def in_fitting_order(table: ResponseTable) -> ResponseTable:
    """Learners and samples by name, skills by which samples need them: a fit that no order can change."""
    ordered = table.canonical().table
    if ordered.skill_map is None:
        return ordered
    keys = [np.packbits(column).tobytes() for column in ordered.skill_map.mask.T]
    order = sorted(range(len(keys)), key=lambda k: (keys[k], ordered.skill_map.skills[k]))  # type: ignore[union-attr]
    skill_map = type(ordered.skill_map)(
        tuple(ordered.skill_map.skills[k] for k in order),
        ordered.skill_map.mask[:, order],
        ordered.skill_map.notes,
    )
    return ordered.with_skills(skill_map, graph=ordered.skill_graph)


def size_of(table: ResponseTable) -> Size:
    """What a diagnoser is told of the table."""
    graph, skill_map = table.skill_graph, table.skill_map
    mask = None if skill_map is None else skill_map.mask
    edges = None if graph is None or skill_map is None else graph.among(skill_map.skills)
    return Size(table.n_learners, table.n_samples, mask, not table.is_binary, edges)


def layout_of_table(table: ResponseTable) -> Layout:
    """The responses as the engines take them."""
    cells = table.cells()
    return layout_of(
        cells.learner, cells.sample, cells.response, cells.weight,
        n_learners=table.n_learners, n_samples=table.n_samples,
    )  # fmt: skip


def named(
    table: ResponseTable,
    ordered: ResponseTable,
    fitted: engine.Fit,
    readout: Readout,
    provenance: dict[str, Any],
) -> Diagnosis:
    """The frames a person reads: learners by rank, samples in the table's order, skills in the map's."""
    skill_names = ordered.skill_map.skills if ordered.skill_map is not None else _latent_names(readout)
    bare = Diagnosis(
        pl.DataFrame(), pl.DataFrame(), pl.DataFrame(), provenance,
        ordered.learners, ordered.samples, skill_names,
        fitted.diagnoser, fitted.solution.params, readout, fitted.temperature, ordered.cells(),
    )  # fmt: skip
    learners = (
        bare.ability()
        .with_row_index("rank", offset=1)
        .select("learner", "rank", pl.exclude("learner", "rank"))
    )
    frames = {"learners": learners, "samples": _samples(bare, table), "skills": _skills(bare, table)}
    return Diagnosis(**{**vars(bare), **frames})


def _latent_names(readout: Readout) -> tuple[str, ...]:
    if readout.skill_weight is None:
        return ("overall",)
    n_dims = readout.ability.shape[1]
    return ("overall",) if n_dims == 1 else tuple(f"latent {k + 1}" for k in range(n_dims))


def _skills(bare: Diagnosis, table: ResponseTable) -> pl.DataFrame:
    parts = []
    for skill, samples in bare.skill_samples():
        level = bare.skill_ability(bare.readout.ability, bare.readout.covariance, skill, samples)
        who = pl.DataFrame({"learner": bare.learner_names}).with_columns(
            skill=pl.lit(bare.skill_names[skill])
        )
        parts.append(who.hstack(bare.beside_accuracy(level, bare.accuracy_on(samples))))
    given = bare.skill_names if table.skill_map is None else table.skill_map.skills
    return pl.concat(parts).sort(
        pl.col("learner").replace_strict(_places(table.learners), return_dtype=pl.Int64),
        pl.col("skill").replace_strict(_places(given), return_dtype=pl.Int64),
    )


def _samples(bare: Diagnosis, table: ResponseTable) -> pl.DataFrame:
    readout, cells = bare.readout, bare.cells
    columns: dict[str, Any] = {"sample": bare.sample_names}
    for name, value, se in (
        ("difficulty", readout.difficulty, readout.difficulty_se),
        ("discrimination", readout.discrimination, readout.discrimination_se),
    ):
        columns[name] = value
        columns[f"{name}_se"] = np.full(len(value), np.nan) if se is None else se
        columns[f"{name}_low"] = columns[name] - Z * columns[f"{name}_se"]
        columns[f"{name}_high"] = columns[name] + Z * columns[f"{name}_se"]
    if readout.guessing is not None:
        columns["guessing"] = readout.guessing
    if readout.sample_weight is not None:
        columns["weight"] = readout.sample_weight
    expected = np.empty(len(bare.sample_names))
    predicted = np.empty(len(cells.response))
    starts = np.searchsorted(cells.sample, np.arange(len(expected) + 1))
    step = max(1, 1_000_000 // len(bare.learner_names))
    for start in range(0, len(expected), step):
        rows = np.arange(start, min(start + step, len(expected)))
        n = len(bare.learner_names)
        logits = engine.logit(
            bare.diagnoser, bare.params, np.tile(np.arange(n), len(rows)), np.repeat(rows, n)
        )
        p = (0.5 * (np.tanh(0.5 * logits / bare.temperature) + 1)).reshape(len(rows), n)
        expected[rows] = p.mean(axis=1)
        inside = slice(starts[rows[0]], starts[rows[-1] + 1])
        predicted[inside] = p[cells.sample[inside] - start, cells.learner[inside]]
    columns |= _sample_fit(cells, predicted, len(expected), binary=table.is_binary)
    columns["expected"] = expected
    frame = pl.DataFrame(columns).with_columns(pl.exclude("sample").fill_nan(None))
    frame = frame.hstack(accuracy_columns(cells.sample, cells, len(expected)))
    if bare.diagnoser.engine == "counts":  # difficulty is 1 − accuracy
        ends = {"difficulty_low": 1 - pl.col("accuracy_high"), "difficulty_high": 1 - pl.col("accuracy_low")}
        frame = frame.with_columns(**ends)
    return frame.sort(pl.col("sample").replace_strict(_places(table.samples), return_dtype=pl.Int64))


def _sample_fit(cells: Cells, predicted: Floats, n_samples: int, *, binary: bool) -> dict[str, Floats]:
    """infit Σw(x−p)² / Σwp(1−p), outfit the mean of (x−p)²/p(1−p): 1 is expected of right/wrong responses.

    Of those a cell with a share x right has the mean square x(1−p)² + (1−x)p² over its trials.
    """
    variance = predicted * (1 - predicted)
    square = (cells.response - predicted) ** 2
    if binary:
        square = cells.response * (1 - predicted) ** 2 + (1 - cells.response) * predicted**2
    total = np.bincount(cells.sample, cells.weight * variance, n_samples)
    weight = np.bincount(cells.sample, cells.weight, n_samples)
    with np.errstate(invalid="ignore", divide="ignore"):
        infit = np.bincount(cells.sample, cells.weight * square, n_samples) / total
        outfit = np.bincount(cells.sample, cells.weight * square / variance, n_samples) / weight
    return {"infit": infit, "outfit": outfit}


def _places(names: tuple[str, ...]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


def _provenance(
    table: ResponseTable, found: auto.Found, readout: Readout, *, seed: int, as_published: bool
) -> dict[str, Any]:
    fitted = found.fit
    packages = ["numpy", "scipy", "polars"] + (
        ["jax", "optax"] if fitted.diagnoser.engine == "neural" else []
    )
    return {
        "diagnoser": fitted.diagnoser.name,
        "settings": settings_as_data(fitted.diagnoser),
        "chosen_on_validation": fitted.chosen,
        "candidates": [trial._asdict() for trial in found.trials],
        "as_published": as_published,
        "seed": seed,
        "data_hash": table.digest(),
        "n_learners": table.n_learners,
        "n_samples": table.n_samples,
        "n_responses": table.n_responses,
        "n_missing": table.n_learners * table.n_samples - len(table.cells().response),
        "fractional": not table.is_binary,
        "skill_graph": None if table.skill_graph is None else list(map(list, table.skill_graph.edges)),
        "skill_notes": [] if table.skill_map is None else list(table.skill_map.notes),
        "loss": _finite(fitted.solution.loss),
        "validation_loss": _finite(fitted.validation_loss),
        "temperature": fitted.temperature,
        "steps": fitted.solution.steps,
        "gradient_norm": _finite(fitted.solution.gradient_norm),
        "converged": fitted.solution.converged,
        "placed": fitted.solution.placed,
        "interval": f"95 %, {readout.interval}",
        "scale": "0 to 1" if readout.unit_scale else "standard deviations of the pool",
        "versions": {"camilla": camilla.__version__, "python": platform.python_version()}
        | {name: version(name) for name in packages},
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _what_to_try(fitted: engine.Fit) -> str:
    return (
        f"{fitted.diagnoser.name} stopped after {fitted.solution.steps} steps before it converged; the "
        "results are where it stood. Try a larger precision or fewer dimensions; as_published stops early "
        "by design."
    )
