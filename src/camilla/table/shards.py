"""Response tables larger than memory: files streamed into a folder of shards, one byte for each cell.

A shard holds the responses of some samples. Where at least a quarter of the cells has a response it is a
matrix [samples, learners] of bytes, else a list of 2 × learner + response in four bytes each. A fractional
response takes four bytes more. Files are mapped, so that the system may drop them when it needs the space.
"""

import glob
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Watch
from camilla.errors import DataError, FormatError
from camilla.names import nearest
from camilla.table.files import DAMAGED, require_own_folder, whole_folder

MISSING = 255  # in a byte of a dense shard; 0 is wrong and 1 right
DENSE_SHARE = (
    0.25  # of cells with a response: from here a byte for each cell is less than four for each response
)
BATCH_ROWS = (
    524_288  # rows held at a time, two of Polars' row groups: names as text take a hundred bytes each
)
SHARD_BYTES = 64_000_000
LARGE_ROWS = 30_000_000  # of Parquet files: from here a table is read in shards without being asked to
INDEX = "shards.json"
FORMAT = 1


class DenseShard(NamedTuple):
    """Every cell of some samples: uint8 (0, 1 or MISSING), or float32, NaN where a response is missing."""

    codes: NDArray[Any]  # [samples, learners]; may be a mapped file

    @property
    def shape(self) -> tuple[int, int]:
        return self.codes.shape[0], self.codes.shape[1]


class SparseShard(NamedTuple):
    """The responses of some samples in their order: 2 × learner + response; `values` if fractional."""

    starts: NDArray[np.int64]  # [samples + 1]
    codes: NDArray[np.uint32]  # [responses]
    n_learners: int
    values: NDArray[np.float32] | None = None  # [responses]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts) - 1, self.n_learners


Shard = DenseShard | SparseShard


class LongColumns(NamedTuple):
    """How the columns of the files are called."""

    learner: str = "learner"
    sample: str = "sample"
    response: str = "response"


class ShardFolder(NamedTuple):
    """A table larger than memory: its names, and its responses in files. `camilla.read_large` makes it.

    Parameters
    ----------
    path : path
        The folder.
    learners, samples : tuple of str
        Names, sorted.
    shards : tuple
        The responses to some samples each; mapped files.
    n_responses, n_missing : int
        Number of responses, and of those that were given as missing.
    fractional : bool
        Whether a response is neither 0 nor 1.
    digest : str
        Hash of names and responses.

    Examples
    --------
    >>> path = camilla.simulate(30, 60, seed=1).table.write("responses.parquet")
    >>> camilla.rank(camilla.read_large(path, "shards")).rows.height
    30
    """

    path: Path
    learners: tuple[str, ...]
    samples: tuple[str, ...]
    shards: tuple[Shard, ...]
    n_responses: int
    n_missing: int  # responses that were given as missing
    fractional: bool
    digest: str  # of names and responses

    @property
    def bytes(self) -> int:
        """The size of the files."""
        return sum(file.stat().st_size for file in self.path.glob("*.npy"))


def table_files(path: Path) -> list[Path]:
    """The Parquet files of a folder or glob, in the order of their names."""
    if path.is_dir():
        files = sorted(path.rglob("*.parquet"))
    elif path.exists():
        files = [path]
    else:
        files = [Path(one) for one in sorted(glob.glob(str(path), recursive=True))]
    return [file for file in files if file.suffix.lower() == ".parquet" and file.is_file()]


def is_large(path: Path) -> bool:
    """Whether a path holds nothing but Parquet files, with more rows than are read into memory unasked."""
    files = table_files(path)
    other = path.is_dir() and any(one.is_file() and one not in files for one in path.rglob("*"))
    return bool(files) and not other and count_rows(files) > LARGE_ROWS


def read_large(
    source: str | Path, shards: str | Path, *, learner: str = "learner", sample: str = "sample",
    response: str = "response", watch: Watch = lambda line: None,
) -> ShardFolder:  # fmt: skip
    """Reads Parquet files that are too large for memory into a folder of shards.

    `camilla.rank`, `camilla.items` and `camilla.diagnose_large` take the result where they take a table.

    Parameters
    ----------
    source : str or path
        A file, a folder or a glob of Parquet files with one row per response.
    shards : path
        A folder on a fast disk, with room for one byte per cell, or four per response where fewer than a
        quarter of the cells has one. If it holds the shards of the same files already, nothing is read again.
    learner, sample, response : str
        Columns of the files.
    watch : callable, optional
        Receives each progress line as text.

    Returns
    -------
    ShardFolder
        `learners`, `samples`, `n_responses`, `digest`.

    Raises
    ------
    DataError
        No Parquet file is there, a column is missing, or a response lies outside 0 to 1.

    Examples
    --------
    >>> path = camilla.simulate(30, 60, seed=1).table.write("responses.parquet")
    >>> responses = camilla.read_large(path, "shards")
    >>> len(responses.learners), len(responses.samples), responses.n_responses
    (30, 60, 1800)
    """
    columns = LongColumns(learner, sample, response)
    files = table_files(Path(source))
    if not files:
        raise DataError(f"{source}: no Parquet file was found there; shards need Parquet files.")
    folder = Path(shards)
    _require_outside(folder, Path(source))
    opened = open_shards(folder, fingerprint(files, columns))
    return make_shards(files, folder, columns, watch) if opened is None else opened


def _require_outside(folder: Path, source: Path) -> None:
    """Refuses shards inside the source: a later run would read their own Parquet files as responses."""
    if source.is_dir() and source.resolve() in folder.resolve().parents:
        raise DataError(
            f"{folder}: lies in {source}, all of whose Parquet files are read. "
            "Give a folder outside of it with --shards."
        )


def count_rows(files: Sequence[Path]) -> int:
    """How many rows Parquet files say they have; nothing else of them is read."""
    return sum(int(_scan(file).select(pl.len()).collect().item()) for file in files)


def fingerprint(files: Sequence[Path], columns: LongColumns) -> str:
    """By which a later run knows that shards are of the same files."""
    told = [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
    return hashlib.sha256(json.dumps([told, columns, FORMAT]).encode()).hexdigest()


def open_shards(folder: Path, of: str | None = None) -> ShardFolder | None:
    """The shards of a folder; None where there are none, or not those of this fingerprint."""
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        return None
    if of is not None and index.get("source") != of:
        return None
    try:
        learners, samples = (
            tuple(pl.read_parquet(folder / f"{axis}.parquet")["name"]) for axis in ("learners", "samples")
        )
        shards = tuple(_opened(folder, number, index) for number in range(index["shards"]))
        counts = {name: index[name] for name in ("n_responses", "n_missing", "fractional", "digest")}
    except (EOFError, LookupError, TypeError, *DAMAGED) as error:
        raise _damaged(folder) from error
    if [len(samples), {len(learners)}] != [
        sum(shard.shape[0] for shard in shards), {shard.shape[1] for shard in shards}
    ]:  # fmt: skip
        raise _damaged(folder)
    return ShardFolder(folder, learners, samples, shards, **counts)


def _damaged(folder: Path) -> FormatError:
    return FormatError(
        f"{folder}: a file of these shards is damaged or missing. Delete the folder, and the shards are made "
        "again."
    )


def _opened(folder: Path, number: int, index: dict[str, Any]) -> Shard:
    codes = np.load(folder / f"{number:05}.npy", mmap_mode="r")
    if index["dense"]:
        return DenseShard(codes)
    starts = np.load(folder / f"{number:05}.starts.npy")
    values = np.load(folder / f"{number:05}.values.npy", mmap_mode="r") if index["fractional"] else None
    return SparseShard(starts, codes, index["n_learners"], values)


def make_shards(files: Sequence[Path], folder: Path, columns: LongColumns, watch: Watch) -> ShardFolder:
    """Streams files of one row per response into shards; a folder that is half made is never left."""
    require_own_folder(folder, INDEX, "a folder of shards")
    check_columns(files, columns)
    names, n_rows, fractional = _surveyed(files, columns, watch)
    n_learners, n_samples = len(names["learner"]), len(names["sample"])
    if not n_rows:
        raise DataError(f"{files[0]}: no row of the {len(files)} file(s) has a response.")
    dense = n_rows >= DENSE_SHARE * n_learners * n_samples
    source = fingerprint(files, columns)
    with whole_folder(folder) as draft:
        kind = _Dense if dense else _Sparse
        making = kind(draft, n_learners, n_samples, n_rows, fractional)
        n_missing = _fill(making, files, columns, names, watch)
        watch("writing shards")
        digest = making.finish(hashlib.sha256(json.dumps([*names.values()]).encode()))
        for part, name in (("learners", "learner"), ("samples", "sample")):
            pl.DataFrame({"name": names[name]}).write_parquet(draft / f"{part}.parquet")
        index = {
            "format": FORMAT, "source": source, "dense": dense, "fractional": fractional,
            "n_learners": n_learners, "n_responses": n_rows, "n_missing": n_missing,
            "shards": making.n_shards, "digest": digest,
        }  # fmt: skip
        (draft / INDEX).write_text(json.dumps(index), encoding="utf-8")
    made = open_shards(folder, source)
    assert made is not None
    return made


def _scan(file: Path) -> pl.LazyFrame:
    try:
        frame = pl.scan_parquet(file, glob=False)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{file}: cannot be read as Parquet ({error}).") from error
    return frame


def check_columns(files: Sequence[Path], columns: LongColumns) -> None:
    """An error where a file lacks one of the columns, or holds something else in it."""
    for file in files:
        schema = _scan(file).collect_schema()
        for role, name in columns._asdict().items():
            if name not in schema:
                raise DataError(
                    f"{file}: there is no column {name!r} for the {role}. {nearest(name, schema.names())} "
                    f"Say which it is with --{role}."
                )
            wanted = schema[name].is_numeric() or schema[name] == pl.Boolean if role == "response" else (
                schema[name].is_integer() or schema[name] in (pl.String, pl.Categorical, pl.Enum)
            )  # fmt: skip
            if not wanted:
                what = "numbers from 0 to 1" if role == "response" else "text or whole numbers"
                raise DataError(f"{file}: column {name!r} has the type {schema[name]}; expected {what}.")


def _named(columns: LongColumns) -> list[pl.Expr]:
    response = pl.col(columns.response).cast(pl.Float32).fill_nan(None)
    return [
        pl.col(columns.learner).cast(pl.String).alias("learner"),
        pl.col(columns.sample).cast(pl.String).alias("sample"),
        response.alias("response"),
    ]


class Survey(NamedTuple):
    """What a file holds, before its responses are looked at."""

    names: dict[str, list[str]]  # of learner and sample
    n_rows: int  # with a response
    fractional: bool  # whether a response is neither right nor wrong


def survey(file: Path, columns: LongColumns) -> Survey:
    """Names of one file, how many rows have a response, and whether one is neither right nor wrong."""
    names: dict[str, set[str]] = {"learner": set(), "sample": set()}
    n_rows, fractional = 0, False
    for _, _, frame in _batches([file], columns):
        for name, known in names.items():
            unique = frame[name].unique()
            if unique.null_count():
                raise DataError(
                    f"{file}: a row has no {name}. Give every response one, or leave such rows out."
                )
            known.update(unique.to_list())
        response = frame["response"].drop_nulls()
        n_rows += len(response)
        fractional |= bool(((response != 0) & (response != 1)).any())
    return Survey({name: list(known) for name, known in names.items()}, n_rows, fractional)


def _surveyed(files: Sequence[Path], columns: LongColumns, watch: Watch) -> Survey:
    """The same of all files together, names in order."""
    names: dict[str, set[str]] = {"learner": set(), "sample": set()}
    n_rows, fractional = 0, False
    for number, file in enumerate(files):
        watch(f"reading names, file {number + 1} of {len(files)}")
        found = survey(file, columns)
        for name, known in names.items():
            known.update(found.names[name])
        n_rows += found.n_rows
        fractional |= found.fractional
    return Survey({name: sorted(known) for name, known in names.items()}, n_rows, fractional)


def _batches(files: Sequence[Path], columns: LongColumns) -> Iterator[tuple[Path, int, pl.DataFrame]]:
    """(file, rows before, rows) of every file."""
    for file in files:
        n = count_rows([file])
        for start in range(0, n, BATCH_ROWS):
            yield file, start, _scan(file).select(_named(columns)).slice(start, BATCH_ROWS).collect()


def _fill(
    making: "_Dense | _Sparse",
    files: Sequence[Path],
    columns: LongColumns,
    names: dict[str, list[str]],
    watch: Watch,
) -> int:
    """Hands every response to the shards; returns how many were missing."""
    kinds = {name: pl.Enum(listed) for name, listed in names.items()}
    done = n_missing = 0
    for file, before, frame in _batches(files, columns):
        there = frame["response"].is_not_null()
        outside = ((frame["response"] < 0) | (frame["response"] > 1)).fill_null(False)
        if outside.any():
            row = int(outside.arg_max() or 0)
            raise DataError(
                f"{file}: row {before + row + 1}: the response {frame['response'][row]:g} is not between 0 "
                "and 1. Divide percentages by 100, and leave a missing response empty."
            )
        given = frame.filter(there)
        n_missing += len(there) - len(given)
        learner, sample = (
            given[name].cast(kind).to_physical().cast(pl.Int64).to_numpy() for name, kind in kinds.items()
        )
        making.add(learner, sample, given["response"].to_numpy())
        done += len(there)
        watch(f"{done:,} rows read")
    return n_missing


class _Dense:
    """Shards that are matrices, filled in any order."""

    def __init__(self, folder: Path, n_learners: int, n_samples: int, n_rows: int, fractional: bool) -> None:
        kind = np.dtype(np.float32 if fractional else np.uint8)
        self.step = max(1, SHARD_BYTES // (n_learners * kind.itemsize))
        self.n_rows, self.fractional = n_rows, fractional
        self.maps: list[NDArray[Any]] = []
        for number, start in enumerate(range(0, n_samples, self.step)):
            shape = (min(self.step, n_samples - start), n_learners)
            one = np.lib.format.open_memmap(folder / f"{number:05}.npy", "w+", kind, shape)
            one[:] = np.nan if fractional else MISSING
            self.maps.append(one)
        self.n_shards = len(self.maps)

    def add(self, learner: NDArray[Any], sample: NDArray[Any], response: NDArray[Any]) -> None:
        number = sample // self.step
        for k in np.unique(number):
            here = slice(None) if number[0] == k and (number == k).all() else np.flatnonzero(number == k)
            self.maps[k][sample[here] - k * self.step, learner[here]] = response[here]

    def finish(self, sha: Any) -> str:
        written = 0
        for one in self.maps:
            step = max(1, 16_000_000 // one.shape[1])
            for start in range(0, len(one), step):
                part = one[start : start + step]
                written += int(np.count_nonzero(~np.isnan(part) if self.fractional else part != MISSING))
                sha.update(part)
            one.flush()  # type: ignore[attr-defined]
        _refuse_repeated(self.n_rows - written)
        return sha.hexdigest()


class _Sparse:
    """Shards that are lists: rows are put down as they come and sorted at the end."""

    def __init__(self, folder: Path, n_learners: int, n_samples: int, n_rows: int, fractional: bool) -> None:
        self.folder, self.n_samples, self.fractional = folder, n_samples, fractional
        self.n_shards = max(1, min(n_samples, -(-n_rows * 4 // SHARD_BYTES)))
        self.step = -(-n_samples // self.n_shards)
        self.n_shards = -(-n_samples // self.step)

    def add(self, learner: NDArray[Any], sample: NDArray[Any], response: NDArray[Any]) -> None:
        order = np.argsort(sample, kind="stable")
        learner, sample, response = learner[order], sample[order], response[order]
        ends = np.searchsorted(sample, np.arange(self.n_shards + 1) * self.step)
        kind = [("sample", np.uint32), ("learner", np.uint32), ("response", np.float32)]
        for number in np.flatnonzero(np.diff(ends)):
            rows = slice(ends[number], ends[number + 1])
            part = np.empty(rows.stop - rows.start, kind)
            part["sample"], part["learner"] = sample[rows] - number * self.step, learner[rows]
            part["response"] = response[rows]
            with (self.folder / f"{number:05}.rows").open("ab") as file:
                part.tofile(file)
        self.kind = kind

    def finish(self, sha: Any) -> str:
        for number in range(self.n_shards):
            file = self.folder / f"{number:05}.rows"
            rows = np.fromfile(file, self.kind) if file.exists() else np.empty(0, self.kind)
            rows = rows[np.lexsort((rows["learner"], rows["sample"]))]
            same = (np.diff(rows["sample"]) == 0) & (np.diff(rows["learner"]) == 0)
            _refuse_repeated(int(same.sum()))
            n_here = min(self.step, self.n_samples - number * self.step)
            starts = np.searchsorted(rows["sample"], np.arange(n_here + 1)).astype(np.int64)
            right = np.zeros(len(rows), np.uint32) if self.fractional else rows["response"].astype(np.uint32)
            parts: dict[str, NDArray[Any]] = {"": 2 * rows["learner"] + right, ".starts": starts}
            if self.fractional:
                parts[".values"] = rows["response"]
            for ending, array in parts.items():
                np.save(self.folder / f"{number:05}{ending}.npy", array)
                sha.update(np.ascontiguousarray(array))
            file.unlink(missing_ok=True)
        return sha.hexdigest()


def _refuse_repeated(repeated: int) -> None:
    if repeated:
        raise DataError(
            f"{repeated:,} rows repeat a learner and sample, but shards contain one response for each pair. "
            "Average the trials of a pair first, for example with Polars' group_by."
        )
