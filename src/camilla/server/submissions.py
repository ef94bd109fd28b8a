"""Submissions: checked, kept for ever, withdrawn but never erased."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import zstandard

from camilla.diagnosis import Diagnosis
from camilla.errors import DataError, FormatError
from camilla.names import in_quotes, name_index, quoted
from camilla.server.accounts import Caller
from camilla.server.store import RefusedError, Store, Transaction, now
from camilla.server.uploads import Known
from camilla.table.cells import zero_or_one
from camilla.table.responses import ResponseTable

LONGEST_NAME = 500  # characters
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
    least_share: float  # of the samples, that a submission must answer


class Accepted(NamedTuple):
    """A submission that is in the store, and whether this request put it there."""

    id: int
    new: bool


def check(table: ResponseTable, target: Target) -> None:
    """Refuses what the benchmark cannot take, before anything is written."""
    for name in table.learners:
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise DataError(
                f"the learner's name {in_quotes(name)} cannot be used: expected 1 to {LONGEST_NAME} "
                "printable characters. Rename the learner."
            )
        if name in target.own_learners:
            raise RefusedError(
                409, f"the benchmark itself has a learner {in_quotes(name)}. Submit yours under another name."
            )
    if not target.found.provenance["fractional"] and not zero_or_one(table.response).all():
        wrong = float(table.response[~zero_or_one(table.response)][0])
        raise DataError(
            f"responses of this benchmark are 0 or 1; got {wrong:g}. Send each trial as a row of its own "
            "instead of their mean."
        )


def check_share(table: ResponseTable, target: Target, wanted: Sequence[str]) -> None:
    """Refuses a learner that answered too few of the samples wanted: a choice of them is no score."""
    least = math.ceil(target.least_share * len(wanted) - 1e-9)
    for index, learner in enumerate(table.learners):
        answered = {table.samples[j] for j in table.sample[table.learner == index].tolist()}
        missing = [name for name in wanted if name not in answered]
        if len(wanted) - len(missing) < least:
            share = "all" if least == len(wanted) else f"at least {least:,}"
            raise DataError(
                f"learner {in_quotes(learner)} has responses to {len(wanted) - len(missing):,} of "
                f"{len(wanted):,} samples; this benchmark takes submissions with responses to {share} of "
                f"them. Without a response: {quoted(missing)}. Run these samples too, or ask the owner, who "
                "sets the least share with camilla serve --least-share."
            )


def accept(
    store: Store,
    target: Target,
    caller: Caller,
    known: Known,
    *,
    source: str,
    asked: Sequence[str] | None = None,
) -> list[Accepted]:
    """Places every learner of the table and keeps all of them, in one transaction, or none.

    What the same account has submitted before, and not withdrawn, is not kept twice. Another submission of
    the same account under the same name replaces the earlier one. `asked` are the samples that the
    server itself chose; without them all samples were to be answered.
    """
    check(known.table, target)
    check_share(known.table, target, target.found.sample_names if asked is None else asked)
    parts = [
        _part(target.found, known.table.take_learners([index]), n_unknown)
        for index, n_unknown in enumerate(known.n_unknown)
    ]
    with store.writing() as transaction:
        transaction.next_revision(target.benchmark_id)
        return [_keep(transaction, target, caller, part, source) for part in parts]


class Part(NamedTuple):
    """One learner of a submission, as it is kept."""

    learner: str
    content: bytes
    digest: str
    n_responses: int
    n_unknown: int
    placed: dict[str, Any]


def _part(found: Diagnosis, table: ResponseTable, n_unknown: int) -> Part:
    """What is hashed and placed is what can be read from the store again."""
    learner, content = table.learners[0], packed(table)
    again = unpacked(learner, content)
    return Part(learner, content, again.digest(), again.n_responses, n_unknown, placement(found, again))


def placement(found: Diagnosis, part: ResponseTable) -> dict[str, Any]:
    """A learner on the scale of a board, samples integrated over their posterior, as plain data."""
    return found.place(part).drop("rank").fill_nan(None).to_dicts()[0]


def _keep(transaction: Transaction, target: Target, caller: Caller, part: Part, source: str) -> Accepted:
    at = now()
    earlier = transaction.row(
        """SELECT id, account, digest FROM submissions
        WHERE benchmark_id = :benchmark AND learner = :learner AND withdrawn IS NULL""",
        benchmark=target.benchmark_id,
        learner=part.learner,
    )
    if earlier is not None and earlier["account"] != caller.account:
        raise RefusedError(
            409, f"another account has submitted a learner {in_quotes(part.learner)}. Choose another name."
        )
    if earlier is not None and earlier["digest"] == part.digest:
        return Accepted(earlier["id"], new=False)
    if earlier is not None:
        _withdraw(transaction, earlier["id"], caller, at, "replaced")
    number = transaction.insert_numbered(
        "submissions", benchmark_id=target.benchmark_id, account=caller.account, token_id=caller.token_id,
        learner=part.learner, created=at, digest=part.digest, content=part.content,
        n_responses=part.n_responses, n_unknown=part.n_unknown, source=source, board_id=target.board_id,
    )  # fmt: skip
    keep_placements(transaction, target.board_id, {number: part.placed})
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
