"""A diagnosis: named results, predictions, placing, and what draws of it say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, sigmoid
from camilla.diagnosis_folder import read_directory, write_directory
from camilla.diagnosis_parts import board_parts, estimand_of, learner_parts
from camilla.diagnosis_skills import skill_frames
from camilla.diagnosis_unseen import NewPredictions, predict_new
from camilla.display import Part, Printable
from camilla.errors import DataError
from camilla.fitting.engines import engine_of
from camilla.fitting.layout import NO_ENCODERS, Encoders
from camilla.fitting.protocol import Indices, Level, Readout, ScoreDraws
from camilla.learners.standing import decide
from camilla.names import name_index, nearest
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.intervals import LEVEL, Z, mean_ends
from camilla.statistics.posterior import (
    chance_better,
    estimates,
    random_shares,
    shared_spread,
    simultaneous_half_width,
)
from camilla.statistics.standing import (
    PairChances,
    Standing,
    chances_by_draws,
    chances_by_errors,
    standing_by_draws,
    standing_by_errors,
)
from camilla.statistics.step_down import MOST_TESTED
from camilla.table.cells import Cells, means, zero_or_one
from camilla.table.content import KeptContent
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable

DECIMALS = 7  # of an ability that decide a rank: fits stop nearer to their mode than that


class Chances(NamedTuple):
    """Expected responses, with 95 % intervals from the uncertainty of the ability; None if not known.

    Attributes
    ----------
    probability : array
        Expected responses.
    low : array or None
        Lower ends of their intervals.
    high : array or None
        Upper ends of their intervals.

    Examples
    --------
    >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
    >>> diagnosis.chances(np.array([0]), np.array([3])).low.shape
    (1,)
    """

    probability: Floats
    low: Floats | None
    high: Floats | None


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Printable):
    """What a diagnoser says about one table: abilities, sample difficulties, predictions, with intervals.

    `diagnose` makes it. `print(diagnosis)` shows it. All intervals are at 95 %; `provenance["interval"]` says
    how they were made. The columns of the frames are explained on the page "Python".

    Attributes
    ----------
    learners : polars.DataFrame
        The leaderboard, best first: ability, standard error, interval, rank and accuracy of each learner.
    samples : polars.DataFrame
        One row per sample: difficulty, discrimination, fit and accuracy.
    skills : polars.DataFrame
        One row per learner and skill: ability, interval, accuracy and mastery.
    provenance : dict
        How the diagnosis was made: settings, seed, data hash, versions, notes.
    learner_names, sample_names, skill_names : tuple of str
        Names in the order of the arrays.
    diagnoser, params, readout, temperature
        The fitted model, for programs.
    cells : Cells
        The responses, one entry per observed pair of learner and sample.
    clusters : tuple of str, optional
        For each sample, its cluster.
    combined : array, optional
        Logits of auto's combination, [samples, learners].
    content : KeptContent, optional
        Prompts, references and answers, where the table had them.
    encoders : Encoders
        How features of samples and learners became numbers.

    Examples
    --------
    >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
    >>> diagnosis.learners.select("rank", "learner").head(2).rows()
    [(1, 'learner-2'), (2, 'learner-5')]
    >>> diagnosis.samples.columns[:3]
    ['sample', 'difficulty', 'difficulty_se']
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"learners": 10, "samples": 5}

    learners: pl.DataFrame
    samples: pl.DataFrame
    skills: pl.DataFrame
    provenance: dict[str, Any]
    learner_names: tuple[str, ...]
    sample_names: tuple[str, ...]
    skill_names: tuple[str, ...]
    diagnoser: Any
    params: Any
    readout: Readout
    temperature: float
    cells: Cells
    clusters: tuple[str, ...] | None = None  # of samples, in the order of sample_names
    combined: Floats | None = None  # [samples, learners], logits of auto's combination, for `predict`
    content: KeptContent | None = None  # what samples ask and learners answered, read when asked for
    encoders: Encoders = NO_ENCODERS

    def predict_new(self, samples: Any = None, learners: Any = None) -> NewPredictions:
        """Predicts responses to new samples, or of new learners, that have no responses yet.

        If the diagnosis was made with features, new samples and learners are predicted from their features;
        the intervals include the uncertainty of the weights, and the variation between samples with the same
        features. Otherwise every new sample or learner is predicted as a random one of the table, and a note
        says so.

        Parameters
        ----------
        samples, learners : path, dataframe, Features or list of str, optional
            The features of new samples or learners, with the columns that were fitted on. A list of names is
            enough if the diagnosis has no features. Samples or learners that are not given are those of this
            diagnosis.

        Returns
        -------
        NewPredictions
            Frames `responses`, `samples` and `learners`, each with 95 % intervals, and `notes`.

        Raises
        ------
        DataError
            A fitted feature is missing, or is of another kind.

        Examples
        --------
        >>> table = camilla.simulate(6, 40, seed=1).table
        >>> words = pl.DataFrame({"sample": table.samples, "words": range(40)})
        >>> diagnosis = camilla.diagnose(table.with_features(samples=words), "bayes", draws=100)
        >>> new = pl.DataFrame({"sample": ["p", "q"], "words": [3, 30]})
        >>> diagnosis.predict_new(samples=new).responses.shape
        (12, 5)
        """
        return predict_new(self, samples, learners)

    def predict(
        self, learners: Sequence[str] | None = None, samples: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Predicts the response of learners on samples.

        Where auto combines several diagnosers, `provenance["combined"]` has their weights.

        Parameters
        ----------
        learners, samples : list of str, optional
            Names. All by default.

        Returns
        -------
        polars.DataFrame
            Columns learner, sample, probability (the expected response), and low and high: its 95 % interval,
            from the uncertainty of the learner's ability. They are empty where the diagnoser has no such
            interval.

        Raises
        ------
        DataError
            A name is not in this diagnosis.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.predict(["learner-1"], ["sample-02"])["probability"].round(2).to_list()
        [0.49]
        """
        who = self._indices(learners, self.learner_names, "learner")
        what = self._indices(samples, self.sample_names, "sample")
        learner, sample = np.repeat(who, len(what)), np.tile(what, len(who))
        chance = self.chances(learner, sample)
        return pl.DataFrame(
            {
                "learner": np.array(self.learner_names, object)[learner],
                "sample": np.array(self.sample_names, object)[sample],
                **chance._asdict(),
            },
            schema={"learner": pl.String, "sample": pl.String, "probability": pl.Float64, "low": pl.Float64,
                    "high": pl.Float64},
        )  # fmt: skip

    def chances(self, learner: NDArray[np.integer], sample: NDArray[np.integer]) -> "Chances":
        """Predicts responses as `predict` does, with indices instead of names.

        Parameters
        ----------
        learner, sample : array of int
            Pairs of indices into `learner_names` and `sample_names`.

        Returns
        -------
        Chances
            Arrays `probability`, `low` and `high`; the last two are None where there is no interval.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.chances(np.array([0, 1]), np.array([3, 3])).probability.shape
        (2,)
        """
        engine = engine_of(self.diagnoser)
        logits = self.logit(learner, sample)
        if self.combined is not None:
            logits = self.combined[sample, learner].astype(np.float64)
        se = engine.logit_se(self.diagnoser, self.params, self.readout, learner, sample)
        if se is None:
            return Chances(sigmoid(logits), None, None)
        half = Z * se / self.temperature
        return Chances(sigmoid(logits), sigmoid(logits - half), sigmoid(logits + half))

    def probabilities(self) -> Floats:
        """Returns the expected response of every learner on every sample.

        It comes from the diagnoser that abilities come from; with auto, that is bayes alone.

        Returns
        -------
        array
            [learners, samples], in the order of `learner_names` and `sample_names`.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.probabilities().shape
        (6, 40)
        """
        n, m = len(self.learner_names), len(self.sample_names)
        learner, sample = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
        return sigmoid(self.logit(learner, sample)).reshape(n, m)

    def logit(self, learner: Indices, sample: Indices) -> Floats:
        """Returns the logit of the expected response, by the diagnoser that abilities come from.

        Parameters
        ----------
        learner, sample : array of int
            Pairs of indices into `learner_names` and `sample_names`.

        Returns
        -------
        array
            One logit per pair.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.logit(np.array([0]), np.array([3])).shape
        (1,)
        """
        logits = engine_of(self.diagnoser).logit(self.diagnoser, self.params, learner, sample)
        return logits / self.temperature

    def ability(self, samples: Iterable[str] | None = None, *, these_samples: bool = False) -> pl.DataFrame:
        """Estimates every learner's ability on any set of samples, with its accuracy there.

        Parameters
        ----------
        samples : list of str, optional
            Names. All by default.
        these_samples : bool
            By default the interval is for samples like these: they count as a random draw (of whole clusters
            where the table has clusters). With True it is for exactly these samples, and narrower. Only auto
            and bayes tell the two apart; what the interval of another diagnoser means is in its provenance.

        Returns
        -------
        polars.DataFrame
            The columns of `learners` without the rank, best first.

        Raises
        ------
        DataError
            No sample, or an unknown sample.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.ability(["sample-01", "sample-02"]).columns[:5]
        ['learner', 'ability', 'se', 'low', 'high']
        """
        chosen = self._indices(None if samples is None else list(samples), self.sample_names, "sample")
        if len(chosen) == 0:
            raise DataError("no sample was given for the ability; name at least one.")
        frame = pl.DataFrame({"learner": self.learner_names}).hstack(
            self._scores(self.pool, chosen, these_samples=these_samples)
        )
        return self.beside_accuracy(frame, self.accuracy_on(chosen)).sort(
            pl.col("ability").round(DECIMALS), "learner", descending=[True, False]
        )

    @property
    def pool(self) -> Level:
        """The fitted learners as the index-based methods take them, in the order of `learner_names`."""
        return engine_of(self.diagnoser).pool(self.diagnoser, self.params, self.readout)

    def better(self, one: str, other: str, *, these_samples: bool = False) -> float:
        """Returns the probability that one learner's expected score is above another's.

        Parameters
        ----------
        one, other : str
            Names of two learners.
        these_samples : bool
            On exactly these samples, instead of on samples like these.

        Returns
        -------
        float
            P(one > other).

        Raises
        ------
        DataError
            The diagnoser has no draws. Only auto and bayes have them.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "bayes", draws=100)
        >>> first, last = diagnosis.learners["learner"][0], diagnosis.learners["learner"][-1]
        >>> diagnosis.better(first, last) > 0.5
        True
        """
        a, b = self._indices([one, other], self.learner_names, "learner")
        return chance_better(self._draws(these_samples=these_samples), int(a), int(b))

    def learners_on_these(self) -> pl.DataFrame:
        """Returns the leaderboard for exactly these samples, with narrower intervals.

        It says what these learners would score if they answered the same samples again. Only auto and bayes
        have it.

        Returns
        -------
        polars.DataFrame
            The columns of `learners`.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "bayes", draws=100)
        >>> diagnosis.learners_on_these().columns[:6]
        ['learner', 'rank', 'ability', 'se', 'low', 'high']
        """
        drawn = self._draws(these_samples=True)
        board = self.ranked(self.ability(these_samples=True))
        order = self._indices(board["learner"].to_list(), self.learner_names, "learner")
        found = standing_by_draws(drawn[:, order], self._same_answers()[order])
        return board.hstack(_standing_columns(found))

    def ranked(self, board: pl.DataFrame) -> pl.DataFrame:
        """Puts ranks beside the abilities of a board; equal abilities share a rank.

        Parameters
        ----------
        board : polars.DataFrame
            What `ability` returns.

        Returns
        -------
        polars.DataFrame
            The same rows, with the column rank after the learner.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.ranked(diagnosis.ability())["rank"].to_list()
        [1, 2, 3, 4, 5, 6]
        """
        rank = (-pl.col("ability").round(DECIMALS)).rank("min").cast(pl.UInt32).alias("rank")
        return board.select("learner", rank, pl.exclude("learner"))

    def standing(self) -> pl.DataFrame | None:
        """Returns who may have which rank, and who is tied with the first, where the diagnoser has draws.

        Returns
        -------
        polars.DataFrame or None
            Columns learner, rank_low, rank_high (simultaneous at 95 %), p_best and tied_with_first, best
            first. None where the diagnoser has no draws.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "bayes", draws=100)
        >>> diagnosis.standing().columns
        ['learner', 'rank_low', 'rank_high', 'p_best', 'tied_with_first']
        """
        if self.pool.draws is None:
            return None
        found = self.told_apart()
        return None if found is None else self.learners.select("learner").hstack(_standing_columns(found))

    def told_apart(self) -> Standing | None:
        """Returns who is told apart, possible ranks and ties, in the order of the leaderboard.

        Every table, picture, report and server shows these, for samples like these. Where abilities are
        scores and all learners answered the same samples, the responses decide, as in `camilla.rank`;
        otherwise draws if there are any, or else standard errors.

        Returns
        -------
        Standing or None
            None where the diagnoser has neither draws nor standard errors.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.told_apart().rank_low.tolist()
        [1, 1, 2, 2, 3, 3]
        """
        order = self._board_order()
        if (matrix := self._shared_responses()) is not None:
            group = None
            if self.clusters is not None:
                group = np.unique(np.array(self.clusters), return_inverse=True)[1]
            return decide(matrix[order], self.sample_names, group).on_board()
        if self.pool.draws is not None:
            return standing_by_draws(self._draws()[:, order], self._same_answers()[order])
        return standing_by_errors(*self._board_ability())

    def _shared_responses(self) -> Floats | None:
        """[learners, samples] where abilities are scores and all learners answered all samples; else None."""
        n, m = len(self.learner_names), len(self.sample_names)
        scores = self.readout.unit_scale and self.readout.skill_weight is None
        kept = len(self.cells.learner) == n * m and not self.provenance.get("out_of_core")
        if not scores or not kept or not 2 <= n <= MOST_TESTED:
            return None
        matrix = np.empty((n, m))
        matrix[self.cells.learner, self.cells.sample] = self.cells.response
        return matrix

    def _same_answers(self) -> NDArray[np.intp]:
        """A number for each learner, equal for those with the same response to the same samples."""
        n = len(self.learner_names)
        order = np.lexsort((self.cells.sample, self.cells.learner))
        ends = np.cumsum(np.bincount(self.cells.learner, minlength=n))[:-1]
        pairs = zip(
            np.split(self.cells.sample[order], ends), np.split(self.cells.response[order], ends), strict=True
        )
        first: dict[tuple[bytes, bytes], int] = {}
        return np.array(
            [first.setdefault((one.tobytes(), two.tobytes()), at) for at, (one, two) in enumerate(pairs)]
        )

    def pair_chances(self) -> PairChances:
        """Returns the probability that each learner is above each other learner.

        Returns
        -------
        PairChances
            Matrices in the order of the leaderboard: the probability, and half the 95 % interval of the
            difference.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.pair_chances()._fields
        ('better', 'half')
        """
        if self.pool.draws is not None:
            return chances_by_draws(self._draws()[:, self._board_order()])
        return chances_by_errors(*self._board_ability())

    def _board_order(self) -> NDArray[np.int64]:
        return self._indices(self.learners["learner"].to_list(), self.learner_names, "learner")

    def _board_ability(self) -> tuple[Floats, Floats]:
        """Abilities and their standard errors, NaN where they are not known."""
        ability, se = (
            self.learners[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in ("ability", "se")
        )
        return ability, se

    def simultaneous(self, *, these_samples: bool = False) -> pl.DataFrame:
        """Returns intervals that contain the expected scores of all learners at once with 95 % probability.

        Parameters
        ----------
        these_samples : bool
            On exactly these samples, instead of on samples like these.

        Returns
        -------
        polars.DataFrame
            Columns learner, low and high.

        Raises
        ------
        DataError
            The diagnoser has no draws. Only auto and bayes have them.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "bayes", draws=100)
        >>> diagnosis.simultaneous().columns
        ['learner', 'low', 'high']
        """
        draws = self._draws(these_samples=these_samples)
        half = simultaneous_half_width(draws) * draws.std(axis=0)
        mean = draws.mean(axis=0)
        return pl.DataFrame(
            {
                "learner": self.learner_names,
                "low": np.clip(mean - half, 0, 1),
                "high": np.clip(mean + half, 0, 1),
            }
        )

    def _draws(self, *, these_samples: bool = False) -> Floats:
        """[draws, learners], expected scores on all samples, or on samples like them."""
        samples = np.arange(len(self.sample_names))
        level = self.pool
        if these_samples:
            return self._with_draws(level).on(samples)
        return self._draws_like_these(level, samples)

    def _scores(
        self, level: Level, samples: NDArray[np.integer], *, these_samples: bool = False
    ) -> pl.DataFrame:
        """Columns ability, se, low and high, for samples like these where there are draws.

        Which samples come next favours no learner: the ability is that on these samples, and its interval is
        never narrower.
        """
        these = self.ability_on(level, samples)
        if level.draws is None or these_samples:
            return these
        like = _frame_of(self._draws_like_these(level, samples))
        return these.with_columns(
            se=np.maximum(these["se"], like["se"]),
            low=np.minimum(these["low"], like["low"]),
            high=np.maximum(these["high"], like["high"]),
        )

    def score_draws(self, samples: NDArray[np.integer]) -> Floats:
        """Returns draws of the expected scores on samples like these.

        Parameters
        ----------
        samples : array of int
            Indices into `sample_names`.

        Returns
        -------
        array
            [draws, learners].

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "bayes", draws=100)
        >>> diagnosis.score_draws(np.arange(10)).shape
        (100, 6)
        """
        return self._draws_like_these(self.pool, samples)

    def _with_draws(self, level: Level) -> ScoreDraws:
        if level.draws is None:
            raise DataError(
                f"{self.diagnoser.name} has no draws of scores, which this needs. Diagnose with auto."
            )
        return level.draws

    def _draws_like_these(self, level: Level, samples: NDArray[np.integer]) -> Floats:
        """Each draw with samples, or clusters, that count by random shares: the Bayesian bootstrap.

        Their mean is that of the draws on these samples.
        """
        draws = self._with_draws(level)
        group = np.arange(len(samples))
        if self.clusters is not None:
            group = np.unique(np.array(self.clusters, object)[samples].astype(str), return_inverse=True)[1]
        drawn = draws.on(samples, random_shares(draws.n_draws, group))
        if self.clusters is not None:
            drawn = drawn + self._missed_of(group, samples, drawn.shape)
        return np.clip(drawn - drawn.mean(axis=0) + draws.on(samples).mean(axis=0), 0, 1)

    def _missed_of(
        self, group: NDArray[np.integer], samples: NDArray[np.integer], shape: tuple[int, ...]
    ) -> Floats:
        """Draws of what learners make of other clusters that the diagnoser does not see: [draws, learners].

        A learner's residuals within a cluster go together by so much; a mean over clusters averages them.
        """
        of = np.full(len(self.sample_names), -1)
        of[samples] = group
        cells = self.cells.take(of[self.cells.sample] >= 0)
        left = cells.response - sigmoid(self.logit(cells.learner, cells.sample))
        variance = shared_spread(left, cells.learner, of[cells.sample])
        variance *= float(np.sum((np.bincount(group) / len(group)) ** 2))
        return np.sqrt(variance) * np.random.default_rng(1).standard_normal(shape)

    def ability_on(
        self, level: Level, samples: NDArray[np.integer], *, answers: Cells | None = None
    ) -> pl.DataFrame:
        """Estimates abilities on samples by index, for any learners on the scale of the diagnosis.

        Parameters
        ----------
        level : Level
            The learners, such as `pool`.
        samples : array of int
            Indices into `sample_names`.
        answers : Cells, optional
            Responses of these learners, which some diagnosers use.

        Returns
        -------
        polars.DataFrame
            Columns ability, se, low and high, one row per learner of `level`.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.ability_on(diagnosis.pool, np.arange(5)).columns
        ['ability', 'se', 'low', 'high']
        """
        if level.draws is not None:
            return _frame_of(level.draws.on(samples))
        ability, covariance = level.ability, level.covariance
        if self.readout.skill_weight is None or self.readout.expected:
            value, se = engine_of(self.diagnoser).expected(
                self.diagnoser, self.params, self.readout, ability, covariance, samples, answers
            )
        else:
            weight = self.readout.skill_weight[samples].mean(axis=0)
            value = ability @ weight
            se = np.sqrt(np.maximum(np.einsum("nkl,k,l->n", covariance, weight, weight), 0))
        if self.readout.assisted and level.ability is self.readout.ability:
            value, se = self._assisted(value, se, samples)
        low, high = value - Z * se, value + Z * se
        if self.readout.unit_scale:
            low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
        return pl.DataFrame({"ability": value, "se": se, "low": low, "high": high})

    def require_responses(self) -> None:
        """Raises an error where the responses were too many to be kept in the diagnosis.

        Raises
        ------
        DataError
            The diagnosis was fitted out of core by `diagnose_large`.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.require_responses()
        """
        if self.provenance.get("out_of_core"):
            raise DataError(
                "this diagnosis does not contain its responses, because there were too many, and this "
                "operation needs them. Diagnose a part of the table for it; show, predict and place still "
                "work."
            )

    def accuracy_on(self, samples: NDArray[np.integer]) -> pl.DataFrame:
        """Returns the plain accuracy of every learner on samples by index.

        Parameters
        ----------
        samples : array of int
            Indices into `sample_names`.

        Returns
        -------
        polars.DataFrame
            Columns accuracy, accuracy_se, accuracy_low, accuracy_high and n, in the order of `learner_names`.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.accuracy_on(np.arange(5))["n"].to_list()
        [5, 5, 5, 5, 5, 5]
        """
        self.require_responses()
        inside = np.zeros(len(self.sample_names), bool)
        inside[samples] = True
        return accuracy_columns(self.cells, "learner", len(self.learner_names), inside[self.cells.sample])

    def beside_accuracy(self, frame: pl.DataFrame, accuracy: pl.DataFrame) -> pl.DataFrame:
        """Puts abilities and accuracies side by side.

        An ability that is the plain mean of the same responses takes the interval of that mean.

        Parameters
        ----------
        frame : polars.DataFrame
            What `ability_on` returns.
        accuracy : polars.DataFrame
            What `accuracy_on` returns for the same learners.

        Returns
        -------
        polars.DataFrame
            The columns of both.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> some = np.arange(5)
        >>> ability = diagnosis.ability_on(diagnosis.pool, some)
        >>> diagnosis.beside_accuracy(ability, diagnosis.accuracy_on(some)).width
        9
        """
        joined = frame.hstack(accuracy)
        if not self.readout.counted:
            return joined
        same = (pl.col("ability") - pl.col("accuracy")).abs() < 10**-DECIMALS
        ends = {end: pl.when(same).then(f"accuracy_{end}").otherwise(end) for end in ("low", "high")}
        return joined.with_columns(**ends)

    def place(self, table: TableLike, *, rows: WideRows | None = None) -> pl.DataFrame:
        """Places new learners on the scale of this diagnosis, without refitting it.

        Samples are matched by name.

        Parameters
        ----------
        table : ResponseTable, dataframe or path
            The responses. A dataframe or a path is read as by `camilla.read`.
        rows : {"samples", "learners"}, optional
            What the rows of a wide dataframe or file are. Without it a table is long: one row per response.

        Returns
        -------
        polars.DataFrame
            One row per new learner: the columns of `learners`, and n_unknown, the number of its samples that
            the diagnosis does not know.

        Raises
        ------
        DataError
            A learner has no response to any sample of this diagnosis.

        Examples
        --------
        >>> table = camilla.simulate(7, 40, seed=1).table
        >>> diagnosis = camilla.diagnose(table.take_learners(range(6)), "irt", precision=1.0)
        >>> diagnosis.place(table.take_learners([6])).select("learner", "rank", "n_unknown").rows()
        [('learner-6', 4, 0)]
        """
        table = as_table(table, rows=rows)
        return pl.concat([self._placed(table, index) for index in range(table.n_learners)])

    def place_skills(self, table: TableLike, *, rows: WideRows | None = None) -> pl.DataFrame:
        """Estimates the ability of new learners on each skill, without refitting.

        Parameters
        ----------
        table : ResponseTable, dataframe or path
            The responses. A dataframe or a path is read as by `camilla.read`.
        rows : {"samples", "learners"}, optional
            What the rows of a wide dataframe or file are. Without it a table is long: one row per response.

        Returns
        -------
        polars.DataFrame
            One row per new learner and skill, with the columns of `skills`.

        Examples
        --------
        >>> table = camilla.simulate(7, 40, kind="camilla_base", skills=2, seed=1).table
        >>> settings = {"precision": 1.0, "skill_correlation": 0.5}
        >>> diagnosis = camilla.diagnose(table.take_learners(range(6)), "camilla-base", **settings)
        >>> diagnosis.place_skills(table.take_learners([6])).select("learner", "skill").rows()
        [('learner-6', 'skill-1'), ('learner-6', 'skill-0')]
        """
        table, out = as_table(table, rows=rows), []
        for index, name in enumerate(table.learners):
            level, where = self._level(table, index)
            answers = _known_cells(table, index, where)
            skills = self.skill_samples()
            accuracies = [_accuracy_of(table, index, np.isin(where, samples)) for _, samples in skills]
            spread = self.provenance.get("skill_spread")
            for skill, row in enumerate(skill_frames(self, level, answers, accuracies, spread).frames):
                out.append(pl.DataFrame({"learner": [name], "skill": [self.skill_names[skill]]}).hstack(row))
        return pl.concat(out)

    def skill_samples(self) -> list[tuple[int, NDArray[np.integer]]]:
        """Returns the samples of each skill.

        Returns
        -------
        list of (int, array)
            Index into `skill_names`, and sample indices: those of the skill map, or all samples for a latent
            skill.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> len(diagnosis.skill_samples())
        1
        """
        mask = self.diagnoser.size.skill_mask
        if mask is None:
            return [(k, np.arange(len(self.sample_names))) for k in range(len(self.skill_names))]
        return [(k, np.flatnonzero(mask[:, k])) for k in range(mask.shape[1])]

    def skill_ability(
        self, level: Level, skill: int, samples: NDArray[np.integer], answers: Cells
    ) -> pl.DataFrame:
        """Estimates the ability on one skill, for any learners on the scale of the diagnosis.

        Parameters
        ----------
        level : Level
            The learners, such as `pool`.
        skill : int
            Index into `skill_names`.
        samples : array of int
            The samples of the skill, as in `skill_samples`.
        answers : Cells
            Responses of the learners in `level`.

        Returns
        -------
        polars.DataFrame
            Columns ability, se, low, high and mastery.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> skill, samples = diagnosis.skill_samples()[0]
        >>> diagnosis.skill_ability(diagnosis.pool, skill, samples, diagnosis.cells).columns
        ['ability', 'se', 'low', 'high', 'mastery']
        """
        ability, covariance = level.ability, level.covariance
        latent = self.diagnoser.size.skill_mask is None
        if (self.readout.explicit or latent) and self.readout.skill_weight is not None:
            value, se = ability[:, skill], np.sqrt(covariance[:, skill, skill])
            low, high = value - Z * se, value + Z * se
            if self.readout.unit_scale:
                low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
            if self.readout.credible:
                low, high = np.where(value > LEVEL, 1.0, 0.0), np.where(value < 1 - LEVEL, 0.0, 1.0)
            frame = pl.DataFrame({"ability": value, "se": se, "low": low, "high": high})
        elif level.draws is not None:
            frame = self._scores(level, samples)
        else:
            inside = np.zeros(len(self.sample_names), bool)
            inside[samples] = True
            frame = self.ability_on(level, samples, answers=answers.take(inside[answers.sample]))
        mastery = pl.col("ability") if self.readout.unit_scale else 1 / (1 + (-pl.col("ability")).exp())
        return frame.with_columns(mastery=mastery)

    def skill_mask(self) -> pl.DataFrame:
        """Returns how much each sample needs of each skill.

        Returns
        -------
        polars.DataFrame
            A column sample and one column per skill; each row sums to 1.

        Raises
        ------
        DataError
            The diagnoser does not estimate it.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> diagnosis.skill_mask().columns
        ['sample', 'overall']
        """
        if self.readout.skill_weight is None:
            name = self.diagnoser.name
            whose = f"auto takes abilities from {name}, which" if self.provenance["combined"] else name
            raise DataError(
                f"{whose} does not estimate how much each sample depends on each skill, so there is no "
                "skill mask. Diagnose with camilla, which does."
            )
        return pl.DataFrame({"sample": self.sample_names}).hstack(
            pl.DataFrame(self.readout.skill_weight, schema=list(self.coordinates))
        )

    def parts(
        self,
        *,
        learners: int = 20,
        samples: int = 10,
        learner: str | None = None,
        these_samples: bool = False,
    ) -> list[Part]:
        """Returns the sentences and tables that `text` prints.

        Parameters
        ----------
        learners, samples : int
            Number of learners and of hardest samples to list.
        learner : str, optional
            Show the skills of this learner instead of the leaderboard.
        these_samples : bool
            Whether abilities are on exactly these samples, as in `ability`.

        Returns
        -------
        list of str and Grid
            The answer first.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> len(diagnosis.parts(learners=3)) > 1
        True
        """
        if learner is None:
            frame, made = self.learners, self.provenance
            if these_samples:
                made = made | {
                    "estimand": estimand_of(self.readout, len(self.sample_names), these_samples=True)
                }
                frame = self.learners_on_these()
            return board_parts(frame, self.samples, made, n_learners=learners, n_samples=samples)
        self._indices([learner], self.learner_names, "learner")
        return learner_parts(self.skills, learner, self.provenance)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the columns of `readout.ability`."""
        if self.readout.explicit:
            return self.skill_names
        n_dims, named = self.readout.ability.shape[1], self.skill_names[: self.readout.n_mapped]
        if n_dims == 1:
            return ("overall",)
        return (*named, *(f"latent {k + 1}" for k in range(n_dims - len(named))))

    def save(self, path: str | Path) -> Path:
        """Writes the diagnosis to a directory, completely or not at all.

        The directory has diagnosis.json, arrays.safetensors, Parquet tables, and content where there is some.
        Nothing is pickled.

        Parameters
        ----------
        path : str or path
            The directory.

        Returns
        -------
        pathlib.Path
            The directory.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> camilla.Diagnosis.load(diagnosis.save("saved")).learners.equals(diagnosis.learners)
        True
        """
        return write_directory(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a saved diagnosis back, bit for bit.

        Parameters
        ----------
        path : str or path
            The directory that `save` wrote.

        Returns
        -------
        Diagnosis
            The same diagnosis.

        Raises
        ------
        FormatError
            A file is damaged, or the diagnosis is from a newer version.

        Examples
        --------
        >>> diagnosis = camilla.diagnose(camilla.simulate(6, 40, seed=1).table, "irt", precision=1.0)
        >>> camilla.Diagnosis.load(diagnosis.save("saved")).provenance["diagnoser"]
        'irt'
        """
        return cls(**read_directory(Path(path)))

    def _indices(self, wanted: Sequence[str] | None, names: tuple[str, ...], kind: str) -> NDArray[np.int64]:
        if wanted is None:
            return np.arange(len(names))
        position = name_index(names)
        if unknown := [name for name in wanted if name not in position]:
            raise DataError(f"no {kind} {unknown[0]!r} in this diagnosis. {nearest(unknown[0], names)}")
        return np.array([position[name] for name in wanted], np.int64)

    def _assisted(self, value: Floats, se: Floats, samples: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """Σⱼ p̂ⱼ/n + Σ (x − p̂)/m over the m of these samples that a learner answered, variance Σ p̂(1 − p̂)/m².

        A learner that answered none keeps what the fit expects of it.
        """
        inside = np.zeros(len(self.sample_names), bool)
        inside[samples] = True
        cells = self.cells.take(np.flatnonzero(inside[self.cells.sample]))
        raw = engine_of(self.diagnoser).logit(self.diagnoser, self.params, cells.learner, cells.sample)
        p, n = sigmoid(raw), len(self.learner_names)
        count = np.bincount(cells.learner, minlength=n)
        left = np.bincount(cells.learner, cells.response - p, n)
        noise = (cells.response - p) ** 2 if self.provenance["fractional"] else p * (1 - p) / cells.weight
        seen = np.maximum(count, 1)
        value = np.where(count > 0, value + left / seen, value)
        return value, np.where(count > 0, np.sqrt(np.bincount(cells.learner, noise, n)) / seen, se)

    def _level(self, table: ResponseTable, index: int) -> tuple[Level, NDArray[np.int64]]:
        """Where the learner stands, and which of our samples each of its cells is of, −1 for none."""
        position = name_index(self.sample_names)
        cells = table.cells()
        mine = cells.learner == index
        where = np.array([position.get(table.samples[j], -1) for j in cells.sample[mine]], np.int64)
        known = where >= 0
        if not known.any():
            raise DataError(
                f"learner {table.learners[index]!r} has no response to any of the {len(self.sample_names)} "
                "samples of this diagnosis. Samples are matched by name: check their spelling."
            )
        weight, right = np.zeros(len(self.sample_names)), np.zeros(len(self.sample_names))
        weight[where[known]] = cells.weight[mine][known]
        right[where[known]] = (cells.weight * cells.response)[mine][known]
        engine = engine_of(self.diagnoser)
        placement = engine.place(self.diagnoser, self.params, weight, right, self.readout.sample_weight)
        level = engine.level(self.diagnoser, self.params, placement)
        scaled = level.covariance * self.readout.dispersion
        return Level(level.ability[None], scaled[None], level.draws), where

    def _placed(self, table: ResponseTable, index: int) -> pl.DataFrame:
        level, where = self._level(table, index)
        everywhere = np.arange(len(self.sample_names))
        frame = self._scores(level, everywhere)
        name = table.learners[index]
        return (
            pl.DataFrame({"learner": [name], "rank": [self._rank(name, frame["ability"][0])]})
            .hstack(self.beside_accuracy(frame, _accuracy_of(table, index, where >= 0)))
            .with_columns(n_unknown=pl.lit(int((where < 0).sum())))
        )

    def _rank(self, name: str, ability: float) -> int:
        """The rank on the board if it had this learner, instead of the one of its name if there is one."""
        others = self.learners.filter(pl.col("learner") != name)
        return 1 + int((others["ability"].round(DECIMALS) > round(ability, DECIMALS)).sum())


def _standing_columns(found: Standing) -> pl.DataFrame:
    tied = np.zeros(len(found.rank_low), bool)
    tied[list(found.with_first)] = True
    return pl.DataFrame(
        {"rank_low": found.rank_low, "rank_high": found.rank_high, "p_best": found.p_best,
         "tied_with_first": tied}
    )  # fmt: skip


def _frame_of(draws: Floats) -> pl.DataFrame:
    found = estimates(draws)
    return pl.DataFrame({"ability": found.value, "se": found.se, "low": found.low, "high": found.high})


def _accuracy_of(table: ResponseTable, index: int, inside: NDArray[np.bool_]) -> pl.DataFrame:
    """The accuracy of one learner on those of its cells that are `inside`."""
    cells = table.cells()
    rows = np.flatnonzero(cells.learner == index)[inside]
    return accuracy_columns(cells._replace(learner=np.zeros_like(cells.learner)), "learner", 1, rows)


def _known_cells(table: ResponseTable, index: int, where: NDArray[np.integer]) -> Cells:
    """One learner's answers to samples that are known, as those of learner 0; `where` these are, or −1."""
    cells = table.cells()
    own = cells.take(cells.learner == index)
    return own._replace(learner=np.zeros_like(own.learner), sample=where.astype(np.int32)).take(where >= 0)


def accuracy_columns(
    cells: Cells, by: Literal["learner", "sample"], n_groups: int, rows: NDArray[Any] | None = None
) -> pl.DataFrame:
    """accuracy, its standard error and 95 % interval, n cells; the interval is what rank has of learners."""
    cells = cells if rows is None else cells.take(rows)
    group = getattr(cells, by)
    mean, se, _ = means(group, cells, n_groups)
    n = np.bincount(group, minlength=n_groups).astype(np.float64)
    scored = ~zero_or_one(cells.response) | (cells.weight != 1)
    exact = np.bincount(group[scored], minlength=n_groups) == 0
    return accuracy_frame(mean, se, n, exact)


def accuracy_frame(mean: Floats, se: Floats, n: Floats, exact: NDArray[np.bool_]) -> pl.DataFrame:
    """accuracy and what goes with it; `exact` where every response is right or wrong and counts once."""
    ends = mean_ends(mean, se**2, n, n - 1, exact, LEVEL)
    columns = {"accuracy": mean, "accuracy_se": se, "accuracy_low": ends.low, "accuracy_high": ends.high,
               "n": n.astype(np.int64)}  # fmt: skip
    return pl.DataFrame(columns).with_columns(pl.exclude("n").fill_nan(None))
