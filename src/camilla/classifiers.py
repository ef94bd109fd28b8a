"""Score-based classifiers: scores to metrics, metrics to responses, responses to mastery."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.attributes import ATTRIBUTE_EDGES, ATTRIBUTES, METRIC_ATTRIBUTES
from camilla.data.classifier_scores import ClassifierScores, ScoredSet
from camilla.data.names import quoted
from camilla.data.responses import ResponseTable
from camilla.data.skill_graph import SkillGraph
from camilla.data.skills import SkillMap
from camilla.data.writing import whole_file, write_frame
from camilla.diagnoser import Watch
from camilla.diagnosing import diagnose
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError, FormatError
from camilla.loaders.score_files import read_scores
from camilla.loaders.skill_files import read_skills, skill_source
from camilla.mastery import MasteryAgreement, mastery_agreement
from camilla.metrics.classification import METRICS, KsSide, Rule, metric_values

AT = " @ "
INDEX = "classifiers.json"


class Placed(NamedTuple):
    """New classifiers among those of a pool, with every sample frozen."""

    learners: pl.DataFrame  # as Diagnosis.place
    skills: pl.DataFrame  # learner, skill, rank, mastery, mastery_low, mastery_high, …

    def document(self) -> dict[str, Any]:
        """The same as data."""
        return {"placed": self.learners.to_dicts(), "placed_skills": self.skills.to_dicts()}


class SavedClassifiers(NamedTuple):
    """A saved diagnosis of classifiers, and how their metrics were taken."""

    diagnosis: Diagnosis
    rule: Rule
    ks: KsSide


@dataclass(frozen=True, eq=False)
class ClassifierDiagnosis:
    """What a pool of classifiers is good at."""

    table: ResponseTable  # samples are metrics on data sets
    diagnosis: Diagnosis
    agreement: MasteryAgreement
    duplicates: dict[str, str]  # left out → the classifier it copies
    placed: Placed | None  # the new ones
    rule: Rule
    ks: KsSide

    def leaderboard(self) -> pl.DataFrame:
        """By rank; of each skill the mastery, its 95 % interval, and the plain mean of its metrics."""
        board = self.diagnosis.learners.select("rank", "learner", "ability", "low", "high", mean="accuracy")
        skills = _with_mastery_interval(self.diagnosis.skills, self.diagnosis.readout.unit_scale)
        for skill in skills["skill"].unique(maintain_order=True):
            columns = {
                skill: "mastery",
                f"{skill} low": "mastery_low",
                f"{skill} high": "mastery_high",
                f"{skill} mean": "accuracy",
            }
            part = skills.filter(pl.col("skill") == skill).select("learner", **columns)
            board = board.join(part, on="learner", how="left", maintain_order="left")
        return board

    def metrics(self) -> pl.DataFrame:
        """One row a classifier and data set, one column a metric."""
        long = self.table.to_long().with_columns(
            pl.col("sample").str.split_exact(AT, 1).struct.rename_fields(["metric", "data_set"]).alias("at")
        )
        return long.unnest("at").pivot("metric", index=["learner", "data_set"], values="response")

    def document(self) -> dict[str, Any]:
        """Everything a person reads, as data."""
        return {
            "provenance": self.diagnosis.provenance | {"rule": self.rule, "ks": self.ks},
            "agreement": self.agreement.summary,
            "agreement_by_skill": self.agreement.skills.to_dicts(),
            "duplicates": self.duplicates,
            "leaderboard": self.leaderboard().to_dicts(),
        } | ({} if self.placed is None else self.placed.document())

    def save(self, folder: str | Path) -> Path:
        """diagnosis/, responses.parquet, skills.csv, metrics.parquet, leaderboard.csv, classifiers.json."""
        folder = Path(folder)
        self.diagnosis.save(folder / "diagnosis")
        self.table.write(folder / "responses.parquet")
        if self.table.skill_map is not None:
            write_frame(self.table.skill_map.to_frame(self.table.samples), folder / "skills.csv")
        write_frame(self.metrics(), folder / "metrics.parquet")
        write_frame(self.leaderboard(), folder / "leaderboard.csv")
        with whole_file(folder / INDEX) as draft:
            draft.write_text(
                json.dumps(self.document(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
            )
        return folder

    def place(self, scores: Any) -> Placed:
        """New classifiers: metrics → responses → mastery with intervals and a rank on each skill."""
        return place_classifiers(self.diagnosis, as_scores(scores), rule=self.rule, ks=self.ks)


def diagnose_classifiers(
    scores: Any, diagnoser: str = "camilla-base", *,
    skills: str | SkillMap | None = None, skill_graph: SkillGraph | None = None, new: Sequence[str] = (),
    rule: Rule = "interpolated", ks: KsSide = "two_sided", seed: int = 0, as_published: bool = False,
    watch: Watch = lambda line: None, **settings: Any,
) -> ClassifierDiagnosis:  # fmt: skip
    """The diagnosis of score-based classifiers from their scores, with its agreement and leaderboard.

    `scores` are ClassifierScores, a dataframe with columns data_set, sample, truth and one a classifier, or
    files of it. The skills are the preprint's attributes and graph, unless `skills` gives others: a SkillMap
    over the samples of `classifier_table`, or a file whose rows are samples, metrics or data sets. A
    classifier whose metrics are those of an earlier one is left out; the `new` ones are placed, not fitted.
    """
    read = as_scores(scores)
    fresh = read.take(new)
    table = classifier_table(read.take([one for one in read.classifiers if one not in new]), rule=rule, ks=ks)
    if skills is not None or skill_graph is not None:
        given = skills_named(skills, table) if isinstance(skills, str) else skills or table.skill_map
        table = table.with_skills(given, graph=skill_graph)
    table, duplicates = without_duplicates(table)
    found = diagnose(table, diagnoser, seed=seed, as_published=as_published, watch=watch, **settings)
    watch("agreement")
    agreement = mastery_agreement(table, found, seed=seed)
    placed = place_classifiers(found, fresh, rule=rule, ks=ks) if new else None
    return ClassifierDiagnosis(table, found, agreement, duplicates, placed, rule, ks)


def load_classifiers(folder: str | Path) -> SavedClassifiers:
    """What `ClassifierDiagnosis.save` wrote, for placing others."""
    folder = Path(folder)
    if not (folder / INDEX).is_file():
        raise FormatError(f"{folder}: has no {INDEX}; a folder written by camilla classifiers -o was wanted.")
    made = json.loads((folder / INDEX).read_text(encoding="utf-8"))["provenance"]
    return SavedClassifiers(Diagnosis.load(folder / "diagnosis"), made["rule"], made["ks"])


def as_scores(scores: Any) -> ClassifierScores:
    """ClassifierScores of themselves, a file, several files, or any dataframe."""
    if isinstance(scores, ClassifierScores):
        return scores
    if isinstance(scores, str | Path):
        return read_scores([scores])
    if isinstance(scores, list | tuple):
        return read_scores(scores)
    return ClassifierScores.from_frame(scores)


def classifier_table(
    scores: ClassifierScores, *, rule: Rule = "interpolated", ks: KsSide = "two_sided"
) -> ResponseTable:
    """Responses of classifiers: each of the 22 metrics on each data set is a sample, "AUC @ phoneme".

    The skills are the preprint's attributes, with its skill graph; the data sets are the tasks.
    """
    samples = [f"{metric}{AT}{name}" for name in scores.data_sets for metric in METRICS]
    matrix = np.hstack([_metrics(scores.classifiers, one, rule, ks) for one in scores.sets])
    table = ResponseTable.from_matrix(matrix, learners=scores.classifiers, samples=samples)
    tasks = [name for name in scores.data_sets for _ in METRICS]
    metadata = {"sample": samples, "metric": list(METRICS) * len(scores.sets), "data_set": tasks}
    told = replace(table, task=tuple(tasks), sample_metadata=pl.DataFrame(metadata))
    return told.with_skills(attribute_map(len(scores.sets)), graph=SkillGraph(ATTRIBUTE_EDGES))


def attribute_map(n_data_sets: int = 1) -> SkillMap:
    """Table 5 of the preprint, its 22 rows repeated for each data set."""
    rows = [[attribute in METRIC_ATTRIBUTES[metric] for attribute in ATTRIBUTES] for metric in METRICS]
    return SkillMap(tuple(ATTRIBUTES), np.tile(np.array(rows, bool), (n_data_sets, 1)))


def _metrics(classifiers: Sequence[str], one: ScoredSet, rule: Rule, ks: KsSide) -> NDArray[np.float64]:
    answered = ~np.isnan(one.scores).all(axis=0)
    names = tuple(np.array(classifiers, object)[answered])
    values = np.full((len(classifiers), len(METRICS)), np.nan)
    try:
        values[answered] = metric_values(one.truth, one.scores[:, answered], names=names, rule=rule, ks=ks)
    except DataError as error:
        raise DataError(f"data set {one.name!r}: {error}") from error
    return values


def without_duplicates(table: ResponseTable) -> tuple[ResponseTable, dict[str, str]]:
    """The table without learners that respond exactly as an earlier one: left out → kept."""
    first: dict[bytes, str] = {}
    kept, copies = [], {}
    for index, (name, row) in enumerate(zip(table.learners, table.matrix(), strict=True)):
        original = first.setdefault(row.tobytes(), name)
        if original == name:
            kept.append(index)
        else:
            copies[name] = original
    return (table if len(kept) == table.n_learners else table.take_learners(kept)), copies


def place_classifiers(
    diagnosis: Diagnosis, scores: ClassifierScores, *, rule: Rule = "interpolated", ks: KsSide = "two_sided"
) -> Placed:
    """New classifiers on the scale of a diagnosis that was made of classifiers' metrics."""
    table = classifier_table(scores, rule=rule, ks=ks)
    if not set(table.samples) & set(diagnosis.sample_names):
        raise DataError(
            f"the new scores are of data sets {quoted(scores.data_sets)}, none of which the diagnosis has. "
            "Data sets are matched by name: check how they are spelled."
        )
    order = diagnosis.skills.select("skill").unique(maintain_order=True).with_row_index("place")
    skills = diagnosis.place_skills(table)
    at = ["learner", "skill"]
    skills = (
        _with_mastery_interval(skills, diagnosis.readout.unit_scale)
        .join(_plain_means(diagnosis, table), on=at, how="left", maintain_order="left")
        .join(_ranks(diagnosis, skills), on=at, how="left", maintain_order="left")
        .join(order, on="skill")
        .sort(pl.col("learner").replace_strict(table.learners, range(table.n_learners)), "place")
        .drop("place")
    )
    return Placed(diagnosis.place(table), skills)


def _ranks(diagnosis: Diagnosis, placed: pl.DataFrame) -> pl.DataFrame:
    """The rank on each skill that a placed learner would have in the pool."""
    pool = diagnosis.skills.select("skill", pool="ability")
    above = placed.select("learner", "skill", "ability").join(pool, on="skill").group_by("learner", "skill")
    return above.agg(rank=1 + (pl.col("pool") > pl.col("ability")).sum())


def _plain_means(diagnosis: Diagnosis, table: ResponseTable) -> pl.DataFrame:
    """Mean response of new learners on each skill's samples."""
    matrix = table.matrix()
    place = {name: j for j, name in enumerate(table.samples)}
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
    schema = {"learner": pl.String, "skill": pl.String, "accuracy": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col("accuracy").fill_nan(None))


def _with_mastery_interval(skills: pl.DataFrame, unit_scale: bool) -> pl.DataFrame:
    """mastery_low and mastery_high: the interval of the ability on the scale of mastery."""
    low, high = (pl.col(name) if unit_scale else 1 / (1 + (-pl.col(name)).exp()) for name in ("low", "high"))
    return skills.with_columns(mastery_low=low, mastery_high=high)


def skills_named(text: str, table: ResponseTable) -> SkillMap:
    """The skill map of `FILE` or `FILE:column,column` for a table of classifiers.

    Its rows are samples ("AUC @ phoneme"), metrics, or data sets; a row of the latter two holds for all
    samples of its metric or data set. Every skill must be needed by a sample.
    """
    source = skill_source(text)
    if source.file is None:
        raise DataError(f"skills {text!r} name no file; a table of scores has no columns of skills itself.")
    metadata = table.sample_metadata
    ways = [list(table.samples)]
    if metadata is not None:
        ways += [metadata["metric"].to_list(), metadata["data_set"].to_list()]
    errors = []
    for row_of_sample in ways:
        names = list(dict.fromkeys(row_of_sample))
        try:
            found = read_skills(source, names)
        except DataError as error:
            errors.append(error)
            continue
        place = {name: row for row, name in enumerate(names)}
        mapped = found.take(np.array([place[name] for name in row_of_sample]))
        _refuse_idle(mapped, source.file)
        return mapped
    raise errors[0]


def _refuse_idle(skill_map: SkillMap, file: Path) -> None:
    idle = [skill_map.skills[k] for k in np.flatnonzero(~skill_map.mask.any(axis=0))]
    if idle:
        raise DataError(
            f"{file}: no sample needs skill {quoted(idle)}, so nothing can be said of it. Give it "
            "samples or take its column out."
        )
