"""Who takes part in an experiment: diagnosers with settings, as one writes them."""

import re
from typing import Any, NamedTuple

import numpy as np

from camilla import auto
from camilla.auto import AUTO, diagnoser_named
from camilla.diagnoser import Floats, Size
from camilla.diagnosers import DIAGNOSERS
from camilla.diagnosing import published_settings, readout_of
from camilla.engine import fit as engine
from camilla.engine.layout import Layout
from camilla.engine.scale import bare_spread, expected_on
from camilla.engine.settings import check_settings
from camilla.errors import CamillaError, SettingError
from camilla.experiments.paper_grid import draws


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


def check(one: Contender, size: Size) -> None:
    """Raises what fitting would raise, before anything is fitted."""
    if one.name == AUTO:
        if one.settings or one.as_published:
            raise SettingError(f"{one.label!r}: auto chooses its own settings and takes none.")
        return
    check_settings(diagnoser_named(one.name), one.settings)
    engine.build(diagnoser_named(one.name), size, _settings(one, size))


def every(size: Size) -> list[str]:
    """auto and every diagnoser that can take a table of this size."""
    return [AUTO, *(name for name in DIAGNOSERS if _can(Contender(name, name, {}), size))]


def _can(one: Contender, size: Size) -> bool:
    try:
        check(one, size)
    except CamillaError:
        return False
    return True


def _settings(one: Contender, size: Size) -> dict[str, Any]:
    return published_settings(one.name, size) | one.settings if one.as_published else one.settings


def fitted(one: Contender, size: Size, layout: Layout, *, seed: int, valid: Layout | None) -> auto.Found:
    """The contender on these responses; a search keeps the draw with the smallest validation loss."""
    given = _settings(one, size)
    options = draws(one.name, given, one.search, np.random.default_rng(seed)) if one.search else [given]
    found = [
        auto.fit(one.name, size, layout, settings=settings, seed=seed, valid=valid, watch=_silent)
        for settings in options
    ]
    return min(found, key=lambda each: each.fit.validation_loss) if one.search else found[0]


def overall_ability(found: auto.Found, layout: Layout) -> Floats:
    """Every learner's ability over all samples, as the leaderboard of a diagnosis has it."""
    diagnoser, params = found.fit.diagnoser, found.fit.solution.params
    bilinear = diagnoser.engine == "bilinear"
    spread = bare_spread(diagnoser, params) if bilinear else engine.spread(diagnoser, params, layout)
    readout = readout_of(found, spread)
    if readout.skill_weight is not None and not readout.expected:
        return readout.ability @ readout.skill_weight.mean(axis=0)
    everywhere = np.arange(diagnoser.size.n_samples)
    return expected_on(diagnoser, params, readout, readout.ability, readout.covariance, everywhere)[0]


def _silent(line: str) -> None:
    """Tasks run beside each other: only their ends are said."""
