"""Learners by mean response: who is really ahead of whom, and which ranks are possible."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch
from camilla.display import (
    Grid,
    Part,
    Printable,
    brief,
    counted,
    intervals,
    listed,
    percent,
    sets_in_words,
)
from camilla.errors import DataError, SettingError
from camilla.learners.standing import Decision, decide, decision_of
from camilla.provenance import made_of, made_of_shards
from camilla.reading.inputs import TableLike, as_table
from camilla.reading.verdict_files import without_samples
from camilla.statistics.all_pairs import PairTests, PairTotals
from camilla.statistics.clusters import FEW, MeanSpread, learner_spread, plain_spread
from camilla.statistics.intervals import Ends, mean_ends
from camilla.statistics.missingness import (
    Overlap,
    block_notes,
    overlap_of,
    overlap_of_pairs,
    shared_block_notes,
)
from camilla.statistics.standing import Standing, best_by_responses
from camilla.statistics.step_down import FEWEST_UNITS, MOST_TESTED, GapFlips, PairFlips, flips_of, levelled
from camilla.statistics.strata import ANSWERS, macro_rows
from camilla.table.cells import zero_or_one
from camilla.table.content import KeptContent, Look, excerpts, shown_samples
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable
from camilla.table.shards import ShardFolder

DIGITS = 12  # of a mean; what differs beyond is rounding
PAIRED_CELLS, PAIRED_SAMPLES = 4_000_000, 512  # of a shard that are held while products of pairs are taken
MOST_LOOKS = 100  # samples that can be shown
FEW_COPIES = 5  # sets of equal learners that are named
ENDS = 2  # leaders shown of those that did best on a sample, and of those that did worst


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Printable):
    """Learners in order of their means, best first; every array follows that order.

    Learners are compared for samples like these. With probability `level` no pair is told apart wrongly, so
    that all possible ranks hold together (step-down max-t over all pairs).

    Attributes
    ----------
    learners : tuple of str
        Names of the learners, best first.
    level : float
        Coverage of the intervals.
    rows : DataFrame
        One row per learner: rank (shared by equal means), mean with its interval, possible ranks, the
        probability of being the best where all answered the same samples, number of responses.
    tests : PairTests
        Differences and p-values of all pairs.
    told_apart : array
        Whether two learners differ significantly, learners × learners.
    ties : tuple
        Sets of learners of which no two are told apart, as their places in `learners`. Any two learners that
        are not told apart are in one of them.
    adjusted_p : array
        p-values of all pairs, adjusted over all pairs, learners × learners.
    method : str
        How they are adjusted: by step-down max-t, or by Holm where samples are too few to flip their signs.
    notes : tuple of str
        Sentences that a reader must know before using the result.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.
    n_tasks : int
        Number of tasks.
    looks : tuple
        Samples that tell the leaders apart, the most telling first.
    content : KeptContent or None
        Prompts, references and answers, where the table has them.

    Examples
    --------
    >>> ranking = camilla.rank(camilla.digits())
    >>> ranking.rows.select("learner", "rank_low", "rank_high").row(0)
    ('knn 1', 1, 9)
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"learners": 15}

    learners: tuple[str, ...]
    level: float
    rows: pl.DataFrame  # rank, learner, mean, se, low, high, rank_low, rank_high, p_best, n; macro_mean, …
    tests: PairTests
    told_apart: NDArray[np.bool_]  # [learners, learners]
    ties: tuple[tuple[int, ...], ...]
    adjusted_p: Floats  # [learners, learners]
    method: str  # how p-values are adjusted
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]
    n_tasks: int = 1
    looks: tuple[Look, ...] = ()  # samples that tell the leaders apart, the most telling first
    content: KeptContent | None = None

    def pairs(self) -> pl.DataFrame:
        """Returns every pair of learners, the one that ranks higher first.

        Returns
        -------
        DataFrame
            Difference b − a as in `compare`, its p-value, and the p-value adjusted over all pairs.

        Examples
        --------
        >>> ranking = camilla.rank(camilla.digits())
        >>> ranking.pairs().height
        861
        """
        i, j = np.triu_indices(len(self.learners), 1)
        names = np.array(self.learners, object)
        p = self.tests.p_value
        return pl.DataFrame(
            {
                "a": names[i].tolist(),
                "b": names[j].tolist(),
                "shared": self.tests.shared()[i, j].astype(np.int64),
                "difference": self.tests.difference[j, i],
                "p_value": p[i, j],
                "adjusted_p": self.adjusted_p[i, j],
                "told_apart": self.told_apart[i, j],
            }
        )

    @property
    def verdict(self) -> str:
        """ "one leader" if the first learner is told apart from all others, else "tied leaders"."""
        return "tied leaders" if len(self.may_be_first()) > 1 else "one leader"

    def may_be_first(self) -> list[str]:
        """Returns the learners whose possible ranks begin at 1.

        Returns
        -------
        list of str
            Their names.

        Examples
        --------
        >>> ranking = camilla.rank(camilla.digits())
        >>> ranking.may_be_first()[:2]
        ['knn 1', 'svm poly']
        """
        return self.rows.filter(pl.col("rank_low") == 1)["learner"].to_list()

    def parts(self, *, learners: int = 20, show: int = 0) -> list[Part]:
        """Returns what `text` prints: who leads, the first learners, the tied groups, the notes.

        `show` samples that tell the leaders apart are shown with what they ask and what leaders answered.

        Parameters
        ----------
        learners : int
            How many learners to list.
        show : int
            How many samples that tell the leaders apart to show with their content.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> ranking = camilla.rank(camilla.digits())
        >>> len(ranking.parts(learners=3)) > 1
        True
        """
        interval = f"{percent(self.level)} CI"
        rows = self.rows.head(learners)
        frame = rows.select("rank", "learner", "mean").with_columns(
            pl.Series(interval, intervals(rows, "low", "high"), pl.String),
            rows.select(ranks=pl.format("{}–{}", "rank_low", "rank_high"))["ranks"],
            rows["n"],
        )
        if macro := self.n_tasks > 1:
            ends = intervals(rows, "macro_low", "macro_high")
            frame = frame.with_columns(rows["macro_mean"], pl.Series("CI of macro_mean", ends, pl.String))
        made = self.provenance
        clusters = f" in {made['n_clusters']} clusters" if made["n_clusters"] is not None else ""
        title = (
            f"Learners by mean response on {counted(made['n_samples'], 'sample')}{clusters}, with {interval} "
            "and possible ranks (simultaneous), for samples like these"
        )
        if macro:
            title += (
                f"\nmean is the micro average: each sample counts once; macro_mean is the mean over "
                f"{self.n_tasks} tasks of task means"
            )
        tied = sets_in_words([[place + 1 for place in tie] for tie in self.ties])
        return [
            self._answer(),
            Grid(title, frame, fixed=(interval, "ranks", "CI of macro_mean"), spare=("n",)),
            f"Not told apart (paired tests, {self.method}), by place: {tied}.",
            *(f"note: {note}" for note in self.notes),
            *self._excerpts(show),
        ]

    def _excerpts(self, show: int) -> list[Part]:
        if not show:
            return []
        if self.content is not None and not self.looks:
            return ["note: the leaders have the same response on every sample: there is nothing to show."]
        return excerpts(self.content, self.looks[:show])

    def _answer(self) -> str:
        first, others = brief(self.learners[0]), len(self.learners) - 1
        contenders = [name for name in self.may_be_first() if name != self.learners[0]]
        if not contenders:
            rest = f"the other {others} learners" if others > 1 else brief(self.learners[1])
            return f"{first} is first: it is significantly ahead of {rest}."
        means = self.rows["mean"]
        leaders = [name for name, mean in zip(self.learners, means, strict=True) if mean == means[0]]
        if len(leaders) > 1:
            behind = [name for name in contenders if name not in leaders]
            may = f" {listed(behind)} may be first too." if behind else ""
            return f"{len(leaders)} of {others + 1} learners share the highest mean: {listed(leaders)}.{may}"
        also = f"{len(contenders)} others may be first: " if len(contenders) > 1 else ""
        may = "" if also else " may be first"
        return f"{first} has the highest mean of {others + 1} learners, but {also}{listed(contenders)}{may}."

    def to_document(self, *, pairs: bool = False, show: int = 0) -> dict[str, Any]:
        """Returns everything as plain data.

        Parameters
        ----------
        pairs : bool
            Include every pair of learners.
        show : int
            How many samples that tell the leaders apart to show with their content.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> ranking = camilla.rank(camilla.digits())
        >>> ranking.to_document()["verdict"]
        'tied leaders'
        """
        document: dict[str, Any] = {
            "verdict": self.verdict,
            "answer": self._answer(),
            "level": self.level,
            "n_tasks": self.n_tasks,
            "learners": self.rows.to_dicts(),
            "ties": [[self.learners[place] for place in tie] for tie in self.ties],
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }
        shown = {"shown": shown_samples(self.content, self.looks[:show])} if show else {}
        return document | ({"pairs": self.pairs().to_dicts()} if pairs else {}) | shown


def rank(
    table: TableLike, *, rows: WideRows | None = None, without: Any = None, level: float = 0.95,
    across_blocks: bool = False, watch: Watch = lambda line: None,
) -> Ranking:  # fmt: skip
    """Ranks learners by mean response, with confidence intervals, possible ranks and ties.

    Every pair is tested on the samples both answered, adjusted over all pairs (step-down max-t). Each sample
    counts once, whatever its number of trials. Equal means share a rank, and are listed by name.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    without : mapping, dataframe or path, optional
        Samples to leave out: a table with the column sample. Where it has a column error, as for
        `camilla.items`, the samples with 1 are left out.
    level : float
        Confidence level. Possible ranks and ties hold at this level simultaneously.
    across_blocks : bool
        A table that falls into blocks without a shared learner or sample is refused. With True the learners
        of all blocks are listed together.
    watch : callable, optional
        Receives each progress line as text.

    Returns
    -------
    Ranking
        `rows`, `ties`, `pairs()`, `told_apart`, `notes`, `provenance`.

    Raises
    ------
    DataError
        The table cannot be read, or falls into blocks.

    Examples
    --------
    >>> board = camilla.rank(camilla.digits())
    >>> board.rows.select("rank", "learner", "rank_low", "rank_high").head(2).rows()
    [(1, 'knn 1', 1, 9), (1, 'svm poly', 1, 8)]
    """
    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1; got {level:g}.")
    if isinstance(table, ShardFolder):
        if without is not None:
            raise SettingError(
                "without needs the responses in memory; files larger than memory keep all samples."
            )
        return _ranked_shards(table, level, across_blocks=across_blocks, watch=watch)
    table, left_out = as_table(table, rows=rows), ""
    if without is not None:
        table, left_out = without_samples(table, without)
    apart = block_notes(table, across_blocks=across_blocks)
    matrix = table.matrix()
    answered = np.flatnonzero((~np.isnan(matrix)).any(axis=1))
    _check_enough(answered)
    group = None if table.cluster is None else np.unique(np.array(table.cluster), return_inverse=True)[1]
    means = np.nanmean(matrix[answered], axis=1).round(DIGITS)
    order = _best_first(answered, means, table.learners)
    matrix = matrix[order]
    spread = learner_spread(matrix, group)
    decided = decide(matrix, table.samples, group, level, watch)
    learners = tuple(table.learners[i] for i in order)
    binary = _is_binary(matrix)
    ranking = _ranking(
        learners, level, decided, spread, _ends(spread, binary, level, clustered=group is not None),
        (*filter(None, [left_out]), *apart, *_notes(table, matrix), *_flat_notes(learners, binary, spread),
         *_same_notes(learners, decided)),
        made_of(table, level=level, across_blocks=across_blocks),
    )  # fmt: skip
    n_tasks = 1 if table.task is None else len(set(table.task))
    if table.task is not None and n_tasks > 1:
        standings = ranking.rows.with_columns(*_macro(matrix, table.task, group, level))
        notes = (*ranking.notes, *_macro_notes(standings))
        ranking = replace(ranking, rows=standings, notes=notes, n_tasks=n_tasks)
    if table.content is None:
        return ranking
    leaders = max(int((ranking.rows["rank_low"] == 1).sum()), 2)
    return replace(ranking, looks=_looks(matrix, learners, table.samples, leaders), content=table.content)


def _check_enough(answered: NDArray[np.intp]) -> None:
    if len(answered) < 2:
        raise DataError(
            f"got {counted(len(answered), 'learner')} with responses; ranking needs at least two."
        )


def _best_first(answered: NDArray[np.intp], means: Floats, names: Sequence[str]) -> NDArray[np.intp]:
    """Learners by their means, equal ones by name."""
    return answered[sorted(range(len(answered)), key=lambda i: (-means[i], names[int(answered[i])]))]


def _ranking(
    learners: tuple[str, ...], level: float, decided: Decision, spread: MeanSpread, ends: Ends,
    notes: tuple[str, ...], provenance: Mapping[str, Any],
) -> Ranking:  # fmt: skip
    standings = _rows(learners, spread, ends, decided.standing)
    return Ranking(
        learners, level, standings, decided.tests, decided.adjusted < 1 - level,
        tuple(decided.standing.ties), decided.adjusted, decided.method, notes, provenance,
    )  # fmt: skip


def _ranked_shards(folder: ShardFolder, level: float, *, across_blocks: bool, watch: Watch) -> Ranking:
    """The ranking of responses that stay in their files: two passes, sums of learners and then of pairs."""
    from camilla.fitting.shards import matrices, totals  # here: SciPy takes a fifth of a second to load

    watch("counting responses")
    counts = [totals(shard)[1] for shard in folder.shards]
    n, right = (np.sum(parts, axis=0) for parts in zip(*counts, strict=True))
    answered = np.flatnonzero(n > 0)
    _check_enough(answered)
    order = _best_first(answered, (right[answered] / n[answered]).round(DIGITS), folder.learners)
    n, mean, learners = n[order], right[order] / n[order], tuple(folder.learners[i] for i in order)
    pairs = PairTotals(len(order), len(folder.samples), fractional=folder.fractional)
    flipped = _flips(len(order), n, folder)
    start = 0
    square, binary, first = np.zeros(len(order)), np.ones(len(order), bool), []
    for k, shard in enumerate(folder.shards):
        watch(f"pairs of learners, shard {k + 1} of {len(folder.shards)}")
        for every, answers in matrices(shard, min(PAIRED_CELLS, PAIRED_SAMPLES * len(folder.learners))):
            response, seen = every[order], answers[order]
            pairs.add(response, seen)
            names = folder.samples[start : start + response.shape[1]]
            start += response.shape[1]
            values = levelled(response, seen) if folder.fractional else response
            if isinstance(flipped, PairFlips):
                flipped.add(values, flips_of(names))
            elif flipped is not None:
                flipped.add(values, seen, flips_of(names))
            square += np.sum(np.where(seen, response - mean[:, None], 0) ** 2, axis=1)
            binary &= ((response == 0) | (response == 1)).all(axis=1)
            first.append(np.where(seen.any(axis=0), seen.argmax(axis=0), -1))
    tests, spread = pairs.tests(watch), plain_spread(mean, square, n)
    joined, member = tests.shared() > 0, np.concatenate(first)
    apart = shared_block_notes(joined, member, learners, across_blocks=across_blocks)
    gone, flat = _gone_notes(len(folder.learners) - len(order)), _flat_notes(learners, binary, spread)
    notes = _overlap_notes(n, len(folder.samples), lambda: overlap_of_pairs(tests.shared()))
    adjusted = None if flipped is None else flipped.adjusted(tests.p_value)
    shared = flipped if isinstance(flipped, PairFlips) else None
    p_best = None if shared is None else best_by_responses(shared, shared.units)
    decided = decision_of(tests, level, shared, adjusted, p_best)
    return _ranking(
        learners, level, decided, spread, _ends(spread, binary, level, clustered=False),
        (*apart, *gone, *notes, *flat, *_same_notes(learners, decided)),
        made_of_shards(folder, level=level, across_blocks=across_blocks),
    )  # fmt: skip


def _flips(n_learners: int, n: NDArray[np.floating], folder: ShardFolder) -> PairFlips | GapFlips | None:
    """What holds the flips of learners with n samples each; None where Holm's adjustment is used."""
    n_samples = len(folder.samples)
    if n_samples < FEWEST_UNITS or n_learners > MOST_TESTED:
        return None
    if n.min() == n_samples:
        return PairFlips(n_learners, fractional=folder.fractional)
    possible = GapFlips.is_possible(n_learners, n_samples)
    return GapFlips(n_learners, fractional=folder.fractional) if possible else None


def _looks(matrix: Floats, learners: Sequence[str], samples: Sequence[str], leaders: int) -> tuple[Look, ...]:
    """Samples on which the leaders differ most, `matrix` [learners, samples] being in the order of ranks.

    Leaders are the learners that may be first, two at least. Samples go by the variance of the leaders'
    responses, then by how they correlate with the mean response over all learners, then by name.
    """
    top = matrix[:leaders]
    seen = ~np.isnan(top)
    with np.errstate(invalid="ignore"):
        mean = np.where(seen, top, 0).sum(axis=0) / seen.sum(axis=0)
        variance = np.where(seen, (top - mean) ** 2, 0).sum(axis=0) / seen.sum(axis=0)
    differing = np.flatnonzero((seen.sum(axis=0) >= 2) & (variance > 0))
    strength = np.nanmean(matrix, axis=1)
    telling = [_correlation(matrix[:, j], strength) for j in differing]
    names = [samples[j] for j in differing.tolist()]
    order = sorted(
        range(len(differing)),
        key=lambda at: (-round(variance[differing[at]], 9), -round(telling[at], 9), names[at]),
    )[:MOST_LOOKS]
    return tuple(_look(samples[int(j)], top[:, j], learners) for j in differing[order])


def _correlation(responses: Floats, strength: Floats) -> float:
    known = ~np.isnan(responses)
    x, y = responses[known] - responses[known].mean(), strength[known] - strength[known].mean()
    size = float(np.sqrt(np.sum(x**2) * np.sum(y**2)))
    return float(np.sum(x * y)) / size if size > 0 else 0.0


def _look(sample: str, responses: Floats, learners: Sequence[str]) -> Look:
    """The best and the worst of the leaders on a sample, the higher rank first among equals."""
    known = np.flatnonzero(~np.isnan(responses))
    order = known[np.argsort(-responses[known], kind="stable")]
    some = order if len(order) <= 2 * ENDS else np.concatenate([order[:ENDS], order[-ENDS:]])
    return Look(sample, "tells the leaders apart", tuple((learners[i], float(responses[i])) for i in some))


def learner_ends(matrix: Floats, spread: MeanSpread, group: NDArray[np.integer] | None, level: float) -> Ends:
    """Wilson's interval of each row; for rows with scores, and clusters, with Student's t over units."""
    return _ends(spread, _is_binary(matrix), level, clustered=group is not None)


def _ends(spread: MeanSpread, binary: NDArray[np.bool_], level: float, *, clustered: bool) -> Ends:
    exact = np.asarray(binary & (not clustered))
    return mean_ends(spread.mean, spread.variance, spread.units, spread.df, exact, level, binary)


def _is_binary(matrix: Floats) -> NDArray[np.bool_]:
    """Of each row whether its responses are right or wrong."""
    return np.asarray((zero_or_one(matrix) | np.isnan(matrix)).all(axis=1))


def _macro(
    matrix: Floats, task: Sequence[str], group: NDArray[np.integer] | None, level: float
) -> list[pl.Series]:
    """The mean over tasks of each learner's task means; null where it has not answered a task."""
    binary = _is_binary(matrix)
    more = np.where(binary & (group is None), ANSWERS, 0.0)
    spread = macro_rows(matrix, np.unique(np.array(task), return_inverse=True)[1], group, more)
    edge = (spread.mean <= 0) | (spread.mean >= 1)  # all wrong, all right: as many samples as tasks are worth
    variance = np.where(edge, 0.0, spread.variance)
    ends = mean_ends(spread.mean, variance, spread.n, spread.df, np.zeros(len(matrix), bool), level, binary)
    values = {
        "macro_mean": spread.mean, "macro_se": np.sqrt(spread.variance), "macro_low": ends.low,
        "macro_high": ends.high,
    }  # fmt: skip
    return [pl.Series(name, column, nan_to_null=True) for name, column in values.items()]


def _rows(learners: tuple[str, ...], spread: MeanSpread, ends: Ends, standing: Standing) -> pl.DataFrame:
    mean = spread.mean.round(DIGITS)
    return pl.DataFrame(
        {
            "rank": 1 + np.searchsorted(-mean, -mean),
            "learner": learners,
            "mean": spread.mean,
            "se": np.sqrt(spread.variance),
            "low": ends.low,
            "high": ends.high,
            "rank_low": standing.rank_low,
            "rank_high": standing.rank_high,
            "p_best": pl.Series(standing.p_best, dtype=pl.Float64)
            if standing.p_best is not None
            else pl.Series([None] * len(learners), dtype=pl.Float64),
            "n": spread.n.astype(np.int64),
        }
    ).with_columns(pl.col("se", "low", "high").fill_nan(None))


def _flat_notes(learners: tuple[str, ...], binary: NDArray[np.bool_], spread: MeanSpread) -> list[str]:
    """Whose mean has no interval, because equal fractions say nothing of how others would differ."""
    flat = np.flatnonzero(spread.is_flat & ~binary)
    if len(flat) == 0:
        return []
    names = listed([learners[i] for i in flat])
    scores = "score the same" if len(flat) > 1 else f"scores {spread.mean[flat[0]]:.3g}"
    return [
        f"{names} {scores} on every sample: responses that are not 0 or 1 and do not differ show no spread, "
        "so no interval is given."
    ]


def _same_notes(learners: tuple[str, ...], decided: Decision) -> list[str]:
    """Learners with the same response everywhere, the first few pairs of them."""
    return [
        f"{listed([learners[place] for place in copies])} have the same response on every sample: they count "
        "as one learner in the probability of being the best."
        for copies in decided.same[:FEW_COPIES]
    ]


def _macro_notes(standings: pl.DataFrame) -> list[str]:
    """Whether another learner leads by the macro average, and for whom there is none."""
    if "macro_mean" not in standings.columns:
        return []
    notes = []
    macro = standings["macro_mean"].to_list()
    if missing := macro.count(None):
        notes.append(f"{counted(missing, 'learner')} did not answer every task and has no macro average.")
    known = [value for value in macro if value is not None]
    if macro[0] is not None and max(known) > macro[0] + 10**-DIGITS:
        best = brief(standings["learner"][macro.index(max(known))])
        notes.append(f"{best} has the highest macro average; ranks go by the micro average.")
    return notes


def _notes(table: ResponseTable, matrix: Floats) -> list[str]:
    seen = ~np.isnan(matrix)
    notes = _gone_notes(table.n_learners - len(matrix))
    notes += _overlap_notes(seen.sum(axis=1), matrix.shape[1], lambda: overlap_of(seen))
    if table.cluster is not None and (clusters := len(set(table.cluster))) < FEW:
        notes.append(
            f"only {clusters} clusters: intervals are wide and few pairs are told apart, because little is "
            "known of how clusters differ."
        )
    return notes


def _gone_notes(gone: int) -> list[str]:
    return (
        [f"{counted(gone, 'learner', 'has no responses and is', 'have no responses and are')} left out."]
        if gone
        else []
    )


def _overlap_notes(n: NDArray[np.number], n_samples: int, overlap_of_all: Callable[[], Overlap]) -> list[str]:
    """What to know where learners answered different samples, n of n_samples each."""
    if n.min() == n_samples:
        return []
    overlap = overlap_of_all()
    notes = [
        f"learners answered different samples, {n.min():.0f} to {n.max():.0f} of {n_samples} each: means "
        "are of different samples. Pairs are told apart on the samples both answered, "
        f"{overlap.fewest} at least."
    ]
    if overlap.none:
        notes.append(f"{overlap.none} pairs share no sample and cannot be told apart.")
    return notes
