"""What the pictures of a diagnosis share: its numbers as arrays, families of learners, who is shown."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.names import nearest
from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.plots.canvas import OTHER

Floats = NDArray[np.float64]
TOKEN = re.compile(r"[^\W\d_]+|\d[\d.]*")


class Overall(NamedTuple):
    """One entry a learner, in the order of `learner_names`; ability in (0, 1) as the paper draws it."""

    ability: Floats
    low: Floats
    high: Floats
    accuracy: Floats


def overall(diagnosis: Diagnosis) -> Overall:
    """Every learner's ability and plain accuracy."""
    frame = pl.DataFrame({"learner": diagnosis.learner_names}).join(
        diagnosis.learners, on="learner", maintain_order="left"
    )
    ability, low, high = (unit(frame[name].to_numpy(), diagnosis) for name in ("ability", "low", "high"))
    return Overall(ability, low, high, frame["accuracy"].to_numpy())


def by_skill(diagnosis: Diagnosis, column: str) -> Floats:
    """A column of `diagnosis.skills` as [learners, skills]; NaN where there is none."""
    rows = {name: i for i, name in enumerate(diagnosis.learner_names)}
    columns = {name: k for k, name in enumerate(diagnosis.skill_names)}
    matrix = np.full((len(rows), len(columns)), np.nan)
    frame = diagnosis.skills
    at = [rows[name] for name in frame["learner"]], [columns[name] for name in frame["skill"]]
    matrix[at] = frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return matrix


def unit(ability: Floats, diagnosis: Diagnosis) -> Floats:
    """Ability on (0, 1): as it is where the diagnoser's scale is that, else through σ."""
    return ability if diagnosis.readout.unit_scale else 0.5 * (np.tanh(0.5 * ability) + 1)


def need_skills(diagnosis: Diagnosis, picture: str) -> None:
    """Raises unless the diagnosis has at least two skills to tell apart."""
    if len(diagnosis.skill_names) < 2:
        raise DataError(
            f"the picture {picture} compares skills, and this diagnosis of {diagnosis.diagnoser.name} has "
            f"{len(diagnosis.skill_names)}. Diagnose with a skill map (--skills) or with camilla."
        )


def places(diagnosis: Diagnosis, learners: Sequence[str] | None, most: int) -> list[int]:
    """Indices of the named learners; without names, some spread evenly from the best to the worst."""
    names = diagnosis.learner_names
    if learners:
        if unknown := [name for name in learners if name not in names]:
            raise DataError(f"no learner {unknown[0]!r} in this diagnosis. {nearest(unknown[0], names)}")
        return [names.index(name) for name in learners]
    ranked = diagnosis.learners["learner"].to_list()
    picks = np.unique(np.linspace(0, len(ranked) - 1, min(most, len(ranked))).round().astype(int))
    return [names.index(ranked[pick]) for pick in picks]


def families(names: Sequence[str]) -> list[str]:
    """The family of each learner, from how names begin: random_forest_50_gini is a random forest.

    Words and numbers are told apart; a family's name grows as long as all that begin so go on alike,
    and never ends in a number.
    """
    words = [TOKEN.findall(name) or [name] for name in names]
    return [_shared_beginning(mine, words) or name for mine, name in zip(words, names, strict=True)]


def _shared_beginning(mine: list[str], words: list[list[str]]) -> str:
    length = 1
    while length < len(mine):
        nexts = {tuple(one[length : length + 1]) for one in words if one[:length] == mine[:length]}
        if len(nexts) > 1:
            break
        length += 1
    prefix = mine[:length]
    while len(prefix) > 1 and prefix[-1][0].isdigit():
        prefix.pop()
    return " ".join(prefix)


def largest(groups: Sequence[str], most: int) -> dict[str, NDArray[np.int64]]:
    """Members of the `most` largest groups, largest first; all others together as `other`."""
    sizes = Counter(groups)
    ranked = sorted(sizes, key=lambda name: (-sizes[name], name))
    kept = ranked if len(ranked) <= most else ranked[: most - 1]
    member = np.array(groups, object)
    found = {name: np.flatnonzero(member == name) for name in kept}
    rest = np.flatnonzero(~np.isin(member, kept))
    return found | ({OTHER: rest} if len(rest) else {})


def group_names(diagnosis: Diagnosis, given: Mapping[str, str] | None) -> list[str]:
    """The family of every learner: as given, else read from the names."""
    if given is None:
        return families(diagnosis.learner_names)
    return [given.get(name, OTHER) for name in diagnosis.learner_names]


def responses(diagnosis: Diagnosis) -> Floats:
    """The responses the diagnosis was made of: [learners, samples], NaN where missing."""
    matrix = np.full((len(diagnosis.learner_names), len(diagnosis.sample_names)), np.nan)
    matrix[diagnosis.cells.learner, diagnosis.cells.sample] = diagnosis.cells.response
    return matrix


def sample_column(diagnosis: Diagnosis, column: str, picture: str) -> Floats:
    """A column of `diagnosis.samples` in the order of `sample_names`."""
    if column not in diagnosis.samples.columns or diagnosis.samples[column].null_count() == len(
        diagnosis.sample_names
    ):
        raise DataError(
            f"the picture {picture} needs each sample's {column}, which {diagnosis.diagnoser.name} does not "
            "estimate. Diagnose with irt, camilla-base or camilla."
        )
    frame = pl.DataFrame({"sample": diagnosis.sample_names}).join(
        diagnosis.samples, on="sample", maintain_order="left"
    )
    return frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
