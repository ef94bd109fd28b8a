"""Score-based classifiers: from scores to mastery, agreement and a leaderboard of many skills."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import polars as pl

from camilla.arrays import Watch
from camilla.classifiers.mastery import (
    MasteryAgreement,
    OneMastery,
    mastery_agreement,
    mastery_matrix,
    one_mastery,
    plain_means,
)
from camilla.classifiers.metrics import KsSide, Rule
from camilla.classifiers.placing import PlacedClassifiers, place_classifiers, with_mastery_interval
from camilla.classifiers.tables import (
    AT,
    as_scores,
    classifier_table,
    ranked,
    skills_named,
    without_duplicates,
)
from camilla.diagnosing import diagnose
from camilla.diagnosis import Diagnosis
from camilla.display import Grid, Part, Printable, intervals, watching
from camilla.errors import FormatError
from camilla.reading.inputs import read
from camilla.table.files import whole_file, write_frame
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillGraph, SkillMap

INDEX = "classifiers.json"


class Taken(NamedTuple):
    """How metrics are taken, and whether the diagnoser is given their ranks."""

    rule: Rule = "interpolated"
    ks: KsSide = "two_sided"
    ranks: bool = False


class SavedClassifiers(NamedTuple):
    """A saved diagnosis of classifiers, their metrics, and how those were taken."""

    diagnosis: Diagnosis
    table: ResponseTable
    taken: Taken

    def place(self, scores: Any) -> PlacedClassifiers:
        """New classifiers: metrics → responses → mastery with intervals and a rank on each skill."""
        rule, ks, ranks = self.taken
        pool = self.table if ranks else None
        return place_classifiers(self.diagnosis, as_scores(scores), rule=rule, ks=ks, pool=pool)


LONGEST_HEADER = 14
SUMMARY = (
    "r2", "r2_within", "doa", "doc", "ceiling", "borda", "random", "null", "doa_star", "doa_weighted",
    "ceiling_weighted",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class ClassifierDiagnosis(Printable):
    """What a pool of classifiers is good at. `diagnose_classifiers` makes it.

    Attributes
    ----------
    table : ResponseTable
        The metrics: samples are metrics on data sets.
    diagnosis : Diagnosis
        The diagnosis of these responses.
    agreement : MasteryAgreement
        How far mastery agrees with the metrics.
    duplicates : dict
        Classifiers that were left out, and the classifier that each copies.
    placed : PlacedClassifiers or None
        The new classifiers.
    taken : Taken
        How metrics were taken.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(0, 2, 200)
    >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
    >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
    >>> frame = pl.DataFrame({**sets, **scores})
    >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
    >>> diagnosis.table
    ResponseTable(6 learners × 44 samples, 264 responses, 7 skills)
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"learners": 5}

    table: ResponseTable  # samples are metrics on data sets
    diagnosis: Diagnosis
    agreement: MasteryAgreement
    duplicates: dict[str, str]  # left out → the classifier it copies
    placed: PlacedClassifiers | None  # the new ones
    taken: Taken

    def leaderboard(self) -> pl.DataFrame:
        """Returns the classifiers by rank, with their mastery of each skill.

        Returns
        -------
        polars.DataFrame
            Rank, ability and interval; for each skill the mastery, its 95 % interval, and the plain mean of
            its metrics.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> diagnosis.leaderboard().columns[:6]
        ['rank', 'learner', 'ability', 'low', 'high', 'mean']
        """
        means = pl.DataFrame({"learner": self.table.learners, "mean": self.table.learner_means().mean})
        board = self.diagnosis.learners.select("rank", "learner", "ability", "low", "high")
        board = board.join(means, on="learner", how="left", maintain_order="left")
        skills = with_mastery_interval(self.diagnosis.skills, self.diagnosis.readout.unit_scale)
        plain = plain_means(self.table)
        for place, skill in enumerate(self.table.skill_map.skills if self.table.skill_map else ()):
            columns = {skill: "mastery", f"{skill} low": "mastery_low", f"{skill} high": "mastery_high"}
            part = skills.filter(pl.col("skill") == skill).select("learner", **columns)
            mean = pl.DataFrame({"learner": self.table.learners, f"{skill} mean": plain[:, place]})
            for columns_of_skill in (part, mean.fill_nan(None)):
                board = board.join(columns_of_skill, on="learner", how="left", maintain_order="left")
        return board

    def parts(self, *, learners: int = 10) -> list[Part]:
        """Returns the sentences and tables that `text` prints.

        Parameters
        ----------
        learners : int
            Number of classifiers to list.

        Returns
        -------
        list of str and Grid
            The leaderboard, the agreement of mastery with the metrics, and the new classifiers.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> len(diagnosis.parts(learners=3)) > 2
        True
        """
        made, taken, interval = self.diagnosis.provenance, self.taken, "95 % CI"
        board = self.leaderboard().head(learners)
        skills = self.diagnosis.skills["skill"].unique(maintain_order=True).to_list()
        frame = board.with_columns(pl.Series(interval, intervals(board, "low", "high"), pl.String)).select(
            "rank", "learner", "ability", interval, "mean"
        )
        same, by_skill = self.one_mastery(), "; mastery / mean by skill"
        columns = [_beside(board, skill, place) for place, skill in enumerate(skills)]
        if same is not None and same.holds:
            by_skill = f"; one mastery for all {same.skills} skills"
            columns = [board.select(pl.mean_horizontal(skills).alias("mastery")).to_series()]
        chosen = ", ".join(f"{name} {value}" for name, value in made["chosen_on_validation"].items())
        return [
            Grid(
                f"{made['n_learners']} classifiers by ability ({made['scale']}){by_skill}",
                frame.hstack(columns), fixed=(interval, *(column.name for column in columns)),
            ),
            *([same.in_words()] if same is not None and same.holds else []),
            Grid("Agreement of mastery with the metrics, by skill", self.agreement.skills),
            Grid(
                "Over all skills (…_weighted: by number of samples)",
                pl.DataFrame([{name: self.agreement.summary[name] for name in SUMMARY}]),
            ),
            f"{made['diagnoser']}" + (f" ({chosen}, chosen on held-out responses)" if chosen else "")
            + f"; {taken.rule} equal-error threshold, {taken.ks} KS{', ranks' if taken.ranks else ''}, "
            f"seed {made['seed']}, data {made['data_hash'][:12]}, "
            f"{len(self.duplicates)} duplicates left out.",
            *([] if self.placed is None else self.placed.parts()),
        ]  # fmt: skip

    def one_mastery(self) -> OneMastery | None:
        """Returns how far the masteries of the skills are one number.

        Returns
        -------
        OneMastery or None
            `largest_difference`, `least_kendall`, `holds`. None where there are not two skills to compare.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> diagnosis.one_mastery().skills
        7
        """
        if self.table.skill_map is None:
            return None
        return one_mastery(mastery_matrix(self.diagnosis, self.table))

    def metrics(self) -> pl.DataFrame:
        """Returns the metrics of every classifier on every data set.

        Returns
        -------
        polars.DataFrame
            One row per classifier and data set, one column per metric.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> diagnosis.metrics().shape
        (12, 24)
        """
        long = self.table.to_long().with_columns(
            pl.col("sample").str.split_exact(AT, 1).struct.rename_fields(["metric", "data_set"]).alias("at")
        )
        return long.unnest("at").pivot("metric", index=["learner", "data_set"], values="response")

    def document(self) -> dict[str, Any]:
        """Returns everything that is printed, as plain data.

        Returns
        -------
        dict
            verdict, provenance, agreement, agreement_by_skill, one_mastery, duplicates, leaderboard.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> list(diagnosis.document())[:3]
        ['verdict', 'provenance', 'agreement']
        """
        same = self.one_mastery()
        words = "one skill" if same is None else "one ability" if same.holds else "several abilities"
        return {
            "verdict": words,
            "provenance": self.diagnosis.provenance | self.taken._asdict(),
            "agreement": self.agreement.summary,
            "agreement_by_skill": self.agreement.skills.to_dicts(),
            "one_mastery": None if same is None else same._asdict() | {"holds": same.holds},
            "duplicates": self.duplicates,
            "leaderboard": self.leaderboard().to_dicts(),
        } | ({} if self.placed is None else self.placed.fields())

    def save(self, folder: str | Path) -> Path:
        """Writes the diagnosis to a folder.

        Parameters
        ----------
        folder : str or path
            It gets diagnosis/, responses.parquet, skills.csv, metrics.parquet, leaderboard.csv and
            classifiers.json.

        Returns
        -------
        pathlib.Path
            The folder.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> (diagnosis.save("pool") / "classifiers.json").exists()
        True
        """
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

    def place(self, scores: Any) -> PlacedClassifiers:
        """Places new classifiers on the scale of this diagnosis, without refitting it.

        Parameters
        ----------
        scores : ClassifierScores, dataframe or path
            Scores of the new classifiers on the same data sets.

        Returns
        -------
        PlacedClassifiers
            Mastery with intervals, and a rank on each skill.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> type(diagnosis.place(frame.select("data_set", "sample", "truth", new=pl.col("c3")))).__name__
        'PlacedClassifiers'
        """
        return SavedClassifiers(self.diagnosis, self.table, self.taken).place(scores)


def _beside(board: pl.DataFrame, skill: str, place: int) -> pl.Series:
    """Both numbers of a skill under as much of its name as fits; the next table has the whole name."""
    header = skill if len(skill) <= LONGEST_HEADER else f"{place + 1}. {skill[: LONGEST_HEADER - 4]}…"
    pairs = zip(board[skill], board[f"{skill} mean"], strict=True)
    texts = [" / ".join("–" if value is None else f"{value:.2f}" for value in pair) for pair in pairs]
    return pl.Series(header, texts, pl.String)


def diagnose_classifiers(
    scores: Any, diagnoser: str = "camilla-base", *,
    skills: str | SkillMap | None = None, skill_graph: SkillGraph | None = None,
    new: str | Sequence[str] = (), rule: Rule = "interpolated", ks: KsSide = "two_sided", ranks: bool = False,
    seed: int = 0, as_published: bool = False, progress: bool | None = None, watch: Watch | None = None,
    **settings: Any,
) -> ClassifierDiagnosis:  # fmt: skip
    """Diagnoses score-based binary classifiers on several data sets, by 22 metrics and their attributes.

    Each metric on each data set is a sample. The skills are the attributes of Breskanu and Maisuradze with
    their graph, unless `skills` gives others. A classifier with the metrics of an earlier one is left out.

    Parameters
    ----------
    scores : ClassifierScores, dataframe or path
        Columns data_set, sample, truth, and one column per classifier.
    diagnoser : str
        As in `diagnose`.
    skills : SkillMap or path, optional
        Skills over the samples, or a file whose rows are samples, metrics or data sets.
    skill_graph : SkillGraph, optional
        Which skill builds on which.
    new : str or list of str
        Classifiers that are placed, not fitted.
    rule, ks
        As in `classifier_metrics`.
    ranks : bool
        Whether the diagnoser is given each metric as a rank among the classifiers, so that all samples count
        alike whatever their spread.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    as_published : bool
        Whether to follow the training of the diagnoser's paper.
    progress : bool, optional
        Whether to show a progress line on standard error. By default it appears after two seconds, on a
        terminal or in a notebook.
    watch : callable, optional
        Receives each progress line as text, instead of standard error.
    **settings
        Settings (hyperparameters) of the diagnoser.

    Returns
    -------
    ClassifierDiagnosis
        `table`, `diagnosis`, `agreement`, `leaderboard()`, `metrics()`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(0, 2, 200)
    >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
    >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
    >>> frame = pl.DataFrame({**sets, **scores})
    >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
    >>> diagnosis.leaderboard().height
    6
    """
    read = as_scores(scores)
    new = (new,) if isinstance(new, str) else new
    fresh = read.take(new)
    table = classifier_table(read.take([one for one in read.classifiers if one not in new]), rule=rule, ks=ks)
    if skills is not None or skill_graph is not None:
        given = skills_named(skills, table) if isinstance(skills, str) else skills or table.skill_map
        table = table.with_skills(given, graph=skill_graph)
    table, duplicates = without_duplicates(table)
    responses = ranked(table, table) if ranks else table
    with watching(f"diagnosing with {diagnoser}", progress, watch) as watch:
        found = diagnose(responses, diagnoser, seed=seed, as_published=as_published, watch=watch, **settings)
        watch("agreement")
        agreement = mastery_agreement(responses, found, seed=seed)
    taken = Taken(rule, ks, ranks)
    placed = SavedClassifiers(found, table, taken).place(fresh) if new else None
    return ClassifierDiagnosis(table, found, agreement, duplicates, placed, taken)


def load_classifiers(folder: str | Path) -> SavedClassifiers:
    """What `ClassifierDiagnosis.save` wrote, for placing others."""
    folder = Path(folder)
    if not (folder / INDEX).is_file():
        raise FormatError(f"{folder}: has no {INDEX}; expected a folder written by camilla classifiers -o.")
    made = json.loads((folder / INDEX).read_text(encoding="utf-8"))["provenance"]
    taken = Taken(made["rule"], made["ks"], made["ranks"])
    return SavedClassifiers(Diagnosis.load(folder / "diagnosis"), read(folder / "responses.parquet"), taken)
