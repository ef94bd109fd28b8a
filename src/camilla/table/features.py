"""What is known of samples or learners before any response: numbers, categories, texts, vectors."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, SettingError
from camilla.names import in_quotes, name_index, nearest, quoted, repeated
from camilla.table.columns import MISSING_WORDS, Encoded, Origin, missing_remedy, name_column, pick
from camilla.table.frame_files import file_and_columns, frame_with_lines, read_frame
from camilla.table.frames import indexed

Kind = Literal["number", "category", "text", "vector"]
Of = Literal["sample", "learner"]
KINDS: tuple[Kind, ...] = get_args(Kind)
USUAL_NAMES = {
    "sample": ("sample", "sample_id", "id", "item"),
    "learner": ("learner", "learner_id", "model", "agent", "id", "name"),
}
TEXT_WORDS = 4  # words per value, from which on a column of many values is text
MATRIX = ".npy"
DATE = r"^\d{4}-\d{2}(-\d{2}([T ].*)?)?$"  # 2024-05, 2024-05-31
DAYS_PER_YEAR = 365.25
LARGEST = 1e100  # of a number: squares of larger ones overflow
NONE_KNOWN: Mapping[str, Kind] = MappingProxyType({})


@dataclass(frozen=True, eq=False, repr=False)
class Features:
    """What is known about samples, or about learners, before any response.

    A feature is a number, a category, a text or a vector such as an embedding. A number may be missing; a
    model then uses the mean and a column that says so.

    Parameters
    ----------
    names : tuple of str
        The samples or learners, one per row.
    frame : polars.DataFrame
        One column per feature: Float64 for numbers, String for categories and texts, lists of numbers for
        vectors.
    kinds : mapping of str to str
        "number", "category", "text" or "vector" for each column.
    of : {"sample", "learner"}
        What the rows are.
    source : str
        What messages call the features.
    notes : tuple of str
        What was done to make the features fit.

    Raises
    ------
    DataError
        A name occurs twice, a number is infinite, or vectors differ in length.

    Examples
    --------
    >>> frame = pl.DataFrame({"sample": ["x", "y"], "words": [12, 40], "topic": ["law", "art"]})
    >>> features = camilla.Features.from_frame(frame)
    >>> features
    Features(2 samples: 1 number, 1 category)
    """

    names: tuple[str, ...]
    frame: pl.DataFrame
    kinds: Mapping[str, Kind]
    of: Of = "sample"
    source: str = "the features"
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.of not in USUAL_NAMES:
            raise SettingError(f"features are of 'sample' or 'learner', not {self.of!r}.")
        if twice := repeated(self.names):
            raise DataError(
                f"{self.source}: {self.of} {in_quotes(twice[0])} has more than one row. Keep one."
            )
        if self.frame.height != len(self.names):
            raise DataError(
                f"{self.source}: has {self.frame.height} rows for {len(self.names)} {self.of}s; expected "
                "one each."
            )
        if list(self.kinds) != self.frame.columns:
            raise DataError(f"{self.source}: the kinds name {quoted(list(self.kinds))}; the columns are "
                            f"{quoted(self.frame.columns)}.")  # fmt: skip

    def __repr__(self) -> str:
        counts = {kind: sum(one == kind for one in self.kinds.values()) for kind in KINDS}
        plural = {"category": "categories"}
        parts = [
            f"{count} {kind if count == 1 else plural.get(kind, kind + 's')}"
            for kind, count in counts.items()
            if count
        ]
        return f"Features({len(self.names)} {self.of}s: {', '.join(parts) or 'none'})"

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        of: Of = "sample",
        id: str | None = None,
        columns: Sequence[str] = (),
        kinds: Mapping[str, Kind] = NONE_KNOWN,
    ) -> Self:
        """Reads features from a dataframe with one row per sample or learner.

        Parameters
        ----------
        frame : dataframe
            Polars, pandas, PyArrow, or anything else that narwhals takes.
        of : {"sample", "learner"}
            What the rows are.
        id : str, optional
            The column of names. By default one called sample, sample_id, id or item (learner, model or agent
            for learners), else the index of a pandas frame, else the first column.
        columns : list of str, optional
            The features; by default all other columns.
        kinds : mapping, optional
            "number", "category", "text" or "vector" for columns whose kind should not be guessed. Columns of
            numbers and of dates are numbers. A column of words is a text where most values differ and have
            four words or more, else a category.

        Returns
        -------
        Features
            One row per row of the frame.

        Examples
        --------
        >>> frame = pl.DataFrame({"model": ["a", "b"], "size": [7, 70], "base": ["llama", "qwen"]})
        >>> camilla.Features.from_frame(frame, of="learner", columns=["size"])
        Features(2 learners: 1 number)
        """
        found = indexed(frame)
        id = id if id is not None else _usual(found.frame, of, columns)
        named = found.named_by(id, Origin("the features"))
        return cls(**features_in(named.frame, named.id, columns, kinds, of, Origin("the features"))._asdict())

    @classmethod
    def from_matrix(
        cls, array: Any, names: Sequence[str], *, of: Of = "sample", source: str = "the matrix"
    ) -> Self:
        """Makes one vector per sample or learner of the rows of a matrix, such as embeddings.

        Parameters
        ----------
        array : array
            [names, dimensions]. One number per name is a feature of that one number.
        names : list of str
            The sample or learner of each row.
        of : {"sample", "learner"}
            What the rows are.
        source : str
            What messages call the matrix.

        Returns
        -------
        Features
            One feature called vector.

        Examples
        --------
        >>> camilla.Features.from_matrix(np.eye(3), ["x", "y", "z"])
        Features(3 samples: 1 vector)
        """
        matrix = np.asarray(array)
        if matrix.ndim not in (1, 2) or matrix.dtype.kind not in "fiub":
            raise DataError(
                f"{source}: has the type {matrix.dtype} and the shape {matrix.shape}; expected numbers "
                f"[{of}s, dimensions]."
            )
        if len(matrix) != len(names):
            raise DataError(
                f"{source}: has {len(matrix)} rows for {len(names)} {of}s. A matrix names no {of}s: its rows "
                f"are in the order of the table's {of}s, one each."
            )
        rows = matrix.reshape(len(matrix), -1).astype(np.float64)
        series = pl.Series("vector", rows.tolist(), dtype=pl.List(pl.Float64))
        _check_vectors(series, Origin(source))
        note = f"{source} names no {of}s; its {len(rows)} rows were matched to the {of}s in order"
        return cls(tuple(names), pl.DataFrame([series]), {"vector": "vector"}, of, source, (note,))

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        of: Of = "sample",
        id: str | None = None,
        names: Sequence[str] | None = None,
        kinds: Mapping[str, Kind] = NONE_KNOWN,
    ) -> Self:
        """Reads features from a file, a dataframe, or several of them side by side.

        Parameters
        ----------
        source : path, str, dataframe, Features or list of them
            FILE or FILE:column,column of a table file, an `.npy` matrix with its rows in the order of
            `names`, or a dataframe.
        of : {"sample", "learner"}
            What the rows are.
        id : str, optional
            The column of names, where the source has it; else as in `from_frame`.
        names : list of str, optional
            The samples or learners of a table: the features are matched to them, see `matched`.
        kinds : mapping, optional
            Kinds of columns that should not be guessed; other columns of the file are then left out.

        Returns
        -------
        Features
            The features, in the order of `names` where they are given.

        Examples
        --------
        >>> frame = pl.DataFrame({"sample": ["x", "y"], "words": [12, 40]})
        >>> camilla.Features.read(frame, names=["y", "x"]).frame["words"].to_list()
        [40.0, 12.0]
        """
        if isinstance(source, list | tuple):
            if not source:
                raise DataError(f"there are no features of {of}s; give a file or a dataframe.")
            parts = [cls.read(one, of=of, id=id, names=names, kinds=kinds) for one in source]
            found = parts[0]
            for other in parts[1:]:
                found = found.beside(other)
            return found
        found = cls(**vars(_read(source, of, id, names, kinds)))
        return found if names is None else found.matched(names)

    def matched(self, names: Sequence[str]) -> Self:
        """Takes the rows of the samples or learners of a table, in its order.

        Rows of others are ignored, and columns that are the same in all rows are dropped; notes say so.

        Parameters
        ----------
        names : list of str
            The samples or learners of the table. Each needs a row.

        Returns
        -------
        Features
            One row per name.

        Raises
        ------
        DataError
            A name has no row, or no feature differs between the rows.

        Examples
        --------
        >>> frame = pl.DataFrame({"sample": ["x", "y", "z"], "words": [12, 40, 3], "year": [1, 1, 1]})
        >>> camilla.Features.from_frame(frame).matched(["z", "x"]).notes
        ('the features: 1 row is of a sample that the table does not have; ignored', \
"the features: 'year' is the same for all 2 samples; left out")
        """
        row_of = name_index(self.names)
        if absent := [name for name in names if name not in row_of]:
            hint = f" {nearest(absent[0], self.names)}" if len(absent) == len(names) else ""
            raise DataError(
                f"{self.source}: has no row for {len(absent)} of {len(names)} {self.of}s: {quoted(absent)}."
                f"{hint} Add their rows, or remove these {self.of}s from the table."
            )
        taken = self.take(np.array([row_of[name] for name in names], np.int64))
        if extra := len(self.names) - len(names):
            rows = f"1 row is of a {self.of}" if extra == 1 else f"{extra} rows are of {self.of}s"
            note = f"{self.source}: {rows} that the table does not have; ignored"
            of_file, of_table = (_gaps(one.frame, self.kinds, self.of, self.source) for one in (self, taken))
            other = [one for one in self.notes if one not in of_file]
            taken = replace(taken, notes=(*other, *of_table, note))
        return taken.varying()

    def varying(self) -> Self:
        """Leaves out columns that are constant, with a note for each.

        Returns
        -------
        Features
            The columns that differ between rows.

        Raises
        ------
        DataError
            No column does.

        Examples
        --------
        >>> frame = pl.DataFrame({"sample": ["x", "y"], "words": [12, 40], "year": [1, 1]})
        >>> camilla.Features.from_frame(frame).varying()
        Features(2 samples: 1 number)
        """
        constant = [name for name in self.frame.columns if _is_constant(self.frame[name])]
        if not constant:
            return self
        if len(self.names) < 2:
            raise DataError(
                f"{self.source}: there is one {self.of}, so no feature differs and nothing can be learned. "
                f"Give more {self.of}s."
            )
        if len(constant) == self.frame.width:
            raise DataError(
                f"{self.source}: {quoted(constant)} {'is' if len(constant) == 1 else 'are'} the same for all "
                f"{len(self.names)} {self.of}s, so nothing can be learned from them. Name other columns."
            )
        notes = [
            f"{self.source}: {in_quotes(name)} is the same for all {len(self.names)} {self.of}s; left out"
            for name in constant
        ]
        return self.without(constant, notes=notes)

    def without(self, columns: Sequence[str], *, notes: Sequence[str] = ()) -> Self:
        """Leaves out some columns.

        Parameters
        ----------
        columns : list of str
            Names of columns.
        notes : list of str
            Why, in words.

        Returns
        -------
        Features
            The other columns.

        Examples
        --------
        >>> frame = pl.DataFrame({"sample": ["x", "y"], "words": [12, 40], "year": [1, 2]})
        >>> camilla.Features.from_frame(frame).without(["year"]).frame.columns
        ['words']
        """
        if unknown := [name for name in columns if name not in self.kinds]:
            raise SettingError(
                f"{self.source}: no feature {in_quotes(unknown[0])}. {nearest(unknown[0], list(self.kinds))}"
            )
        kinds = {name: kind for name, kind in self.kinds.items() if name not in columns}
        return replace(self, frame=self.frame.select(list(kinds)), kinds=kinds, notes=(*self.notes, *notes))

    def take(self, rows: NDArray[np.integer]) -> Self:
        """Takes some rows.

        Parameters
        ----------
        rows : array of int
            Positions in `names`, in the wanted order.

        Returns
        -------
        Features
            These samples or learners.

        Examples
        --------
        >>> frame = pl.DataFrame({"sample": ["x", "y"], "words": [12, 40]})
        >>> camilla.Features.from_frame(frame).take(np.array([1])).names
        ('y',)
        """
        rows = np.asarray(rows, np.int64)
        return replace(self, names=tuple(self.names[i] for i in rows), frame=self.frame[rows])

    def beside(self, other: "Features") -> Self:
        """Adds other features of the same samples or learners.

        Parameters
        ----------
        other : Features
            Features of the same names; their order may differ.

        Returns
        -------
        Features
            The columns of both. A column whose name occurs in both is called "name (2)" the second time.

        Examples
        --------
        >>> words = camilla.Features.from_frame(pl.DataFrame({"sample": ["x", "y"], "words": [12, 40]}))
        >>> words.beside(camilla.Features.from_matrix(np.eye(2), ["x", "y"])).frame.columns
        ['words', 'vector']
        """
        if self.of != other.of:
            raise DataError(f"features of {self.of}s and of {other.of}s cannot stand side by side.")
        if set(self.names) != set(other.names):
            odd = sorted(set(self.names) ^ set(other.names))
            raise DataError(
                f"{self.source} and {other.source} are not of the same {self.of}s: {quoted(odd)} "
                f"{'is' if len(odd) == 1 else 'are'} in one alone."
            )
        row_of = name_index(other.names)
        aligned = other.take(np.array([row_of[name] for name in self.names], np.int64))
        new = _distinct(aligned.frame.columns, self.frame.columns)
        frame = self.frame.hstack(aligned.frame.rename(new))
        kinds = dict(self.kinds) | {new[name]: kind for name, kind in aligned.kinds.items()}
        return replace(self, frame=frame, kinds=kinds, notes=(*self.notes, *aligned.notes))

    def digest(self) -> str:
        """Returns a fingerprint of names, kinds and values: a SHA-256. The order of rows does not matter.

        Returns
        -------
        str
            64 hexadecimal digits.

        Examples
        --------
        >>> frame = pl.DataFrame({"sample": ["x", "y"], "words": [12, 40]})
        >>> features = camilla.Features.from_frame(frame)
        >>> features.digest() == features.take(np.array([1, 0])).digest()
        True
        """
        order = np.array(sorted(range(len(self.names)), key=self.names.__getitem__), np.int64)
        sha = hashlib.sha256(repr((self.of, sorted(self.names), dict(self.kinds))).encode())
        for series in self.frame[order]:
            sha.update(repr(series.to_list()).encode())
        return sha.hexdigest()

    def to_frame(self) -> pl.DataFrame:
        """Returns the features as a dataframe that `from_frame` reads back.

        Returns
        -------
        polars.DataFrame
            A column sample or learner, then one column per feature.

        Examples
        --------
        >>> frame = pl.DataFrame({"sample": ["x", "y"], "words": [12.0, 40.0]})
        >>> camilla.Features.from_frame(frame).to_frame().equals(frame)
        True
        """
        return self.frame.insert_column(0, pl.Series(self.of, self.names, dtype=pl.String))


class FeatureFields(NamedTuple):
    """The fields of features."""

    names: tuple[str, ...]
    frame: pl.DataFrame
    kinds: dict[str, Kind]
    of: Of
    source: str
    notes: tuple[str, ...]


def features_in(
    frame: pl.DataFrame, id: str, columns: Sequence[str], kinds: Mapping[str, Kind], of: Of, origin: Origin
) -> FeatureFields:
    """The features of a frame with one row per name; `columns` are all others where none are given."""
    names = name_column(frame, id, origin)
    _check_rows(names, of, origin)
    wanted = list(columns) or list(kinds) or [name for name in frame.columns if name != id]
    _check_columns(wanted, id, of, origin)
    series, found, notes = [], dict[str, Kind](), list[str]()
    for name in wanted:
        one = _feature(pick(frame, name, origin), kinds.get(name), origin)
        if one is None:
            notes.append(f"{origin.name}: {in_quotes(name)} differs for every {of}, as names do; left out")
            continue
        series.append(one.values)
        found[name] = one.kind
    if not series:
        raise DataError(f"{notes[0]}, and there is no other feature.")
    values = pl.DataFrame(series)
    notes += _gaps(values, found, of, origin.name)
    return FeatureFields(names.names, values, found, of, origin.name, tuple(notes))


def _gaps(frame: pl.DataFrame, kinds: Mapping[str, Kind], of: Of, source: str) -> list[str]:
    """A note for each number that rows lack."""
    missing = {name: frame[name].null_count() for name, kind in kinds.items() if kind == "number"}
    return [
        f"{source}: {in_quotes(name)} is missing for {n} of {frame.height} {of}s; they count as the mean"
        for name, n in missing.items()
        if n
    ]


def _check_rows(names: Encoded, of: Of, origin: Origin) -> None:
    """Every name has one row."""
    if len(names.names) == len(names.codes):
        return
    row_of: dict[int, int] = {}
    for row, code in enumerate(names.codes.tolist()):
        if row_of.setdefault(code, row) != row:
            raise DataError(
                f"{origin.name}: {of} {in_quotes(names.names[code])} has more than one row, "
                f"{origin.place(row_of[code])} and {origin.place(row)}. Keep one."
            )


def _check_columns(wanted: Sequence[str], id: str, of: Of, origin: Origin) -> None:
    """At least one feature is named, each once, and none is the column of names."""
    if id in wanted:
        raise SettingError(f"{origin.name}: {in_quotes(id)} names the {of}s and cannot be a feature as well.")
    if not wanted:
        raise DataError(f"{origin.name}: has no column beside {in_quotes(id)}; expected at least one.")
    if twice := repeated(wanted):
        raise SettingError(f"{origin.name}: feature {in_quotes(twice[0])} is named twice. Name it once.")


class _Column(NamedTuple):
    values: pl.Series
    kind: Kind


def _feature(series: pl.Series, kind: Kind | None, origin: Origin) -> _Column | None:
    """A column as what it is; None where it only names the rows."""
    if kind is not None and kind not in KINDS:
        raise SettingError(
            f"the kind of {in_quotes(series.name)} is one of {', '.join(KINDS)}, not {kind!r}."
        )
    if isinstance(series.dtype, pl.List | pl.Array):
        return _Column(_vectors(series, origin), "vector")
    if kind == "vector" or isinstance(series.dtype, pl.Struct | pl.Object | pl.Binary):
        wanted = "lists of numbers" if kind == "vector" else "numbers, words or lists of numbers"
        raise DataError(
            f"{origin.name}: column {in_quotes(series.name)} has the type {series.dtype}; expected {wanted}."
        )
    if kind in (None, "number"):
        numbers = _numbers(series, origin, required=kind == "number")
        if numbers is not None:
            return _Column(numbers, "number")
    words = series.cast(pl.String).alias(series.name)
    words = words.set(words.str.strip_chars() == "", None)
    return _Column(words, kind) if kind is not None else _words(words, origin)


def _words(words: pl.Series, origin: Origin) -> _Column | None:
    """A column of words as text or as categories; None where each row has its own single word."""
    given = words.drop_nulls()
    if not len(given):
        raise DataError(f"{origin.name}: column {in_quotes(words.name)} is empty. Leave it out.")
    distinct = given.n_unique()
    per_value = float(given.str.count_matches(r"\S+").mean() or 0)  # type: ignore[arg-type]
    if 2 * distinct > len(given) and per_value >= TEXT_WORDS:
        return _Column(words, "text")
    return None if distinct == len(given) > 2 else _Column(words, "category")


def _numbers(series: pl.Series, origin: Origin, *, required: bool) -> pl.Series | None:
    """Numbers, truth values and dates as numbers, null where missing; None for a column of words.

    A column that is `required`, as it was fitted on, may be missing altogether.
    """
    if series.dtype in (pl.Duration, pl.Time):
        raise DataError(
            f"{origin.name}: column {in_quotes(series.name)} has the type {series.dtype}; expected "
            "numbers, dates, words or lists of numbers. Write it as a number, such as seconds."
        )
    if series.dtype.is_temporal():
        return _years(series.cast(pl.Date))
    if series.dtype.is_numeric() or series.dtype in (pl.Boolean, pl.Null):
        numbers = series.cast(pl.Float64).fill_nan(None)
    else:
        spelled = _numbers_in_text(series, origin, required=required)
        if spelled is None:
            return None
        numbers = spelled
    if (beyond := (numbers.abs() > LARGEST).fill_null(value=False)).any():
        row = int(beyond.arg_true()[0])
        raise DataError(
            f"{origin.name}: a feature must be a finite number; {origin.place(row)}, column "
            f"{in_quotes(series.name)} has {series[row]!r}; {LARGEST:g} is the largest that can be used. "
            "Leave the cell empty where there is no number."
        )
    if numbers.null_count() == len(numbers) and not required:
        raise DataError(f"{origin.name}: column {in_quotes(series.name)} is empty. Leave it out.")
    return numbers.alias(series.name)


def _numbers_in_text(series: pl.Series, origin: Origin, *, required: bool) -> pl.Series | None:
    """The numbers or dates that texts spell; None where most texts spell neither."""
    text = series.cast(pl.String).str.strip_chars()
    text = text.set((text == "") | text.str.to_lowercase().is_in(MISSING_WORDS), None)
    given = text.drop_nulls()
    if len(given) and given.str.contains(DATE).all():
        day = text.str.slice(0, 10)
        day = day.zip_with(day.str.len_chars() > 7, day + "-15")  # a month is its middle
        return _years(day.str.to_date("%Y-%m-%d", strict=False))
    numbers = text.cast(pl.Float64, strict=False).fill_nan(None)
    wrong = numbers.is_null() & text.is_not_null()
    if wrong.any() and not required and 2 * int(wrong.sum()) >= len(given):
        return None
    if wrong.any():
        row = int(wrong.arg_true()[0])
        remedy = missing_remedy(series[row]) or "Leave the cell empty where there is no number."
        raise DataError(
            f"{origin.name}: column {in_quotes(series.name)} contains numbers, and {in_quotes(series[row])} "
            f"in {origin.place(row)}. {remedy}"
        )
    return numbers


def _years(days: pl.Series) -> pl.Series:
    """Dates as years since 1970."""
    return (days.cast(pl.Int32).cast(pl.Float64) / DAYS_PER_YEAR).alias(days.name)


def _vectors(series: pl.Series, origin: Origin) -> pl.Series:
    try:
        vectors = series.cast(pl.List(pl.Float64))
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{origin.name}: column {in_quotes(series.name)} has the type {series.dtype}; expected lists of "
            "numbers."
        ) from error
    _check_vectors(vectors, origin)
    return vectors


def _check_vectors(vectors: pl.Series, origin: Origin) -> None:
    """Every vector is there, of one length, and finite."""
    name = in_quotes(vectors.name)
    lengths = vectors.list.len().fill_null(0)
    usual = int(lengths.mode().max() or 0)  # type: ignore[arg-type]
    if not usual:
        raise DataError(
            f"{origin.name}: the vectors of column {name} have no numbers. Give every row a whole vector, or "
            "leave the column out."
        )
    if (odd := lengths != usual).any():
        row = int(odd.arg_true()[0])
        raise DataError(
            f"{origin.name}: vectors have one length; {origin.place(row)}, column {name} has "
            f"{lengths[row]} numbers, most rows {usual}. Give every row a whole vector."
        )
    flat = vectors.explode()
    good = (flat.abs() <= LARGEST).fill_null(value=False)
    if not good.all():
        at = int((~good).arg_true()[0])
        raise DataError(
            f"{origin.name}: a vector must contain finite numbers; {origin.place(at // usual)}, column "
            f"{name} has {flat[at]!r}; {LARGEST:g} is the largest that can be used. Give every row a "
            "whole vector."
        )


def _is_constant(series: pl.Series) -> bool:
    """Whether a column says the same of every row; a number that is missing for some says that of them."""
    return len(series) > 0 and series.n_unique() == 1


def something_differs(features: Features) -> bool:
    """Whether at least one feature is not the same for all rows."""
    return not all(_is_constant(features.frame[name]) for name in features.kinds)


def _distinct(columns: Sequence[str], taken: Sequence[str]) -> dict[str, str]:
    """Names of columns that do not occur in `taken`."""
    new: dict[str, str] = {}
    for name in columns:
        number, tried = 1, name
        while tried in taken or tried in new.values():
            number += 1
            tried = f"{name} ({number})"
        new[name] = tried
    return new


def _usual(frame: pl.DataFrame, of: Of, columns: Sequence[str]) -> str | None:
    return next((name for name in USUAL_NAMES[of] if name in frame.columns and name not in columns), None)


def _read(
    source: Any, of: Of, id: str | None, names: Sequence[str] | None, kinds: Mapping[str, Kind]
) -> Features:
    """The features in one source, not matched to a table yet."""
    if isinstance(source, Features):
        if source.of != of:
            raise SettingError(f"expected features of {of}s; these are of {source.of}s.")
        return source
    if not isinstance(source, str | Path):
        own = id if id is not None and id in indexed(source).frame.columns else None
        return Features.from_frame(source, of=of, id=own, kinds=kinds)
    if Path(source).suffix.lower() == MATRIX:
        return _read_matrix(Path(source), of, names)
    file, columns = file_and_columns(source, "features")
    if file is None:
        raise SettingError(
            f"features {str(source)!r} are columns of the table itself; give them where the table is read: "
            "camilla.read(…, features=…)."
        )
    text = True if file.suffix.lower() not in (".parquet", ".jsonl", ".ndjson", ".json") else ()
    frame, place = frame_with_lines(read_frame(file, text=text), file)
    origin = Origin(str(file), place)
    known = id if id in frame.columns and id not in columns else _usual(frame, of, columns)
    known = known or next((name for name in frame.columns if name not in columns), None)
    if known is None:
        raise DataError(f"{file}: every column is a feature and none names the {of}s. Add a column {of!r}.")
    return Features(**features_in(frame, known, columns, kinds, of, origin)._asdict())


def _read_matrix(path: Path, of: Of, names: Sequence[str] | None) -> Features:
    """An .npy file, its rows in the order of `names`, or numbered where there are none."""
    try:
        matrix = np.load(path, allow_pickle=False)
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file of features.") from error
    except (OSError, ValueError, EOFError) as error:
        reason = (
            "it holds objects, or no array" if "pickle" in str(error) else str(error).splitlines()[0][:120]
        )
        raise DataError(
            f"{path}: is not a matrix of numbers that NumPy wrote (.npy): {reason.rstrip('.')}. Write the "
            "numbers with numpy.save."
        ) from error
    if names is None:
        names = [f"row {number}" for number in range(1, len(np.atleast_1d(matrix)) + 1)]
    return Features.from_matrix(matrix, names, of=of, source=str(path))
