"""What a pool has found: predictions of every learner, what each fit cost and said."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.responses import ResponseTable
from camilla.pools.description import DataSet, Pool
from camilla.pools.fitting import Outcome, Part


class Prepared(NamedTuple):
    """A data set with its folds ready for learners."""

    data: DataSet
    hash: str
    parts: list[Part]

    @property
    def fold(self) -> NDArray[np.int64]:
        """The fold each sample was predicted in, −1 where it was not."""
        fold = np.full(self.data.n_samples, -1)
        for number, part in enumerate(self.parts):
            fold[part.split.test] = number
        return fold


@dataclass(frozen=True, eq=False)
class Results:
    """Outcomes in the order data set, learner."""

    pool: Pool
    prepared: Sequence[Prepared]
    outcomes: Sequence[Outcome]
    n_computed: int = 0  # outcomes that were not there before
    seconds: float = 0.0  # on the wall

    def predictions(self) -> pl.DataFrame:
        """data_set, sample, truth, fold and one column a learner; null where a fit failed.

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
        """One row a fit: learner, family, data_set, fold, CPU seconds, warnings, error."""
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
