"""Adaptive sessions: which sample to run next, kept in the store, so that a session outlives its server."""

import secrets
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec
import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from camilla.errors import DataError
from camilla.names import name_index
from camilla.samples.adapt import AdaptiveTest
from camilla.samples.bank import Bank, BankModel, Peers
from camilla.server.accounts import Caller
from camilla.server.boards import BANK, newest_board
from camilla.server.store import RefusedError, Store, now
from camilla.server.submissions import LONGEST_NAME, Accepted, accept
from camilla.server.uploads import known_part
from camilla.server.views import Boards
from camilla.table.responses import ResponseTable

KEPT_TESTS = 64  # sessions whose state is in memory
MOST_OPEN = 20  # sessions of an account that are not over
ARRAYS = ("loading", "intercept", "mean", "covariance", "ability")
NUMBERS = ("dispersion", "shared")


class StopRule(msgspec.Struct, forbid_unknown_fields=True):
    """When a session is over; without any of these it asks every sample."""

    budget: int | None = None
    score_se: float | None = None
    ability_se: float | None = None


class BankHead(msgspec.Struct):
    """What of a bank is no array."""

    samples: list[str]
    models: list[dict[str, float]]
    misfit: float
    one_trial: float | None


def packed_bank(bank: Bank) -> bytes:
    """A bank as bytes: a line of JSON, then its arrays."""
    arrays = {
        f"{number}.{name}": np.ascontiguousarray(getattr(model, name))
        for number, model in enumerate(bank.models)
        for name in ARRAYS
    }
    one_trial = None
    if bank.peers is not None:
        arrays |= {"peers.learner": bank.peers.learner, "peers.response": bank.peers.response}
        if isinstance(bank.peers.trials, float):
            one_trial = bank.peers.trials
        else:
            arrays["peers.trials"] = bank.peers.trials
    numbers = [{name: float(getattr(model, name)) for name in NUMBERS} for model in bank.models]
    head = BankHead(list(bank.samples), numbers, bank.misfit, one_trial)
    return (
        msgspec.json.encode(head)
        + b"\n"
        + save_tensors({k: np.ascontiguousarray(v) for k, v in arrays.items()})
    )


def unpacked_bank(content: bytes) -> Bank:
    """What was packed."""
    line, _, rest = content.partition(b"\n")
    head, arrays = msgspec.json.decode(line, type=BankHead), load_tensors(rest)
    models = [
        BankModel._make(
            [*(arrays[f"{number}.{name}"] for name in ARRAYS), *(numbers[name] for name in NUMBERS)]
        )
        for number, numbers in enumerate(head.models)
    ]
    peers = None
    if "peers.learner" in arrays:
        trials = head.one_trial if head.one_trial is not None else arrays["peers.trials"]
        peers = Peers(arrays["peers.learner"], arrays["peers.response"], trials)
    return Bank(tuple(head.samples), tuple(models), peers, head.misfit)


class Session(NamedTuple):
    """A session as the store has it, with the answers given so far."""

    id: str
    board_id: int
    account: str
    learner: str
    created: str
    settings: StopRule
    submission_id: int | None
    benchmark: str
    board: int
    answers: list[dict[str, Any]]


class Sessions:
    """Adaptive tests by session; what is in memory can be made again from the store."""

    def __init__(self, store: Store, boards: Boards) -> None:
        self.store, self.boards = store, boards
        self._lock = threading.Lock()
        self._banks: OrderedDict[int, Bank] = OrderedDict()
        self._tests: OrderedDict[str, tuple[int, AdaptiveTest]] = OrderedDict()

    def start(self, benchmark_name: str, caller: Caller, learner: str, rule: StopRule) -> str:
        """A session on the board of now; its id."""
        if not learner.strip() or len(learner) > LONGEST_NAME or not learner.isprintable():
            raise DataError(f"a learner is named by 1 to {LONGEST_NAME} printable characters.")
        for name in ("budget", "score_se", "ability_se"):
            value = getattr(rule, name)
            if value is not None and not value > 0:
                raise DataError(f"{name} must be above 0; got {value:g}.")
        benchmark = self.boards.benchmark(benchmark_name)
        if learner in self.boards.own(benchmark).learner_names:
            raise RefusedError(409, f"the benchmark itself has a learner {learner!r}. Choose another name.")
        number = secrets.token_urlsafe(16)
        with self.store.writing() as transaction:
            open_ = transaction.value(
                "SELECT COUNT(*) FROM sessions WHERE account = :account AND submission_id IS NULL",
                account=caller.account,
            )
            if open_ >= MOST_OPEN:
                raise RefusedError(409, f"{open_} sessions of this account are open; finish one first.")
            transaction.insert(
                "sessions", id=number, board_id=newest_board(transaction, benchmark.id).id,
                account=caller.account, token_id=caller.token_id, learner=learner, created=now(),
                settings=msgspec.json.encode(rule).decode(),
            )  # fmt: skip
        return number

    def session(self, number: str, caller: Caller) -> Session:
        """A session of this account; an owner sees all."""
        with self.store.reading() as transaction:
            row = transaction.row(
                """SELECT sessions.id, board_id, account, learner, sessions.created AS created,
                sessions.settings AS settings, submission_id, benchmarks.name AS benchmark,
                boards.number AS board FROM sessions JOIN boards ON boards.id = board_id
                JOIN benchmarks ON benchmarks.id = benchmark_id WHERE sessions.id = :id""",
                id=number,
            )
            if row is None or (row["account"] != caller.account and not caller.may("owner")):
                raise RefusedError(404, "there is no such session of this account.")
            answers = transaction.rows(
                """SELECT sample, response, trials FROM session_answers WHERE session_id = :id
                ORDER BY position""",
                id=number,
            )
        settings = msgspec.json.decode(row.pop("settings"), type=StopRule)
        return Session(**row, settings=settings, answers=answers)

    def bank(self, board_id: int) -> Bank | None:
        """The calibrated samples of a board; None until the background has calibrated them."""
        with self._lock:
            if board_id not in self._banks:
                with self.store.reading() as transaction:
                    content = transaction.value(
                        "SELECT content FROM board_files WHERE board_id = :id AND name = :name",
                        id=board_id,
                        name=BANK,
                    )
                if content is None:
                    return None
                self._banks[board_id] = unpacked_bank(content)
                while len(self._banks) > 4:
                    self._banks.popitem(last=False)
            return self._banks[board_id]

    def state(self, session: Session) -> dict[str, Any]:
        """Where a session stands: what to run next, what is known, whether it is over."""
        told = {
            "id": session.id, "benchmark": session.benchmark, "board": session.board,
            "learner": session.learner, "created": session.created, "submission": session.submission_id,
        }  # fmt: skip
        test = self._test(session)
        if test is None:
            return told | {"state": "calibrating"}
        known = {
            name: round(value, 6) if isinstance(value, float) else value
            for name, value in test.state()._asdict().items()
        }
        done = known.pop("done")
        over = "done" if done else "open"
        name = "submitted" if session.submission_id is not None else over
        return told | known | {"state": name, "next": None if name != "open" else test.next()}

    def _test(self, session: Session) -> AdaptiveTest | None:
        bank = self.bank(session.board_id)
        if bank is None:
            return None
        with self._lock:
            count, test = self._tests.pop(session.id, (0, None))
            if test is None or count > len(session.answers):
                count, test = 0, AdaptiveTest(bank, **msgspec.structs.asdict(session.settings))
            for answer in session.answers[count:]:
                if answer["response"] is None:
                    test.leave_out(answer["sample"])
                else:
                    test.record(answer["sample"], answer["response"], trials=answer["trials"])
            self._tests[session.id] = (len(session.answers), test)
            while len(self._tests) > KEPT_TESTS:
                self._tests.popitem(last=False)
            return test

    def answer(
        self, number: str, caller: Caller, sample: str, response: float | None, trials: int
    ) -> dict[str, Any]:
        """Keeps what a learner scored on a sample, or that it could not be run; then where it stands."""
        session = self.session(number, caller)
        test = self._test(session)
        if test is None:
            raise RefusedError(409, "the samples are being calibrated; ask again in a moment.")
        if session.submission_id is not None:
            raise RefusedError(409, "the session is over: its responses have been submitted.")
        earlier = [one for one in session.answers if one["sample"] == sample]
        if earlier and earlier[0]["response"] == response:
            return self.state(session)  # the same answer again, after a reply that was lost
        if earlier:
            raise RefusedError(409, f"sample {sample!r} has been answered already.")
        self._check_answer(session, sample, response, trials)
        if test.state().done:
            raise RefusedError(409, "the session is over: nothing more is asked. Finish it to submit.")
        if sample != (asked := test.next()):
            raise RefusedError(409, f"the session asks {asked!r} now, not {sample!r}; answer that one.")
        with self.store.writing() as transaction:
            last = transaction.value(
                "SELECT COALESCE(MAX(position), 0) FROM session_answers WHERE session_id = :id", id=number
            )
            if last != len(session.answers):
                raise RefusedError(409, "another answer arrived first; ask for the state of the session.")
            transaction.insert(
                "session_answers", session_id=number, position=last + 1, sample=sample, response=response,
                trials=trials,
            )  # fmt: skip
        return self.state(self.session(number, caller))

    def _check_answer(self, session: Session, sample: str, response: float | None, trials: int) -> None:
        """Refuses what this benchmark cannot take as a response to a sample."""
        found = self.boards.diagnosis(session.board_id)
        if sample not in found.sample_names:
            raise RefusedError(422, f"sample {sample!r} is not of this benchmark.")
        if response is None:
            if self.boards.benchmark(session.benchmark).least_share == 1:
                raise RefusedError(
                    422,
                    f"this benchmark needs a response to every sample that it asks; run {sample!r} again.",
                )
        elif not found.provenance["fractional"] and abs(response * trials - round(response * trials)) > 1e-6:
            raise RefusedError(
                422, f"each trial of this benchmark is right or wrong; {response:g} of {trials} is not."
            )

    def finish(self, number: str, caller: Caller) -> list[Accepted]:
        """Submits the responses that a session has collected; once."""
        session = self.session(number, caller)
        if session.submission_id is not None:
            return [Accepted(session.submission_id, new=False)]
        target = self.boards.target(session.benchmark)
        table = _collected(session, fractional=target.found.provenance["fractional"])
        known = known_part(table, target.found.sample_names)
        accepted = accept(
            self.store,
            target,
            caller,
            known,
            source="session",
            asked=[one["sample"] for one in session.answers],
        )
        with self.store.writing() as transaction:
            transaction.run(
                "UPDATE sessions SET submission_id = :submission WHERE id = :id AND submission_id IS NULL",
                submission=accepted[0].id,
                id=number,
            )
        return accepted


def _collected(session: Session, *, fractional: bool) -> ResponseTable:
    """The responses of a session; trials of right or wrong as often as each came."""
    rows = [(one["sample"], one["response"], one["trials"]) for one in session.answers]
    seen = [row for row in rows if row[1] is not None]
    if not seen:
        raise DataError("the session has no response yet; expected at least one.")
    if not fractional:
        seen = [
            (name, value, count)
            for name, share, trials in seen
            for value, count in ((1.0, round(share * trials)), (0.0, trials - round(share * trials)))
            if count
        ]
    place = name_index(dict.fromkeys(name for name, _, _ in seen))
    return ResponseTable(
        (session.learner,), tuple(place), np.zeros(len(seen), np.int32),
        np.array([place[name] for name, _, _ in seen], np.int32), np.array([value for _, value, _ in seen]),
        np.array([float(count) for _, _, count in seen]),
    )  # fmt: skip
