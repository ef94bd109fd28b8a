"""Work in the background: boards fitted anew, reports drawn, samples calibrated; one process at a time.

Whoever works holds a lease, a row of the store with an end that is moved on while the work lasts. Servers
over one store thus take turns, and where one dies the lease ends by itself.
"""

import os
import secrets
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from camilla.diagnosing import diagnose
from camilla.diagnosis import Diagnosis
from camilla.errors import CamillaError
from camilla.fitting.fit import settings_from_data
from camilla.server.boards import (
    BANK,
    FILES,
    FLAGS,
    REPORT,
    Benchmark,
    Board,
    benchmarks,
    included_in,
    insert_board,
    joined_table,
    newest_board,
    table_of,
)
from camilla.server.store import Store, Transaction, log_line, now
from camilla.server.submissions import active, responses_of
from camilla.server.views import Boards

LEASE = "work"
LEASE_SECONDS = 10.0
PAUSE_AFTER_FAILURE = 300.0  # seconds before a fit that failed is tried again
NICENESS = 5


class RefitPolicy(NamedTuple):
    """A board is fitted anew after so many changes, or when a change has waited for so many seconds."""

    changes: int = 5
    seconds: float = 60.0
    reports: bool = True


class Job(NamedTuple):
    """Something to do for a benchmark: refit, report or bank."""

    kind: str
    benchmark: str
    board_id: int


def next_job(store: Store, policy: RefitPolicy) -> Job | None:
    """What is due, refits first."""
    with store.reading() as transaction:
        found = benchmarks(transaction)
        newest = {one.id: newest_board(transaction, one.id) for one in found}
        for one in found:
            if _refit_is_due(transaction, one, newest[one.id], policy):
                return Job("refit", one.name, newest[one.id].id)
        for row in _boards_in_sessions(transaction):
            return Job("bank", row["name"], row["board_id"])
        for one in found if policy.reports else ():
            if not _has_file(transaction, newest[one.id].id, REPORT):
                return Job("report", one.name, newest[one.id].id)
    return None


def _boards_in_sessions(transaction: Transaction) -> list[dict[str, Any]]:
    """Boards whose samples a session waits for."""
    return transaction.rows(
        """SELECT DISTINCT board_id, benchmarks.name AS name FROM sessions
        JOIN boards ON boards.id = board_id JOIN benchmarks ON benchmarks.id = benchmark_id
        WHERE submission_id IS NULL AND NOT EXISTS
        (SELECT 1 FROM board_files WHERE board_files.board_id = sessions.board_id AND name = :bank)""",
        bank=BANK,
    )


def _has_file(transaction: Transaction, board_id: int, name: str) -> bool:
    sql = "SELECT 1 FROM board_files WHERE board_id = :id AND name = :name"
    return transaction.value(sql, id=board_id, name=name) is not None


def changes_since(transaction: Transaction, benchmark: Benchmark, board: Board) -> list[str]:
    """When submissions came or went that the board does not have."""
    counted = {one["id"]: one["created"] for one in active(transaction, benchmark.id, now())}
    included = {one["id"] for one in included_in(transaction, board.id)}
    gone = transaction.rows(
        """SELECT id, withdrawn FROM submissions JOIN board_submissions ON submission_id = id
        WHERE board_submissions.board_id = :id AND withdrawn IS NOT NULL""",
        id=board.id,
    )
    came = [created for number, created in counted.items() if number not in included]
    return sorted(came + [row["withdrawn"] for row in gone])


def _refit_is_due(transaction: Transaction, benchmark: Benchmark, board: Board, policy: RefitPolicy) -> bool:
    changes = changes_since(transaction, benchmark, board)
    if not changes:
        return False
    waited = datetime.now(UTC) - datetime.fromisoformat(changes[0])
    return len(changes) >= policy.changes or waited.total_seconds() >= policy.seconds


def fitted_to(store: Store, benchmark: Benchmark, included: Sequence[Mapping[str, Any]]) -> Diagnosis:
    """The diagnosis of a benchmark's own responses and these submissions."""
    boards = Boards(store)
    try:
        own = table_of(boards.own(benchmark))
    finally:
        boards.close()
    with store.reading() as transaction:
        parts = responses_of(transaction, [one["id"] for one in included])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return diagnose(
            joined_table(own, list(parts.values())), benchmark.diagnoser, seed=benchmark.seed,
            across_blocks=True, progress=False, **settings_from_data(benchmark.settings),
        )  # fmt: skip


def refit(store: Store, benchmark: Benchmark, holder: str) -> None:
    """Fits and writes the next board, if the lease is still this holder's."""
    started = time.monotonic()
    with store.reading() as transaction:
        included = active(transaction, benchmark.id, now())
    found = fitted_to(store, benchmark, included)
    with tempfile.TemporaryDirectory(prefix="camilla-refit-") as folder:
        place = found.save(Path(folder) / "diagnosis")
        files = {name: (place / name).read_bytes() for name in FILES}
    with store.writing() as transaction:
        _check_lease(transaction, holder)
        insert_board(transaction, benchmark.id, found, files, included, seconds=time.monotonic() - started)


def draw_report(store: Store, benchmark: Benchmark, board_id: int) -> None:
    """The report of a board, without what secret samples ask, and which samples are flagged."""
    from camilla.samples.judged_diagnosis import judged_diagnosis
    from camilla.samples.sample_flags import too_few_learners
    from camilla.show.report.build import report
    from camilla.show.report.diagnosed import MOST_TWINNED

    boards = Boards(store)
    try:
        content = None if benchmark.secret else boards.own(benchmark).content
        found = replace(boards.diagnosis(board_id), content=content)
        flags: dict[str, list[str]] = {}
        if too_few_learners(len(found.learner_names)) is None:
            decided = judged_diagnosis(found, look_for_twins=len(found.sample_names) <= MOST_TWINNED).flags
            named = {name: decided.names(index) for index, name in enumerate(found.sample_names)}
            flags = {name: marks for name, marks in named.items() if marks}
        with tempfile.TemporaryDirectory(prefix="camilla-report-") as folder:
            place = found.save(Path(folder) / benchmark.name)
            page = report([place], Path(folder) / REPORT, title=benchmark.title).page.read_bytes()
    finally:
        boards.close()
    _keep_files(store, board_id, {FLAGS: msgspec.json.encode(flags)})
    with store.writing() as transaction:  # samples may have become secret meanwhile
        unchanged = [one.id for one in benchmarks(transaction) if one.secret == benchmark.secret]
        if benchmark.id in unchanged:
            _keep_file(transaction, board_id, REPORT, page)


def calibrate_samples(store: Store, benchmark: Benchmark, board_id: int) -> None:
    """The samples of a board as adaptive sessions use them."""
    from camilla.samples.replay import calibrate_with_misfit
    from camilla.server.sessions import packed_bank

    boards = Boards(store)
    try:
        table = table_of(boards.diagnosis(board_id))
    finally:
        boards.close()
    bank = calibrate_with_misfit(table.canonical().table, seed=benchmark.seed)
    _keep_files(store, board_id, {BANK: packed_bank(bank)})


def _keep_files(store: Store, board_id: int, files: dict[str, bytes]) -> None:
    with store.writing() as transaction:
        for name, content in files.items():
            _keep_file(transaction, board_id, name, content)


def _keep_file(transaction: Transaction, board_id: int, name: str, content: bytes) -> None:
    transaction.run(
        """INSERT INTO board_files (board_id, name, content) VALUES (:board, :name, :content)
        ON CONFLICT DO NOTHING""",
        board=board_id,
        name=name,
        content=content,
    )


def take_lease(store: Store, holder: str, *, seconds: float = LEASE_SECONDS) -> bool:
    """Whether the lease is this holder's from now on: it was free, over, its own, or of a dead process."""
    at = time.time()
    with store.writing() as transaction:
        there = transaction.value("SELECT holder FROM leases WHERE name = :name", name=LEASE)
        if there is not None and _is_dead(there):
            transaction.run("UPDATE leases SET expires = 0 WHERE holder = :holder", holder=there)
        transaction.run(
            "INSERT INTO leases (name, holder, expires) VALUES (:name, '', 0) ON CONFLICT DO NOTHING",
            name=LEASE,
        )
        return bool(
            transaction.run(
                """UPDATE leases SET holder = :holder, expires = :until
                WHERE name = :name AND (expires < :at OR holder = :holder)""",
                name=LEASE,
                holder=holder,
                at=at,
                until=at + seconds,
            )
        )


def new_holder() -> str:
    """A name for who works: machine, process, and something random."""
    return f"{_machine()} {os.getpid()} {secrets.token_hex(8)}"


def _machine() -> str:
    """What tells machines, their starts, and containers on them apart; empty where that is not known."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _is_dead(holder: str) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    machine, _, rest = holder.partition(" ")
    process = rest.partition(" ")[0]
    if not machine or machine != _machine() or not process.isdigit():
        return False
    return not Path(f"/proc/{process}").exists()


def end_lease(store: Store, holder: str) -> None:
    """Frees the lease, if it is this holder's."""
    with store.writing() as transaction:
        transaction.run(
            "UPDATE leases SET expires = 0 WHERE name = :name AND holder = :holder", name=LEASE, holder=holder
        )


def _check_lease(transaction: Transaction, holder: str) -> None:
    kept = transaction.run(
        "UPDATE leases SET holder = :holder WHERE name = :name AND holder = :holder",
        name=LEASE,
        holder=holder,
    )
    if not kept:
        raise CamillaError(
            "the lease on background work was lost; another process has it and makes the board."
        )


def work(place: str, job: Job, holder: str, parent: int) -> None:
    """One job in a process of its own, which ends when its server does.

    Reports and banks import what only they need when they are made: a refit must not wait for it.
    """
    os.nice(NICENESS)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    try:
        store = Store(place, migrate=False)
        with store.reading() as transaction:
            benchmark = next(one for one in benchmarks(transaction) if one.name == job.benchmark)
        if job.kind == "refit":
            refit(store, benchmark, holder)
        elif job.kind == "report":
            draw_report(store, benchmark, job.board_id)
        else:
            calibrate_samples(store, benchmark, job.board_id)
    except Exception as error:  # noqa: BLE001 - said in the log; boards are served as they are
        log_line("job_failed", job=job.kind, benchmark=job.benchmark, error=repr(error))
        os._exit(1)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


class Worker:
    """Looks for jobs and has each done by a new process, so that its memory is given back."""

    def __init__(
        self, store: Store, policy: RefitPolicy, say: Callable[..., None], *, every: float = 0.5
    ) -> None:
        self.store, self.policy, self.say, self.every = store, policy, say, every
        self.failures = 0
        self._failed: dict[Job, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="camilla-worker")

    def start(self) -> None:
        """From now on jobs are done."""
        self._thread.start()

    def stop(self) -> None:
        """Ends, and the job with it; another server or the next start does it anew."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self.every):
            try:
                self._once()
            except Exception as error:  # noqa: BLE001 - the store may be away for a while; serving goes on
                self.say("worker_failed", error=str(error).splitlines()[0] if str(error) else repr(error))

    def _once(self) -> None:
        job = next_job(self.store, self.policy)
        if job is None or time.monotonic() < self._failed.get(job, 0.0):
            return
        holder = new_holder()
        if not take_lease(self.store, holder):
            return
        if job != next_job(self.store, self.policy):  # another server did it meanwhile
            end_lease(self.store, holder)
            return
        self._have_done(job, holder)

    def _have_done(self, job: Job, holder: str) -> None:
        started = time.monotonic()
        place = self.store.url.render_as_string(hide_password=False)
        process = get_context("spawn").Process(
            target=work, args=(place, job, holder, os.getpid()), daemon=True, name=f"camilla-{job.kind}"
        )
        process.start()
        kept = time.monotonic()
        while process.is_alive() and not self._ended.wait(0.1):
            if time.monotonic() - kept > LEASE_SECONDS / 4:
                take_lease(self.store, holder)
                kept = time.monotonic()
        if process.is_alive():
            process.terminate()
        process.join()
        end_lease(self.store, holder)
        seconds = round(time.monotonic() - started, 3)
        if process.exitcode and not self._ended.is_set():
            self.failures += 1
            self._failed[job] = time.monotonic() + PAUSE_AFTER_FAILURE
        self.say("job", job=job.kind, benchmark=job.benchmark, seconds=seconds, code=process.exitcode)
