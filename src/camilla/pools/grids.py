"""Learners of one kind over a grid of settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

from camilla.errors import SettingError
from camilla.extras import install_line
from camilla.names import quoted
from camilla.pools.description import Learner

CATBOOST = {
    "random_seed": 0,
    "loss_function": "RMSE",
    "thread_count": 1,
    "verbose": 0,
    "allow_writing_files": False,
}


@dataclass(frozen=True)
class Grid:
    """Every combination of `settings`, built by `build` ("module:Class") with `fixed` beside them.

    `now` says what a setting that the library has since dropped is called today:
    {"loss": {"log": {"loss": "log_loss"}}}. Names keep the paper's word. `kept` lists the combinations
    wanted where not all are: values apart by spaces, in the order of `settings`, learners by commas.
    `cost` is the learner's, or a function of its settings.
    """

    family: str
    build: str
    settings: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    now: Mapping[str, Mapping[Any, Mapping[str, Any]]] = field(default_factory=dict)
    cost: float | Callable[[Mapping[str, Any]], float] = 1.0
    kept: str = ""

    def learners(self) -> tuple[Learner, ...]:
        """One learner a combination, named family:setting=value:…"""
        build = imported(self.build)
        combinations = product(*self.settings.values())
        rows = {" ".join(str(value) for value in row): row for row in combinations}
        wanted = [" ".join(row.split()) for row in self.kept.split(",")] if self.kept else list(rows)
        if strange := [row for row in wanted if row not in rows]:
            raise SettingError(f"{self.family}: {quoted(strange)} is not a combination of its settings.")
        return tuple(self._learner(build, dict(zip(self.settings, rows[row], strict=True))) for row in wanted)

    def _learner(self, build: Any, settings: dict[str, Any]) -> Learner:
        name = ":".join([self.family, *(f"{key}={_short(value)}" for key, value in settings.items())])
        given = dict(self.fixed)
        for key, value in settings.items():
            given |= {} if key in given else self.now.get(key, {}).get(value, {key: value})
        cost = self.cost(settings) if callable(self.cost) else self.cost
        return Learner(name, build(**given), self.family, settings, cost)

    @property
    def mapped(self) -> tuple[str, ...]:
        """What was renamed, in words."""
        return tuple(
            f"{self.family}: {key}={old} is now "
            + ", ".join(f"{name}={_short(value)}" for name, value in new.items())
            for key, values in self.now.items()
            for old, new in values.items()
        )


class Made(NamedTuple):
    """Learners, and notes on settings mapped and families left out."""

    learners: tuple[Learner, ...]
    notes: tuple[str, ...]


def made(grids: Sequence[Grid]) -> Made:
    """The learners of all grids whose package is installed."""
    learners: list[Learner] = []
    notes: list[str] = []
    for grid in grids:
        try:
            learners += grid.learners()
        except ModuleNotFoundError as error:
            package = str(error.name)
            notes.append(f"{grid.family}: left out, {package} is not installed; {install_line(package)}")
        else:
            notes += grid.mapped
    return Made(tuple(learners), tuple(notes))


def imported(path: str) -> Any:
    """What `module:name` says."""
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise SettingError(f"{path!r} is not module:name.")
    try:
        return getattr(import_module(module), name)
    except AttributeError:
        raise SettingError(f"{path!r}: the module {module} has no {name!r}.") from None


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return "x".join(str(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
