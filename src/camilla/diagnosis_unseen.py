"""What a diagnosis expects of samples and learners that nobody has a response of."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, one_blas_thread, sigmoid
from camilla.display import Grid, Part, Printable, counted
from camilla.errors import DataError
from camilla.fitting.factors import Factors, pool_scale, with_features
from camilla.fitting.feature_priors import Regressed
from camilla.fitting.laplace import sample_covariance
from camilla.fitting.layout import layout_of
from camilla.fitting.regression import Expansion
from camilla.fitting.skill_effects import skill_weights
from camilla.fitting.smoothing import smoothed
from camilla.names import in_quotes, repeated
from camilla.table.encoding import Encoder
from camilla.table.features import Features

DRAWS = 2000  # of new samples or learners, several per draw of the posterior
CHUNK_NUMBERS = 20_000_000  # draws × learners × samples at a time
ENDS = (0.025, 0.975)
NEWTON_STEPS, LONGEST_STEP, LEAST_SLOPE = 4, 1.0, 0.002


@dataclass(frozen=True, eq=False, repr=False)
class NewPredictions(Printable):
    """What is expected of new samples or new learners.

    Attributes
    ----------
    responses : polars.DataFrame
        Columns learner, sample, probability (the expected response), and low and high: the 95 % interval of
        the chance, from everything that is not known of the learner and the sample.
    samples : polars.DataFrame
        One row per sample: `success_rate`, the expected share of right responses (mean response) over the
        learners, and low and high: the 95 % interval of the rate that one response of each learner will show.
    learners : polars.DataFrame
        One row per learner: `score`, the expected mean response over the samples, and low and high: the 95 %
        interval of the mean that one response to each sample will show.
    notes : tuple of str
        How the predictions were made.

    Examples
    --------
    >>> table = camilla.simulate(6, 40, seed=1).table
    >>> words = pl.DataFrame({"sample": table.samples, "words": range(40)})
    >>> diagnosis = camilla.diagnose(table.with_features(samples=words), "bayes", draws=100)
    >>> diagnosis.predict_new(samples=pl.DataFrame({"sample": ["new"], "words": [20]})).samples.columns
    ['sample', 'success_rate', 'low', 'high']
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"rows": 10}

    responses: pl.DataFrame
    samples: pl.DataFrame
    learners: pl.DataFrame
    notes: tuple[str, ...]

    def parts(self, *, rows: int = 40) -> list[Part]:
        """Returns the tables and sentences that `text` prints.

        Parameters
        ----------
        rows : int
            Number of rows of each table.

        Returns
        -------
        list of str and Grid
            Samples, learners, notes.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "bayes", draws=100)
        >>> new = diagnosis.predict_new(samples=["new"])
        >>> new.parts(rows=3)[-1].startswith("note: this diagnosis has no features")
        True
        """
        parts: list[Part] = []
        for what, frame in (("samples", self.samples), ("learners", self.learners)):
            of = "success rate over the learners" if what == "samples" else "score over the samples"
            more = "" if frame.height <= rows else f", the first {rows}"
            title = f"{counted(frame.height, what[:-1])}{more}: expected {of}, with 95 % prediction intervals"
            parts.append(Grid(title, frame.head(rows)))
        return [*parts, *(f"note: {note}" for note in self.notes)]


class _Side(NamedTuple):
    """Samples or learners that are predicted, and where their draws come from."""

    names: tuple[str, ...]
    known: NDArray[np.intp] | None  # indices of those that were fitted; None: new ones
    columns: Floats | None  # of the regression, for new ones with features
    beyond: Floats | None = None  # variance that the columns of the last kernel do not have


def predict_new(found: Any, samples: Any = None, learners: Any = None) -> NewPredictions:
    """Expected responses of new learners or on new samples; see `Diagnosis.predict_new`."""
    if samples is None and learners is None:
        raise DataError("no new samples and no new learners; give features or names of either.")
    notes: list[str] = []
    params = found.params
    of_samples = _side(found, samples, "sample", getattr(params, "sample_basis", None), notes)
    of_learners = _side(found, learners, "learner", getattr(params, "learner_basis", None), notes)
    with one_blas_thread():
        drawing = _drawing(params)
        if samples is not None and _skills_matter(found, drawing):
            notes.append(
                "the skills of a new sample are unknown; it is predicted to need those of a random sample of "
                "the table"
            )
        return _summed(found, of_samples, of_learners, drawing(found, of_samples, of_learners), notes)


def _skills_matter(found: Any, drawing: Any) -> bool:
    """Whether samples differ in the skills that their factors depend on."""
    if drawing is _by_draws:
        return found.params.effect is not None
    if drawing is _by_resampling:
        return False
    free = found.diagnoser.problem().free
    return bool(free.any() and not free.all())


def _drawing(params: Any) -> Callable[[Any, "_Side", "_Side"], Iterator["_Block"]]:
    """Where draws come from: those of a posterior, a Laplace approximation with features, or the table."""
    if hasattr(params, "frame_mean"):
        return _by_draws
    explained = isinstance(params, Factors) and (params.sample_basis or params.learner_basis)
    return _by_laplace if explained else _by_resampling


def _side(found: Any, given: Any, of: Any, basis: Sequence[Floats] | None, notes: list[str]) -> _Side:
    fitted = found.sample_names if of == "sample" else found.learner_names
    if given is None:
        return _Side(fitted, np.arange(len(fitted)), None)
    encoder: Encoder | None = getattr(found.encoders, f"{of}s")
    if encoder is None or basis is None:
        notes.append(
            f"this diagnosis has no features of {of}s, so every new {of} is predicted to be like a random "
            "one of the table: the constant baseline"
        )
        return _Side(_checked(_names(given, of), of), None, None)
    features = Features.read(given, of=of, kinds=encoder.kinds)
    rows, expansion = encoder.matrix(features), Expansion.restored(basis)
    columns = expansion.of(rows)
    beyond = expansion.kernels[-1].left(rows) if expansion.kernels else None
    notes += [*features.notes, *encoder.unknown_categories(features)]
    return _Side(_checked(features.names, of), None, columns, beyond)


def _names(given: Any, of: Any) -> tuple[str, ...]:
    """Names of new samples or learners that nothing else is needed of."""
    if isinstance(given, list | tuple) and all(isinstance(name, str) for name in given):
        return tuple(given)
    return Features.read(given, of=of).names


def _checked(names: tuple[str, ...], of: str) -> tuple[str, ...]:
    """At least one name, each once."""
    if not names:
        raise DataError(
            f"there are no new {of}s to predict: no row was given. Give one row for each new {of}."
        )
    if twice := repeated(names):
        raise DataError(f"new {of} {in_quotes(twice[0])} is named twice. Name it once.")
    return names


class _Block(NamedTuple):
    """Draws of chances, and responses drawn from them, of some samples."""

    samples: slice
    chance: Floats  # [draws, samples, learners]
    response: Floats


def _by_draws(found: Any, samples: _Side, learners: _Side) -> Iterator[_Block]:
    """From the posterior of bayes: weights, residuals of new rows, responses."""
    params, rng = found.params, np.random.default_rng(0)
    skills = None if params.effect is None else skill_weights(found.diagnoser.size.skill_mask)
    kept = len(params.ability)
    draw = [d % kept for d in range(max(DRAWS // kept, 1) * kept)]
    ability = np.stack([_abilities(params, d, learners, rng) for d in draw])
    dispersion = float(params.dispersion[0]) if found.diagnoser.size.fractional else 1.0
    for part in _chunks(len(samples.names), len(draw) * len(learners.names)):
        factor = np.stack([_factors(params, d, samples, part, skills, rng) for d in draw])
        logit = np.matmul(factor[:, :, 1:], ability.transpose(0, 2, 1)) + factor[:, :, :1]
        chance = sigmoid(_corrected(params, logit, samples, part, learners))
        yield _Block(part, chance, _responses(rng, chance, dispersion))


def _corrected(params: Any, logit: Floats, samples: _Side, part: slice, learners: _Side) -> Floats:
    """Draws of logits, each pair's shifted so that its mean chance goes some way to the smoothed one."""
    weights, share = getattr(params, "sample_chance", None), getattr(params, "sample_share", None)
    if weights is None or share is None or samples.columns is None or learners.known is None:
        return logit
    other = smoothed(weights[:, learners.known], samples.columns[part])
    wanted, shift = None, np.zeros(other.shape, logit.dtype)
    for _ in range(NEWTON_STEPS if share[0] > 0 else 0):
        chance = sigmoid(logit + shift)
        mean = chance.mean(axis=0, dtype=np.float64)
        wanted = (1 - share[0]) * mean + share[0] * other if wanted is None else wanted
        slope = mean - (chance**2).mean(axis=0, dtype=np.float64)
        step = (wanted - mean) / np.maximum(slope, LEAST_SLOPE)
        shift += np.clip(step, -LONGEST_STEP, LONGEST_STEP).astype(logit.dtype)
    return np.asarray(logit + shift)


def _abilities(params: Any, draw: int, learners: _Side, rng: np.random.Generator) -> Floats:
    """[learners, dims + skills] under a draw of the posterior."""
    fitted = params.ability[draw].astype(np.float32)
    if params.effect is not None:
        fitted = np.hstack([fitted, params.effect[draw].astype(np.float32)])
    if learners.known is not None:
        return fitted[learners.known]
    if learners.columns is None:
        return fitted[rng.integers(0, len(fitted), len(learners.names))]
    mean = learners.columns @ params.learner_weight[draw]
    noise = rng.standard_normal(mean.shape) + _beyond(params.learner_beyond, draw, learners.beyond, rng)
    if params.effect is None:
        return (mean + noise).astype(np.float32)
    effect = rng.standard_normal((len(mean), params.effect.shape[2])) * params.effect_scale[draw]
    return np.hstack([mean + noise, effect]).astype(np.float32)


def _factors(
    params: Any, draw: int, samples: _Side, part: slice, skills: Floats | None, rng: np.random.Generator
) -> Floats:
    """[samples, 1 + dims + skills] under a draw; a new sample needs the skills of a random one."""
    fitted = params.factor[draw].astype(np.float32)
    n = part.stop - part.start
    rows = rng.integers(0, len(fitted), n) if samples.known is None else samples.known[part]
    if samples.known is not None or samples.columns is None:
        factor = fitted[rows]
    else:
        mean = params.sample_mean[draw] + samples.columns[part] @ params.sample_weight[draw]
        if skills is not None:
            mean = mean + (skills[rows] - skills.mean(axis=0)) @ params.sample_skill[draw]
        noise = rng.standard_normal(mean.shape) @ params.sample_root[draw].T
        left = None if samples.beyond is None else samples.beyond[part]
        factor = mean + noise + _beyond(params.sample_beyond, draw, left, rng)
    if skills is not None:
        factor = np.hstack([factor, skills[rows]])
    return factor.astype(np.float32)


def _beyond(deviation: Floats | None, draw: int, left: Floats | None, rng: np.random.Generator) -> Any:
    """What the last kernel says of new rows and its columns lack; 0 without a kernel."""
    if deviation is None or left is None:
        return 0.0
    return rng.standard_normal((len(left), deviation.shape[1])) * deviation[draw] * np.sqrt(left)[:, None]


def _by_resampling(found: Any, samples: _Side, learners: _Side) -> Iterator[_Block]:
    """Without draws: a new sample or learner is any of those that were fitted."""
    rng, chances = np.random.default_rng(0), found.probabilities().T.astype(np.float32)
    who = np.tile(np.arange(chances.shape[1]), (DRAWS, 1))
    if learners.known is None:
        who = rng.integers(0, chances.shape[1], (DRAWS, len(learners.names)))
    for part in _chunks(len(samples.names), DRAWS * len(learners.names)):
        what = np.tile(np.arange(part.start, part.stop), (DRAWS, 1))
        if samples.known is None:
            what = rng.integers(0, len(chances), what.shape)
        chance = chances[what[:, :, None], who[:, None, :]]
        yield _Block(part, chance, _responses(rng, chance, 1.0))


def _by_laplace(found: Any, samples: _Side, learners: _Side) -> Iterator[_Block]:
    """From the mode of a fit with features: weights, residuals, fitted rows around their modes, responses."""
    rng, source = np.random.default_rng(0), _Laplace(found)
    ability = np.stack([source.abilities(learners, d, rng) for d in range(DRAWS)])
    dispersion = min(found.readout.dispersion, 1.0) if found.diagnoser.size.fractional else 1.0
    for part in _chunks(len(samples.names), DRAWS * len(learners.names)):
        drawn = source.factors(samples, part, rng)
        logit = np.matmul(drawn.loading, ability.transpose(0, 2, 1)) + drawn.intercept[:, :, None]
        chance = sigmoid(logit)
        if drawn.guessing is not None:
            chance = drawn.guessing[:, :, None] + (1 - drawn.guessing[:, :, None]) * chance
        yield _Block(part, chance, _responses(rng, chance, dispersion))


class _Laplace:
    """Draws of factors around the modes of a fit with features."""

    def __init__(self, found: Any) -> None:
        self.params: Factors = found.params
        self.problem = with_features(found.diagnoser.problem(), self.params)
        _, sd = pool_scale(self.problem, self.params)
        self.scale = np.sqrt(found.readout.dispersion)
        self.ability_root = _roots(found.readout.covariance * np.outer(sd, sd))
        cells = found.cells
        shape = {"n_learners": len(found.learner_names), "n_samples": len(found.sample_names)}
        self.layout = layout_of(cells.learner, cells.sample, cells.response, cells.weight, **shape)

    def abilities(self, side: _Side, draw: int, rng: np.random.Generator) -> Floats:
        """[learners, dims] of one draw."""
        fitted = self.params.ability
        if side.columns is not None and self.params.learner_regression is not None:
            shared = np.random.default_rng([1, draw])
            return (
                Regressed(*self.params.learner_regression).drawn(side.columns, shared, rng).astype(np.float32)
            )
        who = side.known
        if who is None:
            who = rng.integers(0, len(fitted), len(side.names))
        noise = rng.standard_normal((len(who), fitted.shape[1]))
        return (fitted[who] + np.einsum("nkl,nl->nk", self.ability_root[who], noise)).astype(np.float32)

    def factors(self, side: _Side, part: slice, rng: np.random.Generator) -> Factors:
        """[draws, samples, …] of all draws; without abilities."""
        params, n = self.params, part.stop - part.start
        what = rng.integers(0, len(params.intercept), (DRAWS, n))
        if side.known is not None:
            what = np.tile(side.known[part], (DRAWS, 1))
        if side.columns is not None and params.sample_regression is not None:
            drawn = self._regressed(Regressed(*params.sample_regression), side.columns[part], rng)
            drawn[:, :, 1:] = np.where(self.problem.free[what], drawn[:, :, 1:], self.problem.fixed)
        else:
            drawn = self._around(what, rng)
        loading = drawn[:, :, 1:]
        if self.problem.positive:
            loading = np.maximum(loading, 0)
        guessing = None if params.guessing is None else params.guessing[what].astype(np.float32)
        return Factors(np.empty(0), loading, drawn[:, :, 0], guessing)

    def _regressed(self, regressed: Regressed, x: Floats, rng: np.random.Generator) -> Floats:
        """Every part of the samples meets the same draws of the weights."""
        rows = [regressed.drawn(x, np.random.default_rng([0, draw]), rng) for draw in range(DRAWS)]
        return np.stack(rows).astype(np.float32)

    def _around(self, what: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Fitted samples, drawn around their modes."""
        seen, place = np.unique(what, return_inverse=True)
        root = self.scale * _roots(sample_covariance(self.problem, self.params, self.layout, seen))
        mode = np.column_stack([self.params.intercept, self.params.loading])[seen]
        noise = rng.standard_normal((*what.shape, mode.shape[1])).astype(np.float32)
        place = place.reshape(what.shape)
        out = np.empty(noise.shape, np.float32)
        for draw, own in enumerate(place):
            out[draw] = mode[own] + np.einsum("jkl,jl->jk", root[own], noise[draw])
        return out


def _roots(covariance: Floats) -> Floats:
    """Symmetric square roots, also where a variance is 0."""
    value, vector = np.linalg.eigh(covariance)
    return np.asarray(vector * np.sqrt(np.maximum(value, 0))[:, None, :])


def _responses(rng: np.random.Generator, chance: Floats, dispersion: float) -> Floats:
    """Right and wrong; with a dispersion below 1, beta responses of that share of the binary variance."""
    if dispersion >= 1:
        return (rng.random(chance.shape, dtype=np.float32) < chance).astype(np.float32)
    size = max(1 / max(dispersion, 1e-3) - 1, 1e-3)
    inside = np.clip(chance.astype(np.float64), 1e-4, 1 - 1e-4)
    return rng.beta(size * inside, size * (1 - inside)).astype(np.float32)


def _chunks(n_samples: int, numbers: int) -> Iterator[slice]:
    step = max(1, CHUNK_NUMBERS // max(numbers, 1))
    for start in range(0, n_samples, step):
        yield slice(start, min(start + step, n_samples))


def _summed(
    found: Any, samples: _Side, learners: _Side, blocks: Iterator[_Block], notes: list[str]
) -> NewPredictions:
    """Means and intervals of pairs, samples and learners."""
    shape = (len(samples.names), len(learners.names))
    mean, low, high = np.empty(shape), np.empty(shape), np.empty(shape)
    rate, total = np.empty((3, shape[0])), np.zeros(())
    expected = np.zeros(shape[1])
    for part, chance, response in blocks:
        mean[part] = chance.mean(axis=0, dtype=np.float64)
        low[part], high[part] = np.quantile(chance, ENDS, axis=0)
        rates = response.mean(axis=2, dtype=np.float64)
        rate[0, part] = chance.mean(axis=(0, 2), dtype=np.float64)
        rate[1:, part] = np.quantile(rates, ENDS, axis=0)
        total = total + response.sum(axis=1, dtype=np.float64)
        expected += chance.sum(axis=1, dtype=np.float64).mean(axis=0)
    ends = np.quantile(total / shape[0], ENDS, axis=0)
    who, what = np.repeat(np.arange(shape[1]), shape[0]), np.tile(np.arange(shape[0]), shape[1])
    responses = pl.DataFrame(
        {
            "learner": np.array(learners.names, object)[who],
            "sample": np.array(samples.names, object)[what],
            "probability": mean.T.ravel(),
            "low": low.T.ravel(),
            "high": high.T.ravel(),
        },
        schema_overrides={"learner": pl.String, "sample": pl.String},
    )
    by_sample = {"sample": samples.names, "success_rate": rate[0], "low": rate[1], "high": rate[2]}
    by_learner = {"learner": learners.names, "score": expected / shape[0], "low": ends[0], "high": ends[1]}
    return NewPredictions(responses, pl.DataFrame(by_sample), pl.DataFrame(by_learner), tuple(notes))
