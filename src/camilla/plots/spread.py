"""Figures 4C, right, and 5C, left: how uneven a learner is over the skills."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.plots.canvas import blank, dots, legend
from camilla.plots.profiles import by_skill, group_names, largest, need_skills, unit

COLOURED = 7
ROUNDING = 1e-9  # a standard deviation below it is none


def spread_figure(diagnosis: Diagnosis, *, families: Mapping[str, str] | None = None) -> Figure:
    """Standard deviation over skills: of mastery against that of accuracy, and against mean mastery."""
    need_skills(diagnosis, "spread")
    mastery = unit(by_skill(diagnosis, "ability"), diagnosis)
    accuracy = by_skill(diagnosis, "accuracy")
    uneven, uneven_accuracy = np.nanstd(mastery, axis=1), np.nanstd(accuracy, axis=1)
    if np.nanmax(uneven) < ROUNDING:
        raise DataError(
            f"the picture spread shows how mastery differs between skills, and {diagnosis.diagnoser.name} "
            "has one ability for all of them. Diagnose with auto, camilla-base or camilla."
        )
    figure, (left, right) = blank(9.6, 4.2, ncols=2)
    for k, (family, rows) in enumerate(largest(group_names(diagnosis, families), COLOURED).items()):
        dots(left, uneven_accuracy[rows], uneven[rows], k, family)
        dots(right, np.nanmean(mastery, axis=1)[rows], uneven[rows], k, family, listed=False)
    left.set(xlabel="s.d. of accuracy over skills", ylabel="s.d. of mastery over skills")
    right.set(xlabel="mean mastery over skills", ylabel="s.d. of mastery over skills")
    legend(figure, "outside right upper")
    return figure
