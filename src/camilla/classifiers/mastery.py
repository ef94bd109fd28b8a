"""How far mastery agrees with the responses it was made of, and how far any mastery could."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.names import name_index
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics import agreement as measure
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

SHUFFLES = 20  # of learners, for the random control


@dataclass(frozen=True, eq=False)
class MasteryAgreement:
    """Agreement of one mastery with one table; pairs of learners are counted one by one (variant "pair").

    `summary` holds r2 and r2_within (None without predictions), doa, doa_weighted (by samples) and doc.
    Beside them: ceiling and ceiling_weighted, what no mastery without ties can exceed; borda and
    borda_weighted, mastery without a model; random, learners shuffled; null, Borda when learners are
    shuffled in each task apart (None without tasks); doa_star = (doa − ½)/(ceiling − ½).

    Attributes
    ----------
    summary : dict
        Each measure by name: `doa`, its ceiling, its value for random masteries, and others.
    skills : DataFrame
        The measures of each skill.
    samples : DataFrame
        One row per sample: `doc`, how consistently learners are ordered by it.

    Examples
    --------
    >>> table = camilla.simulate(10, 40, kind="camilla_base", skills=2, seed=1).table
    >>> agreement = camilla.mastery_agreement(table, np.random.default_rng(0).random((10, 2)))
    >>> agreement.samples.columns
    ['sample', 'doc']
    """

    summary: dict[str, float | None]
    skills: pl.DataFrame  # skill, samples, doa, ceiling, borda, random, doa_star
    samples: pl.DataFrame  # sample, doc


def mastery_agreement(
    table: TableLike, mastery: Diagnosis | Floats, *, rows: WideRows | None = None,
    margin: float | None = None, seed: int = 0,
) -> MasteryAgreement:  # fmt: skip
    """Measures how far mastery agrees with responses: R², degree of agreement (DOA), DOC, with controls.

    It takes 12 bytes × skills × learners².

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    mastery : Diagnosis or array
        A diagnosis, or any mastery [learners, skills].
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    margin : float, optional
        A response counts as better if it is larger by more than this.
    seed : int
        Seed of the controls.

    Returns
    -------
    MasteryAgreement
        `summary`, `skills`, `samples`.

    Raises
    ------
    DataError
        The table has no skill map, or the mastery has another shape.

    Examples
    --------
    >>> table = camilla.simulate(10, 40, kind="camilla_base", skills=2, seed=1).table
    >>> agreement = camilla.mastery_agreement(table, np.random.default_rng(0).random((10, 2)))
    >>> agreement.skills["skill"].to_list()
    ['skill-0', 'skill-1']
    """
    table = as_table(table, rows=rows)
    skill_map, responses = _mapped(table), table.matrix()
    levels = mastery_matrix(mastery, table) if isinstance(mastery, Diagnosis) else np.asarray(mastery)
    if levels.shape != (table.n_learners, skill_map.n_skills):
        raise DataError(
            f"expected a mastery [{table.n_learners} learners, {skill_map.n_skills} skills]; got shape "
            f"{levels.shape}."
        )
    pairs = measure.pair_agreement(responses, levels, skill_map.mask, margin=margin)
    rng = np.random.default_rng(seed)
    columns = {
        "doa": measure.doa(pairs.wins, levels),
        "ceiling": measure.ceiling(pairs.wins),
        "borda": measure.doa(pairs.wins, measure.borda(pairs.wins)),
        "random": _random(pairs.wins, levels, rng),
    }
    summary: dict[str, float | None] = dict.fromkeys(("r2", "r2_within"))
    if isinstance(mastery, Diagnosis):
        predicted = _in_table_order(mastery, table)
        summary["r2"] = measure.r_squared(responses, predicted)
        summary["r2_within"] = measure.r_squared_within(responses, predicted)
    for name, values in columns.items():
        summary[name] = measure.overall(values)
        summary[f"{name}_weighted"] = measure.sample_weighted(values, skill_map.mask)
    summary["doc"] = measure.overall(pairs.doc)
    summary["null"] = _null(table, responses, skill_map.mask, rng)
    summary["doa_star"] = measure.adjusted(summary["doa"] or 0.0, summary["ceiling"] or 0.0)
    samples = pl.DataFrame({"sample": table.samples, "doc": pairs.doc})
    return MasteryAgreement(summary, _by_skill(skill_map, columns), samples.fill_nan(None))


def _by_skill(skill_map: SkillMap, columns: dict[str, Floats]) -> pl.DataFrame:
    frame = pl.DataFrame({"skill": skill_map.skills, "samples": skill_map.mask.sum(axis=0), **columns})
    star = (pl.col("doa") - 0.5) / (pl.col("ceiling") - 0.5)
    return frame.with_columns(doa_star=star).with_columns(pl.col(pl.Float64).fill_nan(None))


def mastery_matrix(diagnosis: Diagnosis, table: ResponseTable) -> Floats:
    """Mastery [learners, skills] of a diagnosis, in the order of the table."""
    skill_map = _mapped(table)
    wide = diagnosis.skills.pivot("skill", index="learner", values="mastery")
    ordered = pl.DataFrame({"learner": table.learners}).join(
        wide, on="learner", how="left", maintain_order="left"
    )
    return ordered.select(skill_map.skills).to_numpy().astype(np.float64)


SAME = 0.02  # masteries of one learner that differ by no more are one number
SAME_ORDER = 0.95  # Kendall's τ of two skills that order learners alike


class OneMastery(NamedTuple):
    """Whether the masteries of several skills are one number.

    Attributes
    ----------
    skills : int
        Number of skills.
    largest_difference : float
        Largest difference between two masteries of one learner.
    least_kendall : float
        Smallest rank correlation of two skills, over learners.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(0, 2, 200)
    >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
    >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
    >>> frame = pl.DataFrame({**sets, **scores})
    >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
    >>> same = diagnosis.one_mastery()
    >>> same.skills
    7
    """

    skills: int
    largest_difference: float  # between two masteries of one learner
    least_kendall: float  # between two skills, over learners

    @property
    def holds(self) -> bool:
        """Whether all skills are one ability."""
        return self.largest_difference <= SAME and self.least_kendall >= SAME_ORDER

    def in_words(self) -> str:
        """Returns the sentence to print where all skills are one.

        Returns
        -------
        str
            A sentence.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> truth = rng.integers(0, 2, 200)
        >>> scores = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
        >>> sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
        >>> frame = pl.DataFrame({**sets, **scores})
        >>> diagnosis = camilla.diagnose_classifiers(frame, skill_correlation=0.5, precision=3.0)
        >>> same = diagnosis.one_mastery()
        >>> same.in_words()[:43]
        'The 7 masteries are effectively one number:'
        """
        return (
            f"The {self.skills} masteries are effectively one number: within a classifier they differ by at "
            f"most {self.largest_difference:.3f}, and any two skills rank the classifiers alike (Kendall's "
            f"τ at least {self.least_kendall:.2f}). They are shown as one column. To find skills that "
            "differ, run camilla skills on responses.parquet in the folder of -o, and pass them with "
            "--skills."
        )


def one_mastery(mastery: Floats) -> OneMastery | None:
    """Of mastery [learners, skills]; None of fewer than two skills or learners, or where some are missing."""
    from scipy.stats import kendalltau  # half a second to load

    n_learners, n_skills = mastery.shape
    if min(n_learners, n_skills) < 2 or np.isnan(mastery).any():
        return None
    kendalls = [kendalltau(mastery[:, a], mastery[:, b]).statistic for b in range(n_skills) for a in range(b)]
    return OneMastery(n_skills, float(np.ptp(mastery, axis=1).max()), float(np.nan_to_num(kendalls).min()))


def plain_means(table: ResponseTable) -> Floats:
    """Mean response of each learner on the samples of each skill [learners, skills], NaN without any."""
    responses, mask = table.matrix(), _mapped(table).mask.astype(np.float64)
    seen = ~np.isnan(responses)
    count = seen @ mask
    return np.divide(
        np.where(seen, responses, 0.0) @ mask, count, out=np.full(count.shape, np.nan), where=count > 0
    )


def _mapped(table: ResponseTable) -> SkillMap:
    if table.skill_map is None:
        raise DataError("mastery needs skills, and the table has no skill map. Give one with --skills.")
    return table.skill_map


def _in_table_order(diagnosis: Diagnosis, table: ResponseTable) -> Floats:
    learner = name_index(diagnosis.learner_names)
    sample = name_index(diagnosis.sample_names)
    rows, columns = [learner[name] for name in table.learners], [sample[name] for name in table.samples]
    return diagnosis.probabilities()[np.ix_(rows, columns)]


def _random(wins: Floats, mastery: Floats, rng: np.random.Generator) -> Floats:
    """Mean DOA of each skill of the same mastery with its learners shuffled."""
    drawn: list[Any] = [measure.doa(wins, mastery[rng.permutation(len(mastery))]) for _ in range(SHUFFLES)]
    return np.mean(drawn, axis=0)


def _null(
    table: ResponseTable, responses: Floats, mask: NDArray[np.bool_], rng: np.random.Generator
) -> float | None:
    """DOA of Borda once learners are shuffled in each task apart: what unrelated orders reach."""
    if table.task is None:
        return None
    shuffled = responses.copy()
    tasks = np.array(table.task)
    for task in dict.fromkeys(table.task):
        shuffled[:, tasks == task] = responses[rng.permutation(len(responses))][:, tasks == task]
    wins = measure.pair_wins(shuffled, mask)
    return measure.overall(measure.doa(wins, measure.borda(wins)))
