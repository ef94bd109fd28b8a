"""Which samples a benchmark's owner should look at first. Arrays only."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.samples.wrong_keys import wrong_keys
from camilla.statistics.items import item_rest

FLAGS = {
    "mislabelled": "probably mislabelled: it is solved as if its key were wrong, by those who know least",
    "reversed": "negative discrimination or correlation with the rest: the able fail it, others do not",
    "nobody": "nobody solved it",
    "everybody": "everybody solved it: it tells no learner from another",
}
FEWEST = 5  # learners
DOUBTFUL = 0.2  # item–rest correlation above which no key is wrong
RATE = 0.05  # of false flags among the samples called mislabelled


class Flagged(NamedTuple):
    """`flags[name]` marks samples; `suspicion` is the probability that a sample's key is wrong."""

    flags: dict[str, NDArray[np.bool_]]
    suspicion: Floats  # [samples]


def flagged(responses: Floats, ability: Floats, discrimination_high: Floats) -> Flagged:
    """From responses [learners, samples], NaN where missing, abilities, upper ends of discriminations.

    Wrong keys are judged as by `camilla items`, where a sample does not go along with the rest
    (`samples/wrong_keys.py`); discrimination is negative where its interval, or that of the correlation
    with the rest, lies below 0.
    """
    seen = np.isfinite(responses)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = np.where(seen, responses, 0).sum(axis=0) / seen.sum(axis=0)
    n_samples = responses.shape[1]
    mislabelled, suspicion, below = np.zeros(n_samples, bool), np.zeros(n_samples), np.zeros(n_samples, bool)
    spread = ability.std()
    if len(responses) >= FEWEST and spread > 0:
        rest = item_rest(responses)
        below = rest.high < 0
        doubtful = ~(rest.r >= DOUBTFUL) & (accuracy < 1)
        keys = wrong_keys(responses, (ability - ability.mean()) / spread, rate=RATE, among=doubtful)
        mislabelled, suspicion = keys.flagged, keys.probability
    flags = {
        "mislabelled": mislabelled,
        "reversed": (discrimination_high < 0) | below,
        "nobody": accuracy == 0,
        "everybody": accuracy == 1,
    }
    return Flagged(flags, suspicion)
