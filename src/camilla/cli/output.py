"""What commands print: tables for people, JSON for scripts, progress on standard error."""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from camilla.data.names import shown

if TYPE_CHECKING:
    import polars as pl

LONGEST_NAME = 48


def brief(text: str) -> str:
    """A name harmless for a terminal and short enough for a table."""
    safe = shown(text)
    return safe if len(safe) <= LONGEST_NAME else safe[: LONGEST_NAME - 1] + "…"


def keep_input(output: Path | None, inputs: Iterable[Path]) -> None:
    """Refuses to write a command's output over what it reads."""
    from camilla.errors import SettingError

    if output is None or not output.exists():
        return
    if any(one.exists() and output.samefile(one) for one in inputs):
        raise SettingError(f"{output}: is what is read; it would be lost. Give -o another place.")


def percent(share: float) -> str:
    """95 % of .95."""
    return f"{round(share * 100, 6):.3g} %"


def print_frame(frame: "pl.DataFrame", *, title: str) -> None:
    """A table: names left and as they are written, numbers right with three decimals, nothing for none."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, kind in frame.schema.items():
        table.add_column(Text(brief(name)), justify="right" if kind.is_numeric() else "left", no_wrap=True)
    for row in frame.iter_rows():
        table.add_row(*(Text(_cell(value)) for value in row))
    width = None if sys.stdout.isatty() else 200
    console = Console(width=width, highlight=False)
    console.print(Text("\n".join(map(shown, title.split("\n")))), soft_wrap=True)
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}".removesuffix(".000") if abs(value) < 1e6 else f"{value:.3g}"
    return brief(str(value))


def print_json(document: dict[str, Any]) -> None:
    """One JSON object; a number that is not finite is null."""
    typer.echo(json.dumps(_finite(document), ensure_ascii=False, indent=1, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Says on standard error what is going on: a live line on a terminal, else a line every five seconds."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status(Text(what)) as status:
            yield lambda line: status.update(Text(f"{what}: {shown(line)}"))
        return
    last = time.monotonic()

    def occasionally(line: str) -> None:
        nonlocal last
        if time.monotonic() - last > 5:
            last = time.monotonic()
            typer.echo(f"{what}: {shown(line)}", err=True)

    yield occasionally
