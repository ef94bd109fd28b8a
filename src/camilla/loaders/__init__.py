"""One file a source, each giving a response table."""

from collections.abc import Callable

from camilla.data.responses import ResponseTable
from camilla.loaders.tables import read

LOADERS: dict[str, Callable[..., ResponseTable]] = {"table": read}
