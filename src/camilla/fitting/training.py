"""How a neural diagnoser is trained, as data: ours by default, the papers' on request."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, sigmoid
from camilla.fitting.layout import Layout, Size

CHUNK = 16_384  # rows a forward pass
NORM_EPS = 1e-5  # torch's
SLOPED = 500  # samples that the slope of a mean is taken on
STEP = 1e-3  # of mastery, where slopes are taken by differences


class Training(NamedTuple):
    """Minibatch Adam. The defaults are ours: no dropout, averaged weights, stopped on validation.

    Averaging the weights over the last two epochs cuts the held-out loss of Camilla on Titanic from
    .141 to .127 and on CIFAR-100 from .279 to .274.
    """

    rate: float = 0.01
    batch: int | None = None  # None: 256, more when responses are many
    epochs: int = 200
    patience: int = 8  # epochs without a validation better by `worth`
    worth: float = 5e-4  # relative
    least_steps: int = 100  # an epoch passes over the responses until it has made as many steps
    dropout: float = 0.0
    averaged: bool = True
    loss: Literal["bce", "mse"] = "bce"
    monitor: Literal["loss", "auc"] = "loss"
    clip: float | None = None  # longest gradient

    def batch_for(self, n_cells: int) -> int:
        """About 400 steps a pass, in powers of two from 32 to 8,192; 256 between 20,000 and 200,000 cells."""
        if self.batch is not None:
            return min(self.batch, n_cells)
        wanted = n_cells / 400 if n_cells > 200_000 else min(256, n_cells / 80)
        return min(2 ** int(np.log2(max(32, min(8192, wanted)))), n_cells)

    def passes_for(self, n_cells: int) -> int:
        """Passes over the responses in one epoch."""
        return max(1, -(-self.least_steps // max(1, n_cells // self.batch_for(n_cells))))


OURS = Training()
RELEASED = Training(
    rate=0.005, batch=256, epochs=10, patience=5, worth=0.0, least_steps=1, averaged=False, monitor="auc"
)


class Network(Protocol):
    """The part of a diagnoser that code is compiled for: hashable, and equal where the code is equal.

    `at` are parameters whose learner and sample rows are gathered, the rest whole; `xp` is NumPy or JAX.
    """

    # a second axis "free": no prior; a first one "moment" or "constant": not trained
    axes: ClassVar[dict[str, tuple[str, ...]]]

    def mastery(self, at: Any, xp: Any) -> Any:
        """[rows, skills] on the scale it is read on, from the learner's own parameters."""
        ...

    def compare(self, mastery: Any, at: Any, mask: Any, xp: Any, mode: Any) -> Any:
        """[rows]: the logit of learners of this mastery on samples; learner rows are not looked at again."""
        ...

    def project(self, params: Any, xp: Any) -> Any:
        """The nearest parameters that keep the promises, after every step."""
        ...

    def penalty(self, params: Any, at: Any, skill_mask: Any, xp: Any) -> Any:
        """What is added to the mean loss of the rows `at`; `params` and `skill_mask` are whole."""
        ...

    def sample_factors(self, at: Any, mask: Any, xp: Any) -> tuple[Any, Any]:
        """(difficulty, discrimination); a difficulty of None is read as 1 − mean expected response."""
        ...


class Neural(Protocol):
    """A diagnoser this engine can train: parameters, a model of pure functions, a prior."""

    axes: ClassVar[dict[str, tuple[str, ...]]]
    size: Size
    precision: float
    training: Training
    exact_sizes: ClassVar[bool]  # rows that nobody answers for would change the fit, so that none are added

    @property
    def model(self) -> Network: ...

    @property
    def n_mapped(self) -> int:
        """The first so many numbers of a raw row are skills of the table's map, and are read as such."""
        ...

    @property
    def weighs_samples(self) -> bool:
        """Abilities are expected responses in which samples count as `engine.balance` says."""
        ...

    def init(self, rng: np.random.Generator, start: "Start") -> Any:
        """A NamedTuple of float32 arrays (or tuples of them), learner rows first."""
        ...


class Start(NamedTuple):
    """Where learners and samples stand before training: standardised logits of their mean responses."""

    learner: Floats  # [learners], high is able
    sample: Floats  # [samples], high is hard


def start_of(layout: Layout, *, informed: bool) -> Start:
    """Informed starts spare the network the long flat stretch from all-alike rows; the papers start flat."""
    if not informed:
        return Start(np.zeros(layout.n_learners), np.zeros(layout.n_samples))
    learner, _, weight, right = layout.cells()
    right_of, weight_of = (np.bincount(learner, part, layout.n_learners) for part in (right, weight))
    right_on, weight_on = layout.sample_totals()
    return Start(_standard_logit(right_of, weight_of), -_standard_logit(right_on, weight_on))


def _standard_logit(right: Floats, weight: Floats) -> Floats:
    mean = (right + 0.5) / (weight + 1)
    level = np.log(mean) - np.log1p(-mean)
    return (level - level.mean()) / max(level.std(), 1e-6)


def gathered(
    axes: dict[str, tuple[str, ...]],
    params: Any,
    learner: NDArray[np.integer] | Any,
    sample: NDArray[np.integer] | Any,
) -> Any:
    """Parameters with learner and sample rows looked up."""
    index = {"learner": learner, "sample": sample}
    chosen = {
        name: value[index[axis[0]]]
        for name, axis in axes.items()
        if axis[0] in index and (value := getattr(params, name)) is not None
    }
    return params._replace(**chosen)


class Reading:
    """How layers act outside training: nothing is dropped, and moments are those that were kept."""

    @staticmethod
    def drop(x: Any) -> Any:
        return x

    @staticmethod
    def norm(x: Any, moments: Any) -> Any:
        """(x − mean) / √(variance + ε); moments: [2, width]."""
        return (x - moments[0]) * (moments[1] + NORM_EPS) ** -0.5


READING = Reading()


def logit_of(model: Network, at: Any, mask: Any, xp: Any, mode: Any) -> Any:
    """The logit of gathered rows."""
    return model.compare(model.mastery(at, xp), at, mask, xp, mode)


def neural_logit(
    diagnoser: Neural, params: Any, learner: NDArray[np.integer], sample: NDArray[np.integer]
) -> Floats:
    """The logit of each (learner, sample) pair, in NumPy: reading a diagnosis does not need JAX."""
    out = np.empty(len(learner))
    for rows, at, mask in _chunks(diagnoser, params, learner, sample):
        out[rows] = logit_of(diagnoser.model, at, mask, np, READING)
    return out


def neural_slopes(
    diagnoser: Neural, params: Any, learner: NDArray[np.integer], sample: NDArray[np.integer]
) -> Floats:
    """d logit / d mastery on the read scale of each pair: [pairs, skills], by differences."""
    model, parts = diagnoser.model, []
    for _, at, mask in _chunks(diagnoser, params, learner, sample):
        mastery = model.mastery(at, np).astype(np.float64)
        base = model.compare(mastery, at, mask, np, READING)
        moved = STEP * np.eye(mastery.shape[1])
        steps = [model.compare(mastery + by, at, mask, np, READING) - base for by in moved]
        parts.append(np.stack(steps, axis=1) / STEP)
    return np.concatenate(parts)


def neural_expected(
    diagnoser: Neural, params: Any, mastery: Floats, samples: NDArray[np.integer], sample_weight: Floats
) -> tuple[Floats, Floats]:
    """Mean expected response of each row of mastery over the samples, and its slope by mastery.

    sample_weight: how much each sample of the diagnosis counts. Slopes are taken on at most SLOPED of the
    samples, evenly spaced: they only scale standard errors.
    """
    some = np.unique(np.linspace(0, len(samples) - 1, SLOPED).astype(np.int64))
    mean = np.empty(len(mastery))
    slope = np.empty(mastery.shape)
    for i, row in enumerate(mastery):
        mean[i] = _mean_response(diagnoser, params, row, samples, sample_weight)
        base, *moved = (
            _mean_response(diagnoser, params, row + by, samples[some], sample_weight)
            for by in (0.0, *STEP * np.eye(len(row)))
        )
        slope[i] = (np.array(moved) - base) / STEP
    return mean, slope


def _mean_response(
    diagnoser: Neural, params: Any, mastery: Floats, samples: NDArray[np.integer], sample_weight: Floats
) -> float:
    total, weight = 0.0, sample_weight[samples]
    nobody = np.zeros(len(samples), np.int64)  # mastery is given, so no learner's row is read
    for rows, at, mask in _chunks(diagnoser, params, nobody, samples):
        tiled = np.broadcast_to(mastery, (len(samples[rows]), len(mastery)))
        total += weight[rows] @ sigmoid(diagnoser.model.compare(tiled, at, mask, np, READING))
    return float(total / weight.sum())


def _chunks(
    diagnoser: Neural, params: Any, learner: NDArray[np.integer], sample: NDArray[np.integer]
) -> Iterator[tuple[slice, Any, Any]]:
    """Rows a pass, with their parameters and masks; no rows are one pass of none."""
    mask = diagnoser.size.skill_mask
    for start in range(0, max(1, len(learner)), CHUNK):
        rows = slice(start, start + CHUNK)
        at = gathered(diagnoser.axes, params, learner[rows], sample[rows])
        yield rows, at, None if mask is None else mask[sample[rows]]
