"""New classifiers among those of a pool, with every sample frozen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from camilla.classifiers.metrics import KsSide, Rule
from camilla.classifiers.scores import ClassifierScores
from camilla.classifiers.tables import classifier_table, ranked
from camilla.diagnosis import Diagnosis
from camilla.display import Grid, Part, Printable, brief, intervals
from camilla.errors import DataError
from camilla.names import name_index, quoted
from camilla.table.responses import ResponseTable


@dataclass(frozen=True, eq=False, repr=False)
class PlacedClassifiers(Printable):
    """New classifiers among those of a pool, with every sample frozen.

    Attributes
    ----------
    learners : DataFrame
        One row per new classifier: its rank, its ability, and the mean of its metrics.
    skills : DataFrame
        One row per new classifier and skill: rank and mastery with its interval.
    n_pool : int
        Classifiers that they are placed among.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(0, 2, 200)
    >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
    >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
    >>> frame = pl.DataFrame({**sets, **scores})
    >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
    >>> placed = diagnosis.place(frame.select("data_set", "sample", "truth", new=pl.col("c3")))
    >>> placed.n_pool
    6
    """

    learners: pl.DataFrame  # as Diagnosis.place, and the plain mean of the metrics
    skills: pl.DataFrame  # learner, skill, rank, mastery, mastery_low, mastery_high, …
    n_pool: int  # classifiers they are placed among

    def parts(self) -> list[Part]:
        """Returns what `text` prints: each new classifier among the others, then its skills.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> placed = diagnosis.place(frame.select("data_set", "sample", "truth", new=pl.col("c3")))
        >>> len(placed.parts()) > 0
        True
        """
        interval = "95 % CI"
        parts: list[Part] = [
            Grid(
                f"Placed among {self.n_pool} classifiers, samples frozen",
                self.learners.with_columns(
                    pl.Series(interval, intervals(self.learners, "low", "high"), pl.String)
                ).select("learner", "rank", "ability", interval, "mean", "n", "n_unknown"),
                fixed=(interval,),
            )
        ]
        for name in self.learners["learner"]:
            rows = self.skills.filter(pl.col("learner") == name)
            ends = pl.Series(interval, intervals(rows, "mastery_low", "mastery_high"), pl.String)
            frame = rows.with_columns(ends).select("skill", "rank", "mastery", interval, "mean")
            parts.append(
                Grid(
                    f"{brief(name)} by skill: mastery with {interval}, mean of the metrics",
                    frame,
                    (interval,),
                )
            )
        return parts

    def document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what `camilla classifiers --among --json` prints.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> placed = diagnosis.place(frame.select("data_set", "sample", "truth", new=pl.col("c3")))
        >>> placed.document()["verdict"]
        'placed'
        """
        return {"verdict": "placed"} | self.fields()

    def fields(self) -> dict[str, Any]:
        """Returns the rows of both tables.

        Returns
        -------
        dict
            `placed` and `placed_skills`.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> placed = diagnosis.place(frame.select("data_set", "sample", "truth", new=pl.col("c3")))
        >>> list(placed.fields())
        ['placed', 'placed_skills']
        """
        return {"placed": self.learners.to_dicts(), "placed_skills": self.skills.to_dicts()}


def place_classifiers(
    diagnosis: Diagnosis, scores: ClassifierScores, *,
    rule: Rule = "interpolated", ks: KsSide = "two_sided", pool: ResponseTable | None = None,
) -> PlacedClassifiers:  # fmt: skip
    """New classifiers on the scale of a diagnosis that was made of classifiers' metrics.

    `pool` is the table of those metrics if the diagnosis was made of their ranks.
    """
    metrics = classifier_table(scores, rule=rule, ks=ks)
    if not set(metrics.samples) & set(diagnosis.sample_names):
        raise DataError(
            f"the new scores are of data sets {quoted(scores.data_sets)}, none of which the diagnosis has. "
            "Data sets are matched by name: check their spelling."
        )
    table = metrics if pool is None else ranked(metrics, pool)
    order = diagnosis.skills.select("skill").unique(maintain_order=True).with_row_index("place")
    skills = diagnosis.place_skills(table)
    at = ["learner", "skill"]
    skills = (
        with_mastery_interval(skills, diagnosis.readout.unit_scale)
        .join(_plain_means(diagnosis, metrics), on=at, how="left", maintain_order="left")
        .join(_ranks(diagnosis, skills), on=at, how="left", maintain_order="left")
        .join(order, on="skill")
        .sort(pl.col("learner").replace_strict(table.learners, range(table.n_learners)), "place")
        .drop("place")
    )
    plain = pl.DataFrame({"learner": metrics.learners, "mean": metrics.learner_means().mean})
    placed = diagnosis.place(table).join(plain, on="learner", maintain_order="left")
    return PlacedClassifiers(placed, skills, len(diagnosis.learner_names))


def _ranks(diagnosis: Diagnosis, placed: pl.DataFrame) -> pl.DataFrame:
    """The rank on each skill that a placed learner would have in the pool."""
    pool = diagnosis.skills.select("skill", pool="ability")
    above = placed.select("learner", "skill", "ability").join(pool, on="skill").group_by("learner", "skill")
    return above.agg(rank=1 + (pl.col("pool") > pl.col("ability")).sum())


def _plain_means(diagnosis: Diagnosis, table: ResponseTable) -> pl.DataFrame:
    """Mean response of new learners on each skill's samples."""
    matrix = table.matrix()
    place = name_index(table.samples)
    rows = []
    for skill, samples in diagnosis.skill_samples():
        known = [place[name] for name in np.array(diagnosis.sample_names, object)[samples] if name in place]
        seen = ~np.isnan(matrix[:, known])
        total = np.where(seen, matrix[:, known], 0.0).sum(axis=1)
        mean = np.divide(total, seen.sum(axis=1), out=np.full(len(total), np.nan), where=seen.any(axis=1))
        rows += [
            (name, diagnosis.skill_names[skill], value)
            for name, value in zip(table.learners, mean, strict=True)
        ]
    schema = {"learner": pl.String, "skill": pl.String, "mean": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col("mean").fill_nan(None))


def with_mastery_interval(skills: pl.DataFrame, unit_scale: bool) -> pl.DataFrame:
    """mastery_low and mastery_high: the interval of the ability on the scale of mastery."""
    low, high = (pl.col(name) if unit_scale else 1 / (1 + (-pl.col(name)).exp()) for name in ("low", "high"))
    return skills.with_columns(mastery_low=low, mastery_high=high)
