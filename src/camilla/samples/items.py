"""What a benchmark owner should look at: every sample with its factors, its fit and what is odd about it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtr
from scipy.stats import false_discovery_control

from camilla.arrays import Floats, Watch, rounded
from camilla.diagnosing import diagnose
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError, SettingError
from camilla.provenance import made_of
from camilla.samples.twins import Twins, twins
from camilla.samples.wrong_keys import WrongKeys, wrong_keys
from camilla.statistics.discrimination import DiscriminationCurves, discrimination_ends
from camilla.statistics.intervals import Ends
from camilla.statistics.items import item_rest, mean_squares
from camilla.table.responses import ResponseTable

NOISY = 1.3  # infit above which a sample is too unpredictable to be useful (Wright and Linacre 1994)
NAMED = 3  # learners named a sample and direction

# In the order in which a benchmark owner should look.
FLAGS = ("mislabelled", "negative", "everyone wrong", "noisy", "twin", "everyone right")


@dataclass(frozen=True, eq=False)
class SampleQuality:
    """`samples`, worst first; `twins`, pairs with nearly the same responses; how both came about."""

    samples: pl.DataFrame
    twins: pl.DataFrame
    provenance: dict[str, Any]

    def flagged(self) -> pl.DataFrame:
        """The samples that something is odd about."""
        return self.samples.filter(pl.col("flags") != "")


def items(
    table: ResponseTable, *, rate: float = 0.05, seed: int = 0, watch: Watch = lambda line: None
) -> SampleQuality:
    """Difficulty, discrimination, item–rest correlation, infit, outfit and flags of every sample.

    `rate` is the share of false flags accepted, of each kind: Benjamini–Hochberg for negative
    discrimination and noise, the posterior for mislabelled samples, Bonferroni over pairs for twins.
    """
    if not 0 < rate < 1:
        raise SettingError(f"rate is a share of false flags between 0 and 1, not {rate:g}.")
    if table.n_learners < 3:
        raise DataError(
            f"the table has {table.n_learners} learners; samples are judged by how learners differ on them, "
            "which takes three at least and says little below twenty."
        )
    ordered = table.canonical().table
    found = diagnose(ordered, "irt", seed=seed, watch=watch)
    watch("what is odd about each sample")
    matrix, predicted = ordered.matrix(), found.probabilities()
    ability = found.readout.ability[:, 0]
    keys = wrong_keys(matrix, ability, rate=rate)
    pairs = twins(matrix, predicted, rate=rate)
    frame = _factors(found, matrix, predicted, rate, keys, pairs)
    frame = frame.hstack(_contradictions(matrix, ability, ordered.learners)).with_columns(
        task=pl.Series(ordered.task, dtype=pl.String) if ordered.task is not None else None
    )
    provenance = made_of(table, rate=rate, seed=seed, irt=found.provenance["settings"]) | {
        "interval": "95 %; difficulty: Laplace, learners held fixed; discrimination: profile likelihood, "
        "abilities as the other responses have them; item_rest: influence function on Fisher's scale; "
        "accuracy: Wilson, with Student's t where responses are fractional",
        "mislabelled_share": keys.share,
        "twin_pairs": pairs.n_pairs,
    }
    return SampleQuality(_ranked(frame), _named(pairs, ordered.samples, matrix), provenance)


def _factors(
    found: Diagnosis, matrix: Floats, predicted: Floats, rate: float, keys: WrongKeys, pairs: Twins
) -> pl.DataFrame:
    fit, rest = mean_squares(matrix, predicted), item_rest(matrix)
    ends = _discrimination_ends(found, matrix, predicted)
    binary = bool(np.isin(found.cells.response, (0, 1)).all())
    negative = _adjusted(ndtr(found.readout.discrimination / found.readout.discrimination_se))
    noisy = _adjusted(ndtr(-fit.infit_z)) if binary else np.full(len(negative), np.nan)
    mean = found.samples["accuracy"].to_numpy()
    raised = {
        "mislabelled": keys.flagged,
        "negative": (negative <= rate) & (ends.high < 0),
        "everyone wrong": mean == 0,
        "noisy": (noisy <= rate) & (fit.infit > NOISY),
        "twin": pairs.is_twin,
        "everyone right": mean == 1,
    }
    columns = {
        "discrimination_low": ends.low, "discrimination_high": ends.high,
        "item_rest": rest.r, "item_rest_low": rest.low, "item_rest_high": rest.high,
        "infit_z": fit.infit_z if binary else np.full(len(mean), np.nan),
        "outfit_z": fit.outfit_z if binary else np.full(len(mean), np.nan),
        "negative_q": negative, "noisy_q": noisy, "mislabelled": keys.probability,
    }  # fmt: skip
    flags = [", ".join(name for name in FLAGS if raised[name][j]) for j in range(len(mean))]
    worst = [
        min((k for k, name in enumerate(FLAGS) if raised[name][j]), default=len(FLAGS))
        for j in range(len(mean))
    ]
    return found.samples.with_columns(
        *pl.DataFrame(columns).fill_nan(None), flags=pl.Series(flags, dtype=pl.String),
        worst=pl.Series(worst, dtype=pl.Int64),
    )  # fmt: skip


def _discrimination_ends(found: Diagnosis, matrix: Floats, predicted: Floats) -> Ends:
    """Intervals by the responses alone, stretched to the 2PL's estimate where that lies outside."""
    fitted = DiscriminationCurves(
        found.params.ability[:, 0], found.params.loading[:, 0], found.params.intercept
    )
    ends = discrimination_ends(matrix, fitted, dispersion=_dispersion(found, matrix, predicted))
    estimate = found.readout.discrimination
    return Ends(np.minimum(ends.low, estimate), np.maximum(ends.high, estimate))


def _dispersion(found: Diagnosis, matrix: Floats, predicted: Floats) -> float:
    """The 2PL's; of cells with trials their means' own, Pearson's χ² a degree of freedom."""
    if (found.cells.weight == 1).all():
        return found.readout.dispersion
    n, fitted = len(found.cells.weight), matrix.shape[0] + 2 * matrix.shape[1]
    p = np.clip(predicted, 1e-9, 1 - 1e-9)
    square = np.nansum((matrix - p) ** 2 / (p * (1 - p)))
    return float(square / (n - min(fitted, n // 2)))


def _adjusted(p: Floats) -> Floats:
    """Benjamini and Hochberg (1995), leaving out what could not be tested."""
    out = np.full(len(p), np.nan)
    known = np.isfinite(p)
    if known.any():
        out[known] = false_discovery_control(p[known])
    return out


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
            pl.col("negative_q", "item_rest").round_sig_figs(6), "sample",
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
