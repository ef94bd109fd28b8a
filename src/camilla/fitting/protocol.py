"""The protocol every diagnoser obeys: what it is given, what it returns, what it must answer."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.errors import DataError
from camilla.fitting.layout import Layout, Size
from camilla.table.cells import Cells

Indices = NDArray[np.integer]


def needed_skills(size: Size, name: str) -> NDArray[np.bool_]:
    """The skill mask of a diagnoser that cannot do without one."""
    if size.skill_mask is None:
        raise DataError(
            f"{name} needs a skill map (samples × skills) and the table has none. "
            "Give one with --skills, or use camilla, which finds latent skills, or irt, which needs none."
        )
    return size.skill_mask


def needed_graph(size: Size, name: str) -> tuple[tuple[int, int], ...]:
    """The edges of a diagnoser that cannot do without a skill graph."""
    needed_skills(size, name)
    if size.skill_edges is None:
        raise DataError(
            f"{name} needs a skill graph (edges parent, child) and the table has none. "
            "Give one with --skill-graph, or use neural-cd or ka-ncd, which need none."
        )
    return size.skill_edges


class Solution(NamedTuple):
    """Where a fit arrived."""

    params: Any  # a NamedTuple of arrays
    loss: float  # mean over responses, priors included
    gradient_norm: float
    steps: int
    converged: bool
    placed: bool = True  # every learner stands where it would be placed with the samples frozen


class Spread(NamedTuple):
    """The fitted factors on the scale they are read on, and how sure the fit is of them."""

    ability: Floats  # [learners, dims]
    covariance: Floats  # [learners, dims, dims]
    kind: str  # what the intervals rest on, in words
    difficulty: Floats  # [samples]
    difficulty_se: Floats
    discrimination: Floats  # [samples], signed
    discrimination_se: Floats
    dispersion: float = 1.0  # by which the covariances were scaled because responses are fractional
    sample_weight: Floats | None = None  # [samples], how much each counts in an ability; None: alike
    sample_logit: Floats | None = None  # [samples], with sample_weight: its logit at the pool's mean level

    def read(self, skill_weight: Floats | None, **more: Any) -> "Readout":
        """The readout with these factors as they stand."""
        return Readout(
            ability=self.ability,
            covariance=self.covariance,
            skill_weight=skill_weight,
            difficulty=self.difficulty,
            discrimination=self.discrimination,
            interval=self.kind,
            difficulty_se=self.difficulty_se,
            discrimination_se=self.discrimination_se,
            dispersion=self.dispersion,
            sample_weight=self.sample_weight,
            sample_logit=self.sample_logit,
            **more,
        )


class ScoreDraws(Protocol):
    """Draws of learners' expected scores from a posterior."""

    @property
    def n_draws(self) -> int:
        """How many there are where `shares` are given."""
        ...

    def on(self, samples: Indices, shares: Floats | None = None) -> Floats:
        """[draws, learners] on these samples, which count alike or as `shares` [draws, samples] say."""
        ...


class Level(NamedTuple):
    """Learners on the scale that abilities are read on; one learner's, or several with an axis in front."""

    ability: Floats  # [skills]
    covariance: Floats  # [skills, skills]
    draws: ScoreDraws | None = None  # where the fit is a posterior


class Placement(NamedTuple):
    """A learner put on a scale whose samples are frozen."""

    row: Floats  # [dims] raw learner factors
    covariance: Floats  # [dims, dims]
    converged: bool


class Readout(NamedTuple):
    """What a person reads, on the scale they read it.

    A learner's ability on any set of samples is the mean of `skill_weight` over the set times its
    row of `ability`: Eq. 12 of the Camilla paper when skills are given, Eqs. 13–14 when latent. Where
    `expected` says so it is the mean expected response on the set; with `sample_weight` g and `sample_logit`
    a, the mean of σ(aⱼ + gⱼℓ) at the level ℓ where Σ gⱼ σ(aⱼ + gⱼℓ) = Σ gⱼ pᵢⱼ.
    """

    ability: Floats  # [learners, skills]
    covariance: Floats  # [learners, skills, skills]
    skill_weight: Floats | None  # [samples, skills], rows sum to 1; None: not told apart
    difficulty: Floats  # [samples]
    discrimination: Floats  # [samples], signed
    interval: str  # the kind of interval, in words
    unit_scale: bool = False  # ability lies in [0, 1] instead of on the real line
    explicit: bool = False  # skills are those of the table's skill map
    n_mapped: int = 0  # else: the first so many are, and latent ones follow
    assisted: bool = False  # expected responses are corrected by the mean of what was observed beyond them
    expected: bool = False  # ability on samples is the expected response, whatever skill_weight says
    sample_weight: Floats | None = None  # [samples], how much each counts in it; None: alike
    sample_logit: Floats | None = None  # [samples]
    difficulty_se: Floats | None = None  # [samples]
    discrimination_se: Floats | None = None  # [samples]
    guessing: Floats | None = None  # [samples]
    dispersion: float = 1.0  # of fractional responses, by which covariances are scaled
    counted: bool = False  # ability and difficulty are plain means, whose intervals are Wilson's
    credible: bool = False  # ability is the chance of having the skill, its interval a set of no and yes
    effective_draws: Floats | None = None  # [learners], independent draws that tell as much of an ability
    r_hat: Floats | None = None  # [learners], how far several chains agree on it: 1 where they do


class Diagnoser(Protocol):
    """A model of responses: a frozen dataclass of a size and settings.

    `engine` is the name in `ENGINES` of who fits it. "bilinear" and "neural" fit what the diagnoser
    describes; a diagnoser of "own" brings solve, logit, place and level with it.
    """

    name: ClassVar[str]
    engine: ClassVar[str]
    parameters_type: ClassVar[Any]  # the NamedTuple of its parameters
    axes: ClassVar[
        dict[str, tuple[str, ...]]
    ]  # of each parameter: "learner", "sample", "skill", "latent", ""

    @property
    def size(self) -> Size: ...

    @classmethod
    def choices(cls, size: Size, given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
        """Settings to choose on validation when not given, with their candidates in the order tried."""
        ...

    def readout(self, params: Any, spread: Any) -> Readout: ...


M_contra = TypeVar("M_contra", contravariant=True)  # the diagnosers an engine can fit
P_contra = TypeVar(
    "P_contra", bound=tuple[Any, ...], contravariant=True
)  # the NamedTuple of their parameters


def se_along(slopes: Floats, readout: Readout, learner: Indices) -> Floats:
    """√(s'Cs) of each pair: s the slope of its logit by the ability, C the covariance of that."""
    return np.sqrt(np.einsum("ck,ckl,cl->c", slopes, readout.covariance[learner], slopes))


class Engine(Protocol[M_contra, P_contra]):
    """Everything that is asked of a fit: the one place where the kind of a diagnoser makes a difference."""

    @property
    def packages(self) -> tuple[str, ...]:
        """What its numbers depend on, NumPy, SciPy and Polars aside."""
        ...

    @property
    def continues(self) -> bool:
        """Whether a solution for other settings is a good start."""
        ...

    def tempered(self, diagnoser: M_contra) -> bool:
        """Whether predictions are corrected by a temperature fitted to held-out responses."""
        ...

    def solve(
        self, diagnoser: M_contra, layout: Layout, rng: np.random.Generator, watch: Watch,
        *, valid: Layout | None = None, earlier: Solution | None = None,
    ) -> Solution:  # fmt: skip
        """The parameters on these responses, from an earlier solution where there is one."""
        ...

    def as_tried(self, diagnoser: M_contra) -> Any:
        """The diagnoser as it is fitted where settings are chosen: itself, or one whose fit takes less."""
        ...

    def settled(
        self, diagnoser: M_contra, solution: Solution, layout: Layout,
        *, valid: Layout | None = None, earlier: Solution | None = None,
    ) -> Solution:  # fmt: skip
        """A solution that will be read, with what trials of settings can do without."""
        ...

    def logit(self, diagnoser: M_contra, params: P_contra, learner: Indices, sample: Indices) -> Floats:
        """The logit of the expected response of each (learner, sample) pair, before any temperature."""
        ...

    def logit_se(
        self, diagnoser: M_contra, params: P_contra, readout: Readout, learner: Indices, sample: Indices
    ) -> Floats | None:
        """The standard error of each pair's logit; None where it is not known."""
        ...

    def pool(self, diagnoser: M_contra, params: P_contra, readout: Readout) -> Level:
        """The learners that were fitted, on the scale that abilities are read on."""
        ...

    def place(
        self,
        diagnoser: M_contra,
        params: P_contra,
        weight: Floats,
        right: Floats,
        sample_weight: Floats | None,
    ) -> Placement:
        """One learner with every sample frozen; weight, weight × response: [samples].

        sample_weight: of the readout, where samples do not count alike.
        """
        ...

    def level(self, diagnoser: M_contra, params: P_contra, placement: Placement) -> Level:
        """A placed learner on the scale that abilities are read on."""
        ...

    def spread(
        self,
        diagnoser: M_contra,
        params: P_contra,
        layout: Layout,
        *,
        standard: bool = True,
        errors: bool = True,
    ) -> Spread | None:
        """Factors as they are read, and how sure the fit is of them; None where the readout itself knows.

        Not `standard`: abilities are for expected responses. Not `errors`: abilities alone are wanted.
        """
        ...

    def expected(
        self, diagnoser: M_contra, params: P_contra, readout: Readout,
        ability: Floats, covariance: Floats, samples: Indices, answers: Cells | None = None,
    ) -> tuple[Floats, Floats]:  # fmt: skip
        """Mean expected response over the samples of learners on the read scale, and its standard error.

        No temperature: it corrects single predictions that are too sure, while the fit's own means are
        right, and it would draw them to ½. answers: what the learners answered, by which abilities on the
        skills of a map are put right where the map is in the fit.
        """
        ...

    def parameter_count(self, diagnoser: M_contra) -> int:
        """How many numbers are fitted."""
        ...
