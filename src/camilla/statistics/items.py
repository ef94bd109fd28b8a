"""Statistics of samples and of those who judge them: item–rest correlation, mean squares, logistic
regression, Mantel–Haenszel, and how many independent learners some learners count as."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from camilla.arrays import Floats, sigmoid
from camilla.statistics.intervals import LEVEL, Z
from camilla.statistics.wald import chi_p_values
from camilla.table.cells import Cells

FEWEST_LEARNERS = 5  # learners a correlation with an interval needs


class ItemRest(NamedTuple):
    """The correlation of each sample with its 95 % interval; NaN where a sample or its rest does not vary."""

    r: Floats
    low: Floats
    high: Floats


class LearnerTotals(NamedTuple):
    """Of each learner over all samples: how many responses, and their sum."""

    n: Floats
    right: Floats


def item_rest(matrix: Floats, every: LearnerTotals | None = None) -> ItemRest:
    """Correlation of a sample's responses with each learner's mean over its other samples.

    `every`: totals over all samples, where the columns of the matrix are only some of them.

    The standard error is that of the influence function, uᵢvᵢ − r(uᵢ² + vᵢ²)/2 with u and v standardised,
    which holds for right/wrong responses too; the interval is Student's, made on Fisher's scale atanh r.
    """
    seen = ~np.isnan(matrix)
    x = np.where(seen, matrix, 0.0)
    if every is None:
        every = LearnerTotals(seen.sum(axis=1), x.sum(axis=1))
    others = every.n[:, None] - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.where(seen & (others > 0), (every.right[:, None] - x) / others, 0.0)
        n = (seen & (others > 0)).sum(axis=0).astype(np.float64)
        u, v = (_standardised(part, seen & (others > 0), n) for part in (x, rest))
        r = np.clip((u * v).sum(axis=0) / n, -1, 1)
        influence = np.where(seen, u * v - r * (u**2 + v**2) / 2, 0.0)
        se = np.sqrt((influence**2).sum(axis=0) / (n * (n - 3)))
        half = stdtrit(n - 3, 0.5 + LEVEL / 2) * se / (1 - r**2)
        known = (n >= FEWEST_LEARNERS) & np.isfinite(half)
        centre, half = np.where(known, np.arctanh(r), np.nan), np.where(known, half, np.nan)
    return ItemRest(
        np.where(n >= FEWEST_LEARNERS, r, np.nan),
        np.tanh(centre - half),
        np.tanh(centre + half),
    )


def _standardised(values: Floats, seen: NDArray[np.bool_], n: Floats) -> Floats:
    """Columns with mean 0 and variance 1 over what is seen; NaN where a column does not vary."""
    mean = np.where(seen, values, 0.0).sum(axis=0) / n
    off = np.where(seen, values - mean, 0.0)
    variance = (off**2).sum(axis=0) / n
    return off / np.sqrt(np.where(variance > 1e-12, variance, np.nan))


class MeanSquares(NamedTuple):
    """Mean squares of a sample's residuals, expected to be 1, and how far off that they are."""

    infit: Floats
    outfit: Floats
    infit_z: Floats
    outfit_z: Floats


def mean_squares(matrix: Floats, predicted: Floats) -> MeanSquares:
    """Wright and Masters (1982): with W = p(1 − p), kurtosis C = W(1 − 3W) and n learners,

        infit = Σ(x − p)² / ΣW,      variance Σ(C − W²) / (ΣW)²
        outfit = mean of (x − p)²/W, variance Σ(C/W²)/n² − 1/n

    and z by the cube root of Wilson and Hilferty. Both matrices are [learners, samples], NaN is missing.
    """
    seen = ~np.isnan(matrix)
    n = seen.sum(axis=0)
    p = np.clip(predicted, 1e-9, 1 - 1e-9)
    variance = np.where(seen, p * (1 - p), 0.0)
    square = np.where(seen, (np.where(seen, matrix, 0.0) - p) ** 2, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = variance.sum(axis=0)
        infit = square.sum(axis=0) / total
        outfit = np.where(seen, square / (p * (1 - p)), 0.0).sum(axis=0) / n
        infit_spread = np.sqrt((variance * (1 - 4 * variance)).sum(axis=0)) / total
        outfit_spread = np.sqrt(np.where(seen, 1 / (p * (1 - p)) - 3, 0.0).sum(axis=0) / n**2 - 1 / n)
    return MeanSquares(infit, outfit, _cube_root_z(infit, infit_spread), _cube_root_z(outfit, outfit_spread))


def _cube_root_z(square: Floats, spread: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return (np.cbrt(square) - 1) * 3 / spread + spread / 3


RIDGE = 0.02  # precision of every coefficient around 0: keeps separated samples finite


class Regressions(NamedTuple):
    """Coefficients [samples, columns] with standard errors, the loss of each sample, its dispersion."""

    coefficient: Floats
    se: Floats
    loss: Floats
    dispersion: Floats


def logistic_fits(design: Floats, matrix: Floats, *, most_steps: int = 60) -> Regressions:
    """Newton with halved steps; matrix: responses [learners, samples] in [0, 1], NaN where missing."""
    seen = ~np.isnan(matrix.T)
    x = np.where(seen, matrix.T, 0.0)
    width = design.shape[1]
    outer = np.einsum("nk,nj->nkj", design, design).reshape(len(design), -1)

    def loss(at: Floats) -> Floats:
        logit = at @ design.T
        return ((np.logaddexp(0, logit) - x * logit) * seen).sum(axis=1) + 0.5 * RIDGE * (at**2).sum(axis=1)

    def curvature(at: Floats) -> tuple[Floats, Floats]:
        p = sigmoid(at @ design.T)
        return p, ((p * (1 - p) * seen) @ outer).reshape(-1, width, width) + RIDGE * np.eye(width)

    at = np.zeros((matrix.shape[1], width))
    value = loss(at)
    for _ in range(most_steps):
        p, curve = curvature(at)
        slope = ((x - p) * seen) @ design - RIDGE * at
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        for _ in range(30):
            trial = loss(at + step)
            worse = trial > value + 1e-12 * (1 + np.abs(value))
            if not worse.any():
                break
            step = np.where(worse[:, None], step / 2, step)
        at, value = at + step, trial
        if np.abs(step).max(initial=0) < 1e-9:
            break
    p, curve = curvature(at)
    spread = np.sqrt(np.einsum("mkk->mk", np.linalg.inv(curve)))
    with np.errstate(divide="ignore", invalid="ignore"):
        chi = np.where(seen, (x - p) ** 2 / (p * (1 - p)), 0.0).sum(axis=1)
    return Regressions(at, spread, value, chi / np.maximum(seen.sum(axis=1) - width, 1))


class OddsRatios(NamedTuple):
    """Mantel–Haenszel odds ratios with 95 % intervals and the p of the test with continuity correction."""

    ratio: Floats
    log_se: Floats
    low: Floats
    high: Floats
    p: Floats


def mantel_haenszel(matrix: Floats, stratum: NDArray[np.integer], member: NDArray[np.bool_]) -> OddsRatios:
    """Odds of a right response in the group over those of the others (Mantel and Haenszel 1959).

    matrix: right/wrong [learners, samples], NaN where missing. With a, b right and wrong of the group, c, d
    of the others and n of all in a stratum: ratio Σad/n / Σbc/n; standard error of its logarithm by
    Robins, Breslow and Greenland (1986); test max(|Σ(a − E a)| − ½, 0)² / ΣVar a.
    """
    seen = ~np.isnan(matrix)
    right = np.where(seen, matrix, 0.0)
    wrong = np.where(seen, 1 - matrix, 0.0)
    in_stratum = stratum[:, None] == np.arange(int(stratum.max()) + 1)
    mine, others = in_stratum & member[:, None], in_stratum & ~member[:, None]
    a, b, c, d = (who.T.astype(np.float64) @ what for who in (mine, others) for what in (right, wrong))
    n = a + b + c + d
    full = n > 1
    n = np.where(full, n, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        r, s = np.where(full, a * d / n, 0), np.where(full, b * c / n, 0)
        p, q = (a + d) / n, (b + c) / n
        top, bottom = r.sum(axis=0), s.sum(axis=0)
        ratio = top / bottom
        log_variance = (
            (p * r).sum(axis=0) / (2 * top**2)
            + (p * s + q * r).sum(axis=0) / (2 * top * bottom)
            + (q * s).sum(axis=0) / (2 * bottom**2)
        )
        mean = np.where(full, (a + b) * (a + c) / n, 0)
        variance = np.where(full, (a + b) * (c + d) * (a + c) * (b + d) / (n**2 * np.maximum(n - 1, 1)), 0)
        off = np.abs((np.where(full, a, 0) - mean).sum(axis=0))
        test = np.maximum(off - 0.5, 0) ** 2 / variance.sum(axis=0)
    known = (top > 0) & (bottom > 0)
    ratio = np.where(known, ratio, np.nan)
    log_se = np.where(known, np.sqrt(log_variance), np.nan)
    half = Z * log_se
    return OddsRatios(
        ratio,
        log_se,
        ratio * np.exp(-half),
        ratio * np.exp(half),
        np.where(known, chi_p_values(test, df=1), np.nan),
    )


BY_CHANCE = 0.05  # expected number of others that an independent learner seems to answer like
MOST_OTHERS = 3000  # learners that each learner is compared with, evenly taken
MOST_RESIDUALS = 10_000  # samples that correlations rest on, evenly taken


def learner_weights(matrix: Floats, expected: Floats, flat: NDArray[np.bool_] | None = None) -> Floats:
    """How much each learner counts beside those that answer like it: 1 / (1 + Σ r), [learners].

    r are the correlations of its residuals, response − expected, with those of the other learners, as far as
    they are surely above 0: r > z/√n on n shared samples, z so that .05 others pass by chance. Ten copies of
    a learner weigh a tenth each, so that the weights sum to the number of independent learners. Both matrices
    are [learners, samples], NaN is missing. Of `flat` samples the mean response is expected of everybody.
    """
    samples, others = spaced(matrix.shape[1], MOST_RESIDUALS), spaced(len(matrix), MOST_OTHERS)
    x = matrix[:, samples]
    seen = (~np.isnan(x)).astype(np.float32)
    expected = expected[:, samples]
    if flat is not None:
        mean = np.nansum(x, axis=0) / np.maximum(seen.sum(axis=0), 1)
        expected = np.where(flat[samples], mean, expected)
    residual = np.where(seen > 0, x - expected, 0).astype(np.float32)
    square = residual**2
    total, needed = np.zeros(len(matrix)), -ndtri(min(BY_CHANCE / len(matrix), 0.5))
    for start in range(0, len(matrix), 1000):
        part = slice(start, start + 1000)
        with np.errstate(invalid="ignore", divide="ignore"):
            r = (residual[part] @ residual[others].T) / np.sqrt(
                (square[part] @ seen[others].T) * (seen[part] @ square[others].T)
            )
            sure = r > needed / np.sqrt(seen[part] @ seen[others].T)
        sure &= np.arange(len(matrix))[part, None] != others
        total[part] = np.where(sure, r, 0).sum(axis=1) * len(matrix) / len(others)
    return 1 / (1 + total)


def spaced(count: int, most: int) -> NDArray[np.intp]:
    """At most so many places, evenly taken."""
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.intp)


def mean_squares_of_cells(
    cells: Cells, predicted: Floats, n_samples: int, *, binary: bool
) -> dict[str, Floats]:
    """infit Σw(x−p)² / Σwp(1−p), outfit the mean of (x−p)²/p(1−p): 1 is expected of right/wrong responses.

    Of those a cell with a share x right has the mean square x(1−p)² + (1−x)p² over its trials.
    """
    variance = predicted * (1 - predicted)
    square = (cells.response - predicted) ** 2
    if binary:
        square = cells.response * (1 - predicted) ** 2 + (1 - cells.response) * predicted**2
    total = np.bincount(cells.sample, cells.weight * variance, n_samples)
    weight = np.bincount(cells.sample, cells.weight, n_samples)
    with np.errstate(invalid="ignore", divide="ignore"):
        infit = np.bincount(cells.sample, cells.weight * square, n_samples) / total
        outfit = np.bincount(cells.sample, cells.weight * square / variance, n_samples) / weight
    return {"infit": infit, "outfit": outfit}
