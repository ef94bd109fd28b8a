"""Responses to a fitted diagnoser: settings chosen on validation, the fit, a temperature."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from types import UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch, log_loss, rounded, sigmoid
from camilla.errors import SettingError
from camilla.fitting.engines import engine_of
from camilla.fitting.layout import Layout, Size, layout_of
from camilla.fitting.protocol import Diagnoser, Indices, Readout, Solution
from camilla.fitting.training import Training

CHOICE_SAMPLES = 2000  # settings are chosen on at most this many samples


class FittedDiagnoser(NamedTuple):
    """A diagnoser, where its fit arrived, and what was chosen on the way."""

    diagnoser: Diagnoser
    solution: Solution
    temperature: float
    chosen: dict[str, Any]
    validation_loss: float
    settings: dict[str, Any]  # all of them, as plain data

    def readout(self, layout: Layout, *, standard: bool = True, errors: bool = True) -> Readout:
        """What a person reads of the fit; see `Engine.spread`."""
        diagnoser, params = self.diagnoser, self.solution.params
        spread = engine_of(diagnoser).spread(diagnoser, params, layout, standard=standard, errors=errors)
        return diagnoser.readout(params, spread)

    def logit(self, learner: Indices, sample: Indices) -> Floats:
        """The logit of the expected response of each (learner, sample) pair, at the fit's temperature."""
        engine = engine_of(self.diagnoser)
        return engine.logit(self.diagnoser, self.solution.params, learner, sample) / self.temperature


def fit(
    kind: type[Diagnoser], size: Size, layout: Layout,
    *, settings: Mapping[str, Any], seed: int, valid: Layout | None, watch: Watch,
) -> FittedDiagnoser:  # fmt: skip
    """The diagnoser fitted to `layout`; without `valid`, a tenth of the cells is held out and given back.

    Where nothing is to be chosen on it, nothing is held out.
    """
    if valid is not None:
        return trial(kind, size, layout, valid, settings=settings, seed=seed, watch=watch)
    layout = engine_of(kind).taken(layout)
    if not open_choices_of(kind, size, settings) and not engine_of(kind).tempered(
        build(kind, size, settings)
    ):
        diagnoser = build(kind, size, settings)
        watch("fitting")
        solution = solve(diagnoser, layout, seed, watch)
        return FittedDiagnoser(diagnoser, solution, 1.0, {}, float("nan"), settings_as_data(diagnoser))
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
    return FittedDiagnoser(diagnoser, solution, temperature, chosen, loss, settings_as_data(diagnoser))


def chosen_settings(
    kind: type[Diagnoser], size: Size, layout: Layout, valid: Layout,
    *, settings: Mapping[str, Any], seed: int, watch: Watch,
) -> dict[str, Any]:  # fmt: skip
    """What is chosen of the settings that are left open."""
    return _choose(kind, size, layout, valid, settings=settings, seed=seed, watch=watch)[1]


def refit(found: FittedDiagnoser, layout: Layout, *, seed: int, watch: Watch) -> FittedDiagnoser:
    """The same diagnoser, settings and temperature on all responses."""
    watch("fitting on all responses")
    again = solve(found.diagnoser, layout, seed, watch, earlier=found.solution)
    return found._replace(solution=again._replace(converged=again.converged and found.solution.converged))


def enlarged(
    found: FittedDiagnoser, size: Size, layout: Layout, *, seed: int, watch: Watch
) -> FittedDiagnoser:
    """What was tried on some samples, with its settings and temperature, on all responses to all of them."""
    if found.diagnoser.size.n_samples == size.n_samples:
        return refit(found, layout, seed=seed, watch=watch)
    watch("fitting on all samples")
    diagnoser = replace(found.diagnoser, size=size)  # type: ignore[type-var]
    return found._replace(diagnoser=diagnoser, solution=solve(diagnoser, layout, seed, watch))


def build(kind: type[Diagnoser], size: Size, settings: Mapping[str, Any]) -> Diagnoser:
    """The diagnoser with these settings, once they are checked."""
    check_settings(kind, settings)
    return kind(size, **settings)  # type: ignore[call-arg]


def solve(
    diagnoser: Diagnoser, layout: Layout, seed: int, watch: Watch,
    *, valid: Layout | None = None, earlier: Solution | None = None, settle: bool = True,
) -> Solution:  # fmt: skip
    """The diagnoser's parameters on these responses, going by an earlier solution where there is one.

    Trials of settings need not `settle`: see `Engine.settled`.
    """
    rng, engine = np.random.default_rng(seed), engine_of(diagnoser)
    solution = engine.solve(diagnoser, layout, rng, watch, valid=valid, earlier=earlier)
    if not settle:
        return solution
    return engine.settled(diagnoser, solution, layout, valid=valid, earlier=earlier)


def _choose(
    kind: type[Diagnoser], size: Size, layout: Layout, valid: Layout,
    *, settings: Mapping[str, Any], seed: int, watch: Watch,
) -> tuple[Diagnoser, dict[str, Any], Solution | None]:  # fmt: skip
    """Settings from which no neighbour on the grid predicts validation better.

    The search starts at the first values, climbs along one setting after the other and goes on until a whole
    round changes nothing. Of settings whose losses agree to six digits the first is kept. The best trial's
    own solution is handed on if it was fitted to all samples, and no shorter than a fit is.
    """
    open_choices = open_choices_of(kind, size, settings)
    current = dict(settings) | {name: values[0] for name, values in open_choices.items()}
    if not open_choices:
        return build(kind, size, current), {}, None
    small, inner, outer = fewer_samples(size, layout, valid, seed=seed)
    tried: dict[tuple[Any, ...], tuple[float, Solution]] = {}

    def loss(trial: dict[str, Any]) -> float:
        key = _key(open_choices, trial)
        if key not in tried:
            watch("choosing " + ", ".join(f"{n} {trial[n]:g}" for n in open_choices))
            diagnoser = build(kind, small, trial)
            near = tried.get(_key(open_choices, current))
            alike = near is not None and trial.get("dimensions") == current.get("dimensions")
            earlier = near[1] if near is not None and alike and engine_of(kind).continues else None
            tried_as = engine_of(kind).as_tried(diagnoser)
            solution = solve(tried_as, inner, seed, watch, valid=outer, earlier=earlier, settle=False)
            tried[key] = float(rounded(_temperature(diagnoser, solution.params, outer)[1])), solution
        return tried[key][0]

    before = None
    while before != current:
        before = dict(current)
        for name, values in open_choices.items():
            current = _climbed(current, name, sorted(values), loss)
    diagnoser, chosen = build(kind, size, current), {name: current[name] for name in open_choices}
    if small is not size or engine_of(kind).as_tried(diagnoser) is not diagnoser:
        return diagnoser, chosen, None
    best = tried[_key(open_choices, current)][1]
    return diagnoser, chosen, engine_of(kind).settled(diagnoser, best, layout, valid=valid)


def _climbed(
    current: dict[str, Any], name: str, ladder: list[Any], loss: Callable[[dict[str, Any]], float]
) -> dict[str, Any]:
    """The settings with one of them moved up or down as long as the loss falls."""
    for step in (-1, 1):
        place = ladder.index(current[name])
        while 0 <= place + step < len(ladder):
            trial = current | {name: ladder[place + step]}
            if loss(trial) >= loss(current):
                break
            current, place = trial, place + step
    return current


def at_an_end(kind: type[Diagnoser], size: Size, chosen: Mapping[str, Any]) -> list[str]:
    """The chosen settings that are the smallest or largest value there was to choose."""
    grid = kind.choices(size, {})
    ends = {name: (min(grid[name]), max(grid[name])) for name in chosen if name in grid}
    return [name for name, edge in ends.items() if chosen[name] in edge]


def open_choices_of(
    kind: type[Diagnoser], size: Size, settings: Mapping[str, Any]
) -> dict[str, tuple[Any, ...]]:
    """The settings that are left to be chosen, with their values."""
    choices = kind.choices(size, settings).items()
    return {name: values for name, values in choices if name not in settings and len(values) > 1}


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
    features = None if size.sample_features is None else size.sample_features.take(some)
    smaller = replace(size, n_samples=most, skill_mask=mask, sample_features=features)
    return smaller, _take(layout, some), _take(valid, some)


def _take(layout: Layout, samples: NDArray[np.intp]) -> Layout:
    position = np.full(layout.n_samples, -1)
    position[samples] = np.arange(len(samples))
    parts = []
    for learner, sample, weight, right in layout.pieces():
        kept = position[sample] >= 0
        parts.append((learner[kept], position[sample[kept]], right[kept] / weight[kept], weight[kept]))
    learner, sample, response, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
    return layout_of(learner, sample, response, weight, n_learners=layout.n_learners, n_samples=len(samples))


def hold_out(layout: Layout, seed: int) -> tuple[Layout, Layout]:
    """The cells without a tenth of them, and that tenth."""
    return layout.parted(seed)


class _Scored(NamedTuple):
    """Some responses beside the logits that were predicted for them."""

    logit: Floats
    response: Floats
    weight: Floats


def _temperature(diagnoser: Diagnoser, params: Any, valid: Layout) -> tuple[float, float]:
    """The T that makes σ(logit / T) fit validation best, and the loss there: convex in 1/T."""
    engine = engine_of(diagnoser)
    kind = np.float32 if valid.drawn else np.float64
    parts = [
        _Scored(
            engine.logit(diagnoser, params, learner, sample).astype(kind, copy=False), right / weight, weight
        )
        for learner, sample, weight, right in valid.pieces()
        if len(learner)
    ]
    inverse = _inverse_temperature(parts) if engine.tempered(diagnoser) else 1.0
    total = [float(part.weight.sum()) for part in parts]
    losses = [log_loss(part.response, inverse * part.logit, part.weight) for part in parts]
    return 1 / inverse, losses[0] if len(parts) == 1 else float(np.average(losses, weights=total))


def _inverse_temperature(parts: list[_Scored]) -> float:
    """Newton's steps from 1."""
    inverse, total = 1.0, sum(part.weight.sum() for part in parts)
    for _ in range(50):
        slope, curve = 0.0, 1e-9
        for logits, response, weight in parts:
            p = sigmoid(inverse * logits)
            slope += ((logits * (p - response)) * weight).sum() / total
            curve += ((logits**2 * p * (1 - p)) * weight).sum() / total
        step = np.clip(slope / curve, -0.5 * inverse, 0.5 * inverse)
        inverse -= step
        if abs(step) < 1e-8:
            break
    return float(np.clip(inverse, 0.2, 5.0))


LIMITS = {"skill_correlation": (0.0, 0.99), "guessing": (0.0, 0.9)}  # every other number is 0 or more


def check_settings(kind: Any, settings: Mapping[str, Any]) -> None:
    """Refuses a setting the diagnoser does not have, or a value it cannot have."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in _names(kind)}
    for name, value in settings.items():
        if name not in hints:
            there = ", ".join(hints) or "none"
            raise SettingError(f"{kind.name} has no setting {name!r}; it has: {there}.")
        if wanted := _objection(name, hints[name], value):
            raise SettingError(f"{kind.name}: {name} must be {wanted}; got {value!r}.")


def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind) if field.name != "size"]


def _objection(name: str, hint: Any, value: Any) -> str | None:
    """What was expected instead, or None if the value can be used."""
    if get_origin(hint) is Literal:
        fine = any(value == one and type(value) is type(one) for one in get_args(hint))
        return None if fine else "one of " + ", ".join(map(str, get_args(hint)))
    if hint is bool:
        return None if isinstance(value, bool) else "true or false"
    if hint is int:
        return None if _whole(value) else "a whole number, 1 or more"
    if hint is float:
        low, high = LIMITS.get(name, (0.0, float("inf")))
        number = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        return None if number and value < float("inf") else f"a number from {low:g} to {high:g}"
    if get_origin(hint) is tuple:
        fine = isinstance(value, tuple) and len(value) > 0 and all(_whole(part) for part in value)
        return None if fine else "one or more whole numbers, such as 128x64"
    optional = isinstance(hint, UnionType) and value is None
    return None if optional or isinstance(value, Training) else "a Training (Python only)"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def settings_as_data(diagnoser: Any) -> dict[str, Any]:
    """Every setting but the size, as numbers, texts, lists and maps."""
    return {
        field.name: _plain(getattr(diagnoser, field.name))
        for field in fields(diagnoser)
        if field.name != "size"
    }


def settings_from_data(data: dict[str, Any]) -> dict[str, Any]:
    """What `settings_as_data` wrote, as a diagnoser takes it."""
    return {name: _rich(name, value) for name, value in data.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Training):
        return value._asdict()
    return list(value) if isinstance(value, tuple) else value


def _rich(name: str, value: Any) -> Any:
    if name == "training" and value is not None:
        return Training(**value)
    return tuple(value) if isinstance(value, list) else value
