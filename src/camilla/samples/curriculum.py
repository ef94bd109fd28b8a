"""Samples ordered and weighted for one learner, for training or for review."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats
from camilla.diagnosis import Diagnosis
from camilla.display import Grid, Part, Printable, brief, counted
from camilla.errors import DataError, SettingError
from camilla.names import name_index, nearest
from camilla.provenance import versions
from camilla.table.files import write_frame

ORDERS = ("easy-to-hard", "hard-to-easy", "edge", "information")
WEIGHTS = ("equal", "edge", "difficulty", "information")
IN_WORDS = {
    "easy-to-hard": "from easy to hard",
    "hard-to-easy": "from hard to easy",
    "edge": "those at its edge first",
    "information": "the most informative first",
}
PRINTED = (
    "position",
    "sample",
    "skill",
    "probability",
    "difficulty",
    "information",
    "response",
    "weight",
)
PARTS = ("all", "wrong", "right", "unanswered")
USUAL_WEIGHTS = {"edge": "edge", "information": "information"}  # of other orders: equal
EDGE = (0.25, 0.75)  # probabilities of a right answer that count as the edge in what is printed
DECIMALS = 9  # of what decides an order: the rest is rounding


@dataclass(frozen=True, eq=False, repr=False)
class Curriculum(Printable):
    """Samples, ordered and weighted for one learner; the weights sum to their number.

    `probability` is the expected response of the learner, with its 95 % interval; `information` is the square
    of the discrimination times p(1 − p), how informative a response would be about the ability.

    Attributes
    ----------
    learner : str
        The learner that it is for.
    order : str
        How samples are ordered.
    weigh : str
        How samples are weighted.
    samples : DataFrame
        One row per sample, in the order in which to work through them.
    skills : DataFrame
        One row per skill: samples, mean probability, sum of weights; empty without a skill map.
    notes : tuple of str
        Sentences that a reader must know before using the result.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.

    Examples
    --------
    >>> diagnosis = camilla.diagnose(camilla.simulate(20, 50, seed=1).table, "irt", precision=3.0)
    >>> plan = camilla.curriculum(diagnosis, "learner-03", order="edge")
    >>> plan.samples.columns[:3]
    ['position', 'sample', 'skill']
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"samples": 4}

    learner: str
    order: str
    weigh: str
    samples: pl.DataFrame
    skills: pl.DataFrame  # skill, samples, probability (mean), weight (sum); empty without a skill map
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    def parts(self, *, samples: int = 5) -> list[Part]:
        """Returns what `text` prints: how hard the samples are, the first, the last, and the skills.

        Parameters
        ----------
        samples : int
            How many of the first and of the last samples to list.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(20, 50, seed=1).table, "irt", precision=3.0)
        >>> plan = camilla.curriculum(diagnosis, "learner-03", order="edge")
        >>> len(plan.parts(samples=1)) > 1
        True
        """
        frame, p = self.samples, self.samples["probability"]
        edge, mean = int(p.is_between(*EDGE).sum()), float(p.to_numpy().mean())
        answer = (
            f"{counted(frame.height, 'sample')} for {brief(self.learner)}, {IN_WORDS[self.order]}. Its "
            f"expected mean response is {mean:.3f}; {counted(edge, 'sample')} are at the "
            "learner's edge (probability of a right answer from .25 to .75)."
        )
        columns = [name for name in PRINTED if frame[name].null_count() < frame.height]
        out: list[Part] = [answer]
        if samples and frame.height <= 2 * samples:
            out.append(Grid("Samples in order", frame.select(columns)))
        elif samples:
            many = "sample" if samples == 1 else f"{samples} samples"
            out.append(Grid(f"The first {many}", frame.head(samples).select(columns)))
            out.append(Grid(f"The last {many}", frame.tail(samples).select(columns)))
        if self.skills.height:
            out.append(Grid("Skills, the weakest first", self.skills))
        return [*out, *(f"note: {note}" for note in self.notes)]

    def write(self, path: str | Path) -> Path:
        """Writes `samples`, in order.

        Parameters
        ----------
        path : str or Path
            A file that ends in .csv, .tsv, .jsonl or .parquet.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(20, 50, seed=1).table, "irt", precision=3.0)
        >>> plan = camilla.curriculum(diagnosis, "learner-03", order="edge")
        >>> plan.write("plan.csv").name
        'plan.csv'
        """
        return write_frame(self.samples, Path(path))

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(20, 50, seed=1).table, "irt", precision=3.0)
        >>> plan = camilla.curriculum(diagnosis, "learner-03", order="edge")
        >>> plan.to_document()["samples"][0] == plan.samples.row(0, named=True)
        True
        """
        return {
            "verdict": "ordered",
            "learner": self.learner,
            "order": self.order,
            "weigh": self.weigh,
            "samples": self.samples.to_dicts(),
            "skills": self.skills.to_dicts(),
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }


def curriculum(
    diagnosis: Diagnosis | str | Path, learner: str, *, order: str = "easy-to-hard",
    weigh: str | None = None, by_skill: bool = False, skills: str | Sequence[str] = (), only: str = "all",
) -> Curriculum:  # fmt: skip
    """The samples of a diagnosis, ordered and weighted for one learner.

    Parameters
    ----------
    diagnosis : Diagnosis or path
        What `camilla.diagnose` gave, or the folder it was saved in.
    learner : str
        A learner of the diagnosis.
    order : {"easy-to-hard", "hard-to-easy", "edge", "information"}
        By the learner's probability of a right answer: the highest first, the lowest first, the nearest to ½
        first; or by information, the most first.
    weigh : {"equal", "edge", "difficulty", "information"}, optional
        Weights in proportion to 1, 4p(1 − p), 1 − p or information; they sum to the number of samples. By
        default as the order: edge, information, else equal.
    by_skill : bool
        Samples in blocks by skill, the learner's weakest skill first, each block in the order. A sample of
        several skills is in the block of the weakest.
    skills : str or list of str, optional
        Only samples that need one of these skills.
    only : {"all", "wrong", "right", "unanswered"}
        Only samples that the learner answered so; a response of ½ and more is right.

    Returns
    -------
    Curriculum
        `samples`, `skills`, `write(path)`.

    Raises
    ------
    DataError
        No such learner or skill, or no sample is left.

    Examples
    --------
    >>> import camilla
    >>> diagnosis = camilla.diagnose(camilla.simulate(20, 50, seed=1).table, "irt", precision=3.0)
    >>> plan = camilla.curriculum(diagnosis, "learner-03", order="edge")
    >>> plan.samples.height, round(plan.samples["weight"].sum(), 6)
    (50, 50.0)
    """
    weigh = weigh if weigh is not None else USUAL_WEIGHTS.get(order, "equal")
    for name, value, known in (("order", order, ORDERS), ("weigh", weigh, WEIGHTS), ("only", only, PARTS)):
        if value not in known:
            raise SettingError(f"{name} is one of {', '.join(known)}; got {value!r}.")
    found = diagnosis if isinstance(diagnosis, Diagnosis) else Diagnosis.load(diagnosis)
    wanted = (skills,) if isinstance(skills, str) else tuple(skills)
    frame, notes = _frame(found, learner), []
    frame = frame.with_columns(_skill_of(found, learner, wanted, needed=by_skill or bool(wanted)))
    if wanted:
        frame = frame.filter(pl.col("skill").is_not_null())
    if only != "all":
        found.require_responses()
        frame = frame.filter(_PART[only])
    if frame.height == 0:
        kept = f"only={only!r}" + (f" and skills={list(wanted)}" if wanted else "")
        raise DataError(
            f"no sample is left for {learner!r}: {kept} keeps none of {len(found.sample_names)}. Ask for "
            "other samples."
        )
    if unknown := frame["information"].null_count():
        if unknown == frame.height and "information" in (order, weigh):
            raise DataError(
                f"the discrimination of none of {counted(unknown, 'sample')} is known, so that none is more "
                "informative than another. Choose another order and other weights."
            )
        count = "counts" if unknown == 1 else "count"
        notes.append(
            f"{counted(unknown, 'sample')} without a known discrimination {count} as not informative."
        )
    frame = frame.with_columns(weight=pl.Series(_weights(frame, weigh)))
    weakest = _weakness(found, learner)
    frame = _ordered(frame, order, weakest if by_skill else None)
    made = found.provenance | {"curriculum": {"learner": learner, "order": order, "weigh": weigh,
                               "by_skill": by_skill, "skills": list(wanted), "only": only},
                               "versions": versions()}  # fmt: skip
    return Curriculum(learner, order, weigh, frame, _by_skill(frame, weakest), tuple(notes), made)


_PART = {
    "wrong": pl.col("response") < 0.5,
    "right": pl.col("response") >= 0.5,
    "unanswered": pl.col("response").is_null(),
}


def _frame(found: Diagnosis, learner: str) -> pl.DataFrame:
    """One row per sample: what is expected of the learner, the sample's factors, and what was answered."""
    expected = found.predict([learner]).drop("learner")
    columns = [name for name in ("difficulty", "discrimination") if name in found.samples.columns]
    factors = found.samples.select("sample", *columns)
    index = found.learner_names.index(learner)
    own = found.cells.take(found.cells.learner == index)
    names = np.array(found.sample_names, object)[own.sample].tolist()
    answered = pl.DataFrame({"sample": names, "response": own.response},
                            schema={"sample": pl.String, "response": pl.Float64})  # fmt: skip
    frame = expected.join(factors, on="sample", how="left", maintain_order="left")
    for name in ("difficulty", "discrimination"):
        if name not in columns:
            frame = frame.with_columns(pl.lit(None, pl.Float64).alias(name))
    p = pl.col("probability")
    frame = frame.with_columns(information=pl.col("discrimination").fill_nan(None) ** 2 * p * (1 - p))
    return frame.join(answered, on="sample", how="left", maintain_order="left")


def _skill_of(found: Diagnosis, learner: str, wanted: Sequence[str], *, needed: bool) -> pl.Series:
    """The skill of each sample on which the learner is weakest, of all or of those wanted."""
    mask: NDArray[np.bool_] | None = found.diagnoser.size.skill_mask
    if mask is None:
        if needed:
            raise DataError(
                "this diagnosis has no skill map, so that samples have no skills. Diagnose with --skills."
            )
        return pl.Series("skill", [None] * len(found.sample_names), dtype=pl.String)
    for name in wanted:
        if name not in found.skill_names:
            raise DataError(f"no skill {name!r} in this diagnosis. {nearest(name, found.skill_names)}")
    weakest = _weakness(found, learner)
    place = name_index(weakest)
    rank = np.array([place[name] for name in found.skill_names[: mask.shape[1]]])
    if wanted:
        mask = mask & np.isin(np.array(found.skill_names[: mask.shape[1]]), wanted)
    first = np.where(mask, rank, len(rank)).min(axis=1)
    return pl.Series("skill", [weakest[k] if k < len(rank) else None for k in first], dtype=pl.String)


def _weakness(found: Diagnosis, learner: str) -> list[str]:
    """The skills of the map, those with the lowest expected response of the learner first."""
    mask = found.diagnoser.size.skill_mask
    if mask is None:
        return []
    index = np.full(len(found.sample_names), found.learner_names.index(learner))
    p = found.chances(index, np.arange(len(index))).probability
    names = found.skill_names[: mask.shape[1]]
    mean = [round(float(p[need].mean()), DECIMALS) if need.any() else 1.0 for need in mask.T.astype(bool)]
    return [names[k] for k in sorted(range(len(names)), key=lambda k: (mean[k], names[k]))]


def _weights(frame: pl.DataFrame, weigh: str) -> Floats:
    """In proportion to what was asked for, with mean 1; equal where all would be 0."""
    p = frame["probability"].to_numpy()
    raw = {
        "equal": np.ones(len(p)),
        "edge": 4 * p * (1 - p),
        "difficulty": 1 - p,
        "information": frame["information"].fill_null(0.0).to_numpy(),
    }[weigh]
    total = float(raw.sum())
    return raw * (len(raw) / total) if total > 0 else np.ones(len(raw))


def _ordered(frame: pl.DataFrame, order: str, weakest: Sequence[str] | None) -> pl.DataFrame:
    """Rows in the order asked for, those that are equal by name."""
    p = pl.col("probability").round(DECIMALS)
    key = {
        "easy-to-hard": -p,
        "hard-to-easy": p,
        "edge": (p - 0.5).abs().round(DECIMALS),
        "information": -pl.col("information").fill_null(0.0).round(DECIMALS),
    }[order]
    by = [key.alias("key"), pl.col("sample")]
    if weakest is not None:
        block = pl.col("skill").replace_strict(name_index(weakest), default=None, return_dtype=pl.Int64)
        by = [block.fill_null(len(weakest)), *by]
    columns = ("position", "sample", "skill", "probability", "low", "high", "difficulty", "discrimination",
               "information", "response", "weight")  # fmt: skip
    return frame.sort(by).with_row_index("position", offset=1).select(columns)


def _by_skill(frame: pl.DataFrame, weakest: Sequence[str]) -> pl.DataFrame:
    """skill, samples, probability, weight, the weakest first."""
    kinds: dict[str, Any] = {
        "skill": pl.String, "samples": pl.Int64, "probability": pl.Float64, "weight": pl.Float64
    }  # fmt: skip
    if not weakest:
        return pl.DataFrame(schema=kinds)
    rows = (
        frame.drop_nulls("skill")
        .group_by("skill")
        .agg(
            samples=pl.len().cast(pl.Int64),
            probability=pl.col("probability").mean(),
            weight=pl.col("weight").sum(),
        )
    )
    order = pl.col("skill").replace_strict(name_index(weakest), return_dtype=pl.Int64)
    return rows.sort(order)
