"""What every way of making a response table comes down to."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from camilla.display import IN_NOTEBOOK, Grid, as_html
from camilla.errors import DataError
from camilla.table.cells import Cells, Means, aggregate, means, zero_or_one
from camilla.table.columns import PERCENT, PLAIN, Origin, Scale, texts
from camilla.table.content import KeptContent, write_beside
from camilla.table.files import carry, long_frame, write_frame, written_fields
from camilla.table.frames import Roles, WideRows, as_polars, indexed, long_parts, matrix_parts, wide_parts
from camilla.table.predictions import relative_error, right_or_wrong
from camilla.table.skills import SkillGraph, SkillMap
from camilla.table.validity import check_names, check_rows, check_samples


@dataclass(frozen=True, eq=False, repr=False)
class ResponseTable:
    """Responses of learners on samples, one row each; a missing response has no row.

    Several rows of one (learner, sample) pair are its trials. What came in is checked here once;
    everything downstream trusts it.
    """

    learners: tuple[str, ...]
    samples: tuple[str, ...]
    learner: NDArray[np.int32]  # [rows], index into learners
    sample: NDArray[np.int32]  # [rows], index into samples
    response: NDArray[np.float64]  # [rows], in [0, 1]
    weight: NDArray[np.float64] | None = None  # [rows], > 0
    trial: NDArray[np.int32] | None = None  # [rows]
    task: tuple[str, ...] | None = None  # one per sample
    cluster: tuple[str, ...] | None = None  # one per sample
    key: tuple[str, ...] | None = None  # one per sample: the answer that counts as right
    answer: pl.Series | None = None  # [rows], what the learner answered, null where that is not known
    skill_map: SkillMap | None = None  # rows in the order of samples
    skill_graph: SkillGraph | None = None  # between skills of the map
    learner_metadata: pl.DataFrame | None = None  # has a column "learner"
    sample_metadata: pl.DataFrame | None = None  # has a column "sample"
    n_missing: int = 0  # responses that were given as missing
    scale: Scale = PLAIN  # on which the responses came, before they were rescaled to [0, 1]
    content: KeptContent | None = None  # what samples ask and learners answered, read when asked for

    def __post_init__(self) -> None:
        object.__setattr__(self, "learner", np.asarray(self.learner, np.int32))
        object.__setattr__(self, "sample", np.asarray(self.sample, np.int32))
        object.__setattr__(self, "response", np.asarray(self.response, np.float64))
        if self.weight is not None:
            object.__setattr__(self, "weight", np.asarray(self.weight, np.float64))
        if self.trial is not None:
            object.__setattr__(self, "trial", np.asarray(self.trial, np.int32))
        check_names(self.learners, self.samples)
        check_rows(self)
        check_samples(self)

    def __repr__(self) -> str:
        skills = "" if self.skill_map is None else f", {self.skill_map.n_skills} skills"
        missing = f", {self.n_missing} missing" if self.n_missing else ""
        size = f"{self.n_learners} learners × {self.n_samples} samples, {self.n_responses} responses"
        return f"ResponseTable({size}{missing}{skills})"

    def _repr_html_(self) -> str:
        """Its size, and the learners with the highest mean response."""
        mean, se, weight = self.learner_means()
        first = np.argsort(-np.nan_to_num(mean, nan=-1.0), kind="stable")[:IN_NOTEBOOK]
        frame = pl.DataFrame(
            {
                "learner": [self.learners[i] for i in first],
                "mean": mean[first],
                "se": se[first],
                "responses": weight[first],
            }
        ).fill_nan(None)
        tail = f"; the first {len(first)} by mean response" if self.n_learners > len(first) else ""
        return as_html([Grid(f"{self!r}{tail}", frame)])

    @classmethod
    def from_long(
        cls,
        frame: Any,
        *,
        learner: str = "learner",
        sample: str = "sample",
        response: str = "response",
        trial: str | None = None,
        task: str | None = None,
        cluster: str | None = None,
        weight: str | None = None,
        key: str | None = None,
        answer: str | None = None,
        missing: str | Sequence[str] = (),
        percent: bool = False,
    ) -> Self:
        """From any dataframe with one row per response. Repeated (learner, sample) rows are trials.

        Levels of a pandas index are columns like any other. `key` is the column of the right answer to a
        sample, `answer` that of what the learner answered. `missing` are texts that stand for a missing
        response. With `percent` responses run from 0 to 100.
        """
        roles = Roles(learner, sample, response, trial, task, cluster, weight, key, answer)
        origin = Origin(missing=texts(missing), scale=PERCENT if percent else PLAIN, percent=percent)
        return cls(**long_parts(as_polars(frame), roles, origin)._asdict(), scale=origin.scale)

    @classmethod
    def from_wide(
        cls,
        frame: Any,
        *,
        rows: WideRows,
        id: str | None = None,
        missing: str | Sequence[str] = (),
        percent: bool = False,
    ) -> Self:
        """From any dataframe whose rows are samples (one column per learner), or learners.

        `id` is the column that names the rows: by default the index of a pandas frame, if it has a name or
        holds anything but whole numbers, else the first column. `missing` are texts that stand for a missing
        response. With `percent` responses run from 0 to 100.
        """
        origin = Origin(missing=texts(missing), scale=PERCENT if percent else PLAIN, percent=percent)
        named = indexed(frame).named_by(id, origin)
        return cls(**wide_parts(named.frame, rows, named.id, (), origin)._asdict(), scale=origin.scale)

    @classmethod
    def from_matrix(
        cls, array: ArrayLike, *, learners: Sequence[str] | None = None, samples: Sequence[str] | None = None
    ) -> Self:
        """From a matrix [learners, samples]; NaN is a missing response."""
        return cls(**matrix_parts(array, learners, samples)._asdict())

    @classmethod
    def from_predictions(
        cls, predictions: Any, labels: ArrayLike, *, samples: Sequence[str] | None = None
    ) -> Self:
        """From classifiers: 1 where the prediction is the label, missing where it is None or NaN.

        `predictions` maps each learner to its predictions, or is a dataframe with one column per learner.
        Labels and predictions stay in the table, as `key` and `answer`.
        """
        return cls(**right_or_wrong(predictions, labels, samples)._asdict())

    @classmethod
    def from_errors(
        cls, predictions: Any, targets: ArrayLike, *, samples: Sequence[str] | None = None
    ) -> Self:
        """From regressors: r = 1 − (|e| − min|e|) / (max|e| − min|e|) over the learners of each sample.

        The sample-wise min–max of Camilla's paper, reversed: the best learner on a sample gets 1, the
        worst 0. A sample on which all errors are equal tells no learner from another: it is missing.
        """
        return cls(**relative_error(predictions, targets, samples)._asdict())

    @property
    def n_learners(self) -> int:
        return len(self.learners)

    @property
    def n_samples(self) -> int:
        return len(self.samples)

    @property
    def n_responses(self) -> int:
        """Rows with a response; a cell with three trials counts three times."""
        return len(self.response)

    @property
    def is_binary(self) -> bool:
        """Whether every response is exactly 0 or 1."""
        return bool(zero_or_one(self.response).all())

    @property
    def is_complete(self) -> bool:
        """Whether every learner has a response on every sample."""
        return len(self.cells().response) == self.n_learners * self.n_samples

    def cells(self) -> Cells:
        """One entry for each observed (learner, sample) pair: total weight, weighted mean response."""
        return self._cells

    @cached_property
    def _cells(self) -> Cells:
        return aggregate(self.learner, self.sample, self.response, self.weight, self.n_learners)

    def matrix(self) -> NDArray[np.float64]:
        """Mean responses [learners, samples], NaN where missing."""
        cells = self.cells()
        matrix = np.full((self.n_learners, self.n_samples), np.nan)
        matrix[cells.learner, cells.sample] = cells.response
        return matrix

    def learner_means(self) -> Means:
        """Plain accuracy of each learner, with its standard error over samples."""
        cells = self.cells()
        return means(cells.learner, cells, self.n_learners)

    def sample_means(self) -> Means:
        """Plain accuracy on each sample, with its standard error over learners."""
        cells = self.cells()
        return means(cells.sample, cells, self.n_samples)

    def keep(self, rows: NDArray[np.bool_]) -> Self:
        """The rows where the mask is True; learners and samples stay as they are."""
        return replace(
            self,
            learner=self.learner[rows],
            sample=self.sample[rows],
            response=self.response[rows],
            weight=None if self.weight is None else self.weight[rows],
            trial=None if self.trial is None else self.trial[rows],
            answer=None if self.answer is None else self.answer.filter(pl.Series(rows)),
            n_missing=0,
        )

    def take_samples(self, indices: ArrayLike) -> Self:
        """The samples of these indices, in this order, with their responses."""
        chosen = np.asarray(indices, np.int64)
        place = _places(chosen, self.n_samples, "sample")
        rows = place[self.sample] >= 0
        samples = tuple(self.samples[i] for i in chosen)
        return replace(
            self.keep(rows),
            samples=samples,
            sample=place[self.sample[rows]],
            task=None if self.task is None else tuple(self.task[i] for i in chosen),
            cluster=None if self.cluster is None else tuple(self.cluster[i] for i in chosen),
            key=None if self.key is None else tuple(self.key[i] for i in chosen),
            skill_map=None if self.skill_map is None else self.skill_map.take(chosen),
            sample_metadata=_only(self.sample_metadata, "sample", samples),
        )

    def take_learners(self, indices: ArrayLike) -> Self:
        """The learners of these indices, in this order, with their responses; all samples stay."""
        chosen = np.asarray(indices, np.int64)
        place = _places(chosen, self.n_learners, "learner")
        rows = place[self.learner] >= 0
        learners = tuple(self.learners[i] for i in chosen)
        return replace(
            self.keep(rows),
            learners=learners,
            learner=place[self.learner[rows]],
            learner_metadata=_only(self.learner_metadata, "learner", learners),
        )

    def in_fitting_order(self) -> "ResponseTable":
        """Learners and samples by name, skills by which samples need them: no order can change a fit."""
        ordered = self.canonical().table
        if ordered.skill_map is None:
            return ordered
        return ordered.with_skills(ordered.skill_map.in_canonical_order(), graph=ordered.skill_graph)

    def with_skills(self, skill_map: SkillMap | None, *, graph: SkillGraph | None = None) -> Self:
        """The same responses under another skill map, whose rows follow `samples`, and its graph if any."""
        return replace(self, skill_map=skill_map, skill_graph=graph)

    def canonical(self) -> "Canonical":
        """The table with learners and samples sorted by name, and where each came from."""
        learner_order, sample_order = _by_name(self.learners), _by_name(self.samples)
        table = replace(
            self.take_learners(learner_order).take_samples(sample_order), n_missing=self.n_missing
        )
        return Canonical(table, learner_order, sample_order)

    def short_answers(self) -> pl.Series | None:
        """What each response answered, null where that is not known; None where no answer is.

        It is `answer`, else what the content has where all answers to a sample are short enough to count.
        """
        if self.answer is not None or self.content is None:
            return self.answer
        rows = self.to_long().select("sample", "learner")
        trial = np.zeros(self.n_responses, np.int32) if self.trial is None else self.trial
        short = self.content.short_answers(self.samples).unique(["sample", "learner", "trial"], keep="first")
        rows = rows.with_columns(trial=pl.Series(trial, dtype=pl.Int32))
        on = ["sample", "learner", "trial"]
        return rows.join(short, on=on, how="left", maintain_order="left")["answer"]

    def to_long(self) -> pl.DataFrame:
        """One row per response: learner, sample, response, and what else the table has.

        These are trial, weight, answer, task, cluster and key, in this order.
        """
        return long_frame(self)

    def write(self, path: str | Path, *, provenance: dict[str, Any] | None = None) -> Path:
        """Writes `to_long()` as .csv, .tsv, .jsonl or .parquet; an interrupted write leaves no half file.

        Parquet also carries metadata of learners and samples, the skill map, and names without a
        response; `camilla.read` brings them back. Content, where there is some, is written beside it, as
        NAME.content.parquet, and found there again.
        """
        path = Path(path)
        notes = carry(self, provenance) if path.suffix.lower() == ".parquet" else None
        write_frame(self.to_long(), path, notes)
        write_beside(self.content, path, (self.samples, self.learners))
        return path

    @classmethod
    def read_written(cls, path: str | Path) -> "ResponseTable | None":
        """The table as `write` made it, or None if the file is not a Parquet file that Camilla wrote."""
        fields = written_fields(Path(path))
        return None if fields is None else cls(**fields)

    def digest(self) -> str:
        """SHA-256 of names, mean response and weight of every cell, skill map and graph, clusters.

        The order of rows, learners, samples and skills does not matter, nor how clusters are called, nor
        whether a repeated row is given as trials or as a weight. Weights and responses count to 12 decimals.
        """
        learner_order, sample_order = _by_name(self.learners), _by_name(self.samples)
        cells = self.cells()
        learner = np.argsort(learner_order).astype(np.int32)[cells.learner]
        sample = np.argsort(sample_order).astype(np.int32)[cells.sample]
        ordered = aggregate(learner, sample, cells.response, cells.weight, self.n_learners)
        sha = hashlib.sha256(json.dumps([sorted(self.learners), sorted(self.samples)]).encode())
        for numbers in ordered:
            sha.update(np.round(numbers, 12).astype("<f8").tobytes())
        if self.skill_map is not None:
            skills = self.skill_map.skills
            order = _by_name(skills)
            sha.update(json.dumps(sorted(skills)).encode())
            sha.update(np.packbits(self.skill_map.mask[sample_order][:, order]).tobytes())
        if self.skill_graph is not None:
            sha.update(json.dumps(self.skill_graph.edges).encode())
        if self.cluster is not None:
            number: dict[str, int] = {}
            together = [number.setdefault(self.cluster[i], len(number)) for i in sample_order]
            sha.update(json.dumps({"cluster": together}).encode())
        return sha.hexdigest()


class Canonical(NamedTuple):
    """`table.learners[i]` is `learners[learner_order[i]]` of the original, samples alike."""

    table: ResponseTable
    learner_order: NDArray[np.int64]
    sample_order: NDArray[np.int64]


def _by_name(names: tuple[str, ...]) -> NDArray[np.int64]:
    return np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)


def _places(chosen: NDArray[np.int64], size: int, kind: str) -> NDArray[np.int32]:
    """Old index → new index, −1 where not chosen."""
    if len(chosen) and (chosen.min() < 0 or chosen.max() >= size):
        raise DataError(
            f"{kind} indices run from {chosen.min()} to {chosen.max()}; 0 to {size - 1} was wanted."
        )
    place = np.full(size, -1, np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    return place


def _only(metadata: pl.DataFrame | None, column: str, names: tuple[str, ...]) -> pl.DataFrame | None:
    return None if metadata is None else metadata.filter(pl.col(column).is_in(names))
