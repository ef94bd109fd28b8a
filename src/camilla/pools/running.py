"""A pool run: every learner fitted on every part, on this machine or a cluster, and resumed."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import joblib
import numpy as np
from joblib.externals.loky import ProcessPoolExecutor
from msgspec.structs import replace

from camilla.display import watching
from camilla.parallel import BATCH, LostWorkError, each
from camilla.pools.description import Pool
from camilla.pools.fitting import FoldPart, LearnerFit, Outcome, Work, fit_learner, seed_of
from camilla.pools.journal import Journal, data_hash, key_of, split_hash
from camilla.pools.results import PoolResults, Prepared

Watch = Callable[[str], None]


def prepare(pool: Pool) -> list[Prepared]:
    """Splits and matrices of every data set; what learners share is made once."""
    out: list[Prepared] = []
    for data in pool.data:
        splits = pool.validation.splits(data, seed_of(pool.seed, data.name))
        parts = [FoldPart(split, *pool.preparation.matrices(data.features, split)) for split in splits]
        out.append(Prepared(data, data_hash(data), parts))
    return out


def run(
    pool: Pool, folder: Path, *,
    jobs: int | None = None, progress: bool | None = None, watch: Watch | None = None,
) -> PoolResults:  # fmt: skip
    """Fits every learner on every data set; outcomes found in the folder are not computed again.

    Those that failed are: what stopped them, such as too little memory, may be gone. Learners that differ in
    nothing but their name have one outcome. `jobs` None is what `joblib.parallel_config` says, else one; −1
    is every core.

    `progress` shows a line on standard error while it runs: True at once, False never, None after two seconds
    on a terminal or in a notebook. `watch` takes the lines instead.
    """
    with watching(f"pool {pool.name}", progress, watch) as watch:
        return _run(pool, folder, jobs, watch)


def _run(pool: Pool, folder: Path, jobs: int | None, watch: Watch) -> PoolResults:
    started = time.monotonic()
    journal = Journal(folder / "outcomes")
    prepared = prepare(pool)
    asked = list(works(pool, prepared))
    unlike = {work.key: work for work in asked}
    there = {key: outcome for key in unlike if (outcome := journal.read(key)) is not None}
    found = {key: outcome for key, outcome in there.items() if not outcome.failed}
    left = sorted((unlike[key] for key in unlike if key not in found), key=seconds_guessed, reverse=True)
    if there:
        failed = len(there) - len(found)
        again = f"; {failed} more failed before and {'is' if failed == 1 else 'are'} tried again"
        watch(f"{len(found)} of {len(unlike)} outcomes exist already{again if failed else ''}")
    clock = Clock(left, len(found))
    for outcome in _outcomes(left, jobs):
        journal.write(outcome)
        found[outcome.key] = outcome
        watch(clock.after(outcome))
    in_order = [replace(found[work.key], learner=work.learner.name) for work in asked]
    return PoolResults(pool, prepared, in_order, len(left), time.monotonic() - started)


def works(pool: Pool, prepared: Iterable[Prepared]) -> Iterator[Work]:
    """One a data set and learner."""
    for one in prepared:
        rows = split_hash([part.split for part in one.parts])
        for learner in pool.learners:
            seed = pool.seed if pool.shared_seed else seed_of(pool.seed, learner.name)
            key = key_of(pool, one.hash, rows, learner)
            yield Work(
                learner, one.data.name, key, pool.task, one.parts, one.data.target, seed,
                pool.preparation.scale_target,
            )  # fmt: skip


def _outcomes(left: list[Work], jobs: int | None) -> Iterator[Outcome]:
    """As they are finished. When a worker dies, what it may have been at is run again, each fit alone."""
    waiting = {work.key: work for work in left}
    while waiting:
        asked = list(waiting.values())
        try:
            for outcome in each(fit_learner, [(work,) for work in asked], jobs):
                del waiting[outcome.key]
                yield outcome
        except LostWorkError as error:
            yield died(waiting.pop(asked[error.place].key))
        except BrokenProcessPool:
            for work in list(waiting.values())[: BATCH * joblib.effective_n_jobs(jobs)]:
                del waiting[work.key]
                yield alone(work)


def alone(work: Work) -> Outcome:
    """A fit in a process of its own, whose death is the learner's failure."""
    with ProcessPoolExecutor(max_workers=1) as executor:
        try:
            return executor.submit(fit_learner, work).result()
        except BrokenProcessPool:
            return died(work)


def died(work: Work) -> Outcome:
    """Of a fit that takes its process with it."""
    fit = LearnerFit(0, 0.0, [], "its process died: out of memory, or a crash in its own code")
    nothing = np.full(len(work.target), np.nan).astype("<f8").tobytes()
    return Outcome(work.learner.name, work.data_set, work.key, [fit], nothing)


def seconds_guessed(work: Work) -> float:
    """The learner's cost on 1,000 rows, growing a little faster than the rows do."""
    return work.learner.cost * sum((len(part.train) / 1000) ** 1.3 for part in work.parts)


class Clock:
    """How much is done and how long the rest will take, learned from what each family has taken."""

    def __init__(self, left: list[Work], n_before: int) -> None:
        self.started = time.monotonic()
        self.works = {work.key: work for work in left}
        self.total = len(left) + n_before
        self.done = n_before
        self.failed = 0
        self.guessed: dict[str, float] = defaultdict(float)  # of what is still to do, by family
        self.past: dict[str, tuple[float, float]] = {}  # guessed and taken, by family
        for work in left:
            self.guessed[work.learner.family] += seconds_guessed(work)

    def after(self, outcome: Outcome) -> str:
        """A line on where the run stands."""
        work = self.works[outcome.key]
        family, guess = work.learner.family, seconds_guessed(work)
        taken = sum(fit.seconds for fit in outcome.fits)
        self.done += 1
        self.failed += outcome.failed
        self.guessed[family] -= guess
        before = self.past.get(family, (0.0, 0.0))
        self.past[family] = (before[0] + guess, before[1] + taken)
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done} of {self.total}{failed}, about {_spoken(self.seconds_left())} left"

    def seconds_left(self) -> float:
        """Guessed seconds of the rest × how such guesses went × wall seconds per second of work so far."""
        guessed = sum(guess for guess, _ in self.past.values())
        taken = sum(seconds for _, seconds in self.past.values())
        overall = taken / guessed
        work_left = 0.0
        for family, guess in self.guessed.items():
            past = self.past.get(family)
            work_left += max(guess, 0.0) * (past[1] / past[0] if past else overall)
        return work_left * (time.monotonic() - self.started) / max(taken, 1e-9)


def _spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
