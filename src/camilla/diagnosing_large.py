"""Tables larger than memory to diagnoses: shards, settings chosen on a part, the fit, the frames.

What is fitted is what `diagnose` fits, irt or mirt at its mode by turns, camilla by batches that are drawn;
responses stay in their shards. The diagnosis has the frames, parameters and predictions of any other; only
what needs the responses again is refused.
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla import __version__
from camilla.arrays import Floats, Watch, one_blas_thread, rounded, sigmoid
from camilla.diagnosing import (
    AUTO,
    Contender,
    Found,
    Part,
    contender,
    diagnoser_named,
    latent_names,
    provenance_of,
    published_settings,
    readout_of,
)
from camilla.diagnosis import DECIMALS, Diagnosis, accuracy_frame
from camilla.display import watching
from camilla.errors import SettingError
from camilla.extras import may_accelerate
from camilla.fitting import fit as fitting
from camilla.fitting.alternating import SampleState, Workers, fit_by_turns
from camilla.fitting.factors import Factors
from camilla.fitting.keeping import InFolder, KeptArrays
from camilla.fitting.layout import Layout, Size, layout_of
from camilla.fitting.protocol import Readout, Solution
from camilla.fitting.shard_layout import ShardLayout
from camilla.fitting.shards import Seen, Threads, add_seen, seen_of
from camilla.parallel import HERE, RAY, check_address, check_where, processes_of
from camilla.statistics.intervals import Z
from camilla.statistics.missingness import streamed_block_notes
from camilla.table.cells import Cells
from camilla.table.columns import PLAIN
from camilla.table.files import whole_file
from camilla.table.responses import check_two_of_each
from camilla.table.shards import ShardFolder, read_large

TRIAL_LEARNERS, TRIAL_SAMPLES = 1000, 2000  # a part of the table that settings are chosen on
TRIAL_RESPONSES = 1000  # fewer among learners and samples drawn at random say nothing of settings
TRIALS: tuple[tuple[str, dict[str, Any]], ...] = (("irt", {"precision": 1.0}), ("mirt", {}))
SEEN_CELLS = 500_000  # predicted at a time by a network
EVERYWHERE = 10  # cells for each response: above, expected scores over all cells cost more than the fit
FITTED = (AUTO, "irt", "mirt", "camilla")
STATE = "state.npz"
CHOSEN = "chosen.json"

DEVICE_SHARE = 0.5  # of an accelerator's memory that responses may take

NOT_KEPT = "The responses were read in shards and are not kept in the diagnosis."
NO_ACCELERATOR = "JAX finds no accelerator here. Install JAX for yours, or leave out --device gpu."

MakeWorkers = Callable[[ShardFolder], Workers]


class _Chosen(NamedTuple):
    """What is fitted to the whole table, and how it was chosen."""

    name: str
    settings: dict[str, Any]
    chosen: dict[str, Any]
    validation_loss: float | None
    temperature: float = (
        1.0  # of a table that settings could be chosen on as a whole; a larger one needs none
    )


def diagnose_large(
    source: str | Path, diagnoser: str = AUTO, *, shards: str | Path, learner: str = "learner",
    sample: str = "sample", response: str = "response", across_blocks: bool = False, jobs: int = -1,
    backend: str = HERE, device: str = "auto", seed: int = 0, progress: bool | None = None,
    watch: Watch | None = None,
) -> Diagnosis:  # fmt: skip
    """Diagnoses Parquet files that are too large for memory.

    Parameters
    ----------
    source : str or path
        A file, a folder or a glob of Parquet files with one row per response.
    diagnoser : str
        "irt", "mirt" or "camilla" with settings, or "auto", which takes irt or mirt, whichever predicts a
        part of the table better.
    shards : path
        A folder on a fast disk, with room for one byte per cell. A run that was killed continues from it, and
        a later run on the same files does not read them again.
    learner, sample, response : str
        Columns of the files.
    across_blocks : bool
        Whether to diagnose together learners that no shared sample joins, not even indirectly.
    jobs : int
        Workers; −1 for one per core, of this machine or of the cluster.
    backend : {"loky", "ray"}
        Where workers run: on this machine, or with "ray" on the cluster of the environment variable
        RAY_ADDRESS, or one that is started here.
    device : {"auto", "cpu", "gpu"}
        Where to fit. "auto" takes an accelerator where JAX finds one with room for the responses.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    progress : bool, optional
        Whether to show a progress line on standard error. By default it appears after two seconds, on a
        terminal or in a notebook.
    watch : callable, optional
        Receives each progress line as text, instead of standard error.

    Returns
    -------
    Diagnosis
        As from `diagnose`. Methods that need the responses again, such as `ability` on a part of the samples,
        raise an error.

    Examples
    --------
    >>> path = camilla.simulate(30, 60, seed=1).table.write("responses.parquet")
    >>> diagnosis = camilla.diagnose_large(path, "irt", shards="shards")
    >>> diagnosis.learners.height, diagnosis.samples.height
    (30, 60)
    """
    check_fitted(diagnoser)
    where = Where(jobs, backend, device)
    _fit_of(contender(diagnoser).name).check(where)
    with watching(f"diagnosing with {diagnoser}", progress, watch) as watch:
        folder = read_large(source, shards, learner=learner, sample=sample, response=response, watch=watch)
        return diagnose_shards(folder, diagnoser, watch, seed=seed, where=where, across_blocks=across_blocks)


class Where(NamedTuple):
    """Where a fit was asked for."""

    jobs: int = -1
    backend: str = HERE
    device: str = "auto"


def workers_for(jobs: int, backend: str, device: str) -> MakeWorkers:
    """Who fits: a Ray cluster, an accelerator, or the cores of this machine."""
    if device not in ("auto", "cpu", "gpu"):
        raise SettingError(f"a device is auto, cpu or gpu, not {device!r}.")
    if backend not in (HERE, "threading", RAY):
        raise SettingError(
            f"shards are fitted on this machine (loky, threading) or on ray, not on {backend!r}."
        )
    check_where(jobs, backend)
    if backend == RAY:
        if device == "gpu":
            raise SettingError("a Ray cluster fits on CPUs; leave out --device gpu or --backend ray.")
        from camilla.fitting.cluster import RayWorkers

        check_address()
        return lambda folder: RayWorkers(folder, jobs=jobs)
    threads = processes_of(jobs, os.cpu_count() or 1)
    return lambda folder: _on_device(folder, device) or Threads(folder.shards, threads)


def _on_device(folder: ShardFolder, device: str) -> Workers | None:
    """The accelerator, if it is wanted and there; None for the CPU."""
    if device == "cpu" or (device == "auto" and not may_accelerate()):
        return None
    from camilla.fitting.device_turns import Device, room

    n_bytes = len(folder.learners) * len(folder.samples) * (4 if folder.fractional else 1)
    free = room()
    if device == "auto":
        return Device(folder.shards) if n_bytes < DEVICE_SHARE * free else None
    if free == 0:
        raise SettingError(NO_ACCELERATOR)
    if n_bytes >= DEVICE_SHARE * free:
        raise SettingError(
            f"the responses take {n_bytes / 1e9:.1f} GB as bytes, more than half of the accelerator's "
            f"{free / 1e9:.1f} GB. Leave out --device gpu, or use a Ray cluster."
        )
    return Device(folder.shards)


def diagnose_shards(
    folder: ShardFolder, diagnoser: str, watch: Watch, *, seed: int = 0, where: Where | None = None,
    across_blocks: bool = False,
) -> Diagnosis:  # fmt: skip
    """The diagnosis of a folder of shards; auto takes irt or mirt, whichever predicts better."""
    size = Size(len(folder.learners), len(folder.samples), None, folder.fractional)
    watch("counting responses")
    layout = ShardLayout(folder.shards)
    notes = [NOT_KEPT, *_checked(folder, layout, across_blocks=across_blocks)]
    wanted = contender(diagnoser)
    how = _fit_of(wanted.name)
    tag = json.dumps([__version__, diagnoser, seed, folder.digest])
    with one_blas_thread():
        chosen = _kept_choice(folder.path / CHOSEN, tag)
        if chosen is None:
            chosen = how.choose(wanted, size, layout, seed, watch)
            with whole_file(folder.path / CHOSEN) as draft:
                draft.write_text(json.dumps({"tag": tag} | chosen._asdict()), encoding="utf-8")
        job = _Job(
            json.dumps([tag, chosen.name, chosen.settings]), seed, watch, where or Where(),
            wanted.as_published,
        )  # fmt: skip
        fit = how.fit(folder, size, layout, chosen, job)
        found = Found(fit, (Part(fit, 1.0),) if wanted.name == AUTO else ())
        watch("standard errors")
        readout = readout_of(found, layout)
        return _diagnosis(
            folder, layout, found, readout, how, seed, watch, published=wanted.as_published, notes=notes
        )


class _Job(NamedTuple):
    """What a fit goes by beside the responses."""

    tag: str  # by which a later run knows a state of the same fit
    seed: int
    watch: Watch
    where: Where
    as_published: bool = False


def _checked(folder: ShardFolder, layout: ShardLayout, *, across_blocks: bool) -> list[str]:
    """Refuses what `diagnose` refuses; notes on a table that falls apart, if it may."""
    share = layout.by_sample.right.sum() / layout.total_weight
    check_two_of_each(
        folder.learners, folder.samples, folder.n_responses, float(share) if share in (0, 1) else None
    )
    cells = ((learner, sample) for learner, sample, _, _ in layout.pieces())
    counts = layout.by_learner.n, layout.by_sample.n
    return streamed_block_notes(cells, counts, folder.learners, across_blocks=across_blocks)


def check_fitted(diagnoser: str) -> None:
    """An error for a diagnoser that needs the responses in memory, before a file is read."""
    wanted = contender(diagnoser)
    by_turns = wanted.name != "camilla"
    if (
        wanted.name not in FITTED
        or wanted.search
        or (by_turns and (wanted.as_published or wanted.settings.get("form") == "3pl"))
    ):
        raise SettingError(
            f"{diagnoser} is not fitted to tables of this size; irt (1pl, 2pl), mirt, camilla and auto are. "
            "It keeps the responses in memory, up to 70 bytes for each, or needs a skill map: give it only "
            "some of the files."
        )
    if wanted.name != AUTO:
        fitting.check_settings(diagnoser_named(wanted.name), wanted.settings)


class ShardFit(Protocol):
    """How the diagnosers of an engine are fitted to shards."""

    def check(self, where: Where) -> None:
        """An error where it cannot be fitted there."""
        ...

    def choose(
        self, wanted: Contender, size: Size, layout: ShardLayout, seed: int, watch: Watch
    ) -> "_Chosen":
        """Settings that predict a part of the table best."""
        ...

    def fit(
        self, folder: ShardFolder, size: Size, layout: ShardLayout, chosen: "_Chosen", job: _Job
    ) -> fitting.FittedDiagnoser: ...

    def seen(self, layout: ShardLayout, fit: fitting.FittedDiagnoser, *, everywhere: bool) -> Seen:
        """Sums over responses beside what the fit expects; over cells without one if `everywhere`."""
        ...

    def levels(self, bare: Diagnosis, layout: ShardLayout, seen: Seen) -> pl.DataFrame:
        """Abilities overall and their intervals, in the order of names."""
        ...

    def skills(self, bare: Diagnosis) -> dict[str, pl.DataFrame]:
        """Abilities on each latent skill; none if only the ability overall is read."""
        ...


class _ByTurns:
    """irt and mirt: Newton steps of samples and learners in turn."""

    def check(self, where: Where) -> None:
        workers_for(*where)

    def choose(self, wanted: Contender, size: Size, layout: ShardLayout, seed: int, watch: Watch) -> _Chosen:
        options = TRIALS if wanted.name == AUTO else ((wanted.name, wanted.settings),)
        kinds = [diagnoser_named(name) for name, _ in options]
        whole = size.n_learners <= TRIAL_LEARNERS and size.n_samples <= TRIAL_SAMPLES
        if len(options) == 1 and not whole and not fitting.open_choices_of(kinds[0], size, options[0][1]):
            return _Chosen(wanted.name, wanted.settings, {}, None)
        small, part = _part(size, layout, seed)
        inner, outer = fitting.hold_out(part, seed)
        tried = [
            fitting.trial(kind, small, inner, outer, settings=given, seed=seed, watch=watch)
            for kind, (_, given) in zip(kinds, options, strict=True)
        ]
        best = int(np.argmin(rounded([one.validation_loss for one in tried])))
        name, given = options[best]
        found = tried[best]
        temperature = float(found.temperature) if whole else 1.0
        return _Chosen(name, given | found.chosen, found.chosen, float(found.validation_loss), temperature)

    def fit(
        self, folder: ShardFolder, size: Size, layout: ShardLayout, chosen: _Chosen, job: _Job
    ) -> fitting.FittedDiagnoser:
        model: Any = fitting.build(diagnoser_named(chosen.name), size, chosen.settings)
        start = start_of_shards(layout, model.problem().free.shape[1], job.seed)
        keeper = InFolder(folder.path / STATE, job.tag, [one.shape[0] for one in folder.shards])
        held = workers_for(*job.where)(folder)
        try:
            reached = fit_by_turns(model.problem(), held, start, job.watch, keeper=keeper)
        finally:
            held.close()
        loading = np.concatenate([one.loading for one in reached.samples])
        intercept = np.concatenate([one.intercept for one in reached.samples])
        params = Factors(reached.ability, loading, intercept)
        solution = Solution(params, float("nan"), reached.change, reached.sweeps, reached.converged)
        loss = float("nan") if chosen.validation_loss is None else chosen.validation_loss
        return fitting.FittedDiagnoser(
            model, solution, chosen.temperature, chosen.chosen, loss, fitting.settings_as_data(model)
        )

    def seen(self, layout: ShardLayout, fit: fitting.FittedDiagnoser, *, everywhere: bool) -> Seen:
        ability, *of_samples = fit.solution.params[:3]
        split = (np.split(part / fit.temperature, layout.starts[1:-1]) for part in of_samples)
        samples = [SampleState(*parts) for parts in zip(*split, strict=True)]
        parts = Threads.over(
            lambda k: seen_of(layout.shards[k], ability, samples[k], everywhere=everywhere), len(samples)
        )
        together: Any = {
            name: np.concatenate([getattr(one, name) for one in parts]) for name in ("fit", "square")
        }
        together["of_learner"] = np.sum([one.of_learner for one in parts], axis=0)
        together |= {"expected": None, "everywhere": None}
        if everywhere:
            together["expected"] = np.concatenate([one.expected for one in parts if one.expected is not None])
            together["everywhere"] = np.sum(
                [one.everywhere for one in parts if one.everywhere is not None], axis=0
            )
        return Seen(**together)

    def levels(self, bare: Diagnosis, layout: ShardLayout, seen: Seen) -> pl.DataFrame:
        readout, count = bare.readout, layout.by_learner.n
        if readout.skill_weight is not None:
            value, se = readout.ability[:, 0], np.sqrt(readout.covariance[:, 0, 0])
        else:
            assert seen.everywhere is not None
            n = layout.n_samples
            value, slope = seen.everywhere[:, 0] / n, seen.everywhere[:, 1:] / n
            se = np.sqrt(np.einsum("nk,nkl,nl->n", slope, readout.covariance, slope))
        if readout.assisted:
            off, bend, squares = seen.of_learner.T[:3]
            known = np.maximum(count, 1)
            value = np.where(count > 0, value + off / known, value)
            se = np.where(count > 0, np.sqrt(squares if bare.provenance["fractional"] else bend) / known, se)
        low, high = value - Z * se, value + Z * se
        if readout.unit_scale:
            low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
        return pl.DataFrame({"ability": value, "se": se, "low": low, "high": high})

    def skills(self, bare: Diagnosis) -> dict[str, pl.DataFrame]:
        return {}


class _ByBatches:
    """camilla: batches drawn from the shards."""

    def check(self, where: Where) -> None:
        if where.backend == RAY:
            raise SettingError(
                "camilla is trained on one machine, not on a Ray cluster; leave out --backend ray."
            )
        workers_for(*where)
        if where.device == "gpu":
            from camilla.fitting.device_turns import room

            if room() == 0:
                raise SettingError(NO_ACCELERATOR)

    def choose(self, wanted: Contender, size: Size, layout: ShardLayout, seed: int, watch: Watch) -> _Chosen:
        kind = diagnoser_named(wanted.name)
        published = published_settings(wanted.name, size) if wanted.as_published else {}
        given = published | wanted.settings
        if not fitting.open_choices_of(kind, size, given):
            return _Chosen(wanted.name, wanted.settings, {}, None)
        small, part = _part(size, layout, seed)
        inner, outer = fitting.hold_out(part, seed)
        chosen = fitting.chosen_settings(kind, small, inner, outer, settings=given, seed=seed, watch=watch)
        return _Chosen(wanted.name, wanted.settings | chosen, chosen, None)

    def fit(
        self, folder: ShardFolder, size: Size, layout: ShardLayout, chosen: _Chosen, job: _Job
    ) -> fitting.FittedDiagnoser:
        from camilla.fitting.compiling import on

        kind = diagnoser_named(chosen.name)
        published = published_settings(chosen.name, size) if job.as_published else {}
        settings = published | fitting.settings_from_data(chosen.settings)
        keeper = KeptArrays(folder.path / "training-all.npz", job.tag)
        kept = ShardLayout(folder.shards, keeper=keeper)
        with on(job.where.device):
            fit = fitting.fit(kind, size, kept, settings=settings, seed=job.seed, valid=None, watch=job.watch)
        return fit._replace(chosen=chosen.chosen)

    def seen(self, layout: ShardLayout, fit: fitting.FittedDiagnoser, *, everywhere: bool) -> Seen:
        n, m = layout.n_learners, layout.n_samples
        out = Seen(np.zeros((m, 3)), np.zeros(m), np.zeros(m), np.zeros((n, 4)), None)
        step = max(1, SEEN_CELLS // n)
        for start in range(0, m, step):
            rows = np.arange(start, min(start + step, m))
            logit = fit.logit(np.tile(np.arange(n), len(rows)), np.repeat(rows, n))
            add_seen(out, rows, sigmoid(logit).reshape(len(rows), n), *layout.block(rows))
        return out

    def levels(self, bare: Diagnosis, layout: ShardLayout, seen: Seen) -> pl.DataFrame:
        return bare.ability_on(bare.pool, np.arange(layout.n_samples))

    def skills(self, bare: Diagnosis) -> dict[str, pl.DataFrame]:
        everywhere = np.arange(len(bare.sample_names))
        return {
            name: bare.skill_ability(bare.pool, skill, everywhere, bare.cells)
            for skill, name in enumerate(latent_names(bare.readout))
        }


SHARD_FITS: dict[str, ShardFit] = {"bilinear": _ByTurns(), "neural": _ByBatches()}


def _fit_of(name: str) -> ShardFit:
    """How a diagnoser is fitted to shards."""
    return SHARD_FITS[diagnoser_named(TRIALS[0][0] if name == AUTO else name).engine]


def _part(size: Size, layout: ShardLayout, seed: int) -> tuple[Size, Layout]:
    """Some learners and samples, in memory: drawn, or those with most responses if these have too few."""
    rng = np.random.default_rng(seed)
    samples = np.sort(rng.choice(size.n_samples, min(size.n_samples, TRIAL_SAMPLES), replace=False))
    learners = np.sort(rng.choice(size.n_learners, min(size.n_learners, TRIAL_LEARNERS), replace=False))
    weight, right = _dense_part(layout, samples, learners)
    if np.count_nonzero(weight) < TRIAL_RESPONSES:
        samples = np.sort(np.argsort(-layout.by_sample.n, kind="stable")[: len(samples)])
        answered = np.sum([layout.block(some)[0].sum(axis=0) for some in np.array_split(samples, 20)], axis=0)
        learners = np.sort(np.argsort(-answered, kind="stable")[: len(learners)])
        weight, right = _dense_part(layout, samples, learners)
    sample, learner = np.nonzero(weight)
    small = Size(len(learners), len(samples), None, size.fractional)
    cells = layout_of(
        learner, sample, right[sample, learner].astype(np.float64), np.ones(len(sample)),
        n_learners=len(learners), n_samples=len(samples),
    )  # fmt: skip
    return small, cells


def _dense_part(
    layout: ShardLayout, samples: NDArray[np.intp], learners: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """(weight, weight × response) of these learners on these samples, each [samples, learners]."""
    blocks = (layout.block(samples[start : start + 100]) for start in range(0, len(samples), 100))
    parts = [(weight[:, learners], right[:, learners]) for weight, right in blocks]
    weight, right = (np.concatenate(each) for each in zip(*parts, strict=True))
    return weight, right


def start_of_shards(layout: ShardLayout, dims: int, seed: int) -> Floats:
    """Abilities at the standardised logit of the mean response, further dimensions near 0."""
    count, right = layout.by_learner
    first = np.log(right + 0.5) - np.log(count - right + 0.5)
    spread = first.std()
    first = (first - first.mean()) / (spread if spread > 1e-9 else 1.0)
    rest = np.random.default_rng(seed).normal(0, 0.1, (len(first), dims - 1))
    return np.column_stack([first, rest])


def _kept_choice(path: Path, tag: str) -> _Chosen | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return _Chosen(**document) if document.pop("tag") == tag else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # damaged: it may hold anything
        return None


def _diagnosis(
    folder: ShardFolder, layout: ShardLayout, found: Found, readout: Readout, how: ShardFit, seed: int,
    watch: Watch, *, published: bool, notes: list[str],
) -> Diagnosis:  # fmt: skip
    fit = found.fit
    watch("expected scores")
    n_cells = layout.n_learners * layout.n_samples
    everywhere = readout.skill_weight is None or n_cells <= EVERYWHERE * folder.n_responses
    seen = how.seen(layout, fit, everywhere=everywhere)
    facts = {
        "data_hash": folder.digest,
        "n_learners": layout.n_learners,
        "n_samples": layout.n_samples,
        "n_responses": folder.n_responses,
        "n_missing": n_cells - folder.n_responses,
        "fractional": folder.fractional,
        "response_scale": PLAIN._asdict(),
        "skill_graph": None,
        "skill_notes": [],
        "out_of_core": True,
    }
    provenance = provenance_of(facts, fit.diagnoser.size, found, readout, seed=seed, as_published=published)
    provenance["notes"] = notes
    none = np.empty(0)
    bare = Diagnosis(
        pl.DataFrame(), _sample_frame(folder, layout, readout, seen), pl.DataFrame(), provenance,
        folder.learners, folder.samples, ("overall",), fit.diagnoser, fit.solution.params, readout,
        fit.temperature, Cells(none.astype(np.int32), none.astype(np.int32), none, none),
    )  # fmt: skip
    return replace(bare, **_learner_frames(bare, layout, seen, how))


def _learner_frames(bare: Diagnosis, layout: ShardLayout, seen: Seen, how: ShardFit) -> dict[str, Any]:
    """The board by rank, the skills in the order of names, and what these are called."""
    names = pl.DataFrame({"learner": bare.learner_names})
    accuracy = _accuracy(*layout.by_learner, seen.of_learner[:, 3], exact=not bare.provenance["fractional"])
    learners = names.hstack(how.levels(bare, layout, seen)).hstack(accuracy)
    ranked = learners.sort(pl.col("ability").round(DECIMALS), "learner", descending=[True, False])
    board = bare.ranked(ranked)
    mastery = pl.col("ability") if bare.readout.unit_scale else 1 / (1 + (-pl.col("ability")).exp())
    overall = learners.select("ability", "se", "low", "high").with_columns(mastery=mastery)
    levels = how.skills(bare) or {"overall": overall}
    skills = pl.concat(
        names.with_columns(skill=pl.lit(name)).hstack(level).hstack(accuracy)
        for name, level in levels.items()
    )
    order = [k * len(names) + i for i in range(len(names)) for k in range(len(levels))]
    return {"learners": board, "skills": skills[order], "skill_names": tuple(levels)}


def _sample_frame(folder: ShardFolder, layout: ShardLayout, readout: Readout, seen: Seen) -> pl.DataFrame:
    columns: dict[str, Any] = {"sample": folder.samples}
    for name in ("difficulty", "discrimination"):
        value, se = getattr(readout, name), getattr(readout, f"{name}_se")
        columns |= {
            name: value,
            f"{name}_se": se,
            f"{name}_low": value - Z * se,
            f"{name}_high": value + Z * se,
        }
    given = {"guessing": readout.guessing, "weight": readout.sample_weight}
    columns |= {name: value for name, value in given.items() if value is not None}
    squares, bend, ratio = seen.fit.T
    count, right = layout.by_sample
    with np.errstate(invalid="ignore", divide="ignore"):
        columns |= {"infit": squares / bend, "outfit": ratio / count}
    columns["expected"] = np.full(len(count), np.nan) if seen.expected is None else seen.expected
    frame = pl.DataFrame(columns).with_columns(pl.exclude("sample").fill_nan(None))
    return frame.hstack(_accuracy(count, right, seen.square, exact=not folder.fractional))


def _accuracy(count: Floats, right: Floats, square: Floats, *, exact: bool) -> pl.DataFrame:
    """accuracy and its interval of counts, sums and sums of squares."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = right / count
        se = np.sqrt(np.maximum(square - count * mean**2, 0) / (count - 1) / count)
    se = np.where(count > 1, se, np.nan)
    return accuracy_frame(mean, se, count, np.full(len(count), exact))
