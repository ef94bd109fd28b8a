"""auto: the simplest diagnoser that foretells held-out responses as well as any."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from camilla.diagnoser import Diagnoser, Floats, Readout, Size, Watch
from camilla.diagnosers import DIAGNOSERS
from camilla.engine import fit as engine
from camilla.engine.layout import Layout
from camilla.engine.settings import settings_as_data
from camilla.errors import SettingError

AUTO = "auto"
FEW_LEARNERS = 20
MOST_CELLS = 2_000_000  # above, diagnosers are chosen on fewer samples


class Trial(NamedTuple):
    """What a candidate came to: its loss on held-out cells, and how far that is behind the best."""

    diagnoser: str
    settings: dict[str, Any]
    validation_loss: float
    behind: float
    behind_se: float


class Found(NamedTuple):
    """A fit, and the candidates it was chosen from, if it was."""

    fit: engine.Fit
    trials: tuple[Trial, ...] = ()


def candidates(size: Size) -> list[tuple[str, dict[str, Any]]]:
    """Simple ones first: one ability, skills, many dimensions, any covariance.

    The prior on the first one's discriminations is fixed: a chosen one foretells no better and ranks learners
    less steadily (docs/design/auto.md). It is N(1, 1), or N(1, 1/10) where learners are few.
    """
    held = 1.0 if size.n_learners >= FEW_LEARNERS else 10.0
    found: list[tuple[str, dict[str, Any]]] = [("irt", {"precision": held})]
    if size.skill_mask is not None:
        found.append(("camilla-base", {"signs": "free"}))
    found.append(("mirt", {}))
    return [*found, ("gaussian", {})] if size.fractional else found


def fit(
    name: str, size: Size, layout: Layout,
    *, settings: Mapping[str, Any], seed: int, valid: Layout | None, watch: Watch,
) -> Found:  # fmt: skip
    """The named diagnoser fitted, or the one auto chooses; without `valid`, a tenth is held out."""
    if name != AUTO:
        kind = diagnoser_named(name)
        return Found(engine.fit(kind, size, layout, settings=settings, seed=seed, valid=valid, watch=watch))
    if settings:
        raise SettingError(
            f"auto chooses its own settings and takes none; {next(iter(settings))!r} came. Name a diagnoser: "
            "camilla experiment reliability shows which one foretells best."
        )
    inner, outer = (layout, valid) if valid is not None else engine.hold_out(layout, seed)
    found = _chosen(size, inner, outer, seed=seed, watch=watch)
    return (
        found
        if valid is not None
        else found._replace(fit=engine.refit(found.fit, layout, seed=seed, watch=watch))
    )


def _chosen(size: Size, layout: Layout, valid: Layout, *, seed: int, watch: Watch) -> Found:
    """The first candidate within a standard error of the best."""
    most = max(1, MOST_CELLS // max(size.n_learners, 1))
    small, inner, outer = engine.fewer_samples(size, layout, valid, seed=seed, most=most)
    fits = []
    for name, settings in candidates(size):
        kind = diagnoser_named(name)
        fits.append(
            engine.trial(
                kind, small, inner, outer, settings=settings, seed=seed,
                watch=lambda line, name=name: watch(f"trying {name}: {line}"),  # type: ignore[misc]
            )
        )  # fmt: skip
    fits = [found for found in fits if not _one_dimension(found)]
    losses = [engine.cell_losses(found, outer) for found in fits]
    best = losses[int(np.argmin([found.validation_loss for found in fits]))]
    _, sample, weight, _ = outer.cells()
    trials = tuple(
        Trial(
            found.diagnoser.name, settings_as_data(found.diagnoser), found.validation_loss,
            *_behind(loss - best, weight, sample),
        )
        for found, loss in zip(fits, losses, strict=True)
    )  # fmt: skip
    fitted = next(found for found, trial in zip(fits, trials, strict=True) if trial.behind <= trial.behind_se)
    if small is not size:
        kind = type(fitted.diagnoser)
        settings = dict(candidates(size))[fitted.diagnoser.name]
        fitted = engine.trial(kind, size, layout, valid, settings=settings, seed=seed, watch=watch)
    return Found(fitted, trials)


def _one_dimension(found: engine.Fit) -> bool:
    """Whether it is a 2PL under another name, whose prior was chosen."""
    return found.diagnoser.name == "mirt" and found.diagnoser.dimensions == 1


def _behind(difference: Floats, weight: Floats, sample: Floats) -> tuple[float, float]:
    """Mean difference a response and its standard error, with samples as clusters."""
    total = weight.sum()
    mean = float(weight @ difference / total)
    by_sample = np.bincount(sample, weight * (difference - mean))
    return mean, float(np.sqrt(by_sample @ by_sample) / total)


def diagnoser_named(name: str) -> type[Diagnoser]:
    """The class of a diagnoser's name."""
    if name not in DIAGNOSERS:
        raise SettingError(f"no diagnoser {name!r}; there are {', '.join([AUTO, *DIAGNOSERS])}.")
    return DIAGNOSERS[name]


def as_expected(readout: Readout) -> Readout:
    """The readout with ability as the expected response, on any set of samples and whatever was chosen.

    Over all samples it is the mean over cells of what is expected where nothing was seen and of what is
    believed where something was; on the samples of a skill it is the ability on the skill.
    """
    return readout._replace(skill_weight=None, explicit=False, unit_scale=True)
