"""Do skills hold? Scored on learners that had no part in finding them, beside random groups."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.data.skills import SkillMap
from camilla.metrics import agreement as measure

Floats = NDArray[np.float64]
MOST_DRAWS = 10  # of random groups
MOST_PAIRS = 4e9  # compared for them


class Judgement(NamedTuple):
    """How well skills rank learners.

    doa is that of the Borda score, mastery without a model; ceiling is what no mastery that tells all
    learners apart exceeds (equal Borda scores leave a pair out, which may lift doa above it by a hair);
    random is the doa of as many groups of the same sizes, drawn at random. Each is a mean over skills, and
    weighted by the skills' samples, so that small skills do not flatter.
    """

    skills: pl.DataFrame  # skill, samples, doa, ceiling, random
    learners: int
    doa: float
    doa_weighted: float
    ceiling: float
    ceiling_weighted: float
    random: float
    random_weighted: float
    draws: int  # of random groups
    as_good: int  # of these with no smaller doa_weighted

    @property
    def holds(self) -> bool:
        """Whether no random groups do as well; of groups that are random too, one in draws + 1 holds."""
        return self.as_good == 0

    @property
    def summary(self) -> dict[str, float]:
        """Everything but the skills, by name."""
        return {name: value for name, value in self._asdict().items() if name != "skills"} | {
            "holds": self.holds
        }


def judged(responses: Floats, skill_map: SkillMap, rng: np.random.Generator) -> Judgement:
    """A skill map on responses [learners, samples]."""
    mask = skill_map.mask
    wins = measure.pair_wins(responses, mask)
    doa, top = measure.doa(wins, measure.borda(wins)), measure.ceiling(wins)
    draws = int(np.clip(MOST_PAIRS / (len(responses) ** 2 * len(mask)), 2, MOST_DRAWS))
    drawn = np.array([_borda_doa(responses, rng.permutation(mask)) for _ in range(draws)])
    known = ~np.isnan(drawn)
    random = np.where(known, drawn, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    columns = {"doa": doa, "ceiling": top, "random": random}
    frame = pl.DataFrame({"skill": skill_map.skills, "samples": mask.sum(axis=0), **columns})
    means = {
        name + suffix: mean
        for name, values in columns.items()
        for suffix, mean in (
            ("", measure.overall(values)),
            ("_weighted", measure.sample_weighted(values, mask)),
        )
    }
    lower = [measure.sample_weighted(one, mask) < means["doa_weighted"] for one in drawn]
    frame = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
    return Judgement(frame, len(responses), **means, draws=draws, as_good=lower.count(False))


def _borda_doa(responses: Floats, mask: NDArray[np.bool_]) -> Floats:
    wins = measure.pair_wins(responses, mask)
    return measure.doa(wins, measure.borda(wins))
