"""An adaptive test of one learner, in Python and as lines of JSON."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import numpy as np

from camilla.arrays import Floats, Watch
from camilla.errors import CamillaError, DataError, SettingError
from camilla.learners.check import copy_notes
from camilla.names import name_index, nearest
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.samples.bank import (
    Answers,
    Bank,
    TestStanding,
    after,
    at_start,
    best_next,
    full_score,
    overall_share,
)
from camilla.samples.replay import calibrate_with_misfit
from camilla.table.frames import WideRows


class TestState(NamedTuple):
    """What is known about a learner after some responses of an adaptive test.

    `ability` is that of the one-dimensional model, in standard deviations of the pool; `score` is the
    expected mean response over all samples of the calibration table, responses seen counting as they are.

    Attributes
    ----------
    asked : int
        Responses so far.
    ability : float
        Ability, in standard deviations of the pool.
    ability_se : float
        Its standard error.
    score : float
        Expected mean response over all samples.
    score_se : float
        Its standard error.
    accuracy : float or None
        Plain mean of the responses so far.
    left_out : int
        Samples that could not be run.
    done : bool
        Whether the test is over.

    Examples
    --------
    >>> test = camilla.adapt(camilla.simulate(20, 30, seed=1).table, budget=2, dimensions=1)
    >>> test.state().asked, test.state().done
    (0, False)
    """

    asked: int
    ability: float
    ability_se: float
    score: float
    score_se: float
    accuracy: float | None  # plain mean of the responses seen
    left_out: int
    done: bool


def adapt(
    table: TableLike,
    *,
    rows: WideRows | None = None,
    budget: int | None = None,
    score_se: float | None = None,
    ability_se: float | None = None,
    dimensions: int | None = None,
    seed: int = 0,
    watch: Watch = lambda line: None,
) -> "AdaptiveTest":
    """Prepares an adaptive test of one learner: it asks the most informative sample next.

    The samples are calibrated on the learners of a table. The test ends as soon as one of the limits is met.
    Without a limit it asks all samples.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    budget : int, optional
        Largest number of responses.
    score_se, ability_se : float, optional
        Stop when the standard error of the score, or of the ability, is at most this.
    dimensions : int, optional
        Dimensions of the calibrated model. By default they are chosen on held-out responses.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    watch : callable, optional
        Receives each progress line as text.

    Returns
    -------
    AdaptiveTest
        Call `next()` and `record(sample, response)` in turn.

    Examples
    --------
    >>> test = camilla.adapt(camilla.simulate(20, 30, seed=1).table, budget=2, dimensions=1)
    >>> test.record(test.next(), 1).asked
    1
    """
    stops = {"budget": budget, "score_se": score_se, "ability_se": ability_se}
    _check_stops(stops)  # before the minutes that calibrating a large table takes
    table = as_table(table, rows=rows)
    bank = calibrate_with_misfit(table.canonical().table, dimensions=dimensions, seed=seed, watch=watch)
    said = {name: value for name, value in stops.items() if value is not None}
    made = made_of(table, dimensions=bank.models[-1].loading.shape[1], seed=seed, **said)
    return AdaptiveTest(
        bank, ability_se=ability_se, score_se=score_se, budget=budget, provenance=made,
        notes=tuple(copy_notes(table)),
    )  # fmt: skip


def _check_stops(stops: dict[str, Any]) -> None:
    for name, value in stops.items():
        if value is not None and not value > 0:
            raise SettingError(f"{name} must be above 0; got {value!r}.")


@dataclass(eq=False, repr=False)
class AdaptiveTest:
    """An adaptive test of one learner.

    It asks the sample that is expected to reduce the uncertainty of the score most, until a limit is met.
    `adapt` makes it.

    Parameters
    ----------
    bank : Bank
        The calibrated samples.
    ability_se, score_se : float, optional
        Stop when the standard error of the ability, or of the score, is at most this.
    budget : int, optional
        Largest number of responses.
    provenance : dict
        How the samples were calibrated.
    notes : tuple of str
        What a reader must know of the learners that they were calibrated on.

    Examples
    --------
    >>> test = camilla.adapt(camilla.simulate(20, 30, seed=1).table, budget=2, dimensions=1)
    >>> while (sample := test.next()) is not None:
    ...     state = test.record(sample, 1)
    >>> state.asked, state.done
    (2, True)
    """

    bank: Bank
    ability_se: float | None = None
    score_se: float | None = None
    budget: int | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_stops({name: getattr(self, name) for name in ("ability_se", "score_se", "budget")})
        self._place = name_index(self.bank.samples)
        self._seen = np.zeros((1, len(self.bank.samples)), bool)
        self._left_out = np.zeros((1, len(self.bank.samples)), bool)
        self._response = np.zeros((1, len(self.bank.samples)))
        self._trials = np.ones((1, len(self.bank.samples)))
        self._standing: TestStanding = at_start(self.bank, 1)
        self._state: TestState | None = None

    def __repr__(self) -> str:
        state = self.state()
        over = ", over" if state.done else ""
        return (
            f"AdaptiveTest: {state.asked} of {len(self.bank.samples)} samples asked{over}; score "
            f"{state.score:.3f} (standard error {state.score_se:.3f}), ability {state.ability:.3f} "
            f"(standard error {state.ability_se:.3f})"
        )

    def next(self) -> str | None:
        """Returns the sample to ask now.

        Returns
        -------
        str or None
            Its name; None when the test is over.

        Examples
        --------
        >>> test = camilla.adapt(camilla.simulate(20, 30, seed=1).table, budget=1, dimensions=1)
        >>> test.next() in test.bank.samples
        True
        """
        if self.state().done:
            return None
        askable = ~(self._seen | self._left_out)
        found = best_next(self.bank, self._standing, ~self._seen, askable, self._all_trials())
        return self.bank.samples[int(found[0])]

    def record(self, sample: str, response: float, *, trials: int = 1) -> TestState:
        """Records the response to a sample, which may be any sample without a response.

        Parameters
        ----------
        sample : str
            Name of the sample.
        response : float
            In [0, 1].
        trials : int
            Number of trials that the response is the mean of. Several trials carry more information than one,
            to the extent that trials in the calibration table vary independently.

        Returns
        -------
        TestState
            `asked`, `ability`, `ability_se`, `score`, `score_se`, `accuracy`, `left_out`, `done`.

        Raises
        ------
        DataError
            The sample is unknown or has a response already, or the response lies outside [0, 1].

        Examples
        --------
        >>> test = camilla.adapt(camilla.simulate(20, 30, seed=1).table, budget=1, dimensions=1)
        >>> test.record(test.next(), 1).done
        True
        """
        j = self._unanswered(sample)
        if not isinstance(response, int | float) or not 0 <= response <= 1:
            raise DataError(f"a response lies in [0, 1]; got {response!r} for {sample!r}.")
        if not isinstance(trials, int) or trials < 1:
            raise DataError(f"trials are a whole number from 1; got {trials!r} for {sample!r}.")
        self._seen[0, j], self._response[0, j], self._trials[0, j] = True, float(response), trials
        self._left_out[0, j] = False
        asked = np.flatnonzero(self._seen[0])[None]
        self._standing = after(
            self.bank, self._standing, asked, self._response[0, asked], trials=self._trials[0, asked]
        )
        self._state = None
        return self.state()

    def _all_trials(self) -> Floats:
        """The trials of responses seen; of those to come, as many as those had on average."""
        usual = self._trials[self._seen].mean() if self._seen.any() else 1.0
        return np.where(self._seen, self._trials, usual)

    def leave_out(self, sample: str) -> TestState:
        """Leaves out a sample that could not be run. It is not asked again.

        It counts neither as right nor as wrong: the score uses its expected response.

        Parameters
        ----------
        sample : str
            Name of the sample.

        Returns
        -------
        TestState
            As from `record`.

        Examples
        --------
        >>> test = camilla.adapt(camilla.simulate(20, 30, seed=1).table, budget=1, dimensions=1)
        >>> test.leave_out(test.next()).left_out
        1
        """
        self._left_out[0, self._unanswered(sample)] = True
        self._state = None
        return self.state()

    def _unanswered(self, sample: str) -> int:
        """The place of a sample that has no response yet."""
        if sample not in self._place:
            raise DataError(
                f"no sample {sample!r} among the calibrated samples. {nearest(sample, self.bank.samples)}"
            )
        j = self._place[sample]
        if self._seen[0, j]:
            raise DataError(f"{sample!r} has been answered already, with {self._response[0, j]:g}.")
        return j

    def state(self) -> TestState:
        """Returns what is known about the learner now.

        Returns
        -------
        TestState
            As from `record`.

        Examples
        --------
        >>> camilla.adapt(camilla.simulate(20, 30, seed=1).table, budget=1, dimensions=1).state().asked
        0
        """
        if self._state is None:
            self._state = self._known()
        return self._state

    def _known(self) -> TestState:
        n = int(self._seen.sum())
        level = overall_share(self.bank.models[0], self._standing[0])
        asked = np.flatnonzero(self._seen[0])[None]
        answers = Answers(
            asked,
            self._response[0, asked],
            ~self._seen,
            np.array([self._seen.size]),
            self._all_trials(),
        )
        total = full_score(self.bank, self._standing, answers)
        met = (
            bool((self._seen | self._left_out).all()),
            self.budget is not None and n >= self.budget,
            self.ability_se is not None and float(level.se[0]) <= self.ability_se,
            self.score_se is not None and float(total.se[0]) <= self.score_se,
        )
        mean = float(self._response[self._seen].mean()) if n else None
        return TestState(
            n,
            float(level.score[0]),
            float(level.se[0]),
            float(total.score[0]),
            float(total.se[0]),
            mean,
            int(self._left_out.sum()),
            any(met),
        )


LONGEST_LINE = 100_000  # characters

WANTED = (
    'expected {"sample": "name", "response": 0 to 1, or null if it could not be run} (and "trials": N if it '
    'is the mean of several), {"next": true} or {"stop": true}'
)


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """What a line may say."""

    sample: str | None = None
    response: float | bool | msgspec.UnsetType | None = msgspec.UNSET
    trials: int = 1
    next: bool = False
    stop: bool = False


def answers(test: AdaptiveTest, lines: Iterable[str]) -> Iterator[str]:
    """The first question, then an answer to every line; ends when told to, when done, or with the lines.

    All have the same fields; the first question has the test's provenance and notes besides. A line that
    cannot be used changes nothing and is answered by where the test stands, `error` saying why.
    """
    first = _said(test) | {"provenance": test.provenance, "notes": list(test.notes)}
    yield json.dumps(first, ensure_ascii=False)
    for text in lines:
        if not text.strip():
            continue
        stopped, error = False, None
        try:
            stopped = _taken(test, _line(text))
        except CamillaError as refused:
            error = str(refused)
        yield json.dumps(_said(test, stopped=stopped, error=error), ensure_ascii=False)
        if stopped or test.state().done:
            return


def _taken(test: AdaptiveTest, line: Line) -> bool:
    """Whether the line was the last one."""
    if line.next or line.stop:
        return line.stop
    if line.sample is None or line.response is msgspec.UNSET:
        raise DataError(f"the line has no sample or no response; {WANTED}.")
    if line.response is None:
        test.leave_out(line.sample)
    else:
        test.record(line.sample, float(line.response), trials=line.trials)
    return False


def _said(test: AdaptiveTest, *, stopped: bool = False, error: str | None = None) -> dict[str, Any]:
    state = _state(test)
    return (
        {"next": None if stopped else test.next()}
        | state
        | {"done": stopped or state["done"], "error": error}
    )


def _state(test: AdaptiveTest) -> dict[str, Any]:
    """Numbers to four decimals: more would differ between CPUs."""
    found = test.state()._asdict()
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in found.items()}


def _line(text: str) -> Line:
    if len(text) > LONGEST_LINE:
        raise DataError(f"a line of {len(text)} characters; {WANTED}.")
    try:
        line = msgspec.json.decode(text.encode("utf-8", "replace"), type=Line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"{error}; {WANTED}.") from None
    answered = line.sample is not None or line.response is not msgspec.UNSET
    if answered + line.next + line.stop > 1:
        raise DataError(f"the line has more than one of response, next and stop; {WANTED}.")
    return line
