"""How results look: as text on a terminal, in a notebook, as JSON; and progress while they are made."""

import json
import math
import os
import re
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TextIO

import typer

from camilla.names import distinctly_shortened, shortened, shown
from camilla.schemas import stamped

if TYPE_CHECKING:
    import polars as pl

IN_NOTEBOOK = 10  # rows that a notebook shows of a table of responses
LONGEST_NAME = 48
READABLE_NAME = 20  # to which names are shortened before columns are left out
SHORTEST_NAME = 12
EXCERPT_LENGTH = 700  # characters of a text of an excerpt
EXCERPT_LINES = 12
EXCERPT_TITLE = 200
NOT_A_TERMINAL = 200  # columns of a file or a pipe
SCREEN = (110, 30)  # columns and lines of a result's repr
PROBABILITY = re.compile(r"(.*_)?(p|q|p_value)|p \(.*\)")  # columns whose small values matter
STEERING = (
    re.compile(  # control characters, direction marks, invisible ones; JSON escapes those below a space
        "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
        "\U000e0000-\U000e0fff]"
    )
)
NO_DIFFERENCE = 1e-8  # of a number from a whole one
GAP = "   "
WIDER = "Use a wider terminal or --json."
PRINT_IT = "print(result.text(width=200)) shows them."


class Grid(NamedTuple):
    """A table to show. On a narrow terminal names are shortened, then columns left out, `spare` ones first.

    Text in the columns `fixed`, such as an interval, is never shortened; numbers and heads never are.
    """

    title: str
    frame: "pl.DataFrame"
    fixed: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()


class Excerpt(NamedTuple):
    """Texts from data under a title, such as a prompt and answers to it; long ones are shown in part."""

    title: str
    fields: tuple[tuple[str, str], ...]  # label, text


Part = str | Grid | Excerpt


class Printable:
    """A result that shows itself: sentences and tables as text, a screenful as its repr, HTML in a notebook.

    `on_a_screen` has the options of `parts` with which it fits a screen.
    """

    on_a_screen: ClassVar[dict[str, Any]] = {}

    def parts(self, *args: Any, **options: Any) -> Sequence[Part]:
        """Sentences and tables, the answer first."""
        raise NotImplementedError

    def text(self, *, width: int | None = None, **options: Any) -> str:
        """Returns what the command prints.

        Parameters
        ----------
        width : int, optional
            Columns of the terminal. By default those of the terminal in use.
        **options
            What `parts` takes, such as `learners=5`.

        Returns
        -------
        str
            Sentences and tables, the answer first.

        Examples
        --------
        >>> print(camilla.power(camilla.Design(discordance=0.1), differences=0.05).text(width=100))
        A difference of 0.05 takes 337 samples for a power of 80 %.
        Assumes an exact McNemar test at α = 0.05, discordance 0.100 (share of samples that exactly one of
        the two gets right), design effect 1.
        """
        return as_text(self.parts(**options), width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        columns, lines = SCREEN
        text = as_text(self.parts(**self.on_a_screen), columns, remedy=PRINT_IT)
        return first_lines(text, lines)

    def _repr_html_(self) -> str:
        return as_html(self.parts(**self.on_a_screen))


def first_lines(text: str, most: int) -> str:
    """The text, or its first lines and how many more there are."""
    lines = text.split("\n")
    if len(lines) <= most:
        return text
    return "\n".join([*lines[: most - 1], f"… {len(lines) - most + 1} more lines; print(result) shows them."])


def as_text(parts: Sequence[Part], width: int | None = None, *, remedy: str = WIDER) -> str:
    """Parts below each other; a table stands between empty lines."""
    wrapped = width if width is not None else terminal_width()
    columns = wrapped or NOT_A_TERMINAL
    text = ""
    for part in parts:
        if isinstance(part, Grid):
            text += (
                ("" if text.endswith("\n\n") or not text else "\n") + grid_text(part, columns, remedy) + "\n"
            )
        elif isinstance(part, Excerpt):
            text += ("" if text.endswith("\n\n") or not text else "\n") + excerpt_text(part, columns) + "\n\n"
        else:
            text += _wrapped(part, wrapped) + "\n"
    return text.rstrip("\n")


def terminal_width() -> int | None:
    """Columns of the terminal; None where standard output is none."""
    return shutil.get_terminal_size().columns if _is_terminal(sys.stdout) else None


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _wrapped(text: str, width: int | None) -> str:
    lines = map(shown, text.split("\n"))
    if width is None:
        return "\n".join(lines)
    fixed = (line.replace(" %", "\xa0%") for line in lines)  # 95 % stays on a line
    filled = (textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in fixed)
    return "\n".join(filled).replace("\xa0%", " %")


def grid_text(grid: Grid, width: int, remedy: str = WIDER) -> str:
    """Title, heads and rows; where columns were left out, which, and how to see them."""
    frame, left_out = grid.frame, list[str]()
    lines = _shortened_to(frame, grid.fixed, width, READABLE_NAME)
    while lines is None and frame.width > 2:
        column = next((name for name in grid.spare if name in frame.columns), frame.columns[-1])
        frame = frame.drop(column)
        left_out.append(column)
        lines = _shortened_to(frame, grid.fixed, width, READABLE_NAME)
    if lines is None:
        lines = _shortened_to(frame, grid.fixed, width, SHORTEST_NAME)
    if lines is None:
        lines = _laid_out(_cells(frame, grid.fixed, SHORTEST_NAME))
    title = "\n".join(_wrapped(line, width) for line in grid.title.split("\n"))
    text = "\n".join([title, "", *lines, ""])
    if left_out:
        names = ", ".join(name for name in map(shown, grid.frame.columns) if name in left_out)
        text += _wrapped(f"Not shown for lack of width: {names}. {remedy}", width) + "\n"
    return text


def excerpt_text(excerpt: Excerpt, width: int) -> str:
    """The title, and below it each label with its text, line for line as far as there is room."""
    lines = [_wrapped(shortened(shown(excerpt.title), EXCERPT_TITLE), width)]
    for label, text in excerpt.fields:
        first, *rest = excerpt_lines(text)
        head = f"  {shortened(shown(label), LONGEST_NAME)}: " if label else "  "
        told = [head + first, *(f"    {line}" for line in rest)]
        lines += [
            textwrap.fill(line, max(width, 40), subsequent_indent="    ", break_on_hyphens=False)
            for line in told
        ]
    return "\n".join(lines)


def excerpt_lines(text: str) -> list[str]:
    """A text from data made harmless: its lines with control characters spelled out, the middle left out."""
    lines = [shown(line.expandtabs(4)) for line in shortened(text.strip(), EXCERPT_LENGTH).split("\n")]
    lines = [line for line in lines if line.strip()] or [""]
    if len(lines) <= EXCERPT_LINES:
        return lines
    end = EXCERPT_LINES // 2
    return [*lines[: EXCERPT_LINES - end - 1], "…", *lines[-end:]]


def _shortened_to(frame: "pl.DataFrame", fixed: Sequence[str], width: int, shortest: int) -> list[str] | None:
    """The table with names as long as there is room; None if they would be shorter than `shortest`."""
    from rich.cells import cell_len

    for longest in range(LONGEST_NAME, shortest - 1, -4):
        lines = _laid_out(_cells(frame, fixed, longest))
        if cell_len(lines[1]) <= width:
            return lines
    return None


class _Column(NamedTuple):
    head: str
    cells: list[str]
    right: bool  # ends, not starts, in line


def _cells(frame: "pl.DataFrame", fixed: Sequence[str], longest: int) -> list[_Column]:
    """Every cell as text: names harmless and told apart, numbers with the decimals that the column needs."""
    heads = distinctly_shortened(frame.columns, max(longest, LONGEST_NAME))
    columns = []
    for name, kind in frame.schema.items():
        values = frame[name].to_list()
        if kind.is_float():
            cells = _numbers(values, fine=PROBABILITY.fullmatch(name) is not None)
        elif kind.is_numeric() or name in fixed:
            cells = ["" if value is None else shown(str(value)) for value in values]
        else:
            brief = distinctly_shortened((str(value) for value in values if value is not None), longest)
            cells = ["" if value is None else brief[str(value)] for value in values]
        columns.append(_Column(heads[name], cells, kind.is_numeric()))
    return columns


def _numbers(values: Sequence[float | None], *, fine: bool) -> list[str]:
    """Three decimals, or none where the whole column needs none."""
    texts = ["" if value is None or value != value else _number(value, fine) for value in values]
    if all("." not in text or _is_whole(value, text) for text, value in zip(texts, values, strict=True)):
        return [text.removesuffix(".000") for text in texts]
    return texts


def _is_whole(value: float | None, text: str) -> bool:
    """Whether a number is whole but for errors of arithmetic: 1.0003, shown as 1.000, is not."""
    return value is not None and text.endswith(".000") and abs(value - round(value)) < NO_DIFFERENCE


def _number(value: float, fine: bool) -> str:
    """Three decimals; of a probability that would seem to be 0, two digits."""
    if fine and 0 < value < 0.0005:
        return f"{value:.2g}"
    text = f"{value:.3f}" if abs(value) < 1e6 else f"{value:.3g}"
    return "0.000" if text == "-0.000" else text


def _laid_out(columns: Sequence[_Column]) -> list[str]:
    from rich.cells import cell_len

    widths = [max(map(cell_len, [column.head, *column.cells])) for column in columns]

    def line(cells: Iterable[str]) -> str:
        padded = (
            " " * (width - cell_len(cell)) + cell if column.right else cell + " " * (width - cell_len(cell))
            for cell, column, width in zip(cells, columns, widths, strict=True)
        )
        return (" " + GAP.join(padded)).rstrip()

    rule = " " + "─" * (sum(widths) + len(GAP) * (len(widths) - 1))
    rows = zip(*(column.cells for column in columns), strict=True)
    return [line(column.head for column in columns), rule, *map(line, rows)]


def intervals(frame: "pl.DataFrame", low: str, high: str, decimals: int = 3) -> list[str | None]:
    """ "low to high" of every row, the numbers below each other; None where an end is not known."""
    ends = [
        [
            None if value is None or value != value else f"{value:.{decimals}f}"
            for value in frame[end].to_list()
        ]
        for end in (low, high)
    ]
    wide = [max((len(text) for text in texts if text is not None), default=0) for texts in ends]
    return [
        None if low_end is None or high_end is None else f"{low_end:>{wide[0]}} to {high_end:>{wide[1]}}"
        for low_end, high_end in zip(*ends, strict=True)
    ]


def brief(text: str, longest: int = LONGEST_NAME) -> str:
    """A name harmless for a terminal and short enough for a sentence; what it ends in stays."""
    return shortened(shown(text), longest)


def places_in_words(places: Sequence[int]) -> str:
    """Numbers in order, runs of them shortened: “1–4, 6”."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def sets_in_words(sets: Sequence[Sequence[int]], most: int = 12) -> str:
    """The first sets of numbers, and how many more there are."""
    texts = [places_in_words(places) for places in sets[:most]]
    between = "; " if any("," in text for text in texts) else ", "
    more = f"{between}and {len(sets) - most} more sets" if len(sets) > most else ""
    return between.join(texts) + more if texts else "none"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    apart = distinctly_shortened(names[:most], LONGEST_NAME)
    text = ", ".join(apart[name] for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most} more"


def percent(share: float) -> str:
    """95 % of .95."""
    return f"{round(share * 100, 6):.3g} %"


def signed(value: float, decimals: int = 1) -> str:
    """A number of a sentence with its sign, a minus and not a hyphen."""
    return f"{value:+.{decimals}f}".replace("-", "−")


def counted(number: int, noun: str, verb: str = "", verbs: str = "") -> str:
    """1 sample, 2 samples; with verbs, 1 sample is, 2 samples are."""
    noun, verb = (noun, verb) if number == 1 else (f"{noun}s", verbs)
    return f"{number} {noun} {verb}".rstrip()


def counted_of(number: int, total: int, noun: str, what: str) -> str:
    """1 of 3 rows is wrong, 2 of 3 rows are wrong."""
    return f"{number} of {counted(total, noun)} {'is' if number == 1 else 'are'} {what}"


def as_html(parts: Sequence[Part]) -> str:
    """Parts as HTML for a notebook, everything that comes from data escaped."""
    html = []
    for part in parts:
        if isinstance(part, Grid):
            columns = _cells(part.frame, part.fixed, LONGEST_NAME)
            rows = zip(*(column.cells for column in columns), strict=True)
            html.append(html_table(part.title, [column.head for column in columns], rows))
        elif isinstance(part, Excerpt):
            html.append(_excerpt_html(part))
        else:
            html += [f"<p>{escape(shown(line))}</p>" for line in part.split("\n")]
    return f"<div>{''.join(html)}</div>"


def _excerpt_html(excerpt: Excerpt) -> str:
    rows = "".join(
        f"<dt><bdi>{escape(shown(label))}</bdi></dt>"
        f'<dd style="white-space: pre-wrap"><bdi>{escape(chr(10).join(excerpt_lines(text)))}</bdi></dd>'
        for label, text in excerpt.fields
    )
    return f"<p><bdi>{escape(shown(excerpt.title))}</bdi></p><dl>{rows}</dl>"


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


def say(text: str, *, err: bool = False, end: str = "\n") -> None:
    """Prints a line or many. A reader that went away, as `head` does, is no error: the rest is dropped."""
    stream = sys.stderr if err else sys.stdout
    try:
        typer.echo(text + end, err=err, nl=False)
        stream.flush()
    except BrokenPipeError:
        _drop_output(stream)
    except OSError as error:
        _drop_output(stream)
        where = "standard error" if err else "standard output"
        raise OSError(error.errno, error.strerror, where) from error


_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quietly(quiet: bool = True) -> Iterator[None]:
    """Inside, notes and progress are not printed; results, warnings and errors are."""
    token = _QUIET.set(quiet)
    try:
        yield
    finally:
        _QUIET.reset(token)


def aside(text: str) -> None:
    """A line on standard error that a reader of the result may do without: dropped by `--quiet`."""
    if not _QUIET.get():
        say(text, err=True)


def _drop_output(stream: TextIO) -> None:
    """Sends what is still to be written, also when Python ends, nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def print_frame(frame: "pl.DataFrame", *, title: str) -> None:
    """One table on standard output."""
    say(as_text([Grid(title, frame)]) + "\n")


def print_json(document: dict[str, Any], schema: str) -> None:
    """One JSON object of a schema; a number that is not finite is null, and nothing steers a terminal."""
    text = json.dumps(_finite(stamped(document, schema)), ensure_ascii=False, indent=1, allow_nan=False)
    say(STEERING.sub(lambda found: json.dumps(found[0])[1:-1], text))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    return [_finite(part) for part in value] if isinstance(value, list | tuple) else value


DRAWN_AGAIN = 0.1  # seconds
LONG = 2.0  # seconds after which a caller in Python is told what is going on
SELDOM = 5.0  # seconds between lines in a file


@contextmanager
def watching(
    what: str, wanted: bool | None, watch: Callable[[str], None] | None
) -> Iterator[Callable[[str], None]]:
    """What takes lines of progress: `watch` if it is given, else a line on standard error, else nothing.

    The line comes if it is wanted; with None only where it can be taken away again, on a terminal or in
    a notebook, and after two seconds.
    """
    if watch is not None:
        yield watch
    elif wanted or (wanted is None and _can_be_redrawn(sys.stderr)):
        with progress(what, after=0.0 if wanted else LONG) as line:
            yield line
    else:
        yield lambda line: None


@contextmanager
def progress(what: str, *, after: float = 0.0) -> Iterator[Callable[[str], None]]:
    """Says on standard error what is going on: a live line on a terminal, else a line every five seconds."""
    if _QUIET.get():
        yield lambda line: None
        return
    if not _can_be_redrawn(sys.stderr):
        yield _occasionally(what)
        return
    said, done = [shown(what)], threading.Event()
    drawing = threading.Thread(target=_draw, args=(sys.stderr, said, done, after), daemon=True)
    drawing.start()

    def watch(line: str) -> None:
        said[0] = f"{shown(what)}: {shown(line)}"

    try:
        yield watch
    finally:
        done.set()
        drawing.join()


def _can_be_redrawn(stream: TextIO) -> bool:
    return _is_terminal(stream) or type(stream).__module__.partition(".")[0] == "ipykernel"


def _draw(stream: TextIO, said: Sequence[str], done: threading.Event, after: float) -> None:
    """The line drawn over itself until all is done, then taken away."""
    drawn, width = "", shutil.get_terminal_size().columns - 1
    ended = done.wait(after)
    while not ended:
        line = shortened(said[0], width)
        if line != drawn:
            stream.write("\r" + line.ljust(len(drawn)))
            stream.flush()
            drawn = line
        ended = done.wait(DRAWN_AGAIN)
    if drawn:
        stream.write("\r" + " " * len(drawn) + "\r")
        stream.flush()


def _occasionally(what: str) -> Callable[[str], None]:
    last = time.monotonic()

    def watch(line: str) -> None:
        nonlocal last
        if time.monotonic() - last > SELDOM:
            last = time.monotonic()
            say(f"{what}: {shown(line)}", err=True)

    return watch
