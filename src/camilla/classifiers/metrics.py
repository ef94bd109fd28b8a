"""The 22 metrics of a score-based classifier, each normalised to [0, 1], for many classifiers at once."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from camilla.arrays import Floats
from camilla.errors import DataError, SettingError
from camilla.names import numbered, shown
from camilla.table.frames import indexed

ATTRIBUTES = {
    "C0": "only class 0: no mistakes on its samples",
    "C1": "only class 1: no mistakes on its samples",
    "BC": "both classes, whatever their balance",
    "S0": "class 0 is superior: its precision and recall",
    "S1": "class 1 is superior: its precision and recall",
    "EQ": "the classes are equivalent",
    "PR": "the prevalent class counts most",
}

METRIC_ATTRIBUTES = {
    "AUC": ("BC", "EQ"),
    "PRAUC0": ("S0",),
    "PRAUC1": ("S1",),
    "GCAUC0": ("S0",),
    "GCAUC1": ("S1",),
    "KS": ("EQ",),
    "KTAU": ("BC", "EQ"),
    "ACC": ("PR",),
    "PR0": ("S0",),
    "REC0": ("C0", "S0"),
    "PR1": ("S1",),
    "REC1": ("C1", "S1"),
    "BA": ("BC", "EQ"),
    "FS0": ("S0",),
    "FS1": ("S1",),
    "AVGFS": ("EQ",),
    "FM0": ("S0",),
    "FM1": ("S1",),
    "MKNS": ("EQ",),
    "MCC": ("EQ",),
    "JAC": ("PR",),
    "KAPPA": ("EQ",),
}

# Figure 2 is a picture; the text and the published parameter count of HierNCD leave only these edges.
ATTRIBUTE_EDGES = (
    ("C0", "BC"), ("C1", "BC"), ("C0", "S0"), ("C1", "S1"),
    ("S0", "EQ"), ("S1", "EQ"), ("S0", "PR"), ("S1", "PR"),
)  # fmt: skip


METRICS = (
    "AUC", "PRAUC0", "PRAUC1", "GCAUC0", "GCAUC1", "KS", "KTAU", "ACC", "PR0", "REC0", "PR1", "REC1", "BA",
    "FS0", "FS1", "AVGFS", "FM0", "FM1", "MKNS", "MCC", "JAC", "KAPPA",
)  # fmt: skip
RULES = ("interpolated", "discrete")
KS_SIDES = ("two_sided", "one_sided")
BLOCK = 1 << 20  # scores that are worked on at a time

Rule = Literal["interpolated", "discrete"]
KsSide = Literal["two_sided", "one_sided"]


def classifier_metrics(
    y: ArrayLike, scores: Any, *, rule: Rule = "interpolated", ks: KsSide = "two_sided"
) -> pl.DataFrame:
    """Computes 22 metrics of score-based binary classifiers, each normalised to [0, 1].

    Fifteen of the metrics need labels. They are taken at the equal-error threshold, where the recalls of both
    classes are equal.

    Parameters
    ----------
    y : array
        0 or 1 for each sample.
    scores : array, dataframe or mapping
        One column per classifier: a larger score means that class 1 is more likely.
    rule : {"interpolated", "discrete"}
        Whether the equal-error point is interpolated on the ROC line, or the nearest threshold is taken.
    ks : {"two_sided", "one_sided"}
        The Kolmogorov–Smirnov statistic. One-sided is max(0, max(TPR − FPR)); a reversed classifier then has
        0.

    Returns
    -------
    polars.DataFrame
        One row per classifier: learner, then the 22 metrics.

    Raises
    ------
    DataError
        Labels are not 0 and 1, only one class occurs, or a score is missing.

    Examples
    --------
    >>> scores = {"good": [0.1, 0.4, 0.35, 0.8], "reversed": [0.9, 0.6, 0.65, 0.2]}
    >>> camilla.classifier_metrics([0, 0, 1, 1], scores).select("learner", "AUC").rows()
    [('good', 0.75), ('reversed', 0.25)]
    """
    names, matrix = _named_scores(scores)
    values = metric_values(y, matrix, names=names, rule=rule, ks=ks)
    return pl.DataFrame({"learner": names}).hstack(pl.DataFrame(values, schema=list(METRICS)))


def metric_values(
    y: ArrayLike, scores: Floats, *, names: tuple[str, ...], rule: Rule = "interpolated",
    ks: KsSide = "two_sided",
) -> Floats:  # fmt: skip
    """[classifiers, 22] of scores [samples, classifiers]; bad labels and scores are refused by name."""
    if rule not in RULES or ks not in KS_SIDES:
        raise SettingError(
            f"rule is {' or '.join(RULES)} and ks {' or '.join(KS_SIDES)}; got {rule!r}, {ks!r}."
        )
    truth = checked_truth(y)
    _check_scores(truth, scores, names)
    step = max(1, BLOCK // len(truth))
    blocks = [
        _block_values(truth, scores[:, start : start + step], rule, ks)
        for start in range(0, scores.shape[1], step)
    ]
    return np.concatenate(blocks)


def checked_truth(y: ArrayLike) -> NDArray[np.int64]:
    """Labels as 0 and 1, both of which occur."""
    given = np.asarray(y)
    if given.ndim != 1:
        raise DataError(f"the truth has shape {given.shape}; expected one label per sample.")
    try:
        labels = given.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"the truth of a sample is 0 or 1; got {given[:1].tolist()}. Code the classes as 0 and 1."
        ) from None
    wrong = np.flatnonzero((labels != 0) & (labels != 1))
    if len(wrong):
        raise DataError(
            f"the truth of a sample is 0 or 1; sample {wrong[0]} has {labels[wrong[0]]:g}. "
            f"{len(wrong)} of {len(labels)} are wrong. Code the classes as 0 and 1."
        )
    if len(np.unique(labels)) < 2:
        only = f"the truth of all {len(labels)} samples is {labels[0]:g}" if len(labels) else "no samples"
        raise DataError(f"{only}; the metrics compare two classes and need both classes.")
    return labels.astype(np.int64)


def _named_scores(scores: Any) -> tuple[tuple[str, ...], Floats]:
    if isinstance(scores, Mapping):
        lengths = {name: len(column) for name, column in scores.items()}
        if len(set(lengths.values())) > 1:
            few, many = (pick(lengths, key=lengths.__getitem__) for pick in (min, max))
            raise DataError(
                f"scores differ in length: {shown(str(few))!r} has {lengths[few]}, {shown(str(many))!r} "
                f"{lengths[many]}. Each classifier needs one score per sample."
            )
        return tuple(map(str, scores)), np.column_stack([_floats(column) for column in scores.values()])
    if isinstance(scores, list | tuple | np.ndarray):
        matrix = _floats(scores)
        matrix = matrix[:, None] if matrix.ndim == 1 else matrix
        return numbered("classifier", matrix.shape[1]), matrix
    frame, index, _ = indexed(scores)
    frame = frame.drop(index)
    return tuple(frame.columns), _floats(frame.to_numpy())


def _floats(values: Any) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "scores must be numbers, equally many for each classifier; some are not numbers, or rows "
            "differ in length."
        ) from None


def _check_scores(truth: NDArray[np.int64], scores: Floats, names: tuple[str, ...]) -> None:
    if scores.ndim != 2 or scores.shape[0] != len(truth):
        raise DataError(
            f"scores have shape {scores.shape} for {len(truth)} samples; each classifier needs one score "
            "per sample."
        )
    finite = np.isfinite(scores)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise DataError(
            f"a score must be a finite number; {shown(names[column])!r} has {scores[row, column]} for "
            f"sample {row}. {np.sum(~finite)} scores are not finite. Leave out classifiers without a score."
        )


class _Curve(NamedTuple):
    """[classifiers, samples], scores descending: what is counted where a distinct score ends."""

    end: NDArray[np.bool_]
    tp: Floats  # of class 1, at or above this score
    fp: Floats
    tp_before: Floats  # above this score
    fp_before: Floats


def _curve(truth: NDArray[np.int64], scores: Floats) -> _Curve:
    rows = np.ascontiguousarray(scores.T)
    order = np.argsort(-rows, axis=1)
    ranked = np.take_along_axis(rows, order, axis=1)
    end = np.ones(ranked.shape, bool)
    np.not_equal(ranked[:, 1:], ranked[:, :-1], out=end[:, :-1])
    tp = np.cumsum(truth.astype(np.float64)[order], axis=1)
    fp = np.arange(1.0, len(truth) + 1) - tp
    return _Curve(end, tp, fp, _before(tp, end), _before(fp, end))


def _before(count: Floats, end: NDArray[np.bool_]) -> Floats:
    """The count at the last distinct score that ended before; counts never fall, so a maximum carries it."""
    at_ends = np.where(end, count, 0.0)
    out = np.zeros_like(count)
    np.maximum.accumulate(at_ends[:, :-1], axis=1, out=out[:, 1:])
    return out


def _block_values(truth: NDArray[np.int64], scores: Floats, rule: Rule, ks: KsSide) -> Floats:
    n = float(len(truth))
    ones = float(truth.sum())
    zeros = n - ones
    curve = _curve(truth, scores)
    ranked = _ranking_metrics(curve, ones, zeros, ks)
    tp, fp = _equal_error(curve, ones, zeros, rule)
    metrics = ranked | _label_metrics(tp, fp, ones, zeros)
    return np.column_stack([metrics[name] for name in METRICS])


def _ranking_metrics(curve: _Curve, ones: float, zeros: float, ks: KsSide) -> dict[str, Floats]:
    """AUC, average precision of both classes, gain areas, KS and τ-b (as (τ + 1)/2)."""
    end, tp, fp, tp_before, fp_before = curve
    n, share = ones + zeros, ones / (ones + zeros)
    new_ones, new_zeros = np.where(end, tp - tp_before, 0.0), np.where(end, fp - fp_before, 0.0)
    auc = np.sum(new_zeros * (tp + tp_before), axis=1) / (2 * ones * zeros)
    gap = np.where(end, tp * zeros - fp * ones, 0.0) / (ones * zeros)
    tied = new_ones + new_zeros
    pairs, score_ties = n * (n - 1) / 2, np.sum(tied * (tied - 1) / 2, axis=1)
    truth_ties = (ones * (ones - 1) + zeros * (zeros - 1)) / 2
    tau = _ratio((2 * auc - 1) * ones * zeros, np.sqrt((pairs - score_ties) * (pairs - truth_ties)))
    return {
        "AUC": auc,
        "PRAUC1": np.sum(new_ones * tp / (tp + fp), axis=1) / ones,
        "PRAUC0": np.sum(new_zeros * (zeros - fp_before) / (n - tp_before - fp_before), axis=1) / zeros,
        "GCAUC1": share / 2 + (1 - share) * auc,
        "GCAUC0": (1 - share) / 2 + share * auc,
        "KS": np.max(np.abs(gap) if ks == "two_sided" else np.maximum(gap, 0.0), axis=1),
        "KTAU": (tau + 1) / 2,
    }


def _equal_error(curve: _Curve, ones: float, zeros: float, rule: Rule) -> tuple[Floats, Floats]:
    """True and false positives where TPR = TNR.

    D = TP·N₀ − TN·N₁ rises with every distinct score from −N₁N₀ to N₁N₀, so the two thresholds around
    zero are all that count. Discrete: the smaller |D|, then the larger TPR + TNR, then the higher
    threshold; all three are whole numbers and compared exactly.
    """
    above = np.argmax(curve.end & (curve.tp * zeros - (zeros - curve.fp) * ones > 0), axis=1)[:, None]
    tp, fp, tp_before, fp_before = (np.take_along_axis(part, above, axis=1)[:, 0] for part in curve[1:])
    balance, balance_before = tp * zeros - (zeros - fp) * ones, tp_before * zeros - (zeros - fp_before) * ones
    if rule == "interpolated":
        step = -balance_before / (balance - balance_before)
        return tp_before + step * (tp - tp_before), fp_before + step * (fp - fp_before)
    worth, worth_before = tp * zeros - fp * ones, tp_before * zeros - fp_before * ones
    later = (balance < -balance_before) | ((balance == -balance_before) & (worth > worth_before))
    return np.where(later, tp, tp_before), np.where(later, fp, fp_before)


def _label_metrics(tp: Floats, fp: Floats, ones: float, zeros: float) -> dict[str, Floats]:
    """The fifteen metrics of a confusion matrix; 0/0 is 0, and what runs from −1 to 1 becomes (v + 1)/2."""
    n, fn, tn = ones + zeros, ones - tp, zeros - fp
    acc = (tp + tn) / n
    pr1, pr0, rec1, rec0 = _ratio(tp, tp + fp), _ratio(tn, tn + fn), tp / ones, tn / zeros
    fs1, fs0 = _ratio(2 * tp, 2 * tp + fp + fn), _ratio(2 * tn, 2 * tn + fp + fn)
    chance = ((tp + fp) * ones + (tn + fn) * zeros) / n**2
    mcc = _ratio(tp * tn - fp * fn, np.sqrt((tp + fp) * (tn + fn) * ones * zeros))
    return {
        "ACC": acc, "PR0": pr0, "REC0": rec0, "PR1": pr1, "REC1": rec1, "BA": (rec0 + rec1) / 2,
        "FS0": fs0, "FS1": fs1, "AVGFS": (fs0 + fs1) / 2,
        "FM0": np.sqrt(pr0 * rec0), "FM1": np.sqrt(pr1 * rec1), "MKNS": (pr0 + pr1) / 2,
        "MCC": (mcc + 1) / 2, "JAC": acc / (2 - acc), "KAPPA": (_ratio(acc - chance, 1 - chance) + 1) / 2,
    }  # fmt: skip


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below != 0)
