"""What every way of making a response table comes down to."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from camilla.display import IN_NOTEBOOK, Grid, as_html, counted_of
from camilla.errors import DataError
from camilla.names import quoted, repeated
from camilla.table.cells import Cells, Means, aggregate, means, zero_or_one
from camilla.table.columns import PERCENT, PLAIN, Origin, Scale, texts
from camilla.table.content import KeptContent, write_beside
from camilla.table.features import Features
from camilla.table.files import carry, long_frame, write_frame, written_fields
from camilla.table.frames import Roles, WideRows, as_polars, indexed, long_parts, matrix_parts, wide_parts
from camilla.table.predictions import relative_error, right_or_wrong
from camilla.table.skills import SkillGraph, SkillMap


@dataclass(frozen=True, eq=False, repr=False)
class ResponseTable:
    """Responses of learners on samples: one row per response. A missing response has no row.

    Several rows of one learner and sample are its trials. The table checks its input once; everything
    else in Camilla trusts it. Make one with `camilla.read` or one of the `from_…` methods.

    Parameters
    ----------
    learners, samples : tuple of str
        Names.
    learner, sample : array of int
        For each row, the index of its learner and of its sample.
    response : array of float
        For each row, the response in [0, 1].
    weight : array of float, optional
        For each row, a weight above 0.
    trial : array of int, optional
        For each row, the number of the trial.
    task, cluster, key : tuple of str, optional
        For each sample, its task, its cluster, and the answer that counts as right.
    answer : polars.Series, optional
        For each row, what the learner answered.
    skill_map : SkillMap, optional
        Which skills each sample needs, with rows in the order of `samples`.
    skill_graph : SkillGraph, optional
        Which skill builds on which.
    learner_metadata, sample_metadata : polars.DataFrame, optional
        Anything known about learners and samples, with a column "learner" or "sample".
    n_missing : int
        Number of responses that were given as missing.
    scale : Scale
        The scale of the responses before they were rescaled to [0, 1].
    content : KeptContent, optional
        Prompts, references and answers, read from disk when asked for.
    sample_features, learner_features : Features, optional
        What is known of samples and of learners before any response, with rows in the order of the table's.

    Examples
    --------
    >>> table = camilla.ResponseTable.from_matrix([[1, 0, 1], [1, np.nan, 0]], learners=["a", "b"])
    >>> table
    ResponseTable(2 learners × 3 samples, 5 responses, 1 missing)
    >>> table.learner_means().mean
    array([0.66666667, 0.5       ])
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
    sample_features: Features | None = None  # rows in the order of samples
    learner_features: Features | None = None  # rows in the order of learners

    def __post_init__(self) -> None:
        object.__setattr__(self, "learner", np.asarray(self.learner, np.int32))
        object.__setattr__(self, "sample", np.asarray(self.sample, np.int32))
        object.__setattr__(self, "response", np.asarray(self.response, np.float64))
        if self.weight is not None:
            object.__setattr__(self, "weight", np.asarray(self.weight, np.float64))
        if self.trial is not None:
            object.__setattr__(self, "trial", np.asarray(self.trial, np.int32))
        if self.skill_map is not None:
            object.__setattr__(self, "skill_map", self.skill_map.needed(self.skill_graph))
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
        """Makes a table from a dataframe with one row per response.

        Repeated rows of one learner and sample are trials. Levels of a pandas index count as columns.

        Parameters
        ----------
        frame : dataframe
            Polars, pandas, PyArrow, or anything else that narwhals takes.
        learner, sample, response : str
            Columns of the learner, the sample and the response.
        trial, task, cluster, weight : str, optional
            Columns of the trial number, the sample's task, the sample's cluster, and the row's weight.
        key, answer : str, optional
            Columns of the right answer to the sample, and of what the learner answered.
        missing : str or list of str
            Texts that stand for a missing response.
        percent : bool
            Whether responses run from 0 to 100.

        Returns
        -------
        ResponseTable
            The responses.

        Raises
        ------
        DataError
            A column is not there, or a response lies outside the scale.

        Examples
        --------
        >>> frame = pl.DataFrame({"model": ["a", "a", "b"], "item": [1, 2, 1], "correct": [1, 0, 0]})
        >>> camilla.ResponseTable.from_long(frame, learner="model", sample="item", response="correct")
        ResponseTable(2 learners × 2 samples, 3 responses)
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
        """Makes a table from a dataframe with one row per sample or one row per learner.

        Parameters
        ----------
        frame : dataframe
            Polars, pandas, PyArrow, or anything else that narwhals takes.
        rows : {"samples", "learners"}
            What the rows are. With "samples" there is one column per learner.
        id : str, optional
            The column that names the rows. By default the index of a pandas frame if it has a name or holds
            anything but whole numbers, else the first column.
        missing : str or list of str
            Texts that stand for a missing response.
        percent : bool
            Whether responses run from 0 to 100.

        Returns
        -------
        ResponseTable
            The responses.

        Examples
        --------
        >>> frame = pl.DataFrame({"item": ["x", "y"], "model a": [1, 0], "model b": [1, None]})
        >>> camilla.ResponseTable.from_wide(frame, rows="samples")
        ResponseTable(2 learners × 2 samples, 3 responses, 1 missing)
        """
        origin = Origin(missing=texts(missing), scale=PERCENT if percent else PLAIN, percent=percent)
        named = indexed(frame).named_by(id, origin)
        return cls(**wide_parts(named.frame, rows, named.id, (), origin)._asdict(), scale=origin.scale)

    @classmethod
    def from_matrix(
        cls, array: ArrayLike, *, learners: Sequence[str] | None = None, samples: Sequence[str] | None = None
    ) -> Self:
        """Makes a table from a matrix of learners × samples.

        Parameters
        ----------
        array : array
            Responses [learners, samples]. NaN is a missing response.
        learners, samples : list of str, optional
            Names. By default learner-0, learner-1, … and sample-0, sample-1, ….

        Returns
        -------
        ResponseTable
            The responses.

        Examples
        --------
        >>> camilla.ResponseTable.from_matrix([[1, 0, 1], [1, np.nan, 0]])
        ResponseTable(2 learners × 3 samples, 5 responses, 1 missing)
        """
        return cls(**matrix_parts(array, learners, samples)._asdict())

    @classmethod
    def from_predictions(
        cls,
        predictions: Any,
        labels: ArrayLike,
        *,
        samples: Sequence[str] | None = None,
        classes: Collection[Any] = (),
    ) -> Self:
        """Makes a table from predictions of classifiers: 1 where the prediction is the label.

        Labels and predictions stay in the table, as `key` and `answer`.

        Parameters
        ----------
        predictions : mapping or dataframe
            The predictions of each learner: a mapping of names, or one column per learner. None or NaN is a
            missing response. Predictions that are numbers must be labels: scores are refused.
        labels : array
            The label of each sample. If labels and predictions have a pandas index, rows are matched by it.
        samples : list of str, optional
            Names of the samples. By default the pandas index, if it names rows, else sample-0, sample-1, ….
        classes : list, optional
            Labels that may be predicted although no sample has them.

        Returns
        -------
        ResponseTable
            Responses 0 and 1.

        Examples
        --------
        >>> table = camilla.ResponseTable.from_predictions({"a": [3, 5], "b": [3, 3]}, labels=[3, 5])
        >>> table.matrix().tolist()
        [[1.0, 1.0], [1.0, 0.0]]
        """
        return cls(**right_or_wrong(predictions, labels, samples, classes)._asdict())

    @classmethod
    def from_errors(
        cls, predictions: Any, targets: ArrayLike, *, samples: Sequence[str] | None = None
    ) -> Self:
        """Makes a table from predictions of regressors, by their absolute errors.

        With the absolute error e, r = 1 − (e − min e) / (max e − min e) over the learners of each sample: the
        best learner on a sample gets 1, the worst 0 (Liu et al., 2024, reversed). If all errors of a sample
        are equal, its responses are missing, because it does not separate learners.

        Parameters
        ----------
        predictions : mapping or dataframe
            The predictions of each learner: a mapping of names, or one column per learner.
        targets : array
            The true value of each sample. If targets and predictions have a pandas index, rows are matched by
            it.
        samples : list of str, optional
            Names of the samples. By default the pandas index, if it names rows, else sample-0, sample-1, ….

        Returns
        -------
        ResponseTable
            Responses between 0 and 1.

        Examples
        --------
        >>> predictions = {"a": [1.0, 2.0], "b": [1.5, 2.5], "c": [3.0, 2.4]}
        >>> camilla.ResponseTable.from_errors(predictions, targets=[1.0, 2.4]).matrix().round(2).tolist()
        [[1.0, 0.0], [0.75, 0.75], [0.0, 1.0]]
        """
        return cls(**relative_error(predictions, targets, samples)._asdict())

    @property
    def n_learners(self) -> int:
        """Number of learners."""
        return len(self.learners)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.samples)

    @property
    def n_responses(self) -> int:
        """Number of rows with a response. A cell with three trials counts three times."""
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
        """Returns one entry per observed pair of learner and sample.

        Returns
        -------
        Cells
            Arrays `learner`, `sample`, `response` (the weighted mean over trials) and `weight` (their total).

        Examples
        --------
        >>> table = camilla.ResponseTable.from_matrix([[1, 0], [1, np.nan]])
        >>> table.cells().response.tolist()
        [1.0, 1.0, 0.0]
        """
        return self._cells

    @cached_property
    def _cells(self) -> Cells:
        return aggregate(self.learner, self.sample, self.response, self.weight, self.n_learners)

    def matrix(self) -> NDArray[np.float64]:
        """Returns the mean responses as a matrix.

        Returns
        -------
        array
            [learners, samples], NaN where a response is missing.

        Examples
        --------
        >>> camilla.simulate(3, 5, seed=1).table.matrix().shape
        (3, 5)
        """
        cells = self.cells()
        matrix = np.full((self.n_learners, self.n_samples), np.nan)
        matrix[cells.learner, cells.sample] = cells.response
        return matrix

    def learner_means(self) -> Means:
        """Returns the plain accuracy of each learner.

        Returns
        -------
        Means
            Arrays over learners: `mean`, its standard error `se` over samples, and the total `weight`.

        Examples
        --------
        >>> camilla.ResponseTable.from_matrix([[1, 0, 1, 1], [0, 0, 1, 0]]).learner_means().mean.tolist()
        [0.75, 0.25]
        """
        cells = self.cells()
        return means(cells.learner, cells, self.n_learners)

    def sample_means(self) -> Means:
        """Returns the plain accuracy on each sample (the proportion of right responses of an item).

        Returns
        -------
        Means
            Arrays over samples: `mean`, its standard error `se` over learners, and the total `weight`.

        Examples
        --------
        >>> camilla.ResponseTable.from_matrix([[1, 0], [1, 1]]).sample_means().mean.tolist()
        [1.0, 0.5]
        """
        cells = self.cells()
        return means(cells.sample, cells, self.n_samples)

    def keep(self, rows: NDArray[np.bool_]) -> Self:
        """Keeps the rows where a mask is True. Learners and samples stay as they are.

        Parameters
        ----------
        rows : array of bool
            One value per row of the table.

        Returns
        -------
        ResponseTable
            The table with fewer rows.

        Examples
        --------
        >>> table = camilla.simulate(3, 10, seed=1).table
        >>> table.keep(table.response == 1).n_responses
        13
        """
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
        """Takes some samples, with their responses.

        Parameters
        ----------
        indices : array of int
            Positions in `samples`, in the wanted order.

        Returns
        -------
        ResponseTable
            A table of these samples. All learners stay.

        Examples
        --------
        >>> camilla.simulate(3, 10, seed=1).table.take_samples([0, 1])
        ResponseTable(3 learners × 2 samples, 6 responses)
        """
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
            sample_features=None if self.sample_features is None else self.sample_features.take(chosen),
        )

    def take_learners(self, indices: ArrayLike) -> Self:
        """Takes some learners, with their responses.

        Parameters
        ----------
        indices : array of int
            Positions in `learners`, in the wanted order.

        Returns
        -------
        ResponseTable
            A table of these learners. All samples stay.

        Examples
        --------
        >>> table = camilla.digits()
        >>> table.take_learners([table.learners.index("knn 1")])
        ResponseTable(1 learners × 1797 samples, 1797 responses, 10 skills)
        """
        chosen = np.asarray(indices, np.int64)
        place = _places(chosen, self.n_learners, "learner")
        rows = place[self.learner] >= 0
        learners = tuple(self.learners[i] for i in chosen)
        return replace(
            self.keep(rows),
            learners=learners,
            learner=place[self.learner[rows]],
            learner_metadata=_only(self.learner_metadata, "learner", learners),
            learner_features=None if self.learner_features is None else self.learner_features.take(chosen),
        )

    def in_fitting_order(self) -> "ResponseTable":
        """Sorts the table so that the order of its input cannot change a fit.

        Returns
        -------
        ResponseTable
            Learners and samples by name, skills by the samples that need them.

        Examples
        --------
        >>> table = camilla.ResponseTable.from_matrix([[1, 0], [0, 1]], learners=["b", "a"])
        >>> table.in_fitting_order().learners
        ('a', 'b')
        """
        ordered = self.canonical().table
        if ordered.skill_map is None:
            return ordered
        return ordered.with_skills(ordered.skill_map.in_canonical_order(), graph=ordered.skill_graph)

    def with_skills(self, skill_map: SkillMap | None, *, graph: SkillGraph | None = None) -> Self:
        """Replaces the skill map and the skill graph.

        Parameters
        ----------
        skill_map : SkillMap or None
            Which skills each sample needs, with rows in the order of `samples`.
        graph : SkillGraph, optional
            Which skill builds on which.

        Returns
        -------
        ResponseTable
            The same responses with these skills.

        Examples
        --------
        >>> table = camilla.simulate(3, 4, seed=1).table
        >>> table.with_skills(camilla.SkillMap.from_labels(["maths", "maths", "law", "law"]))
        ResponseTable(3 learners × 4 samples, 12 responses, 2 skills)
        """
        return replace(self, skill_map=skill_map, skill_graph=graph)

    def with_features(self, samples: Any = None, learners: Any = None) -> Self:
        """Attaches what is known of samples or learners before any response.

        Parameters
        ----------
        samples, learners : path, dataframe, Features or list of them, optional
            FILE or FILE:column,column of a table file, a dataframe, or an `.npy` matrix with its rows in the
            order of `samples` or `learners`. What is not given stays as it is.

        Returns
        -------
        ResponseTable
            The same responses with these features. Notes of the features say what was left out.

        Raises
        ------
        DataError
            A sample or learner has no features, or a feature cannot be read.

        Examples
        --------
        >>> table = camilla.simulate(3, 4, seed=1).table
        >>> words = pl.DataFrame({"sample": table.samples, "words": [12, 40, 3, 9]})
        >>> table.with_features(samples=words).sample_features
        Features(4 samples: 1 number)
        """
        table = self
        if samples is not None:
            found = Features.read(samples, of="sample", names=self.samples)
            table = replace(table, sample_features=found)
        if learners is not None:
            found = Features.read(learners, of="learner", names=self.learners)
            table = replace(table, learner_features=found)
        return table

    def canonical(self) -> "Canonical":
        """Sorts learners and samples by name, and remembers where each came from.

        Returns
        -------
        Canonical
            `table`, `learner_order` and `sample_order`: positions in the original table.

        Examples
        --------
        >>> table = camilla.ResponseTable.from_matrix([[1, 0], [0, 1]], learners=["b", "a"])
        >>> table.canonical().learner_order.tolist()
        [1, 0]
        """
        learner_order, sample_order = _by_name(self.learners), _by_name(self.samples)
        table = replace(
            self.take_learners(learner_order).take_samples(sample_order), n_missing=self.n_missing
        )
        return Canonical(table, learner_order, sample_order)

    def short_answers(self) -> pl.Series | None:
        """What each response answered, null where that is not known; None where no answer is.

        It is `answer`, else what the content has where all answers to a sample are short enough to count.

        Returns
        -------
        polars.Series or None
            One answer per response.

        Examples
        --------
        >>> camilla.digits().short_answers().head(3).to_list()
        ['3', '5', '0']
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
        """Returns the table as a dataframe with one row per response.

        Returns
        -------
        polars.DataFrame
            Columns learner, sample, response and, where the table has them, trial, weight, answer, task,
            cluster and key.

        Examples
        --------
        >>> camilla.ResponseTable.from_matrix([[1, 0]], learners=["a"]).to_long().rows()
        [('a', 'sample-0', 1.0), ('a', 'sample-1', 0.0)]
        """
        return long_frame(self)

    def write(self, path: str | Path, *, provenance: dict[str, Any] | None = None) -> Path:
        """Writes the table to a file. An interrupted write leaves no half file.

        A Parquet file also carries metadata, the skill map, and names without a response; `camilla.read`
        brings them back. Content is written beside the file, as NAME.content.parquet.

        Parameters
        ----------
        path : str or path
            A file that ends in .csv, .tsv, .jsonl or .parquet.
        provenance : dict, optional
            Anything to keep in a Parquet file about where the table came from.

        Returns
        -------
        pathlib.Path
            The path.

        Examples
        --------
        >>> table = camilla.simulate(3, 5, seed=1).table
        >>> camilla.read(table.write("responses.parquet")).digest() == table.digest()
        True
        """
        path = Path(path)
        notes = carry(self, provenance) if path.suffix.lower() == ".parquet" else None
        write_frame(self.to_long(), path, notes)
        write_beside(self.content, path, (self.samples, self.learners))
        return path

    @classmethod
    def read_written(cls, path: str | Path) -> "ResponseTable | None":
        """Reads a Parquet file that `write` made.

        Parameters
        ----------
        path : str or path
            Any file.

        Returns
        -------
        ResponseTable or None
            The table, or None if Camilla did not write the file.

        Examples
        --------
        >>> table = camilla.simulate(3, 5, seed=1).table
        >>> camilla.ResponseTable.read_written(table.write("responses.parquet"))
        ResponseTable(3 learners × 5 samples, 15 responses)
        """
        fields = written_fields(Path(path))
        return None if fields is None else cls(**fields)

    def digest(self) -> str:
        """Returns a fingerprint of the data: the SHA-256 of names, responses, weights, skills and clusters.

        Features count where there are any. The order of rows, learners, samples and skills does not matter,
        nor the names of clusters, nor whether a repeated row is given as trials or as a weight. Numbers count
        to 12 decimals.

        Returns
        -------
        str
            64 hexadecimal digits.

        Examples
        --------
        >>> camilla.simulate(3, 5, seed=1).table.digest() == camilla.simulate(3, 5, seed=1).table.digest()
        True
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
        for features in (self.sample_features, self.learner_features):
            if features is not None:
                sha.update(features.digest().encode())
        return sha.hexdigest()


class Canonical(NamedTuple):
    """A table in name order, and where each learner and sample was in the original.

    Attributes
    ----------
    table : ResponseTable
        The same responses in an order that does not depend on the order of rows.
    learner_order : array
        For each learner of `table`, its index in the original.
    sample_order : array
        For each sample of `table`, its index in the original.

    Examples
    --------
    >>> table = camilla.simulate(4, 6, seed=1).table
    >>> table.canonical().learner_order.tolist()
    [0, 1, 2, 3]
    """

    table: ResponseTable
    learner_order: NDArray[np.int64]
    sample_order: NDArray[np.int64]


def _by_name(names: tuple[str, ...]) -> NDArray[np.int64]:
    return np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)


def _places(chosen: NDArray[np.int64], size: int, kind: str) -> NDArray[np.int32]:
    """Old index → new index, −1 where not chosen."""
    if len(chosen) and (chosen.min() < 0 or chosen.max() >= size):
        raise DataError(
            f"{kind} indices run from {chosen.min()} to {chosen.max()}; expected 0 to {size - 1}."
        )
    place = np.full(size, -1, np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    return place


def _only(metadata: pl.DataFrame | None, column: str, names: tuple[str, ...]) -> pl.DataFrame | None:
    return None if metadata is None else metadata.filter(pl.col(column).is_in(names))


def check_diagnosable(table: ResponseTable) -> None:
    """Refuses a table that nothing can be learned from: one learner, one sample, one response value.

    Such tables may still be built and read: to place one new learner, or as part of a split.
    """
    if table.n_responses == 0:
        raise DataError(f"the table has no responses ({table.n_missing} are missing); fill some in.")
    alike = bool((table.response == table.response[0]).all())
    check_two_of_each(
        table.learners, table.samples, table.n_responses, float(table.response[0]) if alike else None
    )


def check_two_of_each(
    learners: Sequence[str], samples: Sequence[str], n_responses: int, only: float | None
) -> None:
    """Refuses one learner, one sample, and responses that are all the same number, `only`."""
    if len(learners) < 2:
        raise DataError(
            f"the table has one learner, {learners[0]!r}; a diagnosis compares at least two. "
            "To judge one learner against an earlier diagnosis, place it there."
        )
    if len(samples) < 2:
        raise DataError(
            f"the table has one sample, {samples[0]!r}; expected at least two. "
            "If rows are learners, say so with rows='learners'."
        )
    if only is not None:
        raise DataError(
            f"every one of the {n_responses} responses is {only:g}; learners and samples "
            "cannot be told apart. Check that the response column contains the scores."
        )


def check_names(learners: tuple[str, ...], samples: tuple[str, ...]) -> None:
    """Learner names differ, sample names differ, and none is empty."""
    for kind, names in (("learner", learners), ("sample", samples)):
        if "" in names:
            raise DataError(f"{kind} {names.index('')} has an empty name; name it.")
        if len(set(names)) < len(names):
            raise DataError(
                f"{kind} names must differ; {quoted(repeated(names))} occur more than once. "
                f"Rename them, or give repeated runs as trials of one {kind}."
            )


def check_rows(table: ResponseTable) -> None:
    """Every row points at a learner and a sample, its response lies in [0, 1], its weight is positive."""
    n_rows = len(table.response)
    for name in ("learner", "sample", "response", "weight", "trial", "answer"):
        column = getattr(table, name)
        if column is not None and column.shape != (n_rows,):
            raise DataError(f"{name} has shape {column.shape}; expected one entry for each of {n_rows} rows.")
    for name, names in (("learner", table.learners), ("sample", table.samples)):
        column = getattr(table, name)
        if n_rows and (column.min() < 0 or column.max() >= len(names)):
            raise DataError(
                f"{name} indices run from {column.min()} to {column.max()}; there are {len(names)} {name}s, "
                f"so expected 0 to {len(names) - 1}."
            )
    _check_values(table, "response", "lie in [0, 1]", (table.response >= 0) & (table.response <= 1))
    if table.weight is not None:
        positive = (table.weight > 0) & np.isfinite(table.weight)
        _check_values(table, "weight", "be positive and finite", positive)


def _check_values(table: ResponseTable, name: str, wanted: str, good: NDArray[np.bool_]) -> None:
    if good.all():
        return
    row = int(np.argmin(good))
    raise DataError(
        f"{name} must {wanted}; row {row} ({table.learners[table.learner[row]]!r} on "
        f"{table.samples[table.sample[row]]!r}) has {getattr(table, name)[row]:g}. "
        f"{counted_of(int((~good).sum()), len(good), 'row', 'wrong')}. Rescale or remove them before loading."
    )


def check_samples(table: ResponseTable) -> None:
    """Task, cluster, key and skill map have one entry per sample; the graph joins skills of the map."""
    skill_mask = None if table.skill_map is None else table.skill_map.mask
    columns = {"task": table.task, "cluster": table.cluster, "key": table.key, "skill map": skill_mask}
    for name, column in columns.items():
        if column is not None and len(column) != table.n_samples:
            raise DataError(
                f"the {name} has {len(column)} entries; expected one for each of {table.n_samples} samples."
            )
    _check_features(table)
    if table.skill_graph is not None:
        if table.skill_map is None:
            raise DataError(
                "a skill graph joins skills of a skill map, and the table has none. Give one with --skills."
            )
        table.skill_graph.among(table.skill_map.skills)


def _check_features(table: ResponseTable) -> None:
    """Features have a row for each sample or learner, in the table's order."""
    for features, names in ((table.sample_features, table.samples), (table.learner_features, table.learners)):
        if features is not None and features.names != names:
            raise DataError(
                f"{features.source}: its rows are not the table's {features.of}s in their order. Attach them "
                "with table.with_features(…), which puts them in order."
            )
