"""The list of all samples of a benchmark."""

from pathlib import Path

from camilla.data.columns import Origin, name_column
from camilla.errors import DataError
from camilla.loaders.decoding import read_bytes
from camilla.loaders.frames import ENDINGS, column_names, read_frame

COLUMNS = ("instance_id", "sample", "sample_id", "id", "item")


def read_universe(path: Path) -> tuple[str, ...]:
    """A name a line, or a table with a column of them: instance_id, sample, sample_id, id or item."""
    if path.suffix.lower() not in ENDINGS:
        try:
            text = read_bytes(path).decode()
        except UnicodeDecodeError as error:
            raise DataError(f"{path}: is no text; a name a line was wanted.") from error
        names = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    else:
        there = column_names(path)
        column = next((name for name in COLUMNS if name in there), there[0])
        names = name_column(
            read_frame(path, columns=[column], text=[column]), column, Origin(str(path))
        ).names
    if not names:
        raise DataError(f"{path}: names no sample.")
    return names
