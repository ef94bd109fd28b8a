"""Bayes: many-dimensional item response theory, read from draws of its posterior."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from camilla.arrays import Floats, Watch, one_blas_thread, sigmoid
from camilla.display import counted
from camilla.errors import SettingError
from camilla.extras import may_accelerate
from camilla.fitting.layout import Encoded, Layout, Size
from camilla.fitting.new_learner import frames_of, placed_chances
from camilla.fitting.protocol import Indices, Level, Placement, Readout, Solution, Spread
from camilla.fitting.regression import Expansion
from camilla.fitting.regression_draws import Bases, RegressionDraws
from camilla.fitting.sampler import Chain, Conditional, Responses, Sums
from camilla.fitting.skill_effects import EffectDraws, has_effects, skill_weights
from camilla.fitting.smoothing import learned_share, smoothing
from camilla.parallel import in_order
from camilla.statistics.posterior import effective_draws, r_hat

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
LARGEST_R_HAT = 1.1  # of the median learner, above which several do (Gelman and Rubin 1992)
SHORTEST_CHAIN = 10  # draws
LONGEST_BURN_IN = 100  # of each of several chains: they find each other within 40 (docs/diagnosers/bayes.md)


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
    learner_beyond: Floats | None = None  # [kept, dims], as sample_beyond
    chain: NDArray[np.int64] | None = None  # [chains], draws of each; with one chain there is none
    effect: Floats | None = None  # [kept, learners, skills], with a skill map: what is added on each skill
    effect_scale: Floats | None = None  # [kept], their standard deviation
    frame_effect_scale: Floats | None = None  # [frames]
    sample_skill: Floats | None = None  # [kept, skills, 1 + dims], with features too: as sample_weight


class _Plan(NamedTuple):
    """How long a chain runs, and how many of its draws are kept."""

    burn_in: int
    draws: int
    kept: int
    frames: int

    def split(self, chains: int) -> "list[_Plan]":
        """The draws dealt out to chains, each with a burn-in of its own."""
        shares = ([len(part) for part in np.array_split(np.arange(n), chains)] for n in self[1:])
        burn_in = min(self.burn_in, LONGEST_BURN_IN)
        return [_Plan(burn_in, *numbers) for numbers in zip(*shares, strict=True)]


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
        "learner_beyond": ("", "latent"),
        "chain": ("",),
        "effect": ("", "learner", "skill"),
        "effect_scale": ("",),
        "frame_effect_scale": ("",),
        "sample_skill": ("", "skill", "latent"),
    }
    size: Size
    dimensions: int = 20  # at most; no more than two fewer than learners and a quarter of samples
    draws: int = 600  # at most; a large table gets fewer, 120 at least
    chains: int = 1  # that share the draws, each with a burn-in of its own

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
        plain = not self.has_features and not has_effects(self.size.skill_mask)
        if not plain or self._affordable() >= FEWEST_DRAWS or not may_accelerate():
            return None
        from camilla.fitting.device_chain import accelerator

        return accelerator()

    def _bases(self) -> Bases:
        """Features and kernels of them."""
        both = (self.size.sample_features, self.size.learner_features)
        return Bases(*(None if one is None else Expansion.fit(*one) for one in both))

    def _chain(
        self, data: Responses, rng: np.random.Generator, bases: Bases, device: str | None
    ) -> "Chain | DeviceChain":
        if device is None:
            return Chain(data, self.n_dims, rng, bases.designs(self.size))
        from camilla.fitting.device_chain import DeviceChain

        return DeviceChain(data, self.n_dims, rng)

    def _plan(self, device: str | None) -> _Plan:
        """All draws where an accelerator makes them, else as many as a core can afford for each chain."""
        n, m, width = self.size.n_learners, self.size.n_samples, self.n_dims + 1
        least = SHORTEST_CHAIN * self.chains
        if self.draws < least:
            fewer = max(1, self.draws // SHORTEST_CHAIN)
            remedy = f"{counted(fewer, 'chain')} at most, or for " if self.chains > 1 else ""
            raise SettingError(
                f"bayes: draws={self.draws} is too few for {counted(self.chains, 'chain')}; each chain needs "
                f"{SHORTEST_CHAIN} draws. Ask for {remedy}draws={least} or more."
            )
        draws = self.draws
        if device is None:
            draws = min(draws, self.chains * max(FEWEST_DRAWS, self._affordable()))
        kept = min(KEPT, draws, max(20, MOST_NUMBERS // (width * (n + m) + n * self.size.n_skills)))
        frames = min(FRAMES, draws, max(4, MOST_NUMBERS // (m * width * (width + 3) // 2)))
        return _Plan(max(SHORTEST_BURN_IN, draws // 6), draws, kept, frames)

    def solve(self, layout: Layout, rng: np.random.Generator, watch: Watch) -> Solution:
        weight, right = layout.block(np.arange(layout.n_samples))
        response = np.where(weight > 0, right / np.where(weight > 0, weight, 1), 0)
        device = self.device
        plan = self._plan(device)
        data = Responses(weight, response, self.size.fractional)
        with one_blas_thread():
            bases = self._bases()
            if self.chains == 1:
                draws = [self._run(data, rng, bases, plan, device, watch)]
            else:
                draws = self._run_chains(data, rng, bases, plan.split(self.chains), device, watch)
            alike = _first_alike(weight, response, self.size.learner_features)
            params = _params(draws, alike, bases)
            params = params._replace(**self._smoothed(params, data, rng, bases))
        p = sigmoid(params.logit.astype(np.float64))
        if self.size.fractional:
            params = params._replace(dispersion=_unseen_dispersion(params, p, weight, response))
        loss = np.average(-(response * np.log(p) + (1 - response) * np.log1p(-p)), weights=weight)
        effective, agreement = _quality(params)
        where = f" on the {device}" if device else ""
        watch(f"{plan.draws} draws{where}, as good as {np.median(effective):.0f} independent ones")
        converged = float(np.median(effective)) >= FEWEST_EFFECTIVE
        converged &= agreement is None or float(np.median(agreement)) <= LARGEST_R_HAT
        return Solution(params, float(loss), float("nan"), plan.draws, converged)

    def _run(
        self, data: Responses, rng: np.random.Generator, bases: Bases, plan: _Plan, device: str | None,
        watch: Watch,
    ) -> "_Draws":  # fmt: skip
        """One chain of a diagnosis; of several each starts elsewhere."""
        with one_blas_thread():
            chain = self._chain(data, rng, bases, device)
            if self.chains > 1:
                chain.scatter()
            for _ in range(plan.burn_in):
                chain.sweep()
            record = _Record(chain, plan)
            for step in range(plan.draws):
                record.add(chain.sweep(keep_conditional=record.wants_frame(step)), step)
                if step % 50 == 49:
                    watch(f"{step + 1} of {plan.draws} draws")
        return record.draws()

    def _smoothed(
        self, params: BayesParams, data: Responses, rng: np.random.Generator, bases: Bases
    ) -> dict[str, Any]:
        """What the kernel alone makes of the fitted chances, and how much it counts on new samples."""
        features, basis = self.size.sample_features, bases.samples
        if features is None or basis is None or not basis.n_orthogonal:
            return {}
        columns = basis.of(features.columns)[:, -basis.n_orthogonal :]
        chance = smoothing(columns, sigmoid(params.logit.astype(np.float64))).astype(np.float32)
        share = learned_share(data, features, self.n_dims, rng)
        return {"sample_chance": chance, "sample_share": np.array([share])}

    def _run_chains(
        self, data: Responses, rng: np.random.Generator, bases: Bases, plans: "list[_Plan]",
        device: str | None, watch: Watch,
    ) -> "list[_Draws]":  # fmt: skip
        """Every chain with a seed of its own; an accelerator runs one after the other."""
        tasks = [
            (self, data, seed, bases, plan, device, _unwatched)
            for seed, plan in zip(rng.spawn(len(plans)), plans, strict=True)
        ]
        if device is not None:
            return [Bayes._run(*task) for task in tasks]
        return in_order(Bayes._run, tasks, lambda count: watch(f"{count} of {len(tasks)} chains"))

    def logit(self, params: BayesParams, learner: NDArray[np.integer], sample: NDArray[np.integer]) -> Floats:
        return params.logit[sample, learner].astype(np.float64)

    def logit_se(
        self, params: BayesParams, learner: NDArray[np.integer], sample: NDArray[np.integer]
    ) -> Floats:
        return params.logit_se[sample, learner].astype(np.float64)

    def pool(self, params: BayesParams, readout: Readout) -> Level:
        return Level(readout.ability, readout.covariance, _PoolDraws(params, self.size.skill_mask))

    def place(self, params: BayesParams, weight: Floats, right: Floats) -> Placement:
        """Draws of a new learner's chances on every sample: [draws, samples]."""
        response = np.where(weight > 0, right / np.where(weight > 0, weight, 1), 0)
        mask, skills = self.size.skill_mask, None
        if mask is not None and params.frame_effect_scale is not None:
            skills = skill_weights(mask)
        frames = frames_of(params.frame_mean, params.frame_root, skills, params.frame_effect_scale)
        with one_blas_thread():
            draws = placed_chances(
                np.random.default_rng(0), frames, weight, response,
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
        effective, agreement = _quality(params)
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
            effective_draws=effective,
            r_hat=agreement,
        )


class _PoolDraws(NamedTuple):
    """Draws of the pool's expected scores."""

    params: BayesParams
    skill_mask: NDArray[np.bool_] | None

    @property
    def n_draws(self) -> int:
        return len(self.params.ability)

    def on(self, samples: Indices, shares: Floats | None = None) -> Floats:
        everything = len(samples) == self.params.factor.shape[1]
        if shares is None and everything and bool((np.diff(samples) == 1).all()):
            return np.ascontiguousarray(self.params.scores, np.float64)  # sums in one order, saved or not
        out = np.empty((self.n_draws, self.params.ability.shape[1]))
        effect, weight = self.params.effect, None
        if effect is not None and self.skill_mask is not None:
            weight = sparse.csr_array(skill_weights(self.skill_mask[samples]).astype(np.float32))
        with one_blas_thread():
            for d, (ability, factor) in enumerate(zip(self.params.ability, self.params.factor, strict=True)):
                part = factor[samples].astype(np.float32)
                logit = part[:, 1:] @ ability.T.astype(np.float32) + part[:, :1]
                if effect is not None and weight is not None:
                    logit += weight @ effect[d].T.astype(np.float32)
                p = sigmoid(logit)
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


def _unwatched(line: str) -> None:
    """Of a chain that may run elsewhere."""


def _quality(params: BayesParams) -> tuple[Floats, Floats | None]:
    """Of each learner's score: effective draws, and how far several chains agree."""
    scores = params.scores.astype(np.float64)
    if params.chain is None:
        return effective_draws(scores), None
    lengths = params.chain.tolist()
    return effective_draws(scores, lengths), r_hat(scores, lengths)


class _Draws(NamedTuple):
    """What is kept of a chain."""

    scores: Floats
    ability: Floats
    factor: Floats
    frame_mean: Floats
    frame_root: Floats
    dispersion: float  # mean over the draws
    sums: Sums
    regression: RegressionDraws
    effects: EffectDraws


class _Record:
    """A chain's draws while it runs."""

    def __init__(self, chain: "Chain | DeviceChain", plan: _Plan) -> None:
        n_samples, n_learners = chain.shape
        width = chain.n_dims + 1
        self.chain, self.plan = chain, plan
        self.scores = np.empty((plan.draws, n_learners))
        self.ability = np.empty((plan.kept, n_learners, chain.n_dims), np.float16)
        self.factor = np.empty((plan.kept, n_samples, width), np.float16)
        self.frame_mean = np.empty((plan.frames, n_samples, width), np.float32)
        self.frame_root = np.empty((plan.frames, n_samples, width * (width + 1) // 2), np.float16)
        self.dispersion = 0.0
        self.regression = RegressionDraws([], [], [], [], [], [])
        self.effects = EffectDraws([], [], [], [])
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
                if chain.effects is not None and chain.regressions.skills is not None:
                    self.effects.value.append(chain.effects.value)
                    self.effects.scale.append(chain.effects.variance**0.5)
                    self.effects.by_skill.append(chain.regressions.skills.weight.copy())
        if conditional is not None:
            k = self.frame[step]
            if isinstance(chain, Chain) and chain.regressions.learners is not None:
                conditional = _for_any_learner(conditional, chain.regressions.learners.mean)
            self.frame_mean[k] = conditional.mean
            if isinstance(chain, Chain) and chain.effects is not None:
                self.effects.frame_scale.append(chain.effects.variance**0.5)
            upper = conditional.root[:, *np.triu_indices(conditional.root.shape[1])]
            self.frame_root[k] = np.clip(upper, -LARGEST, LARGEST)

    def draws(self) -> _Draws:
        """When it has run."""
        return _Draws(
            self.scores, self.ability, self.factor, self.frame_mean, self.frame_root,
            self.dispersion, self.chain.sums(), self.regression, self.effects,
        )  # fmt: skip


def _pooled(chains: Sequence[_Draws]) -> _Draws:
    """The draws of all chains, one chain after the other."""
    if len(chains) == 1:
        return chains[0]
    scores, ability, factor, mean, root = (
        np.concatenate(parts) for parts in zip(*(one[:5] for one in chains), strict=True)
    )
    lengths = [len(one.scores) for one in chains]
    return _Draws(
        scores, ability, factor, mean, root,
        float(np.average([one.dispersion for one in chains], weights=lengths)),
        Sums(*(reduce(add, parts) for parts in zip(*(one.sums for one in chains), strict=True))),
        RegressionDraws(
            *(reduce(add, parts) for parts in zip(*(one.regression for one in chains), strict=True))
        ),
        EffectDraws(*(reduce(add, parts) for parts in zip(*(one.effects for one in chains), strict=True))),
    )  # fmt: skip


def _params(chains: Sequence[_Draws], alike: NDArray[np.intp], bases: Bases) -> BayesParams:
    """All draws; learners that answered all alike have the first one's, so that they tie."""
    draws = _pooled(chains)
    n, sums = len(draws.scores), draws.sums
    p = np.clip(sums.chance / n, 1e-6, 1 - 1e-6)[:, alike]
    variance = np.maximum(sums.square / n - (sums.logit / n) ** 2, 0)[:, alike]
    se = np.minimum(np.sqrt(variance), LARGEST).astype(np.float16)
    slope, middle, slope2, middle2, product = sums.slopes / n
    sure = np.where(np.abs(slope) > 1e-9, slope, 1e-9)
    difficulty = -middle / sure
    var_slope, var_middle = slope2 - slope**2, middle2 - middle**2
    var_difficulty = var_middle + difficulty**2 * var_slope + 2 * difficulty * (product - slope * middle)
    lengths = np.array([len(one.scores) for one in chains])
    return BayesParams(
        draws.scores[:, alike].astype(np.float32), draws.ability[:, alike], draws.factor,
        draws.frame_mean, draws.frame_root,
        (np.log(p) - np.log1p(-p)).astype(np.float32), se,
        difficulty, np.sqrt(np.maximum(var_difficulty, 0)) / np.abs(sure),
        slope, np.sqrt(np.maximum(var_slope, 0)), np.array([draws.dispersion]),
        chain=lengths if len(chains) > 1 else None,
        **draws.regression.fields(bases),
        **draws.effects.fields(alike, predicts=bases.samples is not None),
    )  # fmt: skip


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


def _first_alike(weight: Floats, response: Floats, features: Encoded | None) -> NDArray[np.intp]:
    """For each learner the first one with the same features and the same responses to the same samples."""
    rows = np.concatenate([weight, response]).T
    if features is not None:
        rows = np.hstack([rows, features.columns])
    keys = [row.tobytes() for row in np.ascontiguousarray(rows)]
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(key, i) for i, key in enumerate(keys)], np.intp)
