"""Table to diagnosis: which diagnoser, its fit, and the names put on its parameters."""

import re
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.arrays import Floats, Watch, one_blas_thread, rounded, sigmoid
from camilla.diagnosis import Diagnosis, accuracy_columns
from camilla.display import percent, signed, watching
from camilla.errors import ConvergenceWarning, SettingError
from camilla.fitting import fit as fitting
from camilla.fitting.engines import engine_of
from camilla.fitting.layout import Layout, Prepared, Size, prepared
from camilla.fitting.protocol import Diagnoser, Readout
from camilla.learners.check import copy_notes
from camilla.models import DIAGNOSERS
from camilla.models.mirt import MIRT
from camilla.names import name_index
from camilla.provenance import versions
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.discrimination import points_backwards
from camilla.statistics.intervals import Z
from camilla.statistics.missingness import block_notes, rank_correlation
from camilla.table.cells import Cells
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

AUTO = "auto"
FEW_LEARNERS = 20
BACKWARDS = 0.1  # share of samples with surely negative discriminations above which an ability is doubted
WITH_ACCURACY = 0.7  # rank correlation with accuracy below which an ability ranks learners otherwise
MOST_CELLS = 2_000_000  # above, diagnosers are chosen on fewer samples


class Trial(NamedTuple):
    """What a candidate came to: its loss on held-out cells, and how far that is behind the best."""

    diagnoser: str
    settings: dict[str, Any]
    validation_loss: float
    behind: float
    behind_se: float


class Found(NamedTuple):
    """A fit, and the candidates it was chosen from, if it was."""

    fit: fitting.FittedDiagnoser
    trials: tuple[Trial, ...] = ()


def candidates(size: Size) -> list[tuple[str, dict[str, Any]]]:
    """Simple ones first: one ability, skills, many dimensions, any covariance.

    The prior on the first one's discriminations is fixed: a chosen one predicts no better and ranks learners
    less steadily (docs/design/auto.md). It is N(1, 1), or N(1, 1/10) where learners are few.
    """
    held = 1.0 if size.n_learners >= FEW_LEARNERS else 10.0
    found: list[tuple[str, dict[str, Any]]] = [("irt", {"precision": held})]
    if size.skill_mask is not None:
        found.append(("camilla-base", {"signs": "free"}))
    found.append(("mirt", {}))
    return [*found, ("gaussian", {})] if size.fractional else found


def fit_chosen(
    name: str, size: Size, layout: Layout,
    *, settings: Mapping[str, Any], seed: int, valid: Layout | None, watch: Watch,
) -> Found:  # fmt: skip
    """The named diagnoser fitted, or the one auto chooses; without `valid`, a tenth is held out."""
    if name != AUTO:
        kind = diagnoser_named(name)
        return Found(fitting.fit(kind, size, layout, settings=settings, seed=seed, valid=valid, watch=watch))
    if settings:
        raise SettingError(
            f"auto chooses its own settings and takes none; {next(iter(settings))!r} came. Name a diagnoser: "
            "camilla experiment reliability shows which one predicts best."
        )
    inner, outer = (layout, valid) if valid is not None else fitting.hold_out(layout, seed)
    found = _chosen(size, inner, outer, seed=seed, watch=watch)
    return (
        found
        if valid is not None
        else found._replace(fit=fitting.refit(found.fit, layout, seed=seed, watch=watch))
    )


def _chosen(size: Size, layout: Layout, valid: Layout, *, seed: int, watch: Watch) -> Found:
    """The first candidate within a standard error of the best."""
    most = max(1, MOST_CELLS // max(size.n_learners, 1))
    small, inner, outer = fitting.fewer_samples(size, layout, valid, seed=seed, most=most)
    fits = []
    for name, settings in candidates(size):
        kind = diagnoser_named(name)
        fits.append(
            fitting.trial(
                kind, small, inner, outer, settings=settings, seed=seed,
                watch=lambda line, name=name: watch(f"trying {name}: {line}"),  # type: ignore[misc]
            )
        )  # fmt: skip
    fits = [found for found in fits if not _one_dimension(found)]
    losses = [fitting.cell_losses(found, outer) for found in fits]
    best = losses[int(np.argmin(rounded([found.validation_loss for found in fits])))]
    _, sample, weight, _ = outer.cells()
    trials = tuple(
        Trial(
            found.diagnoser.name, found.settings, found.validation_loss,
            *_behind(loss - best, weight, sample),
        )
        for found, loss in zip(fits, losses, strict=True)
    )  # fmt: skip
    fitted = next(found for found, trial in zip(fits, trials, strict=True) if trial.behind <= trial.behind_se)
    if small is not size:
        kind = type(fitted.diagnoser)
        settings = dict(candidates(size))[fitted.diagnoser.name]
        fitted = fitting.trial(kind, size, layout, valid, settings=settings, seed=seed, watch=watch)
    return Found(fitted, trials)


def _one_dimension(found: fitting.FittedDiagnoser) -> bool:
    """Whether it is a 2PL under another name, whose prior was chosen."""
    return isinstance(found.diagnoser, MIRT) and found.diagnoser.dimensions == 1


def _behind(difference: Floats, weight: Floats, sample: Floats) -> tuple[float, float]:
    """Mean difference a response and its standard error, with samples as clusters."""
    total = weight.sum()
    mean = float(weight @ difference / total)
    by_sample = np.bincount(sample, weight * (difference - mean))
    return mean, float(np.sqrt(by_sample @ by_sample) / total)


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
    """The readout with ability as the expected response, on any set of samples and whatever was chosen.

    Over all samples it is the mean over cells of what is expected where nothing was seen and of what is
    believed where something was; on the samples of a skill it is the ability on the skill.
    """
    return readout._replace(skill_weight=None, explicit=False, unit_scale=True)


def diagnose(
    table: TableLike, diagnoser: str = AUTO, *, rows: WideRows | None = None,
    seed: int = 0, as_published: bool = False, across_blocks: bool = False, progress: bool | None = None,
    watch: Watch | None = None, **settings: Any,
) -> Diagnosis:  # fmt: skip
    """The diagnosis of every learner and sample of a table, a dataframe or a file.

    `diagnoser` is "auto", which chooses one, or its name; `settings` are its own (see its page). What is
    not set is chosen on a tenth of the responses, then fitted on all. `as_published` follows the
    paper's training instead. The same table, seed and settings give the same diagnosis in any order of rows,
    learners, samples and skills. `rows` says what the rows of a wide dataframe or file are, "samples" or
    "learners". A table that falls into blocks without a shared learner or sample is refused, for nothing puts
    them on one scale; `across_blocks` diagnoses them together all the same, and the notes say so.

    `progress` shows a line on standard error while it runs: True at once, False never, None after two seconds
    on a terminal or in a notebook. `watch` takes the lines instead.
    """
    table = as_table(table, rows=rows)
    notes = block_notes(table, across_blocks=across_blocks)
    chosen = contender(diagnoser)
    with watching(f"diagnosing with {diagnoser}", progress, watch) as watch, one_blas_thread():
        watch("putting the responses in order")
        found, ready = _found(table, chosen, settings, as_published=as_published, seed=seed, watch=watch)
        watch("standard errors")
        readout = readout_of(found, ready.layout)
    if not found.fit.solution.converged:
        warnings.warn(_what_to_try(found.fit), ConvergenceWarning, stacklevel=2)
    provenance = _provenance(ready, found, readout, seed=seed, as_published=as_published)
    provenance["notes"] = [*notes, *copy_notes(ready.table), *backwards_notes(found, readout, ready.table)]
    return named(table, ready.table, found.fit, readout, provenance)


def _found(
    table: ResponseTable, chosen: Contender, settings: dict[str, Any],
    *, as_published: bool, seed: int, watch: Watch,
) -> tuple[Found, Prepared]:  # fmt: skip
    """The diagnoser that was asked for, fitted to the table."""
    if chosen.search:
        raise SettingError(f"{chosen.label!r}: search goes with camilla experiment.")
    ready = prepared(table)
    published = as_published or chosen.as_published
    given = (published_settings(chosen.name, ready.size) if published else {}) | chosen.settings | settings
    found = fit_chosen(
        chosen.name, ready.size, ready.layout, settings=given, seed=seed, valid=None, watch=watch
    )
    return found, ready


def readout_of(found: Found, layout: Layout, *, errors: bool = True) -> Readout:
    """What a person reads of a fit: the diagnoser's own abilities, or expected responses where auto chose."""
    if found.trials:
        return as_expected(found.fit.readout(layout, standard=False, errors=errors))
    return found.fit.readout(layout, errors=errors)


def published_settings(name: str, size: Size) -> dict[str, Any]:
    """The paper's training of a diagnoser; those that need none have nothing to set."""
    if name == AUTO:
        raise SettingError("auto is of no paper; as_published wants the name of a diagnoser.")
    kind = diagnoser_named(name)
    return kind.as_published(size) if hasattr(kind, "as_published") else {}


def named(
    table: ResponseTable,
    ordered: ResponseTable,
    fitted: fitting.FittedDiagnoser,
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
        pl.col("learner").replace_strict(name_index(table.learners), return_dtype=pl.Int64),
        pl.col("skill").replace_strict(name_index(given), return_dtype=pl.Int64),
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
        logits = bare.logit(np.tile(np.arange(n), len(rows)), np.repeat(rows, n))
        p = sigmoid(logits).reshape(len(rows), n)
        expected[rows] = p.mean(axis=1)
        inside = slice(starts[rows[0]], starts[rows[-1] + 1])
        predicted[inside] = p[cells.sample[inside] - start, cells.learner[inside]]
    columns |= _sample_fit(cells, predicted, len(expected), binary=table.is_binary)
    columns["expected"] = expected
    frame = pl.DataFrame(columns).with_columns(pl.exclude("sample").fill_nan(None))
    frame = frame.hstack(accuracy_columns(cells, "sample", len(expected)))
    if readout.counted:  # difficulty is 1 − accuracy
        ends = {"difficulty_low": 1 - pl.col("accuracy_high"), "difficulty_high": 1 - pl.col("accuracy_low")}
        frame = frame.with_columns(**ends)
    return frame.sort(pl.col("sample").replace_strict(name_index(table.samples), return_dtype=pl.Int64))


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


def _provenance(
    ready: Prepared, found: Found, readout: Readout, *, seed: int, as_published: bool
) -> dict[str, Any]:
    fitted, table = found.fit, ready.table
    return {
        "diagnoser": fitted.diagnoser.name,
        "settings": fitted.settings,
        "chosen_on_validation": fitted.chosen,
        "candidates": [trial._asdict() for trial in found.trials],
        "as_published": as_published,
        "seed": seed,
        "data_hash": ready.digest,
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
        "versions": versions(*engine_of(fitted.diagnoser).packages),
    }


def backwards_notes(found: Found, readout: Readout, table: ResponseTable) -> list[str]:
    """What to say of one ability that many samples reward and many punish: its direction is arbitrary."""
    if (
        found.trials
        or readout.unit_scale
        or readout.ability.shape[1] > 1
        or readout.discrimination_se is None
    ):
        return []
    share = points_backwards(readout.discrimination, readout.discrimination_se)
    if share < BACKWARDS:
        return []
    means = table.learner_means().mean
    agreement = rank_correlation(readout.ability[:, 0][~np.isnan(means)], means[~np.isnan(means)]).rho
    rarely = "does not rank" if agreement < WITH_ACCURACY else "only roughly ranks"
    return [
        f"{percent(round(share, 2))} of the samples point the other way: learners with more of this ability "
        f"answer them worse. It {rarely} learners by accuracy (rank correlation "
        f"{signed(agreement, 2)}); use auto for a ranking."
    ]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _what_to_try(fitted: fitting.FittedDiagnoser) -> str:
    return (
        f"{fitted.diagnoser.name} stopped after {fitted.solution.steps} steps before it converged; the "
        "results are where it stood. Try a larger precision or fewer dimensions; as_published stops early "
        "by design."
    )
