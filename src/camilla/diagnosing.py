"""Table to diagnosis: which diagnoser, its fit, and the names put on its parameters."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import minimize

from camilla.arrays import Floats, Watch, one_blas_thread, rounded, sigmoid
from camilla.diagnosis import Diagnosis, accuracy_columns
from camilla.diagnosis_parts import (
    UNIT_SCALE,
    backwards_notes,
    chain_notes,
    draw_facts,
    estimand_of,
    pair_notes,
    too_few_draws,
)
from camilla.diagnosis_skills import (
    agreement,
    all_skills,
    doubts,
    skill_effect,
)
from camilla.display import listed, watching
from camilla.errors import ConvergenceWarning, SettingError
from camilla.fitting import fit as fitting
from camilla.fitting.engines import engine_of
from camilla.fitting.layout import Layout, Prepared, Size, prepared
from camilla.fitting.protocol import Diagnoser, Indices, Readout
from camilla.learners.check import copy_notes, dependence_notes
from camilla.learners.response_bias import bias_notes
from camilla.models import DIAGNOSERS
from camilla.names import name_index
from camilla.parallel import HERE, ONE_CHAIN, check_where, parallel
from camilla.provenance import versions
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.intervals import Z
from camilla.statistics.items import mean_squares_of_cells
from camilla.statistics.missingness import block_notes
from camilla.table.cells import zero_or_one
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

AUTO = "auto"
MOST_SAMPLED = 5_000_000  # cells: above, draws take minutes and a mode is read with its residuals
MODE_CELLS = 2_000_000  # above, modes are chosen on fewer samples
MOST_CORRELATED = 1000  # learners: the cost of gaussian grows with them, and what it adds fades
TRIAL_DRAWS = 60  # that weights are learned from
OF_DRAWS = ("chains", "draws")  # what auto takes: how long bayes draws, not what it is


class Part(NamedTuple):
    """A fit that predictions are made of, and its weight in their logit."""

    fit: fitting.FittedDiagnoser
    weight: float


class Found(NamedTuple):
    """The fit that is read; where auto chose, also what predictions are made of, itself among them."""

    fit: fitting.FittedDiagnoser
    parts: tuple[Part, ...] = ()

    def logit(self, learner: Indices, sample: Indices) -> Floats:
        """The logit of the expected response of each pair."""
        if not self.parts:
            return self.fit.logit(learner, sample)
        return np.sum([part.weight * part.fit.logit(learner, sample) for part in self.parts], axis=0)


def partners(size: Size) -> list[tuple[str, dict[str, Any]]]:
    """What bayes is combined with: learners correlated in any way."""
    if 3 <= size.n_learners <= MOST_CORRELATED and size.n_samples >= 3:
        return [("gaussian", {})]
    return []


def fit_chosen(
    name: str, size: Size, layout: Layout,
    *, settings: Mapping[str, Any], seed: int, valid: Layout | None, watch: Watch,
) -> Found:  # fmt: skip
    """The named diagnoser fitted, or what auto takes; without `valid`, a tenth is held out."""
    if name != AUTO:
        kind = diagnoser_named(name)
        return Found(fitting.fit(kind, size, layout, settings=settings, seed=seed, valid=valid, watch=watch))
    check_auto(settings)
    if size.n_learners * size.n_samples <= MOST_SAMPLED:
        return _combined(size, layout, valid, settings=settings, seed=seed, watch=watch)
    if settings:
        raise SettingError(
            f"auto reads a table of more than {MOST_SAMPLED:,} cells at the posterior mode, without draws; "
            f"{next(iter(settings))!r} is of draws. Leave it out, or name bayes, which takes minutes."
        )
    return _modes(size, layout, valid, seed=seed, watch=watch)


def check_auto(settings: Mapping[str, Any]) -> None:
    """Refuses settings that auto chooses itself."""
    if chosen := [name for name in settings if name not in OF_DRAWS]:
        raise SettingError(
            f"auto chooses its own settings and takes only {' and '.join(OF_DRAWS)}; got {chosen[0]!r}. "
            "Name a diagnoser: camilla experiment reliability shows which one predicts best."
        )
    fitting.check_settings(diagnoser_named("bayes"), settings)


def _combined(
    size: Size, layout: Layout, valid: Layout | None,
    *, settings: Mapping[str, Any], seed: int, watch: Watch,
) -> Found:  # fmt: skip
    """bayes, and its predictions combined with others' by weights learned on held-out responses."""
    others = partners(size)
    if valid is not None:
        tried, shares = _weighed(
            [("bayes", dict(settings)), *others], size, layout, valid, seed=seed, watch=watch
        )
        return Found(tried[0], tuple(map(Part, tried, shares)))
    read = _read_alone(size, layout, settings=settings, seed=seed, watch=watch)
    if not others:
        return read
    inner, outer = fitting.hold_out(layout, seed)
    small, some, left = fitting.fewer_samples(size, inner, outer, seed=seed)
    candidates = [("bayes", {"draws": TRIAL_DRAWS}), *others]
    tried, shares = _weighed(candidates, small, some, left, seed=seed, watch=watch)
    fits = [read.fit._replace(validation_loss=tried[0].validation_loss)]
    fits += [fitting.enlarged(one, size, layout, seed=seed, watch=watch) for one in tried[1:]]
    return Found(fits[0], tuple(map(Part, fits, shares)))


def _weighed(
    candidates: list[tuple[str, dict[str, Any]]], size: Size, layout: Layout, valid: Layout,
    *, seed: int, watch: Watch,
) -> tuple[list[fitting.FittedDiagnoser], list[float]]:  # fmt: skip
    """Each candidate fitted to `layout`, and its weight in the sum of logits that fits `valid` best."""
    tried = [
        fitting.trial(
            diagnoser_named(name), size, layout, valid, settings=settings, seed=seed,
            watch=lambda line, name=name: watch(f"trying {name}: {line}"),  # type: ignore[misc]
        )
        for name, settings in candidates
    ]  # fmt: skip
    learner, sample, weight, right = valid.cells()
    logits = np.column_stack([one.logit(learner, sample) for one in tried])
    return tried, combination(logits, right / weight, weight).tolist()


def _read_alone(size: Size, layout: Layout, *, settings: Mapping[str, Any], seed: int, watch: Watch) -> Found:
    """bayes on all responses: nothing is chosen, so that nothing is held out."""
    kind = diagnoser_named("bayes")
    fit = fitting.fit(kind, size, layout, settings=settings, seed=seed, valid=None, watch=watch)
    return Found(fit, (Part(fit, 1.0),))


def combination(logits: Floats, response: Floats, weight: Floats) -> Floats:
    """Weights ≥ 0 of the columns of `logits` whose sum fits the responses best, by penalised likelihood.

    They are drawn to .9 for the first column and .1 shared by the others, with a standard deviation of .1:
    a few hundred held-out responses say little, and thousands overrule it (docs/design/auto.md).
    """
    n_parts = logits.shape[1]
    if n_parts == 1:
        return np.ones(1)
    if not zero_or_one(response).all():  # fractional responses vary less, so that each of them says more
        p = sigmoid(logits)
        missed = weight @ (response[:, None] - p) ** 2 / (weight @ (p * (1 - p)))
        weight = weight / np.clip(missed.min(), 1e-3, 1)
    centre = np.append(0.9, np.full(n_parts - 1, 0.1 / (n_parts - 1)))

    def objective(share: Floats) -> tuple[float, Floats]:
        logit = logits @ share
        off = (share - centre) / 0.1
        loss = weight @ (np.logaddexp(0, logit) - response * logit) + 0.5 * off @ off
        return float(loss), logits.T @ (weight * (sigmoid(logit) - response)) + off / 0.1

    found = minimize(objective, centre, jac=True, method="L-BFGS-B", bounds=[(0, None)] * n_parts)
    return np.asarray(found.x)


def _modes(size: Size, layout: Layout, valid: Layout | None, *, seed: int, watch: Watch) -> Found:
    """For tables too large for draws: one ability or several at their mode, whichever predicts better."""
    inner, outer = fitting.hold_out(layout, seed) if valid is None else (layout, valid)
    most = max(1, MODE_CELLS // max(size.n_learners, 1))
    small, some, left = fitting.fewer_samples(size, inner, outer, seed=seed, most=most)
    options: tuple[tuple[str, dict[str, Any]], ...] = (("irt", {"precision": 1.0}), ("mirt", {}))
    tried = [
        fitting.trial(diagnoser_named(name), small, some, left, settings=given, seed=seed, watch=watch)
        for name, given in options
    ]
    best = int(np.argmin(rounded([one.validation_loss for one in tried])))
    name, given = options[best]
    found = tried[best]
    if small is not size:
        kind, settings = diagnoser_named(name), given | found.chosen
        found = fitting.trial(kind, size, inner, outer, settings=settings, seed=seed, watch=watch)
    if valid is None:
        found = fitting.refit(found, layout, seed=seed, watch=watch)
    return Found(found, (Part(found, 1.0),))


def diagnoser_named(name: str) -> type[Diagnoser]:
    """The class of a diagnoser's name."""
    if name not in DIAGNOSERS:
        raise SettingError(f"no diagnoser {name!r}; there are {', '.join([AUTO, *DIAGNOSERS])}.")
    return DIAGNOSERS[name]


class Contender(NamedTuple):
    """A diagnoser with settings: what `NAME:setting=value:…` says."""

    label: str
    name: str
    settings: dict[str, Any]
    as_published: bool = False
    search: int = 0  # settings drawn from the paper's grid, the best on validation kept


def contender(text: str) -> Contender:
    """`camilla`, `mirt:dimensions=30`, `camilla:hidden=64x32`, `camilla:as_published:search=10`."""
    name, *parts = text.strip().split(":")
    if name != AUTO:
        diagnoser_named(name)
    settings: dict[str, Any] = {}
    for part in parts:
        if part == "as_published":
            continue
        key, equals, value = part.partition("=")
        if not equals:
            raise SettingError(f"{text!r}: {part!r} is not setting=value. Write NAME:setting=value:….")
        settings[key] = _value(value)
    search = settings.pop("search", 0)
    if not isinstance(search, int) or search < 0 or (search and "as_published" not in parts):
        raise SettingError(f"{text!r}: write NAME:as_published:search=10 to draw ten settings of the grid.")
    return Contender(text.strip(), name, settings, "as_published" in parts, search)


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"\d+(x\d+)+", text):
        return tuple(int(part) for part in text.split("x"))
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def as_expected(readout: Readout) -> Readout:
    """The readout with ability as the expected response on any set of samples, put right by what was seen.

    The mean expected response plus the mean of what was observed beyond it (the difference estimator of
    survey statistics): on a complete table it is accuracy, so that it cannot be worse than counting.
    """
    kind = "expected responses and observed residuals"
    return readout._replace(skill_weight=None, explicit=False, unit_scale=True, assisted=True, interval=kind)


def diagnose(
    table: TableLike, diagnoser: str = AUTO, *, rows: WideRows | None = None,
    seed: int = 0, as_published: bool = False, across_blocks: bool = False, jobs: int = 1,
    backend: str = HERE, progress: bool | None = None, watch: Watch | None = None, **settings: Any,
) -> Diagnosis:  # fmt: skip
    """Estimates the ability of every learner and the difficulty of every sample.

    The same table, seed and settings give the same diagnosis in any order of rows, learners, samples and
    skills.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    diagnoser : str
        "auto" estimates abilities with bayes and predicts responses with several diagnosers. Or the name of
        one: vanilla, skill-vanilla, irt, mirt, mf, bayes, gaussian, dina, neural-cd, ka-ncd, hier-mirt,
        hier-ncd, qc-cdm, camilla-base, camilla.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    as_published : bool
        Whether to follow the training of the diagnoser's paper.
    across_blocks : bool
        A table that falls into blocks without a shared learner or sample is refused, because nothing puts the
        blocks on one scale. With True they are diagnosed together, and the notes say so.
    jobs : int
        Processes that the chains of bayes run in, with `chains=4`; −1 for one per core. The result is the
        same for any number.
    backend : {"loky", "threading", "multiprocessing", "ray"}
        Where processes run, as joblib calls it. "ray" takes the cluster of the environment variable
        RAY_ADDRESS, or starts one on this machine.
    progress : bool, optional
        Whether to show a progress line on standard error. By default it appears after two seconds, on a
        terminal or in a notebook.
    watch : callable, optional
        Receives each progress line as text, instead of standard error.
    **settings
        Settings (hyperparameters) of the diagnoser; they are on its page. What is not set is chosen on a
        held-out tenth of the responses, then the diagnoser is fitted on all.

    Returns
    -------
    Diagnosis
        Frames `learners`, `samples` and `skills`, `provenance`, and methods such as `predict` and `place`.

    Raises
    ------
    SettingError
        The diagnoser or a setting does not exist, or does not fit the table.
    DataError
        The table cannot be read, or falls into blocks.
    ConvergenceError
        The fit ended where nothing can be read from it.

    Examples
    --------
    >>> table = camilla.simulate(6, 40, seed=1).table
    >>> diagnosis = camilla.diagnose(table, "irt", precision=1.0)
    >>> diagnosis.learners.select("rank", "learner").head(2).rows()
    [(1, 'learner-2'), (2, 'learner-5')]
    """
    table = as_table(table, rows=rows)
    notes = block_notes(table, across_blocks=across_blocks)
    chosen = contender(diagnoser)
    spread = (chosen.settings | settings).get("chains", 1) != 1
    check_where(jobs, backend, None if spread else ONE_CHAIN)
    with (
        watching(f"diagnosing with {diagnoser}", progress, watch) as watch,
        one_blas_thread(),
        parallel(backend, jobs),
    ):
        watch("putting the responses in order")
        found, ready = _found(table, chosen, settings, as_published=as_published, seed=seed, watch=watch)
        watch("standard errors")
        readout = readout_of(found, ready.layout)
    if not found.fit.solution.converged:
        warnings.warn(_what_to_try(chosen.name, found.fit, readout), ConvergenceWarning, stacklevel=2)
    provenance = _provenance(ready, found, readout, seed=seed, as_published=as_published)
    notes += [
        *chain_notes(readout, chosen.name, found.fit, ready.table),
        *pair_notes(readout),
        *copy_notes(ready.table),
        *bias_notes(ready.table),
        *(dependence_notes(ready.table) if readout.effective_draws is not None else ()),
        *backwards_notes(readout, ready.table),
    ]
    provenance["notes"] = notes
    if facts := _feature_facts(ready):
        provenance["features"] = facts
    diagnosis = replace(named(table, ready.table, found, readout, provenance), encoders=ready.encoders)
    provenance["agreement"], provenance["skill_effect"] = agreement(diagnosis), skill_effect(diagnosis)
    notes += doubts(provenance)
    return diagnosis


def _feature_facts(ready: Prepared) -> dict[str, Any]:
    """Which features were used, and what was done to make them fit."""
    both = (ready.table.sample_features, ready.table.learner_features)
    facts: dict[str, Any] = {}
    for features, encoder in zip(both, ready.encoders, strict=True):
        if features is not None and encoder is not None:
            facts[f"{features.of}s"] = {
                "source": features.source,
                "kinds": dict(features.kinds),
                "notes": [*features.notes, *encoder.notes],
            }
    return facts


def _found(
    table: ResponseTable, chosen: Contender, settings: dict[str, Any],
    *, as_published: bool, seed: int, watch: Watch,
) -> tuple[Found, Prepared]:  # fmt: skip
    """The diagnoser that was asked for, fitted to the table."""
    if chosen.search:
        raise SettingError(f"{chosen.label!r}: search works only in camilla experiment.")
    ready = prepared(table)
    published = as_published or chosen.as_published
    given = (published_settings(chosen.name, ready.size) if published else {}) | chosen.settings | settings
    check_features(chosen.name, ready.size, given)
    found = fit_chosen(
        chosen.name, ready.size, ready.layout, settings=given, seed=seed, valid=None, watch=watch
    )
    return found, ready


WITH_FEATURES = (AUTO, "bayes", "irt", "mirt", "camilla-base")


def check_features(name: str, size: Size, settings: Mapping[str, Any]) -> None:
    """Refuses features where they would do nothing."""
    if size.sample_features is None and size.learner_features is None:
        return
    if name not in WITH_FEATURES:
        raise SettingError(
            f"{name} does nothing with features; {listed(WITH_FEATURES)} use them. Diagnose with one "
            "of these, or leave the features out."
        )
    if settings.get("training") is not None:
        raise SettingError(
            f"{name} cannot use features when it is trained as published, without priors. Leave the "
            "training (as_published) or the features out."
        )
    if name == AUTO and size.n_learners * size.n_samples > MOST_SAMPLED:
        raise SettingError(
            f"features need posterior draws, and a table of {size.n_learners} × {size.n_samples} cells is "
            f"too large for auto to draw (more than {MOST_SAMPLED:,}). Diagnose a part of it, or name "
            "bayes, which takes minutes."
        )


def readout_of(found: Found, layout: Layout, *, errors: bool = True) -> Readout:
    """What a person reads of a fit: the diagnoser's own abilities, or expected scores where auto chose."""
    if not found.parts:
        return found.fit.readout(layout, errors=errors)
    readout = found.fit.readout(layout, standard=False, errors=errors)
    return readout if readout.effective_draws is not None else as_expected(readout)


def published_settings(name: str, size: Size) -> dict[str, Any]:
    """The paper's training of a diagnoser; those that need none have nothing to set."""
    if name == AUTO:
        raise SettingError("auto is not from a paper; give as_published with the name of a diagnoser.")
    kind = diagnoser_named(name)
    return kind.as_published(size) if hasattr(kind, "as_published") else {}


def named(
    table: ResponseTable,
    ordered: ResponseTable,
    found: Found,
    readout: Readout,
    provenance: dict[str, Any],
) -> Diagnosis:
    """The frames a person reads: learners by rank, samples in the table's order, skills in the map's."""
    fitted = found.fit
    skill_names = ordered.skill_map.skills if ordered.skill_map is not None else latent_names(readout)
    bare = Diagnosis(
        pl.DataFrame(), pl.DataFrame(), pl.DataFrame(), provenance,
        ordered.learners, ordered.samples, skill_names,
        fitted.diagnoser, fitted.solution.params, readout, fitted.temperature, ordered.cells(),
        ordered.cluster, _all_logits(found, ordered) if len(found.parts) > 1 else None, table.content,
    )  # fmt: skip
    learners = bare.ranked(bare.ability())
    if (standing := replace(bare, learners=learners).standing()) is not None:
        learners = learners.join(standing, on="learner", maintain_order="left")
    if readout.r_hat is not None:
        agreement = pl.DataFrame({"learner": bare.learner_names, "r_hat": readout.r_hat})
        learners = learners.join(agreement, on="learner", maintain_order="left")
    frames = {"learners": learners, "samples": _samples(bare, table), "skills": all_skills(bare, table)}
    return Diagnosis(**{**vars(bare), **frames})


def _all_logits(found: Found, table: ResponseTable) -> Floats:
    """The combined prediction of every cell: [samples, learners]."""
    n, m = table.n_learners, table.n_samples
    out = np.empty((m, n), np.float32)
    step = max(1, 1_000_000 // n)
    for start in range(0, m, step):
        rows = np.arange(start, min(start + step, m))
        out[rows] = found.logit(np.tile(np.arange(n), len(rows)), np.repeat(rows, n)).reshape(len(rows), n)
    return out


def latent_names(readout: Readout) -> tuple[str, ...]:
    """What the skills of a fit without a map are called."""
    if readout.skill_weight is None:
        return ("overall",)
    n_dims = readout.ability.shape[1]
    return ("overall",) if n_dims == 1 else tuple(f"latent {k + 1}" for k in range(n_dims))


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
        logits = bare.logit(np.tile(np.arange(n), len(rows)), np.repeat(rows, n))
        p = sigmoid(logits).reshape(len(rows), n)
        expected[rows] = p.mean(axis=1)
        inside = slice(starts[rows[0]], starts[rows[-1] + 1])
        predicted[inside] = p[cells.sample[inside] - start, cells.learner[inside]]
    columns |= mean_squares_of_cells(cells, predicted, len(expected), binary=table.is_binary)
    columns["expected"] = expected
    frame = pl.DataFrame(columns).with_columns(pl.exclude("sample").fill_nan(None))
    frame = frame.hstack(accuracy_columns(cells, "sample", len(expected)))
    if readout.counted:  # difficulty is 1 − accuracy
        ends = {"difficulty_low": 1 - pl.col("accuracy_high"), "difficulty_high": 1 - pl.col("accuracy_low")}
        frame = frame.with_columns(**ends)
    return frame.sort(pl.col("sample").replace_strict(name_index(table.samples), return_dtype=pl.Int64))


def _provenance(
    ready: Prepared, found: Found, readout: Readout, *, seed: int, as_published: bool
) -> dict[str, Any]:
    table = ready.table
    facts = {
        "data_hash": ready.digest,
        "n_learners": table.n_learners,
        "n_samples": table.n_samples,
        "n_responses": table.n_responses,
        "n_missing": table.n_learners * table.n_samples - len(table.cells().response),
        "fractional": not table.is_binary,
        "response_scale": table.scale._asdict(),
        "skill_graph": None if table.skill_graph is None else list(map(list, table.skill_graph.edges)),
        "skill_notes": [] if table.skill_map is None else list(table.skill_map.notes),
    }
    return provenance_of(facts, ready.size, found, readout, seed=seed, as_published=as_published)


def provenance_of(
    facts: dict[str, Any], size: Size, found: Found, readout: Readout, *, seed: int, as_published: bool
) -> dict[str, Any]:
    """What a diagnosis was made of: facts of the table, the fit, and what is read of it."""
    fitted = found.fit
    return {
        "diagnoser": fitted.diagnoser.name,
        "settings": fitted.settings,
        "chosen_on_validation": fitted.chosen,
        "chosen_at_an_end": fitting.at_an_end(type(fitted.diagnoser), size, fitted.chosen),
        "combined": [
            {
                "diagnoser": part.fit.diagnoser.name,
                "settings": part.fit.settings,
                "weight": part.weight,
                "validation_loss": _finite(part.fit.validation_loss),
            }
            for part in found.parts
        ],
        "as_published": as_published,
        "seed": seed,
        **facts,
        "loss": _finite(fitted.solution.loss),
        "validation_loss": _finite(fitted.validation_loss),
        "temperature": fitted.temperature,
        "steps": fitted.solution.steps,
        "gradient_norm": _finite(fitted.solution.gradient_norm),
        "converged": fitted.solution.converged,
        "placed": fitted.solution.placed,
        "interval": f"95 %, {readout.interval}",
        "estimand": estimand_of(readout, size.n_samples),
        **draw_facts(readout),
        "scale": UNIT_SCALE if readout.unit_scale else "standard deviations of the pool",
        "versions": versions(*engine_of(fitted.diagnoser).packages),
    }


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _what_to_try(name: str, fitted: fitting.FittedDiagnoser, readout: Readout) -> str:
    if readout.effective_draws is not None:
        return too_few_draws(readout, name, fitted)
    return (
        f"{fitted.diagnoser.name} stopped after {fitted.solution.steps} steps before it converged; the "
        "results are those of its last step. Try a larger precision or fewer dimensions; as_published "
        "stops early by design."
    )
