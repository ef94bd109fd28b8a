"""How results look as text: tables for a terminal and for a notebook, JSON, progress."""

import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from camilla.names import shortened, shown

if TYPE_CHECKING:
    from camilla.table.responses import ResponseTable

IN_NOTEBOOK = 10  # rows that a notebook shows


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Cells are escaped; numbers have three decimals, nothing stands where there is none."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_html_cell(value)}</td>" for value in row) + "</tr>" for row in rows
    )
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f"<table><caption>{escape(shown(caption))}</caption>{inside}</table>"


def _html_cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return f"{value:.3f}" if isinstance(value, float) else f"<bdi>{escape(shown(str(value)))}</bdi>"


def responses_in_notebook(table: "ResponseTable") -> str:
    """What a notebook shows of a table: its size, and the learners with the highest mean response."""
    mean, se, weight = table.learner_means()
    order = np.argsort(-np.nan_to_num(mean, nan=-1.0), kind="stable")[:IN_NOTEBOOK]
    rows = [(table.learners[i], float(mean[i]), float(se[i]), f"{weight[i]:g}") for i in order]
    more = table.n_learners - len(rows)
    tail = f"; the first {len(rows)} by mean response" if more else ""
    return html_table(f"{table!r}{tail}", ["learner", "mean", "se", "responses"], rows)


if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

LONGEST_NAME = 48
SHORTEST_NAME = 12  # to which names are cut for a narrow terminal
PROBABILITY = re.compile("(.*_)?(p|q|p_value)")  # columns whose small values matter


def brief(text: str, longest: int = LONGEST_NAME) -> str:
    """A name harmless for a terminal and short enough for a table; what it ends in stays."""
    return shortened(shown(text), longest)


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
    from rich.console import Console
    from rich.text import Text

    width = None if sys.stdout.isatty() else 200
    console = Console(width=width, highlight=False)
    console.print(Text("\n".join(map(shown, title.split("\n")))), soft_wrap=True)
    console.print(_fitting(frame, console))


def _fitting(frame: "pl.DataFrame", console: "Console") -> "Table":
    """The table, with names as long as there is room."""
    from rich.measure import Measurement

    unbounded = console.options.update_width(10_000)
    for longest in range(LONGEST_NAME, SHORTEST_NAME - 1, -4):
        table = _table(frame, longest)
        if Measurement.get(console, unbounded, table).maximum <= console.width:
            break
    return table


def _table(frame: "pl.DataFrame", longest: int) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, kind in frame.schema.items():
        justify = "right" if kind.is_numeric() else "left"
        table.add_column(Text(brief(name, longest)), justify=justify, no_wrap=True)  # type: ignore[arg-type]
    fine = [PROBABILITY.fullmatch(name) is not None for name in frame.columns]
    for row in frame.iter_rows():
        table.add_row(*(Text(_cell(value, longest, one)) for value, one in zip(row, fine, strict=True)))
    return table


def _cell(value: Any, longest: int, fine: bool) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return _number(value, fine)
    return brief(str(value), longest)


def _number(value: float, fine: bool) -> str:
    """Three decimals; of a probability that would seem to be 0, two digits."""
    if fine and 0 < value < 0.0005:
        return f"{value:.2g}"
    return f"{value:.3f}".removesuffix(".000") if abs(value) < 1e6 else f"{value:.3g}"


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
