"""Who takes part in an experiment, and how it is fitted."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from camilla import diagnosing
from camilla.arrays import Floats, rounded
from camilla.diagnosing import AUTO, diagnoser_named, published_settings, readout_of
from camilla.errors import CamillaError, SettingError
from camilla.fitting.engines import engine_of
from camilla.fitting.fit import build
from camilla.fitting.layout import Layout
from camilla.fitting.protocol import Size
from camilla.fitting.settings import check_settings
from camilla.models import DIAGNOSERS

RATES = (0.0001, 0.001, 0.005, 0.01)
FIRST_LAYER = (16, 32, 64, 128, 256, 512)
SECOND_LAYER = (16, 32, 64)
LATENT_SKILLS = (5, 10, 20, 50)


def draws(
    name: str, published: Mapping[str, Any], count: int, rng: np.random.Generator
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


class Contender(NamedTuple):
    """A diagnoser with settings: what `NAME:setting=value:…` says."""

    label: str
    name: str
    settings: dict[str, Any]
    as_published: bool = False
    search: int = 0  # settings drawn from the paper's grid, the best on validation kept


def contender(text: str) -> Contender:
    """`camilla`, `mirt:dimensions=30`, `camilla:hidden=64x32`, `camilla:as_published:search=10`."""
    name, *parts = text.strip().split(":")
    if name != AUTO:
        diagnoser_named(name)
    settings: dict[str, Any] = {}
    for part in parts:
        if part == "as_published":
            continue
        key, equals, value = part.partition("=")
        if not equals:
            raise SettingError(f"{text!r}: {part!r} is not setting=value. Write NAME:setting=value:….")
        settings[key] = _value(value)
    search = settings.pop("search", 0)
    if not isinstance(search, int) or search < 0 or (search and "as_published" not in parts):
        raise SettingError(f"{text!r}: write NAME:as_published:search=10 to draw ten settings of the grid.")
    return Contender(text.strip(), name, settings, "as_published" in parts, search)


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"\d+(x\d+)+", text):
        return tuple(int(part) for part in text.split("x"))
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def check_names(one: Contender, size: Size) -> None:
    """Raises what fitting would raise, before anything is fitted."""
    if one.name == AUTO:
        if one.settings or one.as_published:
            raise SettingError(f"{one.label!r}: auto chooses its own settings and takes none.")
        return
    check_settings(diagnoser_named(one.name), one.settings)
    build(diagnoser_named(one.name), size, _settings(one, size))


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
    options = draws(one.name, given, one.search, np.random.default_rng(seed)) if one.search else [given]
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
    engine = engine_of(diagnoser)
    readout = readout_of(found, engine.spread(diagnoser, params, layout, errors=False))
    if readout.skill_weight is not None and not readout.expected:
        return readout.ability @ readout.skill_weight.mean(axis=0)
    everywhere = np.arange(diagnoser.size.n_samples)
    value, _ = engine.expected(diagnoser, params, readout, readout.ability, readout.covariance, everywhere)
    return value


def _silent(line: str) -> None:
    """Tasks run beside each other: only their ends are said."""
