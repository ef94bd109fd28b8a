"""A user's own learners, by import path."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from camilla.errors import SettingError
from camilla.pools.description import Learner
from camilla.pools.grids import Grid, imported


def own_learners(path: str) -> tuple[Learner, ...]:
    """What `module:name` holds: learners, a grid, estimators by name, one estimator, or a function that makes
    one of these. The working folder is looked in first."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = imported(path)
    except ImportError as error:
        raise SettingError(f"{path!r}: cannot be imported: {error}.") from None
    if callable(found) and not hasattr(found, "fit"):
        try:
            found = found()
        except TypeError as error:
            raise SettingError(f"{path!r}: cannot be called without arguments: {error}.") from error
    learners = as_learners(found, name=path.partition(":")[2])
    if strange := [learner.name for learner in learners if not hasattr(learner.estimator, "fit")]:
        raise SettingError(f"{path!r}: {strange[0]!r} has no fit(); an estimator was wanted.")
    return learners


def as_learners(found: Any, *, name: str) -> tuple[Learner, ...]:
    """Learners from what a user hands over."""
    if isinstance(found, Learner):
        return (found,)
    if isinstance(found, Grid):
        return found.learners()
    if isinstance(found, Mapping):
        return tuple(Learner(str(key), estimator) for key, estimator in found.items())
    if isinstance(found, Sequence) and not isinstance(found, str):
        return tuple(one for part in found for one in as_learners(part, name=type(part).__name__))
    estimator = found() if isinstance(found, type) else found
    return (Learner(name, estimator),)
