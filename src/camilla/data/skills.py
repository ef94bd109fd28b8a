"""Which sample needs which skill."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from camilla.data.names import quoted, repeated
from camilla.errors import DataError


@dataclass(frozen=True, eq=False)
class SkillMap:
    """A 0/1 matrix, samples × skills (the "Q-matrix"): True where the sample needs the skill.

    Every sample needs at least one skill; a skill that no sample needs is refused too, since
    nothing can be said of it.
    """

    skills: tuple[str, ...]
    mask: NDArray[np.bool_]  # [samples, skills]

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
        object.__setattr__(self, "mask", mask.astype(np.bool_, copy=False))

    @property
    def n_skills(self) -> int:
        return len(self.skills)

    def take(self, samples: NDArray[np.integer]) -> Self:
        """The rows of these sample indices, in their order."""
        return type(self)(self.skills, self.mask[samples])
