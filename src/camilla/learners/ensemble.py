"""Which learners answer better together: a committee chosen on some samples and judged on others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

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
    signed,
    watching,
)
from camilla.errors import CamillaError, DataError, SettingError
from camilla.learners.check import copy_notes
from camilla.learners.committee import IN_WORDS, Committee
from camilla.learners.rank import learner_ends
from camilla.learners.votes import (
    VOTES,
    Chosen,
    Crossfit,
    Pool,
    candidates,
    choose,
    crossfit,
    dealt,
    err_together,
    pool_of,
)
from camilla.provenance import made_of
from camilla.ranking.epp import epp
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.clusters import learner_spread
from camilla.statistics.intervals import correlation_ends
from camilla.statistics.multiplicity import holm
from camilla.statistics.paired import PairedResponses, SplitEffect, over_splits
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable
from camilla.table.tournament import Tournament

SIZES = (3, 5, 9)
FEWEST_UNITS = 20  # samples or clusters; with fewer, what is held out says nothing
ROUNDS = 20  # parts of the samples that EPP has as rounds
DECIMALS = 12  # of a mean; what differs beyond is rounding
PRINTED_PAIRS = 6
COMPARED = ("difference", "difference_low", "difference_high", "p_value", "won", "lost")
OVER_ALL = ("over_all", "over_all_low", "over_all_high", "over_all_p")  # from all learners voting
BEST_SINGLE, CHOSEN = "best single learner", "chosen committee"


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble(Printable):
    """Whether a committee is better than the best single learner, and which.

    Accuracies and differences are on samples that had no part in the choice they judge. `committee` is what
    to use: `chosen` where it is significantly better than the best single learner, else that learner alone.

    Attributes
    ----------
    committee : Committee
        The committee to use.
    chosen : Committee
        The best committee, better than one learner or not.
    single : str
        The best single learner on all samples.
    better : bool
        Whether a committee is significantly better than the best single learner.
    exact : bool
        False where answers are not known: accuracies of committees are then lower bounds.
    level : float
        Coverage of the intervals.
    ways : DataFrame
        One row per way to answer: its accuracy and how far it is above the best single learner.
    test : str
        Name of the test.
    members : DataFrame
        One row per member: weight, accuracy, and how often it is chosen.
    pairs : DataFrame
        One row per pair of members: how often they err together.
    epp : DataFrame
        EPP of each way; empty where players cannot be ranked.
    notes : tuple of str
        Sentences that a reader must know before using the result.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.

    Examples
    --------
    >>> ensemble = camilla.ensemble(camilla.digits(), sizes=(3,))
    >>> ensemble.ways["way"].to_list()[:2]
    ['best single learner', 'chosen committee']
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"pairs": 3}

    committee: Committee
    chosen: Committee  # the best committee, whether it is better than one learner or not
    single: str  # the best single learner on all samples
    better: bool
    exact: bool  # False: answers are not known, and accuracies of committees are lower bounds
    level: float
    ways: pl.DataFrame  # way, size, accuracy, low, high, difference, difference_low, difference_high, …
    test: str
    members: pl.DataFrame  # learner, weight, accuracy, stability
    pairs: pl.DataFrame  # of members: a, b, n, correlation, low, high, both_wrong, by_chance, same, …
    epp: pl.DataFrame  # player, epp, se, low, high; empty where players cannot be ranked
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def answer(self) -> str:
        """The verdict, its evidence, and its caveat."""
        return _answer(self)

    def parts(self, *, pairs: int = PRINTED_PAIRS) -> list[Part]:
        """Returns what `text` prints: the verdict, every way to answer, the members, common errors, EPP.

        Parameters
        ----------
        pairs : int
            How many pairs of members to list.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> ensemble = camilla.ensemble(camilla.digits(), sizes=(3,))
        >>> len(ensemble.parts(pairs=1)) > 1
        True
        """
        out: list[Part] = [self.answer, _ways_grid(self), _members_grid(self)]
        if self.pairs.height and pairs:
            out += [_pairs_grid(self, pairs), *_pairs_sentence(self)]
        if self.epp.height:
            out.append(_epp_grid(self))
        return [*out, *(f"note: {note}" for note in self.notes)]

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> ensemble = camilla.ensemble(camilla.digits(), sizes=(3,))
        >>> ensemble.to_document()["verdict"]
        'one learner'
        """
        return {
            "verdict": "committee" if self.better else "one learner",
            "answer": self.answer,
            "better": self.better,
            "exact": self.exact,
            "level": self.level,
            "committee": self.committee.to_document(),
            "chosen": self.chosen.to_document(),
            "single": self.single,
            "test": self.test,
            "ways": self.ways.to_dicts(),
            "members": self.members.to_dicts(),
            "pairs": self.pairs.to_dicts(),
            "epp": self.epp.to_dicts(),
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }


def ensemble(
    table: TableLike, *, rows: WideRows | None = None, sizes: Sequence[int] = SIZES,
    vote: str | None = None, two_answers: bool = False, splits: int = 10, level: float = 0.95, seed: int = 0,
    progress: bool | None = None, watch: Watch | None = None,
) -> Ensemble:  # fmt: skip
    """Which committee of learners answers best, and whether it is better than the best learner alone.

    Samples are split into halves, ten times. Members, votes and size are chosen on one half, by
    cross-fitting within it, and judged on the other, and the other way round. The best single learner is
    chosen on the same half. Both are compared with the paired test of `compare`; p-value and interval are
    medians over splits. Without a significant difference no committee is recommended.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        Responses with answers: predicted classes, choices, short texts. Where only right and wrong are known,
        a committee counts as right where members with more than half of the votes are right: a lower bound.
    rows : {"samples", "learners"}, optional
        What the rows of a wide table are.
    sizes : sequence of int
        Sizes of committees to try.
    vote : {"majority", "log-odds", "learned"}, optional
        How votes are weighted; chosen by cross-fitting if not given.
    two_answers : bool
        Every sample has two possible answers, so that right and wrong tell the answer.
    splits : int
        How often samples are split into halves; samples of a cluster stay together.
    level : float
        Coverage of intervals; 1 − level is the error rate of the test.
    seed : int
        Splits the samples.
    progress : bool, optional
        A line on standard error while it runs: True at once, False never, None after two seconds on a
        terminal or in a notebook.
    watch : callable, optional
        Takes the lines of progress instead.

    Returns
    -------
    Ensemble
        `committee`, `better`, `ways`, `members`, `pairs`, `epp`, `answer`, `notes`.

    Raises
    ------
    DataError
        The table has scores without answers, fewer than three learners, or too few samples.

    Examples
    --------
    >>> import camilla
    >>> ensemble = camilla.ensemble(camilla.digits(), sizes=(3,))
    >>> ensemble.better
    False
    >>> ensemble.committee.members == (ensemble.single,)
    True
    """
    _check_settings(sizes, vote, splits, level)
    with watching("choosing a committee", progress, watch) as watch:
        return _ensemble(as_table(table, rows=rows), tuple(sorted(set(sizes))), vote, two_answers, splits,
                         level, seed, watch)  # fmt: skip


def _check_settings(sizes: Sequence[int], vote: str | None, splits: int, level: float) -> None:
    if not sizes or any(not isinstance(size, int | np.integer) or size < 2 for size in sizes):
        raise SettingError(f"sizes of committees are whole numbers from 2 on; got {list(sizes)}.")
    if vote is not None and vote not in VOTES:
        raise SettingError(f"vote is one of {', '.join(VOTES)}; got {vote!r}.")
    if splits < 1:
        raise SettingError(f"expected at least one split of the samples; got {splits}.")
    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1; got {level:g}.")


def _ensemble(
    table: ResponseTable, sizes: tuple[int, ...], vote: str | None, two_answers: bool, splits: int,
    level: float, seed: int, watch: Watch,
) -> Ensemble:  # fmt: skip
    ordered = table.canonical().table
    pool = pool_of(ordered, two_answers=two_answers)
    group = None
    if ordered.cluster is not None:
        group = np.unique(np.array(ordered.cluster)[pool.samples], return_inverse=True)[1]
    units = np.arange(len(pool.samples)) if group is None else group
    _check_units(int(units.max()) + 1, clusters=group is not None)
    fitting, notes = _fitting_sizes(sizes, len(pool.learners))
    votes = VOTES if vote is None else (vote,)
    found = crossfit(pool.ballots, units, fitting, votes, splits=splits, seed=seed, watch=watch)
    watch("choosing on all samples")
    rng = np.random.default_rng([seed, 1])
    final = choose(pool.ballots, units, fitting, candidates(votes), rng)
    ways, test = _ways(found, group, level, len(pool.learners))
    made = made_of(table, sizes=list(sizes), vote=vote, two_answers=two_answers, splits=splits, level=level,
                   seed=seed)  # fmt: skip
    row = ways.row(1, named=True)
    better = row["p_value"] < 1 - level and row["difference"] > 0
    chosen = _committee(pool, final, _facts(row, better, pool.exact, level, made))
    single = Committee((pool.learners[final.best],), (1.0,), "majority",
                       _facts(ways.row(0, named=True), better, True, level, made))  # fmt: skip
    return Ensemble(
        chosen if better else single,
        chosen,
        pool.learners[final.best],
        bool(better),
        pool.exact,
        level,
        ways,
        test,
        _members(pool, final, found),
        _pairs(pool, final, level),
        _epp(pool, final, found, units, seed),
        (*pool.notes, *notes, *copy_notes(ordered)),
        made,
    )


def _fitting_sizes(sizes: tuple[int, ...], n_learners: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    fitting = tuple(size for size in sizes if size < n_learners)
    if not fitting:
        raise DataError(
            f"{counted(n_learners, 'learner')} can be members; committees of {listed(list(map(str, sizes)))} "
            "leave nothing to choose. Give smaller sizes."
        )
    gone = [str(size) for size in sizes if size >= n_learners]
    return fitting, (f"committees of {listed(gone)} are left out: there are {n_learners} learners.",) * bool(
        gone
    )


def _check_units(n_units: int, *, clusters: bool) -> None:
    if n_units < FEWEST_UNITS:
        came = counted(n_units, "cluster" if clusters else "sample")
        raise DataError(
            f"got {came} with answers; choosing a committee on one half and evaluating it on the other "
            f"takes at least {FEWEST_UNITS}."
        )


def _committee(pool: Pool, final: Chosen, facts: dict[str, Any]) -> Committee:
    size = final.picked.size
    choice = final.choices[size]
    weights = choice.weights / choice.weights.max()
    names = tuple(pool.learners[i] for i in choice.members)
    return Committee(names, tuple(map(float, weights)), final.picked.by_size[size].vote, facts)


def _facts(
    row: dict[str, Any], better: bool, exact: bool, level: float, made: dict[str, Any]
) -> dict[str, Any]:
    expected = {name: row[name] for name in ("accuracy", "low", "high")}
    return {
        "expected_accuracy": expected | {"level": level, "lower_bound": not exact},
        "a_committee_is_better": bool(better),
        "provenance": made,
    }


def _ways(
    found: Crossfit, group: NDArray[np.integer] | None, level: float, n_learners: int
) -> tuple[pl.DataFrame, str]:
    """Every way on held-out samples, beside the best single learner; Holm is over sizes and all learners."""
    sizes = list(found.by_size)
    names = [BEST_SINGLE, CHOSEN, *(f"committee of {size}" for size in sizes), f"all {n_learners} learners"]
    everybody = np.broadcast_to(found.everybody, found.single.shape)
    earned = [found.single, found.chosen, *found.by_size.values(), everybody]
    accuracies = [_accuracy(one, group, level) for one in earned]
    effects = [None, *(_effect(found.single, one, group, level) for one in earned[1:])]
    adjusted = holm(np.array([effect.p_value for effect in effects[2:] if effect is not None]))
    kinds: dict[str, Any] = dict.fromkeys(COMPARED, pl.Float64)
    frame = pl.DataFrame(
        {
            "way": names,
            "size": [1, None, *sizes, n_learners],
            "accuracy": [one[0] for one in accuracies],
            "low": [one[1] for one in accuracies],
            "high": [one[2] for one in accuracies],
        }
    )
    compared = [{} if one is None else dict(zip(COMPARED, one, strict=False)) for one in effects]
    frame = frame.hstack(pl.DataFrame(compared, schema=kinds)).hstack(_over_all(earned, group, level))
    frame = frame.with_columns(holm_p=pl.Series([None, None, *adjusted.tolist()], dtype=pl.Float64))
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None)), effects[1].method if effects[1] else ""


def _over_all(earned: list[Floats], group: NDArray[np.integer] | None, level: float) -> pl.DataFrame:
    """How far each way is ahead of all learners voting, which stand last."""
    effects = [_effect(earned[-1], one, group, level) for one in earned[:-1]]
    rows = [dict(zip(OVER_ALL, one, strict=False)) for one in effects]
    return pl.DataFrame([*rows, {}], schema=dict.fromkeys(OVER_ALL, pl.Float64))


def _accuracy(earned: Floats, group: NDArray[np.integer] | None, level: float) -> tuple[float, float, float]:
    """The mean over splits, and the medians of the ends that each split has by itself.

    A mean over splits varies no more than one split does, but more than the spread of credits averaged over
    splits says: what is chosen on halves that overlap goes together.
    """
    spread = learner_spread(earned, group)
    ends = learner_ends(earned, spread, group, level)
    return float(np.mean(spread.mean)), float(np.median(ends.low)), float(np.median(ends.high))


def _over_splits(earned: Floats) -> Floats:
    """What a way earns on each sample, on average over splits; NaN where it never answered."""
    answered = ~np.isnan(earned)
    total = np.where(answered, earned, 0).sum(axis=0)
    return np.where(answered.any(axis=0), total / np.maximum(answered.sum(axis=0), 1), np.nan)


def _effect(single: Floats, other: Floats, group: NDArray[np.integer] | None, level: float) -> SplitEffect:
    return over_splits([_pair(a, b, group) for a, b in zip(single, other, strict=True)], level)


def _pair(a: Floats, b: Floats, group: NDArray[np.integer] | None) -> PairedResponses:
    shared = np.flatnonzero(~np.isnan(a) & ~np.isnan(b))
    inside = None if group is None else np.unique(group[shared], return_inverse=True)[1]
    return PairedResponses(
        shared, a[shared], b[shared], np.full(len(shared), np.nan), inside,
        int(np.sum(~np.isnan(a))) - len(shared), int(np.sum(~np.isnan(b))) - len(shared),
    )  # fmt: skip


def _members(pool: Pool, final: Chosen, found: Crossfit) -> pl.DataFrame:
    """The members of the chosen committee, and which share of the halves chose them too."""
    choice = final.choices[final.picked.size]
    credits = pool.ballots.credits()[choice.members]
    chosen = [set(one.choices[one.picked.size].members.tolist()) for one in found.halves]
    return pl.DataFrame(
        {
            "learner": [pool.learners[i] for i in choice.members],
            "weight": choice.weights / choice.weights.max(),
            "accuracy": np.nanmean(credits, axis=1),
            "stability": [float(np.mean([int(i) in one for one in chosen])) for i in choice.members],
        }
    )


def _pairs(pool: Pool, final: Chosen, level: float) -> pl.DataFrame:
    """Who errs together, the highest correlation first."""
    members = final.choices[final.picked.size].members.tolist()
    rows = []
    for a, b in combinations(members, 2):
        pair = err_together(pool.ballots, a, b)
        rows.append({"a": pool.learners[a], "b": pool.learners[b], **pair._asdict()})
    frame = pl.DataFrame(rows)
    correlation, n = frame["correlation"].to_numpy(), frame["n"].to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = correlation_ends(np.clip(correlation, -1, 1), n.astype(np.float64), level)
    frame = frame.with_columns(low=pl.Series(ends.low), high=pl.Series(ends.high))
    if not pool.exact:
        frame = frame.with_columns(pl.lit(None).alias(name) for name in ("same", "same_by_chance"))
    frame = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
    return frame.sort(pl.col("correlation").round(9), descending=True, nulls_last=True, maintain_order=True)


def _epp(pool: Pool, final: Chosen, found: Crossfit, units: NDArray[np.integer], seed: int) -> pl.DataFrame:
    """Members, the best single learner and committees by EPP; a round is a part of the samples."""
    credits = pool.ballots.credits()
    alone = list(dict.fromkeys([*final.choices[final.picked.size].members.tolist(), final.best]))
    names = [pool.learners[i] for i in alone]
    rows = [credits[i] for i in alone]
    committees = {f"committee of {size}": _over_splits(earned) for size, earned in found.by_size.items()}
    committees[f"all {len(pool.learners)} learners"] = found.everybody
    for name, earned in committees.items():
        names.append(name if name not in names else f"{name} (voting)")
        rows.append(earned)
    part = dealt(units, ROUNDS, np.random.default_rng([seed, 2]))
    scores = np.array([[np.nanmean(row[part == k]) for k in range(ROUNDS)] for row in rows])
    schema = {"player": pl.String, "kind": pl.String} | dict.fromkeys(
        ("epp", "se", "low", "high"), pl.Float64
    )
    try:
        rounds = tuple(f"part {k + 1}" for k in range(ROUNDS))
        board = epp(Tournament(tuple(names), rounds, scores.round(DECIMALS)), progress=False)
    except CamillaError:  # no two of them differ: there is nothing to rank
        return pl.DataFrame(schema=schema)
    kinds = dict.fromkeys(names, "committee" if pool.exact else "committee, at least")
    kinds |= dict.fromkeys(names[: len(alone)], "learner")
    columns = {"player": board.players, "kind": [kinds[name] for name in board.players], "epp": board.epp,
               "se": board.se, "low": board.low, "high": board.high}  # fmt: skip
    return pl.DataFrame(columns, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))


def _answer(found: Ensemble) -> str:
    single, chosen = (found.ways.row(number, named=True) for number in (0, 1))
    points = [signed(100 * chosen[f"difference{end}"]) for end in ("", "_low", "_high") if
              chosen[f"difference{end}"] is not None]  # fmt: skip
    least, bound = ("", "") if found.exact else ("at least ", " of the bound")
    ends = f", {percent(found.level)} CI{bound} {points[1]} to {points[2]}" if len(points) == 3 else ""
    evidence = (
        f"{least}{points[0]} points{ends}, on samples that had no part in the choice (p = "
        f"{chosen['p_value']:.2g}, {found.test.removesuffix(' test')} test)"
    )
    name, size = brief(found.single), len(found.chosen.members)
    if found.better:
        expected = f"{least}{chosen['accuracy']:.3f}"
        return (
            f"A committee is better than the best single learner ({name}): {evidence}. Chosen on all "
            f"samples: {size} members, {IN_WORDS[found.chosen.vote]}: {listed(found.chosen.members, 9)}. "
            f"Expected accuracy: {expected}; of the best single learner {single['accuracy']:.3f}."
        )
    return (
        f"No committee is shown to be better than the best single learner ({name}): {evidence}."
        f"{_without_choosing(found)}"
    )


def _without_choosing(found: Ensemble) -> str:
    way = settled_beforehand(found.ways.to_dicts(), found.level)
    return "" if way is None else f" Settled beforehand, {way.name} is (Holm-adjusted p = {way.p:.2g})."


class SettledWay(NamedTuple):
    """A committee of one size, or all learners, as a sentence names it; and its Holm-adjusted p."""

    name: str
    p: float


def settled_beforehand(ways: Sequence[Mapping[str, Any]], level: float) -> SettledWay | None:
    """The committee that is better where nothing was chosen: of one size, or all learners.

    Holm is over all of them. The first two ways are the best single learner and the chosen committee.
    """
    better = [
        way
        for way in ways[2:]
        if way["holm_p"] is not None and way["holm_p"] < 1 - level and way["difference"] > 0
    ]
    if not better:
        return None
    best = min(better, key=lambda way: round(float(way["holm_p"]), DECIMALS))  # the first of equals
    which = "a vote of " if best["way"] == ways[-1]["way"] else "the "
    return SettledWay(f"{which}{best['way']}", float(best["holm_p"]))


def _ways_grid(found: Ensemble) -> Grid:
    interval = f"{percent(found.level)} CI"
    ways = found.ways if found.ways.height > 4 else found.ways.filter(pl.col("way") != CHOSEN)
    frame = ways.select(
        "way",
        "accuracy",
        pl.Series(interval, intervals(ways, "low", "high"), pl.String),
        "difference",
        pl.Series("CI of difference", intervals(ways, "difference_low", "difference_high"), pl.String),
        "p_value",
        "holm_p",
    )
    least = "" if found.exact else "; of committees a lower bound"
    title = f"Accuracy on held-out samples{least}, and difference from the best single learner"
    return Grid(title, frame, fixed=("way", interval, "CI of difference"), spare=("holm_p", "p_value"))


def _members_grid(found: Ensemble) -> Grid:
    how = IN_WORDS[found.chosen.vote]
    title = f"Members of the chosen committee ({how}); stability is the share of halves that chose them"
    return Grid(title, found.members)


def _pairs_grid(found: Ensemble, most: int) -> Grid:
    interval = f"{percent(found.level)} CI"
    pairs = found.pairs.head(most)
    frame = pairs.select(
        "a",
        "b",
        "correlation",
        pl.Series(interval, intervals(pairs, "low", "high"), pl.String),
        "both_wrong",
        "by_chance",
        *(["same", "same_by_chance"] if found.exact else []),
    )
    more = f", the first {most} of {found.pairs.height} pairs" if found.pairs.height > most else ""
    return Grid(f"Members that err together{more}", frame, fixed=(interval,), spare=(interval,))


def _pairs_sentence(found: Ensemble) -> list[str]:
    """Who err together most; nothing where no two members can."""
    first = found.pairs.row(0, named=True)
    if first["correlation"] is None:
        return []
    text = (
        f"{brief(first['a'])} and {brief(first['b'])} err together most: both are wrong on "
        f"{counted(first['both_wrong'], 'sample')}; {first['by_chance']:.1f} would be expected if they erred "
        "independently."
    )
    if first["same"] is None:
        return [text]
    return [
        f"{text} On {first['same']} they give the same wrong answer; {first['same_by_chance']:.1f} would be "
        "expected of any two learners that are wrong there."
    ]


def _epp_grid(found: Ensemble) -> Grid:
    interval = f"{percent(found.level)} CI"
    frame = found.epp.select(
        "player",
        "kind",
        pl.col("epp").alias("EPP"),
        pl.Series(interval, intervals(found.epp, "low", "high", 2), pl.String),
    )
    title = f"Committees beside their members by EPP; a round is one of {ROUNDS} parts of the samples"
    return Grid(title, frame, fixed=("player", "kind", interval))
