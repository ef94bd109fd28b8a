"""What a benchmark owner should look at: every sample with its factors, its fit and what is odd about it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from camilla.arrays import Floats, Watch, rounded
from camilla.diagnosing import diagnose
from camilla.diagnosis import Diagnosis
from camilla.display import Grid, Part, Printable, brief, intervals, listed, percent, watching
from camilla.errors import DataError, SettingError
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.samples.sample_flags import (
    FLAGS,
    RATE,
    JudgingFit,
    SampleFlags,
    sample_flags,
    too_few_learners,
)
from camilla.samples.twins import Twins, twins
from camilla.statistics.discrimination import DiscriminationCurves
from camilla.statistics.items import item_rest
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

NAMED = 3  # learners named for each sample and direction
TWINS = 3  # pairs printed


@dataclass(frozen=True, eq=False, repr=False)
class SampleQuality(Printable):
    """`samples`, worst first; `twins`, pairs with nearly the same responses; how both came about."""

    on_a_screen: ClassVar[dict[str, Any]] = {"samples": 10}

    samples: pl.DataFrame
    twins: pl.DataFrame
    provenance: dict[str, Any]

    def flagged(self) -> pl.DataFrame:
        """The samples that something is odd about."""
        return self.samples.filter(pl.col("flags") != "")

    def parts(self, *, samples: int = 15) -> list[Part]:
        """How many samples are flagged, those to look at first, who contradicts them, and twins."""
        first = self.samples.head(samples)
        interval = "95 % CI"
        frame = first.with_columns(
            pl.Series(interval, intervals(first, "discrimination_low", "discrimination_high"), pl.String)
        ).select(
            "sample", "flags", "accuracy", "n", "discrimination", interval, "item_rest", "infit", "outfit",
            "mislabelled",
        )  # fmt: skip
        spare = ("n", "outfit", "infit", "item_rest", interval)
        grid = Grid("Samples to look at first", frame, fixed=("flags", interval), spare=spare)
        odd = first.filter(pl.col("flags").str.contains("mislabelled|negative"))
        return [self._answer(), grid, *map(_contradiction, odd.to_dicts()), *self._twin_lines()]

    def _answer(self) -> str:
        made, flagged = self.provenance, self.flagged()
        of = f"{made['n_samples']} samples, judged by {made['n_learners']} learners"
        if flagged.height == 0:
            return f"No sample is flagged of {of}."
        counts = flagged["flags"].str.split(", ").explode().value_counts().sort("flags")
        kinds = ", ".join(f"{count} {flag}" for flag, count in counts.iter_rows())
        verb = "is" if flagged.height == 1 else "are"
        return (
            f"{flagged.height} of {of}, {verb} flagged: {kinds}. "
            f"At most {percent(made['settings']['rate'])} of each kind are expected to be false."
        )

    def _twin_lines(self) -> list[str]:
        lines = [
            f"Nearly the same responses: {brief(row['sample'])} and {brief(row['twin'])} "
            f"({row['agreement']:.1%} equal, residual correlation {row['residual_correlation']:.2f})."
            for row in self.twins.head(TWINS).to_dicts()
        ]
        if (more := self.provenance["twin_pairs"] - TWINS) > 0:
            lines.append(f"{more} more pairs; --json has the closest {self.twins.height} of all.")
        return lines


def _contradiction(row: dict[str, Any]) -> str:
    failed, solved = listed(row["failed_by"]) or "none", listed(row["solved_by"]) or "none"
    sample = brief(row["sample"])
    return f"{sample}: strong learners that fail it: {failed}; weak learners that solve it: {solved}."


def items(
    table: TableLike, *, rows: WideRows | None = None, rate: float = RATE, seed: int = 0,
    progress: bool | None = None, watch: Watch | None = None,
) -> SampleQuality:  # fmt: skip
    """Difficulty, discrimination, item–rest correlation, infit, outfit and flags of every sample.

    `rate` is the share of false flags accepted, of each kind: Benjamini–Hochberg for negative
    discrimination and noise, the posterior for mislabelled samples, Bonferroni over pairs for twins.

    `progress` shows a line on standard error while it runs: True at once, False never, None after two seconds
    on a terminal or in a notebook. `watch` takes the lines instead.
    """
    if not 0 < rate < 1:
        raise SettingError(f"rate is a share of false flags between 0 and 1, not {rate:g}.")
    table = as_table(table, rows=rows)
    if few := too_few_learners(table.n_learners):
        raise DataError(few)
    with watching("judging samples", progress, watch) as watch:
        return _judged(table, rate, seed, watch)


def _judged(table: ResponseTable, rate: float, seed: int, watch: Watch) -> SampleQuality:
    ordered = table.canonical().table
    found = diagnose(ordered, "irt", seed=seed, watch=watch)
    watch("what is odd about each sample")
    judge = judging_fit(found)
    pairs = twins(judge.matrix, judge.predicted, rate=rate)
    flags = sample_flags(judge, pairs, rate=rate)
    frame = _factors(found, judge, flags)
    frame = frame.hstack(_contradictions(judge.matrix, judge.ability, ordered.learners)).with_columns(
        task=pl.Series(ordered.task, dtype=pl.String) if ordered.task is not None else None
    )
    provenance = made_of(table, rate=rate, seed=seed, irt=found.provenance["settings"]) | {
        "interval": "95 %; difficulty: Laplace, learners held fixed; discrimination: profile likelihood, "
        "abilities as the other responses have them; item_rest: influence function on Fisher's scale; "
        "accuracy: Wilson, with Student's t where responses are fractional",
        "mislabelled_share": flags.keys.share,
        "twin_pairs": pairs.n_pairs,
    }
    return SampleQuality(_ranked(frame), _named(pairs, ordered.samples, judge.matrix), provenance)


def flags_of_diagnosis(found: Diagnosis, *, look_for_twins: bool = True) -> SampleFlags:
    """The flags of `items` for a diagnosis' samples, in the order of its names.

    A 2PL judges them: the diagnosis itself if it is one, else one that is fitted as `items` does. Twins
    take a time that grows with the square of the samples. Raises DataError where learners are too few.
    """
    if few := too_few_learners(len(found.learner_names)):
        raise DataError(few)
    settings = found.provenance["settings"]
    is_2pl = found.provenance["diagnoser"] == "irt" and settings["form"] == "2pl"
    judge = judging_fit(found if is_2pl and not found.provenance["combined"] else _judged_by_2pl(found))
    return sample_flags(judge, twins(judge.matrix, judge.predicted, rate=RATE) if look_for_twins else None)


def _judged_by_2pl(found: Diagnosis) -> Diagnosis:
    """The 2PL of a diagnosis' responses; a cell of right/wrong trials is its right and its wrong ones."""
    cells, right = found.cells, found.cells.response
    learner, sample, response, weight = cells.learner, cells.sample, right, cells.weight
    if not found.provenance["fractional"]:
        learner, sample = np.tile(learner, 2), np.tile(sample, 2)
        response = np.repeat([1.0, 0.0], len(right))
        weight = np.concatenate([weight * right, weight * (1 - right)])
    rows = weight > 0
    table = ResponseTable(
        found.learner_names, found.sample_names, learner[rows], sample[rows], response[rows], weight[rows]
    )
    return diagnose(table, "irt", seed=found.provenance["seed"])


def judging_fit(found: Diagnosis) -> JudgingFit:
    """A 2PL's diagnosis as the arrays that flags are decided from."""
    cells, readout = found.cells, found.readout
    matrix = np.full((len(found.learner_names), len(found.sample_names)), np.nan)
    matrix[cells.learner, cells.sample] = cells.response
    predicted = found.probabilities()
    curves = DiscriminationCurves(
        found.params.ability[:, 0], found.params.loading[:, 0], found.params.intercept
    )
    plain = bool((cells.weight == 1).all())
    return JudgingFit(
        matrix,
        predicted,
        readout.ability[:, 0],
        curves,
        readout.discrimination,
        np.full(len(readout.discrimination), np.nan)
        if readout.discrimination_se is None
        else readout.discrimination_se,
        readout.dispersion if plain else mean_dispersion(matrix, predicted),
    )


def mean_dispersion(matrix: Floats, predicted: Floats) -> float:
    """How far means of trials scatter: Pearson's χ² per degree of freedom of a 2PL, responses as they are."""
    n, fitted = int(np.sum(~np.isnan(matrix))), matrix.shape[0] + 2 * matrix.shape[1]
    p = np.clip(predicted, 1e-9, 1 - 1e-9)
    square = np.nansum((matrix - p) ** 2 / (p * (1 - p)))
    return float(square / (n - min(fitted, n // 2)))


def _factors(found: Diagnosis, judge: JudgingFit, decided: SampleFlags) -> pl.DataFrame:
    rest, ends, fit = item_rest(judge.matrix), judge.discrimination_ends(), decided.fit
    n_samples = len(found.sample_names)
    columns = {
        "discrimination_low": ends.low, "discrimination_high": ends.high,
        "item_rest": rest.r, "item_rest_low": rest.low, "item_rest_high": rest.high,
        "infit_z": fit.infit_z if judge.is_binary else np.full(n_samples, np.nan),
        "outfit_z": fit.outfit_z if judge.is_binary else np.full(n_samples, np.nan),
        "negative_q": decided.negative_q, "noisy_q": decided.noisy_q, "mislabelled": decided.keys.probability,
    }  # fmt: skip
    flags = [decided.names(j) for j in range(n_samples)]
    order = list(FLAGS)
    worst = [order.index(names[0]) if names else len(order) for names in flags]
    return found.samples.with_columns(
        *pl.DataFrame(columns).fill_nan(None), flags=pl.Series(map(", ".join, flags), dtype=pl.String),
        worst=pl.Series(worst, dtype=pl.Int64),
    )  # fmt: skip


def _contradictions(matrix: Floats, ability: Floats, learners: tuple[str, ...]) -> pl.DataFrame:
    """The ablest learners that failed a sample and the weakest that solved it, above and below the median."""
    ability = rounded(ability)
    order = np.argsort(-ability, kind="stable")
    above = int((ability > np.median(ability)).sum())
    strong, weak = order[:above], order[::-1][: len(order) - above]
    failed, solved = [], []
    for column in matrix.T:
        failed.append([learners[i] for i in strong[column[strong] < 0.5][:NAMED]])
        solved.append([learners[i] for i in weak[column[weak] > 0.5][:NAMED]])
    kind = pl.List(pl.String)
    return pl.DataFrame(
        {"failed_by": failed, "solved_by": solved}, schema={"failed_by": kind, "solved_by": kind}
    )


def _ranked(frame: pl.DataFrame) -> pl.DataFrame:
    """Flagged samples by their worst flag, then how surely; the others by item–rest correlation."""
    return (
        frame.sort(
            "worst", pl.col("mislabelled").round(3),
            pl.col("negative_q").round_sig_figs(6), pl.col("item_rest").round_sig_figs(6), "sample",
            descending=[False, True, False, False, False], nulls_last=True,
        )
        .drop("worst", "expected", "difficulty_se", "discrimination_se", "accuracy_se")
        .with_row_index("look", offset=1)
        .select("look", "sample", "task", "flags", pl.exclude("look", "sample", "task", "flags"))
    )  # fmt: skip


def _named(pairs: Twins, samples: tuple[str, ...], matrix: Floats) -> pl.DataFrame:
    agreement = [
        float(np.nanmean(1 - np.abs(matrix[:, i] - matrix[:, j])))
        for i, j in zip(pairs.one, pairs.other, strict=True)
    ]
    return pl.DataFrame(
        {
            "sample": [samples[i] for i in pairs.one],
            "twin": [samples[j] for j in pairs.other],
            "agreement": agreement,
            "residual_correlation": pairs.correlation,
            "low": pairs.low,
            "high": pairs.high,
        },
        schema={"sample": pl.String, "twin": pl.String, "agreement": pl.Float64,
                "residual_correlation": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    )  # fmt: skip
