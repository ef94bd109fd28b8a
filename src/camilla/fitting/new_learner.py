"""The posterior of a new learner's expected responses, with the samples integrated over theirs.

Under a frame, one draw of the pool, each sample's factors are normal given the pool, so that the logit of
a sample is N(m·t, |R't|²) for a learner with t = (1, θ). Factors need not be drawn: θ is drawn from a normal
at its mode and weighted by its exact posterior (importance resampling), then each sample's logit is drawn
given θ and the response. Responses thus also say something of the samples they are to. What a learner makes
of each skill of a map is drawn with θ: further numbers of t, whose factors are known.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from camilla.arrays import Floats, sigmoid

MOST_STEPS, SETTLED, LONGEST = 12, 0.02, 3.0  # of Newton's method; steps are in prior standard deviations
FEWEST, MOST = 2, 20  # abilities drawn for each one that is kept: as many as so many logits allow
LOGITS = 60_000
LEAST = 1e-8  # variance of a logit
NUMBERS = 2_000_000  # in memory at once, of the products for the logits' variances


class Frame(NamedTuple):
    """Factors of every sample under one draw of the pool: N(mean, root root'), those of skills known."""

    mean: Floats  # [samples, 1 + dims + skills]; a learner's number for each skill is N(0, 1), too
    root: Floats  # [1 + dims, samples × (1 + dims)], roots side by side

    def of(self, samples: Floats) -> "Frame":
        """Some of the samples."""
        width = len(self.root)
        root = self.root.reshape(width, -1, width)[:, samples]
        return Frame(self.mean[samples], root.reshape(width, -1))

    def along(self, t: Floats) -> Floats:
        """root' t of each sample: [samples, 1 + dims]."""
        width = len(self.root)
        return np.asarray((t[:width] @ self.root).reshape(-1, width))

    def variance(self, t: Floats) -> Floats:
        """Of the logits under each row of t: [rows, samples]."""
        n, width = len(t), len(self.root)
        t = np.ascontiguousarray(t[:, :width])
        out, step = np.empty((n, len(self.mean)), np.float32), max(1, NUMBERS // (n * width))
        for start in range(0, len(self.mean), step):
            part = (t @ self.root[:, start * width : (start + step) * width]).reshape(n, -1, width)
            out[:, start : start + step] = np.einsum("njk,njk->nj", part, part)
        return out + np.float32(LEAST)


class Answers(NamedTuple):
    """The log-likelihood of a sample's logit l is right · l − trials · log(1 + eˡ)."""

    trials: Floats  # [answered samples]
    right: Floats


class Mode(NamedTuple):
    """The likeliest ability. pull · l − precision · l²/2 stands for the log-likelihood of each logit l."""

    ability: Floats
    root: Floats  # of the information: Cholesky's, lower
    pull: Floats
    precision: Floats


def frames_of(
    mean: Floats, packed: Floats, skills: Floats | None = None, scale: Floats | None = None
) -> Iterator[Frame]:
    """Frames whose roots are kept as upper triangles: [frames, samples, (1 + dims)(2 + dims)/2].

    `skills` [samples, skills] are shares of the skills that samples need, and `scale` [frames] the standard
    deviations of what learners make of a skill.
    """
    _, n, width = mean.shape
    root = np.zeros((width, n, width), np.float32)
    for frame, triangles in enumerate(packed):
        start = 0
        for row in range(width):
            root[row, :, row:] = triangles[:, start : start + width - row]
            start += width - row
        factor = mean[frame]
        if skills is not None and scale is not None:
            factor = np.hstack([factor, scale[frame] * skills])
        yield Frame(factor.astype(np.float32, copy=False), root.reshape(width, -1))


def placed_chances(
    rng: np.random.Generator, frames: Iterator[Frame], weight: Floats, response: Floats,
    *, dispersion: float, n_draws: int,
) -> Iterator[Floats]:  # fmt: skip
    """Draws of a new learner's expected responses, [draws, samples] for each frame."""
    seen, others = np.flatnonzero(weight > 0), np.flatnonzero(weight <= 0)
    trials = (weight[seen] / dispersion).astype(np.float32)
    answers = Answers(trials, (trials * response[seen]).astype(np.float32))
    for frame in frames:
        inside = frame.of(seen) if len(others) else frame
        mode = _mode(inside, answers)
        t = _abilities(rng, inside, answers, mode, n_draws)
        logit = np.empty((n_draws, len(weight)), np.float32)
        logit[:, seen] = _answered(rng, inside, answers, mode, t)
        if len(others):
            rest = frame.of(others)
            noise = rng.standard_normal((n_draws, len(others)), dtype=np.float32)
            logit[:, others] = t @ rest.mean.T + np.sqrt(rest.variance(t)) * noise
        yield 0.5 + 0.5 * np.tanh(0.5 * logit)


def _mode(frame: Frame, answers: Answers) -> Mode:
    """Newton's method; each sample's logit is integrated out by Laplace's method of second order."""
    width, n_drawn = frame.mean.shape[1], len(frame.root)
    loading = frame.mean[:, 1:]
    t = np.zeros(width, np.float32)
    t[0] = 1
    logit = frame.mean[:, 0].copy()
    for _ in range(MOST_STEPS):
        along = frame.along(t)
        middle, variance = frame.mean @ t, np.einsum("jk,jk->j", along, along) + np.float32(LEAST)
        logit = _likeliest(logit, middle, variance, answers)
        p = sigmoid(logit)
        slope, curve = answers.right - answers.trials * p, answers.trials * p * (1 - p)
        left = 1 / (1 + variance * curve)  # of the variance, once the response is known
        by_mean = slope - 0.5 * variance * left**2 * curve * (1 - 2 * p)
        by_variance = by_mean**2 - curve * left
        gradient = loading.T @ by_mean - t[1:]
        gradient[: n_drawn - 1] += (frame.root @ (by_variance[:, None] * along).ravel())[1:]
        information = ((loading * (curve * left)[:, None]).T @ loading).astype(np.float64)
        information += np.eye(width - 1)
        step = np.linalg.solve(information, gradient)
        longest = float(np.abs(step).max())
        t[1:] += step * min(1.0, LONGEST / max(longest, LONGEST))
        if longest < SETTLED:
            break
    root = np.linalg.cholesky(information)
    return Mode(t[1:].astype(np.float64), root, curve * logit + slope, curve)


def _likeliest(logit: Floats, middle: Floats, variance: Floats, answers: Answers) -> Floats:
    """The mode of each sample's logit, from an earlier one."""
    for _ in range(3):
        p = sigmoid(logit)
        slope = middle - logit + variance * (answers.right - answers.trials * p)
        logit = logit + np.clip(slope / (1 + variance * answers.trials * p * (1 - p)), -4, 4)
    return np.asarray(logit)


def _abilities(rng: np.random.Generator, frame: Frame, answers: Answers, mode: Mode, n_draws: int) -> Floats:
    """Draws of t = (1, θ): more are drawn from the normal, and kept as often as the posterior says."""
    n = n_draws * int(np.clip(LOGITS // (n_draws * len(answers.trials)), FEWEST, MOST))
    noise = rng.standard_normal((n, len(mode.ability)))
    t = np.ones((n, frame.mean.shape[1]), np.float32)
    t[:, 1:] = mode.ability + np.linalg.solve(mode.root.T, noise.T).T
    weight = _log_evidence(t @ frame.mean.T, frame.variance(t), answers, mode)
    weight += 0.5 * (noise**2).sum(axis=1) - 0.5 * (t[:, 1:].astype(np.float64) ** 2).sum(axis=1)
    share = np.cumsum(np.exp(weight - weight.max()))
    places = (np.arange(n_draws) + rng.random()) / n_draws * share[-1]
    return np.asarray(t[np.minimum(np.searchsorted(share, places), n - 1)])


def _log_evidence(middle: Floats, variance: Floats, answers: Answers, mode: Mode) -> Floats:
    """log ∏ⱼ ∫ N(l; middle, variance) likelihood dl of each row, by three nodes about each mode."""
    left = 1 / (1 + variance * mode.precision)
    exact = left * (mode.pull * middle - 0.5 * mode.precision * middle**2 + 0.5 * variance * mode.pull**2)
    exact += 0.5 * np.log(left)
    center, away = left * (middle + variance * mode.pull), np.sqrt(3 * variance * left)
    rest = _rest(center, answers, mode)
    sides = sum(np.exp(_rest(center + sign * away, answers, mode) - rest) for sign in (-1, 1))
    exact += rest + np.log(np.float32(2 / 3) + np.float32(1 / 6) * sides)
    return np.asarray(exact.sum(axis=1, dtype=np.float64))


def _rest(logit: Floats, answers: Answers, mode: Mode) -> Floats:
    """The log-likelihood less the normal in its place."""
    softplus = np.maximum(logit, 0) + np.log1p(np.exp(-np.abs(logit)))
    normal = logit * (mode.pull - 0.5 * mode.precision * logit)
    return np.asarray(answers.right * logit - answers.trials * softplus - normal)


def _answered(rng: np.random.Generator, frame: Frame, answers: Answers, mode: Mode, t: Floats) -> Floats:
    """Draws of the answered samples' logits given θ: the normal's, accepted by Metropolis and Hastings."""
    middle, variance = t @ frame.mean.T, frame.variance(t)
    left = 1 / (1 + variance * mode.precision)
    center, sd = left * (middle + variance * mode.pull), np.sqrt(variance * left)
    logit = center + sd * rng.standard_normal(center.shape, dtype=np.float32)
    rest = _rest(logit, answers, mode)
    other = center + sd * rng.standard_normal(center.shape, dtype=np.float32)
    better = rng.random(center.shape, dtype=np.float32) < np.exp(_rest(other, answers, mode) - rest)
    return np.where(better, other, logit)
