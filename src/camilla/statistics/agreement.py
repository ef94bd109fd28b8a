"""Does mastery agree with the responses? R², DOA and DOC, with the ceiling no mastery can exceed.

Arrays in, arrays out: responses [learners, samples] with NaN where missing, mastery [learners, skills] and a
skill mask [samples, skills].
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from camilla.arrays import Floats
from camilla.statistics.concordance import dense_ranks

Mask = NDArray[np.bool_]


def r_squared(responses: Floats, predicted: Floats) -> float:
    """1 − SSE/SST over observed cells, SST about the mean of all (Eq. 1 of the preprint)."""
    return _explained(responses, predicted, np.nanmean(responses))


def r_squared_within(responses: Floats, predicted: Floats) -> float:
    """1 − SSE/SST with SST about each sample's mean: 0 says nothing at all about learners."""
    seen = ~np.isnan(responses)
    count = seen.sum(axis=0)
    total = np.where(seen, responses, 0.0).sum(axis=0)
    return _explained(
        responses, predicted, np.divide(total, count, out=np.zeros(len(count)), where=count > 0)
    )


def _explained(responses: Floats, predicted: Floats, mean: Floats | np.floating) -> float:
    total = np.nansum((responses - mean) ** 2)
    return float(1 - np.nansum((responses - predicted) ** 2) / total) if total > 0 else float("nan")


class PairAgreement(NamedTuple):
    """What one pass over all samples and pairs of learners tells."""

    wins: Floats  # [skills, a, b]
    doc: Floats  # [samples], NaN where no pair counts


def pair_wins(responses: Floats, skill_mask: Mask, *, margin: ArrayLike | None = None) -> Floats:
    """W [skills, a, b]: of a skill's samples that tell a from b, the share where a did better.

    NaN where no sample tells them apart. W does not depend on any mastery: computed once, it serves every
    DOA, the ceiling and the Borda score. `margin` (one number, or one per sample) is how much better counts.
    """
    return pair_agreement(responses, None, skill_mask, margin=margin).wins


def pair_agreement(
    responses: Floats, mastery: Floats | None, skill_mask: Mask, *, margin: ArrayLike | None = None
) -> PairAgreement:
    """`pair_wins` and, given a mastery, the DOC of each sample, from one comparison of all pairs.

    DOC (Eq. 3): over pairs where a did better, the mean share of the sample's skills that a masters more. Of
    skills on which the two have equal mastery none counts; a pair equal on all of them is skipped.
    """
    comparison = _Comparison(responses, margin)
    n = len(responses)
    wins = np.zeros((skill_mask.shape[1], n, n), np.uint32)
    doc = np.full(responses.shape[1], np.nan)
    for needed, samples in _by_pattern(skill_mask):
        shares = None if mastery is None else _shares(mastery[:, needed])
        for start in range(0, len(samples), 255):
            part = np.zeros((n, n), np.uint8)  # bytes add quickly, up to 255 of them
            for sample in samples[start : start + 255]:
                better = comparison.better(sample)
                np.add(part, better.view(np.uint8), out=part)
                if shares is not None:
                    doc[sample] = shares.consistency(better)
            for skill in needed:
                wins[skill] += part
    with np.errstate(invalid="ignore"):  # 0/0 is NaN: nothing tells the two apart
        return PairAgreement(wins / (wins + wins.transpose(0, 2, 1)), doc)


def _by_pattern(skill_mask: Mask) -> list[tuple[NDArray[np.intp], list[int]]]:
    """(skills, the samples that need just these) for each set of skills that occurs."""
    samples: dict[bytes, list[int]] = {}
    for sample, row in enumerate(skill_mask):
        samples.setdefault(row.tobytes(), []).append(sample)
    patterns = [(np.flatnonzero(skill_mask[rows[0]]), rows) for rows in samples.values()]
    return [(needed, rows) for needed, rows in patterns if len(needed)]


class _Comparison:
    """Who did better on a sample, all pairs at once: dense ranks in as few bytes as hold them.

    A missing response ranks 0 on the better side and above all on the worse side, so it never counts.
    """

    def __init__(self, responses: Floats, margin: ArrayLike | None) -> None:
        n, n_samples = responses.shape
        self.out = np.empty((n, n), bool)
        self.responses = responses
        self.margin = None if margin is None else np.broadcast_to(np.asarray(margin, np.float64), n_samples)
        seen, ranks = ~np.isnan(responses), dense_ranks(responses) + 1
        kind = np.min_scalar_type(n + 1)
        self.above = np.asfortranarray(np.where(seen, ranks, 0), dtype=kind)
        self.below = np.asfortranarray(np.where(seen, ranks, n + 1), dtype=kind)

    def better(self, sample: int) -> Mask:
        """[a, b], True where a did better; the array is used again for the next sample."""
        if self.margin is None:
            return np.greater(self.above[:, sample, None], self.below[None, :, sample], out=self.out)
        apart = np.subtract.outer(self.responses[:, sample], self.responses[:, sample])
        return np.greater(apart, self.margin[sample], out=self.out)


class _Shares(NamedTuple):
    """Each share of a sample's skills with more mastery, and as bits the pairs that have it."""

    share: Floats  # [shares]
    pairs: NDArray[np.uint64]  # [shares, words]

    def consistency(self, better: Mask) -> float:
        """Σ share · pairs / Σ pairs among those where a did better."""
        count = np.bitwise_count(self.pairs & _bits(better)).sum(axis=1, dtype=np.int64)
        total = int(count.sum())
        return float(self.share @ count) / total if total else float("nan")


def _shares(mastery: Floats) -> _Shares:
    """The shares that can occur on a sample that needs all these skills."""
    n_skills = mastery.shape[1]
    ahead = np.zeros((len(mastery), len(mastery)), np.min_scalar_type(n_skills))
    for level in mastery.T:
        ahead += level[:, None] > level[None, :]
    told = ahead + ahead.T
    found: dict[float, NDArray[np.uint64]] = {}
    for down in range(1, n_skills + 1):
        for up in range(down + 1):
            bits = _bits((told == down) & (ahead == up))
            found[up / down] = found.get(up / down, np.uint64(0)) | bits
    return _Shares(np.array(list(found)), np.array(list(found.values())))


def _bits(pairs: Mask) -> NDArray[np.uint64]:
    """Pairs as bits, 64 to a number."""
    bits = np.zeros(-(-pairs.size // 64), np.uint64)
    bits.view(np.uint8)[: -(-pairs.size // 8)] = np.packbits(pairs)
    return bits


def doa(wins: Floats, mastery: Floats) -> Floats:
    """DOA of each skill: mean of W over ordered pairs with more mastery (Eq. 2); NaN without a pair."""
    out = np.full(len(wins), np.nan)
    for skill, won in enumerate(wins):
        level = mastery[:, skill]
        usable = (level[:, None] > level[None, :]) & ~np.isnan(won)
        if usable.any():
            out[skill] = won[usable].mean()
    return out


def ceiling(wins: Floats) -> Floats:
    """What no mastery that tells all learners apart can exceed, a skill: mean over pairs of max(W, 1 − W).

    Only a mastery with ties may lie above it, by keeping silent on the pairs that are hard to order.
    """
    return np.array([_mean(np.maximum(won, 1 - won)) for won in wins])


def borda(wins: Floats) -> Floats:
    """Mastery without a model [learners, skills]: the mean share of samples won against the others.

    A pair that nothing tells apart counts one half. On real pools it comes within about .01 of the ceiling.
    """
    shares = np.where(np.isnan(wins), 0.5, wins)
    n = wins.shape[1]
    return ((shares.sum(axis=2) - 0.5) / max(n - 1, 1)).T


def overall(values: Floats) -> float:
    """The mean over skills, or samples, that have a value."""
    return _mean(values)


def sample_weighted(values: Floats, skill_mask: Mask) -> float:
    """The mean over skills, each counting as many times as it has samples: Σ J·DOA / Σ J."""
    there = ~np.isnan(values)
    weight = skill_mask.sum(axis=0)[there]
    return float(np.average(values[there], weights=weight)) if weight.sum() else float("nan")


def adjusted(value: float, top: float) -> float:
    """DOA* = (DOA − ½)/(ceiling − ½): 0 is chance, 1 the most that any mastery can reach."""
    return (value - 0.5) / (top - 0.5) if top > 0.5 else float("nan")


def _mean(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else float("nan")
