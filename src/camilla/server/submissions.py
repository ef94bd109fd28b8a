"""Submissions: read from what was sent, checked, kept for ever, withdrawn but never erased."""

import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
import zstandard

from camilla.diagnosis import Diagnosis
from camilla.errors import CamillaError, DataError, FormatError
from camilla.names import in_quotes, name_index, quoted
from camilla.reading.inputs import read_with_account
from camilla.server.accounts import Caller
from camilla.server.store import RefusedError, Store, Transaction, now
from camilla.table.cells import zero_or_one
from camilla.table.frame_files import read_frame
from camilla.table.responses import ResponseTable

LONGEST_NAME = 500  # characters
MOST_LEARNERS = 200  # in one request
LEARNERLESS = {"sample", "response"}  # columns of a file about one learner
ENDING = re.compile(r"(\.[A-Za-z0-9]{1,10}){1,2}$")
COLUMNS = """submissions.id, account,
    (SELECT name FROM benchmarks WHERE benchmarks.id = benchmark_id) AS benchmark, learner, created,
    digest, n_responses, n_unknown, source,
    (SELECT number FROM boards WHERE boards.id = submissions.board_id) AS board,
    withdrawn, withdrawn_by, reason"""


class Responses(msgspec.Struct, forbid_unknown_fields=True):
    """One learner's responses as they are packed into the store."""

    sample: list[str]
    response: list[float]
    weight: list[float] | None = None


class Target(NamedTuple):
    """Where a submission goes: a benchmark, its newest board, and that board's diagnosis."""

    benchmark_id: int
    board_id: int
    found: Diagnosis
    own_learners: frozenset[str]  # of the benchmark itself, whose names nobody else can take


class Accepted(NamedTuple):
    """A submission that is in the store, and whether this request put it there."""

    id: int
    new: bool


def read_upload(content: bytes, filename: str, learner: str | None = None) -> ResponseTable:
    """The table in a file of any format that `camilla.read` takes.

    `learner` names the learner of a file that holds one, also of a file without a column of learners.
    """
    ending = ENDING.search(filename)
    with tempfile.TemporaryDirectory(prefix="camilla-upload-") as folder:
        path = Path(folder) / f"upload{ending.group() if ending else ''}"
        path.write_bytes(content)
        try:
            table = _read(path, learner)
        except CamillaError as error:
            raise DataError(str(error).replace(str(path), "the file")) from None
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the file cannot be read: {str(error).splitlines()[0]}") from None
        return table if learner is None else _renamed(table, learner)


def _read(path: Path, learner: str | None) -> ResponseTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if learner is not None and path.suffix.lower() in (".csv", ".tsv", ".jsonl", ".parquet"):
            frame = read_frame(path, text=["sample"])
            if "learner" not in frame.columns and set(frame.columns) >= LEARNERLESS:
                return ResponseTable.from_long(frame.with_columns(learner=pl.lit(learner)))
        table = read_with_account(path, content=False).table
    if table is None:
        raise DataError("the file holds matches between players, not responses to samples.")
    return table


def _renamed(table: ResponseTable, learner: str) -> ResponseTable:
    if table.n_learners != 1:
        raise DataError(
            f"the submission names the learner {in_quotes(learner)}, but the file holds {table.n_learners}: "
            f"{quoted(table.learners)}. Leave the name out to submit all of them."
        )
    return replace(table, learners=(learner,), learner_metadata=None)


def table_of_responses(learner: str, responses: Mapping[str, float]) -> ResponseTable:
    """One learner's responses by sample."""
    if not responses:
        raise DataError("there are no responses; at least one was wanted.")
    frame = pl.DataFrame(
        {"sample": list(responses), "response": list(responses.values())},
        schema={"sample": pl.String, "response": pl.Float64},
    )
    return ResponseTable.from_long(frame.with_columns(learner=pl.lit(learner)))


def check(table: ResponseTable, target: Target) -> None:
    """Refuses what the benchmark cannot take, before anything is written."""
    if table.n_learners > MOST_LEARNERS:
        raise DataError(f"{table.n_learners} learners came; one submission has at most {MOST_LEARNERS}.")
    for name in table.learners:
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise DataError(
                f"the learner's name {in_quotes(name)} cannot be used: wanted are 1 to {LONGEST_NAME} "
                "printable characters. Rename the learner."
            )
        if name in target.own_learners:
            raise RefusedError(
                409, f"the benchmark itself has a learner {in_quotes(name)}. Submit yours under another name."
            )
    if any("\x00" in name for name in table.samples):
        raise DataError("names of samples cannot hold the character NUL.")
    known = name_index(target.found.sample_names)
    used = table.sample[np.array([name in known for name in table.samples])[table.sample]]
    if len(used) == 0:
        raise DataError(
            f"none of the samples is of this benchmark; there came {quoted(table.samples)}; the benchmark "
            f"has {quoted(target.found.sample_names)}. Samples are matched by name."
        )
    if not target.found.provenance["fractional"] and not zero_or_one(table.response).all():
        wrong = float(table.response[~zero_or_one(table.response)][0])
        raise DataError(
            f"responses of this benchmark are 0 or 1; {wrong:g} came. Send each trial as a row of its own "
            "instead of their mean."
        )


def accept(
    store: Store, target: Target, caller: Caller, table: ResponseTable, *, source: str
) -> list[Accepted]:
    """Places every learner of the table and keeps all of them, in one transaction, or none.

    What the same account has submitted before, and not withdrawn, is not kept twice. Another submission of
    the same account under the same name replaces the earlier one.
    """
    check(table, target)
    contents = [packed(table.take_learners([index])) for index in range(table.n_learners)]
    parts = [unpacked(name, content) for name, content in zip(table.learners, contents, strict=True)]
    placed = [placement(target.found, part) for part in parts]
    with store.writing() as transaction:
        transaction.next_revision(target.benchmark_id)
        return [
            _keep(transaction, target, caller, part, row, source)
            for part, row in zip(parts, placed, strict=True)
        ]


def placement(found: Diagnosis, part: ResponseTable) -> dict[str, Any]:
    """A learner on the scale of a board, samples integrated over their posterior, as plain data."""
    return found.place(part).drop("rank").fill_nan(None).to_dicts()[0]


def _keep(
    transaction: Transaction, target: Target, caller: Caller, part: ResponseTable, placed: dict[str, Any],
    source: str,
) -> Accepted:  # fmt: skip
    learner, digest, at = part.learners[0], part.digest(), now()
    earlier = transaction.row(
        """SELECT id, account, digest FROM submissions
        WHERE benchmark_id = :benchmark AND learner = :learner AND withdrawn IS NULL""",
        benchmark=target.benchmark_id,
        learner=learner,
    )
    if earlier is not None and earlier["account"] != caller.account:
        raise RefusedError(
            409, f"another account has submitted a learner {in_quotes(learner)}. Choose another name."
        )
    if earlier is not None and earlier["digest"] == digest:
        return Accepted(earlier["id"], new=False)
    if earlier is not None:
        _withdraw(transaction, earlier["id"], caller, at, "replaced")
    number = transaction.insert_numbered(
        "submissions", benchmark_id=target.benchmark_id, account=caller.account, token_id=caller.token_id,
        learner=learner, created=at, digest=digest, content=packed(part), n_responses=part.n_responses,
        n_unknown=placed["n_unknown"], source=source, board_id=target.board_id,
    )  # fmt: skip
    keep_placements(transaction, target.board_id, {number: placed})
    return Accepted(number, new=True)


def keep_placements(transaction: Transaction, board_id: int, placed: Mapping[int, Any]) -> None:
    """Where submissions stand on a board; what is known already stays."""
    transaction.run_many(
        """INSERT INTO placements (submission_id, board_id, placed) VALUES (:submission, :board, :placed)
        ON CONFLICT DO NOTHING""",
        [
            {"submission": number, "board": board_id, "placed": msgspec.json.encode(row).decode()}
            for number, row in placed.items()
        ],
    )


def withdraw(store: Store, number: int, caller: Caller, reason: str = "") -> None:
    """Takes a submission off the board; it stays in the store. Doing it again changes nothing."""
    with store.writing() as transaction:
        row = transaction.row("SELECT * FROM submissions WHERE id = :id", id=number)
        if row is None:
            raise RefusedError(404, f"there is no submission {number}.")
        if row["account"] != caller.account and not caller.may("owner"):
            raise RefusedError(
                403, f"submission {number} is of another account; only that account can withdraw it."
            )
        if row["withdrawn"] is None:
            transaction.next_revision(row["benchmark_id"])
            _withdraw(transaction, number, caller, now(), reason)


def _withdraw(transaction: Transaction, number: int, caller: Caller, at: str, reason: str) -> None:
    transaction.run(
        """UPDATE submissions SET withdrawn = :at, withdrawn_by = :by, reason = :reason
        WHERE id = :id AND withdrawn IS NULL""",
        at=at,
        by=caller.account,
        reason=reason.replace("\x00", ""),
        id=number,
    )


def submission(store: Store, number: int) -> dict[str, Any]:
    """Everything about a submission but its responses."""
    with store.reading() as transaction:
        row = transaction.row(f"SELECT {COLUMNS} FROM submissions WHERE id = :id", id=number)
    if row is None:
        raise RefusedError(404, f"there is no submission {number}.")
    return row


def submissions(
    store: Store,
    benchmark_id: int,
    *,
    learner: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[dict[str, Any]]:
    """The submissions to a benchmark, newest first, of one learner if named; `before` is a number."""
    conditions = ["benchmark_id = :benchmark"]
    conditions += ["learner = :learner"] if learner is not None else []
    conditions += ["id < :before"] if before is not None else []
    sql = f"""SELECT {COLUMNS} FROM submissions WHERE {" AND ".join(conditions)}
        ORDER BY id DESC LIMIT :limit"""
    given = {"learner": learner, "before": before}
    with store.reading() as transaction:
        return transaction.rows(
            sql, benchmark=benchmark_id, limit=limit, **{k: v for k, v in given.items() if v is not None}
        )


def active(transaction: Transaction, benchmark_id: int, at: str) -> list[dict[str, Any]]:
    """id, learner, account, created, digest of the submissions that counted at a time, by number."""
    return transaction.rows(
        """SELECT id, learner, account, created, digest FROM submissions
        WHERE benchmark_id = :benchmark AND created <= :at AND (withdrawn IS NULL OR withdrawn > :at)
        ORDER BY id""",
        benchmark=benchmark_id,
        at=at,
    )


def packed(part: ResponseTable) -> bytes:
    """The rows of a table of one learner."""
    rows = Responses(
        [part.samples[j] for j in part.sample],
        part.response.tolist(),
        None if part.weight is None else part.weight.tolist(),
    )
    return zstandard.compress(msgspec.msgpack.encode(rows))


def unpacked(learner: str, content: bytes) -> ResponseTable:
    """What was packed."""
    try:
        rows = msgspec.msgpack.decode(zstandard.decompress(content), type=Responses)
    except (zstandard.ZstdError, msgspec.MsgspecError) as error:
        raise FormatError(
            f"the responses of {in_quotes(learner)} are damaged in the store: {error}"
        ) from None
    place = name_index(dict.fromkeys(rows.sample))
    return ResponseTable(
        (learner,), tuple(place), np.zeros(len(rows.sample), np.int32),
        np.array([place[name] for name in rows.sample], np.int32), np.array(rows.response),
        None if rows.weight is None else np.array(rows.weight),
    )  # fmt: skip


def responses_of(transaction: Transaction, numbers: Sequence[int]) -> dict[int, ResponseTable]:
    """The responses of submissions."""
    out = {}
    for number in numbers:
        row = transaction.row("SELECT learner, content FROM submissions WHERE id = :id", id=number)
        if row is not None:
            out[number] = unpacked(row["learner"], row["content"])
    return out
