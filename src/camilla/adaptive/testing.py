"""Adaptive testing of one learner: which sample to ask next, and what its responses say so far."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from camilla.adaptive.bank import Bank
from camilla.adaptive.peers import Answers
from camilla.adaptive.playing import calibrate_with_misfit
from camilla.adaptive.posterior import overall
from camilla.adaptive.standing import Standing, after, at_start, best_next, full_score
from camilla.compare.provenance import made_of
from camilla.data.names import nearest
from camilla.data.responses import ResponseTable
from camilla.diagnoser import Watch
from camilla.errors import DataError, SettingError


class State(NamedTuple):
    """What is known of a learner after `asked` responses, with `left_out` samples that could not be run.

    `ability` is that of the one-dimensional model, in standard deviations of the pool; `score` is the
    expected mean response over all samples of the calibration table, responses seen counting as they are.
    """

    asked: int
    ability: float
    ability_se: float
    score: float
    score_se: float
    accuracy: float | None  # plain mean of the responses seen
    left_out: int
    done: bool


@dataclass(eq=False)
class AdaptiveTest:
    """Asks the sample that is expected to narrow the score most, until a standard error or a budget is met.

    `ability_se` and `score_se` stop the test when the standard error has come down to them, `budget` after
    that many responses; without any, all samples are asked.
    """

    bank: Bank
    ability_se: float | None = None
    score_se: float | None = None
    budget: int | None = None
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("ability_se", "score_se", "budget"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise SettingError(f"{name} must be above 0; got {value!r}.")
        self._place = {name: j for j, name in enumerate(self.bank.samples)}
        self._seen = np.zeros((1, len(self.bank.samples)), bool)
        self._left_out = np.zeros((1, len(self.bank.samples)), bool)
        self._response = np.zeros((1, len(self.bank.samples)))
        self._standing: Standing = at_start(self.bank, 1)
        self._state: State | None = None

    @classmethod
    def from_table(
        cls,
        table: ResponseTable,
        *,
        dimensions: int | None = None,
        seed: int = 0,
        watch: Watch = lambda line: None,
        **stop: Any,
    ) -> "AdaptiveTest":
        """A test whose samples are calibrated on the learners of a table, the same in any order of both."""
        ordered = table.canonical().table
        bank = calibrate_with_misfit(ordered, dimensions=dimensions, seed=seed, watch=watch)
        made = made_of(table, dimensions=bank.models[-1].loading.shape[1], seed=seed, **stop)
        return cls(bank, provenance=made, **stop)

    def next(self) -> str | None:
        """The sample to ask now; None when the test is over."""
        if self.state().done:
            return None
        found = best_next(self.bank, self._standing, ~self._seen, ~(self._seen | self._left_out))
        return self.bank.samples[int(found[0])]

    def record(self, sample: str, response: float) -> State:
        """What is known once the learner's response, in [0, 1], to any sample has come."""
        j = self._unanswered(sample)
        if not isinstance(response, int | float) or not 0 <= response <= 1:
            raise DataError(f"a response lies in [0, 1]; {response!r} came for {sample!r}.")
        self._seen[0, j], self._response[0, j] = True, float(response)
        self._left_out[0, j] = False
        asked = np.flatnonzero(self._seen[0])[None]
        self._standing = after(self.bank, self._standing, asked, self._response[0, asked])
        self._state = None
        return self.state()

    def leave_out(self, sample: str) -> State:
        """Says that a sample could not be run: it is not asked again, and the score has its expectation.

        Whatever came in the way is no response of the learner, and counts neither as right nor as wrong.
        """
        self._left_out[0, self._unanswered(sample)] = True
        self._state = None
        return self.state()

    def _unanswered(self, sample: str) -> int:
        """The place of a sample that has no response yet."""
        if sample not in self._place:
            raise DataError(
                f"no sample {sample!r} among the calibrated. {nearest(sample, self.bank.samples)}"
            )
        j = self._place[sample]
        if self._seen[0, j]:
            raise DataError(f"{sample!r} has been answered already, with {self._response[0, j]:g}.")
        return j

    def state(self) -> State:
        """What is known now."""
        if self._state is None:
            self._state = self._known()
        return self._state

    def _known(self) -> State:
        n = int(self._seen.sum())
        level = overall(self.bank.models[0], self._standing[0])
        asked = np.flatnonzero(self._seen[0])[None]
        answers = Answers(asked, self._response[0, asked], ~self._seen, np.array([self._seen.size]))
        total = full_score(self.bank, self._standing, answers)
        met = (
            bool((self._seen | self._left_out).all()),
            self.budget is not None and n >= self.budget,
            self.ability_se is not None and float(level.se[0]) <= self.ability_se,
            self.score_se is not None and float(total.se[0]) <= self.score_se,
        )
        mean = float(self._response[self._seen].mean()) if n else None
        return State(
            n,
            float(level.score[0]),
            float(level.se[0]),
            float(total.score[0]),
            float(total.se[0]),
            mean,
            int(self._left_out.sum()),
            any(met),
        )
