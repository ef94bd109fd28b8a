"""What a pool gave: predictions, scores, families, and its folder."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import camilla
from camilla.errors import SettingError
from camilla.names import nearest
from camilla.pools.description import DataSet, Learner, Pool
from camilla.pools.fitting import FoldPart, Outcome
from camilla.pools.journal import versions
from camilla.pools.sources import error_responses, join_predictions
from camilla.table.files import whole_file, write_frame
from camilla.table.responses import ResponseTable


class Prepared(NamedTuple):
    """A data set with its folds ready for learners."""

    data: DataSet
    hash: str
    parts: list[FoldPart]

    @property
    def fold(self) -> NDArray[np.int64]:
        """The fold each sample was predicted in, −1 where it was not."""
        fold = np.full(self.data.n_samples, -1)
        for number, part in enumerate(self.parts):
            fold[part.split.test] = number
        return fold


@dataclass(frozen=True, eq=False)
class PoolResults:
    """Outcomes in the order data set, learner."""

    pool: Pool
    prepared: Sequence[Prepared]
    outcomes: Sequence[Outcome]
    n_computed: int = 0  # outcomes that were not there before
    seconds: float = 0.0  # on the wall

    def predictions(self) -> pl.DataFrame:
        """data_set, sample, truth, fold and one column per learner; null where a fit failed.

        The truth of classes is their name, except for scores, where it is 1 for the positive class.
        """
        values = {(outcome.data_set, outcome.learner): outcome.values for outcome in self.outcomes}
        return pl.concat([self._predicted(one, values) for one in self.prepared])

    def _predicted(self, one: Prepared, values: dict[tuple[str, str], NDArray[np.float64]]) -> pl.DataFrame:
        data, fold = one.data, one.fold
        named = self.pool.task == "labels"
        columns = {
            learner.name: pl.Series(values[data.name, learner.name], nan_to_null=True)
            for learner in self.pool.learners
        }
        columns = {"truth": pl.Series(data.target), **columns}
        if named:
            columns = {name: _named(column, data.classes) for name, column in columns.items()}
        elif self.pool.task == "scores":
            columns["truth"] = columns["truth"].cast(pl.Int8)
        rest = pl.DataFrame(columns)
        head = pl.DataFrame({"data_set": [data.name] * len(fold), "sample": data.samples})
        frame = head.with_columns(rest.drop_in_place("truth"), pl.Series("fold", fold, pl.Int16))
        return frame.hstack(rest).filter(pl.col("fold") >= 0)

    def responses(self) -> ResponseTable:
        """Right or wrong for labels, relative error for values; learners that failed have no response."""
        frame = self.predictions()
        several = len(self.prepared) > 1
        samples = (
            frame.select(pl.concat_str("data_set", "sample", separator="/") if several else pl.col("sample"))
            .to_series()
            .to_list()
        )
        learners = frame.drop("data_set", "sample", "truth", "fold")
        learners = learners.select(column.name for column in learners if column.null_count() < len(column))
        make = ResponseTable.from_predictions if self.pool.task == "labels" else ResponseTable.from_errors
        return make(learners, frame["truth"], samples=samples)

    def skills(self) -> pl.DataFrame | None:
        """The skill columns of the samples predicted, for pools of one data set."""
        one = self.prepared[0]
        if len(self.prepared) > 1 or one.data.skills is None:
            return None
        named = pl.DataFrame({"sample": one.data.samples}).hstack(one.data.skills)
        return named.filter(one.fold >= 0)

    def fits(self) -> pl.DataFrame:
        """One row per fit: learner, family, data_set, fold, CPU seconds, warnings, error."""
        family = {learner.name: learner.family for learner in self.pool.learners}
        rows = [
            (
                outcome.learner, family[outcome.learner], outcome.data_set, fit.fold, fit.seconds,
                fit.warnings, fit.error,
            )
            for outcome in self.outcomes for fit in outcome.fits
        ]  # fmt: skip
        schema: dict[str, Any] = {
            "learner": pl.String, "family": pl.String, "data_set": pl.String, "fold": pl.Int64,
            "seconds": pl.Float64, "warnings": pl.List(pl.String), "error": pl.String,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")

    def duplicates(self) -> dict[str, str]:
        """Learner → the earlier one it copies: on every data set the same predictions, or, of scores, the
        same order of the samples, which is all that metrics of scores look at."""
        columns: dict[str, list[NDArray[np.float64]]] = {learner.name: [] for learner in self.pool.learners}
        for outcome in self.outcomes:
            columns[outcome.learner].append(outcome.values)
        first: dict[bytes, str] = {}
        copies = {}
        for name, parts in columns.items():
            if any(np.isnan(part).all() for part in parts):
                continue
            seen = first.setdefault(b"".join(self._identity(part) for part in parts), name)
            if seen != name:
                copies[name] = seen
        return copies

    def _identity(self, values: NDArray[np.float64]) -> bytes:
        if self.pool.task == "scores":
            return np.unique(values, return_inverse=True)[1].tobytes()
        return values.tobytes()


def _named(codes: pl.Series, classes: Sequence[str]) -> pl.Series:
    return codes.cast(pl.Int64).replace_strict(dict(enumerate(classes)), return_dtype=pl.String)


def only(pool: Pool, families: Sequence[str] | None) -> Pool:
    """The pool with the learners of some families; with all when none is named."""
    there = list(dict.fromkeys(learner.family for learner in pool.learners))
    for name in families or ():
        if name not in there:
            raise SettingError(f"the pool has no family {name!r}. {nearest(name, there)}")
    if not families:
        return pool
    return replace(pool, learners=[learner for learner in pool.learners if learner.family in families])


def summary(results: PoolResults) -> pl.DataFrame:
    """Family by family: learners, fits, failures, warnings, CPU seconds, and how good they are.

    Accuracy for labels, MAE for values, AUC for scores (mean over data sets), each as mean and standard
    deviation over the learners.
    """
    fits = results.fits()
    cost = fits.group_by("family", maintain_order=True).agg(
        pl.col("learner").n_unique().alias("learners"),
        pl.len().alias("fits"),
        pl.col("error").is_not_null().sum().alias("failed"),
        (pl.col("warnings").list.len() > 0).sum().alias("warned"),
        pl.col("seconds").sum().round(1),
    )
    quality = learner_quality(results)
    measure = quality.columns[-1]
    spread = quality.group_by("family").agg(
        pl.col(measure).mean(), pl.col(measure).std(ddof=0).alias(f"{measure}_sd")
    )
    return cost.join(spread, on="family", how="left")


def learner_quality(results: PoolResults) -> pl.DataFrame:
    """learner, family and its accuracy, MAE or mean AUC."""
    frame = results.predictions()
    names = [learner.name for learner in results.pool.learners]
    match results.pool.task:
        case "labels":
            measure = "accuracy"
            values = [(frame[name] == frame["truth"]).mean() for name in names]
        case "values":
            measure = "mae"
            values = [(frame[name] - frame["truth"]).abs().mean() for name in names]
        case "scores":
            measure = "auc"
            values = [_mean_auc(frame, name) for name in names]
    families = [learner.family for learner in results.pool.learners]
    return pl.DataFrame({"learner": names, "family": families, measure: pl.Series(values, dtype=pl.Float64)})


def _mean_auc(frame: pl.DataFrame, name: str) -> float | None:
    """Mann–Whitney, ties half; over the data sets the learner did not fail on."""
    rank = pl.col(name).rank("average")
    positive, n = pl.col("truth") == 1, pl.len()
    n_positive = positive.sum().cast(pl.Float64)
    auc = (rank.filter(positive).sum() - n_positive * (n_positive + 1) / 2) / (n_positive * (n - n_positive))
    one = frame.select("data_set", "truth", name).drop_nulls().group_by("data_set").agg(auc.alias("auc"))
    return one["auc"].mean()  # type: ignore[return-value]


def write_pool(results: PoolResults, folder: Path, *, join: Path | None = None) -> dict[str, Any]:
    """Writes the tables and `pool.json`; returns what the latter says.

    Scores: scores.parquet (data_set, sample, truth, one column per learner, without duplicates) and
    folds.parquet. Labels and values: predictions.parquet, responses.parquet (long) and skills.parquet.
    `join` names a file with predictions of further learners on the same samples, for values.
    """
    copies = results.duplicates()
    frame = results.predictions()
    if results.pool.task == "scores":
        write_frame(frame.drop("fold", *copies), folder / "scores.parquet")
        write_frame(frame.select("data_set", "sample", "fold"), folder / "folds.parquet")
    else:
        table = results.responses()
        if join is not None:
            frame = join_predictions(frame, join)
            table = error_responses(frame)
        write_frame(frame, folder / "predictions.parquet")
        table.write(folder / "responses.parquet")
        if (skills := results.skills()) is not None:
            write_frame(skills, folder / "skills.parquet")
    fits = results.fits()
    write_frame(fits, folder / "fits.parquet")
    write_frame(_learners(results, copies), folder / "learners.parquet")
    document = pool_provenance(results, copies, fits) | ({} if join is None else {"joined": join.name})
    with whole_file(folder / "pool.json") as draft:
        draft.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return document


def pool_provenance(results: PoolResults, copies: dict[str, str], fits: pl.DataFrame) -> dict[str, Any]:
    """Settings, versions, seeds and hashes; what failed, what was a copy, what was mapped or left out."""
    pool = results.pool
    failed = fits.filter(pl.col("error").is_not_null())
    return {
        "pool": pool.name,
        "task": pool.task,
        "camilla": camilla.__version__,
        "versions": dict(versions()),
        "seed": pool.seed,
        "shared_seed": pool.shared_seed,
        "validation": {"kind": type(pool.validation).__name__.lower(), **asdict(pool.validation)},
        "preparation": asdict(pool.preparation),
        "data": [
            {
                "data_set": one.data.name,
                "samples": one.data.n_samples,
                "predicted": int((one.fold >= 0).sum()),
                "incomplete_rows_left_out": one.data.n_incomplete,
                "features": one.parts[0].train.shape[1],
                "classes": list(one.data.classes),
                "sha256": one.hash,
            }
            for one in results.prepared
        ],
        "learners": len(pool.learners),
        "fits": fits.height,
        "cpu_seconds": round(float(fits["seconds"].sum()), 3),
        "last_run": {"outcomes_computed": results.n_computed, "wall_seconds": round(results.seconds, 1)},
        "fits_with_warnings": fits.filter(pl.col("warnings").list.len() > 0).height,
        "failed": failed.select("learner", "data_set", "fold", "error").to_dicts(),
        "duplicates": copies,
        "notes": list(pool.notes),
    }


def _learners(results: PoolResults, copies: dict[str, str]) -> pl.DataFrame:
    rows = [
        _learner(learner) | {"duplicate_of": copies.get(learner.name)} for learner in results.pool.learners
    ]
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides={"duplicate_of": pl.String})


def _learner(learner: Learner) -> dict[str, str | None]:
    kind = type(learner.estimator)
    return {
        "learner": learner.name,
        "family": learner.family,
        "made_by": f"{kind.__module__}.{kind.__qualname__}",
        "settings": json.dumps(learner.settings, default=str),
    }
