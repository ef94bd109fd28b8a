"""Uploads: each is read in a process of its own, which has limits and cannot hold up the server.

The processes are forked from one that has read nothing, so that each starts within milliseconds. Only plain
arrays and messages come back from them.
"""

import os
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import IO, Annotated, Any, NamedTuple, cast

import msgspec
import numpy as np
import polars as pl

from camilla.errors import CamillaError, DataError
from camilla.names import in_quotes, name_index, quoted
from camilla.reading.inputs import read_with_account
from camilla.server import memory
from camilla.table.frame_files import read_frame
from camilla.table.responses import ResponseTable

MOST_LEARNERS = 200  # in one request
MOST_RESPONSES = 2_000_000
LEARNERLESS = {"sample", "response"}  # columns of a file about one learner
ENDING = re.compile(r"(\.[A-Za-z0-9]{1,10}){1,2}$")
NICENESS = 5
CONTEXT = get_context("forkserver")
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class NewSubmission(msgspec.Struct, forbid_unknown_fields=True):
    """One learner's responses by sample, each from 0 to 1."""

    learner: Name
    responses: Annotated[dict[str, Share], msgspec.Meta(min_length=1)]


class Upload(NamedTuple):
    """What was sent, on disk until it is closed: a file with the fields of its form, or a body of JSON."""

    file: IO[bytes]
    fields: Mapping[str, str] = MappingProxyType({})
    source: str = "file"  # how it came: file, form or json


class UploadLimits(NamedTuple):
    """What reading one upload may cost."""

    memory: int = 2 * 2**30  # bytes
    cpu: int = 30  # seconds
    seconds: float = 60.0


LIMITS = UploadLimits()


class Known(NamedTuple):
    """Responses to samples of the benchmark; of each learner, how many others were left out."""

    table: ResponseTable
    n_unknown: list[int]


class Reply(msgspec.Struct):
    """What comes back from the process that reads: an error, or a table as plain bytes."""

    error: str = ""
    broken: str = ""  # what is nobody's fault but the server's
    learners: list[str] = []
    n_unknown: list[int] = []
    learner: bytes = b""
    sample: bytes = b""
    response: bytes = b""
    weight: bytes | None = None


def known_part(table: ResponseTable, samples: Sequence[str]) -> Known:
    """The responses of a table to these samples, numbered as they are."""
    if table.n_learners > MOST_LEARNERS:
        raise DataError(f"got {table.n_learners} learners; one submission has at most {MOST_LEARNERS}.")
    position = name_index(samples)
    where = np.array([position.get(name, -1) for name in table.samples], np.int32)[table.sample]
    known = where >= 0
    n_known, n_unknown = (
        np.bincount(table.learner[rows], minlength=table.n_learners) for rows in (known, ~known)
    )
    if not known.any():
        raise DataError(
            f"none of the samples belongs to this benchmark: got {quoted(table.samples)}; the benchmark "
            f"has {quoted(samples)}. Samples are matched by name."
        )
    if len(without := np.flatnonzero(n_known == 0)):
        raise DataError(
            f"learner {in_quotes(table.learners[without[0]])} has no response to any sample of this "
            "benchmark. Samples are matched by name."
        )
    if n_known.sum() > MOST_RESPONSES:
        raise DataError(
            f"got {n_known.sum():,} responses; one submission has at most {MOST_RESPONSES:,}. "
            "Send fewer learners at a time."
        )
    weight = None if table.weight is None else table.weight[known]
    part = ResponseTable(
        table.learners, tuple(samples), table.learner[known], where[known], table.response[known], weight
    )
    return Known(part, n_unknown.tolist())


def table_of_json(sent: NewSubmission) -> ResponseTable:
    """One learner's responses by sample."""
    frame = pl.DataFrame(
        {"sample": list(sent.responses), "response": list(sent.responses.values())},
        schema={"sample": pl.String, "response": pl.Float64},
    )
    return ResponseTable.from_long(frame.with_columns(learner=pl.lit(sent.learner)))


def table_of_file(path: Path, learner: str | None) -> ResponseTable:
    """The table in a file of any format that `camilla.read` takes.

    `learner` names the learner of a file that holds one, also of a file without a column of learners.
    """
    try:
        table = _read(path, learner)
    except CamillaError as error:
        raise DataError(str(error).replace(str(path), "the file")) from None
    except pl.exceptions.PolarsError as error:
        raise DataError(f"the file cannot be read: {str(error).splitlines()[0]}") from None
    if learner is None:
        return table
    if table.n_learners != 1:
        raise DataError(
            f"the submission names the learner {in_quotes(learner)}, but the file contains "
            f"{table.n_learners}: {quoted(table.learners)}. Leave the name out to submit all of them."
        )
    return replace(table, learners=(learner,), learner_metadata=None)


def _read(path: Path, learner: str | None) -> ResponseTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if learner is not None and path.suffix.lower() in (".csv", ".tsv", ".jsonl", ".parquet"):
            frame = read_frame(path, text=["sample"])
            if "learner" not in frame.columns and set(frame.columns) >= LEARNERLESS:
                return ResponseTable.from_long(frame.with_columns(learner=pl.lit(learner)))
        table = read_with_account(path, content=False).table
    if table is None:
        raise DataError("the file contains matches between players, not responses to samples.")
    return table


def new_file(filename: str = "") -> IO[bytes]:
    """An empty file, removed when it is closed. Its name keeps the ending, which tells the format."""
    ending = ENDING.search(filename)
    return cast(
        IO[bytes],
        tempfile.NamedTemporaryFile(prefix="camilla-upload-", suffix=ending.group() if ending else ""),
    )


def _forked(work: Callable[..., None], *args: Any) -> Any:
    """A new process at work, forked from one that has imported all that is needed."""
    CONTEXT.set_forkserver_preload([__name__, "camilla.cli.main"])  # the second is what the command imports
    process = CONTEXT.Process(target=work, args=args, daemon=True)
    process.start()
    return process


def prepare() -> None:
    """Starts the process that others are forked from, so that the first upload need not wait for it."""
    _forked(_nothing)


def _nothing() -> None:
    """Does nothing, once everything is imported."""


def read_apart(upload: Upload, samples: Sequence[str], limits: UploadLimits = LIMITS) -> Known:
    """The responses to these samples that an upload holds, read in a process of its own."""
    upload.file.flush()
    inner, outer = CONTEXT.Pipe(duplex=False)
    what = (Path(upload.file.name), upload.source == "json", upload.fields.get("learner") or None)
    process = _forked(_work, outer, *what, samples, limits)
    outer.close()
    try:
        reply = _reply(inner, limits)
    finally:
        inner.close()
        process.kill()
        process.join()
    return _known(reply, samples)


def _reply(connection: Connection, limits: UploadLimits) -> Reply:
    try:
        if connection.poll(limits.seconds):
            return msgspec.msgpack.decode(connection.recv_bytes(), type=Reply)
    except (EOFError, OSError):
        pass  # it was ended by one of its limits
    return Reply(
        f"reading it takes more than {limits.memory / 1e9:.1f} GB of memory or {limits.cpu} seconds. "
        "Send fewer learners at a time, as CSV or Parquet."
    )


def _known(reply: Reply, samples: Sequence[str]) -> Known:
    if reply.broken:
        raise RuntimeError(reply.broken)
    if reply.error:
        raise DataError(reply.error)
    learner, sample = (np.frombuffer(part, np.int32) for part in (reply.learner, reply.sample))
    weight = None if reply.weight is None else np.frombuffer(reply.weight)
    response = np.frombuffer(reply.response)
    return Known(
        ResponseTable(tuple(reply.learners), tuple(samples), learner, sample, response, weight),
        reply.n_unknown,
    )


def _work(
    connection: Connection, path: Path, as_json: bool, learner: str | None, samples: Sequence[str],
    limits: UploadLimits,
) -> None:  # fmt: skip
    os.nice(NICENESS)
    memory.limit(limits.memory, limits.cpu)
    try:
        reply = _found(path, as_json, learner, samples)
    except CamillaError as error:
        reply = Reply(error=str(error))
    except MemoryError:
        os._exit(1)  # the server says so
    except Exception as error:  # noqa: BLE001 - said in the server's log
        reply = Reply(broken=repr(error))
    connection.send_bytes(msgspec.msgpack.encode(reply))


def _found(path: Path, as_json: bool, learner: str | None, samples: Sequence[str]) -> Reply:
    table = table_of_json(decoded(path.read_bytes())) if as_json else table_of_file(path, learner)
    part, n_unknown = known_part(table, samples)
    return Reply(
        learners=list(part.learners), n_unknown=n_unknown, learner=part.learner.astype(np.int32).tobytes(),
        sample=part.sample.astype(np.int32).tobytes(), response=part.response.astype(float).tobytes(),
        weight=None if part.weight is None else part.weight.astype(float).tobytes(),
    )  # fmt: skip


def decoded(content: bytes) -> NewSubmission:
    """A submission that was sent as JSON."""
    try:
        return msgspec.json.decode(content, type=NewSubmission)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"the body cannot be used: {error}.") from None
