"""The papers' protocols: reliability, rank consistency, rank stability, assumptions; a table in parts."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from camilla import diagnosing
from camilla.arrays import Floats, log_loss, sigmoid
from camilla.diagnosing import Contender
from camilla.errors import DataError, SettingError
from camilla.experiments.contenders import fitted_contender, overall_ability
from camilla.fitting.layout import layout_of_table, size_of
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.prediction import accuracy, auc, macro_f1, mae, rmse
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable


def reliability(found: diagnosing.Found, test: ResponseTable) -> list[dict[str, Any]]:
    """Scores on cells that no fit saw; acc, f1 and auc of right/wrong responses only."""
    cells = test.cells()
    logits = found.logit(cells.learner, cells.sample)
    predicted = sigmoid(logits)
    scores = {
        "rmse": rmse(cells.response, predicted),
        "mae": mae(cells.response, predicted),
        "log_loss": log_loss(cells.response, logits),
    }
    if not found.fit.diagnoser.size.fractional:
        scores |= {
            "acc": accuracy(cells.response, predicted),
            "f1": macro_f1(cells.response, predicted),
            "auc": auc(cells.response, predicted),
        }
    return [{"score": name, "value": value} for name, value in scores.items()]


def rank_consistency(
    found: diagnosing.Found, train: ResponseTable, test: ResponseTable, ordered: ResponseTable
) -> list[dict[str, Any]]:
    """Kendall and Spearman of ability, fitted on the cells of `train`, with mean responses.

    Against "held out", the mean over the fifth that no fit saw, and "all", the mean over all cells, the
    fitted ones among them. `vanilla` is plain accuracy on the cells of `train`.
    """
    ability = overall_ability(found, layout_of_table(train))
    rows = []
    for comparison, part in (("held out", test), ("all", ordered)):
        rows += correlations(ability, part.learner_means().mean, comparison=comparison)
    return rows


def correlations(one: Floats, other: Floats, **where: Any) -> list[dict[str, Any]]:
    """Kendall's tau-b and tau-a and Spearman's rho over learners that both know.

    Tau-b forgives ties, of which accuracies have many and abilities few; in tau-a a tied pair is one in
    neither order.
    """
    from scipy.stats import kendalltau, spearmanr  # here, because it costs half a second to import

    known = np.isfinite(one) & np.isfinite(other)
    kendall = kendalltau(one[known], other[known]).statistic
    spearman = spearmanr(one[known], other[known]).statistic
    return [
        {"score": "kendall", "value": float(kendall), **where},
        {"score": "spearman", "value": float(spearman), **where},
        {
            "score": "tau_a",
            "value": float(kendall * np.sqrt(untied(one[known]) * untied(other[known]))),
            **where,
        },
    ]


def untied(values: Floats) -> float:
    """The share of pairs that differ."""
    n, alike = len(values), np.unique(values, return_counts=True)[1]
    return 1 - float((alike * (alike - 1)).sum()) / max(n * (n - 1), 1)


def sizes_for(n_samples: int) -> tuple[int, ...]:
    """Fortieths, twentieths, tenths, quarters and halves of the samples, ten samples at least."""
    return tuple(sorted({n_samples // part for part in (40, 20, 10, 4, 2) if n_samples // part >= 10}))


def check_sizes(sizes: Sequence[int], n_samples: int) -> Sequence[int]:
    """The sizes; refuses partitions that leave nothing to compare with."""
    if outside := [size for size in sizes if not 2 <= size < n_samples]:
        raise SettingError(
            f"a partition of {outside[0]} samples cannot be taken from {n_samples}; sizes run from 2 to "
            f"{n_samples - 1}."
        )
    return sizes


def rank_stability(
    ordered: ResponseTable, one: Contender, seed: int, *, size: int
) -> tuple[list[dict[str, Any]], diagnosing.Found]:
    """Kendall and Spearman of abilities fitted on disjoint samples.

    "n v rest": n random samples against all others. "n v n": against n of the others, where there are
    as many. Figure 8B of the Camilla paper is n v rest, n counted a class.
    """
    drawn = np.random.default_rng([seed, size]).permutation(ordered.n_samples)
    part, rest = drawn[:size], drawn[size:]
    ability, found = _ability(ordered, part, one, seed=seed)
    others, _ = _ability(ordered, rest, one, seed=seed)
    rows = correlations(ability, others, comparison="n v rest")
    if len(rest) >= size:
        if len(rest) > size:
            others, _ = _ability(ordered, rest[:size], one, seed=seed)
        rows += correlations(ability, others, comparison="n v n")
    return rows, found


def _ability(
    ordered: ResponseTable, samples: NDArray[np.integer], one: Contender, *, seed: int
) -> tuple[Floats, diagnosing.Found]:
    """Abilities on these samples alone; a learner without a response to them has none."""
    table = ordered.take_samples(np.sort(samples)).in_fitting_order()
    layout = layout_of_table(table)
    found = fitted_contender(one, size_of(table), layout, seed=seed, valid=None)
    answered = np.bincount(table.learner, minlength=table.n_learners) > 0
    return np.where(answered, overall_ability(found, layout), np.nan), found


SIMILAR_LEARNERS = 500  # beyond, pairs are of this many learners drawn at random


def assumptions(table: ResponseTable, *, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of accuracy by learner and skill, and of agreement and Jaccard similarity by pair of learners.

    agreement = 1 − mean |x − y| over samples both answered, for right/wrong responses the share on which both
    are right or both wrong, which the Camilla paper calls Jaccard; jaccard = Σ min(x, y) / Σ max(x, y), for
    right/wrong responses the share right in both among those right in either.
    """
    matrix = table.matrix()
    return [*_gaps_by_skill(table, matrix), *_by_pair(table, matrix, np.random.default_rng(seed))]


def _gaps_by_skill(table: ResponseTable, matrix: Floats) -> list[dict[str, Any]]:
    if table.skill_map is None:
        return []
    rows = []
    for skill, needed in zip(table.skill_map.skills, table.skill_map.mask.T, strict=True):
        part = matrix[:, needed]
        count = (~np.isnan(part)).sum(axis=1)
        total = np.nansum(part, axis=1)
        rows += [
            {"learner": learner, "skill": skill, "score": "accuracy", "value": float(t / n)}
            for learner, t, n in zip(table.learners, total, count, strict=True)
            if n
        ]
    return rows


def _by_pair(table: ResponseTable, matrix: Floats, rng: np.random.Generator) -> list[dict[str, Any]]:
    some = np.arange(table.n_learners)
    if table.n_learners > SIMILAR_LEARNERS:
        some = np.sort(rng.permutation(table.n_learners)[:SIMILAR_LEARNERS])
    rows: list[dict[str, Any]] = []
    for place, i in enumerate(some[:-1]):
        others = some[place + 1 :]
        both = ~np.isnan(matrix[i]) & ~np.isnan(matrix[others])
        x, y = np.where(both, matrix[i], 0), np.where(both, matrix[others], 0)
        n, low, high = both.sum(axis=1), np.minimum(x, y).sum(axis=1), np.maximum(x, y).sum(axis=1)
        for j, count, least, most in zip(others, n, low, high, strict=True):
            pair = {"learner": table.learners[i], "other": table.learners[j]}
            if count:
                rows.append(pair | {"score": "agreement", "value": float(1 - (most - least) / count)})
            if most > 0:
                rows.append(pair | {"score": "jaccard", "value": float(least / most)})
    return rows


By = Literal["cell", "sample", "learner"]


def split(
    table: TableLike, *, rows: WideRows | None = None,
    by: By = "cell", proportions: Sequence[float] = (6, 2, 2), seed: int = 0,
) -> tuple[ResponseTable, ...]:  # fmt: skip
    """Splits a table at random into parts.

    With "cell" every part keeps all learners and samples. With "sample" or "learner" each part has its own
    samples or learners, and all their responses. Trials of a cell stay together. The parts depend on names
    and seed, not on the order of rows, learners or samples.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    by : {"cell", "sample", "learner"}
        What is drawn.
    proportions : list of float
        Sizes of the parts, relative to each other.
    seed : int
        Seed of the draw.

    Returns
    -------
    tuple of ResponseTable
        One table per proportion.

    Examples
    --------
    >>> train, valid, test = camilla.split(camilla.simulate(30, 200, seed=1).table)
    >>> train.n_responses, valid.n_responses, test.n_responses
    (3600, 1200, 1200)
    """
    table = as_table(table, rows=rows)
    if by == "cell":
        part = split_rows(table, proportions=proportions, seed=seed)
        return tuple(table.keep(part == p) for p in range(len(proportions)))
    if by not in get_args(By):
        raise SettingError(f"by must be 'cell', 'sample' or 'learner', not {by!r}.")
    names = table.samples if by == "sample" else table.learners
    order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
    part = np.empty(len(names), np.int32)
    part[order] = _deal(len(names), proportions, seed, by)
    take = table.take_samples if by == "sample" else table.take_learners
    return tuple(take(np.flatnonzero(part == p)) for p in range(len(proportions)))


def split_rows(
    table: ResponseTable, *, proportions: Sequence[float] = (6, 2, 2), seed: int = 0
) -> NDArray[np.int32]:
    """The part, 0, 1, …, that each row of the table falls into when its cells are split."""
    _, learner_order, sample_order = table.canonical()
    learner = np.argsort(learner_order)[table.learner]
    sample = np.argsort(sample_order)[table.sample]
    _, cell = np.unique(sample * max(table.n_learners, 1) + learner, return_inverse=True)
    n_cells = int(cell.max()) + 1 if len(cell) else 0
    return _deal(n_cells, proportions, seed, "cell")[cell]


def _deal(count: int, proportions: Sequence[float], seed: int, kind: str) -> NDArray[np.int32]:
    """The part of each of `count` things; sizes are within one of exact."""
    shares = np.asarray(proportions, np.float64)
    if len(shares) < 2 or not np.all(np.isfinite(shares) & (shares > 0)):
        raise SettingError(
            f"proportions must be two or more positive numbers, such as (6, 2, 2), not {proportions}."
        )
    ends = np.rint(np.cumsum(shares) / shares.sum() * count).astype(np.int64)
    sizes = np.diff(ends, prepend=0)
    if (sizes == 0).any():
        raise DataError(
            f"{count} {kind}s cannot be split as {':'.join(f'{share:g}' for share in shares)}: "
            f"part {int(np.argmin(sizes))} would be empty. Give more {kind}s or fewer parts."
        )
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes), dtype=np.int32), sizes))
