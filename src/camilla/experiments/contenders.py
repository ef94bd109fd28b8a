"""Who takes part in an experiment, and how it is fitted."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from camilla import diagnosing
from camilla.arrays import Floats, rounded
from camilla.diagnosing import (
    AUTO,
    Contender,
    check_auto,
    check_features,
    diagnoser_named,
    published_settings,
    readout_of,
)
from camilla.errors import CamillaError, SettingError
from camilla.fitting.engines import engine_of
from camilla.fitting.fit import build, check_settings
from camilla.fitting.layout import Layout, Size
from camilla.models import DIAGNOSERS

RATES = (0.0001, 0.001, 0.005, 0.01)
FIRST_LAYER = (16, 32, 64, 128, 256, 512)
SECOND_LAYER = (16, 32, 64)
LATENT_SKILLS = (5, 10, 20, 50)


def drawn_settings(
    published: Mapping[str, Any], count: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """`count` random settings; those of the grid that the diagnoser does not have are left out."""
    out = []
    for _ in range(count):
        rate, first, second, latent = (
            options[int(rng.integers(len(options)))]
            for options in (RATES, FIRST_LAYER, SECOND_LAYER, LATENT_SKILLS)
        )
        drawn = dict(published)
        if "training" in published:
            drawn["training"] = published["training"]._replace(rate=rate)
        if "hidden" in published:
            drawn["hidden"] = (first, second)
        if "dimensions" in published:
            drawn["dimensions"] = latent
        out.append(drawn)
    return out


def check_names(one: Contender, size: Size) -> None:
    """Raises what fitting would raise, before anything is fitted."""
    if one.name == AUTO:
        if one.as_published:
            raise SettingError(
                f"{one.label!r}: auto is not from a paper; as_published needs another diagnoser."
            )
        check_auto(one.settings)
        return
    check_settings(diagnoser_named(one.name), one.settings)
    build(diagnoser_named(one.name), size, _settings(one, size))


def check_uses_features(one: Contender, size: Size) -> None:
    """Raises where features of the table would do nothing, before anything is fitted."""
    check_features(one.name, size, _settings(one, size))


def every(size: Size) -> list[str]:
    """auto and every diagnoser that can take a table of this size."""
    return [AUTO, *(name for name in DIAGNOSERS if _can(Contender(name, name, {}), size))]


def _can(one: Contender, size: Size) -> bool:
    try:
        check_names(one, size)
    except CamillaError:
        return False
    return True


def _settings(one: Contender, size: Size) -> dict[str, Any]:
    return published_settings(one.name, size) | one.settings if one.as_published else one.settings


def fitted_contender(
    one: Contender, size: Size, layout: Layout, *, seed: int, valid: Layout | None
) -> diagnosing.Found:
    """The contender on these responses; a search keeps the draw with the smallest validation loss."""
    given = _settings(one, size)
    options = drawn_settings(given, one.search, np.random.default_rng(seed)) if one.search else [given]
    found = [
        diagnosing.fit_chosen(
            one.name, size, layout, settings=settings, seed=seed, valid=valid, watch=_silent
        )
        for settings in options
    ]
    return min(found, key=lambda each: rounded(each.fit.validation_loss)) if one.search else found[0]


def overall_ability(found: diagnosing.Found, layout: Layout) -> Floats:
    """Every learner's ability over all samples, as the leaderboard of a diagnosis has it."""
    diagnoser, params = found.fit.diagnoser, found.fit.solution.params
    readout = readout_of(found, layout, errors=False)
    if (draws := engine_of(diagnoser).pool(diagnoser, params, readout).draws) is not None:
        return draws.on(np.arange(diagnoser.size.n_samples)).mean(axis=0)
    if readout.skill_weight is not None and not readout.expected:
        return readout.ability @ readout.skill_weight.mean(axis=0)
    everywhere = np.arange(diagnoser.size.n_samples)
    value, _ = engine_of(diagnoser).expected(
        diagnoser, params, readout, readout.ability, readout.covariance, everywhere
    )
    return value


def _silent(line: str) -> None:
    """Tasks run in parallel, so that only their ends are reported."""
