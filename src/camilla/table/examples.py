"""Example tables: the log that comes with the package, and simulated ones whose truth is known."""

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from typing import Literal, NamedTuple, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import SettingError
from camilla.names import numbered
from camilla.table.content import ASKED, ContentOf, KeptContent
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

ResponseKind = Literal["1pl", "2pl", "3pl", "camilla_base"]

# Fractional responses are Beta(cp, c(1−p)): mean p, variance p(1−p)/(c+1).
CONCENTRATION = 10.0


class Truth(NamedTuple):
    """What the responses were drawn from; learners and samples in the order of the table."""

    ability: NDArray[np.float64]  # [learners], or [learners, skills] for camilla_base
    difficulty: NDArray[np.float64]  # [samples]
    discrimination: NDArray[
        np.float64
    ]  # [samples], or [samples, skills] for camilla_base, 0 where not needed
    guessing: NDArray[np.float64]  # [samples]
    probability: NDArray[np.float64]  # [learners, samples]


class Simulation(NamedTuple):
    """A simulated table and the parameters it was drawn from.

    Attributes
    ----------
    table : ResponseTable
        The simulated responses.
    truth : Truth
        The parameters that they were drawn from.

    Examples
    --------
    >>> world = camilla.simulate(30, 200, seed=1)
    >>> world.table.n_learners
    30
    """

    table: ResponseTable
    truth: Truth


def simulate(
    n_learners: int,
    n_samples: int,
    *,
    kind: ResponseKind = "2pl",
    skills: int | SkillMap | None = None,
    missing: float = 0.0,
    trials: int = 1,
    fractional: bool = False,
    seed: int = 0,
) -> Simulation:
    """Draws responses with known abilities, difficulties and discriminations.

    With σ(x) = 1/(1 + e⁻ˣ), θ and D ~ N(0, 1), a ~ LogNormal(0, 0.3), c ~ Uniform(0.1, 0.3)::

        1pl           p = σ(θᵢ − Dⱼ)
        2pl           p = σ(aⱼ(θᵢ − Dⱼ))
        3pl           p = cⱼ + (1 − cⱼ) σ(aⱼ(θᵢ − Dⱼ))
        camilla_base  p = σ(Σₖ Qⱼₖ aⱼₖ (θᵢₖ − Dⱼ)),  skills independent

    A response is 1 with probability p, or Beta distributed with mean p.

    Parameters
    ----------
    n_learners, n_samples : int
        Size of the table.
    kind : {"1pl", "2pl", "3pl", "camilla_base"}
        The formula.
    skills : int or SkillMap, optional
        Q in the formula: a skill map, or a number K of skills. With a number, every sample needs one or two
        skills, and sample j needs skill j mod K.
    missing : float
        Probability that a cell is missing.
    trials : int
        Rows per cell.
    fractional : bool
        Whether responses lie between 0 and 1 instead of being 0 or 1.
    seed : int
        Seed of the draws.

    Returns
    -------
    Simulation
        `table`, a `ResponseTable`, and `truth` with `ability`, `difficulty`, `discrimination`, `guessing`
        and `probability`.

    Examples
    --------
    >>> world = camilla.simulate(30, 200, seed=1)
    >>> world.table
    ResponseTable(30 learners × 200 samples, 6000 responses)
    >>> world.truth.ability.shape
    (30,)
    """
    _check(n_learners, n_samples, kind, missing, trials)
    rng = np.random.default_rng(seed)
    skill_map = _skill_map(skills, kind, n_samples, rng)
    truth = _truth(n_learners, n_samples, kind, skill_map, rng)
    observed = rng.random((n_samples, n_learners)) >= missing
    sample, learner = np.nonzero(observed)
    p = np.repeat(truth.probability[learner, sample], trials)
    response = rng.beta(CONCENTRATION * p, CONCENTRATION * (1 - p)) if fractional else rng.random(len(p)) < p
    table = ResponseTable(
        numbered("learner", n_learners),
        numbered("sample", n_samples),
        np.repeat(learner, trials),
        np.repeat(sample, trials),
        response.astype(np.float64),
        trial=np.tile(np.arange(trials, dtype=np.int32), len(sample)) if trials > 1 else None,
        skill_map=skill_map,
        n_missing=int(np.sum(~observed)) * trials,
    )
    return Simulation(table, truth)


def _truth(
    n_learners: int, n_samples: int, kind: ResponseKind, skill_map: SkillMap | None, rng: np.random.Generator
) -> Truth:
    difficulty = rng.normal(size=n_samples)
    guessing = rng.uniform(0.1, 0.3, n_samples) if kind == "3pl" else np.zeros(n_samples)
    if kind == "camilla_base" and skill_map is not None:
        ability = rng.normal(size=(n_learners, skill_map.n_skills))
        discrimination = rng.lognormal(0, 0.3, skill_map.mask.shape) * skill_map.mask
        logit = ability @ discrimination.T - discrimination.sum(axis=1) * difficulty
    else:
        ability = rng.normal(size=n_learners)
        discrimination = np.ones(n_samples) if kind == "1pl" else rng.lognormal(0, 0.3, n_samples)
        logit = discrimination * (ability[:, None] - difficulty)
    probability = guessing + (1 - guessing) / (1 + np.exp(-logit))
    return Truth(ability, difficulty, discrimination, guessing, probability)


def _skill_map(
    skills: int | SkillMap | None, kind: ResponseKind, n_samples: int, rng: np.random.Generator
) -> SkillMap | None:
    if isinstance(skills, SkillMap):
        if len(skills.mask) != n_samples:
            raise SettingError(
                f"the skill map has {len(skills.mask)} rows for {n_samples} samples; expected one each."
            )
        return skills
    if skills is None:
        if kind == "camilla_base":
            raise SettingError("camilla_base needs skills: a number of skills or a skill map.")
        return None
    if not 1 <= skills <= n_samples:
        raise SettingError(f"skills must lie between 1 and the number of samples, {n_samples}; got {skills}.")
    mask = np.zeros((n_samples, skills), np.bool_)
    every = np.arange(n_samples)
    mask[every, every % skills] = True
    mask[every, rng.integers(0, skills, n_samples)] = True
    return SkillMap(numbered("skill", skills), mask)


def _check(n_learners: int, n_samples: int, kind: str, missing: float, trials: int) -> None:
    if kind not in get_args(ResponseKind):
        raise SettingError(f"kind must be one of {', '.join(get_args(ResponseKind))}; got {kind!r}.")
    if n_learners < 1 or n_samples < 1 or trials < 1:
        raise SettingError(
            f"expected at least one learner, sample and trial; got {n_learners}, {n_samples}, {trials}."
        )
    if not 0 <= missing < 1:
        raise SettingError(
            f"missing is the share of cells without a response, 0 ≤ missing < 1; got {missing}."
        )


def digits() -> ResponseTable:
    """Returns the example table: 42 scikit-learn classifiers on 1,797 handwritten digits.

    Responses are right or wrong. The ten skills are the digits. The classifiers were cross-validated in five
    folds, so no learner was fitted to a sample that it answers. Their accuracy ranges from guessing to 0.99.
    The table's content has the pictures, and the digit that each learner took them for.

    Returns
    -------
    ResponseTable
        42 learners and 1,797 samples with ten skills.

    Examples
    --------
    >>> camilla.digits()
    ResponseTable(42 learners × 1797 samples, 75474 responses, 10 skills)
    """
    log = _digit_log()
    right = log.select("sample", pl.col(log.columns[3:]).eq_missing(pl.col("digit")).cast(pl.UInt8))
    table = ResponseTable.from_wide(right, rows="samples", id="sample")
    table = table.with_skills(SkillMap.from_labels(log["digit"].cast(pl.String).to_list()))
    return replace(table, content=KeptContent((ContentOf(_Digits(), {}),)))


def _digit_log() -> pl.DataFrame:
    """sample, pixels, digit, then what each learner took it for."""
    return pl.read_parquet(resources.files("camilla.table").joinpath("digits.parquet").read_bytes())


class _Digits:
    """The content of the digits, unpacked from the package when it is asked for."""

    @property
    def size(self) -> int:
        return 8_000_000

    def counts(self) -> pl.DataFrame:
        log = _digit_log()
        return log.select("sample", rows=pl.lit(log.width - 2, pl.Int64))

    def asked(self, samples: Sequence[str]) -> pl.DataFrame:
        log = _digit_log().filter(pl.col("sample").is_in(pl.Series(samples, dtype=pl.String).implode()))
        return log.select(
            "sample",
            prompt=pl.lit("Which digit is this?"),
            reference=pl.col("digit").cast(pl.String),
            choices=pl.lit(None, ASKED["choices"]),
            image=pl.Series([_picture(pixels) for pixels in log["pixels"]], dtype=pl.String),
        )

    def answers(self, samples: Sequence[str]) -> pl.DataFrame:
        log = _digit_log().filter(pl.col("sample").is_in(pl.Series(samples, dtype=pl.String).implode()))
        named = log.drop("pixels", "digit").unpivot(
            index="sample", variable_name="learner", value_name="named"
        )
        return named.drop_nulls().select(
            "sample",
            "learner",
            trial=pl.lit(0, pl.Int32),
            answer=pl.col("named").cast(pl.String),
            extracted=pl.lit(None, pl.String),
            reason=pl.lit(None, pl.String),
        )


def _picture(pixels: bytes) -> str:
    """8 × 8 grey values, two per byte, as a PNG in a link that holds it; ink is dark."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + bytes(255 - byte for byte in pixels[at : at + 4]) for at in range(0, 32, 4))
    head = struct.pack(">IIBBBBB", 8, 8, 4, 0, 0, 0, 0)  # width, height, bits per pixel, grey
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9))
    return f"data:image/png;base64,{base64.b64encode(png + chunk(b'IEND', b'')).decode()}"
