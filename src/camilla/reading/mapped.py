"""Files of any layout by a recipe: records, the values that its paths lead to, one table or runs."""

import io
import subprocess
import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from camilla.errors import CamillaError, DataError, LayoutError
from camilla.names import in_quotes, shown
from camilla.reading.content import with_mapped_content
from camilla.reading.decoding import (
    ANY_JSON,
    LARGEST_FILE,
    LONGEST_NAME,
    decode,
    digest,
    numbered_lines,
    shortened,
)
from camilla.reading.formats.tabular import runs_of
from camilla.reading.recipes import Field, Recipe, Step, step_text
from camilla.reading.runs import Answered, Asked, Content, Run
from camilla.reading.sniffing import Loader, Peek, Sniffed
from camilla.reading.tables import TableRead, named_by_shared_task, repeated_rows
from camilla.table.columns import Origin
from camilla.table.frame_files import (
    SEPARATOR,
    STANDARD_INPUT,
    UNREADABLE,
    called,
    column_names,
    ending_of,
    frame_with_lines,
    read_frame,
    whole_content,
)
from camilla.table.frames import Roles, long_parts
from camilla.table.responses import ResponseTable

LINES, ARROW = (".jsonl", ".ndjson"), (".arrow", ".feather", ".ipc")
ENDINGS = (*SEPARATOR, *LINES, ".json", ".parquet", *ARROW)
BATCH = 10_000
FROM_ARROW = """
import io, sys
import polars as pl
data = sys.stdin.buffer.read()
read = pl.read_ipc if data[:6] == b"ARROW1" else pl.read_ipc_stream
out = io.BytesIO()
read(io.BytesIO(data)).write_parquet(out)
sys.stdout.buffer.write(out.getvalue())
"""
LONGEST = 600.0  # seconds for which an Arrow file may be read
CONTENT_ALONE = ("prompt", "reference")  # roles that a table has no column for
WORD_REMEDY = "Say what it means in the recipe: right=…, wrong=… or missing=…."


class Records(NamedTuple):
    """The records of a file, and where each is, in words; "" where the file is one record."""

    items: Iterator[Any]
    place: Callable[[int], str]


class Row(NamedTuple):
    """What the recipe finds for one response: the record, the keys and places on the way, the values."""

    record: int
    trail: tuple[Step, ...]
    values: tuple[Any, ...]  # in the order of the recipe's fields


def can_be_mapped(path: Path) -> bool:
    """Whether the ending is one of a table or of JSON."""
    return path == STANDARD_INPUT or ending_of(path) in ENDINGS


def records(path: Path, columns: Sequence[str] | None = None) -> Records:
    """Rows of a table (of the columns that are named), lines of JSON, entries of an array, or a document."""
    if path != STANDARD_INPUT and not path.is_file():
        raise DataError(f"{path}: no such file.")
    ending = ending_of(path)
    if ending in LINES:
        return _lines(path)
    if ending in (*SEPARATOR, ".parquet", *ARROW):
        return _rows(path, ending, columns)
    if ending == ".json":
        return _document(path)
    raise DataError(
        f"{called(path)}: the ending {ending!r} is not known; a recipe reads {', '.join(ENDINGS)}, also "
        "with .gz."
    )


def _rows(path: Path, ending: str, columns: Sequence[str] | None) -> Records:
    if ending in ARROW:
        frame, place = _arrow(path), lambda row: f"row {row + 1}"
        frame = frame if columns is None else frame.select(name for name in frame.columns if name in columns)
    else:
        names = column_names(path)
        wanted = names if columns is None else [name for name in names if name in columns]
        if not wanted:
            return Records(iter(()), lambda row: f"row {row + 1}")
        frame, place = frame_with_lines(read_frame(path, columns=wanted, text=ending in SEPARATOR), path)
    return Records(frame.iter_rows(named=True), place)


def _arrow(path: Path) -> pl.DataFrame:
    """An Arrow file, or a stream of it, turned into Parquet by a process of its own.

    A damaged Arrow file can end the process that reads it, not only raise an error there.
    """
    data = whole_content(path)
    if data[:6] == b"ARROW1" and data[-6:] != b"ARROW1":
        raise DataError(f"{path}: is an Arrow file that breaks off. Copy it again.")
    try:
        child = subprocess.run(
            [sys.executable, "-c", FROM_ARROW], input=data, capture_output=True, timeout=LONGEST, check=False
        )
        if child.returncode == 0:
            return pl.read_parquet(io.BytesIO(child.stdout))
    except (*UNREADABLE, ValueError, subprocess.SubprocessError) as error:
        raise DataError(f"{path}: cannot be read as Arrow: {str(error)[:200]}.") from error
    raise DataError(f"{path}: cannot be read as Arrow. The file may be damaged.")


def _lines(path: Path) -> Records:
    """One value per line; a file that is not so, though its ending says it, is one document."""
    numbers = array("q")

    def items() -> Iterator[Any]:
        for number, line in _numbered(path):
            numbers.append(number)
            yield decode(line, ANY_JSON, f"{called(path)}: line {number}")

    first = next(_numbered(path), None)
    if first is not None and not _is_json(first[1]):
        return _document(path, lines=False)
    return Records(items(), lambda record: f"line {numbers[record]}")


def _numbered(path: Path) -> Iterator[tuple[int, bytes]]:
    if path != STANDARD_INPUT and path.suffix.lower() != ".gz":
        return numbered_lines(path)
    lines = enumerate(whole_content(path).removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1)
    return ((number, line) for number, line in lines if line and not line.isspace())


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(decode(line, ANY_JSON, ""), dict | list)
    except CamillaError:
        return False


def _document(path: Path, *, lines: bool = True) -> Records:
    """A JSON document, an array as its entries; JSON lines in a file that is called .json as such."""
    data = whole_content(path).removeprefix(b"\xef\xbb\xbf")
    if len(data) > LARGEST_FILE:
        raise DataError(
            f"{called(path)}: has {len(data):,} bytes; up to {LARGEST_FILE:,} are read. Split it."
        )
    try:
        document = decode(data, ANY_JSON, called(path))
    except CamillaError:
        first = data.lstrip().split(b"\n", 1)[0]
        if lines and first and len(first) < len(data.strip()) and _is_json(first):
            return _lines(path)
        raise
    if isinstance(document, list):
        return Records(iter(document), lambda record: f"row {record + 1}")
    return Records(iter([document]), lambda record: "")


def rows(found: Records, recipe: Recipe) -> Iterator[Row]:
    """One for each value that the path of the response leads to.

    What has neither a response nor a name, such as the header of a log, is passed over.
    """
    fields = [part for field in recipe.fields.values() for part in field.parts or (field,)]
    response = recipe.fields["response"]
    names = [list(recipe.fields).index(role) for role in ("learner", "sample")]
    scored = list(recipe.fields).index("response")
    for number, record in enumerate(found.items):
        for trail, nodes in _expanded([record] * len(fields), fields, response, ()):
            taken = (
                _taken(field, node, trail or (number,)) for field, node in zip(fields, nodes, strict=True)
            )
            values = tuple(_joined(field, taken) for field in recipe.fields.values())
            if values[scored] is not None or all(values[name] is not None for name in names):
                yield Row(number, trail, values)


def _joined(field: Field, taken: Iterator[Any]) -> Any:
    """The next value, or the next few as one name; None where one of them is missing."""
    if not field.parts:
        return next(taken)
    names = [_name(value) for value in islice(taken, len(field.parts))]
    return None if None in names else "/".join(map(str, names))


def _expanded(
    nodes: list[Any], fields: list[Field], response: Field, trail: tuple[Step, ...]
) -> Iterator[tuple[tuple[Step, ...], list[Any]]]:
    """Every entry of the lists and objects on the way of the response, with the nodes of all fields there."""
    depth = len(trail)
    if depth == len(response.stages):
        yield trail, nodes
        return
    holders = [
        _at(node, field.stages[depth].steps) if depth < len(field.stages) else None
        for node, field in zip(nodes, fields, strict=True)
    ]
    held = holders[fields.index(response)]
    is_list = response.stages[depth].kind == "list"
    if not isinstance(held, list if is_list else dict):
        return
    for key in range(len(held)) if is_list else held:
        inner = [
            node if depth >= len(field.stages) else _entry(holder, key)
            for node, holder, field in zip(nodes, holders, fields, strict=True)
        ]
        yield from _expanded(inner, fields, response, (*trail, key))


def _entry(holder: Any, key: Step) -> Any:
    if isinstance(holder, list) and isinstance(key, int):
        return holder[key] if -len(holder) <= key < len(holder) else None
    return holder.get(key) if isinstance(holder, dict) else None


def _at(node: Any, steps: tuple[Step, ...]) -> Any:
    """What the steps lead to; None where the way ends."""
    for step in steps:
        node = _entry(node, step)
        if node is None:
            return None
    return node


def _taken(field: Field, node: Any, trail: tuple[Step, ...]) -> Any:
    if field.constant is not None:
        last = trail[-1]
        number = str(last + 1) if isinstance(last, int) else last
        return field.constant.replace("{row}", number) if "{row}" in field.constant else field.constant
    if field.gives == "value":
        return _at(node, field.tail)
    key = trail[len(field.stages) - 1]
    return key + 1 if isinstance(key, int) and field.gives == "row" else key


class MappedFile(NamedTuple):
    """Values by role, one per response, and where each response is in the file."""

    values: dict[str, list[Any]]
    place: Callable[[int], str]


def read_values(path: Path, recipe: Recipe, most: int | None = None) -> MappedFile:
    """What the recipe finds in a file, of all responses or the first `most`."""
    columns = _top_columns(recipe)
    columns_of: list[list[Any]] = [[] for _ in recipe.fields]
    for row in islice(rows(records(path, columns), recipe), most):
        for values, value in zip(columns_of, row.values, strict=True):
            values.append(value)
    found = dict(zip(recipe.fields, columns_of, strict=True))
    for role, values in found.items():
        if all(value is None for value in values):
            raise LayoutError(
                f"{called(path)}: has nothing at {shown(recipe.fields[role].text)}, where the recipe (map, "
                f"--map) looks for the {role}."
            )

    def place(row: int) -> str:
        again = records(path, columns)
        at = next(islice(rows(again, recipe), row, None))
        return _place(again.place(at.record), at.trail, recipe.fields["response"])

    return MappedFile(found, place)


def _top_columns(recipe: Recipe) -> list[str] | None:
    """The columns of a table that paths start with; None where one starts otherwise."""
    starts = [
        field.stages[0].steps[:1] if field.stages else field.tail[:1]
        for one in recipe.fields.values()
        for field in one.parts or (one,)
        if field.constant is None
    ]
    names = [start[0] for start in starts if start and isinstance(start[0], str)]
    return list(dict.fromkeys(names)) if len(names) == len(starts) else None


def _place(record: str, trail: tuple[Step, ...], response: Field) -> str:
    """line 3, results[2]; the record alone where the response is not in a list."""
    if not trail:
        return record or "the document"
    text = ""
    for stage, key in zip(response.stages, trail, strict=True):
        text += "".join(map(step_text, (*stage.steps, key)))
    text = shown(shortened(text.removeprefix(".")))
    return f"{record}, {text}" if record else text


class MappedFrame(NamedTuple):
    """A long table with a column for each role, called as its path is written."""

    frame: pl.DataFrame
    roles: Roles
    origin: Origin
    values: dict[str, list[Any]]


def _framed(path: Path, recipe: Recipe, most: int | None = None) -> MappedFrame:
    found = read_values(path, recipe, most)
    columns = {}
    called_by: dict[str, str] = {}
    for role, values in found.values.items():
        if role in CONTENT_ALONE:
            continue
        text = called_by[role] = recipe.fields[role].text
        if role == "response":
            columns[text] = _responses(values, recipe, path, found.place)
        else:
            columns[text] = _names(_filled(values, path), role, text, path, found.place)
    roles = Roles(**called_by)
    origin = Origin(called(path), found.place, recipe.missing, recipe.scale, WORD_REMEDY)
    frame = named_by_shared_task(pl.DataFrame(columns), roles, origin)
    return MappedFrame(frame, roles, origin, found.values)


def read_mapped(path: Path, recipe: Recipe, *, most: int | None = None, content: bool = False) -> TableRead:
    """The response table in a file, by a recipe."""
    found = _framed(path, recipe, most)
    read = _table(found, recipe)
    return read._replace(table=with_mapped_content(read.table, *found)) if content else read


def _table(found: MappedFrame, recipe: Recipe) -> TableRead:
    parts = long_parts(found.frame, found.roles, found.origin)
    table = ResponseTable(**parts._asdict(), scale=recipe.scale)
    if "prompt" in found.values:
        table = _with_texts(table, found.frame[found.roles.sample], found.values["prompt"])
    return TableRead(table, 0 if found.roles.trial is not None else repeated_rows(table))


def _filled(values: list[Any], path: Path) -> list[Any]:
    """Names of the file and its folder put in."""
    file, folder = _file_names(path)
    if not any(isinstance(value, str) and "{f" in value for value in values[:1]):
        return values
    return [value.replace("{file}", file).replace("{folder}", folder) for value in values]


def _file_names(path: Path) -> tuple[str, str]:
    if path == STANDARD_INPUT:
        return "standard input", "standard input"
    name = path.name.removesuffix(".gz")
    return Path(name).stem, path.absolute().parent.name or "/"


def _names(values: list[Any], role: str, text: str, path: Path, place: Callable[[int], str]) -> pl.Series:
    """Texts as they are, numbers and truth values as JSON writes them; what is nested is an error."""
    kinds = set(map(type, values))
    if kinds <= {int, float, bool, type(None)} and len(kinds - {type(None)}) == 1 and role == "weight":
        return pl.Series(text, values)
    names: list[str | None] = []
    for row, value in enumerate(values):
        name = _name(value)
        if name is None and value is not None:
            raise DataError(
                f"{called(path)}: {place(row)} has {_kind(value)} at {shown(text)}; expected the {role}. "
                "Add to the path: .key for a key, [] for each entry of a list, [0] for its first entry."
            )
        names.append(name)
    return pl.Series(text, names, pl.String)


def _name(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else str(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**30 else None
    if not isinstance(value, str):
        return None if value is None or isinstance(value, dict | list) else str(value)
    value = value.encode("utf-8", "replace").decode() if not value.isascii() else value
    return value if len(value) <= LONGEST_NAME else f"{value[: LONGEST_NAME - 18]}…{digest(value)}"


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)} entries"
    if isinstance(value, dict):
        return (
            f"an object with the keys {', '.join(map(in_quotes, list(value)[:3]))}"
            if value
            else "an empty object"
        )
    return "a number of many digits"


def _responses(values: list[Any], recipe: Recipe, path: Path, place: Callable[[int], str]) -> pl.Series:
    """Numbers as numbers; where there are texts all as text, words of the recipe as an end of the scale."""
    text, scale = recipe.fields["response"].text, recipe.scale
    if all(isinstance(value, int | float | None) and not _is_huge(value) for value in values):
        return pl.Series(text, [None if value is None else float(value) for value in values], pl.Float64)
    good, bad = (scale.low, scale.high) if scale.lower_is_better else (scale.high, scale.low)
    words = {word.strip().casefold(): repr(good) for word in recipe.right}
    words |= {word.strip().casefold(): repr(bad) for word in recipe.wrong}
    texts: list[str | None] = []
    for row, value in enumerate(values):
        if isinstance(value, dict | list):
            raise DataError(
                f"{called(path)}: {place(row)} has {_kind(value)} at {shown(text)}; expected the response. "
                "Add to the path: .key for a key, [] for each entry of a list, [0] for its first entry."
            )
        name = "many digits" if _is_huge(value) else _name(value)
        texts.append(None if name is None else words.get(name.strip().casefold(), name))
    return pl.Series(text, texts, pl.String)


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= 10**30


def _with_texts(table: ResponseTable, samples: pl.Series, prompts: list[Any]) -> ResponseTable:
    """The table with the start of what each sample asks, as the first response to it says."""
    texts: dict[str, str] = {}
    for sample, prompt in zip(samples, prompts, strict=True):
        if isinstance(prompt, str) and prompt:
            texts.setdefault(sample, shortened(prompt))
    said = [texts.get(sample) for sample in table.samples]
    metadata = pl.DataFrame({"sample": table.samples, "text": pl.Series(said, dtype=pl.String)})
    return replace(table, sample_metadata=metadata)


def loader(recipe: Recipe) -> Loader:
    """Reads files by a recipe as if they were logs, so that several of them are joined."""

    def sniff(peek: Peek) -> Sniffed | None:
        if not can_be_mapped(peek.path):
            return None
        return Sniffed(1, "by the recipe " + recipe.text)

    def runs(path: Path) -> Iterator[Run]:
        found = _framed(path, recipe)
        read = _table(found, recipe)
        asked = _hashes(found)
        has_content = bool({*CONTENT_ALONE, "answer"} & set(recipe.fields))
        for run in runs_of(read, path, format="map"):
            rows = [row._replace(content=asked.get(row.sample)) for row in run.rows] if asked else run.rows
            content = partial(_content, path, recipe, run.learner) if has_content else None
            yield replace(run, rows=rows, content=content)

    return Loader(sniff, runs)


def _hashes(found: MappedFrame) -> dict[str, str]:
    """A hash of what each sample asks, where the recipe says where that is."""
    prompts = found.values.get("prompt", ())
    return {
        sample: digest(prompt)
        for sample, prompt in zip(found.frame[found.roles.sample], prompts, strict=False)
        if isinstance(prompt, str)
    }


def _content(path: Path, recipe: Recipe, learner: str) -> Content:
    """What the samples of one learner ask and what it answered; the file is read again for it."""
    found = _framed(path, recipe)
    asked: dict[str, Asked] = {}
    answers: list[Answered] = []
    trials: dict[str, int] = {}
    empty = [None] * found.frame.height
    texts = [found.values.get(role, empty) for role in (*CONTENT_ALONE, "answer")]
    names = (found.frame[found.roles.learner], found.frame[found.roles.sample])
    for own, sample, *said in zip(*names, *texts, strict=True):
        if own != learner:
            continue
        prompt, reference, answer = (_text(value) for value in said)
        asked.setdefault(sample, Asked(prompt, reference))
        answers.append(Answered(sample, trials.setdefault(sample, 0), answer))
        trials[sample] += 1
    return Content(asked, answers)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _name(value) or ""
