"""Bayes: many-dimensional item response theory, read from draws of its posterior."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch, one_blas_thread, sigmoid
from camilla.extras import may_accelerate
from camilla.fitting.layout import Layout, Size
from camilla.fitting.new_learner import frames_of, placed_chances
from camilla.fitting.protocol import Indices, Level, Placement, Readout, Solution, Spread
from camilla.fitting.regression import Expansion
from camilla.fitting.sampler import Chain, Conditional, Design, Designs, Responses
from camilla.fitting.smoothing import learned_share, smoothing
from camilla.statistics.posterior import effective_draws

if TYPE_CHECKING:
    from camilla.fitting.device_chain import DeviceChain

SECONDS = 3.0  # that the draws of a table may take, on one core
FEWEST_DRAWS = 120
SHORTEST_BURN_IN = 40
KEPT = 200  # joint draws kept for abilities on any set of samples
MOST_NUMBERS = 20_000_000  # in the draws and frames that are kept, each
FRAMES = 24  # draws of the pool under which a new learner is placed
PLACED_DRAWS = 300
LARGEST = 6e4  # that float16 can hold
FEWEST_EFFECTIVE = 20  # independent draws, below which a chain counts as not converged


class BayesParams(NamedTuple):
    scores: Floats  # [draws, learners], expected score on all samples
    ability: Floats  # [kept, learners, dims]
    factor: Floats  # [kept, samples, 1 + dims]: intercept, then loadings
    frame_mean: Floats  # [frames, samples, 1 + dims], given the learners of a draw
    frame_root: Floats  # [frames, samples, (1 + dims)(2 + dims)/2], upper triangle
    logit: Floats  # [samples, learners], of the mean expected response
    logit_se: Floats  # [samples, learners]
    difficulty: Floats  # [samples]
    difficulty_se: Floats
    discrimination: Floats
    discrimination_se: Floats
    dispersion: Floats  # [1]
    sample_mean: Floats | None = (
        None  # [kept, 1 + dims], with features: factors have the mean + features · weight
    )
    sample_root: Floats | None = None  # [kept, 1 + dims, 1 + dims], and the covariance root root'
    sample_weight: Floats | None = None  # [kept, columns, 1 + dims]
    sample_basis: tuple[Floats, ...] | None = None  # of the columns, see Expansion
    sample_chance: Floats | None = None  # [1 + columns, learners], chances smoothed over the last kernel
    sample_share: Floats | None = None  # [1], of these in a prediction
    sample_beyond: Floats | None = None  # [kept, 1 + dims], standard deviations of the last kernel's weights
    learner_weight: Floats | None = None  # [kept, columns, dims]
    learner_basis: tuple[Floats, ...] | None = None


class _Plan(NamedTuple):
    """How long a chain runs, and how many of its draws are kept."""

    burn_in: int
    draws: int
    kept: int
    frames: int


@dataclass(frozen=True, eq=False)
class Bayes:
    """p = σ(cⱼ + vⱼ·θᵢ) as MIRT, with θ, v, c and the distribution of samples drawn from their posterior.

    Dimensions are not chosen: those that a table does not need shrink to nothing. They may be rotated
    freely and none is read. Ability is the expected score: the mean over samples of a learner's chances.
    Its interval holds what is not known of the learner, the samples and their distribution. With one
    dimension it is a Bayesian 2PL.
    """

    name: ClassVar[str] = "bayes"
    engine: ClassVar[str] = "sampled"
    tempered: ClassVar[bool] = False  # a posterior's predictions are as sure as they should be
    parameters_type: ClassVar[Any] = BayesParams
    axes: ClassVar[dict[str, tuple[str, ...]]] = {
        "scores": ("", "learner"),
        "ability": ("", "learner", "latent"),
        "factor": ("", "sample", "latent"),
        "frame_mean": ("", "sample", "latent"),
        "frame_root": ("", "sample", "latent"),
        "logit": ("sample", "learner"),
        "logit_se": ("sample", "learner"),
        "difficulty": ("sample",),
        "difficulty_se": ("sample",),
        "discrimination": ("sample",),
        "discrimination_se": ("sample",),
        "dispersion": ("",),
        "sample_mean": ("", "latent"),
        "sample_root": ("", "latent", "latent"),
        "sample_weight": ("", "", "latent"),
        "sample_basis": ("",),
        "sample_chance": ("", "learner"),
        "sample_share": ("",),
        "sample_beyond": ("", "latent"),
        "learner_weight": ("", "", "latent"),
        "learner_basis": ("",),
    }
    size: Size
    dimensions: int = 20  # at most; no more than two fewer than learners and a quarter of samples
    draws: int = 600  # at most; a large table gets fewer, 120 at least

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        return {}

    @property
    def n_dims(self) -> int:
        return max(1, min(self.dimensions, self.size.n_learners - 2, self.size.n_samples // 4))

    @property
    def has_features(self) -> bool:
        """Whether factors or abilities are regressed on features."""
        return self.size.sample_features is not None or self.size.learner_features is not None

    def _affordable(self) -> int:
        """Draws that take a few seconds on a core: a sweep costs so much per cell and per system solved."""
        n, m, width = self.size.n_learners, self.size.n_samples, self.n_dims + 1
        return int(SECONDS / (22e-9 * n * m + 27e-9 * (n + m) * width**2))

    @property
    def device(self) -> str | None:
        """The accelerator that the draws are made on, if there is one and a core would take much longer.

        Compiling takes it about 20 s.
        """
        if self.has_features or self._affordable() >= FEWEST_DRAWS or not may_accelerate():
            return None
        from camilla.fitting.device_chain import accelerator

        return accelerator()

    def _bases(self) -> "_Bases":
        """Features and kernels of them."""
        both = (self.size.sample_features, self.size.learner_features)
        return _Bases(*(None if one is None else Expansion.fit(*one) for one in both))

    def _chain(self, data: Responses, rng: np.random.Generator, bases: "_Bases") -> "Chain | DeviceChain":
        if self.device is None:
            return Chain(data, self.n_dims, rng, bases.designs(self.size))
        from camilla.fitting.device_chain import DeviceChain

        return DeviceChain(data, self.n_dims, rng)

    def _plan(self) -> _Plan:
        """All draws where an accelerator makes them, else as many as a core can afford."""
        n, m, width = self.size.n_learners, self.size.n_samples, self.n_dims + 1
        draws = self.draws
        if self.device is None:
            draws = min(draws, max(FEWEST_DRAWS, self._affordable()))
        kept = min(KEPT, draws, max(20, MOST_NUMBERS // (width * (n + m))))
        frames = min(FRAMES, draws, max(4, MOST_NUMBERS // (m * width * (width + 3) // 2)))
        return _Plan(max(SHORTEST_BURN_IN, draws // 6), draws, kept, frames)

    def solve(self, layout: Layout, rng: np.random.Generator, watch: Watch) -> Solution:
        weight, right = layout.block(np.arange(layout.n_samples))
        response = np.where(weight > 0, right / np.where(weight > 0, weight, 1), 0)
        plan = self._plan()
        with one_blas_thread():
            bases = self._bases()
            chain = self._chain(Responses(weight, response, self.size.fractional), rng, bases)
            for _ in range(plan.burn_in):
                chain.sweep()
            record = _Record(chain, plan, bases)
            for step in range(plan.draws):
                record.add(chain.sweep(keep_conditional=record.wants_frame(step)), step)
                if step % 50 == 49:
                    watch(f"{step + 1} of {plan.draws} draws")
            params = record.params(_first_alike(weight, response))
            if self.size.sample_features is not None:
                data = Responses(weight, response, self.size.fractional)
                share = learned_share(data, self.size.sample_features, self.n_dims, rng)
                params = params._replace(
                    sample_chance=_smoothed(chain, params, bases), sample_share=np.array([share])
                )
        p = sigmoid(params.logit.astype(np.float64))
        if self.size.fractional:
            params = params._replace(dispersion=_unseen_dispersion(params, p, weight, response))
        loss = np.average(-(response * np.log(p) + (1 - response) * np.log1p(-p)), weights=weight)
        effective = float(np.median(effective_draws(params.scores.astype(np.float64))))
        where = f" on the {self.device}" if self.device else ""
        watch(f"{plan.draws} draws{where}, as good as {effective:.0f} independent ones")
        return Solution(params, float(loss), float("nan"), plan.draws, effective >= FEWEST_EFFECTIVE)

    def logit(self, params: BayesParams, learner: NDArray[np.integer], sample: NDArray[np.integer]) -> Floats:
        return params.logit[sample, learner].astype(np.float64)

    def logit_se(
        self, params: BayesParams, learner: NDArray[np.integer], sample: NDArray[np.integer]
    ) -> Floats:
        return params.logit_se[sample, learner].astype(np.float64)

    def pool(self, params: BayesParams, readout: Readout) -> Level:
        return Level(readout.ability, readout.covariance, _PoolDraws(params))

    def place(self, params: BayesParams, weight: Floats, right: Floats) -> Placement:
        """Draws of a new learner's chances on every sample: [draws, samples]."""
        response = np.where(weight > 0, right / np.where(weight > 0, weight, 1), 0)
        with one_blas_thread():
            draws = placed_chances(
                np.random.default_rng(0), frames_of(params.frame_mean, params.frame_root), weight, response,
                dispersion=float(params.dispersion[0]), n_draws=-(-PLACED_DRAWS // len(params.frame_mean)),
            )  # fmt: skip
            chances = np.concatenate(list(draws))  # one frame's draws after the other's
        scores = chances.mean(axis=1, dtype=np.float64)
        return Placement(chances, np.array([[scores.var()]]), True)

    def level(self, params: BayesParams, placement: Placement) -> Level:
        score = placement.row.mean(dtype=np.float64)
        return Level(np.array([score]), placement.covariance, _PlacedDraws(placement.row))

    def readout(self, params: BayesParams, spread: Spread | None) -> Readout:
        """Discrimination and difficulty as a 2PL has them, along the learners' mean logit."""
        scores = params.scores.astype(np.float64)
        return Readout(
            ability=scores.mean(axis=0)[:, None],
            covariance=scores.var(axis=0)[:, None, None],
            skill_weight=None,
            difficulty=params.difficulty,
            discrimination=params.discrimination,
            interval="posterior draws",
            unit_scale=True,
            difficulty_se=params.difficulty_se,
            discrimination_se=params.discrimination_se,
            effective_draws=effective_draws(scores),
        )


class _Bases(NamedTuple):
    """What the columns of the regressions are made of."""

    samples: Expansion | None
    learners: Expansion | None

    def designs(self, size: Size) -> Designs:
        """The columns of the rows that are fitted."""
        both = zip(self, (size.sample_features, size.learner_features), strict=True)
        return Designs(
            *(
                None
                if basis is None or known is None
                else Design(basis.of(known.columns), basis.block, basis.n_orthogonal)
                for basis, known in both
            )
        )


class _PoolDraws(NamedTuple):
    """Draws of the pool's expected scores."""

    params: BayesParams

    @property
    def n_draws(self) -> int:
        return len(self.params.ability)

    def on(self, samples: Indices, shares: Floats | None = None) -> Floats:
        everything = len(samples) == self.params.factor.shape[1]
        if shares is None and everything and bool((np.diff(samples) == 1).all()):
            return self.params.scores.astype(np.float64)
        out = np.empty((self.n_draws, self.params.ability.shape[1]))
        with one_blas_thread():
            for d, (ability, factor) in enumerate(zip(self.params.ability, self.params.factor, strict=True)):
                part = factor[samples].astype(np.float32)
                p = sigmoid(part[:, 1:] @ ability.T.astype(np.float32) + part[:, :1])
                out[d] = p.mean(axis=0, dtype=np.float64) if shares is None else shares[d] @ p
        return out


class _PlacedDraws(NamedTuple):
    """Draws of a placed learner's chances: [draws, samples]."""

    chances: Floats

    @property
    def n_draws(self) -> int:
        return len(self.chances)

    def on(self, samples: Indices, shares: Floats | None = None) -> Floats:
        part = self.chances[:, samples].astype(np.float64)
        score = part.mean(axis=1) if shares is None else (part * shares).sum(axis=1)
        return np.asarray(score[:, None])


class _Record:
    """What is kept of a chain's draws."""

    def __init__(self, chain: "Chain | DeviceChain", plan: _Plan, bases: _Bases) -> None:
        n_samples, n_learners = chain.shape
        width = chain.n_dims + 1
        self.chain, self.plan = chain, plan
        self.scores = np.empty((plan.draws, n_learners))
        self.ability = np.empty((plan.kept, n_learners, chain.n_dims), np.float16)
        self.factor = np.empty((plan.kept, n_samples, width), np.float16)
        self.frame_mean = np.empty((plan.frames, n_samples, width), np.float32)
        self.frame_root = np.empty((plan.frames, n_samples, width * (width + 1) // 2), np.float16)
        self.dispersion = 0.0
        self.bases, self.regression = bases, _RegressionDraws()
        self.keep = {step: k for k, step in enumerate(_spaced(plan.draws, plan.kept))}
        self.frame = {step: k for k, step in enumerate(_spaced(plan.draws, plan.frames))}

    def wants_frame(self, step: int) -> bool:
        return step in self.frame

    def add(self, conditional: Conditional | None, step: int) -> None:
        chain = self.chain
        self.scores[step] = chain.tally()
        self.dispersion += chain.dispersion / self.plan.draws
        if (k := self.keep.get(step)) is not None:
            self.ability[k] = np.clip(chain.ability, -LARGEST, LARGEST)
            self.factor[k] = np.clip(chain.factor, -LARGEST, LARGEST)
            if isinstance(chain, Chain):
                self.regression.add(chain)
        if conditional is not None:
            k = self.frame[step]
            if isinstance(chain, Chain) and chain.regressions.learners is not None:
                conditional = _for_any_learner(conditional, chain.regressions.learners.mean)
            self.frame_mean[k] = conditional.mean
            upper = conditional.root[:, *np.triu_indices(conditional.root.shape[1])]
            self.frame_root[k] = np.clip(upper, -LARGEST, LARGEST)

    def params(self, alike: NDArray[np.intp]) -> BayesParams:
        """The draws; learners that answered all alike have the first one's, so that they tie."""
        n = self.plan.draws
        sums = self.chain.sums()
        p = np.clip(sums.chance / n, 1e-6, 1 - 1e-6)[:, alike]
        variance = np.maximum(sums.square / n - (sums.logit / n) ** 2, 0)[:, alike]
        se = np.minimum(np.sqrt(variance), LARGEST).astype(np.float16)
        slope, middle, slope2, middle2, product = sums.slopes / n
        sure = np.where(np.abs(slope) > 1e-9, slope, 1e-9)
        difficulty = -middle / sure
        var_slope, var_middle = slope2 - slope**2, middle2 - middle**2
        var_difficulty = var_middle + difficulty**2 * var_slope + 2 * difficulty * (product - slope * middle)
        return BayesParams(
            self.scores[:, alike].astype(np.float32), self.ability[:, alike], self.factor,
            self.frame_mean, self.frame_root,
            (np.log(p) - np.log1p(-p)).astype(np.float32), se,
            difficulty, np.sqrt(np.maximum(var_difficulty, 0)) / np.abs(sure),
            slope, np.sqrt(np.maximum(var_slope, 0)), np.array([self.dispersion]),
            **self.regression.fields(self.bases),
        )  # fmt: skip


class _RegressionDraws:
    """Weights of features, draw by draw."""

    def __init__(self) -> None:
        self.mean, self.root, self.weight = list[Floats](), list[Floats](), list[Floats]()
        self.beyond, self.learner_weight = list[Floats](), list[Floats]()

    def add(self, chain: Chain) -> None:
        """Keeps the present draw."""
        if chain.regressions.samples is not None:
            self.mean.append(chain.hyper.mean)
            self.root.append(np.linalg.inv(np.linalg.cholesky(chain.hyper.precision)).T)
            self.weight.append(chain.regressions.samples.weight.copy())
            self.beyond.append(np.sqrt(chain.regressions.samples.variance[-1]))
        if chain.regressions.learners is not None:
            self.learner_weight.append(chain.regressions.learners.weight.copy())

    def fields(self, bases: _Bases) -> dict[str, Any]:
        """Of the parameters; nothing where there are no features."""
        found: dict[str, Any] = {}
        if bases.samples is not None:
            found |= {
                "sample_mean": np.array(self.mean, np.float32),
                "sample_root": np.array(self.root, np.float32),
                "sample_weight": np.array(self.weight, np.float32),
                "sample_basis": bases.samples.arrays(),
                "sample_beyond": np.array(self.beyond, np.float32),
            }
        if bases.learners is not None:
            found["learner_weight"] = np.array(self.learner_weight, np.float32)
            found["learner_basis"] = bases.learners.arrays()
        return found


def _smoothed(chain: "Chain | DeviceChain", params: BayesParams, bases: _Bases) -> Floats | None:
    """What a kernel alone makes of the fitted chances; see `smoothing`."""
    if not isinstance(chain, Chain) or chain.regressions.samples is None or bases.samples is None:
        return None
    columns = chain.regressions.samples.design[:, len(bases.samples.block) - bases.samples.n_orthogonal :]
    return smoothing(columns, sigmoid(params.logit.astype(np.float64))).astype(np.float32)


def _for_any_learner(conditional: Conditional, expected: Floats) -> Conditional:
    """Samples as a learner of unknown features meets them: its abilities N(0, I + C) become N(0, I).

    C is the covariance of what features make of the pool's abilities.
    """
    n_dims = expected.shape[1]
    scale = np.eye(n_dims + 1)
    away = expected - expected.mean(axis=0)
    scale[1:, 1:] = np.linalg.cholesky(np.eye(n_dims) + away.T @ away / len(away)).T
    square = scale @ conditional.root  # its square is the covariance; the upper root is wanted
    covariance = square @ square.transpose(0, 2, 1)
    lower = np.linalg.cholesky(covariance[:, ::-1, ::-1])
    return Conditional(conditional.mean @ scale.T, lower[:, ::-1, ::-1])


def _unseen_dispersion(params: BayesParams, p: Floats, weight: Floats, response: Floats) -> Floats:
    """How far responses that were not fitted are from their expectations, by generalised cross-validation.

    Residuals of the fit are smaller by a share for each number fitted, which draws alone make up for only
    in part where there are more dimensions than it takes.
    """
    variance = p * (1 - p)
    noise = float(params.dispersion[0]) * variance
    fitted = np.sum(weight * (params.logit_se.astype(np.float64) * variance) ** 2 / noise)
    share = min(float(fitted) / max(float(np.sum(weight > 0)), 1.0), 0.5)
    left = float(np.sum(weight * (response - p) ** 2) / np.sum(weight * variance))
    return np.array([min(max(left / (1 - share) ** 2, float(params.dispersion[0])), 1.0)])


def _spaced(n_steps: int, n_kept: int) -> list[int]:
    """So many steps, evenly apart, the last one among them."""
    return [(k + 1) * n_steps // n_kept - 1 for k in range(n_kept)]


def _first_alike(weight: Floats, response: Floats) -> NDArray[np.intp]:
    """For each learner the first one with the same responses to the same samples."""
    rows = np.concatenate([weight, response]).T
    keys = [row.tobytes() for row in np.ascontiguousarray(rows)]
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(key, i) for i, key in enumerate(keys)], np.intp)
