"""Tables larger than memory to diagnoses: shards, settings chosen on a part, the fit by turns, the frames.

What is fitted is what `diagnose` fits, irt or mirt at its mode; responses stay in their shards. The diagnosis
has the frames, parameters and predictions of any other; only what needs the responses again is refused.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from camilla.arrays import Floats, Watch, rounded
from camilla.diagnosing import AUTO, Found, Part, contender, diagnoser_named, provenance_of, readout_of
from camilla.diagnosis import DECIMALS, Diagnosis, accuracy_frame
from camilla.display import watching
from camilla.errors import DataError, SettingError
from camilla.extras import may_accelerate
from camilla.fitting import fit as fitting
from camilla.fitting.alternating import Reached, SampleState, State, Workers, fit_by_turns
from camilla.fitting.factors import Factors
from camilla.fitting.layout import Layout, Size, layout_of
from camilla.fitting.protocol import Readout, Solution
from camilla.fitting.shards import Seen, ShardLayout, Threads, seen_of
from camilla.parallel import HERE, RAY
from camilla.statistics.intervals import Z
from camilla.table.cells import Cells
from camilla.table.columns import PLAIN
from camilla.table.files import whole_file
from camilla.table.shards import Shard, ShardFolder, read_large

TRIAL_LEARNERS, TRIAL_SAMPLES = 1000, 2000  # a part of the table that settings are chosen on
TRIALS: tuple[tuple[str, dict[str, Any]], ...] = (("irt", {"precision": 1.0}), ("mirt", {}))
EVERYWHERE = 10  # cells for each response: above, expected scores over all cells cost more than the fit
STATE = "state.npz"
CHOSEN = "chosen.json"

DEVICE_SHARE = 0.5  # of an accelerator's memory that responses may take

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
    sample: str = "sample", response: str = "response", jobs: int = -1, backend: str = HERE,
    device: str = "auto", seed: int = 0, progress: bool | None = None, watch: Watch | None = None,
) -> Diagnosis:  # fmt: skip
    """Diagnoses Parquet files that are too large for memory.

    Parameters
    ----------
    source : str or path
        A file, a folder or a glob of Parquet files with one row per response.
    diagnoser : str
        "irt" or "mirt" with settings, or "auto", which takes the one that predicts a part of the table
        better.
    shards : path
        A folder on a fast disk, with room for one byte per cell. A run that was killed continues from it, and
        a later run on the same files does not read them again.
    learner, sample, response : str
        Columns of the files.
    jobs : int
        Workers; −1 for one per core, of this machine or of the cluster.
    backend : {"loky", "ray"}
        Where workers run: on this machine, or with "ray" on the cluster of the environment variable
        RAY_ADDRESS, or one that is started here.
    device : {"auto", "cpu", "gpu"}
        Where to fit. "auto" takes an accelerator where JAX finds one with room for the responses.
    seed : int
        Seed of everything random. The same table, settings and seed give the same result.
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
    _check_fitted(diagnoser)
    with watching(f"diagnosing with {diagnoser}", progress, watch) as watch:
        folder = read_large(source, shards, learner=learner, sample=sample, response=response, watch=watch)
        return diagnose_shards(
            folder, diagnoser, watch, seed=seed, workers=workers_for(jobs, backend, device)
        )


def workers_for(jobs: int, backend: str, device: str) -> MakeWorkers:
    """Who fits: a Ray cluster, an accelerator, or the cores of this machine."""
    if device not in ("auto", "cpu", "gpu"):
        raise SettingError(f"a device is auto, cpu or gpu, not {device!r}.")
    if backend not in (HERE, "threading", RAY):
        raise SettingError(f"shards are fitted on loky (this machine) or ray, not on {backend!r}.")
    if jobs == 0:
        raise SettingError("jobs is a number of workers, or -1 for one per core; 0 came.")
    most = jobs if jobs > 0 else None
    if backend == RAY:
        if device == "gpu":
            raise SettingError("a Ray cluster fits on CPUs; leave out --device gpu or --backend ray.")
        from camilla.fitting.cluster import RayWorkers

        return lambda folder: RayWorkers(folder, workers=most)
    return lambda folder: _on_device(folder, device) or Threads(folder.shards, most)


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
        raise SettingError("JAX finds no accelerator here. Install JAX for yours, or leave out --device gpu.")
    if n_bytes >= DEVICE_SHARE * free:
        raise SettingError(
            f"the responses take {n_bytes / 1e9:.1f} GB as bytes, more than half of the accelerator's "
            f"{free / 1e9:.1f} GB. Leave out --device gpu, or use a Ray cluster."
        )
    return Device(folder.shards)


def diagnose_shards(
    folder: ShardFolder, diagnoser: str, watch: Watch, *, seed: int = 0, workers: MakeWorkers | None = None
) -> Diagnosis:
    """The diagnosis of a folder of shards with irt, mirt or auto, which takes the better of the two."""
    size = Size(len(folder.learners), len(folder.samples), None, folder.fractional)
    watch("counting responses")
    layout = ShardLayout(folder.shards)
    _check_answered(folder)
    tag = json.dumps([diagnoser, seed, folder.digest])
    chosen = _kept_choice(folder.path / CHOSEN, tag)
    if chosen is None:
        chosen = _choose(diagnoser, size, layout, seed, watch)
        _write(folder.path / CHOSEN, json.dumps({"tag": tag} | chosen._asdict()).encode())
    model: Any = fitting.build(diagnoser_named(chosen.name), size, chosen.settings)
    start = start_of_shards(layout, model.problem().free.shape[1], seed)
    keeper = _InFolder(folder.path / STATE, tag, [one.shape[0] for one in folder.shards])
    held = (workers or workers_for(-1, HERE, "auto"))(folder)
    try:
        reached = fit_by_turns(model.problem(), held, start, watch, keeper=keeper)
    finally:
        held.close()
    return _diagnosis(folder, layout, model, chosen, reached, seed, watch, auto=diagnoser == AUTO)


def _check_answered(folder: ShardFolder) -> None:
    if len(folder.learners) < 2 or len(folder.samples) < 2:
        raise DataError(
            f"got {len(folder.learners)} learners and {len(folder.samples)} samples; two of each are needed."
        )


def _check_fitted(diagnoser: str) -> None:
    """An error for a diagnoser that needs the responses in memory, before a file is read."""
    wanted = contender(diagnoser)
    if (
        wanted.name not in (AUTO, "irt", "mirt")
        or wanted.as_published
        or wanted.settings.get("form") == "3pl"
    ):
        raise SettingError(
            f"{diagnoser} is not fitted to tables of this size; irt (1pl, 2pl), mirt and auto are. It holds "
            "the responses in memory, up to 70 bytes for each: give it some of the files."
        )


def _choose(diagnoser: str, size: Size, layout: ShardLayout, seed: int, watch: Watch) -> _Chosen:
    """Settings that predict a part of the table best, chosen as on a smaller table."""
    wanted = contender(diagnoser)
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


def _part(size: Size, layout: ShardLayout, seed: int) -> tuple[Size, Layout]:
    """Some learners and samples, in memory."""
    rng = np.random.default_rng(seed)
    samples = np.sort(rng.choice(size.n_samples, min(size.n_samples, TRIAL_SAMPLES), replace=False))
    learners = np.sort(rng.choice(size.n_learners, min(size.n_learners, TRIAL_LEARNERS), replace=False))
    parts = []
    for start in range(0, len(samples), 100):
        weight, right = layout.block(samples[start : start + 100])
        parts.append((weight[:, learners], right[:, learners]))
    weight, right = (np.concatenate(each) for each in zip(*parts, strict=True))
    sample, learner = np.nonzero(weight)
    small = Size(len(learners), len(samples), None, size.fractional)
    cells = layout_of(
        learner, sample, right[sample, learner].astype(np.float64), np.ones(len(sample)),
        n_learners=len(learners), n_samples=len(samples),
    )  # fmt: skip
    return small, cells


def start_of_shards(layout: ShardLayout, dims: int, seed: int) -> Floats:
    """Abilities at the standardised logit of the mean response, further dimensions near 0."""
    count, right = layout.by_learner
    first = np.log(right + 0.5) - np.log(count - right + 0.5)
    spread = first.std()
    first = (first - first.mean()) / (spread if spread > 1e-9 else 1.0)
    rest = np.random.default_rng(seed).normal(0, 0.1, (len(first), dims - 1))
    return np.column_stack([first, rest])


class _InFolder:
    """The state of a fit in a file, and of which fit it is."""

    def __init__(self, path: Path, tag: str, sizes: Sequence[int]) -> None:
        self.path, self.tag, self.sizes = path, tag, sizes

    def keep(self, state: State) -> None:
        with whole_file(self.path) as draft, draft.open("wb") as file:
            np.savez(
                file, tag=np.array(self.tag), sweep=state.sweep, ability=state.ability,
                loading=np.concatenate([one.loading for one in state.samples]),
                intercept=np.concatenate([one.intercept for one in state.samples]),
            )  # fmt: skip

    def kept(self) -> State | None:
        try:
            with np.load(self.path, allow_pickle=False) as file:
                if str(file["tag"]) != self.tag:
                    return None
                ends = np.cumsum(self.sizes)[:-1]
                parts = zip(np.split(file["loading"], ends), np.split(file["intercept"], ends), strict=True)
                return State(int(file["sweep"]), file["ability"], tuple(SampleState(*part) for part in parts))
        except (OSError, ValueError, KeyError):
            return None


def _kept_choice(path: Path, tag: str) -> _Chosen | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return _Chosen(**document) if document.pop("tag") == tag else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, content: bytes) -> None:
    with whole_file(path) as draft:
        draft.write_bytes(content)


def _diagnosis(
    folder: ShardFolder, layout: ShardLayout, model: Any, chosen: _Chosen, reached: Reached, seed: int,
    watch: Watch, *, auto: bool,
) -> Diagnosis:  # fmt: skip
    loading = np.concatenate([one.loading for one in reached.samples])
    intercept = np.concatenate([one.intercept for one in reached.samples])
    params = Factors(reached.ability, loading, intercept)
    solution = Solution(params, float("nan"), reached.change, reached.sweeps, reached.converged)
    loss = float("nan") if chosen.validation_loss is None else chosen.validation_loss
    fit = fitting.FittedDiagnoser(
        model, solution, chosen.temperature, chosen.chosen, loss, fitting.settings_as_data(model)
    )
    found = Found(fit, (Part(fit, 1.0),) if auto else ())
    watch("standard errors")
    readout = readout_of(found, layout)
    watch("expected scores")
    n_cells = len(folder.learners) * len(folder.samples)
    everywhere = readout.skill_weight is None or n_cells <= EVERYWHERE * folder.n_responses
    seen = _seen(folder.shards, params, reached.samples, chosen.temperature, everywhere=everywhere)
    facts = {
        "data_hash": folder.digest,
        "n_learners": len(folder.learners),
        "n_samples": len(folder.samples),
        "n_responses": folder.n_responses,
        "n_missing": n_cells - folder.n_responses,
        "fractional": folder.fractional,
        "response_scale": PLAIN._asdict(),
        "skill_graph": None,
        "skill_notes": [],
        "out_of_core": True,
    }
    provenance = provenance_of(facts, model.size, found, readout, seed=seed, as_published=False)
    provenance["notes"] = ["The responses were read in shards and are not kept in the diagnosis."]
    learners = _learner_frame(folder, layout, readout, seen)
    ranked = learners.sort(pl.col("ability").round(DECIMALS), "learner", descending=[True, False])
    board = ranked.with_row_index("rank", offset=1).select("learner", "rank", pl.exclude("learner", "rank"))
    mastery = pl.col("ability") if readout.unit_scale else 1 / (1 + (-pl.col("ability")).exp())
    skills = learners.with_columns(skill=pl.lit("overall"), mastery=mastery)
    ability = ("learner", "skill", "ability", "se", "low", "high", "mastery")
    skills = skills.select(*ability, pl.exclude(*ability))
    none = np.empty(0)
    return Diagnosis(
        board, _sample_frame(folder, layout, readout, seen), skills, provenance,
        folder.learners, folder.samples, ("overall",), model, params, readout, chosen.temperature,
        Cells(none.astype(np.int32), none.astype(np.int32), none, none),
    )  # fmt: skip


def _seen(
    shards: Sequence[Shard], params: Factors, samples: Sequence[SampleState], temperature: float,
    *, everywhere: bool,
) -> Seen:  # fmt: skip
    samples = [SampleState(*(part / temperature for part in one)) for one in samples]
    parts = Threads.over(
        lambda k: seen_of(shards[k], params.ability, samples[k], everywhere=everywhere), len(shards)
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


def _learner_frame(folder: ShardFolder, layout: ShardLayout, readout: Readout, seen: Seen) -> pl.DataFrame:
    """Abilities in the order of names, accuracy beside them."""
    count, right = layout.by_learner
    if readout.skill_weight is not None:
        value, se = readout.ability[:, 0], np.sqrt(readout.covariance[:, 0, 0])
    else:
        assert seen.everywhere is not None
        n = len(folder.samples)
        value, slope = seen.everywhere[:, 0] / n, seen.everywhere[:, 1:] / n
        se = np.sqrt(np.einsum("nk,nkl,nl->n", slope, readout.covariance, slope))
    if readout.assisted:
        off, bend, squares = seen.of_learner.T[:3]
        known = np.maximum(count, 1)
        value = np.where(count > 0, value + off / known, value)
        se = np.where(count > 0, np.sqrt(squares if folder.fractional else bend) / known, se)
    low, high = value - Z * se, value + Z * se
    if readout.unit_scale:
        low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    frame = pl.DataFrame({"learner": folder.learners, "ability": value, "se": se, "low": low, "high": high})
    return frame.hstack(_accuracy(count, right, seen.of_learner[:, 3], exact=not folder.fractional))


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
