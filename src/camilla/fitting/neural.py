"""The neural engine: minibatch Adam in JAX, one jitted scan per epoch, then every learner placed exactly.

Training sees the responses in random batches, so where it stops is a little to the side of the
mode. Each learner is then placed with the samples frozen, which makes a learner that is added again
land where it was, and puts its standard error at a true mode.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from camilla.arrays import Floats, Watch, log_loss
from camilla.errors import SettingError
from camilla.extras import NEURAL_WORK, needing
from camilla.fitting.compiling import kept_programs, shared_size
from camilla.fitting.factors import Factors, HasProblem
from camilla.fitting.feeding import AllCells, DeviceCells, DrawnCells
from camilla.fitting.layout import Layout, Size
from camilla.fitting.learner_rows import (
    balanced,
    blocks_of_learners,
    curves_of,
    learner_rows,
    off_device,
    on_device,
    place_rows,
    with_learner_rows,
)
from camilla.fitting.protocol import Placement, Solution
from camilla.fitting.training import (
    CHUNK,
    NORM_EPS,
    READING,
    Neural,
    Start,
    Training,
    gathered,
    logit_of,
    start_of,
)
from camilla.table.cells import zero_or_one

with needing(NEURAL_WORK):
    import jax
    import jax.numpy as jnp

PLACE_CELLS = 3_000_000  # up to here all learners are placed again after training
PLACE_COST = 5e-3  # relative loss on validation that exactly placed learners are worth
MOMENTUM = 0.1  # torch's: the share of a batch in the moments that are kept
LEAST_CHUNK = 4096  # rows a forward pass on validation cells, so that few sizes are compiled
MEASURED = 4096  # cells that the moments of averaged weights are taken from

FIRST_DECAY, SECOND_DECAY, ADAM_EPS = 0.9, 0.999, 1e-8


class Adam(NamedTuple):
    """Running moments of the slope; Kingma, Ba (2015)."""

    steps: Any
    first: Any
    second: Any


def adam_move(slope: Any, before: Adam) -> tuple[Any, Adam]:
    """m̂ / (√v̂ + ε) with moments freed of their start at zero, and the moments."""
    steps = before.steps + 1
    first = jax.tree.map(lambda g, m: (1 - FIRST_DECAY) * g + FIRST_DECAY * m, slope, before.first)
    second = jax.tree.map(lambda g, v: (1 - SECOND_DECAY) * g**2 + SECOND_DECAY * v, slope, before.second)
    shares = 1 - FIRST_DECAY**steps, 1 - SECOND_DECAY**steps
    move = jax.tree.map(lambda m, v: (m / shares[0]) / (jnp.sqrt(v / shares[1]) + ADAM_EPS), first, second)
    return move, Adam(steps, first, second)


class TrainingState(NamedTuple):
    params: Any
    average: Any
    adam: Adam


def solve(
    diagnoser: Neural, layout: Layout, rng: np.random.Generator, watch: Watch,
    *, valid: Layout | None = None, earlier: Solution | None = None,
) -> Solution:  # fmt: skip
    """Trained parameters: the epoch best on `valid`, or as many epochs as an earlier solution."""
    plan = diagnoser.training
    start = start_of(layout, informed=diagnoser.precision > 0)
    begin, mask = on_device(diagnoser, diagnoser.model.project(diagnoser.init(rng, start), np))
    feed: Any = (DrawnCells if layout.drawn else AllCells)(layout, begin, mask, diagnoser)
    rate, mix = plan.rate_for(feed.n_cells), 1 / (2 * feed.n_steps) if plan.averaged else 1.0
    last = plan.epochs if earlier is None else earlier.steps
    with kept_programs():
        zero = jax.tree.map(np.zeros_like, begin)
        state = TrainingState(begin, begin, Adam(np.zeros([], np.int32), zero, zero))
        run = feed.kept(_Run(state, _Best(begin, np.inf, 0), 0, 0), rng)
        while run.epoch < last and not (valid is not None and run.idle >= plan.patience):
            state, losses = run.state, []
            for piece in feed.epoch(rng):
                state, loss = _epoch(
                    state, piece.rows, piece.batches, piece.seed, diagnoser.precision, rate, mix,
                    model=diagnoser.model, dropout=plan.dropout, kind=plan.loss, clip=plan.clip,
                    measured=plan.averaged,
                )  # fmt: skip
                losses.append(loss)
                if len(losses) > 1:
                    losses[-2].block_until_ready()  # no more than one piece is prepared meanwhile
            loss = float(losses[0]) if len(losses) == 1 else float(np.average(losses, weights=feed.steps))
            score = loss if valid is None else _validation(diagnoser, state.average, mask, valid)
            run = run.after(state, score, plan.worth, always=valid is None)
            said = "" if valid is None else f", best {run.best.score:.4f}"
            watch(f"epoch {run.epoch}, loss {loss:.4f}{said}")
            feed.keep(run, rng)
    stopped = valid is not None and run.idle >= plan.patience
    best = run.best
    return Solution(
        off_device(diagnoser, best.params), best.score, float("nan"), best.epoch,
        stopped or earlier is not None, placed=False,
    )  # fmt: skip


class _Best(NamedTuple):
    params: Any
    score: float
    epoch: int


class _Run(NamedTuple):
    """Where training stands after an epoch."""

    state: TrainingState
    best: _Best
    leap: int  # the last epoch that was better by what counts
    epoch: int

    @property
    def idle(self) -> int:
        """Epochs since then."""
        return self.epoch - self.leap

    def after(self, state: TrainingState, score: float, worth: float, *, always: bool) -> "_Run":
        """One epoch later; its weights are the best if they score less, or `always`."""
        epoch = self.epoch + 1
        if always or score < self.best.score:
            counts = not self.best.score - score < worth * abs(score)
            return _Run(state, _Best(state.average, score, epoch), epoch if counts else self.leap, epoch)
        return self._replace(state=state, epoch=epoch)


def settled(
    diagnoser: Neural, solution: Solution, layout: Layout,
    *, valid: Layout | None = None, earlier: Solution | None = None,
) -> Solution:  # fmt: skip
    """Learners placed with the samples frozen, unless that predicts `valid` worse.

    A fit that stopped early is no mode, and its learners fit it best about where they stopped. They keep
    their profiles then, and only their levels are placed. With a skill map in the fit they are always placed:
    profiles are what is read. Where abilities weigh samples, levels are balanced.
    """
    found = solution.params
    if diagnoser.precision <= 0 or layout.n_cells > PLACE_CELLS:
        return solution
    with kept_programs():
        exact = _place_all(diagnoser, found, layout) if earlier is None or earlier.placed else None
        worst = solution.loss + PLACE_COST * abs(solution.loss)
        placed = exact is not None and (
            valid is None
            or diagnoser.n_mapped > 0
            or _validation(diagnoser, *on_device(diagnoser, exact), valid) < worst
        )
        found = exact if placed else _place_all(diagnoser, found, layout, level=True)
        found = _balance_all(diagnoser, found, layout) if diagnoser.weighs_samples else found
    return solution._replace(params=found, placed=placed)


def place(
    diagnoser: Neural, params: Any, weight: Floats, right: Floats, sample_weight: Floats | None
) -> Placement:
    """One learner's raw row with every sample frozen."""
    with kept_programs():
        rows, covariance, slope = place_rows(diagnoser, params, weight[None], right[None])
        if sample_weight is not None:
            rows = balanced(diagnoser, params, rows, weight[None], right[None], sample_weight)
    return Placement(rows[0], covariance[0], bool(slope[0] < 1e-3 * (1 + weight.sum())))


def _place_all(diagnoser: Neural, params: Any, layout: Layout, *, level: bool = False) -> Any:
    parts = [
        place_rows(diagnoser, params, weight, right, start=True, level=level, first=first)[0]
        for first, weight, right in blocks_of_learners(layout)
    ]
    return with_learner_rows(diagnoser, params, np.concatenate(parts).astype(np.float32))


def _balance_all(diagnoser: Neural, params: Any, layout: Layout) -> Any:
    present, counts = learner_rows(diagnoser, params), curves_of(diagnoser, params).weight
    parts = [
        balanced(diagnoser, params, present[first : first + len(weight)], weight, right, counts)
        for first, weight, right in blocks_of_learners(layout)
    ]
    return with_learner_rows(diagnoser, params, np.concatenate(parts).astype(np.float32))


def _cell_loss(logit: jax.Array, response: jax.Array, kind: str) -> jax.Array:
    if kind == "mse":
        return (jax.nn.sigmoid(logit) - response) ** 2
    return jnp.maximum(logit, 0) - logit * response + jnp.log1p(jnp.exp(-jnp.abs(logit)))


@partial(jax.jit, static_argnames=("model", "dropout", "kind", "clip", "measured"))
def _epoch(
    state: TrainingState, rows: DeviceCells, batches: Any, seed: Any, precision: float, rate: float,
    mix: float, *, model: Any, dropout: float, kind: str, clip: float | None, measured: bool,
) -> tuple[TrainingState, jax.Array]:  # fmt: skip
    """Adam over batches of cells: [steps, batch]."""
    key = jax.random.key(seed)

    def forward(params: Any, cells: jax.Array, mode: Any) -> tuple[Any, jax.Array]:
        at = gathered(model.axes, params, rows.learner[cells], rows.sample[cells])
        mask = None if rows.mask is None else rows.mask[rows.sample[cells]]
        return at, logit_of(model, at, mask, jnp, mode)

    def loss(params: Any, cells: jax.Array, key: jax.Array) -> tuple[jax.Array, list[jax.Array]]:
        mode = InTraining(dropout, key)
        at, logit = forward(params, cells, mode)
        learner, sample = rows.learner[cells], rows.sample[cells]
        fit = jnp.mean(rows.weight[cells] * _cell_loss(logit, rows.response[cells], kind))
        share = {"learner": 1 / rows.learner_count[learner], "sample": 1 / rows.sample_count[sample]}
        held = sum(
            jnp.mean(rows.weight[cells] * share[axis[0]] * jnp.sum(getattr(at, name) ** 2, axis=-1))
            for name, axis in model.axes.items()
            if axis[0] in share and "free" not in axis and getattr(at, name) is not None
        )
        return fit + 0.5 * precision * held + model.penalty(params, at, rows.mask, jnp), mode.seen

    def step(carry: TrainingState, at: tuple[jax.Array, jax.Array]) -> tuple[TrainingState, jax.Array]:
        (value, seen), slope = jax.value_and_grad(loss, has_aux=True)(carry.params, *at)
        move, adam = adam_move(_clipped(_trained(model.axes, slope), clip), carry.adam)
        params = jax.tree.map(lambda p, m: p - rate * m, carry.params, move)
        params = remembered(model.project(params, jnp), seen, MOMENTUM)
        share = jnp.maximum(mix, 10 / (10 + adam.steps))  # the start is forgotten sooner than the horizon
        average = jax.tree.map(lambda a, p: a + share * (p - a), carry.average, params)
        return TrainingState(params, average, adam), value

    state, values = jax.lax.scan(step, state, (batches, jax.random.split(key, len(batches))))
    if measured:
        mode = InTraining(0.0, key)
        forward(state.average, batches.reshape(-1)[:MEASURED], mode)
        state = state._replace(average=remembered(state.average, mode.seen, 1.0))
    return state, values.mean()


class InTraining:
    """How layers act in training: a fresh mask of dropout each time, the moments of the batch."""

    def __init__(self, dropout: float, key: jax.Array) -> None:
        self.dropout = dropout
        self.keys = iter(jax.random.split(key, 8)) if dropout else iter(())
        self.seen: list[jax.Array] = []

    def drop(self, x: jax.Array) -> jax.Array:
        if self.dropout == 0:
            return x
        kept = jax.random.bernoulli(next(self.keys), 1 - self.dropout, x.shape)
        return jnp.where(kept, x / (1 - self.dropout), 0)

    def norm(self, x: jax.Array, moments: jax.Array) -> jax.Array:
        """Normed by the batch; what is kept for reading is the unbiased variance."""
        mean, variance = x.mean(axis=0), x.var(axis=0)
        self.seen.append(jnp.stack([mean, variance * len(x) / (len(x) - 1)]))
        return (x - mean) * (variance + NORM_EPS) ** -0.5


def remembered(params: Any, seen: list[jax.Array], share: float) -> Any:
    """Parameters whose kept moments moved towards those of a batch."""
    if not seen:
        return params
    return params._replace(
        moments=tuple(old + share * (new - old) for old, new in zip(params.moments, seen, strict=True))
    )


def _trained(axes: dict[str, tuple[str, ...]], slope: Any) -> Any:
    """The slope, 0 by what is constant."""
    constant = [name for name, axis in axes.items() if axis[0] == "constant"]
    return slope._replace(**{name: jax.tree.map(jnp.zeros_like, getattr(slope, name)) for name in constant})


def _clipped(slope: Any, clip: float | None) -> Any:
    if clip is None:
        return slope
    norm = jnp.sqrt(sum(jnp.sum(part**2) for part in jax.tree.leaves(slope)))
    share = jnp.minimum(1, clip / (norm + 1e-6))
    return jax.tree.map(lambda part: part * share, slope)


@partial(jax.jit, static_argnames=("model",))
def _forward(
    params: Any, learner: jax.Array, sample: jax.Array, mask: jax.Array | None, *, model: Any
) -> jax.Array:
    at = gathered(model.axes, params, learner, sample)
    return logit_of(model, at, None if mask is None else mask[sample], jnp, READING)


def _validation(diagnoser: Neural, params: Any, mask: Any, valid: Layout) -> float:
    """Mean loss on the validation cells, or minus their AUC; smaller is better."""
    width = min(CHUNK, max(LEAST_CHUNK, shared_size(valid.n_cells, 1)))
    scored: Iterator[tuple[Floats, Floats, Floats]] = (
        (right / weight, _logits(diagnoser, params, mask, learner, sample, width), weight)
        for learner, sample, weight, right in valid.pieces()
        if len(learner)
    )
    if diagnoser.training.monitor == "auc":
        listed = list(scored)
        response, logits = (np.concatenate(part) for part in list(zip(*listed, strict=True))[:2])
        if zero_or_one(response).all():
            from camilla.statistics.prediction import auc

            return -auc(response, logits)
        scored = iter(listed)
    parts = [(_mean_loss(diagnoser, *one), float(one[2].sum())) for one in scored]
    losses, weights = zip(*parts, strict=True)
    return losses[0] if len(parts) == 1 else float(np.average(losses, weights=weights))


def _mean_loss(diagnoser: Neural, response: Floats, logits: Floats, weight: Floats) -> float:
    if diagnoser.training.loss == "mse":
        return float(np.average((1 / (1 + np.exp(-logits)) - response) ** 2, weights=weight))
    return log_loss(response, logits, weight)


def _logits(diagnoser: Neural, params: Any, mask: Any, learner: Any, sample: Any, width: int) -> Floats:
    """Of these pairs, so many in a pass."""
    parts = []
    for start in range(0, len(learner), width):
        rows = np.minimum(np.arange(start, start + width), len(learner) - 1)
        cells = learner[rows].astype(np.int32), sample[rows].astype(np.int32)
        parts.append(np.asarray(_forward(params, *cells, mask, model=diagnoser.model)))
    return np.concatenate(parts)[: len(learner)].astype(np.float64)


def solve_bilinear(
    diagnoser: Any, layout: Layout, rng: np.random.Generator, watch: Watch,
    *, valid: Layout | None = None, earlier: Solution | None = None,
) -> Solution:  # fmt: skip
    """The factors of a logit-bilinear diagnoser, trained as released code trains them: Adam, no prior."""
    problem = diagnoser.problem()
    if problem.guessing_limit:
        raise SettingError("guessing (form='3pl') is fitted at its mode only; leave training out.")
    trained = (_Loaded if problem.free.any() else _Additive)(diagnoser, diagnoser.training)
    solution = solve(trained, layout, rng, watch, valid=valid, earlier=earlier)
    ability, loading, intercept = (part.astype(np.float64) for part in solution.params[:3])
    kept = np.where(problem.free, loading, problem.fixed)
    return solution._replace(params=Factors(ability, kept, intercept))


class _Loaded:
    """σ(Σₖ free ∘ loading ∘ ability + intercept), started at A, d ~ N(0, 1), b ~ U(0, 1)."""

    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "ability": ("learner", ""),
        "loading": ("sample", ""),
        "intercept": ("sample",),
    }
    precision = 0.0
    weighs_samples = False
    exact_sizes: ClassVar[bool] = True
    n_mapped = 0

    def __init__(self, diagnoser: HasProblem, training: Training) -> None:
        self.problem = diagnoser.problem()
        self.size: Size = replace(diagnoser.size, skill_mask=self.problem.free)
        self.training = training

    def init(self, rng: np.random.Generator, start: Start) -> Factors:
        n_samples, n_dims = self.problem.free.shape
        return Factors(
            _single(rng.normal(size=(self.size.n_learners, n_dims))),
            _single(rng.uniform(size=(n_samples, n_dims))),
            _single(rng.normal(size=n_samples)),
        )

    @property
    def model(self) -> Any:
        return type(self)

    @staticmethod
    def mastery(at: Factors, xp: Any) -> Any:
        return at.ability

    @staticmethod
    def compare(mastery: Any, at: Factors, mask: Any, xp: Any, mode: Any) -> Any:
        return (mastery * at.loading * mask).sum(axis=-1) + at.intercept

    @staticmethod
    def project(params: Factors, xp: Any) -> Factors:
        return params

    @staticmethod
    def penalty(params: Factors, at: Factors, skill_mask: Any, xp: Any) -> float:
        return 0.0


class _Additive(_Loaded):
    """σ(ability + intercept): 1PL, and what concatenating embeddings under a linear layer comes to."""

    @staticmethod
    def compare(mastery: Any, at: Factors, mask: Any, xp: Any, mode: Any) -> Any:
        return mastery.sum(axis=-1) + at.intercept


def _single(values: Any) -> Floats:
    return values.astype(np.float32)
