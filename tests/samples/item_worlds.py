"""Tables of a 2PL whose every true figure is known by formula."""

from typing import NamedTuple

import numpy as np

from camilla.arrays import Floats

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


class ItemWorld(NamedTuple):
    """Learners N(0, 1), discriminations log-normal around 1 by .3, difficulties N(0, 1)."""

    ability: Floats
    slope: Floats
    place: Floats
    responses: Floats  # [learners, samples]

    @property
    def discrimination(self) -> Floats:
        """A standard deviation of the learners there are."""
        return self.slope * self.ability.std()

    @property
    def difficulty(self) -> Floats:
        """In standard deviations of the learners there are, from their mean."""
        return (self.place - self.ability.mean()) / self.ability.std()

    def accuracy(self) -> Floats:
        """Over all learners there could be."""
        return WEIGHTS @ curve(NODES, self.slope, self.place)

    def item_rest(self) -> Floats:
        """The correlation over all learners there could be.

        With p the curves at quadrature nodes, cov(x, rest) = Cov(pⱼ, Σ others' p), and the rest's variance
        has that of the expectations and Σ E p(1 − p) of chance.
        """
        p = curve(NODES, self.slope, self.place)
        mean, chance = WEIGHTS @ p, WEIGHTS @ (p * (1 - p))
        rest = p.sum(axis=1, keepdims=True) - p
        off = rest - WEIGHTS @ rest
        variance = mean * (1 - mean) * (WEIGHTS @ off**2 + chance.sum() - chance)
        return (WEIGHTS @ ((p - mean) * off)) / np.sqrt(variance)


def curve(ability: Floats, slope: Floats, place: Floats) -> Floats:
    return 1 / (1 + np.exp(-slope * (ability[:, None] - place)))


def item_world(
    seed: int, n_learners: int = 60, n_samples: int = 150, *, dispersion: float = 1.0
) -> ItemWorld:
    """Right/wrong responses, or scores Beta(kp, k(1 − p)) with k = 1/dispersion − 1."""
    rng = np.random.default_rng(seed)
    ability, slope, place = (
        rng.normal(size=n_learners), rng.lognormal(0, 0.3, n_samples), rng.normal(size=n_samples),
    )  # fmt: skip
    p = curve(ability, slope, place)
    if dispersion == 1:
        return ItemWorld(ability, slope, place, (rng.random(p.shape) < p).astype(float))
    k = 1 / dispersion - 1
    return ItemWorld(ability, slope, place, rng.beta(k * p, k * (1 - p)))
