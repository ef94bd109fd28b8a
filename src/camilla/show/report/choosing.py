"""What a reader needs to choose a learner: draws of accuracy per skill, strengths, and what learners cost."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.names import nearest
from camilla.show.report.diagnosed import Diagnosed
from camilla.show.report.packing import Rounded
from camilla.statistics.intervals import LEVEL
from camilla.statistics.posterior import random_shares
from camilla.statistics.wald import surely_not_zero
from camilla.table.frame_files import called, read_frame

DRAWS = 200
FEWEST_DRAWS = 60
FEW_DRAWS = 100  # of a posterior; below, its normal approximation gives smoother shares
MOST_NUMBERS = 300_000  # in the draws of a page, of one byte each
STEPS = 32  # of a draw's byte within a standard deviation
MOST_GROUPS = 4000  # weights of a bootstrap draw
MOST_OPTIMAL = 150  # rows or columns whose order is improved within their clusters

POSTERIOR = (
    "Draws of the posterior of {diagnoser}: each learner's expected accuracy on samples like these, each "
    "skill's samples treated as a random draw from many."
)
RESAMPLED = (
    "Bayesian bootstrap of the observed responses, because {diagnoser} keeps no draws: samples are "
    "reweighted at random, the same for all learners, with half a right and half a wrong response added to "
    "each learner."
)
GAPS = " Learners did not all answer the same samples, and each is judged by those it answered."


def section(of: Diagnosed) -> dict[str, Any]:
    """Draws, strengths and the order of both in the heatmap."""
    return {"draws": _draws_section(of), "strengths": _strengths_section(of)}


class SkillSamples(NamedTuple):
    """Skills of the map that some sample needs, None without a map, and the samples of each."""

    skills: list[str] | None
    samples: list[NDArray[np.intp]]  # in the diagnosis' own order; without a map one set, of all


def _skill_samples(of: Diagnosed) -> SkillSamples:
    """What an accuracy is known on; a skill that only the graph names has none."""
    used = [] if of.mask is None else np.flatnonzero(of.mask.any(axis=0)).tolist()
    if of.mask is None or len(used) < 2:
        return SkillSamples(None, [np.arange(len(of.samples))])
    place = of.order[1]
    return SkillSamples([of.skills[k] for k in used], [np.sort(place[of.mask[:, k]]) for k in used])


def _draws_section(of: Diagnosed) -> dict[str, Any]:
    skills, samples = _skill_samples(of)
    rows = _candidates(of, MOST_NUMBERS // (FEWEST_DRAWS * len(samples)))
    n_draws = int(np.clip(MOST_NUMBERS // (len(rows) * len(samples)), FEWEST_DRAWS, DRAWS))
    who = of.order[0][rows]
    drawn = accuracy_draws(of.found, samples, n_draws)[:, who]
    mean, sd = drawn.mean(axis=0), np.maximum(drawn.std(axis=0), 1e-6)
    steps = np.clip(np.rint((drawn - mean) / sd * STEPS), -127, 127)
    source = (POSTERIOR if of.found.pool.draws is not None else RESAMPLED).format(
        diagnoser=of.found.provenance["diagnoser"]
    )
    return {
        "skills": skills,
        "learners": rows.astype(np.uint32),
        "n": n_draws,
        "mean": Rounded(mean, 4),
        "step": (sd / STEPS).astype(np.float32),
        "steps": (steps + 128).astype(np.uint8),
        "source": source + (GAPS if of.found.provenance["n_missing"] else ""),
    }


def _candidates(of: Diagnosed, most: int) -> NDArray[np.intp]:
    """Learners that could be chosen: all, or those that come first overall or on some skill."""
    n = len(of.learners)
    if n <= most:
        return np.arange(n)
    columns = np.column_stack([of.column("learners", "accuracy"), of.by_skill["accuracy"]])
    place = np.argsort(np.argsort(-np.nan_to_num(columns, nan=-1.0), axis=0, kind="stable"), axis=0)
    return np.sort(np.argsort(place.min(axis=1), kind="stable")[:most])


def accuracy_draws(found: Diagnosis, samples: list[NDArray[np.intp]], n_draws: int) -> Floats:
    """[draws, learners, sets of samples]: accuracy on samples like those of each set."""
    if found.pool.draws is None:
        drawn = np.stack([_resampled(found, part, n_draws) for part in samples], axis=2)
    else:
        drawn = np.stack([found.score_draws(part) for part in samples], axis=2)
    if len(drawn) < FEW_DRAWS:
        away = (drawn - drawn.mean(axis=0)) / np.sqrt(len(drawn) - 1)
        noise = np.random.default_rng(3).standard_normal((n_draws, len(drawn)))
        drawn = np.clip(drawn.mean(axis=0) + np.tensordot(noise, away, axes=1), 0, 1)
    return drawn[np.linspace(0, len(drawn) - 1, min(n_draws, len(drawn))).astype(int)]


def _resampled(found: Diagnosis, samples: NDArray[np.intp], n_draws: int) -> Floats:
    """The Bayesian bootstrap (Rubin 1981) over samples or clusters, with Jeffreys' prior per learner.

    Above MOST_GROUPS samples a weight is shared by samples put together at random, which spreads as much.
    """
    n = len(found.learner_names)
    group = np.full(len(found.sample_names), -1)
    group[samples] = _groups(found, samples)
    cells = found.cells.take(group[found.cells.sample] >= 0)
    n_groups = int(group.max()) + 1
    at = group[cells.sample] * n + cells.learner
    right = np.bincount(at, cells.response, n_groups * n).reshape(n_groups, n)
    seen = np.bincount(at, minlength=n_groups * n).reshape(n_groups, n)
    shares = random_shares(n_draws, np.arange(n_groups))
    weight = shares @ seen
    mean = np.where(weight > 0, (shares @ right) / np.where(weight > 0, weight, 1), 0.5)
    count = seen.sum(axis=0)
    half = np.random.default_rng(5).standard_gamma(0.5, (2, *mean.shape))
    return np.asarray((mean * count + half[0]) / (count + half.sum(axis=0)))


def _groups(found: Diagnosis, samples: NDArray[np.intp]) -> NDArray[np.intp]:
    """The group of each sample that counts by one weight."""
    if found.clusters is not None:
        return np.unique(np.array(found.clusters, object)[samples].astype(str), return_inverse=True)[1]
    return np.random.default_rng(4).permutation(len(samples)) % MOST_GROUPS


def _strengths_section(of: Diagnosed) -> dict[str, Any] | None:
    """Responses on each skill less what one level for all makes of them, and both axes in clustered order."""
    found = of.profile
    if found is None:
        return None
    filled = np.nan_to_num(found.difference)
    return {
        "difference": Rounded(found.difference, 3),
        "expected": Rounded(found.expected, 3),
        "sure": surely_not_zero(found.difference, found.se, LEVEL).astype(np.uint8),
        "rows": clustered(filled).astype(np.uint32),
        "columns": clustered(filled.T).astype(np.uint32),
    }


def clustered(rows: Floats) -> NDArray[np.intp]:
    """Rows so that alike ones are neighbours: leaves of average-linkage clusters."""
    if len(rows) < 3:
        return np.arange(len(rows))
    from scipy.cluster.hierarchy import leaves_list, linkage

    return leaves_list(linkage(rows, "average", optimal_ordering=len(rows) <= MOST_OPTIMAL)).astype(np.intp)


class Attributes(NamedTuple):
    """What is known of learners beside their responses: numbers such as cost, and the family of each."""

    numbers: dict[str, dict[str, float]]  # column, learner → number
    family: dict[str, str]


def read_attributes(path: str | Path) -> Attributes:
    """One row per learner: a column "learner", columns of numbers, and "family" if there is one."""
    frame = read_frame(path)
    name = called(path)
    if "learner" not in frame.columns:
        raise DataError(f"{name}: no column 'learner'. {nearest('learner', frame.columns)}")
    learners = frame["learner"].cast(pl.String)
    if learners.null_count() or learners.is_duplicated().any():
        twice = learners.filter(learners.is_duplicated())
        what = f"{twice[0]!r} has several rows" if len(twice) else "a row has no learner"
        raise DataError(f"{name}: expected one row per learner, but {what}.")
    numbers = {
        column: _known(learners, frame[column].cast(pl.Float64))
        for column in frame.columns
        if column != "learner" and frame[column].dtype.is_numeric()
    }
    family = _known(learners, frame["family"].cast(pl.String)) if "family" in frame.columns else {}
    if not numbers and not family:
        raise DataError(
            f"{name}: no column of numbers beside 'learner'. Give cost, latency or size per learner as "
            "numbers, or the family of each in a column 'family'."
        )
    return Attributes(numbers, family)


def _known(learners: pl.Series, column: pl.Series) -> dict[str, Any]:
    known = column.is_not_null() & (column.is_finite() if column.dtype.is_numeric() else True)
    return dict(zip(learners.filter(known).to_list(), column.filter(known).to_list(), strict=True))


def attributes_section(found: Attributes | None, learners: list[str]) -> dict[str, Any]:
    """For learners in this order; NaN or an empty family where nothing is known."""
    if found is None:
        return {"numbers": [], "family": None}
    return {
        "numbers": [
            {"name": column, "value": np.array([known.get(name, np.nan) for name in learners], np.float32)}
            for column, known in found.numbers.items()
        ],
        "family": [found.family.get(name, "") for name in learners] if found.family else None,
    }


def check_names(found: Attributes, learners: list[str], path: str | Path) -> str | None:
    """A note where learners have no row; refused where none has."""
    named = set(found.family).union(*found.numbers.values())
    without = [name for name in learners if name not in named]
    if len(without) == len(learners):
        raise DataError(
            f"{called(path)}: none of its learners is in the diagnosis; it has {sorted(named)[0]!r}, the "
            f"diagnosis {learners[0]!r}. Names must be the same."
        )
    if not without:
        return None
    return f"{len(without)} of {len(learners)} learners have no row in {called(path)}; first {without[0]!r}."
