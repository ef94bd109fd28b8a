"""How ways to choose a subset do on learners that had no part in the choice. Arrays only."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from camilla.arrays import Floats, rounded
from camilla.display import signed
from camilla.samples.designs import Indices, Moments, Weights, best_spread_out, greedy, spread_out, weights
from camilla.statistics.prediction import ErrorGain, Offer, error_gain

DRAWS = 10  # random and stratified subsets of a size and fold
PLAIN = ("random", "stratified", "random, weighted", "guess")  # compared with by every table
EQUAL = "equal weights"  # the source of a subset whose plain mean is the estimate

Known = dict[str, Moments]  # by the name of what they come from


class Candidate(NamedTuple):
    """Where the moments come from, and how a subset is drawn by them."""

    source: str
    design: str  # greedy or stratified

    @property
    def name(self) -> str:
        return self.design if self.source == EQUAL else f"{self.design} by {self.source}"


class SubsetErrors(NamedTuple):
    """Of one way and size on held-out learners, means over draws; NaN where a fold could not be judged."""

    absolute: Floats  # [repeats, tested learners], |estimate − full score|
    square: Floats  # the same, squared
    kendall: Floats  # [repeats, folds], with the full score within the fold


class Crossfit(NamedTuple):
    """Errors by (way, size), and the fold each tested learner was held out in: [repeats, tested learners]."""

    errors: dict[tuple[str, int], SubsetErrors]
    fold: NDArray[np.int64]


def chosen_by(
    candidate: Candidate, known: Known, task: NDArray[np.integer] | None, size: int, rng: np.random.Generator
) -> Indices:
    """The samples that a candidate keeps."""
    if candidate.source == EQUAL:
        return spread_out(next(iter(known.values())).mean, task, size, rng)
    moments = known[candidate.source]
    if candidate.design == "greedy":
        return greedy(moments, size)
    return best_spread_out(moments, task, size, rng)


def weighed(candidate: Candidate, known: Known, chosen: Indices) -> Weights:
    """The estimator of a candidate."""
    if candidate.source == EQUAL:
        return Weights(0.0, np.full(len(chosen), 1 / len(chosen)))
    return weights(known[candidate.source], chosen)


def linear(moments: Moments, chosen: Indices, responses: Floats) -> Floats:
    """Estimated full scores from responses [learners, samples] on the chosen samples."""
    by = weights(moments, chosen)
    return by.intercept + responses[:, chosen] @ by.weight


def crossfit(
    matrix: Floats, tested: NDArray[np.bool_], learn: Callable[[NDArray[np.int64]], Known],
    candidates: list[Candidate], *,
    sizes: list[int], task: NDArray[np.integer] | None, folds: int, repeats: int, seed: int,
) -> Crossfit:  # fmt: skip
    """Errors of every candidate and plain way at every size; `learn` gives the moments of some learners.

    In each repeat the learners are dealt into folds; a fold's complete (`tested`) learners are estimated by
    what was learned and chosen on the other folds.
    """
    which = np.flatnonzero(tested)
    truth = matrix[which].mean(axis=1)
    errors: dict[tuple[str, int], SubsetErrors] = {}
    fold = np.empty((repeats, len(which)), np.int64)
    for repeat in range(repeats):
        rng = np.random.default_rng([seed, repeat])
        dealt = rng.permutation(len(matrix)) % folds
        fold[repeat] = dealt[which]
        for number in np.unique(fold[repeat]):
            out = np.flatnonzero(fold[repeat] == number)
            known = learn(np.flatnonzero(dealt != number))
            for key, scores in _estimates(known, candidates, matrix[which[out]], sizes, task, rng):
                if key not in errors:
                    errors[key] = _unknown(fold.shape, folds)
                off = scores - truth[out]
                errors[key].absolute[repeat, out] = np.abs(off).mean(axis=0)
                errors[key].square[repeat, out] = (off**2).mean(axis=0)
                if len(out) > 2:
                    taus = [kendalltau(rounded(one), truth[out]).statistic for one in scores]
                    errors[key].kendall[repeat, number] = np.mean(taus)  # NaN of a guess, which ranks nobody
    return Crossfit(errors, fold)


def offer_of(found: Crossfit, candidates: list[Candidate], size: int) -> Offer:
    """What choosing `size` samples offers on held-out learners."""
    chosen = chosen_elsewhere(found, candidates, size).absolute
    repeats, learners = found.fold.shape
    learner = np.tile(np.arange(learners), repeats)
    fold = (found.fold + (found.fold.max() + 1) * np.arange(repeats)[:, None]).ravel()

    def over(way: str) -> ErrorGain:
        return error_gain((found.errors[way, size].absolute - chosen).ravel(), learner, fold)

    return Offer(over("guess"), over("random"), over("random, weighted"))


class Way(NamedTuple):
    """How sentences call a way to take samples, and what else it does than to choose them."""

    samples: str  # "100 of 1797 samples"
    number: int  # of samples
    choosing: str
    estimating: str
    with_it: str  # of random samples estimated alike
    without: str  # of their plain mean


def offer_in_words(offer: Offer, way: Way, mae: Mapping[str, float]) -> str:
    """The first sentence: what the samples are worth, or that choosing them did not help and what would do.

    `mae` has the error of "chosen" samples and of each way of the offer.
    """
    gain = {"guess": offer.over_guess, "random": offer.over_random, "random, weighted": offer.over_weighted}
    other = {name: f"{mae[name]:.3f} ({_with_ends(one)})" for name, one in gain.items()}
    estimate = f"estimate the mean score over all of them with an error of {mae['chosen']:.3f}"
    if offer.as_good is None:
        return (
            f"{way.samples[0].upper()}{way.samples[1:]} {estimate} (mean absolute error on held-out "
            f"learners); as many random samples with {other['random']}."
        )
    unsure = gain[offer.as_good].gain > 0
    failed = f"{way.choosing} did not {'clearly ' if unsure else ''}help here"
    if offer.as_good == "guess":
        return (
            f"{failed}: {way.samples} say nothing{' certain' if unsure else ''} about a learner. They "
            f"{estimate}; the mean of the other learners, without any response, has an error of "
            f"{other['guess']}."
        )
    if offer.as_good == "random":
        advice = "random ones may do as well" if unsure else f"take any {way.number} at random"
        return f"{failed}: {way.samples} {estimate}, as many random samples with {other['random']}; {advice}."
    return (
        f"{failed}, {way.estimating} did: {way.samples} {estimate}. As many random samples have an error of "
        f"{other['random, weighted']} {way.with_it}, and of {other['random']} {way.without}."
    )


def _with_ends(gain: ErrorGain) -> str:
    return f"difference {signed(gain.gain, 3)}, 95 % CI {signed(gain.low, 3)} to {signed(gain.high, 3)}"


def _unknown(shape: tuple[int, ...], folds: int) -> SubsetErrors:
    return SubsetErrors(np.full(shape, np.nan), np.full(shape, np.nan), np.full((shape[0], folds), np.nan))


def _estimates(
    known: Known, candidates: list[Candidate], responses: Floats, sizes: list[int],
    task: NDArray[np.integer] | None, rng: np.random.Generator,
) -> list[tuple[tuple[str, int], Floats]]:  # fmt: skip
    """((way, size), scores [draws, learners]) of one fold."""
    first = known[candidates[0].source]
    sequences = {c.source: greedy(known[c.source], max(sizes)) for c in candidates if c.design == "greedy"}
    found = []
    for size in sizes:
        drawn = [rng.permutation(responses.shape[1])[:size] for _ in range(DRAWS)]
        strata = [spread_out(first.mean, task, size, rng) for _ in range(DRAWS)]
        by_way = {
            "random": [responses[:, s].mean(axis=1) for s in drawn],
            "stratified": [responses[:, s].mean(axis=1) for s in strata],
            "random, weighted": [linear(first, s, responses) for s in drawn],
            "guess": [np.full(len(responses), first.mean.mean())],
        }
        for one in (one for one in candidates if one.source != EQUAL):
            chosen = (
                sequences[one.source][:size]
                if one.design == "greedy"
                else chosen_by(one, known, task, size, rng)
            )
            by_way[one.name] = [linear(known[one.source], chosen, responses)]
        found += [((name, size), np.array(scores)) for name, scores in by_way.items()]
    return found


def surest(absolute: list[Floats]) -> int:
    """Which way to take, by its absolute errors [repeats, learners]: the first, or one that is surely better.

    Sure is a mean difference of more than its standard error over learners; the best of these is taken. The
    smallest error of all, taken without that, was worse on new learners than any one way where they are few.
    """
    first, best, best_gain = absolute[0].mean(axis=0), 0, 0.0
    for k, errors in enumerate(absolute[1:], start=1):
        gain = first - errors.mean(axis=0)
        sure = max(best_gain, float(gain.std(ddof=1) / np.sqrt(len(gain))))
        if rounded(gain.mean()) > rounded(sure):
            best, best_gain = k, float(gain.mean())
    return best


def chosen_elsewhere(found: Crossfit, candidates: list[Candidate], size: int) -> SubsetErrors:
    """For every fold the errors of the candidate that all other learners would have taken."""
    ways = [found.errors[one.name, size] for one in candidates]
    out = _unknown(found.fold.shape, ways[0].kendall.shape[1])
    for repeat, fold in enumerate(found.fold):
        for number in np.unique(fold):
            own = fold == number
            best = ways[surest([errors.absolute[:, ~own] for errors in ways])]
            out.absolute[repeat, own] = best.absolute[repeat, own]
            out.square[repeat, own] = best.square[repeat, own]
            out.kendall[repeat, number] = best.kendall[repeat, number]
    return out
