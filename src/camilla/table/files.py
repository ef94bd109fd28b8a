"""Camilla's own table files, written and read back: Parquet carries skills, tasks and metadata too."""

import base64
import errno
import hashlib
import io
import os
import platform
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.errors import DataError, FormatError, SettingError
from camilla.table.columns import PLAIN, Scale
from camilla.table.features import Features, Kind, Of
from camilla.table.frame_files import UNREADABLE, read_frame
from camilla.table.skills import SkillGraph, SkillMap

if TYPE_CHECKING:
    from camilla.table.responses import ResponseTable

NEW, OLD = "new", "old"
OS_ERROR = re.compile(r"os error (\d+)")
FULL = "Free some space, or write to another disk."
DENIED = "Write to a folder that is yours."
REMEDIES = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f), or write less.",
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.EROFS: DENIED,
    errno.ENAMETOOLONG: "Give it a shorter name.",
    errno.ENOTDIR: "A part of its path is a file; write to another folder.",
    errno.EISDIR: "There is a folder of this name; give another one.",
}
LONG_COLUMNS = ("learner", "sample", "response", "trial", "weight", "answer", "task", "cluster", "key")


def has_written_header(columns: list[str]) -> bool:
    """Whether a header is as response tables are written with: these names, in this order, no others."""
    return columns[:3] == list(LONG_COLUMNS[:3]) and columns == [
        name for name in LONG_COLUMNS if name in columns
    ]


def long_frame(table: "ResponseTable") -> pl.DataFrame:
    """One row per response, names in full."""
    frame = pl.DataFrame(
        {
            "learner": pl.Series(table.learners, dtype=pl.String)[table.learner],
            "sample": pl.Series(table.samples, dtype=pl.String)[table.sample],
            "response": table.response,
        }
    )
    rowwise = {
        name: getattr(table, name)
        for name in ("trial", "weight", "answer")
        if getattr(table, name) is not None
    }
    samplewise = {
        name: pl.Series(getattr(table, name), dtype=pl.String)[table.sample]
        for name in ("task", "cluster", "key")
        if getattr(table, name) is not None
    }
    return frame.with_columns(**{name: pl.Series(column) for name, column in (rowwise | samplewise).items()})


def checked_ending(path: Path) -> str:
    """The ending of a table to be written, if it is known."""
    ending = path.suffix.lower()
    if ending not in (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"):
        raise SettingError(
            f"{path}: the ending {ending!r} is not known; expected .csv, .tsv, .jsonl or .parquet."
        )
    return ending


def write_frame(frame: pl.DataFrame, path: Path, notes: dict[str, str] | None = None) -> Path:
    """Writes a table by the file name's ending; the file is written completely or not at all.

    `notes` go into the metadata of a Parquet file; the other endings have no place for them.
    """
    ending = checked_ending(path)
    with whole_file(path) as draft:
        match ending:
            case ".csv":
                frame.write_csv(draft)
            case ".tsv":
                frame.write_csv(draft, separator="\t")
            case ".parquet":
                frame.write_parquet(draft, metadata=notes)
            case _:
                frame.write_ndjson(draft)
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A file to write in that takes the target's place when all is written, and only then.

    What cannot be written is an error that says why, and leaves the target as it was.
    """
    require_folder(path)
    with _writing(path):
        _sweep(path)
        draft = _draft(path)
        try:
            yield draft
            _settle(draft)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def require_folder(path: Path) -> None:
    """Refuses a file in a folder that is not there; to be asked before long work, too."""
    if not path.parent.is_dir():
        raise DataError(f"{path}: there is no folder {path.parent}. Make it first.")


def require_own_folder(path: Path, index: str, noun: str) -> None:
    """Refuses a place that holds something other than this noun, whose folders are known by an index file."""
    if path.exists() and (not path.is_dir() or (any(path.iterdir()) and not (path / index).exists())):
        raise DataError(f"{path}: exists and is not {noun}; it is not overwritten. Give another place.")


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write in that takes the target's place when all is written, and only then.

    Folders above the target are made. The caller says whether what is there may be replaced.
    """
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        draft = _draft(path)
        try:
            (draft / NEW).mkdir(parents=True)
            yield draft / NEW
            for file in filter(Path.is_file, (draft / NEW).rglob("*")):
                _settle(file)
            if path.exists():
                path.rename(draft / OLD)
            (draft / NEW).rename(path)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turns what the disk refuses into an error that names the place, the reason and what to do."""
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error) from error
    except pl.exceptions.PolarsError as error:
        if OS_ERROR.search(str(error)) is None:
            raise
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: Exception) -> DataError:
    """Polars tells the number of an error of the system in its text alone."""
    remedy = REMEDIES.get(_number(error), "Check the disk, or write to another place.")
    return DataError(
        f"{path}: cannot be written: {unwritable_reason(error)}. {remedy} What was there before is unchanged."
    )


def _number(error: Exception) -> int:
    told = OS_ERROR.search(str(error))
    return int(told[1]) if told else getattr(error, "errno", None) or 0


def unwritable_reason(error: Exception) -> str:
    """Why the system refuses to write, in its words."""
    return os.strerror(number).lower() if (number := _number(error)) else str(error)


def _settle(path: Path) -> None:
    """Waits until a file is on the disk: some file systems say only then that it is full."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _draft(path: Path) -> Path:
    """A hidden place beside the target that says which process writes it: .NAME.MACHINE.PID.THREAD."""
    return path.with_name(f".{path.name}.{_machine()}.{os.getpid()}.{threading.get_ident():x}")


@cache
def _machine() -> str:
    """A few letters for this machine's table of processes: elsewhere the same number is another process."""
    try:
        processes = os.readlink("/proc/self/ns/pid")
    except OSError:
        processes = ""
    return hashlib.sha256(f"{platform.node()} {processes}".encode()).hexdigest()[:8]


def _sweep(path: Path) -> None:
    """Removes drafts of this target that a killed process left behind; a living process keeps its own.

    If it was killed just between moving the old folder out and the new one in, the old one is put back.
    """
    pattern = re.compile(rf"\.{re.escape(path.name)}\.{_machine()}\.(\d+)\.[0-9a-f]+")
    for name in os.listdir(path.parent):
        found = pattern.fullmatch(name)
        if found is None or _is_alive(int(found[1])):
            continue
        draft = path.with_name(name)
        if draft.is_dir():
            if (draft / OLD).is_dir() and not path.exists():
                (draft / OLD).rename(path)
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is another user's
        return True
    return True


KEY = "camilla"
VERSION = 1
DAMAGED = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


class CarriedFeatures(msgspec.Struct):
    """What is known of samples or learners: kinds and source, and the packed columns."""

    frame: str
    kinds: dict[str, Kind]
    source: str
    notes: tuple[str, ...] = ()


class Carried(msgspec.Struct):
    """The file's own notes."""

    version: int
    learners: str
    samples: str
    skills: list[str] | None = None
    skill_graph: list[tuple[str, str]] | None = None
    has_task: bool = False
    has_cluster: bool = False
    has_key: bool = False
    n_missing: int = 0
    provenance: dict[str, Any] = {}
    scale: tuple[float, float, bool] = PLAIN
    features: dict[str, CarriedFeatures] = {}


class Names(NamedTuple):
    """The fields of a response table that are not rows."""

    learners: pl.DataFrame
    samples: pl.DataFrame
    carried: Carried

    def fields(self) -> dict[str, Any]:
        """Keyword arguments of a response table, without rows and skill map."""
        extra = [name for name in self.samples.columns if not name.startswith("\x00")]
        return {
            "learners": tuple(self.learners["learner"]),
            "samples": tuple(self.samples["sample"]),
            "task": tuple(self.samples["\x00task"]) if self.carried.has_task else None,
            "cluster": tuple(self.samples["\x00cluster"]) if self.carried.has_cluster else None,
            "key": tuple(self.samples["\x00key"]) if self.carried.has_key else None,
            "learner_metadata": self.learners if self.learners.width > 1 else None,
            "sample_metadata": self.samples.select(extra) if len(extra) > 1 else None,
            "n_missing": self.carried.n_missing,
            "scale": Scale(*self.carried.scale),
            "sample_features": self._features("sample", self.samples["sample"]),
            "learner_features": self._features("learner", self.learners["learner"]),
        }

    def _features(self, of: Of, names: pl.Series) -> Features | None:
        found = self.carried.features.get(of)
        if found is None:
            return None
        return Features(tuple(names), _unpacked(found.frame), found.kinds, of, found.source, found.notes)

    def mask(self) -> Any:
        """Samples × skills, or None."""
        if self.carried.skills is None:
            return None
        bits = self.samples["\x00skills"].to_list()
        mask = np.zeros((len(bits), len(self.carried.skills)), np.bool_)
        for row, needed in enumerate(bits):
            mask[row, needed] = True
        return mask


def carry(table: "ResponseTable", provenance: dict[str, Any] | None = None) -> dict[str, str]:
    """The key-value metadata of the table's file."""
    learners = pl.DataFrame({"learner": table.learners}, schema={"learner": pl.String})
    if table.learner_metadata is not None:
        learners = learners.join(table.learner_metadata, on="learner", how="left", maintain_order="left")
    samples = pl.DataFrame({"sample": table.samples}, schema={"sample": pl.String})
    if table.sample_metadata is not None:
        samples = samples.join(table.sample_metadata, on="sample", how="left", maintain_order="left")
    for name, values in (("\x00task", table.task), ("\x00cluster", table.cluster), ("\x00key", table.key)):
        if values is not None:
            samples = samples.with_columns(pl.Series(name, values, dtype=pl.String))
    skills = None
    if table.skill_map is not None:
        skills = list(table.skill_map.skills)
        needed = [np.flatnonzero(row).tolist() for row in table.skill_map.mask]
        samples = samples.with_columns(pl.Series("\x00skills", needed, dtype=pl.List(pl.Int32)))
    note = Carried(
        VERSION,
        _packed(learners),
        _packed(samples),
        skills,
        None if table.skill_graph is None else list(table.skill_graph.edges),
        table.task is not None,
        table.cluster is not None,
        table.key is not None,
        table.n_missing,
        provenance or {},
        table.scale,
        {
            one.of: CarriedFeatures(_packed(one.frame), dict(one.kinds), one.source, one.notes)
            for one in (table.sample_features, table.learner_features)
            if one is not None
        },
    )
    return {KEY: msgspec.json.encode(note).decode()}


def _packed(frame: pl.DataFrame) -> str:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return base64.b64encode(buffer.getvalue()).decode()


def _unpacked(text: str) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(base64.b64decode(text)))


def carried_in(metadata: dict[str, str], where: str) -> Names | None:
    """What a file's key-value metadata says, or None if it is not ours."""
    if KEY not in metadata:
        return None
    try:
        note = msgspec.json.decode(metadata[KEY].encode(), type=Carried)
        if note.version > VERSION:
            raise FormatError(f"{where}: written by a newer Camilla (layout {note.version}). Update Camilla.")
        names = Names(_unpacked(note.learners), _unpacked(note.samples), note)
        names.fields()
    except (msgspec.MsgspecError, *DAMAGED) as error:
        raise FormatError(
            f"{where}: its notes on learners and samples are damaged: {str(error)[:120]}."
        ) from error
    return names


def written_fields(path: Path) -> dict[str, Any] | None:
    """The fields of the table as it was written, or None if the file is not one that Camilla wrote."""
    if path.suffix.lower() != ".parquet":
        return None
    try:
        names = carried_in(pl.read_parquet_metadata(path), str(path))
    except UNREADABLE:
        return None  # the reader of tables says what is wrong
    return None if names is None else _fields(path, names)


def _fields(path: Path, names: Names) -> dict[str, Any]:
    frame = read_frame(path)
    fields = names.fields()
    mask = names.mask()
    graph = names.carried.skill_graph
    columns: dict[str, Any] = {
        name: frame[name].to_numpy() if name in frame.columns else None for name in ("weight", "trial")
    }
    return (
        columns
        | fields
        | {
            "learner": _codes(frame, "learner", fields["learners"], path),
            "sample": _codes(frame, "sample", fields["samples"], path),
            "response": frame["response"].to_numpy(),
            "answer": frame["answer"] if "answer" in frame.columns else None,
            "skill_map": None if mask is None else SkillMap(tuple(names.carried.skills or ()), mask),
            "skill_graph": None if graph is None else SkillGraph(tuple(map(tuple, graph))),  # type: ignore[arg-type]
        }
    )


def _codes(frame: pl.DataFrame, column: str, names: Sequence[str], path: Path) -> NDArray[np.int32]:
    if column not in frame.columns:
        raise FormatError(f"{path}: has lost its column {column!r}. Write it again with camilla load.")
    place = pl.Series(names, dtype=pl.String)
    codes = frame[column].cast(pl.String).replace_strict(
        place, pl.int_range(len(place), eager=True), default=None, return_dtype=pl.Int32
    )  # fmt: skip
    if codes.null_count():
        raise FormatError(
            f"{path}: a row names {column} {frame[column].filter(codes.is_null())[0]!r}, which the "
            "file's own list has not: the rows were changed after writing. "
            "Save them as .csv to read them as they are."
        )
    return codes.to_numpy()
