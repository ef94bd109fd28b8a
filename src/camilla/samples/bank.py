"""Calibrated samples, and where a learner stands after some answers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, one_blas_thread, rounded
from camilla.errors import SettingError
from camilla.fitting import bilinear
from camilla.fitting.layout import layout_of_table, size_of
from camilla.models.mirt import MIRT
from camilla.table.responses import ResponseTable, check_diagnosable

LEAN, RICH = 3.0, 40.0  # precision of the loadings with one dimension, with several
MOST_DIMENSIONS = 15
STARTS = 2  # of several dimensions: their posterior has many modes, and two averaged are better than one
FEWEST_PEERS = 10  # with 4 in a simulated 2PL errors were a sixth larger than without, from 6 on no larger
MOST_PEERS = 200  # evenly spaced by score: each is placed anew for every score
PLACING_STEPS = 100  # of L-BFGS: averaged predictions have settled, the loss has not


Trials = Floats | float  # of each response, or of all


class BankModel(NamedTuple):
    """p = σ(aⱼ·θ + cⱼ) of every sample, and the pool θ ~ N(mean, covariance) that learners come from."""

    loading: Floats  # [samples, dims]
    intercept: Floats  # [samples]
    mean: Floats  # [dims]
    covariance: Floats  # [dims, dims]
    ability: Floats  # [learners, dims], of the learners it was calibrated on
    dispersion: float = 1.0  # of the response of one trial: its variance over p(1 − p)
    shared: float = 1.0  # the part of it that all trials of a learner on a sample have in common

    def probabilities(self) -> Floats:
        """Expected responses of the learners it was calibrated on: [learners, samples]."""
        return _sigmoid(self.ability @ self.loading.T + self.intercept)

    def spread(self, trials: Trials) -> Floats:
        """The variance of a mean of trials over p(1 − p): φ(ρ + (1 − ρ)/n)."""
        return self.dispersion * (self.shared + (1 - self.shared) / np.asarray(trials, np.float64))


class Peers(NamedTuple):
    """Calibrating learners that answered every sample."""

    learner: NDArray[np.integer]  # [peers], rows of the models' abilities
    response: Floats  # [peers, samples]
    trials: Trials = 1.0  # [peers, samples]


class Bank(NamedTuple):
    """The samples under models that are averaged, and how far learners are from what the models expect."""

    samples: tuple[str, ...]
    models: tuple[BankModel, ...]
    peers: Peers | None = None
    misfit: float = 0.0  # sd over new learners of their mean response around the models', chance apart


def calibrate(table: ResponseTable, *, dimensions: int | None = None, seed: int = 0) -> Bank:
    """One dimension, and twice 15 (or what learners allow) that lean on one; the misfit is not looked for."""
    check_diagnosable(table)
    dimensions = min(MOST_DIMENSIONS, table.n_learners - 1) if dimensions is None else dimensions
    if not 1 <= dimensions < table.n_learners:
        raise SettingError(
            f"{dimensions} dimensions from {table.n_learners} learners; expected at least 1 and fewer than "
            "the learners."
        )
    models = [fitted_model(table, dimensions=1, precision=LEAN, seed=seed)]
    if dimensions > 1:
        starts = range(seed, seed + STARTS)
        models += [fitted_model(table, dimensions=dimensions, precision=RICH, seed=start) for start in starts]
    return Bank(table.samples, tuple(models), _peers(table))


def _peers(table: ResponseTable) -> Peers | None:
    matrix = table.matrix()
    whole = np.flatnonzero(~np.isnan(matrix).any(axis=1))
    if len(whole) < FEWEST_PEERS:
        return None
    by_score = whole[np.argsort(matrix[whole].mean(axis=1), kind="stable")]
    chosen = by_score[np.unique(np.linspace(0, len(whole) - 1, MOST_PEERS).astype(np.intp))]
    trials = trials_of(table)
    return Peers(chosen, matrix[chosen], trials if isinstance(trials, float) else trials[chosen])


def trials_of(table: ResponseTable) -> Trials:
    """How many responses each cell is the mean of, [learners, samples], 1 where there is none; 1 of all."""
    if table.trial is None:
        return 1.0
    cell = table.learner.astype(np.int64) * table.n_samples + table.sample
    count = np.bincount(cell, minlength=table.n_learners * table.n_samples)
    return np.maximum(count, 1).reshape(table.n_learners, table.n_samples).astype(np.float64)


def of_asked(trials: Trials, asked: NDArray[np.integer]) -> Trials:
    """Those of the responses to the samples asked: [learners, responses]; one row serves all learners."""
    if isinstance(trials, float):
        return trials
    return np.take_along_axis(trials, np.broadcast_to(asked, (len(trials), asked.shape[1])), axis=1)


def fitted_model(
    table: ResponseTable, *, dimensions: int, precision: float, seed: int, steps: int = PLACING_STEPS
) -> BankModel:
    """Multidimensional IRT near its posterior mode: a ~ N(1 on the first dimension, else 0; 1/precision).

    Stopped after `steps`, and not asked whether it converged. Averaged over a bank's models, expectations of
    fits that ran to their end (up to 201 steps) differed by .001 to .004, and scores of tested learners by
    .27 standard errors at most (means on the digits and two simulated tables); the misfit is seen on fits
    stopped alike.
    """
    diagnoser = MIRT(size_of(table), dimensions=dimensions, precision=precision)
    with one_blas_thread():
        found = bilinear.solve(
            diagnoser, layout_of_table(table), np.random.default_rng(seed), lambda line: None, max_steps=steps
        ).params
    covariance = np.atleast_2d(np.cov(found.ability.T)) + 1e-3 * np.eye(dimensions)
    model = BankModel(found.loading, found.intercept, found.ability.mean(axis=0), covariance, found.ability)
    if table.is_binary and table.trial is None:
        return model
    return _with_dispersion(model, table)


def _with_dispersion(model: BankModel, table: ResponseTable) -> BankModel:
    """Σ(x − p)² over the observed cells, as a share of Σp(1 − p).

    Of n trials that are right or wrong it is ρ + (1 − ρ)/n, with ρ how far trials of a cell go together. Of
    fractional responses nothing says what one trial would have been: all of it is shared.
    """
    cells = table.cells()
    p = model.probabilities()[cells.learner, cells.sample]
    chance = p * (1 - p)
    squares = np.sum((cells.response - p) ** 2)
    trials = trials_of(table)
    if isinstance(trials, float) or not table.is_binary:
        return model._replace(dispersion=float(squares / np.sum(chance)))
    least = np.sum(chance / trials[cells.learner, cells.sample])
    return model._replace(shared=float(np.clip((squares - least) / (np.sum(chance) - least), 0, 1)))


def _sigmoid(x: Floats) -> Floats:
    """1 / (1 + e⁻ˣ)."""
    return 0.5 * (np.tanh(0.5 * x) + 1)


class Posterior(NamedTuple):
    """N(at, covariance) of each learner: mode and inverse information, prior included."""

    at: Floats  # [learners, dims]
    covariance: Floats  # [learners, dims, dims]


class Score(NamedTuple):
    """The expected mean response over all samples, and its standard error."""

    score: Floats  # [learners]
    se: Floats


def prior(model: BankModel, n_learners: int) -> Posterior:
    """Before any response: the pool."""
    return Posterior(np.tile(model.mean, (n_learners, 1)), np.tile(model.covariance, (n_learners, 1, 1)))


def placed(
    model: BankModel, start: Floats, asked: NDArray[np.integer], response: Floats, *,
    trials: Trials = 1.0, most_steps: int = 30,
) -> Posterior:  # fmt: skip
    """Damped Newton from `start` with samples frozen; asked, response, trials: [learners, responses].

    One row of `asked` serves all learners. Fractional responses and means of several trials count by 1 over
    their spread, as their smaller variance deserves.
    """
    loading, offset = model.loading[asked], model.intercept[asked]
    precision = np.linalg.inv(model.covariance)
    weight = 1 / model.spread(trials)

    def objective(at: Floats) -> Floats:
        logit = np.matmul(loading, at[..., None])[..., 0] + offset
        off = at - model.mean
        loss = (weight * (np.logaddexp(0, logit) - response * logit)).sum(axis=1)
        return loss + 0.5 * np.einsum("lk,kj,lj->l", off, precision, off)

    def information(at: Floats) -> tuple[Floats, Floats]:
        p = _sigmoid(np.matmul(loading, at[..., None])[..., 0] + offset)
        curve = np.matmul((loading * (weight * p * (1 - p))[..., None]).transpose(0, 2, 1), loading)
        return p, curve + precision

    at, value = start, objective(start)
    for _ in range(most_steps):
        p, curve = information(at)
        slope = np.einsum("lnk,ln->lk", loading, weight * (response - p)) - (at - model.mean) @ precision
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        for _ in range(30):
            trial = objective(at + step)
            worse = trial > value + 1e-10 * (1 + np.abs(value))
            if not worse.any():
                break
            step = np.where(worse[:, None], step / 2, step)
        at, value = at + step, trial
        if np.abs(step).max(initial=0) < 1e-7:
            break
    return Posterior(at, np.asarray(np.linalg.inv(information(at)[1]), np.float64))


def expected(model: BankModel, posterior: Posterior) -> tuple[Floats, Floats]:
    """(mean response on every sample, variance of its logit), each [learners, samples].

    ∫σ(x) N(x; m, v) dx ≈ σ(m / √(1 + πv/8)) (MacKay 1992).
    """
    spread = np.matmul(model.loading, posterior.covariance)  # [learners, samples, dims]
    variance = np.einsum("lmk,mk->lm", spread, model.loading)
    logit = posterior.at @ model.loading.T + model.intercept
    return _sigmoid(logit / np.sqrt(1 + np.pi * variance / 8)), variance


def gain(model: BankModel, posterior: Posterior, unseen: NDArray[np.bool_], trials: Trials = 1.0) -> Floats:
    """By how much each unseen sample's response is expected to narrow the score's variance; −1 elsewhere.

    With f the slope of the mean response by ability, a sample of variance w = p(1 − p) has covariance
    w(a·Cf + 1/M) with the score, its own response included, and variance w(1 + w a·Ca): the gain is the
    square of the covariance over the variance. Fractional responses and means of trials have w times their
    spread.
    """
    p, variance = expected(model, posterior)
    weight = p * (1 - p)
    slope = (weight * unseen) @ model.loading
    shared = np.einsum("lk,lkj,mj->lm", slope, posterior.covariance, model.loading, optimize=True)
    spread = model.spread(trials)
    found = weight * (shared + spread) ** 2 / (spread + weight * variance)
    return np.where(unseen, found, -1.0)


def score(
    model: BankModel, posterior: Posterior, unseen: NDArray[np.bool_], total: Floats,
    n: NDArray[np.integer], trials: Trials = 1.0,
) -> Score:  # fmt: skip
    """(`total` of the responses seen + expectations of the unseen) / n, for each learner.

    The variance has the ability's part and that of the responses not yet seen.
    """
    p, _ = expected(model, posterior)
    weight = p * (1 - p) * unseen
    slope = weight @ model.loading
    by_ability = np.einsum("lk,lkj,lj->l", slope, posterior.covariance, slope)
    by_chance = (weight * model.spread(trials)).sum(axis=1)
    return Score((total + (p * unseen).sum(axis=1)) / n, np.sqrt(by_ability + by_chance) / n)


def overall_share(model: BankModel, posterior: Posterior) -> Score:
    """The mean logit over all samples in standard deviations of the pool, and its standard error."""
    direction = model.loading.mean(axis=0)
    sd = float(np.sqrt(direction @ model.covariance @ direction))
    value = (posterior.at - model.mean) @ direction / sd
    variance = np.einsum("k,lkj,j->l", direction, posterior.covariance, direction)
    return Score(value, np.sqrt(variance) / sd)


class Answers(NamedTuple):
    """Of tested learners: samples and responses [learners, responses], and which samples are still unseen."""

    asked: NDArray[np.integer]
    response: Floats
    unseen: NDArray[np.bool_]  # [learners, samples]
    n: NDArray[np.integer]  # [learners], samples that their score is the mean of
    trials: Trials = 1.0  # [learners, samples], of the responses seen and of those to come


TestStanding = tuple[Posterior, ...]  # one per model


def at_start(bank: Bank, n_learners: int) -> TestStanding:
    """Before any response."""
    return tuple(prior(model, n_learners) for model in bank.models)


def after(
    bank: Bank, standing: TestStanding, asked: NDArray[np.integer], response: Floats, *,
    trials: Trials = 1.0, most_steps: int = 30,
) -> TestStanding:  # fmt: skip
    """After the responses [learners, responses] to the samples asked, from where learners stood before."""
    return tuple(
        placed(model, one.at, asked, response, trials=trials, most_steps=most_steps)
        for model, one in zip(bank.models, standing, strict=True)
    )


def best_next(
    bank: Bank, standing: TestStanding, unseen: NDArray[np.bool_],
    askable: NDArray[np.bool_] | None = None, trials: Trials = 1.0,
) -> NDArray[np.intp]:  # fmt: skip
    """The sample expected to narrow the variance of each learner's score most, in the mean of the models.

    `askable` are the unseen that may be asked, all of them if it is not given. Of samples whose gains agree
    to six digits the first is taken.
    """
    gains = np.sum(
        [gain(model, one, unseen, trials) for model, one in zip(bank.models, standing, strict=True)], axis=0
    )
    return np.where(unseen if askable is None else askable, rounded(gains), -np.inf).argmax(axis=1)


def full_score(bank: Bank, standing: TestStanding, answers: Answers) -> Score:
    """The mean of the models' scores and what was missed in peers.

    Variance: the models' own in the mean, their disagreement, and the misfit on the samples not seen.
    """
    pairs = tuple(zip(bank.models, standing, strict=True))
    total = answers.response.sum(axis=1)
    each = [score(model, one, answers.unseen, total, answers.n, answers.trials) for model, one in pairs]
    scores = np.array([one.score for one in each])
    variance = np.mean([one.se**2 for one in each], axis=0) + scores.var(axis=0)
    found = Score(scores.mean(axis=0), np.sqrt(variance))
    own = np.mean([expected(model, one)[0] for model, one in pairs], axis=0)
    left = answers.unseen.sum(axis=1) / answers.n
    return Score(
        np.clip(found.score + missed_in_peers(bank, answers, own, found), 0, 1),
        np.sqrt(variance + (bank.misfit * left) ** 2),
    )


WIDTH = 2.0  # standard errors of the score within which a peer is near
LIKENESS = 0.7  # of the cosine's standard deviation under chance, 1/√responses
NOBODY = 3.0  # middling peers that an absence of any error weighs as much as
PEER_STEPS = 4  # of Newton, from where the peers stand by all their responses


def missed_in_peers(bank: Bank, answers: Answers, own: Floats, found: Score) -> Floats:
    """By how much scores are likely off: the weighted mean of what the same test misses in peers.

    Peers are placed by their responses to the very samples the learner was asked; what they did on the unseen
    ones is known. One weighs exp(L√n cos − (Δscore / (W se))² / 2), with cos that of the residuals on the
    samples asked. own: expected responses of the tested learners, [learners, samples].
    """
    off = np.zeros(len(own))
    if bank.peers is not None and answers.asked.shape[1] > 0:
        for i in np.flatnonzero(answers.unseen.any(axis=1)):
            off[i] = _missed(bank, bank.peers, answers, own, found, i)
    return off


def _missed(bank: Bank, peers: Peers, answers: Answers, own: Floats, found: Score, i: np.intp) -> float:
    asked, unseen, n = answers.asked[i], answers.unseen[i], answers.n[i]
    shown = peers.response[:, asked]
    trials = of_asked(peers.trials, asked[None])
    places = [
        placed(model, model.ability[peers.learner], asked[None], shown, trials=trials, most_steps=PEER_STEPS)
        for model in bank.models
    ]
    p = np.mean([expected(model, at)[0] for model, at in zip(bank.models, places, strict=True)], axis=0)
    missed = (peers.response[:, unseen] - p[:, unseen]).sum(axis=1) / n
    score = (shown.sum(axis=1) + p[:, unseen].sum(axis=1)) / n
    like = _cosines(shown - p[:, asked], answers.response[i] - own[i, asked])
    far = (score - found.score[i]) / (WIDTH * found.se[i])
    weight = np.exp(LIKENESS * np.sqrt(len(asked)) * like - 0.5 * far**2)
    return float(weight @ missed / (weight.sum() + NOBODY))


def _cosines(rows: Floats, row: Floats) -> Floats:
    length = np.linalg.norm(rows, axis=1) * np.linalg.norm(row)
    return rows @ row / np.maximum(length, 1e-12)
