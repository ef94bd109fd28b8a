"""Samples that behave differently for a group of learners of the same ability."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.arrays import Floats, Watch, rounded
from camilla.diagnosing import diagnose
from camilla.display import Grid, Part, Printable, brief, counted, intervals, percent, watching
from camilla.errors import DataError, SettingError
from camilla.names import nearest, quoted
from camilla.provenance import made_of
from camilla.reading.inputs import TableLike, as_table
from camilla.statistics.intervals import critical_value, student
from camilla.statistics.items import logistic_fits, mantel_haenszel
from camilla.statistics.multiplicity import benjamini_hochberg
from camilla.statistics.wald import chi_p_values
from camilla.table.cells import zero_or_one
from camilla.table.frame_files import read_frame
from camilla.table.frames import WideRows
from camilla.table.responses import ResponseTable


def read_groups(text: str, table: ResponseTable, path: Path, *, learner: str = "learner") -> dict[str, str]:
    """{learner: group} from FILE or FILE:column (with a column of learners), or from a column of the table.

    A column of the table is one of its learner metadata, or of the table file itself if that is long.
    """
    file, _, column = text.rpartition(":") if ":" in text and not Path(text).exists() else (text, "", "")
    if Path(file).is_file():
        return _from_file(Path(file), column, learner)
    about = table.learner_metadata
    if about is not None and text in about.columns:
        return _as_groups(about, "learner", text)
    if path.is_file():
        frame = read_frame(path)
        if text in frame.columns and learner in frame.columns:
            return _as_groups(frame.select(learner, text).unique(), learner, text)
    raise DataError(
        f"--group {text!r} is neither a file nor a column that says something about learners. Give a file "
        "with the columns learner and group, or a column of the table."
    )


def _from_file(path: Path, column: str, learner: str) -> dict[str, str]:
    frame = read_frame(path)
    key = learner if learner in frame.columns else "learner"
    if key not in frame.columns:
        raise DataError(f"{path}: no column {key!r}; there are {quoted(frame.columns)}.")
    others = [name for name in frame.columns if name != key]
    column = column or ("group" if "group" in others else others[0] if len(others) == 1 else "")
    if not column:
        raise DataError(f"{path}: which column is the group? Say {path}:column; there are {quoted(others)}.")
    if column not in others:
        raise DataError(f"{path}: no column {column!r}. {nearest(column, others)}")
    return _as_groups(frame, key, column)


def _as_groups(frame: pl.DataFrame, key: str, column: str) -> dict[str, str]:
    """Learners without a group are left out; a learner of two groups is refused."""
    rows = frame.select(pl.col(key).cast(pl.String), pl.col(column).cast(pl.String)).drop_nulls().unique()
    twice = rows.filter(pl.col(key).is_duplicated())
    if twice.height:
        raise DataError(
            f"learner {twice[key][0]!r} has several groups in the column {column!r}; expected one."
        )
    return dict(rows.sort(key).iter_rows())


def cut_at(groups: dict[str, str], cut: str) -> dict[str, str]:
    """Two groups: what is below the cut, and what is from it on; numbers as numbers, else by text (dates)."""

    def number(text: str) -> float | None:
        try:
            return float(text)
        except ValueError:
            return None

    numbers = {name: number(value) for name, value in groups.items()}
    at = number(cut)
    if at is not None and all(value is not None for value in numbers.values()):
        late = {name for name, value in numbers.items() if value is not None and value >= at}
    else:
        late = {name for name, value in groups.items() if value >= cut}
    if not late or len(late) == len(groups):
        raise SettingError(
            f"--cut {cut!r} leaves one group; the values go from {min(groups.values())!r} to "
            f"{max(groups.values())!r}."
        )
    return {name: f"from {cut}" if name in late else f"before {cut}" for name in groups}


FEWEST = 5  # learners a group needs
STRATA = 8  # of ability, as many learners in each
ETS = -2.35  # logit to the delta scale of the Educational Testing Service


@dataclass(frozen=True, eq=False, repr=False)
class GroupDifferences(Printable):
    """Samples that favour a group of learners, those that favour it most first.

    Attributes
    ----------
    samples : DataFrame
        One row per sample: which group it favours, by how much, and with what certainty.
    groups : DataFrame
        One row per group: how many learners it has, and how able they are.
    provenance : mapping
        What the result was made of: hash and sizes of the table, settings, versions.

    Examples
    --------
    >>> table = camilla.simulate(16, 30, seed=1).table
    >>> group = {name: "large" if number % 2 else "small" for number, name in enumerate(table.learners)}
    >>> differences = camilla.dif(table, group, focal="large")
    >>> differences.samples.height
    30
    """

    on_a_screen: ClassVar[dict[str, Any]] = {"samples": 10}

    samples: pl.DataFrame
    groups: pl.DataFrame
    provenance: dict[str, Any]

    def to_document(self) -> dict[str, Any]:
        """Returns everything as plain data.

        Returns
        -------
        dict
            Plain data: what the command prints with `--json`, without the schema's name.

        Examples
        --------
        >>> table = camilla.simulate(16, 30, seed=1).table
        >>> group = {name: "large" if number % 2 else "small" for number, name in enumerate(table.learners)}
        >>> differences = camilla.dif(table, group, focal="large")
        >>> differences.to_document()["verdict"]
        'none flagged'
        """
        return {
            "verdict": "flagged"
            if self.samples["differs"].any() or self.samples["differs_uniformly"].any()
            else "none flagged",
            "groups": self.groups.to_dicts(),
            "samples": self.samples.to_dicts(),
            "provenance": self.provenance,
        }

    def parts(self, *, samples: int = 15) -> list[Part]:
        """Returns what `text` prints: how many samples differ, the groups, the samples and the notes.

        Parameters
        ----------
        samples : int
            How many samples to list.

        Returns
        -------
        list
            Sentences, and tables with their titles.

        Examples
        --------
        >>> table = camilla.simulate(16, 30, seed=1).table
        >>> group = {name: "large" if number % 2 else "small" for number, name in enumerate(table.learners)}
        >>> differences = camilla.dif(table, group, focal="large")
        >>> len(differences.parts(samples=1)) > 1
        True
        """
        settings, interval = self.provenance["settings"], "95 % CI"
        focal, first = brief(settings["focal"]), self.samples.head(samples)
        columns = ["sample", "accuracy_group", "accuracy_others", "effect", interval, "q", "uniform_q"]
        columns += ["odds_ratio", "ets"] if "ets" in first.columns else []
        ends = pl.Series(interval, intervals(first, "effect_low", "effect_high"), pl.String)
        frame = first.with_columns(ends).select(columns)
        spare = ("odds_ratio", "ets", interval, "accuracy_others", "accuracy_group")
        found, shifted = (int(self.samples[name].sum()) for name in ("differs", "differs_uniformly"))
        parts: list[Part] = [
            f"{found} of {self.samples.height} samples behave differently for {focal} than for other "
            f"learners of the same ability (false discovery rate {percent(settings['rate'])}); {shifted} by "
            "the test of a shift that is the same at every ability.",
            Grid(f"{focal} against all other learners", self.groups),
            Grid("Samples, the clearest difference first; effect in logits", frame, (interval, "ets"), spare),
        ]
        if untested := self.samples["p_value"].null_count():
            parts.append(
                f"note: {counted(untested, 'sample')} could not be tested: all learners gave the same "
                "response, or one side gave none."
            )
        if gone := self.provenance["n_without_group"]:
            parts.append(f"note: {counted(gone, 'learner')} without a group left out.")
        return parts


def dif(
    table: TableLike, group: Mapping[str, str], *, rows: WideRows | None = None,
    focal: str | None = None, rate: float = 0.05, seed: int = 0,
    progress: bool | None = None, watch: Watch | None = None,
) -> GroupDifferences:  # fmt: skip
    """Finds samples that favour a group of learners of the same ability (differential item functioning).

    Logistic regression of the response on ability, group and their product (Swaminathan and Rogers, 1990): a
    likelihood-ratio test of the last two, with Benjamini–Hochberg at `rate`, and one of the group alone,
    which needs fewer learners for a shift that is the same at every ability. Beside them the Mantel–Haenszel
    odds ratio over strata of ability, with its ETS class. A sample that one side did not answer, or that all
    answered alike, has no effect and no test.

    Parameters
    ----------
    table : ResponseTable, dataframe or path
        The responses. A dataframe or a path is read as by `camilla.read`.
    group : mapping of str to str
        The group of each learner. Learners that it does not name are left out and counted in the provenance.
    rows : {"samples", "learners"}, optional
        What the rows of a wide dataframe or file are. Without it a table is long: one row per response.
    focal : str, optional
        The group to compare with all other learners. By default the smallest one.
    rate : float
        False discovery rate.
    seed : int
        Random seed. The same table, settings and seed give the same result.
    progress : bool, optional
        Whether to show a progress line on standard error. By default it appears after two seconds, on a
        terminal or in a notebook.
    watch : callable, optional
        Receives each progress line as text, instead of standard error.

    Returns
    -------
    GroupDifferences
        `samples` (the most certain differences first), `groups`, `provenance`.

    Examples
    --------
    >>> table = camilla.simulate(16, 30, seed=1).table
    >>> group = {name: "large" if number % 2 else "small" for number, name in enumerate(table.learners)}
    >>> camilla.dif(table, group, focal="large").groups["group"].to_list()
    ['large', 'not large']
    """
    if not 0 < rate < 1:
        raise SettingError(f"rate is a false discovery rate between 0 and 1, not {rate:g}.")
    if not isinstance(group, Mapping):
        raise SettingError(
            f"group maps each learner to its group, {{'learner': 'group'}}; got {type(group).__name__}. "
            "Of two columns of a dataframe: dict(zip(frame['learner'], frame['group']))."
        )
    table = as_table(table, rows=rows)
    known = [i for i, name in enumerate(table.learners) if name in group]
    ordered = table.take_learners(known).canonical().table if known else table
    focal, member = _membership(ordered, group, focal, n_known=len(known))
    with watching("comparing groups", progress, watch) as watch:
        # a sample is answered within one block, so that no ability is compared across blocks
        found = diagnose(ordered, "irt", seed=seed, across_blocks=True, watch=watch)
        ability = found.readout.ability[:, 0]
    matrix = ordered.matrix()
    frame = pl.DataFrame({"sample": ordered.samples}).hstack(_tests(matrix, ability, member))
    frame = frame.with_columns(
        differs=pl.col("q") <= rate, differs_uniformly=pl.col("uniform_q") <= rate
    ).sort(
        pl.col("q").round_sig_figs(6),
        pl.col("effect").abs().round_sig_figs(6),
        "sample",
        descending=[False, True, False],
        nulls_last=True,
    )
    groups = pl.DataFrame(
        {
            "group": [focal, f"not {focal}"],
            "learners": [int(member.sum()), int((~member).sum())],
            "ability": [float(ability[member].mean()), float(ability[~member].mean())],
            "accuracy": [float(np.nanmean(matrix[member])), float(np.nanmean(matrix[~member]))],
        }
    )
    made = made_of(table, focal=focal, rate=rate, seed=seed)
    return GroupDifferences(frame, groups, made | {"n_without_group": table.n_learners - len(known)})


def _membership(
    table: ResponseTable, group: Mapping[str, str], focal: str | None, *, n_known: int
) -> tuple[str, NDArray[np.bool_]]:
    if n_known == 0:
        raise DataError(
            f"the groups name none of the {table.n_learners} learners; they name {quoted(list(group))}, the "
            f"table {quoted(table.learners)}."
        )
    names = [group[name] for name in table.learners]
    sizes = {name: names.count(name) for name in sorted(set(names))}
    if len(sizes) < 2:
        raise DataError(f"all {n_known} learners are of the group {names[0]!r}; expected two groups.")
    focal = min(sizes, key=lambda name: (sizes[name], name)) if focal is None else focal
    if focal not in sizes:
        raise SettingError(f"no group {focal!r}; there are {quoted(list(sizes))}.")
    if min(sizes[focal], n_known - sizes[focal]) < FEWEST:
        raise DataError(
            f"{sizes[focal]} learners are of the group {focal!r} and {n_known - sizes[focal]} are not; "
            f"expected at least {FEWEST} of each."
        )
    return focal, np.array([name == focal for name in names])


def _tests(matrix: Floats, ability: Floats, member: NDArray[np.bool_]) -> pl.DataFrame:
    """Means of trials are fractional: how far trials of a cell go together shows in the dispersion.

    It is estimated on n − 4 degrees of freedom, so that F and Student's t stand for χ² and the normal.
    """
    seen = ~np.isnan(matrix)
    binary = bool(zero_or_one(matrix[seen]).all())
    accuracy, others = (_mean(matrix[who], seen[who]) for who in (member, ~member))
    spread = np.where(seen, matrix, -np.inf).max(axis=0) - np.where(seen, matrix, np.inf).min(axis=0)
    known = np.isfinite(accuracy) & np.isfinite(others) & (spread > 1e-9)
    one, g = np.ones(len(ability)), member.astype(np.float64)
    plain = logistic_fits(np.column_stack([one, ability]), matrix)
    shifted = logistic_fits(np.column_stack([one, ability, g]), matrix)
    crossed = logistic_fits(np.column_stack([one, ability, g, g * ability]), matrix)
    dispersion = np.ones(matrix.shape[1]) if binary else np.maximum(crossed.dispersion, 1e-6)
    ratio = np.maximum(2 * (plain.loss - crossed.loss), 0) / dispersion
    df = np.full(len(known), np.inf) if binary else seen.sum(axis=0) - 4.0
    p = np.where(known, chi_p_values(ratio, df=2, rounds_df=df), np.nan)
    shift = np.maximum(2 * (plain.loss - shifted.loss), 0) / dispersion
    shift_p = np.where(known, chi_p_values(shift, df=1, rounds_df=df), np.nan)
    effect = np.where(known, shifted.coefficient[:, 2], np.nan)
    ends = student(effect, shifted.se[:, 2] * np.sqrt(dispersion), df)
    columns: dict[str, Any] = {
        "effect": effect, "effect_low": ends.low, "effect_high": ends.high,
        "p_value": p, "q": benjamini_hochberg(p),
        "uniform_p_value": shift_p, "uniform_q": benjamini_hochberg(shift_p),
        "accuracy_group": accuracy, "accuracy_others": others,
    }  # fmt: skip
    frame = pl.DataFrame(columns)
    if binary:
        rank = np.argsort(np.argsort(rounded(ability), kind="stable"))
        strata = np.minimum(rank * STRATA // len(ability), STRATA - 1)
        odds = mantel_haenszel(matrix, strata, member)
        delta = ETS * np.log(odds.ratio)
        frame = frame.with_columns(
            odds_ratio=odds.ratio, odds_ratio_low=odds.low, odds_ratio_high=odds.high,
            odds_ratio_p=odds.p,
            ets=pl.Series(_ets(delta, np.abs(ETS) * odds.log_se, odds.p), dtype=pl.String),
        )  # fmt: skip
    return frame.with_columns(pl.selectors.float().fill_nan(None))


def _mean(matrix: Floats, seen: NDArray[np.bool_]) -> Floats:
    """Of each column over what is seen; NaN where nothing is."""
    with np.errstate(invalid="ignore"):
        return np.where(seen, matrix, 0.0).sum(axis=0) / seen.sum(axis=0)


def _ets(delta: Floats, se: Floats, p: Floats) -> list[str | None]:
    """A negligible, B moderate, C large: |Δ| ≥ 1 and unlike 0; |Δ| ≥ 1.5 and surely above 1 (Zieky 1993)."""
    out: list[str | None] = []
    for d, s, one in zip(np.abs(delta), se, p, strict=True):
        if not np.isfinite(d) or not np.isfinite(s):
            out.append(None)
        elif d >= 1.5 and d - critical_value(0.9, np.inf) * s > 1:
            out.append("C")
        else:
            out.append("B" if d >= 1 and one < 0.05 else "A")
    return out
