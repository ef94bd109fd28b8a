"""What the models missed in calibrating learners that answered like the tested one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.adaptive.bank import Bank, Floats, Peers
from camilla.adaptive.posterior import Score, expected, placed

WIDTH = 2.0  # standard errors of the score within which a peer is near
LIKENESS = 0.7  # of the cosine's standard deviation under chance, 1/√responses
NOBODY = 3.0  # middling peers that an absence of any error weighs as much as
STEPS = 4  # of Newton, from where the peers stand by all their responses


class Answers(NamedTuple):
    """Of tested learners: samples and responses [learners, responses], and which samples are still unseen."""

    asked: NDArray[np.integer]
    response: Floats
    unseen: NDArray[np.bool_]  # [learners, samples]
    n: NDArray[np.integer]  # [learners], samples that their score is the mean of


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
    places = [
        placed(model, model.ability[peers.learner], asked[None], shown, most_steps=STEPS)
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
