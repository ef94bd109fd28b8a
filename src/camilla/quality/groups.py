"""Which group each learner is of: from a file, or from what the table says about its learners."""

from pathlib import Path

import polars as pl

from camilla.data.names import nearest, quoted
from camilla.data.responses import ResponseTable
from camilla.errors import DataError, SettingError
from camilla.loaders.frames import read_frame


def read_groups(text: str, table: ResponseTable, path: Path, *, learner: str = "learner") -> dict[str, str]:
    """{learner: group} from FILE or FILE:column (with a column of learners), or from a column of the table.

    A column of the table is one of its learner metadata, or of the table file itself if that is long.
    """
    file, _, column = text.rpartition(":") if ":" in text and not Path(text).exists() else (text, "", "")
    if Path(file).is_file():
        return _from_file(Path(file), column, learner)
    about = table.learner_metadata
    if about is not None and text in about.columns:
        return _as_groups(about, "learner", text)
    if path.is_file():
        frame = read_frame(path)
        if text in frame.columns and learner in frame.columns:
            return _as_groups(frame.select(learner, text).unique(), learner, text)
    raise DataError(
        f"--group {text!r} is neither a file nor a column that says something about learners. Give a file "
        "with the columns learner and group, or a column of the table."
    )


def _from_file(path: Path, column: str, learner: str) -> dict[str, str]:
    frame = read_frame(path)
    key = learner if learner in frame.columns else "learner"
    if key not in frame.columns:
        raise DataError(f"{path}: no column {key!r}; there are {quoted(frame.columns)}.")
    others = [name for name in frame.columns if name != key]
    column = column or ("group" if "group" in others else others[0] if len(others) == 1 else "")
    if not column:
        raise DataError(f"{path}: which column is the group? Say {path}:column; there are {quoted(others)}.")
    if column not in others:
        raise DataError(f"{path}: no column {column!r}. {nearest(column, others)}")
    return _as_groups(frame, key, column)


def _as_groups(frame: pl.DataFrame, key: str, column: str) -> dict[str, str]:
    """Learners without a group are left out; a learner of two groups is refused."""
    rows = frame.select(pl.col(key).cast(pl.String), pl.col(column).cast(pl.String)).drop_nulls().unique()
    twice = rows.filter(pl.col(key).is_duplicated())
    if twice.height:
        raise DataError(
            f"learner {twice[key][0]!r} is of several groups in the column {column!r}; one was wanted."
        )
    return dict(rows.sort(key).iter_rows())


def cut_at(groups: dict[str, str], cut: str) -> dict[str, str]:
    """Two groups: what is below the cut, and what is from it on; numbers as numbers, else by text (dates)."""

    def number(text: str) -> float | None:
        try:
            return float(text)
        except ValueError:
            return None

    numbers = {name: number(value) for name, value in groups.items()}
    at = number(cut)
    if at is not None and all(value is not None for value in numbers.values()):
        late = {name for name, value in numbers.items() if value is not None and value >= at}
    else:
        late = {name for name, value in groups.items() if value >= cut}
    if not late or len(late) == len(groups):
        raise SettingError(
            f"--cut {cut!r} leaves one group; the values go from {min(groups.values())!r} to "
            f"{max(groups.values())!r}."
        )
    return {name: f"from {cut}" if name in late else f"before {cut}" for name in groups}
