"""Which samples a benchmark's owner should look at first. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FLAGS = {
    "mislabelled": "probably mislabelled: able learners fail it, more than its difficulty explains",
    "reversed": "negative discrimination: the abler a learner, the less often it is right",
    "nobody": "nobody solved it",
    "everybody": "everybody solved it: it tells no learner from another",
}
ABLE = 0.25  # share of learners, by their responses elsewhere, that count as able


class Flagged(NamedTuple):
    """`flags[name]` marks samples; `suspicion` orders those that are marked."""

    flags: dict[str, NDArray[np.bool_]]
    suspicion: Floats  # [samples]


def flagged(responses: Floats, discrimination_high: Floats) -> Flagged:
    """From responses [learners, samples], NaN where missing, and the upper ends of discriminations.

    A sample is probably mislabelled when the ablest quarter of learners does worse on it than all the
    others do, or when no able learner solves it although able learners solve nearly all else (over .9).
    """
    seen = np.isfinite(responses)
    right = np.where(seen, responses, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = right.sum(axis=0) / seen.sum(axis=0)
        level = right.sum(axis=1) / seen.sum(axis=1)
    able = np.argsort(-np.nan_to_num(level), kind="stable")[: max(2, round(ABLE * len(level)))]
    rest = np.setdiff1d(np.arange(len(level)), able)
    with np.errstate(invalid="ignore", divide="ignore"):
        top = right[able].sum(axis=0) / seen[able].sum(axis=0)
        low = right[rest].sum(axis=0) / seen[rest].sum(axis=0)
    usual = float(np.mean(level[able]))
    suspicion = np.nan_to_num(usual - top) * (1 + np.clip(np.nan_to_num(low - top), 0, 1))
    worse = (top + 0.15 < low) & (top < usual / 2)
    hopeless = (top <= 0) & (usual > 0.9)
    flags = {
        "mislabelled": worse | hopeless,
        "reversed": discrimination_high < 0,
        "nobody": accuracy == 0,
        "everybody": accuracy == 1,
    }
    return Flagged(flags, suspicion)
