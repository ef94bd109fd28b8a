"""Which loader a file belongs to, found by looking."""

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import NamedTuple

from camilla.errors import DataError, SettingError
from camilla.names import nearest
from camilla.reading.peeking import Peek
from camilla.reading.runs import Loader, Sniffed

GROUP = "camilla.loaders"


class Match(NamedTuple):
    """The format that is surest of a file."""

    format: str
    sniffed: Sniffed


def all_loaders() -> dict[str, Loader]:
    """The formats of this package, and those that installed packages bring by entry point."""
    from camilla.reading.formats import LOADERS

    found = dict(LOADERS)
    for point in entry_points(group=GROUP):
        try:
            loader = point.load()
        except (ImportError, AttributeError) as error:
            raise DataError(
                f"the loader {point.name!r} of {point.value} cannot be loaded: {error}."
            ) from error
        if not isinstance(loader, Loader):
            raise DataError(f"the loader {point.name!r} of {point.value} is no camilla.reading.runs.Loader.")
        found[point.name] = loader
    return found


def match(peek: Peek, loaders: Mapping[str, Loader]) -> Match | None:
    """The surest loader, or None if none knows the file."""
    found = [
        Match(name, sniffed)
        for name, loader in loaders.items()
        if (sniffed := loader.sniff(peek)) is not None and sniffed.confidence > 0
    ]
    return max(found, key=lambda one: one.sniffed.confidence, default=None)


def named(format: str, loaders: Mapping[str, Loader]) -> dict[str, Loader]:
    """The one loader of this name."""
    if format not in loaders:
        raise SettingError(f"no format is called {format!r}. {nearest(format, list(loaders))}")
    return {format: loaders[format]}
