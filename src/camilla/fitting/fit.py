"""Table to fitted diagnoser: settings chosen on validation, the fit, a temperature.

Engines answer four questions of any diagnoser they fit: solve, logit, place, spread.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.fitting import bilinear, laplace
from camilla.fitting.layout import Layout, layout_of
from camilla.fitting.protocol import Diagnoser, Placement, Size, Solution, Spread
from camilla.fitting.settings import check_settings
from camilla.fitting.training import Start
from camilla.statistics.prediction import log_loss

CHOICE_SAMPLES = 2000  # settings are chosen on at most this many samples
HELD_OUT = 0.1  # share of cells that settings and temperature are chosen on when none are given


class FittedDiagnoser(NamedTuple):
    """A diagnoser, where its fit arrived, and what was chosen on the way."""

    diagnoser: Any
    solution: Solution
    temperature: float
    chosen: dict[str, Any]
    validation_loss: float


def fit(
    kind: type[Diagnoser], size: Size, layout: Layout,
    *, settings: Mapping[str, Any], seed: int, valid: Layout | None, watch: Watch,
) -> FittedDiagnoser:  # fmt: skip
    """The diagnoser fitted to `layout`; without `valid`, a tenth of the cells is held out and given back."""
    if valid is not None:
        return trial(kind, size, layout, valid, settings=settings, seed=seed, watch=watch)
    inner, outer = hold_out(layout, seed)
    found = trial(kind, size, inner, outer, settings=settings, seed=seed, watch=watch)
    return refit(found, layout, seed=seed, watch=watch)


def trial(
    kind: type[Diagnoser], size: Size, layout: Layout, valid: Layout,
    *, settings: Mapping[str, Any], seed: int, watch: Watch,
) -> FittedDiagnoser:  # fmt: skip
    """The diagnoser fitted to `layout`, with settings and temperature chosen on `valid`."""
    diagnoser, chosen, solution = _choose(
        kind, size, layout, valid, settings=settings, seed=seed, watch=watch
    )
    if solution is None:
        watch("fitting")
        solution = solve(diagnoser, layout, seed, watch, valid=valid)
    temperature, loss = _temperature(diagnoser, solution.params, valid)
    return FittedDiagnoser(diagnoser, solution, temperature, chosen, loss)


def refit(found: FittedDiagnoser, layout: Layout, *, seed: int, watch: Watch) -> FittedDiagnoser:
    """The same diagnoser, settings and temperature on all responses."""
    watch("fitting on all responses")
    again = solve(found.diagnoser, layout, seed, watch, earlier=found.solution)
    return found._replace(solution=again._replace(converged=again.converged and found.solution.converged))


def cell_losses(found: FittedDiagnoser, cells: Layout) -> Floats:
    """−[x log p + (1 − x) log(1 − p)] of every cell, at the fit's temperature."""
    learner, sample, weight, right = cells.cells()
    logits = logit(found.diagnoser, found.solution.params, learner, sample) / found.temperature
    return np.logaddexp(0, logits) - right / weight * logits


def build(kind: type[Diagnoser], size: Size, settings: Mapping[str, Any]) -> Any:
    """The diagnoser with these settings, once they are checked."""
    check_settings(kind, settings)
    return kind(size, **settings)  # type: ignore[call-arg]


def solve(
    diagnoser: Any, layout: Layout, seed: int, watch: Watch,
    *, valid: Layout | None = None, earlier: Solution | None = None,
) -> Solution:  # fmt: skip
    """The diagnoser's parameters on these responses, going by an earlier solution where there is one."""
    rng = np.random.default_rng(seed)
    if diagnoser.engine == "bilinear" and diagnoser.training is None:
        return bilinear.solve(
            diagnoser, layout, rng, watch, start=None if earlier is None else earlier.params
        )
    if diagnoser.engine == "bilinear":
        from camilla.fitting import published

        return published.solve(diagnoser, layout, rng, watch, valid=valid, earlier=earlier)
    if diagnoser.engine == "neural":
        from camilla.fitting import neural

        return neural.solve(diagnoser, layout, rng, watch, valid=valid, earlier=earlier)
    return diagnoser.solve(layout, rng, watch)


def logit(diagnoser: Any, params: Any, learner: NDArray[np.integer], sample: NDArray[np.integer]) -> Floats:
    """The logit of the expected response of each (learner, sample) pair, before any temperature."""
    if diagnoser.engine == "bilinear":
        return bilinear.bilinear_logit(diagnoser, params, learner, sample)
    if diagnoser.engine == "neural":
        from camilla.fitting.training import neural_logit

        return neural_logit(diagnoser, params, learner, sample)
    return diagnoser.logit(params, learner, sample)


def place(
    diagnoser: Any, params: Any, weight: Floats, right: Floats, sample_weight: Floats | None = None
) -> Placement:
    """One learner with every sample frozen; weight, weight × response: [samples].

    sample_weight: of the readout, where samples do not count alike.
    """
    if diagnoser.engine == "bilinear":
        return bilinear.place(diagnoser, params, weight, right)
    if diagnoser.engine == "neural":
        from camilla.fitting import neural

        return neural.place(diagnoser, params, weight, right, sample_weight)
    return diagnoser.place(params, weight, right)


def parameter_count(diagnoser: Any) -> int:
    """How many numbers a bilinear or neural diagnoser fits: every entry of its parameters, moments aside."""
    size: Size = diagnoser.size
    if diagnoser.engine == "bilinear":
        free = diagnoser.problem().free
        return size.n_learners * free.shape[1] + int(free.sum()) + size.n_samples
    start = Start(np.zeros(size.n_learners), np.zeros(size.n_samples))
    fields = diagnoser.init(np.random.default_rng(0), start)._asdict()
    trained = [value for name, value in fields.items() if diagnoser.axes[name][0] != "moment"]
    parts = [part for value in trained for part in (value if isinstance(value, tuple) else (value,))]
    return sum(part.size for part in parts)


def spread(diagnoser: Any, params: Any, layout: Layout, *, standard: bool = True) -> Spread | None:
    """How sure the fit is; None where the diagnoser's own readout knows."""
    if diagnoser.engine == "bilinear":
        return laplace.spread(diagnoser, params, layout, standard=standard)
    if diagnoser.engine == "neural":
        from camilla.fitting.learner_rows import neural_spread

        return neural_spread(diagnoser, params, layout)
    return None


def _choose(
    kind: type[Diagnoser], size: Size, layout: Layout, valid: Layout,
    *, settings: Mapping[str, Any], seed: int, watch: Watch,
) -> tuple[Any, dict[str, Any], Solution | None]:  # fmt: skip
    """One setting after the other at its best on validation, the others where they stand.

    The best trial's own solution is handed on if it was fitted to all samples.
    """
    open_choices = {
        name: values
        for name, values in kind.choices(size, settings).items()
        if name not in settings and len(values) > 1
    }
    current = dict(settings) | {name: values[0] for name, values in open_choices.items()}
    if not open_choices:
        return build(kind, size, current), {}, None
    small, inner, outer = fewer_samples(size, layout, valid, seed=seed)
    tried: dict[tuple[Any, ...], tuple[float, Solution]] = {}
    for name, values in open_choices.items():
        for value in values:
            trial = current | {name: value}
            key = _key(open_choices, trial)
            if key not in tried:
                watch("choosing " + ", ".join(f"{n} {trial[n]:g}" for n in open_choices))
                diagnoser = build(kind, small, trial)
                near = tried.get(_key(open_choices, current)) if name != "dimensions" else None
                earlier = None if near is None or kind.engine == "neural" else near[1]
                solution = solve(diagnoser, inner, seed, watch, valid=outer, earlier=earlier)
                tried[key] = _temperature(diagnoser, solution.params, outer)[1], solution
        current[name] = min(values, key=lambda v: tried[_key(open_choices, current | {name: v})][0])
    best = tried[_key(open_choices, current)][1] if small is size else None
    return build(kind, size, current), {name: current[name] for name in open_choices}, best


def _key(names: Iterable[str], settings: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(settings[name] for name in names)


def fewer_samples(
    size: Size, layout: Layout, valid: Layout, *, seed: int, most: int = CHOICE_SAMPLES
) -> tuple[Size, Layout, Layout]:
    """The same on at most so many samples, drawn at random."""
    if size.n_samples <= most:
        return size, layout, valid
    some = np.sort(np.random.default_rng(seed).permutation(size.n_samples)[:most])
    mask = None if size.skill_mask is None else size.skill_mask[some]
    smaller = replace(size, n_samples=most, skill_mask=mask)
    return smaller, _take(layout, some), _take(valid, some)


def _take(layout: Layout, samples: NDArray[np.intp]) -> Layout:
    learner, sample, weight, right = layout.cells()
    position = np.full(layout.n_samples, -1)
    position[samples] = np.arange(len(samples))
    kept = position[sample] >= 0
    return layout_of(
        learner[kept], position[sample[kept]], right[kept] / weight[kept], weight[kept],
        n_learners=layout.n_learners, n_samples=len(samples),
    )  # fmt: skip


def hold_out(layout: Layout, seed: int) -> tuple[Layout, Layout]:
    """The cells without a tenth of them, and that tenth."""
    rng = np.random.default_rng(seed)
    learner, sample, weight, right = layout.cells()
    out = rng.random(len(learner)) < HELD_OUT
    out[rng.integers(len(out))] = True

    def part(rows: NDArray[np.bool_]) -> Layout:
        return layout_of(
            learner[rows], sample[rows], right[rows] / weight[rows], weight[rows],
            n_learners=layout.n_learners, n_samples=layout.n_samples,
        )  # fmt: skip

    return part(~out), part(out)


def _temperature(diagnoser: Any, params: Any, valid: Layout) -> tuple[float, float]:
    """The T that makes σ(logit / T) fit validation best, and the loss there: convex in 1/T."""
    learner, sample, weight, right = valid.cells()
    logits = logit(diagnoser, params, learner, sample)
    response = right / weight
    if diagnoser.engine in ("counts", "linear"):
        return 1.0, log_loss(response, logits, weight)
    inverse = 1.0
    for _ in range(50):
        p = 1 / (1 + np.exp(-inverse * logits))
        slope = np.average(logits * (p - response), weights=weight)
        curve = np.average(logits**2 * p * (1 - p), weights=weight) + 1e-9
        step = np.clip(slope / curve, -0.5 * inverse, 0.5 * inverse)
        inverse -= step
        if abs(step) < 1e-8:
            break
    inverse = float(np.clip(inverse, 0.2, 5.0))
    return 1 / inverse, log_loss(response, inverse * logits, weight)
