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
    """How a neural diagnoser is trained: minibatch Adam, stopped on validation.

    Give it as the setting `training` of a neural diagnoser. The defaults are Camilla's own: no dropout,
    averaged weights. Averaging the weights over the last two epochs cuts the held-out loss of camilla on
    Titanic from 0.141 to 0.127 and on CIFAR-100 from 0.279 to 0.274.

    Parameters
    ----------
    rate : float
        Learning rate.
    batch : int, optional
        Responses per step. By default 256, and more where responses are many.
    epochs : int
        Largest number of epochs.
    patience : int
        Epochs without a better validation after which training stops.
    worth : float
        Relative improvement of the validation that counts as better.
    least_steps : int
        An epoch passes over the responses until it has made this many steps.
    dropout : float
        Share of units that are dropped.
    averaged : bool
        Whether weights are averaged over the last two epochs.
    loss : {"bce", "mse"}
        The loss: cross entropy or squared error.
    monitor : {"loss", "auc"}
        What is watched on the validation responses.
    clip : float, optional
        Largest norm of a gradient.
    pass_steps : int
        Batches grow so that a pass takes at most twice this many steps. 0: they do not grow.
    trial_epochs : int, optional
        Largest number of epochs while settings are chosen.

    Examples
    --------
    >>> camilla.Training(epochs=50, rate=0.02).epochs
    50
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
    pass_steps: int = 0  # batches grow so that a pass takes at most twice as many steps; 0: they do not
    trial_epochs: int | None = None  # at most, where settings are chosen; None: as many as otherwise

    def batch_for(self, n_cells: int) -> int:
        """Returns the batch size for a number of responses.

        It makes about 400 steps per pass, in powers of two from 32 to 8,192, and 256 between 20,000 and
        200,000 cells. Above 30 million cells batches grow further, so that no pass takes more than 8,192
        steps.

        Parameters
        ----------
        n_cells : int
            Number of responses.

        Returns
        -------
        int
            Responses per step.

        Examples
        --------
        >>> camilla.Training().batch_for(100_000)
        256
        """
        if self.batch is not None:
            return min(self.batch, n_cells)
        wanted = n_cells / 400 if n_cells > 200_000 else min(256, n_cells / 80)
        if self.pass_steps:
            wanted = max(min(256, n_cells / 100), n_cells / (2 * self.pass_steps))
        most = max(8192, n_cells / 4096)
        return min(2 ** int(np.log2(max(32, min(most, wanted)))), n_cells)

    def rate_for(self, n_cells: int) -> float:
        """Returns the learning rate for a number of responses.

        Where batches grow with the responses, it is `rate` from 512 responses per step on, and smaller by the
        square root below.

        Parameters
        ----------
        n_cells : int
            Number of responses.

        Returns
        -------
        float
            The learning rate.

        Examples
        --------
        >>> camilla.Training(rate=0.01).rate_for(100_000)
        0.01
        """
        return self.rate * min(1.0, (self.batch_for(n_cells) / 512) ** 0.5) if self.pass_steps else self.rate

    def passes_for(self, n_cells: int) -> int:
        """Returns the passes over the responses in one epoch.

        Parameters
        ----------
        n_cells : int
            Number of responses.

        Returns
        -------
        int
            At least 1; more where a pass has fewer than `least_steps` steps.

        Examples
        --------
        >>> camilla.Training().passes_for(1_000)
        4
        """
        return max(1, -(-self.least_steps // max(1, n_cells // self.batch_for(n_cells))))


OURS = Training()
QUICK = Training(rate=0.02, pass_steps=64, trial_epochs=15)
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
        """The first so many numbers of a raw row are skills of the table's map."""
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
    right_of, weight_of = layout.learner_totals()
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


def neural_logit_at(
    diagnoser: Neural, params: Any, mastery: Floats, row: NDArray[np.integer], sample: NDArray[np.integer]
) -> Floats:
    """The logit of each pair of a row of mastery and a sample."""
    out = np.empty(len(row))
    nobody = np.zeros(len(row), np.int64)  # mastery is given, so no learner's row is read
    for rows, at, mask in _chunks(diagnoser, params, nobody, sample):
        out[rows] = diagnoser.model.compare(mastery[row[rows]], at, mask, np, READING)
    return out


def neural_slopes(
    diagnoser: Neural, params: Any, learner: NDArray[np.integer], sample: NDArray[np.integer]
) -> Floats:
    """d logit / d mastery on the read scale of each pair: [pairs, skills], by differences."""
    chunks = _chunks(diagnoser, params, learner, sample)
    parts = [_sloped(diagnoser.model, diagnoser.model.mastery(at, np), at, mask)[1] for _, at, mask in chunks]
    return np.concatenate(parts)


def _sloped(model: Network, mastery: Floats, at: Any, mask: Any) -> tuple[Floats, Floats]:
    """Logits, and their slopes by mastery: the network's own, or by differences."""
    if hasattr(model, "sloped"):
        return model.sloped(mastery, at, mask)
    mastery = mastery.astype(np.float64)
    base = model.compare(mastery, at, mask, np, READING)
    moved = STEP * np.eye(mastery.shape[1])
    steps = [model.compare(mastery + by, at, mask, np, READING) - base for by in moved]
    return base, np.stack(steps, axis=1) / STEP


def neural_expected(
    diagnoser: Neural, params: Any, mastery: Floats, samples: NDArray[np.integer], sample_weight: Floats
) -> tuple[Floats, Floats]:
    """Mean expected response of each row of mastery over the samples, and its slope by mastery.

    sample_weight: how much each sample of the diagnosis counts. Slopes are taken on at most SLOPED of the
    samples, evenly spaced: they only scale standard errors.
    """
    some = samples[np.unique(np.linspace(0, len(samples) - 1, SLOPED).astype(np.int64))]
    mean, slope = np.zeros(len(mastery)), np.zeros(mastery.shape)
    for rows, weight, at, mask in _everyone(diagnoser, params, mastery, samples, sample_weight):
        level = np.repeat(mastery[rows], len(weight), axis=0)
        chance = sigmoid(diagnoser.model.compare(level, at, mask, np, READING))
        mean[rows] += chance.reshape(-1, len(weight)) @ weight
    for rows, weight, at, mask in _everyone(diagnoser, params, mastery, some, sample_weight):
        level = np.repeat(mastery[rows], len(weight), axis=0)
        logit, by = _sloped(diagnoser.model, level, at, mask)
        chance = sigmoid(logit)
        rise = (chance * (1 - chance)).reshape(-1, len(weight)) * weight
        slope[rows] += np.einsum("ns,nsk->nk", rise, by.reshape(*rise.shape, -1))
    return mean / sample_weight[samples].sum(), slope / sample_weight[some].sum()


def _everyone(
    diagnoser: Neural, params: Any, mastery: Floats, samples: NDArray[np.integer], sample_weight: Floats
) -> Iterator[tuple[slice, Floats, Any, Any]]:
    """(rows of mastery, weights of samples, their parameters, their masks), as much as a pass has room for.

    Parameters and masks are those of the samples over and over, for every row of mastery.
    """
    nobody = np.zeros(len(samples), np.int64)  # mastery is given, so no learner's row is read
    for chunk, at, mask in _chunks(diagnoser, params, nobody, samples):
        weight = sample_weight[samples[chunk]]
        step = max(1, CHUNK // max(1, len(weight)))
        for first in range(0, len(mastery), step):
            rows = slice(first, min(first + step, len(mastery)))
            times = rows.stop - first
            masks = None if mask is None else np.tile(mask, (times, 1))
            yield rows, weight, _repeated(diagnoser.axes, at, times), masks


def _repeated(axes: dict[str, tuple[str, ...]], at: Any, times: int) -> Any:
    """Gathered parameters whose sample rows follow one another so many times."""
    return at._replace(
        **{
            name: np.tile(value, (times, *[1] * (value.ndim - 1)))
            for name, axis in axes.items()
            if axis[0] == "sample" and (value := getattr(at, name)) is not None
        }
    )


def _chunks(
    diagnoser: Neural, params: Any, learner: NDArray[np.integer], sample: NDArray[np.integer]
) -> Iterator[tuple[slice, Any, Any]]:
    """The rows of each pass, with their parameters and masks; no rows are one pass of none."""
    mask = diagnoser.size.skill_mask
    for start in range(0, max(1, len(learner)), CHUNK):
        rows = slice(start, start + CHUNK)
        at = gathered(diagnoser.axes, params, learner[rows], sample[rows])
        yield rows, at, None if mask is None else mask[sample[rows]]
