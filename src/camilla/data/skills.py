"""Which sample needs which skill."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.columns import Origin
from camilla.data.dataframes import as_polars
from camilla.data.names import quoted, repeated
from camilla.data.skill_columns import one_hot, one_hots, zeros_and_ones
from camilla.errors import DataError

ID = "sample"  # the column of sample names


@dataclass(frozen=True, eq=False)
class SkillMap:
    """A 0/1 matrix, samples × skills (the "Q-matrix"): True where the sample needs the skill.

    Every sample needs at least one skill. `notes` say what was done to make the map fit: samples
    of the file that the table does not have, rows matched by order, values that were missing.
    """

    skills: tuple[str, ...]
    mask: NDArray[np.bool_]  # [samples, skills]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        mask = np.asarray(self.mask)
        if mask.ndim != 2 or mask.shape[1] != len(self.skills) or not self.skills:
            raise DataError(
                f"a skill map of {len(self.skills)} skills wants a mask [samples, {len(self.skills)}] "
                f"and at least one skill; got shape {mask.shape}."
            )
        if twice := repeated(self.skills):
            raise DataError(f"skill names must differ; {quoted(twice)} occur more than once. Rename them.")
        if mask.dtype != np.bool_ and not np.isin(mask, (0, 1)).all():
            raise DataError("a skill map holds only 0 and 1.")
        mask = mask.astype(np.bool_, copy=False)
        needs_any = mask.any(axis=1)
        if not needs_any.all():
            raise DataError(
                f"row {np.argmin(needs_any)} of the skill map is all zero; each sample needs a skill."
            )
        object.__setattr__(self, "mask", mask)

    @classmethod
    def from_table(cls, frame: Any, samples: Sequence[str], *, id: str | None = None) -> Self:
        """A table of 0 and 1 with a column a skill, matched to `samples` by name.

        `id` is the column of sample names: "sample", "id" or the first column when not given.
        """
        return cls(*zeros_and_ones(as_polars(frame), samples, id, None, Origin("the skill table")))

    @classmethod
    def from_columns(
        cls, frame: Any, columns: Sequence[str], samples: Sequence[str], *, id: str | None = None
    ) -> Self:
        """Every value of these columns is a skill, "column=value", or "value" if there is one column."""
        return cls(*one_hots(as_polars(frame), columns, samples, id, Origin("the skill table")))

    @classmethod
    def from_labels(cls, labels: Sequence[Any]) -> Self:
        """Each sample's label is its one skill; labels in the order of the table's samples."""
        return cls(*one_hot(pl.Series("label", list(labels), strict=False), Origin("the labels")))

    @property
    def n_skills(self) -> int:
        return len(self.skills)

    def never_alone(self) -> tuple[str, ...]:
        """Skills that every sample which needs them needs together with others.

        Such a map is incomplete: nothing shows these skills by themselves, and what a diagnoser calls
        their mastery is what the others leave over.
        """
        alone = self.mask[self.mask.sum(axis=1) == 1].any(axis=0)
        return tuple(skill for skill, shown in zip(self.skills, alone, strict=True) if not shown)

    def take(self, samples: NDArray[np.integer]) -> Self:
        """The rows of these sample indices, in their order."""
        return type(self)(self.skills, self.mask[samples], self.notes)

    def to_frame(self, samples: Sequence[str]) -> pl.DataFrame:
        """The map as a 0/1 table that `from_table` reads back."""
        if ID in self.skills:
            raise DataError(f"a skill is called {ID!r}, as the column of sample names is. Rename it.")
        return pl.DataFrame({ID: list(samples)}).hstack(
            pl.DataFrame(self.mask.astype(np.int8), schema=list(self.skills))
        )
