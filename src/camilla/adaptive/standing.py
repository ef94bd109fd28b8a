"""Where learners stand in all models of a bank: gains are summed, scores averaged."""

import numpy as np
from numpy.typing import NDArray

from camilla.adaptive.bank import Bank, Floats
from camilla.adaptive.peers import Answers, missed_in_peers
from camilla.adaptive.posterior import Posterior, Score, expected, gain, placed, prior, score

Standing = tuple[Posterior, ...]  # one a model


def at_start(bank: Bank, n_learners: int) -> Standing:
    """Before any response."""
    return tuple(prior(model, n_learners) for model in bank.models)


def after(
    bank: Bank, standing: Standing, asked: NDArray[np.integer], response: Floats, *, most_steps: int = 30
) -> Standing:
    """After the responses [learners, responses] to the samples asked, from where learners stood before."""
    return tuple(
        placed(model, one.at, asked, response, most_steps=most_steps)
        for model, one in zip(bank.models, standing, strict=True)
    )


def best_next(
    bank: Bank, standing: Standing, unseen: NDArray[np.bool_], askable: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """The sample expected to narrow the variance of each learner's score most, in the mean of the models.

    `askable` are the unseen that may be asked, all of them if it is not given.
    """
    gains = np.sum(
        [gain(model, one, unseen) for model, one in zip(bank.models, standing, strict=True)], axis=0
    )
    return np.where(unseen if askable is None else askable, gains, -np.inf).argmax(axis=1)


def full_score(bank: Bank, standing: Standing, answers: Answers) -> Score:
    """The mean of the models' scores and what was missed in peers.

    Variance: the models' own in the mean, their disagreement, and the misfit on the samples not seen.
    """
    pairs = tuple(zip(bank.models, standing, strict=True))
    total = answers.response.sum(axis=1)
    each = [score(model, one, answers.unseen, total, answers.n) for model, one in pairs]
    scores = np.array([one.score for one in each])
    variance = np.mean([one.se**2 for one in each], axis=0) + scores.var(axis=0)
    found = Score(scores.mean(axis=0), np.sqrt(variance))
    own = np.mean([expected(model, one)[0] for model, one in pairs], axis=0)
    left = answers.unseen.sum(axis=1) / answers.n
    return Score(
        np.clip(found.score + missed_in_peers(bank, answers, own, found), 0, 1),
        np.sqrt(variance + (bank.misfit * left) ** 2),
    )
